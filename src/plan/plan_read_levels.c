/* The levels of a plan page, read: lines `DIMENSION [SIZE[..MOST]] HOW [BLOCKS blocks] [ahead] [N apart]`, and names of
 * whole sets of them. */
#include <string.h>

#include "plan/plan_reader.h"

int tessi_plan_dimension(const char *word)
{
    for (uint8_t d = 0; d < MAX_DIMS; d++)
        if (tessi_streq(word, tessi_level_dim_name(d)))
            return d;
    return -1;
}

const char *tessi_plan_old_word(const char *word)
{
    static const char *const words[][2] = {
#define OLD_WORD(word, now) { word, now },
#include "plan/old_words.def"
#undef OLD_WORD
    };
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (tessi_streq(word, words[i][0]))
            return words[i][1];
    return NULL;
}

/* "32", or "16..4096". */
static bool read_size(PlanReader *r, const char *word, PlanLevel *level)
{
    const char *end = word + strlen(word), *dots = strstr(word, "..");
    int64_t size, most = 0;
    if (!tessi_plan_number_in(word, dots ? dots : end, PLAN_MAX_TILE, &size)
        || (dots && !tessi_plan_number_in(dots + 2, end, PLAN_MAX_TILE, &most)))
        return tessi_plan_bad(r, DIAG_BAD_PLAN_TEXT,
                              "the size of a level is 1 to %d, or two such numbers as in 16..4096, "
                              "not '%s'",
                              PLAN_MAX_TILE, word);
    level->size = (uint32_t)size;
    level->most = (uint32_t)most;
    return true;
}

/* "10 apart", of which the number has been read. */
static bool read_apart(PlanReader *r, const char *number, PlanLevel *level)
{
    int64_t apart;
    if (!tessi_plan_number_in(number, number + strlen(number), PLAN_MAX_APART, &apart) || apart < 2)
        return tessi_plan_bad(r, DIAG_BAD_PLAN_TEXT, "points stand 2 to %d apart, not '%s'",
                              PLAN_MAX_APART, number);
    level->apart = (uint16_t)apart;
    const char *word = tessi_plan_needed_word(r, "'apart'");
    if (!word)
        return false;
    if (!tessi_streq(word, "apart"))
        return tessi_plan_bad(r, DIAG_BAD_PLAN_TEXT, "expected 'apart', not '%s'", word);
    return tessi_plan_line_ends(r);
}

/* What may follow the kind of a level. */
static bool read_rest(PlanReader *r, PlanLevel *level)
{
    int64_t blocks;
    if (level->most) {
        if (!tessi_plan_read_number(r, "blocks", PLAN_MAX_MARCH_BLOCKS, &blocks))
            return false;
        level->blocks = (uint32_t)blocks;
        const char *word = tessi_plan_needed_word(r, "'blocks'");
        if (!word)
            return false;
        if (!tessi_streq(word, "blocks"))
            return tessi_plan_bad(r, DIAG_BAD_PLAN_TEXT, "expected 'blocks', not '%s'", word);
    }
    const char *word = tessi_plan_word(r);
    if (!word)
        return false;
    if (*word >= '0' && *word <= '9')
        return read_apart(r, word, level);
    level->ahead = tessi_streq(word, "ahead");
    if (*word && !level->ahead)
        return tessi_plan_bad(r, DIAG_BAD_PLAN_TEXT,
                              "expected 'ahead', a distance as in '4 apart', or the end of the "
                              "line, not '%s'",
                              word);
    return tessi_plan_line_ends(r);
}

static bool read_words(PlanReader *r, int dim, PlanLevel *out)
{
    *out = (PlanLevel){ .dim = (uint8_t)dim };
    const char *word = tessi_plan_needed_word(r, "the size of a level, or how it runs");
    if (!word)
        return false;
    if (*word >= '0' && *word <= '9') {
        if (!read_size(r, word, out))
            return false;
        word = tessi_plan_needed_word(r, "how the level runs");
    }
    if (!word)
        return false;
    LevelHow found;
    if (!tessi_level_by_name(word, &found)) {
        const char *names[N_LEVEL_HOWS];
        for (int how = 0; how < N_LEVEL_HOWS; how++)
            names[how] = tessi_level_name((LevelHow)how);
        const char *near = tessi_nearest_word(word, names, N_LEVEL_HOWS);
        return near ? tessi_plan_bad(r, DIAG_BAD_PLAN_TEXT,
                                     "no level runs as '%s'; did you mean '%s'?", word, near)
                    : tessi_plan_bad(r, DIAG_BAD_PLAN_TEXT,
                                     "a level is one of grid, thread, serial, step, unroll "
                                     "and lanes, not '%s'",
                                     word);
    }
    out->how = (uint8_t)found;
    return read_rest(r, out);
}

bool tessi_plan_read_level(PlanReader *r, int dim)
{
    PlanLevel level;
    if (!r->group)
        return tessi_plan_bad(r, DIAG_BAD_PLAN_TEXT, "a level belongs to a group");
    if (!r->pass && r->group->members.n)
        return tessi_plan_bad(r, DIAG_BAD_PLAN_TEXT,
                              "the levels of a group stand before its stages in memory");
    if (!read_words(r, dim, &level))
        return false;
    PlanLevels *levels = r->pass ? &r->pass->levels : &r->group->levels;
    if (!r->pass && r->preset && tessi_level_put(levels, &level))
        return true;
    if (levels->n == PLAN_MAX_LEVELS)
        return tessi_plan_bad(r, DIAG_BAD_PLAN_TEXT, "a group has at most %d levels",
                              PLAN_MAX_LEVELS);
    levels->at[levels->n++] = level;
    return true;
}

/* The levels of the text, one after the other with semicolons between. */
static bool read_all(PlanReader *r, const char *text)
{
    const PlanReader outside = *r;
    bool ok = true;
    while (ok && *text) {
        const size_t n = strcspn(text, ";");
        r->at = text;
        r->end = text + n;
        const char *dim = tessi_plan_word(r);
        ok = dim && tessi_plan_read_level(r, tessi_plan_dimension(dim));
        text += n + (text[n] == ';');
    }
    r->at = outside.at;
    r->end = outside.end;
    return ok;
}

typedef struct LevelPreset {
    const char *name, *levels;
} LevelPreset;
static const LevelPreset presets[] = {
#define LEVEL_PRESET(name, levels, meaning) { name, levels },
#include "plan/level_presets.def"
#undef LEVEL_PRESET
};
enum { N_PRESETS = sizeof presets / sizeof *presets };

const char *tessi_level_preset_name(size_t i)
{
    return i < N_PRESETS ? presets[i].name : NULL;
}

bool tessi_level_preset(Arena *a, size_t i, PlanLevels *out)
{
    SourceMap sources;
    Diags diags;
    PlanGroup group = { .name = "" };
    tessi_sources_init(&sources, a);
    tessi_diags_init(&diags, a, &sources);
    PlanReader r = { .arena = a, .diags = &diags, .group = &group };
    if (i >= N_PRESETS || !read_all(&r, presets[i].levels))
        return false;
    *out = group.levels;
    return true;
}

bool tessi_plan_read_preset(PlanReader *r)
{
    const char *names[N_PRESETS], *name = tessi_plan_needed_word(r, "the name of a preset");
    if (!name)
        return false;
    if (!r->group || r->pass || r->group->levels.n || r->group->members.n)
        return tessi_plan_bad(r, DIAG_BAD_PLAN_TEXT, "a preset is the first line of a group");
    for (size_t i = 0; i < N_PRESETS; i++) {
        names[i] = presets[i].name;
        if (!tessi_streq(name, names[i]))
            continue;
        if (!tessi_plan_line_ends(r) || !read_all(r, presets[i].levels))
            return false;
        r->preset = true;
        return true;
    }
    const char *near = tessi_nearest_word(name, names, N_PRESETS);
    return near ? tessi_plan_bad(r, DIAG_BAD_PLAN_TEXT,
                                 "no levels are called '%s'; did you mean '%s'?", name, near)
                : tessi_plan_bad(r, DIAG_BAD_PLAN_TEXT, "no levels are called '%s'", name);
}
