/* A loop over turns as programs of their own: what comes before it, some of its turns, what stands behind it. What a
 * turn leaves for the next one is a result of one and an image, or a number, of the other. So turns can be run a few at
 * a time over images that are not in memory, with rows exchanged in between, as often as the loop wants. */
#include "analysis/part.h"
#include "graph/graph_passes.h"
#include "graph/graph_rewrite.h"

/* What stands for a stage: another stage, or a number that is given. */
typedef struct Stand {
    StageId stage;
    uint32_t scalar; /* its number plus one; 0: it is a stage */
} Stand;

typedef struct Splitter {
    const Graph *g;
    const Repeat *repeat;
    Arena *a;
    Rewrite r;
    StageId *stage;     /* by stage of g: that of the graph being made */
    uint32_t *scalar;   /* by stage of g: the number of the scalar that stands for it, plus one */
    bool *needed, *cut; /* by stage of g; cut: something stands for it */
    bool fails;
} Splitter;

static const Stage *stage_of(const Splitter *s, StageId id)
{
    return tessi_stage(s->g, id);
}

static ExprId change(Rewrite *r, ExprId id, const Expr *e)
{
    const Splitter *s = r->user;
    (void)id;
    if (e->kind == EXPR_LOAD) {
        const uint32_t k = s->scalar[tessi_access(r->from, e->access)->producer.v];
        if (k)
            return tessi_expr_scalar(r->to, k - 1);
    }
    return tessi_rewrite_rebuild(r, e);
}

/* ---- A graph --------------------------------------------------------------------------------- */
static void begin(Splitter *s, const char *name)
{
    const Graph *g = s->g;
    Graph *to = tessi_graph_new(s->a, name);
    s->stage = ARENA_NEW_ARRAY(s->a, StageId, g->stages.n);
    s->scalar = ARENA_NEW_ARRAY(s->a, uint32_t, g->stages.n);
    s->needed = ARENA_NEW_ARRAY(s->a, bool, g->stages.n);
    s->cut = ARENA_NEW_ARRAY(s->a, bool, g->stages.n);
    s->r = (Rewrite){ 0 };
    tessi_rewrite_init(&s->r, g, to, s->a);
    s->r.stage = s->stage;
    s->r.change = change;
    s->r.user = s;
    tessi_graph_copy_head(g, to);
}

/* Marks all that is needed for what is marked, as far as something stands for it. */
static void find_needed(Splitter *s)
{
    ExprWalk walk = { .arena = s->a };
    for (uint32_t id = s->g->stages.n; id-- > 1;)
        if (s->needed[id] && !s->cut[id])
            tessi_graph_mark_read(s->g, &walk, (StageId){ id }, s->needed);
}

/* The images that are needed, all channels of each. */
static void add_inputs(Splitter *s)
{
    const Graph *g = s->g;
    Graph *to = s->r.to;
    bool *used = ARENA_NEW_ARRAY(s->a, bool, g->inputs.n + 1);
    uint32_t *number = ARENA_NEW_ARRAY(s->a, uint32_t, g->inputs.n + 1);
    GRAPH_FOREACH_STAGE (g, id) {
        const Stage *of = stage_of(s, id);
        if (of->kind == STAGE_INPUT && s->needed[id.v] && !s->cut[id.v])
            used[of->image] = true;
    }
    for (uint32_t i = 0; i < g->inputs.n; i++) {
        if (!used[i])
            continue;
        Image image = g->inputs.at[i];
        image.channels.at = NULL;
        image.channels.n = image.channels.cap = 0;
        VEC_FOREACH (const Channel, c, &g->inputs.at[i].channels) {
            Channel copy = *c;
            copy.stage = (StageId){ 0 };
            VEC_PUSH(s->a, &image.channels, copy);
        }
        for (int d = 0; d < image.n_dims; d++)
            image.size[d] = tessi_rewrite_size(&s->r, image.size[d]);
        number[i] = to->inputs.n;
        VEC_PUSH(s->a, &to->inputs, image);
    }
    GRAPH_FOREACH_STAGE (g, id) {
        Stage of = *stage_of(s, id);
        if (of.kind != STAGE_INPUT || !used[of.image])
            continue;
        of.image = number[of.image];
        s->stage[id.v] = tessi_graph_copy_stage(&s->r, &of, NULL);
    }
}

/* Of the stages outside the loop those from..end. */
static void add_stages(Splitter *s, uint32_t from, uint32_t end)
{
    for (uint32_t id = from; id < end; id++) {
        const Stage *of = tessi_stage(s->g, (StageId){ id });
        if (!of->repeat && of->kind != STAGE_INPUT && of->kind != STAGE_CARRIED && s->needed[id]
            && !s->cut[id])
            s->stage[id] = tessi_graph_copy_stage(&s->r, of, NULL);
    }
}

/* ---- What is carried ------------------------------------------------------------------------- */
/* An image `carried_K`, or a number. Numbers are told as doubles, in which wide integers do not fit. */
static Stand add_given(Splitter *s, uint32_t k)
{
    const Stage *like = stage_of(s, s->repeat->carried.at[k].entry);
    Graph *to = s->r.to;
    const char *name = tessi_sprintf(s->a, "carried_%u", (unsigned)k);
    const bool is_wide = tessi_type_info(like->type)->bytes == 8 && !tessi_is_real(like->type);
    if (!like->n_dims) {
        const ScalarType type = like->type == TYPE_F16 ? TYPE_F32 : like->type;
        const Scalar scalar = { .name = name, .type = type };
        s->fails = s->fails || is_wide;
        VEC_PUSH(s->a, &to->scalars, scalar);
        return (Stand){ .scalar = to->scalars.n };
    }
    Image image = { .name = name,
                    .n_dims = like->n_dims,
                    .pixel_bytes = tessi_type_info(like->type)->bytes };
    Stage stage = { .name = name,
                    .kind = STAGE_INPUT,
                    .type = like->type,
                    .n_dims = like->n_dims,
                    .image = to->inputs.n };
    for (int d = 0; d < like->n_dims; d++)
        image.size[d] = stage.size[d] = tessi_rewrite_size(&s->r, like->size[d]);
    const Channel channel = { .name = "", .type = like->type };
    VEC_PUSH(s->a, &image.channels, channel);
    VEC_PUSH(s->a, &to->inputs, image);
    const StageId id = tessi_graph_stage(to, &stage);
    to->inputs.at[stage.image].channels.at[0].stage = id;
    return (Stand){ .stage = id };
}

static void put(Splitter *s, StageId of, Stand stand)
{
    s->stage[of.v] = stand.stage;
    s->scalar[of.v] = stand.scalar;
}

/* An image of one element with that number in it. */
static StageId as_image(Splitter *s, Stand stand, const Stage *like, const char *name)
{
    Graph *to = s->r.to;
    Stage stage = { .name = name, .kind = STAGE_COMPUTE, .type = like->type, .n_dims = 1 };
    stage.size[0] = tessi_size_const(to, 1);
    Piece piece = { .step = { 1 } };
    piece.offset[0] = tessi_size_const(to, 0);
    piece.count[0] = stage.size[0];
    Access access = { .producer = stand.stage };
    piece.body = stand.scalar ? tessi_expr_scalar(to, stand.scalar - 1)
                              : tessi_expr_load(to, tessi_graph_access(to, &access));
    VEC_PUSH(s->a, &stage.pieces, piece);
    return tessi_graph_stage(to, &stage);
}

/* A result that is one stage, or a number. */
static void add_output(Splitter *s, const char *name, Stand stand, const Stage *like)
{
    Graph *to = s->r.to;
    Image image = { .name = name,
                    .n_dims = like->n_dims ? like->n_dims : 1,
                    .pixel_bytes = tessi_type_info(like->type)->bytes };
    if (!like->n_dims)
        stand.stage = as_image(s, stand, like, name);
    for (int d = 0; d < image.n_dims; d++)
        image.size[d] = tessi_stage(to, stand.stage)->size[d];
    const Channel channel = { .name = "", .type = like->type, .stage = stand.stage };
    VEC_PUSH(s->a, &image.channels, channel);
    VEC_PUSH(s->a, &to->outputs, image);
}

static void add_carried(Splitter *s, const Stand *now)
{
    for (uint32_t k = 0; k < s->repeat->carried.n; k++)
        add_output(s, tessi_sprintf(s->a, "next_%u", (unsigned)k), now[k],
                   stage_of(s, s->repeat->carried.at[k].entry));
}

/* ---- Some turns ------------------------------------------------------------------------------ */
/* T is T<2> in the second turn. The turns are marked as those of a loop; not one whose condition is asked, as it is
 * more than the others. */
static void add_turn(Splitter *s, uint32_t turn, bool asked, Stand *now)
{
    const Repeat *repeat = s->repeat;
    const uint32_t number = (uint32_t)(repeat - s->g->repeats.at) + 1;
    Stand *next = ARENA_NEW_ARRAY(s->a, Stand, repeat->carried.n + 1);
    tessi_expr_map_clear(&s->r.map);
    for (uint32_t k = 0; k < repeat->carried.n; k++)
        put(s, repeat->carried.at[k].entry, now[k]);
    GRAPH_FOREACH_STAGE (s->g, id) {
        Stage of = *stage_of(s, id);
        if (of.repeat != number || of.kind == STAGE_CARRIED || !s->needed[id.v])
            continue;
        of.repeat = 0;
        of.loop = asked ? 0 : 1;
        of.turn = asked ? 0 : turn - 1;
        of.name = turn > 1 ? tessi_sprintf(s->a, "%s_%u_", of.name, (unsigned)turn) : of.name;
        s->stage[id.v] = tessi_graph_copy_stage(&s->r, &of, NULL);
    }
    for (uint32_t k = 0; k < repeat->carried.n; k++) {
        const StageId from = repeat->carried.at[k].next;
        next[k] = (Stand){ s->stage[from.v], s->scalar[from.v] };
    }
    for (uint32_t k = 0; k < repeat->carried.n; k++)
        now[k] = next[k];
}

static void add_results(Splitter *s)
{
    VEC_FOREACH (const Image, from, &s->g->outputs) {
        Image image = *from;
        image.channels.at = NULL;
        image.channels.n = image.channels.cap = 0;
        VEC_FOREACH (const Channel, c, &from->channels) {
            Channel copy = *c;
            copy.stage = s->stage[c->stage.v];
            VEC_PUSH(s->a, &image.channels, copy);
        }
        for (int d = 0; d < image.n_dims; d++)
            image.size[d] = tessi_rewrite_size(&s->r, image.size[d]);
        VEC_PUSH(s->a, &s->r.to->outputs, image);
    }
}

/* The stages behind the loop have higher numbers than what the loop leaves for them, all others lower ones. */
static uint32_t find_behind(const Splitter *s)
{
    uint32_t behind = s->g->stages.n;
    VEC_FOREACH (const Carried, c, &s->repeat->carried)
        behind = c->last.v && c->last.v < behind ? c->last.v : behind;
    return behind;
}

static void mark(Splitter *s, const PartTurns *what)
{
    VEC_FOREACH (const Carried, c, &s->repeat->carried) {
        s->needed[c->first.v] = s->needed[c->first.v] || what->before;
        s->needed[c->next.v] = s->needed[c->next.v] || what->time > 0;
        s->cut[c->entry.v] = true;
        if (c->last.v)
            s->cut[c->last.v] = true;
    }
    if (what->tests)
        s->needed[s->repeat->until.v] = true;
    if (what->behind)
        VEC_FOREACH (const Image, image, &s->g->outputs)
            VEC_FOREACH (const Channel, c, &image->channels)
                s->needed[c->stage.v] = true;
    find_needed(s);
}

/* Whether the graph reads what is carried in: in turns all, behind them what is used there. */
static bool takes(const Splitter *s, const PartTurns *what, uint32_t k)
{
    const StageId last = s->repeat->carried.at[k].last;
    return !what->before && (what->time || !what->behind || (last.v && s->needed[last.v]));
}

bool tessi_part_turns(const Graph *g, Arena *a, const PartTurns *what, const char *name,
                      Graph **out)
{
    Splitter s = { .g = g, .a = a };
    if (g->repeats.n != 1)
        return false;
    const Repeat *repeat = s.repeat = &g->repeats.at[0];
    VEC_FOREACH (const Carried, c, &repeat->carried)
        if (!c->first.v)
            return false;
    Stand *now = ARENA_NEW_ARRAY(a, Stand, repeat->carried.n + 1);
    begin(&s, name);
    mark(&s, what);
    add_inputs(&s);
    for (uint32_t k = 0; k < repeat->carried.n; k++)
        if (takes(&s, what, k))
            now[k] = add_given(&s, k);
    const uint32_t behind = find_behind(&s);
    add_stages(&s, 1, behind);
    for (uint32_t k = 0; what->before && k < repeat->carried.n; k++)
        now[k].stage = s.stage[repeat->carried.at[k].first.v];
    for (uint32_t turn = 1; turn <= what->time; turn++)
        add_turn(&s, turn, what->tests && turn == what->time, now);
    for (uint32_t k = 0; k < repeat->carried.n; k++)
        if (repeat->carried.at[k].last.v)
            put(&s, repeat->carried.at[k].last, now[k]);
    tessi_expr_map_clear(&s.r.map);
    if (what->behind) {
        add_stages(&s, behind, g->stages.n);
        add_results(&s);
    } else {
        add_carried(&s, now);
    }
    if (what->tests)
        add_output(&s, "ends_now", (Stand){ s.stage[repeat->until.v], 0 },
                   stage_of(&s, repeat->until));
    const GraphLoop loop = { .span = repeat->span };
    VEC_PUSH(a, &s.r.to->loops, loop);
    *out = s.r.to;
    return !s.fails;
}
