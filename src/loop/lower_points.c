/* The points of the threads of a block. Those of tiles without passes stand in rows and columns as the points do;
 * others are one line, dealt out over the rows and columns of a part: those without work stand together in whole
 * warps. */
#include "loop/lower_kernel.h"
#include "loop/lower_tiles.h"

static uint32_t gcd(uint32_t a, uint32_t b)
{
    while (b) {
        const uint32_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

/* A thread among those of a part. */
typedef struct Thread {
    LExprId at[2];    /* its first row and column, were the part where the tile is */
    LExprId first[2]; /* its first point */
    LExprId column;   /* its first column in shared memory */
} Thread;

/* All its points; `inside` with all they read, or `loose`: there or not. */
static void whole_patch(const Tiles *t, Part *part, const Thread *thread, bool inside, bool loose)
{
    const uint32_t columns = part->outputs.of[0], rows = part->outputs.of[1];
    const uint32_t beside = part->apart[0] > 1 ? 1 : columns; /* those that move as vectors */
    uint32_t aligned = gcd(beside, (uint32_t)t->size[1]);
    if (t->group->frame.rows[0]) /* tiles begin at any multiple of what threads store */
        aligned = gcd(aligned, tessi_level_outputs(&t->group->levels, 0));
    const TileColumns vectors = {
        .x = thread->at[1],
        .shared_x = thread->column,
        .aligned = aligned,
        .shared_aligned = beside,
        .from = INT64_MIN,
        .to = INT64_MAX,
        .shared_last = part->extent.n[1] - 1 - (columns - 1) * (int64_t)part->apart[0],
    };
    const Patch patch = {
        .outer = t->outer,
        .first = { thread->first[0], thread->first[1] },
        .rows = rows,
        .columns = columns,
        .apart = { part->apart[1], part->apart[0] },
        .alone = columns * rows == 1 && !t->nest,
        .inside = inside,
        .loose = loose,
        .vectors = t->nest ? NULL : &vectors,
    };
    part->nest.rows_aligned =
        t->nest && !t->group->frame.rows[0] && part->apart[0] * part->apart[1] == 1;
    tessi_patch_compute(t->l, &part->nest, &patch);
}

/* From the first row (column) of a thread to the one after its last. */
static LExprId beyond_last(Lower *l, const Part *part, int k)
{
    return tessi_l_int(l, (part->outputs.of[1 - k] - 1) * (int64_t)part->apart[1 - k] + 1);
}

/* The first row (column) of thread number `at` among those beside each other: where the points of threads stand apart,
 * so many threads begin one after the other, and the next ones beyond their last. */
static LExprId first_of_thread(Lower *l, const Part *part, int k, LExprId at)
{
    LExprId apart = tessi_l_int(l, part->apart[1 - k]);
    LExprId outputs = tessi_l_int(l, part->outputs.of[1 - k]);
    if (part->apart[1 - k] == 1)
        return tessi_l_op(l, OP_MUL, at, outputs);
    LExprId before = tessi_l_op(l, OP_FLOORDIV, at, apart);
    before = tessi_l_op(l, OP_MUL, before, tessi_l_op(l, OP_MUL, apart, outputs));
    return tessi_l_op(l, OP_ADD, before, tessi_l_op(l, OP_FLOORMOD, at, apart));
}

/* All rows (columns) of a thread of the members are there. */
static LExprId is_there(const Tiles *t, const Part *part, const Thread *thread, int k)
{
    Lower *l = t->l;
    LExprId end = tessi_l_op(l, OP_ADD, thread->first[k], beyond_last(l, part, k));
    return tessi_l_op(l, OP_LE, end, part->nest.to[t->y + k]);
}

/* All its points are. */
static LExprId is_whole(const Tiles *t, const Part *part, const Thread *thread)
{
    LExprId whole = is_there(t, part, thread, 0);
    whole = tessi_l_op(t->l, OP_AND, whole, is_there(t, part, thread, 1));
    return tessi_scope_let(t->l, "whole", whole);
}

/* The columns of a thread of the members that are there, one after the other, all rows of each together. */
static void columns_one_by_one(const Tiles *t, Part *part, const Thread *thread)
{
    Lower *l = t->l;
    LExprId end = tessi_l_op(l, OP_ADD, thread->first[1], beyond_last(l, part, 1));
    end = tessi_l_op(l, OP_MIN, end, part->nest.to[t->y + 1]);
    LVarId x = tessi_scope_for(l, tessi_dim_name(t->n_dims, (uint8_t)(t->y + 1)), thread->first[1],
                               end, part->apart[0], LFOR_ROLLED);
    const Patch patch = {
        .outer = t->outer,
        .first = { thread->first[0], tessi_lexpr_var(l->p, x) },
        .rows = part->outputs.of[1],
        .columns = 1,
        .apart = { part->apart[1], 1 },
        .alone = false,
    };
    tessi_patch_compute(l, &part->nest, &patch);
    tessi_scope_close(l);
}

/* The points of a thread of the members that are there. */
static void points_one_by_one(const Tiles *t, const Part *part, const Thread *thread)
{
    Lower *l = t->l;
    Coord coord[MAX_DIMS] = { { .dim = -1 } };
    for (uint8_t d = 0; d < t->y; d++)
        coord[d] = t->outer[d];
    for (int k = 0; k < 2; k++) {
        const uint8_t d = (uint8_t)(t->y + k);
        LExprId end = tessi_l_op(l, OP_ADD, thread->first[k], beyond_last(l, part, k));
        end = tessi_l_op(l, OP_MIN, end, part->nest.to[d]);
        LVarId v = tessi_scope_for(l, tessi_dim_name(t->n_dims, d), thread->first[k], end,
                                   part->apart[1 - k], LFOR_ROLLED);
        coord[d] = tessi_nest_coord(&part->nest, d, tessi_lexpr_var(l->p, v));
    }
    part->nest.body(l, &part->nest, coord, NULL);
    tessi_scope_close(l);
    tessi_scope_close(l);
}

/* ---- Threads --------------------------------------------------------------------------------- */

/* Whether threads that would reach beyond the last row begin earlier, with rows that other threads have too. The same
 * pixels are written twice, which costs less than points one by one: a single warp would take longer over many reads
 * than all others together. Where `all` blocks have this code it is for many reads alone, as a minimum in its
 * addresses costs them some. Not where something is read along rows by the columns of what it is: as vectors, for which
 * threads begin at multiples of their rows. */
static bool begins_early(const Tiles *t, const Part *part, bool all)
{
    enum { MANY = 1024 };
    const Graph *g = t->l->g;
    int64_t reads = 0;
    if (part->job.to_scratch || part->apart[1] > 1 || part->outputs.of[1] == 1 || !part->nest.roots)
        return false;
    const ExprList list = tessi_reach(t->l, part->nest.roots, part->nest.n_roots);
    for (uint32_t i = 0; i < list.n; i++) {
        const Expr *e = tessi_expr(g, list.at[i]);
        const Access *a = e->kind == EXPR_LOAD ? tessi_access(g, e->access) : NULL;
        if (a && a->n_dims && !a->dim[a->n_dims - 1].absolute && a->dim[a->n_dims - 1].src == t->y)
            return false;
        reads += a                        ? 1
                 : e->kind == EXPR_WINDOW ? tessi_window_points(tessi_window(g, e->window))
                                          : 0;
    }
    return !all || reads * part->outputs.of[0] * part->outputs.of[1] >= MANY;
}

/* The first row of such a thread, from row `before` of the image on. */
static LExprId no_later(const Tiles *t, const Part *part, LExprId before, LExprId row)
{
    Lower *l = t->l;
    LExprId last = tessi_l_op(l, OP_SUB, part->nest.to[t->y], tessi_l_int(l, part->outputs.of[1]));
    last = tessi_l_op(l, OP_MAX, tessi_l_op(l, OP_SUB, last, before), tessi_l_int(l, 0));
    return tessi_l_op(l, OP_MIN, row, last);
}

/* Opens the threads of a part: a line of them, in rows of so many. */
static Thread open_line(const Tiles *t, const Part *part, bool early)
{
    static const char *const names[] = { "row", "column" };
    Lower *l = t->l;
    Thread thread = { .column = { 0 } };
    const int64_t across = part->extent.n[1] / part->outputs.of[0];
    const int64_t n[2] = { part->extent.n[0] / part->outputs.of[1], across };
    LExprId number = tessi_kernel_threads(l, 0, "patch", n[0] * n[1]);
    for (int k = 0; k < 2; k++) {
        LExprId at = tessi_l_op(l, k ? OP_FLOORMOD : OP_FLOORDIV, number, tessi_l_int(l, across));
        at = first_of_thread(l, part, k, at);
        if (k == 0 && early)
            at = no_later(t, part, t->first[0], at);
        at = tessi_scope_let(l, names[k], at);
        thread.column = at;
        thread.at[k] = tessi_l_op(l, OP_ADD, t->first[k], at);
        tessi_hint(l, thread.at[k], tessi_dim_name(t->n_dims, (uint8_t)(t->y + k)));
        thread.first[k] = tessi_l_op(l, OP_ADD, thread.at[k], tessi_l_int(l, part->extent.lo[k]));
    }
    l->tile_depth = tessi_scope_depth(l);
    return thread;
}

/* The same: rows and columns of them. */
static Thread open_rows(const Tiles *t, const Part *part, bool early)
{
    Lower *l = t->l;
    Thread thread = { .column = { 0 } };
    for (int k = 0; k < 2; k++) {
        LExprId at = tessi_kernel_threads(l, (uint8_t)(1 - k), k ? "thread_x" : "thread_y",
                                          tessi_level_threads(&t->group->levels, 1 - k));
        at = tessi_l_op(l, OP_ADD, t->first[k], first_of_thread(l, part, k, at));
        if (k == 0 && early)
            at = no_later(t, part, tessi_l_int(l, 0), at);
        at = tessi_scope_let(l, tessi_dim_name(t->n_dims, (uint8_t)(t->y + k)), at);
        thread.at[k] = thread.first[k] = at;
    }
    return thread;
}

static Thread open_threads(const Tiles *t, const Part *part, bool early)
{
    return t->nest ? open_rows(t, part, early) : open_line(t, part, early);
}

/* Some of the points from here on are needed. */
LExprId tessi_points_before_limit(Lower *l, const Part *part, const LExprId *at)
{
    LExprId y = tessi_l_op(l, OP_LT, at[0], part->limit[0]);
    return tessi_l_op(l, OP_AND, y, tessi_l_op(l, OP_LT, at[1], part->limit[1]));
}

/* In shared memory points that are not there do no harm: what holds there is filled in later. */
void tessi_points_anywhere(const Tiles *t, Part *part, bool all)
{
    Lower *l = t->l;
    const uint32_t depth = tessi_scope_depth(l);
    const Thread thread = open_threads(t, part, begins_early(t, part, all));
    const LExprId inside = tessi_tiles_patch_inside(t, part, thread.first);
    if (inside.v) {
        tessi_scope_if(l, inside);
        whole_patch(t, part, &thread, true, false);
        tessi_scope_else(l);
    }
    if (part->job.to_scratch) {
        if (part->limit[0].v)
            tessi_scope_if(l, tessi_points_before_limit(l, part, thread.first));
        whole_patch(t, part, &thread, false, true);
        tessi_scope_close_to(l, depth);
        return;
    }
    tessi_scope_if(l, is_whole(t, part, &thread));
    whole_patch(t, part, &thread, false, false);
    /* without windows points take no time by themselves */
    if (part->nest.windows && part->outputs.of[0] > 1 && part->outputs.of[1] > 1) {
        tessi_scope_else(l);
        tessi_scope_if(l, is_there(t, part, &thread, 0));
        columns_one_by_one(t, part, &thread);
    }
    if (part->outputs.of[0] > 1 || part->outputs.of[1] > 1) {
        tessi_scope_else(l);
        points_one_by_one(t, part, &thread);
    }
    tessi_scope_close_to(l, depth);
}

void tessi_points_inside(const Tiles *t, Part *part)
{
    Lower *l = t->l;
    const uint32_t depth = tessi_scope_depth(l);
    const Thread thread = open_threads(t, part, false);
    if (t->own[0].v && !part->job.to_scratch) {
        LExprId own = tessi_l_op(l, OP_LE, t->own[0], thread.first[0]);
        own = tessi_l_op(l, OP_AND, own, tessi_l_op(l, OP_LE, t->own[1], thread.first[1]));
        tessi_scope_if(l, own);
    }
    whole_patch(t, part, &thread, true, false);
    tessi_scope_close_to(l, depth);
}
