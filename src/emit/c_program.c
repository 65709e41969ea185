/* A whole program in C: tables, one static function for each group, and the public function that checks the sizes, makes the
 * intermediate images and calls the groups in order. */
#include "emit/c_private.h"

/* What the groups of a program need together, and how they are called. */
typedef struct Groups {
    VEC(const char *) calls;
    CParameters parameters; /* of all of them, with repetitions */
    bool *buffer_used;      /* by LBufferId */
} Groups;

/* ---- Groups ----------------------------------------------------------------------------------------------------------------------- */

static const char *call_of(CWriter *w, const char *name, const CParameters *list)
{
    Text call;
    tessi_text_init(&call, w->arena);
    tessi_text_addf(&call, "%s(", name);
    for (uint32_t i = 0; i < list->n; i++)
        tessi_text_addf(&call, "%s%s", i ? ", " : "", list->at[i].name);
    tessi_text_add(&call, ");");
    return tessi_text_str(&call);
}

/* Writes one group as a static function. */
static void group(CWriter *w, const LFunction *f, const char *name, Groups *groups)
{
    Text *out = w->out, body;
    tessi_loop_needs(w->p, f, w->arena, &w->needs);
    tessi_c_forget_uses(w);
    tessi_text_init(&body, w->arena);
    w->out = &body; /* the body first: it says which parameters the function needs */
    w->indent++;
    tessi_c_block(w, &f->body);
    w->indent--;
    w->out = out;

    CParameters list = tessi_c_parameters(w, C_USED);
    tessi_text_add(out, "\n");
    if (f->comment && *f->comment)
        tessi_c_comment(w, f->comment);
    tessi_text_addf(&w->line, "static void %s(", name);
    tessi_c_declare(w, &list);
    tessi_text_add(&w->line, ")");
    tessi_c_end_line(w);
    tessi_text_addf(out, "{\n%s}\n", tessi_text_str(&body));

    VEC_PUSH(w->arena, &groups->calls, call_of(w, name, &list));
    VEC_FOREACH (CParameter, parameter, &list)
        VEC_PUSH(w->arena, &groups->parameters, *parameter);
    for (uint32_t i = 1; i < w->p->buffers.n; i++)
        groups->buffer_used[i] = groups->buffer_used[i] || w->buffer_used[i];
}

/* ---- Tables ----------------------------------------------------------------------------------------------------------------------- */

static void table_value(Text *out, ScalarType t, Value v)
{
    uint16_t bits;
    if (t == TYPE_F16) {
        tessi_store_element(t, &bits, v);
        tessi_text_addf(out, "0x%04x", (unsigned)bits);
    } else if (t == TYPE_BOOL) {
        tessi_text_add(out, v.i ? "1" : "0");
    } else {
        tessi_c_constant(out, t, v);
    }
}

/* How many rows, planes, ... (not the table itself) have an edge at element i. */
static int edges(const CWriter *w, const LBuffer *b, uint32_t i)
{
    uint32_t span = 1;
    int n = 0;
    for (int d = b->n_dims - 1; d > 0; d--) {
        span *= (uint32_t)tessi_lexpr(w->p, b->size[d])->value.i;
        n += i % span == 0;
    }
    return n;
}

static void table(CWriter *w, const LBuffer *b, const char *name)
{
    tessi_text_add(w->out, "\n");
    tessi_text_addf(&w->line, "static const %s %s", tessi_c_element(b->type), name);
    for (int d = 0; d < b->n_dims; d++)
        tessi_text_addf(&w->line, "[%lld]", (long long)tessi_lexpr(w->p, b->size[d])->value.i);
    tessi_text_add(&w->line, b->n_dims ? " = {" : "[1] = {");
    tessi_c_end_line(w);
    w->indent++;
    for (uint32_t i = 0; i < b->n_table; i++) {
        int ends = edges(w, b, i + 1);
        tessi_text_addf(&w->line, "%.*s", edges(w, b, i), "{{{{");
        table_value(&w->line, b->type, b->table[i]);
        tessi_text_addf(&w->line, "%.*s,", ends, "}}}}");
        if (ends || i + 1 == b->n_table)
            tessi_c_end_line(w);
        else
            tessi_text_add(&w->line, " ");
    }
    w->indent--;
    tessi_text_add(w->out, "};\n");
}

/* Tables some group uses. */
static void used_tables(CWriter *w, const bool *used)
{
    for (uint32_t i = 1; i < w->p->buffers.n; i++)
        if (w->p->buffers.at[i].kind == LBUF_TABLE && used[i])
            table(w, &w->p->buffers.at[i], w->buffer[i]);
}

/* ---- The public function ---------------------------------------------------------------------------------------------------------- */

/* Adds a size to a list without repetition, unless it is a positive constant. */
typedef VEC(LExprId) Sizes;
static void add_size(CWriter *w, Sizes *sizes, LExprId size)
{
    const LExpr *e = tessi_lexpr(w->p, size);
    if (e->kind == LEXPR_CONST && e->value.i >= 1)
        return;
    for (uint32_t i = 0; i < sizes->n; i++)
        if (sizes->at[i].v == size.v)
            return;
    VEC_PUSH(w->arena, sizes, size);
}

void tessi_c_check_sizes(CWriter *w, const char *otherwise)
{
    const LoopProgram *p = w->p;
    Sizes sizes = { 0 };
    for (uint32_t i = 0; i < p->inputs.n + p->outputs.n; i++) {
        const LImage *im = i < p->inputs.n ? &p->inputs.at[i] : &p->outputs.at[i - p->inputs.n];
        for (int d = 0; d < im->n_dims; d++)
            add_size(w, &sizes, im->size[d]);
    }
    VEC_FOREACH (LExprId, size, &p->must_be_positive)
        add_size(w, &sizes, *size);
    VEC_FOREACH (LBuffer, b, &p->buffers)
        for (int d = 0; b->kind == LBUF_TEMP && d < b->n_dims; d++)
            add_size(w, &sizes, b->size[d]);
    if (!sizes.n)
        return;
    tessi_text_add(&w->line, "if (");
    for (uint32_t i = 0; i < sizes.n; i++) {
        tessi_text_add(&w->line, i ? " || " : "");
        tessi_c_expr(w, sizes.at[i], C_SUM);
        tessi_text_add(&w->line, " < 1");
    }
    tessi_text_add(&w->line, ")");
    tessi_c_end_line(w);
    tessi_text_addf(w->out, "%*s%s\n", (w->indent + 1) * C_INDENT, "", otherwise);
}

static void memory_function(CWriter *w, const char *name)
{
    static const char body[] = "{\n"
                               "    const ptrdiff_t n[4] = { n0, n1, n2, n3 };\n"
                               "    size_t bytes = element;\n"
                               "    for (int d = 0; d < 4; d++) {\n"
                               "        if (bytes > (size_t)PTRDIFF_MAX / 2 / (size_t)n[d])\n"
                               "            return NULL;\n"
                               "        bytes *= (size_t)n[d];\n"
                               "    }\n"
                               "    return aligned_alloc(64, (bytes + 63) / 64 * 64);\n"
                               "}\n";
    tessi_text_add(w->out, "\n/* Memory for an intermediate image of n0 * n1 * n2 * n3 elements; "
                           "NULL when it is short. */\n");
    tessi_c_line(
        w,
        "static void *%s(size_t element, ptrdiff_t n0, ptrdiff_t n1, ptrdiff_t n2, ptrdiff_t n3)",
        name);
    tessi_text_add(w->out, body);
}

/* Sums, histograms and the like need no memory from outside: the bytes of an intermediate image of small constant size, else 0. */
static int64_t bytes_on_stack(const CWriter *w, uint32_t id)
{
    enum { MOST_BYTES = 4096 };
    const LBuffer *b = &w->p->buffers.at[id];
    int64_t bytes = tessi_type_info(b->type)->bytes;
    for (int d = 0; d < b->n_dims; d++) {
        const LExpr *size = tessi_lexpr(w->p, b->size[d]);
        if (size->kind != LEXPR_CONST || size->value.i < 1 || size->value.i > MOST_BYTES)
            return 0;
        bytes *= size->value.i;
        if (bytes > MOST_BYTES)
            return 0;
    }
    return bytes;
}

static void allocate(CWriter *w, uint32_t id, const char *memory)
{
    const LBuffer *b = &w->p->buffers.at[id];
    const char *type = tessi_c_element(b->type);
    int64_t bytes = bytes_on_stack(w, id);
    if (bytes) {
        tessi_c_line(w, "%s %s[%lld];", type, w->buffer[id],
                     (long long)bytes / tessi_type_info(b->type)->bytes);
        return;
    }
    tessi_text_addf(&w->line, "%s *%s = %s(sizeof(%s)", type, w->buffer[id], memory, type);
    for (int d = 0; d < LOOP_MAX_DIMS; d++) {
        tessi_text_add(&w->line, ", ");
        if (d < b->n_dims)
            tessi_c_expr(w, b->size[d], C_LOOSE);
        else
            tessi_text_add(&w->line, "1");
    }
    tessi_text_add(&w->line, ");");
    tessi_c_end_line(w);
}

static void call_groups(CWriter *w, const Groups *groups)
{
    for (uint32_t i = 0; i < groups->calls.n; i++)
        tessi_c_line(w, "%s", groups->calls.at[i]);
}

static bool is_used_temp(const CWriter *w, const Groups *groups, uint32_t id)
{
    return w->p->buffers.at[id].kind == LBUF_TEMP && groups->buffer_used[id];
}

/* Between the checks and the return: with intermediate images from outside (then `memory` is a name), or without. */
static void run_groups(CWriter *w, const Groups *groups, const char *memory)
{
    uint32_t n = w->p->buffers.n;
    for (uint32_t i = 1; i < n; i++)
        if (is_used_temp(w, groups, i))
            allocate(w, i, memory);
    if (!memory) {
        call_groups(w, groups);
        tessi_c_line(w, "return 0;");
        return;
    }
    tessi_text_add(&w->line, "const bool enough =");
    bool first = true;
    for (uint32_t i = 1; i < n; i++) {
        if (!is_used_temp(w, groups, i) || bytes_on_stack(w, i))
            continue;
        tessi_text_addf(&w->line, "%s %s", first ? "" : " &&", w->buffer[i]);
        first = false;
    }
    tessi_text_add(&w->line, ";");
    tessi_c_end_line(w);
    tessi_c_line(w, "if (enough) {");
    w->indent++;
    call_groups(w, groups);
    w->indent--;
    tessi_c_line(w, "}");
    for (uint32_t i = n; i-- > 1;)
        if (is_used_temp(w, groups, i) && !bytes_on_stack(w, i))
            tessi_c_line(w, "free(%s);", w->buffer[i]);
    tessi_c_line(w, "return enough ? 0 : 1;");
}

static bool contains(const CParameters *list, const char *name)
{
    VEC_FOREACH (CParameter, parameter, list)
        if (tessi_streq(parameter->name, name))
            return true;
    return false;
}

/* Parameters nobody uses, so that compilers do not warn about them. */
static void mention_unused(CWriter *w, const Groups *groups)
{
    CParameters all = tessi_c_parameters(w, C_DEFINED), here = tessi_c_parameters(w, C_USED);
    VEC_FOREACH (CParameter, parameter, &all)
        if (!contains(&groups->parameters, parameter->name) && !contains(&here, parameter->name))
            tessi_c_line(w, "(void)%s;", parameter->name);
}

static void public_function(CWriter *w, const Groups *groups, bool is_static, const char *memory)
{
    Text *out = w->out, body;
    tessi_c_forget_uses(w);
    tessi_text_init(&body, w->arena);
    w->out = &body;
    w->indent++;
    tessi_c_check_sizes(w, "return 2;");
    run_groups(w, groups, memory);
    w->out = out;
    w->indent--;
    tessi_text_add(out, "\n");
    if (!is_static)
        tessi_c_describe(w);
    tessi_text_addf(&w->line, "%sint %s(", is_static ? "static " : "", w->public_name);
    CParameters list = tessi_c_parameters(w, C_DEFINED);
    tessi_c_declare(w, &list);
    tessi_text_add(&w->line, ")");
    tessi_c_end_line(w);
    tessi_text_add(out, "{\n");
    w->indent++;
    mention_unused(w, groups);
    w->indent--;
    tessi_text_addf(out, "%s}\n", tessi_text_str(&body));
}

/* ---- All together ------------------------------------------------------------------------------------------------------------------ */

static const char *file_name(CWriter *w, const char *wanted)
{
    return tessi_c_name(w->names,
                        tessi_sprintf(w->arena, "%s_%s", w->public_name, wanted ? wanted : ""));
}

void tessi_c_program(CWriter *w, bool is_static)
{
    const LoopProgram *p = w->p;
    Groups groups = { .buffer_used = ARENA_NEW_ARRAY(w->arena, bool, p->buffers.n) };
    const char **names = ARENA_NEW_ARRAY(w->arena, const char *, p->functions.n + 1);
    bool allocates = false;
    /* Names of the file come first; they stay taken when the next program of the file is written. */
    for (uint32_t i = 0; i < p->functions.n; i++)
        names[i] = file_name(w, p->functions.at[i].name);
    for (uint32_t i = 1; i < p->buffers.n; i++)
        if (p->buffers.at[i].kind == LBUF_TABLE)
            w->buffer[i] = file_name(w, p->buffers.at[i].name);
    const char *memory = file_name(w, "memory");
    w->mark = tessi_c_names_mark(w->names);
    tessi_c_name_parameters(w);

    Text *out = w->out, functions;
    tessi_text_init(&functions, w->arena);
    w->out = &functions; /* the groups first: they say which tables are used */
    for (uint32_t i = 0; i < p->functions.n; i++)
        group(w, &p->functions.at[i], names[i], &groups);
    w->out = out;
    for (uint32_t i = 1; i < p->buffers.n; i++)
        allocates = allocates || (is_used_temp(w, &groups, i) && !bytes_on_stack(w, i));
    used_tables(w, groups.buffer_used);
    if (allocates)
        memory_function(w, memory);
    tessi_text_add(out, tessi_text_str(&functions));
    public_function(w, &groups, is_static, allocates ? memory : NULL);
}
