/* Diagnostics: what we tell the author of a program. Codes and sentences stand in diags.def; this file collects them
 * with places in the source and renders them (LANGUAGE section "Errors"). */
#ifndef TESSERA_BASE_DIAG_H
#define TESSERA_BASE_DIAG_H

#include "base/base.h"

/* A place: file index in the source map and byte range [begin, end). file 0 is "nowhere". */
typedef struct Span {
    uint16_t file;
    uint32_t begin, end;
} Span;

typedef struct SourceFile {
    const char *name; /* as shown to the user */
    const char *text; /* NUL-terminated copy */
    size_t n;
} SourceFile;

typedef struct SourceMap {
    Arena *arena;
    VEC(SourceFile) files; /* at[0] is the "nowhere" file */
} SourceMap;

void tessi_sources_init(SourceMap *m, Arena *a);
uint16_t tessi_sources_add(SourceMap *m, const char *name, const char *text, size_t n);
void tessi_sources_line_col(const SourceMap *m, uint16_t file, uint32_t offset, int *line,
                            int *col); /* 1-based, col in bytes */
Span tessi_span_join(Span a, Span b);

typedef enum DiagCode {
#define DIAG(id, severity, code, text) DIAG_##id,
#include "base/diags.def"
#undef DIAG
    N_DIAGS
} DiagCode;

typedef enum Severity { SEV_ERROR, SEV_WARNING } Severity;

typedef struct DiagNote {
    bool is_help;
    Span span; /* file 0 = no place */
    const char *text;
} DiagNote;

typedef struct Diag {
    DiagCode code;
    Severity severity;
    Span span;
    const char *text; /* the fact: one sentence */
    VEC(DiagNote) notes;
} Diag;

typedef struct Diags {
    Arena *arena;
    const SourceMap *sources;
    VEC(Diag) list;
    uint32_t n_errors, n_warnings, n_dropped;
    uint32_t max_errors; /* 20 unless set */
} Diags;

void tessi_diags_init(Diags *d, Arena *a, const SourceMap *sources);
/* Adds the diagnostic `code` at `span`, its sentence formatted with the arguments that diags.def asks for. Returns a
 * handle for notes (valid until the next call), never NULL. The same code at the same span is reported once. */
Diag *tessi_diag(Diags *d, DiagCode code, Span span, ...);
void tessi_diag_note(Diags *d, Diag *diag, Span span, const char *fmt, ...) TESS_PRINTF(4, 5);
void tessi_diag_help(Diags *d, Diag *diag, const char *fmt, ...) TESS_PRINTF(3, 4);
bool tessi_diags_full(const Diags *d);           /* max_errors reached: the caller may stop */
const char *tessi_diag_code_text(DiagCode code); /* "E0102" */
const char *tessi_diag_id(DiagCode code);        /* "UNKNOWN_NAME", for tests */

/* Text of all diagnostics as shown in a terminal, in order of place within each file; color adds ANSI escapes. */
void tessi_diags_render(const Diags *d, Text *out, bool color);
/* One JSON object a line: code, severity, file, line, column, end_line, end_column, message, notes, help. */
void tessi_diags_render_json(const Diags *d, Text *out);

#endif
