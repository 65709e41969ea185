/* The text of a plan: what a person reads, edits and replays. */
#include "plan/needs.h"
#include "plan/plan_base.h"
#include "plan/plan_knobs.h"

typedef struct Printer {
    const PlanFacts *f;
    const Plan *p;
    const Graph *g;
    uint32_t *user; /* by StageId: the one group that computes an inlined stage, + 1 */
    Text *out;
    PlanRegions *regions; /* memory for those of one group after the other */
} Printer;

/* A name as it is, or quoted when it has characters that the reader would stumble over. */
static void add_name(Text *out, const char *name)
{
    bool plain = *name != 0;
    for (const char *c = name; *c; c++)
        plain = plain && *c > ' ' && *c != '"' && *c != '#' && *c != '\\' && *c != 127;
    if (plain) {
        tessi_text_add(out, name);
        return;
    }
    tessi_text_add(out, "\"");
    for (const char *c = name; *c; c++) {
        if (*c == '"' || *c == '\\')
            tessi_text_addf(out, "\\%c", *c);
        else if (*c == '\n')
            tessi_text_add(out, "\\n");
        else
            tessi_text_addn(out, c, 1);
    }
    tessi_text_add(out, "\"");
}

static void add_reason(Text *out, const char *indent, const char *reason)
{
    if (!reason || !*reason)
        return;
    for (const char *line = reason; *line;) {
        const char *end = line;
        while (*end && *end != '\n')
            end++;
        tessi_text_addf(out, "%swhy ", indent);
        tessi_text_addn(out, line, (size_t)(end - line));
        tessi_text_add(out, "\n");
        line = *end ? end + 1 : end;
    }
}

/* The line of a stage that the group computes, or NULL that many groups or none compute. */
static void add_stage(const Printer *t, const PlanGroup *group, StageId id, Placement place)
{
    Text *out = t->out;
    tessi_text_add(out, group ? "    stage " : "stage ");
    add_name(out, tessi_stage(t->g, id)->name);
    if (place == PLACE_INLINE)
        tessi_text_add(out, " inline\n");
    else if (!group || place == PLACE_MEMORY)
        tessi_text_addf(out, " in %s\n", tessi_placement_name(place));
    else
        tessi_text_addf(out, " at %s in %s", tessi_level_of_place(group, place),
                        tessi_placement_name(place));
    if (place == PLACE_INLINE || !group || place == PLACE_MEMORY)
        return;
    const int64_t keep = tessi_plan_kept_rows(t->f, t->p, group, id, t->regions);
    if (keep)
        tessi_text_addf(out, " keep %lld", (long long)keep);
    tessi_text_add(out, "\n");
}

static void add_stage_reason(const Printer *t, StageId id, const char *indent)
{
    add_reason(t->out, indent, t->p->stage[id.v].reason);
}

/* How often the threads of a block wait for a bank of shared memory at each read. */
static void add_conflicts(const Graph *g, const PlanGroup *group, const PlanStaged *staged,
                          const PlanCopy *copy, Text *out)
{
    int64_t size[MAX_DIMS] = { 0 };
    const ScalarType type = tessi_value_type(tessi_stage(g, staged->image)->type);
    tessi_plan_copy_shape(g, group, staged, copy, size);
    const PlanThreads of = tessi_level_threads_all(&group->levels);
    const int64_t pitch = tessi_plan_copy_pitch(g, group, staged, size);
    const int64_t n = tessi_plan_bank_conflicts(of.of, pitch, tessi_type_info(type)->bytes);
    if (n || staged->pad)
        tessi_text_addf(out,
                        "        # rows of %lld elements: %lld bank conflict%s of a block a read\n",
                        (long long)pitch, (long long)n, n == 1 ? "" : "s");
}

/* What blocks copy of images, with the loads that it saves in a block whose points all lie inside. */
static void add_staged(const Plan *p, const Graph *g, const PlanGroup *group, Text *out)
{
    static const struct {
        const char *place, *after;
    } words[] = {
#define STAGING(id, place, after, meaning) { place, after },
#include "plan/stagings.def"
#undef STAGING
    };
    const PlanFacts *f = group->staged.n ? tessi_plan_facts(p->arena, g) : NULL;
    VEC_FOREACH (const PlanStaged, staged, &group->staged) {
        PlanCopy copy;
        tessi_text_add(out, "    copy ");
        add_name(out, tessi_stage(g, staged->image)->name);
        tessi_text_addf(out, "%s in %s%s%s", staged->in == STAGED_CONSTANT ? "" : " at x.grid",
                        words[staged->in].place, *words[staged->in].after ? " " : "",
                        words[staged->in].after);
        if (staged->pad)
            tessi_text_addf(out, " pad %u", staged->pad);
        tessi_text_add(out, "\n");
        if (tessi_plan_copied(f, p, group, staged, &copy) || copy.loads < 1)
            continue;
        if (staged->in == STAGED_CONSTANT) {
            tessi_text_addf(out, "        # %.0f loads of a block from constant memory\n",
                            copy.loads);
            continue;
        }
        tessi_text_addf(out, "        # %.0f loads of a block become %.0f", copy.loads,
                        copy.copied);
        if (copy.missed > 0)
            tessi_text_addf(out, ", and %.0f that may be in caches", copy.missed);
        else if (copy.loads > copy.copied)
            tessi_text_addf(out, ": %.1f times fewer", copy.loads / copy.copied);
        tessi_text_add(out, "\n");
        if (tessi_plan_kernel(group) == KERNEL_POINT && !copy.whole)
            add_conflicts(g, group, staged, &copy, out);
    }
}

/* The line of a knob, when there is one. */
static void add_knob(const Knob *k, const PlanGroup *group, Text *out)
{
    if (k->kind == KNOB_SPLIT)
        tessi_text_addf(out, "    split %s\n", tessi_split_name(group->split));
    if (k->kind != KNOB_NUMBERS || !tessi_knob_is_said(k, group))
        return;
    tessi_text_addf(out, "    %s", k->word);
    for (uint32_t i = 0; i < k->n; i++)
        tessi_text_addf(out, " %lld", (long long)tessi_knob_get(k, i, group));
    tessi_text_add(out, "\n");
}

static void add_levels(const PlanLevels *levels, const char *indent, Text *out)
{
    for (uint8_t i = 0; i < levels->n; i++) {
        tessi_text_add(out, indent);
        tessi_level_print(&levels->at[i], out);
        tessi_text_add(out, "\n");
    }
}

static void add_pass(const Printer *t, const PlanGroup *group, const PlanPass *pass)
{
    for (uint32_t i = 0; i < pass->stages.n; i++) {
        const StageId id = pass->stages.at[i];
        if (!i) {
            add_stage(t, group, id, tessi_plan_scratch_placement(group));
        } else {
            tessi_text_add(t->out, "    stage ");
            add_name(t->out, tessi_stage(t->g, id)->name);
            tessi_text_add(t->out, " with ");
            add_name(t->out, tessi_stage(t->g, pass->stages.at[0])->name);
            tessi_text_add(t->out, "\n");
        }
        if (tessi_placement_is_scratch(t->p->stage[id.v].placement))
            add_stage_reason(t, id, "        ");
    }
    add_levels(&pass->levels, "        ", t->out);
}

static void add_group(const Printer *t, uint32_t number)
{
    const PlanGroup *group = &t->p->groups.at[number];
    tessi_text_add(t->out, "\ngroup ");
    add_name(t->out, group->name);
    tessi_text_add(t->out, "\n");
    add_reason(t->out, "    ", group->reason);
    add_levels(&group->levels, "    ", t->out);
    VEC_FOREACH (const PlanPass, pass, &group->passes)
        add_pass(t, group, pass);
    GRAPH_FOREACH_STAGE (t->g, id) {
        if (t->user[id.v] != number + 1)
            continue;
        add_stage(t, group, id, t->p->stage[id.v].placement);
        add_stage_reason(t, id, "        ");
    }
    VEC_FOREACH (const StageId, id, &group->members) {
        add_stage(t, group, *id, PLACE_MEMORY);
        add_stage_reason(t, *id, "        ");
    }
    for (const Knob *k = tessi_knobs(); k->word; k++) {
        if (k->kind == KNOB_COPY)
            add_staged(t->p, t->g, group, t->out);
        else
            add_knob(k, group, t->out);
    }
}

/* Which group computes an inlined stage again, + 1: its page is the one that says so. 0: none, or several. */
static uint32_t *find_users(const PlanFacts *f, const Plan *p)
{
    const uint32_t several = UINT32_MAX;
    uint32_t *user = ARENA_NEW_ARRAY(f->arena, uint32_t, p->n_stages);
    for (uint32_t i = 0; i < p->groups.n; i++) {
        Needs needs = { 0 };
        Arena *scratch = tessi_scratch_open(f->arena);
        tessi_needs_of_group(f, scratch, p, &p->groups.at[i], &needs);
        VEC_FOREACH (const Need, need, &needs.at) {
            uint32_t *at = &user[need->stage.v];
            if (tessi_plan_computes(f, need->stage) && tessi_plan_is_inline(p, need->stage))
                *at = !*at || *at == i + 1 ? i + 1 : several;
        }
        tessi_scratch_close(scratch);
    }
    for (uint32_t v = 0; v < p->n_stages; v++)
        user[v] = user[v] == several ? 0 : user[v];
    return user;
}

void tessi_plan_print(const Plan *p, const Graph *g, Text *out)
{
    PlanRegions regions = { 0 };
    Printer t = {
        .f = tessi_plan_facts(p->arena, g), .p = p, .g = g, .out = out, .regions = &regions
    };
    t.user = find_users(t.f, p);
    tessi_text_add(out, "plan ");
    add_name(out, p->graph);
    if (*p->machine) { /* a text need not say */
        tessi_text_add(out, "\nmachine ");
        add_name(out, p->machine);
    }
    tessi_text_add(out, p->gpu ? "\ntarget gpu\n" : "\n");
    if (p->masks_written)
        tessi_text_add(out, "masks written\n");
    if (p->width)
        tessi_text_addf(out, "width %u\n", p->width);
    for (uint32_t k = 1; k <= g->repeats.n; k++) {
        if (tessi_plan_time_of(g, k) == 1)
            continue;
        tessi_text_add(out, "time ");
        add_name(out, g->repeats.at[k - 1].name);
        tessi_text_addf(out, " %u\n", (unsigned)tessi_plan_time_of(g, k));
    }
    add_reason(out, "    ", p->reason);
    GRAPH_FOREACH_STAGE (g, id) {
        if (!p->needed[id.v] || !tessi_plan_is_inline(p, id) || t.user[id.v])
            continue;
        tessi_text_add(out, "\n");
        add_stage(&t, NULL, id, p->stage[id.v].placement);
        add_stage_reason(&t, id, "    ");
    }
    for (uint32_t i = 0; i < p->groups.n; i++)
        add_group(&t, i);
}
