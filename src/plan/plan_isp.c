/* The paper on borders by iteration-space partitioning: what nine regions save of a kernel of points and what they
 * cost, from instructions, occupancies and the number of blocks (or warps) of each region in an image of a size.
 *
 *   G = N_naive / N_ISP * O_ISP / O_naive
 *
 * N_naive answers both sides along both dimensions at each read; a region asks where it is, and answers the sides that
 * it meets. */
#include "graph/access.h"
#include "plan/plan_costs.h"

/* Along one dimension. */
typedef struct IspDim {
    double both, low, high;    /* instructions a point that answer both sides, and one */
    int64_t before, after;     /* how far reads go */
    int64_t size, unit;        /* points of the image, and of a block or warp */
    int64_t part[N_ISP_SIDES]; /* blocks that meet the low side, neither, the high side, both */
} IspDim;

/* One side of a coordinate: rules that look back or around do it once. */
static double side_instructions(const Machine *m, Border rule)
{
    const double both = tessi_plan_rule_instructions(m, rule);
    return rule == BORDER_WRAP || rule == BORDER_MIRROR || rule == BORDER_REFLECT
               ? m->fold_once_instructions
               : both / 2;
}

static void add_read(const PlanFacts *f, const Machine *m, const PlanRead *r, IspDim *dims,
                     uint8_t n_dims)
{
    const Access *access = r->access.v ? tessi_access(f->g, r->access) : NULL;
    for (uint8_t d = 0; access && d < access->n_dims; d++) {
        const AccessDim *dim = &access->dim[d];
        const int axis = n_dims - 1 - dim->src;
        int64_t lo, hi;
        if (dim->absolute || dim->src < 0 || axis > 1 || dim->rule == BORDER_INSIDE
            || !tessi_access_span(f->g, dim, &lo, &hi))
            continue;
        int64_t add = 0;
        tessi_size_is_const(f->g, dim->add, &add);
        lo += add;
        hi += add;
        IspDim *to = &dims[axis];
        const double one = r->times * side_instructions(m, dim->rule);
        if (lo || hi)
            to->both += r->times * tessi_plan_rule_instructions(m, dim->rule);
        to->low += lo < 0 ? one : 0;
        to->high += hi > 0 ? one : 0;
        to->before = -lo > to->before ? -lo : to->before;
        to->after = hi > to->after ? hi : to->after;
    }
}

/* Blocks [0, low) meet the low side, from `inside` on the high one. */
static void count_parts(IspDim *d)
{
    const int64_t all = (d->size + d->unit - 1) / d->unit;
    int64_t low = (d->before + d->unit - 1) / d->unit;
    int64_t inside = d->size > d->after ? (d->size - d->after) / d->unit : 0;
    low = low < all ? low : all;
    inside = inside < all ? inside : all;
    d->part[ISP_BOTH] = low > inside ? low - inside : 0;
    d->part[ISP_LOW] = low - d->part[ISP_BOTH];
    d->part[ISP_NEITHER] = inside > low ? inside - low : 0;
    d->part[ISP_HIGH] = all - d->part[ISP_LOW] - d->part[ISP_NEITHER] - d->part[ISP_BOTH];
}

/* Blocks that a multiprocessor has at once, as a share of its threads. */
static double occupancy(const Machine *m, int64_t registers, int64_t threads)
{
    const int64_t most = registers < m->registers_a_thread ? registers : m->registers_a_thread;
    int64_t blocks = m->registers / (most * threads);
    blocks = blocks < m->threads / threads ? blocks : m->threads / threads;
    return (double)(blocks > 0 ? blocks * threads : threads) / (double)m->threads;
}

static int64_t size_of(const PlanFacts *f, const PlanGroup *group, int axis, const int64_t *size)
{
    const Stage *s = tessi_stage(f->g, group->members.at[0]);
    int64_t n = 1;
    if (axis >= s->n_dims || tessi_size_is_const(f->g, s->size[s->n_dims - 1 - axis], &n))
        return n > 0 ? n : 1;
    return size[1 - axis];
}

PlanIsp tessi_plan_isp(const PlanFacts *f, const Analysis *an, const Machine *m, const Plan *p,
                       const PlanGroup *group, bool warps, const int64_t *size)
{
    IspDim dims[2] = { { .both = 0 } };
    PlanGroup naive = *group;
    PlanIsp isp = { .naive = 0 };
    const PlanThreads of = tessi_level_threads_all(&group->levels);
    naive.split = SPLIT_NONE;
    const KernelCost cost = tessi_plan_kernel_cost(f, an, m, p, &naive);
    VEC_FOREACH (const StageId, id, &group->members)
        VEC_FOREACH (const PlanRead, r, &f->reads[id->v])
            add_read(f, m, r, dims, group->n_dims);
    for (int axis = 0; axis < 2; axis++) {
        dims[axis].unit = of.of[axis];
        if (warps)
            dims[axis].unit = axis == 0              ? (of.of[0] < PLAN_WARP ? of.of[0] : PLAN_WARP)
                              : of.of[0] < PLAN_WARP ? PLAN_WARP / of.of[0]
                                                     : 1;
        isp.size[1 - axis] = dims[axis].size = size_of(f, group, axis, size);
        count_parts(&dims[axis]);
    }
    const double points = (double)(dims[0].unit * dims[1].unit);
    isp.kernel = cost.plain_instructions;
    isp.rules = dims[0].both + dims[1].both;
    isp.naive = (isp.kernel + isp.rules) * (double)isp.size[0] * (double)isp.size[1];
    for (int y = 0; y < N_ISP_SIDES; y++)
        for (int x = 0; x < N_ISP_SIDES; x++) {
            const double rows[] = { dims[1].low, 0, dims[1].high, dims[1].both };
            const double columns[] = { dims[0].low, 0, dims[0].high, dims[0].both };
            const bool any = y == ISP_BOTH || x == ISP_BOTH;
            const double blocks = (double)dims[1].part[y] * (double)dims[0].part[x];
            const double sides = (y != ISP_NEITHER) + (x != ISP_NEITHER);
            const double asked = m->question_instructions + sides * m->region_instructions;
            const double rules = any ? isp.rules : rows[y] + columns[x];
            isp.blocks[y][x] = blocks;
            isp.regions += (asked + isp.kernel + rules) * blocks * points;
        }
    isp.registers[0] = cost.registers;
    isp.registers[1] = cost.registers + (int64_t)m->region_registers;
    for (int k = 0; k < 2; k++)
        isp.occupancy[k] = occupancy(m, isp.registers[k], of.of[0] * of.of[1]);
    isp.reduced = isp.naive / isp.regions;
    isp.gain = isp.reduced * isp.occupancy[1] / isp.occupancy[0];
    return isp;
}

const char *tessi_plan_isp_reason(Arena *a, const PlanIsp *isp, bool warps)
{
    static const char *const names[N_ISP_SIDES][N_ISP_SIDES] = { { "TL", "T", "TR", "" },
                                                                 { "L", "Body", "R", "" },
                                                                 { "BL", "B", "BR", "" },
                                                                 { "", "", "", "" } };
    double others = 0;
    Text t = tessi_text_new(a);
    tessi_text_addf(&t,
                    "G = %.2f in %lld x %lld: R = %.2f, from %.4g to %.4g instructions; occupancy "
                    "%.0f %% with %lld registers, %.0f %% with %lld",
                    isp->gain, (long long)isp->size[0], (long long)isp->size[1], isp->reduced,
                    isp->naive, isp->regions, 100 * isp->occupancy[0], (long long)isp->registers[0],
                    100 * isp->occupancy[1], (long long)isp->registers[1]);
    tessi_text_addf(&t, "\na point takes %.1f instructions and %.1f for rules everywhere\n%s:",
                    isp->kernel, isp->rules, warps ? "warps" : "blocks");
    for (int y = 0; y < N_ISP_SIDES; y++)
        for (int x = 0; x < N_ISP_SIDES; x++) {
            if (*names[y][x])
                tessi_text_addf(&t, " %s %.0f", names[y][x], isp->blocks[y][x]);
            else
                others += isp->blocks[y][x];
        }
    if (others > 0)
        tessi_text_addf(&t, ", and %.0f that meet two sides", others);
    return tessi_text_str(&t);
}
