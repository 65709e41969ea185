/* Kernels of warps: what they cost, and which groups are to be such kernels. */
#include <math.h>

#include "plan/needs.h"
#include "plan/plan_costs.h"

enum { SCHEDULERS = 4 }; /* of a multiprocessor */

/* Elements of the rows that a thread keeps, those of the next step, and those of the step in the widest stage and
 * what it is made of. */
static int64_t registers_of(const Machine *m, const PlanWarp *w, const PlanGroup *group,
                            double words)
{
    const int64_t rows = tessi_level_outputs(&group->levels, 1),
                  columns = tessi_level_outputs(&group->levels, 0);
    int64_t kept = 0, widest = 0;
    VEC_FOREACH (const PlanHeld, h, &w->held) {
        const int64_t row = h->left + columns + h->right;
        kept += h->keep * row
                + (h->is_image && tessi_level_march(&group->levels).ahead ? rows * columns : 0);
        widest = rows * row > widest ? rows * row : widest;
    }
    const int64_t n =
        (int64_t)m->base_registers + (int64_t)(m->warp_live * words * (double)(kept + widest));
    return (n + 7) / 8 * 8; /* as they are dealt out */
}

/* The same of a thread that answers rules as well. Of planes one, the latest, is kept with the lines around, which are
 * read there. Turns of several images are computed beside each other, the widest rows of all of them at once; other
 * images wait in registers until the last part reads them. */
static int64_t registers_with_edges(const Machine *m, const PlanWarp *w, const PlanGroup *group,
                                    double words, bool turns)
{
    const int64_t rows = tessi_plan_warp_rows(group),
                  columns = tessi_level_outputs(&group->levels, 0);
    const double members = turns ? (double)group->members.n : 1;
    int64_t kept = 0, widest = 0, read = 0;
    double images = 0;
    VEC_FOREACH (const PlanHeld, h, &w->held) {
        const int64_t beside = h->left + h->right, lines = h->line + w->lines + h->below,
                      around = h->late ? h->line_up + h->line_down : 0;
        images += turns && h->is_image;
        kept += lines * (h->keep * columns + (h->wide - h->late) * beside);
        kept -= h->keep ? (h->keep - 1) * around * columns : 0;
        kept += h->is_image && !w->planes && tessi_level_march(&group->levels).ahead
                    ? lines * rows * columns
                    : 0;
        const int64_t arrives = lines * rows * (columns + (w->planes && h->late ? 0 : beside));
        widest = arrives > widest ? arrives : widest;
        read += h->is_image ? lines * rows * columns : 0;
    }
    if (!turns && !w->planes && read > widest)
        widest = read;
    const double n = m->warp_edge_base + m->warp_turns_image * images
                     + words * m->warp_edge_live * ((double)kept + members * (double)widest);
    return ((int64_t)n + 7) / 8 * 8;
}

static double most_registers(const Machine *m, const PlanWarp *w, bool edges, bool turns)
{
    const double most = edges ? m->warp_edge_most_registers : m->warp_most_registers;
    if (w->planes)
        return m->warp_plane_most_registers;
    return edges && turns && m->warp_turns_most_registers < most ? m->warp_turns_most_registers
                                                                 : most;
}

/* Warps that fit a multiprocessor, as many for each of its four schedulers: the one with most is the last to finish. */
static int64_t warps_of(const Machine *m, int64_t registers)
{
    const int64_t warps = m->registers / (PLAN_WARP * registers) / SCHEDULERS * SCHEDULERS;
    const int64_t enough = (int64_t)m->warp_enough;
    return warps < enough ? warps : enough;
}

/* Of these as many as leave room for a block of the frame, which begins first: strips that wait for it end last. */
static int64_t beside_frame(const Machine *m, int64_t registers, int64_t warps)
{
    const double frame = PLAN_FRAME_THREADS * m->frame_registers;
    while (warps > 1 && (double)(m->registers - warps * PLAN_WARP * registers) < frame)
        warps--;
    return warps;
}

typedef struct Step {
    double instructions; /* of a thread */
    double shuffles;     /* of these */
    double operations;   /* arithmetic of these */
    double once;         /* of a point, were each stage computed once */
    double divided;      /* divisions and roots of a point */
    double bytes;        /* of a point */
    double words;        /* of the widest element, at least 1 */
} Step;

/* Elements of an image that the block of warps reads for each of its points: those around its lines and columns. */
static double lines_read(const PlanWarp *w, const PlanHeld *h, const PlanGroup *group)
{
    if (!w->planes)
        return 1;
    const double lines = (double)tessi_level_tile(group, group->n_dims - 2),
                 columns = (double)(w->left + w->columns + w->right);
    return (lines + (double)(h->line + h->below)) / lines * columns / (double)w->columns;
}

/* Those of all stages that it computes; what several have in common counts once. */
static double divisions(const PlanFacts *f, const Plan *p, const PlanGroup *group)
{
    ExprWalk walk = { .arena = f->arena };
    VEC(ExprId) bodies = { 0 };
    Needs needs = { 0 };
    double n = 0;
    tessi_needs_of_group(f, f->arena, p, group, &needs);
    VEC_FOREACH (const Need, need, &needs.at)
        if (need->computed || need->root)
            VEC_FOREACH (const Piece, piece, &tessi_stage(f->g, need->stage)->pieces)
                VEC_PUSH(f->arena, &bodies, piece->body);
    const ExprList *list = tessi_expr_walk(&walk, f->g, bodies.at, bodies.n);
    VEC_FOREACH (const ExprId, id, list) {
        const Expr *e = tessi_expr(f->g, *id);
        n += e->kind == EXPR_OP && tessi_is_real(e->type) && (e->op == OP_DIV || e->op == OP_SQRT);
    }
    return n;
}

/* Nothing where the group cannot be. */
static Step step_of(const PlanFacts *f, const Analysis *an, const Machine *m, const Plan *p,
                    const PlanGroup *group, const PlanWarp *w)
{
    const double rows = (double)tessi_plan_warp_rows(group),
                 columns = tessi_level_outputs(&group->levels, 0);
    PlanRegions regions = { 0 };
    Step step = { .instructions = m->warp_step_instructions + m->warp_row_instructions * rows,
                  .words = 1 };
    if (tessi_plan_regions(f, p, group, &regions))
        return (Step){ 0 };
    for (uint32_t i = 0; i <= group->passes.n; i++) {
        const double lines = (double)(w->around[i][0] + w->lines + w->around[i][1]);
        const uint8_t outputs[2] = { tessi_level_outputs(&group->levels, 0),
                                     (uint8_t)(w->planes ? lines : rows) };
        const KernelCost part =
            tessi_plan_part_cost(f, an, m, p, group, &regions, i, outputs, NULL, NULL);
        step.instructions += part.plain_instructions;
        step.operations += part.operations;
        step.once += part.once / (w->planes ? lines * columns : rows * columns);
    }
    step.divided =
        group->passes.n ? divisions(f, p, group) : 0; /* of which each waits for the one before */
    VEC_FOREACH (const PlanHeld, h, &w->held) {
        const double size = tessi_type_info(tessi_stage(f->g, h->stage)->type)->bytes;
        const double lines = (double)(h->line + w->lines + h->below);
        step.shuffles += lines * rows * ceil(size / 4) * (double)(h->left + h->right);
        step.instructions +=
            lines * m->warp_kept
            * ((double)h->keep * columns + (double)((h->wide - h->late) * (h->left + h->right)));
        step.instructions += h->is_image ? lines * rows * ceil(size * columns / 16) : 0;
        step.bytes += h->is_image ? size * lines_read(w, h, group) : 0;
        step.words = size / 4 > step.words ? size / 4 : step.words;
    }
    VEC_FOREACH (const StageId, id, &group->members)
        step.bytes += tessi_type_info(tessi_stage(f->g, *id)->type)->bytes;
    step.instructions += step.shuffles;
    return step;
}

/* All channels of its pixels are members: they are stored side by side. */
static bool stores_pixels(const PlanFacts *f, const PlanGroup *group, StageId id)
{
    const Stage *s = tessi_stage(f->g, id);
    uint32_t bytes = 0;
    VEC_FOREACH (const StageId, other, &group->members)
        if (other->v == id.v || tessi_plan_same_pixel(tessi_stage(f->g, *other), s))
            bytes += tessi_type_info(tessi_stage(f->g, *other)->type)->bytes;
    return bytes == f->pixel[id.v];
}

/* Channels of pixels are read one by one, and so are those stored that do not fill them: seconds of a point in which
 * caches answer them, beside what rows of vectors take. */
static double apart_seconds(const PlanFacts *f, const Machine *m, const PlanGroup *group,
                            const PlanWarp *w, double columns)
{
    const double cycles = m->ghz * 1e9 * (double)m->cores;
    double seconds = 0;
    VEC_FOREACH (const PlanHeld, h, &w->held) {
        const double lines = f->pixel[h->stage.v] * columns / (double)m->line_bytes;
        if (h->is_image && tessi_need_is_apart(f, h->stage))
            seconds += (lines > 1.0 / PLAN_WARP ? lines : 1.0 / PLAN_WARP) / cycles;
    }
    VEC_FOREACH (const StageId, id, &group->members) {
        const double apart = f->pixel[id->v] * columns;
        if (tessi_need_is_apart(f, *id) && !stores_pixels(f, group, *id))
            seconds += (apart < m->sector_bytes ? apart : m->sector_bytes) / (m->l2_gbs * 1e9);
    }
    return seconds;
}

/* Strips of the image, of which each warp has one. */
typedef struct Strips {
    double
        again; /* rows that are gone through, those beyond included, for each of the strip's own */
    double warps; /* of a scheduler, those that are there at once */
    double steps; /* of a warp */
    double outer; /* of these, rows of steps above or below the image that are more than one */
} Strips;

/* As many strips as there are warps at once, but none of fewer rows than the plan allows. */
static Strips strips_of(const PlanFacts *f, const Machine *m, const PlanGroup *group,
                        const PlanWarp *w, double warps, double rows)
{
    const double side = sqrt(f->points), bands = ceil(side / (double)w->columns);
    const double there = warps * (double)m->cores, most = floor(there / bands);
    const double least = tessi_level_march(&group->levels).least;
    const double even = ceil(side / (most > 1 ? most : 1)), height = even > least ? even : least;
    const double used = bands * ceil(side / height), through = height + (double)w->beyond;
    const double at_once = used < there ? used : there;
    return (Strips){ .again = through / height,
                     .warps = ceil(at_once / (double)m->cores / SCHEDULERS),
                     .steps = ceil(through / rows) * ceil(used / there),
                     .outer = (rows - 1) * (ceil((double)w->beyond / 2 / rows) + 1) };
}

/* Seconds of a point in which the warps of a scheduler issue what they have to: few leave slots unused while each waits
 * for its own instructions. A warp at the upper or lower edge has more to do than others, which are gone then. */
static double strip_seconds(const PlanFacts *f, const Machine *m, const Strips *s, bool edges,
                            double code)
{
    const double few = edges && s->warps < m->warp_edge_enough ? m->warp_edge_few : 1;
    const double slots = s->warps * few > m->warp_alone ? s->warps * few : m->warp_alone;
    const double edge = edges && f->points < PLAN_LARGE_POINTS ? m->warp_edge_steps * s->outer : 0;
    const double cycles = code * (s->steps * slots / m->issue_share + edge);
    return cycles / (m->ghz * 1e9 * f->points);
}

/* The same of warps that go down planes: of few images a strip is low, and a warp is alone with what it waits for. */
static double plane_seconds(const PlanFacts *f, const Machine *m, const PlanGroup *group,
                            const PlanWarp *w, double warps, double code)
{
    const double there = warps * (double)m->cores, least = tessi_level_march(&group->levels).least;
    const double columns = f->points / (double)(w->columns * w->lines); /* of planes */
    const double even = columns / there,
                 high = even < m->warp_plane_depth ? even : m->warp_plane_depth;
    const double height = high > least ? high : least;
    const double used = columns / height, at_once = used < there ? used : there;
    const double busy = m->warp_plane_issue * at_once / (double)m->cores / SCHEDULERS;
    const double slots = busy > m->warp_plane_alone ? busy : m->warp_plane_alone;
    const double waves = used > there ? used / there : 1;
    return (height + (double)w->beyond) * waves * code * slots
           / (m->issue_share * m->ghz * 1e9 * f->points);
}

KernelCost tessi_plan_warp_cost(const PlanFacts *f, const Analysis *an, const Machine *m,
                                const Plan *p, const PlanGroup *group)
{
    enum { FRAMED = 3 }; /* kernels: of columns at the edges, of rows, of what lies within */
    const double power = tessi_plan_warp_has_edges(group) ? m->warp_edge_power : m->warp_power;
    KernelCost cost = { .registers = 1 };
    PlanWarp w;
    if (tessi_plan_warp(f, p, group, &w))
        return cost;
    const double lanes = (double)m->vector_bytes / 4;
    const Step step = step_of(f, an, m, p, group, &w);
    const bool edges = tessi_plan_warp_has_edges(group);
    const bool turns = tessi_stage(f->g, group->members.at[0])->repeat && !w.planes;
    cost.registers = edges ? registers_with_edges(m, &w, group, step.words, turns)
                           : registers_of(m, &w, group, step.words);
    if ((double)cost.registers > most_registers(m, &w, edges, turns)
        || cost.registers > m->registers_a_thread || step.instructions <= 0)
        return cost;
    const int64_t warps = warps_of(m, cost.registers);
    const double columns = tessi_level_outputs(&group->levels, 0),
                 rows = (double)tessi_plan_warp_rows(group);
    const double results = rows * (double)(w.columns * w.lines) / PLAN_WARP;
    const Strips strips = strips_of(f, m, group, &w, (double)warps, rows);
    cost.threads = PLAN_WARP * warps;
    const double again = w.planes ? 1 + (double)w.beyond / m->warp_plane_depth : strips.again;
    const double slots = lanes * m->ghz * 1e9 * (double)m->cores; /* in a second */
    cost.code = step.instructions;
    cost.instructions = step.instructions / results * again;
    cost.plain_instructions = cost.instructions;
    cost.operations = step.operations / results * again;
    cost.once = step.once;
    cost.dram_seconds = m->warp_marching * step.bytes / (m->memory_gbs * 1e9);
    cost.issue_seconds = w.planes ? plane_seconds(f, m, group, &w, (double)warps, step.instructions)
                                  : strip_seconds(f, m, &strips, edges, step.instructions);
    /* what else a warp has to do stands on one side of the branches of a division, or on the other */
    const double waiting = step.divided * again * m->warp_division
                           / (w.planes ? (double)warps / SCHEDULERS : strips.warps) / slots;
    cost.issue_seconds = waiting > cost.issue_seconds ? waiting : cost.issue_seconds;
    cost.cache_seconds = m->warp_shuffle * step.shuffles / results * again / slots
                         + apart_seconds(f, m, group, &w, columns);
    cost.seconds = pow(pow(cost.dram_seconds, power) + pow(cost.issue_seconds, power)
                           + pow(cost.cache_seconds, power),
                       1 / power)
                   + (edges ? 1 : FRAMED) * f->start_seconds;
    cost.feasible = cost.code <= m->warp_most_code && columns * step.words >= 4 && warps > 0;
    return cost;
}

/* ---- Choice ---------------------------------------------------------------------------------- */

typedef struct Chooser {
    const PlanFacts *f;
    const Analysis *an;
    const Machine *m;
    Plan *p;
    Arena *kept; /* for reasons that stay; the facts' own ends with each group */
} Chooser;

/* Columns of a thread: a vector of the widest elements; 0 where some are less than a register, which other kernels
 * pack. */
static uint8_t columns_of(const Chooser *c, const PlanGroup *group)
{
    Needs needs = { 0 };
    uint32_t least = 8, most = 1;
    tessi_needs_of_group(c->f, c->f->arena, c->p, group, &needs);
    VEC_FOREACH (const Need, need, &needs.at) {
        const Stage *s = tessi_stage(c->f->g, need->stage);
        if (!need->root && (need->computed || s->n_dims != group->n_dims))
            continue;
        const uint32_t bytes = tessi_type_info(s->type)->bytes;
        least = bytes < least ? bytes : least;
        most = bytes > most ? bytes : most;
    }
    return (uint8_t)(least < 4 ? 0 : 16 / most);
}

static double seconds_now(const Chooser *c, const PlanGroup *group)
{
    PlanGroup copy = *group;
    PlanRegions regions = { 0 };
    PlanTile tile;
    if (tessi_plan_kernel(group) == KERNEL_REGISTER)
        return tessi_plan_kernel_cost(c->f, c->an, c->m, c->p, group).seconds;
    copy.passes.at = ARENA_NEW_ARRAY(c->f->arena, PlanPass, group->passes.n + 1);
    for (uint32_t i = 0; i < group->passes.n; i++)
        copy.passes.at[i] = group->passes.at[i];
    return tessi_plan_settle_tile(c->f, c->an, c->m, c->p, &copy, &regions, &tile);
}

static const char *described(const Chooser *c, const PlanGroup *group, const KernelCost *cost,
                             double now, KernelKind kernel)
{
    return tessi_sprintf(c->f->arena,
                         "warps with %d x %d outputs a thread: %lld fs a point (memory %lld, %lld "
                         "instructions %lld), about %lld registers; %lld fs as kernel %s",
                         tessi_level_outputs(&group->levels, 0),
                         tessi_level_outputs(&group->levels, 1), tessi_plan_fs(cost->seconds),
                         tessi_plan_fs(cost->dram_seconds), tessi_plan_amount(cost->instructions),
                         tessi_plan_fs(cost->issue_seconds), (long long)cost->registers,
                         tessi_plan_fs(now), tessi_kernel_name(kernel));
}

/* Works in the arena of the facts. True: `stage` and `out` are where stages are placed and what the group becomes. */
static bool choose(const Chooser *c, uint32_t i, PlanStage **stage_out, PlanGroup *out)
{
    static const uint8_t rows[] = { 4, 3, 2 };
    Arena *a = c->f->arena;
    PlanGroup *group = &c->p->groups.at[i], best = *group;
    Plan with = *c->p;
    KernelCost least = { 0 };
    const uint8_t columns = columns_of(c, group);
    const char *fault = NULL;
    for (size_t k = 0; columns && !fault && k < sizeof rows; k++) {
        const uint8_t outputs[2] = { columns, rows[k] };
        if (columns * rows[k] > c->f->most_points)
            continue;
        Plan tried = *c->p;
        PlanGroup made = *group;
        fault = tessi_plan_make_warp(c->f, &tried, &made, outputs, 1);
        if (fault)
            break;
        const KernelCost cost = tessi_plan_warp_cost(c->f, c->an, c->m, &tried, &made);
        if (!cost.feasible || (least.feasible && cost.seconds >= c->m->rows_gain * least.seconds))
            continue;
        least = cost;
        best = made;
        with = tried;
    }
    if (!least.feasible)
        return false;
    const double now = seconds_now(c, group);
    const char *why = described(c, &best, &least, now, tessi_plan_kernel(group));
    if (least.seconds >= c->m->small_gain * now) {
        if (group->passes.n) {
            tessi_plan_add_reason(c->kept, &group->reason, tessi_strdup(c->kept, why));
        }
        return false;
    }
    best.resident = (uint8_t)(least.threads / tessi_level_threads(&best.levels, 0));
    tessi_level_set_march_blocks(
        &best.levels, (uint32_t)(beside_frame(c->m, least.registers, best.resident) * c->m->cores));
    tessi_plan_add_reason(a, &best.reason, why);
    tessi_plan_add_reason(a, &best.reason, tessi_plan_kernel_reason(c->f, &with, &best, &least));
    tessi_plan_add_reason(a, &best.reason,
                          "warps answer no rules: all that reads beyond an image is the frame's");
    const PlanGroup before = *group;
    PlanStage *const stage = c->p->stage;
    *group = best;
    c->p->stage = with.stage;
    const bool sound = !tessi_plan_verify_with(c->f, c->p);
    *group = before;
    c->p->stage = stage;
    *stage_out = with.stage;
    *out = best;
    return sound;
}

static void choose_warp(const PlanFacts *f, const Analysis *an, const Machine *m, Plan *p,
                        uint32_t i)
{
    Arena *scratch = tessi_scratch_open(f->arena);
    const PlanFacts own = tessi_plan_facts_in(scratch, f);
    const Chooser c = { &own, an, m, p, f->arena };
    PlanStage *stage;
    PlanGroup group;
    if (choose(&c, i, &stage, &group)) {
        for (uint32_t v = 0; v < p->n_stages; v++)
            if (stage[v].reason != p->stage[v].reason
                || stage[v].placement != p->stage[v].placement)
                p->stage[v] =
                    (PlanStage){ stage[v].placement, tessi_strdup(f->arena, stage[v].reason) };
        p->groups.at[i] = tessi_plan_keep_group(f->arena, &group);
    }
    tessi_scratch_close(scratch);
}

void tessi_plan_choose_warps(const PlanFacts *f, const Analysis *an, const Machine *m, Plan *p)
{
    for (uint32_t i = 0; i < p->groups.n; i++) {
        const PlanGroup *group = &p->groups.at[i];
        if ((tessi_plan_kernel(group) == KERNEL_TILE || tessi_plan_kernel(group) == KERNEL_REGISTER)
            && group->n_dims >= 2 && !tessi_plan_is_crossed(f, p, group))
            choose_warp(f, an, m, p, i);
    }
}
