/* Tokens of the text form of graphs, and what every part of its reader shares. */
#ifndef TESSERA_GRAPH_GRAPH_LEX_H
#define TESSERA_GRAPH_GRAPH_LEX_H

#include "graph/graph.h"
#include "graph/graph_walk.h"

typedef enum TokenKind {
    TOKEN_END,
    TOKEN_NAME,    /* text; quoted names are never keywords */
    TOKEN_INTEGER, /* integer, text = suffix */
    TOKEN_REAL,    /* digits, text = suffix */
    TOKEN_LET,     /* %12: integer */
    TOKEN_WINVAR,  /* $i, $j1: integer = variable, level */
    TOKEN_MARK     /* text: one of the operators and brackets */
} TokenKind;
typedef struct Token {
    TokenKind kind;
    bool quoted;
    const char *text;
    uint64_t integer;
    uint32_t level;
    const char *digits;
    size_t n_digits;
} Token;

typedef struct NamedTable {
    const char *name;
    TableId id;
} NamedTable;

typedef struct Reader {
    Arena *arena;
    Diags *diags;
    Graph *g;
    const char *text;
    size_t n, at;
    unsigned line;
    bool failed; /* reported; from here on every token is the end */
    Token token; /* the next one */
    uint32_t depth;
    VEC(NamedTable) tables;
    ExprMap let;                        /* %n of the body being read */
    WindowId window[MAX_WINDOW_LEVELS]; /* open here; none = 0 */
} Reader;

void tessi_graph_read_fail(Reader *r, const char *fmt, ...) TESS_PRINTF(2, 3);
void tessi_graph_read_next(Reader *r);
bool tessi_graph_read_is(const Reader *r, const char *mark_or_keyword);
bool tessi_graph_read_accept(Reader *r, const char *mark_or_keyword);
void tessi_graph_read_expect(Reader *r, const char *mark_or_keyword);
const char *tessi_graph_read_name(Reader *r, const char *what);      /* never NULL */
int64_t tessi_graph_read_integer(Reader *r, int64_t lo, int64_t hi); /* with sign */
ScalarType tessi_graph_read_type(Reader *r);
/* Guards recursion: false (and a report) when too deep. Every true enter needs a leave. */
bool tessi_graph_read_enter(Reader *r);
void tessi_graph_read_leave(Reader *r);

/* graph_read_size.c: sizes, and the displacements of reads, which add window variables to them. */
SizeId tessi_graph_read_size(Reader *r);
void tessi_graph_read_displacement(Reader *r, AccessDim *d);

StageId tessi_graph_read_stage_name(Reader *r); /* of a stage before this place */

/* graph_repeat_read.c: behind `repeat`, behind `end`, and `entry A` or `last A`; then that stage has its number. */
void tessi_read_repeat(Reader *r);
void tessi_read_repeat_end(Reader *r);
void tessi_read_carried(Reader *r, Stage *s);
void tessi_read_carried_at(Reader *r, const Stage *s, StageId id);

/* graph_read_expr.c */
ExprId tessi_graph_read_body(Reader *r);                  /* lets and the expression */
Value tessi_graph_read_constant(Reader *r, ScalarType t); /* a constant expression of type t */

#endif
