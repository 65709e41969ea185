/* Values that a program computes in several places from other variables, elements and indices: each is one function,
 * which is called there. Two expressions have one form when they are the same but for the variables, elements and
 * indices in them; what printers ask of these (c_negate.c) is part of the form. The longest are chosen first; those
 * within them then count once. */
#include <stdlib.h>
#include <string.h>

#include "emit/c_file.h"

enum {
    MOST_WORDS = 400, /* of a form: what is longer is no function, but its parts may be */
    MOST_ARGUMENTS = 24,
    LEAST_SAVED = 160,    /* characters: for less, a function is one more name to read */
    MOST_CALL_SHARE = 60, /* per cent of the characters of a value that its call may have */
    DEFINITION = 60,      /* characters of a function around its value and its parameters */
    CALL = 8,             /* of a call, beside its names */
};

/* ---- Forms ----------------------------------------------------------------------------------- */

typedef struct Form {
    const CWriter *w;
    Arena *arena;
    VEC(uint64_t) words;
    CArguments arguments;
    int64_t bytes, call; /* characters of the value as it stands, and of its arguments in a call */
    bool is_long;
} Form;

static bool reads_by_place(const CWriter *w, const LExpr *e)
{
    const LBuffer *b = &w->p->buffers.at[e->buffer.v];
    const LImage *im = tessi_loop_image(w->p, b);
    return e->ref != LLOAD_ROW && !tessi_load_each(e) && !tessi_load_apart(e) && !b->lanes
           && b->n_dims && (!im || im->uniform) && tessi_loop_is_dense(w->p, e->buffer);
}

static bool is_same_place(const LoopProgram *p, LExprId x, LExprId y)
{
    const LExpr *a = tessi_lexpr(p, x), *b = tessi_lexpr(p, y);
    bool same = a->buffer.v == b->buffer.v;
    for (int d = 0; same && d + 1 < a->n_args; d++)
        same = a->arg[d].v == b->arg[d].v;
    return same;
}

static uint32_t length(const char *name)
{
    return name ? (uint32_t)strlen(name) : 1;
}

/* Characters of an index, about. */
static int64_t index_bytes(const LoopProgram *p, LExprId id)
{
    const LExpr *e = tessi_lexpr(p, id);
    if (e->kind == LEXPR_VAR)
        return length(p->vars.at[e->var.v].name);
    int64_t bytes = e->n_args ? 3 : 2;
    for (int i = 0; i < e->n_args; i++)
        bytes += index_bytes(p, e->arg[i]);
    return bytes;
}

/* Of the name of an element, without its last index. */
static int64_t place_bytes(const LoopProgram *p, const LExpr *load)
{
    int64_t bytes = length(p->buffers.at[load->buffer.v].name) + 2;
    for (int d = 0; d + 1 < load->n_args; d++)
        bytes += index_bytes(p, load->arg[d]) + 9;
    return bytes;
}

static void word(Form *f, uint64_t x)
{
    if (f->words.n >= MOST_WORDS)
        f->is_long = true;
    else
        VEC_PUSH(f->arena, &f->words, x);
}

static void argument(Form *f, LExprId id, bool is_place, int64_t bytes)
{
    uint32_t i = 0;
    while (i < f->arguments.n
           && (f->arguments.at[i].is_place != is_place
               || !(is_place ? is_same_place(f->w->p, f->arguments.at[i].id, id)
                             : f->arguments.at[i].id.v == id.v)))
        i++;
    word(f, i);
    f->bytes += bytes;
    if (i < f->arguments.n)
        return;
    f->is_long = f->is_long || i >= MOST_ARGUMENTS;
    VEC_PUSH(f->arena, &f->arguments, ((CArgument){ .id = id, .is_place = is_place }));
    f->call += bytes + (is_place ? 3 : 2);
}

/* What leaves have in their form: their type, and what printers ask of them. */
static void leaf(Form *f, const LExpr *e, LExprId id, uint64_t kind, uint64_t more)
{
    const uint64_t fused = tessi_c_may_be_fused(f->w, id);
    word(f, kind | (uint64_t)e->type << 8 | (uint64_t)e->lanes << 16 | fused << 24 | more << 32);
}

static void visit(Form *f, LExprId id);

enum { FORM_LEAF = 64, FORM_PLACE };

static void load(Form *f, const LExpr *e, LExprId id)
{
    const LoopProgram *p = f->w->p;
    const LBuffer *b = &p->buffers.at[e->buffer.v];
    const int64_t place = place_bytes(p, e), vector = e->lanes ? 17 : 0;
    if (!reads_by_place(f->w, e)) {
        leaf(f, e, id, FORM_LEAF, LEXPR_LOAD);
        argument(f, id, false,
                 place + vector + (e->n_args ? index_bytes(p, e->arg[e->n_args - 1]) : 0));
        return;
    }
    const uint64_t any_bool = b->type == TYPE_BOOL && b->kind == LBUF_INPUT;
    leaf(f, e, id, FORM_PLACE, e->ref | (uint64_t)b->type << 16 | any_bool << 24);
    argument(f, id, true, place);
    f->bytes += vector;
    visit(f, e->arg[e->n_args - 1]);
}

/* Characters that an operation has around its arguments, about. */
static int64_t around(const LExpr *e)
{
    switch (e->kind) {
    case LEXPR_OP:
        return tessi_op_is_infix(e->op, e->type) ? 3 : 11 + 2 * e->n_args + (e->lanes ? 1 : 0);
    case LEXPR_CONST: return tessi_is_real(e->type) ? 7 : 2;
    case LEXPR_CAST:
    case LEXPR_SAT: return 16;
    default: return 15;
    }
}

static void visit(Form *f, LExprId id)
{
    const LoopProgram *p = f->w->p;
    const LExpr *e = tessi_lexpr(p, id);
    if (f->is_long)
        return;
    if (e->type == TYPE_INDEX && !e->lanes && e->kind != LEXPR_CONST) {
        leaf(f, e, id, FORM_LEAF, LEXPR_PARAM);
        argument(f, id, false, index_bytes(p, id));
        return;
    }
    if (e->kind == LEXPR_LOAD) {
        load(f, e, id);
        return;
    }
    if (e->kind == LEXPR_VAR || e->kind == LEXPR_SCALAR) {
        const LVar *v = &p->vars.at[e->kind == LEXPR_VAR ? e->var.v : 0];
        const bool is_var = e->kind == LEXPR_VAR;
        leaf(f, e, id, FORM_LEAF, is_var && v->is_row ? 1 + (uint64_t)v->is_both : 0);
        argument(f, id, false, is_var ? length(v->name) : length(p->scalars.at[e->ref].name));
        return;
    }
    f->bytes += around(e);
    word(f, (uint64_t)e->kind | (uint64_t)e->type << 8 | (uint64_t)e->lanes << 16
                | (uint64_t)e->op << 24 | (uint64_t)e->ref << 32);
    if (e->kind == LEXPR_CONST) {
        uint64_t bits;
        memcpy(&bits, &e->value, sizeof bits);
        word(f, bits);
    }
    for (int i = 0; i < e->n_args; i++)
        visit(f, e->arg[i]);
}

/* ---- Values ---------------------------------------------------------------------------------- */

/* An expression that stands for all that are the same but for their arguments. */
typedef struct CValue {
    LExprId first;
    uint32_t function;            /* of the program, in which `first` stands */
    const char *wanted, *name;    /* name: NULL: it is written where it stands */
    uint32_t first_word, n_words; /* its form, in CValues.words */
    uint32_t n_places;            /* statements that have one */
    int64_t bytes, saved;         /* characters of one, and those that a call saves */
    uint32_t n_arguments;
} CValue;

struct CValues {
    VEC(CValue) values; /* at[0] unused */
    VEC(uint64_t) words;
    IdMap forms;
    uint32_t *value_of; /* by LExprId: its number in `values`; 0: it is none */
};

typedef struct Finder {
    CWriter *w;
    CValues *found;
    Arena *scratch;
    Form form;
    bool *seen;      /* by LExprId: its form is known */
    uint32_t *stamp; /* by LExprId: the statement that was last seen to have it */
    uint32_t statement, function;
    const char *wanted;
} Finder;

static bool is_form(void *user, uint32_t number)
{
    const Finder *f = user;
    const CValue *v = &f->found->values.at[number];
    return v->n_words == f->form.words.n
           && memcmp(&f->found->words.at[v->first_word], f->form.words.at,
                     v->n_words * sizeof *f->form.words.at)
                  == 0;
}

/* Operations alone: what else there is has no text worth a call, or is written where it stands. */
static bool may_be_value(const LExpr *e)
{
    const bool computes = e->kind == LEXPR_OP || e->kind == LEXPR_CAST || e->kind == LEXPR_SAT;
    return computes && (e->type != TYPE_INDEX || e->lanes);
}

/* Finds the form of an expression; 0: none that could be a function. */
static uint32_t value_of(Finder *f, LExprId id)
{
    if (f->seen[id.v] || !may_be_value(tessi_lexpr(f->w->p, id)))
        return f->found->value_of[id.v];
    f->seen[id.v] = true;
    f->form.words.n = f->form.arguments.n = 0;
    f->form.bytes = f->form.call = 0;
    f->form.is_long = false;
    visit(&f->form, id);
    if (f->form.is_long)
        return 0;
    const uint64_t hash =
        tessi_hash_bytes(0, f->form.words.at, f->form.words.n * sizeof *f->form.words.at);
    uint32_t number = tessi_idmap_find(&f->found->forms, hash, is_form, f);
    if (!number) {
        number = f->found->values.n;
        VEC_PUSH(f->scratch, &f->found->values,
                 ((CValue){ .first = id,
                            .function = f->function,
                            .wanted = f->wanted,
                            .first_word = f->found->words.n,
                            .n_words = f->form.words.n,
                            .bytes = f->form.bytes,
                            .n_arguments = f->form.arguments.n }));
        VEC_APPEND(f->scratch, &f->found->words, &f->form.words);
        tessi_idmap_add(f->scratch, &f->found->forms, hash, number);
    }
    CValue *v = &f->found->values.at[number];
    const int64_t lines = f->form.bytes > C_COLUMNS / 2 ? f->form.bytes / 4 : 0,
                  call = f->form.call + CALL + length(f->w->public_name) + length(v->wanted);
    v->saved = f->form.bytes + lines - call - (call > C_COLUMNS / 2 ? call / 4 : 0);
    return f->found->value_of[id.v] = number;
}

static void count(Finder *f, LExprId id)
{
    const LExpr *e = tessi_lexpr(f->w->p, id);
    if (f->stamp[id.v] == f->statement || (e->type == TYPE_INDEX && !e->lanes))
        return;
    f->stamp[id.v] = f->statement;
    const uint32_t number = value_of(f, id);
    f->found->values.at[number].n_places += number > 0;
    for (int i = 0; i < e->n_args; i++)
        count(f, e->arg[i]);
}

/* Statements that are written elsewhere: calls of parts but for the first of each. */
static bool is_call(void *user, uint32_t number)
{
    const CSplit *split = user;
    return split->parts->calls.at[number - 1].stmt == split->wanted;
}

static bool is_written_elsewhere(CSplit *split, const LStmt *s)
{
    split->wanted = s;
    const uint32_t number = tessi_idmap_find(&split->calls, (uintptr_t)s, is_call, split);
    if (!number)
        return false;
    const uint32_t part = split->parts->calls.at[number - 1].part;
    return split->part[part].name && split->parts->parts.at[part].stmt != s;
}

static void walk(Finder *f, const LBlock *block, CSplit *split)
{
    CWriter *w = f->w;
    for (uint32_t i = 0; i < block->n; i++) {
        const LStmt *s = block->at[i];
        if (!tessi_c_has_effect(w, s) || is_written_elsewhere(split, s))
            continue;
        const bool defines = s->kind == LSTMT_LET || s->kind == LSTMT_VAR || s->kind == LSTMT_SET;
        if (s->kind == LSTMT_LET)
            w->fused[s->var.v] = tessi_c_may_be_fused(w, s->a);
        f->wanted = defines               ? w->p->vars.at[s->var.v].name
                    : s->kind == LSTMT_IF ? "if"
                    : s->buffer.v         ? w->p->buffers.at[s->buffer.v].name
                                          : NULL;
        f->wanted = f->wanted ? f->wanted : "value";
        f->statement++;
        if (s->a.v)
            count(f, s->a);
        walk(f, &s->body, split);
        walk(f, &s->orelse, split);
    }
}

/* ---- Choice ---------------------------------------------------------------------------------- */

/* What is inside of a function is written once, not at all calls. */
static void count_once(Finder *f, LExprId id, uint32_t times, bool inside)
{
    const LExpr *e = tessi_lexpr(f->w->p, id);
    if (f->stamp[id.v] == f->statement || (e->type == TYPE_INDEX && !e->lanes))
        return;
    f->stamp[id.v] = f->statement;
    CValue *v = &f->found->values.at[f->found->value_of[id.v]];
    if (inside && f->found->value_of[id.v])
        v->n_places = v->n_places > times ? v->n_places - times : 0;
    for (int i = 0; i < e->n_args; i++)
        count_once(f, e->arg[i], times, true);
}

static bool is_worth_it(const CValue *v)
{
    const int64_t definition = v->bytes + DEFINITION + 18 * (int64_t)v->n_arguments;
    return v->n_places > 1 && v->saved * 100 > v->bytes * (100 - MOST_CALL_SHARE)
           && v->n_places * v->saved > definition + LEAST_SAVED;
}

static int longer_first(const void *a, const void *b)
{
    const CValue *const *x = a, *const *y = b;
    if ((*x)->bytes != (*y)->bytes)
        return (*x)->bytes > (*y)->bytes ? -1 : 1;
    return ((*x)->first_word > (*y)->first_word) - ((*x)->first_word < (*y)->first_word);
}

static void choose(Finder *f)
{
    CValues *found = f->found;
    CValue **order = ARENA_NEW_ARRAY(f->scratch, CValue *, found->values.n);
    for (uint32_t i = 1; i < found->values.n; i++)
        order[i - 1] = &found->values.at[i];
    qsort(order, found->values.n - 1, sizeof *order, longer_first);
    for (uint32_t i = 0; i + 1 < found->values.n; i++) {
        CValue *v = order[i];
        if (!is_worth_it(v))
            continue;
        v->name = tessi_c_file_name(f->w, v->wanted);
        f->statement++;
        count_once(f, v->first, v->n_places - 1, false);
    }
}

/* What each expression that has become a call hands over. */
static void find_arguments(Finder *f)
{
    CWriter *w = f->w;
    w->calls = ARENA_NEW_ARRAY(w->arena, const CCall *, w->p->exprs.n);
    for (uint32_t i = 1; i < w->p->exprs.n; i++) {
        const CValue *v = &f->found->values.at[f->found->value_of[i]];
        if (!v->name)
            continue;
        CCall *call = ARENA_NEW(w->arena, CCall);
        Form form = { .w = w, .arena = w->arena };
        visit(&form, (LExprId){ i });
        *call = (CCall){ v->name, form.arguments };
        w->calls[i] = call;
    }
}

CValues *tessi_c_find_values(CWriter *w, const LoopSame *same, CSplit *const *split)
{
    const LoopProgram *p = w->p;
    CValues *found = ARENA_NEW(w->arena, CValues);
    found->value_of = ARENA_NEW_ARRAY(w->arena, uint32_t, p->exprs.n);
    VEC_PUSH(w->arena, &found->values, (CValue){ 0 });
    Finder finder = { .w = w, .found = found, .scratch = w->arena };
    finder.form = (Form){ .w = w, .arena = w->arena };
    finder.seen = ARENA_NEW_ARRAY(w->arena, bool, p->exprs.n);
    finder.stamp = ARENA_NEW_ARRAY(w->arena, uint32_t, p->exprs.n);
    for (uint32_t i = 0; i < p->functions.n; i++) {
        if (same->first[i] != i)
            continue;
        tessi_loop_needs(p, &p->functions.at[i], w->arena, &w->needs);
        finder.function = i;
        walk(&finder, &p->functions.at[i].body, split[i]);
    }
    choose(&finder);
    find_arguments(&finder);
    return found;
}

/* ---- Definitions ----------------------------------------------------------------------------- */

static CParameter parameter(CWriter *w, CArgument *argument)
{
    const LExpr *e = tessi_lexpr(w->p, argument->id);
    const LBuffer *b = &w->p->buffers.at[e->buffer.v];
    const bool is_var = e->kind == LEXPR_VAR;
    const char *wanted = e->kind == LEXPR_LOAD     ? b->name
                         : is_var                  ? w->p->vars.at[e->var.v].name
                         : e->kind == LEXPR_SCALAR ? w->p->scalars.at[e->ref].name
                                                   : "i";
    const char *type = argument->is_place
                           ? tessi_sprintf(w->arena, "const %s *", tessi_c_element(b->type))
                       : is_var ? tessi_c_var_type(w, e->var)
                                : tessi_c_value_type(w, e);
    argument->name = tessi_c_name(w->names, wanted);
    return (CParameter){ .declaration =
                             tessi_sprintf(w->arena, "%s%s%s", type, argument->is_place ? "" : " ",
                                           argument->name),
                         .name = argument->name };
}

static void define(CWriter *w, CValue *v)
{
    CParameters list = { 0 };
    const uint32_t mark = tessi_c_names_mark(w->names);
    CArguments own = { 0 };
    VEC_FOREACH (const CArgument, argument, &w->calls[v->first.v]->arguments) {
        VEC_PUSH(w->arena, &own, *argument);
        const CParameter named = parameter(w, &own.at[own.n - 1]);
        VEC_PUSH(w->arena, &list, named);
    }
    w->own = own;
    const char *type = tessi_c_value_type(w, tessi_lexpr(w->p, v->first));
    tessi_text_add(w->out, "\n");
    tessi_c_signature(w, tessi_sprintf(w->arena, "TESS_FN %s ", type), v->name, &list, "");
    tessi_text_add(w->out, "{\n");
    w->indent++;
    w->defined = v->first;
    tessi_c_plan_begin(w);
    VEC_FOREACH (const CArgument, argument, &own)
        if (!argument->is_place)
            tessi_c_plan_name(w, argument->id, argument->name);
    tessi_c_plan_roots(w, &v->first, 1);
    tessi_c_temporaries(w);
    tessi_text_add(&w->line, "return ");
    tessi_c_expr(w, v->first, C_LOOSE);
    tessi_text_add(&w->line, ";");
    tessi_c_end_line(w);
    w->defined = (LExprId){ 0 };
    w->own = (CArguments){ 0 };
    w->indent--;
    tessi_text_add(w->out, "}\n");
    tessi_c_names_leave(w->names, mark);
}

static int shorter_first(const void *a, const void *b)
{
    return longer_first(b, a);
}

/* Those that values call come before them, whose texts need not be longer: names differ from place to place. */
typedef struct Definer {
    CWriter *w;
    CValues *values;
    bool *is_defined;         /* by value */
    uint32_t *stamp, current; /* by LExprId */
    uint32_t function;
} Definer;

static void define_once(Definer *d, uint32_t value);

static void define_called(Definer *d, LExprId id, bool inside)
{
    if (inside && d->stamp[id.v] == d->current)
        return;
    const uint32_t current = d->current, value = d->values->value_of[id.v];
    d->stamp[id.v] = current;
    if (inside && d->values->values.at[value].name) {
        define_once(d, value);
        d->current = current;
    }
    const LExpr *e = tessi_lexpr(d->w->p, id);
    for (int i = 0; i < e->n_args; i++)
        define_called(d, e->arg[i], true);
}

static void define_once(Definer *d, uint32_t value)
{
    CValue *v = &d->values->values.at[value];
    if (d->is_defined[value])
        return;
    d->is_defined[value] = true;
    d->current = value;
    define_called(d, v->first, false);
    if (v->function != d->function)
        tessi_loop_needs(d->w->p, &d->w->p->functions.at[v->function], d->w->arena, &d->w->needs);
    d->function = v->function;
    define(d->w, v);
}

void tessi_c_define_values(CWriter *w, CValues *values)
{
    CValue **order = ARENA_NEW_ARRAY(w->arena, CValue *, values->values.n);
    Definer d = { .w = w, .values = values, .function = UINT32_MAX };
    uint32_t n = 0;
    for (uint32_t i = 1; i < values->values.n; i++)
        if (values->values.at[i].name)
            order[n++] = &values->values.at[i];
    qsort(order, n, sizeof *order, shorter_first);
    d.is_defined = ARENA_NEW_ARRAY(w->arena, bool, values->values.n);
    d.stamp = ARENA_NEW_ARRAY(w->arena, uint32_t, w->p->exprs.n);
    for (uint32_t i = 0; i < n; i++)
        define_once(&d, (uint32_t)(order[i] - values->values.at));
}
