/* What blocks inside leave around them: the images that its tiles read, copied into shared memory with every read
 * beyond an edge answered, so that the code that computes from them is that of the blocks inside. */
#include "loop/lower_parts.h"

typedef struct Finder {
    Lower *l;
    PatchList *list;
} Finder;

/* The first patch that can be of the image with these rules: where a read is certainly inside, any rule is its own. */
static uint32_t patch_of(Finder *f, const Access *access, const Border *rule)
{
    uint32_t at = 0;
    while (at < f->list->n && !tessi_patch_answers(&f->list->at[at], access, rule))
        at++;
    if (at == f->list->n) {
        Patch fresh = { .producer = access->producer, .merged = true };
        for (int d = 0; d < 2; d++) {
            fresh.rule[d] = BORDER_INSIDE;
            fresh.lo[d] = INT64_MAX;
            fresh.hi[d] = INT64_MIN;
        }
        VEC_PUSH(f->l->arena, f->list, fresh);
    }
    Patch *p = &f->list->at[at];
    for (int d = 0; d < 2; d++)
        p->rule[d] = rule[d] == BORDER_INSIDE ? p->rule[d] : rule[d];
    p->outside = access->outside.v ? access->outside : p->outside;
    return at;
}

static void add_reads(Finder *f, const ExprId *roots, uint32_t n, const FramePart *part);

static void add_read(Finder *f, const Access *access, const FramePart *part)
{
    Lower *l = f->l;
    const Stage *s = tessi_stage(l->g, access->producer);
    if (tessi_plan_is_inline(l->plan, access->producer)) {
        const Stage *reader = tessi_stage(l->g, part->stage);
        /* Read at the point itself, unless a rule leads from there into a smaller stage, or to the other end of one
         * that does not wrap around. */
        FramePart here = *part;
        here.stage = access->producer;
        here.elsewhere = here.elsewhere || s->n_dims != 2 || reader->n_dims != 2;
        for (int d = 0; d < 2 && !here.elsewhere; d++) {
            here.beyond[d] = tessi_read_goes_beyond(l, access, d, part->beyond[d]);
            here.elsewhere =
                s->size[d].v != reader->size[d].v || (part->beyond[d] && !here.beyond[d]);
        }
        add_reads(f, &s->pieces.at[0].body, 1, &here);
        return;
    }
    if (access->n_dims != 2 || l->place[access->producer.v].scratch.v || s->type == TYPE_F16
        || !tessi_access_moves(access))
        return;
    Border rule[2], asked[2];
    for (int d = 0; d < 2; d++) {
        asked[d] = access->dim[d].rule;
        rule[d] = part->beyond[d] ? BORDER_WRAP : asked[d];
    }
    const uint32_t at = patch_of(f, access, rule);
    for (uint32_t i = 0; i < at; i++) /* one that is found instead must not be */
        if (tessi_patch_answers(&f->list->at[i], access, asked))
            f->list->at[i].loose = true;
    Patch *p = &f->list->at[at];
    for (int d = 0; d < 2; d++) {
        int64_t lo, hi;
        if (part->elsewhere || !tessi_access_reach(l->g, &access->dim[d], d, &lo, &hi)) {
            p->loose = true;
            return;
        }
        p->far = p->far || lo || hi;
        lo += part->lo[d];
        hi += part->lo[d] + part->n[d] - 1;
        p->lo[d] = lo < p->lo[d] ? lo : p->lo[d];
        p->hi[d] = hi > p->hi[d] ? hi : p->hi[d];
    }
}

static void add_reads(Finder *f, const ExprId *roots, uint32_t n, const FramePart *part)
{
    Lower *l = f->l;
    ExprList reads = tessi_reach(l, roots, n);
    for (uint32_t i = 0; i < reads.n; i++) {
        const Expr *e = tessi_expr(l->g, reads.at[i]);
        if (e->kind == EXPR_LOAD)
            add_read(f, tessi_access(l->g, e->access), part);
    }
}

void tessi_frame_patches(Lower *l, const FramePart *part, uint32_t n, int64_t most_bytes,
                         PatchList *list)
{
    Finder f = { .l = l, .list = list };
    list->n = 0;
    for (uint32_t i = 0; i < n; i++)
        add_reads(&f, part[i].roots, part[i].n_roots, &part[i]);
    for (uint32_t i = 0; i < list->n; i++) {
        Patch *p = &list->at[i];
        p->dropped = p->loose || !p->far;
        if (p->dropped)
            continue;
        const uint32_t size = tessi_type_info(tessi_stage(l->g, p->producer)->type)->bytes;
        const int64_t vector = 16 / size, rows = p->hi[0] - p->lo[0] + 1;
        p->columns = (p->hi[1] - p->lo[1] + vector) / vector * vector;
        const int64_t bytes = rows * p->columns * size;
        p->dropped = bytes > most_bytes;
        most_bytes -= p->dropped ? 0 : bytes;
    }
}
