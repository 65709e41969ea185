/* Lowering of a whole program: what it takes and gives, where each stage is stored, one function a group. */
#include "loop/lower_group.h"

static void add_image(Lower *l, const Image *image, bool is_output)
{
    LImage out = { .name = image->name,
                   .n_dims = image->n_dims,
                   .n_channels = image->channels.n,
                   .pixel_bytes = image->pixel_bytes,
                   .uniform = true };
    for (uint8_t d = 0; d < image->n_dims; d++)
        out.size[d] = tessi_lower_size(l, image->size[d]);
    out.channel_type = ARENA_NEW_ARRAY(l->arena, ScalarType, out.n_channels);
    out.channel_name = ARENA_NEW_ARRAY(l->arena, const char *, out.n_channels);
    out.channel_offset = ARENA_NEW_ARRAY(l->arena, uint32_t, out.n_channels);
    for (uint32_t c = 0; c < out.n_channels; c++) {
        const Channel *channel = &image->channels.at[c];
        out.channel_type[c] = channel->type;
        out.channel_name[c] = channel->name;
        out.channel_offset[c] = channel->byte_offset;
        out.uniform = out.uniform && channel->type == image->channels.at[0].type;
    }
    if (is_output)
        VEC_PUSH(l->arena, &l->p->outputs, out);
    else
        VEC_PUSH(l->arena, &l->p->inputs, out);
}

static void add_interface(Lower *l)
{
    VEC_FOREACH (const Param, p, &l->g->params)
        VEC_PUSH(l->arena, &l->p->params, p->name);
    VEC_FOREACH (const Scalar, s, &l->g->scalars) {
        LScalar scalar = { .name = s->name, .type = s->type };
        VEC_PUSH(l->arena, &l->p->scalars, scalar);
    }
    VEC_FOREACH (const Image, image, &l->g->inputs)
        add_image(l, image, false);
    VEC_FOREACH (const Image, image, &l->g->outputs)
        add_image(l, image, true);
}

/* ---- Buffers --------------------------------------------------------------------------------- */

static LBuffer stage_buffer(Lower *l, const Stage *s, LBufferKind kind)
{
    LBuffer b = { .name = s->name, .kind = kind, .type = s->type, .n_dims = s->n_dims };
    for (uint8_t d = 0; d < s->n_dims; d++)
        b.size[d] = tessi_lower_size(l, s->size[d]);
    return b;
}

static LBufferId output_buffer(Lower *l, uint32_t image, uint32_t channel)
{
    const Channel *c = &l->g->outputs.at[image].channels.at[channel];
    LBuffer b = stage_buffer(l, tessi_stage(l->g, c->stage), LBUF_OUTPUT);
    b.image = image;
    b.channel = channel;
    return tessi_loop_buffer(l->p, &b);
}

/* Whether the stage can be stored as that channel at once: histograms count atomically, which wants elements that
 * are aligned. */
static bool can_be_stored_in(const Lower *l, const Stage *s, uint32_t output)
{
    return s->kind != STAGE_INPUT
           && (s->kind != STAGE_HISTOGRAM || l->p->outputs.at[output].uniform);
}

/* A stage returned is stored where it is returned first, if it can be; others have memory of their own. */
static void add_buffers(Lower *l)
{
    for (uint32_t i = 0; i < l->g->outputs.n; i++) {
        for (uint32_t c = 0; c < l->g->outputs.at[i].channels.n; c++) {
            StageId s = l->g->outputs.at[i].channels.at[c].stage;
            if (!l->buffer[s.v].v && can_be_stored_in(l, tessi_stage(l->g, s), i))
                l->buffer[s.v] = output_buffer(l, i, c);
        }
    }
    GRAPH_FOREACH_STAGE (l->g, id) {
        const Stage *s = tessi_stage(l->g, id);
        bool in_memory = l->plan->stage[id.v].placement == PLACE_MEMORY;
        if (l->buffer[id.v].v || !l->plan->needed[id.v] || (s->kind != STAGE_INPUT && !in_memory))
            continue;
        LBuffer b = stage_buffer(l, s, s->kind == STAGE_INPUT ? LBUF_INPUT : LBUF_TEMP);
        b.image = s->image;
        b.channel = s->channel;
        l->buffer[id.v] = tessi_loop_buffer(l->p, &b);
    }
}

/* ---- Functions ------------------------------------------------------------------------------- */

static void add_group(Lower *l, const PlanGroup *group)
{
    if (!l->plan->gpu) /* groups may be several kernels, which they open */
        tessi_lower_function(l, group->name, tessi_group_comment(l, group));
    if (l->general && tessi_lower_general(l, group)) {
        tessi_scope_close(l);
        return;
    }
    switch (tessi_stage(l->g, group->members.at[0])->kind) {
    case STAGE_REDUCE: tessi_lower_reduction(l, group); break;
    case STAGE_SCAN: tessi_lower_scan(l, group); break;
    case STAGE_HISTOGRAM: tessi_lower_histogram(l, group); break;
    case STAGE_COMPUTE: tessi_lower_group(l, group); break;
    case STAGE_CARRIED:
    case STAGE_INPUT: break;
    }
    VEC_FOREACH (const StageId, id, &group->members)
        l->computed[id->v] = true;
    if (!l->plan->gpu)
        tessi_scope_close(l);
}

/* Stages returned more than once, inputs returned as they are, and what is not stored where it is returned. */
static void add_copies(Lower *l)
{
    for (uint32_t i = 0; i < l->g->outputs.n; i++) {
        const Image *image = &l->g->outputs.at[i];
        for (uint32_t c = 0; c < image->channels.n; c++) {
            const StageId from = image->channels.at[c].stage;
            const LBuffer *b = &l->p->buffers.at[l->buffer[from.v].v];
            if (b->kind == LBUF_OUTPUT && b->image == i && b->channel == c)
                continue;
            tessi_lower_copy(
                l, from, output_buffer(l, i, c), tessi_sprintf(l->arena, "copy_%s", image->name),
                tessi_sprintf(l->arena, "%s, returned once more", tessi_stage(l->g, from)->name));
        }
    }
}

static void add_positive_sizes(Lower *l)
{
    bool *seen = ARENA_NEW_ARRAY(l->arena, bool, l->g->sizes.n);
    GRAPH_FOREACH_STAGE (l->g, id) {
        const Stage *s = tessi_stage(l->g, id);
        for (uint8_t d = 0; d < s->n_dims && l->plan->needed[id.v]; d++) {
            int64_t n;
            if (seen[s->size[d].v] || (tessi_size_is_const(l->g, s->size[d], &n) && n > 0))
                continue;
            seen[s->size[d].v] = true;
            VEC_PUSH(l->arena, &l->p->must_be_positive, tessi_lower_size(l, s->size[d]));
        }
    }
}

static void add_equal_sizes(Lower *l)
{
    VEC_FOREACH (const Agreement, it, &l->g->agreements) {
        const LExprId a = tessi_lower_size(l, it->a), b = tessi_lower_size(l, it->b);
        bool is_there = a.v == b.v;
        for (uint32_t i = 0; i < l->p->must_be_equal.n; i += 2)
            is_there |=
                l->p->must_be_equal.at[i].v == a.v && l->p->must_be_equal.at[i + 1].v == b.v;
        if (is_there)
            continue;
        VEC_PUSH(l->arena, &l->p->must_be_equal, a);
        VEC_PUSH(l->arena, &l->p->must_be_equal, b);
    }
}

/* Of constant size; rows are padded. */
static int64_t padded_bytes(const Lower *l, const LBuffer *b)
{
    int64_t bytes = tessi_type_info(b->type)->bytes;
    for (int d = b->n_dims - 1; d >= 0; d--)
        bytes = (bytes * tessi_lexpr(l->p, b->size[d])->value.i + 15) / 16 * 16;
    return bytes;
}

/* Tables of kernels are in constant memory as long as there is room beside what the plan puts there. */
static void place_tables(Lower *l)
{
    int64_t room = LOOP_MAX_CONSTANT_BYTES;
    VEC_FOREACH (const LBuffer, b, &l->p->buffers)
        room -= b->in_constant ? padded_bytes(l, b) : 0;
    VEC_FOREACH (LBuffer, b, &l->p->buffers)
        if (b->kind == LBUF_TABLE) {
            b->in_memory = b->in_memory || padded_bytes(l, b) > room;
            room -= b->in_memory ? 0 : padded_bytes(l, b);
        }
}

/* The widest vectors of generated C that the machine and the plan have; 0: none. */
static uint32_t vector_bytes(const Plan *plan, const Machine *m)
{
    const uint32_t most = tessi_plan_vector_bytes(plan, m);
    return most >= 64 ? 64 : most >= 32 ? 32 : most >= 16 ? 16 : 0;
}

static LoopProgram *lower(Arena *a, const Graph *g, const Plan *plan, const Machine *m,
                          GeneralSums *general)
{
    Lower *l = ARENA_NEW(a, Lower);
    l->arena = a;
    l->scratch = tessi_scratch_open(a);
    l->g = g;
    l->plan = plan;
    l->machine = m;
    l->general = general;
    l->p = tessi_loop_new(a, g->name);
    l->p->width = plan->width;
    if (!plan->gpu)
        l->p->vector_bytes = vector_bytes(plan, m);
    l->walk.arena = l->scratch;
    l->deps = tessi_expr_deps(g, l->scratch);
    l->buffer = ARENA_NEW_ARRAY(l->scratch, LBufferId, g->stages.n);
    l->place = ARENA_NEW_ARRAY(l->scratch, Place, g->stages.n);
    l->constant = ARENA_NEW_ARRAY(l->scratch, LBufferId, g->stages.n);
    l->computed = ARENA_NEW_ARRAY(l->scratch, bool, g->stages.n);
    l->constant_filled = ARENA_NEW_ARRAY(l->scratch, bool, g->stages.n);
    l->table = ARENA_NEW_ARRAY(l->scratch, LBufferId, g->tables.n);
    l->size = ARENA_NEW_ARRAY(l->scratch, LExprId, g->sizes.n);

    Text comment = tessi_text_new(a);
    if (general) /* the text is to be the same for all masks */
        tessi_text_add(&comment, "General code, for masks of any extent.");
    else
        tessi_plan_print(plan, g, &comment);
    while (comment.n && comment.at[comment.n - 1] == '\n') /* a comment's last line needs no end */
        comment.at[--comment.n] = '\0';
    l->p->comment = tessi_text_str(&comment);
    add_interface(l);
    tessi_repeat_rings(l);
    add_buffers(l);
    add_positive_sizes(l);
    add_equal_sizes(l);
    if (general)
        tessi_general_interface(l);
    for (uint32_t i = 0; i < plan->groups.n;) {
        const uint32_t repeat = tessi_stage(g, plan->groups.at[i].members.at[0])->repeat;
        if (repeat)
            i = tessi_lower_repeat(l, repeat, i, add_group);
        else
            add_group(l, &plan->groups.at[i++]);
    }
    add_copies(l);
    if (plan->gpu)
        place_tables(l);
    tessi_scratch_close(l->scratch);
    return l->p;
}

LoopProgram *tessi_lower_loops(Arena *a, const Graph *g, const Plan *plan, const Machine *m)
{
    return lower(a, g, plan, m, NULL);
}

LoopProgram *tessi_lower_general_loops(Arena *a, const Graph *g, const Plan *plan, const Machine *m,
                                       GeneralSums *sums)
{
    return lower(a, g, plan, m, sums);
}
