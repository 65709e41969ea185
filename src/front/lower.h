/* front/lower: what the files lower*.c share: from the typed tree to the graph. Each value becomes the stages of its
 * channels; nothing is decided about execution, and copies are made freely (the planner inlines them). */
#ifndef TESSERA_FRONT_LOWER_H
#define TESSERA_FRONT_LOWER_H

#include "front/check.h"
#include "front/front.h"

/* What reads of an image give where it is not valid. */
typedef enum LFill {
    FILL_RAW, /* whatever stands there: nobody uses it */
    FILL_ZERO,
    FILL_ONE,
    FILL_LEAST, /* the ends of the type: what maxima and minima pass over */
    FILL_MOST,
    FILL_WEIGHT, /* 0, and 1 where it is valid */
    FILL_NEAREST /* the nearest valid point */
} LFill;

/* An image with something else in the place of points that are not valid. */
typedef struct LFilled {
    LFill fill;
    uint32_t channel;
    double distance; /* NEAREST */
    StageId stage;
    StageId number; /* NEAREST: which point it is, INT32_MAX where there is none */
} LFilled;
/* Of an LFilled whose stage says what is valid now. */
#define CHANNEL_OF_VALIDITY UINT32_MAX

/* A value in the graph: a stage a channel. */
typedef struct LValue {
    bool done;
    uint32_t n_channels;
    StageId *stage;
    StageId valid; /* of bool: which of its points are valid; none: all */
    StageId all;   /* of bool: true, where somebody needs that as an image */
    VEC(LFilled) filled;
    SizeId size[MAX_DIMS];
    ExprId *scalar; /* a scalar that needs no stage of its own: its expression, a channel */
} LValue;

/* Memory of expressions already lowered: valid while `epoch` is the current one. Values of locals do not depend on
 * windows and are kept for a whole body. */
typedef struct LMemo {
    uint32_t epoch;
    ExprId id;
    struct LMemo *others; /* of the channels after the first; NULL: not asked for yet */
} LMemo;

/* A window around the expression being lowered: kept (window.v != 0) or unrolled at `point`. */
typedef struct LWindow {
    const struct LWindow *outer;
    const TWindow *typed;
    WindowId window;
} LWindow;

/* The body being lowered: an instance at one call. */
typedef struct LBody {
    const TInstance *inst; /* NULL: scalars of the vector level */
    const TValue *call;
    uint32_t n_dims;
    SizeId size[MAX_DIMS];   /* of the result */
    int64_t shift[MAX_DIMS]; /* first point computed, under rule `none`: becomes 0 */
    const LWindow *windows;
    uint8_t deeper;           /* levels that the windows lie deeper than written */
    const WindowPoint *point; /* of the unrolled windows */
    bool holes;               /* some argument is not valid everywhere */
    LFill fill;               /* of reads that are renormalised */
    uint32_t epoch, body_epoch;
} LBody;

/* Two questions about a value: are all points valid that it cannot do without, and are there enough of those whose
 * neighbours may stand in for them. */
typedef enum LAsked { ASKED_ENOUGH, ASKED_ALL, N_ASKED } LAsked;

typedef struct Lower {
    Arena *a;
    Diags *d;
    const Typed *t;
    const FrontOptions *o;
    Graph *g;
    LValue *value;        /* by TValue.id */
    LMemo *memo, *locals; /* by TExpr.id */
    LMemo *visited;       /* by TExpr.id: of the search in hand (lower_local.c) */
    LMemo *validity[N_ASKED], *local_validity[N_ASKED]; /* by TExpr.id, made when needed */
    uint32_t *param;                                    /* graph parameter of a typed parameter */
    uint32_t epoch;
    uint32_t max_stages, max_unrolled;
    uint32_t unrolled; /* nodes made by unrolling */
    uint64_t budget;   /* steps left for computing constants */
    bool failed;
} Lower;

void tessi_lower_limit(Lower *l, Span span, const char *what, int64_t most);

/* lower_shape.c */
SizeId tessi_lower_size_expr(Lower *l, const TExpr *e);
bool tessi_size_at_most(
    Graph *g, SizeId a,
    SizeId b); /* a <= b whatever the parameters (>= 1) are; false: not proved */
bool tessi_lower_shape(Lower *l, const TValue *v, LBody *body);
/* The text of a short expression of the program. */
const char *tessi_lower_shown(const Lower *l, Span span, const char *otherwise);
/* Warns that two images differ in size, by so many points in the dimension that must agree. */
void tessi_lower_sizes_differ(Lower *l, const Agreement *must, uint32_t n_dims, int64_t apart);
/* Points a stencil without border rules computes (original dialect): first, and how many fewer than the size at the
 * end. */
bool tessi_lower_computed(Lower *l, const TValue *v, uint32_t dim, int64_t *first,
                          int64_t *missing);

/* lower_expr.c, lower_read.c, lower_window.c */
ScalarType tessi_lower_field(TType t, uint32_t channel);
ExprId tessi_lower_expr(Lower *l, LBody *b, const TExpr *e, uint32_t channel);
/* What is remembered of a channel of an expression. */
LMemo *tessi_lower_memo(Lower *l, LMemo *table, const TExpr *e, uint32_t channel);
/* A channel of a struct; 0 of what has no others. */
uint32_t tessi_lower_channel(const TExpr *e, uint32_t channel);
/* lower_local.c: TE_LOCAL. */
ExprId tessi_lower_local(Lower *l, LBody *b, const TExpr *e, uint32_t channel);
ExprId tessi_lower_number(Lower *l, ScalarType t, int64_t i); /* a constant of that type */
ExprId tessi_lower_convert(Lower *l, ExprId e, ScalarType from, ScalarType to);
ExprId tessi_lower_load(Lower *l, LBody *b, const TExpr *e, uint32_t channel);
/* One read of a convolution's image, at these offsets, in the type of the product. */
ExprId tessi_lower_tap(Lower *l, LBody *b, const TExpr *e, const StaticAffine *offset,
                       uint32_t channel, ScalarType type);
ExprId tessi_lower_value_scalar(Lower *l, const TValue *v, uint32_t channel);
ExprId tessi_lower_static(Lower *l, LBody *b, const TExpr *e, ScalarType type);
ExprId tessi_lower_mask(Lower *l, LBody *b, const TExpr *e, ScalarType type);
ExprId tessi_lower_mask_load(Lower *l, const TMask *m, const ExprId *index, bool inside,
                             ScalarType type);
TableId tessi_lower_mask_table(Lower *l, const TMask *m, ScalarType type);
ExprId tessi_lower_window(Lower *l, LBody *b, const TExpr *e, uint32_t channel);
ExprId tessi_lower_convolve(Lower *l, LBody *b, const TExpr *e, uint32_t channel);
/* A sum over a mask's taps, or a question about them. */
typedef struct TapsUse {
    const TMask *mask;
    ScalarType type;
    enum {
        TAPS_PRODUCT,
        TAPS_WEIGHT,
        TAPS_VALID
    } what;              /* weight * read, weights alone, validity */
    int sign;            /* of the weights that count, unless 0 */
    Reduction reduction; /* VALID */
} TapsUse;
/* VALID: none where all taps are valid. */
ExprId tessi_lower_taps(Lower *l, LBody *b, const TExpr *e, uint32_t channel, const TapsUse *use);
WindowId tessi_lower_graph_window(Lower *l, const LBody *b, const TWindow *w);
/* A window's condition at this point: +1 holds, 0 does not, -1 depends on data. */
int tessi_lower_condition_at(Lower *l, const TWindow *w, const WindowPoint *p);
/* Counts the nodes made since there were `before`; true (diagnosed) when they are too many. */
bool tessi_lower_too_long(Lower *l, const TExpr *e, uint32_t before);
const LWindow *tessi_lower_find_window(const LBody *b, const TWindow *w);

/* The same reads of validities; none where they are valid whatever the image is. */
ExprId tessi_lower_valid_load(Lower *l, LBody *b, const TExpr *e);
ExprId tessi_lower_valid_tap(Lower *l, LBody *b, const TExpr *e, const StaticAffine *offset);

/* lower_fill.c */
bool tessi_lower_has_holes(const Lower *l, const TCallArg *arg); /* not valid everywhere */
StageId tessi_lower_validity_stage(Lower *l, const TCallArg *arg);
StageId tessi_lower_filled(Lower *l, const TCallArg *arg, uint32_t channel, LFill fill);
ExprId tessi_lower_fill_value(Lower *l, LFill fill, ScalarType type);
StageId tessi_lower_pointwise(Lower *l, StageId like, const char *suffix, ScalarType type,
                              ExprId body);
ExprId tessi_lower_own_point(Lower *l, StageId s);     /* its value at the point itself */
ExprId tessi_lower_both(Lower *l, ExprId a, ExprId b); /* a & b, none being true */

/* lower_nodata.c */
StageId tessi_lower_input_validity(Lower *l, const TInput *in, const LValue *v);
/* image:valid(mask). */
/* `other` goes by the points of v->base: the run checks that they have one size. `what` stands for its name. */
void tessi_lower_must_agree(Lower *l, const TValue *v, const TValue *other, const char *what);
void tessi_lower_with_validity(Lower *l, const TValue *v, LValue *out);
/* What a reduction of the whole image v->base goes over, so that points that are not valid do not count. */
StageId tessi_lower_valid_points(Lower *l, const TValue *v, uint32_t channel);
/* An image of one channel as histograms and keys take it: points that are not valid count for no element. */
StageId tessi_lower_countable(Lower *l, const TValue *image);
/* The validity of an image; true everywhere where it has none. */
StageId tessi_lower_all_valid(Lower *l, const TValue *image);
/* The value of a returned image's channel: where it is not valid, what says so. */
ExprId tessi_lower_with_nodata(Lower *l, Image *image, uint32_t channel, ScalarType type,
                               ExprId valid, ExprId value);

/* lower_valid.c */
ExprId tessi_lower_validity(Lower *l, LBody *b, const TExpr *e, LAsked asked);
ExprId tessi_lower_is_valid(Lower *l, LBody *b, const TExpr *e); /* both; none: everywhere */

/* lower_holes.c: windows and convolutions over points that need not be valid */
bool tessi_lower_window_has_holes(Lower *l, LBody *b, const TExpr *e);
ExprId tessi_lower_share(Lower *l, LBody *b, const TExpr *e);
ExprId tessi_lower_holed_window(Lower *l, LBody *b, const TExpr *e, uint32_t channel);
/* lower_written.c: a sum that is written out, under `renormalise`; false: `e` is no such sum. */
bool tessi_lower_written_sum(Lower *l, LBody *b, const TExpr *e, uint32_t channel, ExprId *sum);
bool tessi_lower_written_validity(Lower *l, LBody *b, const TExpr *e, ExprId *valid);
ExprId tessi_lower_window_validity(Lower *l, LBody *b, const TExpr *e, LAsked asked);

/* lower_stage.c, lower_place.c */
StageId tessi_lower_new_stage(Lower *l, const TValue *v, uint32_t channel, Stage *s);
/* The same with name, span and type given. */
StageId tessi_lower_add_stage(Lower *l, Stage *s);
void tessi_lower_whole_piece(Lower *l, Stage *s, ExprId body);
ExprId tessi_lower_copy_load(Lower *l, StageId producer, uint32_t skip, const SizeId *add);
void tessi_lower_call(Lower *l, const TValue *v, LValue *out);
void tessi_lower_subdomain(Lower *l, const TValue *v, LValue *out);
void tessi_lower_compose(Lower *l, const TValue *v, LValue *out);

#endif
