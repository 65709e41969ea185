/* generate_analyze: sizes and types of the images of a random program. Sizes are numbers here, because the program
 * fixes its parameters; a program whose stage would be empty or large is refused, so that what is left must run. */
#include <string.h>

#include "prop/generate.h"

const char *gen_type_name(GenType t)
{
    static const char *const names[] = { "bool",   "int8",  "uint8",   "int16", "uint16", "int",
                                         "uint32", "int64", "float16", "float", "double", "any" };
    return names[t];
}

static bool uses_mask(const GenStage *s, int id)
{
    if (s->node[id].kind == NODE_CONVOLVE)
        return true;
    for (int i = 0; i < s->node[id].n_children; i++)
        if (uses_mask(s, s->node[id].child[i]))
            return true;
    return false;
}
bool gen_stage_uses_mask(const GenStage *s)
{
    for (int i = 0; i < s->n_roots; i++)
        if (uses_mask(s, s->root[i]))
            return true;
    return false;
}

enum { MAX_POINTS = 2000, MAX_SIZE = 64 };

static int floor_div(int a, int b)
{
    return a / b - (a % b != 0 && (a < 0) != (b < 0));
}
static int ceil_div(int a, int b)
{
    return -floor_div(-a, b);
}

void gen_mask_range(int size, int *lo, int *hi)
{
    *lo = -(size / 2);
    *hi = size - 1 - size / 2;
}

typedef struct Reach { /* of the reads of one argument */
    bool any;
    int lo[GEN_DIMS], hi[GEN_DIMS];
} Reach;
typedef struct Windows { /* around the place */
    const GenNode *at[4];
} Windows;

static void extend(Reach *r, int d, bool first, int lo, int hi)
{
    if (first || lo < r->lo[d])
        r->lo[d] = lo;
    if (first || hi > r->hi[d])
        r->hi[d] = hi;
}

/* Gathers the reach of every argument, and the number of operations of a point; false when a node does not fit its
 * argument. */
static bool walk(const GenProgram *p, const GenStage *s, int id, Windows w, Reach *reach,
                 double *work, double times)
{
    const GenNode *node = &s->node[id];
    *work += times;
    if (node->kind == NODE_READ || node->kind == NODE_CONVOLVE || node->kind == NODE_SIZE) {
        const GenArg *a = &s->arg[node->slot];
        const GenImage *image = &p->image[a->image];
        bool pixels = image->strukt >= 0 && a->field < 0;
        if (node->slot >= s->n_args || a->table)
            return false;
        if (node->kind == NODE_SIZE)
            return node->dim < image->n_dims;
        if (node->field >= 0 && (!pixels || node->field >= p->strukt[image->strukt].n_fields))
            return false;
        if (node->field < 0 && (node->cls == GEN_PIXEL) != pixels)
            return false;
        if (node->kind == NODE_CONVOLVE && image->n_dims != s->mask_dims)
            return false;
        Reach *r = &reach[node->slot];
        bool first = !r->any;
        r->any = true;
        for (int d = 0; d < image->n_dims; d++) {
            int lo = node->offset[d], hi = lo;
            if (node->kind == NODE_CONVOLVE) {
                gen_mask_range(s->mask_size[d], &lo, &hi);
                *work += times * s->mask_size[d] * s->mask_size[d];
                if (node->flip) {
                    int t = lo;
                    lo = -hi;
                    hi = -t;
                }
                lo *= node->dilation;
                hi *= node->dilation;
            } else if (node->coef[d]) {
                const GenNode *win = w.at[node->var_level[d]];
                if (!win || node->var[d] >= win->n_vars)
                    return false;
                int x = node->coef[d] * win->lo[node->var[d]],
                    y = node->coef[d] * win->hi[node->var[d]];
                lo += x < y ? x : y;
                hi += x < y ? y : x;
            }
            extend(r, d, first, lo, hi);
        }
        return true;
    }
    if (node->kind == NODE_WINVAR
        && (!w.at[node->level] || node->slot >= w.at[node->level]->n_vars))
        return false;
    if (node->kind == NODE_WINDOW) {
        w.at[node->level] = node;
        for (int k = 0; k < node->n_vars; k++)
            times *= node->hi[k] - node->lo[k] + 1;
    }
    if (node->kind == NODE_TABLE) {
        const GenArg *a = &s->arg[node->slot];
        if (!a->table || p->image[a->image].n_dims != node->n_children
            || p->image[a->image].strukt >= 0)
            return false;
    }
    for (int i = 0; i < node->n_children; i++)
        if (!walk(p, s, node->child[i], w, reach, work, times))
            return false;
    return true;
}

static bool usable(const GenProgram *p, int image, int before)
{
    return image >= 0 && image < before && p->image[image].valid && !p->image[image].is_scalar
           && !p->image[image].is_mask;
}

/* The image that an argument hands over: a field of a struct image is a scalar image. */
static bool arg_image(const GenProgram *p, const GenArg *a, int before, GenImage *out)
{
    if (!usable(p, a->image, before))
        return false;
    *out = p->image[a->image];
    if (a->field >= 0) {
        if (out->strukt < 0 || a->field >= p->strukt[out->strukt].n_fields)
            return false;
        out->type = out->exact_struct ? p->strukt[out->strukt].type[a->field] : GEN_UNKNOWN;
        out->strukt = -1;
    }
    return true;
}

static bool analyze_stencil(GenProgram *p, const GenStage *s, int id, GenImage *out)
{
    Reach reach[GEN_ARGS] = { 0 };
    double work = 0;
    for (int i = 0; i < s->n_args; i++) {
        GenImage image;
        if (!arg_image(p, &s->arg[i], id, &image))
            return false;
        if (image.strukt >= 0 && (s->arg[i].declared != GEN_UNKNOWN || s->arg[i].table))
            return false;
    }
    for (int i = 0; i < s->n_scalars; i++)
        if (s->scalar[i] >= GEN_INPUTS
            && !(s->scalar[i] < id && p->image[s->scalar[i]].valid
                 && p->image[s->scalar[i]].is_scalar))
            return false;
    for (int i = 0; i < s->n_roots; i++)
        if (!walk(p, s, s->root[i], (Windows){ { 0 } }, reach, &work, 1))
            return false;
    bool first = true;
    for (int i = 0; i < s->n_args; i++) { /* the smallest of the arguments' sizes */
        const GenArg *a = &s->arg[i];
        if (a->table)
            continue;
        const GenImage *image = &p->image[a->image];
        if (!first && image->n_dims != out->n_dims)
            return false;
        out->n_dims = image->n_dims;
        for (int d = 0; d < image->n_dims; d++) {
            int n = reach[i].any ? image->size[d] / a->scale[d] : image->size[d];
            if (first || n < out->size[d])
                out->size[d] = n;
        }
        first = false;
    }
    if (first)
        return false;
    for (int d = 0; d < out->n_dims; d++) { /* what rule none takes away */
        int lo = 0, hi = out->size[d] - 1;
        for (int i = 0; i < s->n_args; i++) {
            const GenArg *a = &s->arg[i];
            if (!a->table && s->declared[0] && a->rule[d] == GEN_NONE)
                return false;
            if (a->table || !reach[i].any || a->rule[d] != GEN_NONE)
                continue;
            int from = ceil_div(-reach[i].lo[d], a->scale[d]);
            int to = floor_div(p->image[a->image].size[d] - 1 - reach[i].hi[d], a->scale[d]);
            if (from > lo)
                lo = from;
            if (to < hi)
                hi = to;
            if (s->repeat != REPEAT_NONE)
                return false;
        }
        out->size[d] = hi - lo + 1;
        if (s->declared[0])
            out->size[d] = s->declared[d];
    }
    GenClass cls = s->node[s->root[0]].cls;
    out->strukt = s->strukt >= 0 ? s->strukt : -1;
    out->exact_struct = s->strukt >= 0;
    out->type = s->type != GEN_UNKNOWN ? s->type : cls == GEN_TRUTH ? GEN_BOOL : GEN_UNKNOWN;
    if (s->strukt < 0 && cls == GEN_PIXEL) {
        int found = -1;
        for (int i = 0; i < s->n_args; i++)
            if (!s->arg[i].table && s->arg[i].field < 0 && p->image[s->arg[i].image].strukt >= 0) {
                int strukt = p->image[s->arg[i].image].strukt;
                if (found >= 0 && strukt != found)
                    return false;
                found = strukt;
            }
        out->strukt = found;
        if (s->type != GEN_UNKNOWN)
            return false;
    }
    if (s->repeat != REPEAT_NONE) { /* the result must be what the first argument takes */
        const GenArg *a = &s->arg[0];
        if (a->table || a->field >= 0 || (p->image[a->image].strukt >= 0) != (out->strukt >= 0))
            return false;
        if (out->strukt < 0 && a->declared == GEN_UNKNOWN)
            return false;
        if (out->strukt >= 0 && s->strukt >= 0)
            return false;
        for (int d = 0; d < out->n_dims; d++)
            if (a->scale[d] != 1)
                return false;
    }
    double points = s->repeat != REPEAT_NONE ? s->times : 1;
    for (int d = 0; d < out->n_dims; d++)
        points *= out->size[d];
    p->work += work * points;
    return true;
}

static bool analyze_compose(GenProgram *p, const GenStage *s, int id, GenImage *out)
{
    for (int i = 0; i < s->n_args; i++) {
        const GenArg *a = &s->arg[i];
        GenImage image;
        if (a->fill) {
            if (i == 0 || out->strukt >= 0)
                return false;
            for (int d = 0; d < out->n_dims; d++)
                if (a->hi[d] + 1 > out->size[d])
                    out->size[d] = a->hi[d] + 1;
            continue;
        }
        if (!arg_image(p, a, id, &image))
            return false;
        if (i == 0) {
            *out = image;
            for (int d = 0; d < GEN_DIMS; d++)
                out->size[d] = 0;
        } else if (image.n_dims != out->n_dims || image.strukt != out->strukt
                   || (image.strukt < 0 ? image.type != out->type
                                        : !(image.exact_struct && out->exact_struct))) {
            return false; /* parts have one element type */
        }
        if (image.strukt < 0 && image.type == GEN_UNKNOWN && s->n_args > 1)
            return false;
        for (int d = 0; d < image.n_dims; d++) {
            int n = a->scaled ? image.size[d] * a->scale[d] : image.size[d] + a->lo[d];
            if (n > out->size[d])
                out->size[d] = n;
        }
    }
    return s->n_args > 0;
}

static bool analyze_stage(GenProgram *p, const GenStage *s, int id, GenImage *out)
{
    GenImage image;
    const GenArg *a = &s->arg[0];
    if (s->kind == MAKE_STENCIL)
        return analyze_stencil(p, s, id, out);
    if (s->kind == MAKE_COMPOSE)
        return analyze_compose(p, s, id, out);
    if (!arg_image(p, a, id, &image))
        return false;
    *out = image;
    switch (s->kind) {
    case MAKE_SUBDOMAIN:
        for (int d = 0; d < image.n_dims; d++) {
            int lo = a->lo[d] > 0 ? a->lo[d] : 0,
                hi = a->hi[d] < image.size[d] - 1 ? a->hi[d] : image.size[d] - 1;
            out->size[d] = hi - lo + 1;
        }
        if (s->plane) { /* that dimension is dropped */
            out->n_dims--;
            for (int d = s->plane - 1; d < out->n_dims; d++)
                out->size[d] = out->size[d + 1];
        }
        return out->n_dims > 0 && s->plane <= image.n_dims;
    case MAKE_SAMPLE:
        for (int d = 0; d < image.n_dims; d++)
            out->size[d] = image.size[d] / a->scale[d];
        return true;
    case MAKE_PLANE:
        if (image.n_dims >= GEN_DIMS)
            return false;
        out->n_dims = image.n_dims + 1;
        out->size[0] = s->plane + 1;
        for (int d = 0; d < image.n_dims; d++)
            out->size[d + 1] = image.size[d] + a->lo[d];
        return true;
    case MAKE_STRUCT:
        if (s->n_args != p->strukt[s->strukt].n_fields)
            return false;
        for (int i = 0; i < s->n_args; i++) {
            GenImage field;
            if (!arg_image(p, &s->arg[i], id, &field) || field.n_dims != image.n_dims
                || field.strukt >= 0)
                return false;
            for (int d = 0; d < image.n_dims; d++)
                if (field.size[d] != out->size[d])
                    return false; /* a run says so */
        }
        out->strukt = s->strukt;
        out->exact_struct = true;
        return true;
    case MAKE_REDUCE: out->is_scalar = true; return image.strukt < 0 && image.type != GEN_BOOL;
    case MAKE_ALONG:
        out->type = GEN_UNKNOWN;
        out->is_scalar = gen_along[s->bins].drops && image.n_dims == 1;
        if (gen_along[s->bins].drops && image.n_dims > 1)
            out->n_dims--;
        for (int d = s->plane; gen_along[s->bins].drops && d < out->n_dims; d++)
            out->size[d] = image.size[d + 1];
        return image.strukt < 0 && image.type != GEN_BOOL && s->plane < image.n_dims;
    case MAKE_HISTOGRAM:
        out->n_dims = 1;
        out->size[0] = s->bins;
        out->type = s->text ? GEN_UNKNOWN : GEN_U32;
        return image.strukt < 0 && image.type != GEN_BOOL;
    default: return false;
    }
}

static void analyze_input(const GenProgram *p, const GenInput *in, GenImage *out)
{
    *out = (GenImage){ .valid = true,
                       .is_mask = in->is_mask,
                       .exact_struct = in->strukt >= 0,
                       .n_dims = in->n_dims,
                       .strukt = in->strukt,
                       .type = in->type };
    for (int d = 0; d < in->n_dims; d++)
        out->size[d] = (in->param[d] >= 0 ? p->param[in->param[d]] * in->times[d] : 0) + in->add[d];
}

static bool sizes_fit(const GenImage *image)
{
    long points = 1;
    for (int d = 0; d < image->n_dims; d++) {
        if (image->size[d] < 1 || image->size[d] > MAX_SIZE * 8)
            return false;
        points *= image->size[d];
    }
    return points <= MAX_POINTS;
}

static bool makes_holes(const GenProgram *p, const GenStage *s)
{
    bool holes = false;
    for (int i = 0; i < s->n_args; i++)
        holes |= s->arg[i].missing || (!s->arg[i].fill && p->image[s->arg[i].image].holes);
    return holes && s->kind != MAKE_REDUCE && s->kind != MAKE_HISTOGRAM;
}

/* Combinations of one's own and recursive filters want images without holes. */
static bool takes_holes(const GenStage *s)
{
    if (s->kind != MAKE_ALONG)
        return true;
    const GenAlong *a = &gen_along[s->bins];
    return !strstr(a->before, "recursive") && !strstr(a->after, "a, b :");
}

bool gen_analyze(GenProgram *p)
{
    p->work = 0;
    for (int i = 0; i < GEN_IMAGES; i++)
        p->image[i] = (GenImage){ 0 };
    for (int i = 0; i < p->n_inputs; i++) {
        analyze_input(p, &p->input[i], &p->image[i]);
        if (!sizes_fit(&p->image[i]))
            return false;
    }
    for (int k = 0; k < p->n_stages; k++) {
        int id = GEN_INPUTS + k;
        if (!p->stage[k].alive)
            continue;
        GenImage out = { .strukt = -1, .type = GEN_UNKNOWN };
        if (!analyze_stage(p, &p->stage[k], id, &out) || (!out.is_scalar && !sizes_fit(&out)))
            return false;
        out.valid = true;
        out.holes = makes_holes(p, &p->stage[k]);
        if (out.holes && !takes_holes(&p->stage[k]))
            return false;
        p->image[id] = out;
    }
    for (int i = 0; i < p->n_results; i++)
        if (!usable(p, p->result[i], GEN_IMAGES))
            return false;
    return true;
}
