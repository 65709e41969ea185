/* The text of a plan: what a person reads, edits and replays. */
#include "plan/plan_base.h"

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

static void add_group(const Plan *p, const Graph *g, const PlanGroup *group, Text *out)
{
    tessi_text_add(out, "\ngroup ");
    add_name(out, group->name);
    tessi_text_add(out, "\n");
    add_reason(out, "    ", group->reason);
    if (group->tile[0]) {
        tessi_text_add(out, "    tile");
        for (uint8_t d = 0; d < group->n_dims; d++)
            tessi_text_addf(out, " %lld", (long long)group->tile[d]);
        tessi_text_add(out, "\n");
    }
    if (group->roll)
        tessi_text_addf(out, "    roll %u\n", group->roll);
    VEC_FOREACH (const PlanPass, pass, &group->passes) {
        tessi_text_add(out, "    pass\n");
        VEC_FOREACH (const StageId, id, &pass->stages)
            add_stage(p, g, *id, tessi_plan_scratch_placement(group), out);
        if (pass->rows > 1)
            tessi_text_addf(out, "        rows %d\n", pass->rows);
        if (pass->band)
            tessi_text_addf(out, "        band %u\n", pass->band);
        if (pass->outputs[0] > 1 || pass->outputs[1] > 1)
            tessi_text_addf(out, "        outputs %u %u\n", pass->outputs[0], pass->outputs[1]);
    }
    VEC_FOREACH (const StageId, id, &group->members)
        add_stage(p, g, *id, PLACE_MEMORY, out);
    if (group->n_dims) {
        tessi_text_add(out, "    loops");
        for (uint8_t d = 0; d < group->n_dims; d++)
            tessi_text_addf(out, " %d", group->order[d]);
        tessi_text_add(out, "\n");
    }
    if (group->parallel >= 0)
        tessi_text_addf(out, "    parallel %d\n", group->parallel);
    if (group->strip_rows)
        tessi_text_addf(out, "    strip %u\n", group->strip_rows);
    if (group->vector >= 0)
        tessi_text_addf(out, "    vector %d\n", group->vector);
    if (group->rows > 1)
        tessi_text_addf(out, "    rows %d\n", group->rows);
    if (group->columns > 1)
        tessi_text_addf(out, "    columns %d\n", group->columns);
    if (group->band)
        tessi_text_addf(out, "    band %u\n", group->band);
    if (group->kernel != KERNEL_NONE) {
        tessi_text_addf(out, "    kernel %s\n    block %u %u\n", tessi_kernel_name(group->kernel),
                        group->block[0], group->block[1]);
        if (group->outputs[0] > 1 || group->outputs[1] > 1)
            tessi_text_addf(out, "    outputs %u %u\n", group->outputs[0], group->outputs[1]);
        if (group->packed)
            tessi_text_add(out, "    packed\n");
        if (group->march.least)
            tessi_text_addf(out, "    march %u %u %lu%s\n", group->march.least, group->march.most,
                            (unsigned long)group->march.blocks, group->march.ahead ? " ahead" : "");
        if (group->resident)
            tessi_text_addf(out, "    resident %u\n", group->resident);
        if (group->frame.rows[0])
            tessi_text_addf(out, "    frame %u %u %u %u\n", group->frame.rows[0],
                            group->frame.columns[0], group->frame.rows[1], group->frame.columns[1]);
    }
    add_staged(p, g, group, out);
    if (group->transform)
        tessi_text_addf(out, "    transform %u %u\n", group->transform, group->strip);
    if (group->median)
        tessi_text_addf(out, "    %s %u %u\n", group->counts ? "count" : "histogram", group->median,
                        group->strip);
    if (group->stream)
        tessi_text_add(out, "    stream\n");
    tessi_text_addf(out, "    split %s\n", tessi_split_name(group->split));
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
