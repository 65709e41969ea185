/* --nodata: which value of an input says that there is none: as given, or as its file says. Results that are not valid
 * everywhere hold it, and their files say so. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/batch.h"

enum { NAME_SIZE = 40, TEXT_SIZE = 400 };

static bool is_same(double a, double b)
{
    return a == b || (isnan(a) && isnan(b));
}

/* VALUE, NAME=VALUE, or nothing: what the file says. Of several for one image the last counts. */
bool cli_add_nodata(CommandLine *line, const char *word)
{
    if (!word) {
        line->nodata_of_files = true;
        return true;
    }
    const size_t length = cli_name_length(word);
    tess_constant n = { .value = 0 };
    if (!cli_parse_number(length ? word + length + 1 : word, &n.value))
        return false;
    for (size_t i = 0; i < line->nodata.n; i++) {
        tess_constant *before = &line->nodata.at[i];
        const bool same = length ? before->name && strncmp(before->name, word, length) == 0
                                       && before->name[length] == 0
                                 : !before->name;
        if (!same)
            continue;
        if (!is_same(before->value, n.value))
            cli_warn("--nodata=%s comes behind another one, of %g, and counts; a program can leave "
                     "out several values: a:valid(a != 1 & a != 2)",
                     word, before->value);
        before->value = n.value;
        return true;
    }
    n.name = length ? strndup(word, length) : NULL;
    line->nodata.at[line->nodata.n++] = n;
    return !length || n.name;
}

void cli_nodata_free(Nodata *nodata)
{
    for (size_t i = 0; i < nodata->n; i++)
        free((char *)nodata->at[i].name);
    free(nodata->at);
    *nodata = (Nodata){ 0 };
}

static bool input_info(const tess_program *p, size_t i, tess_info *info)
{
    info->struct_size = sizeof *info;
    return tess_program_input(p, i, info) == TESS_OK;
}

/* The element type has that value. */
static bool is_element(DLDataType type, double value)
{
    if (type.code == kDLFloat)
        return true;
    if (type.code == kDLBool)
        return value == 0 || value == 1;
    const int bits = type.bits - (type.code == kDLInt);
    return floor(value) == value && value < ldexp(1, bits)
           && value >= (type.code == kDLInt ? -ldexp(1, bits) : 0);
}

static void type_text(DLDataType type, char *text, size_t size)
{
    if (type.code == kDLBool)
        snprintf(text, size, "bool");
    else
        snprintf(text, size, "%s%d",
                 type.code == kDLFloat  ? "float"
                 : type.code == kDLUInt ? "uint"
                                        : "int",
                 type.bits);
}

/* Values that no element has would leave nothing out, in silence. */
static bool check_one(const tess_program *p, const tess_constant *n)
{
    char type[16] = "";
    bool found = false;
    for (size_t i = 0; i < tess_program_inputs(p); i++) {
        tess_info info;
        if (!input_info(p, i, &info) || info.kind != TESS_IMAGE
            || (n->name && strcmp(n->name, info.name) != 0))
            continue;
        if (info.is_any || is_element(info.dtype, n->value))
            return true;
        type_text(info.dtype, type, sizeof type);
        found = true;
    }
    if (!found)
        cli_fail("--nodata: the program has no image%s%s%s", n->name ? " '" : " among its inputs",
                 n->name ? n->name : "", n->name ? "'" : "");
    else
        cli_fail("--nodata=%s%s%g: no element of the image can be that, they are %s",
                 n->name ? n->name : "", n->name ? "=" : "", n->value, type);
    return false;
}

bool cli_check_nodata(const Nodata *nodata, const tess_program *p)
{
    for (size_t i = 0; i < nodata->n; i++)
        if (!check_one(p, &nodata->at[i]))
            return false;
    return true;
}

void cli_say_nodata(const Nodata *nodata, const tess_program *p)
{
    for (size_t i = 0; nodata->n && i < tess_program_outputs(p); i++) {
        char type[16];
        tess_info info = { .struct_size = sizeof info };
        if (tess_program_output(p, i, &info) != TESS_OK || !info.has_nodata || info.is_any
            || is_element(info.dtype, nodata->at[0].value))
            continue;
        type_text(info.dtype, type, sizeof type);
        cli_tell("%s: where it is not valid it is %g, as %s has no %g", info.name, info.nodata,
                 type, nodata->at[0].value);
    }
}

/* ---- As files say ----------------------------------------------------------------------------- */
static bool value_of(const tess_meta *meta, double *value)
{
    char name[NAME_SIZE], text[TEXT_SIZE];
    for (size_t i = 0; tess_meta_item(meta, i, name, sizeof name, text, sizeof text) == TESS_OK;
         i++) {
        char *end;
        if (strcmp(name, "GDALNoData") != 0)
            continue;
        *value = strtod(text, &end);
        return end != text;
    }
    return false;
}

/* Whether the file says a value; where it cannot be read, that is said, or with `quiet` left to who reads it. */
static bool value_of_file(const CommandLine *line, const char *path, bool quiet, double *value,
                          bool *has)
{
    char error[600] = "";
    *has = false;
    if (strchr(path, ':') && access(path, F_OK) != 0)
        return true; /* a pseudo-input, as ramp:2x3 */
    tess_image_facts facts = { .struct_size = sizeof facts };
    if (tess_image_look(path, line->page, &facts, error, sizeof error) != TESS_OK) {
        if (!quiet)
            cli_fail_about(path, error, "");
        return quiet;
    }
    *has = facts.meta && value_of(facts.meta, value); /* a video has none */
    tess_meta_free(facts.meta);
    return true;
}

static bool add(Nodata *nodata, const char *name, double value)
{
    tess_constant *n = &nodata->at[nodata->n];
    *n = (tess_constant){ name ? strdup(name) : NULL, value };
    nodata->n++;
    return !name || n->name || (cli_fail("out of memory"), false);
}

/* The value that the line gives for the image; NULL: none. */
static const tess_constant *given_for(const CommandLine *line, const char *name, bool by_name)
{
    const tess_constant *found = NULL;
    for (size_t i = 0; i < line->nodata.n; i++) {
        const tess_constant *n = &line->nodata.at[i];
        if (n->name ? strcmp(n->name, name) == 0 : !by_name && !found)
            found = n;
    }
    return found;
}

/* What the file of one word says; what the line says of the image by name comes first. */
static bool find_one(const CommandLine *line, const char *path, const char *name, Nodata *found)
{
    double value;
    bool has = false;
    if (given_for(line, name, true))
        return true;
    if (strcmp(path, "-") == 0)
        return cli_fail("--nodata needs a value for standard input, which is read once: "
                        "--nodata=VALUE"),
               false;
    return value_of_file(line, path, false, &value, &has) && (!has || add(found, name, value));
}

/* What the first files say that say something; *first is the first that was asked. */
static bool find_of_words(const CommandLine *line, const tess_program *p, Nodata *found,
                          const char **first)
{
    size_t *input = calloc(line->n_words + 1, sizeof *input);
    bool ok = input ? cli_place_words(line, p, input) : (cli_fail("out of memory"), false);
    for (size_t i = 0; ok && i < line->n_words; i++) {
        tess_info info;
        const char *path = cli_word_value(line->words[i]);
        if (!input_info(p, input[i], &info) || info.kind != TESS_IMAGE)
            continue;
        *first = *first ? *first : path;
        ok = find_one(line, path, info.name, found);
    }
    free(input);
    return ok;
}

/* Of inputs whose files vary the first one speaks that can be read and has a value; the program is compiled for it, and
 * files that say another fail when their turn comes. */
static bool find_of_batch(const CommandLine *line, const tess_program *p, Nodata *found)
{
    Batch b;
    tess_info info;
    bool ok = cli_batch_open(line, p, &b) == EXIT_OK;
    for (size_t i = 0; ok && i < tess_program_inputs(p); i++)
        if (b.shared[i] && input_info(p, i, &info) && info.kind == TESS_IMAGE)
            ok = find_one(line, b.shared[i], info.name, found);
    for (size_t k = 0; ok && k < b.n_inputs; k++) {
        double value;
        bool has = false;
        if (!input_info(p, b.input[k], &info) || info.kind != TESS_IMAGE
            || given_for(line, info.name, true))
            continue;
        for (size_t i = 0; i < b.n && !has; i++)
            value_of_file(line, b.items[i].files[k], true, &value, &has);
        ok = !has || add(found, info.name, value);
    }
    cli_batch_free(line, &b);
    return ok;
}

bool cli_find_nodata(const CommandLine *line, const tess_program *p, Nodata *found)
{
    const char *first = NULL;
    *found = (Nodata){
        calloc(line->nodata.n + line->n_words + tess_program_inputs(p) + 1, sizeof *found->at), 0
    };
    bool ok = found->at || (cli_fail("out of memory"), false);
    for (size_t i = 0; ok && i < line->nodata.n; i++)
        ok = add(found, line->nodata.at[i].name, line->nodata.at[i].value);
    const bool is_batch = cli_is_batch(line);
    ok = ok && (is_batch ? find_of_batch(line, p, found) : find_of_words(line, p, found, &first));
    if (ok && !found->n && is_batch)
        ok = (cli_fail("no file says which value is no data: --nodata=VALUE does"), false);
    else if (ok && !found->n && first)
        ok =
            (cli_fail("%s does not say which value is no data: --nodata=VALUE does", first), false);
    else if (ok && !found->n)
        ok = (cli_fail("--nodata needs a file that says it, or a value: --nodata=VALUE"), false);
    if (!ok)
        cli_nodata_free(found);
    return ok;
}

bool cli_same_nodata(const Nodata *found, const tess_program *p, const Inputs *in, size_t input,
                     const char *path)
{
    tess_info info;
    double value;
    const tess_constant *other = NULL;
    if (!input_info(p, input, &info))
        return true;
    const bool says = value_of(in->meta[input], &value);
    for (size_t i = 0; i < found->n; i++) {
        const tess_constant *n = &found->at[i];
        if (n->name && strcmp(n->name, info.name) != 0)
            continue;
        if (!n->name || (says && is_same(n->value, value)))
            return true;
        other = n;
    }
    if (other && says)
        cli_fail("%s: its no-data value is %g, and that of the others %g; run it by itself", path,
                 value, other->value);
    else if (other)
        cli_fail("%s does not say which value is no data, as the others do: --nodata=VALUE does",
                 path);
    return !other;
}

void cli_say_doubts(const CommandLine *line, const tess_meta *meta, const tess_info *info,
                    const char *path)
{
    const char *doubt;
    double value;
    if (line->quiet || !meta)
        return;
    for (size_t i = 0; (doubt = tess_meta_doubt(meta, i)) != NULL; i++)
        cli_warn("%s: %s", path, doubt);
    const tess_constant *given = given_for(line, info->name, line->nodata_of_files);
    if (info->kind == TESS_IMAGE && given && value_of(meta, &value)
        && !is_same(value, given->value))
        cli_warn("%s: its no-data value is %g (GDAL_NODATA), and --nodata=%g counts", path, value,
                 given->value);
}

/* ---- What is left ----------------------------------------------------------------------------- */
static double element(const DLTensor *t, size_t i)
{
    const char *data = (const char *)t->data + t->byte_offset;
    switch (t->dtype.code) {
    case kDLFloat:
        return t->dtype.bits == 64   ? ((const double *)(const void *)data)[i]
               : t->dtype.bits == 32 ? (double)((const float *)(const void *)data)[i]
                                     : 0;
    case kDLUInt:
        return t->dtype.bits == 8    ? ((const uint8_t *)data)[i]
               : t->dtype.bits == 16 ? ((const uint16_t *)(const void *)data)[i]
               : t->dtype.bits == 32 ? ((const uint32_t *)(const void *)data)[i]
                                     : (double)((const uint64_t *)(const void *)data)[i];
    case kDLInt:
        return t->dtype.bits == 8    ? ((const int8_t *)data)[i]
               : t->dtype.bits == 16 ? ((const int16_t *)(const void *)data)[i]
               : t->dtype.bits == 32 ? ((const int32_t *)(const void *)data)[i]
                                     : (double)((const int64_t *)(const void *)data)[i];
    default: return ((const uint8_t *)data)[i];
    }
}

/* Whether some element is another one than the value. Halves are not looked at. */
static bool has_other(const DLTensor *t, double value)
{
    size_t n = 1;
    for (int d = 0; d < t->ndim; d++)
        n *= (size_t)t->shape[d];
    if (t->dtype.code == kDLFloat && t->dtype.bits == 16)
        return true;
    if (t->dtype.code == kDLFloat && t->dtype.bits == 32)
        value = (double)(float)value;
    for (size_t i = 0; i < n; i++) {
        const double x = element(t, i);
        if (isnan(value) ? !isnan(x) : x != value)
            return true;
    }
    return n == 0;
}

static bool none_is_valid(const DLTensor *t, double value, const char *path)
{
    if (has_other(t, value))
        return false;
    cli_fail("%s: no pixel is valid: all are the no-data value %g", path, value);
    return true;
}

bool cli_check_valid(const CommandLine *line, const Inputs *in, size_t input, const tess_info *info,
                     const char *path)
{
    const DLTensor *t = in->images[input];
    double value;
    if (info->kind == TESS_MASK && !has_other(t, 0))
        return cli_fail("%s: the mask has no point: all of its coefficients are 0", path), false;
    if (info->kind != TESS_IMAGE)
        return true;
    for (size_t i = 0; i < line->nodata.n; i++) {
        const tess_constant *n = &line->nodata.at[i];
        if ((!n->name || strcmp(n->name, info->name) == 0) && none_is_valid(t, n->value, path))
            return false;
    }
    return !line->nodata_of_files || !value_of(in->meta[input], &value)
           || !none_is_valid(t, value, path);
}

bool cli_nothing_valid(const tess_info *result, const DLTensor *t)
{
    return result->has_nodata && !has_other(t, result->nodata);
}

void cli_add_result_nodata(const CommandLine *line, const tess_info *result,
                           tess_image_store *store)
{
    if (!line->nodata.n && !line->nodata_of_files && !result->has_nodata)
        return;
    store->nodata_is = result->has_nodata ? TESS_NODATA_VALUE : TESS_NODATA_NONE;
    store->nodata = result->nodata;
}
