/* Rows of pixels in registers. A row is read as vectors where all its columns are in the image, else element by
 * element, each answered by its rule; the rule for rows is asked once. */
#include "loop/lower_line.h"
#include "loop/lower_nest.h"

enum { VECTOR_BYTES = 16 };

/* How far apart the rows of pixels of a window are: as the plan has made sure, of all that are read as far. Reads at
 * the point itself are not of them. */
static int64_t step_of(Lower *l, const ExprId *roots, uint32_t n)
{
    ExprList reads = tessi_reach(l, roots, n);
    for (uint32_t i = 0; i < reads.n; i++) {
        const Expr *e = tessi_expr(l->g, reads.at[i]);
        const Access *a = e->kind == EXPR_LOAD ? tessi_access(l->g, e->access) : NULL;
        if (a && a->dim[0].n_terms && tessi_access_moves_by_window(a))
            return a->dim[0].term[0].coef;
    }
    return 1;
}

void tessi_lines_find(Lower *l, const Nest *nest, const ExprList *bodies, uint32_t columns,
                      Lines *out)
{
    const CopyReaders readers = {
        .stage = nest->stage, .n = nest->n_roots, .extent = { 1, columns }, .windows = true
    };
    *out = (Lines){ .columns = columns, .step = step_of(l, bodies->at, bodies->n) };
    tessi_copies_find(l, &readers, &out->copies);
    VEC_FOREACH (const Copy, c, &out->copies) {
        const LBufferId image = l->buffer[c->image.v];
        Line line = { .width = tessi_vector_elements(l, image, columns) };
        line.dense = tessi_vector_elements(l, image, VECTOR_BYTES) > 1;
        line.first = tessi_floordiv(c->lo[1], line.width) * line.width;
        const int64_t most = c->hi[1] + 1 - line.first;
        line.n = (uint32_t)(tessi_floordiv(most + line.width - 1, line.width) * line.width);
        VEC_PUSH(l->arena, &out->lines, line);
    }
}

void tessi_lines_declare(Lower *l, Lines *lines, LExprId x)
{
    lines->x = x;
    for (uint32_t i = 0; i < lines->lines.n; i++) {
        Line *line = &lines->lines.at[i];
        Copy *c = &lines->copies.at[i];
        const Stage *s = tessi_stage(l->g, c->image);
        const char *name = tessi_sprintf(l->arena, "%s_line", s->name);
        line->vector = ARENA_NEW_ARRAY(l->arena, LBufferId, line->n / line->width);
        for (uint32_t v = 0; v < line->n / line->width; v++)
            line->vector[v] = tessi_new_line(l, name, s->type, line->width);
        c->value = ARENA_NEW_ARRAY(l->arena, LExprId, line->n);
        c->first[0] = tessi_l_int(l, 0);
        c->first[1] = tessi_l_op(l, OP_ADD, x, tessi_l_int(l, line->first));
        LExprId end = tessi_l_op(l, OP_ADD, c->first[1], tessi_l_int(l, line->n));
        LExprId in = tessi_l_op(l, OP_LE, end, tessi_lower_size(l, s->size[1]));
        in = tessi_l_op(l, OP_AND, tessi_l_op(l, OP_LE, tessi_l_int(l, 0), c->first[1]), in);
        line->inside = tessi_scope_let(l, "inside", in);
    }
}

/* Some point of the thread reads the element. */
static bool is_read(const Lines *lines, uint32_t i, uint32_t element)
{
    const Copy *c = &lines->copies.at[i];
    const int64_t at = lines->lines.at[i].first + element;
    return at >= c->lo[1] && at <= c->hi[1];
}

/* A row of pixels, and where it is found. */
typedef struct Row {
    const Copy *copy;
    Answer y;
} Row;

static LExprId element_of(Lower *l, const Row *row, LExprId x, bool inside)
{
    const Answer a[2] = { inside ? (Answer){ .at = row->y.at } : row->y,
                          inside ? (Answer){ .at = x } : tessi_copy_answer(l, row->copy, 1, x) };
    return tessi_scope_place1(l, tessi_copy_element(l, row->copy, a));
}

static void put(Lower *l, const Line *line, uint32_t k, LExprId value)
{
    const LExprId at = tessi_l_int(l, k % line->width);
    tessi_scope_store(l, line->vector[k / line->width], &at, 1, value);
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
    put(l, line, k, value);
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
        const LExprId x = tessi_l_op(l, OP_ADD, lines->x, tessi_l_int(l, line->first + k));
        tessi_scope_move(l, line->vector[k / line->width], l->buffer[row->copy->image.v],
                         (const LExprId[]){ row->y.at, x }, 2);
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
        const ScalarType t = tessi_stage(l->g, row->copy->image)->type;
        put(l, line, k, tessi_lexpr_const(l->p, t, (Value){ 0 }));
    }
}

void tessi_lines_read(Lower *l, Lines *lines, LExprId row)
{
    for (uint32_t i = 0; i < lines->lines.n; i++) {
        const Line *line = &lines->lines.at[i];
        const Copy *c = &lines->copies.at[i];
        LExprId y = tessi_l_op(l, OP_ADD, row, tessi_l_int(l, c->lo[0])), in = line->inside;
        Row r = { .copy = c, .y = tessi_copy_answer(l, c, 0, y) };
        r.y.at = tessi_scope_let(l, "y_at", r.y.at);
        if (r.y.in.v) {
            r.y.in = tessi_scope_let(l, "row_inside", r.y.in);
            in = tessi_l_op(l, OP_AND, in, r.y.in);
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
        const Copy *c = &lines->copies.at[i];
        const char *stage = tessi_stage(l->g, c->image)->name;
        for (uint32_t k = 0; k < line->n; k++)
            if (is_read(lines, i, k))
                c->value[k] = tessi_scope_let(l, name_of(l, stage, line->first + k),
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
        const char *stage = tessi_stage(l->g, lines->copies.at[i].image)->name;
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
    results->set_sums(l, results->user, ev, c);
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
