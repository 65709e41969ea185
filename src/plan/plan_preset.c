/* Plans by name: those that papers compute with, to measure others against. Schemes are made by plan_scheme.c; the
 * presets of GPUs have each stage by itself in memory, a point a thread, and differ in what blocks copy before they
 * compute. */
#include <string.h>

#include "plan/plan_costs.h"

enum { STAGED_NONE = N_STAGINGS };

typedef struct Preset {
    const char *name;
    int masks, images; /* StagedIn, or NONE */
    Split split;
    Plan *(*scheme)(const PlanFacts *f, const Machine *m); /* or NULL */
    bool by_gain;    /* split where the model expects a gain */
    uint16_t square; /* rows and columns of a block; 0: as others have */
    bool adaptive;   /* tiles, of which a thread computes several points */
    const char *meaning;
} Preset;

static const Preset presets[] = {
#define SCHEME(name, function, meaning)                                       \
    { name,  STAGED_NONE, STAGED_NONE, SPLIT_INTERIOR, tessi_plan_##function, \
      false, 0,           false,       meaning },
#define REGIONS(name, split, by_gain, meaning) \
    { name, STAGED_NONE, STAGED_NONE, split, NULL, by_gain, 0, false, meaning },
#define PRESET(name, masks, images, split, meaning) \
    { name, STAGED_##masks, STAGED_##images, split, NULL, false, 0, false, meaning },
#define SQUARE(name, masks, images, split, side, meaning) \
    { name, STAGED_##masks, STAGED_##images, split, NULL, false, side, false, meaning },
#define ADAPTIVE(name, masks, images, split, meaning) \
    { name, STAGED_##masks, STAGED_##images, split, NULL, false, 0, true, meaning },
#include "plan/presets.def"
#undef SCHEME
#undef REGIONS
#undef PRESET
#undef SQUARE
#undef ADAPTIVE
};

/* Rows begin in banks that the rows of threads of a warp do not ask for together. */
static void pad_copy(const PlanFacts *f, const PlanGroup *group, PlanStaged *staged,
                     const PlanCopy *copy)
{
    int64_t size[MAX_DIMS] = { 0 };
    const Stage *s = tessi_stage(f->g, staged->image);
    if (copy->whole || staged->in == STAGED_CONSTANT || tessi_plan_kernel(group) != KERNEL_POINT
        || !s->n_dims)
        return;
    const PlanThreads of = tessi_level_threads_all(&group->levels);
    tessi_plan_copy_shape(f->g, group, staged, copy, size);
    staged->pad = tessi_plan_bank_pad(of.of, size[s->n_dims - 1],
                                      tessi_type_info(tessi_value_type(s->type))->bytes);
}

/* Copies of one image as the preset has them, where the kernel can have them and some element is read more than
 * once. */
static void stage_image(const PlanFacts *f, const Plan *p, PlanGroup *group, const Preset *preset,
                        StageId image)
{
    PlanStaged staged = { .image = image, .in = STAGED_SHARED };
    PlanCopy copy;
    const char *fault = tessi_plan_copied(f, p, group, &staged, &copy);
    const int wanted = !fault && !copy.whole ? preset->images : preset->masks;
    if (wanted == STAGED_NONE || (!fault && copy.loads <= copy.copied))
        return;
    staged.in = (StagedIn)wanted;
    if (!fault)
        pad_copy(f, group, &staged, &copy);
    VEC_PUSH(p->arena, &group->staged, staged);
    if (tessi_plan_check_staged(f, p, group) || tessi_plan_check_constants(f, p))
        group->staged.n--;
}

static void stage_images(const PlanFacts *f, const Plan *p, PlanGroup *group, const Preset *preset)
{
    StageList stored = { 0 };
    VEC_FOREACH (const StageId, id, &group->members) {
        tessi_plan_stored_reads(f, p, *id, &stored);
        VEC_FOREACH (const StageId, image, &stored)
            stage_image(f, p, group, preset, *image);
    }
}

/* The copies that tiles of a size have. */
typedef struct CopiesOf {
    const PlanFacts *f;
    const Plan *p;
    const Preset *preset;
} CopiesOf;

static void copies_of_tile(void *user, PlanGroup *group)
{
    const CopiesOf *c = user;
    tessi_plan_drop_copies(group);
    stage_images(c->f, c->p, group, c->preset);
}

/* What a point loads of each image, as written: "5 of X, 5 of m". */
static const char *loads_of(const PlanFacts *f, StageId id)
{
    Text text = tessi_text_new(f->arena);
    GRAPH_FOREACH_STAGE (f->g, image) {
        double times = 0;
        VEC_FOREACH (const PlanRead, read, &f->reads[id.v])
            if (read->producer.v == image.v && read->access.v)
                times += read->times;
        if (times > 0)
            tessi_text_addf(&text, "%s%.0f of %s", text.n ? ", " : "", times,
                            tessi_stage(f->g, image)->name);
    }
    return tessi_text_str(&text);
}

/* Splits a group into regions, where that is to be, and says what they gain. */
static void take_regions(const PlanFacts *f, const Machine *m, const Plan *p, PlanGroup *group,
                         const Preset *preset, const int64_t *size)
{
    Arena *a = f->arena;
    const bool warps = preset->split == SPLIT_WARP_REGIONS;
    if (warps && group->n_dims < 2)
        group->split = SPLIT_REGIONS;
    if (group->split != SPLIT_REGIONS && group->split != SPLIT_WARP_REGIONS)
        return;
    const PlanIsp isp = tessi_plan_isp(f, tessi_analyse(f->g, a), m, p, group,
                                       group->split == SPLIT_WARP_REGIONS, size);
    const char *choice = "";
    if (preset->by_gain)
        choice =
            isp.gain > 1 ? "\nregions: G is more than 1" : "\nrules everywhere: G is at most 1";
    if (preset->by_gain && isp.gain <= 1)
        group->split = SPLIT_NONE;
    group->reason = tessi_sprintf(
        a, "%s%s", tessi_plan_isp_reason(a, &isp, warps && group->n_dims > 1), choice);
}

static Plan *staged_plan(const PlanFacts *f, const Machine *m, const Preset *preset,
                         const int64_t *size)
{
    const Graph *g = f->g;
    Plan *p = tessi_plan_apart(f, m);
    VEC_FOREACH (PlanGroup, group, &p->groups) {
        group->split = tessi_stage_is_plain(g, tessi_stage(g, group->members.at[0])) ? preset->split
                                                                                     : SPLIT_NONE;
        uint16_t side = group->n_dims > 1 ? preset->square : 0;
        while (side * side > m->block_threads)
            side /= 2;
        for (int k = 0; k < 2 && side; k++)
            tessi_level_set_threads(&group->levels, k, side);
        CopiesOf copies = { f, p, preset };
        if (preset->adaptive && group->split != SPLIT_NONE)
            tessi_plan_adapt_tile(f, m, p, group, copies_of_tile, &copies);
        if (tessi_plan_kernel(group) != KERNEL_TILE)
            stage_images(f, p, group, preset);
        take_regions(f, m, p, group, preset, size);
    }
    return p;
}

static const Preset *preset_by_name(const char *name, size_t n)
{
    for (size_t i = 0; i < sizeof presets / sizeof *presets; i++)
        if (strlen(presets[i].name) == n && strncmp(presets[i].name, name, n) == 0)
            return &presets[i];
    return NULL;
}

/* The head of the text, before the groups, has this line; it begins with the end of the one before. */
static bool head_says(const char *text, const char *line)
{
    const char *at = strstr(text, line), *group = strstr(text, "\ngroup ");
    return at && (!group || at < group) && strcspn(at + strlen(line), " \t\r\n") == 0;
}

bool tessi_plan_is_of_kernels(const char *text)
{
    return head_says(text, "\ntarget gpu");
}

bool tessi_plan_is_of_masks_written(const char *text)
{
    static const char word[] = "preset ";
    if (strncmp(text, word, sizeof word - 1) == 0) {
        const char *name = text + sizeof word - 1;
        const Preset *preset = preset_by_name(name, strcspn(name, ": \n"));
        return preset && !preset->scheme;
    }
    return head_says(text, "\nmasks written");
}

enum { PRESET_SIDE = 2048 }; /* of images whose sizes are not known */

/* Rows and columns, "512x768". */
static bool read_size(const char *text, int64_t *size)
{
    for (int k = 0; k < 2; k++) {
        int64_t n = 0;
        const char *c = text;
        for (; *c >= '0' && *c <= '9' && n < PLAN_MAX_TILE; c++)
            n = 10 * n + (*c - '0');
        if (n < 1 || *c != (k ? '\0' : 'x'))
            return false;
        size[k] = n;
        text = c + 1;
    }
    return true;
}

Plan *tessi_plan_preset(Arena *a, const Graph *g, const Machine *m, const char *name,
                        const char **fault)
{
    const size_t n = strcspn(name, ":");
    const Preset *preset = preset_by_name(name, n);
    int64_t size[2] = { PRESET_SIDE, PRESET_SIDE };
    *fault = NULL;
    if (name[n] && preset && !read_size(name + n + 1, size)) {
        *fault = tessi_sprintf(a, "after '%s:' comes a size, as 512x768, not '%s'", preset->name,
                               name + n + 1);
        return NULL;
    }
    if (!preset || (!preset->scheme && !tessi_machine_is_gpu(m))) {
        Text names = tessi_text_new(a);
        for (size_t i = 0; i < sizeof presets / sizeof *presets; i++)
            tessi_text_addf(&names, "%s%s", i ? ", " : "", presets[i].name);
        *fault = preset ? tessi_sprintf(a, "the plan '%s' is one of kernels, for GPUs", name)
                        : tessi_sprintf(a, "no preset is called '%s'; there are %s", name,
                                        tessi_text_str(&names));
        return NULL;
    }
    const PlanFacts *f = tessi_plan_facts(a, g);
    Plan *p = preset->scheme ? preset->scheme(f, m) : staged_plan(f, m, preset, size);
    p->masks_written = g->masks_written;
    VEC_FOREACH (PlanGroup, group, &p->groups) {
        const char *loads = p->gpu ? loads_of(f, group->members.at[0]) : "";
        group->reason = tessi_sprintf(a, "%s: %s%s%s%s%s", preset->name, preset->meaning,
                                      *group->reason ? "\n" : "", group->reason,
                                      *loads ? "\na point loads " : "", loads);
    }
    return p;
}

const char *tessi_plan_preset_name(size_t i)
{
    return i < sizeof presets / sizeof *presets ? presets[i].name : NULL;
}
