/* tess_compile: from text to a program with its signature. The graph for the constants known now is made at once, so
 * that every mistake in the text is found here. */
#include <stdlib.h>
#include <string.h>

#include "analysis/passes.h"
#include "api/backend.h"
#include "api/embedded.h"
#include "base/rounding.h"
#include "graph/graph_passes.h"
#include "rt/clock.h"
#include "rt/file.h"

enum {
    LARGEST_COMPILATION =
        1 << 30,    /* bytes of arena: bounds what a hostile program can make us use */
    PLACEHOLDER = 3 /* for a constant that only a run can give, while the signature is made */
};

bool tessi_is_graph_text(const tess_program *p)
{
    enum { GRAPH_TEXT = 2 };
    return p->options.forma == GRAPH_TEXT;
}

static bool init_diags(tess_diags *d)
{
    Guard guard;
    tessi_arena_init(&d->arena, NULL, NULL);
    if (!GUARDED(&guard, &d->arena))
        return false;
    tessi_sources_init(&d->sources, &d->arena);
    tessi_diags_init(&d->diags, &d->arena, &d->sources);
    return true;
}

tess_diags *tessi_diags_new(void)
{
    tess_diags *d = calloc(1, sizeof *d);
    if (d && init_diags(d))
        return d;
    tess_diags_free(d);
    return NULL;
}

/* Text of lib/NAME.tess: from the folder of the options when there is one, else what the library carries. */
typedef struct UseContext {
    const tess_program *program;
    Arena *arena;
    const SourceMap *sources;
    bool whole;    /* functions that the program does not name are read too */
    bool left_out; /* something may have been left out */
} UseContext;

static const char *read_use(void *user, const char *name, size_t *n)
{
    UseContext *context = user;
    if (strchr(name, '/') || strchr(name, '\\') || name[0] == '.') /* a name, not a path */
        return NULL;
    const char *folder = context->program->options.library;
    if (folder) {
        char *bytes = NULL;
        Failure f;
        const char *path = tessi_sprintf(context->arena, "%s/%s.tess", folder, name);
        if (tessi_file_read(path, (size_t)1 << 24, (uint8_t **)&bytes, n, &f)) {
            const char *text = tessi_strndup(context->arena, bytes, *n);
            free(bytes);
            return text;
        }
    }
    if (strcmp(name, "filters") != 0)
        return NULL;
    *n = strlen(tessi_embedded_filters);
    if (context->whole)
        return tessi_embedded_filters;
    context->left_out = true;
    return tessi_use_named(context->arena, context->sources, tessi_embedded_filters, *n);
}

/* examples/blur.tess -> blur */
static const char *program_name(Arena *a, const char *path)
{
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path,
               *dot = strrchr(name, '.');
    size_t n = dot && dot > name ? (size_t)(dot - name) : strlen(name);
    return n ? tessi_strndup(a, name, n) : "program";
}

/* The tree outlives the diagnostics, so it keeps the texts that it was read from. */
static void keep_sources(Variant *v, const SourceMap *from)
{
    SourceMap *kept = ARENA_NEW(&v->arena, SourceMap);
    tessi_sources_init(kept, &v->arena);
    for (uint32_t i = 1; i < from->files.n; i++)
        tessi_sources_add(kept, from->files.at[i].name, from->files.at[i].text,
                          from->files.at[i].n);
    v->ast->sources = kept;
}

static bool verified(const Graph *g, const char *pass, tess_diags *d)
{
    const char *fault = tessi_graph_verify(g);
    if (fault)
        tessi_diag(&d->diags, DIAG_INTERNAL, (Span){ 0 }, pass, fault);
    return !fault;
}

/* What the program asks for, the simplifier could not always do. */
static bool methods_possible(const Graph *g, tess_diags *d)
{
    Span last = { 0 };
    VEC_FOREACH (const MaskForm, form, &g->forms) {
        bool again = form->span.file == last.file && form->span.begin == last.begin;
        if (!form->fault || again) /* the channels of a pixel have one request */
            continue;
        const DiagCode code =
            form->asked == METHOD_FFT ? DIAG_NOT_TRANSFORMABLE : DIAG_NOT_SEPARABLE;
        Diag *diag = tessi_diag(&d->diags, code, form->span, form->fault);
        tessi_diag_help(&d->diags, diag, "without 'method' the cheapest form is chosen");
        last = form->span;
    }
    return d->diags.n_errors == 0;
}

/* A part of the front has ended that began at *begun, and the next begins. */
static void note(Variant *v, const char *name, double *begun)
{
    tessi_pass_note(&v->times, &v->arena, name, *begun);
    *begun = tessi_clock_ms();
}

static const FrontNodata *nodata_of(const tess_program *p, Variant *v)
{
    FrontNodata *nodata = ARENA_NEW_ARRAY(&v->arena, FrontNodata, p->options.n_nodata + 1);
    for (size_t i = 0; i < p->options.n_nodata; i++)
        nodata[i] = (FrontNodata){ p->options.nodata[i].name, p->options.nodata[i].value };
    return nodata;
}

/* Whether the graph is the same when another number stands in for what only the run knows. */
static bool repeats_stand(Variant *v, tess_diags *d, const FrontOptions *options,
                          const Graph *written)
{
    const GraphLoop *of_run = NULL;
    VEC_FOREACH (const GraphLoop, loop, &written->loops)
        of_run = loop->of_run ? loop : of_run;
    if (!of_run || !v->lowered->repeats.n) /* nothing needs what such loops make */
        return true;
    FrontOptions other = *options;
    Diags again;
    const char *fault = NULL;
    Span span;
    Text texts[2];
    other.stand_in = 1;
    tessi_diags_init(&again, &v->arena, &d->sources);
    Graph *g = tessi_front(&v->arena, &again, &d->sources, v->ast, &other, NULL);
    g = g ? tessi_graph_find_repeats(g, &v->arena, LEAST_TURNS, &fault, &span, NULL) : NULL;
    for (int k = 0; k < 2 && g && !fault; k++) {
        texts[k] = tessi_text_new(&v->arena);
        tessi_graph_print(tessi_graph_copy_live(k ? g : v->lowered, &v->arena), &texts[k]);
    }
    if (g && !fault && tessi_streq(tessi_text_str(&texts[0]), tessi_text_str(&texts[1])))
        return true;
    tessi_diag(&d->diags, DIAG_NOT_REPEATED, of_run->span,
               "members are used whose numbers do not go with it");
    return false;
}

/* Loops of equal turns become repeats. */
static bool find_repeats(Variant *v, tess_diags *d, const FrontOptions *options)
{
    const char *fault;
    Span span;
    const Graph *written = v->lowered;
    bool of_run;
    v->lowered =
        tessi_graph_find_repeats(v->lowered, &v->arena, LEAST_TURNS, &fault, &span, &of_run);
    if (fault && of_run)
        tessi_diag(&d->diags, DIAG_NOT_REPEATED, span, fault);
    else if (fault)
        tessi_diag(&d->diags, DIAG_NOT_ENDED, span, fault);
    if (!fault && !verified(v->lowered, "repeats", d))
        return false;
    return !fault && repeats_stand(v, d, options, written);
}

/* From the tree to a graph with its repeats. */
static bool check(Variant *v, tess_diags *d, const FrontOptions *options)
{
    v->lowered = tessi_front(&v->arena, &d->diags, &d->sources, v->ast, options, &v->typed);
    return v->lowered && !d->diags.n_errors && verified(v->lowered, "lower", d)
           && find_repeats(v, d, options);
}

static bool says(const Diags *d, DiagCode code)
{
    VEC_FOREACH (const Diag, diag, &d->list)
        if (diag->code == code)
            return true;
    return false;
}

/* The same, with size parameters as numbers of turns where loops allow it; else they are constants of the program,
 * which is compiled for each. */
static bool check_loops(Variant *v, tess_diags *d, FrontOptions *options)
{
    const Diags before = d->diags;
    const bool good = check(v, d, options), clash = v->typed->count_is_constant;
    if (!v->typed->counts_by_params || (good && !clash))
        return good;
    const Diags first = d->diags;
    Typed *typed = v->typed;
    d->diags = before;
    options->constant_counts = true;
    if (check(v, d, options) || d->diags.n_errors == v->typed->n_missing || clash
        || says(&first, DIAG_NOT_REPEATED))
        return d->diags.n_errors == 0;
    d->diags = first;
    v->typed = typed;
    return false;
}

/* Parses and checks the program, with the functions of the library that it names. */
static bool find_types(const tess_program *p, Variant *v, tess_diags *d, UseContext *use,
                       FrontOptions *options, double *begun)
{
    uint16_t file = tessi_sources_add(&d->sources, p->name, p->text, p->n_text);
    v->ast =
        tessi_parse(&v->arena, &d->diags, &d->sources, file, p->options.forma == 1, read_use, use);
    note(v, "parse", begun);
    return !d->diags.n_errors && check_loops(v, d, options);
}

/* The plan that the options give names a stage that only `written` has: its pixels are not taken apart. */
static bool is_plan_of(const tess_program *p, const Graph *written, const Graph *apart, Arena *a)
{
    GRAPH_FOREACH_STAGE (written, id) {
        const char *name = tessi_stage(written, id)->name;
        if (!p->options.plan || tessi_graph_stage_by_name(apart, name).v)
            continue;
        const char *line = tessi_sprintf(a, " stage %s ", name);
        if (strstr(p->options.plan, line))
            return true;
    }
    return false;
}

/* From the text to a graph whose rounding is decided. */
static bool find_meaning(const tess_program *p, Variant *v, tess_diags *d, double start)
{
    UseContext *use = ARENA_NEW(&v->arena, UseContext); /* the tree keeps it */
    *use = (UseContext){ p, &v->arena, &d->sources, false, false };
    double begun = start;
    FrontOptions options = { .name = program_name(&v->arena, p->name),
                             .border = p->options.border,
                             .constants = v->constants.at,
                             .n_constants = v->constants.n,
                             .types = p->types.at,
                             .n_types = p->types.n,
                             .nodata = nodata_of(p, v),
                             .n_nodata = p->options.n_nodata,
                             .fast = p->options.fp == TESS_FP_FAST };
    const FrontOptions asked = options;
    const Diags nothing_said = d->diags;
    const uint32_t n_files = d->sources.files.n;
    bool good = find_types(p, v, d, use, &options, &begun);
    if (!good && use->left_out) { /* what is said may speak of the whole library */
        d->diags = nothing_said;
        d->sources.files.n = n_files;
        options = asked;
        use->whole = true;
        good = find_types(p, v, d, use, &options, &begun);
    }
    if (!good)
        return false;
    note(v, "check", &begun);
    const bool written = p->options.plan && tessi_plan_is_of_masks_written(p->options.plan);
    v->meaning = (written ? tessi_graph_simplify_as_written
                          : tessi_graph_simplify)(v->lowered, &v->arena, (FpMode)p->options.fp);
    if (!verified(v->meaning, "simplify", d))
        return false;
    if (!methods_possible(v->meaning, d))
        return false;
    v->written_out =
        v->meaning->repeats.n ? tessi_graph_write_out(v->meaning, &v->arena) : v->meaning;
    Analysis ranges = { .g = v->meaning };
    tessi_analyse_ranges(&ranges, &v->arena);
    tessi_warn_values(&ranges, v->meaning, &d->diags);
    note(v, "simplify", &begun);
    v->graph = tessi_graph_exact_passes(v->meaning, &v->arena, v->is_packed);
    if (v->is_packed && is_plan_of(p, v->meaning, v->graph, &v->arena))
        v->graph = tessi_graph_exact_passes(v->meaning, &v->arena, false);
    if (!verified(v->graph, "exact passes", d))
        return false;
    note(v, "exact", &begun);
    return true;
}

/* A graph as text is taken as it stands. There is no tree, and nothing that is known while compiling alone. */
static bool read_meaning(const tess_program *p, Variant *v, tess_diags *d)
{
    tessi_sources_add(&d->sources, p->name, p->text, p->n_text);
    v->ast = ARENA_NEW(&v->arena, Ast);
    v->typed = ARENA_NEW(&v->arena, Typed);
    v->lowered = tessi_graph_read(&v->arena, &d->diags, p->text, p->n_text);
    v->graph = v->meaning = v->written_out = v->lowered;
    return v->graph && !d->diags.n_errors && verified(v->graph, "read", d);
}

bool tessi_compile_front(const tess_program *p, Variant *v, tess_diags *d)
{
    const double start = tessi_clock_ms();
    v->arena.limit_bytes = LARGEST_COMPILATION;
    if (!(tessi_is_graph_text(p) ? read_meaning(p, v, d) : find_meaning(p, v, d, start)))
        return false;
    double begun = tessi_clock_ms();
    v->analysis = tessi_analyse(v->graph, &v->arena);
    note(v, "analyse", &begun);
    keep_sources(v, &d->sources);
    v->front_ms = tessi_clock_ms() - start;
    return true;
}

/* ---- The signature --------------------------------------------------------------------------- */
static void fill_channels(tess_program *p, const Image *image, Input *in)
{
    uint32_t n = image->channels.n;
    in->channel_names = ARENA_NEW_ARRAY(&p->arena, const char *, n);
    in->channel_types = ARENA_NEW_ARRAY(&p->arena, DLDataType, n);
    for (uint32_t c = 0; c < n; c++) {
        in->channel_names[c] = tessi_strdup(&p->arena, image->channels.at[c].name);
        in->channel_types[c] = tessi_dl_type(image->channels.at[c].type);
    }
    in->info.name = tessi_strdup(&p->arena, image->name);
    in->info.kind = image->is_mask ? TESS_MASK : TESS_IMAGE;
    in->info.ndim = image->n_dims;
    in->info.n_channels = (int)n;
    in->info.dtype = in->channel_types[0];
    in->info.channel_names = in->channel_names;
    in->info.channel_types = in->channel_types;
    in->info.is_struct = image->is_struct;
}

static double real_value(ScalarType t, Value v)
{
    return tessi_is_real(t) ? v.f : (double)v.i;
}

static void fill_number(tess_program *p, Input *in, const char *name, ScalarType type,
                        bool has_default, Value value, bool has_range, Value lo, Value hi)
{
    in->type = type;
    in->info.name = tessi_strdup(&p->arena, name);
    in->info.dtype = tessi_dl_type(type);
    in->info.has_default = has_default;
    in->info.has_range = has_range;
    in->info.value = has_default ? real_value(type, value) : 0;
    in->info.lo = has_range ? real_value(type, lo) : 0;
    in->info.hi = has_range ? real_value(type, hi) : 0;
}

/* The images of a graph are mostly in the order of their declarations: the search begins behind the one found last. */
static bool fill_image(tess_program *p, const Graph *g, uint32_t *last, const char *name, Input *in)
{
    for (uint32_t k = 0; k < g->inputs.n; k++) {
        uint32_t i = (*last + k) % g->inputs.n;
        if (tessi_streq(g->inputs.at[i].name, name)) {
            fill_channels(p, &g->inputs.at[i], in);
            *last = i + 1;
            return true;
        }
    }
    return false;
}

static bool fill_scalar(tess_program *p, const Variant *v, const char *name, Input *in)
{
    in->info.kind = TESS_SCALAR;
    VEC_FOREACH (const Scalar, s, &v->graph->scalars) {
        if (tessi_streq(s->name, name)) {
            fill_number(p, in, name, s->type, s->has_default, s->value, s->has_range, s->lo, s->hi);
            return true;
        }
    }
    VEC_FOREACH (const TConstant, c, &v->typed->constants) {
        if (tessi_streq(c->name, name) && !c->is_param) {
            fill_number(p, in, name, c->type, c->known, c->value, c->has_range, c->lo, c->hi);
            in->info.is_const = 1;
            return true;
        }
    }
    return false;
}

static void add_input(tess_program *p, const Input *in)
{
    const char *name = in->info.name;
    VEC_PUSH(&p->arena, &p->inputs, *in);
    tessi_idmap_add(&p->arena, &p->input_map, tessi_hash_bytes(0, name, strlen(name)), p->inputs.n);
}

static void fill_parameter(tess_program *p, const char *name, Input *in)
{
    in->info.kind = TESS_PARAMETER;
    fill_number(p, in, name, TYPE_I64, false, (Value){ 0 }, false, (Value){ 0 }, (Value){ 0 });
}

/* The inputs of a graph, in its order. */
static void add_inputs_of(tess_program *p, const Variant *v)
{
    p->options.fp = (tess_fp)v->graph->fp;
    VEC_FOREACH (const Param, param, &v->graph->params) {
        Input in = { .info.struct_size = sizeof in.info };
        fill_parameter(p, param->name, &in);
        add_input(p, &in);
    }
    VEC_FOREACH (const Image, image, &v->graph->inputs) {
        Input in = { .info.struct_size = sizeof in.info };
        fill_channels(p, image, &in);
        add_input(p, &in);
    }
    VEC_FOREACH (const Scalar, s, &v->graph->scalars) {
        Input in = { .info.struct_size = sizeof in.info };
        fill_scalar(p, v, s->name, &in);
        add_input(p, &in);
    }
}

/* The text that the program returns result i by, without blanks; NULL where it is no name for it: long, or that of
 * several results. */
static const char *written_as(tess_program *p, const Variant *v, uint32_t i)
{
    enum { LONGEST = 60 };
    if (!v->typed || i >= v->typed->outputs.n) /* a graph is all there is */
        return NULL;
    const Span span = v->typed->outputs.at[i].span;
    Text text = tessi_text_new(&p->arena);
    for (uint32_t k = 0; k < v->typed->outputs.n; k++)
        if (k != i && v->typed->outputs.at[k].span.begin == span.begin)
            return NULL;
    if (span.end > p->n_text || span.begin >= span.end || span.end - span.begin > LONGEST)
        return NULL;
    for (uint32_t at = span.begin; at < span.end; at++) {
        const char c = p->text[at];
        if (c == '\n' || c == '\r')
            return NULL;
        if (c != ' ' && c != '\t')
            tessi_text_addn(&text, &c, 1);
    }
    return tessi_text_str(&text);
}

static void label_output(tess_program *p, const Variant *v, uint32_t i, Input *out)
{
    const Image *image = &v->meaning->outputs.at[i];
    int64_t size;
    const char *written = written_as(p, v, i);
    out->info.label = written ? written : out->info.name;
    if (v->lowered && i < v->lowered->outputs.n) {
        out->info.has_nodata = v->lowered->outputs.at[i].has_nodata;
        out->info.nodata = v->lowered->outputs.at[i].nodata;
    }
    out->info.is_number =
        image->n_dims == 1 && tessi_size_is_const(v->meaning, image->size[0], &size) && size == 1;
}

static void make_signature(tess_program *p, const Variant *v)
{
    uint32_t last = 0;
    if (tessi_is_graph_text(p))
        add_inputs_of(p, v);
    for (uint32_t i = 0; i < v->ast->decls.n; i++) {
        const AstDecl *decl = v->ast->decls.at[i];
        Input in = { 0 };
        in.info.struct_size = sizeof in.info;
        const char *name = decl->name.text;
        bool known = true;
        if (decl->kind == AST_DECL_IMAGE) {
            known = fill_image(p, v->meaning, &last, name, &in);
            in.info.is_any = known && tessi_is_open(p, decl);
        } else if (decl->kind == AST_DECL_SCALAR) {
            known = fill_scalar(p, v, name, &in);
        } else {
            fill_parameter(p, name, &in);
        }
        if (known)
            add_input(p, &in);
    }
    for (uint32_t i = 0; i < v->graph->outputs.n; i++) {
        Input out = { 0 };
        out.info.struct_size = sizeof out.info;
        fill_channels(p, &v->meaning->outputs.at[i], &out);
        label_output(p, v, i, &out);
        VEC_PUSH(&p->arena, &p->outputs, out);
    }
}

typedef struct InputQuery {
    const tess_program *p;
    const char *name;
} InputQuery;

static bool is_named(void *user, uint32_t number)
{
    const InputQuery *q = user;
    return tessi_streq(q->p->inputs.at[number - 1].info.name, q->name);
}

int64_t tessi_input_number(const tess_program *p, const char *name)
{
    if (!name)
        return -1;
    return (int64_t)tessi_idmap_find(&p->input_map, tessi_hash_bytes(0, name, strlen(name)),
                                     is_named, &(InputQuery){ p, name })
           - 1;
}

static void note_constants(tess_program *p, const Variant *v)
{
    VEC_FOREACH (const TConstant, c, &v->typed->constants) {
        ProgramConstant constant = { tessi_strdup(&p->arena, c->name),
                                     tessi_input_number(p, c->name),
                                     tessi_input_number(p, c->image), c->dim, c->is_optional };
        VEC_PUSH(&p->arena, &p->constants, constant);
    }
}

/* ---- Options --------------------------------------------------------------------------------- */
void tess_options_init(tess_options *o)
{
    memset(o, 0, sizeof *o);
    o->struct_size = sizeof *o;
}

static const char *copy_text(Arena *a, const char *s)
{
    return s ? tessi_strdup(a, s) : NULL;
}

void tessi_options_copy(Arena *a, const tess_options *from, tess_options *o)
{
    tess_options_init(o);
    if (from)
        memcpy(o, from, from->struct_size < sizeof *o ? from->struct_size : sizeof *o);
    o->border = copy_text(a, o->border);
    o->plan = copy_text(a, o->plan);
    o->machine = copy_text(a, o->machine);
    o->library = copy_text(a, o->library);
    o->cache = copy_text(a, o->cache);
    o->cc = copy_text(a, o->cc);
    tess_constant *constants = ARENA_NEW_ARRAY(a, tess_constant, o->n_constants);
    for (size_t i = 0; i < o->n_constants; i++)
        constants[i] =
            (tess_constant){ tessi_strdup(a, from->constants[i].name), from->constants[i].value };
    o->constants = constants;
    tess_constant *nodata = ARENA_NEW_ARRAY(a, tess_constant, o->n_nodata);
    for (size_t i = 0; i < o->n_nodata; i++)
        nodata[i] = (tess_constant){ copy_text(a, o->nodata[i].name), o->nodata[i].value };
    o->nodata = nodata;
    tess_typed *types = ARENA_NEW_ARRAY(a, tess_typed, o->n_types);
    for (size_t i = 0; i < o->n_types; i++) {
        types[i] = from->types[i];
        types[i].name = copy_text(a, types[i].name);
    }
    o->types = types;
}

static bool has_suffix(const char *s, const char *suffix)
{
    size_t n = strlen(s), m = strlen(suffix);
    return n >= m && strcmp(s + n - m, suffix) == 0;
}

/* ---- The entry ------------------------------------------------------------------------------- */
/* For the constants found missing; false when there are none, or one that no image gives: nothing but NAME=VALUE
 * can. */
static bool add_placeholders(Variant *v)
{
    bool any = false;
    VEC_FOREACH (const TConstant, c, &v->typed->constants) {
        if (c->known || c->is_optional)
            continue;
        if (!c->image)
            return false;
        FrontConstant placeholder = { c->name, PLACEHOLDER };
        VEC_PUSH(&v->arena, &v->constants, placeholder);
        any = true;
    }
    return any;
}

/* Empties what the front has made, and begins diagnostics of their own, for another attempt; those of before are the
 * caller's. */
static bool start_again(Variant *v, Guard *guard, tess_diags **diags)
{
    tess_diags *again = tessi_diags_new();
    if (!again)
        return false;
    tessi_guard_arena(guard, &again->arena);
    *diags = again;
    v->ast = NULL;
    v->typed = NULL;
    v->times.n = 0;
    v->lowered = v->graph = NULL;
    return true;
}

/* A first variant with the options' constants; where only a run can give a constant, one with placeholders stands
 * in, from which the signature is taken and which is thrown away. */
static tess_status first_variant(tess_program *p, Variant *v, Guard *guard, tess_diags **diags,
                                 bool *keep)
{
    while (!tessi_compile_front(p, v, *diags)) {
        bool only_values_missing =
            v->typed && v->typed->n_missing && v->typed->n_missing == (*diags)->diags.n_errors;
        if (!only_values_missing || !add_placeholders(v))
            return TESS_ERROR_PROGRAM;
        tess_diags *before = *diags;
        if (!start_again(v, guard, diags))
            return TESS_ERROR_MEMORY;
        tess_diags_free(before);
        *keep = false;
    }
    return TESS_OK;
}

/* The same where types are open: the program is right when it is for one of these. Else the mistakes are those of the
 * type that has the fewest. */
static tess_status first_of_types(tess_program *p, Variant *v, Guard *guard, tess_diags **diags,
                                  bool *keep)
{
    static const FrontType others[] = { { NULL, TYPE_U8, 1 },
                                        { NULL, TYPE_U8, 3 },
                                        { NULL, TYPE_U8, 4 } };
    enum { N_OTHERS = sizeof others / sizeof *others };
    tess_status status = first_variant(p, v, guard, diags, keep);
    p->is_open = v->ast && tessi_lacks_types(p, v->ast);
    for (int k = 0; p->is_open && status == TESS_ERROR_PROGRAM && k < N_OTHERS; k++) {
        tess_diags *before = *diags;
        p->types.at[0] = others[k];
        if (!start_again(v, guard, diags))
            return TESS_ERROR_MEMORY;
        status = first_variant(p, v, guard, diags, keep);
        const bool fewer = (*diags)->diags.n_errors < before->diags.n_errors;
        tess_diags_free(fewer ? before : *diags);
        *diags = fewer ? *diags : before;
    }
    *keep = *keep && !p->is_open;
    return status;
}

static tess_status compile_into(tess_program *p, Variant *v, const char *text, size_t n,
                                const char *name, const tess_options *options, tess_diags **diags)
{
    Guard guard;
    if (!GUARDED(&guard, &p->arena))
        return TESS_ERROR_MEMORY;
    tessi_guard_arena(&guard, &v->arena);
    tessi_guard_arena(&guard, &(*diags)->arena);
    p->text = tessi_strndup(&p->arena, text, n);
    p->n_text = n;
    p->name = tessi_strdup(&p->arena, name ? name : "program");
    tessi_options_copy(&p->arena, options, &p->options);
    if (!p->options.forma && has_suffix(p->name, ".idsl"))
        p->options.forma = 1;
    if (p->backend->open)
        p->backend->open(p);
    tessi_phase(p, "checking");
    for (size_t i = 0; i < p->options.n_constants; i++) {
        FrontConstant c = { p->options.constants[i].name, p->options.constants[i].value };
        VEC_PUSH(&v->arena, &v->constants, c);
    }
    if (!tessi_types_copy(p))
        return TESS_ERROR_ARGUMENT;
    bool keep = true;
    tess_status status = first_of_types(p, v, &guard, diags, &keep);
    if (status == TESS_OK) {
        make_signature(p, v);
        note_constants(p, v);
    }
    if (status == TESS_OK && keep) {
        v->is_listed = true;
        p->variants = v;
    }
    return status;
}

static bool init_locks(tess_program *p)
{
    const bool first = mtx_init(&p->lock, mtx_plain) == thrd_success;
    p->has_lock = first && mtx_init(&p->general_lock, mtx_plain) == thrd_success;
    if (first && !p->has_lock)
        mtx_destroy(&p->lock);
    return p->has_lock;
}

static const Backend *backend_of(const tess_options *o)
{
    const bool says = o && o->struct_size >= offsetof(tess_options, target) + sizeof o->target;
    return tessi_backend_of(says ? o->target : TESS_TARGET_AUTO);
}

static tess_status compile(const char *text, size_t n, const char *name,
                           const tess_options *options, tess_program **program, tess_diags **diags)
{
    if (program)
        *program = NULL;
    if (diags)
        *diags = NULL;
    const Backend *b = backend_of(options);
    if (!text || !program || (options && !options->struct_size) || !b)
        return TESS_ERROR_ARGUMENT;
    tess_program *p = calloc(1, sizeof *p);
    Variant *v = tessi_variant_new(b);
    tess_diags *d = tessi_diags_new();
    tess_status status = TESS_ERROR_MEMORY;
    if (p && v && d) {
        p->backend = b;
        tessi_arena_init(&p->arena, NULL, NULL);
        if (init_locks(p))
            status = compile_into(p, v, text, n, name, options, &d);
    }
    if (p && p->variants != v)
        tessi_variant_free(v);
    if (status == TESS_OK)
        *program = p;
    else
        tess_program_free(p);
    if (diags)
        *diags = d;
    else
        tess_diags_free(d);
    return status;
}

tess_status tess_compile(const char *text, size_t n, const char *name, const tess_options *options,
                         tess_program **program, tess_diags **diags)
{
    const Rounding callers = tessi_round_to_nearest();
    const tess_status status = compile(text, n, name, options, program, diags);
    tessi_round_as(callers);
    return status;
}

void tess_program_free(tess_program *p)
{
    if (!p)
        return;
    for (Variant *v = p->variants; v;) {
        Variant *next = v->next;
        tessi_variant_free(v);
        v = next;
    }
    tessi_instances_free(p);
    if (p->backend && p->backend->close)
        p->backend->close(p);
    tessi_forget_tools(p);
    if (p->has_lock) {
        mtx_destroy(&p->lock);
        mtx_destroy(&p->general_lock);
    }
    tessi_arena_dispose(&p->arena);
    free(p);
}
