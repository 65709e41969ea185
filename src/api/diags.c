/* Public diagnostics: counting and rendering. */
#include <stdlib.h>

#include "api/api.h"

size_t tess_diags_count(const tess_diags *d)
{
    return d ? d->diags.list.n : 0;
}

size_t tess_diags_errors(const tess_diags *d)
{
    return d ? d->diags.n_errors : 0;
}

static const char *render(tess_diags *d, bool json, bool color)
{
    if (!d)
        return "";
    Guard guard;
    if (!GUARDED(&guard, &d->arena))
        return "out of memory while rendering diagnostics\n";
    Text text = tessi_text_new(&d->arena);
    if (json)
        tessi_diags_render_json(&d->diags, &text);
    else
        tessi_diags_render(&d->diags, &text, color);
    return tessi_text_str(&text);
}

const char *tess_diags_text(tess_diags *d, int color)
{
    return render(d, false, color != 0);
}

const char *tess_diags_json(tess_diags *d)
{
    return render(d, true, false);
}

void tess_diags_free(tess_diags *d)
{
    if (!d)
        return;
    tessi_arena_dispose(&d->arena);
    free(d);
}
