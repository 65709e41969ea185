/* Which images points read at constant distances, so that copies can serve them: one for each image and rule, as large
 * as all reads of it together. A read through inlined stages is one of the point where these are evaluated with it; at
 * other points their own rules would come before those of what they read. */
#include "loop/lower_copy.h"
#include "plan/needs.h"

enum { MOST_READS = 4096 }; /* that are counted */

/* How a stage is evaluated. */
typedef struct Reach {
    int64_t lo[2], hi[2]; /* where, around the point in hand */
    bool beyond[2];
    bool elsewhere; /* at other points too */
    uint32_t times; /* for a point */
    bool reached;
} Reach;

typedef struct Finder {
    Lower *l;
    const CopyReaders *readers;
    CopyList *list;
    Needs needs;
    Reach *reach; /* by number of a need */
} Finder;

static void widen(int64_t *lo, int64_t *hi, int64_t by_lo, int64_t by_hi)
{
    *lo = by_lo < *lo ? by_lo : *lo;
    *hi = by_hi > *hi ? by_hi : *hi;
}

/* ---- Inlined stages -------------------------------------------------------------------------- */

/* Along dimension d it is evaluated with its reader: at the point itself, or where no rule of its own comes first. */
static bool is_with_reader(const Finder *f, const Stage *reader, const Access *a, const Reach *from,
                           uint8_t d)
{
    Lower *l = f->l;
    int64_t distance;
    if (d == 0 && f->readers->rows_inside)
        return true;
    return tessi_access_distance(l->g, &a->dim[d], d, &distance) && distance == 0
           && tessi_stage(l->g, a->producer)->size[d].v == reader->size[d].v
           && (!from->beyond[d] || tessi_read_goes_beyond(l, a, d, true));
}

static void read_inlined(Finder *f, uint32_t reader, const NeedRead *read, const Access *a)
{
    Lower *l = f->l;
    const Stage *s = tessi_stage(l->g, f->needs.at.at[reader].stage);
    const Reach *from = &f->reach[reader];
    Reach *to = &f->reach[read->of], here = *from;
    here.elsewhere = from->elsewhere || a->n_dims != 2 || s->n_dims != 2;
    for (uint8_t d = 0; d < 2 && !here.elsewhere; d++) {
        int64_t lo, hi;
        here.elsewhere =
            !is_with_reader(f, s, a, from, d) || !tessi_access_reach(l->g, &a->dim[d], d, &lo, &hi);
        if (here.elsewhere)
            break;
        here.beyond[d] = tessi_read_goes_beyond(l, a, d, from->beyond[d]);
        here.lo[d] += lo;
        here.hi[d] += hi;
    }
    f->list->others = f->list->others || here.elsewhere;
    if (!to->reached) {
        *to = here;
        return;
    }
    for (int d = 0; d < 2; d++) {
        widen(&to->lo[d], &to->hi[d], here.lo[d], here.hi[d]);
        here.elsewhere = here.elsewhere || here.beyond[d] != to->beyond[d];
    }
    to->elsewhere = to->elsewhere || here.elsewhere;
    to->times = to->times + here.times < MOST_READS ? to->times + here.times : MOST_READS;
}

/* ---- Images ---------------------------------------------------------------------------------- */

/* The rules of a read, those of points beyond the edges included. */
static AccessRules rules_of(const Access *a, const Reach *from)
{
    AccessRules rules = tessi_rules_none();
    tessi_rules_join(&rules, a);
    for (int d = 0; d < 2; d++)
        rules.rule[d] = from->beyond[d] ? BORDER_WRAP : rules.rule[d];
    return rules;
}

/* No read that one of them answers is answered otherwise by the other. */
static bool agree(const AccessRules *a, const AccessRules *b)
{
    bool same = !a->outside.v || !b->outside.v || a->outside.v == b->outside.v;
    for (int d = 0; d < 2; d++)
        same = same
               && (a->rule[d] == b->rule[d] || a->rule[d] == BORDER_INSIDE
                   || b->rule[d] == BORDER_INSIDE);
    return same;
}

/* The first copy that can be of the image with these rules. One before it must not be found instead. */
static Copy *copy_of(Finder *f, const Access *a, const AccessRules *rules)
{
    CopyList *list = f->list;
    Copy *c = list->at;
    for (; c < list->at + list->n; c++) {
        if (c->image.v != a->producer.v)
            continue;
        if (agree(&c->rules, rules))
            break;
        c->loose = c->loose || tessi_rules_answer(&c->rules, a);
    }
    if (c == list->at + list->n) {
        Copy fresh = tessi_copy_new(f->l, a->producer);
        for (int d = 0; d < 2; d++) {
            fresh.lo[d] = INT64_MAX;
            fresh.hi[d] = INT64_MIN;
        }
        VEC_PUSH(f->l->arena, list, fresh);
        c = &list->at[list->n - 1];
    }
    for (int d = 0; d < 2; d++)
        c->rules.rule[d] = rules->rule[d] == BORDER_INSIDE ? c->rules.rule[d] : rules->rule[d];
    c->rules.outside = rules->outside.v ? rules->outside : c->rules.outside;
    return c;
}

static void read_image(Finder *f, const Reach *from, const Access *a)
{
    Lower *l = f->l;
    if (a->n_dims != 2 || l->place[a->producer.v].scratch.v
        || tessi_stage(l->g, a->producer)->type == TYPE_F16) {
        f->list->others = true;
        return;
    }
    const AccessRules rules = rules_of(a, from);
    Copy *c = copy_of(f, a, &rules);
    for (uint8_t d = 0; d < 2; d++) {
        int64_t lo, hi;
        if (from->elsewhere || !tessi_access_reach(l->g, &a->dim[d], d, &lo, &hi)) {
            c->loose = true;
            return;
        }
        c->far = c->far || lo || hi;
        widen(&c->lo[d], &c->hi[d], from->lo[d] + lo, from->hi[d] + hi);
    }
}

/* ---- All of them ----------------------------------------------------------------------------- */

void tessi_copies_find(Lower *l, const CopyReaders *readers, CopyList *list)
{
    const PlanFacts *facts = tessi_lower_facts(l);
    Finder f = { .l = l, .readers = readers, .list = list };
    tessi_needs(facts, l->arena, l->plan, readers->stage, readers->n, &f.needs);
    f.reach = ARENA_NEW_ARRAY(l->arena, Reach, f.needs.at.n);
    for (uint32_t i = 0; i < f.needs.at.n; i++) {
        const Need *need = &f.needs.at.at[i];
        Reach *from = &f.reach[i];
        if (need->root) {
            *from = (Reach){ .times = 1, .reached = true };
            for (int d = 0; d < 2; d++) {
                from->lo[d] = readers->from[d];
                from->hi[d] = readers->from[d] + readers->extent[d] - 1;
                from->beyond[d] = readers->beyond[d];
            }
        }
        NEED_FOREACH (read, &f.needs, need) {
            const Access *a = read->read->access.v ? tessi_access(l->g, read->read->access) : NULL;
            if (!from->reached || !a || !tessi_access_moves(a)
                || (readers->windows && !tessi_access_moves_by_window(a)))
                continue;
            list->reads += from->times;
            list->reads = list->reads < MOST_READS ? list->reads : MOST_READS;
            if (tessi_plan_is_inline(l->plan, a->producer))
                read_inlined(&f, i, read, a);
            else
                read_image(&f, from, a);
        }
    }
}

void tessi_copies_size(CopyList *list)
{
    VEC_FOREACH (Copy, c, list)
        for (int d = 0; d < 2 && !c->loose; d++)
            c->size[d] = c->hi[d] - c->lo[d] + 1;
}
