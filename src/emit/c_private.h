/* Shared by the files of the C printer. */
#ifndef TESSERA_EMIT_C_PRIVATE_H
#define TESSERA_EMIT_C_PRIVATE_H

#include "emit/c_names.h"
#include "emit/emit.h"
#include "loop/loop_layout.h"

/* ---- The writer ------------------------------------------------------------------------------------------------------------ */
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
/* What a value is to the lanes of a vector loop. */
typedef enum CShape {
    C_UNIFORM, /* the same for all: a scalar */
    C_RAMP,    /* an index that grows by one from lane to lane: kept as that of the first lane */
    C_LANES    /* a vector */
} CShape;

enum { C_MOST_COPIES = 8 };
/* A loop that is executed in vectors (c_vector_check.c), while it is printed. */
typedef VEC(const char *) CLines;

/* A row of a buffer that a vector loop reads at places between min and max from `base`, the last index; `load` tells the others. */
typedef struct CRow {
    const LExpr *load;
    LExprId base;
    int64_t min, max;
} CRow;
/* Its name where that is in scope, by the vector of a step that it serves. */
typedef struct CNamedRow {
    const LExpr *load;
    LExprId base;
    uint32_t copy;
    const char *name;
} CNamedRow;

typedef struct CVector {
    const LStmt *loop;   /* NULL = none */
    uint32_t lane_bytes; /* of the widest value */
    uint8_t *var_shape;  /* CShape by LVarId */
    uint8_t *shape;      /* CShape by LExprId, valid where shape_stamp says so */
    uint32_t *shape_stamp, *noted, *checked, stamp;
    uint32_t copies, copy; /* vectors that a step computes side by side, and the one in hand */
    const char **name;     /* of variables that are not uniform, by copy and LVarId */
    bool repeatable;       /* a point may be computed twice */
    bool pairs;      /* the copies are the even and the odd ones of bytes (c_vector_pairs.c) */
    CLines *late;    /* stores put off to the end of the step; NULL = none are */
    int late_indent; /* of statements whose stores are */
    const char *
        *shared; /* names of values that several parts of a window take, by LExprId; NULL = none */
    VEC(CRow) rows;
    VEC(CNamedRow) named_rows;
    /* Tables for one loop after the other, whose entries are 0 but while a loop is looked at. */
    bool *loaded, *stored;     /* by LBufferId */
    bool *declared, *changed;  /* by LVarId: in the body; by a SET in it */
    struct CMoving *moving;    /* by LVarId (c_vector_slide.c) */
    const char **shared_names; /* by LExprId */
    VEC(uint32_t) vars;        /* of the loop and of its body */
    VEC(uint32_t) touched;     /* buffers that the loop loads or stores */
} CVector;

/* Operators on indices in text that has no prelude: functions of the file's own. */
typedef struct CIndexFunctions {
    const char *name[N_OPS];
    bool used[N_OPS];
} CIndexFunctions;

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
    struct GpuWriter *gpu;      /* gpu_private.h; NULL: no kernel is being printed */
    CIndexFunctions *functions; /* NULL: those of the prelude */
    uint32_t vector_bytes;      /* 0 = no explicit vectors */
    CVector vector;
    CLines vector_types, vector_operators; /* what vector loops used so far */
    LVarId
        stream_if; /* the condition of the function's stores past the caches; none when it has none */
    bool streamed; /* stores past the caches are not ended yet */
    struct CSplit
        *split; /* what of the function is written once for several (c_parts.c); NULL = nothing */
} CWriter;

/* ---- c_text.c ---- */
/* Ends the line in w->line: indents it, breaks it at blanks into lines of C_COLUMNS, and empties w->line. */
void tessi_c_end_line(CWriter *w);
void tessi_c_line(CWriter *w, const char *fmt, ...) TESS_PRINTF(2, 3);
/* A comment of one or more lines; what would end it early is made harmless. */
void tessi_c_comment(CWriter *w, const char *text);

/* ---- c_plan.c ---- */
/* Decides which parts of the expressions a statement needs get a name of their own, because they are used again or nest too
 * deeply. Returns their number; tessi_c_temporaries writes them, before the statement. */
uint32_t tessi_c_plan(CWriter *w, const LExprId *roots, uint32_t n);
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
/* Appends the expression to w->line and says how strongly it binds. */
int tessi_c_append(CWriter *w, LExprId id);
/* Appends it for a place that asks for `around`. */
void tessi_c_expr(CWriter *w, LExprId id, int around);
void tessi_c_constant(Text *out, ScalarType t, Value v);
/* Appends the element as an lvalue; for a channel of a mixed pixel, its address. */
void tessi_c_place(CWriter *w, LBufferId b, const LExprId *index);
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

/* The name of a variable, in a vector loop that of the copy in hand. */
const char *tessi_c_var(const CWriter *w, LVarId v);

/* ---- c_stmt.c ---- */
void tessi_c_block(CWriter *w, const LBlock *block);
/* One statement, which others follow; its name stays in scope. */
void tessi_c_statement(CWriter *w, const LStmt *s);
/* Declares a LOCAL buffer that has its name, behind the words `before`. */
void tessi_c_local(CWriter *w, LBufferId id, const char *before);

/* Plans and writes the temporaries of a statement. */
void tessi_c_prepare(CWriter *w, const LExprId *roots, uint32_t n);
/* A loop's bound that C may evaluate again and again; written into a constant before the loop when it had better not. */
CText tessi_c_bound(CWriter *w, const LStmt *loop, LExprId bound, const char *name);

/* ---- c_vector_check.c ---- */
/* Whether the loop can be printed in vectors; then w->vector describes it. */
bool tessi_c_vector_begin(CWriter *w, const LStmt *loop);
void tessi_c_vector_end(CWriter *w);
/* Empties the entries of a table by LVarId that belong to the loop in hand. */
void tessi_c_vector_clear(const CWriter *w, void *table, size_t size);
CShape tessi_c_shape(CWriter *w, LExprId id);
/* A cast or saturation for which there is a vector form. */
bool tessi_c_vector_converts(ScalarType to, ScalarType from, bool saturates);

/* ---- c_vector_uses.c: vector types and operators, which a file declares before it uses them ---- */
const char *tessi_c_lanes(const CWriter *w); /* "v8", "v16", "v", "v64" */
void tessi_c_use_type(CWriter *w, ScalarType t);
void tessi_c_use_ramp(CWriter *w, ScalarType t);
void tessi_c_use_row(CWriter *w, ScalarType t);
void tessi_c_use_factor(CWriter *w, ScalarType t);
void tessi_c_use_negation(CWriter *w, ScalarType t);
void tessi_c_use_pairs(CWriter *w, ScalarType t);
/* An operator that gains from knowing that its second operand is the same in all lanes (`by`). */
bool tessi_c_vector_by(Op op, ScalarType t);
void tessi_c_use_operator(CWriter *w, Op op, ScalarType t, bool by);
void tessi_c_use_conversion(CWriter *w, ScalarType to, ScalarType from, bool saturates);

/* ---- c_vector_expr.c ---- */
/* The type of a vector of values; bool: of truth values. */
const char *tessi_c_vector_type(CWriter *w, ScalarType t);
/* Appends the value of all lanes, whatever its shape. */
void tessi_c_vector_value(CWriter *w, LExprId id, int around);

/* ---- c_vector_rows.c ---- */
/* Finds the rows that the loop reads at several places. */
void tessi_c_vector_find_rows(CWriter *w, const LStmt *loop);
bool tessi_c_vector_has_rows(const CWriter *w);
/* Appends what is loaded when it is read from such a row, which is named first; false: it is not. */
bool tessi_c_vector_row(CWriter *w, const LExpr *load);

/* ---- c_vector_slide.c ---- */
/* Whether the loop, which may compute points twice, has windows along the row that neighbouring vectors share the pixels of. */
bool tessi_c_vector_slides(CWriter *w, const LStmt *loop);
/* Writes such a loop over points, of which there are as many as a vector has lanes, or more. */
void tessi_c_vector_slide(CWriter *w, const LStmt *loop, CText begin, CText end);

/* ---- c_vector_pairs.c ---- */
/* Whether two copies of the loop can be the even and the odd ones of bytes. */
bool tessi_c_vector_can_pair(CWriter *w, const LStmt *loop);
/* The type that values of type t have lanes of: bytes of pairs are kept in 16 bits. */
ScalarType tessi_c_vector_lane_type(const CWriter *w, ScalarType t);
/* Appends a load or a conversion of pairs. */
void tessi_c_pairs_load(CWriter *w, const LExpr *load);
/* The same from a row, `name` points to the place that it is named by. */
void tessi_c_pairs_at(CWriter *w, const CRow *row, int64_t offset, const char *name);
bool tessi_c_pairs_conversion(CWriter *w, const LExpr *e);

/* ---- c_vector.c ---- */
/* Writes a loop in vectors; false: it does not qualify. */
bool tessi_c_vector_loop(CWriter *w, const LStmt *loop);
/* Writes a statement of its body that is not the same for all lanes; false: it is. */
bool tessi_c_vector_statement(CWriter *w, const LStmt *s);
/* Writes a body on vectors, stores last. */
void tessi_c_vector_body(CWriter *w, const LBlock *block);

/* ---- c_parts.c ---- */
/* Writes a statement as a call, and before its first call the part; false: it is none. */
bool tessi_c_part_call(CWriter *w, const LStmt *s);

#endif
