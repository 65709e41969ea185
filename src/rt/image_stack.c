/* Descriptions of stacks: lines `name=value` of ImageJ, the element Pixels of OME-XML. */
#include "rt/image_stack.h"
#include "rt/meta_ifd.h"
#include "tessera.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- Reading ---- */

static bool is_imagej(const char *text)
{
    return strncmp(text, "ImageJ=", 7) == 0;
}

/* What stands behind `name` at the beginning of a line of ImageJ's; NULL when there is none. */
static const char *imagej_value(const char *text, const char *name)
{
    const size_t n = strlen(name);
    for (const char *line = is_imagej(text) ? text : NULL; line;
         line = strchr(line, '\n') ? strchr(line, '\n') + 1 : NULL)
        if (strncmp(line, name, n) == 0 && line[n] == '=')
            return line + n + 1;
    return NULL;
}

static int64_t imagej_number(const char *text, const char *name, int64_t other)
{
    const char *value = imagej_value(text, name);
    return value ? atoll(value) : other;
}

/* The value of an attribute of the element at `element`: its length is *n. */
static const char *attribute(const char *element, const char *name, size_t *n)
{
    const char *end = strchr(element, '>');
    const size_t length = strlen(name);
    for (const char *s = element; end && (s = strstr(s, name)) != NULL && s < end; s += length) {
        const char quote = s[length] == '=' ? s[length + 1] : 0;
        const char *close = quote == '"' || quote == '\'' ? strchr(s + length + 2, quote) : NULL;
        if ((s[-1] == ' ' || s[-1] == '\n' || s[-1] == '\t') && close && close < end) {
            *n = (size_t)(close - (s + length + 2));
            return s + length + 2;
        }
    }
    return NULL;
}

static int64_t ome_number(const char *pixels, const char *name)
{
    size_t n;
    const char *value = attribute(pixels, name, &n);
    return value ? atoll(value) : 0;
}

static const char *pixels_of(const char *text)
{
    return strstr(text, "<OME") ? strstr(text, "<Pixels ") : NULL;
}

static bool read_axes(const char *text, int samples, StackAxes *a)
{
    const char *pixels = pixels_of(text);
    memcpy(a->order, "CZT", 4);
    if (is_imagej(text)) {
        const int64_t images = imagej_number(text, "images", 1);
        a->who = "ImageJ";
        a->n[AXIS_C] = imagej_number(text, "channels", 1);
        a->n[AXIS_T] = imagej_number(text, "frames", 1);
        a->n[AXIS_Z] = imagej_number(text, "slices", 0);
        if (a->n[AXIS_Z] == 0) /* a plain stack */
            a->n[AXIS_Z] = a->n[AXIS_C] == 1 && a->n[AXIS_T] == 1 ? images : 1;
        return true;
    }
    size_t n = 0;
    const char *order = pixels ? attribute(pixels, "DimensionOrder", &n) : NULL;
    if (!order || n != 5 || strncmp(order, "XY", 2) != 0)
        return false;
    a->who = "OME";
    memcpy(a->order, order + 2, 3);
    a->n[AXIS_Z] = ome_number(pixels, "SizeZ");
    a->n[AXIS_C] = ome_number(pixels, "SizeC") / (samples > 0 ? samples : 1);
    a->n[AXIS_T] = ome_number(pixels, "SizeT");
    return true;
}

bool tessi_stack_axes(const char *description, int64_t pages, int samples, StackAxes *a, Failure *f)
{
    *a = (StackAxes){ .who = NULL };
    if (!read_axes(description, samples, a))
        return true;
    int64_t all = 1;
    bool fits = true;
    for (int k = 0; k < 3; k++)
        fits = fits && a->n[k] > 0 && tessi_mul_i64(all, a->n[k], &all);
    for (const char *s = "ZCT"; *s; s++)
        fits = fits && strchr(a->order, *s);
    if (fits && all == pages)
        return true;
    return tessi_failf(f, TESS_ERROR_FILE,
                       "its %s description speaks of %" PRId64 " x %" PRId64 " x %" PRId64
                       " pages (Z, channels, T), and it has %" PRId64 "; one of them can be read",
                       a->who, a->n[AXIS_Z], a->n[AXIS_C], a->n[AXIS_T], pages);
}

int64_t tessi_stack_page(const StackAxes *a, int64_t z, int64_t c, int64_t t)
{
    int64_t page = 0, step = 1;
    for (int k = 0; k < 3; k++) {
        const int axis = a->order[k] == 'Z' ? AXIS_Z : a->order[k] == 'C' ? AXIS_C : AXIS_T;
        page += step * (axis == AXIS_Z ? z : axis == AXIS_C ? c : t);
        step *= a->n[axis];
    }
    return page;
}

/* ---- Writing ---- */

static void add_text(RtBytes *out, const char *s)
{
    tessi_bytes_add(out, s, strlen(s));
}

/* What the pages of a result with fewer dimensions than the picture are: the axis that has as many, Z in doubt. */
static int axis_left(const StackAxes *was, int64_t pages)
{
    const int other = was->n[AXIS_C] == pages ? AXIS_T : AXIS_C,
              axis = other == AXIS_T ? AXIS_C : AXIS_T;
    const bool lost = was->n[AXIS_Z] > 1 || was->n[other] > 1;
    return lost && was->n[axis] == pages && was->n[AXIS_Z] != pages && was->n[other] != pages
               ? axis
               : AXIS_Z;
}

/* The arrangement of what is written: of two dimensions before rows T and Z, or channels in place of the one of these
 * that the picture has not; of one that of the picture, where it has as many pages. */
static StackAxes axes_of(const char *text, const ImageRows *r)
{
    StackAxes a;
    const RtView *v = r->view;
    if (text && r->row_begin < 3 && tessi_stack_axes(text, r->pages, r->channels, &a, NULL)
        && a.who)
        return a;
    StackAxes was = { .who = NULL };
    const bool channels = text && r->row_begin == 3 && r->channels == 1 && read_axes(text, 1, &was)
                          && was.n[AXIS_C] > 1;
    const int inner = channels && was.n[AXIS_Z] <= 1 ? AXIS_C : AXIS_Z;
    const int outer = channels && was.n[AXIS_Z] > 1 && was.n[AXIS_T] <= 1 ? AXIS_C : AXIS_T;
    a = (StackAxes){ .n = { r->pages, 1, 1 }, .order = "ZCT" };
    if (r->row_begin == 2 && r->channels == 1 && text && read_axes(text, 1, &was)) {
        a.n[AXIS_Z] = 1;
        a.n[axis_left(&was, r->pages)] = r->pages;
    }
    if (r->row_begin == 3) {
        a.n[AXIS_Z] = 1;
        a.n[inner] = v->shape[1];
        a.n[outer] = v->shape[0];
    }
    return a;
}

static void describe_imagej(const char *text, const ImageRows *r, RtBytes *out)
{
    static const char *const ours[] = { "ImageJ",     "images", "channels", "slices", "frames",
                                        "hyperstack", "mode",   "min",      "max" };
    const StackAxes a = axes_of(text, r);
    tessi_bytes_addf(out, "ImageJ=1.11a\nimages=%" PRId64 "\n", r->pages);
    if (a.n[AXIS_C] > 1)
        tessi_bytes_addf(out, "channels=%" PRId64 "\n", a.n[AXIS_C]);
    if (a.n[AXIS_Z] > 1)
        tessi_bytes_addf(out, "slices=%" PRId64 "\n", a.n[AXIS_Z]);
    if (a.n[AXIS_T] > 1)
        tessi_bytes_addf(out, "frames=%" PRId64 "\n", a.n[AXIS_T]);
    if (a.n[AXIS_C] > 1 || (a.n[AXIS_Z] > 1 && a.n[AXIS_T] > 1))
        add_text(out, "hyperstack=true\n");
    for (const char *line = text;
         line && *line;) { /* what else it says, but for ranges of values */
        const size_t n = strcspn(line, "\n");
        bool told = n == 0;
        for (size_t k = 0; k < sizeof ours / sizeof *ours; k++)
            told =
                told
                || (strncmp(line, ours[k], strlen(ours[k])) == 0 && line[strlen(ours[k])] == '=');
        if (!told) {
            tessi_bytes_add(out, line, n);
            add_text(out, "\n");
        }
        line += n + (line[n] == '\n');
    }
}

/* What OME calls the types of elements; NULL: it has no name for them. */
static const char *ome_type(ScalarType t)
{
    static const char *const names[N_TYPES] = {
        [TYPE_BOOL] = "bit",   [TYPE_I8] = "int8",    [TYPE_U8] = "uint8",
        [TYPE_I16] = "int16",  [TYPE_U16] = "uint16", [TYPE_I32] = "int32",
        [TYPE_U32] = "uint32", [TYPE_F32] = "float",  [TYPE_F64] = "double"
    };
    return names[t];
}

/* The attributes of Pixels that are others now; the rest of the element stays. */
static void add_pixels(const char *pixels, const ImageRows *r, const StackAxes *a, RtBytes *out)
{
    static const char *const ours[] = { "DimensionOrder",  "Type",       "SizeX", "SizeY",
                                        "SizeZ",           "SizeC",      "SizeT", "BigEndian",
                                        "SignificantBits", "Interleaved" };
    add_text(out, "<Pixels");
    for (const char *s = pixels ? pixels + 7 : ">"; *s && *s != '>' && *s != '/';) {
        s += strspn(s, " \t\r\n");
        const size_t name = strcspn(s, "=>/ ");
        const char quote = s[name] == '=' ? s[name + 1] : 0;
        const char *end = quote ? strchr(s + name + 2, quote) : NULL;
        if (!end)
            break;
        bool told = false;
        for (size_t k = 0; k < sizeof ours / sizeof *ours; k++)
            told = told || (strlen(ours[k]) == name && strncmp(s, ours[k], name) == 0);
        if (!told) {
            add_text(out, " ");
            tessi_bytes_add(out, s, (size_t)(end + 1 - s));
        }
        s = end + 1;
    }
    if (!pixels)
        add_text(out, " ID=\"Pixels:0\"");
    tessi_bytes_addf(out,
                     " DimensionOrder=\"XY%s\" Type=\"%s\" SizeX=\"%" PRId64 "\" SizeY=\"%" PRId64
                     "\" SizeZ=\"%" PRId64 "\" SizeC=\"%" PRId64 "\" SizeT=\"%" PRId64 "\">",
                     a->order, ome_type(r->type), r->width, r->height, a->n[AXIS_Z],
                     a->n[AXIS_C] * r->channels, a->n[AXIS_T]);
}

/* Elements of this name inside Pixels, one after the other. */
static const char *skip_element(const char *s, const char *name)
{
    char open[24], close[24];
    snprintf(open, sizeof open, "<%s", name);
    snprintf(close, sizeof close, "</%s>", name);
    const size_t n = strlen(open);
    if (strncmp(s, open, n) != 0 || (s[n] != ' ' && s[n] != '/' && s[n] != '>'))
        return s;
    const char *end = strchr(s, '>');
    if (end && end[-1] != '/')
        end = strstr(s, close) ? strstr(s, close) + strlen(close) - 1 : NULL;
    return end ? end + 1 : s;
}

static int64_t count(const char *s, const char *end, const char *word)
{
    int64_t n = 0;
    for (; (s = strstr(s, word)) != NULL && s < end; s++)
        n++;
    return n;
}

/* What is inside Pixels, without the places of pixels in files; channels only where there are as many as before. */
static void add_inside(const char *s, const char *end, const ImageRows *r, const StackAxes *a,
                       RtBytes *out)
{
    const bool keep = r->channels == 1 && count(s, end, "<Channel ") == a->n[AXIS_C];
    for (int64_t c = 0; !keep && c < a->n[AXIS_C]; c++)
        tessi_bytes_addf(out, "<Channel ID=\"Channel:0:%" PRId64 "\" SamplesPerPixel=\"%d\"/>", c,
                         r->channels);
    bool placed = keep ? false : (add_text(out, "<TiffData/>"), true);
    while (s < end) {
        const char *next = skip_element(s, "TiffData");
        if (next != s && !placed) {
            add_text(out, "<TiffData/>");
            placed = true;
        }
        if (next == s && !keep)
            next = skip_element(s, "Channel");
        if (next == s && (next = skip_element(s, "Plane")) == s)
            tessi_bytes_add(out, next++, 1);
        s = next;
    }
    if (!placed)
        add_text(out, "<TiffData/>");
}

static void describe_ome(const char *text, const ImageRows *r, RtBytes *out)
{
    const char *pixels = text ? pixels_of(text) : NULL, *open = pixels ? strchr(pixels, '>') : NULL,
               *close = open ? strstr(open, "</Pixels>") : NULL;
    const StackAxes a = axes_of(text, r);
    if (!ome_type(r->type))
        return;
    if (!close) {
        add_text(out, "<?xml version=\"1.0\" encoding=\"UTF-8\"?><OME "
                      "xmlns=\"http://www.openmicroscopy.org/Schemas/OME/"
                      "2016-06\"><Image ID=\"Image:0\">");
        add_pixels(NULL, r, &a, out);
        add_inside("", "", r, &a, out);
        add_text(out, "</Pixels></Image></OME>");
        return;
    }
    tessi_bytes_add(out, text, (size_t)(pixels - text));
    add_pixels(pixels, r, &a, out);
    add_inside(open + 1, close, r, &a, out);
    add_text(out, "</Pixels></Image>"); /* other images are not in this file */
    add_text(out, "</OME>");
}

void tessi_stack_describe(const char *text, const ImageRows *r, RtBytes *out)
{
    if ((text && pixels_of(text)) || r->ome)
        describe_ome(text, r, out);
    else if ((text && is_imagej(text)) || (!text && r->row_begin == 3))
        describe_imagej(text, r, out);
    else if (text)
        add_text(out, text);
    if (out->n)
        tessi_bytes_add(out, "", 1);
}

/* ---- Sizes of pixels ---- */

/* The number of `old` characters that begins at `value`, inside the text, times the factor. */
static void scale_number(RtBytes *text, const char *value, size_t old, double factor)
{
    char number[40];
    if (!value || old >= sizeof number || factor == 1)
        return;
    const size_t at = (size_t)(value - (const char *)text->at), behind = text->n - at - old;
    memcpy(number, value, old);
    number[old] = 0;
    const double scaled = strtod(number, NULL) * factor;
    const size_t n = (size_t)snprintf(number, sizeof number, "%.10g", scaled);
    if (n > old && !tessi_bytes_extend(text, n - old))
        return;
    memmove(text->at + at + n, text->at + at + old, behind);
    memcpy(text->at + at, number, n);
    text->n = at + n + behind;
}

static void scale_attribute(RtBytes *text, const char *name, double factor)
{
    size_t n = 0;
    const char *pixels = pixels_of((const char *)text->at);
    const char *value = pixels ? attribute(pixels, name, &n) : NULL;
    scale_number(text, value, n, factor);
}

static void scale_line(RtBytes *text, const char *name, double factor)
{
    const char *value = imagej_value((const char *)text->at, name);
    scale_number(text, value, value ? strcspn(value, "\r\n") : 0, factor);
}

/* Factors along Z, C and T: the dimensions of a picture before its rows are those that it has, T before C before Z
 * (image_tiff.c); channels that it has as fields are none of them. */
static void outer_axes(const char *text, int n_outer, const double *outer, double by[3])
{
    static const int slow_first[3] = { AXIS_T, AXIS_C, AXIS_Z };
    StackAxes a = { .who = NULL };
    by[AXIS_Z] = by[AXIS_C] = by[AXIS_T] = 1;
    if (!read_axes(text, 1, &a))
        return;
    int n = (a.n[AXIS_T] > 1) + (a.n[AXIS_C] > 1) + (a.n[AXIS_Z] > 1);
    const bool fields = a.n[AXIS_C] > 1 && n > n_outer, both = n_outer == 2 && a.n[AXIS_C] <= 1;
    n = both ? 2 : n - fields;
    for (int k = 0, d = 0; k < 3 && n == n_outer; k++) {
        const int axis = slow_first[k];
        if (axis == AXIS_C ? a.n[axis] > 1 && !fields : both || a.n[axis] > 1)
            by[axis] = outer[d++];
    }
}

void tessi_stack_scale(RtTags *tags, double y, double x, int n_outer, const double *outer)
{
    const RtTag *t = tessi_tag_find(tags, TAG_DESCRIPTION);
    const char *was = t ? (const char *)t->data : "";
    double by[3];
    if (!is_imagej(was) && !pixels_of(was))
        return;
    outer_axes(was, n_outer, outer, by);
    RtBytes text = { 0 };
    tessi_bytes_add(&text, was, strlen(was) + 1);
    if (!text.failed) {
        scale_attribute(&text, "PhysicalSizeX", x);
        scale_attribute(&text, "PhysicalSizeY", y);
        scale_attribute(&text, "PhysicalSizeZ", by[AXIS_Z]);
        scale_attribute(&text, "TimeIncrement", by[AXIS_T]);
        scale_line(&text, "spacing", by[AXIS_Z]);
        scale_line(&text, "finterval", by[AXIS_T]);
        scale_line(&text, "fps", 1 / by[AXIS_T]);
        tessi_tag_add(tags, TAG_DESCRIPTION, 2, text.n, text.at);
    }
    tags->failed = tags->failed || text.failed;
    tessi_bytes_dispose(&text);
}
