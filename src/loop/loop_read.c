/* Reads the text form of loop programs back: declarations and statements. Any bytes are harmless: the first fault
 * stops the reader with one sentence, nesting is bounded, and what was read is verified before it is handed out. */
#include <string.h>

#include "loop/loop_passes.h"
#include "loop/loop_template.h"

/* ---- Words ----------------------------------------------------------------------------------- */

bool tessi_loop_fault(LoopReader *r, const char *fmt, ...)
{
    if (r->fault)
        return false;
    va_list args;
    va_start(args, fmt);
    const char *what = tessi_vsprintf(r->arena, fmt, args);
    va_end(args);
    r->fault = tessi_sprintf(r->arena, "line %d: %s", r->token.line, what);
    return false;
}

void tessi_loop_advance(LoopReader *r)
{
    r->token = r->ahead;
    if (r->token.kind != LTOK_END)
        r->ahead = tessi_loop_next_token(&r->lexer);
    if (r->token.kind == LTOK_WRONG) {
        tessi_loop_fault(r, "%s", r->token.text);
        r->token.kind = r->ahead.kind = LTOK_END;
    }
}

bool tessi_loop_is_sign(const LoopReader *r, const char *sign)
{
    return r->token.kind == LTOK_SIGN && tessi_streq(r->token.text, sign);
}

bool tessi_loop_accept(LoopReader *r, const char *sign)
{
    if (r->fault || !tessi_loop_is_sign(r, sign))
        return false;
    tessi_loop_advance(r);
    return true;
}

bool tessi_loop_expect(LoopReader *r, const char *sign)
{
    return tessi_loop_accept(r, sign)
           || tessi_loop_fault(r, "expected '%s', found '%s'", sign, r->token.text);
}

bool tessi_loop_accept_word(LoopReader *r, const char *word)
{
    if (r->fault || r->token.kind != LTOK_NAME || r->token.quoted
        || !tessi_streq(r->token.name, word))
        return false;
    tessi_loop_advance(r);
    return true;
}

/* The bytes of lanes that a word like `v32` names, 0 when none stands here. */
static uint8_t accept_lanes(LoopReader *r)
{
    const bool word = !r->fault && r->token.kind == LTOK_NAME && !r->token.quoted;
    const uint8_t lanes = word ? tessi_loop_lanes_by_name(r->token.name) : 0;
    if (lanes)
        tessi_loop_advance(r);
    return lanes;
}

bool tessi_loop_expect_name(LoopReader *r, LoopToken *t)
{
    *t = r->token;
    if (r->fault || t->kind != LTOK_NAME)
        return tessi_loop_fault(r, "expected a name, found '%s'", t->text);
    tessi_loop_advance(r);
    return true;
}

bool tessi_loop_read_type(LoopReader *r, ScalarType *type)
{
    LoopToken t;
    if (!tessi_loop_expect_name(r, &t))
        return false;
    return (!t.quoted && tessi_type_by_name(t.name, type))
           || tessi_loop_fault(r, "no type is called '%s'", t.name);
}

bool tessi_loop_read_natural(LoopReader *r, uint32_t *n)
{
    Value v;
    if (r->fault || !tessi_loop_read_value(r, TYPE_INDEX, &v))
        return false;
    if (v.i < 0 || v.i > INT32_MAX)
        return tessi_loop_fault(r, "the number %lld is out of range", (long long)v.i);
    *n = (uint32_t)v.i;
    return true;
}

/* ---- Names ----------------------------------------------------------------------------------- */

typedef struct NameQuery {
    const LoopReader *r;
    const char *key;
} NameQuery;

static bool same_name(void *user, uint32_t id)
{
    const NameQuery *q = user;
    return tessi_streq(q->r->names.at[id].key, q->key);
}

const LoopName *tessi_loop_find_name(const LoopReader *r, const char *key)
{
    uint64_t h = tessi_hash_bytes(0, key, strlen(key));
    uint32_t id = tessi_idmap_find(&r->name_map, h, same_name, &(NameQuery){ r, key });
    return id ? &r->names.at[id] : NULL;
}

bool tessi_loop_declare(LoopReader *r, const LoopToken *t, LoopNameKind kind, uint32_t id)
{
    const LoopName *known = tessi_loop_find_name(r, t->text);
    if (known && !r->of)
        return tessi_loop_fault(r, "'%s' is declared twice", t->text);
    if (known) {
        r->names.at[known - r->names.at] = (LoopName){ t->text, kind, id };
        return true;
    }
    VEC_PUSH(r->arena, &r->names, ((LoopName){ t->text, kind, id }));
    tessi_idmap_add(r->arena, &r->name_map, tessi_hash_bytes(0, t->text, strlen(t->text)),
                    r->names.n - 1);
    return true;
}

/* A variable of a statement. The same one may be declared in several blocks, of which none holds another. */
static bool declare_var(LoopReader *r, const LoopToken *t, LVar like, LVarId *v)
{
    const LoopName *known = tessi_loop_find_name(r, t->text);
    if (known && known->kind == LNAME_VAR && !r->of) {
        const LVar *var = &r->p->vars.at[known->id];
        if (var->type != like.type || var->is_mutable != like.is_mutable || var->lanes != like.lanes
            || var->is_row != like.is_row || var->is_both != like.is_both)
            return tessi_loop_fault(r, "'%s' is declared in two ways", t->text);
        *v = (LVarId){ known->id };
        return true;
    }
    *v = tessi_loop_var(r->p, t->name, like.type, like.is_mutable);
    r->p->vars.at[v->v].lanes = like.lanes;
    r->p->vars.at[v->v].is_row = like.is_row;
    r->p->vars.at[v->v].is_both = like.is_both;
    if (r->of)
        tessi_template_var(r, *v);
    return tessi_loop_declare(r, t, LNAME_VAR, v->v);
}

bool tessi_loop_read_buffer(LoopReader *r, LBufferId *b)
{
    LoopToken t;
    if (!tessi_loop_expect_name(r, &t))
        return false;
    const LoopName *found = tessi_loop_find_name(r, t.text);
    if (!found || found->kind != LNAME_BUFFER)
        return tessi_loop_fault(r, "no buffer is called '%s'", t.text);
    *b = (LBufferId){ found->id };
    return true;
}

/* ---- Statements ------------------------------------------------------------------------------ */

static bool read_block(LoopReader *r, LBlock *block);

static bool read_for(LoopReader *r, LStmt *s)
{
    LoopToken name;
    if (!tessi_loop_expect_name(r, &name))
        return false;
    if (!tessi_loop_accept_word(r, "in"))
        return tessi_loop_fault(r, "expected 'in'");
    s->a = tessi_loop_read_typed(r, TYPE_INDEX);
    if (!s->a.v || !tessi_loop_expect(r, ".."))
        return false;
    s->b = tessi_loop_read_typed(r, TYPE_INDEX);
    uint32_t step = 1;
    if (!s->b.v || (tessi_loop_accept_word(r, "step") && !tessi_loop_read_natural(r, &step)))
        return false;
    s->step = step;
    s->lanes = accept_lanes(r);
    if (tessi_loop_accept_word(r, "least") && !tessi_loop_read_natural(r, &s->least))
        return false;
    if (r->of)
        tessi_template_open(r, s);
    return declare_var(r, &name, (LVar){ .type = TYPE_INDEX }, &s->var) && read_block(r, &s->body);
}

static bool read_if(LoopReader *r, LStmt *s)
{
    s->flags = tessi_loop_accept_word(r, "likely") ? LIF_LIKELY : 0;
    s->a = tessi_loop_read_typed(r, TYPE_BOOL);
    if (!s->a.v)
        return false;
    if (r->of)
        tessi_template_open(r, s);
    if (!read_block(r, &s->body))
        return false;
    if (!tessi_loop_accept_word(r, "else"))
        return true;
    if (r->of)
        tessi_template_else(r);
    return read_block(r, &s->orelse);
}

/* What a form has said of its statement. */
typedef struct Formed {
    LStmt *s;
    LoopToken name; /* of a variable that it declares */
    LVar like;
    ScalarType type; /* of its value */
} Formed;

/* name `:` type [`row` | `both`] [lanes] */
static bool read_declared(LoopReader *r, Formed *f)
{
    if (!tessi_loop_expect_name(r, &f->name) || !tessi_loop_expect(r, ":")
        || !tessi_loop_read_type(r, &f->like.type))
        return false;
    f->like.is_mutable = f->s->kind == LSTMT_VAR;
    f->like.is_both = tessi_loop_accept_word(r, "both");
    f->like.is_row = f->like.is_both || tessi_loop_accept_word(r, "row");
    f->like.lanes = accept_lanes(r);
    f->type = f->like.type;
    return true;
}

static bool read_variable(LoopReader *r, Formed *f)
{
    LoopToken name;
    if (!tessi_loop_expect_name(r, &name))
        return false;
    const LoopName *found = tessi_loop_find_name(r, name.text);
    if (!found || found->kind != LNAME_VAR)
        return tessi_loop_fault(r, "no variable is called '%s'", name.text);
    f->s->var = (LVarId){ found->id };
    f->type = r->p->vars.at[found->id].type;
    return true;
}

/* buffer, and its indices unless it is the line of a move */
static bool read_place(LoopReader *r, LStmt *s, LBufferId *b, bool may_be_line)
{
    if (!tessi_loop_read_buffer(r, b))
        return false;
    if (may_be_line && tessi_loop_is_line(r->p, *b))
        return true;
    const int n = tessi_loop_read_indices(r, s->index);
    s->n_index = n < 0 ? 0 : (uint8_t)n;
    return n >= 0;
}

/* A whole number, in a template also what comes to one. */
static bool read_step(LoopReader *r, LStmt *s)
{
    const LExprId by = tessi_loop_read_typed(r, TYPE_INDEX);
    if (!by.v)
        return false;
    const LExpr *e = tessi_lexpr(r->p, by);
    if (e->kind != LEXPR_CONST)
        return tessi_loop_fault(r, "a step is a constant");
    s->step = e->value.i;
    return true;
}

/* The name of a buffer; in a template also its declaration. */
static bool read_local(LoopReader *r, LStmt *s)
{
    if (r->of && r->ahead.kind == LTOK_SIGN && r->ahead.text[0] == ':')
        return tessi_template_local(r, s);
    return tessi_loop_read_buffer(r, &s->buffer);
}

static bool read_slot(LoopReader *r, Formed *f, char slot)
{
    LStmt *s = f->s;
    switch (slot) {
    case 'd': return read_declared(r, f);
    case 'v': return read_variable(r, f);
    case 'p':
        if (!read_place(r, s, &s->buffer, false))
            return false;
        f->type = tessi_value_type(r->p->buffers.at[s->buffer.v].type);
        return true;
    case 'l': return read_local(r, s);
    case 's': f->type = TYPE_INDEX; return tessi_loop_read_buffer(r, &s->buffer);
    case 'm': return read_place(r, s, &s->buffer, true);
    case 'o': return read_place(r, s, &s->other, true);
    case 'a': s->a = tessi_loop_read_typed(r, f->type); return s->a.v != 0;
    case 'x': s->a = tessi_loop_read_expr(r); return s->a.v != 0;
    case 'b': s->b = tessi_loop_read_expr(r); return s->b.v != 0;
    case 'c': s->b = tessi_loop_read_typed(r, TYPE_BOOL); return s->b.v != 0;
    default: return read_step(r, s);
    }
}

/* A word or sign of a form. */
static bool accept_literal(LoopReader *r, const char *literal)
{
    const bool word = *literal >= 'a' && *literal <= 'z';
    return word ? tessi_loop_accept_word(r, literal) : tessi_loop_accept(r, literal);
}

static bool read_form(LoopReader *r, LStmt *s, const char *form)
{
    Formed f = { .s = s };
    bool optional = false; /* the next word may be missing, and all behind it */
    while (*form) {
        const size_t n = strcspn(form, " %?");
        const char *literal = n ? tessi_strndup(r->arena, form, n) : "";
        if (*form == '%' && !read_slot(r, &f, form[1]))
            return false;
        if (n && !accept_literal(r, literal)) {
            if (optional)
                break;
            return tessi_loop_fault(r, "expected '%s', found '%s'", literal, r->token.text);
        }
        optional = *form == '?';
        form += *form == '%' ? 2 : n ? n : 1;
    }
    if (!f.name.text)
        return true;
    if (r->of)
        tessi_template_place(r, s);
    return declare_var(r, &f.name, f.like, &s->var);
}

/* A number, or 1. */
static uint8_t read_side_by_side(LoopReader *r, const char *fault)
{
    uint32_t n = 1;
    if (r->token.kind == LTOK_NUMBER && (!tessi_loop_read_natural(r, &n) || n > UINT8_MAX))
        tessi_loop_fault(r, "%s", fault);
    return (uint8_t)n;
}

/* The words before `for`; what they say goes to *s. False when there are none. */
static bool read_loop_flags(LoopReader *r, LStmt *s)
{
    uint8_t *flags = &s->flags;
    uint32_t axis = 0;
    if (tessi_loop_accept_word(r, "grid"))
        *flags |= LFOR_PARALLEL | LFOR_GRID;
    else if (tessi_loop_accept_word(r, "thread"))
        *flags |= LFOR_PARALLEL | LFOR_THREAD;
    if (*flags && (!tessi_loop_read_natural(r, &axis) || axis >= LOOP_MAX_AXES)) {
        tessi_loop_fault(r, "an axis is 0, 1 or 2");
        axis = 0;
    }
    s->axis = (uint8_t)axis;
    *flags |= tessi_loop_accept_word(r, "parallel") ? LFOR_PARALLEL : 0;
    if (tessi_loop_accept_word(r, "simd")) {
        *flags |= LFOR_SIMD;
        s->vectors = read_side_by_side(r, "the vectors of a loop are 1 to 255");
    }
    *flags |= tessi_loop_accept_word(r, "unroll") ? LFOR_UNROLL : 0;
    if (tessi_loop_accept_word(r, "rolled")) {
        *flags |= LFOR_ROLLED;
        s->vectors = read_side_by_side(r, "the iterations of a loop are 1 to 255");
    }
    return *flags != 0;
}

static bool read_comment(LoopReader *r, LBlock *block)
{
    if (r->token.marker != '#')
        return tessi_loop_fault(r, "a comment inside a block begins with '# '");
    Text text = tessi_text_new(r->arena);
    tessi_text_add(&text, r->token.text);
    tessi_loop_advance(r);
    while (r->token.kind == LTOK_COMMENT && r->token.marker == '|') {
        tessi_text_addf(&text, "\n%s", r->token.text);
        tessi_loop_advance(r);
    }
    LBlock alone = { 0 };
    LStmt *s = tessi_lstmt(r->p, &alone, LSTMT_COMMENT);
    s->text = tessi_text_str(&text);
    if (r->of)
        tessi_template_add(r, s);
    else
        VEC_PUSH(r->arena, block, s);
    return !r->fault;
}

/* The words that a statement begins with; what stands behind them, NULL on a fault. */
static const LoopForm *read_head(LoopReader *r, LStmt *s)
{
    const bool loops = read_loop_flags(r, s);
    s->atomic = !loops && tessi_loop_accept_word(r, "atomic");
    const char *only = loops ? "for" : s->atomic ? "add" : NULL;
    for (const LoopForm *form = tessi_loop_forms(); form->word; form++)
        if ((!only || tessi_streq(only, form->word)) && tessi_loop_accept_word(r, form->word)) {
            s->kind = form->kind;
            s->flags |= form->flags;
            return form;
        }
    if (only)
        tessi_loop_fault(r, "expected '%s'", only);
    else
        tessi_loop_fault(r, "expected a statement, found '%s'", r->token.text);
    return NULL;
}

bool tessi_loop_read_stmt(LoopReader *r, LBlock *block)
{
    LBlock alone = { 0 };
    bool good = true;
    if (r->of && tessi_template_stmt(r, block, &good))
        return good;
    if (r->token.kind == LTOK_COMMENT)
        return read_comment(r, block);
    LStmt *s = tessi_lstmt(r->p, &alone, LSTMT_FOR);
    const LoopForm *form = read_head(r, s);
    if (!form
        || !(form->rest             ? read_form(r, s, form->rest)
             : s->kind == LSTMT_FOR ? read_for(r, s)
                                    : read_if(r, s)))
        return false;
    if (r->of)
        tessi_template_add(r, s);
    else
        VEC_PUSH(r->arena, block, s);
    return true;
}

static bool read_block(LoopReader *r, LBlock *block)
{
    if (r->depth > LOOP_MAX_NESTING)
        return tessi_loop_fault(r, "blocks are nested more than %d deep", LOOP_MAX_NESTING);
    r->depth++;
    if (!tessi_loop_expect(r, "{"))
        return false;
    while (!tessi_loop_is_sign(r, "}"))
        if (!tessi_loop_read_stmt(r, block))
            return false;
    r->depth--;
    return tessi_loop_expect(r, "}");
}

/* ---- Declarations ---------------------------------------------------------------------------- */

bool tessi_loop_read_sizes(LoopReader *r, LExprId *size, uint8_t *n)
{
    int found = tessi_loop_read_indices(r, size);
    *n = found < 0 ? 0 : (uint8_t)found;
    return found >= 0;
}

/* name `: {` channels `} pixel` bytes `[` sizes `]` */
static bool read_image(LoopReader *r, LImage *im)
{
    LoopToken name;
    VEC(ScalarType) types = { 0 };
    VEC(const char *) names = { 0 };
    VEC(uint32_t) offsets = { 0 };
    if (!tessi_loop_expect_name(r, &name) || !tessi_loop_expect(r, ":")
        || !tessi_loop_expect(r, "{"))
        return false;
    do {
        LoopToken channel;
        ScalarType type;
        uint32_t offset = 0;
        if (!tessi_loop_expect_name(r, &channel) || !tessi_loop_expect(r, ":")
            || !tessi_loop_read_type(r, &type) || !tessi_loop_expect(r, "@")
            || !tessi_loop_read_natural(r, &offset))
            return false;
        VEC_PUSH(r->arena, &types, type);
        VEC_PUSH(r->arena, &names, channel.name);
        VEC_PUSH(r->arena, &offsets, offset);
    } while (tessi_loop_accept(r, ","));
    if (!tessi_loop_expect(r, "}"))
        return false;
    im->name = name.name;
    im->n_channels = types.n;
    im->channel_type = types.at;
    im->channel_name = names.at;
    im->channel_offset = offsets.at;
    im->uniform = tessi_loop_accept_word(r, "pixel");
    if (!im->uniform && !tessi_loop_accept_word(r, "mixed"))
        return tessi_loop_fault(r, "expected 'pixel' or 'mixed'");
    return tessi_loop_read_natural(r, &im->pixel_bytes)
           && tessi_loop_read_sizes(r, im->size, &im->n_dims);
}

static bool read_table(LoopReader *r, LBuffer *b)
{
    VEC(Value) values = { 0 };
    if (!tessi_loop_expect(r, "=") || !tessi_loop_expect(r, "{"))
        return false;
    while (!tessi_loop_is_sign(r, "}")) {
        Value v;
        if (!tessi_loop_read_value(r, b->type, &v))
            return false;
        VEC_PUSH(r->arena, &values, v);
        if (!tessi_loop_accept(r, ","))
            break;
    }
    b->table = values.at;
    b->n_table = values.n;
    return tessi_loop_expect(r, "}");
}

static bool read_buffer(LoopReader *r)
{
    static const char *const kinds[] = { "input", "output", "temp", "local", "table" };
    LoopToken name;
    LBuffer b = { 0 };
    if (!tessi_loop_expect_name(r, &name) || !tessi_loop_expect(r, ":"))
        return false;
    b.in_constant = tessi_loop_accept_word(r, "constant");
    b.held = !b.in_constant && tessi_loop_accept_word(r, "held");
    int kind = b.in_constant ? LBUF_TEMP : b.held ? LBUF_LOCAL : 0;
    while (!b.in_constant && !b.held && kind <= LBUF_TABLE
           && !tessi_loop_accept_word(r, kinds[kind]))
        kind++;
    if (kind > LBUF_TABLE)
        return tessi_loop_fault(r, "'%s' is not a kind of buffer", r->token.text);
    b.kind = (LBufferKind)kind;
    b.name = name.name;
    b.in_memory = b.kind == LBUF_TABLE && tessi_loop_accept_word(r, "in");
    if (b.in_memory && !tessi_loop_accept_word(r, "memory"))
        return tessi_loop_fault(r, "tables are in constant memory, or 'in memory'");
    if (b.kind == LBUF_INPUT || b.kind == LBUF_OUTPUT)
        if (!tessi_loop_read_natural(r, &b.image) || !tessi_loop_expect(r, "/"))
            return false;
    if (b.kind == LBUF_INPUT || b.kind == LBUF_OUTPUT) {
        b.flat = tessi_loop_accept_word(r, "all");
        if (!b.flat && !tessi_loop_read_natural(r, &b.channel))
            return false;
    }
    if (!tessi_loop_read_type(r, &b.type))
        return false;
    b.lanes = accept_lanes(r);
    if (!tessi_loop_read_sizes(r, b.size, &b.n_dims))
        return false;
    if (b.kind == LBUF_TABLE && !read_table(r, &b))
        return false;
    return tessi_loop_declare(r, &name, LNAME_BUFFER, tessi_loop_buffer(r->p, &b).v);
}

static bool read_param(LoopReader *r)
{
    LoopToken name;
    if (!tessi_loop_expect_name(r, &name))
        return false;
    VEC_PUSH(r->arena, &r->p->params, name.name);
    return tessi_loop_declare(r, &name, LNAME_PARAM, r->p->params.n - 1);
}

static bool read_scalar(LoopReader *r)
{
    LoopToken name;
    LScalar s;
    if (!tessi_loop_expect_name(r, &name) || !tessi_loop_expect(r, ":")
        || !tessi_loop_read_type(r, &s.type))
        return false;
    s.name = name.name;
    VEC_PUSH(r->arena, &r->p->scalars, s);
    return tessi_loop_declare(r, &name, LNAME_SCALAR, r->p->scalars.n - 1);
}

static bool read_positive(LoopReader *r)
{
    do {
        LExprId e = tessi_loop_read_typed(r, TYPE_INDEX);
        if (!e.v)
            return false;
        VEC_PUSH(r->arena, &r->p->must_be_positive, e);
    } while (tessi_loop_accept(r, ","));
    return true;
}

/* Pairs, one behind the other. */
static bool read_equal(LoopReader *r)
{
    do {
        const LExprId a = tessi_loop_read_typed(r, TYPE_INDEX);
        if (!a.v || !tessi_loop_expect(r, ","))
            return false;
        const LExprId b = tessi_loop_read_typed(r, TYPE_INDEX);
        if (!b.v)
            return false;
        VEC_PUSH(r->arena, &r->p->must_be_equal, a);
        VEC_PUSH(r->arena, &r->p->must_be_equal, b);
    } while (tessi_loop_accept(r, ","));
    return true;
}

/* `grid [` X, Y, Z `] block [` x, y, z `]` */
static bool read_launch(LoopReader *r, LFunction *f)
{
    LExprId grid[LOOP_MAX_DIMS];
    if (!tessi_loop_accept_word(r, "grid"))
        return tessi_loop_fault(r, "expected 'grid'");
    if (tessi_loop_read_indices(r, grid) != LOOP_MAX_AXES)
        return tessi_loop_fault(r, "a grid has three sizes");
    if (!tessi_loop_accept_word(r, "block") || !tessi_loop_expect(r, "["))
        return tessi_loop_fault(r, "expected 'block ['");
    for (int axis = 0; axis < LOOP_MAX_AXES; axis++) {
        const LExpr *e = tessi_lexpr(r->p, grid[axis]);
        if (e->kind != LEXPR_CONST || e->value.i != 1) /* none stands for 1 */
            f->grid[axis] = grid[axis];
        if ((axis && !tessi_loop_expect(r, ",")) || !tessi_loop_read_natural(r, &f->block[axis]))
            return false;
    }
    if (!tessi_loop_expect(r, "]"))
        return false;
    if (tessi_loop_accept_word(r, "resident") && !tessi_loop_read_natural(r, &f->resident))
        return false;
    f->beside = tessi_loop_accept_word(r, "beside");
    return true;
}

static bool read_function(LoopReader *r, const char *comment, bool is_kernel)
{
    LoopToken name;
    LFunction f = { .comment = comment, .is_kernel = is_kernel };
    if (!tessi_loop_expect_name(r, &name))
        return false;
    f.name = name.name;
    if (!tessi_loop_read_place(r, &f.place))
        return false;
    if (is_kernel && !read_launch(r, &f))
        return false;
    if (!read_block(r, &f.body))
        return false;
    VEC_PUSH(r->arena, &r->p->functions, f);
    return true;
}

/* The lines of a ## comment as one text; NULL when there is none. */
static const char *read_head_comment(LoopReader *r)
{
    if (r->token.kind != LTOK_COMMENT)
        return NULL;
    Text text = tessi_text_new(r->arena);
    int first = r->token.line, line = first;
    for (; r->token.kind == LTOK_COMMENT && r->token.line == line; line++) {
        if (r->token.marker != 'H')
            tessi_loop_fault(r, "a comment between declarations begins with '## '");
        tessi_text_addf(&text, "%s%s", line == first ? "" : "\n", r->token.text);
        tessi_loop_advance(r);
    }
    return tessi_text_str(&text);
}

static bool read_vectors(LoopReader *r)
{
    uint32_t *bytes = &r->p->vector_bytes;
    return tessi_loop_read_natural(r, bytes)
           && (*bytes == 16 || *bytes == 32 || *bytes == 64
               || tessi_loop_fault(r, "vectors have 16, 32 or 64 bytes"));
}

static bool read_declaration(LoopReader *r)
{
    const char *comment = read_head_comment(r);
    LImage image = { 0 };
    if (tessi_loop_accept_word(r, "function"))
        return read_function(r, comment, false);
    if (tessi_loop_accept_word(r, "kernel"))
        return read_function(r, comment, true);
    if (comment)
        return tessi_loop_fault(r, "expected 'function' or 'kernel' behind its comment, found '%s'",
                                r->token.text);
    if (tessi_loop_accept_word(r, "width"))
        return tessi_loop_read_natural(r, &r->p->width);
    if (tessi_loop_accept_word(r, "vectors"))
        return read_vectors(r);
    if (tessi_loop_accept_word(r, "param"))
        return read_param(r);
    if (tessi_loop_accept_word(r, "scalar"))
        return read_scalar(r);
    if (tessi_loop_accept_word(r, "positive"))
        return read_positive(r);
    if (tessi_loop_accept_word(r, "equal"))
        return read_equal(r);
    if (tessi_loop_accept_word(r, "buffer"))
        return read_buffer(r);
    if (tessi_loop_accept_word(r, "repeat"))
        return tessi_loop_read_repeat(r);
    if (tessi_loop_accept_word(r, "input")) {
        if (!read_image(r, &image))
            return false;
        VEC_PUSH(r->arena, &r->p->inputs, image);
        return true;
    }
    if (tessi_loop_accept_word(r, "output")) {
        if (!read_image(r, &image))
            return false;
        VEC_PUSH(r->arena, &r->p->outputs, image);
        return true;
    }
    return tessi_loop_fault(r, "expected a declaration, found '%s'", r->token.text);
}

static void read_program(LoopReader *r)
{
    LoopToken name;
    if (!tessi_loop_accept_word(r, "loops")) {
        tessi_loop_fault(r, "expected 'loops', found '%s'", r->token.text);
        return;
    }
    if (!tessi_loop_expect_name(r, &name))
        return;
    r->p->name = name.name;
    /* A comment directly behind the name is the program's; one before `function` is that function's. */
    bool has_comment = r->token.kind == LTOK_COMMENT && r->token.line == name.line + 1;
    r->p->comment = has_comment ? read_head_comment(r) : NULL;
    while (!r->fault && r->token.kind != LTOK_END)
        read_declaration(r);
}

LoopProgram *tessi_loop_read(Arena *a, Diags *d, const char *text, size_t n)
{
    LoopReader r = { .arena = a, .lexer = { a, text, text + n, 1, NULL } };
    r.p = tessi_loop_new(a, "");
    VEC_PUSH(a, &r.names, (LoopName){ 0 });
    r.ahead = tessi_loop_next_token(&r.lexer);
    tessi_loop_advance(&r);
    read_program(&r);
    const char *fault = r.fault ? r.fault : tessi_loop_verify(r.p);
    if (!fault)
        return r.p;
    tessi_diag(d, DIAG_BAD_LOOPS_TEXT, (Span){ 0 }, fault);
    return NULL;
}
