/* Inside the reader of the text form: what texts with parameters have that whole programs do not (loop_template.c). */
#ifndef TESSERA_LOOP_LOOP_TEMPLATE_H
#define TESSERA_LOOP_LOOP_TEMPLATE_H

#include "loop/loop_read.h"

/* A statement of templates alone; false when none stands here, else *good says whether it was sound. */
bool tessi_template_stmt(LoopReader *r, LBlock *block, bool *good);
/* `$name(` arguments `)` behind the name. */
LExprId tessi_template_hole(LoopReader *r, const char *name);
/* An expression that the template was given; a load that it makes. */
LExprId tessi_template_expr(LoopReader *r, LExprId e);
void tessi_template_load(LoopReader *r, LExprId load);
/* name `:` type sizes, for LOCAL. */
bool tessi_template_local(LoopReader *r, LStmt *s);
/* Has what the expressions of a LET or VAR share get names, where the variable is not declared yet. */
void tessi_template_place(LoopReader *r, LStmt *s);
/* The variable is declared in the innermost scope. */
void tessi_template_var(LoopReader *r, LVarId v);
/* The body of a FOR or IF begins; what is done otherwise. */
void tessi_template_open(LoopReader *r, LStmt *s);
void tessi_template_else(LoopReader *r);
/* The statement, all of which has been read, goes to the innermost scope. */
void tessi_template_add(LoopReader *r, LStmt *s);

#endif
