/* The pass `rows`: rows that a step over vectors reads at several places less than a vector apart, as stencils do.
 * They are named once, and prelude/c_vector.h decides by the processor how to read from them; and the steps then
 * stand at whole vectors of a row. Of bytes in pairs an odd one is the even one of a place further on, so that every
 * other place of the row need not be loaded. */
#include "loop/loop_passes.h"
#include "loop/pass.h"
#include "loop/vector.h"

enum { HIDES_A_LOAD = 3 }; /* operations on values from caches */
enum { ROW_BYTES = 64 };   /* the widest vector, and so how far from its middle a row is read */

/* A row of a buffer that a loop reads at places between min and max from `middle` behind `base`, the last index; `load`
 * tells the others. */
typedef struct Row {
    LExpr load;
    LExprId base;
    int64_t middle, min, max;
    int64_t first, last; /* of all that is read from there, however far from the middle */
    LExprId name;        /* where that is in scope */
} Row;

typedef struct Rows {
    LoopProgram *p;
    Arena *scratch;
    VEC(Row) rows;
    VEC(uint32_t) named; /* rows, in the order in which they came into scope */
    uint32_t n_loads, n_operations;
    bool pairs, stores_image;
    uint32_t *seen, *done, stamp; /* by LExprId */
    LExprId *changed;
    uint32_t *set,
        *stored; /* by LVarId and LBufferId: the stamp of the loop that sets or stores it */
    LExprId *
        named_as; /* by LVarId: what a loop's own name for a place stands for; none: more than one place */
    uint32_t *named_in; /* by LVarId: the stamp of that loop */
    uint32_t loop;      /* that stamp */
    bool renamed;       /* names of places in the loop may have lost their last use */
    VEC(LStmt *) left;  /* loops with such names */
} Rows;

/* A place of the loop without the constant in its last index. */
typedef struct Place {
    LExprId base;
    int64_t offset;
} Place;

static Place place_of(const Rows *r, const LExpr *load)
{
    Place place = { .base = load->arg[load->n_args - 1] };
    const LExpr *e = tessi_lexpr(r->p, place.base);
    if (e->kind == LEXPR_VAR && r->named_in[e->var.v] == r->loop && r->named_as[e->var.v].v)
        place.base = r->named_as[e->var.v];
    place.base = tessi_pass_without_constant(r->p, place.base, &place.offset);
    return place;
}

static int64_t most_of(const LExpr *load, const LoopProgram *p)
{
    return ROW_BYTES / (int64_t)tessi_type_info(p->buffers.at[load->buffer.v].type)->bytes;
}

static Row *find_row(Rows *r, const LExpr *load, LExprId base)
{
    VEC_FOREACH (Row, row, &r->rows) {
        bool same = row->load.buffer.v == load->buffer.v && row->base.v == base.v;
        for (int d = 0; same && d < load->n_args - 1; d++)
            same = row->load.arg[d].v == load->arg[d].v;
        if (same)
            return row;
    }
    return NULL;
}

/* Read at several places, the one that the row is named by among them or between them. */
static bool is_window(const Row *row)
{
    return row->min < row->max && row->min <= 0 && row->max >= 0;
}

/* ---- Finding ----------------------------------------------------------------------------------------------------- */

static bool is_constant(const Rows *r, LExprId id)
{
    PASS_PARTS (e, r->p, NULL, 0, id)
        if (e->kind == LEXPR_LOAD || (e->kind == LEXPR_VAR && r->set[e->var.v] == r->loop))
            return false;
    return true;
}

static void note_load(Rows *r, const LExpr *e)
{
    const uint32_t bytes = tessi_type_info(r->p->buffers.at[e->buffer.v].type)->bytes;
    const bool pairs = e->ref == LLOAD_EVENS || e->ref == LLOAD_ODDS;
    r->pairs = r->pairs || pairs;
    if (r->stored[e->buffer.v] == r->loop || !(pairs || (bytes >= 4 && bytes == e->lanes)))
        return;
    for (int d = 0; d < e->n_args; d++)
        if (!is_constant(r, e->arg[d]))
            return;
    const Place place = place_of(r, e);
    if (!is_constant(r, place.base))
        return;
    const int64_t most = most_of(e, r->p), at = place.offset;
    const bool near = at >= -most && at <= most;
    Row *row = find_row(r, e, place.base);
    if (!row) {
        const Row fresh = { .load = *e,
                            .base = place.base,
                            .min = near ? at : most + 1,
                            .max = near ? at : -most - 1,
                            .first = at,
                            .last = at };
        VEC_PUSH(r->scratch, &r->rows, fresh);
        return;
    }
    row->min = near && at < row->min ? at : row->min;
    row->max = near && at > row->max ? at : row->max;
    row->first = at < row->first ? at : row->first;
    row->last = at > row->last ? at : row->last;
}

/* Tiles hold points before their own: what is read around those is around a whole vector further on. */
static void find_middle(const Rows *r, Row *row)
{
    const int64_t most = most_of(&row->load, r->p);
    if (row->first < 0 || is_window(row))
        return;
    const int64_t middle = (row->first + row->last) / 2, vector = (middle + most / 2) / most * most;
    if (row->first < vector - most || row->last > vector + most)
        return;
    row->middle = vector;
    row->min = row->first - vector;
    row->max = row->last - vector;
}

static bool is_counted(const LExpr *e)
{
    return e->kind != LEXPR_SPLAT && (e->kind != LEXPR_RAMP || e->type != TYPE_INDEX);
}

/* Its arguments may be vectors. */
static bool has_values(const LExpr *e)
{
    return e->kind != LEXPR_LOAD || tessi_load_each(e);
}

static void find_in_expr(Rows *r, LExprId id)
{
    const LExpr *e = tessi_lexpr(r->p, id);
    if (!id.v || !e->lanes || r->seen[id.v] == r->stamp)
        return;
    r->seen[id.v] = r->stamp;
    const bool loads = e->kind == LEXPR_LOAD && !r->p->buffers.at[e->buffer.v].lanes;
    if (is_counted(e))
        ++*(e->kind == LEXPR_LOAD ? &r->n_loads : &r->n_operations);
    if (loads && e->ref != LLOAD_ROW && !tessi_load_each(e) && !tessi_load_apart(e))
        note_load(r, e);
    for (int i = 0; i < e->n_args && has_values(e); i++)
        find_in_expr(r, e->arg[i]);
}

/* A name for a place some elements from another one. */
static void note_name(Rows *r, const LStmt *let)
{
    const uint32_t v = let->var.v;
    const bool again = r->named_in[v] == r->loop && r->named_as[v].v != let->a.v;
    int64_t constant;
    tessi_pass_without_constant(r->p, let->a, &constant);
    r->named_as[v] = constant && !again ? let->a : (LExprId){ 0 };
    r->named_in[v] = r->loop;
}

static void find_changes(Rows *r, const LBlock *block)
{
    PASS_FOREACH (s, block) {
        if (s->kind == LSTMT_SET)
            r->set[s->var.v] = r->loop;
        if (s->kind == LSTMT_LET && r->p->vars.at[s->var.v].type == TYPE_INDEX)
            note_name(r, s);
        if (s->buffer.v && s->kind != LSTMT_PREFETCH && s->kind != LSTMT_LOCAL) {
            r->stored[s->buffer.v] = r->loop;
            r->stores_image = r->stores_image || r->p->buffers.at[s->buffer.v].kind != LBUF_LOCAL;
        }
    }
}

/* The rows that the loop reads at several places; false: none. */
static bool find_rows(Rows *r, const LStmt *loop)
{
    bool any = false;
    r->loop++;
    r->stamp++;
    r->rows.n = r->named.n = r->n_loads = r->n_operations = 0;
    r->pairs = r->stores_image = false;
    find_changes(r, &loop->body);
    PASS_FOREACH (s, &loop->body) {
        find_in_expr(r, s->a);
        find_in_expr(r, s->b);
    }
    if (!r->pairs && r->n_operations >= HIDES_A_LOAD * r->n_loads && !r->stores_image)
        return false; /* what lies in two lines is there in time */
    VEC_FOREACH (Row, row, &r->rows) {
        find_middle(r, row);
        any = any || is_window(row);
    }
    return any;
}

/* ---- Rewriting --------------------------------------------------------------------------------------------------- */

/* The place so far from the middle of the row. */
static LExprId further(const Rows *r, const Row *row, int64_t offset)
{
    const LExprId none = { 0 };
    const LExprId by = tessi_lexpr_index(r->p, row->middle + offset);
    return row->middle + offset ? tessi_lexpr_op(r->p, OP_ADD, row->base, by, none) : row->base;
}

/* The row by name, which it has from here on to the end of the block. */
static LExprId name_of(Rows *r, Row *row, LBlock *out)
{
    if (row->name.v)
        return row->name;
    LExprId index[LOOP_MAX_DIMS];
    const LBuffer b = r->p->buffers.at[row->load.buffer.v];
    for (int d = 0; d < b.n_dims; d++)
        index[d] = row->load.arg[d];
    index[b.n_dims - 1] = further(r, row, 0);
    const LExprId load =
        tessi_lexpr_load_lanes(r->p, row->load.lanes, LLOAD_ROW, row->load.buffer, index);
    row->name = tessi_pass_let(r->p, out, tessi_sprintf(r->p->arena, "%s_row", b.name), load);
    r->p->vars.at[tessi_lexpr(r->p, row->name)->var.v].is_row = true;
    VEC_PUSH(r->scratch, &r->named, (uint32_t)(row - r->rows.at));
    return row->name;
}

/* Even or odd bytes at a place whose distance from the first is even, if there is such a place. */
static LExprId pair_at(Rows *r, const Row *row, const LExpr *e, int64_t offset)
{
    uint32_t how = e->ref;
    LExprId index[LOOP_MAX_DIMS];
    if ((offset - row->min) % 2 && how == LLOAD_EVENS) {
        how = LLOAD_ODDS;
        offset--;
    } else if ((offset - row->min) % 2 && offset < row->max) {
        how = LLOAD_EVENS;
        offset++;
    }
    for (int d = 0; d < e->n_args; d++)
        index[d] = e->arg[d];
    index[e->n_args - 1] = further(r, row, offset);
    return tessi_lexpr_load_lanes(r->p, e->lanes, how, e->buffer, index);
}

static LExprId load_changed(Rows *r, LExprId id, const LExpr *e, LBlock *out)
{
    if (e->ref == LLOAD_ROW || tessi_load_apart(e) || r->p->buffers.at[e->buffer.v].lanes)
        return id;
    const Place place = place_of(r, e);
    Row *row = find_row(r, e, place.base);
    const int64_t offset = row ? place.offset - row->middle : 0;
    if (!row || !is_window(row) || offset < row->min || offset > row->max)
        return id;
    r->renamed = r->renamed || tessi_lexpr(r->p, e->arg[e->n_args - 1])->kind == LEXPR_VAR;
    return e->ref ? pair_at(r, row, e, offset) : tessi_lexpr_at(r->p, name_of(r, row, out), offset);
}

static LExprId changed(Rows *r, LExprId id, LBlock *out)
{
    const LExpr e = *tessi_lexpr(r->p, id);
    if (!id.v || !e.lanes)
        return id;
    if (r->done[id.v] == r->stamp)
        return r->changed[id.v];
    LExprId result = id, arg[LOOP_MAX_DIMS] = { { 0 } };
    bool same = true;
    for (int i = 0; i < e.n_args && has_values(&e); i++) {
        arg[i] = changed(r, e.arg[i], out);
        same = same && arg[i].v == e.arg[i].v;
    }
    if (!has_values(&e))
        result = load_changed(r, id, &e, out);
    else if (!same)
        result = tessi_lexpr_with_args(r->p, &e, arg);
    r->done[id.v] = r->stamp;
    r->changed[id.v] = result;
    return result;
}

static void change_block(Rows *r, LBlock *block)
{
    LBlock out = { 0 };
    const uint32_t mark = r->named.n;
    for (uint32_t i = 0; i < block->n; i++) {
        LStmt *s = block->at[i];
        r->stamp++; /* what has a name depends on where one stands */
        s->a = changed(r, s->a, &out);
        change_block(r, &s->body);
        change_block(r, &s->orelse);
        VEC_PUSH(r->p->arena, &out, s);
    }
    while (r->named.n > mark)
        r->rows.at[r->named.at[--r->named.n]].name = (LExprId){ 0 };
    *block = out;
}

/* All but the first and the last step stand at whole vectors of a row: what is behind the step's variable is not
 * before the range. */
static void align(Rows *r, LStmt *loop)
{
    const LExprId none = { 0 }, begin = loop->a;
    LStmt *x = loop->body.n ? loop->body.at[0] : NULL;
    const LExpr *e = x ? tessi_lexpr(r->p, x->a) : NULL;
    if (!x || x->kind != LSTMT_LET || e->kind != LEXPR_OP || e->op != OP_MIN
        || e->arg[0].v != tessi_lexpr_var(r->p, loop->var).v)
        return;
    loop->a = tessi_vector_before(r->p, loop->lanes, begin);
    x->a = tessi_lexpr_op(r->p, OP_MAX, x->a, begin, none);
}

static void visit(Rows *r, LBlock *block)
{
    for (uint32_t i = 0; i < block->n; i++) {
        LStmt *s = block->at[i];
        if (s->kind == LSTMT_FOR && s->lanes) {
            if (find_rows(r, s)) {
                r->renamed = false;
                change_block(r, &s->body);
                align(r, s);
                if (r->renamed)
                    VEC_PUSH(r->scratch, &r->left, s);
            }
            continue;
        }
        visit(r, &s->body);
        visit(r, &s->orelse);
    }
}

/* ---- Names that were left ---------------------------------------------------------------------------------------- */

typedef struct Uses {
    const LoopProgram *p;
    uint32_t *seen, *used, loop; /* by LExprId and LVarId: the number of the loop that has it */
} Uses;

/* Whether any went: what these asked for may be of no use then. */
static bool drop_unused(const Uses *u, LBlock *block)
{
    bool dropped = false;
    uint32_t n = 0;
    for (uint32_t i = 0; i < block->n; i++) {
        LStmt *s = block->at[i];
        dropped = drop_unused(u, &s->body) || dropped;
        dropped = drop_unused(u, &s->orelse) || dropped;
        const bool place = s->kind == LSTMT_LET && !(s->flags & LLET_KEPT)
                           && u->p->vars.at[s->var.v].type == TYPE_INDEX;
        if (!place || u->used[s->var.v] == u->loop)
            block->at[n++] = s;
    }
    dropped = dropped || n < block->n;
    block->n = n;
    return dropped;
}

/* Names of places that a loop asks for no more go from it; the same name may stand in other loops. */
static void drop_names(Rows *r)
{
    Uses u = { .p = r->p,
               .seen = ARENA_NEW_ARRAY(r->scratch, uint32_t, r->p->exprs.n),
               .used = ARENA_NEW_ARRAY(r->scratch, uint32_t, r->p->vars.n) };
    VEC_FOREACH (LStmt *, loop, &r->left) {
        do {
            u.loop++;
            PASS_FOREACH (s, &(*loop)->body)
                PASS_STMT_PARTS (e, u.p, u.seen, u.loop, s)
                    if (e->kind == LEXPR_VAR)
                        u.used[e->var.v] = u.loop;
        } while (drop_unused(&u, &(*loop)->body));
    }
}

void tessi_loop_rows(LoopProgram *p)
{
    Arena *a = tessi_scratch_open(p->arena);
    const uint32_t n = p->exprs.n; /* those of the program as it comes: no other is looked at */
    Rows r = { .p = p,
               .scratch = a,
               .seen = ARENA_NEW_ARRAY(a, uint32_t, n),
               .done = ARENA_NEW_ARRAY(a, uint32_t, n),
               .changed = ARENA_NEW_ARRAY(a, LExprId, n),
               .set = ARENA_NEW_ARRAY(a, uint32_t, p->vars.n),
               .stored = ARENA_NEW_ARRAY(a, uint32_t, p->buffers.n),
               .named_as = ARENA_NEW_ARRAY(a, LExprId, p->vars.n),
               .named_in = ARENA_NEW_ARRAY(a, uint32_t, p->vars.n) };
    VEC_FOREACH (LFunction, f, &p->functions)
        if (!f->is_kernel)
            visit(&r, &f->body);
    if (r.left.n)
        drop_names(&r);
    tessi_scratch_close(a);
}
