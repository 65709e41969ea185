/* front/check: what the files check_*.c share. The checker walks the tree once, binds names, gives types, evaluates
 * what must be known when compiling, instantiates functions and writes the typed tree (typed.h).
 *
 * After an error an expression has kind TE_ERROR and type TT_ERROR; whatever meets it stays silent, so one cause
 * gives one error. */
#ifndef TESSERA_FRONT_CHECK_H
#define TESSERA_FRONT_CHECK_H

#include "front/front.h"

/* Bounds on the work that a program can ask for; each is diagnosed as LIMIT. */
enum {
    /* Nested expressions and operands in a row, with the loops and calls around them. */
    CHECK_MAX_DEPTH = AST_MAX_HEIGHT + 400,
    CHECK_MAX_FIELDS = 64,        /* of a struct */
    CHECK_MAX_CALLS = 64,         /* nested calls of vector functions */
    CHECK_MAX_CALL_COUNT = 20000, /* calls in the whole program, after unrolling */
    CHECK_MAX_ITERATIONS = 4096,  /* of one `for` */
    CHECK_MAX_TURNS = 100000,     /* of all loops */
    CHECK_MAX_VALUES = 100000,    /* images and scalars after unrolling */
    CHECK_MAX_WINDOW = 1 << 20,   /* points of a window */
    CHECK_MAX_EXPRS = 4000000,    /* nodes of the typed tree */
    CHECK_MAX_WEIGHT = 1 << 20, /* operations of one expression, shared parts counted at each use */
    CHECK_MAX_EVALUATION =
        100000000 /* steps of computing constants, in each of checking and lowering */
};

/* ---- Operands and symbols --------------------------------------------------------------------------------------- */
typedef enum OperandKind { OPERAND_ERROR, OPERAND_IMAGE, OPERAND_SCALAR, OPERAND_MASK } OperandKind;
typedef struct Operand { /* what a name or an expression of the vector level stands for */
    OperandKind kind;
    Span span;
    TValue *image;
    TExpr *scalar;
    const TMask *mask;
    bool direct; /* the result of a call, not of a name: see section 8.3 of the original dialect */
} Operand;

/* The number of a member of a family, or two. */
typedef struct MemberNumber {
    uint32_t n;
    int64_t at[2];
} MemberNumber;

typedef struct FamilyMember {
    MemberNumber number;
    Span span;
    Operand operand;
    bool stands_in; /* for one of another number, in a loop that is gone through a few times only */
} FamilyMember;

typedef enum SymKind { SYM_OPERAND, SYM_ARG, SYM_LOCAL, SYM_WINVAR, SYM_FAMILY, SYM_PARAM } SymKind;
typedef struct Sym {
    SymKind kind;
    Name name;
    bool used, warn_unused;
    Operand operand; /* OPERAND */
    uint32_t slot;   /* ARG, LOCAL, WINVAR, PARAM; OPERAND of an input constant: its number + 1 */
    bool
        of_run; /* OPERAND: the variable of a loop of which only the run knows the number of turns */
    TWindow *window; /* WINVAR */
    VEC(FamilyMember) members;
    uint32_t loop,
        turns; /* FAMILY: the loop that made the last member (0: none), and its turns until then */
} Sym;
typedef struct Scope {
    struct Scope *outer;
    VEC(Sym *) syms;
    IdMap by_name; /* to number in `syms` plus one */
} Scope;

/* The rule for reads that name none. */
typedef struct BorderInForce {
    uint8_t n; /* 1: all dimensions */
    Border rule[MAX_DIMS];
    TExpr *outside;
    TExpr *each[MAX_DIMS]; /* where the constants of the dimensions differ */
    bool invalid[MAX_DIMS];
    MissingRule missing;
    Span span;
} BorderInForce;

typedef struct CallFrame { /* for "called here" notes, and recursion */
    struct CallFrame *outer;
    const AstFunction *function;
    Span span;
} CallFrame;

typedef VEC(TCallArg) TCallArgs;

/* What a body is checked in; saved and restored around calls. */
typedef struct Context {
    Scope *scope;
    Scope *body;     /* of the function or program: where families live */
    TInstance *inst; /* instance being written, or NULL */
    /* an expression on images: its images so far, else NULL (a stencil function) */
    TCallArgs *operands;
    TWindow *window; /* innermost */
    BorderInForce border;
    uint32_t const_depth; /* > 0: the value is needed now, so parameters stand for their values */
    /* coefficients: typed constants count as untyped, so they are computed in double */
    bool in_constant;
    bool in_program;          /* the statements of the program, not of a vector function */
    bool counts;              /* an index or a size: integers are meant */
    bool sizes;               /* a size */
    const AstExpr *truncated; /* the quotient that cast<int>(a / b) truncates on purpose */
    int64_t loop_depth;
    uint32_t
        declared_dims; /* of the value being checked, whose sizes are declared; 0: they are not */
} Context;

/* An input or a size parameter that counts the turns of a loop, and the number that stands in for it. */
typedef struct TurnCount {
    CountFrom from;
    uint32_t slot;
    int64_t value;
} TurnCount;

typedef struct Checker {
    VEC(TurnCount) counts;
    uint32_t numbering; /* > 0: a bound of a loop or the number of a member is being checked */
    Arena *a;
    Diags *d;
    const Ast *ast;
    Typed *t;
    const FrontOptions *o;
    bool forma;
    Scope *globals; /* constants and masks among the definitions */
    /* parameters, inputs and statements: for notes about names that functions cannot see */
    Scope *program;
    Context at;
    CallFrame *frame;
    uint32_t expr_depth, call_depth, call_count, turns;
    uint32_t loop,
        turn;          /* the innermost loop gone through, from 1 (0: none), and its turn, from 0 */
    int64_t loop_step; /* from turn to turn */
    uint64_t budget;   /* steps left for computing constants */
    bool over_limit;   /* LIMIT was diagnosed: unwind */
    VEC(const TStruct *) structs;
    VEC(AstStructDef *) any_structs; /* of images declared `any` */
    VEC(const AstFunction *) called;
} Checker;

/* Adds the diagnostic, with notes that say which calls of generic functions led to it. */
#define CHECK_DIAG(c, ...) tessi_check_noted((c), tessi_diag((c)->d, __VA_ARGS__))
Diag *tessi_check_noted(Checker *c, Diag *diag);
void tessi_check_limit(Checker *c, Span span, const char *what, int64_t most);

/* ---- check_scope.c ---------------------------------------------------------------------------------------------- */
Scope *tessi_scope_new(Checker *c, Scope *outer);
Sym *tessi_scope_find(const Scope *s, const char *name);      /* here and outwards */
Sym *tessi_scope_find_here(const Scope *s, const char *name); /* NULL when not in this very scope */
/* Adds a symbol; NULL after diagnosing that the name is taken. */
Sym *tessi_scope_add(Checker *c, Name name, SymKind kind);
void tessi_check_unknown_name(Checker *c, Name name);
/* The function that the name means where it stands: of that file, else of another; NULL when there is none. */
const AstFunction *tessi_check_function_named(const Checker *c, Name name);
/* Definitions stand before their uses: says so where call `e` of function `f` does not. */
bool tessi_check_is_defined(Checker *c, const AstExpr *e, const AstFunction *f);
const AstStructDef *tessi_check_struct_named(const Checker *c, const char *name);
void tessi_check_unknown_function(Checker *c, Name name); /* reports it */
void tessi_check_warn_unused(Checker *c, const Scope *s);

/* ---- check_type.c ----------------------------------------------------------------------------------------------- */
TType tessi_tt_scalar(ScalarType t);
TType tessi_tt_kind(TTypeKind kind);
bool tessi_tt_same(TType a, TType b);
bool tessi_tt_is_untyped(TType t);
bool tessi_tt_is_error(TType t);
bool tessi_tt_is_integer(TType t); /* integer or bool scalar, or untyped integer */
const char *tessi_tt_name(const Checker *c, TType t);
const TStruct *tessi_check_struct(Checker *c, const AstStructDef *origin, const ScalarType *types,
                                  uint32_t n);
TType tessi_check_type(Checker *c, const AstType *type); /* not `any` */
bool tessi_check_is_any(const AstType *type);
TType tessi_tt_field(TType t, uint32_t k); /* of a scalar: itself */

/* ---- check_any.c: types that come with the run ------------------------------------------------------------------ */
TType tessi_check_any_type(Checker *c, const AstDecl *decl); /* of an input declared `any` */
/* A parameter for dimension d of an image that has sizes of its own. */
TExpr *tessi_check_own_size(Checker *c, const AstDecl *decl, uint32_t d);
TType tessi_check_type_of(Checker *c, const AstType *type); /* typeof(name) */
/* What cast<typeof(X)> makes of a value of one field: where X has several, all of one type, that type. */
TType tessi_check_type_for(const AstType *type, TType to, TType value);
void tessi_check_note_any(const Checker *c, Diag *diag); /* what `any` stands for */

TExpr *tessi_te_new(Checker *c, TExprKind kind, TType type, Span span, uint32_t n_args);
TExpr *tessi_te_error(Checker *c, Span span);
TExpr *tessi_te_const(Checker *c, TType type, Value v, Span span);
TExpr *tessi_te_int(Checker *c, int64_t i, Span span); /* untyped */
TExpr *tessi_te_fold(Checker *c, TExpr *e); /* a constant when its arguments are constants */
/* Implicit conversion: literals take the type when they fit (diagnosed otherwise); numbers convert as in C. */
TExpr *tessi_check_convert(Checker *c, TExpr *e, TType to);
/* Original dialect: a struct is read and built field by field. */
void tessi_check_whole_struct(Checker *c, Span span, TType t);
TExpr *tessi_check_cast(Checker *c, TExpr *e, TType to, bool saturate,
                        Span span); /* cast<T>, sat<T> */
TExpr *tessi_check_concrete(Checker *c,
                            TExpr *e); /* untyped: int32, float (original dialect: never untyped) */

/* ---- check_op.c ------------------------------------------------------------------------------------------------- */
typedef enum OpRule {
    RULE_ARITHMETIC, /* C's usual conversions */
    RULE_NEGATE,
    RULE_BITS, /* integers; bool with bool stays bool */
    RULE_COMPLEMENT,
    RULE_SHIFT, /* type of the left side */
    RULE_COMPARE,
    RULE_KEEP,   /* min, max: the type of the arguments when they agree, however narrow */
    RULE_SELECT, /* condition, then as KEEP */
    RULE_ABS,
    RULE_REAL, /* real functions: integers become float or double */
    RULE_REAL_BOOL
} OpRule;
/* op on the arguments, converted by the rule; field by field when some are structs. */
TExpr *tessi_check_apply(Checker *c, Span span, OpRule rule, Op op, TExpr *const *args, uint32_t n);
/* Converts the arguments as such an operation would. */
void tessi_check_unify(Checker *c, Span span, OpRule rule, TExpr **args, uint32_t n);
TExpr *tessi_check_binary(Checker *c, Span span, AstOperator op, TExpr *a, TExpr *b);
TExpr *tessi_check_unary(Checker *c, Span span, AstOperator op, TExpr *a);
TExpr *tessi_check_select(Checker *c, Span span, TExpr *cond, TExpr *a, TExpr *b);
TExpr *tessi_check_condition(Checker *c, TExpr *e); /* as bool */

/* ---- check_function.c ------------------------------------------------------------------------------------------- */
TExpr *tessi_check_scalar_call(Checker *c, const AstExpr *e, const AstFunction *f);
TExpr *tessi_check_scalar_body(Checker *c, const AstFunction *f, TExpr *const *args, Span call);
bool tessi_check_scalar_arguments(
    Checker *c, const AstFunction *f); /* false with a diagnostic: images among them */
/* Defined before, not calling itself, within the limits; else false with a diagnostic. */
bool tessi_check_may_call(Checker *c, const AstExpr *e, const AstFunction *f);

/* ---- check_narrow.c: wrap<T>, add_sat, sub_sat, avg, absd ------------------------------------------------------- */
TExpr *tessi_check_wrap(Checker *c, const AstExpr *e);
typedef enum NarrowOp { NARROW_ADD, NARROW_SUB, NARROW_AVERAGE, NARROW_DISTANCE } NarrowOp;
TExpr *tessi_check_narrow(Checker *c, Span span, const char *name, NarrowOp op, TExpr *a, TExpr *b);

/* ---- check_warn.c ----------------------------------------------------------------------------------------------- */
/* Warns where e, the quotient a / b, drops a fraction; marks it where that depends on what it meets. */
void tessi_warn_quotient(Checker *c, const AstExpr *ast, const TExpr *a, const TExpr *b, TExpr *e);
/* A marked quotient becomes a real. */
void tessi_warn_dropped(Checker *c, const TExpr *e, TType to);

/* ---- static_eval.c ---------------------------------------------------------------------------------------------- */
typedef struct WindowPoint { /* values of the variables of the windows around an expression */
    const struct WindowPoint *outer;
    const TWindow *window;
    int32_t at[MAX_WINDOW_VARS];
} WindowPoint;
typedef enum EvalStatus {
    EVAL_OK,
    EVAL_NOT_STATIC,
    EVAL_OVERFLOW,
    EVAL_ZERO_DIVISION,
    EVAL_OUTSIDE_MASK,
    EVAL_TOO_LONG
} EvalStatus;
EvalStatus tessi_static_eval(const TExpr *e, const WindowPoint *point, uint64_t *budget, Value *v);
/* Bounds of a static integer expression over its windows; false when not known. */
bool tessi_static_range(const TExpr *e, Interval *range);
/* Steps a point through its window, row-major; false after the last. */
bool tessi_window_next(WindowPoint *p);
void tessi_window_first(WindowPoint *p, const TWindow *w, const WindowPoint *outer);
int64_t tessi_window_count(const TWindow *w);
/* A static integer expression as constant + sum of coef * window variable, variables in `point` counting as
 * constants. */
typedef struct StaticTerm {
    const TWindow *window;
    uint32_t var;
    int64_t coef;
} StaticTerm;
typedef struct StaticAffine {
    int64_t constant;
    uint32_t n;
    StaticTerm term[MAX_ACCESS_TERMS];
} StaticAffine;
bool tessi_static_affine(const TExpr *e, const WindowPoint *point, StaticAffine *out);

/* ---- check_const.c ---------------------------------------------------------------------------------------------- */
/* The expression's value, needed now: `what` names the place ("the bound of a window"). False after a diagnostic. */
bool tessi_check_const_int(Checker *c, const AstExpr *e, const char *what, int64_t *value);
bool tessi_check_const_i32(Checker *c, const AstExpr *e, const char *what, int32_t *value);
TExpr *tessi_check_const(Checker *c, const AstExpr *e, const char *what); /* TE_CONST or TE_ERROR */
TExpr *tessi_check_param(Checker *c, Sym *sym, Span span);
/* Where the parameter is a distance of pixels, it is a constant that may be left open. */
void tessi_check_distance(Checker *c, TParam *p);
TExpr *tessi_check_const_input(Checker *c, uint32_t number, Span span);
/* The number the user gave for `name`. */
bool tessi_check_user_value(const Checker *c, const char *name, double *value);

/* ---- check_expr.c, check_read.c, check_call.c, check_window.c, check_mask.c ------------------ */
TExpr *tessi_check_expr(Checker *c, const AstExpr *e);
bool tessi_check_is_number_name(const char *name, double *value); /* PI, E, INF */
TExpr *tessi_check_operand_expr(Checker *c, Operand o,
                                Span span); /* the operand as part of an expression */
TExpr *tessi_check_read_slot(Checker *c, uint32_t slot, Span span, TRead *read);
/* The local of the instance in hand, or the constant that it is. */
TExpr *tessi_check_local(Checker *c, uint32_t slot, Span span);
TExpr *tessi_check_offset(Checker *c, const AstExpr *e);
TExpr *tessi_check_index(Checker *c, const AstExpr *e);
TExpr *tessi_check_field(Checker *c, TExpr *base, Name field, Span span);
bool tessi_check_field_number(Checker *c, TType t, Name field, uint32_t *number);
bool tessi_check_is_mask_expr(Checker *c, const AstExpr *e);
/* Says that the original dialect has no function of that name. */
TExpr *tessi_check_no_such_function(Checker *c, const AstExpr *e);
/* False with a diagnostic when the argument is given by a name. */
bool tessi_check_positional(Checker *c, const char *function, const AstArg *a);
TExpr *tessi_check_builtin(Checker *c, const AstExpr *e);
bool tessi_is_builtin(const char *name);
const char *tessi_nearest_builtin(Checker *c, const char *name);
TExpr *tessi_check_window(Checker *c, const AstExpr *e);
TWindow *tessi_check_ranges(Checker *c,
                            const AstExpr *e); /* of a window; NULL after a diagnostic */
/* What becomes of a window's value, and on which condition besides; user: theirs. deeper: the value holds another
 * window over the same points. */
typedef struct WindowUse {
    TExpr *(*body)(Checker *c, void *user, TExpr *value);
    TExpr *(*where)(Checker *c, void *user, TExpr *value);
    void *user;
    bool deeper;
} WindowUse;
TExpr *tessi_check_window_of(Checker *c, const AstExpr *e, Reduction r, bool is_mean,
                             const WindowUse *use);
/* check_statistic.c: range, var, std, argmin, argmax, rank, percentile, reduce. */
int64_t tessi_percentile_rank(double share, int64_t n); /* of n sorted values, from 0 */
TExpr *tessi_check_statistic(Checker *c, const AstExpr *e);
const TMask *
tessi_check_mask_expr(Checker *c,
                      const AstExpr *e); /* a mask's name, flip(m); NULL after a diagnostic */
const TMask *tessi_check_mask_as(Checker *c, const TMask *m,
                                 TType element); /* with typed coefficients */
TExpr *tessi_check_mask_element(Checker *c, const TMask *m, const AstExpr *e);
void tessi_check_mask_stmt(Checker *c, const AstStmt *s);
TMask *tessi_mask_new(Checker *c, const char *name, Span span, uint32_t n_dims);

/* ---- check_instance.c ------------------------------------------------------------------------------------------- */
TInstance *tessi_instance_new(Checker *c, const AstFunction *def, Span span);
bool tessi_instance_finish(Checker *c, TInstance *inst, Span call); /* dimensions of the result */
/* Says that no image gives the result a size; true. */
bool tessi_check_no_size(Checker *c, const TInstance *inst, Span call);
/* ---- check_turns.c ---- */
/* The input counts the turns of a loop that was met. */
bool tessi_is_turn_count(const Checker *c, const Sym *sym);
/* The number that stands in for it, where numbers of members and bounds are checked; else NULL. */
TExpr *tessi_turn_count(Checker *c, const Sym *sym, Span span);
/* Diagnoses the variable of a loop of the run that is used for more than numbers of members. */
bool tessi_turn_as_value(Checker *c, const Sym *sym, Span span);
/* Numbers that are members of families which the body assigns become images without dimensions, for a loop that has to
 * be a repeat: the first turn reads what all others do. */
void tessi_carry_numbers(Checker *c, const AstStmts *body);
void tessi_carry_number(Checker *c, const Sym *family, FamilyMember *m);
/* A loop with a condition and many turns, of which the last few are gone through: *lo is where these begin, and what
 * they find of before the loop has the numbers that they look for. Forgotten when the loop is done. */
bool tessi_shorten_loop(Checker *c, const AstStmt *s, int64_t *lo, int64_t hi, GraphLoop *loop);
void tessi_forget_stand_ins(Checker *c, const AstStmts *body);
/* The value is member k that the first turn of a loop makes: notes which members stand for it before that. */
void tessi_note_before(Checker *c, Sym *family, MemberNumber k, TValue *v);
/* The condition of a loop, at the end of a turn. */
void tessi_check_until(Checker *c, const AstStmt *s);
/* After how many turns each it is asked; 0 where there is none, or after a diagnostic. */
int64_t tessi_check_every(Checker *c, const AstStmt *s);
/* turns(t): the number of turns of the loop that makes the family t. */
Operand tessi_check_turns(Checker *c, const AstExpr *e);
/* The last bound is an input that only the run knows: how it counts the turns from `lo` on. */
bool tessi_turns_of_run(Checker *c, const AstStmt *s, int64_t lo, RepeatCount *count);

/* The instance of a stencil for these operands (one per argument, kinds and dimensions already agreed); NULL after a
 * diagnostic. */
TInstance *tessi_check_instance(Checker *c, const AstFunction *f, const Operand *operands,
                                Span call);
void tessi_check_const_stmt(Checker *c, const AstStmt *s);

/* ---- check_vector.c, check_apply.c, check_place.c, check_border.c ---------------------------- */
Operand tessi_check_vector(Checker *c, const AstExpr *e);
/* The numbers `first` and `second` (or NULL), which must be known; false with a diagnostic. */
bool tessi_member_number(Checker *c, const AstExpr *first, const AstExpr *second, MemberNumber *k);
bool tessi_member_same(const MemberNumber *a, const MemberNumber *b);
const char *tessi_member_text(const Checker *c, const MemberNumber *k); /* "3", "1, 2" */
Operand tessi_check_member(Checker *c, const AstExpr *e);               /* p<3> */
/* p<value>: the member that the value chooses at each point. */
TExpr *tessi_check_chosen(Checker *c, const AstExpr *e);
bool tessi_is_chosen(const Checker *c, const AstExpr *e);
Operand tessi_operand_error(Span span);
Operand tessi_operand_image(TValue *v, Span span);
Operand tessi_operand_scalar(TExpr *e, Span span);
const char *tessi_operand_text(const Checker *c, Operand o); /* "a float image with 2 dimensions" */
TValue *tessi_value_new(Checker *c, TValueKind kind, TType type, uint32_t n_dims, Span span);
Operand tessi_check_expression_on_images(Checker *c, const AstExpr *e);
/* The same of an expression that is made between these two. */
typedef struct Points {
    Context saved;
    TCallArgs operands;
} Points;
void tessi_points_begin(Checker *c, Points *p, Span span);
Operand tessi_points_end(Checker *c, Points *p, TExpr *result, Span span);
/* The argument of the expression on images that stands for image `o` read with these scales (NULL: 1) under this
 * rule (NULL: the one in force). */
uint32_t tessi_check_image_slot(Checker *c, Operand o, Span span, const int32_t *scale,
                                const TBorder *border);
Operand tessi_check_call(Checker *c, const AstExpr *e);
typedef VEC(Operand) Operands;
void tessi_check_vector_body(Checker *c, const AstFunction *f, const Operand *operands, Span call,
                             BorderInForce rule, Operands *out);
/* An expression that may give several results: a call of a vector function. */
void tessi_check_results_of(Checker *c, const AstExpr *e, Operands *out);
/* check_whole.c: reductions of images, scans (check_scan.c), histograms. */
bool tessi_is_reduction(const char *name);
Operand tessi_check_whole(Checker *c, const AstExpr *e);
Operand tessi_check_scan(Checker *c, const AstExpr *e);
/* The image that is the first argument of such a call; false with a diagnostic, or where it has one. */
bool tessi_whole_image(Checker *c, const AstExpr *e, Operand *image);
bool tessi_whole_dimension(Checker *c, const AstExpr *e, const TValue *image, uint32_t *dim);
/* The second and third argument of a reduction by keys: by whose values, into how many elements. */
typedef struct WholeKeys {
    TValue *image;
    TExpr *bins;
} WholeKeys;
bool tessi_whole_keys(Checker *c, const AstExpr *e, const TValue *image, WholeKeys *keys);
/* The reduction `v` by these keys. */
TValue *tessi_whole_by_keys(const WholeKeys *keys, TValue *v);
/* In the type that a reduction gives; sums count truth values as 0 and 1. */
TType tessi_reduced_type(Checker *c, Reduction r, TType t);
TValue *tessi_bool_as_number(Checker *c, TValue *image, Span span);
/* The image, with elements of type `to` and, unless NULL, these sizes. */
TValue *tessi_check_converted(Checker *c, TValue *image, TType to, TExpr *const *sizes, Span span);
Operand tessi_check_subdomain(Checker *c, const AstExpr *e, Operand base);
Operand tessi_check_declared(Checker *c, const AstStmt *s); /* vector#2 float a[M, N] = value */
Operand tessi_check_compose(Checker *c, const AstParts *parts, Span span);
TExpr *tessi_check_size(Checker *c,
                        const AstExpr *e); /* an integer expression over the size parameters */
/* The rules written, or those in force when none is; `at` is where to complain. */
bool tessi_check_borders(Checker *c, const AstBorders *b, uint32_t n_dims, Span at, TBorder *out);
bool tessi_check_border_value(Checker *c, TBorder *b, TType element);
bool tessi_check_border_in_force(Checker *c, const AstBorders *b, BorderInForce *out);
void tessi_check_no_borders(Checker *c, const AstBorders *b, const char *why);
bool tessi_borders_are_written(const AstBorders *b); /* a rule, or a policy about missing points */
Span tessi_borders_span(const AstBorders *b);        /* of the first of them */

/* ---- check_missing.c ------------------------------------------------------------------------- */
bool tessi_check_missing(Checker *c, const AstBorder *b, MissingRule *out);
bool tessi_check_nearest_reach(Checker *c, const MissingRule *m, uint32_t n_dims, Span span);
Operand tessi_check_with_validity(Checker *c, const AstExpr *e); /* image:valid(mask) */
TExpr *tessi_check_valid_of(Checker *c, TExpr *value, Span span);

/* ---- check_stmt.c, check_program.c, check_uncalled.c ----------------------------------------- */
void tessi_check_statements(Checker *c, const AstStmts *body);
void tessi_check_define(Checker *c, Name name, TValue *value, TExpr *scalar, const TMask *mask);
void tessi_check_uncalled(Checker *c);
/* Types or constants of the function come from the call. */
bool tessi_check_depends_on_call(const AstFunction *f);
void tessi_check_mark_used(Typed *t);

#endif
