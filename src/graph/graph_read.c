/* A graph from text: the declarations. Whatever the bytes, the result is a sound graph or one diagnostic. */
#include <string.h>

#include "graph/graph_lex.h"
#include "graph/graph_text.h"

enum { MAX_DECLARED = 100000, MAX_TABLE_ELEMENTS = 1 << 20 };

static void check_count(Reader *r, uint32_t n)
{
    if (n >= MAX_DECLARED)
        tessi_graph_read_fail(r, "more than %d of one kind are declared", MAX_DECLARED);
}

/* `[a, b]`, or nothing for no dimensions. */
static uint8_t read_sizes(Reader *r, SizeId *size)
{
    uint8_t n = 0;
    if (!tessi_graph_read_accept(r, "["))
        return 0;
    do {
        if (n == MAX_DIMS) {
            tessi_graph_read_fail(r, "more than %d dimensions", MAX_DIMS);
            return 0;
        }
        size[n++] = tessi_graph_read_size(r);
    } while (tessi_graph_read_accept(r, ","));
    tessi_graph_read_expect(r, "]");
    return n;
}

/* ---- What a program takes -------------------------------------------------------------------- */
static void read_params(Reader *r)
{
    do {
        Param p = { .name = tessi_graph_read_name(r, "a parameter") };
        VEC_PUSH(r->arena, &r->g->params, p);
        check_count(r, r->g->params.n);
    } while (tessi_graph_read_accept(r, ","));
}

static void read_scalar(Reader *r)
{
    Scalar s = { .name = tessi_graph_read_name(r, "an input scalar") };
    s.type = tessi_graph_read_type(r);
    if (tessi_graph_read_accept(r, "=")) {
        s.has_default = true;
        s.value = tessi_graph_read_constant(r, s.type);
    }
    if (tessi_graph_read_accept(r, "in")) {
        s.has_range = true;
        s.lo = tessi_graph_read_constant(r, s.type);
        tessi_graph_read_expect(r, "..");
        s.hi = tessi_graph_read_constant(r, s.type);
    }
    VEC_PUSH(r->arena, &r->g->scalars, s);
    check_count(r, r->g->scalars.n);
}

static void read_channel(Reader *r, Image *image, bool is_output)
{
    Channel c = { .name = image->is_struct ? tessi_graph_read_name(r, "a channel") : "" };
    c.type = tessi_graph_read_type(r);
    c.byte_offset = image->pixel_bytes;
    image->pixel_bytes += tessi_type_info(c.type)->bytes;
    if (is_output) {
        tessi_graph_read_expect(r, "=");
        c.stage = tessi_graph_read_stage_name(r);
    }
    VEC_PUSH(r->arena, &image->channels, c);
    check_count(r, image->channels.n);
}

static Image read_image(Reader *r, bool is_output)
{
    Image image = { .name = tessi_graph_read_name(r, "an image") };
    image.n_dims = read_sizes(r, image.size);
    image.is_struct = tessi_graph_read_accept(r, "{");
    do
        read_channel(r, &image, is_output);
    while (image.is_struct && tessi_graph_read_accept(r, ","));
    if (image.is_struct)
        tessi_graph_read_expect(r, "}");
    return image;
}

static Value read_element(Reader *r, ScalarType t)
{
    bool minus = tessi_graph_read_accept(r, "-");
    const Token token = r->token;
    double real = 0;
    if (!tessi_is_real(t)) {
        Interval range = tessi_type_range(t);
        int64_t i = tessi_graph_read_integer(r, minus ? 0 : range.lo, INT64_MAX);
        if (minus ? -i < range.lo : i > range.hi)
            tessi_graph_read_fail(r, "an element of a table does not fit its type");
        return tessi_value_int(minus ? -i : i);
    }
    tessi_graph_read_next(r);
    bool sound = true;
    if (token.kind == TOKEN_NAME && tessi_streq(token.text, "inf"))
        real = 1.0 / 0.0;
    else if (token.kind == TOKEN_NAME && tessi_streq(token.text, "nan"))
        real = 0.0 / 0.0;
    else if (token.kind == TOKEN_INTEGER)
        real = (double)token.integer;
    else
        sound = token.kind == TOKEN_REAL
                && tessi_read_real(token.digits, token.n_digits, t == TYPE_F32, &real);
    if (!sound || (token.text && token.kind != TOKEN_NAME && *token.text))
        tessi_graph_read_fail(r, "a number is expected in a table");
    return tessi_eval_cast(t, TYPE_F64, tessi_value_real(minus ? -real : real));
}

static void read_table(Reader *r)
{
    Table t = { .name = tessi_graph_read_name(r, "a table"), .n = 1 };
    VEC(Value) elements = { 0 };
    tessi_graph_read_expect(r, "[");
    do {
        if (t.n_dims == MAX_DIMS) {
            tessi_graph_read_fail(r, "more than %d dimensions", MAX_DIMS);
            return;
        }
        t.dim[t.n_dims] = (uint32_t)tessi_graph_read_integer(r, 1, MAX_TABLE_ELEMENTS / t.n);
        t.n *= t.dim[t.n_dims++];
    } while (tessi_graph_read_accept(r, ","));
    tessi_graph_read_expect(r, "]");
    t.type = tessi_graph_read_type(r);
    if (t.type == TYPE_F16)
        tessi_graph_read_fail(r, "no table has this type");
    tessi_graph_read_expect(r, "=");
    tessi_graph_read_expect(r, "{");
    for (uint32_t k = 0; k < t.n && !r->failed; k++) {
        if (k)
            tessi_graph_read_expect(r, ",");
        VEC_PUSH(r->arena, &elements, read_element(r, t.type));
    }
    tessi_graph_read_expect(r, "}");
    if (r->failed)
        return;
    t.at = elements.at;
    VEC_PUSH(r->arena, &r->tables, ((NamedTable){ t.name, tessi_graph_table(r->g, &t) }));
    check_count(r, r->tables.n);
}

/* ---- Stages ---------------------------------------------------------------------------------- */
static void read_input(Reader *r, Stage *s)
{
    const char *name = tessi_graph_read_name(r, "an input image");
    s->kind = STAGE_INPUT;
    while (s->image < r->g->inputs.n && !tessi_streq(r->g->inputs.at[s->image].name, name))
        s->image++;
    if (tessi_graph_read_accept(r, "channel"))
        s->channel = (uint32_t)tessi_graph_read_integer(r, 0, MAX_DECLARED);
    if (s->image == r->g->inputs.n || s->channel >= r->g->inputs.at[s->image].channels.n)
        tessi_graph_read_fail(r, "there is no such channel of an input image '%.40s'", name);
}

static void read_reduction(Reader *r, Stage *s)
{
    int k = 0;
    while (k < N_REDUCTIONS && !tessi_graph_read_is(r, tessi_reduction_name((Reduction)k)))
        k++;
    if (k == N_REDUCTIONS)
        tessi_graph_read_fail(r, "a reduction is expected after 'reduce' and 'scan'");
    s->reduction = (Reduction)(k % N_REDUCTIONS);
    tessi_graph_read_next(r);
}

static uint8_t read_along(Reader *r)
{
    return (uint8_t)(1 + tessi_graph_read_integer(r, 0, MAX_DIMS - 1));
}

static void read_plain(Reader *r, Stage *s);

static void read_steps(Reader *r, Stage *s, int n)
{
    static const char *const names[] = { "step", "start", "both" };
    for (int k = 0; k < n && s->n_states; k++) {
        tessi_graph_read_expect(r, names[k]);
        tessi_graph_read_expect(r, "=");
        read_plain(r, s);
    }
}

static void read_reduce(Reader *r, Stage *s)
{
    s->kind = STAGE_REDUCE;
    if (r->token.kind == TOKEN_INTEGER)
        s->n_states = (uint8_t)tessi_graph_read_integer(r, 1, 1);
    else
        read_reduction(r, s);
    s->source = tessi_graph_read_stage_name(r);
    if (tessi_graph_read_accept(r, "along"))
        s->along = read_along(r);
    else if (tessi_graph_read_accept(r, "by"))
        s->keys = tessi_graph_read_stage_name(r);
    read_steps(r, s, 3);
}

static void read_scan(Reader *r, Stage *s)
{
    s->kind = STAGE_SCAN;
    if (r->token.kind == TOKEN_INTEGER)
        s->n_states = (uint8_t)tessi_graph_read_integer(r, 1, MAX_SCAN_STATES);
    else
        read_reduction(r, s);
    s->source = tessi_graph_read_stage_name(r);
    tessi_graph_read_expect(r, "along");
    s->along = read_along(r);
    s->reverse = tessi_graph_read_accept(r, "reverse");
    s->only_last = tessi_graph_read_accept(r, "last");
    read_steps(r, s, 2);
}

static void read_piece(Reader *r, Stage *s)
{
    Piece p = { 0 };
    if (s->n_dims) {
        uint8_t n_offsets = read_sizes(r, p.offset);
        tessi_graph_read_expect(r, "step");
        for (uint32_t d = 0; d < s->n_dims; d++) {
            tessi_graph_read_expect(r, d ? "," : "[");
            p.step[d] = (int32_t)tessi_graph_read_integer(r, 1, INT32_MAX);
        }
        tessi_graph_read_expect(r, "]");
        tessi_graph_read_expect(r, "count");
        if (n_offsets != s->n_dims || read_sizes(r, p.count) != s->n_dims)
            tessi_graph_read_fail(r, "a piece has as many dimensions as its stage");
    }
    tessi_graph_read_expect(r, "=");
    p.body = tessi_graph_read_body(r);
    VEC_PUSH(r->arena, &s->pieces, p);
}

static void read_plain(Reader *r, Stage *s)
{
    Piece p = { 0 };
    for (uint32_t d = 0; d < s->n_dims; d++) {
        p.step[d] = 1;
        p.offset[d] = tessi_size_const(r->g, 0);
        p.count[d] = s->size[d];
    }
    p.body = tessi_graph_read_body(r);
    VEC_PUSH(r->arena, &s->pieces, p);
}

static void read_stage(Reader *r)
{
    Stage s = { .kind = STAGE_COMPUTE, .name = tessi_graph_read_name(r, "a stage") };
    if (tessi_graph_stage_by_name(r->g, s.name).v)
        tessi_graph_read_fail(r, "two stages are called '%.40s'", s.name);
    s.n_dims = read_sizes(r, s.size);
    s.type = tessi_graph_read_type(r);
    if (tessi_graph_read_is(r, "piece")) {
        while (tessi_graph_read_accept(r, "piece"))
            read_piece(r, &s);
    } else {
        tessi_graph_read_expect(r, "=");
        if (tessi_graph_read_accept(r, "image")) {
            read_input(r, &s);
        } else if (tessi_graph_read_accept(r, "reduce")) {
            read_reduce(r, &s);
        } else if (tessi_graph_read_accept(r, "scan")) {
            read_scan(r, &s);
        } else if (tessi_graph_read_accept(r, "histogram")) {
            s.kind = STAGE_HISTOGRAM;
            s.source = tessi_graph_read_stage_name(r);
        } else if (tessi_graph_read_is(r, "entry") || tessi_graph_read_is(r, "last")) {
            tessi_read_carried(r, &s);
        } else {
            read_plain(r, &s);
        }
    }
    if (r->failed)
        return;
    StageId id = tessi_graph_stage(r->g, &s);
    if (s.kind == STAGE_CARRIED)
        tessi_read_carried_at(r, &s, id);
    if (s.kind == STAGE_INPUT)
        r->g->inputs.at[s.image].channels.at[s.channel].stage = id;
    check_count(r, r->g->stages.n);
}

/* ---- The whole ------------------------------------------------------------------------------- */
static void read_fp(Reader *r)
{
    if (tessi_graph_read_accept(r, "default"))
        r->g->fp = FP_DEFAULT;
    else if (tessi_graph_read_accept(r, "strict"))
        r->g->fp = FP_STRICT;
    else if (tessi_graph_read_accept(r, "fast"))
        r->g->fp = FP_FAST;
    else
        tessi_graph_read_fail(r, "'fp' is default, strict or fast");
}

static void read_declaration(Reader *r)
{
    Graph *g = r->g;
    bool is_mask = tessi_graph_read_is(r, "mask");
    if (tessi_graph_read_accept(r, "fp")) {
        read_fp(r);
    } else if (tessi_graph_read_accept(r, "param")) {
        read_params(r);
    } else if (tessi_graph_read_accept(r, "scalar")) {
        read_scalar(r);
    } else if (tessi_graph_read_accept(r, "image") || tessi_graph_read_accept(r, "mask")) {
        Image image = read_image(r, false);
        image.is_mask = is_mask;
        VEC_PUSH(r->arena, &g->inputs, image);
        check_count(r, g->inputs.n);
    } else if (tessi_graph_read_accept(r, "table")) {
        read_table(r);
    } else if (tessi_graph_read_accept(r, "stage")) {
        read_stage(r);
    } else if (tessi_graph_read_accept(r, "output")) {
        Image image = read_image(r, true);
        VEC_PUSH(r->arena, &g->outputs, image);
        check_count(r, g->outputs.n);
    } else if (tessi_graph_read_accept(r, "repeat")) {
        tessi_read_repeat(r);
        check_count(r, g->repeats.n);
    } else if (tessi_graph_read_accept(r, "end")) {
        tessi_read_repeat_end(r);
    } else {
        tessi_graph_read_fail(r, "a line begins with none of fp, param, scalar, image, mask, "
                                 "table, stage, repeat, end, output");
    }
}

Graph *tessi_graph_read(Arena *a, Diags *d, const char *text, size_t n)
{
    Reader r = { .arena = a, .diags = d, .text = text, .n = n, .line = 1 };
    r.let.arena = a;
    r.g = tessi_graph_new(a, "");
    tessi_graph_read_next(&r);
    tessi_graph_read_expect(&r, "graph");
    r.g->name = tessi_graph_read_name(&r, "the name of the graph");
    while (!r.failed && r.token.kind != TOKEN_END)
        read_declaration(&r);
    const char *violation = r.failed ? NULL : tessi_graph_verify(r.g);
    if (violation)
        tessi_graph_read_fail(&r, "%s", violation);
    return r.failed ? NULL : r.g;
}
