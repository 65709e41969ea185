/* Whether a loop does the same to each channel of its pixels: its stores come in turn for all channels, and what they
 * store is the same but for the channels that it reads and for variables of its own. */
#include "loop/channels.h"

/* ---- What varies from point to point ----------------------------------------------------------------------------- */

bool tessi_channels_varies(Channels *c, LExprId id)
{
    if (!id.v)
        return false;
    if (c->value_seen[id.v] == c->value_stamp)
        return c->value_varies[id.v];
    const LExpr *e = tessi_lexpr(c->p, id);
    bool varies = e->kind == LEXPR_VAR && c->varies[e->var.v];
    for (int i = 0; i < e->n_args && !varies; i++)
        varies = tessi_channels_varies(c, e->arg[i]);
    c->value_varies[id.v] = varies;
    c->value_seen[id.v] = c->value_stamp;
    return varies;
}

static void list_items(Channels *c, const LBlock *block)
{
    for (uint32_t i = 0; i < block->n; i++) {
        LStmt *s = block->at[i];
        if ((s->kind == LSTMT_LET || s->kind == LSTMT_VAR) && s->var.v)
            c->place[s->var.v] = (ChannelPlace){ s, c->items.n };
        VEC_PUSH(c->scratch, &c->items, ((ChannelItem){ s, block }));
        list_items(c, &s->body);
        list_items(c, &s->orelse);
    }
}

void tessi_channels_note(Channels *c, LStmt *loop)
{
    VEC_FOREACH (const ChannelItem, item, &c->items)
        if (item->stmt->var.v) {
            c->varies[item->stmt->var.v] = false;
            c->place[item->stmt->var.v] = (ChannelPlace){ 0 };
        }
    if (c->x.v)
        c->varies[c->x.v] = false;
    c->items.n = 0;
    c->x = loop->var;
    c->varies[c->x.v] = true;
    list_items(c, &loop->body);
    for (bool changed = true; changed;) {
        changed = false;
        c->value_stamp++;
        VEC_FOREACH (const ChannelItem, item, &c->items) {
            const LStmt *s = item->stmt;
            const bool defines =
                s->kind == LSTMT_LET || s->kind == LSTMT_VAR || s->kind == LSTMT_SET;
            if (!defines || c->varies[s->var.v] || !tessi_channels_varies(c, s->a))
                continue;
            c->varies[s->var.v] = changed = true;
        }
    }
}

/* An index that grows by one from point to point. */
static bool is_ramp(Channels *c, LExprId id)
{
    const LExpr *e = tessi_lexpr(c->p, id);
    if (e->type != TYPE_INDEX)
        return false;
    if (e->kind == LEXPR_VAR) {
        const LStmt *s = c->place[e->var.v].stmt;
        return e->var.v == c->x.v
               || (s && s->kind == LSTMT_LET && c->varies[e->var.v] && is_ramp(c, s->a));
    }
    if (e->kind != LEXPR_OP || (e->op != OP_ADD && e->op != OP_SUB))
        return false;
    const bool first = tessi_channels_varies(c, e->arg[0]);
    if (first == tessi_channels_varies(c, e->arg[1]) || (e->op == OP_SUB && !first))
        return false;
    return is_ramp(c, e->arg[first ? 0 : 1]);
}

/* The same for all channels: the row of a place, and the pixel in it. */
static bool same_pixel(Channels *c, const LExprId *a, const LExprId *b, uint8_t n)
{
    for (uint8_t d = 0; d < n; d++)
        if (a[d].v != b[d].v || (d + 1 < n && tessi_channels_varies(c, a[d])))
            return false;
    return n > 0 && is_ramp(c, a[n - 1]);
}

/* ---- Values ------------------------------------------------------------------------------------------------------ */

static bool match(Channels *c, LExprId a, LExprId b);

static bool reads_mutable(const Channels *c, LExprId id)
{
    PASS_PARTS (e, c->p, NULL, 0, id)
        if (e->kind == LEXPR_VAR && c->p->vars.at[e->var.v].is_mutable)
            return true;
    return false;
}

/* No variable is set between these statements. */
static bool nothing_set_between(const Channels *c, uint32_t from, uint32_t to)
{
    for (uint32_t i = from; i < to; i++)
        if (c->items.at[i].stmt->kind == LSTMT_SET || c->items.at[i].stmt->kind == LSTMT_FOR)
            return false;
    return true;
}

static bool match_vars(Channels *c, LVarId a, LVarId b)
{
    VEC_FOREACH (const ChannelTwins, t, &c->twins) {
        if (t->k == c->k && (t->first.v == a.v || t->other.v == b.v))
            return t->first.v == a.v && t->other.v == b.v;
        if (t->other.v == a.v || t->first.v == b.v)
            return false; /* of the first channel or of another, not both */
    }
    const ChannelPlace *x = &c->place[a.v], *y = &c->place[b.v];
    if (a.v == b.v || !x->stmt || !y->stmt || x->stmt->kind != y->stmt->kind
        || c->p->vars.at[a.v].type != c->p->vars.at[b.v].type
        || c->items.at[x->number].block != c->items.at[y->number].block
        || (x->stmt->flags | y->stmt->flags))
        return false;
    if (x->stmt->kind == LSTMT_LET && reads_mutable(c, x->stmt->a)
        && !nothing_set_between(c, x->number, y->number))
        return false;
    VEC_PUSH(c->scratch, &c->twins, ((ChannelTwins){ a, b, c->k }));
    return match(c, x->stmt->a, y->stmt->a);
}

static bool match_parts(Channels *c, const LExpr *x, const LExpr *y)
{
    if (x->kind != y->kind || x->type != y->type || x->n_args != y->n_args || x->lanes)
        return false;
    switch (x->kind) {
    case LEXPR_VAR: return match_vars(c, x->var, y->var);
    case LEXPR_LOAD:
        return x->ref == y->ref && same_pixel(c, x->arg, y->arg, x->n_args)
               && tessi_channels_pair(c, x->buffer, y->buffer, c->k, c->n);
    case LEXPR_OP:
        if (x->op != y->op)
            return false;
        break;
    case LEXPR_CAST:
    case LEXPR_SAT:
        if (x->ref != y->ref)
            return false;
        break;
    default: return false;
    }
    for (int i = 0; i < x->n_args; i++)
        if (!match(c, x->arg[i], y->arg[i]))
            return false;
    return true;
}

/* `b` is for channel k what `a` is for the first. */
static bool match(Channels *c, LExprId a, LExprId b)
{
    if (!tessi_channels_varies(c, a))
        return a.v == b.v;
    if (a.v == b.v)
        return false; /* of one channel, or of the pixel as a whole */
    if (c->twin_seen[a.v] == c->twin_stamp)
        return c->twin_value[a.v].v == b.v;
    c->twin_seen[a.v] = c->twin_stamp;
    c->twin_value[a.v] = b;
    return match_parts(c, tessi_lexpr(c->p, a), tessi_lexpr(c->p, b));
}

/* ---- Statements -------------------------------------------------------------------------------------------------- */

/* How many channels the loop would treat alike: those of the images of pixels that it reads or stores. */
static uint32_t channels_in_hand(Channels *c)
{
    const LExprId none = { 0 };
    uint32_t n = 0;
    c->stamp++;
    VEC_FOREACH (const ChannelItem, item, &c->items) {
        if (!n && item->stmt->kind == LSTMT_STORE)
            n = tessi_channels_of(c, item->stmt->buffer);
        PASS_PARTS (e, c->p, c->seen, c->stamp, n ? none : item->stmt->a)
            if (!n && e->kind == LEXPR_LOAD) /* the first image of pixels */
                n = tessi_channels_of(c, e->buffer);
    }
    return n;
}

/* The channel whose variable this is, as far as that is known: 0 the first; n: none. */
static uint32_t channel_of_var(const Channels *c, LVarId v)
{
    VEC_FOREACH (const ChannelTwins, t, &c->twins) {
        if (t->first.v == v.v)
            return 0;
        if (t->other.v == v.v)
            return t->k;
    }
    return c->n;
}

/* The statements of channel k that store or set variables, in order. */
static void list_channel(Channels *c, uint32_t k, ChannelItemList *out)
{
    uint32_t stores = 0;
    VEC_FOREACH (const ChannelItem, item, &c->items) {
        const LStmt *s = item->stmt;
        const bool own = s->kind == LSTMT_STORE
                             ? stores++ % c->n == k
                             : s->kind == LSTMT_SET && channel_of_var(c, s->var) == k;
        if (own)
            VEC_PUSH(c->scratch, out, *item);
    }
}

static bool match_items(Channels *c, const ChannelItem *a, const ChannelItem *b)
{
    const LStmt *x = a->stmt, *y = b->stmt;
    if (x->kind != y->kind || a->block != b->block || x->b.v != y->b.v)
        return false;
    if (x->kind == LSTMT_SET)
        return match_vars(c, x->var, y->var) && match(c, x->a, y->a);
    return same_pixel(c, x->index, y->index, x->n_index)
           && tessi_channels_pair(c, x->buffer, y->buffer, c->k, c->n) && match(c, x->a, y->a);
}

/* Each statement of channel k does in its turn what that of the first does. */
static bool match_channel(Channels *c)
{
    uint32_t known;
    do {
        ChannelItemList first = { 0 }, other = { 0 };
        known = c->twins.n;
        list_channel(c, 0, &first);
        list_channel(c, c->k, &other);
        if (first.n != other.n)
            return false;
        for (uint32_t i = 0; i < first.n; i++)
            if (!match_items(c, &first.at[i], &other.at[i]))
                return false;
    } while (c->twins.n > known); /* whose own statements were not among these */
    return true;
}

/* Only statements that are understood, under control that is the same for all points. */
static bool is_simple(Channels *c, const LStmt *s)
{
    switch (s->kind) {
    case LSTMT_LET: return !(s->flags);
    case LSTMT_VAR:
    case LSTMT_COMMENT: return true;
    case LSTMT_SET:
        return !c->varies[s->var.v]
               || c->place[s->var.v].stmt; /* not carried from point to point */
    case LSTMT_STORE: return !tessi_channels_varies(c, s->b);
    case LSTMT_FOR:
        return !(s->flags & LFOR_PARALLEL) && !tessi_channels_varies(c, s->a)
               && !tessi_channels_varies(c, s->b);
    case LSTMT_IF: return !tessi_channels_varies(c, s->a);
    default: return false;
    }
}

uint32_t tessi_channels_match(Channels *c, LStmt *loop, TwinList *twins)
{
    uint32_t stores = 0;
    bool simple = loop->step == 1;
    tessi_channels_note(c, loop);
    VEC_FOREACH (const ChannelItem, item, &c->items) {
        simple = simple && is_simple(c, item->stmt);
        stores += item->stmt->kind == LSTMT_STORE;
    }
    c->n = channels_in_hand(c);
    c->twins = (TwinList){ 0 };
    if (!simple || !c->n || stores % c->n)
        return 0;
    for (c->k = 1; c->k < c->n; c->k++) {
        c->twin_stamp++;
        if (!match_channel(c))
            return 0;
    }
    *twins = c->twins;
    return c->n;
}
