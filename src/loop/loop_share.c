/* Statements of a function that are the same but for their surroundings: which they are, and the pass that makes
 * more of them. The passes of a tile, the planes of a picture and the turns of a family differ in how far they reach
 * and in the arrays they use; what they compute is printed and compiled once. */
#include "loop/loop_passes.h"
#include "loop/loop_private.h"
#include "loop/loop_same_private.h"
#include "loop/pass.h"

/* Distinct expressions of a statement that is worth a function of its own: those of a loop nest that copies an edge. */
enum { LEAST_EXPRS = 20 };
/* The same of a function that compilers take longer over than in proportion, and that several of them could share; and
 * of what is then worth a function although it stands there once. */
enum { LONG_FUNCTION = 800, LEAST_APART = 200 };

/* ---- Candidates ------------------------------------------------------------------------------ */

typedef struct Candidate {
    LStmt *stmt;
    uint64_t hash;
    uint32_t depth; /* of statements around it */
    bool in_parallel;
} Candidate;

static bool has_parallel(const LBlock *block)
{
    PASS_FOREACH (s, block)
        if (s->kind == LSTMT_FOR && s->flags & LFOR_PARALLEL)
            return true;
    return false;
}

/* Loops and branches that start no threads; the walk does not look into what is in vectors. */
static bool may_be_part(const LStmt *s)
{
    return (s->kind == LSTMT_IF || (s->kind == LSTMT_FOR && !(s->flags & LFOR_PARALLEL)))
           && !has_parallel(&s->body) && !has_parallel(&s->orelse);
}

/* What a walk over candidates does with one; true: it goes on inside. */
typedef bool Visit(void *user, const Candidate *c);

static void walk(Same *same, const LBlock *block, uint32_t depth, bool in_parallel, Visit *visit,
                 void *user)
{
    for (uint32_t i = 0; i < block->n; i++) {
        LStmt *s = block->at[i];
        if (may_be_part(s)) {
            Candidate c = { s, tessi_same_hash_statement(same, s), depth, in_parallel };
            c.hash = tessi_hash_u64(c.hash, in_parallel);
            if (same->n_exprs < LEAST_EXPRS || !visit(user, &c))
                continue;
        }
        if (s->kind == LSTMT_FOR && (s->flags & LFOR_SIMD || s->lanes))
            continue;
        const bool parallel = s->kind == LSTMT_FOR && s->flags & LFOR_PARALLEL;
        walk(same, &s->body, depth + 1, in_parallel || parallel, visit, user);
        walk(same, &s->orelse, depth + 1, in_parallel, visit, user);
    }
}

/* ---- Parts ----------------------------------------------------------------------------------- */

typedef struct Finder {
    Same same;
    const LoopNeeds *needs;
    Arena *arena;
    LoopParts found;
    VEC(bool) in_parallel; /* by part */
    IdMap firsts;
    const Candidate *wanted;
} Finder;

/* What others need of the results is the same for both, and so is what is left out of them. */
static bool same_needs(const Finder *f)
{
    VEC_FOREACH (const LoopTwin, twin, &f->same.twins)
        if (f->needs->buffer[twin->first.v] != f->needs->buffer[twin->here.v]
            || f->needs->stored[twin->first.v] != f->needs->stored[twin->here.v])
            return false;
    VEC_FOREACH (const LoopValue, value, &f->same.values)
        if (f->needs->var[value->first.v] != f->needs->var[value->here.v])
            return false;
    return true;
}

static bool is_same_part(void *user, uint32_t number)
{
    Finder *f = user;
    return f->in_parallel.at[number - 1] == f->wanted->in_parallel
           && tessi_same_statements(&f->same, f->found.parts.at[number - 1].stmt, f->wanted->stmt)
           && same_needs(f);
}

static void add_call(Finder *f, uint32_t part, const LStmt *stmt)
{
    LoopCall call = { .stmt = stmt, .part = part };
    VEC_APPEND(f->arena, &call.twins, &f->same.twins);
    VEC_APPEND(f->arena, &call.values, &f->same.values);
    VEC_APPEND(f->arena, &call.shifts, &f->same.shifts);
    VEC_PUSH(f->arena, &f->found.calls, call);
    f->found.parts.at[part].n_calls++;
}

static bool find_part(void *user, const Candidate *c)
{
    Finder *f = user;
    f->wanted = c;
    const uint32_t n_exprs = f->same.n_exprs;
    const uint32_t known = tessi_idmap_find(&f->firsts, c->hash, is_same_part, f);
    if (known) {
        add_call(f, known - 1, c->stmt);
        return false;
    }
    /* It is the same as itself, unless it changes variables of its surroundings. */
    if (!tessi_same_statements(&f->same, c->stmt, c->stmt))
        return true;
    LoopPart part = { .stmt = c->stmt, .depth = c->depth, .n_exprs = n_exprs };
    VEC_APPEND(f->arena, &part.arrays, &f->same.twins);
    VEC_APPEND(f->arena, &part.values, &f->same.values);
    VEC_PUSH(f->arena, &f->found.parts, part);
    VEC_PUSH(f->same.scratch, &f->in_parallel, c->in_parallel);
    add_call(f, f->found.parts.n - 1, c->stmt);
    tessi_idmap_add(f->same.scratch, &f->firsts, c->hash, f->found.parts.n);
    return true;
}

static bool has_loop(const LBlock *block)
{
    PASS_FOREACH (s, block)
        if (s->kind == LSTMT_FOR || has_loop(&s->body) || has_loop(&s->orelse))
            return true;
    return false;
}

/* Of a long function, the largest statements that are not most of it: the stages of a tile, mostly. Loops over the
 * points of a row alone stay, which would be called for every row. */
static void choose_apart(LoopParts *found)
{
    uint32_t total = 0, outermost = UINT32_MAX, chosen = UINT32_MAX;
    VEC_FOREACH (const LoopPart, part, &found->parts) {
        outermost = part->depth < outermost ? part->depth : outermost;
        total += part->depth == outermost ? part->n_exprs : 0;
    }
    VEC_FOREACH (LoopPart, part, &found->parts) {
        if (part->depth > chosen)
            continue;
        part->is_apart = total >= LONG_FUNCTION && part->n_calls == 1
                         && part->n_exprs >= LEAST_APART && part->n_exprs <= total / 2
                         && has_loop(&part->stmt->body);
        chosen = part->is_apart || part->n_calls > 1 ? part->depth : UINT32_MAX;
    }
}

LoopParts *tessi_loop_parts(const LoopProgram *p, const LoopSame *same, Arena *a)
{
    LoopParts *parts = ARENA_NEW_ARRAY(a, LoopParts, p->functions.n);
    Arena *scratch = tessi_scratch_open(a);
    LoopNeeds needs = { 0 };
    Finder finder = { .same = tessi_same_new(p, scratch, true), .needs = &needs, .arena = a };
    for (uint32_t i = 0; i < p->functions.n; i++) {
        const LFunction *f = &p->functions.at[i];
        if (f->is_kernel || same->first[i] != i)
            continue;
        tessi_loop_needs(p, f, scratch, &needs);
        finder.found = (LoopParts){ 0 };
        finder.firsts = (IdMap){ 0 };
        finder.in_parallel.n = 0;
        walk(&finder.same, &f->body, 0, false, find_part, &finder);
        choose_apart(&finder.found);
        parts[i] = finder.found;
    }
    tessi_scratch_close(scratch);
    return parts;
}

/* ---- The pass -------------------------------------------------------------------------------- */

typedef struct Member {
    Candidate c;
    bool taken; /* it is within one whose values have names, or is one itself */
    LBlock lets;
} Member;
typedef struct Class {
    uint64_t hash;
    VEC(uint32_t) members;
} Class;

typedef struct Share {
    Same same;
    LoopProgram *p;
    VEC(Member) members; /* in the order of the function */
    VEC(Class) classes;
    IdMap class_map;
    uint64_t wanted;
    /* Of the statement in hand: by LExprId, the name that it has got. */
    LExprId *named;
    uint32_t *named_stamp, stamp;
    LBlock *lets;
} Share;

static bool is_class(void *user, uint32_t number)
{
    const Share *s = user;
    return s->classes.at[number - 1].hash == s->wanted;
}

static bool note_member(void *user, const Candidate *c)
{
    Share *s = user;
    Arena *scratch = s->same.scratch;
    s->wanted = c->hash;
    uint32_t number = tessi_idmap_find(&s->class_map, c->hash, is_class, s);
    if (!number) {
        VEC_PUSH(scratch, &s->classes, ((Class){ .hash = c->hash }));
        number = s->classes.n;
        tessi_idmap_add(scratch, &s->class_map, c->hash, number);
    }
    VEC_PUSH(scratch, &s->classes.at[number - 1].members, s->members.n);
    VEC_PUSH(scratch, &s->members, ((Member){ .c = *c }));
    return true;
}

/* A name for the value of `id`, before the statement. */
static LExprId name_of(Share *s, LExprId id)
{
    if (s->named_stamp[id.v] != s->stamp) {
        s->named_stamp[id.v] = s->stamp;
        s->named[id.v] = tessi_pass_let(s->p, s->lets, "t", id);
    }
    return s->named[id.v];
}

/* `id`, which stands where `first` does, with names for what differs. */
static LExprId with_names(Share *s, LExprId first, LExprId id)
{
    if (!id.v)
        return id;
    if (s->same.differs[first.v])
        return name_of(s, id);
    const LExpr e = *tessi_lexpr(s->p, id), x = *tessi_lexpr(s->p, first);
    LExprId arg[LOOP_MAX_DIMS] = { { 0 } };
    bool same = true;
    for (int i = 0; i < e.n_args; i++) {
        arg[i] = with_names(s, x.arg[i], e.arg[i]);
        same = same && arg[i].v == e.arg[i].v;
    }
    return same ? id : tessi_lexpr_with_args(s->p, &e, arg);
}

static void name_in_stmt(Share *s, const LStmt *first, LStmt *stmt)
{
    stmt->a = with_names(s, first->a, stmt->a);
    stmt->b = with_names(s, first->b, stmt->b);
    for (int k = 0; k < stmt->n_index; k++)
        stmt->index[k] = with_names(s, first->index[k], stmt->index[k]);
    for (uint32_t i = 0; i < stmt->body.n; i++)
        name_in_stmt(s, first->body.at[i], stmt->body.at[i]);
    for (uint32_t i = 0; i < stmt->orelse.n; i++)
        name_in_stmt(s, first->orelse.at[i], stmt->orelse.at[i]);
}

/* The candidate is done with, and so are those within it and around it. */
static void take(Share *s, uint32_t number)
{
    uint32_t depth = s->members.at[number].c.depth;
    for (uint32_t i = number; depth && i-- > 0;)
        if (s->members.at[i].c.depth < depth) {
            depth = s->members.at[i].c.depth;
            s->members.at[i].taken = true;
        }
    depth = s->members.at[number].c.depth;
    do
        s->members.at[number++].taken = true;
    while (number < s->members.n && s->members.at[number].c.depth > depth);
}

static void name_in_class(Share *s, const Class *class)
{
    VEC(uint32_t) like = { 0 }; /* the members that are the same as the first */
    const LStmt *first = NULL;
    VEC_FOREACH (const uint32_t, number, &class->members) {
        const LStmt *stmt = s->members.at[*number].c.stmt;
        if (s->members.at[*number].taken)
            continue;
        if (!first) {
            first = stmt;
            tessi_same_hash_statement(&s->same, first);
            tessi_same_look_for_differences(&s->same);
        }
        if (tessi_same_statements(&s->same, first, stmt))
            VEC_PUSH(s->same.scratch, &like, *number);
    }
    for (uint32_t i = like.n; like.n > 1 && i-- > 0;) { /* the first last: the others look at it */
        Member *m = &s->members.at[like.at[i]];
        s->stamp++;
        s->lets = &m->lets;
        name_in_stmt(s, first, m->c.stmt);
        take(s, like.at[i]);
    }
    tessi_same_forget_differences(&s->same);
}

/* Puts the names in front of their statements. */
static void insert_names(Share *s, LBlock *block, uint32_t *next)
{
    LBlock out = { 0 };
    for (uint32_t i = 0; i < block->n; i++) {
        LStmt *stmt = block->at[i];
        if (*next < s->members.n && s->members.at[*next].c.stmt == stmt) {
            const LBlock *lets = &s->members.at[(*next)++].lets;
            VEC_APPEND(s->p->arena, &out, lets);
        }
        insert_names(s, &stmt->body, next);
        insert_names(s, &stmt->orelse, next);
        VEC_PUSH(s->p->arena, &out, stmt);
    }
    *block = out;
}

void tessi_loop_share(LoopProgram *p)
{
    Arena *scratch = tessi_scratch_open(p->arena);
    Share s = { .same = tessi_same_new(p, scratch, true), .p = p };
    s.named = ARENA_NEW_ARRAY(scratch, LExprId, p->exprs.n);
    s.named_stamp = ARENA_NEW_ARRAY(scratch, uint32_t, p->exprs.n);
    VEC_FOREACH (LFunction, f, &p->functions) {
        if (f->is_kernel)
            continue;
        s.members.n = s.classes.n = 0;
        s.class_map = (IdMap){ 0 };
        walk(&s.same, &f->body, 0, false, note_member, &s);
        for (uint32_t depth = 0, more = 1; more;
             depth++) { /* what is shared is as large as can be */
            more = 0;
            VEC_FOREACH (const Class, class, &s.classes) {
                const uint32_t own = s.members.at[class->members.at[0]].c.depth;
                if (own == depth && class->members.n > 1)
                    name_in_class(&s, class);
                more += own > depth;
            }
        }
        uint32_t next = 0;
        insert_names(&s, &f->body, &next);
    }
    tessi_scratch_close(scratch);
}
