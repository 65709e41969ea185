/* Inside lowering: algorithms that are texts of the loop language, templates/NAME.loops. A text is instantiated where
 * lowering is: its statements go to the innermost scope, its parameters stand for what the program has.
 *
 *   $name          in the text: a type, a number, or words; a loop expression; a buffer
 *   $name(a, b)    an expression, or as a statement some statements, that a function makes of expressions
 *   x$(name)       inside of names
 *   when C { } otherwise { }      one of them, as the constant says
 *   each k in a .. b { }          for each value of $k; also `each k in 8, 4, 2, 1`
 *   use OTHER(k = E)              the statements of another template, where $k is the expression
 *   local x: type[sizes]          declares the array too; its name begins with that of the instance
 *   result E                      what tessi_template returns
 *   ## comments                   are the template's, # those of the generated code */
#ifndef TESSERA_LOOP_TEMPLATE_H
#define TESSERA_LOOP_TEMPLATE_H

#include "loop/lower_state.h"

typedef LExprId TemplateHole(void *user, const LExprId *arg);
typedef void TemplatePart(void *user, const LExprId *arg);
typedef enum TemplateKind {
    TEMPLATE_TYPE,
    TEMPLATE_NUMBER,
    TEMPLATE_WORDS,
    TEMPLATE_EXPR,
    TEMPLATE_BUFFER,
    TEMPLATE_HOLE,
    TEMPLATE_PART
} TemplateKind;
typedef struct TemplateArg {
    const char *name;
    TemplateKind kind;
    ScalarType type;
    int64_t number;
    const char *words; /* one word, or "" */
    LExprId expr;
    LBufferId buffer;
    TemplateHole *hole;
    TemplatePart *part;
} TemplateArg;

/* Short forms. */
#define ARG_TYPE(n, t)                                  \
    {                                                   \
        .name = (n), .kind = TEMPLATE_TYPE, .type = (t) \
    }
#define ARG_NUMBER(n, i)                                    \
    {                                                       \
        .name = (n), .kind = TEMPLATE_NUMBER, .number = (i) \
    }
#define ARG_WORDS(n, w)                                   \
    {                                                     \
        .name = (n), .kind = TEMPLATE_WORDS, .words = (w) \
    }
#define ARG_EXPR(n, e)                                  \
    {                                                   \
        .name = (n), .kind = TEMPLATE_EXPR, .expr = (e) \
    }
#define ARG_BUFFER(n, b)                                    \
    {                                                       \
        .name = (n), .kind = TEMPLATE_BUFFER, .buffer = (b) \
    }
#define ARG_HOLE(n, f)                                  \
    {                                                   \
        .name = (n), .kind = TEMPLATE_HOLE, .hole = (f) \
    }
#define ARG_PART(n, f)                                  \
    {                                                   \
        .name = (n), .kind = TEMPLATE_PART, .part = (f) \
    }
#define ARG_END      \
    {                \
        .name = NULL \
    }

/* An instance; ARG_END ends the arguments. `prefix`: of the names of its arrays, or NULL; `user`: for the functions.
 * A text with a fault leaves it in the program (LoopProgram.fault). */
LExprId tessi_template(Lower *l, const char *name, const char *prefix, const TemplateArg *args,
                       void *user);

/* The texts, one behind the other (made by cmake/embed.cmake). */
extern const char tessi_loop_templates[];

#endif
