/* The text form of graphs: what printer and reader must agree about.
 *
 *   graph blur                                       # to the end of the line: a comment
 *   fp default
 *   param M, N
 *   scalar t float = 0.5f in 0.0f .. 1.0f
 *   image input[M, N] float                          # mask w[3, 3] float; image p[M, N] { r uint8, g uint8 }
 *   table g[3] float = { 1, 2, 1 }
 *   stage input[M, N] float = image input            # image p channel 1
 *   stage temp[M, N] float = input@[0,-1]:mirror + input:mirror
 *   stage lo float = reduce min temp                 # stage h[256] uint32 = histogram temp
 *   stage both[M, 2*N] float
 *     piece [0,0] step [1,2] count [M,N] = temp
 *     piece [0,1] step [1,2] count [M,N] =
 *       let %1 = temp * 2.0f;
 *       %1 + [%1 * t]                                # + [x * y]: fma, one rounding
 *   output result[M, N] float = both                 # output p[M, N] { r uint8 = a, g uint8 = b }
 *
 *   repeat T turns 40                                # turns 0 plus scalar n of 12 by 4, by 4 rest: see RepeatCount
 *   stage T_before[M, N] float = entry of temp       # carried; `of` what the first turn finds
 *   stage T[M, N] float = T_before * 0.5f
 *   end T_before = T                                 # , B = T_before; until T_small every 4
 *   stage T_last[M, N] float = last T_before
 *
 * Line ends mean nothing. Names that are not plain words, or would be read otherwise (`min`, `let`), stand in double
 * quotes.
 *
 * Reads:  name@[dim,..]:rule. A dim is `d` (the reader's coordinate of this dimension + d), `(d,s)` (s * coordinate
 * + d), `(d,s,k)` (the same of dimension k), `=d` (d alone) or `{e}` (a computed index). In d, sizes and window
 * variables may be added. No @[..] is no displacement, no rule means that the read is inside. `:[clamp,wrap]` is a
 * rule a dimension, `:constant(v)` and `:[clamp,constant](v)` give the value outside. A single rule is for the
 * dimensions that are displaced (the others are inside), or for all when none is. Windows: sum($i = -1..1, $j =
 * -1..1 : body where condition), `let %1 = e;` before the body; variables i j k l, of the next level i1 j1 ..
 * Numbers: 1 (int32), 1u8, 1i64, 1.0f, 1.0d, inf_f, nan_d, true. Tables: g[e]. scalar(t), index(0), size(M - 2),
 * cast<T>(e), sat<T>(e). */
#ifndef TESSERA_GRAPH_GRAPH_TEXT_H
#define TESSERA_GRAPH_GRAPH_TEXT_H

#include "graph/graph.h"

enum { PRINTED_DEPTH = 60, READ_DEPTH = 800, LINE_WIDTH = 100 };

/* How many bytes at the start of text are a name that needs no quotes: words joined by dots, each perhaps with a
 * number as in X<3>. */
size_t tessi_graph_name_length(const char *text, size_t n);
/* Words that would mean something else where an expression or a size begins. */
bool tessi_graph_is_keyword(const char *name);
void tessi_graph_print_name(const char *name, Text *out);

/* Prints the body of a piece: lets on lines of their own, then the expression; `indent` blanks in front of each
 * line. */
typedef struct BodyPrinter BodyPrinter;
BodyPrinter *tessi_body_printer(const Graph *g, Arena *scratch);
void tessi_print_body(BodyPrinter *p, ExprId body, int indent, Text *out);
/* Adds a text that begins in `column`, broken at blanks where it would become too wide. */
void tessi_add_wrapped(Text *out, const char *text, size_t column, int indent);
/* The repeat that is open ends, and the one of number `now` begins, where they differ. */
void tessi_print_repeat_bounds(const Graph *g, uint32_t *open, uint32_t now, Text *out);
/* What stands behind the type of a stage that is carried. */
void tessi_print_carried(const Graph *g, const Stage *s, Text *out);
void tessi_print_constant(ScalarType t, Value v, Text *out);
/* Whether dimension `dim` of a read is anything but the reader's own coordinate. */
bool tessi_is_displaced(const Graph *g, const AccessDim *d, uint32_t dim);

#endif
