/* Inputs declared `any`: the types of the files that are bound to them, or of --type, make the program. */
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"

static const struct {
    uint8_t code, bits;
    const char *name;
} types[] = {
    { kDLUInt, 8, "uint8" },    { kDLUInt, 16, "uint16" },   { kDLUInt, 32, "uint32" },
    { kDLInt, 8, "int8" },      { kDLInt, 16, "int16" },     { kDLInt, 32, "int32" },
    { kDLInt, 64, "int64" },    { kDLFloat, 16, "float16" }, { kDLFloat, 32, "float" },
    { kDLFloat, 64, "double" }, { kDLBool, 8, "bool" },      { kDLInt, 32, "int" },
    { kDLUInt, 64, "uint64" },
};
enum { N_TYPES = sizeof types / sizeof *types };

/* NAME:TYPExCHANNELS */
static bool read_type(const char *word, tess_typed *t)
{
    const char *colon = strchr(word, ':'), *name = colon ? colon + 1 : word;
    const size_t n = strcspn(name, "x");
    char *end;
    *t = (tess_typed){ .channels = 1 };
    if (name[n]) {
        const long channels = strtol(name + n + 1, &end, 10);
        if (end == name + n + 1 || *end || channels < 1 || channels > 64)
            return false;
        t->channels = (int)channels;
    }
    for (size_t i = 0; i < N_TYPES; i++)
        if (strlen(types[i].name) == n && strncmp(types[i].name, name, n) == 0)
            t->dtype = (DLDataType){ types[i].code, types[i].bits, 1 };
    return t->dtype.bits && colon != word;
}

bool cli_add_type(CommandLine *line, const char *word)
{
    tess_typed *t = &line->types[line->n_types];
    const char *colon = strchr(word, ':');
    if (!read_type(word, t))
        return false;
    t->name = colon ? strndup(word, (size_t)(colon - word)) : NULL;
    if (colon && !t->name)
        return false;
    line->n_types++;
    return true;
}

bool cli_is_open(const tess_program *p)
{
    tess_info info = { .struct_size = sizeof info };
    for (size_t i = 0; i < tess_program_inputs(p); i++)
        if (tess_program_input(p, i, &info) == TESS_OK && info.is_any)
            return true;
    return false;
}

static bool has_image(const tess_program *p, const char *name)
{
    tess_info info = { .struct_size = sizeof info };
    for (size_t i = 0; i < tess_program_inputs(p); i++)
        if (tess_program_input(p, i, &info) == TESS_OK && strcmp(info.name, name) == 0)
            return info.kind == TESS_IMAGE || info.kind == TESS_MASK;
    return false;
}

bool cli_check_types(const CommandLine *line, const tess_program *p)
{
    for (size_t i = 0; i < line->n_types; i++)
        if (line->types[i].name && !has_image(p, line->types[i].name))
            return cli_fail("--type=%s:..: the program has no image '%s'", line->types[i].name,
                            line->types[i].name),
                   false;
    return true;
}

bool cli_instantiate(const CommandLine *line, tess_program **p, const Inputs *in)
{
    tess_typed *typed = calloc(in->n + 1, sizeof *typed);
    size_t n = 0;
    if (!typed)
        return cli_fail("out of memory"), false;
    for (size_t i = 0; i < in->n; i++) {
        tess_info info = { .struct_size = sizeof info };
        tess_program_input(*p, i, &info);
        const DLTensor *t = in->images[i];
        if (!info.is_any || !t)
            continue;
        const bool has_channels = t->ndim == info.ndim + 1 && !line->each_channel;
        typed[n++] =
            (tess_typed){ info.name, t->dtype, has_channels ? (int)t->shape[t->ndim - 1] : 1 };
    }
    tess_program *instance = NULL;
    tess_diags *diags = NULL;
    const tess_status status = tess_program_instance(*p, typed, n, &instance, &diags);
    if (diags)
        cli_show_diagnostics(line, diags, !line->quiet);
    if (status != TESS_OK && (!diags || !tess_diags_errors(diags)))
        cli_fail("%s",
                 status == TESS_ERROR_ARGUMENT ? tess_program_error(*p) : tess_status_text(status));
    tess_diags_free(diags);
    free(typed);
    *p = instance ? instance : *p;
    return instance != NULL;
}
