/* The text form of loop programs, which loop_read.c reads back. Names are the wanted names; where one is taken
 * several times, all its owners get a number (`x#2`), counted in the order of the text. */
#include <string.h>

#include "loop/loop_passes.h"
#include "loop/pass.h"

const LoopForm *tessi_loop_forms(void)
{
    static const LoopForm forms[] = {
#define LOOP_FORM(kind, flags, word, rest) { kind, flags, word, rest },
#include "loop/loop_forms.def"
#undef LOOP_FORM
        { .word = NULL }
    };
    return forms;
}

bool tessi_loop_is_reserved(const char *name, size_t n)
{
    static const char *const words[] = { "true", "false", "inf", "inff", "nan", "nanf" };
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strlen(words[i]) == n && memcmp(words[i], name, n) == 0)
            return true;
    return false;
}

/* ---- Names ----------------------------------------------------------------------------------- */

typedef struct Owners { /* of one wanted name */
    const char *name;
    uint32_t n, next;
} Owners;

typedef struct Printer {
    const LoopProgram *p;
    Arena *arena;
    Text *out;
    VEC(Owners) names; /* at[0] unused */
    IdMap name_map;
    uint32_t *var_name;                            /* index into names, 0 = not met yet */
    const char **var, **buffer, **param, **scalar; /* as printed */
    int indent;
} Printer;

static const char *wanted(const char *name)
{
    return name ? name : "";
}

typedef struct NameQuery {
    const Printer *pr;
    const char *name;
} NameQuery;

static bool same_name(void *user, uint32_t id)
{
    const NameQuery *q = user;
    return tessi_streq(q->pr->names.at[id].name, q->name);
}

/* Counts one more owner of the name. */
static uint32_t own(Printer *pr, const char *name)
{
    name = wanted(name);
    uint64_t h = tessi_hash_bytes(0, name, strlen(name));
    uint32_t id = tessi_idmap_find(&pr->name_map, h, same_name, &(NameQuery){ pr, name });
    if (!id) {
        VEC_PUSH(pr->arena, &pr->names, ((Owners){ name, 0, 0 }));
        id = pr->names.n - 1;
        tessi_idmap_add(pr->arena, &pr->name_map, h, id);
    }
    pr->names.at[id].n++;
    return id;
}

static void own_vars(Printer *pr, const LBlock *block)
{
    PASS_FOREACH (s, block) {
        bool declares = s->kind == LSTMT_FOR || s->kind == LSTMT_LET || s->kind == LSTMT_VAR;
        if (declares && !pr->var_name[s->var.v])
            pr->var_name[s->var.v] = own(pr, pr->p->vars.at[s->var.v].name);
    }
}

static bool is_plain(const char *name)
{
    size_t n = 0;
    for (const char *c = name; *c; c++, n++) {
        bool letter = (*c >= 'a' && *c <= 'z') || (*c >= 'A' && *c <= 'Z') || *c == '_';
        bool other = (*c >= '0' && *c <= '9') || *c == '.';
        if (!letter && !(n && other))
            return false;
    }
    return n && name[n - 1] != '.' && !strstr(name, "..");
}

static void add_quoted(Text *out, const char *name)
{
    tessi_text_add(out, "\"");
    for (const char *c = name; *c; c++) {
        if (*c == '"' || *c == '\\' || (unsigned char)*c < ' ')
            tessi_text_addf(out, "\\%02x", (unsigned)(unsigned char)*c);
        else
            tessi_text_addn(out, c, 1);
    }
    tessi_text_add(out, "\"");
}

static void add_name(Text *out, const char *name)
{
    name = wanted(name);
    if (is_plain(name))
        tessi_text_add(out, name);
    else
        add_quoted(out, name);
}

/* The name as printed for its next owner. */
static const char *key(Printer *pr, uint32_t name)
{
    Owners *o = &pr->names.at[name];
    Text t = tessi_text_new(pr->arena);
    add_name(&t, o->name);
    o->next++;
    if (o->n > 1 || tessi_loop_is_reserved(o->name, strlen(o->name)))
        tessi_text_addf(&t, "#%u", o->next);
    return tessi_text_str(&t);
}

static const char *var_key(Printer *pr, LVarId v)
{
    if (!pr->var[v.v]) /* not declared anywhere: the program is unsound, but still worth a look */
        pr->var[v.v] = pr->var_name[v.v] ? key(pr, pr->var_name[v.v]) : "undeclared#0";
    return pr->var[v.v];
}

static void name_all(Printer *pr)
{
    const LoopProgram *p = pr->p;
    VEC_PUSH(pr->arena, &pr->names, (Owners){ 0 });
    pr->var_name = ARENA_NEW_ARRAY(pr->arena, uint32_t, p->vars.n);
    pr->var = ARENA_NEW_ARRAY(pr->arena, const char *, p->vars.n);
    pr->buffer = ARENA_NEW_ARRAY(pr->arena, const char *, p->buffers.n);
    pr->param = ARENA_NEW_ARRAY(pr->arena, const char *, p->params.n + 1);
    pr->scalar = ARENA_NEW_ARRAY(pr->arena, const char *, p->scalars.n + 1);
    uint32_t *name =
        ARENA_NEW_ARRAY(pr->arena, uint32_t, (size_t)p->params.n + p->scalars.n + p->buffers.n);
    uint32_t n = 0;
    for (uint32_t i = 0; i < p->params.n; i++)
        name[n++] = own(pr, p->params.at[i]);
    VEC_FOREACH (LScalar, s, &p->scalars)
        name[n++] = own(pr, s->name);
    for (uint32_t i = 1; i < p->buffers.n; i++)
        name[n++] = own(pr, p->buffers.at[i].name);
    VEC_FOREACH (LFunction, f, &p->functions)
        own_vars(pr, &f->body);
    n = 0;
    for (uint32_t i = 0; i < p->params.n; i++)
        pr->param[i] = key(pr, name[n++]);
    for (uint32_t i = 0; i < p->scalars.n; i++)
        pr->scalar[i] = key(pr, name[n++]);
    for (uint32_t i = 1; i < p->buffers.n; i++)
        pr->buffer[i] = key(pr, name[n++]);
}

/* ---- Expressions ----------------------------------------------------------------------------- */

static void print_value(Text *out, ScalarType t, Value v)
{
    if (t == TYPE_BOOL) {
        tessi_text_add(out, v.i ? "true" : "false");
    } else if (tessi_is_real(t)) {
        tessi_text_add_real(out, v.f, t != TYPE_F64);
        tessi_text_add(out, t != TYPE_F64 ? "f" : "");
    } else {
        const char *suffix = t == TYPE_INDEX ? "" : tessi_type_info(t)->brief;
        tessi_text_addf(out, "%lld%s", (long long)v.i, suffix);
    }
}

static void print_expr(Printer *pr, LExprId id, int around);

static void print_list(Printer *pr, const LExprId *at, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        tessi_text_add(pr->out, i ? ", " : "");
        print_expr(pr, at[i], 0);
    }
}

static void print_call(Printer *pr, const char *prefix, const char *name, const LExpr *e)
{
    tessi_text_addf(pr->out, "%s%s(", prefix, name);
    print_list(pr, e->arg, e->n_args);
    tessi_text_add(pr->out, ")");
}

/* x + -3 is written x - 3. */
static bool is_subtraction(Printer *pr, const LExpr *e, int64_t *positive)
{
    if (e->op != OP_ADD || e->type != TYPE_INDEX)
        return false;
    const LExpr *c = tessi_lexpr(pr->p, e->arg[1]);
    if (c->kind != LEXPR_CONST || c->value.i >= 0 || c->value.i == INT64_MIN)
        return false;
    *positive = -c->value.i;
    return true;
}

static const char *lanes_name(uint8_t lanes)
{
    const char *name = tessi_loop_lanes_name(lanes);
    return name ? name : "v0"; /* unsound, but still worth a look */
}

static void print_load(Printer *pr, const LExpr *e)
{
    static const char *const how[] = { "load", "evens", "odds",  "row",
                                       "each", "near",  "fours", "apart" };
    const bool of_lanes = e->lanes && !pr->p->buffers.at[e->buffer.v].lanes;
    if (of_lanes)
        tessi_text_addf(pr->out, "%s_%s(", how[(e->ref & 0xff) % 8], lanes_name(e->lanes));
    else if (e->ref == LLOAD_FOURS)
        tessi_text_add(pr->out, "fours(");
    tessi_text_addf(pr->out, "%s[", pr->buffer[e->buffer.v]);
    print_list(pr, e->arg, e->n_args);
    if (of_lanes && tessi_load_apart(e))
        tessi_text_addf(pr->out, "], %d)", (int)tessi_load_apart(e));
    else
        tessi_text_add(pr->out, of_lanes || e->ref == LLOAD_FOURS ? "])" : "]");
}

static void print_op(Printer *pr, const LExpr *e, int around)
{
    const OpInfo *op = tessi_op_info(e->op);
    const bool unary = e->op == OP_NEG || e->op == OP_NOT;
    const int precedence = unary ? PRECEDENCE_UNARY : tessi_op_precedence(e->op);
    if (!precedence) {
        print_call(pr, "", op->name, e);
        return;
    }
    int64_t positive;
    tessi_text_add(pr->out, precedence < around ? "(" : "");
    if (e->n_args == 1) {
        tessi_text_add(pr->out, op->infix);
        print_expr(pr, e->arg[0], precedence);
    } else if (is_subtraction(pr, e, &positive)) {
        print_expr(pr, e->arg[0], precedence);
        tessi_text_addf(pr->out, " - %lld", (long long)positive);
    } else {
        print_expr(pr, e->arg[0], precedence);
        tessi_text_addf(pr->out, " %s ", op->infix);
        print_expr(pr, e->arg[1], precedence + 1);
    }
    tessi_text_add(pr->out, precedence < around ? ")" : "");
}

/* `around`: binding strength of the operator the expression is an argument of. */
static void print_expr(Printer *pr, LExprId id, int around)
{
    const LExpr *e = tessi_lexpr(pr->p, id);
    switch (e->kind) {
    case LEXPR_CONST: print_value(pr->out, e->type, e->value); break;
    case LEXPR_VAR: tessi_text_add(pr->out, var_key(pr, e->var)); break;
    case LEXPR_PARAM: tessi_text_add(pr->out, pr->param[e->ref]); break;
    case LEXPR_SCALAR: tessi_text_add(pr->out, pr->scalar[e->ref]); break;
    case LEXPR_LOAD: print_load(pr, e); break;
    case LEXPR_OP: print_op(pr, e, around); break;
    case LEXPR_CAST:
        print_call(pr, "",
                   e->ref == LCAST_ROUNDS_TO_F16 ? "f16"
                   : e->ref == LCAST_LOW_BYTE    ? "low"
                                                 : tessi_type_info(e->type)->brief,
                   e);
        break;
    case LEXPR_LANES: print_call(pr, "lanes_", lanes_name((uint8_t)e->ref), e); break;
    case LEXPR_VECTORS: print_call(pr, "vectors_", lanes_name((uint8_t)e->ref), e); break;
    case LEXPR_SPLAT: print_call(pr, "splat_", lanes_name(e->lanes), e); break;
    case LEXPR_RAMP:
        tessi_text_addf(pr->out, "ramp_%s_", lanes_name(e->lanes));
        print_call(pr, "", tessi_type_info(e->type)->brief, e);
        break;
    case LEXPR_AT: print_call(pr, "", "at", e); break;
    case LEXPR_PAIRS: print_call(pr, "", "pairs", e); break;
    case LEXPR_BOTH: print_call(pr, "", "both", e); break;
    case LEXPR_SAT: print_call(pr, "sat_", tessi_type_info(e->type)->brief, e); break;
    }
}

/* ---- Statements ------------------------------------------------------------------------------ */

/* Each line of `text` behind `first`, lines after the first behind `more`. */
static void print_comment(Printer *pr, const char *text, const char *first, const char *more)
{
    const char *marker = first;
    for (const char *line = wanted(text);; marker = more) {
        size_t n = strcspn(line, "\n");
        tessi_text_addf(pr->out, "%*s%s%s", pr->indent, "", marker, n ? " " : "");
        tessi_text_addn(pr->out, line, n);
        tessi_text_add(pr->out, "\n");
        if (!line[n])
            return;
        line += n + 1;
    }
}

static void print_block(Printer *pr, const LBlock *block);

static void print_for(Printer *pr, const LStmt *s)
{
    bool of_kernel = s->flags & (LFOR_GRID | LFOR_THREAD);
    if (of_kernel)
        tessi_text_addf(pr->out, "%s %u ", s->flags & LFOR_GRID ? "grid" : "thread", s->axis);
    tessi_text_add(pr->out, s->flags & LFOR_PARALLEL && !of_kernel ? "parallel " : "");
    tessi_text_add(pr->out, s->flags & LFOR_SIMD ? "simd " : "");
    if (s->flags & LFOR_SIMD && s->vectors > 1)
        tessi_text_addf(pr->out, "%d ", s->vectors);
    tessi_text_add(pr->out, s->flags & LFOR_UNROLL ? "unroll " : "");
    tessi_text_add(pr->out, s->flags & LFOR_ROLLED ? "rolled " : "");
    if (s->flags & LFOR_ROLLED && s->vectors > 1)
        tessi_text_addf(pr->out, "%d ", s->vectors);
    tessi_text_addf(pr->out, "for %s in ", var_key(pr, s->var));
    print_expr(pr, s->a, 0);
    tessi_text_add(pr->out, " .. ");
    print_expr(pr, s->b, 0);
    if (s->step != 1 || s->lanes)
        tessi_text_addf(pr->out, " step %lld", (long long)s->step);
    if (s->lanes)
        tessi_text_addf(pr->out, " %s", lanes_name(s->lanes));
    if (s->least)
        tessi_text_addf(pr->out, " least %u", s->least);
    print_block(pr, &s->body);
}

static void print_place(Printer *pr, const LStmt *s, LBufferId b)
{
    tessi_text_addf(pr->out, "%s[", pr->buffer[b.v]);
    print_list(pr, s->index, s->n_index);
    tessi_text_add(pr->out, "]");
}

static void print_declared(Printer *pr, LVarId v)
{
    const LVar *x = &pr->p->vars.at[v.v];
    tessi_text_addf(pr->out, "%s: %s", var_key(pr, v), tessi_type_info(x->type)->name);
    if (x->lanes)
        tessi_text_addf(pr->out, "%s %s",
                        x->is_both  ? " both"
                        : x->is_row ? " row"
                                    : "",
                        lanes_name(x->lanes));
}

/* One side of a move: the line by name, the other with the index where it begins. */
static void print_moved(Printer *pr, const LStmt *s, LBufferId b)
{
    const bool is_line = (b.v == s->buffer.v) == tessi_loop_is_line(pr->p, s->buffer);
    if (is_line)
        tessi_text_add(pr->out, pr->buffer[b.v]);
    else
        print_place(pr, s, b);
}

static void print_slot(Printer *pr, const LStmt *s, char slot)
{
    switch (slot) {
    case 'd': print_declared(pr, s->var); break;
    case 'v': tessi_text_add(pr->out, var_key(pr, s->var)); break;
    case 'p': print_place(pr, s, s->buffer); break;
    case 'm': print_moved(pr, s, s->buffer); break;
    case 'o': print_moved(pr, s, s->other); break;
    case 'x':
    case 'a': print_expr(pr, s->a, 0); break;
    case 'b':
    case 'c': print_expr(pr, s->b, 0); break;
    case 'n': tessi_text_addf(pr->out, "%lld", (long long)s->step); break;
    default: tessi_text_add(pr->out, pr->buffer[s->buffer.v]); break;
    }
}

static void print_form(Printer *pr, const LStmt *s)
{
    const LoopForm *form = tessi_loop_forms();
    while (form->kind != s->kind || form->flags != s->flags)
        form++;
    tessi_text_addf(pr->out, "%s%s", s->atomic ? "atomic " : "", form->word);
    tessi_text_add(pr->out, " ");
    for (const char *at = form->rest; *at; at++) {
        if (at[0] == ' ' && at[1] == '?' && !s->b.v)
            return;
        if (*at == '%')
            print_slot(pr, s, *++at);
        else if (*at != '?')
            tessi_text_addn(pr->out, at, 1);
    }
}

static void print_if(Printer *pr, const LStmt *s)
{
    tessi_text_add(pr->out, s->flags & LIF_LIKELY ? "if likely " : "if ");
    print_expr(pr, s->a, 0);
    print_block(pr, &s->body);
    if (s->orelse.n) {
        tessi_text_add(pr->out, " else");
        print_block(pr, &s->orelse);
    }
}

static void print_stmt(Printer *pr, const LStmt *s)
{
    if (s->kind == LSTMT_COMMENT) {
        print_comment(pr, s->text, "#", "#|");
        return;
    }
    tessi_text_addf(pr->out, "%*s", pr->indent, "");
    if (s->kind == LSTMT_FOR)
        print_for(pr, s);
    else if (s->kind == LSTMT_IF)
        print_if(pr, s);
    else
        print_form(pr, s);
    tessi_text_add(pr->out, "\n");
}

static void print_block(Printer *pr, const LBlock *block)
{
    tessi_text_add(pr->out, " {\n");
    pr->indent += 2;
    for (uint32_t i = 0; i < block->n; i++)
        print_stmt(pr, block->at[i]);
    pr->indent -= 2;
    tessi_text_addf(pr->out, "%*s}", pr->indent, "");
}

/* ---- Declarations ---------------------------------------------------------------------------- */

static void print_sizes(Printer *pr, const LExprId *size, uint8_t n)
{
    tessi_text_add(pr->out, "[");
    print_list(pr, size, n);
    tessi_text_add(pr->out, "]");
}

static void print_image(Printer *pr, const char *word, const LImage *im)
{
    tessi_text_addf(pr->out, "%s ", word);
    add_name(pr->out, im->name);
    tessi_text_add(pr->out, ": {");
    for (uint32_t c = 0; c < im->n_channels; c++) {
        tessi_text_add(pr->out, c ? ", " : " ");
        add_name(pr->out, im->channel_name[c]);
        tessi_text_addf(pr->out, ": %s @%u", tessi_type_info(im->channel_type[c])->name,
                        im->channel_offset[c]);
    }
    tessi_text_addf(pr->out, " } %s %u ", im->uniform ? "pixel" : "mixed", im->pixel_bytes);
    print_sizes(pr, im->size, im->n_dims);
    tessi_text_add(pr->out, "\n");
}

static void print_buffer(Printer *pr, uint32_t id)
{
    const LBuffer *b = &pr->p->buffers.at[id];
    static const char *const kinds[] = { "input", "output", "temp", "local", "table" };
    tessi_text_addf(pr->out, "buffer %s: %s ", pr->buffer[id],
                    b->in_constant ? "constant"
                    : b->held      ? "held"
                                   : kinds[b->kind]);
    if (b->in_memory)
        tessi_text_add(pr->out, "in memory ");
    if (b->kind == LBUF_INPUT || b->kind == LBUF_OUTPUT)
        tessi_text_addf(pr->out, "%u/%s ", b->image,
                        b->flat ? "all" : tessi_sprintf(pr->p->arena, "%u", b->channel));
    tessi_text_add(pr->out, tessi_type_info(b->type)->name);
    if (b->lanes)
        tessi_text_addf(pr->out, " %s", lanes_name(b->lanes));
    print_sizes(pr, b->size, b->n_dims);
    if (b->kind == LBUF_TABLE) {
        tessi_text_add(pr->out, " = {");
        for (uint32_t i = 0; i < b->n_table; i++) {
            tessi_text_add(pr->out, !i ? " " : i % 12 ? ", " : ",\n  ");
            print_value(pr->out, b->type, b->table[i]);
        }
        tessi_text_add(pr->out, " }");
    }
    tessi_text_add(pr->out, "\n");
}

static void print_declarations(Printer *pr)
{
    const LoopProgram *p = pr->p;
    if (p->width)
        tessi_text_addf(pr->out, "width %u\n", p->width);
    if (p->vector_bytes)
        tessi_text_addf(pr->out, "vectors %u\n", p->vector_bytes);
    for (uint32_t i = 0; i < p->params.n; i++)
        tessi_text_addf(pr->out, "param %s\n", pr->param[i]);
    for (uint32_t i = 0; i < p->scalars.n; i++)
        tessi_text_addf(pr->out, "scalar %s: %s\n", pr->scalar[i],
                        tessi_type_info(p->scalars.at[i].type)->name);
    VEC_FOREACH (LImage, im, &p->inputs)
        print_image(pr, "input", im);
    VEC_FOREACH (LImage, im, &p->outputs)
        print_image(pr, "output", im);
    if (p->must_be_positive.n) {
        tessi_text_add(pr->out, "positive ");
        print_list(pr, p->must_be_positive.at, p->must_be_positive.n);
        tessi_text_add(pr->out, "\n");
    }
    if (p->must_be_equal.n) {
        tessi_text_add(pr->out, "equal ");
        print_list(pr, p->must_be_equal.at, p->must_be_equal.n);
        tessi_text_add(pr->out, "\n");
    }
    for (uint32_t i = 1; i < p->buffers.n; i++)
        print_buffer(pr, i);
    VEC_FOREACH (const LRepeat, r, &p->repeats) {
        tessi_text_add(pr->out, "repeat ");
        add_name(pr->out, r->name);
        tessi_text_addf(pr->out, " versions %u turns ", (unsigned)r->n_versions);
        print_expr(pr, r->turns, 0);
        if (r->behind.v) {
            tessi_text_add(pr->out, " behind ");
            print_expr(pr, r->behind, 0);
        }
        if (r->until.v) {
            tessi_text_add(pr->out, " until ");
            tessi_text_add(pr->out, pr->buffer[r->until.v]);
            tessi_text_addf(pr->out, " every %u", (unsigned)r->every);
        }
        tessi_text_add(pr->out, r->unless_met ? " unless met" : "");
        if (r->loop)
            tessi_text_addf(pr->out, " loop %u by %u", (unsigned)r->loop, (unsigned)r->by);
        tessi_text_add(pr->out, "\n");
    }
}

/* of NUMBER version N once|test|met */
static void print_turns(Printer *pr, const LPlace *place)
{
    static const char *const when[] = { "", " once", " test", " met" };
    if (place->repeat)
        tessi_text_addf(pr->out, " of %u version %u%s", (unsigned)place->repeat,
                        (unsigned)place->version, when[place->when]);
}

/* grid [X, Y, Z] block [X, Y, Z] resident N beside */
static void print_launch(Printer *pr, const LFunction *f)
{
    tessi_text_add(pr->out, " grid [");
    for (int axis = 0; axis < LOOP_MAX_AXES; axis++) {
        tessi_text_add(pr->out, axis ? ", " : "");
        if (f->grid[axis].v)
            print_expr(pr, f->grid[axis], 0);
        else
            tessi_text_add(pr->out, "1");
    }
    tessi_text_addf(pr->out, "] block [%u, %u, %u]", f->block[0], f->block[1], f->block[2]);
    if (f->resident)
        tessi_text_addf(pr->out, " resident %u", f->resident);
    if (f->beside)
        tessi_text_add(pr->out, " beside");
}

void tessi_loop_print(const LoopProgram *p, Text *out)
{
    Printer pr = { .p = p, .arena = out->arena, .out = out };
    name_all(&pr);
    tessi_text_add(out, "loops ");
    add_name(out, p->name);
    tessi_text_add(out, "\n");
    if (p->comment)
        print_comment(&pr, p->comment, "##", "##");
    print_declarations(&pr);
    VEC_FOREACH (LFunction, f, &p->functions) {
        tessi_text_add(out, "\n");
        if (f->comment)
            print_comment(&pr, f->comment, "##", "##");
        tessi_text_add(out, f->is_kernel ? "kernel " : "function ");
        add_name(out, f->name);
        print_turns(&pr, &f->place);
        if (f->is_kernel)
            print_launch(&pr, f);
        print_block(&pr, &f->body);
        tessi_text_add(out, "\n");
    }
}
