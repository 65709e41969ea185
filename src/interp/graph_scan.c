/* Scans: running values along a dimension, in the order that docs/internals/reductions.md fixes. */
#include "graph/graph_fold.h"
#include "interp/graph_stages.h"

/* A line of the source that a scan goes along. */
typedef struct Line {
    PointEval *p;
    const Stage *s;
    const StageImage *source;
    StageImage *image;
    const Region *region;
    int64_t index[MAX_DIMS];
    int64_t n;
} Line;

/* Point i of the line, counted from where the scan begins. */
static void go_to(Line *line, int64_t i)
{
    line->index[line->s->along - 1] = line->s->reverse ? line->n - 1 - i : i;
}

static void store(const Line *line, Value v)
{
    const Stage *s = line->s;
    int64_t at = 0;
    for (int d = 0; d < line->source->n_dims; d++) {
        const int own = tessi_stage_from_source(s, d);
        at += own < 0 ? 0 : line->index[d] * line->image->stride_bytes[own];
    }
    tessi_store_element(s->type, line->image->at + at, v);
}

static void run_reduction(Line *line)
{
    const Stage *s = line->s;
    const ScalarType from = line->source->type;
    const ScalarType acc = tessi_accumulator_type(s->reduction, from);
    const Value start = tessi_scan_start(s->reduction, acc);
    Value before = start, block = start;
    for (int64_t i = 0; i < line->n; i++) {
        go_to(line, i);
        if (i && i % SCAN_BLOCK == 0) {
            before = tessi_accumulate(s->reduction, acc, before, block);
            block = start;
        }
        const Value v = tessi_accumulated(s->reduction, acc, from,
                                          tessi_stage_image_get(line->source, line->index));
        block = tessi_accumulate(s->reduction, acc, block, v);
        const Value sum = tessi_accumulate(s->reduction, acc, before, block);
        store(line, tessi_eval_cast(s->type, acc, sum));
    }
}

static bool run_steps(Line *line)
{
    const Stage *s = line->s;
    Value state[1 + MAX_SCAN_STATES];
    line->p->state = state;
    for (int64_t i = 0; i < line->n; i++) {
        go_to(line, i);
        state[0] = tessi_stage_image_get(line->source, line->index);
        if (i == 0) {
            if (!tessi_point_eval(line->p, &line->region[1]))
                return false;
            for (uint32_t k = 1; k <= s->n_states; k++)
                state[k] = line->p->value[s->pieces.at[1].body.v];
        }
        if (!tessi_point_eval(line->p, &line->region[0]))
            return false;
        for (uint32_t k = s->n_states; k > 1; k--)
            state[k] = state[k - 1];
        state[1] = line->p->value[s->pieces.at[0].body.v];
        if (!s->only_last || i == line->n - 1)
            store(line, state[1]);
    }
    return true;
}

bool tessi_scan_image(PointEval *p, const Stage *s, const StageImage *source, StageImage *image,
                      const Region *region)
{
    Line line = { p, s, source, image, region, { 0 }, source->size[s->along - 1] };
    int64_t others[MAX_DIMS];
    for (int d = 0; d < MAX_DIMS; d++)
        others[d] = d == s->along - 1 ? 1 : d < source->n_dims ? source->size[d] : 1;
    bool ok = true, more = true;
    for (int64_t at[MAX_DIMS] = { 0 }; ok && more;
         more = tessi_next_point(source->n_dims, others, at)) {
        for (int d = 0; d < MAX_DIMS; d++)
            line.index[d] = at[d];
        ok = s->n_states ? run_steps(&line) : (run_reduction(&line), true);
    }
    return ok;
}
