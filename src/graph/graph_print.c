/* A graph as text, for people and for graph_read.c (graph_text.h describes the form). */
#include <string.h>

#include "graph/graph_text.h"
#include "graph/graph_walk.h"

/* ---- Layout ---------------------------------------------------------------------------------- */
/* How bad it is to break at blank `k`, of brackets nested `depth` deep: outside of brackets and in front of an
 * operator is best. */
static int badness(const char *text, size_t k, int depth)
{
    bool after_comma = k && strchr(",;:", text[k - 1]);
    bool before_operator = text[k + 1] && strchr("+-*/%&|^<=!", text[k + 1]);
    return 2 * depth + (after_comma || before_operator ? 0 : 1);
}

/* The best blank for a break among those that leave a line at least half full, else the first one there is; 0 for
 * none. */
static size_t find_break(const char *text, size_t room)
{
    int depth = 0, least = 0;
    size_t best = 0;
    bool quoted = false;
    for (size_t k = 0; text[k] && (k <= room || !best); k++) {
        char c = text[k];
        if (c == '"' && (!k || text[k - 1] != '\\'))
            quoted = !quoted;
        if (quoted)
            continue;
        depth += strchr("([{", c) ? 1 : strchr(")]}", c) ? -1 : 0;
        if (c != ' ' || (k < room / 2 && room > 20))
            continue;
        int bad = badness(text, k, depth);
        if (!best || bad <= least) {
            best = k;
            least = bad;
        }
    }
    return best;
}

void tessi_add_wrapped(Text *out, const char *text, size_t column, int indent)
{
    for (;;) {
        size_t room = column < LINE_WIDTH ? LINE_WIDTH - column : 1;
        bool fits = memchr(text, '\0', room + 1) != NULL;
        size_t at = fits ? 0 : find_break(text, room);
        if (!at) {
            tessi_text_add(out, text);
            return;
        }
        tessi_text_addn(out, text, at);
        tessi_text_addf(out, "\n%*s", indent + 2, "");
        column = (size_t)indent + 2;
        text += at + 1;
    }
}

static void print_list(const Graph *g, const SizeId *size, uint32_t n, Text *out)
{
    for (uint32_t d = 0; d < n; d++) {
        tessi_text_add(out, d ? ", " : "[");
        tessi_size_print(g, size[d], out);
    }
    tessi_text_add(out, n ? "]" : "");
}

/* ---- Declarations ---------------------------------------------------------------------------- */
static void print_params(const Graph *g, Text *out)
{
    for (uint32_t k = 0; k < g->params.n; k++) {
        tessi_text_add(out, k ? ", " : "param ");
        tessi_graph_print_name(g->params.at[k].name, out);
    }
    tessi_text_add(out, g->params.n ? "\n" : "");
}

static void print_scalar(const Scalar *s, Text *out)
{
    tessi_text_add(out, "scalar ");
    tessi_graph_print_name(s->name, out);
    tessi_text_addf(out, " %s", tessi_type_info(s->type)->name);
    if (s->has_default) {
        tessi_text_add(out, " = ");
        tessi_print_constant(s->type, s->value, out);
    }
    if (s->has_range) {
        tessi_text_add(out, " in ");
        tessi_print_constant(s->type, s->lo, out);
        tessi_text_add(out, " .. ");
        tessi_print_constant(s->type, s->hi, out);
    }
    tessi_text_add(out, "\n");
}

static void print_image(const Graph *g, const Image *image, bool is_output, Text *out)
{
    tessi_text_add(out, is_output ? "output " : image->is_mask ? "mask " : "image ");
    tessi_graph_print_name(image->name, out);
    print_list(g, image->size, image->n_dims, out);
    tessi_text_add(out, image->is_struct ? " {" : "");
    for (uint32_t k = 0; k < image->channels.n; k++) {
        const Channel *c = &image->channels.at[k];
        tessi_text_add(out, k ? ", " : " ");
        if (image->is_struct) {
            tessi_graph_print_name(c->name, out);
            tessi_text_add(out, " ");
        }
        tessi_text_add(out, tessi_type_info(c->type)->name);
        if (is_output) {
            tessi_text_add(out, " = ");
            tessi_graph_print_name(tessi_stage(g, c->stage)->name, out);
        }
    }
    tessi_text_add(out, image->is_struct ? " }\n" : "\n");
}

static void print_table(const Table *t, Text *out)
{
    tessi_text_add(out, "table ");
    tessi_graph_print_name(t->name, out);
    for (uint32_t d = 0; d < t->n_dims; d++)
        tessi_text_addf(out, "%s%u", d ? ", " : "[", (unsigned)t->dim[d]);
    tessi_text_addf(out, "] %s = {", tessi_type_info(t->type)->name);
    uint32_t row = t->dim[t->n_dims - 1];
    Text line = tessi_text_new(out->arena);
    for (uint32_t k = 0; k < t->n; k++) {
        tessi_text_add(&line, k % row ? " " : "");
        if (tessi_is_real(t->type))
            tessi_text_add_real(&line, t->at[k].f, t->type == TYPE_F32);
        else
            tessi_text_addf(&line, "%lld", (long long)t->at[k].i);
        tessi_text_add(&line, k + 1 < t->n ? "," : "");
        if ((k + 1) % row)
            continue;
        bool short_enough = t->n == row && line.n < 60;
        tessi_text_add(out, short_enough ? " " : "\n    ");
        tessi_add_wrapped(out, tessi_text_str(&line), 4, 2);
        tessi_text_add(out, k + 1 < t->n ? "" : short_enough ? " }\n" : "\n}\n");
        line.n = 0;
    }
}

/* ---- Stages ---------------------------------------------------------------------------------- */
static void print_piece(const Graph *g, const Stage *s, const Piece *p, Text *out)
{
    tessi_text_add(out, "  piece");
    if (s->n_dims) {
        tessi_text_add(out, " ");
        print_list(g, p->offset, s->n_dims, out);
        for (uint32_t d = 0; d < s->n_dims; d++)
            tessi_text_addf(out, "%s%d", d ? ", " : " step [", (int)p->step[d]);
        tessi_text_add(out, "] count ");
        print_list(g, p->count, s->n_dims, out);
    }
    tessi_text_add(out, " =");
}

static void print_steps(const Stage *s, BodyPrinter *bodies, Text *out)
{
    static const char *const names[] = { "step", "start", "both" };
    for (uint32_t k = 0; k < s->pieces.n && k < 3; k++) {
        tessi_text_addf(out, "  %s =", names[k]);
        tessi_print_body(bodies, s->pieces.at[k].body, 6, out);
    }
}

static void print_reduce(const Graph *g, const Stage *s, BodyPrinter *bodies, Text *out)
{
    tessi_text_addf(out, " = reduce %s ", s->n_states ? "1" : tessi_reduction_name(s->reduction));
    tessi_graph_print_name(tessi_stage(g, s->source)->name, out);
    if (s->along)
        tessi_text_addf(out, " along %d", s->along - 1);
    if (s->keys.v) {
        tessi_text_add(out, " by ");
        tessi_graph_print_name(tessi_stage(g, s->keys)->name, out);
    }
    tessi_text_add(out, "\n");
    print_steps(s, bodies, out);
}

static void print_scan(const Graph *g, const Stage *s, BodyPrinter *bodies, Text *out)
{
    if (s->n_states)
        tessi_text_addf(out, " = scan %u ", s->n_states);
    else
        tessi_text_addf(out, " = scan %s ", tessi_reduction_name(s->reduction));
    tessi_graph_print_name(tessi_stage(g, s->source)->name, out);
    tessi_text_addf(out, " along %d%s%s\n", s->along - 1, s->reverse ? " reverse" : "",
                    s->only_last ? " last" : "");
    print_steps(s, bodies, out);
}

static void print_stage(const Graph *g, const Stage *s, BodyPrinter *bodies, Text *out)
{
    tessi_text_add(out, "stage ");
    tessi_graph_print_name(s->name, out);
    print_list(g, s->size, s->n_dims, out);
    tessi_text_addf(out, " %s", tessi_type_info(s->type)->name);
    switch (s->kind) {
    case STAGE_INPUT:
        tessi_text_add(out, " = image ");
        tessi_graph_print_name(g->inputs.at[s->image].name, out);
        if (s->channel || g->inputs.at[s->image].is_struct)
            tessi_text_addf(out, " channel %u", (unsigned)s->channel);
        tessi_text_add(out, "\n");
        return;
    case STAGE_REDUCE: print_reduce(g, s, bodies, out); return;
    case STAGE_SCAN: print_scan(g, s, bodies, out); return;
    case STAGE_HISTOGRAM:
        tessi_text_add(out, " = histogram ");
        tessi_graph_print_name(tessi_stage(g, s->source)->name, out);
        tessi_text_add(out, "\n");
        return;
    case STAGE_CARRIED: tessi_print_carried(g, s, out); return;
    case STAGE_COMPUTE: break;
    }
    if (tessi_stage_is_plain(g, s)) {
        tessi_text_add(out, " =");
        tessi_print_body(bodies, s->pieces.at[0].body, 4, out);
        return;
    }
    tessi_text_add(out, "\n");
    VEC_FOREACH (const Piece, p, &s->pieces) {
        print_piece(g, s, p, out);
        tessi_print_body(bodies, p->body, 6, out);
    }
}

/* Only what is printed counts: expressions that nothing needs stay behind in a graph. */
static bool has_fma(const Graph *g, Arena *scratch)
{
    ExprWalk walk = { .arena = scratch };
    GRAPH_FOREACH_STAGE (g, id) {
        VEC_FOREACH (const Piece, p, &tessi_stage(g, id)->pieces) {
            const ExprList *list = tessi_expr_walk(&walk, g, &p->body, 1);
            VEC_FOREACH (const ExprId, it, list)
                if (tessi_expr(g, *it)->kind == EXPR_OP && tessi_expr(g, *it)->op == OP_FMA)
                    return true;
        }
    }
    return false;
}

void tessi_graph_print(const Graph *g, Text *out)
{
    static const char *const fp[] = {
        [FP_DEFAULT] = "default", [FP_STRICT] = "strict", [FP_FAST] = "fast"
    };
    BodyPrinter *bodies = tessi_body_printer(g, out->arena);
    tessi_text_add(out, "graph ");
    tessi_graph_print_name(g->name, out);
    tessi_text_addf(out, "\nfp %s%s\n", fp[g->fp],
                    has_fma(g, out->arena) ? " # + [x * y] is one operation with one rounding"
                                           : "");
    print_params(g, out);
    VEC_FOREACH (const Scalar, s, &g->scalars)
        print_scalar(s, out);
    VEC_FOREACH (const Image, image, &g->inputs)
        print_image(g, image, false, out);
    for (uint32_t id = 1; id < g->tables.n; id++)
        print_table(&g->tables.at[id], out);
    uint32_t open = 0;
    GRAPH_FOREACH_STAGE (g, id) {
        tessi_print_repeat_bounds(g, &open, tessi_stage(g, id)->repeat, out);
        print_stage(g, tessi_stage(g, id), bodies, out);
    }
    tessi_print_repeat_bounds(g, &open, 0, out);
    VEC_FOREACH (const Image, image, &g->outputs)
        print_image(g, image, true, out);
}
