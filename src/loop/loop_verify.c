/* The rules every loop program obeys: well-typed expressions, names that are in scope where they are used, buffers
 * that are what they claim. After this, printers and interpreters trust the program. */
#include "loop/loop_passes.h"
#include "loop/loop_private.h"

typedef struct Verifier {
    const LoopProgram *p;
    const LFunction *f;    /* where we are, NULL in the declarations */
    uint32_t *nodes;       /* by LExprId: nodes of the tree, saturating */
    uint32_t *depth;       /* by LExprId */
    uint32_t *seen, stamp; /* by LExprId: last statement that reached it */
    /* by LVarId: 1 + parallel loops around the declaration in scope, 0 = out of scope */
    int *var_level;
    bool *local_alive; /* by LBufferId: LOCAL buffers in scope */
    uint32_t *rows;    /* by LBufferId: rows of it in scope, as long as which it is not stored to */
    int level;         /* parallel and SIMD loops around us */
    bool in_simd;
    int nesting;
    const char *fault;
} Verifier;

TESS_PRINTF(2, 3) static bool fault(Verifier *v, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    const char *what = tessi_vsprintf(v->p->arena, fmt, args);
    va_end(args);
    const char *in = v->f ? v->f->name : NULL;
    v->fault = in ? tessi_sprintf(v->p->arena, "function '%s': %s", in, what) : what;
    return false;
}

static const char *shown(const char *name)
{
    return name ? name : "";
}

/* ---- Expressions ----------------------------------------------------------------------------- */

static bool check_op(Verifier *v, const LExpr *e)
{
    if ((unsigned)e->op >= N_OPS || e->n_args != tessi_op_info(e->op)->n_args)
        return fault(v, "an operator has the wrong number of arguments");
    ScalarType types[3];
    for (int i = 0; i < e->n_args; i++)
        types[i] = tessi_lexpr(v->p, e->arg[i])->type;
    const OpInfo *info = tessi_op_info(e->op);
    ScalarType result = tessi_op_result(e->op, types[e->op == OP_SELECT]);
    if (!tessi_loop_op_fits(e->op, types) || e->type != result)
        return fault(v, "operator '%s' does not fit the types of its arguments", info->name);
    return true;
}

static bool check_load(Verifier *v, const LExpr *e)
{
    if (!e->buffer.v || e->buffer.v >= v->p->buffers.n)
        return fault(v, "a load names no buffer");
    const LBuffer *b = &v->p->buffers.at[e->buffer.v];
    if (e->n_args != b->n_dims)
        return fault(v, "'%s' has %d dimensions and is read with %d indices", shown(b->name),
                     b->n_dims, e->n_args);
    for (int i = 0; i < e->n_args; i++) {
        const LExpr *at = tessi_lexpr(v->p, e->arg[i]);
        const bool of_lanes = tessi_load_each(e) && at->lanes && tessi_is_integer(at->type);
        if (!of_lanes && (at->type != TYPE_INDEX || at->lanes))
            return fault(v, "'%s' is read with an index that is not of type index", shown(b->name));
    }
    const bool halves = e->ref == LLOAD_EVENS || e->ref == LLOAD_ODDS;
    const ScalarType half = tessi_is_unsigned(b->type) ? TYPE_U16 : TYPE_I16;
    return e->type
               == (halves                  ? half
                   : e->ref == LLOAD_FOURS ? TYPE_U32
                                           : tessi_value_type(b->type))
           || fault(v, "a load of '%s' has the wrong type", shown(b->name));
}

static bool check_value(ScalarType t, Value value)
{
    if (tessi_is_real(t) || t == TYPE_INDEX)
        return true;
    Interval range = tessi_type_range(t);
    return value.i >= range.lo && value.i <= range.hi;
}

static bool check_node(Verifier *v, const LExpr *e)
{
    const LoopProgram *p = v->p;
    if ((unsigned)e->type >= N_TYPES || e->type == TYPE_F16)
        return fault(v, "an expression has no type that values can have");
    switch (e->kind) {
    case LEXPR_CONST:
        return check_value(e->type, e->value) || fault(v, "a constant is outside its type");
    case LEXPR_VAR:
        return (e->var.v && e->var.v < p->vars.n && e->type == p->vars.at[e->var.v].type)
               || fault(v, "an expression names no variable");
    case LEXPR_PARAM:
        return (e->ref < p->params.n && e->type == TYPE_INDEX)
               || fault(v, "an expression names no parameter");
    case LEXPR_SCALAR:
        return (e->ref < p->scalars.n && e->type == tessi_value_type(p->scalars.at[e->ref].type))
               || fault(v, "an expression names no scalar");
    case LEXPR_LOAD: return check_load(v, e);
    case LEXPR_OP: return check_op(v, e);
    case LEXPR_CAST:
    case LEXPR_SAT: return e->n_args == 1 || fault(v, "a conversion needs one argument");
    case LEXPR_LANES:
    case LEXPR_VECTORS:
    case LEXPR_SPLAT:
    case LEXPR_RAMP:
    case LEXPR_AT:
    case LEXPR_PAIRS:
    case LEXPR_BOTH: return true;
    }
    return fault(v, "an expression is of no kind");
}

/* All nodes in one pass: arguments stand before their users. */
static bool check_exprs(Verifier *v)
{
    const LoopProgram *p = v->p;
    for (uint32_t id = 1; id < p->exprs.n; id++) {
        const LExpr *e = &p->exprs.at[id];
        uint64_t nodes = 1;
        uint32_t depth = 0;
        if (e->n_args > LOOP_MAX_DIMS)
            return fault(v, "an expression has too many arguments");
        for (int i = 0; i < e->n_args; i++) {
            uint32_t arg = e->arg[i].v;
            if (!arg || arg >= id)
                return fault(v, "an expression uses one that comes after it");
            nodes += v->nodes[arg];
            depth = depth < v->depth[arg] ? v->depth[arg] : depth;
        }
        v->nodes[id] = nodes > UINT32_MAX ? UINT32_MAX : (uint32_t)nodes;
        v->depth[id] = depth + 1;
        if (e->kind == LEXPR_SPLAT && e->n_args == 1) { /* scalars are spread as they are read */
            v->nodes[id]--;
            v->depth[id]--;
        }
        if (!check_node(v, e))
            return false;
        const char *wrong = tessi_loop_lanes_fault(p, e);
        if (wrong)
            return fault(v, "%s", wrong);
    }
    return true;
}

/* Every variable and LOCAL buffer below `id` is in scope. */
static bool check_scope(Verifier *v, LExprId id)
{
    if (v->seen[id.v] == v->stamp)
        return true;
    v->seen[id.v] = v->stamp;
    const LExpr *e = tessi_lexpr(v->p, id);
    if (e->kind == LEXPR_VAR && !v->var_level[e->var.v])
        return fault(v, "'%s' is used where it is not defined",
                     shown(v->p->vars.at[e->var.v].name));
    if (e->kind == LEXPR_LOAD && v->p->buffers.at[e->buffer.v].kind == LBUF_LOCAL
        && !v->local_alive[e->buffer.v])
        return fault(v, "'%s' is read where it does not exist",
                     shown(v->p->buffers.at[e->buffer.v].name));
    if (v->f && v->f->is_kernel && (e->lanes || e->kind >= LEXPR_LANES))
        return fault(v, "a kernel computes in vectors");
    for (int i = 0; i < e->n_args; i++)
        if (!check_scope(v, e->arg[i]))
            return false;
    return true;
}

static bool check_value_of(Verifier *v, LExprId id, ScalarType t, uint8_t lanes)
{
    if (!id.v || id.v >= v->p->exprs.n)
        return fault(v, "an expression is missing");
    if (v->nodes[id.v] > LOOP_MAX_EXPR_NODES || v->depth[id.v] > LOOP_MAX_EXPR_DEPTH)
        return fault(v, "an expression is too large to be written in one piece");
    ScalarType found = tessi_lexpr(v->p, id)->type;
    if (found != t)
        return fault(v, "an expression of type %s stands where one of type %s is needed",
                     tessi_type_info(found)->name, tessi_type_info(t)->name);
    if (tessi_lexpr(v->p, id)->lanes != lanes)
        return fault(v, "a value has not as many lanes as it should");
    if (tessi_loop_is_row(v->p, id))
        return fault(v, "a row is no value");
    v->stamp++;
    return check_scope(v, id);
}

static bool check_expr(Verifier *v, LExprId id, ScalarType t)
{
    return check_value_of(v, id, t, 0);
}

/* ---- Declarations ---------------------------------------------------------------------------- */

static bool is_size(Verifier *v, LExprId id)
{
    const LExpr *e = tessi_lexpr(v->p, id);
    if (v->seen[id.v] == v->stamp)
        return true;
    v->seen[id.v] = v->stamp;
    const bool condition = e->type == TYPE_BOOL && e->kind != LEXPR_SCALAR;
    if ((e->type != TYPE_INDEX && !condition) || e->kind == LEXPR_VAR || e->kind == LEXPR_LOAD
        || e->kind == LEXPR_CAST || e->kind == LEXPR_SAT || e->kind >= LEXPR_LANES)
        return false;
    for (int i = 0; i < e->n_args; i++)
        if (!is_size(v, e->arg[i]))
            return false;
    return true;
}

static bool check_size(Verifier *v, LExprId id, const char *of)
{
    if (!check_expr(v, id, TYPE_INDEX))
        return false;
    v->stamp++;
    return is_size(v, id) || fault(v, "a size of '%s' depends on more than parameters", shown(of));
}

static bool check_image(Verifier *v, const LImage *im)
{
    if (im->n_dims > LOOP_MAX_DIMS)
        return fault(v, "image '%s' has %d dimensions", shown(im->name), im->n_dims);
    for (int d = 0; d < im->n_dims; d++)
        if (!check_size(v, im->size[d], im->name))
            return false;
    if (!im->n_channels || !im->channel_type || !im->channel_name || !im->channel_offset)
        return fault(v, "image '%s' has no channels", shown(im->name));
    for (uint32_t c = 0; c < im->n_channels; c++) {
        ScalarType t = im->channel_type[c];
        if ((unsigned)t >= N_TYPES || t == TYPE_INDEX)
            return fault(v, "a channel of image '%s' has no type", shown(im->name));
        uint32_t bytes = tessi_type_info(t)->bytes, at = im->channel_offset[c];
        if (im->pixel_bytes < bytes || at > im->pixel_bytes - bytes)
            return fault(v, "a channel of image '%s' lies outside the pixel", shown(im->name));
        if (im->uniform && (t != im->channel_type[0] || at % bytes || im->pixel_bytes % bytes))
            return fault(v, "image '%s' is not uniform", shown(im->name));
    }
    return true;
}

static bool check_channel(Verifier *v, const LBuffer *b)
{
    bool input = b->kind == LBUF_INPUT;
    uint32_t n_images = input ? v->p->inputs.n : v->p->outputs.n;
    if (b->image >= n_images)
        return fault(v, "buffer '%s' names no image", shown(b->name));
    const LImage *im = tessi_loop_image(v->p, b);
    if (b->channel >= im->n_channels || b->type != im->channel_type[b->channel])
        return fault(v, "buffer '%s' is no channel of its image", shown(b->name));
    bool same = b->n_dims == im->n_dims;
    for (int d = 0; same && d < b->n_dims - b->flat; d++)
        same = b->size[d].v == im->size[d].v;
    if (same && b->flat)
        same = b->channel == 0 && tessi_loop_can_be_flat(v->p, im)
               && tessi_loop_is_flat_size(v->p, im, b->size[b->n_dims - 1]);
    if (!same)
        return fault(v, "buffer '%s' has other sizes than its image", shown(b->name));
    for (const LBuffer *other = v->p->buffers.at + 1; other < b; other++)
        if (!input && other->kind == LBUF_OUTPUT && other->image == b->image
            && other->channel == b->channel && other->flat == b->flat)
            return fault(v, "'%s' is a channel that another buffer holds", shown(b->name));
    return true;
}

/* The number of elements of a buffer of constant size, at most LOOP_MAX_LOCAL_BYTES; 0 when it is something else. */
static int64_t constant_elements(Verifier *v, const LBuffer *b)
{
    int64_t n = 1;
    for (int d = 0; d < b->n_dims; d++) {
        const int64_t size = tessi_loop_local_size(v->p, b->size[d]);
        if (size < 1 || size > LOOP_MAX_LOCAL_BYTES)
            return 0;
        n *= size;
        if (n > LOOP_MAX_LOCAL_BYTES)
            return 0;
    }
    return n;
}

static bool check_bytes(Verifier *v, const LBuffer *b, const char *kind, int64_t most)
{
    const int64_t n = constant_elements(v, b);
    return (n && n * tessi_type_info(b->type)->bytes <= most)
           || fault(v, "%s buffer '%s' is not of constant size, or too large", kind,
                    shown(b->name));
}

static bool check_table(Verifier *v, const LBuffer *b)
{
    int64_t n = constant_elements(v, b);
    if (n == 0 || n != b->n_table || !b->table)
        return fault(v, "table '%s' has not as many values as its size says", shown(b->name));
    for (uint32_t i = 0; i < b->n_table; i++)
        if (!check_value(b->type, b->table[i]))
            return fault(v, "table '%s' holds a value outside its type", shown(b->name));
    return true;
}

static bool check_buffer(Verifier *v, const LBuffer *b)
{
    if ((unsigned)b->type >= N_TYPES || b->type == TYPE_INDEX || b->n_dims > LOOP_MAX_DIMS)
        return fault(v, "buffer '%s' has no type that can be stored", shown(b->name));
    if (b->lanes
        && (b->kind != LBUF_LOCAL || b->held || b->type == TYPE_F16
            || !tessi_loop_lanes_name(b->lanes) || tessi_type_info(b->type)->bytes > b->lanes))
        return fault(v, "buffer '%s' cannot hold vectors", shown(b->name));
    for (int d = 0; d < b->n_dims; d++) {
        const bool vectors =
            b->kind == LBUF_LOCAL && tessi_lexpr(v->p, b->size[d])->kind == LEXPR_VECTORS;
        if (!vectors && !check_size(v, b->size[d], b->name))
            return false;
    }
    switch (b->kind) {
    case LBUF_INPUT:
    case LBUF_OUTPUT: return check_channel(v, b);
    case LBUF_TEMP:
        return !b->in_constant || check_bytes(v, b, "constant", LOOP_MAX_CONSTANT_BYTES);
    case LBUF_LOCAL: return check_bytes(v, b, "local", LOOP_MAX_LOCAL_BYTES);
    case LBUF_TABLE: return check_table(v, b);
    }
    return fault(v, "buffer '%s' is of no kind", shown(b->name));
}

static bool check_declarations(Verifier *v)
{
    const LoopProgram *p = v->p;
    VEC_FOREACH (LScalar, s, &p->scalars)
        if ((unsigned)s->type >= N_TYPES || s->type == TYPE_INDEX)
            return fault(v, "scalar '%s' has no type", shown(s->name));
    VEC_FOREACH (LImage, im, &p->inputs)
        if (!check_image(v, im))
            return false;
    VEC_FOREACH (LImage, im, &p->outputs)
        if (!check_image(v, im))
            return false;
    VEC_FOREACH (LExprId, e, &p->must_be_positive)
        if (!check_size(v, *e, "the program"))
            return false;
    VEC_FOREACH (LExprId, e, &p->must_be_equal)
        if (!check_size(v, *e, "the program"))
            return false;
    for (uint32_t i = 1; i < p->vars.n; i++)
        if ((unsigned)p->vars.at[i].type >= N_TYPES || p->vars.at[i].type == TYPE_F16)
            return fault(v, "variable '%s' has no type", shown(p->vars.at[i].name));
    for (uint32_t i = 1; i < p->buffers.n; i++)
        if (!check_buffer(v, &p->buffers.at[i]))
            return false;
    return true;
}

/* ---- Statements ------------------------------------------------------------------------------ */

static bool check_block(Verifier *v, const LBlock *block);

static bool define(Verifier *v, LVarId var, bool is_mutable)
{
    if (!var.v || var.v >= v->p->vars.n)
        return fault(v, "a statement names no variable");
    const LVar *x = &v->p->vars.at[var.v];
    if (x->is_mutable != is_mutable)
        return fault(v, "'%s' is %s and defined as if it were not", shown(x->name),
                     x->is_mutable ? "mutable" : "constant");
    if (v->var_level[var.v])
        return fault(v, "'%s' is defined inside the scope of itself", shown(x->name));
    v->var_level[var.v] = 1 + v->level;
    return true;
}

static bool check_for(Verifier *v, const LStmt *s)
{
    bool simd = s->flags & LFOR_SIMD, parallel = s->flags & LFOR_PARALLEL;
    if (!check_expr(v, s->a, TYPE_INDEX) || !check_expr(v, s->b, TYPE_INDEX))
        return false;
    if (s->step < 1)
        return fault(v, "a loop has the step %lld", (long long)s->step);
    if (s->lanes && (!tessi_loop_lanes_name(s->lanes) || s->flags || s->step > LOOP_MOST_VECTOR))
        return fault(v, "a loop over vectors has other lanes, or is more than that");
    if (parallel && v->in_simd)
        return fault(v, "a parallel loop stands inside a SIMD loop");
    bool was_simd = v->in_simd;
    v->in_simd = v->in_simd || simd;
    v->level += simd || parallel;
    bool sound = define(v, s->var, false);
    if (sound && v->p->vars.at[s->var.v].type != TYPE_INDEX)
        sound = fault(v, "loop variable '%s' is not of type index",
                      shown(v->p->vars.at[s->var.v].name));
    sound = sound && check_block(v, &s->body);
    v->level -= simd || parallel;
    v->in_simd = was_simd;
    if (sound)
        v->var_level[s->var.v] = 0;
    return sound;
}

/* A place in a row, which is known by name. */
static bool check_row(Verifier *v, const LStmt *s)
{
    const LExpr *e = s->a.v && s->a.v < v->p->exprs.n ? tessi_lexpr(v->p, s->a) : NULL;
    const LVar *x = &v->p->vars.at[s->var.v];
    const bool is_row = e && e->kind == LEXPR_LOAD && e->ref == LLOAD_ROW;
    if (!e || s->kind != LSTMT_LET || !(x->is_both ? e->kind == LEXPR_BOTH : is_row)
        || e->lanes != x->lanes || e->type != x->type)
        return fault(v, "'%s' is no row", shown(x->name));
    v->stamp++;
    return check_scope(v, s->a);
}

static bool check_let(Verifier *v, const LStmt *s)
{
    if (!s->var.v || s->var.v >= v->p->vars.n)
        return fault(v, "a statement names no variable");
    if (!s->b.v != !(s->flags & LLET_AFTER))
        return fault(v, "a statement is after nothing");
    const LVar *x = &v->p->vars.at[s->var.v];
    if (!(x->is_row ? check_row(v, s) : check_value_of(v, s->a, x->type, x->lanes))
        || (s->b.v && !check_expr(v, s->b, tessi_lexpr(v->p, s->b)->type))
        || !define(v, s->var, s->kind == LSTMT_VAR))
        return false;
    if (x->is_row)
        v->rows[tessi_lexpr(v->p, s->a)->buffer.v]++;
    return true;
}

static bool check_set(Verifier *v, const LStmt *s)
{
    if (!s->var.v || s->var.v >= v->p->vars.n || !v->var_level[s->var.v])
        return fault(v, "a variable is set where it is not defined");
    const LVar *x = &v->p->vars.at[s->var.v];
    if (!x->is_mutable)
        return fault(v, "'%s' is constant and set", shown(x->name));
    if (v->var_level[s->var.v] != 1 + v->level)
        return fault(v, "'%s' belongs to all iterations of a parallel loop and is set in one",
                     shown(x->name));
    return check_value_of(v, s->a, x->type, x->lanes);
}

static bool check_target(Verifier *v, const LStmt *s)
{
    if (!s->buffer.v || s->buffer.v >= v->p->buffers.n)
        return fault(v, "a statement names no buffer");
    const LBuffer *b = &v->p->buffers.at[s->buffer.v];
    if (b->kind == LBUF_INPUT || b->kind == LBUF_TABLE)
        return fault(v, "'%s' is stored to, but only to be read", shown(b->name));
    if (b->kind == LBUF_LOCAL && !v->local_alive[s->buffer.v])
        return fault(v, "'%s' is stored to where it does not exist", shown(b->name));
    if (v->rows[s->buffer.v])
        return fault(v, "'%s' is stored to while a row of it is in use", shown(b->name));
    return true;
}

static bool check_indices(Verifier *v, const LStmt *s)
{
    bool good = true;
    for (int i = 0; i < s->n_index && good; i++)
        good = check_expr(v, s->index[i], TYPE_INDEX);
    return good;
}

static bool check_store(Verifier *v, const LStmt *s)
{
    if (!check_target(v, s))
        return false;
    const LBuffer *b = &v->p->buffers.at[s->buffer.v];
    if (s->n_index != b->n_dims)
        return fault(v, "'%s' has %d dimensions and is stored to with %d indices", shown(b->name),
                     b->n_dims, s->n_index);
    if (!check_indices(v, s))
        return false;
    if (s->kind == LSTMT_ADD && b->type == TYPE_BOOL)
        return fault(v, "'%s' is bool and added to", shown(b->name));
    if (s->kind == LSTMT_ADD && s->atomic && b->type != TYPE_I32 && b->type != TYPE_U32
        && b->type != TYPE_I64)
        return fault(v, "'%s' is added to atomically, which is for int32, uint32 and int64",
                     shown(b->name));
    if (s->kind == LSTMT_ADD && s->atomic && b->kind == LBUF_OUTPUT
        && !v->p->outputs.at[b->image].uniform)
        return fault(v, "'%s' is added to atomically but need not be aligned", shown(b->name));
    if (s->b.v && (s->kind != LSTMT_STORE || !check_expr(v, s->b, TYPE_BOOL)))
        return v->fault || fault(v, "'%s' is added to past the caches", shown(b->name));
    const uint8_t lanes = s->a.v && s->a.v < v->p->exprs.n ? tessi_lexpr(v->p, s->a)->lanes : 0;
    if (b->lanes ? lanes != b->lanes
                 : lanes
                       && (s->kind != LSTMT_STORE
                           || !((tessi_loop_is_dense(v->p, s->buffer) && !(s->flags & LSTORE_APART))
                                || tessi_loop_can_be_spread(v->p, s->buffer, lanes))))
        return fault(v, "a vector is stored to '%s', which has no room for it side by side",
                     shown(b->name));
    if (s->kind == LSTMT_STORE && s->flags & LSTORE_APART
        && (!lanes || !s->n_index || s->step < 2 || s->step > LOOP_MOST_APART))
        return fault(v, "what is stored to '%s' is no vector, or its elements are not apart",
                     shown(b->name));
    return check_value_of(v, s->a, tessi_value_type(b->type), lanes);
}

static bool check_prefetch(Verifier *v, const LStmt *s)
{
    if (!s->buffer.v || s->buffer.v >= v->p->buffers.n
        || s->n_index != v->p->buffers.at[s->buffer.v].n_dims
        || (v->f && v->f->is_kernel && v->p->buffers.at[s->buffer.v].kind == LBUF_LOCAL))
        return fault(v, "a statement fetches from no buffer");
    return check_indices(v, s);
}

static bool check_local(Verifier *v, const LStmt *s)
{
    if (!s->buffer.v || s->buffer.v >= v->p->buffers.n
        || v->p->buffers.at[s->buffer.v].kind != LBUF_LOCAL)
        return fault(v, "a buffer that is not local is declared");
    if (v->local_alive[s->buffer.v])
        return fault(v, "'%s' is declared inside the scope of itself",
                     shown(v->p->buffers.at[s->buffer.v].name));
    v->local_alive[s->buffer.v] = true;
    return true;
}

static bool check_move(Verifier *v, const LStmt *s)
{
    if (!check_target(v, s))
        return false;
    if (!s->other.v || s->other.v >= v->p->buffers.n)
        return fault(v, "a move names no buffer");
    const LBuffer *to = &v->p->buffers.at[s->buffer.v], *from = &v->p->buffers.at[s->other.v];
    const bool takes = tessi_loop_is_line(v->p, s->buffer);
    const LBuffer *other = takes ? from : to, *line = takes ? to : from;
    if (tessi_loop_is_line(v->p, s->other) == takes
        || !tessi_loop_line_holds(line->type, other->type) || !other->n_dims
        || s->n_index != other->n_dims)
        return fault(v, "a move is not between a local line and another buffer of its type");
    if (from->kind == LBUF_LOCAL && !v->local_alive[s->other.v])
        return fault(v, "'%s' is moved where it does not exist", shown(from->name));
    const LBufferId some = takes ? s->other : s->buffer;
    for (uint32_t c = 0; c < tessi_loop_channels(v->p, some); c++)
        if (!tessi_loop_channel(v->p, some, c).v)
            return fault(v, "channel %u of the image is moved with '%s', and is no buffer", c,
                         shown(other->name));
    return check_indices(v, s);
}

static bool check_sort(Verifier *v, const LStmt *s)
{
    if (!check_target(v, s))
        return false;
    const LBuffer *b = &v->p->buffers.at[s->buffer.v];
    if (b->kind != LBUF_LOCAL || b->n_dims != 1)
        return fault(v, "'%s' is sorted, but not a local line", shown(b->name));
    return check_expr(v, s->a, TYPE_INDEX);
}

static bool check_shift(Verifier *v, const LStmt *s)
{
    if (!check_store(v, s))
        return false;
    const LExpr *from = tessi_lexpr(v->p, s->a);
    const LBuffer *to = &v->p->buffers.at[s->buffer.v];
    if (!to->held || from->kind != LEXPR_LOAD || !v->p->buffers.at[from->buffer.v].held
        || v->p->buffers.at[from->buffer.v].type != to->type || s->b.v)
        return fault(v, "a shift is not between held buffers of one type");
    if (!s->step || s->step <= -LOOP_WARP || s->step >= LOOP_WARP)
        return fault(v, "a shift by %lld leaves the warp", (long long)s->step);
    return true;
}

static bool check_product(Verifier *v, const LStmt *s)
{
    if (!check_target(v, s) || !check_indices(v, s) || !check_expr(v, s->a, TYPE_U32)
        || !check_expr(v, s->b, TYPE_U32))
        return false;
    const LExpr *rows = tessi_lexpr(v->p, s->a), *words = tessi_lexpr(v->p, s->b);
    const LBuffer *sums = &v->p->buffers.at[s->buffer.v];
    if (sums->kind != LBUF_LOCAL || sums->n_dims != 1 || sums->type != TYPE_I32
        || rows->kind != LEXPR_LOAD || words->kind != LEXPR_LOAD
        || v->p->buffers.at[rows->buffer.v].kind != LBUF_LOCAL || rows->n_args != 2
        || v->p->buffers.at[words->buffer.v].kind != LBUF_LOCAL || words->n_args != 1)
        return fault(v, "a product is not of local rows of words and local words");
    return true;
}

static bool check_stmt(Verifier *v, const LStmt *s)
{
    switch (s->kind) {
    case LSTMT_FOR: return check_for(v, s);
    case LSTMT_IF:
        return check_expr(v, s->a, TYPE_BOOL) && check_block(v, &s->body)
               && check_block(v, &s->orelse);
    case LSTMT_LET:
    case LSTMT_VAR: return check_let(v, s);
    case LSTMT_SET: return check_set(v, s);
    case LSTMT_STORE:
    case LSTMT_ADD: return check_store(v, s);
    case LSTMT_LOCAL: return check_local(v, s);
    case LSTMT_MOVE: return check_move(v, s);
    case LSTMT_SHIFT: return check_shift(v, s);
    case LSTMT_PRODUCT: return check_product(v, s);
    case LSTMT_SORT: return check_sort(v, s);
    case LSTMT_PREFETCH: return check_prefetch(v, s);
    case LSTMT_COMMENT: return true;
    }
    return fault(v, "a statement is of no kind");
}

static bool check_block(Verifier *v, const LBlock *block)
{
    if (++v->nesting > LOOP_MAX_NESTING)
        return fault(v, "blocks are nested more than %d deep", LOOP_MAX_NESTING);
    for (uint32_t i = 0; i < block->n; i++)
        if (!check_stmt(v, block->at[i]))
            return false;
    for (uint32_t i = 0; i < block->n; i++) { /* leaves the scope */
        const LStmt *s = block->at[i];
        if (s->kind == LSTMT_LET || s->kind == LSTMT_VAR) {
            v->var_level[s->var.v] = 0;
            if (v->p->vars.at[s->var.v].is_row)
                v->rows[tessi_lexpr(v->p, s->a)->buffer.v]--;
        }
        if (s->kind == LSTMT_LOCAL)
            v->local_alive[s->buffer.v] = false;
    }
    v->nesting--;
    return true;
}

/* Constants, parameters and input scalars. */
static bool is_count(Verifier *v, LExprId id)
{
    const LExpr *e = tessi_lexpr(v->p, id);
    bool sound = e->kind == LEXPR_CONST || e->kind == LEXPR_PARAM || e->kind == LEXPR_SCALAR
                 || ((e->kind == LEXPR_OP || e->kind == LEXPR_CAST) && !tessi_is_real(e->type)
                     && e->type != TYPE_BOOL);
    for (uint32_t k = 0; k < e->n_args && sound; k++)
        sound = is_count(v, e->arg[k]);
    return sound;
}

/* The condition is stored where it can be looked at; repeats that go on without one stand behind it. */
static bool check_until(Verifier *v, const LRepeat *r)
{
    const LoopProgram *p = v->p;
    const LRepeat *before = r > p->repeats.at ? r - 1 : NULL;
    if (r->unless_met
        && (!before || !(before->until.v || before->unless_met) || before->loop != r->loop))
        return fault(v, "no condition ends the repeat before '%s'", shown(r->name));
    if ((r->until.v || r->unless_met) != (r->loop > 0) || r->loop > p->repeats.n
        || (r->loop && !r->by))
        return fault(v, "repeat '%s' is of no loop with a condition", shown(r->name));
    if (!r->until.v)
        return true;
    const LBuffer *b = r->until.v < p->buffers.n ? &p->buffers.at[r->until.v] : NULL;
    if (!b || b->kind != LBUF_TEMP || b->type != TYPE_BOOL || b->n_dims || r->every < 1)
        return fault(v, "the condition of repeat '%s' is no truth value in memory", shown(r->name));
    return true;
}

/* The functions of each repeat stand together, and are of versions that there are. */
static bool check_repeats(Verifier *v)
{
    enum { MOST_NODES = 100 };
    const LoopProgram *p = v->p;
    VEC_FOREACH (const LRepeat, r, &p->repeats) {
        if (!check_expr(v, r->turns, TYPE_INDEX)
            || (r->behind.v && !check_expr(v, r->behind, TYPE_INDEX)))
            return false;
        if (v->nodes[r->turns.v] > MOST_NODES || !is_count(v, r->turns)
            || (r->behind.v && (v->nodes[r->behind.v] > MOST_NODES || !is_count(v, r->behind))))
            return fault(v, "the turns of repeat '%s' are not known before a run", shown(r->name));
        if (r->n_versions < 1)
            return fault(v, "repeat '%s' has no versions", shown(r->name));
        if (!check_until(v, r))
            return false;
    }
    uint32_t last = 0, before = 0;
    VEC_FOREACH (const LFunction, f, &p->functions) {
        const LPlace *place = &f->place;
        if (place->repeat > p->repeats.n
            || (place->repeat && place->repeat != before && place->repeat <= last)
            || (place->repeat && place->version >= p->repeats.at[place->repeat - 1].n_versions))
            return fault(v, "function '%s' is of no repeat", shown(f->name));
        before = place->repeat;
        last = before > last ? before : last;
    }
    return true;
}

static const char *verify(const LoopProgram *p, Arena *a)
{
    Verifier v = { .p = p,
                   .nodes = ARENA_NEW_ARRAY(a, uint32_t, p->exprs.n),
                   .depth = ARENA_NEW_ARRAY(a, uint32_t, p->exprs.n),
                   .seen = ARENA_NEW_ARRAY(a, uint32_t, p->exprs.n),
                   .var_level = ARENA_NEW_ARRAY(a, int, p->vars.n),
                   .local_alive = ARENA_NEW_ARRAY(a, bool, p->buffers.n),
                   .rows = ARENA_NEW_ARRAY(a, uint32_t, p->buffers.n) };
    if (!check_exprs(&v) || !check_declarations(&v))
        return v.fault;
    if (!check_repeats(&v))
        return v.fault;
    VEC_FOREACH (LFunction, f, &p->functions) {
        v.f = f;
        if (!check_block(&v, &f->body))
            return v.fault;
        v.fault = tessi_loop_verify_kernel(p, f);
        for (int axis = 0; axis < LOOP_MAX_AXES && !v.fault; axis++)
            if (f->is_kernel && f->grid[axis].v)
                check_size(&v, f->grid[axis], "the grid");
        if (v.fault)
            return v.fault;
    }
    return NULL;
}

const char *tessi_loop_verify(const LoopProgram *p)
{
    if (p->fault)
        return p->fault;
    Arena *scratch = tessi_scratch_open(p->arena);
    const char *fault = verify(p, scratch);
    tessi_scratch_close(scratch);
    return fault;
}
