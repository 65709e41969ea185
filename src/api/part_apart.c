/* Numbers of whole images of which each process has some parts: what the rows of a part come to is told to all, and
 * everyone adds it up in the order of the rows. */
#include <stdlib.h>
#include <string.h>

#include "api/part.h"
#include "graph/graph_fold.h"
#include "interp/graph_stages.h"

/* ---- What a part says ------------------------------------------------------------------------ */
static void add_word(RtBytes *to, int64_t word)
{
    tessi_bytes_add(to, &word, sizeof word);
}

static void add_value(RtBytes *to, const Stage *s, ScalarType source, Value v)
{
    int64_t word = v.i;
    if (tessi_is_real(tessi_accumulator_type(s->reduction, source)))
        memcpy(&word, &v.f, sizeof word);
    add_word(to, word);
}

static Value value_of(const Stage *s, ScalarType source, int64_t word)
{
    Value v = { 0 };
    if (tessi_is_real(tessi_accumulator_type(s->reduction, source)))
        memcpy(&v.f, &word, sizeof word);
    else
        v.i = word;
    return v;
}

static bool is_counts(const tess_parts *p, const PartNumber *number)
{
    return tessi_stage(p->graph, number->stage)->kind == STAGE_HISTOGRAM;
}

static void add_counts(const tess_parts *p, PartNumber *number, const DLTensor *rows, RtBytes *to)
{
    memset(number->counts, 0, (size_t)number->n_counts * sizeof *number->counts);
    tessi_part_reduce(p, number, rows);
    add_word(to, number->n_counts);
    for (int64_t k = 0; k < number->n_counts; k++)
        add_word(to, number->counts[k]);
}

bool tessi_part_reduce_apart(const tess_parts *p, RunPass *pass, int64_t begin, int64_t end)
{
    const Graph *g = p->graph;
    RtBytes *to = &pass->apart;
    add_word(to, begin);
    add_word(to, end);
    VEC_FOREACH (PartNumber, number, &pass->numbers) {
        const DLTensor *rows = &p->results[number->output];
        const Stage *s = tessi_stage(g, number->stage);
        if (!tessi_part_adds(pass, number, begin)) {
            add_word(to, 0);
            continue;
        }
        if (is_counts(p, number)) {
            add_counts(p, number, rows, to);
            continue;
        }
        const int64_t n = tessi_part_rows(number, rows);
        add_word(to, n);
        for (int64_t k = 0; k < n; k++)
            add_value(to, s, tessi_stage(g, number->source)->type,
                      tessi_part_row(p, number, rows, k));
    }
    return !to->failed;
}

tess_status tess_part_numbers(const tess_parts *p, size_t pass, const void **bytes, size_t *n)
{
    if (!p || pass >= p->passes.n || !bytes || !n)
        return TESS_ERROR_ARGUMENT;
    const RtBytes *apart = &p->passes.at[pass].apart;
    *bytes = apart->at;
    *n = apart->n;
    return apart->failed ? TESS_ERROR_MEMORY : TESS_OK;
}

/* ---- What all say ---------------------------------------------------------------------------- */
/* Words of one part, in the memory of others, which may be aligned to nothing. */
typedef struct Block {
    int64_t begin, end;
    const char *at; /* of its numbers */
} Block;

static int64_t word_at(const char *at)
{
    int64_t word;
    memcpy(&word, at, sizeof word);
    return word;
}

/* How many bytes the numbers of a block take, which begins at `at`; 0: it does not end before `end`. */
static size_t size_of_block(const RunPass *pass, const char *at, const char *end)
{
    const char *from = at;
    for (uint32_t i = 0; i < pass->numbers.n; i++) {
        if (end - at < (ptrdiff_t)sizeof(int64_t))
            return 0;
        const int64_t n = word_at(at);
        at += sizeof n;
        if (n < 0 || n > (end - at) / (ptrdiff_t)sizeof n)
            return 0;
        at += (size_t)n * sizeof n;
    }
    return (size_t)(at - from);
}

/* The blocks, in an array of the caller's; SIZE_MAX: these bytes are none. */
static size_t find_blocks(const RunPass *pass, const char *at, size_t n, Block *blocks)
{
    const char *end = at + n;
    size_t found = 0;
    while (at < end) {
        if (end - at < 2 * (ptrdiff_t)sizeof(int64_t))
            return SIZE_MAX;
        const Block b = { word_at(at), word_at(at + 8), at + 16 };
        const size_t size = size_of_block(pass, b.at, end);
        if (size == 0)
            return SIZE_MAX;
        if (blocks)
            blocks[found] = b;
        found++;
        at = b.at + size;
    }
    return found;
}

static int by_rows(const void *a, const void *b)
{
    const Block *x = a, *y = b;
    return x->begin < y->begin ? -1 : x->begin > y->begin;
}

static void take_block(tess_parts *p, RunPass *pass, const Block *b)
{
    const Graph *g = p->graph;
    const char *at = b->at;
    VEC_FOREACH (PartNumber, number, &pass->numbers) {
        const Stage *s = tessi_stage(g, number->stage);
        const ScalarType source = tessi_stage(g, number->source)->type;
        const bool counts = is_counts(p, number);
        const int64_t n = word_at(at);
        at += sizeof n;
        for (int64_t k = 0; k < n; k++, at += sizeof n)
            if (!counts)
                number->total =
                    tessi_part_add_row(p, number, number->total, value_of(s, source, word_at(at)));
            else if (k < number->n_counts)
                number->counts[k] += (uint32_t)word_at(at);
    }
}

static bool take_blocks(tess_parts *p, RunPass *pass, const Block *blocks, size_t n)
{
    int64_t whole = 0, next = 0;
    if (pass->part.n_dims)
        tessi_size_eval(pass->part.whole, pass->part.base[0], p->params, &whole);
    for (size_t i = 0; i < n; i++) {
        if (blocks[i].begin != next || blocks[i].end < next)
            return tessi_failf(&p->failure, TESS_ERROR_ARGUMENT,
                               "numbers of whole images are joined of parts that together are the "
                               "image: row %lld is in none, or in two",
                               (long long)next);
        next = blocks[i].end;
        take_block(p, pass, &blocks[i]);
    }
    return next == whole
           || tessi_failf(&p->failure, TESS_ERROR_ARGUMENT,
                          "numbers of whole images are joined of parts that together are the "
                          "image: rows from %lld on are missing",
                          (long long)next);
}

static bool join(tess_parts *p, RunPass *pass, const void *bytes, size_t n)
{
    const size_t found = find_blocks(pass, bytes, n, NULL);
    if (found == SIZE_MAX)
        return tessi_failf(&p->failure, TESS_ERROR_ARGUMENT,
                           "these bytes are not what parts say about numbers of whole images");
    Block *blocks = calloc(found + 1, sizeof *blocks);
    if (!blocks)
        return tessi_failf(&p->failure, TESS_ERROR_MEMORY, "out of memory");
    find_blocks(pass, bytes, n, blocks);
    qsort(blocks, found, sizeof *blocks, by_rows);
    Guard guard;
    const bool ok = GUARDED(&guard, &p->arena) && tessi_part_reduce_start(p, pass, &p->failure)
                    && take_blocks(p, pass, blocks, found);
    free(blocks);
    if (!ok)
        return false;
    tessi_part_reduce_end(p, pass);
    tessi_bytes_dispose(&pass->apart);
    pass->next = 0;
    pass->is_done = true;
    return true;
}

tess_status tess_parts_join(tess_parts *p, size_t pass, const void *bytes, size_t n)
{
    if (!p || pass >= p->passes.n || (!bytes && n) || p->passes.at[pass].numbers.n == 0)
        return TESS_ERROR_ARGUMENT;
    p->failure = (Failure){ 0 };
    return join(p, &p->passes.at[pass], bytes, n) ? TESS_OK : (tess_status)p->failure.status;
}
