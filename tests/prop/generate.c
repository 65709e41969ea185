/* generate: from a seed to a random program. Each choice is checked at once by gen_analyze and made again when it
 * does not fit, so every program that leaves is valid. Weights are set so that rules meet: small images, wide
 * reaches, many borders. */
#include "prop/generate.h"

uint64_t gen_next(uint64_t *state)
{
    uint64_t z = (*state += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}
int gen_below(uint64_t *state, int n)
{
    return (int)(gen_next(state) % (uint64_t)n);
}
int gen_between(uint64_t *state, int lo, int hi)
{
    return lo + gen_below(state, hi - lo + 1);
}
bool gen_chance(uint64_t *state, int percent)
{
    return gen_below(state, 100) < percent;
}

static GenType some_type(uint64_t *rng)
{
    static const GenType types[] = { GEN_F32, GEN_F32, GEN_F32, GEN_F32, GEN_U8,  GEN_U8,
                                     GEN_U8,  GEN_I32, GEN_I32, GEN_F64, GEN_I16, GEN_U16,
                                     GEN_I8,  GEN_U32, GEN_I64, GEN_F16, GEN_BOOL };
    return types[gen_below(rng, 17)];
}
static GenType number_type(uint64_t *rng)
{
    GenType t = some_type(rng);
    return t == GEN_BOOL ? GEN_F32 : t;
}

static GenRule some_rule(uint64_t *rng, bool may_shrink)
{
    static const GenRule rules[] = { GEN_UNNAMED,  GEN_CLAMP, GEN_MIRROR, GEN_MIRROR,
                                     GEN_REFLECT,  GEN_WRAP,  GEN_WRAP,   GEN_CONSTANT,
                                     GEN_CONSTANT, GEN_NONE };
    return rules[gen_below(rng, may_shrink ? 10 : 9)];
}

static void choose_sizes(GenProgram *p, uint64_t *rng, int n_dims)
{
    static const int most[] = { 0, 40, 17, 7, 5 };
    p->n_params = n_dims;
    for (int d = 0; d < n_dims; d++)
        p->param[d] = gen_chance(rng, 12)   ? 1
                      : gen_chance(rng, 15) ? 2
                                            : gen_between(rng, 1, most[n_dims]);
    if (gen_chance(rng, 15)) /* rows of several vectors */
        p->param[n_dims - 1] = gen_between(rng, 20, 80);
}

static void add_input(GenProgram *p, uint64_t *rng, int n_dims)
{
    GenInput *in = &p->input[p->n_inputs];
    *in = (GenInput){ .n_dims = n_dims, .strukt = -1 };
    in->type = some_type(rng);
    if (p->n_structs && gen_chance(rng, 35))
        in->strukt = gen_below(rng, p->n_structs);
    for (int d = 0; d < n_dims; d++) {
        in->param[d] = d;
        in->times[d] = p->n_inputs && gen_chance(rng, 8) ? 2 : 1;
        in->add[d] = p->n_inputs && gen_chance(rng, 15) ? gen_between(rng, 0, 2) : 0;
    }
    p->n_inputs++;
}

static void add_small_input(GenProgram *p, uint64_t *rng, bool is_mask, int n_dims)
{
    GenInput *in = &p->input[p->n_inputs++];
    *in = (GenInput){ .n_dims = is_mask ? n_dims : 1, .strukt = -1, .is_mask = is_mask };
    in->type = is_mask ? (gen_chance(rng, 60) ? GEN_F32 : GEN_I16) : number_type(rng);
    for (int d = 0; d < in->n_dims; d++) {
        in->param[d] = -1;
        in->add[d] =
            is_mask ? (n_dims > 2 ? gen_between(rng, 0, 1) * 2 + 1 : gen_between(rng, 0, 2) * 2 + 1)
                    : gen_between(rng, 1, 9);
    }
}

/* An image to be used by a stage, later ones more often, so that chains grow long. */
static int some_image(const GenProgram *p, uint64_t *rng, int n_dims)
{
    for (int tries = 0; tries < 40; tries++) {
        int id;
        if (p->n_stages && gen_chance(rng, 70)) {
            int back = gen_chance(rng, 50) ? 1 : gen_between(rng, 1, p->n_stages);
            id = GEN_INPUTS + p->n_stages - back;
        } else {
            id = gen_below(rng, p->n_inputs);
        }
        const GenImage *image = &p->image[id];
        if (image->valid && !image->is_scalar && !image->is_mask
            && (n_dims < 0 || image->n_dims == n_dims))
            return id;
    }
    return 0;
}

static void plain_arg(const GenProgram *p, uint64_t *rng, GenArg *a, int image)
{
    *a = (GenArg){ .image = image, .field = -1, .declared = GEN_UNKNOWN };
    for (int d = 0; d < GEN_DIMS; d++) {
        a->scale[d] = 1;
        a->rule[d] = GEN_UNNAMED;
    }
    if (p->image[image].strukt >= 0 && gen_chance(rng, 30))
        a->field = gen_below(rng, p->strukt[p->image[image].strukt].n_fields);
}

static void stencil_arg(const GenProgram *p, uint64_t *rng, GenArg *a, int n_dims)
{
    plain_arg(p, rng, a, some_image(p, rng, n_dims));
    bool scalar = p->image[a->image].strukt < 0 || a->field >= 0;
    if (scalar && gen_chance(rng, 75))
        a->declared = some_type(rng);
    /* An `any` argument of unknown type would leave open whether it holds bools. */
    a->outside = gen_between(rng, 0, p->image[a->image].type == GEN_BOOL ? 1 : 9);
    a->per_dimension = gen_chance(rng, 25);
    if (scalar && a->field < 0 && gen_chance(rng, 12))
        a->missing = gen_between(rng, 1, GEN_POLICIES);
    bool shrink = gen_chance(rng, 20);
    for (int d = 0; d < GEN_DIMS; d++) {
        a->rule[d] = d && !a->per_dimension ? a->rule[0] : some_rule(rng, shrink);
        if (a->per_dimension && a->rule[d] == GEN_UNNAMED)
            a->rule[d] = GEN_CLAMP;
        if (gen_chance(rng, 8))
            a->scale[d] = gen_between(rng, 2, 3);
    }
}

static void choose_mask(GenStage *s, uint64_t *rng, int n_dims)
{
    bool shrinks = false;
    for (int i = 0; i < s->n_args; i++)
        for (int d = 0; d < GEN_DIMS; d++)
            shrinks |= s->arg[i].rule[d] == GEN_NONE;
    s->mask_dims = n_dims;
    int taps = 1;
    for (int d = 0; d < n_dims; d++) {
        s->mask_size[d] = taps >= 15 ? 1 : taps >= 5 ? 3 : gen_between(rng, 1, n_dims > 2 ? 3 : 5);
        if (shrinks && s->mask_size[d] % 2 == 0)
            s->mask_size[d]--;
        taps *= s->mask_size[d];
    }
    s->mask_real = gen_chance(rng, 40);
    s->mask_divisor = gen_chance(rng, 40) ? gen_between(rng, 2, 159) : 0;
    for (int i = 0; i < GEN_TAPS; i++) {
        int c = gen_between(rng, -4, 6);
        if (shrinks && c == 0)
            c = 1;
        s->mask[i] = s->mask_real ? c * 0.25 : c;
    }
    if (s->mask_divisor && s->mask[0] <= 0)
        s->mask[0] = 1;
    s->mask_computed = (s->mask_real || !shrinks) && gen_chance(rng, 30);
    s->konst = gen_chance(rng, 25);
    s->konst_input = gen_chance(rng, 40);
    s->konst_value = gen_between(rng, -1, 3);
}

static void stencil_stage(GenProgram *p, uint64_t *rng, GenStage *s, int n_dims)
{
    s->kind = MAKE_STENCIL;
    s->n_args = gen_chance(rng, 55) ? 1 : gen_between(rng, 1, GEN_ARGS);
    if (n_dims < 0)
        n_dims = p->image[some_image(p, rng, -1)].n_dims;
    for (int i = 0; i < s->n_args; i++)
        stencil_arg(p, rng, &s->arg[i], n_dims);
    for (int i = 1; i < s->n_args; i++) /* perhaps a lookup table */
        if (gen_chance(rng, 20)) {
            GenArg *a = &s->arg[i];
            plain_arg(p, rng, a, some_image(p, rng, gen_chance(rng, 50) ? 1 : -1));
            if ((p->image[a->image].strukt >= 0 && a->field < 0) || p->image[a->image].n_dims > 3) {
                stencil_arg(p, rng, a, n_dims);
                continue;
            }
            a->table = true;
            a->declared = gen_chance(rng, 80) ? number_type(rng) : GEN_UNKNOWN;
            a->outside = gen_between(rng, 0, p->image[a->image].type == GEN_BOOL ? 1 : 9);
            GenRule rule = some_rule(rng, false);
            for (int d = 0; d < GEN_DIMS; d++)
                a->rule[d] = rule;
        }
    for (int i = 0; i < s->n_args; i++) {
        GenArg *a = &s->arg[i];
        const GenImage *image = &p->image[a->image];
        bool scalar = image->strukt < 0 || a->field >= 0;
        if (scalar && a->declared == GEN_UNKNOWN && image->type == GEN_UNKNOWN && image->strukt < 0)
            a->declared = GEN_F32;
    }
    s->n_scalars = 0;
    for (int i = 0; i < p->n_scalars; i++)
        if (gen_chance(rng, 30)) {
            s->scalar_type[s->n_scalars] = p->scalar[i].type;
            s->scalar[s->n_scalars++] = i;
        }
    for (int k = 0; k < p->n_stages && s->n_scalars < GEN_SCALARS; k++)
        if (p->image[GEN_INPUTS + k].is_scalar && gen_chance(rng, 60)) {
            s->scalar_type[s->n_scalars] = gen_chance(rng, 60)   ? GEN_F32
                                           : gen_chance(rng, 50) ? GEN_F64
                                                                 : GEN_I32;
            s->scalar[s->n_scalars++] = GEN_INPUTS + k;
        }
    s->type = gen_chance(rng, 70) ? some_type(rng) : GEN_UNKNOWN;
    s->sat = s->type != GEN_BOOL && gen_chance(rng, 30);
    if (p->n_structs && gen_chance(rng, 15)) {
        s->strukt = gen_below(rng, p->n_structs);
        s->type = GEN_UNKNOWN;
    }
    choose_mask(s, rng, n_dims);
    s->mask_input = -1;
    for (int i = 0; i < p->n_inputs; i++)
        if (p->input[i].is_mask && p->input[i].n_dims == n_dims && gen_chance(rng, 40)) {
            s->mask_input = i;
            for (int d = 0; d < n_dims; d++)
                s->mask_size[d] = p->input[i].add[d];
        }
    const bool loops = p->seed >= GEN_LOOPS;
    if (gen_chance(rng, loops ? 70 : 15)) {
        s->repeat = loops || gen_chance(rng, 60) ? REPEAT_FOR : REPEAT_FUNCTION;
        s->times = gen_between(rng, 2, s->repeat == REPEAT_FOR ? 5 : 3);
        if (s->repeat == REPEAT_FOR && gen_chance(rng, 20))
            s->times = gen_between(rng, 20, GEN_CHAIN);
        if (s->repeat == REPEAT_FOR && !p->forma)
            gen_choose_loop(p, s, rng);
        for (int i = 0; i < s->n_args;
             i++) /* inside, images have the declared types or the result's */
            if (i == 0 || s->arg[i].declared == GEN_BOOL)
                s->arg[i].outside %= 2;
    } else if (!p->forma && gen_chance(rng, 12)) {
        for (int d = 0; d < GEN_DIMS; d++)
            s->declared[d] = gen_between(rng, 1, 24);
    }
    gen_body(p, s, rng);
}

static void compose_stage(const GenProgram *p, uint64_t *rng, GenStage *s)
{
    s->kind = MAKE_COMPOSE;
    s->n_args = gen_between(rng, 1, GEN_ARGS);
    int first = some_image(p, rng, -1), n_dims = p->image[first].n_dims;
    bool interleave = gen_chance(rng, 60);
    int along = gen_below(rng, n_dims);
    for (int i = 0; i < s->n_args; i++) {
        GenArg *a = &s->arg[i];
        plain_arg(p, rng, a, i && gen_chance(rng, 60) ? some_image(p, rng, n_dims) : first);
        a->scaled = interleave;
        for (int d = 0; d < n_dims; d++) {
            a->scale[d] = interleave && d == along ? s->n_args > 1 ? s->n_args : 2 : 1;
            a->lo[d] = interleave ? (d == along            ? i
                                     : gen_chance(rng, 10) ? gen_between(rng, -1, 1)
                                                           : 0)
                                  : gen_between(rng, 0, 3);
        }
        if (!interleave && gen_chance(rng, 30)) { /* any offset with any step, 1 included */
            a->scaled = true;
            for (int d = 0; d < n_dims; d++) {
                a->scale[d] = gen_chance(rng, 70) ? 1 : gen_between(rng, 2, 3);
                a->lo[d] = gen_between(rng, -3, 3);
            }
        }
        if (i && !interleave && !a->scaled && gen_chance(rng, 30)) {
            a->fill = true;
            a->outside = gen_between(rng, 0, 1);
            for (int d = 0; d < n_dims; d++) {
                a->lo[d] = gen_between(rng, 0, 3);
                a->hi[d] = a->lo[d] + gen_between(rng, 0, 3);
            }
        }
    }
}

static void choose_stage(GenProgram *p, uint64_t *rng, GenStage *s)
{
    *s = (GenStage){ .alive = true, .strukt = -1, .type = GEN_UNKNOWN, .mask_input = -1 };
    int kind = p->n_stages == 0 ? gen_below(rng, 15) : gen_below(rng, 20);
    if (kind < 13) {
        stencil_stage(p, rng, s, -1);
        return;
    }
    if (kind == 13 || kind == 14) {
        compose_stage(p, rng, s);
        return;
    }
    s->n_args = 1;
    GenArg *a = &s->arg[0];
    plain_arg(p, rng, a, some_image(p, rng, -1));
    const GenImage *image = &p->image[a->image];
    switch (kind) {
    case 15:
        s->kind = MAKE_SUBDOMAIN;
        for (int d = 0; d < image->n_dims; d++) {
            a->lo[d] = gen_chance(rng, 40) ? 0 : gen_below(rng, image->size[d]);
            a->hi[d] = gen_chance(rng, 40) ? 999 : a->lo[d] + gen_between(rng, 0, image->size[d]);
        }
        if (!p->forma && image->n_dims > 1 && gen_chance(rng, 40))
            s->plane = 1 + gen_below(rng, image->n_dims);
        break;
    case 16:
        s->kind = MAKE_SAMPLE;
        for (int d = 0; d < image->n_dims; d++) {
            a->scale[d] = gen_between(rng, 1, 3);
            a->lo[d] = gen_between(rng, -4, 5);
        }
        break;
    case 17:
        s->kind = gen_chance(rng, 50) ? MAKE_HISTOGRAM : MAKE_PLANE;
        s->bins = gen_between(rng, 1, 20);
        if (!p->forma && gen_chance(rng, 50)) { /* of the points by their own values */
            static const char *const by[] = {
                "total", "minimum", "mean", "count", "var", "reduce"
            };
            s->text = by[gen_below(rng, 6)];
        }
        s->plane = gen_between(rng, 0, 2);
        for (int d = 0; d < image->n_dims; d++)
            a->lo[d] = gen_between(rng, 0, 2);
        break;
    case 18:
        if (p->n_structs) {
            s->kind = MAKE_STRUCT;
            s->strukt = gen_below(rng, p->n_structs);
            s->n_args = p->strukt[s->strukt].n_fields;
            for (int i = 1; i < s->n_args; i++)
                plain_arg(p, rng, &s->arg[i], some_image(p, rng, image->n_dims));
            break;
        }
        stencil_stage(p, rng, s, -1);
        break;
    default: {
        static const char *const names[] = { "minimum", "maximum", "mean", "total", "count" };
        s->kind = !p->forma && gen_chance(rng, 60) ? MAKE_ALONG : MAKE_REDUCE;
        s->text = names[gen_below(rng, 5)];
        s->bins = gen_below(rng, GEN_ALONG);
        s->plane = gen_below(rng, image->n_dims);
        break;
    }
    }
}

const GenAlong gen_along[GEN_ALONG] = {
    { "sum(", ", ", ")", true },
    { "mean(", ", ", ")", true },
    { "maximum(", ", ", ")", true },
    { "argmin(", ", ", ")", true },
    { "std(", ", ", ")", true },
    { "reduce(", ", ", ", a, b : max(a, b) - b * 0.25, 1)", true },
    { "cumulate(", ", ", ")", false },
    { "cumulate(", ", ", ", with = min, reverse = true)", false },
    { "cumulate(", ", ", ", a, b : a * 0.5 + b, 2)", false },
    { "cumulate(", ", ", ", a, b : min(a + 1, b), 9, reverse = true)", false },
    { "recursive(", ":clamp, ", ", 0.5, 0.25, -0.125)", false },
    { "recursive(", ":constant(1), ", ", 0.25, 0.75, reverse = true)", false },
};

static void choose_header(GenProgram *p, uint64_t *rng)
{
    static const int dims[] = { 2, 2, 2, 2, 2, 1, 1, 3, 3, 4 };
    int n_dims = dims[gen_below(rng, 10)];
    p->border = gen_chance(rng, 30) ? (GenRule)gen_below(rng, GEN_NONE) : GEN_UNNAMED;
    p->outside = gen_between(rng, 0, 1); /* fits every type */
    p->n_structs = gen_chance(rng, 35) ? gen_between(rng, 1, GEN_STRUCTS) : 0;
    for (int i = 0; i < p->n_structs; i++) {
        p->strukt[i].n_fields = gen_between(rng, 2, GEN_FIELDS);
        bool same = gen_chance(rng, 60);
        for (int f = 0; f < p->strukt[i].n_fields; f++)
            p->strukt[i].type[f] = f && same ? p->strukt[i].type[0] : number_type(rng);
    }
    choose_sizes(p, rng, n_dims);
    int n = gen_chance(rng, 60) ? 1 : gen_between(rng, 1, 3);
    for (int i = 0; i < n; i++)
        add_input(p, rng, n_dims);
    if (gen_chance(rng, 15))
        add_small_input(p, rng, true, n_dims);
    if (gen_chance(rng, 20))
        add_small_input(p, rng, false, n_dims);
    p->n_scalars = gen_chance(rng, 30) ? gen_between(rng, 1, GEN_SCALARS) : 0;
    for (int i = 0; i < p->n_scalars; i++) {
        p->scalar[i].type = gen_chance(rng, 50) ? GEN_F32 : gen_chance(rng, 60) ? GEN_I32 : GEN_F64;
        p->scalar[i].value =
            p->scalar[i].type == GEN_I32 ? gen_between(rng, -3, 9) : gen_between(rng, -8, 24) / 4.0;
        p->scalar[i].ranged = gen_chance(rng, 30);
    }
}

void gen_program(GenProgram *p, uint64_t seed)
{
    enum { MAX_WORK = 400000 };
    uint64_t rng = seed;
    do {
        *p = (GenProgram){ .seed = seed, .forma = seed % 7 == 0, .literal = seed % 3 == 0 };
        choose_header(p, &rng);
    } while (!gen_analyze(p));
    int wanted = gen_between(&rng, 1, 8);
    for (int tries = 0; p->n_stages < wanted && tries < 200; tries++) {
        int k = p->n_stages;
        choose_stage(p, &rng, &p->stage[k]);
        p->n_stages = k + 1;
        if (!gen_analyze(p) || p->work > MAX_WORK)
            p->n_stages = k;
        gen_analyze(p);
    }
    /* The last image is a result, perhaps an earlier one too. */
    for (int k = p->n_stages - 1; k >= 0 && p->n_results < GEN_RESULTS; k--) {
        const GenImage *image = &p->image[GEN_INPUTS + k];
        if (!image->valid || image->is_scalar)
            continue;
        if (p->n_results == 0 || gen_chance(&rng, 25))
            p->result[p->n_results++] = GEN_INPUTS + k;
    }
    if (p->n_results == 0)
        p->result[p->n_results++] = 0;
    gen_analyze(p);
}
