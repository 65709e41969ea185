/* What files are made of: the writer, names, lists of parameters, programs, frames, self-tests. */
#ifndef TESSERA_EMIT_C_FILE_H
#define TESSERA_EMIT_C_FILE_H

#include "emit/c_private.h"
#include "loop/loop_same.h"

/* ---- c_params.c ---- */
/* A writer for p in a language under the public name, which is taken. */
void tessi_c_writer_init(CWriter *w, const EmitTarget *target, const LoopProgram *p,
                         const char *public_name, CNames *names, Text *out);
/* The same under the name that the program has, which is taken first. */
void tessi_c_begin(CWriter *w, const EmitTarget *t, const LoopProgram *p, CNames *names, Text *out);
/* A name of the file: that of the program and what is wanted. */
const char *tessi_c_file_name(CWriter *w, const char *wanted);
/* Image k of inputs and outputs; its elements, and the bytes of one (of mixed ones: bytes). */
CImage *tessi_c_image(const CWriter *w, uint32_t k);
const char *tessi_c_image_element(const CImage *im);
uint32_t tessi_c_unit_bytes(const LImage *im);
/* Names parameters, scalars, images and intermediate images. */
void tessi_c_name_parameters(CWriter *w);

typedef struct CParameter {
    const char *declaration, *name;
    GpuArg arg; /* what it stands for, of kernels */
} CParameter;
typedef VEC(CParameter) CParameters;
typedef enum CParameterSet {
    C_DECLARED, /* all of the public function, as headers show them */
    C_BUFFERS,  /* the same where images are handles of buffers */
    C_DEFINED,  /* the same with `restrict` */
    C_USED      /* those that were used since tessi_c_forget_uses, intermediate images too */
} CParameterSet;
CParameters tessi_c_parameters(CWriter *w, CParameterSet set);
void tessi_c_declare(CWriter *w, const CParameters *list); /* appends the list to w->line */
/* Writes the line `before name(list)end`. */
void tessi_c_signature(CWriter *w, const char *before, const char *name, const CParameters *list,
                       const char *end);
/* Launchers hand the buffer over: intermediate images, and tables that the text cannot have. */
bool tessi_c_is_given(const EmitTarget *t, const LBuffer *b);
void tessi_c_forget_uses(CWriter *w);

/* ---- c_parts.c ---- */
typedef struct CUses CUses;
/* A statement that is a function of its own. */
typedef struct CPart {
    const char *name; /* NULL: it is written where it stands */
    CParameters list;
    bool is_open, is_defined; /* being written; written */
    bool streams;             /* it stores past the caches */
    const CUses *uses;        /* what its body uses */
} CPart;
typedef struct CSplit {
    const LoopParts *parts;
    CPart *part; /* by number */
    Text text;   /* their definitions */
    IdMap calls; /* by statement */
    const LStmt *wanted;
} CSplit;
/* Names the parts of a function, for the whole file. */
CSplit *tessi_c_split(CWriter *w, const LoopParts *parts, const char *function);

/* ---- c_values.c ---- */
typedef struct CValues CValues;
/* Values that become functions: fills w->calls. */
CValues *tessi_c_find_values(CWriter *w, const LoopSame *same, CSplit *const *split);
/* Writes them, before all that calls them. */
void tessi_c_define_values(CWriter *w, CValues *values);

/* ---- c_calls.c ---- */
/* Calls of functions, or launches of kernels: where each stands in a repeat, and what writes it. */
typedef struct CCalls {
    uint32_t n;
    LPlace (*place)(void *user, uint32_t i);
    void (*put)(void *user, uint32_t i);
    /* Writes the lines that bring a condition to the variable `met`, an unsigned char. */
    void (*ask)(void *user, LBufferId condition, const char *met);
    /* Those that say how a repeat of a loop with a condition ended; NULL: nobody asks. */
    void (*ended)(void *user, const LRepeat *r, const char *turns, const char *met);
    void *user;
} CCalls;
/* In order; those of repeats in loops over the turns. */
void tessi_c_calls(CWriter *w, const CCalls *calls);

/* ---- c_program.c ---- */
/* Everything a program is made of, up to and including its public function; `is_static` for the reference. */
void tessi_c_program(CWriter *w, bool is_static);
/* Writes a check that no size is below 1, and the statement that stands for "one is". */
void tessi_c_check_sizes(CWriter *w, const char *otherwise);
/* The same where sizes disagree that images must have in common. */
void tessi_c_check_equal(CWriter *w, const char *otherwise);
/* A table as an array. */
void tessi_c_table(CWriter *w, const LBuffer *b, const char *storage, const char *name);

/* ---- target_c.c ---- */
/* The comment at the head of a file: the program, how to use it, the plan. */
void tessi_c_head(CWriter *w, const EmitOptions *o, const char *usage);
/* The comment before the public function: what it returns, and its arguments. */
extern const char tessi_c_returns[];
void tessi_c_describe(CWriter *w, const char *returns);
/* A header that declares the public function, behind its comment; `includes` ends with an empty line. */
void tessi_c_header(CWriter *w, const char *includes, const char *returns, const CParameters *list);
/* What stands between the prelude and a program in C: headers, pragmas, macros. */
void tessi_c_frame(Text *out);

/* ---- c_selftest.c ---- */
/* A main that compares the function `tested`, with the parameters of the program of w, with the program of
 * `reference`. */
void tessi_c_selftest(CWriter *w, const char *tested, CWriter *reference);

#endif
