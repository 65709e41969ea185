/* Inside lowering: the state that it carries, sizes, and the scopes of the loops that are open.
 *
 *   lower_state.c  functions, and what is found out once
 *   lower_size.c   sizes, and what can be proved about them
 *   lower_scope.c  open loops, and where a shared value gets its LET */
#ifndef TESSERA_LOOP_LOWER_STATE_H
#define TESSERA_LOOP_LOWER_STATE_H

#include "graph/access.h"
#include "graph/graph_walk.h"
#include "loop/lower.h"

/* ---- Affine sizes ------------------------------------------------------------------------------------------------ */
enum { LIN_MAX_TERMS = 8 };
/* constant + sum of coef * atom, atoms in id order; `ok` is false when it did not fit. */
typedef struct Lin {
    bool ok;
    uint32_t n;
    int64_t constant;
    int64_t coef[LIN_MAX_TERMS];
    SizeId atom[LIN_MAX_TERMS];
} Lin;
Lin tessi_lin_const(int64_t c);
Lin tessi_lin_size(const Graph *g, SizeId id);
Lin tessi_lin_add_scaled(const Lin *a, const Lin *b, int64_t k); /* a + k*b */
bool tessi_lin_same(const Lin *a, const Lin *b);
/* True only when a >= 0 for all parameters. */
bool tessi_lin_never_negative(const Graph *g, const Lin *a);

/* ---- Scopes ---------------------------------------------------------------------------------- */
/* Something to forget when a scope closes: *cell = 0, or (cell == NULL) the LET of expression `expr`. */
typedef struct Undo {
    uint32_t *cell;
    uint32_t expr;
} Undo;
typedef struct Scope {
    LStmt *stmt;      /* the FOR or IF; NULL for the function */
    LBlock *block;    /* where its statements go */
    uint32_t decided; /* of an IF: the depth of the innermost scope that its condition depends on */
    VEC(Undo) undo;
} Scope;

/* What lowering knows about a loop expression; indexed by LExprId. */
typedef struct Known {
    uint32_t let;     /* LExprId of the variable that holds it now; 0 = none */
    uint32_t pin;     /* not to be computed outside the scope of this depth */
    const char *hint; /* wanted name of its LET */
    bool varies;      /* a variable takes part */
    /* While placing: */
    uint32_t mark;
    uint32_t level;         /* depth of the scope where it can stand */
    uint32_t uses;          /* number of users */
    uint32_t use_level;     /* deepest user */
    uint32_t turn;          /* in which it is needed first */
    uint32_t moved;         /* LExprId of its replacement */
    uint32_t nodes, height; /* of the tree that is written for it */
} Known;

/* ---- Coordinates ----------------------------------------------------------------------------- */
/* A coordinate of a stage under evaluation: e = scale * v + rest + something in [lo, hi], where v is the variable of
 * loop `dim`, or (dim = -1) any value, with 0 <= v < count. */
typedef struct Coord {
    LExprId e;
    int8_t dim;
    int64_t scale, lo, hi;
    Lin rest;
    SizeId count;
    bool beyond;  /* may lie outside [0, count), where everything wraps around */
    bool loose;   /* may lie outside [0, count), where any value will do */
    int64_t less; /* v < count - less: so many points are computed together */
} Coord;

typedef struct WindowVars {
    WindowId window;
    LExprId var[MAX_WINDOW_VARS]; /* INDEX */
    bool is_point;                /* all are constants: one point of a window written out */
} WindowVars;

/* One evaluation of bodies at given coordinates: a piece in its loops, or an inlined stage at one of its uses. */
typedef struct Eval {
    uint8_t n_dims;
    Coord coord[MAX_DIMS];
    ExprList exprs;  /* everything the roots reach, ascending */
    uint32_t *value; /* parallel to exprs: LExprId, 0 = not yet */
    VEC(WindowVars) open;
    /* parallel to exprs: the array that holds its values, one for each point of a strip; NULL = no strips */
    LBufferId *strip;
    bool pinned; /* the coordinates are inside only where the guards hold */
} Eval;

/* Reads whose being inside is worth a loop of its own: 0 <= scale * v + rest + lo and scale * v + rest + hi < size. */
typedef struct Guard {
    int8_t dim;
    int64_t scale, lo, hi;
    Lin rest;
    SizeId size;
    bool is_constant; /* some of these reads have rule CONSTANT */
} Guard;
typedef VEC(Guard) GuardList;

typedef struct InlineUse {
    StageId stage;
    LExprId coord[MAX_DIMS];
    uint32_t value;
} InlineUse;

/* Where a stage is found while a group with tiles is lowered. */
typedef struct Place {
    LBufferId scratch; /* none: not in scratch memory */
    LBufferId copy;    /* of the whole image, read instead of it; none: it has none */
    LExprId value;     /* at the point in hand, the only one that is read; none: it is stored */
    LExprId origin[MAX_DIMS]; /* the coordinates of its first element there */
    /* elements along a dimension, which are used again in turn; 0: as many as there are */
    int64_t ring;
    uint8_t ring_dim;
    int64_t columns;       /* of a row that hold values; kernels only */
    bool wraps[MAX_DIMS];  /* may be evaluated beyond its edges, where all wraps around */
    bool passes[MAX_DIMS]; /* the same, where what it reads answers the rules of its readers */
} Place;

typedef struct CopyList CopyList; /* lower_copy.h */
/* On which sides of the image reads may leave it, where a region of it is computed by itself. */
typedef enum Side { SIDE_BOTH, SIDE_LOW, SIDE_HIGH, SIDE_NEITHER } Side;

typedef struct Lower {
    Arena *arena;
    Arena *scratch; /* for as long as lowering takes */
    const Graph *g;
    const Plan *plan;
    const Machine *machine;
    GeneralSums *general; /* NULL: loops for these extents */
    LExprId stream; /* BOOL: the results of the group in hand bypass the caches; none = never */
    LoopProgram *p;
    ExprWalk walk;
    ExprDeps *deps;         /* by ExprId */
    ExprList *reach;        /* by ExprId: tessi_reach of it alone; empty: not asked yet */
    LBufferId *buffer;      /* by StageId: where it is stored */
    struct LowerRing *ring; /* by repeat, from 0 */
    Place *place;           /* by StageId */
    const PlanFacts *facts; /* tessi_lower_facts */
    PlanRegions regions;    /* of the group in hand */
    uint32_t tile_depth;    /* of the scope of the tile in hand */
    LBufferId *table;       /* by TableId */
    LExprId *size;          /* by SizeId */
    VEC(Scope) scopes;
    VEC(Known) known;
    uint32_t *var_level; /* by LVarId */
    uint32_t var_level_cap;
    uint32_t generation;
    bool inside_last, inside_rows; /* the guards of the last / the outer dimensions hold here */
    Side side[MAX_DIMS]; /* by dimension of the loops: where rules are still to be answered */
    uint8_t n_loop_dims;
    uint32_t guard_depth;
    LBufferId *constant;    /* by StageId: its copy in constant memory */
    bool *computed;         /* by StageId: by functions before the one in hand */
    bool *constant_filled;  /* by StageId: that copy is made, for the functions that come now */
    const CopyList *copies; /* to read from instead of the images; NULL = none */
    bool unroll_windows;    /* windows are written out, point by point */
    const LVarId *carried;  /* stages in registers, in the loop down the rows; NULL = none */
    bool has_sort;          /* the nest being built sorts: vectors are useless */
    IdMap inline_map;
    VEC(InlineUse *) inline_uses;
} Lower;

/* ---- lower_state.c ---- */
/* A new function with its scope open; valid until the next. */
LFunction *tessi_lower_function(Lower *l, const char *name, const char *comment);
/* What the planners know about the graph, found out when it is first asked for. */
const PlanFacts *tessi_lower_facts(Lower *l);
const char *tessi_group_comment(Lower *l, const PlanGroup *group);
LBufferId tessi_lower_table(Lower *l, TableId id);
/* A table of n values; an array of two dimensions, both named after what they are of: "OF_WHAT". */
LBufferId tessi_lower_values(Lower *l, const char *of, const char *what, ScalarType t, Value *at,
                             uint32_t n);
LBufferId tessi_lower_array(Lower *l, LBufferKind kind, const char *of, const char *what,
                            ScalarType t, LExprId rows, LExprId columns);
/* What follows is computed in loops over so many dimensions, where all rules are still to be answered. */
void tessi_lower_dims(Lower *l, uint8_t n);
uint8_t tessi_loop_dims(const Lower *l, LBufferId b);
/* ---- lower_size.c ---- */
LExprId tessi_lower_size(Lower *l, SizeId id);
LExprId tessi_lower_lin(Lower *l, const Lin *a);
/* Short forms of the constructors. */
LExprId tessi_l_op(Lower *l, Op op, LExprId a, LExprId b);
LExprId tessi_l_int(Lower *l, int64_t i);
LExprId tessi_l_select(Lower *l, LExprId c, LExprId a, LExprId b);
/* What a reduction comes to with one value more. */
LExprId tessi_l_reduced(Lower *l, Reduction r, LExprId so_far, LExprId v);

/* ---- lower_scope.c ---- */
void tessi_scope_function(Lower *l, LBlock *block); /* opens the outermost scope */
uint32_t tessi_scope_depth(const Lower *l);
LVarId tessi_scope_for(Lower *l, const char *name, LExprId from, LExprId to, int64_t step,
                       uint8_t flags);
/* A loop over the blocks of the grid along an axis; its bound is left as it is. */
LVarId tessi_scope_grid(Lower *l, const char *name, uint8_t axis, LExprId blocks);
void tessi_scope_if(Lower *l, LExprId condition);
void tessi_scope_likely(Lower *l, LExprId condition); /* an IF that seldom does not hold */
void tessi_scope_else(Lower *l); /* the innermost scope is an IF; on to what is done otherwise */
/* A scope of names only, whose statements go where those of the scope around it go. */
void tessi_scope_names(Lower *l);
void tessi_scope_close(Lower *l);
void tessi_scope_close_to(Lower *l, uint32_t depth); /* closes what is deeper */
LStmt *tessi_scope_stmt(Lower *l, LStmtKind kind);   /* appended to the innermost scope */
LStmt *tessi_scope_store(Lower *l, LBufferId to, const LExprId *index, uint8_t n, LExprId value);
/* Moves elements of a row between a line and where they begin in another buffer. */
void tessi_scope_move(Lower *l, LBufferId to, LBufferId from, const LExprId *index, uint8_t n);
/* Brings a LOCAL buffer into being. */
LBufferId tessi_scope_local(Lower *l, const char *name, ScalarType t, uint8_t n_dims,
                            const int64_t *size);
/* Statements and variables that others have made (loop_template.c): the body of one is the innermost scope until
 * that closes; one goes to the innermost scope; a variable is declared there. */
void tessi_scope_open(Lower *l, LStmt *s);
void tessi_scope_append(Lower *l, LStmt *s);
void tessi_scope_own(Lower *l, LVarId v);
LVarId tessi_scope_var(Lower *l, const char *name, ScalarType t, LExprId start); /* mutable */
LExprId tessi_scope_let(Lower *l, const char *name, LExprId value);
/* The same; what is computed from it stays inside of the loops around. */
LExprId tessi_scope_here(Lower *l, const char *name, LExprId value);
/* The same; and not before the value `after` is known. */
LExprId tessi_scope_after(Lower *l, const char *name, LExprId value, LExprId after);
/* The same; the value is in a register until here, used or not. */
LExprId tessi_scope_keep(Lower *l, const char *name, LExprId value);
/* `original` is computed here, as `value`; its users find the LET. */
void tessi_scope_define(Lower *l, LExprId original, LExprId value);
typedef VEC(LExprId) LExprList;
/* What the roots are made of, down to what has its LET already; operands before their users. */
LExprList tessi_scope_reach(Lower *l, const LExprId *root, uint32_t n);
void tessi_scope_remember(Lower *l, uint32_t *cell); /* forget *cell with the innermost scope */
/* Rewrites the roots so that what is used more than once, or does not change in the inner loops, is a LET in the
 * outermost scope that can have it. */
void tessi_scope_place(Lower *l, LExprId *root, uint32_t n);
/* The same in turns: after each, `then` receives its roots and appends what uses them, so that no value is made long
 * before it is needed. */
typedef struct Turns {
    uint32_t roots;   /* of a turn */
    bool loads_first; /* all in the first turn: they take long */
    void (*then)(void *user, LExprId *turn);
    void *user;
} Turns;
void tessi_scope_place_in_turns(Lower *l, LExprId *root, uint32_t n, const Turns *turns);
LExprId tessi_scope_place1(Lower *l, LExprId root);
Known *tessi_known(Lower *l, LExprId id);
/* The value must not be computed outside the scope of this depth. */
void tessi_pin(Lower *l, LExprId id, uint32_t depth);
void tessi_hint(Lower *l, LExprId id, const char *name);

#endif
