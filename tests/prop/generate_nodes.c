/* generate_nodes: random bodies of stencil functions. Every expression is made for a class (number, integer, bool,
 * pixel), so that operators of integers meet integers; where an image gives another class, a cast is put around the
 * read. Literals stand only to the right of something that is not constant: what constant expressions mean is tested
 * by hand-written programs. */
#include "prop/generate.h"

typedef struct Body {
    GenProgram *program;
    GenStage *stage;
    uint64_t *rng;
    int level;     /* windows around the place */
    int n_vars[3]; /* of each */
    int lo[3][GEN_DIMS], hi[3][GEN_DIMS];
    bool affine_only; /* some argument has rule none: reads must not reach too far */
} Body;

static int number(Body *b, int depth);
static int integer(Body *b, int depth);
static int truth(Body *b, int depth);
static int pixel(Body *b, int depth);

static int new_node(Body *b, GenNodeKind kind, GenClass cls)
{
    GenStage *s = b->stage;
    int id = s->n_nodes < GEN_NODES ? s->n_nodes++ : GEN_NODES - 1;
    s->node[id] = (GenNode){ .kind = kind, .cls = cls, .field = -1 };
    return id;
}

static bool room(const Body *b)
{
    return b->stage->n_nodes < GEN_NODES - 16;
}

static int with_children(Body *b, GenNodeKind kind, GenClass cls, const char *text, int n,
                         const int *child)
{
    int id = new_node(b, kind, cls);
    GenNode *node = &b->stage->node[id];
    node->text = text;
    node->n_children = n;
    for (int i = 0; i < n; i++)
        node->child[i] = child[i];
    return id;
}

static int unary(Body *b, GenClass cls, GenNodeKind kind, const char *text, int a)
{
    return with_children(b, kind, cls, text, 1, &a);
}
static int binary(Body *b, GenClass cls, GenNodeKind kind, const char *text, int x, int y)
{
    return with_children(b, kind, cls, text, 2, (int[]){ x, y });
}

static int int_literal(Body *b, int lo, int hi)
{
    int id = new_node(b, NODE_INT, GEN_INTEGER);
    b->stage->node[id].value = gen_between(b->rng, lo, hi);
    return id;
}
static int real_literal(Body *b)
{
    static const double some[] = { 0.5, 2.0, 3.0, 0.25, 1.5, -1.25, 0.1, 7.0, -0.3, 1e-3, 100.0 };
    int id = new_node(b, NODE_REAL, GEN_NUMBER);
    b->stage->node[id].value = some[gen_below(b->rng, 11)];
    b->stage->node[id].suffix = gen_chance(b->rng, 10) ? 'f' : gen_chance(b->rng, 8) ? 'd' : 0;
    return id;
}
static int literal(Body *b)
{
    return gen_chance(b->rng, 50) ? int_literal(b, -5, 9) : real_literal(b);
}

/* The class that reading argument `slot` (its field) gives. */
static GenClass read_class(const Body *b, const GenArg *a, int field, bool *known_integer)
{
    const GenImage *image = &b->program->image[a->image];
    GenType t = GEN_UNKNOWN;
    *known_integer = false;
    if (image->strukt >= 0 && a->field < 0) {
        if (field < 0)
            return GEN_PIXEL;
        if (image->exact_struct)
            t = b->program->strukt[image->strukt].type[field];
    } else {
        t = a->declared != GEN_UNKNOWN ? a->declared : image->type;
        if (a->declared == GEN_UNKNOWN && a->field >= 0 && image->exact_struct)
            t = b->program->strukt[image->strukt].type[a->field];
    }
    if (t == GEN_BOOL)
        return GEN_TRUTH;
    *known_integer = t < GEN_F16;
    return *known_integer ? GEN_INTEGER : GEN_NUMBER;
}

static bool is_struct_arg(const Body *b, const GenArg *a)
{
    return b->program->image[a->image].strukt >= 0 && a->field < 0;
}

/* Some image argument read by offsets (or a table); with pixels wanted or not. -1 when there is none. */
static int choose_arg(Body *b, bool table, bool want_pixel)
{
    int found[GEN_ARGS], n = 0;
    for (int i = 0; i < b->stage->n_args; i++) {
        const GenArg *a = &b->stage->arg[i];
        if (a->table != table)
            continue;
        if (want_pixel && !is_struct_arg(b, a))
            continue;
        found[n++] = i;
    }
    return n ? found[gen_below(b->rng, n)] : -1;
}

/* A read of argument `slot` at a small offset, perhaps along the window's variables. */
static int read_of(Body *b, int slot, int field)
{
    const GenArg *a = &b->stage->arg[slot];
    const GenImage *image = &b->program->image[a->image];
    bool known;
    GenClass cls = read_class(b, a, field, &known);
    int id = new_node(b, NODE_READ, cls);
    GenNode *node = &b->stage->node[id];
    node->slot = slot;
    node->field = field;
    bool along = b->level > 0 && gen_chance(b->rng, 80);
    for (int d = 0; d < image->n_dims; d++) {
        int reach = b->affine_only ? 1 : gen_chance(b->rng, 10) ? 6 : 2;
        if (along && gen_chance(b->rng, 85)) {
            int level = b->level - 1;
            if (level > 0 && gen_chance(b->rng, 40))
                level--;
            node->var_level[d] = level;
            node->var[d] = d < b->n_vars[level] ? d : gen_below(b->rng, b->n_vars[level]);
            node->coef[d] = b->affine_only || gen_chance(b->rng, 80) ? 1
                            : gen_chance(b->rng, 50)                 ? 2
                                                                     : -1;
            if (gen_chance(b->rng, 15))
                node->offset[d] = gen_between(b->rng, -reach, reach);
        } else if (gen_chance(b->rng, 70)) {
            node->offset[d] = gen_between(b->rng, -reach, reach);
        }
    }
    return id;
}

static int any_read(Body *b, bool want_pixel)
{
    int slot = choose_arg(b, false, want_pixel);
    if (slot < 0)
        slot = choose_arg(b, false, false);
    const GenArg *a = &b->stage->arg[slot];
    int field = -1;
    if (is_struct_arg(b, a) && !want_pixel)
        field = gen_below(b->rng, b->program->strukt[b->program->image[a->image].strukt].n_fields);
    return read_of(b, slot, field);
}

static int cast_to(Body *b, GenClass cls, GenType t, bool sat, int child)
{
    int id = unary(b, cls, NODE_CAST, "", child);
    b->stage->node[id].type = t;
    b->stage->node[id].sat = sat;
    return id;
}

static GenType some_integer_type(Body *b)
{
    static const GenType types[] = { GEN_I32, GEN_I32, GEN_U8,  GEN_I8,
                                     GEN_I16, GEN_U16, GEN_U32, GEN_I64 };
    return types[gen_below(b->rng, 8)];
}

/* Leaves that are not constant: reads, coordinates, scalars, table elements. */
static int number_leaf(Body *b)
{
    int id = any_read(b, false);
    GenClass cls = b->stage->node[id].cls;
    if (cls == GEN_TRUTH)
        return cast_to(b, GEN_INTEGER, GEN_I32, false, id);
    return id;
}

static int table_read(Body *b, int depth)
{
    int slot = choose_arg(b, true, false);
    if (slot < 0)
        return -1;
    const GenArg *a = &b->stage->arg[slot];
    const GenImage *image = &b->program->image[a->image];
    int index[3] = { 0 };
    for (int d = 0; d < image->n_dims && d < 3; d++)
        index[d] = integer(b, depth > 1 ? 1 : 0);
    bool known;
    GenClass cls = read_class(b, a, -1, &known);
    int id = with_children(b, NODE_TABLE, cls, "", image->n_dims, index);
    b->stage->node[id].slot = slot;
    return cls == GEN_TRUTH ? cast_to(b, GEN_INTEGER, GEN_I32, false, id) : id;
}

static int integer_leaf(Body *b)
{
    int kind = gen_below(b->rng, 10);
    if (b->level > 0 && kind < 2) {
        int id = new_node(b, NODE_WINVAR, GEN_INTEGER);
        b->stage->node[id].level = b->level - 1;
        b->stage->node[id].slot = gen_below(b->rng, b->n_vars[b->level - 1]);
        return id;
    }
    int slot = choose_arg(b, false, false);
    int n_dims = b->program->image[b->stage->arg[slot].image].n_dims;
    if (kind == 2) {
        int id = new_node(b, NODE_INDEX, GEN_INTEGER);
        b->stage->node[id].slot = gen_below(b->rng, n_dims);
        return id;
    }
    if (kind == 3) {
        int id = new_node(b, NODE_SIZE, GEN_INTEGER);
        b->stage->node[id].slot = slot;
        b->stage->node[id].dim = gen_below(b->rng, n_dims);
        return id;
    }
    int id = number_leaf(b);
    if (b->stage->node[id].cls == GEN_INTEGER)
        return id;
    return cast_to(b, GEN_INTEGER, some_integer_type(b), gen_chance(b->rng, 30), id);
}

/* A window over one to all dimensions; the body is made by `make` with the window's variables in scope. */
static int window(Body *b, int depth, const char *text, GenClass cls, int (*make)(Body *, int))
{
    int slot = choose_arg(b, false, false);
    int n_dims = b->program->image[b->stage->arg[slot].image].n_dims;
    int level = b->level, n_vars = gen_chance(b->rng, 75) ? n_dims : gen_between(b->rng, 1, n_dims);
    int reach = b->affine_only || n_dims > 2 || level > 0
                    ? 1
                    : gen_between(b->rng, 1, gen_chance(b->rng, 15) ? 4 : 2);
    GenNode node = {
        .kind = NODE_WINDOW, .cls = cls, .text = text, .field = -1, .level = level, .n_vars = n_vars
    };
    b->n_vars[level] = n_vars;
    for (int k = 0; k < n_vars; k++) {
        node.lo[k] = gen_chance(b->rng, 80) ? -reach : gen_between(b->rng, -reach, 0);
        node.hi[k] = gen_chance(b->rng, 80) ? reach : gen_between(b->rng, 0, reach);
        b->lo[level][k] = node.lo[k];
        b->hi[level][k] = node.hi[k];
    }
    b->level++;
    node.child[node.n_children++] = make(b, depth > 1 ? 1 : depth);
    /* median, percentile, and reduce, which unfolds with each point that a condition asks about */
    bool sorts = (text[0] == 'm' && text[2] == 'd') || (text[0] == 'p' && text[2] == 'r')
                 || (text[0] == 'r' && text[2] == 'd');
    if (!b->affine_only && !sorts && cls != GEN_PIXEL && gen_chance(b->rng, 20)) {
        node.has_where = true;
        node.child[node.n_children++] = truth(b, 1);
    }
    b->level--;
    int id = new_node(b, NODE_WINDOW, cls);
    b->stage->node[id] = node;
    return id;
}

static int convolve(Body *b, bool want_pixel)
{
    int slot = choose_arg(b, false, want_pixel);
    if (slot < 0)
        return -1;
    const GenArg *a = &b->stage->arg[slot];
    const GenImage *image = &b->program->image[a->image];
    bool known;
    GenClass cls = read_class(b, a, -1, &known);
    if ((cls == GEN_PIXEL) != want_pixel || cls == GEN_TRUTH
        || image->n_dims != b->stage->mask_dims)
        return -1;
    for (int d = 0; d < image->n_dims; d++)
        if (a->scale[d] != 1)
            return -1;
    int id = new_node(b, NODE_CONVOLVE, want_pixel ? GEN_PIXEL : GEN_NUMBER);
    GenNode *node = &b->stage->node[id];
    node->slot = slot;
    node->dilation = gen_chance(b->rng, 20) && !b->affine_only ? gen_between(b->rng, 2, 3) : 1;
    node->flip = gen_chance(b->rng, 20);
    node->long_form = !node->flip && node->dilation == 1 && gen_chance(b->rng, 30);
    node->level = b->level;
    return id;
}

static int number(Body *b, int depth)
{
    static const char *const arithmetic[] = { "+", "-", "*", "/" };
    static const char *const one[] = { "abs",  "sqrt", "exp",   "log",   "sin",   "cos",
                                       "tan",  "atan", "floor", "ceil",  "round", "trunc",
                                       "cbrt", "exp2", "log2",  "log10", "tanh",  "sinh",
                                       "cosh", "asin", "acos",  "rsqrt" };
    static const char *const two[] = { "min", "max", "hypot", "atan2",   "fmod",
                                       "pow", "avg", "absd",  "add_sat", "sub_sat" };
    static const char *const windows[] = { "sum",
                                           "sum",
                                           "max",
                                           "min",
                                           "mean",
                                           "median",
                                           "prod",
                                           "range",
                                           "argmax",
                                           "argmin",
                                           "var",
                                           "std",
                                           "rank(1, %)",
                                           "percentile(30, %)",
                                           "reduce(%, so, it : so * 0.5 + it, 1)" };
    enum { WINDOWS = sizeof windows / sizeof *windows };
    if (depth <= 0 || !room(b))
        return gen_chance(b->rng, 70) ? number_leaf(b) : integer_leaf(b);
    int id;
    switch (gen_below(b->rng, 16)) {
    case 0:
    case 1:
    case 2:
    case 3: {
        int x = number(b, depth - 1);
        return binary(b, GEN_NUMBER, NODE_BINARY, arithmetic[gen_below(b->rng, 4)], x,
                      number(b, depth - 1));
    }
    case 4:
    case 5: {
        int x = number(b, depth - 1);
        return binary(b, GEN_NUMBER, NODE_BINARY, arithmetic[gen_below(b->rng, 4)], x, literal(b));
    }
    case 6:
        return unary(b, GEN_NUMBER, NODE_CALL, one[gen_below(b->rng, 22)], number(b, depth - 1));
    case 7: {
        int x = number(b, depth - 1);
        return binary(b, GEN_NUMBER, NODE_CALL, two[gen_below(b->rng, 10)], x,
                      gen_chance(b->rng, 50) ? number(b, depth - 1) : literal(b));
    }
    case 8: {
        int c = truth(b, depth - 1), x = number(b, depth - 1);
        int y = gen_chance(b->rng, 60) ? number(b, depth - 1) : literal(b);
        return with_children(b, gen_chance(b->rng, 70) ? NODE_TERNARY : NODE_CALL, GEN_NUMBER,
                             "select", 3, (int[]){ c, x, y });
    }
    case 9: {
        int x = number(b, depth - 1);
        if (gen_chance(b->rng, 50))
            return with_children(b, NODE_CALL, GEN_NUMBER, "clamp", 3,
                                 (int[]){ x, int_literal(b, -9, 0), int_literal(b, 1, 99) });
        return with_children(b, NODE_CALL, GEN_NUMBER, "mix", 3,
                             (int[]){ x, number(b, depth - 1), real_literal(b) });
    }
    case 10: {
        int x = number(b, depth - 1);
        int e = gen_chance(b->rng, 60) ? int_literal(b, -2, 4) : real_literal(b);
        return binary(b, GEN_NUMBER, NODE_BINARY, "^", x, e);
    }
    case 11:
        if (b->stage->n_scalars) {
            int x = number(b, depth - 1);
            id = new_node(b, NODE_SCALAR, GEN_NUMBER);
            b->stage->node[id].slot = gen_below(b->rng, b->stage->n_scalars);
            return binary(b, GEN_NUMBER, NODE_BINARY, arithmetic[gen_below(b->rng, 3)], x, id);
        }
        return unary(b, GEN_NUMBER, NODE_UNARY, "-", number(b, depth - 1));
    case 12: id = table_read(b, depth - 1); return id >= 0 ? id : number(b, depth - 1);
    case 13:
        id = convolve(b, false);
        if (id >= 0)
            return id;
        return integer(b, depth - 1);
    default:
        if (b->level >= 2 || (b->level == 1 && gen_chance(b->rng, 70)))
            return integer(b, depth - 1);
        return window(b, depth - 1, windows[gen_below(b->rng, WINDOWS)], GEN_NUMBER, number);
    }
}

static int integer(Body *b, int depth)
{
    static const char *const operators[] = { "+", "-", "*", "/", "%", "&", "|", "xor" };
    if (depth <= 0 || !room(b))
        return integer_leaf(b);
    switch (gen_below(b->rng, 8)) {
    case 0:
    case 1: {
        int x = integer(b, depth - 1);
        return binary(b, GEN_INTEGER, NODE_BINARY, operators[gen_below(b->rng, 8)], x,
                      integer(b, depth - 1));
    }
    case 2:
    case 3: {
        int x = integer(b, depth - 1);
        return binary(b, GEN_INTEGER, NODE_BINARY, operators[gen_below(b->rng, 8)], x,
                      int_literal(b, -3, 17));
    }
    case 4: {
        int x = integer(b, depth - 1);
        return binary(b, GEN_INTEGER, NODE_BINARY, gen_chance(b->rng, 50) ? "<<" : ">>", x,
                      int_literal(b, 0, 9));
    }
    case 5:
        return unary(b, GEN_INTEGER, NODE_UNARY, gen_chance(b->rng, 50) ? "-" : "~",
                     integer(b, depth - 1));
    case 6:
        return cast_to(b, GEN_INTEGER, some_integer_type(b), gen_chance(b->rng, 40),
                       number(b, depth - 1));
    default: {
        int c = truth(b, depth - 1), x = integer(b, depth - 1);
        return with_children(b, NODE_TERNARY, GEN_INTEGER, "", 3,
                             (int[]){ c, x, integer(b, depth - 1) });
    }
    }
}

static int truth(Body *b, int depth)
{
    static const char *const compare[] = { "<", "<=", ">", ">=", "==", "!=" };
    static const char *const logic[] = { "&&", "||", "==", "!=" };
    if (depth > 0 && room(b) && gen_chance(b->rng, 30)) {
        int x = truth(b, depth - 1);
        if (gen_chance(b->rng, 30))
            return unary(b, GEN_TRUTH, NODE_UNARY, "!", x);
        return binary(b, GEN_TRUTH, NODE_BINARY, logic[gen_below(b->rng, 4)], x,
                      truth(b, depth - 1));
    }
    if (depth > 0 && room(b) && b->level < 1 && gen_chance(b->rng, 20))
        return window(b, depth - 1, gen_chance(b->rng, 50) ? "any" : "all", GEN_TRUTH, truth);
    if (gen_chance(b->rng, 25)) {
        int id = any_read(b, false);
        if (b->stage->node[id].cls == GEN_TRUTH)
            return id;
        return binary(b, GEN_TRUTH, NODE_BINARY, compare[gen_below(b->rng, 6)], id, literal(b));
    }
    if (gen_chance(b->rng, 10))
        return unary(b, GEN_TRUTH, NODE_CALL, "isnan", number(b, depth - 1));
    int x = number(b, depth - 1);
    return binary(b, GEN_TRUTH, NODE_BINARY, compare[gen_below(b->rng, 6)], x,
                  gen_chance(b->rng, 50) ? literal(b) : number(b, depth - 1));
}

/* Pixels of one struct: field by field, with numbers on the right. */
static int pixel(Body *b, int depth)
{
    static const char *const arithmetic[] = { "+", "-", "*" };
    static const char *const windows[] = { "sum", "min", "max", "median", "mean" };
    if (depth <= 0 || !room(b))
        return any_read(b, true);
    switch (gen_below(b->rng, 8)) {
    case 0:
    case 1:
    case 2: {
        int x = pixel(b, depth - 1);
        return binary(b, GEN_PIXEL, NODE_BINARY, arithmetic[gen_below(b->rng, 3)], x,
                      pixel(b, depth - 1));
    }
    case 3: {
        int x = pixel(b, depth - 1);
        return binary(b, GEN_PIXEL, NODE_BINARY, arithmetic[gen_below(b->rng, 3)], x, literal(b));
    }
    case 4:
        return unary(b, GEN_PIXEL, gen_chance(b->rng, 50) ? NODE_CALL : NODE_UNARY, "-",
                     pixel(b, depth - 1));
    case 5: {
        int x = pixel(b, depth - 1);
        return binary(b, GEN_PIXEL, NODE_CALL, gen_chance(b->rng, 50) ? "min" : "max", x,
                      pixel(b, depth - 1));
    }
    case 6: {
        int id = convolve(b, true);
        return id >= 0 ? id : pixel(b, depth - 1);
    }
    default:
        if (b->level >= 1)
            return pixel(b, depth - 1);
        return window(b, depth - 1, windows[gen_below(b->rng, 5)], GEN_PIXEL, pixel);
    }
}

/* Marks some inner nodes as locals: `l3 = ...;` before the result. */
static void choose_locals(Body *b, int id, bool top)
{
    GenNode *node = &b->stage->node[id];
    if (node->kind == NODE_WINDOW || node->kind == NODE_CONVOLVE) {
        node->local = !top && gen_chance(b->rng, 40);
        return;
    }
    node->local =
        !top && node->n_children > 0 && node->kind != NODE_TABLE && gen_chance(b->rng, 25);
    for (int i = 0; i < node->n_children; i++)
        choose_locals(b, node->child[i], false);
}

static bool reads_arg(const GenStage *s, int id, int slot)
{
    const GenNode *node = &s->node[id];
    bool has_slot = node->kind == NODE_READ || node->kind == NODE_TABLE || node->kind == NODE_SIZE
                    || node->kind == NODE_CONVOLVE;
    if (has_slot && node->slot == slot)
        return true;
    for (int i = 0; i < node->n_children; i++)
        if (reads_arg(s, node->child[i], slot))
            return true;
    return false;
}
bool gen_reads_arg(const GenStage *s, int slot)
{
    for (int i = 0; i < s->n_roots; i++)
        if (reads_arg(s, s->root[i], slot))
            return true;
    return false;
}

void gen_drop_arg(GenStage *s, int slot)
{
    for (int j = slot; j + 1 < s->n_args; j++)
        s->arg[j] = s->arg[j + 1];
    s->n_args--;
    for (int i = 0; i < s->n_nodes; i++) {
        GenNode *node = &s->node[i];
        bool has_slot = node->kind == NODE_READ || node->kind == NODE_TABLE
                        || node->kind == NODE_SIZE || node->kind == NODE_CONVOLVE;
        if (has_slot && node->slot > slot)
            node->slot--;
    }
}

void gen_drop_unread_tables(GenStage *s)
{
    for (int i = s->n_args - 1; i > 0; i--)
        if (s->arg[i].table && !gen_reads_arg(s, i))
            gen_drop_arg(s, i);
}

void gen_body(GenProgram *p, GenStage *s, uint64_t *rng)
{
    Body b = { .program = p, .stage = s, .rng = rng };
    for (int i = 0; i < s->n_args; i++)
        for (int d = 0; d < GEN_DIMS; d++)
            b.affine_only |= s->arg[i].rule[d] == GEN_NONE;
    s->n_nodes = 0;
    int depth = gen_between(rng, 1, 4);
    s->n_roots = 1;
    if (s->strukt >= 0) {
        s->n_roots = p->strukt[s->strukt].n_fields;
        for (int i = 0; i < s->n_roots; i++)
            s->root[i] = cast_to(&b, GEN_NUMBER, p->strukt[s->strukt].type[i], gen_chance(rng, 30),
                                 number(&b, depth > 2 ? 2 : depth));
    } else if (choose_arg(&b, false, true) >= 0 && s->type == GEN_UNKNOWN && gen_chance(rng, 70)) {
        s->root[0] = pixel(&b, depth);
    } else if (s->type == GEN_BOOL) {
        s->root[0] = truth(&b, depth);
    } else if (s->type < GEN_F16 && gen_chance(rng, 50)) {
        s->root[0] = integer(&b, depth);
    } else {
        s->root[0] = number(&b, depth);
    }
    for (int i = 0; i < s->n_roots; i++)
        choose_locals(&b, s->root[i], true);
    gen_drop_unread_tables(s);
}
