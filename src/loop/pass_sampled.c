/* The pass `sampled`: loops over points whose values are found by coordinates, as in images that are resized. What
 * depends on the column alone is computed once for a block of rows and columns; what depends on the column and a row
 * that is read, once for as long as the rows of the block read this row:
 *
 *   parallel for y in a .. b {            parallel for y_block in a .. b step 32 {
 *     let i = row(y)                        for part in 0 .. parts {
 *     simd for x in c .. d {                  weights[x] = weight(x); place[x] = column(x)
 *       store out[y, x] =           ->        for y in y_block .. {
 *           in[i, column(x)] * weight(x)        let i = row(y)
 *           + in[i + 1, ..                      if read is not i { read = i; row[x] = in[i, place[x]] * weights[x] }
 *     }                                         out[y, x] = row[x] + ..
 *
 * Rows that are read at several places mostly follow each other (i, i + 1): when i becomes the next, what is kept of
 * i + 1 goes on as that of i. */
#include "loop/loop_passes.h"
#include "loop/sampled.h"

/* What is kept should stay in the first cache, and columns be so many that rows of images are read in long runs. */
enum { BLOCK_ROWS = 32, LEAST_COLUMNS = 64, MOST_COLUMNS = 1024, KEPT_BYTES = 32768 };

static LExprId op(const Sampled *s, Op o, LExprId a, LExprId b)
{
    return tessi_pass_op(s->p, o, a, b);
}

static LExprId number(const Sampled *s, int64_t i)
{
    return tessi_lexpr_index(s->p, i);
}

static LExprId variable(const LoopProgram *p, const LStmt *s)
{
    return tessi_lexpr_var((LoopProgram *)p, s->var);
}

/* ---- Values ------------------------------------------------------------------------------------------------------ */

/* Which row of a buffer of n is line k, where `first` is that of line 0. */
static LExprId line_at(const Sampled *s, LExprId first, uint32_t k, uint32_t n)
{
    const LExprId at = tessi_pass_plus(s->p, first, k),
                  less = tessi_pass_plus(s->p, at, -(int64_t)n);
    return n == 1 || !k ? first
                        : tessi_lexpr_op(s->p, OP_SELECT, op(s, OP_LT, at, number(s, n)), at, less);
}

/* Where the lines of samples are. */
typedef struct Lines {
    LExprId at[SAMPLED_MOST_LINES];
} Lines;

typedef struct Rewriting {
    Sampled *s;
    const Lines *line; /* by samples; NULL: none is replaced */
    LExprId x;         /* the point; `read` is `row` */
    LExprId row;
} Rewriting;

static LExprId rewritten(void *user, LExprId id);

static LExprId rewrite_value(Rewriting *r, LExprId id)
{
    Sampled *s = r->s;
    const LExprId k = op(s, OP_SUB, r->x, s->x_from), value = tessi_sampled_whole(s, id);
    const LExpr e = *tessi_lexpr(s->p, id);
    uint32_t line = 0, n = tessi_sampled_table(s, value);
    if (n)
        return tessi_lexpr_load(s->p, s->table[n - 1].buffer, &k, 1);
    n = r->line ? tessi_sampled_row(s, value, &line) : 0;
    if (n) {
        const LExprId index[2] = { r->line[n - 1].at[line], k };
        return tessi_lexpr_load(s->p, s->samples[n - 1].buffer, index, 2);
    }
    if (e.kind != LEXPR_VAR)
        return tessi_pass_changed(s->p, id, rewritten, r);
    return e.var.v == s->points->var.v ? r->x : id.v == s->read.v ? r->row : id;
}

static LExprId rewritten(void *user, LExprId id)
{
    Rewriting *r = user;
    Notes *changed = &r->s->changed;
    if (!*tessi_sampled_note(r->s, changed, id)) {
        const LExprId as = rewrite_value(r, id);
        *tessi_sampled_note(r->s, changed, id) = as.v;
    }
    return (LExprId){ *tessi_sampled_note(r->s, changed, id) };
}

static Rewriting rewriting(Sampled *s, const Lines *line, LExprId x, LExprId row)
{
    tessi_sampled_forget(&s->changed);
    return (Rewriting){ .s = s, .line = line, .x = x, .row = row };
}

/* The value with the point x instead of that of the loop. */
static LExprId moved(void *user, LExprId id)
{
    Rewriting *r = user;
    Sampled *s = r->s;
    if (!*tessi_sampled_note(s, &s->changed, id)) {
        const LExpr *e = tessi_lexpr(s->p, id);
        const LExprId as = e->kind != LEXPR_VAR           ? tessi_pass_changed(s->p, id, moved, r)
                           : e->var.v == s->points->var.v ? r->x
                                                          : id;
        *tessi_sampled_note(s, &s->changed, id) = as.v;
    }
    return (LExprId){ *tessi_sampled_note(s, &s->changed, id) };
}

/* ---- Statements -------------------------------------------------------------------------------------------------- */

static LBufferId local(Sampled *s, const char *name, ScalarType type, uint32_t lines, LBlock *to)
{
    LBuffer b = { .name = name, .kind = LBUF_LOCAL, .type = type, .n_dims = lines ? 2 : 1 };
    b.size[0] = number(s, lines ? lines : s->columns);
    if (lines)
        b.size[1] = number(s, s->columns);
    const LBufferId id = tessi_loop_buffer(s->p, &b);
    tessi_lstmt(s->p, to, LSTMT_LOCAL)->buffer = id;
    return id;
}

static LExprId mutable(Sampled *s, const char *name, int64_t value, LBlock *to)
{
    LStmt *t = tessi_lstmt(s->p, to, LSTMT_VAR);
    t->var = tessi_loop_var(s->p, name, TYPE_INDEX, true);
    t->a = number(s, value);
    return variable(s->p, t);
}

static void set(Sampled *s, LExprId var, LExprId value, LBlock *to)
{
    LStmt *t = tessi_lstmt(s->p, to, LSTMT_SET);
    t->var = tessi_lexpr(s->p, var)->var;
    t->a = value;
}

static LStmt *points_of(Sampled *s, LExprId from, LExprId to, LBlock *out, LExprId *x)
{
    const LVarId var = tessi_loop_var(s->p, "x", TYPE_INDEX, false);
    LStmt *loop = tessi_pass_for(s->p, out, var, from, to);
    loop->flags = LFOR_SIMD;
    *x = tessi_lexpr_var(s->p, var);
    return loop;
}

/* Bytes of the widest value that this one is made of, which says how many lanes its loop has. */
static uint32_t widest_in(Sampled *s, LExprId id)
{
    if (!*tessi_sampled_note(s, &s->widest, id)) {
        const LExpr e = *tessi_lexpr(s->p, id);
        uint32_t most = e.type == TYPE_INDEX ? 1 : tessi_type_info(e.type)->bytes;
        for (int i = 0; i < e.n_args; i++) {
            const uint32_t other = widest_in(s, e.arg[i]);
            most = other > most ? other : most;
        }
        *tessi_sampled_note(s, &s->widest, id) = most;
    }
    return *tessi_sampled_note(s, &s->widest, id);
}

/* Those with as many lanes in one loop: what their values have in common is computed once. */
static void fill_tables_of(Sampled *s, uint32_t bytes, LExprId x_to, LBlock *out)
{
    LExprId x = { 0 };
    LStmt *loop = NULL;
    for (uint32_t i = 0; i < s->n_tables; i++) {
        if (widest_in(s, s->table[i].value) != bytes)
            continue;
        if (!loop)
            loop = points_of(s, s->x_from, x_to, out, &x);
        LStmt *store = tessi_lstmt(s->p, &loop->body, LSTMT_STORE);
        store->buffer = s->table[i].buffer;
        store->n_index = 1;
        store->index[0] = op(s, OP_SUB, x, s->x_from);
        Rewriting r = rewriting(s, NULL, x, s->read);
        store->a = moved(&r, s->table[i].value);
    }
}

static void fill_tables(Sampled *s, LExprId x_to, LBlock *out)
{
    for (uint32_t i = 0; i < s->n_tables; i++) {
        Table *t = &s->table[i];
        t->buffer = local(s, "of_column", tessi_lexpr(s->p, t->value)->type, 0, out);
    }
    tessi_sampled_forget(&s->widest);
    for (uint32_t bytes = 1; bytes <= 8; bytes *= 2)
        fill_tables_of(s, bytes, x_to, out);
}

/* What is known of the rows that samples have: variables of a block. */
typedef struct Known {
    LExprId first, row[SAMPLED_MOST_LINES];
} Known;

static void declare(Sampled *s, Known *known, LBlock *out)
{
    for (uint32_t i = 0; i < s->n_samples; i++) {
        Samples *a = &s->samples[i];
        const ScalarType type = tessi_lexpr(s->p, a->form)->type;
        a->buffer = local(s, "sampled", type, a->n, out);
        if (a->first != i)
            continue;
        if (a->n > 1)
            known[i].first = mutable(s, "line", 0, out);
        else
            known[i].first = number(s, 0);
        for (uint32_t k = 0; k < a->n; k++)
            known[i].row[k] = mutable(s, "read", -1, out);
    }
}

/* What stands in line `from` is wanted in line `to`, beside it, which has something else: all go on by one line. */
static LBlock *go_on(Sampled *s, const Samples *a, const Known *known, bool down, LBlock *out)
{
    const uint32_t last = a->n - 1, to = down ? 0 : last, from = down ? 1 : last - 1;
    LStmt *branch = tessi_lstmt(s->p, out, LSTMT_IF);
    branch->a = op(s, OP_AND, op(s, OP_NE, known->row[to], a->row[to]),
                   op(s, OP_EQ, known->row[from], a->row[to]));
    set(s, known->first, line_at(s, known->first, down ? 1 : last, a->n), &branch->body);
    for (uint32_t k = 0; k < last; k++)
        set(s, known->row[down ? k : last - k], known->row[down ? k + 1 : last - k - 1],
            &branch->body);
    set(s, known->row[last - to], number(s, -1), &branch->body);
    return &branch->orelse;
}

/* Computes line k of all samples that have the rows of samples i, if these are not there. */
static void fill_line(Sampled *s, uint32_t i, uint32_t k, const Known *known, const Lines *line,
                      LExprId x_to, LBlock *out)
{
    LStmt *branch = tessi_lstmt(s->p, out, LSTMT_IF);
    branch->a = op(s, OP_NE, known->row[k], s->samples[i].row[k]);
    set(s, known->row[k], s->samples[i].row[k], &branch->body);
    LExprId x;
    LStmt *loop = points_of(s, s->x_from, x_to, &branch->body, &x);
    Rewriting r = rewriting(s, NULL, x, s->samples[i].row[k]);
    for (uint32_t j = i; j < s->n_samples; j++) {
        const Samples *a = &s->samples[j];
        if (a->first != i)
            continue;
        LStmt *store = tessi_lstmt(s->p, &loop->body, LSTMT_STORE);
        store->buffer = a->buffer;
        store->n_index = 2;
        store->index[0] = line[i].at[k];
        store->index[1] = op(s, OP_SUB, r.x, s->x_from);
        store->a = rewritten(&r, a->form);
    }
}

static void fill_rows(Sampled *s, const Known *known, Lines *line, LExprId x_to, LBlock *out)
{
    for (uint32_t i = 0; i < s->n_samples; i++) {
        const Samples *a = &s->samples[i];
        if (a->first == i && a->n > 1)
            go_on(s, a, &known[i], false, go_on(s, a, &known[i], true, out));
        for (uint32_t k = 0; k < a->n; k++) {
            const LExprId at = line_at(s, known[a->first].first, k, a->n);
            const bool named = a->first == i && k;
            line[i].at[k] = a->first != i ? line[a->first].at[k]
                            : named       ? tessi_pass_let(s->p, out, "line", at)
                                          : at;
        }
    }
    for (uint32_t i = 0; i < s->n_samples; i++)
        for (uint32_t k = 0; s->samples[i].first == i && k < s->samples[i].n; k++)
            fill_line(s, i, k, &known[i], line, x_to, out);
}

/* ---- Loops ------------------------------------------------------------------------------------------------------- */

/* The rows of the block, with what is kept of them. */
static void rows_of(Sampled *s, LExprId from, LExprId to, LExprId x_to, LBlock *out)
{
    Known known[SAMPLED_MOST_ROWS];
    Lines line[SAMPLED_MOST_ROWS];
    fill_tables(s, x_to, out);
    declare(s, known, out);
    LStmt *rows = tessi_pass_like(s->p, out, s->rows);
    rows->flags = 0;
    rows->least = 0;
    rows->a = from;
    rows->b = to;
    for (uint32_t i = 0; s->rows->body.at[i] != s->points; i++)
        VEC_PUSH(s->p->arena, &rows->body, s->rows->body.at[i]);
    fill_rows(s, known, line, x_to, &rows->body);
    LStmt *points = tessi_pass_like(s->p, &rows->body, s->points);
    points->a = s->x_from;
    points->b = x_to;
    points->least = 0;
    Rewriting r = rewriting(s, line, variable(s->p, s->points), s->read);
    for (uint32_t i = 0; i < s->points->body.n; i++) {
        LStmt *t = s->points->body.at[i];
        t->a = rewritten(&r, t->a);
        VEC_PUSH(s->p->arena, &points->body, t);
    }
}

/* How many columns a block has at most, a multiple of LEAST_COLUMNS. */
static int64_t most_columns(const Sampled *s)
{
    uint32_t bytes = 1;
    for (uint32_t i = 0; i < s->n_tables; i++)
        bytes += tessi_type_info(tessi_lexpr(s->p, s->table[i].value)->type)->bytes;
    for (uint32_t i = 0; i < s->n_samples; i++)
        bytes +=
            s->samples[i].n * tessi_type_info(tessi_lexpr(s->p, s->samples[i].form)->type)->bytes;
    const int64_t columns = KEPT_BYTES / bytes / LEAST_COLUMNS * LEAST_COLUMNS;
    return columns < LEAST_COLUMNS  ? LEAST_COLUMNS
           : columns > MOST_COLUMNS ? MOST_COLUMNS
                                    : columns;
}

/* a / b, rounded up. */
static LExprId quotient_up(const Sampled *s, LExprId a, LExprId b)
{
    return op(s, OP_FLOORDIV, op(s, OP_ADD, a, op(s, OP_SUB, b, number(s, 1))), b);
}

static void blocks_of(Sampled *s, LBlock *out)
{
    const LStmt *y = s->rows;
    LExprId from = y->a, to = y->b;
    if (y->flags & LFOR_PARALLEL) {
        LStmt *strips = tessi_pass_like(s->p, out, y);
        strips->var = tessi_loop_var(s->p, "y_block", TYPE_INDEX, false);
        strips->step = BLOCK_ROWS;
        strips->least = 0;
        from = variable(s->p, strips);
        out = &strips->body;
        to = op(s, OP_MIN, tessi_pass_plus(s->p, from, BLOCK_ROWS), y->b);
    }
    s->columns = most_columns(s);
    const LExprId width = op(s, OP_SUB, s->points->b, s->points->a);
    const LExprId parts =
        tessi_pass_let(s->p, out, "parts",
                       op(s, OP_MAX, quotient_up(s, width, number(s, s->columns)), number(s, 1)));
    const LExprId least = number(s, LEAST_COLUMNS);
    const LExprId columns =
        tessi_pass_let(s->p, out, "columns",
                       op(s, OP_MUL, quotient_up(s, quotient_up(s, width, parts), least), least));
    LStmt *loop = tessi_pass_for(s->p, out, tessi_loop_var(s->p, "part", TYPE_INDEX, false),
                                 number(s, 0), parts);
    loop->step = 1;
    s->x_from =
        tessi_pass_let(s->p, &loop->body, "x_from",
                       op(s, OP_ADD, s->points->a, op(s, OP_MUL, variable(s->p, loop), columns)));
    const LExprId x_to = tessi_pass_let(
        s->p, &loop->body, "x_to", op(s, OP_MIN, op(s, OP_ADD, s->x_from, columns), s->points->b));
    rows_of(s, from, to, x_to, &loop->body);
}

static void mark(Sampled *s, const LBlock *block, uint8_t where)
{
    PASS_FOREACH (t, block) {
        const bool is_let = t->kind == LSTMT_LET;
        s->where[t->var.v] = is_let || where == WHERE_OUTSIDE ? where : WHERE_INSIDE;
        if (t->buffer.v)
            s->stored[t->buffer.v] = where != WHERE_OUTSIDE;
    }
}

static bool is_straight(const LBlock *block)
{
    for (uint32_t i = 0; i < block->n; i++)
        if (block->at[i]->kind != LSTMT_LET && block->at[i]->kind != LSTMT_STORE)
            return false;
    return true;
}

/* Names, and behind them one loop over points whose ends are the same for all rows; inside of tiles, rows may read what
 * those before them left in rings, and stay as they are. */
static bool qualifies(Sampled *s)
{
    const LBlock *body = &s->rows->body;
    if (!body->n || !(s->rows->flags & LFOR_PARALLEL) || s->rows->step != 1 || s->rows->lanes
        || s->rows->flags & LFOR_SIMD)
        return false;
    const LStmt *points = s->points = body->at[body->n - 1];
    for (uint32_t i = 0; i + 1 < body->n; i++)
        if (body->at[i]->kind != LSTMT_LET)
            return false;
    return points->kind == LSTMT_FOR && points->flags & LFOR_SIMD && points->step == 1
           && !points->lanes && is_straight(&points->body);
}

static bool rewrite(Sampled *s, LStmt *rows, LBlock *out)
{
    s->rows = rows;
    if (!qualifies(s))
        return false;
    mark(s, &rows->body, WHERE_ROW);
    mark(s, &s->points->body, WHERE_POINT);
    const bool found = tessi_sampled_find(s) && !tessi_sampled_depends(s, s->points->a)
                       && !tessi_sampled_depends(s, s->points->b);
    if (found)
        blocks_of(s, out);
    mark(s, &rows->body, WHERE_OUTSIDE);
    return found;
}

static void visit(Sampled *s, LBlock *in)
{
    LBlock out = { 0 };
    for (uint32_t i = 0; i < in->n; i++) {
        LStmt *t = in->at[i];
        if (t->kind == LSTMT_FOR && rewrite(s, t, &out))
            continue;
        VEC_PUSH(s->p->arena, &out, t);
        visit(s, &t->body);
        visit(s, &t->orelse);
    }
    *in = out;
}

void tessi_loop_sampled(LoopProgram *p)
{
    if (!p->vector_bytes)
        return;
    Arena *a = tessi_scratch_open(p->arena);
    Sampled s = { .p = p, .scratch = a };
    s.n_vars = p->vars.n;
    s.definition = ARENA_NEW_ARRAY(a, const LStmt *, p->vars.n);
    s.where = ARENA_NEW_ARRAY(a, uint8_t, p->vars.n);
    s.stored = ARENA_NEW_ARRAY(a, bool, p->buffers.n);
    s.read = tessi_lexpr_var(p, tessi_loop_var(p, "read", TYPE_INDEX, false));
    VEC_FOREACH (LFunction, f, &p->functions) {
        if (f->is_kernel)
            continue;
        tessi_pass_definitions(&f->body, s.definition);
        visit(&s, &f->body);
    }
    tessi_scratch_close(a);
}
