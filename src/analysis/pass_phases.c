/* Compositions that are read point by point. A stage put together on a lattice, as pictures of twice the size are, has
 * to be stored: its pieces are computed by loops of their own. Where all that read it do so at points whose class they
 * know, as `photo - upsample(small)` does, they are put together on that lattice instead, each of their pieces reads
 * what one piece of the other is made of, and nothing is stored in between.
 *
 * Results that ask for their class themselves, as `small[index(0) / 2, index(1) / 2]` and `index(1) % 2 == 0` do, are
 * put together on that lattice too, where vectors are short of gathers and choices: each piece knows the answer. */
#include "analysis/passes.h"
#include "graph/access.h"
#include "graph/graph_affine.h"
#include "graph/graph_passes.h"

#include <string.h>

enum { MOST_CLASSES = 16, MOST_NODES = 4096, MOST_DIVISOR = 4 };

/* A lattice: steps from point to point of a class, 1 where a dimension has none. */
typedef struct Lattice {
    int32_t step[MAX_DIMS];
} Lattice;

typedef struct Read {
    StageId by;
    AccessId access;
} Read;
typedef VEC(Read) Reads;

typedef struct Phases {
    Graph *g;
    Arena *scratch;
    /* By stage: */
    Lattice *own;   /* that it is put together on */
    Lattice *now;   /* the same, and on which its readers' pieces would be */
    Reads *reads;   /* what reads it, and how */
    bool *stays;    /* what it is read for wants it stored */
    bool *seen;     /* from outside: a result, or carried from turn to turn */
    bool *unfit;    /* there would be too many pieces, or some with fewer points */
    Lattice *asked; /* by which its own expressions want it split */
    Lattice *split; /* by which each of its pieces is */
    /* While a piece is made: */
    const int32_t *by, *at; /* its point i is point by[d] * i + at[d] of what it is made from */
    bool absorbs; /* reads of compositions that do not stay are answered by their pieces */
} Phases;

static Lattice no_lattice(void)
{
    Lattice l;
    for (int d = 0; d < MAX_DIMS; d++)
        l.step[d] = 1;
    return l;
}

static int64_t classes_of(const Lattice *l)
{
    int64_t n = 1;
    for (int d = 0; d < MAX_DIMS; d++)
        n = n > MOST_CLASSES ? n : n * l->step[d];
    return n;
}

/* ---- What the graph is ------------------------------------------------------------------------ */

/* Points of the piece reach the end of the stage. */
static bool reaches_end(Graph *g, const Stage *s, const Piece *p, int d)
{
    const SizeId all = tessi_size_scale(g, p->count[d], p->step[d]);
    int64_t over;
    return p->count[d].v == tessi_size_ceildiv(g, s->size[d], p->step[d]).v
           || (tessi_size_is_const(g, tessi_size_sub(g, all, s->size[d]), &over) && over >= 0);
}

/* Which class of a lattice the piece gives completely, as a number; -1: none. */
static int class_of(Graph *g, const Stage *s, const Piece *p, const Lattice *l)
{
    int number = 0;
    for (uint8_t d = 0; d < s->n_dims; d++) {
        int64_t offset;
        if (p->step[d] != l->step[d] || !tessi_size_is_const(g, p->offset[d], &offset) || offset < 0
            || offset >= p->step[d] || !reaches_end(g, s, p, d))
            return -1;
        number = number * p->step[d] + (int)offset;
    }
    return number;
}

/* The lattice of a stage of which each class has one piece. */
static Lattice lattice_of(Graph *g, const Stage *s)
{
    Lattice l = no_lattice();
    if (s->kind != STAGE_COMPUTE || s->pieces.n < 2 || s->pieces.n > MOST_CLASSES)
        return l;
    for (uint8_t d = 0; d < s->n_dims; d++)
        l.step[d] = s->pieces.at[0].step[d];
    uint32_t seen = 0;
    VEC_FOREACH (const Piece, p, &s->pieces) {
        const int of = classes_of(&l) == s->pieces.n ? class_of(g, s, p, &l) : -1;
        if (of < 0 || (seen >> of & 1))
            return no_lattice();
        seen |= (uint32_t)1 << of;
    }
    return l;
}

static void note_reads(Phases *p)
{
    Graph *g = p->g;
    ExprWalk walk = { .arena = p->scratch };
    GRAPH_FOREACH_STAGE (g, id) {
        const Stage *s = tessi_stage(g, id);
        p->stays[s->source.v] = p->stays[s->keys.v] = true;
        VEC_FOREACH (const Piece, piece, &s->pieces) {
            const ExprList *list = tessi_expr_walk(&walk, g, &piece->body, 1);
            VEC_FOREACH (const ExprId, e, list) {
                const Expr *load = tessi_expr(g, *e);
                if (load->kind != EXPR_LOAD)
                    continue;
                const Read read = { id, load->access };
                VEC_PUSH(p->scratch, &p->reads[tessi_access(g, load->access)->producer.v], read);
            }
        }
    }
}

static void note_seen(Phases *p)
{
    VEC_FOREACH (const Image, image, &p->g->outputs)
        VEC_FOREACH (const Channel, c, &image->channels)
            p->seen[c->stage.v] = true;
    VEC_FOREACH (const Repeat, repeat, &p->g->repeats) {
        p->seen[repeat->until.v] = true;
        VEC_FOREACH (const Carried, c, &repeat->carried)
            p->seen[c->first.v] = p->seen[c->next.v] = true;
    }
}

/* ---- What can be read in pieces --------------------------------------------------------------- */

/* The stage whose points a piece of `s` is, one by one; none: it is computed otherwise. */
static StageId copied_by(const Graph *g, const Stage *s, const Piece *piece)
{
    const StageId none = { 0 };
    const Expr *e = tessi_expr(g, piece->body);
    if (e->kind != EXPR_LOAD)
        return none;
    const Access *a = tessi_access(g, e->access);
    const Stage *from = tessi_stage(g, a->producer);
    bool is = tessi_access_is_at_point(g, a) && from->type == s->type && from->n_dims == s->n_dims;
    for (uint8_t d = 0; is && d < s->n_dims; d++)
        is = a->dim[d].rule == BORDER_INSIDE
             && (piece->step[d] > 1 || from->size[d].v == s->size[d].v);
    return is ? a->producer : none;
}

/* Each of its pieces is another stage, and will be. */
static bool is_of_stages(const Phases *p, StageId id)
{
    const Stage *s = tessi_stage(p->g, id);
    VEC_FOREACH (const Piece, piece, &s->pieces)
        if (!copied_by(p->g, s, piece).v)
            return false;
    return memcmp(&p->own[id.v], &p->now[id.v], sizeof(Lattice)) == 0;
}

/* The read says of which class a point is, whatever the sizes, and what the piece holds can take its place. */
static bool is_by_class(const Phases *p, const Access *a, const Stage *reader)
{
    const Graph *g = p->g;
    const Stage *s = tessi_stage(g, a->producer);
    bool at_point = reader->n_dims == s->n_dims && tessi_access_is_at_point(g, a);
    for (uint8_t d = 0; d < a->n_dims; d++) {
        const AccessDim *dim = &a->dim[d];
        int64_t add;
        at_point = at_point && dim->rule == BORDER_INSIDE;
        if (p->now[a->producer.v].step[d] > 1
            && (dim->absolute || dim->rule != BORDER_INSIDE || dim->n_terms || dim->src < 0
                || dim->scale != 1 || !tessi_size_is_const(g, dim->add, &add)))
            return false;
    }
    return (at_point && s->type != TYPE_F16) || is_of_stages(p, a->producer);
}

static bool can_be_composed(const Phases *p, StageId id)
{
    const Stage *s = tessi_stage(p->g, id);
    return s->kind == STAGE_COMPUTE && s->n_dims
           && (tessi_stage_is_plain(p->g, s) || classes_of(&p->own[id.v]) > 1);
}

static bool is_composed(const Phases *p, StageId id)
{
    return classes_of(&p->now[id.v]) > 1;
}

static int32_t common_multiple(int32_t a, int32_t b)
{
    int32_t x = a, y = b;
    while (y) {
        const int32_t rest = x % y;
        x = y;
        y = rest;
    }
    return a / x * b;
}

/* By how many the read wants each dimension of its reader split. */
static void widen(const Phases *p, const Access *a, int32_t by[MAX_DIMS])
{
    for (uint8_t d = 0; d < a->n_dims; d++) {
        const int32_t step = p->now[a->producer.v].step[d];
        if (step > 1)
            by[a->dim[d].src] = common_multiple(by[a->dim[d].src], step);
    }
}

/* ---- Results that ask for their class --------------------------------------------------------- */

/* A quotient or rest of a coordinate: of from->scale * index(from->src) + *add by *divisor. */
static bool is_of_class(Graph *g, const Expr *e, AccessDim *from, int64_t *add, int64_t *divisor)
{
    Value v;
    *from = (AccessDim){ .absolute = true, .index = e->arg[0] };
    if (e->kind != EXPR_OP || e->type != TYPE_I32 || e->n_args != 2
        || (e->op != OP_DIV && e->op != OP_MOD && e->op != OP_SHR && e->op != OP_AND)
        || !tessi_expr_is_const(g, e->arg[1], &v) || v.i < 1 || v.i > MOST_DIVISOR)
        return false;
    *divisor = e->op == OP_SHR ? (int64_t)1 << v.i : e->op == OP_AND ? v.i + 1 : v.i;
    return (e->op != OP_AND || (*divisor & (*divisor - 1)) == 0)
           && tessi_affine_index(g, e->arg[0], from) && from->src >= 0 && !from->n_terms
           && from->scale > 0 && tessi_size_is_const(g, from->add, add) && *add >= 0;
}

/* The same where all points of a piece are of one class: without the division. */
static ExprId without_division(Graph *g, ExprId id)
{
    const Expr e = *tessi_expr(g, id);
    AccessDim from;
    int64_t add, divisor;
    if (!is_of_class(g, &e, &from, &add, &divisor) || from.scale % divisor)
        return id;
    if (e.op == OP_MOD || e.op == OP_AND)
        return tessi_expr_int(g, TYPE_I32, add % divisor);
    const ExprId by = tessi_expr_int(g, TYPE_I32, from.scale / divisor);
    const ExprId index = tessi_expr_index(g, (uint32_t)from.src);
    const ExprId steps = tessi_expr_op(g, OP_MUL, index, by, (ExprId){ 0 });
    return tessi_expr_op(g, OP_ADD, steps, tessi_expr_int(g, TYPE_I32, add / divisor),
                         (ExprId){ 0 });
}

/* All classes have as many points, whatever the sizes, so that one loop computes them. */
static bool splits_evenly(const Phases *p, const Stage *s, const Lattice *by)
{
    VEC_FOREACH (const Piece, piece, &s->pieces)
        for (uint8_t d = 0; d < s->n_dims; d++)
            if (tessi_size_floordiv(p->g, piece->count[d], by->step[d]).v
                != tessi_size_ceildiv(p->g, piece->count[d], by->step[d]).v)
                return false;
    return true;
}

/* The lattice on which a plain result knows all such quotients and rests, if it is one of every second point: three or
 * four beside each other cost more to put together than vectors of indices (2048 x 4096 reals by 4: 4.5 to 7.4 ms). */
static Lattice asked_by(const Phases *p, StageId id)
{
    Graph *g = p->g;
    const Stage *s = tessi_stage(g, id);
    Lattice l = no_lattice();
    if (!p->seen[id.v] || s->kind != STAGE_COMPUTE || !s->n_dims || !tessi_stage_is_plain(g, s))
        return l;
    ExprWalk walk = { .arena = p->scratch };
    const ExprList *list = tessi_expr_walk(&walk, g, &s->pieces.at[0].body, 1);
    VEC_FOREACH (const ExprId, e, list) {
        AccessDim from;
        int64_t add, divisor;
        if (is_of_class(g, tessi_expr(g, *e), &from, &add, &divisor)) {
            const int32_t rest = (int32_t)(from.scale % divisor);
            const int32_t step = rest ? common_multiple(rest, (int32_t)divisor) / rest : 1;
            l.step[from.src] = common_multiple(l.step[from.src], step);
        }
    }
    bool is_half = list->n * classes_of(&l) <= MOST_NODES && splits_evenly(p, s, &l);
    for (uint8_t d = 0; d < s->n_dims; d++)
        is_half = is_half && l.step[d] <= 2;
    return is_half ? l : no_lattice();
}

/* ---- Which need not be stored ----------------------------------------------------------------- */

static bool leave(Phases *p, StageId id)
{
    const bool news = !p->stays[id.v];
    p->stays[id.v] = true;
    return news;
}

/* The lattice that a stage is put together on where what it reads is not stored; false when there is none after all. */
static bool find_lattice(Phases *p, StageId id)
{
    const Stage *s = tessi_stage(p->g, id);
    Lattice l = p->own[id.v];
    for (int d = 0; d < MAX_DIMS; d++)
        l.step[d] *= p->split[id.v].step[d];
    ExprWalk walk = { .arena = p->scratch };
    const bool was = p->unfit[id.v];
    const int64_t classes = classes_of(&l);
    if (classes > 1)
        p->unfit[id.v] |=
            classes > MOST_CLASSES || !splits_evenly(p, s, &p->split[id.v])
            || tessi_expr_walk(&walk, p->g, &s->pieces.at[0].body, 1)->n * classes > MOST_NODES;
    p->now[id.v] = p->unfit[id.v] ? p->own[id.v] : l;
    return p->unfit[id.v] == was;
}

/* All that read the composition can be split by its classes. */
static bool can_be_split(const Phases *p, StageId id)
{
    const Stage *s = tessi_stage(p->g, id);
    VEC_FOREACH (const Read, read, &p->reads[id.v]) {
        const Stage *by = tessi_stage(p->g, read->by);
        if (!can_be_composed(p, read->by) || p->unfit[read->by.v] || s->repeat != by->repeat
            || !is_by_class(p, tessi_access(p->g, read->access), by))
            return false;
    }
    return true;
}

/* Goes from compositions to those who read them; false when some have to be stored after all. One whose classes a
 * single read does not know splits none of its readers: those of theirs would be thought of as split, too. */
static bool spread(Phases *p)
{
    bool all = true;
    GRAPH_FOREACH_STAGE (p->g, id)
        p->split[id.v] = p->asked[id.v];
    GRAPH_FOREACH_STAGE (p->g, id) {
        all &= find_lattice(p, id);
        if (!is_composed(p, id) || p->stays[id.v])
            continue;
        if (!can_be_split(p, id)) {
            all &= !leave(p, id);
            continue;
        }
        VEC_FOREACH (const Read, read, &p->reads[id.v])
            widen(p, tessi_access(p->g, read->access), p->split[read->by.v].step);
    }
    return all;
}

static uint32_t bytes_of(const Phases *p, StageId id)
{
    return tessi_type_info(tessi_stage(p->g, id)->type)->bytes;
}

static bool has_one_reader(const Phases *p, StageId id)
{
    const Reads *reads = &p->reads[id.v];
    for (uint32_t k = 1; k < reads->n; k++)
        if (reads->at[k].by.v != reads->at[0].by.v)
            return false;
    return reads->n;
}

/* A stage that could be computed where it is read, and has to be stored as a composition, takes no more room than what
 * it alone reads would. */
static bool weigh(Phases *p)
{
    bool all = true;
    uint32_t *saved = ARENA_NEW_ARRAY(p->scratch, uint32_t, p->g->stages.n);
    GRAPH_FOREACH_STAGE (p->g, id)
        if (is_composed(p, id) && !p->stays[id.v] && has_one_reader(p, id))
            saved[p->reads[id.v].at[0].by.v] += bytes_of(p, id);
    GRAPH_FOREACH_STAGE (p->g, id) {
        if (!is_composed(p, id) || p->stays[id.v])
            continue;
        bool good = !p->seen[id.v] && p->reads[id.v].n;
        VEC_FOREACH (const Read, read, &p->reads[id.v]) {
            const StageId by = read->by;
            const bool is_stored = p->seen[by.v] || classes_of(&p->own[by.v]) > 1;
            good = good
                   && (is_stored || !p->stays[by.v]
                       || (has_one_reader(p, id) && saved[by.v] >= bytes_of(p, by)));
        }
        if (!good)
            all &= !leave(p, id);
    }
    return all;
}

/* ---- Making pieces ---------------------------------------------------------------------------- */

static ExprId moved(Phases *p, ExprId body, const int32_t *by, const int32_t *at, bool absorbs);

/* The read of a composition, by a point that is by[] * i + at[] of what the access speaks of, as one of what its piece
 * there is made of. */
static ExprId read_of_piece(Phases *p, Access a)
{
    Graph *g = p->g;
    const Stage *s = tessi_stage(g, a.producer);
    const Lattice *l = &p->now[a.producer.v];
    int32_t by[MAX_DIMS], at[MAX_DIMS], offset[MAX_DIMS];
    for (uint8_t d = 0; d < s->n_dims; d++) {
        AccessDim *dim = &a.dim[d];
        int64_t add = 0;
        if (!dim->absolute)
            tessi_size_is_const(g, dim->add, &add);
        offset[d] = (int32_t)(add - tessi_floordiv(add, l->step[d]) * l->step[d]);
        by[d] = dim->scale / l->step[d];
        at[d] = (int32_t)tessi_floordiv(add, l->step[d]);
        if (l->step[d] > 1) {
            dim->scale = by[d];
            dim->add = tessi_size_const(g, at[d]);
        }
    }
    VEC_FOREACH (const Piece, piece, &s->pieces) {
        bool is = true;
        for (uint8_t d = 0; d < s->n_dims; d++)
            is = is && piece->offset[d].v == tessi_size_const(g, offset[d]).v;
        if (!is)
            continue;
        const StageId from = copied_by(g, s, piece);
        if (!from.v)
            return moved(p, piece->body, by, at, false);
        a.producer = from;
        return tessi_expr_load(g, tessi_graph_access(g, &a));
    }
    return (ExprId){ 0 };
}

static void move(Graph *g, AccessDim *dim, const int32_t *by, const int32_t *at)
{
    const int64_t moved = (int64_t)dim->scale * at[dim->src];
    dim->add = tessi_size_add(g, dim->add, tessi_size_const(g, moved));
    dim->scale *= by[dim->src];
}

static ExprId change(Rewrite *r, ExprId id, const Expr *e)
{
    Phases *p = r->user;
    Graph *g = p->g;
    (void)id;
    const ExprId same = tessi_rewrite_rebuild(r, e);
    if (e->kind == EXPR_INDEX) {
        const ExprId by = tessi_expr_int(g, TYPE_I32, p->by[e->ref]);
        const ExprId at = tessi_expr_int(g, TYPE_I32, p->at[e->ref]);
        const ExprId steps = tessi_expr_op(g, OP_MUL, same, by, (ExprId){ 0 });
        return tessi_expr_op(g, OP_ADD, steps, at, (ExprId){ 0 });
    }
    if (e->kind
        != EXPR_LOAD) /* what has become a load, as the larger of two equal ones, is moved */
        return without_division(g, same);
    const Access *before = tessi_access(g, e->access);
    Access a = *tessi_access(g, tessi_expr(g, same)->access);
    for (uint8_t d = 0; d < a.n_dims; d++) {
        AccessDim *dim = &a.dim[d];
        if (dim->absolute)
            tessi_affine_index(g, dim->index, dim);
        else if (!before->dim[d].absolute && dim->src >= 0) /* else it is by the piece already */
            move(g, dim, p->by, p->at);
    }
    if (p->absorbs && is_composed(p, a.producer) && !p->stays[a.producer.v])
        return read_of_piece(p, a);
    return tessi_expr_load(g, tessi_graph_access(g, &a));
}

/* The body as its points by[] * i + at[] have it. */
static ExprId moved(Phases *p, ExprId body, const int32_t *by, const int32_t *at, bool absorbs)
{
    Phases inner = *p;
    inner.by = by;
    inner.at = at;
    inner.absorbs = absorbs;
    Rewrite r;
    tessi_rewrite_init(&r, p->g, p->g, p->scratch);
    r.change = change;
    r.user = &inner;
    return tessi_rewrite_expr(&r, body);
}

/* The class of number `k` of a piece that is split. */
static Piece class_of_piece(Phases *p, const Stage *s, const Piece *whole, const int32_t *by,
                            int64_t k)
{
    Graph *g = p->g;
    Piece piece = *whole;
    int32_t at[MAX_DIMS] = { 0 };
    for (int d = s->n_dims - 1; d >= 0; d--) {
        at[d] = (int32_t)(k % by[d]);
        k /= by[d];
        const SizeId first = tessi_size_const(g, (int64_t)whole->step[d] * at[d]);
        piece.step[d] = whole->step[d] * by[d];
        piece.offset[d] = tessi_size_add(g, whole->offset[d], first);
        piece.count[d] = tessi_size_floordiv(g, whole->count[d], by[d]); /* without rest */
    }
    piece.body = moved(p, whole->body, by, at, true);
    return piece;
}

static void split(Phases *p, StageId id)
{
    const Lattice *l = &p->split[id.v];
    Stage *s = tessi_stage(p->g, id);
    const Stage before = *s;
    s->pieces.at = NULL;
    s->pieces.n = s->pieces.cap = 0;
    VEC_FOREACH (const Piece, whole, &before.pieces) {
        for (int64_t k = 0; k < classes_of(l); k++) {
            const Piece piece = class_of_piece(p, &before, whole, l->step, k);
            VEC_PUSH(p->g->arena, &s->pieces, piece);
        }
    }
}

static void find_phases(Graph *g, Arena *scratch, bool asks)
{
    const uint32_t n = g->stages.n;
    Phases p = { .g = g,
                 .scratch = scratch,
                 .own = ARENA_NEW_ARRAY(scratch, Lattice, n),
                 .now = ARENA_NEW_ARRAY(scratch, Lattice, n),
                 .asked = ARENA_NEW_ARRAY(scratch, Lattice, n),
                 .split = ARENA_NEW_ARRAY(scratch, Lattice, n),
                 .reads = ARENA_NEW_ARRAY(scratch, Reads, n),
                 .stays = ARENA_NEW_ARRAY(scratch, bool, n),
                 .unfit = ARENA_NEW_ARRAY(scratch, bool, n),
                 .seen = ARENA_NEW_ARRAY(scratch, bool, n) };
    bool any = false;
    note_seen(&p);
    GRAPH_FOREACH_STAGE (g, id) {
        p.own[id.v] = lattice_of(g, tessi_stage(g, id));
        p.asked[id.v] = asks ? asked_by(&p, id) : no_lattice();
        any |= classes_of(&p.own[id.v]) > 1 || classes_of(&p.asked[id.v]) > 1;
    }
    if (!any)
        return;
    note_reads(&p);
    while (!spread(&p) || !weigh(&p))
        continue;
    GRAPH_FOREACH_STAGE (g, id)
        if (!p.unfit[id.v] && classes_of(&p.split[id.v]) > 1)
            split(&p, id);
}

void tessi_pass_phases(Graph *g, Arena *scratch)
{
    find_phases(g, scratch, false);
}

Graph *tessi_graph_phases_asked(Graph *g, Arena *a)
{
    bool any = false;
    for (uint32_t i = 1; i < g->exprs.n && !any; i++) {
        AccessDim from;
        int64_t add, divisor;
        any = is_of_class(g, &g->exprs.at[i], &from, &add, &divisor);
    }
    if (!any)
        return g;
    Arena *scratch = tessi_scratch_open(a);
    Graph *work = tessi_graph_copy_live(g, scratch);
    find_phases(work, scratch, true);
    tessi_pass_inside(work); /* of what pieces read */
    Graph *done = tessi_graph_copy_live(work, a);
    tessi_scratch_close(scratch);
    return done;
}
