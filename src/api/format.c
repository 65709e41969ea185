/* tess_format_text: the text of a program in one form. */
#include <stdlib.h>
#include <string.h>

#include "api/api.h"
#include "front/format.h"

static bool format(const char *text, size_t n, const char *name, bool forma, tess_diags *d,
                   char **formatted)
{
    Guard guard;
    if (!GUARDED(&guard, &d->arena))
        return false;
    const uint16_t file = tessi_sources_add(&d->sources, name, text, n);
    const char *made = tessi_format(&d->arena, &d->diags, &d->sources, file, forma);
    *formatted = made ? strdup(made) : NULL;
    return !made || *formatted;
}

tess_status tess_format_text(const char *text, size_t n, const char *name, int forma,
                             char **formatted, tess_diags **diags)
{
    if (diags)
        *diags = NULL;
    if (!text || !formatted)
        return TESS_ERROR_ARGUMENT;
    *formatted = NULL;
    tess_diags *d = tessi_diags_new();
    if (!d)
        return TESS_ERROR_MEMORY;
    const bool has_memory = format(text, n, name ? name : "program", forma != 0, d, formatted);
    const bool ok = *formatted != NULL;
    if (diags)
        *diags = d;
    else
        tess_diags_free(d);
    return ok ? TESS_OK : has_memory ? TESS_ERROR_PROGRAM : TESS_ERROR_MEMORY;
}
