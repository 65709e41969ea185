/* Diagnostics as text for a terminal (code, place, source line, caret, fact, help) and as JSON for editors. */
#include <string.h>

#include "base/diag.h"

/* ANSI colours, or nothing. */
typedef struct Palette {
    const char *bold, *error, *warning, *note, *off;
} Palette;
static const Palette colored = { "\x1b[1m", "\x1b[1;31m", "\x1b[1;35m", "\x1b[1;36m", "\x1b[0m" };
static const Palette plain = { "", "", "", "", "" };

enum { WIDEST_LINE = 160 }; /* of a source line shown; longer ones are cut around the place */

static void add_place(const SourceMap *m, Span s, Text *out)
{
    if (!s.file || s.file >= m->files.n)
        return;
    int line, col;
    tessi_sources_line_col(m, s.file, s.begin, &line, &col);
    tessi_text_addf(out, "%s:%d:%d: ", m->files.at[s.file].name, line, col);
}

/* One printable character for each byte shown, so that the caret stands under its column. */
static void add_source_bytes(const char *text, size_t n, Text *out)
{
    for (size_t i = 0; i < n; i++) {
        unsigned char c = (unsigned char)text[i];
        tessi_text_addn(out, c == '\t' ? " " : c < 32 || c == 127 ? "?" : &text[i], 1);
    }
}

static size_t columns(const char *text, size_t n)
{
    size_t count = 0;
    for (size_t i = 0; i < n; i++)
        count += ((unsigned char)text[i] & 0xc0)
                 != 0x80; /* continuation bytes of UTF-8 take no column */
    return count;
}

static void add_source_line(const SourceMap *m, Span s, const Palette *p, const char *color,
                            Text *out)
{
    if (!s.file || s.file >= m->files.n)
        return;
    const SourceFile *f = &m->files.at[s.file];
    size_t begin = s.begin < f->n ? s.begin : f->n, start = begin, end = begin;
    while (start > 0 && f->text[start - 1] != '\n')
        start--;
    while (end < f->n && f->text[end] != '\n' && f->text[end] != '\r')
        end++;
    if (begin - start > WIDEST_LINE / 2)
        start = begin - WIDEST_LINE / 2;
    while (start < begin && ((unsigned char)f->text[start] & 0xc0) == 0x80)
        start++;
    if (end - start > WIDEST_LINE)
        end = start + WIDEST_LINE;
    while (end > begin && end < f->n && ((unsigned char)f->text[end] & 0xc0) == 0x80)
        end--;
    tessi_text_add(out, "    ");
    add_source_bytes(f->text + start, end - start, out);
    tessi_text_add(out, "\n    ");
    for (size_t i = columns(f->text + start, begin - start); i > 0; i--)
        tessi_text_add(out, " ");
    tessi_text_addf(out, "%s^", color);
    size_t stop = s.end < end ? s.end : end;
    for (size_t i = stop > begin ? columns(f->text + begin, stop - begin) : 0; i > 1; i--)
        tessi_text_add(out, "~");
    tessi_text_addf(out, "%s\n", p->off);
}

/* Order of report: by file and place, keeping the order of discovery for equal places. */
static void sorted_order(const Diags *d, uint32_t *order)
{
    for (uint32_t i = 0; i < d->list.n; i++) {
        uint32_t k = i;
        for (; k > 0; k--) {
            Span a = d->list.at[order[k - 1]].span, b = d->list.at[i].span;
            if (a.file < b.file || (a.file == b.file && a.begin <= b.begin))
                break;
            order[k] = order[k - 1];
        }
        order[k] = i;
    }
}

void tessi_diags_render(const Diags *d, Text *out, bool color)
{
    const Palette *p = color ? &colored : &plain;
    uint32_t *order = ARENA_NEW_ARRAY(d->arena, uint32_t, d->list.n + 1);
    sorted_order(d, order);
    for (uint32_t i = 0; i < d->list.n; i++) {
        const Diag *diag = &d->list.at[order[i]];
        bool error = diag->severity == SEV_ERROR;
        const char *tint = error ? p->error : p->warning;
        tessi_text_add(out, p->bold);
        add_place(d->sources, diag->span, out);
        tessi_text_addf(out, "%s%s%s[%s]%s: %s%s%s\n", p->off, tint, error ? "error" : "warning",
                        tessi_diag_code_text(diag->code), p->off, p->bold, diag->text, p->off);
        add_source_line(d->sources, diag->span, p, tint, out);
        VEC_FOREACH (DiagNote, note, &diag->notes) {
            tessi_text_add(out, "  ");
            add_place(d->sources, note->span, out);
            tessi_text_addf(out, "%s%s%s: %s\n", p->note, note->is_help ? "help" : "note", p->off,
                            note->text);
            add_source_line(d->sources, note->span, p, p->note, out);
        }
    }
    if (d->n_dropped)
        tessi_text_addf(out, "%u more not shown\n", d->n_dropped);
}

static void add_json_texts(const Diag *diag, bool help, Text *out)
{
    bool first = true;
    VEC_FOREACH (DiagNote, note, &diag->notes) {
        if (note->is_help != help)
            continue;
        if (!first)
            tessi_text_add(out, ",");
        first = false;
        tessi_text_json(out, note->text);
    }
}

void tessi_diags_render_json(const Diags *d, Text *out)
{
    uint32_t *order = ARENA_NEW_ARRAY(d->arena, uint32_t, d->list.n + 1);
    sorted_order(d, order);
    for (uint32_t i = 0; i < d->list.n; i++) {
        const Diag *diag = &d->list.at[order[i]];
        Span s = diag->span;
        int line, col, end_line, end_col;
        tessi_sources_line_col(d->sources, s.file, s.begin, &line, &col);
        tessi_sources_line_col(d->sources, s.file, s.end, &end_line, &end_col);
        tessi_text_addf(out, "{\"severity\":\"%s\",\"code\":\"%s\",\"file\":",
                        diag->severity == SEV_ERROR ? "error" : "warning",
                        tessi_diag_code_text(diag->code));
        tessi_text_json(out, d->sources->files.at[s.file < d->sources->files.n ? s.file : 0].name);
        tessi_text_addf(
            out, ",\"line\":%d,\"column\":%d,\"end_line\":%d,\"end_column\":%d,\"message\":", line,
            col, end_line, end_col);
        tessi_text_json(out, diag->text);
        tessi_text_add(out, ",\"notes\":[");
        add_json_texts(diag, false, out);
        tessi_text_add(out, "],\"help\":[");
        add_json_texts(diag, true, out);
        tessi_text_add(out, "]}\n");
    }
}
