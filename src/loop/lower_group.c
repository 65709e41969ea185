/* Computed stages: the loops of each kind of group. */
#include "loop/lower_group.h"
#include "loop/lower_job.h"

/* The piece coordinates whose points are inside the stage. */
static void piece_range(Lower *l, const Stage *s, const Piece *piece, Nest *nest)
{
    nest->n_dims = s->n_dims;
    for (uint8_t d = 0; d < s->n_dims; d++) {
        int64_t step = piece->step[d];
        Lin offset = tessi_lin_size(l->g, piece->offset[d]);
        Lin count = tessi_lin_size(l->g, piece->count[d]);
        Lin size = tessi_lin_size(l->g, s->size[d]);
        Lin room =
            tessi_lin_add_scaled(&size, &offset, -1); /* size - offset - step*(count-1) - 1 */
        room = tessi_lin_add_scaled(&room, &count, -step);
        room.ok = room.ok && tessi_add_i64(room.constant, step - 1, &room.constant);
        LExprId at = tessi_lower_size(l, piece->offset[d]);
        LExprId up = tessi_l_int(l, step - 1), by = tessi_l_int(l, step);
        nest->count[d] = piece->count[d];
        nest->from[d] = tessi_l_int(l, 0);
        if (!tessi_lin_never_negative(l->g, &offset)) {
            LExprId skip = tessi_l_op(l, OP_FLOORDIV, tessi_l_op(l, OP_SUB, up, at), by);
            nest->from[d] = tessi_l_op(l, OP_MAX, skip, nest->from[d]);
        }
        nest->to[d] = tessi_lower_size(l, piece->count[d]);
        if (!tessi_lin_never_negative(l->g, &room)) {
            LExprId end = tessi_l_op(l, OP_SUB, tessi_lower_size(l, s->size[d]), at);
            end = tessi_l_op(l, OP_FLOORDIV, tessi_l_op(l, OP_ADD, end, up), by);
            nest->to[d] = tessi_l_op(l, OP_MIN, end, nest->to[d]);
        }
    }
}

/* The class of points modulo the steps that a piece gives completely, as a number; -1 when it leaves gaps or that is
 * not sure. */
static int residue_of(const Lower *l, const Stage *s, const Piece *piece)
{
    int number = 0;
    for (uint8_t d = 0; d < s->n_dims; d++) {
        int64_t offset, step = piece->step[d];
        if (!tessi_size_is_const(l->g, piece->offset[d], &offset) || offset < 0 || offset >= step)
            return -1;
        Lin count = tessi_lin_size(l->g, piece->count[d]), size = tessi_lin_size(l->g, s->size[d]);
        Lin end = tessi_lin_const(offset); /* offset + step * count reaches the size */
        end = tessi_lin_add_scaled(&end, &count, step);
        end = tessi_lin_add_scaled(&end, &size, -1);
        if (!tessi_lin_never_negative(l->g, &end))
            return -1;
        number = number * (int)step + (int)offset;
    }
    return number;
}

/* Some pieces with the same steps cover the stage between them, so that nothing need be cleared. */
static bool covers_all(const Lower *l, const Stage *s)
{
    enum { MAX_CLASSES = 64 };
    for (uint32_t first = 0; first < s->pieces.n; first++) {
        int64_t classes = 1;
        uint64_t seen = 0;
        for (uint8_t d = 0; d < s->n_dims && classes <= MAX_CLASSES; d++)
            classes *= s->pieces.at[first].step[d];
        if (classes > MAX_CLASSES)
            continue;
        VEC_FOREACH (const Piece, piece, &s->pieces) {
            bool same = true;
            for (uint8_t d = 0; d < s->n_dims; d++)
                same = same && piece->step[d] == s->pieces.at[first].step[d];
            int residue = same ? residue_of(l, s, piece) : -1;
            if (residue >= 0)
                seen |= (uint64_t)1 << residue;
        }
        if (seen == (classes == 64 ? UINT64_MAX : ((uint64_t)1 << classes) - 1))
            return true;
    }
    return false;
}

/* `part` distinguishes the kernels of a group; "" when there is one. */
static void run_kernel(Lower *l, const PlanGroup *group, Nest *nest, const char *part)
{
    if (tessi_plan_kernel(group) == KERNEL_REGISTER) {
        tessi_kernel_tiles(l, group, nest, part);
        return;
    }
    tessi_staged_constants(l, group);
    const PlanThreads block =
        nest->n_dims ? tessi_level_threads_all(&group->levels) : (PlanThreads){ { 1, 1 } };
    tessi_kernel_open(l, tessi_sprintf(l->arena, "%s%s", group->name, part),
                      tessi_group_comment(l, group), block.of[0], block.of[1])
        ->resident = group->resident;
    if (tessi_plan_kernel(group) == KERNEL_ROLLING)
        tessi_kernel_rolling(l, nest, group);
    else if (tessi_plan_kernel(group) == KERNEL_SWEEP)
        tessi_kernel_sweep(l, nest, group);
    else
        tessi_kernel_points(l, nest, block.of, nest->split ? group->split : SPLIT_NONE,
                            nest->roots ? group : NULL);
    tessi_scope_close(l);
}

static void run_job(Lower *l, const PlanGroup *group, Nest *nest, const Job *job)
{
    tessi_job_nest(l, group, tessi_level_rows(&group->levels), nest, job);
    if (l->plan->gpu)
        run_kernel(l, group, nest, job->part);
    else
        tessi_lower_nest(l, nest);
}

/* The results, and as many bytes that they are computed from, leave no room in the last cache. */
static LExprId fills_caches(Lower *l, const PlanGroup *group)
{
    LExprId bytes = tessi_l_int(l, 0);
    VEC_FOREACH (const StageId, id, &group->members) {
        const Stage *s = tessi_stage(l->g, *id);
        LExprId size = tessi_l_int(l, tessi_type_info(s->type)->bytes);
        for (uint8_t d = 0; d < s->n_dims; d++)
            size = tessi_l_op(l, OP_MUL, tessi_lower_size(l, s->size[d]), size);
        bytes = tessi_l_op(l, OP_ADD, bytes, size);
    }
    return tessi_l_op(l, OP_LE, tessi_l_int(l, l->machine->l3_bytes / 2), bytes);
}

void tessi_lower_group(Lower *l, const PlanGroup *group)
{
    l->stream = (LExprId){ 0 };
    if (group->stream && !l->plan->gpu)
        l->stream = tessi_scope_let(l, "stream", fills_caches(l, group));
    const Stage *first = tessi_stage(l->g, group->members.at[0]);
    Nest nest = { 0 };
    if (group->transform || group->median) {
        if (group->median)
            (l->plan->gpu ? tessi_kernel_median : tessi_lower_median)(l, group);
        else
            (l->plan->gpu ? tessi_kernel_transform : tessi_lower_transform)(l, group);
        return;
    }
    if (tessi_level_tile(group, 0)) {
        if (tessi_plan_kernel(group) == KERNEL_WARP)
            tessi_kernel_warps(l, group);
        else if (l->plan->gpu)
            tessi_kernel_tiles(l, group, NULL, "");
        else
            tessi_lower_tiles(l, group);
        return;
    }
    if (tessi_stage_is_plain(l->g, first)) {
        tessi_nest_whole(l, first, &nest);
        Job job = { .stage = group->members.at, .n = group->members.n, .part = "" };
        job.roots = tessi_bodies(l, job.stage, job.n);
        job.band = tessi_level_band(&group->levels);
        run_job(l, group, &nest, &job);
        return;
    }
    if (!covers_all(l, first)) {
        Job zeros = { .stage = group->members.at, .n = 1, .part = "_clear" };
        tessi_nest_whole(l, first, &nest);
        run_job(l, group, &nest, &zeros);
    }
    VEC_FOREACH (const Piece, piece, &first->pieces) {
        Job job = { .stage = group->members.at, .piece = piece, .n = 1, .roots = &piece->body };
        job.part = tessi_sprintf(l->arena, "_part%d", (int)(piece - first->pieces.at));
        piece_range(l, first, piece, &nest);
        run_job(l, group, &nest, &job);
    }
}
