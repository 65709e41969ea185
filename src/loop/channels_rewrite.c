/* Loops over elements in place of pixels, and images in between with their channels side by side. */
#include <string.h>

#include "loop/channels.h"

typedef struct Rewriter {
    Channels *c;
    LoopProgram *p;
    LExprId *done;               /* by LExprId: what has become of a value, */
    uint32_t *done_stamp, stamp; /* where the stamp says so */
    LBufferId *flat;             /* by LBufferId: its image with all channels side by side */
    bool *needed;                /* by LVarId: what is left of the loop in hand reads it */
    /* The loop in hand; none: statements that go from pixel to pixel. */
    const ChannelLoop *loop;
    LExprId x;
} Rewriter;

static LExprId times(Rewriter *r, LExprId a, uint32_t n)
{
    return tessi_pass_op(r->p, OP_MUL, a, tessi_lexpr_index(r->p, n));
}

/* ---- Buffers ----------------------------------------------------------------------------------------------------- */

static LBufferId flat_image(Rewriter *r, LBufferId id)
{
    LBuffer b = r->p->buffers.at[id.v];
    const uint32_t n = tessi_loop_channels(r->p, id);
    if (r->flat[id.v].v)
        return r->flat[id.v];
    b.name = tessi_loop_image(r->p, &b)->name;
    b.channel = 0;
    b.flat = true;
    b.size[b.n_dims - 1] = times(r, b.size[b.n_dims - 1], n);
    const LBufferId flat = tessi_loop_buffer(r->p, &b);
    for (uint32_t k = 0; k < n; k++) {
        const LBufferId channel = tessi_loop_channel(r->p, id, k);
        if (channel.v)
            r->flat[channel.v] = flat;
    }
    return flat;
}

/* The name of a stage without that of its channel; `photo.r_edge` is `photo_edge`. */
static const char *common_name(Rewriter *r, const ChannelGroup *group)
{
    const char *name = r->p->buffers.at[group->of[0].v].name;
    const char *other = r->p->buffers.at[group->of[1].v].name;
    const char *dot = name ? strrchr(name, '.') : NULL;
    const char *tail = dot ? strrchr(dot, '_') : NULL,
               *other_tail = other ? strrchr(other, '_') : NULL;
    const bool same = tail && other_tail && strcmp(tail, other_tail) == 0;
    return dot ? tessi_sprintf(r->p->arena, "%.*s%s", (int)(dot - name), name, same ? tail : "")
               : name;
}

static void merge_groups(Rewriter *r)
{
    VEC_FOREACH (ChannelGroup, group, &r->c->groups) {
        if (group->dropped)
            continue;
        LBuffer b = r->p->buffers.at[group->of[0].v];
        b.name = common_name(r, group);
        b.size[b.n_dims - 1] = times(r, b.size[b.n_dims - 1], group->n);
        group->all = tessi_loop_buffer(r->p, &b);
    }
}

static ChannelGroup *group_of(const Rewriter *r, LBufferId b)
{
    const uint32_t number = b.v ? r->c->group[b.v] : 0;
    ChannelGroup *group = number ? &r->c->groups.at[number - 1] : NULL;
    return group && !group->dropped ? group : NULL;
}

/* ---- Values ------------------------------------------------------------------------------------------------------ */

static LExprId value(void *user, LExprId id);

/* The element at which a pixel begins, of an index that grows by one from pixel to pixel. */
static LExprId element(Rewriter *r, LExprId id)
{
    const LExpr e = *tessi_lexpr(r->p, id);
    if (!tessi_channels_varies(r->c, id))
        return times(r, id, r->loop->n);
    if (e.kind == LEXPR_VAR)
        return e.var.v == r->loop->stmt->var.v ? r->x : id;
    return tessi_pass_op(r->p, e.op, element(r, e.arg[0]), element(r, e.arg[1]));
}

/* Where in the buffer that takes its place, *b, an element stands. */
static void place(Rewriter *r, LBufferId *b, const LExprId *from, uint8_t n, LExprId *to)
{
    const ChannelGroup *group = group_of(r, *b);
    const bool varies = r->loop && n && tessi_channels_varies(r->c, from[n - 1]);
    for (uint8_t d = 0; d < n; d++)
        to[d] = varies && d == n - 1 ? element(r, from[d]) : value(r, from[d]);
    if (varies) {
        *b = group ? group->all : flat_image(r, *b);
    } else if (group) {
        uint32_t k = 0;
        while (group->of[k].v != b->v)
            k++;
        to[n - 1] = tessi_pass_plus(r->p, times(r, to[n - 1], group->n), k);
        *b = group->all;
    }
}

static LExprId value(void *user, LExprId id)
{
    Rewriter *r = user;
    if (!id.v || r->done_stamp[id.v] == r->stamp)
        return id.v ? r->done[id.v] : id;
    const LExpr e = *tessi_lexpr(r->p, id);
    LExprId result, index[LOOP_MAX_DIMS];
    if (e.kind == LEXPR_LOAD) {
        LBufferId b = e.buffer;
        place(r, &b, e.arg, e.n_args, index);
        result = tessi_lexpr_load(r->p, b, index, e.n_args);
    } else {
        result = tessi_pass_changed(r->p, id, value, r);
    }
    r->done[id.v] = result;
    r->done_stamp[id.v] = r->stamp;
    return result;
}

/* ---- Statements -------------------------------------------------------------------------------------------------- */

static void statement(Rewriter *r, LStmt *s)
{
    const bool counts = s->kind == LSTMT_LET && r->loop && r->c->varies[s->var.v]
                        && r->p->vars.at[s->var.v].type == TYPE_INDEX;
    LExprId index[LOOP_MAX_DIMS];
    for (uint8_t d = 0; d < s->n_index; d++)
        index[d] = s->index[d];
    if (s->kind == LSTMT_STORE)
        place(r, &s->buffer, index, s->n_index, s->index);
    else
        for (uint8_t d = 0; d < s->n_index; d++)
            s->index[d] = value(r, index[d]);
    s->a = counts ? element(r, s->a) : value(r, s->a);
    s->b = value(r, s->b);
}

static bool is_of_another(const Rewriter *r, const LStmt *s)
{
    VEC_FOREACH (const ChannelTwins, t, &r->loop->twins)
        if (t->other.v == s->var.v)
            return true;
    return false;
}

/* What is computed for the first channel, from the last statement to the first: of others nothing is left, nor what
 * only they read. */
static void keep_first(Rewriter *r, LBlock *block, uint32_t *stores)
{
    uint32_t n = 0;
    for (uint32_t i = block->n; i-- > 0;) {
        LStmt *s = block->at[i];
        bool kept = true;
        keep_first(r, &s->orelse, stores);
        keep_first(r, &s->body, stores);
        if (s->kind == LSTMT_STORE)
            kept = --*stores % r->loop->n == 0;
        else if (s->kind == LSTMT_VAR || s->kind == LSTMT_SET)
            kept = !is_of_another(r, s);
        else if (s->kind == LSTMT_LET)
            kept = r->needed[s->var.v];
        else if (s->kind == LSTMT_FOR || s->kind == LSTMT_IF)
            kept = s->body.n || s->orelse.n;
        if (!kept)
            continue;
        block->at[block->n - ++n] = s;
        PASS_STMT_PARTS (e, r->p, r->c->seen, r->c->stamp, s)
            if (e->kind == LEXPR_VAR)
                r->needed[e->var.v] = true;
    }
    for (uint32_t i = 0; i < n; i++)
        block->at[i] = block->at[block->n - n + i];
    block->n = n;
}

static void rewrite_block(Rewriter *r, LBlock *block);

static void rewrite_loop(Rewriter *r, const ChannelLoop *loop)
{
    LStmt *s = loop->stmt;
    uint32_t stores = 0;
    tessi_channels_note(r->c, s);
    VEC_FOREACH (const ChannelItem, item, &r->c->items)
        stores += item->stmt->kind == LSTMT_STORE;
    r->loop = loop;
    for (uint32_t v = 0; v < r->c->n_vars; v++)
        r->needed[v] = false;
    r->c->stamp++;
    keep_first(r, &s->body, &stores);
    const LVarId x = tessi_loop_var(r->p, r->p->vars.at[s->var.v].name, TYPE_INDEX, false);
    r->x = tessi_lexpr_var(r->p, x);
    r->stamp++;
    rewrite_block(r, &s->body);
    r->loop = NULL;
    r->stamp++;
    s->a = times(r, value(r, s->a), loop->n);
    s->b = times(r, value(r, s->b), loop->n);
    s->least *= loop->n;
    s->var = x;
}

static const ChannelLoop *loop_of(const Rewriter *r, const LStmt *s)
{
    VEC_FOREACH (const ChannelLoop, loop, &r->c->loops)
        if (loop->stmt == s && loop->n)
            return loop;
    return NULL;
}

/* One buffer is brought into being, with the channel that comes first of those in the block. */
static bool declares_again(Rewriter *r, const LBlock *before, uint32_t n, LStmt *s)
{
    const ChannelGroup *group = s->kind == LSTMT_LOCAL ? group_of(r, s->buffer) : NULL;
    for (uint32_t i = 0; group && i < n; i++)
        if (before->at[i]->kind == LSTMT_LOCAL && before->at[i]->buffer.v == group->all.v)
            return true;
    if (group)
        s->buffer = group->all;
    return false;
}

static void rewrite_block(Rewriter *r, LBlock *block)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < block->n; i++) {
        LStmt *s = block->at[i];
        const ChannelLoop *loop = r->loop ? NULL : loop_of(r, s);
        if (declares_again(r, block, n, s))
            continue;
        block->at[n++] = s;
        if (loop) {
            rewrite_loop(r, loop);
            continue;
        }
        statement(r, s);
        rewrite_block(r, &s->body);
        rewrite_block(r, &s->orelse);
    }
    block->n = n;
}

void tessi_channels_rewrite(Channels *c)
{
    bool any = false;
    VEC_FOREACH (const ChannelLoop, loop, &c->loops)
        any = any || loop->n;
    if (!any)
        return;
    Rewriter r = { .c = c, .p = c->p };
    r.done = ARENA_NEW_ARRAY(c->scratch, LExprId, c->n_exprs);
    r.done_stamp = ARENA_NEW_ARRAY(c->scratch, uint32_t, c->n_exprs);
    r.flat = ARENA_NEW_ARRAY(c->scratch, LBufferId, c->p->buffers.n);
    r.needed = ARENA_NEW_ARRAY(c->scratch, bool, c->n_vars);
    r.stamp = 1;
    merge_groups(&r);
    VEC_FOREACH (LFunction, f, &c->p->functions)
        if (!f->is_kernel)
            rewrite_block(&r, &f->body);
}
