/* The pass `turn`: vector loops along a row that read columns of an image, a transposition above all, go block by
 * block. A line of the cache that one row reads is read again by the rows below it, when it has long left the cache;
 * in a block of as many rows and columns as a line has elements it is read once, as a whole, and turned over:
 *
 *   parallel for y in a .. b {             parallel for y_block in a .. b step 16 {
 *     simd for x in c .. d {                 for x_block in c .. d step 16 {
 *       store out[y, x] = in[x, y]    ->       [k, i] of lines = in[x_block + k, y_block + i]
 *     }                                        [i, k] of turned = lines[k, i]
 *   }                                          out[y_block + i, x_block + k] = turned[i, k]
 *
 * and blocks that are not whole, at the ends, are computed as before, as are blocks in which a rule answers. The rows
 * of a block are in no order with those of others, so the loop over y must be parallel, or its body a single loop that
 * reads nothing it stores. */
#include "loop/loop_passes.h"
#include "loop/pass.h"
#include "loop/turn_square.h"

enum { MOST_COPIES = 4, LINE_BYTES = 64, MOST_EDGE = 64, MOST_CLAMPS = 16 };

typedef struct Slopes {
    int64_t x, y;
} Slopes;

/* A rectangle of an image that the block reads turned over. */
typedef struct Turned {
    LBufferId buffer;
    uint8_t column, n_dims;       /* the dimension along which x goes; y goes along the last */
    Slopes slope;                 /* 1 or -1 each: of these two dimensions */
    LExprId first[LOOP_MAX_DIMS]; /* where the block begins to read, without the constants */
    int64_t least[2], span[2];    /* of the constants, by column and row: the least, how far */
    LBufferId lines, turned;
} Turned;

typedef struct Pass {
    LoopProgram *p;
    const LStmt **definition; /* by LVarId: its only LET or loop; */
    uint32_t *definitions;    /* how many define it */
    bool *inside;             /* by LVarId: defined in the loop over y in hand */
    uint32_t n_vars;

    const LStmt *rows, *points; /* the loops over y and x */
    LExprId x, y, n_rows;       /* of a block: where it begins; its rows, `edge` at most */
    int64_t edge;
    Turned at[MOST_COPIES];
    uint32_t n;
    /* MIN and MAX with what is the same in the whole block, as rules have them: passed over, where no index of the
     * block meets them. */
    LExprId clamp[MOST_CLAMPS];
    uint32_t n_clamps;
    bool is_strict;     /* none is passed over */
    LExprId row_length; /* of a plane, where one loop counts the rows of several planes; or none */
} Pass;

static const LExprId none = { 0 };

static LExprId op(const Pass *s, Op o, LExprId a, LExprId b)
{
    return tessi_pass_op(s->p, o, a, b);
}

static LExprId number(const Pass *s, int64_t i)
{
    return tessi_lexpr_index(s->p, i);
}

static LExprId plus(const Pass *s, LExprId a, int64_t i)
{
    return tessi_pass_plus(s->p, a, i);
}

/* ---- Indices ----------------------------------------------------------------------------------------------------- */

static bool is_rows(const Pass *s, LExprId id)
{
    const LExpr *e = tessi_lexpr(s->p, id);
    return e->kind == LEXPR_VAR && e->var.v == s->rows->var.v;
}

/* The value of a LET inside of the loops; none: it is no such name. */
static LExprId named(const Pass *s, LExprId id)
{
    const LExpr *e = tessi_lexpr(s->p, id);
    if (e->kind != LEXPR_VAR || e->var.v >= s->n_vars || !s->inside[e->var.v]
        || s->definitions[e->var.v] != 1)
        return none;
    const LStmt *d = s->definition[e->var.v];
    return d->kind == LSTMT_LET ? d->a : none;
}

static bool is_outside(const Pass *s, LExprId id)
{
    PASS_PARTS (e, s->p, NULL, 0, id)
        if (e->kind == LEXPR_LOAD
            || (e->kind == LEXPR_VAR
                && (s->p->vars.at[e->var.v].is_mutable || s->inside[e->var.v])))
            return false;
    return true;
}

/* Row y of plane z, where one loop goes over the rows of all planes. */
static bool is_of_plane(Pass *s, const LExpr *e)
{
    if ((e->op != OP_FLOORMOD && e->op != OP_FLOORDIV) || !is_rows(s, e->arg[0])
        || !is_outside(s, e->arg[1]) || (s->row_length.v && s->row_length.v != e->arg[1].v))
        return false;
    s->row_length = e->arg[1];
    return true;
}

static bool slopes_of(Pass *s, LExprId id, Slopes *slopes);

/* The argument of a MIN or MAX that goes with the loops; -1: both do, or it is none. */
static int clamped(const Pass *s, const LExpr *e)
{
    if (e->kind != LEXPR_OP || (e->op != OP_MIN && e->op != OP_MAX))
        return -1;
    return is_outside(s, e->arg[1]) ? 0 : is_outside(s, e->arg[0]) ? 1 : -1;
}

static bool slopes_of_clamped(Pass *s, LExprId id, LExprId arg, Slopes *slopes)
{
    uint32_t i = 0;
    while (i < s->n_clamps && s->clamp[i].v != id.v)
        i++;
    if (s->is_strict || i == MOST_CLAMPS)
        return false;
    s->clamp[i] = id;
    s->n_clamps += i == s->n_clamps;
    return slopes_of(s, arg, slopes);
}

/* How an index grows with x and with y inside a block; false: not always by the same. */
static bool slopes_of(Pass *s, LExprId id, Slopes *slopes)
{
    const LExprId value = named(s, id);
    const LExpr e = *tessi_lexpr(s->p, value.v ? value : id);
    Slopes a, b;
    *slopes = (Slopes){ 0 };
    if (value.v)
        return slopes_of(s, value, slopes);
    if (e.kind == LEXPR_VAR && (e.var.v == s->points->var.v || is_rows(s, id))) {
        *(is_rows(s, id) ? &slopes->y : &slopes->x) = 1;
        return true;
    }
    if (is_outside(s, id))
        return true;
    if (e.kind != LEXPR_OP || e.type != TYPE_INDEX)
        return false;
    if (is_of_plane(s, &e)) {
        slopes->y = e.op == OP_FLOORMOD;
        return true;
    }
    if (clamped(s, &e) >= 0)
        return slopes_of_clamped(s, value.v ? value : id, e.arg[clamped(s, &e)], slopes);
    if (!slopes_of(s, e.arg[0], &a) || (e.n_args > 1 && !slopes_of(s, e.arg[1], &b)))
        return false;
    switch (e.op) {
    case OP_NEG: *slopes = (Slopes){ -a.x, -a.y }; return true;
    case OP_ADD: *slopes = (Slopes){ a.x + b.x, a.y + b.y }; return true;
    case OP_SUB: *slopes = (Slopes){ a.x - b.x, a.y - b.y }; return true;
    case OP_MUL: {
        const LExpr *c = tessi_lexpr(s->p, e.arg[1]);
        const bool small = c->kind == LEXPR_CONST && c->value.i >= -1 && c->value.i <= 1;
        *slopes = (Slopes){ small ? a.x * c->value.i : 0, small ? a.y * c->value.i : 0 };
        return small;
    }
    default: return false;
    }
}

/* An index that has slopes, at x and y. */
static LExprId at(const Pass *s, LExprId id, LExprId x, LExprId y)
{
    const LExprId value = named(s, id);
    if (value.v)
        return at(s, value, x, y);
    const LExpr e = *tessi_lexpr(s->p, id);
    if (e.kind == LEXPR_VAR)
        return e.var.v == s->points->var.v ? x : is_rows(s, id) ? y : id;
    if (e.kind != LEXPR_OP || is_outside(s, id))
        return id;
    if (clamped(s, &e) >= 0)
        return at(s, e.arg[clamped(s, &e)], x, y);
    LExprId arg[LOOP_MAX_DIMS] = { { 0 } };
    for (int i = 0; i < e.n_args; i++)
        arg[i] = at(s, e.arg[i], x, y);
    return tessi_lexpr_with_args(s->p, &e, arg);
}

/* No index of the block meets a clamp: the one that is nearest does not. */
static LExprId is_free(Pass *s, LExprId clamp)
{
    const LExpr e = *tessi_lexpr(s->p, clamp);
    const int k = clamped(s, &e);
    const bool largest = e.op == OP_MIN;
    const LExprId last_x = plus(s, s->x, s->edge - 1),
                  last_y = op(s, OP_ADD, s->y, plus(s, s->n_rows, -1));
    Slopes slope;
    slopes_of(s, e.arg[k], &slope);
    const LExprId nearest = at(s, e.arg[k], (slope.x > 0) == largest ? last_x : s->x,
                               (slope.y > 0) == largest ? last_y : s->y);
    return largest ? op(s, OP_LE, nearest, e.arg[1 - k]) : op(s, OP_LE, e.arg[1 - k], nearest);
}

/* ---- Loads ------------------------------------------------------------------------------------------------------- */

/* Whether a load reads columns, and what its block begins with; the constants of its two dimensions. */
static bool is_turned(Pass *s, const LExpr *load, Turned *t, int64_t constant[2])
{
    const LBuffer *b = &s->p->buffers.at[load->buffer.v];
    const int last = load->n_args - 1;
    bool crossed = false;
    if (last < 1 || load->lanes || b->flat || b->lanes || b->kind == LBUF_LOCAL
        || b->kind == LBUF_TABLE)
        return false;
    *t = (Turned){ .buffer = load->buffer, .n_dims = load->n_args };
    for (int d = 0; d <= last; d++) {
        Slopes slope;
        if (!slopes_of(s, load->arg[d], &slope))
            return false;
        const int64_t x = slope.x * slope.x, y = slope.y * slope.y;
        if (x > 1 || y > 1 || (d == last ? x || !y : y || (x && crossed)))
            return false;
        t->first[d] = at(s, load->arg[d], slope.x < 0 ? plus(s, s->x, s->edge - 1) : s->x,
                         slope.y < 0 ? op(s, OP_ADD, s->y, plus(s, s->n_rows, -1)) : s->y);
        if (d == last)
            t->slope.y = slope.y;
        if (x) {
            crossed = true;
            t->slope.x = slope.x;
            t->column = (uint8_t)d;
        }
        if (x || d == last)
            t->first[d] = tessi_pass_without_constant(s->p, t->first[d], &constant[d == last]);
    }
    return crossed;
}

static Turned *find(Pass *s, const Turned *t)
{
    for (uint32_t i = 0; i < s->n; i++) {
        Turned *k = &s->at[i];
        bool same = k->buffer.v == t->buffer.v && k->column == t->column && k->slope.x == t->slope.x
                    && k->slope.y == t->slope.y;
        for (int d = 0; d < t->n_dims; d++)
            same = same && k->first[d].v == t->first[d].v;
        if (same)
            return k;
    }
    return NULL;
}

static bool note(Pass *s, LExprId id)
{
    if (!id.v)
        return true;
    const LExpr e = *tessi_lexpr(s->p, id);
    Turned t;
    int64_t constant[2] = { 0 };
    for (int i = 0; i < e.n_args; i++)
        if (!note(s, e.arg[i]))
            return false;
    const uint32_t n_clamps = s->n_clamps;
    if (e.kind != LEXPR_LOAD || !is_turned(s, &e, &t, constant)) {
        s->n_clamps = n_clamps; /* those of other loads do not matter */
        return true;
    }
    Turned *known = find(s, &t);
    if (!known && s->n == MOST_COPIES)
        return false;
    if (!known) {
        known = &s->at[s->n++];
        *known = t;
        for (int k = 0; k < 2; k++)
            known->least[k] = constant[k];
    }
    for (int k = 0; k < 2; k++) {
        const int64_t least = known->least[k], most = least + known->span[k];
        known->least[k] = constant[k] < least ? constant[k] : least;
        known->span[k] = (constant[k] > most ? constant[k] : most) - known->least[k];
        if (known->span[k] > s->edge)
            return false;
    }
    return true;
}

/* The load, from what was turned over. */
static LExprId from_turned(Pass *s, const LExpr *load)
{
    Turned t;
    int64_t constant[2] = { 0 };
    const Turned *known = is_turned(s, load, &t, constant) ? find(s, &t) : NULL;
    if (!known)
        return none;
    const LExprId x = tessi_lexpr_var(s->p, s->points->var),
                  y = tessi_lexpr_var(s->p, s->rows->var);
    const LExprId k = op(s, OP_SUB, x, s->x), i = op(s, OP_SUB, y, s->y);
    const int64_t column = constant[0] - known->least[0], row = constant[1] - known->least[1];
    /* read from right to left: turned over the other way round */
    const LExprId index[2] = { known->slope.y > 0 ? plus(s, i, row)
                                                  : op(s, OP_SUB, plus(s, s->n_rows, row - 1), i),
                               plus(s, k, known->slope.x > 0 ? column : known->span[0] - column) };
    return tessi_lexpr_load(s->p, known->turned, index, 2);
}

/* ---- Statements -------------------------------------------------------------------------------------------------- */

static LExprId replaced(void *user, LExprId id)
{
    Pass *s = user;
    const LExpr e = *tessi_lexpr(s->p, id);
    const LExprId turned = e.kind == LEXPR_LOAD ? from_turned(s, &e) : none;
    return turned.v ? turned : tessi_pass_changed(s->p, id, replaced, s);
}

static LStmt *copy_of(Pass *s, const LStmt *from, LBlock *to)
{
    LStmt *t = tessi_lstmt(s->p, to, from->kind);
    *t = *from;
    return t;
}

/* The loop over x from `a` to `b`; with loads of what was turned over, or as it was. */
static LStmt *points_of(Pass *s, LExprId a, LExprId b, bool turned, LBlock *to)
{
    LStmt *loop = tessi_pass_like(s->p, to, s->points);
    loop->a = a;
    loop->b = b;
    loop->least = 0;
    for (uint32_t i = 0; i < s->points->body.n; i++) {
        LStmt *t = copy_of(s, s->points->body.at[i], &loop->body);
        if (turned)
            t->a = replaced(s, t->a);
    }
    return loop;
}

/* A loop over the rows of the block, with the names that its statement number n may use. */
static LStmt *rows_of(Pass *s, LExprId end, uint32_t n, LBlock *to)
{
    LStmt *rows = tessi_pass_like(s->p, to, s->rows);
    rows->flags = 0;
    rows->step = 1;
    rows->least = 0;
    rows->a = s->y;
    rows->b = end;
    for (uint32_t i = 0; i < n; i++)
        if (s->rows->body.at[i]->kind == LSTMT_LET)
            copy_of(s, s->rows->body.at[i], &rows->body);
    return rows;
}

static LBufferId local(Pass *s, const char *name, ScalarType type, int64_t m, int64_t n, LBlock *to)
{
    const LBuffer b = { .name = name,
                        .kind = LBUF_LOCAL,
                        .type = type,
                        .n_dims = 2,
                        .size = { number(s, m), number(s, n) } };
    const LBufferId id = tessi_loop_buffer(s->p, &b);
    tessi_lstmt(s->p, to, LSTMT_LOCAL)->buffer = id;
    return id;
}

/* The rectangle as lines of the image, in the order in which x goes. */
static void copy_lines(Pass *s, const Turned *t, LBufferId lines, LExprId all_rows, LBlock *to)
{
    const int64_t columns = s->edge + t->span[0];
    LExprId i, k, index[LOOP_MAX_DIMS];
    LStmt *each = tessi_pass_each(s->p, "k", number(s, columns), 0, to, &k);
    LStmt *line = tessi_pass_each(s->p, "i", all_rows, LFOR_SIMD, &each->body, &i);
    const LExprId column = t->slope.x > 0 ? k : op(s, OP_SUB, number(s, columns - 1), k);
    for (int d = 0; d < t->n_dims; d++)
        index[d] = t->first[d];
    index[t->column] = op(s, OP_ADD, plus(s, index[t->column], t->least[0]), column);
    index[t->n_dims - 1] = op(s, OP_ADD, plus(s, index[t->n_dims - 1], t->least[1]), i);
    tessi_pass_store(s->p, lines, k, i, tessi_lexpr_load(s->p, t->buffer, index, t->n_dims),
                     &line->body);
}

/* A whole block: by vectors. */
static void turn_square(Pass *s, const Turned *t, LBlock *to)
{
    const LBufferId at[2] = { t->turned, t->lines };
    copy_lines(s, t, at[tessi_turn_rounds(s->edge) % 2], number(s, s->edge), to);
    tessi_turn_square(s->p, s->edge, at, to);
}

static void turn(Pass *s, Turned *t, LBlock *to)
{
    const LBuffer b = s->p->buffers.at[t->buffer.v];
    const ScalarType type = tessi_value_type(b.type);
    const int64_t columns = s->edge + t->span[0], rows = s->edge + t->span[1]; /* at most */
    const LExprId all_columns = number(s, columns), all_rows = plus(s, s->n_rows, t->span[1]);
    LExprId i, k;
    const char *name = b.name ? b.name : "";
    t->lines = local(s, tessi_sprintf(s->p->arena, "%s_lines", name), type, columns, rows, to);
    t->turned = local(s, tessi_sprintf(s->p->arena, "%s_turned", name), type, rows, columns, to);
    if (!t->span[0] && !t->span[1]) {
        LStmt *whole = tessi_lstmt(s->p, to, LSTMT_IF);
        whole->a = op(s, OP_EQ, s->n_rows, number(s, s->edge));
        turn_square(s, t, &whole->body);
        to = &whole->orelse;
    }
    copy_lines(s, t, t->lines, all_rows, to);
    LStmt *lines = tessi_pass_each(s->p, "i", all_rows, 0, to, &i);
    LStmt *line = tessi_pass_each(s->p, "k", all_columns, LFOR_SIMD, &lines->body, &k);
    const LExprId from[2] = { k, i };
    tessi_pass_store(s->p, t->turned, i, k, tessi_lexpr_load(s->p, t->lines, from, 2), &line->body);
}

/* ---- Loops ------------------------------------------------------------------------------------------------------- */

static bool is_straight(const LBlock *block)
{
    for (uint32_t i = 0; i < block->n; i++)
        if (block->at[i]->kind != LSTMT_LET && block->at[i]->kind != LSTMT_STORE)
            return false;
    return true;
}

static void mark(Pass *s, const LBlock *block, bool inside)
{
    PASS_FOREACH (t, block)
        s->inside[t->var.v] = inside;
}

/* The index differs from row to row of a block, also in a ring of rows. */
static bool follows_rows(Pass *s, LExprId id)
{
    const LExprId before = s->row_length;
    Slopes slope;
    s->is_strict = true; /* rows beyond a clamp all have the same */
    const bool follows = slopes_of(s, id, &slope) && slope.y && !slope.x;
    s->is_strict = false;
    const LExpr *ring = tessi_lexpr(s->p, s->row_length);
    const bool whole =
        s->row_length.v == before.v || (ring->kind == LEXPR_CONST && ring->value.i >= s->edge);
    s->row_length = before;
    return follows && whole;
}

/* Each row stores to places of its own, which none reads: their order is of no account. */
static bool has_no_order(Pass *s, const LBlock *block)
{
    PASS_FOREACH (t, block) {
        bool own = t->kind != LSTMT_STORE;
        for (int d = 0; d < t->n_index && !own; d++)
            own = follows_rows(s, t->index[d]);
        const bool simple = t->kind == LSTMT_FOR || t->kind == LSTMT_IF || t->kind == LSTMT_LET
                            || t->kind == LSTMT_STORE || t->kind == LSTMT_COMMENT;
        if (!own || !simple || (t->buffer.v && tessi_pass_loads(s->p, &s->rows->body, t->buffer)))
            return false;
    }
    return true;
}

/* What is read turned over, and how large blocks are. */
static bool find_turned(Pass *s)
{
    s->row_length = none;
    s->edge = MOST_EDGE; /* that of the widest elements, for which lines have room */
    for (int round = 0; round < 2; round++) {
        s->n = s->n_clamps = 0;
        VEC_FOREACH (LStmt *, i, &s->points->body)
            if (!note(s, (*i)->a))
                return false;
        for (uint32_t i = 0; i < s->n; i++) {
            const int64_t edge =
                LINE_BYTES / tessi_type_info(s->p->buffers.at[s->at[i].buffer.v].type)->bytes;
            s->edge = edge < s->edge ? edge : s->edge;
        }
    }
    return s->n > 0;
}

/* Statement number n of the rows, the loop over x. */
static void block(Pass *s, LExprId y_end, uint32_t n, LBlock *to)
{
    LStmt *columns = tessi_lstmt(s->p, to, LSTMT_FOR),
          *branch = tessi_lstmt(s->p, &columns->body, LSTMT_IF);
    columns->var = tessi_lexpr(s->p, s->x)->var;
    columns->a = s->points->a;
    columns->b = s->points->b;
    columns->step = s->edge;
    const LExprId x_end = plus(s, s->x, s->edge);
    branch->a = op(s, OP_LE, x_end, columns->b);
    if (s->row_length.v) /* all rows are of one plane */
        branch->a =
            op(s, OP_AND, branch->a,
               op(s, OP_LE, op(s, OP_ADD, op(s, OP_FLOORMOD, s->y, s->row_length), s->n_rows),
                  s->row_length));
    for (uint32_t i = 0; i < s->n_clamps; i++)
        branch->a = op(s, OP_AND, branch->a, is_free(s, s->clamp[i]));
    for (uint32_t i = 0; i < s->n; i++)
        turn(s, &s->at[i], &branch->body);
    LStmt *rows = rows_of(s, y_end, n, &branch->body);
    points_of(s, s->x, x_end, true, &rows->body)->least = (uint32_t)s->edge;
    rows = rows_of(s, y_end, n, &branch->orelse);
    points_of(s, s->x, op(s, OP_MIN, x_end, columns->b), false, &rows->body);
}

/* The loop over x that statement number n of the rows is can go block by block. */
static bool qualifies(Pass *s, uint32_t n)
{
    const LStmt *t = s->rows->body.at[n];
    if (t->kind != LSTMT_FOR || !(t->flags & LFOR_SIMD) || t->step != 1 || t->lanes
        || !is_straight(&t->body))
        return false;
    s->points = t;
    return is_outside(s, t->a) && is_outside(s, t->b) && find_turned(s);
}

/* All statements of the rows that are no loops over x in blocks, for all rows of the block one after the other. */
static void others(Pass *s, LExprId y_end, uint32_t from, uint32_t to, LBlock *out)
{
    bool any = false;
    for (uint32_t i = from; i < to; i++)
        any = any || s->rows->body.at[i]->kind != LSTMT_LET;
    if (!any)
        return;
    LStmt *rows = rows_of(s, y_end, from, out);
    for (uint32_t i = from; i < to; i++)
        VEC_PUSH(s->p->arena, &rows->body, s->rows->body.at[i]);
}

static bool rewrite(Pass *s, LStmt *rows, LBlock *out)
{
    if (rows->step != 1 || rows->lanes || rows->flags & LFOR_SIMD)
        return false;
    s->rows = rows;
    s->x = tessi_lexpr_var(s->p, tessi_loop_var(s->p, "x_block", TYPE_INDEX, false));
    s->y = tessi_lexpr_var(s->p, tessi_loop_var(s->p, "y_block", TYPE_INDEX, false));
    const LExprId y_end = tessi_lexpr_var(s->p, tessi_loop_var(s->p, "y_end", TYPE_INDEX, false));
    s->n_rows = op(s, OP_SUB, y_end, s->y);
    uint32_t n = 0;
    while (n < rows->body.n && !qualifies(s, n))
        n++;
    if (n == rows->body.n || (!(rows->flags & LFOR_PARALLEL) && !has_no_order(s, &rows->body)))
        return false;
    LStmt *blocks = tessi_pass_like(s->p, out, rows);
    blocks->var = tessi_lexpr(s->p, s->y)->var;
    blocks->step = s->edge;
    blocks->least = 0;
    LStmt *end = tessi_lstmt(s->p, &blocks->body, LSTMT_LET);
    end->var = tessi_lexpr(s->p, y_end)->var;
    end->a = op(s, OP_MIN, plus(s, s->y, s->edge), rows->b);
    others(s, y_end, 0, n, &blocks->body);
    block(s, y_end, n, &blocks->body);
    others(s, y_end, n + 1, rows->body.n, &blocks->body);
    return true;
}

static void visit(Pass *s, LBlock *in)
{
    LBlock out = { 0 };
    for (uint32_t i = 0; i < in->n; i++) {
        LStmt *t = in->at[i];
        bool done = false;
        if (t->kind == LSTMT_FOR) {
            s->inside[t->var.v] = true;
            mark(s, &t->body, true);
            done = rewrite(s, t, &out);
            s->inside[t->var.v] = false;
            mark(s, &t->body, false);
        }
        if (!done)
            VEC_PUSH(s->p->arena, &out, t);
        if (!done) {
            visit(s, &t->body);
            visit(s, &t->orelse);
        }
    }
    *in = out;
}

void tessi_loop_turn(LoopProgram *p)
{
    if (!p->vector_bytes)
        return;
    Arena *a = tessi_scratch_open(p->arena);
    Pass s = { .p = p, .n_vars = p->vars.n };
    s.definition = ARENA_NEW_ARRAY(a, const LStmt *, p->vars.n);
    s.definitions = ARENA_NEW_ARRAY(a, uint32_t, p->vars.n);
    s.inside = ARENA_NEW_ARRAY(a, bool, p->vars.n);
    VEC_FOREACH (LFunction, f, &p->functions)
        PASS_FOREACH (t, &f->body) {
            s.definition[t->var.v] = t;
            s.definitions[t->var.v]++;
        }
    VEC_FOREACH (LFunction, f, &p->functions)
        if (!f->is_kernel)
            visit(&s, &f->body);
    tessi_scratch_close(a);
}
