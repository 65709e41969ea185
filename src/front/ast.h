/* front/ast: the tree of a program as the user wrote it; every node has a span. Made by parse.c, printed by
 * ast_print.c, read by the checker. Both dialects (LANGUAGE, and FORMA with `forma` set) make the same tree. No
 * meaning is decided here. */
#ifndef TESSERA_FRONT_AST_H
#define TESSERA_FRONT_AST_H

#include "base/base.h"
#include "base/diag.h"
#include "base/scalar.h"

typedef struct Name {
    const char *text; /* interned: equal names are equal pointers within one Ast */
    Span span;
} Name;

typedef struct AstExpr AstExpr;
typedef VEC(AstExpr *) AstExprs;

/* A written type: `float`, `rgb`, `struct rgb`, `any`, with the image dimension when it is `vector#D`. */
typedef struct AstType {
    Span span;
    bool is_image; /* vector#D */
    bool is_mask;  /* mask#D */
    bool is_const;
    uint8_t n_dims;
    Name name;  /* "float", "int", "any", or a struct's name */
    bool is_of; /* typeof(name): the element type of that image or value */
} AstType;

/* A border rule as written: name and the optional value of constant(v). */
typedef struct AstBorder {
    Span span;
    Name name;
    AstExpr *value; /* constant(v), else NULL */
} AstBorder;
/* The rules behind an argument: none written, one for all dimensions, or one per dimension; and what points that are
 * not valid give (missing.def), name.text NULL when that is not written. */
typedef struct AstBorders {
    AstBorder *at;
    uint32_t n, cap;
    AstBorder missing;
} AstBorders;

typedef enum AstExprKind {
    AST_INT,    /* 12, 0x1f */
    AST_REAL,   /* 1.5, 1e-3, 3.0f, 3.0d: `suffix` is 'f', 'd' or 0 */
    AST_BOOL,   /* true, false */
    AST_NAME,   /* name */
    AST_MEMBER, /* arg[0] . name */
    AST_FAMILY, /* name<arg[0]> or name<arg[0], arg[1]>: X<3>, X<i-1>, X<8*i+j>, X<i, j> */
    AST_INDEX, /* arg[0] [arg[1], ..]: absolute index; ranges may make it a subdomain (see ranges) */
    AST_OFFSET, /* arg[0] @[offset, ..] */
    /* name(args), each with optional borders; built-in functions, stencils, vector functions, convolve, casts of
     * names */
    AST_CALL,
    AST_CAST,    /* cast<type>(arg[0]) */
    AST_SAT,     /* sat<type>(arg[0]) */
    AST_WRAP,    /* wrap<type>(arg[0]) */
    AST_STRUCT,  /* struct type(arg[0], ..) */
    AST_UNARY,   /* token: '-', '!', '~' */
    AST_BINARY,  /* token of the operator, see AstOperator */
    AST_TERNARY, /* arg[0] ? arg[1] : arg[2] */
    /* name([order,] ranges [where arg[1]] : arg[0] [, a, b : combine, start]); the names stand in parse_list.c */
    AST_WINDOW,
    AST_SUBDOMAIN, /* arg[0] [range, ..] with at least one `..` */
    AST_COMPOSE,   /* ( part; part; ) */
    AST_VALID      /* arg[0]:valid(arg[1]) */
} AstExprKind;

typedef enum AstOperator {
    AST_OP_NONE,
    AST_OP_NEG,
    AST_OP_LNOT,
    AST_OP_BNOT, /* unary */
    AST_OP_LOR,
    AST_OP_LAND,
    AST_OP_OR,
    AST_OP_XOR,
    AST_OP_AND, /* loosest first */
    AST_OP_EQ,
    AST_OP_NE,
    AST_OP_LT,
    AST_OP_LE,
    AST_OP_GT,
    AST_OP_GE,
    AST_OP_SHL,
    AST_OP_SHR,
    AST_OP_ADD,
    AST_OP_SUB,
    AST_OP_MUL,
    AST_OP_DIV,
    AST_OP_MOD,
    AST_OP_POW
} AstOperator;
const char *tessi_ast_operator_text(AstOperator op);

/* One entry of an @[..] list: a displacement (constant expression), and the scale of `(displacement, scale)` (NULL =
 * not written). */
typedef struct AstOffset {
    Span span;
    AstExpr *displacement, *scale;
} AstOffset;
typedef VEC(AstOffset) AstOffsets;

/* One entry of a subdomain or placement list: `lo..hi`, either end NULL when omitted; `single` for a plain index `a`
 * (lo and hi are then the same expression). */
typedef struct AstRange {
    Span span;
    AstExpr *lo, *hi;
    bool single;
    bool drops; /* `=a`: the index a, of a dimension that the part does not have */
} AstRange;
typedef VEC(AstRange) AstRanges;

/* One window variable: `i = lo..hi`; or several over a mask's extents: `i, j in m` (mask set, lo and hi NULL, one
 * entry a variable). */
typedef struct AstWindowVar {
    Name name;
    AstExpr *lo, *hi;
    AstExpr *mask; /* the mask expression, shared by the variables of one `in` */
} AstWindowVar;
typedef VEC(AstWindowVar) AstWindowVars;

typedef struct AstArg {
    AstExpr *value;
    Name keyword; /* `dilation = 2`, `method = fft`: text NULL when positional */
    AstBorders borders;
} AstArg;
typedef VEC(AstArg) AstArgs;

/* One part of a composition: placement by ranges or by offsets, then the value. */
typedef struct AstPart {
    Span span;
    AstRanges ranges;   /* [1.., 3..] = value; */
    AstOffsets offsets; /* @[(0,2),(0,1)] = value; */
    AstExpr *value;
} AstPart;
typedef VEC(AstPart) AstParts;

/* Recursion over a tree is bounded: an expression is at most AST_MAX_HEIGHT nodes high. */
enum { AST_MAX_HEIGHT = 1000 };

/* What some windows have besides. */
typedef struct AstWindowMore {
    AstExpr *order; /* rank(k, ..), percentile(p, ..) */
    Name a, b; /* reduce(.. : value, a, b : combine, start); of calls: reduce, cumulate of images */
    AstExpr *combine, *start;
} AstWindowMore;

struct AstExpr {
    AstExprKind kind;
    uint16_t height; /* 1 + that of the highest part */
    Span span;
    Name name;        /* NAME, MEMBER (the field), FAMILY, CALL, WINDOW */
    AstOperator op;   /* UNARY, BINARY */
    AstType type;     /* CAST, SAT, STRUCT */
    uint64_t integer; /* INT; BOOL: 0 or 1 */
    double real;      /* REAL */
    char suffix;      /* REAL */
    bool in_parens;   /* written as ( expression ) */
    AstExprs arg;
    AstArgs args;        /* CALL */
    AstOffsets offsets;  /* OFFSET */
    AstRanges ranges;    /* SUBDOMAIN */
    AstWindowVars vars;  /* WINDOW */
    AstWindowMore *more; /* WINDOW, CALL, or NULL */
    AstParts parts;      /* COMPOSE */
};

/* Statements: of stencil and vector functions and of the program. */
typedef enum AstStmtKind {
    AST_ASSIGN, /* [const type] target [<index>] [placement] = value */
    AST_MASK,   /* mask name[..] = ... */
    AST_FOR     /* for i = lo..hi [until condition [every n]] body endfor */
} AstStmtKind;

/* mask name[5,5] = { list } [/ divisor] [normalized];    mask name[i = -2..2, j = -2..2] = value [normalized]; */
typedef struct AstMask {
    AstExprs sizes;     /* list form: one extent a dimension */
    AstExprs list;      /* list form */
    AstWindowVars vars; /* computed form */
    AstExpr *value;     /* computed form */
    AstExpr *divisor;   /* list form: `/ e`, or NULL */
    AstExpr *factor;    /* list form: `* e`, or NULL */
    bool normalized;
} AstMask;

/* One of several names that the results of a call are given to. */
typedef struct AstTarget {
    Name name;
    AstExpr *family, *second; /* its numbers, or NULL */
} AstTarget;
typedef VEC(AstTarget) AstTargets;

typedef struct AstStmt AstStmt;
typedef VEC(AstStmt *) AstStmts;
struct AstStmt {
    AstStmtKind kind;
    Span span;
    Name name; /* target, mask's name, loop variable */
    bool is_const, has_type;
    AstType type;           /* when has_type */
    AstExpr *family;        /* X<family> = ..., or NULL */
    AstExpr *second;        /* X<family, second> = ..., or NULL */
    AstTargets more;        /* a, b<i> = f(..): the names behind the first */
    AstExprs sizes;         /* vector#2 float a[M, N] = ..: declared, with the type */
    AstRanges ranges;       /* placement out[1..,3..] = */
    AstOffsets offsets;     /* placement out@[(0,2),..] = */
    AstExpr *value;         /* ASSIGN */
    AstMask mask;           /* MASK */
    AstExpr *lo, *hi;       /* FOR */
    AstExpr *until, *every; /* FOR: what ends it, asked after so many turns; or NULL */
    AstStmts body;          /* FOR */
};

typedef struct AstField {
    Name name;
    AstType type;
} AstField;
typedef struct AstStructDef {
    Name name;
    Span span;
    VEC(AstField) fields;
    bool predeclared; /* FORMA: `struct float4;` */
} AstStructDef;

typedef struct AstFunctionArg {
    Name name;
    AstType type;
    Span span;
} AstFunctionArg;
typedef struct AstFunction {
    bool is_stencil; /* else a vector function, or */
    bool is_scalar;  /* a function of scalars, with the type of its result */
    AstType type;    /* when is_scalar */
    Name name;
    Span span;
    VEC(AstFunctionArg) args;
    AstStmts body;
    AstExprs result; /* one or more for a vector function; one for a stencil */
    Span result_span;
} AstFunction;

typedef enum AstDeclKind { AST_DECL_PARAMETER, AST_DECL_IMAGE, AST_DECL_SCALAR } AstDeclKind;
typedef struct AstDecl {
    AstDeclKind kind;
    Span span;
    Name name;
    AstType type;     /* IMAGE, SCALAR */
    AstExprs sizes;   /* IMAGE */
    bool own_sizes;   /* IMAGE: none are written: it has sizes of its own */
    AstExpr *init;    /* PARAMETER, SCALAR: default, or NULL */
    AstExpr *lo, *hi; /* SCALAR: `in lo..hi`, or NULL */
} AstDecl;

/* Reads the text of a file for `use "name";`: NULL when there is none. Supplied by api/, so that the front needs no
 * files. */
typedef const char *(*UseReader)(void *user, const char *name, size_t *n);

typedef struct Ast {
    Arena *arena;
    const SourceMap *sources;
    uint16_t file; /* of the program itself; `use` adds others */
    bool forma;
    AstBorders border; /* `border R;` at the top */
    Span border_span;
    VEC(AstStructDef *) structs; /* in order; those of used files first */
    VEC(AstFunction *) functions;
    /* masks and const values written among the definitions (files read by `use` have them) */
    AstStmts constants;
    VEC(AstDecl *) decls;
    AstStmts body;
    AstExprs result; /* the returned images */
    Span result_span;
    UseReader use; /* for what a program might have used */
    void *use_user;
} Ast;

/* Parses file `file` of the map into a tree; with errors the tree holds what could be recovered. Never NULL. */
Ast *tessi_parse(Arena *a, Diags *d, SourceMap *sources, uint16_t file, bool forma, UseReader use,
                 void *use_user);
void tessi_ast_print(const Ast *ast, Text *out);

/* use_named.c: the text of a library without the functions that no name in `sources`, nor in what they lead to, can
 * mean; each is blanks, so that places stay. */
const char *tessi_use_named(Arena *a, const SourceMap *sources, const char *text, size_t n);

/* parse_foreign.c: what is said of a name, of a field, or of a function, that there is not; NULL: nothing. */
const char *tessi_foreign_name(const char *word);
const char *tessi_foreign_field(const char *word);
const char *tessi_foreign_call(const char *word);

#endif
