/* What printers ask of the language that they print. Each language is a row: a struct that its file target_*.c
 * fills. All are dialects of C with one vocabulary, the words tess_ and TESS_ of the preludes; a row says which of
 * them a language has, and what differs besides. */
#ifndef TESSERA_EMIT_TARGET_H
#define TESSERA_EMIT_TARGET_H

#include "base/base.h"
#include "loop/loop.h"

typedef struct EmitOptions EmitOptions;
typedef struct EmitModule EmitModule;
typedef struct EmitTarget EmitTarget;

/* Texts with reserved names of their own, as flags: those of the languages, and C_IN_PUBLIC for what other files
 * see. */
enum {
#define TARGET(id, row) EMIT_TEXT_##id,
#include "emit/targets.def"
#undef TARGET
    N_EMIT_TEXTS
};
typedef enum CTexts {
#define TARGET(id, row) C_IN_##id = 1 << EMIT_TEXT_##id,
#include "emit/targets.def"
#undef TARGET
    C_IN_PUBLIC = 1 << N_EMIT_TEXTS
} CTexts;

struct EmitTarget {
    /* ---- For everybody ---- */
    const char *name;     /* as users say it: --target=NAME, --dump=NAME */
    const char *title;    /* in sentences */
    const char *language; /* in the heads of files */
    const char *suffix;   /* of files */
    /* What the header of a build says, and headers of other targets do not; NULL: nothing. */
    const char *header_mark;
    /* The options of the compiler without which the bits are not ours, separated by blanks. */
    const char *flags;
    bool kernels; /* functions are kernels, of blocks of threads; else they run on one processor */

    /* A text to be compiled for a run, and what launchers must know of it (nothing where there are no kernels). */
    void (*print)(const LoopProgram *p, const EmitTarget *t, const EmitOptions *o, Text *out,
                  EmitModule *module);
    /* The text of a build ahead of time: with its launcher, and a self-test when there is a reference. */
    void (*print_file)(const LoopProgram *p, const EmitTarget *t, const EmitOptions *o, Text *out);
    /* The declaration of its public function. */
    void (*print_header)(const LoopProgram *p, const EmitTarget *t, const EmitOptions *o,
                         Text *out);

    /* ---- Names and types ---- */
    CTexts texts;      /* where its names stand */
    const char *index; /* the type of coordinates */
    /* Types of parameters: of truth values, of bytes, of strides. */
    const char *flag, *byte, *stride;
    /* Before the type of a parameter that is a value, and of what one points to: changed, only read, in constant
     * memory; and before the name of such a pointer. */
    const char *value, *global, *const_global, *constant, *restricted;

    /* ---- Words; NULL: there is none, and what asks for it is printed without ---- */
    /* Before loops: on all cores (with _LONG or _SIMD behind it), in vectors, written out, not to be written out. */
    const char *parallel, *simd, *unroll, *unroll_by, *no_unroll;
    const char *likely;       /* a condition that mostly holds */
    const char *here, *after; /* a value computed where it stands; behind another one */
    const char *keep;         /* a value that nobody uses, and that must be computed */
    const char *atomic;       /* a statement before += on memory that others add to */
    const char *atomic_add;   /* a function that does it, with the type behind its name */
    const char *take, *give; /* move consecutive elements into a line and out of it; NULL: memcpy */
    const char *pitch; /* the elements from row to row, by the bytes of one; NULL: a variable */
    const char *barrier;

    /* ---- What it can do ---- */
    /* Its compilers move negations into fused multiply-adds whatever their flags are (c_negate.c). */
    bool fuses_negations;
    bool whole_roots;  /* shorter roots of what was a whole number */
    bool quick_powers; /* rough powers, which tell most bytes */
    bool workspace;    /* large LOCAL buffers lie in the part of a thread in the workspace */
    bool shuffles;     /* threads of a warp hand values over in registers; else in shared memory */
    /* How the text declares tables, tables too large for constant memory, and buffers in constant memory; NULL: it
     * cannot, and a launcher hands them over. */
    const char *table, *memory_table, *constant_buffer;
    const struct GpuApi *api; /* of its launchers (gpu_private.h); NULL: there are no kernels */
};

#define TARGET(id, row) extern const EmitTarget tessi_emit_##row;
#include "emit/targets.def"
#undef TARGET

#endif
