/* Shared by the files of the C printer. */
#ifndef TESSERA_EMIT_C_PRIVATE_H
#define TESSERA_EMIT_C_PRIVATE_H

#include "emit/c_names.h"
#include "emit/emit.h"
#include "loop/loop_lanes.h"
#include "loop/loop_layout.h"
#include "loop/loop_passes.h"

/* ---- The writer ------------------------------------------------------------------------------ */
enum { C_COLUMNS = 100, C_INDENT = 4 };

/* Names of an image in the public function, and whether the function being printed uses them. */
typedef struct CImage {
    const LImage *image;
    const char *name;
    const char *stride[LOOP_MAX_DIMS]; /* one for each dimension but the last */
    bool used, written, stride_used[LOOP_MAX_DIMS];
} CImage;

/* Elements between the rows of intermediate images, one variable for all images of one element size and row length. */
typedef struct CPitch {
    LExprId row;
    uint32_t line; /* elements of a cache line */
    const char *name;
    bool used;
} CPitch;
typedef VEC(const char *) CLines;

/* Operators on indices in text that has no prelude: functions of the file's own. */
typedef struct CIndexFunctions {
    const char *name[N_OPS];
    bool used[N_OPS];
} CIndexFunctions;

/* What functions of values are given. */
typedef struct CArgument {
    LExprId id;    /* the value; of a place the load that reads there */
    bool is_place; /* of the row of the buffer; the last index is another argument */
    const char *name;
} CArgument;
typedef VEC(CArgument) CArguments;
typedef struct CCall {
    const char *name;
    CArguments arguments;
} CCall;

typedef struct CWriter {
    const LoopProgram *p;
    const EmitTarget *target;
    Arena *arena;
    Text *out;
    Text line; /* the statement being put together */
    int indent;
    CNames *names;
    const char *public_name;
    const char *handle; /* the type of buffers, for C_BUFFERS */
    /* Names by number or id, and what the function being printed uses. */
    const char **param, **scalar, **var, **buffer;
    bool *fused; /* by LVarId: the value may be a fused multiply-add */
    bool *param_used, *scalar_used, *buffer_used;
    CImage *inputs, *outputs;
    LoopLayout layout;
    VEC(CPitch) pitches;
    uint32_t *pitch_of;   /* by LBufferId: index in `pitches` plus one; 0 = rows are not padded */
    const char *run_name; /* of the function that takes the workspace; NULL when none is needed */
    const char *parts;    /* of threads, behind the slots: the name of what points to them */
    bool parts_used, in_parallel;
    LoopNeeds needs;
    uint32_t mark; /* of the names that are in scope in the whole file */
    /* Temporaries of the statement being printed, all by LExprId (c_plan.c). */
    const char **temporary;
    uint32_t *uses, *weight, *level, *stamp_of, stamp;
    VEC(uint32_t) reached;
    struct GpuWriter *gpu;                 /* gpu_private.h; NULL: no kernel is being printed */
    CIndexFunctions *functions;            /* NULL: those of the prelude */
    uint32_t lane_bytes;                   /* of the vector that is being printed */
    CLines vector_types, vector_operators; /* what was used so far */
    /* the condition of the function's stores past the caches; none when it has none */
    LVarId stream_if;
    bool streamed; /* stores past the caches are not ended yet */
    /* what of the function is written once for several (c_parts.c); NULL = nothing */
    struct CSplit *split;
    /* by LExprId: what is computed by a function of its own (c_values.c); NULL = nothing */
    const CCall **calls;
    /* while such a function is written: its value, and what it is given */
    LExprId defined;
    CArguments own;
} CWriter;

/* ---- c_text.c ---- */
/* Ends the line in w->line: indents it, breaks it at blanks into lines of C_COLUMNS, and empties w->line. */
void tessi_c_end_line(CWriter *w);
void tessi_c_line(CWriter *w, const char *fmt, ...) TESS_PRINTF(2, 3);
/* A comment of one or more lines; what would end it early is made harmless. */
void tessi_c_comment(CWriter *w, const char *text);

/* ---- c_plan.c ---- */
/* Decides which parts of the expressions a statement needs get a name of their own, because they are used again or
 * nest too deeply. Returns their number; tessi_c_temporaries writes them, before the statement. */
uint32_t tessi_c_plan(CWriter *w, const LExprId *roots, uint32_t n);
/* The same in steps: what has a name already is said between the first and the last. */
void tessi_c_plan_begin(CWriter *w);
void tessi_c_plan_name(CWriter *w, LExprId id, const char *name);
uint32_t tessi_c_plan_roots(CWriter *w, const LExprId *roots, uint32_t n);
void tessi_c_temporaries(CWriter *w);

/* ---- c_join.c ---- */
/* How strongly an expression binds: what asks for more has to be given parentheses. */
enum {
    C_LOOSE = 0,
    C_BITS = 1,
    C_COMPARE = 5,
    C_SUM = 7,
    C_PRODUCT = 8,
    C_UNARY = 9,
    C_PRIMARY = 10
};
/* An operator between two operands: how it binds, and what it asks of them. */
typedef struct CInfix {
    int own, left, right;
} CInfix;
CInfix tessi_c_infix(const char *sign);
/* A printed expression. It gets into other text by tessi_c_inside alone, or where anything may stand. */
typedef struct CText {
    const char *text;
    int binds;
} CText;
CText tessi_c_word(const char *text); /* a name, a number, a call */
CText tessi_c_join(const CWriter *w, CText a, const char *sign, CText b);
/* The text for a place that asks for `around`. */
const char *tessi_c_inside(const CWriter *w, CText x, int around);
/* The expression, apart from the line being put together. */
CText tessi_c_printed(CWriter *w, LExprId id);
/* Puts what stands in w->line from `from` on into parentheses, unless it binds as strongly as is asked for. */
void tessi_c_enclose(CWriter *w, size_t from, int binds, int around);

/* ---- c_expr.c ---- */
const char *tessi_c_type(const CWriter *w, ScalarType t); /* of a value */
const char *tessi_c_element(ScalarType t);                /* of a stored element */
/* The call that stands for the expression, or NULL. */
const CCall *tessi_c_call(const CWriter *w, LExprId id);
/* The name of the row of a buffer, where the function being written is given it, or NULL. */
const char *tessi_c_own_row(const CWriter *w, LBufferId b, const LExprId *index);
/* Appends the expression to w->line and says how strongly it binds. */
int tessi_c_append(CWriter *w, LExprId id);
/* Appends it for a place that asks for `around`. */
void tessi_c_expr(CWriter *w, LExprId id, int around);
void tessi_c_constant(Text *out, ScalarType t, Value v);
/* Appends the element as an lvalue; for a channel of a mixed pixel, its address. */
void tessi_c_place(CWriter *w, LBufferId b, const LExprId *index);
/* Appends the distance of neighbours along dimension d, in elements; of mixed pixels in bytes. */
void tessi_c_step(CWriter *w, LBufferId b, int d);
bool tessi_c_is_mixed(const CWriter *w, LBufferId b);
/* The prelude's function for the operation, without prefix and type: a shorter one where the argument allows it. */
const char *tessi_c_function(const CWriter *w, const LExpr *e);

/* ---- c_sign.c ---- */
enum { C_NEVER_BELOW_0 = 1, C_NEVER_ABOVE_0 = 2 };
/* What is certain of the sign of an expression, as flags; NaN and zeros of both signs are always possible. */
unsigned tessi_c_signs(const LoopProgram *p, LExprId id);

/* ---- c_negate.c ---- */
/* Whether a C compiler may see a real as a fused multiply-add. */
bool tessi_c_may_be_fused(const CWriter *w, LExprId id);
/* What `e` is the negation of, if it has to be written as tess_neg_<type>; else none. */
LExprId tessi_c_turned(const CWriter *w, const LExpr *e);

/* ---- c_needs.c ---- */
/* False: the statement, or block, is left out, since nobody needs what it does. */
bool tessi_c_has_effect(const CWriter *w, const LStmt *s);
bool tessi_c_block_has_effect(const CWriter *w, const LBlock *block);

/* ---- c_stmt.c ---- */
void tessi_c_block(CWriter *w, const LBlock *block);
/* One statement, which others follow; its name stays in scope. */
void tessi_c_statement(CWriter *w, const LStmt *s);
/* Declares a LOCAL buffer that has its name, behind the words `before`. */
void tessi_c_local(CWriter *w, LBufferId id, const char *before);

/* Plans and writes the temporaries of a statement. */
void tessi_c_prepare(CWriter *w, const LExprId *roots, uint32_t n);
/* A loop's bound that C may evaluate again and again; written into a constant before the loop when it had better
 * not. */
CText tessi_c_bound(CWriter *w, const LStmt *loop, LExprId bound, const char *name);

/* ---- c_vector_uses.c ------------------------------------------------------------------------- */
/* Vector types and operators, which a file declares before it uses them; of vectors with lanes of w->lane_bytes. */
const char *tessi_c_lanes_of(uint32_t bytes); /* "v8", "v16", "v", "v64" */
const char *tessi_c_lanes(const CWriter *w);
/* What lanes have of a value of type t: of indices, which fit, as many bits as they are wide. */
ScalarType tessi_c_lane_type(const CWriter *w, ScalarType t);
void tessi_c_use_type(CWriter *w, ScalarType t);
/* Places of elements, by lanes; elements loaded from them, of images of mixed pixels too. */
void tessi_c_use_places(CWriter *w);
void tessi_c_use_each(CWriter *w, ScalarType element, bool mixed, bool near);
/* The same by narrow integers; of a table of at most 256 bytes too. */
/* Two elements of each lane, of type t. */
void tessi_c_use_both(CWriter *w, ScalarType t, bool near);
/* Elements of type t at a distance, to load and to store. */
void tessi_c_use_apart(CWriter *w, ScalarType t, bool back);
void tessi_c_use_spread(CWriter *w, ScalarType t);
void tessi_c_use_join(CWriter *w, ScalarType t, bool pairs); /* pairs: of pixels */
void tessi_c_use_each_by(CWriter *w, ScalarType element, ScalarType index, bool table);
void tessi_c_use_ramp(CWriter *w, ScalarType t);
void tessi_c_use_half(CWriter *w);
void tessi_c_use_row(CWriter *w, ScalarType t);
void tessi_c_use_factor(CWriter *w, ScalarType t);
void tessi_c_use_negation(CWriter *w, ScalarType t);
void tessi_c_use_pairs(CWriter *w, ScalarType t);
void tessi_c_use_fours(CWriter *w);
/* An operator that gains from knowing that its second operand is the same in all lanes (`by`). */
bool tessi_c_vector_by(Op op, ScalarType t);
void tessi_c_use_quotient(CWriter *w); /* of doubles, by a constant */
void tessi_c_use_operator(CWriter *w, Op op, ScalarType t, bool by);
void tessi_c_use_conversion(CWriter *w, ScalarType to, ScalarType from, bool saturates);

/* ---- c_vector_expr.c ---- */
/* The type of a vector of values, with lanes of so many bytes; bool: of truth values. */
const char *tessi_c_vector_type(CWriter *w, ScalarType t, uint8_t lanes);
/* The type of a variable, and of what has the value of an expression. */
const char *tessi_c_var_type(CWriter *w, LVarId v);
const char *tessi_c_value_type(CWriter *w, const LExpr *e);
/* Appends the value of all lanes, and says how strongly it binds. */
int tessi_c_vector_append(CWriter *w, LExprId id);
/* Appends a store of a vector, as a call. */
void tessi_c_vector_store(CWriter *w, const LStmt *s);

/* ---- c_pixels.c ---- */
/* Prints the stores of all elements of pixels, from statement i of a block on, as one; how many they are, or 0. */
uint32_t tessi_c_pixel_stores(CWriter *w, const LBlock *block, uint32_t i);
/* What stands for the expression where temporaries are counted: of what is spread when it is used, the scalar. */
LExprId tessi_c_through(const CWriter *w, LExprId id);

/* ---- c_parts.c ---- */
/* Writes a statement as a call, and before its first call the part; false: it is none. */
bool tessi_c_part_call(CWriter *w, const LStmt *s);

#endif
