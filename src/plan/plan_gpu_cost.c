/* What a kernel costs on a GPU, without running it: instructions issued, bytes through the memory, registers, and
 * how many bytes the threads that fit a multiprocessor keep on their way. Places of evaluation are counted exactly,
 * as for rows on a CPU, over the columns and rows that a thread computes together. */
#include <math.h>

#include "plan/bins.h"
#include "plan/plan_costs.h"
#include "plan/plan_gpu_cost.h"

typedef struct Rules {
    double instructions[2]; /* for one row, for one column */
} Rules;

/* From a point of a thread to the next of its row or column; none yet: 0. */
typedef struct Steps {
    int64_t of[2]; /* rows, columns */
} Steps;

typedef struct Counter {
    const PlanFacts *f;
    const Analysis *an;
    const Machine *m;
    const Plan *p;
    const PlanGroup *group;
    Arena *scratch;             /* while stages are counted */
    int64_t columns, rows;      /* those that stand apart are rows of one column */
    int64_t of[2], apart[2];    /* rows, columns of a thread, and from one to the next */
    const PlanRegions *regions; /* of tiles; NULL = none */
    int64_t shift; /* of the first column that a thread computes, from where vectors begin */
    Needs needs;
    OffsetSet *places; /* parallel to needs.at, as the next two are */
    Rules *rules;      /* of the reads of it */
    Steps *steps;      /* of its points, from one point of a thread to the next */
    bool *across;      /* threads of other columns read other rows of it */
    bool *uniform;   /* read at the same places by all threads, as masks are that come with a run */
    bool given;      /* something is uniform: coefficients, which threads load one by one */
    bool *counted;   /* by StageId: its bytes are; NULL = none */
    bool far;        /* memory is read around the points of a thread */
    double *crossed; /* vectors along its rows, which are columns of the points of a thread */
    double words;    /* of a point of all stored stages that are read */
    KernelCost cost;
} Counter;

/* The stage is read from shared memory. */
static bool is_shared(const Counter *c, StageId id)
{
    return c->regions && c->regions->scratch[id.v];
}

/* Windows are written out: a thread computes several points. */
static bool straight_line(const Counter *c)
{
    return tessi_plan_kernel(c->group) == KERNEL_REGISTER
           || tessi_plan_kernel(c->group) == KERNEL_WARP
           || (tessi_plan_kernel(c->group) == KERNEL_TILE && c->columns * c->rows > 1);
}

/* Elements of 16 bytes or less that a thread moves at once, of a row of so many columns; channels of pixels side by
 * side. */
static int64_t elements_at_once(const Counter *c, StageId id, int64_t columns)
{
    const Stage *s = tessi_stage(c->f->g, id);
    int64_t n = 16 / tessi_type_info(s->type)->bytes;
    const bool apart = tessi_need_is_apart(c->f, id) && !is_shared(c, id);
    if (!apart)
        return n < columns ? n : columns;
    if (c->f->channels[id.v] == 1 || s->n_dims < 2 || s->type == TYPE_BOOL || !straight_line(c))
        return 1;
    while (n > 1 && columns * c->f->channels[id.v] % n)
        n /= 2;
    return n * tessi_type_info(s->type)->bytes < 4 ? 1 : n; /* devices move words */
}

/* Stages of the kernel that are channels of one image in memory: those read, or those that it stores. */
static int64_t channels_in_use(const Counter *c, StageId id, bool stored)
{
    int64_t n = 0;
    for (uint32_t i = 0; i < c->needs.at.n; i++) {
        const Need *need = &c->needs.at.at[i];
        n += c->f->image[need->stage.v] == c->f->image[id.v]
             && (stored ? need->root : !need->computed);
    }
    return n;
}

/* The same of pixels: groups of as many as a thread has columns, of which vectors hold all channels, or elements one
 * by one. */
static double pixel_loads(const Counter *c, uint32_t at, double *apart)
{
    const StageId id = c->needs.at.at[at].stage;
    const OffsetSet *s = &c->places[at];
    const int64_t columns = c->columns * c->steps[at].of[1];
    const int64_t width = elements_at_once(c, id, columns);
    const double alone = s->at.n, used = (double)channels_in_use(c, id, false);
    OffsetSet groups = { 0 };
    *apart = 0;
    VEC_FOREACH (const Offset, o, &s->at)
        tessi_plan_add_offset(c->scratch, &groups,
                              (Offset){ o->dy, tessi_floordiv(o->dx, columns) });
    const double vectors =
        groups.at.n * (double)(c->f->channels[id.v] * columns) / (double)width / used;
    const double inside = width > 1 && vectors < alone ? vectors : alone;
    *apart = alone - inside;
    return s->loose + inside;
}

/* Loads of a stored stage: inside the image, vectors that hold what is read, aligned as the tile is; near edges,
 * where columns beside the tile may be others, those one by one: *apart says how many more these are. */
static double load_instructions(const Counter *c, uint32_t at, double *apart)
{
    const StageId id = c->needs.at.at[at].stage;
    const OffsetSet *s = &c->places[at];
    if (tessi_need_is_apart(c->f, id) && !is_shared(c, id))
        return pixel_loads(c, at, apart);
    const int64_t columns = c->columns * c->steps[at].of[1];
    const int64_t width = elements_at_once(c, id, columns);
    int64_t shift = c->shift * c->steps[at].of[1];
    if (is_shared(c, id))
        shift -= c->regions->at[id.v].lo[tessi_stage(c->f->g, id)->n_dims - 1];
    OffsetSet vectors = { 0 };
    double in_tile = 0;
    VEC_FOREACH (const Offset, o, &s->at) {
        const int64_t k = tessi_floordiv(o->dx + shift, width);
        tessi_plan_add_offset(c->scratch, &vectors, (Offset){ o->dy, k });
        in_tile += o->dx >= 0 && o->dx < columns;
    }
    const double inside = vectors.at.n + vectors.loose;
    *apart = s->at.n - in_tile + in_tile / (double)width - inside;
    *apart = *apart > 0 ? *apart : 0;
    return s->loose + inside;
}

/* It computes tiles of the stage, of its own points. */
static bool has_tiles(const Counter *c, const Need *need)
{
    return need->root && straight_line(c) && !is_shared(c, need->stage);
}

/* The window that a read stands in, when tiles write it out: one of constant size, read at constant offsets. */
static const Window *written_out(const Counter *c, const PlanRead *r)
{
    WindowId id = { 0 };
    if (!r->access.v || r->dynamic || !straight_line(c))
        return NULL;
    const Access *a = tessi_access(c->f->g, r->access);
    for (int d = 0; d < a->n_dims; d++) {
        for (int t = 0; t < a->dim[d].n_terms; t++) {
            if (id.v && id.v != a->dim[d].term[t].window.v)
                return NULL;
            id = a->dim[d].term[t].window;
        }
    }
    const Window *w = id.v ? tessi_window(c->f->g, id) : NULL;
    Offset o;
    return w && a->n_dims >= 2 && tessi_window_points(w) > 0
                   && tessi_plan_offset_at(c->f->g, a, w->lo, &o)
               ? w
               : NULL;
}

/* Spreads a read in a window that tiles write out. */
static bool spread_window(const Counter *c, const PlanRead *r, const OffsetSet *from, OffsetSet *to)
{
    const Graph *g = c->f->g;
    const Window *w = written_out(c, r);
    if (!w)
        return false;
    const Access *a = tessi_access(g, r->access);
    int32_t point[MAX_WINDOW_VARS];
    for (int i = 0; i < MAX_WINDOW_VARS; i++)
        point[i] = w->lo[i];
    Offset o;
    do {
        tessi_plan_offset_at(g, a, point, &o);
        VEC_FOREACH (const Offset, at, &from->at)
            tessi_plan_add_offset(c->scratch, to, (Offset){ at->dy + o.dy, at->dx + o.dx });
    } while (tessi_window_step(w, point));
    to->loose += from->loose * r->times;
    return true;
}

/* Notes by which rules the producer of a read is answered; reads in window loops are answered each time. */
static void note_rules(Counter *c, uint32_t reader, const NeedRead *need)
{
    Offset o;
    const PlanRead *r = need->read;
    if (!r->access.v || r->dynamic || c->uniform[need->of])
        return;
    const Access *access = tessi_access(c->f->g, r->access);
    int64_t by[2];
    const bool sampled = straight_line(c) && tessi_gpu_sampled(c->f->g, r, &o, by);
    if (!sampled && !tessi_plan_read_offset(c->f->g, r, &o) && !written_out(c, r)) {
        const double n = (c->places[reader].at.n + c->places[reader].loose) * r->times;
        for (int d = 0; d < access->n_dims && !r->same_point; d++) /* planes are those of a block */
            c->cost.rule_instructions += (d + 2 < access->n_dims ? r->times : n)
                                         * tessi_plan_rule_instructions(c->m, access->dim[d].rule);
        return;
    }
    for (int d = 0; d < 2 && access->n_dims >= 2; d++) { /* rows, columns */
        double *most = &c->rules[need->of].instructions[d];
        const double n =
            tessi_plan_rule_instructions(c->m, access->dim[access->n_dims - 2 + d].rule);
        *most = n > *most ? n : *most;
    }
}

/* Some read of the stage is not at the point itself in dimension d. */
static bool reaches(const Counter *c, const Need *need, int d)
{
    NEED_FOREACH (r, &c->needs, need) {
        Offset o;
        if (!tessi_plan_read_offset(c->f->g, r->read, &o)) {
            if (!r->read->same_point && !r->read->dynamic)
                return true;
        } else if (d == 0 ? o.dy : o.dx) {
            return true;
        }
    }
    return false;
}

/* The rows and columns beyond the tile at which a stage is read: each is answered once a tile. */
static void count_rules(Counter *c, uint32_t i)
{
    const Need *need = &c->needs.at.at[i];
    const OffsetSet *s = &c->places[i];
    int64_t tile[2];
    for (int d = 0; d < 2; d++)
        tile[d] = ((c->of[d] - 1) * c->apart[d] + 1) * c->steps[i].of[d];
    int64_t lo[2] = { 0, 0 }, hi[2] = { 0, 0 };
    VEC_FOREACH (const Offset, o, &s->at) {
        const int64_t at[2] = { o->dy, o->dx };
        for (int d = 0; d < 2; d++) {
            lo[d] = at[d] < lo[d] ? at[d] : lo[d];
            hi[d] = at[d] - tile[d] + 1 > hi[d] ? at[d] - tile[d] + 1 : hi[d];
        }
    }
    for (int d = 0; d < 2; d++) {
        const int64_t far = hi[d] > -lo[d] ? hi[d] : -lo[d];
        c->cost.halo[d] = far > c->cost.halo[d] ? far : c->cost.halo[d];
    }
    for (int d = 0; d < 2 && !is_shared(c, need->stage); d++)
        c->cost.rule_instructions += (double)(hi[d] - lo[d]) * c->rules[i].instructions[d];
    for (int d = 0; d < 2; d++)
        if (hi[d] > lo[d] && tessi_plan_is_inline(c->p, need->stage) && reaches(c, need, d))
            c->cost.chain = true;
}

/* The place does not depend on the point. */
bool tessi_gpu_is_uniform(const Graph *g, const PlanRead *r)
{
    return r->access.v && tessi_access_is_fixed(tessi_access(g, r->access));
}

/* The points at which stage `of` is read by stage `reader` stand so many steps of those of its apart; false where it is
 * read otherwise too. */
static bool have_steps(const Counter *c, uint32_t reader, uint32_t of, const int64_t *by)
{
    bool same = true;
    for (int k = 0; k < 2; k++) {
        int64_t *step = &c->steps[of].of[k];
        const int64_t wanted = c->steps[reader].of[k] * by[k];
        same = same && (!*step || *step == wanted);
        *step = *step ? *step : wanted;
    }
    return same;
}

static void spread(const Counter *c, const NeedRead *need, uint32_t reader)
{
    const PlanRead *r = need->read;
    const OffsetSet *from = &c->places[reader];
    OffsetSet *to = &c->places[need->of];
    Offset o;
    int64_t by[2] = { 1, 1 };
    const bool sampled = straight_line(c) && tessi_gpu_sampled(c->f->g, r, &o, by);
    bool mirrored = false;
    if (straight_line(c) && !c->needs.at.at[need->of].computed
        && tessi_gpu_crossed(c->f->g, r, &mirrored)) {
        const StageId id = r->producer;
        const bool alone = mirrored || tessi_need_is_apart(c->f, id); /* no vectors of them */
        const int64_t width = alone ? 1 : elements_at_once(c, id, c->rows);
        const double vectors = (from->at.n + from->loose) / (double)width;
        have_steps(c, reader, need->of, by);
        c->crossed[need->of] += vectors;
        to->loose += vectors;
        return;
    }
    c->across[need->of] =
        c->across[need->of]
        || tessi_gpu_across(c->f->g, tessi_stage(c->f->g, c->needs.at.at[reader].stage), r);
    if (!have_steps(c, reader, need->of, by)) {
        to->loose += (from->at.n + from->loose) * r->times;
        return;
    }
    if (sampled && by[0] * by[1] > 1) {
        to->loose += from->loose;
        VEC_FOREACH (const Offset, at, &from->at)
            tessi_plan_add_offset(c->scratch, to,
                                  (Offset){ at->dy * by[0] + o.dy, at->dx * by[1] + o.dx });
        return;
    }
    if (straight_line(c)
        && tessi_gpu_is_uniform(c->f->g, r)) { /* once for all points of a thread */
        to->loose += r->times;
        c->uniform[need->of] = true;
        return;
    }
    if (!spread_window(c, r, from, to))
        tessi_plan_spread(c->scratch, c->f->g, r, from, to);
}

/* What count() sums up beside the cost. */
typedef struct Sums {
    double places, loads, bytes, sorted;
} Sums;

/* Words of an element in registers: tiles compute small ones one by one. */
static double words_of(const Counter *c, double bytes)
{
    return c->regions && bytes < 4 ? 1 : bytes / 4;
}

/* What is found in memory. */
static void count_loads(Counter *c, uint32_t i, Sums *sum)
{
    const StageId id = c->needs.at.at[i].stage;
    const double n = c->places[i].at.n + c->places[i].loose;
    const double size = tessi_type_info(tessi_stage(c->f->g, id)->type)->bytes;
    double apart;
    if (c->of[0] * c->of[1] == 1)
        tessi_gpu_note_apart(&c->places[i], &c->cost.apart);
    c->cost.narrow = c->cost.narrow || size < 4;
    for (int k = 0; k < 2; k++)
        c->cost.steps[k] =
            c->steps[i].of[k] > c->cost.steps[k] ? c->steps[i].of[k] : c->cost.steps[k];
    c->words += words_of(c, size);
    const double together = load_instructions(c, i, &apart);
    const Need *need = &c->needs.at.at[i];
    sum->loads += together;
    c->cost.rule_instructions += apart;
    /* one line answers a warp */
    const int64_t step_of_points = c->steps[i].of[1] ? c->steps[i].of[1] : 1;
    const int64_t columns = c->uniform[i] ? 1 : c->columns * step_of_points;
    const bool pixels = tessi_need_is_apart(c->f, id) && !is_shared(c, id);
    const double step = pixels ? c->f->pixel[id.v] : size;
    const bool near = need->load == NEED_DENSE || step_of_points > 1;
    const double lines = c->across[i] ? fmin(tessi_level_threads(&c->group->levels, 0), PLAN_WARP)
                         : near || c->uniform[i] || pixels ? 1
                         : need->load == NEED_STRIDED      ? c->m->strided_lines
                                                           : c->m->gathered_lines;
    /* threads of other columns read other rows */
    const double across = tessi_gpu_cache_seconds(
        c->m, c->crossed[i] * (double)tessi_level_threads(&c->group->levels, 0), 1, 1);
    const double along = together - c->crossed[i];
    c->cost.cache_seconds += lines * tessi_gpu_cache_seconds(c->m, along, step, columns) + across;
    c->cost.rule_cache_seconds +=
        lines * tessi_gpu_cache_seconds(c->m, along + apart, step, columns) + across;
    sum->places +=
        (c->uniform[i] ? 1 : n) * words_of(c, size)
        + (size < 4 ? c->m->narrow_registers * (double)c->columns : 0); /* packed, and in use */
    if (size < 4 && c->group->packed) /* pairs, and those between them */
        c->cost.instructions += c->m->narrow_slots * n;
    if (!is_shared(c, id) && !c->uniform[i] && (!c->counted || !c->counted[id.v]))
        sum->bytes += size * need->passed;
    if (c->counted)
        c->counted[id.v] = true;
    c->cost.nodes += n;
}

/* Pixels of which the kernel stores all channels are stored in vectors, or fill sectors one after the other. Other
 * channels one by one: what threads side by side store lies apart, and the second cache takes whole sectors. */
static void count_stores_apart(Counter *c, StageId id)
{
    const Machine *m = c->m;
    const double points = (double)(c->rows * c->columns);
    const int64_t width = elements_at_once(c, id, c->columns);
    if (channels_in_use(c, id, true) == c->f->channels[id.v]) {
        c->cost.instructions += points / (double)width;
        return;
    }
    const double apart = (double)(c->f->pixel[id.v] * c->columns);
    const double bytes = points * (apart < m->sector_bytes ? apart : m->sector_bytes);
    c->cost.instructions += points;
    c->cost.cache_seconds += bytes / (m->l2_gbs * 1e9);
    c->cost.rule_cache_seconds += bytes / (m->l2_gbs * 1e9);
}

/* Conversions of elements that several points of a thread read: it converts each once. How many of n points are so
 * left out. */
static double shared_conversions(const Counter *c, const Need *need, double n)
{
    const double wanted = n * c->an->cost[need->stage.v].converted;
    double read = 0;
    uint32_t last = UINT32_MAX;
    if (!straight_line(c) || wanted == 0)
        return 0;
    NEED_FOREACH (r, &c->needs, need) {
        if (r->of != last) /* reads of one producer stand together */
            read += c->places[r->of].at.n + c->places[r->of].loose;
        last = r->of;
    }
    return wanted > read ? wanted - read : 0;
}

/* What is computed. */
static void count_work(Counter *c, uint32_t i, Sums *sum)
{
    const Need *need = &c->needs.at.at[i];
    const StageId id = need->stage;
    const double n = c->places[i].at.n + c->places[i].loose;
    const bool packed = c->group->packed;
    const PlanShape tile = has_tiles(c, need) ? (PlanShape){ c->apart[0] > 1 ? 1 : c->of[0],
                                                             c->apart[1] > 1 ? 1 : c->of[1] }
                                              : (PlanShape){ 0 };
    const double slots = tessi_plan_slots(c->f, c->m, id, packed, tile);
    const double issued = n * tessi_gpu_op_instructions(c->f, c->an, c->m, id) * slots;
    c->cost.instructions += issued;
    c->cost.piped += c->f->choices[id.v] >= c->m->sorted_share
                         ? issued
                         : n * slots * tessi_gpu_piped_instructions(c->f, c->an, c->m, id);
    sum->sorted = fmax(sum->sorted, tessi_plan_sorted_registers(c->f, c->m, id, packed, tile));
    const double operations = tessi_cost_operations(&c->an->cost[id.v]);
    c->cost.operations += n * operations;
    c->cost.once += (double)(c->rows * c->columns) * operations;
    c->cost.nodes += n * (double)(c->f->nodes[id.v] + 2 * c->f->window_points[id.v]);
    const double size = tessi_type_info(tessi_stage(c->f->g, id)->type)->bytes;
    const bool waits = size < 4 || c->an->cost[id.v].ops[OPC_DIV] > 0;
    if (!need->root && c->regions && waits && n > (double)(c->rows * c->columns)) {
        /* of tiles: compilers leave divisions, which have branches, and small elements where they are written */
        c->words += words_of(c, size);
        sum->places += n * words_of(c, size);
    }
    if (need->root && !is_shared(c, id))
        sum->bytes += tessi_gpu_stored_bytes(c->f, c->m, id, (double)c->columns);
    if (need->root && !is_shared(c, id) && tessi_need_is_apart(c->f, id))
        count_stores_apart(c, id);
    if (tessi_stage(c->f->g, id)->kind == STAGE_HISTOGRAM || tessi_stage(c->f->g, id)->keys.v)
        c->cost.cache_seconds += n * tessi_plan_bin_seconds(c->f->g, c->an, c->m, id);
    NEED_FOREACH (r, &c->needs, need) {
        spread(c, r, i);
        note_rules(c, i, r);
    }
    c->cost.instructions -= shared_conversions(c, need, n) * (1 + c->m->conversion_slots);
}

static void count(Counter *c)
{
    Sums sum = { 0 };
    for (uint32_t i = 0; i < c->needs.at.n; i++) {
        if (c->places[i].at.n + c->places[i].loose <= 0)
            continue;
        count_rules(c, i);
        if (c->needs.at.at[i].computed)
            count_work(c, i, &sum);
        else
            count_loads(c, i, &sum);
    }
    c->cost.instructions += sum.loads;
    c->cost.loads = sum.loads;
    c->cost.dram_seconds = sum.bytes / (c->m->memory_gbs * 1e9);
    if (c->cost
            .windows) { /* sums step by step: they and some rows of what they read are alive at once */
        const double alive = (double)(c->rows * c->columns)
                             + c->m->window_rows_alive * (double)(c->columns + c->cost.halo[1]);
        sum.places = sum.places < alive ? sum.places : alive;
    }
    c->cost.registers = (int64_t)c->m->base_registers + (int64_t)fmax(sum.places, sum.sorted);
}

/* Halos of window loops, which have no constant offsets. */
static void window_halos(Counter *c, StageId id)
{
    uint32_t n;
    const Footprint *all = tessi_footprints_of(c->an, id, &n);
    for (const Footprint *fp = all; n && fp < all + n; fp++)
        for (int k = 0; k < 2 && fp->n_dims >= 2; k++) {
            const AccessRange *d = &fp->dim[fp->n_dims - 2 + k];
            const int64_t far = d->hi > -d->lo ? d->hi : -d->lo;
            if (!d->dynamic && far > c->cost.halo[k])
                c->cost.halo[k] = far;
        }
}

/* The last wave of blocks leaves multiprocessors idle: the larger the tiles, the longer. */
static double with_tail(const PlanFacts *f, const Machine *m, const KernelCost *cost, double tile)
{
    const double a_wave = tile * (double)cost->threads * (double)m->cores;
    const double last = a_wave < f->points ? a_wave / f->points : 1;
    return cost->seconds * (1 + m->tail_share * last) + f->start_seconds;
}

/* The share of blocks of a 2048 x 2048 image that lie inside with their halos: those with borders are counted from
 * each side, rounded up. */
static double inside_share(const KernelCost *cost, const int64_t *tile)
{
    enum { SIDE = 2048 };
    double share = 1;
    for (int d = 0; d < 2; d++) {
        const int64_t n = (SIDE + tile[d] - 1) / tile[d];
        const int64_t before = (cost->halo[d] + tile[d] - 1) / tile[d];
        const int64_t last = (SIDE - cost->halo[d]) / tile[d]; /* the first not wholly inside */
        const int64_t inside = last > before ? last - before : 0;
        share *= (double)inside / (double)n;
    }
    return share;
}

double tessi_plan_split_gain(const Machine *m, const PlanGroup *group, const KernelCost *cost,
                             Split split)
{
    const PlanThreads n = tessi_level_threads_all(&group->levels);
    const PlanOutputs of = tessi_level_outputs_all(&group->levels);
    double points = tessi_level_points(&group->levels);
    int64_t tile[2] = { (tessi_split_is_by_warp(split) ? 1 : n.of[1]) * of.of[1],
                        n.of[0] * of.of[0] };
    if (tessi_plan_kernel(group) == KERNEL_ROLLING)
        tile[0] = tessi_level_march(&group->levels).least;
    if (tessi_plan_kernel(group) == KERNEL_TILE) { /* a thread has its share of the tile */
        for (int d = 0; d < 2; d++)
            tile[d] = tessi_level_tile(group, group->n_dims - 2 + d);
        points = (double)(tile[0] * tile[1]) / tessi_level_threads(&group->levels, 0);
    }
    const double share = inside_share(cost, tile);
    const double plain = cost->plain_instructions;
    /* A stage computed again at places that rules move is no longer shared with its neighbours. */
    double rules = plain * (cost->chain ? m->chain_at_edges : 1) + cost->rule_instructions / points;
    const double asked = share * plain + (1 - share) * rules + m->question_instructions / points;
    const double cache = share * cost->cache_seconds + (1 - share) * cost->rule_cache_seconds;
    return tessi_gpu_overlapped(m, cost->dram_seconds, tessi_gpu_issue_seconds(m, rules),
                                cost->rule_cache_seconds)
           / tessi_gpu_overlapped(m, cost->dram_seconds, tessi_gpu_issue_seconds(m, asked), cache);
}

/* Threads of reductions and histograms take many points, one after the other. */
static bool takes_many(const Counter *c, StageId id)
{
    const StageKind kind = tessi_stage(c->f->g, id)->kind;
    return kind == STAGE_REDUCE || kind == STAGE_HISTOGRAM;
}

/* The points of a thread. */
static void set_shape(Counter *c, const uint8_t *outputs, const PlanApart *apart)
{
    for (int k = 0; k < 2; k++) {
        c->of[1 - k] = outputs[k];
        c->apart[1 - k] = apart ? apart->of[k] : 1;
    }
    c->columns = c->apart[1] > 1 ? 1 : outputs[0];
    c->rows = c->of[0] * c->of[1] / c->columns;
    c->cost.apart = (PlanApart){ { 1, 1 } };
}

/* An image, or what lies in memory, is read around the points of a thread. */
static bool is_read_around(const Counter *c, uint32_t i)
{
    return !c->needs.at.at[i].computed && !is_shared(c, c->needs.at.at[i].stage)
           && c->places[i].at.n + c->places[i].loose > (double)(c->rows * c->columns);
}

/* What computing the stages together comes to, for columns x rows points of a thread; by the thread. */
static void count_stages(Counter *c, const StageId *stage, uint32_t n)
{
    Arena *a = c->scratch = tessi_scratch_open(c->f->arena);
    tessi_needs(c->f, a, c->p, stage, n, &c->needs);
    c->places = ARENA_NEW_ARRAY(a, OffsetSet, c->needs.at.n);
    c->rules = ARENA_NEW_ARRAY(a, Rules, c->needs.at.n);
    c->steps = ARENA_NEW_ARRAY(a, Steps, c->needs.at.n);
    c->uniform = ARENA_NEW_ARRAY(a, bool, c->needs.at.n);
    c->crossed = ARENA_NEW_ARRAY(a, double, c->needs.at.n);
    c->across = ARENA_NEW_ARRAY(a, bool, c->needs.at.n);
    for (uint32_t i = 0; i < c->needs.at.n; i++) {
        const Need *need = &c->needs.at.at[i];
        if (!need->root)
            continue;
        c->steps[i] = (Steps){ { 1, 1 } };
        c->cost.windows = c->cost.windows || (c->f->has_window[need->stage.v] && straight_line(c));
        for (int64_t y = 0; y < c->of[0]; y++)
            for (int64_t x = 0; x < c->of[1]; x++)
                tessi_plan_add_offset(a, &c->places[i],
                                      (Offset){ y * c->apart[0], x * c->apart[1] });
    }
    count(c);
    for (uint32_t i = 0; i < n; i++)
        if (c->f->has_window[stage[i].v])
            window_halos(c, stage[i]);
    for (uint32_t i = 0; i < c->needs.at.n; i++) {
        c->given = c->given || c->uniform[i];
        c->far = c->far || is_read_around(c, i);
    }
    tessi_scratch_close(a);
    c->cost.plain_instructions = c->cost.instructions - c->cost.loads;
    if (!takes_many(c, stage[0]))
        c->cost.instructions += c->m->base_instructions;
}

/* A point of an image of few: all there is to do are launches and, in one wave or a few, what one thread computes;
 * its instructions wait for one another unless other warps have some. What near caches take on a whole device they do
 * here. */
double tessi_gpu_when_few(const Machine *m, const KernelCost *cost, double instructions,
                          double points, double threads, int kernels)
{
    const double blocks = ceil(m->few_points / (threads * points) / (double)m->cores);
    const double fit = floor((double)cost->threads / threads), most = fit > 1 ? fit : 1;
    const double waves = ceil(blocks / most), at_once = blocks < most ? blocks : most;
    const double warps = ceil(at_once * threads / PLAN_WARP / (tessi_gpu_lanes(m) / PLAN_WARP));
    const double cycles = waves * instructions * (warps > m->few_wait ? warps : m->few_wait);
    const double busy = cycles / (m->ghz * 1e9), filled = cost->cache_seconds * m->few_points;
    return (m->few_launch_us * 1e-6 * kernels + m->few_memory * m->latency_us * 1e-6
            + (busy > filled ? busy : filled))
           / m->few_points;
}

/* Blocks of windows read the rows of pixels above and below theirs from the second cache, which serves half of what
 * it could: they ask for all of them at once, and then for none. */
static double halo_seconds(const Counter *c)
{
    if (!c->cost.windows)
        return 0;
    /* such blocks are as wide as a warp */
    const double rows = (double)(tessi_level_threads(&c->group->levels, 0)
                                 * tessi_level_threads(&c->group->levels, 1) / PLAN_WARP * c->rows);
    const double bytes = 4 * c->words * (1 + 2 * (double)c->cost.halo[0] / rows);
    return bytes / (c->m->halo_served * c->m->l2_gbs * (double)c->m->cores * 1e9);
}

int64_t tessi_gpu_registers_for_threads(const Machine *m, const KernelCost *cost)
{
    return cost->registers < m->registers_a_thread ? cost->registers : m->registers_a_thread;
}

/* Windows written out: compilers make loads early where there are many, and warps wait for them together, or spill;
 * code beyond the cache of instructions is waited for. */
static double window_factor(const Machine *m, const KernelCost *cost)
{
    const double loads = cost->loads > m->window_most_loads   ? m->window_most_time
                         : cost->loads > m->window_many_loads ? m->window_many_time
                                                              : 1;
    return loads
           * (cost->code > m->window_longest_code ? m->window_longest_time
              : cost->code > m->window_long_code  ? m->window_long_time
                                                  : 1);
}

KernelCost tessi_plan_kernel_cost(const PlanFacts *f, const Analysis *an, const Machine *m,
                                  const Plan *p, const PlanGroup *group)
{
    Counter c = { .f = f, .an = an, .m = m, .p = p, .group = group };
    if (tessi_plan_kernel(group) == KERNEL_ROLLING)
        return tessi_plan_cost_of_rolling(f, an, m, p, group);
    if (tessi_plan_kernel(group) == KERNEL_SWEEP)
        return tessi_plan_cost_of_sweep(f, an, m, p, group);
    const PlanOutputs outputs = tessi_level_outputs_all(&group->levels);
    const PlanApart apart = tessi_level_apart_all(&group->levels);
    set_shape(&c, outputs.of, &apart);
    count_stages(&c, group->members.at, group->members.n);
    KernelCost *cost = &c.cost;
    const double points = (double)(c.rows * c.columns)
                          * tessi_plan_pieces_together(p, tessi_stage(f->g, group->members.at[0]));
    cost->plain_instructions = cost->instructions / points;
    cost->operations /= points;
    cost->once /= points;
    if (group->split == SPLIT_NONE)
        cost->instructions += cost->rule_instructions;
    cost->instructions /= points;
    cost->piped /= points;
    cost->issue_seconds = tessi_gpu_issue_seconds(m, cost->instructions);
    cost->code = cost->instructions * points;
    cost->long_code = cost->code > (cost->windows ? m->cached_code : m->small_code);
    if (cost->windows && c.given)
        cost->issue_seconds *= m->window_given_time;
    else if (cost->windows)
        cost->issue_seconds *= window_factor(m, cost);
    if (cost->long_code && (c.given || !cost->windows))
        cost->issue_seconds *= m->long_code_time;
    const int64_t most = tessi_gpu_registers_for_threads(m, cost);
    cost->threads = m->registers / most < m->threads ? m->registers / most : m->threads;
    const bool many = takes_many(&c, group->members.at[0]);
    tessi_gpu_wait_for_memory(m, cost, many ? m->many_ahead : points);
    cost->cache_seconds /= points;
    cost->rule_cache_seconds /= points;
    const double memory = tessi_gpu_overlapped(m, cost->dram_seconds, halo_seconds(&c), 0);
    cost->seconds = tessi_gpu_overlapped(m, memory, cost->issue_seconds, cost->cache_seconds);
    cost->seconds = with_tail(f, m, cost, points);
    if (f->few)
        cost->seconds = tessi_gpu_when_few(
            m, cost, cost->code * (cost->chain ? m->chain_at_edges : 1), points,
            tessi_level_threads(&group->levels, 0) * tessi_level_threads(&group->levels, 1), 1);
    /* What does not fit spills to memory: not for us. */
    cost->feasible = tessi_plan_kernel(group) != KERNEL_REGISTER
                     || (cost->registers <= m->registers_a_thread && cost->code <= m->most_code);
    return *cost;
}

/* ---- Tiles through shared memory ------------------------------------------------------------- */

/* Between barriers compilers load rows as they are used, from memory that is near: those of the reach and some more
 * are alive. */
static void limit_registers(Counter *c)
{
    const double rows = 2.0 * (double)c->cost.halo[0] + c->m->part_rows_alive;
    const double alive = c->words * rows * (double)(c->columns + 2 * c->cost.halo[1]);
    const double base = c->m->base_registers;
    if (alive + base < (double)c->cost.registers)
        c->cost.registers = (int64_t)base + (int64_t)alive;
}

KernelCost tessi_plan_part_cost(const PlanFacts *f, const Analysis *an, const Machine *m,
                                const Plan *p, const PlanGroup *group, const PlanRegions *regions,
                                uint32_t i, const uint8_t *outputs, const PlanApart *apart,
                                bool *counted)
{
    const bool pass = i < group->passes.n;
    Counter c = { .f = f, .an = an, .m = m, .p = p, .group = group, .regions = regions };
    set_shape(&c, outputs, apart);
    c.counted = counted;
    if (!pass) {
        count_stages(&c, group->members.at, group->members.n);
        c.cost.instructions += m->part_instructions;
        if (!c.far) /* whose loads compilers make early, and stores late */
            limit_registers(&c);
        return c.cost;
    }
    const StageId *stage = group->passes.at[i].stages.at;
    const uint32_t n = group->passes.at[i].stages.n;
    c.shift = regions->at[stage[0].v].lo[group->n_dims - 1];
    count_stages(&c, stage, n);
    c.cost.instructions += m->part_instructions;
    limit_registers(&c);
    for (uint32_t k = 0; k < n; k++) {
        const uint32_t bytes = tessi_type_info(tessi_stage(f->g, stage[k])->type)->bytes;
        const int64_t width = 16 / bytes < c.columns ? 16 / bytes : c.columns;
        const double stores = (double)(c.rows * c.columns) / (double)width;
        c.cost.instructions += stores;
        c.cost.cache_seconds += tessi_gpu_cache_seconds(m, stores, bytes, c.columns);
    }
    return c.cost;
}

void tessi_plan_add_part(const Machine *m, const KernelCost *part, double patches, double threads,
                         double points, KernelCost *cost)
{
    const double dealt =
        ceil(patches / PLAN_WARP) * PLAN_WARP / points; /* those without work wait along */
    cost->operations += part->operations * patches / points;
    cost->instructions += part->instructions * dealt;
    cost->rule_instructions += part->rule_instructions * ceil(patches / threads); /* of a thread */
    cost->chain = cost->chain || part->chain;
    cost->in_rounds += part->instructions * ceil(patches / threads) * threads / points;
    cost->cache_seconds += part->cache_seconds * dealt;
    cost->nodes += part->nodes;
    cost->code += part->instructions;
    cost->registers = part->registers > cost->registers ? part->registers : cost->registers;
    cost->narrow = cost->narrow || part->narrow;
    cost->long_code = cost->long_code || part->instructions > m->small_part_code;
}

void tessi_plan_finish_tile(const PlanFacts *f, const Machine *m, const PlanGroup *group,
                            int64_t shared_bytes, KernelCost *cost)
{
    const double idle = cost->in_rounds / cost->instructions - 1;
    const int64_t threads = tessi_level_threads(&group->levels, 0);
    int64_t blocks = m->registers / (tessi_gpu_registers_for_threads(m, cost) * threads);
    const int64_t by_memory = m->shared_bytes / (shared_bytes + (int64_t)m->reserved_bytes);
    blocks = blocks < by_memory ? blocks : by_memory;
    blocks = blocks < m->threads / threads ? blocks : m->threads / threads;
    cost->threads = blocks * threads;
    cost->feasible =
        blocks > 0 && cost->registers <= m->registers_a_thread && cost->code <= m->most_code;
    if (!cost->feasible)
        return;
    cost->plain_instructions = cost->instructions;
    cost->rule_cache_seconds = cost->cache_seconds;
    /* Other blocks use the time in which threads without work wait along, unless it is much. */
    const double missing = 1 - (double)cost->threads / m->enough_tile_threads;
    cost->issue_seconds = tessi_gpu_issue_seconds(m, cost->instructions)
                          * (1 + idle * idle * m->idle_share)
                          * (1 + m->barrier_share / (double)(blocks * blocks));
    if (cost->code > m->small_tile_code || cost->long_code)
        cost->issue_seconds *= m->long_tile_time;
    if (missing > 0)
        cost->issue_seconds *= 1 + missing * m->missing_threads;
    const double points = tessi_level_points(&group->levels);
    tessi_gpu_wait_for_memory(m, cost, points);
    if (cost->again_bytes > 0)
        tessi_gpu_read_again(m, cost);
    cost->seconds =
        tessi_gpu_overlapped(m, cost->dram_seconds, cost->issue_seconds, cost->cache_seconds);
    const uint8_t x = (uint8_t)(group->n_dims - 1);
    const double tile =
        (double)(tessi_level_tile(group, x) * tessi_level_tile(group, x - 1)) / (double)threads;
    const double at_edges = m->few_edges * cost->in_rounds * tile; /* instructions of a thread */
    cost->seconds =
        with_tail(f, m, cost, points); /* the frame is as thin beside tiles of any size */
    if (f->few)
        cost->seconds = tessi_gpu_when_few(m, cost, at_edges, tile, (double)threads, 2);
    else if (f->start_seconds > 0) /* it is a kernel more, which few blocks wait for */
        cost->seconds += f->start_seconds + at_edges * m->few_wait / (m->ghz * 1e9 * f->points);
}
