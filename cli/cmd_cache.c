/* tessera cache: where the compile cache is and how much is in it; --clear empties it. */
#include <inttypes.h>

#include "cli/cli.h"

/* "3 entries, 1.5 MiB" */
static void describe(const tess_cache_state *state, char *text, size_t size)
{
    snprintf(text, size, "%" PRIu64 " entr%s, %.1f MiB", state->n_entries,
             state->n_entries == 1 ? "y" : "ies", (double)state->bytes / 0x1p20);
}

int cmd_cache(const CommandLine *line)
{
    char error[600] = "", amount[80];
    tess_cache_state state = { .struct_size = sizeof state };
    const tess_status status = line->clear ? tess_cache_clear(NULL, &state, error, sizeof error)
                                           : tess_cache_look(NULL, &state, error, sizeof error);
    if (status != TESS_OK)
        return cli_fail("%s", error[0] ? error : tess_status_text(status));
    describe(&state, amount, sizeof amount);
    if (line->size)
        printf("%" PRIu64 "\n", state.bytes);
    else if (line->clear && !line->quiet)
        printf("%s: removed %s\n", state.folder, amount);
    else if (!line->clear)
        printf("%s: %s of at most %.0f\n", state.folder, amount, (double)state.most_bytes / 0x1p20);
    tess_text_free(state.folder);
    return EXIT_OK;
}
