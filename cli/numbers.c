/* Results that are numbers: lines "NAME VALUE" on standard output, or with --json an object. Of a batch each line
 * begins with the file that it is about. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"

static bool is_number(const tess_program *p, size_t result)
{
    tess_info info = { .struct_size = sizeof info };
    return tess_program_output(p, result, &info) == TESS_OK && info.is_number;
}

size_t cli_n_numbers(const tess_program *p)
{
    size_t n = 0;
    for (size_t i = 0; i < tess_program_outputs(p); i++)
        n += is_number(p, i);
    return n;
}

size_t cli_output_of(const CommandLine *line, const tess_program *p, size_t result)
{
    if (line->n_outputs == tess_program_outputs(p)) /* one for each */
        return is_number(p, result) && strcmp(line->outputs[result], "-") == 0 ? SIZE_MAX : result;
    if (is_number(p, result))
        return SIZE_MAX;
    size_t before = 0;
    for (size_t i = 0; i < result; i++)
        before += !is_number(p, i);
    return before;
}

/* ---- Texts ------------------------------------------------------------------------------------ */

/* JSON has no words for what is not finite. */
static void add_value(bool json, char **text, DLDataType type, const void *element)
{
    char value[64];
    tess_element_text(type, element, value, sizeof value);
    const bool finite = !strpbrk(value, "in") || type.code != kDLFloat;
    cli_append(text, json && !finite ? "null" : value);
}

/* The values of one name: one, or with --each-channel one for each. */
static void add_entry(bool json, char **text, const char *name, const char *field, DLDataType type,
                      const char *at, int64_t n)
{
    char full[300];
    snprintf(full, sizeof full, "%s%s%s", name, *field ? "." : "", field);
    if (json) {
        cli_append(text, *text ? ", " : "");
        cli_append_json(text, full);
        cli_append(text, n > 1 ? ": [" : ": ");
    } else {
        cli_append(text, full);
        cli_append(text, " ");
    }
    for (int64_t i = 0; i < n; i++, at += type.bits / 8u) {
        cli_append(text, i == 0 ? "" : json ? ", " : " ");
        add_value(json, text, type, at);
    }
    cli_append(text, json ? (n > 1 ? "]" : "") : "\n");
}

void cli_add_number(const CommandLine *line, const tess_info *info, const DLTensor *t, char **text)
{
    const char *at = (const char *)t->data + t->byte_offset;
    if (!info->is_struct) {
        const int64_t n = t->ndim > info->ndim ? t->shape[info->ndim] : 1;
        add_entry(line->json, text, info->label, "", info->dtype, at, n);
        return;
    }
    for (int c = 0; c < info->n_channels; c++) {
        const DLDataType type = info->channel_types ? info->channel_types[c] : info->dtype;
        add_entry(line->json, text, info->label, info->channel_names[c], type, at, 1);
        at += type.bits / 8u;
    }
}

void cli_print_numbers(const CommandLine *line, char *numbers)
{
    char *text = NULL;
    const char *file = cli_collecting();
    if (line->json) {
        cli_append(&text, "{");
        if (file) {
            cli_append_json(&text, "file");
            cli_append(&text, ": ");
            cli_append_json(&text, file);
            cli_append(&text, ", ");
        }
        cli_append(&text, numbers);
        cli_append(&text, "}\n");
    } else {
        for (char *entry = numbers, *end; *entry; entry = end) {
            end = entry + strcspn(entry, "\n");
            end += *end == '\n';
            if (file) {
                cli_append(&text, file);
                cli_append(&text, ": ");
            }
            const char kept = *end;
            *end = '\0';
            cli_append(&text, entry);
            *end = kept;
        }
    }
    if (text)
        cli_show(text);
    free(text);
}
