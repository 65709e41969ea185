/* Graphs and their tables: windows, constant tables, accesses and stages. Expressions are made in graph_expr.c. */
#include <string.h>

#include "graph/graph.h"
#include "graph/graph_affine.h"

Graph *tessi_graph_new(Arena *a, const char *name)
{
    Graph *g = ARENA_NEW(a, Graph);
    g->arena = a;
    g->name = tessi_strdup(a, name ? name : "");
    VEC_PUSH(a, &g->sizes, ((Size){ .kind = SIZE_OF_AFFINE, .constant = INT64_MIN, .weight = 1 }));
    VEC_PUSH(a, &g->windows, ((Window){ 0 }));
    VEC_PUSH(a, &g->exprs, ((Expr){ .kind = EXPR_CONST, .type = TYPE_I32 }));
    VEC_PUSH(a, &g->accesses, ((Access){ 0 }));
    VEC_PUSH(a, &g->tables, ((Table){ .name = "", .type = TYPE_I32 }));
    VEC_PUSH(a, &g->stages, ((Stage){ .name = "", .type = TYPE_I32 }));
    return g;
}

/* Ids that are none or out of range give entry 0: harmless, and the verifier says so. */
const Access *tessi_access(const Graph *g, AccessId id)
{
    return &g->accesses.at[id.v < g->accesses.n ? id.v : 0];
}

const Window *tessi_window(const Graph *g, WindowId id)
{
    return &g->windows.at[id.v < g->windows.n ? id.v : 0];
}

const Table *tessi_table(const Graph *g, TableId id)
{
    return &g->tables.at[id.v < g->tables.n ? id.v : 0];
}

Stage *tessi_stage(const Graph *g, StageId id)
{
    return &g->stages.at[id.v < g->stages.n ? id.v : 0];
}

bool tessi_piece_is_whole(const Graph *g, const Stage *s, const Piece *p)
{
    for (uint32_t d = 0; d < s->n_dims; d++) {
        int64_t offset;
        if (p->step[d] != 1 || p->count[d].v != s->size[d].v
            || !tessi_size_is_const(g, p->offset[d], &offset) || offset != 0)
            return false;
    }
    return true;
}

bool tessi_stage_is_plain(const Graph *g, const Stage *s)
{
    return s->kind == STAGE_COMPUTE && s->pieces.n == 1
           && tessi_piece_is_whole(g, s, &s->pieces.at[0]);
}

uint32_t tessi_stage_lattice(const Graph *g, const Stage *s)
{
    enum { MOST_CLASSES = 16 };
    const int y = s->n_dims - 2;
    uint32_t seen = 0;
    if (y < 0 || s->pieces.n < 2 || s->pieces.n > MOST_CLASSES)
        return 0;
    const Piece *first = &s->pieces.at[0];
    if ((int64_t)first->step[y] * first->step[y + 1] != s->pieces.n)
        return 0;
    VEC_FOREACH (const Piece, piece, &s->pieces) {
        int64_t at[MAX_DIMS];
        for (int d = 0; d < s->n_dims; d++)
            if (piece->step[d] != first->step[d]
                || !tessi_size_is_const(g, piece->offset[d], &at[d]) || at[d] < 0
                || at[d] >= piece->step[d] || (d < y && piece->step[d] != 1))
                return 0;
        seen |= 1u << (at[y] * piece->step[y + 1] + at[y + 1]);
    }
    return seen == (1u << s->pieces.n) - 1 ? s->pieces.n : 0;
}

bool tessi_stage_is_whole(const Stage *s)
{
    return s->kind == STAGE_REDUCE || s->kind == STAGE_SCAN || s->kind == STAGE_HISTOGRAM;
}

bool tessi_stage_is_number(const Stage *s)
{
    return tessi_stage_is_whole(s) && !s->along && !s->keys.v;
}

int tessi_stage_from_source(const Stage *s, int d)
{
    if (!s->along)
        return -1;
    if (s->kind == STAGE_SCAN && !s->only_last)
        return d;
    return d == s->along - 1 ? -1 : d < s->along ? d : d - 1;
}

bool tessi_stage_same_domain(const Stage *a, const Stage *b)
{
    if (a->n_dims != b->n_dims)
        return false;
    for (uint32_t d = 0; d < a->n_dims; d++)
        if (a->size[d].v != b->size[d].v)
            return false;
    return true;
}

static const char *const methods[N_METHODS] = { "auto", "direct", "separable", "fft" };

const char *tessi_method_name(Method m)
{
    return m < N_METHODS ? methods[m] : "?";
}

bool tessi_method_by_name(const char *name, Method *m)
{
    for (int k = 0; k < N_METHODS; k++) {
        if (tessi_streq(name, methods[k])) {
            *m = (Method)k;
            return true;
        }
    }
    return false;
}

const char *tessi_reduction_name(Reduction r)
{
    static const char *const name[N_REDUCTIONS] = {
        [REDUCE_SUM] = "sum",       [REDUCE_PROD] = "prod", [REDUCE_MIN] = "min",
        [REDUCE_MAX] = "max",       [REDUCE_ANY] = "any",   [REDUCE_ALL] = "all",
        [REDUCE_MEDIAN] = "median", [REDUCE_MEAN] = "mean", [REDUCE_COUNT] = "count",
    };
    return (unsigned)r < N_REDUCTIONS ? name[r] : "?";
}

Op tessi_reduction_op(Reduction r)
{
    switch (r) {
    case REDUCE_PROD: return OP_MUL;
    case REDUCE_MIN: return OP_MIN;
    case REDUCE_MAX: return OP_MAX;
    case REDUCE_ANY: return OP_OR;
    case REDUCE_ALL: return OP_AND;
    default: return OP_ADD;
    }
}

/* ---- Windows --------------------------------------------------------------------------------- */
typedef struct WindowKey {
    const Graph *g;
    const Window *w;
} WindowKey;

static bool same_window(void *user, uint32_t id)
{
    const WindowKey *key = user;
    const Window *a = &key->g->windows.at[id], *b = key->w;
    if (a->level != b->level || a->n_vars != b->n_vars)
        return false;
    for (uint32_t k = 0; k < a->n_vars; k++)
        if (a->lo[k] != b->lo[k] || a->hi[k] != b->hi[k])
            return false;
    return true;
}

WindowId tessi_graph_window(Graph *g, const Window *w)
{
    uint64_t h = tessi_hash_u64(w->level, w->n_vars);
    for (uint32_t k = 0; k < w->n_vars; k++)
        h = tessi_hash_u64(tessi_hash_u64(h, (uint32_t)w->lo[k]), (uint32_t)w->hi[k]);
    WindowKey key = { g, w };
    uint32_t id = tessi_idmap_find(&g->window_map, h, same_window, &key);
    if (!id) {
        id = g->windows.n;
        VEC_PUSH(g->arena, &g->windows, *w);
        tessi_idmap_add(g->arena, &g->window_map, h, id);
    }
    return (WindowId){ id };
}

/* ---- Tables: equal contents are one table; names are made unique ----------------------------- */
static bool same_table(const Table *a, const Table *b)
{
    if (a->type != b->type || a->n != b->n || a->n_dims != b->n_dims)
        return false;
    for (uint32_t d = 0; d < a->n_dims; d++)
        if (a->dim[d] != b->dim[d])
            return false;
    for (uint32_t k = 0; k < a->n; k++)
        if (!tessi_value_same(a->type, a->at[k], b->at[k]))
            return false;
    return true;
}

static bool table_named(const Graph *g, const char *name)
{
    for (uint32_t id = 1; id < g->tables.n; id++)
        if (tessi_streq(g->tables.at[id].name, name))
            return true;
    return false;
}

TableId tessi_graph_table(Graph *g, const Table *t)
{
    for (uint32_t id = 1; id < g->tables.n; id++)
        if (same_table(&g->tables.at[id], t))
            return (TableId){ id };
    Table copy = *t;
    const char *wanted = t->name && *t->name ? t->name : "table";
    copy.name = tessi_strdup(g->arena, wanted);
    for (unsigned k = 2; table_named(g, copy.name); k++)
        copy.name = tessi_sprintf(g->arena, "%s_%u", wanted, k);
    copy.at = ARENA_NEW_ARRAY(g->arena, Value, t->n);
    for (uint32_t k = 0; k < t->n; k++)
        copy.at[k] = t->at[k];
    VEC_PUSH(g->arena, &g->tables, copy);
    return (TableId){ g->tables.n - 1 };
}

/* ---- Accesses -------------------------------------------------------------------------------- */
static void drop_term(AccessDim *d, uint32_t k)
{
    d->n_terms--;
    for (; k < d->n_terms; k++)
        d->term[k] = d->term[k + 1];
}

static int compare_terms(const Graph *g, const AccessTerm *a, const AccessTerm *b)
{
    uint8_t level_a = tessi_window(g, a->window)->level,
            level_b = tessi_window(g, b->window)->level;
    if (level_a != level_b)
        return level_a < level_b ? -1 : 1;
    if (a->window.v != b->window.v)
        return a->window.v < b->window.v ? -1 : 1;
    return (a->var > b->var) - (a->var < b->var);
}

/* Terms sorted, those of one variable joined, zeros dropped. */
static void normalise_terms(const Graph *g, AccessDim *d)
{
    for (uint32_t k = 1; k < d->n_terms; k++) {
        AccessTerm moving = d->term[k];
        uint32_t at = k;
        for (; at && compare_terms(g, &d->term[at - 1], &moving) > 0; at--)
            d->term[at] = d->term[at - 1];
        d->term[at] = moving;
    }
    for (uint32_t k = 0; k + 1 < d->n_terms;) {
        if (compare_terms(g, &d->term[k], &d->term[k + 1]) == 0) {
            d->term[k].coef = (int32_t)((uint32_t)d->term[k].coef + (uint32_t)d->term[k + 1].coef);
            drop_term(d, k + 1);
        } else {
            k++;
        }
    }
    for (uint32_t k = d->n_terms; k-- > 0;)
        if (d->term[k].coef == 0)
            drop_term(d, k);
}

/* One form for each meaning, members without meaning cleared. */
static void normalise_dim(Graph *g, const AccessDim *in, AccessDim *out)
{
    memset(out, 0, sizeof *out);
    *out = *in;
    if (out->n_terms > MAX_ACCESS_TERMS)
        out->n_terms = MAX_ACCESS_TERMS;
    const Expr *index = tessi_expr(g, in->index);
    bool is_size = in->absolute && index->kind == EXPR_SIZE;
    if (is_size) {
        out->absolute = false;
        out->src = -1;
        out->add = index->size;
        out->n_terms = 0;
    } else if (in->absolute) {
        tessi_affine_index(g, in->index, out);
    }
    if (out->absolute) {
        out->src = -1;
        out->scale = 0;
        out->add = (SizeId){ 0 };
        out->n_terms = 0;
        return;
    }
    out->index = (ExprId){ 0 };
    if (out->src >= 0 && out->scale == 0)
        out->src = -1;
    if (out->src < 0) {
        out->src = -1;
        out->scale = 0;
    }
    if (!out->add.v)
        out->add = tessi_size_const(g, 0);
    normalise_terms(g, out);
}

typedef struct AccessKey {
    const Graph *g;
    const Access *a;
} AccessKey;

static bool same_dim(const AccessDim *a, const AccessDim *b)
{
    if (a->absolute != b->absolute || a->rule != b->rule || a->src != b->src || a->scale != b->scale
        || a->add.v != b->add.v || a->index.v != b->index.v || a->n_terms != b->n_terms)
        return false;
    for (uint32_t k = 0; k < a->n_terms; k++)
        if (a->term[k].window.v != b->term[k].window.v || a->term[k].var != b->term[k].var
            || a->term[k].coef != b->term[k].coef)
            return false;
    return true;
}

static bool same_access(void *user, uint32_t id)
{
    const AccessKey *key = user;
    const Access *a = &key->g->accesses.at[id], *b = key->a;
    if (a->producer.v != b->producer.v || a->n_dims != b->n_dims || a->outside.v != b->outside.v)
        return false;
    for (uint32_t d = 0; d < a->n_dims; d++)
        if (!same_dim(&a->dim[d], &b->dim[d]))
            return false;
    return true;
}

static uint64_t hash_dim(uint64_t h, const AccessDim *d)
{
    h = tessi_hash_u64(h, (uint64_t)d->rule << 1 | d->absolute);
    h = tessi_hash_u64(h, (uint64_t)(uint32_t)d->scale << 8 | (uint8_t)d->src);
    h = tessi_hash_u64(h, (uint64_t)d->add.v << 32 | d->index.v);
    for (uint32_t k = 0; k < d->n_terms; k++)
        h = tessi_hash_u64(tessi_hash_u64(h, (uint64_t)d->term[k].window.v << 8 | d->term[k].var),
                           (uint32_t)d->term[k].coef);
    return h;
}

AccessId tessi_graph_access(Graph *g, const Access *a)
{
    Access access = { .producer = a->producer, .n_dims = a->n_dims, .outside = a->outside };
    if (access.n_dims > MAX_DIMS)
        access.n_dims = MAX_DIMS;
    bool may_be_outside = false;
    uint64_t h = tessi_hash_u64(a->producer.v, access.n_dims);
    for (uint32_t d = 0; d < access.n_dims; d++) {
        normalise_dim(g, &a->dim[d], &access.dim[d]);
        may_be_outside |= access.dim[d].rule == BORDER_CONSTANT;
        h = hash_dim(h, &access.dim[d]);
    }
    if (!may_be_outside)
        access.outside = (ExprId){ 0 };
    else if (tessi_stage(g, a->producer)->type == TYPE_F16) /* as if it stood in the image */
        access.outside = tessi_expr_cast(g, TYPE_F16, access.outside);
    h = tessi_hash_u64(h, access.outside.v);
    AccessKey key = { g, &access };
    uint32_t id = tessi_idmap_find(&g->access_map, h, same_access, &key);
    if (!id) {
        id = g->accesses.n;
        VEC_PUSH(g->arena, &g->accesses, access);
        tessi_idmap_add(g->arena, &g->access_map, h, id);
    }
    return (AccessId){ id };
}

/* ---- Stages ---------------------------------------------------------------------------------- */
typedef struct NameKey {
    const Graph *g;
    const char *name;
} NameKey;

static bool same_name(void *user, uint32_t id)
{
    const NameKey *key = user;
    return tessi_streq(key->g->stages.at[id].name, key->name);
}

static uint64_t hash_name(const char *name)
{
    return tessi_hash_bytes(0, name, strlen(name));
}

StageId tessi_graph_stage(Graph *g, const Stage *s)
{
    const char *wanted = s->name && *s->name ? s->name : "stage";
    NameKey key = { g, tessi_strdup(g->arena, wanted) };
    for (unsigned k = 2; tessi_idmap_find(&g->stage_map, hash_name(key.name), same_name, &key); k++)
        key.name = tessi_sprintf(g->arena, "%s_%u", wanted, k);
    Stage stage = *s;
    stage.wanted = tessi_strdup(g->arena, wanted);
    stage.name = key.name;
    stage.repeat = g->open_repeat;
    uint32_t id = g->stages.n;
    VEC_PUSH(g->arena, &g->stages, stage);
    tessi_idmap_add(g->arena, &g->stage_map, hash_name(stage.name), id);
    return (StageId){ id };
}

StageId tessi_graph_stage_by_name(const Graph *g, const char *name)
{
    NameKey key = { g, name };
    return (StageId){ tessi_idmap_find(&g->stage_map, hash_name(name), same_name, &key) };
}
