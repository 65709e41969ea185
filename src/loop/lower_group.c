/* Computed stages: the loops of each kind of group. */
#include "loop/lower_group.h"
#include "loop/lower_job.h"

/* `part` distinguishes the kernels of a group; "" when there is one. */
static void run_kernel(Lower *l, const PlanGroup *group, Nest *nest, const Job *job)
{
    const char *part = job->part;
    const bool whole = job->roots && (!job->piece || job->lattice);
    if (tessi_plan_kernel(group) == KERNEL_REGISTER && whole) {
        tessi_kernel_tiles(l, group, nest, part);
        return;
    }
    tessi_staged_constants(l, group);
    const PlanThreads block =
        nest->n_dims ? tessi_level_threads_all(&group->levels) : (PlanThreads){ { 1, 1 } };
    tessi_kernel_open(l, tessi_sprintf(l->arena, "%s%s", group->name, part),
                      tessi_group_comment(l, group), block.of[0], block.of[1])
        ->resident = group->resident;
    const KernelKind kernel = tessi_plan_kernel(group);
    if (kernel == KERNEL_ROLLING || kernel == KERNEL_SWEEP)
        tessi_kernel_sums(l, nest, group);
    else
        tessi_kernel_points(l, nest, block.of, nest->split ? group->split : SPLIT_NONE,
                            nest->roots ? group : NULL);
    tessi_scope_close(l);
}

static void run_job(Lower *l, const PlanGroup *group, Nest *nest, const Job *job)
{
    tessi_job_nest(l, group, tessi_level_rows(&group->levels), nest, job);
    if (l->plan->gpu)
        run_kernel(l, group, nest, job);
    else
        tessi_lower_nest(l, nest);
}

/* The results are too many bytes for the caches (plan_stream.c). */
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
    return tessi_l_op(l, OP_LE, tessi_l_int(l, tessi_plan_stream_bytes(l->machine)), bytes);
}

/* Points that a piece has beyond those that all are computed at together: the last of a row or column, one by one. */
static void run_rest(Lower *l, const PlanGroup *group, const Nest *together, const Job *job)
{
    const Stage *s = tessi_stage(l->g, job->stage[0]);
    for (uint8_t d = 0; d < s->n_dims; d++) {
        Nest nest = { 0 };
        tessi_piece_range(l, s, job->piece, &nest);
        if (nest.to[d].v == together->to[d].v)
            continue;
        nest.from[d] = together->to[d];
        for (uint8_t e = 0; e < d; e++)
            nest.to[e] = together->to[e];
        Job along = *job;
        along.part = tessi_sprintf(l->arena, "%s_%s", job->part, tessi_dim_name(s->n_dims, d));
        tessi_job_nest(l, group, 1, &nest, &along);
        nest.parallel = nest.vector = nest.split = false;
        nest.columns = 1;
        if (l->plan->gpu)
            run_kernel(l, group, &nest, &along);
        else
            tessi_lower_nest(l, &nest);
    }
}

/* Where the first of so many pieces ends. */
static LExprId least_end(Lower *l, const Stage *s, const Piece *piece, uint32_t n, uint8_t d)
{
    LExprId least = { 0 };
    LExprId *end = ARENA_NEW_ARRAY(l->arena, LExprId, n);
    for (uint32_t i = 0; i < n; i++) {
        Nest own = { 0 };
        bool known = false;
        tessi_piece_range(l, s, piece + i, &own);
        end[i] = own.to[d];
        for (uint32_t k = 0; k < i; k++)
            known = known || end[k].v == end[i].v;
        if (!known)
            least = i ? tessi_l_op(l, OP_MIN, least, end[i]) : end[i];
    }
    return least;
}

/* So many pieces of each member, which are computed at the same points. */
static void run_pieces(Lower *l, const PlanGroup *group, uint32_t begin, uint32_t n)
{
    const StageList *members = &group->members;
    const Stage *s = tessi_stage(l->g, members->at[0]);
    StageId *stage = ARENA_NEW_ARRAY(l->arena, StageId, n * members->n);
    ExprId *roots = ARENA_NEW_ARRAY(l->arena, ExprId, n * members->n);
    Piece *piece = ARENA_NEW_ARRAY(l->arena, Piece, n * members->n);
    for (uint32_t i = 0; i < n * members->n; i++) {
        stage[i] = members->at[i % members->n];
        piece[i] = tessi_stage(l->g, stage[i])->pieces.at[begin + i / members->n];
        roots[i] = piece[i].body;
    }
    Job job = { .stage = stage, .piece = piece, .n = n * members->n, .roots = roots };
    job.part = n == s->pieces.n ? "" : tessi_sprintf(l->arena, "_part%d", (int)begin);
    job.lattice = n == s->pieces.n && tessi_stage_lattice(l->g, s) == n ? n : 0;
    Nest nest = { 0 };
    tessi_piece_range(l, s, job.piece, &nest);
    for (uint8_t d = 0; d < s->n_dims; d++)
        nest.to[d] = least_end(l, s, &s->pieces.at[begin], n, d);
    const Nest together = nest;
    run_job(l, group, &nest, &job);
    for (uint32_t i = 0; i < n; i++) {
        const uint32_t at = i * members->n;
        Job rest = { .stage = stage + at, .piece = piece + at, .n = members->n };
        rest.roots = roots + at;
        rest.part = tessi_sprintf(l->arena, "%s_rest%d", job.part, (int)i);
        run_rest(l, group, &together, &rest);
    }
}

void tessi_lower_group(Lower *l, const PlanGroup *group)
{
    l->stream = (LExprId){ 0 };
    if (group->stream && !l->plan->gpu)
        l->stream = tessi_scope_let(l, "stream", fills_caches(l, group));
    const Stage *first = tessi_stage(l->g, group->members.at[0]);
    Nest nest = { 0 };
    if (group->product) {
        tessi_kernel_product(l, group);
        return;
    }
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
    if (!tessi_pieces_cover(l, first)) {
        Job zeros = { .stage = group->members.at, .n = group->members.n, .part = "_clear" };
        tessi_nest_whole(l, first, &nest);
        run_job(l, group, &nest, &zeros);
    }
    for (uint32_t i = 0, n; i < first->pieces.n; i += n) {
        n = tessi_pieces_together(l, first, i);
        run_pieces(l, group, i, n);
    }
}
