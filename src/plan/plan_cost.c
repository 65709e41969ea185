/* The parts of the cost model: seconds of operations, of loads, and of a trip through memory, for one point with all
 * cores at work on a machine as described. */
#include "plan/plan_costs.h"

static double per_second(const Machine *m, double per_cycle, ScalarType t)
{
    double bytes = tessi_type_info(t)->bytes < 8 ? 4 : 8; /* narrow types are computed as 32 bits */
    double lanes = (double)m->vector_bytes / bytes;
    return per_cycle * (lanes < 1 ? 1 : lanes) * m->ghz * 1e9 * (double)m->cores;
}

double tessi_plan_op_seconds(const Machine *m, const StageCost *c, ScalarType t)
{
    const double per_cycle[N_OP_CLASSES] = {
        [OPC_SIMPLE] = m->simple_per_cycle, [OPC_MUL] = m->mul_per_cycle,
        [OPC_FMA] = m->fma_per_cycle,       [OPC_DIV] = m->div_per_cycle,
        [OPC_SQRT] = m->sqrt_per_cycle,     [OPC_MATH] = m->math_per_cycle,
        [OPC_SORT] = m->sort_per_cycle
    };
    const double scalars = m->ghz * 1e9 * (double)m->cores;
    double divider = 0, others = 0;        /* which work at the same time */
    for (int k = 0; k < N_OP_CLASSES; k++) /* sorting is done point by point, without vectors */
        *(k == OPC_DIV || k == OPC_SQRT ? &divider : &others) +=
            c->ops[k] / (k == OPC_SORT ? per_cycle[k] * scalars : per_second(m, per_cycle[k], t));
    if (!tessi_machine_is_gpu(m)) /* kernels have pairs, which are counted where they are chosen */
        others -= c->narrow / per_second(m, m->simple_per_cycle, t);
    if (!tessi_machine_is_gpu(m))
        others += c->looked_up * m->gather_cycles / scalars;
    const double shown = m->divider_overlap;
    return divider > others ? divider + shown * others : others + shown * divider;
}

uint32_t tessi_plan_vector_bytes(const Plan *p, const Machine *m)
{
    return (uint32_t)(p->width && p->width < m->vector_bytes ? p->width : m->vector_bytes);
}

double tessi_plan_load_seconds(const Machine *m, ScalarType t)
{
    const double load = 1 / per_second(m, m->load_per_cycle, t);
    if (t == TYPE_F16 && !tessi_machine_is_gpu(m))
        return load + m->half_cycles / per_second(m, 1, t);
    return load;
}

double tessi_plan_trip_seconds(const Machine *m, ScalarType t)
{
    return 2.0 * tessi_type_info(t)->bytes / (m->memory_gbs * 1e9);
}

/* ---- Reasons --------------------------------------------------------------------------------- */

const char *tessi_plan_number(Arena *a, double x)
{
    long long hundredths = tessi_plan_amount(x * 100);
    if (hundredths % 100 == 0)
        return tessi_sprintf(a, "%lld", hundredths / 100);
    return tessi_sprintf(a, "%lld.%02lld", hundredths / 100, hundredths % 100);
}

long long tessi_plan_amount(double x)
{
    return x > 9e15 ? (long long)9e15 : (long long)(x + 0.5);
}

long long tessi_plan_ps(double seconds)
{
    return tessi_plan_amount(seconds * 1e12);
}

long long tessi_plan_fs(double seconds)
{
    return tessi_plan_amount(seconds * 1e15);
}

void tessi_plan_add_reason(Arena *a, const char **reason, const char *more)
{
    *reason = **reason ? tessi_sprintf(a, "%s\n%s", *reason, more) : more;
}
