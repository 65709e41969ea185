/* front/lower: what the files lower*.c share: from the typed tree to the graph. Each value becomes the stages of its
 * channels; nothing is decided about execution, and copies are made freely (the planner inlines them). */
#ifndef TESSERA_FRONT_LOWER_H
#define TESSERA_FRONT_LOWER_H

#include "front/check.h"
#include "front/front.h"

/* A value in the graph: a stage a channel. */
typedef struct LValue {
    bool done;
    uint32_t n_channels;
    StageId *stage;
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
    const WindowPoint *point; /* of the unrolled windows */
    uint32_t epoch, body_epoch;
} LBody;

typedef struct Lower {
    Arena *a;
    Diags *d;
    const Typed *t;
    const FrontOptions *o;
    Graph *g;
    LValue *value;        /* by TValue.id */
    LMemo *memo, *locals; /* by TExpr.id */
    LMemo *visited;       /* by TExpr.id: of the search in hand (lower_local.c) */
    uint32_t *param;      /* graph parameter of a typed parameter */
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
const LWindow *tessi_lower_find_window(const LBody *b, const TWindow *w);

/* lower_stage.c, lower_place.c */
StageId tessi_lower_new_stage(Lower *l, const TValue *v, uint32_t channel, Stage *s);
ExprId tessi_lower_copy_load(Lower *l, StageId producer, uint32_t skip, const SizeId *add);
void tessi_lower_call(Lower *l, const TValue *v, LValue *out);
void tessi_lower_subdomain(Lower *l, const TValue *v, LValue *out);
void tessi_lower_compose(Lower *l, const TValue *v, LValue *out);

#endif
