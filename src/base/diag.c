/* Collecting diagnostics and finding the line and column of a place. Rendering is in diag_render.c. */
#include <string.h>

#include "base/diag.h"

typedef struct DiagInfo {
    const char *id, *code, *text;
    Severity severity;
} DiagInfo;

static const DiagInfo diag_info[N_DIAGS] = {
#define DIAG(id, severity, code, text) [DIAG_##id] = { #id, code, text, severity },
#include "base/diags.def"
#undef DIAG
};

const char *tessi_diag_code_text(DiagCode code)
{
    return diag_info[code].code;
}

const char *tessi_diag_id(DiagCode code)
{
    return diag_info[code].id;
}

void tessi_sources_init(SourceMap *m, Arena *a)
{
    memset(m, 0, sizeof *m);
    m->arena = a;
    SourceFile nowhere = { "", "", 0 };
    VEC_PUSH(a, &m->files, nowhere);
}

uint16_t tessi_sources_add(SourceMap *m, const char *name, const char *text, size_t n)
{
    SourceFile f = { tessi_strdup(m->arena, name), tessi_strndup(m->arena, text, n), n };
    VEC_PUSH(m->arena, &m->files, f);
    return (uint16_t)(m->files.n - 1);
}

void tessi_sources_line_col(const SourceMap *m, uint16_t file, uint32_t offset, int *line, int *col)
{
    const SourceFile *f = &m->files.at[file < m->files.n ? file : 0];
    if (offset > f->n)
        offset = (uint32_t)f->n;
    *line = 1;
    uint32_t start = 0;
    for (uint32_t i = 0; i < offset; i++) {
        if (f->text[i] == '\n') {
            ++*line;
            start = i + 1;
        }
    }
    *col = (int)(offset - start) + 1;
}

Span tessi_span_join(Span a, Span b)
{
    if (a.file != b.file || !a.file)
        return a.file ? a : b;
    return (Span){ a.file, a.begin < b.begin ? a.begin : b.begin, a.end > b.end ? a.end : b.end };
}

void tessi_diags_init(Diags *d, Arena *a, const SourceMap *sources)
{
    memset(d, 0, sizeof *d);
    d->arena = a;
    d->sources = sources;
    d->max_errors = 20;
}

bool tessi_diags_full(const Diags *d)
{
    return d->n_errors >= d->max_errors;
}

Diag *tessi_diag(Diags *d, DiagCode code, Span span, ...)
{
    const DiagInfo *info = &diag_info[code];
    Diag diag = { .code = code, .severity = info->severity, .span = span };
    va_list args;
    va_start(args, span);
    diag.text = tessi_vsprintf(d->arena, info->text, args);
    va_end(args);

    VEC_FOREACH (Diag, old, &d->list) {
        if (old->code == code && old->span.file == span.file && old->span.begin == span.begin
            && tessi_streq(old->text, diag.text)) {
            Diag *unused =
                ARENA_NEW(d->arena, Diag); /* said already; notes to this one go nowhere */
            *unused = diag;
            return unused;
        }
    }
    bool too_many =
        info->severity == SEV_ERROR ? tessi_diags_full(d) : d->n_warnings >= d->max_errors;
    if (too_many) {
        d->n_dropped++;
        Diag *unused = ARENA_NEW(d->arena, Diag);
        *unused = diag;
        return unused;
    }
    if (info->severity == SEV_ERROR)
        d->n_errors++;
    else
        d->n_warnings++;
    VEC_PUSH(d->arena, &d->list, diag);
    return &d->list.at[d->list.n - 1];
}

void tessi_diag_note(Diags *d, Diag *diag, Span span, const char *fmt, ...)
{
    DiagNote note = { .span = span };
    va_list args;
    va_start(args, fmt);
    note.text = tessi_vsprintf(d->arena, fmt, args);
    va_end(args);
    VEC_PUSH(d->arena, &diag->notes, note);
}

void tessi_diag_help(Diags *d, Diag *diag, const char *fmt, ...)
{
    DiagNote note = { .is_help = true };
    va_list args;
    va_start(args, fmt);
    note.text = tessi_vsprintf(d->arena, fmt, args);
    va_end(args);
    VEC_PUSH(d->arena, &diag->notes, note);
}
