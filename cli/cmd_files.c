/* tessera info: what files hold. */
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"

enum { ERROR_SIZE = 600, MOST_PAGES_SHOWN = 100 };

static void type_text(DLDataType type, char *text, size_t size)
{
    const char *name = type.code == kDLFloat  ? "float"
                       : type.code == kDLInt  ? "int"
                       : type.code == kDLBool ? "bool"
                                              : "uint";
    if (type.code == kDLBool)
        snprintf(text, size, "bool");
    else if (type.code == kDLFloat && type.bits != 16)
        snprintf(text, size, "%s", type.bits == 64 ? "double" : "float");
    else
        snprintf(text, size, "%s%d", name, type.bits);
}

/* "3 pages, 300 x 451, 3 channels": rows before columns. */
static void shape_text(const tess_image_facts *f, char *text, size_t size)
{
    const int dims = f->ndim - (f->channels > 1);
    int first = 0;
    text[0] = '\0';
    if (dims == 3 && f->pages > 1) {
        snprintf(text, size, "%lld pages, ", (long long)f->shape[0]);
        first = 1;
    }
    for (int d = first; d < dims; d++) {
        const size_t used = strlen(text);
        snprintf(text + used, size - used, "%s%lld", d > first ? " x " : "",
                 (long long)f->shape[d]);
    }
    const size_t used = strlen(text);
    if (f->channels > 1)
        snprintf(text + used, size - used, ", %d channels", f->channels);
}

/* "25", "29.97 (30000/1001)": frames a second. */
static void rate_text(const tess_image_facts *f, char *text, size_t size)
{
    const long long n = (long long)f->rate[0], d = (long long)f->rate[1];
    if (n % d == 0)
        snprintf(text, size, "%lld", n / d);
    else
        snprintf(text, size, "%.5g (%lld/%lld)", (double)n / (double)d, n, d);
}

/* ---- Text ------------------------------------------------------------------------------------- */

/* Of a video. */
static void print_frames(const tess_image_facts *f)
{
    char rate[80];
    if (f->frames >= 0)
        printf("  frames: %lld%s\n", (long long)f->frames, f->is_cut ? ", and a part of one" : "");
    if (f->rate[1]) {
        rate_text(f, rate, sizeof rate);
        printf("  frames a second: %s\n", rate);
    }
}

static void print_text(const char *path, int64_t page, const tess_image_facts *f)
{
    char type[16], shape[160], number[40] = "", name[40], text[400];
    type_text(f->dtype, type, sizeof type);
    shape_text(f, shape, sizeof shape);
    if (page)
        snprintf(number, sizeof number, ", page %lld", (long long)page);
    printf("%s%s: %s, %s%s%s, %s\n", path, number, f->format, f->packed, f->packed[0] ? " as " : "",
           type, shape);
    if (f->is_video)
        print_frames(f);
    if (f->lo <= f->hi)
        printf("  range: %.9g .. %.9g\n", f->lo, f->hi);
    if (f->n_not_finite)
        printf("  not finite: %lld values\n", (long long)f->n_not_finite);
    for (size_t i = 0; tess_meta_item(f->meta, i, name, sizeof name, text, sizeof text) == TESS_OK;
         i++)
        printf("  %s: %s\n", name, text);
    const char *doubt;
    for (size_t i = 0; (doubt = tess_meta_doubt(f->meta, i)) != NULL; i++)
        printf("  in doubt: %s\n", doubt);
}

/* ---- JSON ------------------------------------------------------------------------------------- */

static void add_pair(char **text, const char *name, const char *value, bool quoted)
{
    cli_append(text, *text ? ", " : "{");
    cli_append_json(text, name);
    cli_append(text, ": ");
    if (quoted)
        cli_append_json(text, value);
    else
        cli_append(text, value);
}

static void add_number(char **text, const char *name, double value)
{
    char number[40];
    snprintf(number, sizeof number, "%.17g", value);
    add_pair(text, name, number, false);
}

static void add_frames(char **text, const tess_image_facts *f)
{
    char rate[80];
    if (f->frames >= 0)
        add_number(text, "frames", (double)f->frames);
    if (f->frames >= 0)
        add_pair(text, "cut", f->is_cut ? "true" : "false", false);
    snprintf(rate, sizeof rate, "[%lld, %lld]", (long long)f->rate[0], (long long)f->rate[1]);
    if (f->rate[1])
        add_pair(text, "rate", rate, false);
}

static void print_json(const char *path, int64_t page, const tess_image_facts *f)
{
    char type[16], name[40], item[400], *text = NULL, *meta = NULL, *shape = NULL;
    type_text(f->dtype, type, sizeof type);
    add_pair(&text, "file", path, true);
    add_pair(&text, "format", f->format, true);
    if (page)
        add_number(&text, "page", (double)page);
    if (f->packed[0])
        add_pair(&text, "packed", f->packed, true);
    add_pair(&text, "type", type, true);
    for (int d = 0; d < f->ndim; d++) {
        snprintf(item, sizeof item, "%s%lld", d ? ", " : "[", (long long)f->shape[d]);
        cli_append(&shape, item);
    }
    cli_append(&shape, "]");
    add_pair(&text, "shape", shape, false);
    add_number(&text, "pages", (double)f->pages);
    add_number(&text, "channels", f->channels);
    if (f->lo <= f->hi) {
        add_number(&text, "min", f->lo);
        add_number(&text, "max", f->hi);
    }
    if (f->is_video)
        add_frames(&text, f);
    else
        add_number(&text, "not_finite", (double)f->n_not_finite);
    for (size_t i = 0; tess_meta_item(f->meta, i, name, sizeof name, item, sizeof item) == TESS_OK;
         i++)
        add_pair(&meta, name, item, true);
    cli_append(&meta, meta ? "}" : "{}");
    add_pair(&text, "metadata", meta, false);
    printf("%s}\n", text);
    free(text);
    free(meta);
    free(shape);
}

/* ---- Files ------------------------------------------------------------------------------------ */

static bool show(const CommandLine *line, const char *path, int64_t page, int64_t *pages)
{
    char error[ERROR_SIZE] = "";
    tess_image_facts facts = { .struct_size = sizeof facts };
    cli_progress("reading", path);
    const tess_status status = tess_image_look(path, page, &facts, error, sizeof error);
    cli_progress(NULL, NULL);
    if (pages)
        *pages = facts.pages;
    if (status == TESS_OK && line->json)
        print_json(path, page, &facts);
    else if (status == TESS_OK)
        print_text(path, page, &facts);
    else if (!pages || facts.pages <= 1 || page)
        cli_fail_about(path, error, "");
    tess_meta_free(facts.meta);
    return status == TESS_OK;
}

/* Pages that cannot be read together are shown one by one. */
static bool show_file(const CommandLine *line, const char *path)
{
    int64_t pages = 1;
    if (show(line, path, line->page, &pages))
        return true;
    bool ok = pages > 1 && !line->page && strcmp(path, "-") != 0;
    if (!ok && pages > 1 && !line->page)
        cli_fail("standard input: its pages differ; --page=N shows one of them");
    for (int64_t page = 1; ok && page <= pages && page <= MOST_PAGES_SHOWN; page++)
        ok = show(line, path, page, NULL);
    if (ok && pages > MOST_PAGES_SHOWN)
        cli_tell("%s: %lld more pages", path, (long long)(pages - MOST_PAGES_SHOWN));
    return ok;
}

int cmd_info(const CommandLine *line)
{
    bool ok = true;
    for (size_t i = 0; i < line->n_words; i++)
        ok = show_file(line, line->words[i]) && ok;
    return ok ? EXIT_OK : EXIT_DIAGNOSED;
}
