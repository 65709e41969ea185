/* The text of a plan: what a person reads, edits and replays. */
#include "plan/plan_base.h"
#include "plan/plan_knobs.h"

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

static void add_stage(const Plan *p, const Graph *g, StageId id, Placement where, Text *out)
{
    const char *indent = tessi_placement_is_scratch(where) ? "        " : "    ";
    tessi_text_addf(out, "%sstage ", indent);
    add_name(out, tessi_stage(g, id)->name);
    tessi_text_addf(out, " %s\n", tessi_placement_name(where));
    if (where == p->stage[id.v].placement)
        add_reason(out, tessi_sprintf(p->arena, "    %s", indent), p->stage[id.v].reason);
}

/* What blocks copy of images, with the loads that it saves in a block whose points all lie inside. */
static void add_staged(const Plan *p, const Graph *g, const PlanGroup *group, Text *out)
{
    static const struct {
        const char *word, *after;
    } words[] = {
#define STAGING(id, word, after, meaning) { word, after },
#include "plan/stagings.def"
#undef STAGING
    };
    const PlanFacts *f = group->staged.n ? tessi_plan_facts(p->arena, g) : NULL;
    VEC_FOREACH (const PlanStaged, staged, &group->staged) {
        PlanCopy copy;
        tessi_text_addf(out, "    %s ", words[staged->in].word);
        add_name(out, tessi_stage(g, staged->image)->name);
        tessi_text_addf(out, "%s%s\n", *words[staged->in].after ? " " : "",
                        words[staged->in].after);
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
        else
            tessi_text_addf(out, ": %.1f times fewer", copy.loads / copy.copied);
        tessi_text_add(out, "\n");
    }
}

/* The line of a knob, when there is one. */
static void add_knob(const Knob *k, const PlanGroup *group, const PlanPass *pass, Text *out)
{
    const char *indent = pass ? "        " : "    ";
    const bool flag = k->last && tessi_knob_flag(k, group) == k->sets;
    uint32_t n = k->n;
    switch (k->kind) {
    case KNOB_KERNEL:
        tessi_text_addf(out, "    kernel %s\n", tessi_kernel_name(tessi_plan_kernel(group)));
        return;
    case KNOB_SPLIT: tessi_text_addf(out, "    split %s\n", tessi_split_name(group->split)); return;
    case KNOB_COPY: return; /* add_staged */
    case KNOB_ORDER: n = 0; break;
    case KNOB_SIZES:
    case KNOB_DIMENSION:
    case KNOB_NUMBERS: break;
    }
    if (k->kind == KNOB_ORDER ? !group->n_dims : !tessi_knob_is_said(k, group, pass))
        return;
    tessi_text_addf(out, "%s%s", indent, k->word);
    for (uint8_t d = 0; d < group->n_dims && k->kind == KNOB_ORDER; d++)
        tessi_text_addf(out, " %d", group->order[d]);
    for (uint8_t d = 0; d < group->n_dims && k->kind == KNOB_SIZES; d++)
        tessi_text_addf(out, " %lld", (long long)tessi_level_tile(group, d));
    for (uint32_t i = 0; i < n && k->kind != KNOB_SIZES; i++)
        tessi_text_addf(out, " %lld", (long long)tessi_knob_get(k, i, group, pass));
    tessi_text_addf(out, "%s%s\n", flag ? " " : "", flag ? k->last : "");
}

static void add_pass(const Plan *p, const Graph *g, const PlanGroup *group, const PlanPass *pass,
                     Text *out)
{
    tessi_text_add(out, "    pass\n");
    VEC_FOREACH (const StageId, id, &pass->stages)
        add_stage(p, g, *id, tessi_plan_scratch_placement(group), out);
    for (const Knob *k = tessi_knobs(); k->word; k++)
        if (tessi_knob_is_of_pass(k))
            add_knob(k, group, pass, out);
}

static void add_group(const Plan *p, const Graph *g, const PlanGroup *group, Text *out)
{
    tessi_text_add(out, "\ngroup ");
    add_name(out, group->name);
    tessi_text_add(out, "\n");
    add_reason(out, "    ", group->reason);
    const Knob *k = tessi_knobs();
    for (; k->where == KNOB_HEAD; k++)
        add_knob(k, group, NULL, out);
    VEC_FOREACH (const PlanPass, pass, &group->passes)
        add_pass(p, g, group, pass, out);
    VEC_FOREACH (const StageId, id, &group->members)
        add_stage(p, g, *id, PLACE_MEMORY, out);
    for (; k->word; k++) {
        if (k->where == KNOB_COPIES && k[1].where != KNOB_COPIES)
            add_staged(p, g, group, out);
        else if (k->where != KNOB_OF_KERNEL || tessi_plan_kernel(group) != KERNEL_NONE)
            add_knob(k, group, NULL, out);
    }
}

void tessi_plan_print(const Plan *p, const Graph *g, Text *out)
{
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
    add_reason(out, "    ", p->reason);
    GRAPH_FOREACH_STAGE (g, id) {
        if (!p->needed[id.v] || !tessi_plan_is_inline(p, id))
            continue;
        tessi_text_add(out, "\nstage ");
        add_name(out, tessi_stage(g, id)->name);
        tessi_text_addf(out, " %s\n", tessi_placement_name(p->stage[id.v].placement));
        add_reason(out, "    ", p->stage[id.v].reason);
    }
    VEC_FOREACH (const PlanGroup, group, &p->groups)
        add_group(p, g, group, out);
}
