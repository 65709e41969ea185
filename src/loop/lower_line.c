/* Rows of pixels in registers. A row is read as vectors where all its columns are in the image, else element by
 * element, each answered by its rule; the rule for rows is asked once. */
#include "loop/lower_line.h"

enum { VECTOR_BYTES = 16 };

/* How far apart the rows of pixels of a window are: as the plan has made sure, of all that are read as far. */
static int64_t step_of(Lower *l, const ExprId *roots, uint32_t n)
{
    ExprList reads = tessi_reach(l, roots, n);
    for (uint32_t i = 0; i < reads.n; i++) {
        const Expr *e = tessi_expr(l->g, reads.at[i]);
        const Access *a = e->kind == EXPR_LOAD ? tessi_access(l->g, e->access) : NULL;
        if (a && tessi_access_moves(a))
            return a->dim[0].term[0].coef;
    }
    return 1;
}

void tessi_lines_find(Lower *l, const ExprId *roots, uint32_t n, uint32_t columns, Lines *out)
{
    *out = (Lines){ .columns = columns, .step = step_of(l, roots, n) };
    tessi_patches_of(l, roots, n, &out->patches);
    VEC_FOREACH (const Patch, p, &out->patches) {
        const LBufferId image = l->buffer[p->producer.v];
        Line line = { .width = tessi_vector_elements(l, image, columns) };
        line.dense = tessi_vector_elements(l, image, VECTOR_BYTES) > 1;
        line.first = tessi_floordiv(p->lo[1], line.width) * line.width;
        const int64_t most = columns + p->hi[1] - line.first;
        line.n = (uint32_t)(tessi_floordiv(most + line.width - 1, line.width) * line.width);
        VEC_PUSH(l->arena, &out->lines, line);
    }
}

void tessi_lines_declare(Lower *l, Lines *lines, LExprId x)
{
    lines->x = x;
    for (uint32_t i = 0; i < lines->lines.n; i++) {
        Line *line = &lines->lines.at[i];
        Patch *p = &lines->patches.at[i];
        const Stage *s = tessi_stage(l->g, p->producer);
        LBuffer b = { .name = tessi_sprintf(l->arena, "%s_line", s->name),
                      .kind = LBUF_LOCAL,
                      .type = s->type,
                      .n_dims = 1 };
        b.size[0] = tessi_l_int(l, line->width);
        line->vector = ARENA_NEW_ARRAY(l->arena, LBufferId, line->n / line->width);
        for (uint32_t v = 0; v < line->n / line->width; v++) {
            line->vector[v] = tessi_loop_buffer(l->p, &b);
            tessi_scope_stmt(l, LSTMT_LOCAL)->buffer = line->vector[v];
        }
        p->value = ARENA_NEW_ARRAY(l->arena, LExprId, line->n);
        p->origin[0] = tessi_l_int(l, 0);
        p->origin[1] = tessi_l_op(l, OP_ADD, x, tessi_l_int(l, line->first));
        LExprId end = tessi_l_op(l, OP_ADD, p->origin[1], tessi_l_int(l, line->n));
        LExprId in = tessi_l_op(l, OP_LE, end, tessi_lower_size(l, s->size[1]));
        in = tessi_l_op(l, OP_AND, tessi_l_op(l, OP_LE, tessi_l_int(l, 0), p->origin[1]), in);
        line->inside = tessi_scope_let(l, "inside", in);
    }
}

/* Some point of the thread reads the element. */
static bool is_read(const Lines *lines, uint32_t i, uint32_t element)
{
    const Patch *p = &lines->patches.at[i];
    const int64_t at = lines->lines.at[i].first + element;
    return at >= p->lo[1] && at < lines->columns + p->hi[1];
}

typedef struct Row {
    const Patch *patch;
    LExprId y, inside,
        outside; /* where it is; rule CONSTANT: whether it is in the image, and what is beyond */
} Row;

static LExprId element_of(Lower *l, const Row *row, LExprId x, bool inside)
{
    const Patch *p = row->patch;
    LExprId n = tessi_lower_size(l, tessi_stage(l->g, p->producer)->size[1]);
    LExprId at[2] = { row->y, inside ? x : tessi_border_expr(l, p->rule[1], x, n) },
            in = row->inside;
    LExprId value = tessi_lexpr_load(l->p, l->buffer[p->producer.v], at, 2);
    if (!inside && p->rule[1] == BORDER_CONSTANT)
        in = tessi_and_also(l, in, tessi_in_range(l, x, tessi_l_int(l, 0), n));
    if (!inside && in.v)
        value = tessi_l_select(l, in, value, row->outside);
    tessi_pin(l, value, tessi_scope_depth(l));
    return tessi_scope_place1(l, value);
}

/* Element k, from the column `first` of the thread on. */
static void read_element(Lower *l, const Line *line, uint32_t k, const Row *row, LExprId first,
                         bool inside)
{
    /* A name of its own keeps what is computed from it here: there are not registers for all. */
    if (!inside)
        first = tessi_scope_here(l, "at_x", first);
    LExprId x = tessi_l_op(l, OP_ADD, first, tessi_l_int(l, line->first + k));
    LExprId value = element_of(l, row, x, inside);
    LStmt *s = tessi_scope_stmt(l, LSTMT_STORE);
    s->buffer = line->vector[k / line->width];
    s->n_index = 1;
    s->index[0] = tessi_l_int(l, k % line->width);
    s->a = value;
}

/* Where all columns are in the image. */
static void read_vectors(Lower *l, const Lines *lines, uint32_t i, const Row *row)
{
    const Line *line = &lines->lines.at[i];
    for (uint32_t k = 0; k < line->n; k += line->width) {
        if (!line->dense) {
            read_element(l, line, k, row, lines->x, true);
            continue;
        }
        LStmt *s = tessi_scope_stmt(l, LSTMT_MOVE);
        s->buffer = line->vector[k / line->width];
        s->other = l->buffer[row->patch->producer.v];
        s->n_index = 2;
        s->index[0] = row->y;
        s->index[1] = tessi_l_op(l, OP_ADD, lines->x, tessi_l_int(l, line->first + k));
    }
}

static LExprId element_read(Lower *l, const Line *line, uint32_t k)
{
    LExprId at = tessi_l_int(l, k % line->width);
    LExprId value = tessi_lexpr_load(l->p, line->vector[k / line->width], &at, 1);
    tessi_pin(l, value, tessi_scope_depth(l));
    return value;
}

/* Some elements at a time: with all on their way at once their addresses would take registers that are scarce, also
 * where nothing of this is executed, for compilers then save registers everywhere. What nobody reads is any value. */
static void read_elements(Lower *l, const Lines *lines, uint32_t i, const Row *row)
{
    const Line *line = &lines->lines.at[i];
    LExprId first = lines->x;
    uint32_t n = 0;
    for (uint32_t k = 0; k < line->n; k++) {
        if (is_read(lines, i, k)) {
            if (n && lines->together && n % lines->together == 0)
                first = tessi_scope_after(l, "next_x", lines->x, element_read(l, line, k - 1));
            n++;
            read_element(l, line, k, row, first, false);
            continue;
        }
        const ScalarType t = tessi_stage(l->g, row->patch->producer)->type;
        LStmt *s = tessi_scope_stmt(l, LSTMT_STORE);
        s->buffer = line->vector[k / line->width];
        s->n_index = 1;
        s->index[0] = tessi_l_int(l, k % line->width);
        s->a = tessi_lexpr_const(l->p, t, (Value){ 0 });
    }
}

void tessi_lines_read(Lower *l, Lines *lines, LExprId row)
{
    for (uint32_t i = 0; i < lines->lines.n; i++) {
        const Line *line = &lines->lines.at[i];
        const Patch *p = &lines->patches.at[i];
        LExprId height = tessi_lower_size(l, tessi_stage(l->g, p->producer)->size[0]);
        LExprId y = tessi_l_op(l, OP_ADD, row, tessi_l_int(l, p->lo[0])), in = line->inside;
        Row r = { .patch = p };
        r.y = tessi_scope_let(l, "y_at", tessi_border_expr(l, p->rule[0], y, height));
        if (p->rule[0] == BORDER_CONSTANT) {
            r.inside =
                tessi_scope_let(l, "row_inside", tessi_in_range(l, y, tessi_l_int(l, 0), height));
            in = tessi_l_op(l, OP_AND, in, r.inside);
        }
        if (p->outside.v) {
            Eval *ev = tessi_eval_new(l, &p->outside, 1, 0);
            r.outside = tessi_eval_expr(l, ev, p->outside);
        }
        tessi_scope_likely(l, in);
        read_vectors(l, lines, i, &r);
        tessi_scope_else(l);
        read_elements(l, lines, i, &r);
        tessi_scope_close(l);
    }
}

static const char *name_of(Lower *l, const char *stage, int64_t x)
{
    const char *side = x < 0 ? "_m" : x > 0 ? "_p" : "_";
    return tessi_sprintf(l->arena, "%s%s%d", stage, side, (int)(x < 0 ? -x : x));
}

void tessi_lines_take(Lower *l, Lines *lines)
{
    for (uint32_t i = 0; i < lines->lines.n; i++) {
        const Line *line = &lines->lines.at[i];
        const Patch *p = &lines->patches.at[i];
        const char *stage = tessi_stage(l->g, p->producer)->name;
        for (uint32_t k = 0; k < line->n; k++)
            if (is_read(lines, i, k))
                p->value[k] = tessi_scope_let(l, name_of(l, stage, line->first + k),
                                              element_read(l, line, k));
    }
}

Eval *tessi_lines_eval(Lower *l, const Lines *lines, const Nest *nest, const ExprList *roots,
                       LExprId y, uint32_t column)
{
    Eval *ev = tessi_eval_new(l, roots->at, roots->n, nest->n_dims);
    const LExprId at[2] = { y, tessi_l_op(l, OP_ADD, lines->x, tessi_l_int(l, column)) };
    for (uint8_t d = 0; d < 2; d++) {
        ev->coord[d] = tessi_nest_coord(nest, d, at[d]);
        ev->coord[d].loose = true;
    }
    return ev;
}

/* Keeps the registers of elements that nobody reads of the row read last: compilers would use them while their
 * vectors are still on their way from memory, and wait. To stand where threads seldom come. */
static void keep_lines(Lower *l, const Lines *lines)
{
    for (uint32_t i = 0; i < lines->lines.n; i++) {
        const Line *line = &lines->lines.at[i];
        const char *stage = tessi_stage(l->g, lines->patches.at[i].producer)->name;
        for (uint32_t k = 0; k < line->n; k++)
            if (!is_read(lines, i, k))
                tessi_scope_keep(l, name_of(l, stage, line->first + k), element_read(l, line, k));
    }
}

/* The value of a column, then the indices to store it at. */
static void column_values(Lower *l, const Lines *lines, const LineResults *results, LExprId row,
                          uint32_t c, LExprId *place)
{
    const Nest *nest = results->nest;
    Eval *ev = tessi_eval_new(l, nest->roots, nest->n_roots, 2);
    LExprId at[2] = { row, tessi_l_op(l, OP_ADD, lines->x, tessi_l_int(l, c)) };
    ev->pinned = true;
    l->guard_depth = tessi_scope_depth(l);
    for (uint8_t d = 0; d < 2; d++)
        ev->coord[d] = tessi_nest_coord(nest, d, at[d]);
    results->set_sums(results->user, ev, c);
    place[0] = tessi_eval_expr(l, ev, nest->roots[0]);
    for (int d = 0; d < 2; d++)
        place[1 + d] = at[d];
}

void tessi_lines_give(Lower *l, const Lines *lines, const LineResults *results, LExprId row)
{
    enum { N = 3 }; /* value and indices */
    const uint32_t columns = lines->columns;
    LExprId *place = ARENA_NEW_ARRAY(l->arena, LExprId, (size_t)N * columns);
    tessi_scope_likely(l, results->whole);
    for (uint32_t c = 0; c < columns; c++)
        column_values(l, lines, results, row, c, place + (size_t)N * c);
    tessi_scope_place(l, place, N * columns);
    tessi_tile_gives(l, results->to, place + 1, 2, place, N, columns);
    if (columns > 1) {
        tessi_scope_else(l);
        LExprId first = tessi_scope_here(l, "at_x", lines->x);
        for (uint32_t c = 0; c < columns; c++) {
            LExprId x = tessi_l_op(l, OP_ADD, first, tessi_l_int(l, c));
            tessi_scope_if(l, tessi_l_op(l, OP_LT, x, results->width));
            column_values(l, lines, results, row, c, place);
            tessi_scope_place(l, place, N);
            tessi_tile_gives(l, results->to, place + 1, 2, place, N, 1);
            tessi_scope_close(l);
        }
        keep_lines(l, lines);
    }
    tessi_scope_close(l);
}
