/* Small images that are read across: W[index(2), c] goes down a column of W while the points of a row go on, so that
 * each neighbour finds its element a row farther, out of reach of vectors. Such an image is turned once, by a stage
 * of its own, and read along its rows. */
#include "graph/graph_passes.h"

enum { MOST_TURNED = 1 << 20 }; /* elements */

typedef struct Turner {
    const Stage *stage; /* of the copy, in which the expressions in hand stand */
    VEC(Access) known;  /* of the copy: the reads of the turned stages, and */
    VEC(StageId) made;  /* these */
} Turner;

static void enter(void *user, const Graph *copy, const Stage *s, const Piece *p)
{
    (void)copy;
    (void)p;
    ((Turner *)user)->stage = s;
}

/* All dimensions of the image have constant sizes, and it is not large. */
static bool is_small(const Graph *g, const Stage *s)
{
    int64_t all = 1, size;
    for (uint8_t d = 0; d < s->n_dims; d++)
        if (!tessi_size_is_const(g, s->size[d], &size) || !tessi_mul_i64(all, size, &all))
            return false;
    return s->n_dims > 1 && all <= MOST_TURNED
           && (s->kind == STAGE_INPUT || s->kind == STAGE_COMPUTE);
}

/* The dimension of the image, not its last, along which it is read from point to point of a row, and which is the
 * only one that moves with the point; -1: there is none. */
static int crossed(const Access *a, const Stage *reader)
{
    int found = -1;
    for (uint8_t d = 0; d < a->n_dims; d++) {
        const AccessDim *dim = &a->dim[d];
        if (dim->absolute || dim->src < 0)
            continue;
        if (found >= 0 || dim->src != reader->n_dims - 1 || dim->scale != 1 || dim->n_terms
            || d + 1 == a->n_dims)
            return -1;
        found = d;
    }
    return found;
}

/* The image with its dimension `d` as the last one, and its last in that place. */
static StageId turned(Turner *t, Rewrite *r, StageId image, uint8_t d)
{
    Graph *g = r->to;
    const Stage *s = tessi_stage(g, image);
    const uint8_t last = (uint8_t)(s->n_dims - 1);
    Access read = { .producer = image, .n_dims = s->n_dims };
    Stage made = { .kind = STAGE_COMPUTE, .type = s->type, .n_dims = s->n_dims, .span = s->span };
    Piece piece = { 0 };
    for (uint8_t k = 0; k < s->n_dims; k++) {
        const uint8_t from = k == d ? last : k == last ? d : k;
        made.size[k] = piece.count[k] = s->size[from];
        piece.step[k] = 1;
        piece.offset[k] = tessi_size_const(g, 0);
        read.dim[k] = (AccessDim){ .rule = BORDER_INSIDE, .src = (int8_t)from, .scale = 1 };
        read.dim[k].add = tessi_size_const(g, 0);
    }
    for (uint32_t i = 0; i < t->made.n; i++)
        if (t->known.at[i].producer.v == image.v && t->known.at[i].dim[last].src == d)
            return t->made.at[i];
    made.name = made.wanted = tessi_sprintf(g->arena, "%s_turned", s->name);
    piece.body = tessi_expr_load(g, tessi_graph_access(g, &read));
    VEC_PUSH(g->arena, &made.pieces, piece);
    VEC_PUSH(r->walk.arena, &t->known, read);
    VEC_PUSH(r->walk.arena, &t->made, tessi_graph_stage(g, &made));
    return t->made.at[t->made.n - 1];
}

static ExprId change(Rewrite *r, ExprId id, const Expr *e)
{
    Turner *t = r->user;
    const ExprId same = tessi_rewrite_rebuild(r, e);
    const Expr *load = tessi_expr(r->to, same);
    (void)id;
    if (e->kind != EXPR_LOAD || t->stage->kind != STAGE_COMPUTE || t->stage->repeat)
        return same;
    Access a = *tessi_access(r->to, load->access);
    const Stage *image = tessi_stage(r->to, a.producer);
    const int d = a.n_dims == image->n_dims && !image->repeat ? crossed(&a, t->stage) : -1;
    if (d < 0 || t->stage->n_dims < 2 || !is_small(r->to, image))
        return same;
    const AccessDim along = a.dim[d];
    a.producer = turned(t, r, a.producer, (uint8_t)d);
    a.dim[d] = a.dim[a.n_dims - 1];
    a.dim[a.n_dims - 1] = along;
    return tessi_expr_load(r->to, tessi_graph_access(r->to, &a));
}

Graph *tessi_graph_copy_turned(const Graph *g, Arena *a)
{
    Turner t = { 0 };
    const GraphChange turn = { .change = change, .enter = enter, .user = &t };
    return tessi_graph_copy(g, a, &turn);
}
