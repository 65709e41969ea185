/* front/check_stmt: statements of the program and of vector functions: definitions, placements, families, loops. */
#include "front/check.h"

void tessi_check_define(Checker *c, Name name, TValue *value, TExpr *scalar, const TMask *mask)
{
    TDefinition def = { name.text, c->call_depth, value, scalar, mask };
    if (c->at.inst)
        return; /* locals of stencils are kept in their instance */
    VEC_PUSH(c->a, &c->t->definitions, def);
}

/* The name that a stage keeps: the outermost one, with the function's name in front of names inside functions. */
static void name_value(Checker *c, TValue *v, const char *name)
{
    if (v->kind == TV_INPUT || v->kind == TV_FIELD || (v->named && v->depth <= c->call_depth))
        return;
    v->name = c->frame && c->call_depth > 0
                  ? tessi_sprintf(c->a, "%s.%s", c->frame->function->name.text, name)
                  : name;
    v->named = true;
    v->depth = c->call_depth;
}

/* A scalar that depends on the data or on inputs is a value of its own; constants and other names stand for
 * themselves. */
static Operand scalar_value(Checker *c, TExpr *e, const char *name, Span span)
{
    e = e->kind == TE_CONST ? e : tessi_check_concrete(c, e);
    if (e->kind == TE_CONST || e->kind == TE_VALUE || e->kind == TE_SCALAR || e->kind == TE_PARAM
        || tessi_tt_is_error(e->type))
        return tessi_operand_scalar(e, span);
    TValue *v = tessi_value_new(c, TV_SCALAR, e->type, 0, span);
    v->expr = e;
    v->name = name;
    return tessi_operand_image(v, span);
}

static Operand typed_operand(Checker *c, const AstStmt *s, Operand o)
{
    TType t = tessi_check_type(c, &s->type);
    if (tessi_tt_is_error(t) || o.kind == OPERAND_ERROR)
        return tessi_operand_error(o.span);
    bool scalar = o.kind == OPERAND_SCALAR || (o.kind == OPERAND_IMAGE && o.image->n_dims == 0);
    if (!scalar || s->type.is_image || s->type.is_mask) {
        Diag *d = CHECK_DIAG(c, DIAG_TYPED_IMAGE, s->type.span, s->name.text);
        tessi_diag_help(c->d, d, "write '%s = ..;', to convert '%s = cast<%s>(..);'", s->name.text,
                        s->name.text, tessi_tt_name(c, t));
        return tessi_operand_error(o.span);
    }
    return tessi_operand_scalar(tessi_check_convert(c, tessi_check_operand_expr(c, o, o.span), t),
                                o.span);
}

static Operand assigned(Checker *c, const AstStmt *s)
{
    Operand o;
    if (s->sizes.n) {
        o = tessi_check_declared(c, s);
    } else if (s->ranges.n || s->offsets.n) {
        AstPart part = {
            .span = s->span, .ranges = s->ranges, .offsets = s->offsets, .value = s->value
        };
        AstParts parts = { .at = &part, .n = 1 };
        o = tessi_check_compose(c, &parts, s->span);
    } else {
        o = tessi_check_vector(c, s->value);
    }
    if (s->has_type && !s->sizes.n && !tessi_check_is_any(&s->type))
        o = typed_operand(c, s, o);
    if (o.kind == OPERAND_SCALAR)
        o = scalar_value(c, o.scalar, s->name.text, s->value->span);
    o.direct = false;
    return o;
}

static Sym *family_sym(Checker *c, Name name)
{
    Sym *sym = tessi_scope_find_here(c->at.body, name.text);
    if (sym && sym->kind == SYM_FAMILY)
        return sym;
    Scope *inner = c->at.scope;
    c->at.scope = c->at.body;
    sym = tessi_scope_add(c, name, SYM_FAMILY);
    c->at.scope = inner;
    if (sym)
        sym->warn_unused = true;
    return sym;
}

static bool same_kind(const Operand *a, const Operand *b)
{
    if (a->kind != OPERAND_IMAGE || b->kind != OPERAND_IMAGE)
        return true; /* an error */
    return a->image->n_dims == b->image->n_dims && tessi_tt_same(a->image->type, b->image->type);
}

static void define_member(Checker *c, Name target, MemberNumber k, Operand o)
{
    Sym *sym = target.text ? family_sym(c, target) : NULL;
    if (!sym)
        return;
    VEC_FOREACH (const FamilyMember, m, &sym->members) {
        if (tessi_member_same(&m->number, &k)) {
            const char *name = tessi_sprintf(c->a, "%s<%s>", target.text, tessi_member_text(c, &k));
            Diag *d = CHECK_DIAG(c, DIAG_DUPLICATE_NAME, target.span, name);
            tessi_diag_note(c->d, d, m->span, "'%s' is first defined here", name);
            return;
        }
    }
    if (c->forma && sym->members.n && !same_kind(&sym->members.at[0].operand, &o)) {
        Diag *d = CHECK_DIAG(c, DIAG_NOT_IN_FORMA, target.span,
                             "a member of another type or number of dimensions than the others");
        tessi_diag_note(c->d, d, sym->members.at[0].span,
                        "the first member of '%s' is defined here", target.text);
        o = tessi_operand_error(target.span);
    }
    FamilyMember member = { .number = k, .span = target.span, .operand = o };
    VEC_PUSH(c->a, &sym->members, member);
    sym->loop = c->loop;
    sym->turns = c->turn + 1;
    if (o.kind == OPERAND_IMAGE)
        tessi_note_before(c, sym, k, o.image);
    Name name = { tessi_sprintf(c->a, "%s<%s>", target.text, tessi_member_text(c, &k)),
                  target.span };
    if (o.kind == OPERAND_IMAGE)
        name_value(c, o.image, name.text);
    if (o.kind != OPERAND_ERROR)
        tessi_check_define(c, name, o.image, o.scalar, o.mask);
}

static void define_plain(Checker *c, Name name, Operand o)
{
    if (c->at.loop_depth > 0) {
        Diag *d = CHECK_DIAG(c, DIAG_LOOP_ASSIGN, name.span, name.text);
        tessi_diag_help(c->d, d, "give each turn its own image: '%s<i> = ..'", name.text);
        return;
    }
    Sym *sym = tessi_scope_add(c, name, SYM_OPERAND);
    if (!sym)
        return;
    sym->operand = o;
    sym->warn_unused = true;
    if (o.kind == OPERAND_IMAGE)
        name_value(c, o.image, name.text);
    if (o.kind != OPERAND_ERROR)
        tessi_check_define(c, name, o.image, o.scalar, o.mask);
}

/* A name, or a member of a family, for a value. The number of the member is known before the value is. */
static void define_target(Checker *c, Name name, const AstExpr *family, bool known, MemberNumber k,
                          Operand o)
{
    if (!family)
        define_plain(c, name, o);
    else if (known)
        define_member(c, name, k, o);
}

static void define_one(Checker *c, const AstStmt *s)
{
    MemberNumber k = { 0 };
    bool known = !s->family || tessi_member_number(c, s->family, s->second, &k);
    define_target(c, s->name, s->family, known, k, assigned(c, s));
}

/* a, b<i> = f(..): a name for each result of a vector function. */
static void define_several(Checker *c, const AstStmt *s)
{
    Operands results = { 0 };
    const uint32_t n = s->more.n + 1;
    tessi_check_results_of(c, s->value, &results);
    if (results.n != n && !(results.n == 1 && results.at[0].kind == OPERAND_ERROR)) {
        CHECK_DIAG(c, DIAG_TARGET_COUNT, s->value->span, (long long)results.n, (long long)n);
        results.n = 0;
    }
    for (uint32_t i = 0; i < n; i++) {
        const AstTarget first = { s->name, s->family, s->second },
                        *t = i ? &s->more.at[i - 1] : &first;
        const Name name = t->name;
        MemberNumber k = { 0 };
        bool known = !t->family || tessi_member_number(c, t->family, t->second, &k);
        Operand o =
            i < results.n && results.n == n ? results.at[i] : tessi_operand_error(name.span);
        if (o.kind == OPERAND_SCALAR)
            o = scalar_value(c, o.scalar, name.text, s->value->span);
        o.direct = false;
        define_target(c, name, t->family, known, k, o);
    }
}

static bool bounds(Checker *c, const AstStmt *s, int64_t *lo, int64_t *hi, GraphLoop *loop)
{
    c->numbering++;
    bool known = tessi_check_const_int(c, s->lo, "the first bound of a loop", lo);
    loop->of_run = known && tessi_turns_of_run(c, s, *lo, &loop->count);
    known = known && tessi_check_const_int(c, s->hi, "the last bound of a loop", hi);
    c->numbering--;
    if (loop->of_run && known && *hi < *lo)
        *hi = *lo;
    return known;
}

static void loop(Checker *c, const AstStmt *s)
{
    int64_t lo, hi, n;
    GraphLoop known = { .span = s->span };
    if (!bounds(c, s, &lo, &hi, &known))
        return;
    if (!tessi_sub_i64(lo <= hi ? hi : lo, lo <= hi ? lo : hi, &n)
        || n >= (s->until ? INT32_MAX : CHECK_MAX_ITERATIONS)) {
        tessi_check_limit(c, s->span, "turns of a loop", CHECK_MAX_ITERATIONS);
        return;
    }
    known.every = tessi_check_every(c, s);
    if (!known.of_run
        && known.every > n) /* it would be asked after the last turn alone, or never */
        known.every = 0;
    if (known.of_run || known.every)
        tessi_carry_numbers(c, &s->body);
    const bool is_short = tessi_shorten_loop(c, s, &lo, hi, &known);
    n = lo <= hi ? hi - lo : lo - hi;
    if (n >= CHECK_MAX_ITERATIONS) {
        tessi_check_limit(c, s->span, "turns of a loop", CHECK_MAX_ITERATIONS);
        return;
    }
    const Context saved = c->at;
    const uint32_t around = c->loop, turn_around = c->turn;
    const int64_t step_around = c->loop_step;
    VEC_PUSH(c->a, &c->t->loops, known);
    c->loop = c->t->loops.n;
    c->loop_step = lo <= hi ? 1 : -1;
    c->at.loop_depth++;
    for (int64_t turn = 0; turn <= n && !c->over_limit && !tessi_diags_full(c->d); turn++) {
        int64_t i = lo <= hi ? lo + turn : lo - turn;
        c->turn = (uint32_t)turn;
        if (++c->turns > CHECK_MAX_TURNS)
            tessi_check_limit(c, s->span, "turns of all loops", CHECK_MAX_TURNS);
        c->at.scope = tessi_scope_new(c, saved.scope);
        Sym *sym = tessi_scope_add(c, s->name, SYM_OPERAND);
        if (sym) {
            sym->of_run = known.of_run;
            sym->operand = tessi_operand_scalar(tessi_te_int(c, i, s->name.span), s->name.span);
        }
        tessi_check_statements(c, &s->body);
        if (known.every)
            tessi_check_until(c, s);
    }
    if (is_short)
        tessi_forget_stand_ins(c, &s->body);
    c->at = saved;
    c->loop = around;
    c->loop_step = step_around;
    c->turn = turn_around;
}

void tessi_check_statements(Checker *c, const AstStmts *body)
{
    if (c->expr_depth >= CHECK_MAX_DEPTH)
        return;
    c->expr_depth++;
    VEC_FOREACH (AstStmt *const, it, body) {
        const AstStmt *s = *it;
        if (c->over_limit || tessi_diags_full(c->d))
            break;
        if (s->kind == AST_MASK)
            tessi_check_mask_stmt(c, s);
        else if (s->kind == AST_FOR)
            loop(c, s);
        else if (s->is_const)
            tessi_check_const_stmt(c, s);
        else if (s->more.n)
            define_several(c, s);
        else
            define_one(c, s);
    }
    c->expr_depth--;
}
