/* Kernels of warps whose blocks lie inside with all they read, and leave a frame: which blocks these are. */
#include "loop/lower_warp.h"

static void add_guard(const Warps *t, GuardList *guards, const Stage *s, const int64_t *lo,
                      const int64_t *hi)
{
    for (uint8_t d = 0; d < t->n_dims; d++) {
        Guard g = { .dim = (int8_t)d, .scale = 1, .size = s->size[d] };
        g.rest = tessi_lin_const(0);
        g.lo = d < t->y ? 0 : lo[d - t->y];
        g.hi = d < t->y ? 0 : hi[d - t->y];
        VEC_PUSH(t->l->arena, guards, g);
    }
}

/* What holds of the first point of a tile where a part lies inside with all it reads: what is needed of it, and all
 * that is computed where images are read then. */
static void part_guards(const Warps *t, const Part *part, const int64_t *tile, GuardList *guards)
{
    Lower *l = t->l;
    int64_t lo[2], hi[2];
    Coord coord[MAX_DIMS];
    for (int k = 0; k < 2; k++) {
        lo[k] = part->lo[k];
        hi[k] = part->hi[k] + tile[k] - 1;
    }
    if (t->warp.reads_images) {
        lo[0] = -t->warp.above - part->delay;
        hi[0] = lo[0] + tile[0] + t->warp.beyond - 1;
        lo[1] = -t->warp.left;
        hi[1] =
            tile[1] + t->warp.right - 1 + t->columns - 1; /* vectors may hold more than is read */
    }
    if (part->job.n)
        add_guard(t, guards, tessi_stage(l->g, part->job.stage[0]), lo, hi);
    for (uint8_t d = 0; d < t->n_dims; d++) {
        coord[d] = tessi_nest_coord(&part->nest, d, (LExprId){ 0 });
        coord[d].count = tessi_stage(l->g, t->group->members.at[0])->size[d];
        coord[d].lo = d < t->y ? 0 : lo[d - t->y];
        coord[d].hi = d < t->y ? 0 : hi[d - t->y];
    }
    tessi_nest_guards(l, &part->nest, coord, guards);
}

static Blocks blocks_of(const Warps *t)
{
    Lower *l = t->l;
    Blocks blocks = { .l = l };
    GuardList guards = { 0 };
    const int64_t tile[2] = { t->warp.least, tessi_level_tile(t->group, t->y + 1) };
    const Nest *members = &t->part[t->n_parts - 1].nest;
    for (uint32_t i = 0; i < t->n_parts; i++)
        part_guards(t, &t->part[i], tile, &guards);
    VEC_FOREACH (const PlanHeld, h, &t->warp.held) {
        const int64_t lo[2] = { -t->warp.above - h->delay, -t->warp.left };
        const int64_t hi[2] = { lo[0] + tile[0] + t->warp.beyond - 1, tile[1] + t->warp.right - 1 };
        if (h->is_image)
            add_guard(t, &guards, tessi_stage(l->g, h->stage), lo, hi);
    }
    for (int k = 0; k < 2; k++) {
        const uint8_t d = (uint8_t)(t->y + k);
        blocks.size[k] = tile[k]; /* at least */
        blocks.end[k] = members->to[d];
        blocks.from[k] = members->from[d];
        blocks.to[k] = members->to[d];
        tessi_guard_range(l, &guards, (int8_t)d, &blocks.from[k], &blocks.to[k]);
    }
    return blocks;
}

/* Strips of so many rows, and steps of so many, that there are as many blocks as wanted; they lie inside the frame,
 * which has room for one or for none. */
static void find_strips(Warps *t, const Frame *frame, LExprId across)
{
    Lower *l = t->l;
    const PlanMarch march = tessi_level_march(&t->group->levels);
    const Nest *members = &t->part[t->n_parts - 1].nest;
    LExprId one = tessi_l_int(l, 1), step = tessi_l_int(l, t->rows);
    LExprId beyond = tessi_l_int(l, t->warp.beyond);
    LExprId height = tessi_l_op(l, OP_SUB, frame->to[0], frame->from[0]);
    for (uint8_t d = 0; d < t->y; d++)
        across = tessi_l_op(l, OP_MUL, across, tessi_nest_extent(l, members, d));
    LExprId n = tessi_l_int(l, march.blocks);
    n = tessi_l_op(l, OP_FLOORDIV, n, tessi_l_op(l, OP_MAX, across, one));
    n = tessi_l_op(l, OP_MAX, n, one);
    LExprId rows = tessi_l_op(l, OP_ADD, height, tessi_l_op(l, OP_SUB, n, one));
    rows = tessi_l_op(l, OP_FLOORDIV, rows, n);
    rows = tessi_l_op(l, OP_MAX, rows, tessi_l_int(l, march.least));
    rows = tessi_l_op(l, OP_MIN, rows, tessi_l_int(l, march.most));
    t->steps = tessi_kernel_blocks(l, tessi_l_op(l, OP_ADD, rows, beyond), t->rows);
    height = tessi_l_op(l, OP_FLOORDIV, tessi_l_op(l, OP_ADD, height, beyond), step);
    t->steps = tessi_l_op(l, OP_MIN, t->steps, height);
    rows = tessi_l_op(l, OP_SUB, tessi_l_op(l, OP_MUL, t->steps, step), beyond);
    t->rows_of_strip = tessi_l_op(l, OP_MAX, rows, one);
    tessi_hint(l, t->steps, "steps");
    tessi_hint(l, t->rows_of_strip, "rows");
}

void tessi_warp_open_frame(Warps *t, const Frame *frame)
{
    Lower *l = t->l;
    const int64_t columns = tessi_level_tile(t->group, t->y + 1);
    LExprId width = tessi_l_op(l, OP_SUB, frame->to[1], frame->from[1]);
    LExprId across = tessi_kernel_blocks(l, width, columns);
    find_strips(t, frame, across);
    const LExprId size[2] = { t->rows_of_strip, tessi_l_int(l, columns) };
    LExprId height = tessi_l_op(l, OP_SUB, frame->to[0], frame->from[0]);
    height = tessi_l_op(l, OP_ADD, height, tessi_l_op(l, OP_SUB, size[0], tessi_l_int(l, 1)));
    const LExprId n[2] = { tessi_l_op(l, OP_FLOORDIV, height, size[0]), across };
    for (int k = 0; k < 2; k++) {
        LExprId number = tessi_kernel_grid(l, k == 0, k ? "block_x" : "block_y", n[k]);
        LExprId own = tessi_l_op(l, OP_ADD, frame->from[k], tessi_l_op(l, OP_MUL, number, size[k]));
        t->own[k] = tessi_scope_let(l, k ? "own_x" : "own_y", own);
        LExprId last = tessi_l_op(l, OP_SUB, frame->to[k], size[k]);
        t->first[k] = tessi_l_op(l, OP_MIN, t->own[k], last);
        t->first[k] = tessi_scope_let(l, k ? "tile_x" : "tile_y", t->first[k]);
    }
    t->steps = tessi_scope_let(l, "steps", t->steps);
}

/* What a warp stores begins and ends where sectors of memory do, if it is as many: parts of sectors of others would
 * have to wait for each other. */
static int64_t whole_columns(const Warps *t)
{
    enum { SECTOR_BYTES = 32 };
    int64_t columns = t->columns;
    VEC_FOREACH (const StageId, id, &t->group->members) {
        const int64_t sector =
            SECTOR_BYTES / tessi_type_info(tessi_stage(t->l->g, *id)->type)->bytes;
        columns = sector % columns ? columns : sector;
    }
    return t->warp.columns % columns ? t->columns : columns;
}

Frame tessi_warp_frame(const Warps *t)
{
    const Blocks blocks = blocks_of(t);
    const int64_t piece[2] = { 1, whole_columns(t) };
    return tessi_blocks_frame(&blocks, piece);
}
