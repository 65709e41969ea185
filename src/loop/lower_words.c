/* Small elements of images as words of 32 bits: what a register tile reads of a row comes in words, and what it
 * computed goes back in words. Bits are moved; lower_pack.c computes with them. */
#include "loop/lower_pack.h"

enum { WORD_BYTES = 4 };

/* Elements of a row that are loaded together. */
typedef struct WordsUse {
    LExprId some; /* load of the row */
    LExprId x;    /* `first` is counted from here */
    int64_t first;
    uint32_t n, n_found;
    VEC(LExprId) loads;
} WordsUse;
typedef VEC(WordsUse) WordsUses;

/* Bytes of a small integer; 0 of others. */
static uint32_t small_bytes(ScalarType t)
{
    const uint32_t bytes = tessi_type_info(t)->bytes;
    return tessi_is_integer(t) && bytes < WORD_BYTES ? bytes : 0;
}

static WordsUse *use_of(Lower *l, WordsUses *uses, LExprId load, LExprId x, int64_t first,
                        uint32_t n)
{
    const LExpr *e = tessi_lexpr(l->p, load);
    VEC_FOREACH (WordsUse, u, uses)
        if (u->first == first && u->n == n && tessi_lexpr(l->p, u->some)->buffer.v == e->buffer.v
            && tessi_same_row(l, u->some, load))
            return u;
    VEC_PUSH(l->arena, uses, ((WordsUse){ .some = load, .x = x, .first = first, .n = n }));
    return &uses->at[uses->n - 1];
}

/* Within the tile whole vectors are loaded, beside it single words. */
static void note(Lower *l, LExprId load, const TileColumns *at, WordsUses *uses)
{
    const LExpr *e = tessi_lexpr(l->p, load);
    int64_t c;
    if (e->kind != LEXPR_LOAD || !e->n_args || tessi_known(l, load)->let)
        return;
    const LBuffer *b = &l->p->buffers.at[e->buffer.v];
    const uint32_t bytes = small_bytes(b->type);
    const uint32_t vector = bytes ? tessi_vector_elements(l, e->buffer, at->aligned) : 0;
    if (b->kind == LBUF_LOCAL || vector * bytes < WORD_BYTES
        || !tessi_column_of(l, e->arg[e->n_args - 1], at->x, at->from, at->to, &c))
        return;
    const uint32_t n = c >= 0 && c < at->aligned ? vector : WORD_BYTES / bytes;
    WordsUse *u = use_of(l, uses, load, at->x, c - tessi_floormod(c, n), n);
    VEC_PUSH(l->arena, &u->loads, load);
    u->n_found++;
}

static int64_t column(const Lower *l, LExprId load, LExprId x)
{
    const LExpr *e = tessi_lexpr(l->p, load);
    int64_t c = 0;
    tessi_column_of(l, e->arg[e->n_args - 1], x, INT64_MIN, INT64_MAX, &c);
    return c;
}

static void take(Lower *l, const WordsUse *u, Words *words)
{
    const LBufferId from = tessi_lexpr(l->p, u->some)->buffer;
    const uint32_t in_word = WORD_BYTES / tessi_type_info(l->p->buffers.at[from.v].type)->bytes;
    const LBufferId line =
        tessi_line_of_row(l, u->some, u->x, u->first, "words", TYPE_U32, u->n / in_word);
    VEC_FOREACH (const LExprId, id, &u->loads) {
        const uint32_t k = (uint32_t)(column(l, *id, u->x) - u->first);
        LExprId at = tessi_l_int(l, k / in_word);
        const LExprId word = tessi_lexpr_load(l->p, line, &at, 1);
        tessi_pin(l, word, tessi_scope_depth(l));
        words->of[id->v] = (InWord){ word, (uint8_t)(k % in_word) };
    }
}

void tessi_words_take(Lower *l, const LExprId *root, uint32_t n, const TileColumns *columns,
                      Words *words)
{
    WordsUses uses = { 0 };
    LExprList list = tessi_scope_reach(l, root, n);
    words->n = l->p->exprs.n;
    words->of = ARENA_NEW_ARRAY(l->arena, InWord, words->n);
    for (uint32_t i = 0; i < list.n; i++)
        note(l, list.at[i], columns, &uses);
    VEC_FOREACH (const WordsUse, u, &uses)
        if (u->n_found == u->n || l->inside_last)
            take(l, u, words);
}

void tessi_words_define(Lower *l, const Words *words, const LExprId *root, uint32_t n)
{
    LExprList list = tessi_scope_reach(l, root, n);
    for (uint32_t i = 0; i < list.n; i++) {
        const LExprId id = list.at[i];
        if (id.v >= words->n || !words->of[id.v].word.v || tessi_known(l, id)->let)
            continue;
        const ScalarType t = tessi_lexpr(l->p, id)->type;
        const int64_t by = (int64_t)words->of[id.v].element * tessi_type_info(t)->bytes * 8;
        LExprId value = words->of[id.v].word;
        if (by)
            value = tessi_l_op(l, OP_SHR, value,
                               tessi_lexpr_const(l->p, TYPE_U32, tessi_value_int(by)));
        tessi_scope_define(l, id, tessi_lexpr_cast(l->p, t, value));
    }
}

const InWord *tessi_in_word(Lower *l, const Words *words, LExprId id)
{
    const InWord *at = id.v < words->n ? &words->of[id.v] : NULL;
    return at && at->word.v && !tessi_known(l, id)->let ? at : NULL;
}

bool tessi_words_hold(const Lower *l, LBufferId to, uint32_t columns)
{
    const uint32_t bytes = small_bytes(l->p->buffers.at[to.v].type);
    return bytes && tessi_vector_elements(l, to, columns) * bytes >= WORD_BYTES;
}

void tessi_words_give(Lower *l, LBufferId to, const LExprId *index, uint8_t n_index,
                      const LExprId *word, uint32_t stride, uint32_t columns)
{
    const LBuffer b = l->p->buffers.at[to.v];
    const uint32_t in_word = WORD_BYTES / tessi_type_info(b.type)->bytes;
    const uint32_t vector = tessi_vector_elements(l, to, columns), n = vector / in_word;
    for (uint32_t c = 0; c < columns; c += vector) {
        const char *name = tessi_sprintf(l->arena, "%s_words", b.name);
        LBufferId line = tessi_new_line(l, name, TYPE_U32, n);
        for (uint32_t k = 0; k < n; k++) {
            const LExprId at = tessi_l_int(l, k);
            tessi_scope_store(l, line, &at, 1, word[(size_t)(c / in_word + k) * stride]);
        }
        LExprId at[MAX_DIMS];
        for (uint8_t d = 0; d < n_index; d++)
            at[d] = index[d + (d + 1 == n_index ? (size_t)c * stride : 0)];
        tessi_scope_move(l, to, line, at, n_index);
    }
}
