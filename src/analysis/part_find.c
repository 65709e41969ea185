/* Which dimensions of images can be cut into parts, and how far around a part it depends on them. */
#include "analysis/part.h"
#include "graph/graph_walk.h"

/* A size to see by how fast others grow with it; divisible by all that is small. */
static const int64_t large = INT64_C(720720) * 1000;

/* ---- Fractions ------------------------------------------------------------------------------- */
static int64_t common_divisor(int64_t a, int64_t b)
{
    a = a < 0 ? -a : a;
    while (b) {
        const int64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

Ratio tessi_ratio(int64_t num, int64_t den)
{
    const int64_t g = common_divisor(num, den);
    return g ? (Ratio){ num / g, den / g } : (Ratio){ 0, 1 };
}

int64_t tessi_ratio_floor(Ratio a)
{
    return tessi_floordiv(a.num, a.den);
}

int64_t tessi_ratio_ceil(Ratio a)
{
    return -tessi_floordiv(-a.num, a.den);
}

Ratio tessi_ratio_times(Ratio a, Ratio b)
{
    return tessi_ratio(a.num * b.num, a.den * b.den);
}

Ratio tessi_ratio_over(Ratio a, Ratio b)
{
    return tessi_ratio(a.num * b.den, a.den * b.num);
}

Ratio tessi_ratio_plus(Ratio a, Ratio b)
{
    return tessi_ratio(a.num * b.den + b.num * a.den, a.den * b.den);
}

bool tessi_ratio_less(Ratio a, Ratio b)
{
    return a.num * b.den < b.num * a.den;
}

static bool is_same(Ratio a, Ratio b)
{
    return a.num == b.num && a.den == b.den;
}

static Ratio whole_number(int64_t n)
{
    return (Ratio){ n, 1 };
}

static Ratio magnitude(Ratio a)
{
    return (Ratio){ a.num < 0 ? -a.num : a.num, a.den };
}

static Ratio larger(Ratio a, Ratio b)
{
    return tessi_ratio_less(a, b) ? b : a;
}

/* ---- Sizes ----------------------------------------------------------------------------------- */
typedef struct Finder {
    PartPass *pass;
    const Graph *g;
    Arena *arena;
    int64_t *params; /* to try other values */
    bool wraps[MAX_DIMS];
    bool ends[MAX_DIMS];     /* rules other than wrap, or other pieces, answer at an edge */
    bool composed[MAX_DIMS]; /* other pieces do */
    bool may_fold, may_end, may_fewer, may_lines;
    int64_t (*inside)
        [MAX_DIMS]; /* by StageId: points at its ends that have other pieces where images are cut */
    const Analysis *ranges; /* NULL: nobody has asked */
    ExprWalk walk;
} Finder;

static bool uses_dim(const Finder *f, SizeId id, int d)
{
    const int64_t param = f->pass->param[d];
    return param >= 0 && tessi_size_uses_param(f->g, id, (uint32_t)param);
}

/* The size, or a distance of either sign, with the parameter of dimension d as `value`. */
static bool evaluate_with(Finder *f, SizeId id, int d, int64_t value, int64_t *n)
{
    int64_t *at = &f->params[f->pass->param[d]];
    const int64_t before = *at;
    *at = value;
    const bool ok = tessi_size_eval(f->g, id, f->params, n);
    *at = before;
    return ok;
}

/* -1 where there is none. */
static int64_t size_with(Finder *f, SizeId id, int d, int64_t value)
{
    int64_t n;
    return evaluate_with(f, id, d, value, &n) ? n : -1;
}

static int64_t size_of(const Finder *f, SizeId id)
{
    int64_t n;
    return tessi_size_eval(f->g, id, f->pass->params, &n) ? n : -1;
}

static int64_t extent_of_dim(const Finder *f, int d)
{
    return f->pass->params[f->pass->param[d]];
}

/* Leaves dimension d whole; `fmt` takes the name of a stage. */
static void leave_whole(Finder *f, int d, const Stage *s, const char *fmt)
{
    PartPass *p = f->pass;
    if (d >= p->n_dims || !p->cut[d])
        return;
    p->cut[d] = false;
    p->why[d] = tessi_sprintf(f->arena, fmt, s ? s->name : "");
}

/* ---- What is needed -------------------------------------------------------------------------- */
static void mark_reads(Finder *f, const Stage *s)
{
    VEC_FOREACH (const Piece, piece, &s->pieces) {
        const ExprList *list = tessi_expr_walk(&f->walk, f->g, &piece->body, 1);
        VEC_FOREACH (const ExprId, at, list) {
            const Expr *e = tessi_expr(f->g, *at);
            if (e->kind == EXPR_LOAD)
                f->pass->wanted[tessi_access(f->g, e->access)->producer.v] = true;
        }
    }
}

bool tessi_part_is_lines(const Graph *g, const Stage *s)
{
    int64_t n;
    const Stage *source = tessi_stage(g, s->source);
    return s->kind == STAGE_REDUCE && s->along == 1 && source->n_dims > 1
           && !tessi_size_is_const(g, source->size[0], &n);
}

/* Another pass says what it is: a number of whole images, or numbers along their rows. */
static bool is_given(const Finder *f, const Stage *s)
{
    return tessi_stage_is_number(s) || (f->may_lines && tessi_part_is_lines(f->g, s));
}

/* All that the results need; what is given is taken of images that they need not. */
static void find_wanted(Finder *f, const Image *outputs, uint32_t n)
{
    PartPass *p = f->pass;
    for (uint32_t i = 0; i < n; i++)
        VEC_FOREACH (const Channel, c, &outputs[i].channels)
            p->wanted[c->stage.v] = true;
    for (uint32_t id = f->g->stages.n; id-- > 1;) { /* readers stand behind what they read */
        const Stage *s = &f->g->stages.at[id];
        if (p->wanted[id])
            mark_reads(f, s);
        if (p->wanted[id] && (s->along || s->keys.v) && !is_given(f, s))
            p->wanted[s->source.v] = p->wanted[s->keys.v] = true;
        if (p->wanted[id] && s->kind == STAGE_INPUT)
            p->reads[s->image] = true;
    }
}

/* The images that are cut are those with most dimensions. */
static void find_base(Finder *f)
{
    PartPass *p = f->pass;
    const Graph *g = f->g;
    const Image *base = NULL;
    VEC_FOREACH (const Image, image, &g->inputs)
        if (p->reads[image - g->inputs.at] && !image->is_mask
            && (!base || image->n_dims > base->n_dims))
            base = image;
    p->n_dims = base ? base->n_dims : 0;
    for (int d = 0; d < p->n_dims; d++) {
        const Size *s = tessi_size(g, base->size[d]);
        p->base[d] = base->size[d];
        p->param[d] = s->kind == SIZE_OF_PARAM ? (int64_t)s->param : -1;
        p->cut[d] = p->param[d] >= 0;
        p->why[d] = p->cut[d] ? NULL : "the program fixes how large its images are";
    }
    for (int d = 0; d < p->n_dims; d++)
        for (int e = 0; e < p->n_dims; e++)
            if (e != d && p->param[e] == p->param[d] && p->param[d] >= 0) {
                p->cut[d] = false;
                p->why[d] = "the program says that its images are as high as they are wide";
            }
    VEC_FOREACH (const Image, image, &g->inputs) {
        bool same = base && !image->is_mask && image->n_dims == base->n_dims;
        for (int d = 0; same && d < p->n_dims; d++)
            same = image->size[d].v == base->size[d].v;
        p->parted[image - g->inputs.at] = same;
    }
}

/* ---- Which dimensions can be cut ------------------------------------------------------------- */
/* The step of a stage in dimension d as its reads say it: all go along with the images. */
static bool step_of_reads(Finder *f, const Stage *s, int d, Ratio *step)
{
    const Ratio none = { 0, 1 };
    *step = none;
    if (s->pieces.n != 1 || !tessi_piece_is_whole(f->g, s, &s->pieces.at[0]))
        return false;
    const ExprList *list = tessi_expr_walk(&f->walk, f->g, &s->pieces.at[0].body, 1);
    VEC_FOREACH (const ExprId, at, list) {
        const Expr *e = tessi_expr(f->g, *at);
        if (e->kind != EXPR_LOAD)
            continue;
        const Access *a = tessi_access(f->g, e->access);
        const Ratio of = d < a->n_dims ? f->pass->step[a->producer.v][d] : none;
        if (!of.num)
            continue;
        const Ratio here = tessi_ratio_times(of, whole_number(a->dim[d].scale));
        if (a->dim[d].absolute || a->dim[d].src != d || a->dim[d].scale < 1
            || (step->num && !is_same(*step, here)))
            return false;
        *step = here;
    }
    return step->num > 0;
}

/* A stage whose points are the images' points, though it ends elsewhere than they do. */
static bool find_end(Finder *f, StageId id, int d)
{
    PartPass *p = f->pass;
    const Stage *s = tessi_stage(f->g, id);
    const int64_t n = size_of(f, s->size[d]);
    Ratio step;
    if (!f->may_end || s->n_dims != p->n_dims || n < 1 || !step_of_reads(f, s, d, &step)
        || tessi_ratio_less(whole_number(extent_of_dim(f, d) - 1),
                            tessi_ratio_times(step, whole_number(n - 1))))
        return false;
    p->step[id.v][d] = step;
    p->end[id.v][d] = n;
    return true;
}

/* A reduction along a dimension has the steps and ends of its source in those before that one. */
static void find_steps_along(Finder *f, StageId id)
{
    PartPass *p = f->pass;
    const Stage *s = tessi_stage(f->g, id);
    for (int d = 0; d < s->n_dims + 1; d++) {
        if (d == s->along - 1 || !p->step[s->source.v][d].num)
            continue;
        if (d < s->along && f->may_fewer) {
            p->step[id.v][d] = p->step[s->source.v][d];
            p->end[id.v][d] = p->end[s->source.v][d];
        } else {
            leave_whole(f, d, s, "'%s' has the images' points in another dimension");
        }
    }
}

static void find_steps(Finder *f, StageId id)
{
    PartPass *p = f->pass;
    const Stage *s = tessi_stage(f->g, id);
    const bool given = is_given(f, s);
    if (s->kind == STAGE_REDUCE && s->along && !given) {
        find_steps_along(f, id);
        return;
    }
    for (int k = 0; k < s->n_dims; k++)
        for (int d = 0; d < p->n_dims; d++) {
            if (p->param[d] < 0 || (!uses_dim(f, s->size[k], d) && d != k))
                continue;
            if (given && !uses_dim(f, s->size[k], d))
                continue;
            const int64_t one = size_with(f, s->size[k], d, large);
            const int64_t two = size_with(f, s->size[k], d, 2 * large);
            const bool grows = one >= 0 && two > one;
            Ratio reads;
            if (d == k && f->may_end
                && (!grows
                    || (step_of_reads(f, s, d, &reads)
                        && tessi_ratio_less(reads, tessi_ratio(large, two - one))))
                && find_end(f, id, d))
                continue;
            if (!uses_dim(f, s->size[k], d))
                continue;
            if (!grows)
                leave_whole(f, d, s, "'%s' does not grow with the images");
            else if (d != k || given || s->n_dims > p->n_dims
                     || (s->n_dims < p->n_dims && !f->may_fewer))
                leave_whole(f, d, s, "'%s' has the images' points in another dimension");
            else
                p->step[id.v][k] = tessi_ratio(large, two - one);
        }
}

/* A read of the points of an image as large as this one, one for one, at a computed index that stays near. */
static bool stays_near(Finder *f, StageId user, const Piece *piece, const AccessDim *dim,
                       Ratio producer, int d, int64_t *lo, int64_t *hi)
{
    int64_t offset;
    if (d >= tessi_stage(f->g, user)->n_dims || dim->rule == BORDER_WRAP
        || !is_same(producer, f->pass->step[user.v][d]) || !is_same(producer, whole_number(1))
        || !tessi_size_is_const(f->g, piece->offset[d], &offset) || offset || piece->step[d] != 1)
        return false;
    if (!f->ranges) {
        Analysis *ranges = ARENA_NEW(f->arena, Analysis);
        ranges->g = f->g;
        tessi_analyse_ranges(ranges, f->arena);
        f->ranges = ranges;
    }
    return tessi_part_drift(f->g, f->ranges, dim->index, d, extent_of_dim(f, d), f->pass->params,
                            lo, hi);
}

/* How far behind the place of a piece's point a read of it lies, in points of what is read. */
static bool find_distance(Finder *f, const Piece *piece, const AccessDim *dim, int d, Ratio *by)
{
    const int64_t extents[] = { extent_of_dim(f, d), large, 2 * large };
    for (int k = 0; k < 3; k++) {
        int64_t offset, add = 0;
        if (!evaluate_with(f, piece->offset[d], d, extents[k], &offset)
            || (!dim->absolute && !evaluate_with(f, dim->add, d, extents[k], &add)))
            return false;
        const Ratio shift = tessi_ratio(-dim->scale * offset, piece->step[d]);
        const Ratio here = tessi_ratio_plus(whole_number(add), shift);
        if (k && !is_same(here, *by))
            return false;
        *by = here;
    }
    return true;
}

static void look_at_dim(Finder *f, StageId user, const Piece *piece, const Access *a, int d)
{
    PartPass *p = f->pass;
    const AccessDim *dim = &a->dim[d];
    const Ratio step = p->step[a->producer.v][d];
    const Stage *s = tessi_stage(f->g, user);
    if (!step.num && !dim->absolute && dim->src >= 0 && p->step[user.v][dim->src].num)
        leave_whole(f, dim->src, s, "'%s' looks up its own coordinate");
    if (!step.num)
        return;
    const Ratio own = d < s->n_dims ? p->step[user.v][d] : (Ratio){ 0, 1 };
    int64_t offset = 1, lo, hi;
    Ratio by;
    if (p->end[a->producer.v][d] && !own.num)
        leave_whole(f, d, s, "'%s' reads points by their number, mirrored or in another dimension");
    else if (dim->absolute && stays_near(f, user, piece, dim, step, d, &lo, &hi))
        f->ends[d] = true;
    else if (dim->absolute)
        leave_whole(f, d, s, "'%s' computes which points it reads");
    else if (!own.num || dim->src != d || dim->scale < 1)
        leave_whole(f, d, s, "'%s' reads points by their number, mirrored or in another dimension");
    else if (!find_distance(f, piece, dim, d, &by) || !tessi_access_span(f->g, dim, &lo, &hi))
        leave_whole(f, d, s, "'%s' reads at distances that depend on the images' size");
    else if (!is_same(tessi_ratio_times(step, whole_number(dim->scale)),
                      tessi_ratio_times(own, whole_number(piece->step[d]))))
        leave_whole(f, d, s, "'%s' reads what lies further and further from its own points");
    else if (by.num || lo || hi || !tessi_size_is_const(f->g, piece->offset[d], &offset) || offset
             || piece->step[d] != 1) {
        if (dim->rule == BORDER_WRAP)
            f->wraps[d] = true;
        else
            f->ends[d] = true;
    }
}

static void look_at_stage(Finder *f, StageId id)
{
    PartPass *p = f->pass;
    const Graph *g = f->g;
    const Stage *s = tessi_stage(g, id);
    if (s->kind == STAGE_INPUT && !p->parted[s->image])
        for (int d = 0; d < p->n_dims; d++)
            for (int k = 0; k < s->n_dims; k++)
                if (uses_dim(f, s->size[k], d))
                    leave_whole(f, d, s, "'%s' has another size than the first image");
    if (s->along && !is_given(f, s) && p->step[s->source.v][s->along - 1].num)
        leave_whole(f, s->along - 1, s, "'%s' goes along it");
    for (int d = 0; s->keys.v && d < p->n_dims; d++)
        leave_whole(f, d, s, "'%s' goes through all points by keys");
    VEC_FOREACH (const Piece, piece, &s->pieces) {
        const ExprList *list = tessi_expr_walk(&f->walk, g, &piece->body, 1);
        VEC_FOREACH (const ExprId, at, list) {
            const Expr *e = tessi_expr(g, *at);
            if (e->kind != EXPR_LOAD)
                continue;
            const Access *a = tessi_access(g, e->access);
            for (int d = 0; d < a->n_dims; d++)
                look_at_dim(f, id, piece, a, d);
        }
    }
}

/* ---- Ends of images -------------------------------------------------------------------------- */
static void align_to(Finder *f, int d, Ratio step)
{
    int64_t *align = &f->pass->align[d];
    const int64_t grown = *align / common_divisor(*align, step.num);
    if (!tessi_mul_i64(grown, step.num, align) || *align > large)
        leave_whole(f, d, NULL, "its steps have no common multiple that is small enough%s");
}

/* How far a piece lies from one end of its stage, where it lies as far from it in images of other sizes. */
typedef struct Place {
    bool from_first, from_last;
    int64_t first, last; /* points before it, and from it to the last one */
} Place;

/* `point` is one of the piece: begin, or begin + step * (count - 1). */
static Place place_of(Finder *f, const Stage *s, const Piece *piece, int d, bool begin)
{
    Place place = { true, true, 0, 0 };
    for (int k = 0; k < 3; k++) {
        const int64_t extent = extent_of_dim(f, d) - k * f->pass->align[d];
        int64_t size, at, count = 1;
        if (extent < 1 && k)
            break;
        if (!evaluate_with(f, s->size[d], d, extent, &size)
            || !evaluate_with(f, piece->offset[d], d, extent, &at)
            || (!begin && !evaluate_with(f, piece->count[d], d, extent, &count)))
            return (Place){ .from_first = false };
        at += (int64_t)piece->step[d] * (count - 1);
        place.from_first = place.from_first && (!k || at == place.first);
        place.from_last = place.from_last && (!k || size - 1 - at == place.last);
        place.first = k ? place.first : at;
        place.last = k ? place.last : size - 1 - at;
    }
    return place;
}

/* Pieces begin and end at fixed distances from the ends of their stage: around ends of parts, which are none of the
 * whole, so many points are those of the wrong piece. False: some piece moves otherwise. */
static bool find_inside(Finder *f, const Stage *s, int d, int64_t *inside)
{
    int64_t before = 0, behind = 0;
    VEC_FOREACH (const Piece, piece, &s->pieces) {
        if (tessi_piece_is_whole(f->g, s, piece))
            continue;
        const Place begin = place_of(f, s, piece, d, true), end = place_of(f, s, piece, d, false);
        if ((!begin.from_first && !begin.from_last) || (!end.from_first && !end.from_last))
            return false;
        /* One that goes from end to end may begin within a step of it. */
        const int64_t free = begin.from_first && end.from_last ? piece->step[d] - 1 : 0;
        const int64_t low = end.from_last ? begin.first : end.first + 1;
        const int64_t high = begin.from_first ? end.last : begin.last + 1;
        if (begin.from_first && low > free && low > before)
            before = low;
        if (end.from_last && high > free && high > behind)
            behind = high;
    }
    *inside = before + behind;
    return true;
}

/* A stage ends with the images, also where they are cut. */
static void see_end(Finder *f, StageId id, int d, Ratio step)
{
    PartPass *p = f->pass;
    const Stage *s = tessi_stage(f->g, id);
    const int64_t whole = extent_of_dim(f, d), size = size_of(f, s->size[d]);
    if (f->pass->end[id.v][d]) {
        if (f->wraps[d])
            leave_whole(f, d, s, "'%s' ends elsewhere than the images, which wrap around");
        return;
    }
    if (f->wraps[d] && !p->folded[d] && s->size[d].v != p->base[d].v)
        leave_whole(f, d, s, "'%s' has another size than the images, which wrap around");
    for (int64_t less = p->align[d]; less <= 2 * p->align[d] && less < whole; less += p->align[d]) {
        const Ratio want = tessi_ratio_over(whole_number(less), step);
        if (want.den != 1 || size_with(f, s->size[d], d, whole - less) != size - want.num)
            leave_whole(f, d, s, "'%s' does not shrink with the images");
    }
}

static void see_pieces(Finder *f, StageId id)
{
    const Stage *s = tessi_stage(f->g, id);
    for (int d = 0; d < s->n_dims && f->pass->wanted[id.v]; d++) {
        if (!f->pass->step[id.v][d].num)
            continue;
        if (!find_inside(f, s, d, &f->inside[id.v][d]))
            leave_whole(f, d, s, "'%s' is composed of parts that end elsewhere than the images");
        else if (f->inside[id.v][d])
            f->ends[d] = f->composed[d] = true;
    }
}

/* Whether a stage has not the images' points, one for one. */
static bool has_other_points(const Finder *f, int d)
{
    const PartPass *p = f->pass;
    bool others = p->align[d] != 1;
    GRAPH_FOREACH_STAGE (f->g, id) {
        const Stage *s = tessi_stage(f->g, id);
        others = others
                 || (p->wanted[id.v] && d < s->n_dims && p->step[id.v][d].num
                     && s->size[d].v != p->base[d].v);
    }
    return others;
}

static void see_wraps(Finder *f, int d)
{
    PartPass *p = f->pass;
    const char *mixed = "it has reads that wrap around beside others that do not%s";
    if (!f->wraps[d] || (!f->ends[d] && !has_other_points(f, d)))
        return;
    if (f->may_fold && !f->composed[d])
        p->folded[d] = p->cut[d];
    else if (f->ends[d] || p->align[d] != 1)
        leave_whole(f, d, NULL,
                    f->composed[d] ? "it wraps around what is composed of parts%s"
                    : f->ends[d]   ? mixed
                                   : "it samples images that wrap around%s");
}

static void see_ends(Finder *f)
{
    PartPass *p = f->pass;
    GRAPH_FOREACH_STAGE (f->g, id) {
        const Stage *s = tessi_stage(f->g, id);
        for (int d = 0; d < s->n_dims && p->wanted[id.v]; d++) {
            const Ratio step = p->step[id.v][d];
            if (!step.num)
                continue;
            align_to(f, d, step);
            VEC_FOREACH (const Piece, piece, &s->pieces)
                align_to(f, d, tessi_ratio_times(step, whole_number(piece->step[d])));
        }
    }
    GRAPH_FOREACH_STAGE (f->g, id)
        see_pieces(f, id);
    for (int d = 0; d < p->n_dims; d++)
        see_wraps(f, d);
    GRAPH_FOREACH_STAGE (f->g, id)
        for (int d = 0; d < tessi_stage(f->g, id)->n_dims && p->wanted[id.v]; d++)
            if (p->step[id.v][d].num)
                see_end(f, id, d, p->step[id.v][d]);
}

/* ---- How far --------------------------------------------------------------------------------- */
typedef Ratio Far[MAX_DIMS];

/* Where in the images the last point of a stage lies. */
static Ratio last_point(const Finder *f, StageId id, int d)
{
    const int64_t size = size_of(f, tessi_stage(f->g, id)->size[d]);
    return tessi_ratio_times(f->pass->step[id.v][d], whole_number(size - 1));
}

/* How much further than its distance a read can be that a rule answers, where the reader ends behind what it reads: it
 * bounces at the end of that. */
static Ratio bounce(const Finder *f, StageId user, StageId producer, int d)
{
    const Ratio end = last_point(f, producer, d);
    const Ratio more = tessi_ratio_plus(last_point(f, user, d), (Ratio){ -end.num, end.den });
    return more.num > 0 ? tessi_ratio_times(more, whole_number(2)) : whole_number(0);
}

/* Points of the images behind the last one of a stage. */
static Ratio rest_behind(const Finder *f, StageId id, int d)
{
    const int64_t size = size_of(f, tessi_stage(f->g, id)->size[d]);
    const Ratio end = tessi_ratio_times(f->pass->step[id.v][d], whole_number(-size));
    return larger(tessi_ratio_plus(whole_number(extent_of_dim(f, d)), end), whole_number(0));
}

static void follow(Finder *f, Far *far, StageId user, const Piece *piece, const Access *a)
{
    const PartPass *p = f->pass;
    for (int d = 0; d < a->n_dims && d < p->n_dims; d++) {
        const Ratio step = p->step[a->producer.v][d];
        const AccessDim *dim = &a->dim[d];
        int64_t lo, hi;
        Ratio by;
        if (!step.num || !p->cut[d] || !find_distance(f, piece, dim, d, &by))
            continue;
        if (dim->absolute ? !stays_near(f, user, piece, dim, step, d, &lo, &hi)
                          : !tessi_access_span(f->g, dim, &lo, &hi))
            continue;
        const Ratio low =
            magnitude(tessi_ratio_times(step, tessi_ratio_plus(whole_number(lo), by)));
        const Ratio high =
            magnitude(tessi_ratio_times(step, tessi_ratio_plus(whole_number(hi), by)));
        const bool skips = dim->rule == BORDER_WRAP; /* what lies behind the end of what it reads */
        const Ratio more =
            tessi_ratio_plus(bounce(f, user, a->producer, d),
                             skips ? rest_behind(f, a->producer, d) : whole_number(0));
        const Ratio here = tessi_ratio_plus(larger(low, high), more);
        const Ratio away = tessi_ratio_plus(far[user.v][d], here);
        far[a->producer.v][d] = larger(far[a->producer.v][d], away);
    }
}

/* A stage may end before the images do, and rules reflect at its own end. */
static void add_margin(Finder *f, const Far *far, StageId id)
{
    PartPass *p = f->pass;
    const Stage *s = tessi_stage(f->g, id);
    for (int d = 0; d < s->n_dims && d < p->n_dims; d++) {
        const Ratio step = p->step[id.v][d];
        if (!step.num || !p->cut[d])
            continue;
        const Ratio inside = tessi_ratio_times(step, whole_number(f->inside[id.v][d]));
        const Ratio rest = p->end[id.v][d] ? whole_number(0) : rest_behind(f, id, d);
        const Ratio more = tessi_ratio_plus(rest, inside);
        p->margin[d] = larger(p->margin[d], tessi_ratio_plus(far[id.v][d], more));
    }
}

static void find_margins(Finder *f)
{
    PartPass *p = f->pass;
    Far *far = (Far *)ARENA_NEW_ARRAY(f->arena, Ratio, (size_t)f->g->stages.n * MAX_DIMS);
    for (uint32_t i = 0; i < f->g->stages.n * MAX_DIMS; i++)
        far[i / MAX_DIMS][i % MAX_DIMS] = (Ratio){ 0, 1 };
    for (uint32_t id = f->g->stages.n; id-- > 1;) {
        const Stage *s = &f->g->stages.at[id];
        for (uint32_t k = 0; p->wanted[id] && k < s->pieces.n; k++) {
            const Piece *piece = &s->pieces.at[k];
            const ExprList *list = tessi_expr_walk(&f->walk, f->g, &piece->body, 1);
            VEC_FOREACH (const ExprId, at, list) {
                const Expr *e = tessi_expr(f->g, *at);
                if (e->kind == EXPR_LOAD)
                    follow(f, far, (StageId){ id }, piece, tessi_access(f->g, e->access));
            }
        }
        for (int d = 0; p->wanted[id] && s->along && !is_given(f, s) && d < p->n_dims; d++)
            far[s->source.v][d] = larger(far[s->source.v][d], far[id][d]);
        if (p->wanted[id])
            add_margin(f, (const Far *)far, (StageId){ id });
    }
    for (int d = 0; d < p->n_dims; d++)
        p->periodic[d] = f->wraps[d] && p->cut[d] && !p->folded[d];
}

/* ---- The whole ------------------------------------------------------------------------------- */
static void start(Finder *f, const int64_t *params)
{
    PartPass *p = f->pass;
    const Graph *g = f->g;
    *p = (PartPass){ .whole = g, .params = params, .lines = f->may_lines };
    p->wanted = ARENA_NEW_ARRAY(f->arena, bool, g->stages.n);
    p->step = (Ratio(*)[MAX_DIMS])ARENA_NEW_ARRAY(f->arena, Ratio, (size_t)g->stages.n * MAX_DIMS);
    p->end =
        (int64_t(*)[MAX_DIMS])ARENA_NEW_ARRAY(f->arena, int64_t, (size_t)g->stages.n * MAX_DIMS);
    p->parted = ARENA_NEW_ARRAY(f->arena, bool, g->inputs.n + 1);
    p->reads = ARENA_NEW_ARRAY(f->arena, bool, g->inputs.n + 1);
    f->params = ARENA_NEW_ARRAY(f->arena, int64_t, g->params.n + 1);
    f->inside =
        (int64_t(*)[MAX_DIMS])ARENA_NEW_ARRAY(f->arena, int64_t, (size_t)g->stages.n * MAX_DIMS);
    for (uint32_t i = 0; i < g->params.n; i++)
        f->params[i] = params[i];
    for (int d = 0; d < MAX_DIMS; d++) {
        p->param[d] = -1;
        p->align[d] = 1;
        p->margin[d] = (Ratio){ 0, 1 };
    }
}

/* Sums go along the last dimension of what they are taken of, which may have less of them than the images. */
static void keep_rows(Finder *f, const Image *outputs, const bool *whole, uint32_t n)
{
    const char *why = "sums go along whole rows%s";
    if (f->pass->n_dims > 0)
        leave_whole(f, f->pass->n_dims - 1, NULL, why);
    for (uint32_t i = 0; i < n; i++) {
        const StageId id = outputs[i].channels.at[0].stage;
        const int last = tessi_stage(f->g, id)->n_dims - 1;
        if (whole[i] && last >= 0 && f->pass->step[id.v][last].num)
            leave_whole(f, last, NULL, why);
    }
}

void tessi_part_pass(const Graph *g, Arena *a, const int64_t *params, const Image *outputs,
                     const bool *whole, uint32_t n_outputs, unsigned may, PartPass *pass)
{
    Finder f = { .pass = pass, .g = g, .arena = a, .walk = { .arena = a } };
    f.may_fold = may & PART_FOLDS;
    f.may_end = may & PART_ENDS;
    f.may_fewer = may & PART_FEWER;
    f.may_lines = may & PART_LINES;
    start(&f, params);
    find_wanted(&f, outputs, n_outputs);
    find_base(&f);
    GRAPH_FOREACH_STAGE (g, id)
        if (pass->wanted[id.v])
            find_steps(&f, id);
    if (whole)
        keep_rows(&f, outputs, whole, n_outputs);
    GRAPH_FOREACH_STAGE (g, id)
        if (pass->wanted[id.v])
            look_at_stage(&f, id);
    see_ends(&f);
    find_margins(&f);
    tessi_part_write(pass, a, outputs, n_outputs);
}

/* ---- Parts ----------------------------------------------------------------------------------- */
bool tessi_part_cuts(const PartPass *pass, StageId stage, int d)
{
    return d < pass->n_dims && d < tessi_stage(pass->whole, stage)->n_dims && pass->cut[d]
           && pass->step[stage.v][d].num;
}

static int64_t up_to_multiple(int64_t x, int64_t of)
{
    return -tessi_floordiv(-x, of) * of;
}

/* What is left out of a folded part lies between multiples of the alignment. */
static void folded_range(const PartPass *pass, int d, int64_t *from, int64_t *to)
{
    const int64_t whole = pass->params[pass->param[d]], align = pass->align[d];
    const bool before = *from<0, behind = *to> whole;
    *from = before ? tessi_floordiv(whole + *from, align) * align - whole
                   : tessi_floordiv(*from, align) * align;
    *to = behind ? whole + up_to_multiple(*to - whole, align) : up_to_multiple(*to, align);
    *to = !behind && *to > whole ? whole : *to;
    if (*to - *from >= whole) {
        *from = 0;
        *to = whole;
    }
}

PartFold tessi_part_fold(const PartPass *pass, int d, int64_t from, int64_t to)
{
    const int64_t whole = pass->params[pass->param[d]];
    if (!pass->folded[d] || (from >= 0 && to <= whole))
        return (PartFold){ 0, INT32_MAX, 0 };
    const int64_t split = from < 0 ? -from : whole - from;
    return (PartFold){ split, to - from - split, whole - (to - from) };
}

void tessi_part_range(const PartPass *pass, int d, int64_t begin, int64_t end, int64_t *from,
                      int64_t *to)
{
    const int64_t whole = pass->params[pass->param[d]], align = pass->align[d];
    const int64_t margin = tessi_ratio_ceil(pass->margin[d]);
    *from = begin - margin;
    *to = end + margin;
    if (pass->folded[d])
        folded_range(pass, d, from, to);
    if (pass->periodic[d] || pass->folded[d])
        return;
    *from = *from > 0 ? *from / align * align : 0;
    *to = *to < whole ? (*to + align - 1) / align * align : whole;
    *to = *to < whole ? *to : whole;
}

int64_t tessi_part_points(const PartPass *pass, int d, Ratio step, int64_t end, int64_t from,
                          int64_t to)
{
    const int64_t first = tessi_ratio_ceil(tessi_ratio_over(whole_number(from), step));
    const int64_t behind = tessi_ratio_ceil(tessi_ratio_over(whole_number(to), step));
    const int64_t last = to < pass->params[pass->param[d]] && behind < end ? behind : end;
    return last > first ? last - first : 1;
}

int64_t tessi_part_point(const PartPass *pass, StageId stage, int d, int64_t x)
{
    return tessi_ratio_ceil(tessi_ratio_over(whole_number(x), pass->step[stage.v][d]));
}
