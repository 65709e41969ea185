/* Kernels of warps without a frame: their blocks are the whole image, and what stands outside an image or a stage is
 * answered in what threads hold. Images are read where their rules say. Of a stage of a pass
 *
 *   columns   a thread whose columns, or a neighbour's that it holds, lie outside takes others that it holds
 *   rows      below the last: takes those before; above the first: rows before become copies of the row that
 *             answers there, when it is computed
 *   lines     rows of planes, all of which a thread holds: take others of the plane
 *
 * Only steps of strips at the edges do that. */
#include "loop/lower_march.h"
#include "loop/lower_warp.h"

static LExprId equals(Lower *l, LExprId a, int64_t b)
{
    return tessi_l_op(l, OP_EQ, a, tessi_l_int(l, b));
}

/* ---- Images ---------------------------------------------------------------------------------- */

LExprId tessi_warp_columns_there(const Warps *t)
{
    Lower *l = t->l;
    LExprId end = tessi_l_op(l, OP_ADD, t->column, tessi_l_int(l, t->columns));
    return tessi_l_op(l, OP_AND, tessi_l_op(l, OP_LE, tessi_l_int(l, 0), t->column),
                      tessi_l_op(l, OP_LE, end, tessi_warp_size(t, 1)));
}

LExprId tessi_warp_image(const Warps *t, uint32_t number, const Coord *at, bool in_columns)
{
    Lower *l = t->l;
    const PlanHeld *h = &t->warp.held.at[number];
    Copy copy = tessi_copy_new(l, h->stage);
    Answer answer[MAX_DIMS];
    copy.rules.outside = h->outside;
    for (uint8_t d = 0; d < t->n_dims; d++) {
        answer[d] = (Answer){ .at = at[d].e };
        if (d < t->y || (d == t->y && t->in_planes) || (in_columns && d + 1 == t->n_dims))
            continue;
        /* read inside alone, by points that are there; others take any */
        const Border rule = h->rule[d == t->y ? 0 : t->n_dims - d];
        copy.rules.rule[d] = rule == BORDER_INSIDE ? BORDER_CLAMP : rule;
        answer[d] = tessi_copy_answer(l, &copy, d, at[d].e);
    }
    return tessi_copy_element(l, &copy, answer);
}

/* ---- Columns --------------------------------------------------------------------------------- */

static LExprId outside_value(const Warps *t, const PlanHeld *h)
{
    Eval *ev = tessi_eval_new(t->l, &h->outside, 1, 0);
    const ScalarType type = tessi_value_type(tessi_warp_type(t, h));
    return tessi_lexpr_cast(t->l->p, type, tessi_eval_expr(t->l, ev, h->outside));
}

/* Where `condition` holds, column c of a row is column `from`, or what is outside. */
static void take_column(const Warps *t, uint32_t number, Cell at, int64_t c, int64_t from,
                        LExprId condition)
{
    const PlanHeld *h = &t->warp.held.at[number];
    const Cell to = { at.row, at.line, c };
    at.column = from;
    LExprId value =
        h->rule[1] == BORDER_CONSTANT ? outside_value(t, h) : tessi_warp_load(t, number, at);
    value = tessi_l_select(t->l, condition, value, tessi_warp_load(t, number, to));
    tessi_warp_store(t, number, to, value);
}

/* How far inside from the edge stands what answers at this distance outside. */
static int64_t inward(Border rule, int64_t distance)
{
    return rule == BORDER_MIRROR ? distance : rule == BORDER_REFLECT ? distance - 1 : 0;
}

/* Sizes of images in which a rule that looks back meets the other edge: those before this one. */
static int64_t enough(Border rule, int64_t distance)
{
    return rule == BORDER_MIRROR ? distance + 1 : rule == BORDER_REFLECT ? distance : 1;
}

/* Columns right of an image of n, of which column x is the thread's first: those of its first thread, and of others
 * those that the rule finds when it has met the other edge. */
static void columns_of_few(const Warps *t, uint32_t number, Cell at, int64_t n, int64_t x)
{
    Lower *l = t->l;
    const PlanHeld *h = &t->warp.held.at[number];
    const int64_t first = x ? 2 * n - inward(h->rule[1], 1) : n;
    const int64_t end = x ? x + t->columns + h->right : n + h->right;
    LExprId here =
        tessi_l_op(l, OP_AND, equals(l, t->column, x), equals(l, tessi_warp_size(t, 1), n));
    for (int64_t i = first; i < end && i - x < t->columns + h->right; i++)
        take_column(t, number, at, i - x, tessi_border_index(h->rule[1], i, n) - x, here);
}

static void columns_right(const Warps *t, uint32_t number, Cell at, LExprId last)
{
    Lower *l = t->l;
    const PlanHeld *h = &t->warp.held.at[number];
    const int64_t end = t->columns + h->right;
    /* the last column of the image is the thread's p-th */
    for (int64_t p = t->in_planes ? t->columns - 1 : 0; p + 1 < end; p++) {
        LExprId here = equals(l, last, p);
        for (int64_t c = p + 1; c < end && c <= p + h->right; c++) {
            const int64_t from = p - inward(h->rule[1], c - p);
            if (from >= -h->left)
                take_column(t, number, at, c, from, here);
        }
    }
    for (int64_t n = 1; n < enough(h->rule[1], h->right) && !t->in_planes; n++)
        for (int64_t x = 0; x < n; x += t->columns)
            columns_of_few(t, number, at, n, x);
}

static void columns_left(const Warps *t, uint32_t number, Cell at)
{
    const PlanHeld *h = &t->warp.held.at[number];
    for (int64_t x = 0; x < h->left; x += t->columns) {
        LExprId here = equals(t->l, t->column, x);
        for (int64_t c = -h->left; x + c < 0; c++) {
            const int64_t from = inward(h->rule[1], -(x + c)) - x;
            if (from < t->columns + h->right)
                take_column(t, number, at, c, from, here);
        }
    }
}

/* ---- Rows ------------------------------------------------------------------------------------ */

/* Where `condition` holds, a line of a row is another one, or what is outside by the rule of `way` k. */
static void take_line(const Warps *t, uint32_t number, Cell to, Cell from, int k)
{
    const PlanHeld *h = &t->warp.held.at[number];
    /* of neighbours: those that come later are read in rows of the image alone */
    const int64_t left = h->late ? 0 : h->left, right = h->late ? 0 : h->right;
    for (int64_t c = -left; c < t->columns + right; c++) {
        to.column = from.column = c;
        tessi_warp_store(t, number, to,
                         h->rule[k] == BORDER_CONSTANT ? outside_value(t, h)
                                                       : tessi_warp_load(t, number, from));
    }
}

/* The same of a row. */
static void take_row(const Warps *t, uint32_t number, int64_t row, int64_t from, LExprId condition)
{
    const PlanHeld *h = &t->warp.held.at[number];
    if (row < -h->keep)
        return;
    tessi_scope_if(t->l, condition);
    for (int64_t line = -h->line; line < t->lines + h->below; line++)
        take_line(t, number, (Cell){ row, line, 0 }, (Cell){ from, line, 0 }, 0);
    tessi_scope_close(t->l);
}

/* `at`: the row of the image that is the thread's row-th. */
static void rows_below(const Warps *t, uint32_t number, int64_t row, LExprId at)
{
    Lower *l = t->l;
    const PlanHeld *h = &t->warp.held.at[number];
    const Border rule = h->rule[0];
    LExprId height = tessi_warp_size(t, 0);
    if (rule == BORDER_CLAMP && h->down)
        take_row(t, number, row, row - 1, tessi_l_op(l, OP_LE, height, at));
    for (int64_t d = 1; d <= h->down && rule != BORDER_CLAMP; d++) {
        LExprId beyond = tessi_l_op(l, OP_SUB, at, height);
        take_row(t, number, row, row - d - inward(rule, d), equals(l, beyond, d - 1));
    }
    for (int64_t n = 1; n < enough(rule, h->down); n++) {
        for (int64_t d = 1; d <= h->down; d++) {
            LExprId here = tessi_l_op(l, OP_AND, equals(l, height, n), equals(l, at, n - 1 + d));
            take_row(t, number, row, row - (n - 1 + d - tessi_border_index(rule, n - 1 + d, n)),
                     here);
        }
    }
}

static void rows_above(const Warps *t, uint32_t number, int64_t row, LExprId at)
{
    const PlanHeld *h = &t->warp.held.at[number];
    for (int64_t d = 1; d <= h->up; d++) {
        const int64_t from = inward(h->rule[0], d);
        take_row(t, number, row - d - from, row, equals(t->l, at, from));
    }
}

/* ---- Lines ----------------------------------------------------------------------------------- */

/* Line `at.line` of a row is line `from` of it where `condition` holds, and that is held. */
static void take_other_line(const Warps *t, uint32_t number, Cell at, int64_t from,
                            LExprId condition)
{
    const PlanHeld *h = &t->warp.held.at[number];
    if (from < -h->line || from >= t->lines + h->below)
        return;
    tessi_scope_if(t->l, condition);
    take_line(t, number, at, (Cell){ at.row, from, 0 }, 2);
    tessi_scope_close(t->l);
}

/* Lines below the last, from it on; the thread's first line is t->line. */
static void lines_below(const Warps *t, uint32_t number, int64_t row)
{
    Lower *l = t->l;
    const PlanHeld *h = &t->warp.held.at[number];
    const Border rule = h->rule[2];
    LExprId height = tessi_warp_size(t, 2);
    for (int64_t i = 1 - h->line; i < t->lines + h->below; i++) {
        const Cell to = { row, i, 0 };
        LExprId at = tessi_l_op(l, OP_ADD, t->line, tessi_l_int(l, i));
        for (int64_t d = 1; d <= h->line_down; d++) {
            LExprId here = equals(l, tessi_l_op(l, OP_SUB, at, height), d - 1);
            take_other_line(t, number, to, i - d - inward(rule, d), here);
        }
        for (int64_t n = 1; n < enough(rule, h->line_down); n++) {
            for (int64_t d = 1; d <= h->line_down; d++) {
                const int64_t back = n - 1 + d - tessi_border_index(rule, n - 1 + d, n);
                LExprId here =
                    tessi_l_op(l, OP_AND, equals(l, height, n), equals(l, at, n - 1 + d));
                take_other_line(t, number, to, i - back, here);
            }
        }
    }
}

/* Lines above the first, from it on: a thread's first line is a multiple of `lines`. */
static void lines_above(const Warps *t, uint32_t number, int64_t row)
{
    Lower *l = t->l;
    const PlanHeld *h = &t->warp.held.at[number];
    for (int64_t i = -1; i >= -h->line; i--) {
        for (int64_t first = 0; first < -i; first += t->lines) {
            const int64_t d = -i - first;
            if (d <= h->line_up)
                take_other_line(t, number, (Cell){ row, i, 0 }, i + d + inward(h->rule[2], d),
                                equals(l, t->line, first));
        }
    }
}

/* Lines outside are others of the row, or what is outside. */
static void answer_lines(const Warps *t, uint32_t number, int64_t row)
{
    Lower *l = t->l;
    const PlanHeld *h = &t->warp.held.at[number];
    if (!t->warp.planes || h->rule[2] == BORDER_INSIDE)
        return;
    if (h->rule[2] != BORDER_CONSTANT) {
        lines_below(t, number, row);
        lines_above(t, number, row);
        return;
    }
    for (int64_t i = -h->line; i < t->lines + h->below; i++) {
        LExprId at = tessi_l_op(l, OP_ADD, t->line, tessi_l_int(l, i));
        LExprId above = tessi_l_op(l, OP_LT, at, tessi_l_int(l, 0));
        LExprId below = tessi_l_op(l, OP_LE, tessi_warp_size(t, 2), at);
        take_other_line(t, number, (Cell){ row, i, 0 }, i, tessi_l_op(l, OP_OR, above, below));
    }
}

/* Columns outside of all lines of a row. */
static void answer_columns(const Warps *t, uint32_t number, int64_t row, LExprId last)
{
    const PlanHeld *h = &t->warp.held.at[number];
    if (h->rule[1] == BORDER_INSIDE)
        return;
    for (int64_t line = -h->line; line < t->lines + h->below; line++) {
        columns_right(t, number, (Cell){ row, line, 0 }, last);
        columns_left(t, number, (Cell){ row, line, 0 });
    }
}

void tessi_warp_answer(const Warps *t, uint32_t number)
{
    Lower *l = t->l;
    const PlanHeld *h = &t->warp.held.at[number];
    LExprId last = tessi_l_op(l, OP_SUB, tessi_warp_size(t, 1), tessi_l_int(l, 1));
    last = tessi_scope_let(l, "last", tessi_l_op(l, OP_SUB, last, t->column));
    for (int64_t row = 0; row < t->rows; row++) {
        LExprId at = tessi_l_op(l, OP_ADD, t->row, tessi_l_int(l, row - h->delay));
        answer_columns(t, number, row - h->late, last);
        if (h->is_image)
            continue;
        answer_lines(t, number, row);
        if (t->in_planes)
            continue;
        if (h->rule[0] == BORDER_CONSTANT) {
            LExprId above = tessi_l_op(l, OP_LT, at, tessi_l_int(l, 0));
            LExprId below = tessi_l_op(l, OP_LE, tessi_warp_size(t, 0), at);
            take_row(t, number, row, row, tessi_l_op(l, OP_OR, above, below));
        } else if (h->rule[0] != BORDER_INSIDE) {
            rows_below(t, number, row, at);
            rows_above(t, number, row, at);
        }
    }
}

/* ---- Strips and steps ------------------------------------------------------------------------ */

static LExprId at_most(Lower *l, LExprId a, LExprId b)
{
    return tessi_l_op(l, OP_MIN, a, b);
}

/* Blocks at the first and the last column answer rules in every step, so their strips are shorter. */
void tessi_warp_open_strips(Warps *t)
{
    enum { MORE = 10 };
    Lower *l = t->l;
    const Nest *members = &t->part[t->n_parts - 1].nest;
    const int64_t columns = tessi_level_tile(t->group, t->n_dims - 1);
    LExprId one = tessi_l_int(l, 1), planes = one;
    LExprId blocks = tessi_l_int(l, tessi_level_march(&t->group->levels).blocks);
    for (uint8_t d = 0; d < t->y; d++)
        planes = tessi_l_op(l, OP_MUL, planes, tessi_nest_extent(l, members, d));
    March m = { .step = 1, .more = t->warp.planes ? 0 : MORE };
    if (t->warp.planes) {
        const int64_t lines = tessi_level_tile(t->group, t->n_dims - 2);
        LExprId tiles = tessi_kernel_blocks(l, tessi_warp_size(t, 2), lines);
        LExprId tile = tessi_kernel_grid(l, 1, "tile", tiles);
        t->first_line =
            tessi_scope_let(l, "first_line", tessi_l_op(l, OP_MUL, tile, tessi_l_int(l, lines)));
        planes = tessi_l_op(l, OP_MUL, planes, tiles);
    }
    if (t->y || t->warp.planes) /* those side by side in other ways are not for strips */
        blocks = tessi_l_op(l, OP_FLOORDIV, blocks, tessi_l_op(l, OP_MAX, planes, one));
    tessi_march_strips(l, t->group, tessi_l_op(l, OP_MAX, blocks, one), tessi_warp_size(t, 0),
                       tessi_kernel_blocks(l, tessi_warp_size(t, 1), columns), &m);
    t->own[0] = m.y;
    t->own[1] = tessi_l_op(l, OP_MUL, m.column, tessi_l_int(l, columns));
    t->own[1] = tessi_scope_let(l, "first_x", t->own[1]);
    for (int k = 0; k < 2; k++)
        t->first[k] = t->own[k];
    t->rows_of_strip = m.n;
    t->steps = tessi_l_op(l, OP_ADD, m.n, tessi_l_int(l, t->warp.beyond));
    t->steps = tessi_scope_let(l, "steps", tessi_kernel_blocks(l, t->steps, t->rows));
}

/* Lines of the block, and those around them that its warps hold. */
static LExprId lines_inside(const Warps *t)
{
    Lower *l = t->l;
    int64_t before = 0, behind = 0;
    VEC_FOREACH (const PlanHeld, h, &t->warp.held) {
        before = h->line > before ? h->line : before;
        behind = h->below > behind ? h->below : behind;
    }
    const int64_t lines = tessi_level_tile(t->group, t->n_dims - 2);
    LExprId above = tessi_l_op(l, OP_LE, tessi_l_int(l, before), t->first_line);
    LExprId end = tessi_l_op(l, OP_ADD, t->first_line, tessi_l_int(l, lines + behind));
    return tessi_l_op(l, OP_AND, above, tessi_l_op(l, OP_LE, end, tessi_warp_size(t, 2)));
}

LExprId tessi_warp_columns_inside(const Warps *t)
{
    Lower *l = t->l;
    const int64_t columns = tessi_level_tile(t->group, t->n_dims - 1);
    LExprId left = tessi_l_op(l, OP_LE, tessi_l_int(l, t->warp.left), t->first[1]);
    LExprId end = tessi_l_op(l, OP_ADD, t->first[1], tessi_l_int(l, columns + t->warp.right));
    return tessi_l_op(l, OP_AND, left, tessi_l_op(l, OP_LE, end, tessi_warp_size(t, 1)));
}

bool tessi_warp_has_whole(const Warps *t)
{
    bool whole = t->warp.planes;
    VEC_FOREACH (const PlanHeld, h, &t->warp.held) {
        const int64_t reach = h->left > h->right ? h->left : h->right;
        /* What has handed its rule on is computed outside from an image that is read by it, point by point. */
        const bool handed = reach > 0 && h->rule[1] == BORDER_INSIDE;
        whole = whole && !handed && h->rule[1] != BORDER_WRAP && reach <= t->columns
                && enough(h->rule[1], reach) <= t->columns;
    }
    return whole;
}

LExprId tessi_warp_plane_inside(const Warps *t)
{
    return tessi_l_op(t->l, OP_AND, lines_inside(t), tessi_warp_columns_inside(t));
}

/* Blocks of which steps answer no rules; of a stack those of rows and planes alone. */
static LExprId blocks_inside(const Warps *t)
{
    Lower *l = t->l;
    LExprId inside = t->warp.planes ? tessi_warp_plane_inside(t) : tessi_warp_columns_inside(t);
    if (!tessi_warp_has_whole(t))
        return inside;
    LExprId left = tessi_l_op(l, OP_FLOORMOD, tessi_warp_size(t, 1), tessi_l_int(l, t->columns));
    return tessi_l_op(l, OP_OR, inside, equals(l, left, 0));
}

void tessi_warp_steps_inside(const Warps *t, LExprId *range)
{
    Lower *l = t->l;
    const bool ahead = t->ahead;
    int64_t late = 0, up = 0;
    for (uint32_t i = 0; i < t->n_parts; i++)
        late = t->warp.delay[i] > late ? t->warp.delay[i] : late;
    VEC_FOREACH (const PlanHeld, h, &t->warp.held)
        up = h->up > up ? h->up : up;
    LExprId rows = tessi_l_int(l, t->rows), zero = tessi_l_int(l, 0);
    LExprId above = tessi_l_op(l, OP_SUB, tessi_l_int(l, t->warp.above), t->first[0]);
    /* the first whose latest row reads none above the image, nor is read from there */
    LExprId from = tessi_l_op(l, OP_ADD, above, tessi_l_int(l, late + up + t->rows));
    from = tessi_l_op(l, OP_MAX, tessi_l_op(l, OP_FLOORDIV, from, rows), zero);
    /* behind the last whose rows, and those of the next step, are rows of the image */
    LExprId to = tessi_l_op(l, OP_ADD, tessi_warp_size(t, 0), above);
    to = tessi_l_op(l, OP_SUB, to, tessi_l_int(l, ahead ? t->rows : 0));
    to = tessi_l_op(l, OP_FLOORDIV, to, rows);
    from = tessi_l_select(l, blocks_inside(t), at_most(l, from, t->steps), t->steps);
    range[0] = tessi_scope_let(l, "inside_from", from);
    to = tessi_l_op(l, OP_MAX, at_most(l, to, t->steps), range[0]);
    range[1] = tessi_scope_let(l, "inside_to", to);
}
