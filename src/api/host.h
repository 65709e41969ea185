/* Programs as code in this process: what the row of C (backend_c.c) is made of. */
#ifndef TESSERA_API_HOST_H
#define TESSERA_API_HOST_H

#include "api/backend.h"

/* ---- module.c: C text to a loaded function */
bool tessi_find_compiler(tess_program *p, Failure *f); /* takes the lock of the program */
/* There is none at all. Else it is tried meanwhile, unless the first run may go ahead of it; takes the lock. */
bool tessi_lacks_compiler(tess_program *p, bool ahead);
bool tessi_variant_load(tess_program *p, Variant *v, Failure *f);
/* The same from the cache alone; false when it is not there. */
bool tessi_variant_recall(tess_program *p, Variant *v);
/* A text that was compiled: what the cache knows of it, and the function that it is called by. */
typedef struct CodeName {
    Digest text;
    size_t length;
    const char *function;
} CodeName;
const char *tessi_code_function(const LoopProgram *loops, Arena *a);
/* Its code from the cache alone, where the compiler is known; false when it is not there. */
bool tessi_code_recall(tess_program *p, const CodeName *code, RtModule *module, ModuleEntry *entry);
/* Has the text of the variant compiled by a process of its own, for the cache; false: there is no cache, or no such
 * process. */
bool tessi_variant_begin(tess_program *p, Variant *v);
/* The compiler is known: nobody has to wait until it was tried. */
bool tessi_knows_compiler(tess_program *p);
/* Compiles and loads any text once the compiler was found; needs no lock, and shares nothing that changes with other
 * calls. */
bool tessi_load_text(const tess_program *p, const LoopProgram *loops, const char *c_text,
                     RtModule *module, ModuleEntry *entry, bool *cached, Failure *f);

/* ---- known.c: code found without a plan */
/* For a run with a variant that has none yet: whether it was found, and the variant can run. */
bool tessi_known_find(const Run *run);
/* The variant has code of its own plan: later processes find it, if they can. */
void tessi_known_keep(tess_program *p, const Variant *v);

/* ---- first.c */
/* Runs need not wait for the compiler. */
bool tessi_first_is_asked(const tess_program *p);
/* This run by the strip machine is expected to end before the compiler of the variant's text would. */
bool tessi_first_pays(const tess_program *p, const Variant *v, const tess_args *a);

/* ---- backend_c.c */
/* Loops as text; the variant's as its text. */
const char *tessi_c_text(const tess_program *p, const LoopProgram *loops, Arena *a);
bool tessi_c_variant_text(const tess_program *p, Variant *v, Failure *f);
/* Calls the entry of a module, with the parameters of the arguments behind the program's, with so many threads (0:
 * OpenMP's default), in the workspace of `a`. */
bool tessi_run_entry(const Graph *g, ModuleEntry entry, const Binding *b, int threads, Arena *arena,
                     tess_args *a);

#endif
