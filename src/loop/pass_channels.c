/* The pass `channels`: vector loops that do the same to each channel of interleaved pixels run over the elements of a
 * row in place of its pixels. What stood three elements apart then stands side by side: n pixels of three channels are
 * 3 n elements, and the pixel before is three elements back.
 *
 *   simd for x in a .. b {                                  simd for x in a * 3 .. b * 3 {
 *     store out.r[y, x] = f(in.r[y, x - 1], in.r[y, x])
 *     store out.g[y, x] = f(in.g[y, x - 1], in.g[y, x])  ->   store out[y, x] = f(in[y, x - 3], in[y, x])
 *     store out.b[y, x] = f(in.b[y, x - 1], in.b[y, x])
 *   }                                                       }
 *
 * Images in between whose channels are buffers of their own become one, with their channels side by side in each row;
 * they stay as they are where some vector loop does not treat all channels alike. */
#include "loop/channels.h"
#include "loop/loop_passes.h"

/* ---- Buffers that are the channels of one image ------------------------------------------------------------------ */

static bool is_flat_image(const LoopProgram *p, const LBuffer *b)
{
    const LImage *im = tessi_loop_image(p, b);
    const uint32_t bytes = tessi_type_info(b->type)->bytes;
    return im && tessi_loop_can_be_flat(p, im) && !b->flat && im->uniform && im->n_channels >= 2
           && im->n_channels <= CHANNELS_MOST && im->pixel_bytes == im->n_channels * bytes
           && im->channel_offset[b->channel] == b->channel * bytes;
}

uint32_t tessi_channels_of(const Channels *c, LBufferId id)
{
    const LBuffer *b = &c->p->buffers.at[id.v];
    if (is_flat_image(c->p, b))
        return tessi_loop_channels(c->p, id);
    return c->group[id.v] ? c->groups.at[c->group[id.v] - 1].n : 0;
}

/* Buffers that can become one: alike but for their names. */
static bool are_alike(const LoopProgram *p, LBufferId x, LBufferId y)
{
    const LBuffer *a = &p->buffers.at[x.v], *b = &p->buffers.at[y.v];
    bool alike = a->kind == b->kind && a->type == b->type && a->n_dims == b->n_dims && !a->lanes
                 && !b->lanes && !a->held && !b->held && !a->in_constant && !b->in_constant
                 && a->n_dims > 0 && (a->kind == LBUF_LOCAL || a->kind == LBUF_TEMP);
    for (int d = 0; alike && d < a->n_dims; d++)
        alike = a->size[d].v == b->size[d].v;
    return alike;
}

/* `b` is channel k of the image of which `first` is the first of n; images in between are found out here. */
bool tessi_channels_pair(Channels *c, LBufferId first, LBufferId b, uint32_t k, uint32_t n)
{
    if (is_flat_image(c->p, &c->p->buffers.at[first.v]))
        return tessi_loop_channels(c->p, first) == n && c->p->buffers.at[first.v].channel == 0
               && tessi_loop_channel(c->p, first, k).v == b.v;
    if (first.v == b.v || !are_alike(c->p, first, b))
        return false;
    if (!c->group[first.v]) {
        if (c->group[b.v])
            return false;
        VEC_PUSH(c->scratch, &c->groups, ((ChannelGroup){ .n = n, .of = { first } }));
        c->group[first.v] = c->groups.n;
    }
    ChannelGroup *group = &c->groups.at[c->group[first.v] - 1];
    if (group->dropped || group->n != n || group->of[0].v != first.v
        || (c->group[b.v] && c->group[b.v] != c->group[first.v])
        || (group->of[k].v && group->of[k].v != b.v) || (!group->of[k].v && c->group[b.v]))
        return false;
    group->of[k] = b;
    c->group[b.v] = c->group[first.v];
    return true;
}

/* ---- Loops ------------------------------------------------------------------------------------------------------- */

static void drop(Channels *c, LBufferId b)
{
    ChannelGroup *group = c->group[b.v] ? &c->groups.at[c->group[b.v] - 1] : NULL;
    if (group && !group->dropped)
        group->dropped = c->changed = true;
}

/* Images in between that these statements touch stay as they are. */
static void drop_all(Channels *c, const LBlock *block)
{
    PASS_FOREACH (s, block) {
        PASS_STMT_PARTS (e, c->p, c->seen, c->stamp, s)
            if (e->kind == LEXPR_LOAD)
                drop(c, e->buffer);
        drop(c, s->buffer);
        drop(c, s->other);
    }
}

static bool is_dropped(const Channels *c, LBufferId b)
{
    return c->group[b.v] && c->groups.at[c->group[b.v] - 1].dropped;
}

static bool uses_dropped(Channels *c, const LBlock *block)
{
    PASS_FOREACH (s, block) {
        if (is_dropped(c, s->buffer))
            return true;
        PASS_STMT_PARTS (e, c->p, c->seen, c->stamp, s)
            if (e->kind == LEXPR_LOAD && is_dropped(c, e->buffer))
                return true;
    }
    return false;
}

/* A loop that copies one channel, as what is computed at edges does: it may go from pixel to pixel. */
static bool copies_channel(const LoopProgram *p, const LStmt *loop)
{
    const LStmt *s = loop->body.n == 1 ? loop->body.at[0] : NULL;
    return s && s->kind == LSTMT_STORE && tessi_lexpr(p, s->a)->kind == LEXPR_LOAD;
}

/* Looks at all vector loops, and at statements for which images in between cannot change. */
static void find_loops(Channels *c, const LBlock *block)
{
    for (uint32_t i = 0; i < block->n; i++) {
        LStmt *s = block->at[i];
        if (s->kind == LSTMT_FOR && s->flags & LFOR_SIMD && !s->lanes && !copies_channel(c->p, s)) {
            ChannelLoop loop = { .stmt = s };
            loop.n = tessi_channels_match(c, s, &loop.twins);
            VEC_PUSH(c->scratch, &c->loops, loop);
            continue;
        }
        if (s->kind == LSTMT_MOVE || s->kind == LSTMT_SHIFT || s->kind == LSTMT_PRODUCT
            || s->kind == LSTMT_SORT || s->kind == LSTMT_ADD || s->kind == LSTMT_PREFETCH) {
            VEC_PUSH(c->scratch, &c->fixed, s->buffer);
            VEC_PUSH(c->scratch, &c->fixed, s->other);
        }
        find_loops(c, &s->body);
        find_loops(c, &s->orelse);
    }
}

/* Loops that only touch images in between tell how many channels these have once others have said it. */
static void match_again(Channels *c)
{
    for (bool found = true; found;) {
        found = false;
        VEC_FOREACH (ChannelLoop, loop, &c->loops) {
            if (loop->n)
                continue;
            loop->n = tessi_channels_match(c, loop->stmt, &loop->twins);
            found = found || loop->n;
        }
    }
}

/* The channels of an image in between come into being together: one declaration of each in a block, or of none. */
static void check_locals(Channels *c, const LBlock *block)
{
    for (uint32_t i = 0; i < block->n; i++) {
        const LStmt *s = block->at[i];
        check_locals(c, &s->body);
        check_locals(c, &s->orelse);
        const uint32_t number = s->kind == LSTMT_LOCAL ? c->group[s->buffer.v] : 0;
        uint32_t n = 0;
        for (uint32_t k = 0; number && k < block->n; k++)
            n += block->at[k]->kind == LSTMT_LOCAL && c->group[block->at[k]->buffer.v] == number;
        if (number && n != c->groups.at[number - 1].n)
            drop(c, s->buffer);
    }
}

/* Leaves out groups and loops until those that are left fit each other. */
static void settle(Channels *c)
{
    VEC_FOREACH (const LBufferId, b, &c->fixed)
        drop(c, *b);
    VEC_FOREACH (ChannelGroup, group, &c->groups) {
        bool whole = true;
        for (uint32_t k = 0; k < group->n; k++)
            whole = whole && group->of[k].v;
        group->dropped = group->dropped || !whole;
    }
    do {
        c->changed = false;
        VEC_FOREACH (ChannelLoop, loop, &c->loops) {
            c->stamp++;
            if (loop->n && uses_dropped(c, &loop->stmt->body))
                loop->n = 0;
            c->stamp++;
            if (!loop->n)
                drop_all(c, &loop->stmt->body);
        }
    } while (c->changed);
}

void tessi_loop_channels_side_by_side(LoopProgram *p)
{
    bool any = false;
    for (uint32_t b = 1; b < p->buffers.n; b++)
        any = any || is_flat_image(p, &p->buffers.at[b]);
    if (!any || !p->vector_bytes)
        return;
    Arena *a = tessi_scratch_open(p->arena);
    Channels c = { .p = p, .scratch = a, .n_exprs = p->exprs.n, .n_vars = p->vars.n };
    c.group = ARENA_NEW_ARRAY(a, uint32_t, p->buffers.n);
    c.seen = ARENA_NEW_ARRAY(a, uint32_t, c.n_exprs);
    c.varies = ARENA_NEW_ARRAY(a, bool, c.n_vars);
    c.place = ARENA_NEW_ARRAY(a, ChannelPlace, c.n_vars);
    c.value_varies = ARENA_NEW_ARRAY(a, uint8_t, c.n_exprs);
    c.value_seen = ARENA_NEW_ARRAY(a, uint32_t, c.n_exprs);
    c.twin_value = ARENA_NEW_ARRAY(a, LExprId, c.n_exprs);
    c.twin_seen = ARENA_NEW_ARRAY(a, uint32_t, c.n_exprs);
    VEC_FOREACH (LFunction, f, &p->functions)
        if (!f->is_kernel)
            find_loops(&c, &f->body);
    match_again(&c);
    VEC_FOREACH (LFunction, f, &p->functions)
        check_locals(&c, &f->body);
    settle(&c);
    tessi_channels_rewrite(&c);
    tessi_scratch_close(a);
}
