/* front/lower_shape: sizes: expressions over the parameters, what is provably inside, the shape of a stencil's
 * result. */
#include <string.h>

#include "front/lower.h"

/* Offsets of the reads of an argument, in one dimension. */
typedef struct Reach {
    int64_t lo, hi;
    bool any;
} Reach;

SizeId tessi_lower_size_expr(Lower *l, const TExpr *e)
{
    Graph *g = l->g;
    switch (e->kind) {
    case TE_CONST: return tessi_size_const(g, e->value.i);
    case TE_PARAM: {
        const TParam *p = &l->t->params.at[e->slot];
        return p->is_constant ? tessi_size_const(g, p->value)
                              : tessi_size_param(g, l->param[e->slot]);
    }
    case TE_SIZE: return l->value[e->image->id].size[e->dim];
    case TE_CAST: return tessi_lower_size_expr(l, e->arg[0]);
    case TE_OP: break;
    default: return tessi_size_const(g, 0);
    }
    SizeId a = tessi_lower_size_expr(l, e->arg[0]);
    SizeId b = e->n_args > 1 ? tessi_lower_size_expr(l, e->arg[1]) : tessi_size_const(g, 0);
    switch (e->op) {
    case OP_NEG: return tessi_size_scale(g, a, -1);
    case OP_ADD: return tessi_size_add(g, a, b);
    case OP_SUB: return tessi_size_sub(g, a, b);
    case OP_MUL: return tessi_size_mul(g, a, b);
    case OP_MIN: return tessi_size_min(g, a, b);
    case OP_MAX: return tessi_size_max(g, a, b);
    case OP_DIV: return tessi_size_floordiv(g, a, e->arg[1]->value.i);
    default: return a;
    }
}

/* ---- a <= b for all parameters >= 1 ---------------------------------------------------------- */
bool tessi_size_at_most(Graph *g, SizeId a, SizeId b)
{
    return a.v == b.v || tessi_size_never_negative(g, tessi_size_sub(g, b, a), 1);
}

/* ---- reach of a stencil ---------------------------------------------------------------------- */
static void extend(Reach *r, int64_t lo, int64_t hi)
{
    r->lo = !r->any || lo < r->lo ? lo : r->lo;
    r->hi = !r->any || hi > r->hi ? hi : r->hi;
    r->any = true;
}

static bool extend_affine(const TExpr *index, Reach *r)
{
    StaticAffine a;
    if (!tessi_static_affine(index, NULL, &a))
        return false;
    int64_t lo = a.constant, hi = a.constant;
    for (uint32_t k = 0; k < a.n; k++) {
        int64_t x = a.term[k].coef * a.term[k].window->lo[a.term[k].var];
        int64_t y = a.term[k].coef * a.term[k].window->hi[a.term[k].var];
        lo += x < y ? x : y;
        hi += x < y ? y : x;
    }
    extend(r, lo, hi);
    return true;
}

/* Visits every point of the windows around a read (outermost first) where their static conditions hold. */
static void extend_points(const TWindow *const *windows, int n, const WindowPoint *point,
                          const TExpr *index, uint64_t *budget, Reach *r)
{
    Value v;
    if (n == 0) {
        if (tessi_static_eval(index, point, budget, &v) == EVAL_OK)
            extend(r, v.i, v.i);
        return;
    }
    WindowPoint p;
    tessi_window_first(&p, windows[0], point);
    do {
        bool skip = windows[0]->where
                    && tessi_static_eval(windows[0]->where, &p, budget, &v) == EVAL_OK && !v.i;
        if (!skip)
            extend_points(windows + 1, n - 1, &p, index, budget, r);
    } while (*budget > 0 && tessi_window_next(&p));
}

static bool extend_read(Lower *l, const TExpr *e, uint32_t dim, Reach *r)
{
    const TWindow *windows[MAX_WINDOW_LEVELS];
    int n = 0;
    bool conditions = false;
    for (const TWindow *w = e->read->window; w && n < MAX_WINDOW_LEVELS; w = w->outer) {
        conditions |= w->where != NULL;
        n++;
    }
    if (!conditions && extend_affine(e->read->index[dim], r))
        return true;
    const TWindow *w = e->read->window;
    for (int i = n; i-- > 0; w = w->outer)
        windows[i] = w;
    extend_points(windows, n, NULL, e->read->index[dim], &l->budget, r);
    if (l->budget == 0)
        tessi_lower_limit(l, e->span, "steps of computing constants", CHECK_MAX_EVALUATION);
    return l->budget > 0;
}

static void extend_mask(const TExpr *e, uint32_t dim, Reach *r)
{
    const TMask *m = e->mask;
    int64_t inner = 1, n = (int64_t)m->hi[dim] - m->lo[dim] + 1;
    for (uint32_t d = dim + 1; d < m->n_dims; d++)
        inner *= (int64_t)m->hi[d] - m->lo[d] + 1;
    for (uint32_t i = 0; i < m->n; i++) {
        bool zero = m->at && (tessi_tt_is_integer(m->type) ? m->at[i].i == 0 : m->at[i].f == 0);
        int64_t k = (m->lo[dim] + ((int64_t)i / inner) % n) * e->dilation;
        if (!zero)
            extend(r, k, k);
    }
}

static bool reach_of(Lower *l, const TInstance *inst, uint32_t slot, uint32_t dim, Reach *reach)
{
    *reach = (Reach){ 0 };
    VEC_FOREACH (TExpr *const, e, &inst->reads) {
        if ((*e)->slot != slot || (*e)->read->absolute)
            continue;
        if ((*e)->kind == TE_CONVOLVE)
            extend_mask(*e, dim, reach);
        else if (!extend_read(l, *e, dim, reach))
            return false;
    }
    return true;
}

/* ---- shape of a result ----------------------------------------------------------------------- */
static bool shrink(Lower *l, const TValue *v, uint32_t slot, uint32_t d, SizeId *end,
                   int64_t *first)
{
    Graph *g = l->g;
    Reach r;
    if (!reach_of(l, v->inst, slot, d, &r))
        return false;
    if (!r.any)
        return true;
    int64_t s = v->inst->args.at[slot].scale[d];
    int64_t lo = r.lo < 0 ? -tessi_floordiv(r.lo, s) : 0;
    SizeId last = tessi_size_add(g, l->value[v->args.at[slot].image->id].size[d],
                                 tessi_size_const(g, s - 1 - r.hi));
    *first = lo > *first ? lo : *first;
    *end = tessi_size_min(g, *end, tessi_size_floordiv(g, last, s));
    return true;
}

const char *tessi_lower_shown(const Lower *l, Span span, const char *otherwise)
{
    enum { SHORT = 30 };
    if (!span.file || span.end - span.begin > SHORT)
        return otherwise;
    return tessi_strndup(l->a, l->t->ast->sources->files.at[span.file].text + span.begin,
                         span.end - span.begin);
}

/* What stands for operand `slot` of an expression on images: its name, or the text of a short one. */
static const char *operand_shown(const Lower *l, const TValue *v, uint32_t slot)
{
    const TArg *arg = &v->inst->args.at[slot];
    const TValue *image = v->args.at[slot].image;
    const bool named = image->named || image->kind == TV_INPUT;
    return tessi_lower_shown(l, named ? (Span){ 0 } : arg->span, arg->name);
}

/* A[1, 2]: meant as a pixel by who writes it beside images. */
static bool is_one_point(const TValue *v)
{
    bool one = v->kind == TV_SUBDOMAIN;
    for (uint32_t d = 0; one && d < v->n_dims; d++)
        one = v->lo[d] && v->lo[d] == v->hi[d];
    return one;
}

/* "a[2.., ..]": the image without its first points in one dimension. */
static const char *cut_shown(Arena *arena, const char *name, uint32_t n_dims, uint32_t dim,
                             long long points)
{
    Text text = tessi_text_new(arena);
    tessi_text_addf(&text, strpbrk(name, " @(") ? "(%s)[" : "%s[", name);
    for (uint32_t d = 0; d < n_dims; d++) {
        tessi_text_add(&text, d ? ", " : "");
        if (d == dim)
            tessi_text_addf(&text, "%lld", points);
        tessi_text_add(&text, "..");
    }
    tessi_text_add(&text, "]");
    return tessi_text_str(&text);
}

void tessi_lower_sizes_differ(Lower *l, const Agreement *must, uint32_t n_dims, int64_t apart)
{
    const long long points = apart < 0 ? -apart : apart;
    const char *larger = apart < 0 ? must->name_b : must->name_a;
    Diag *diag = tessi_diag(l->d, DIAG_SIZES_DIFFER, must->span, must->name_a, must->name_b, points,
                            (long long)must->dim);
    tessi_diag_help(l->d, diag, "cut '%s' to the points that are meant: '%s'", larger,
                    cut_shown(l->a, larger, n_dims, must->dim, points));
}

/* Operands of an expression on images have one size: says so where they cannot, has the run check where they might
 * not. */
static void agree(Lower *l, const TValue *v, uint32_t first, SizeId a, uint32_t other, SizeId b,
                  uint32_t d)
{
    Graph *g = l->g;
    int64_t apart;
    if (a.v == b.v || l->t->forma || v->inst->def || v->declared[d])
        return;
    if (tessi_size_is_const(g, tessi_size_sub(g, a, b), &apart) && apart == 0)
        return;
    const Agreement must = { .a = a,
                             .b = b,
                             .dim = d,
                             .name_a = operand_shown(l, v, first),
                             .name_b = operand_shown(l, v, other),
                             .span = v->span };
    VEC_PUSH(g->arena, &g->agreements, must);
    const TValue *x = v->args.at[first].image, *y = v->args.at[other].image;
    if (is_one_point(x) != is_one_point(y)) {
        const bool swap = is_one_point(y);
        Diag *diag = tessi_diag(l->d, DIAG_ONE_POINT, v->span, swap ? must.name_b : must.name_a,
                                swap ? must.name_a : must.name_b);
        tessi_diag_help(
            l->d, diag,
            "a neighbour of each pixel is read by 'X@[..]', and 'X[..]' cuts a part out");
    } else if (tessi_size_is_const(g, tessi_size_sub(g, a, b), &apart)) {
        tessi_lower_sizes_differ(l, &must, v->n_dims, apart);
    }
}

bool tessi_lower_shape(Lower *l, const TValue *v, LBody *body)
{
    const TInstance *inst = v->inst;
    Graph *g = l->g;
    body->n_dims = v->n_dims;
    for (uint32_t d = 0; d < v->n_dims; d++) {
        SizeId n = { 0 };
        uint32_t begun = 0;
        for (uint32_t i = 0; i < inst->args.n; i++) {
            const TArg *arg = &inst->args.at[i];
            if (arg->kind != TARG_IMAGE || !arg->relative)
                continue;
            SizeId own = l->value[v->args.at[i].image->id].size[d];
            if (arg->scale[d] > 1)
                own = tessi_size_floordiv(g, own, arg->scale[d]);
            if (n.v)
                agree(l, v, begun, n, i, own, d);
            else
                begun = i;
            n = n.v ? tessi_size_min(g, n, own) : own;
        }
        if (v->declared[d]) {
            body->shift[d] = 0;
            body->size[d] = tessi_lower_size_expr(l, v->declared[d]);
            continue;
        }
        int64_t first = 0;
        for (uint32_t i = 0; i < inst->args.n; i++) {
            const TArg *arg = &inst->args.at[i];
            if (arg->kind == TARG_IMAGE && arg->relative && d < arg->n_dims
                && v->args.at[i].border.rule[d] == BORDER_NONE && !shrink(l, v, i, d, &n, &first))
                return false;
        }
        body->shift[d] = first;
        body->size[d] = tessi_size_sub(g, n, tessi_size_const(g, first));
    }
    return true;
}

bool tessi_lower_computed(Lower *l, const TValue *v, uint32_t dim, int64_t *first, int64_t *missing)
{
    *first = *missing = 0;
    for (uint32_t i = 0; i < v->inst->args.n; i++) {
        const TArg *arg = &v->inst->args.at[i];
        Reach r;
        if (arg->kind != TARG_IMAGE || !arg->relative || v->args.at[i].border.written)
            continue;
        if (!reach_of(l, v->inst, i, dim, &r))
            return false;
        int64_t s = arg->scale[dim], neg = r.any && r.lo < 0 ? r.lo : 0;
        int64_t pos = r.any && r.hi > 0 ? r.hi : 0;
        int64_t begin = -tessi_floordiv(neg, s);
        /* Stencils round the end up, sampling of an image rounds it down (FORMA sections 7.2 and 8.2). */
        int64_t end = v->inst->def ? -tessi_floordiv(-pos, s) : tessi_floordiv(pos, s);
        *first = begin > *first ? begin : *first;
        *missing = end > *missing ? end : *missing;
    }
    return true;
}
