/* tessera apply: filters of the library on pictures, without a program. One is made for the type and the channels of
 * the pictures, and run. */
#include <stdlib.h>
#include <string.h>

#include "cli/batch.h"
#include "cli/chain.h"

/* The type as a program writes it; NULL: it has none. */
static const char *type_name(DLDataType t)
{
    static const struct {
        uint8_t code, bits;
        const char *name;
    } types[] = {
        { kDLUInt, 8, "uint8" },    { kDLUInt, 16, "uint16" },   { kDLUInt, 32, "uint32" },
        { kDLInt, 8, "int8" },      { kDLInt, 16, "int16" },     { kDLInt, 32, "int32" },
        { kDLInt, 64, "int64" },    { kDLFloat, 16, "float16" }, { kDLFloat, 32, "float" },
        { kDLFloat, 64, "double" }, { kDLBool, 8, "bool" },
    };
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (types[i].code == t.code && types[i].bits == t.bits)
            return types[i].name;
    return NULL;
}

/* Looks at a file, of a pattern the first: its type, and the channels that are left of it. */
static bool look_at(const CommandLine *line, const char *word, Picture *picture)
{
    char error[600] = "", *path = cli_first_file(word);
    if (!path)
        return false;
    if (strcmp(path, "-") == 0) {
        free(path);
        return cli_fail("apply looks at a picture before it is read: give a file, not standard "
                        "input"),
               false;
    }
    DLTensor *image = NULL;
    cli_progress("reading", path);
    if (tess_image_read(path, NULL, &image, error, sizeof error) != TESS_OK) {
        cli_fail_about(path, error, "");
        free(path);
        return false;
    }
    const int64_t last = image->shape[image->ndim - 1];
    int channels = image->ndim > 2 && last >= 2 && last <= 4 ? (int)last : 1;
    channels -= line->drop_alpha && channels % 2 == 0;
    *picture =
        (Picture){ type_name(image->dtype), line->gray || line->each_channel ? 1 : channels };
    tess_image_free(image);
    if (!picture->type)
        cli_fail("%s: programs have no type for its elements", path);
    free(path);
    return picture->type != NULL;
}

static int run_chain(const CommandLine *line, const Chain *chain)
{
    Picture *pictures = calloc(chain->n_files + 1, sizeof *pictures);
    bool ok = pictures ? true : (cli_fail("out of memory"), false);
    for (size_t i = 0; ok && i < chain->n_files; i++)
        ok = look_at(line, chain->files[i], &pictures[i]);
    char *text = ok ? cli_chain_program(chain, pictures) : NULL;
    int status = EXIT_DIAGNOSED;
    if (text) {
        CommandLine made = *line;
        made.program = "apply";
        made.program_text = text;
        made.words = (const char **)chain->files;
        made.n_words = chain->n_files + chain->n_more;
        made.options.forma = 0;
        status = cli_run_program(&made);
    }
    free(text);
    free(pictures);
    return status;
}

int cmd_apply(const CommandLine *line)
{
    tess_library *library;
    Chain chain;
    if (!line->n_words) {
        cli_fail("which filter? tessera filters lists them");
        return EXIT_USAGE;
    }
    if (tess_library_open(&library) != TESS_OK)
        return cli_fail("out of memory");
    const bool ok = cli_chain_read(library, line, &chain);
    const int status = ok ? run_chain(line, &chain) : EXIT_DIAGNOSED;
    cli_chain_free(&chain);
    tess_library_free(library);
    return status;
}
