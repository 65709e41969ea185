/* Tokens of the text form of graphs. Any bytes are accepted; what is no token is reported once. */
#include "graph/graph_lex.h"

#include <string.h>

#include "graph/graph_text.h"

void tessi_graph_read_fail(Reader *r, const char *fmt, ...)
{
    if (r->failed)
        return;
    r->failed = true;
    va_list args;
    va_start(args, fmt);
    const char *what = tessi_vsprintf(r->arena, fmt, args);
    va_end(args);
    tessi_diag(r->diags, DIAG_BAD_GRAPH_TEXT, (Span){ 0 },
               tessi_sprintf(r->arena, "line %u: %s", r->line, what));
    r->token = (Token){ .kind = TOKEN_END, .text = "" };
}

/* ---- Scanning -------------------------------------------------------------------------------- */
static char peek(const Reader *r, size_t ahead)
{
    return r->at + ahead < r->n ? r->text[r->at + ahead] : '\0';
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static void skip_blanks(Reader *r)
{
    for (; r->at < r->n; r->at++) {
        char c = r->text[r->at];
        if (c == '#')
            while (r->at + 1 < r->n && r->text[r->at + 1] != '\n')
                r->at++;
        else if (c == '\n')
            r->line++;
        else if (c != ' ' && c != '\t' && c != '\r')
            return;
    }
}

static uint64_t scan_digits(Reader *r)
{
    uint64_t value = 0;
    for (; is_digit(peek(r, 0)); r->at++) {
        uint64_t digit = (uint64_t)(peek(r, 0) - '0');
        if (value > (UINT64_MAX - digit) / 10) {
            tessi_graph_read_fail(r, "a number is too large");
            return 0;
        }
        value = value * 10 + digit;
    }
    return value;
}

static size_t digits_end(const Reader *r, size_t at)
{
    while (at < r->n && is_digit(r->text[at]))
        at++;
    return at;
}

/* Digits [. digits] [e [+-] digits] and a suffix of letters; "1..2" is no real. */
static void scan_number(Reader *r)
{
    Token *t = &r->token;
    size_t begin = r->at, end = digits_end(r, begin);
    bool has_point = end + 1 < r->n && r->text[end] == '.' && is_digit(r->text[end + 1]);
    if (has_point)
        end = digits_end(r, end + 1);
    size_t exponent = end + 1;
    if (exponent < r->n && (r->text[exponent] == '+' || r->text[exponent] == '-'))
        exponent++;
    bool has_exponent = end < r->n && r->text[end] == 'e' && digits_end(r, exponent) > exponent;
    if (has_exponent)
        end = digits_end(r, exponent);
    if (has_point || has_exponent) {
        t->kind = TOKEN_REAL;
        t->digits = r->text + begin;
        t->n_digits = end - begin;
        r->at = end;
    } else {
        t->kind = TOKEN_INTEGER;
        t->integer = scan_digits(r);
    }
    size_t suffix = r->at;
    while (is_letter(peek(r, 0)) || is_digit(peek(r, 0)))
        r->at++;
    t->text = tessi_strndup(r->arena, r->text + suffix, r->at - suffix);
}

static unsigned hex_value(char c)
{
    return is_digit(c) ? (unsigned)(c - '0') : c >= 'a' && c <= 'f' ? (unsigned)(c - 'a' + 10) : 16;
}

/* The byte that an escape at r->at stands for (\" \\ \x7f), 0 for none; r->at moves to its last character. */
static char scan_escape(Reader *r)
{
    char c = peek(r, 1);
    if (c == 'x') {
        unsigned high = hex_value(peek(r, 2)), low = high < 16 ? hex_value(peek(r, 3)) : 16;
        r->at += 3;
        return low < 16 ? (char)(high * 16 + low) : '\0';
    }
    r->at++;
    return c == '"' || c == '\\' ? c : '\0';
}

static void scan_quoted(Reader *r)
{
    Text name = tessi_text_new(r->arena);
    for (r->at++; peek(r, 0) != '"'; r->at++) {
        char c = peek(r, 0) == '\n' ? '\0' : peek(r, 0);
        if (c == '\\')
            c = scan_escape(r);
        if (c == '\0') {
            tessi_graph_read_fail(r, "a quoted name does not end, or holds an unknown escape");
            return;
        }
        tessi_text_addn(&name, &c, 1);
    }
    r->at++;
    r->token = (Token){ .kind = TOKEN_NAME, .quoted = true, .text = tessi_text_str(&name) };
}

static void scan_winvar(Reader *r)
{
    static const char letters[] = "ijkl";
    const char *letter = peek(r, 1) ? strchr(letters, peek(r, 1)) : NULL;
    r->at += 2;
    uint64_t level = is_digit(peek(r, 0)) ? scan_digits(r) : 0;
    if (!letter || level >= MAX_WINDOW_LEVELS) {
        tessi_graph_read_fail(r, "'$' does not begin a window variable ($i, $j, $k, $l, $i1, ..)");
        return;
    }
    r->token = (Token){ .kind = TOKEN_WINVAR,
                        .integer = (uint64_t)(letter - letters),
                        .level = (uint32_t)level };
}

static void scan_mark(Reader *r)
{
    static const char *const marks[] = { "..", "==", "!=", "<=", "<<", ">>", "@[", "[", "]", "(",
                                         ")",  "{",  "}",  ",",  ";",  ":",  "=",  "+", "-", "*",
                                         "/",  "%",  "&",  "|",  "^",  "<",  ">",  "~" };
    for (size_t k = 0; k < sizeof marks / sizeof *marks; k++) {
        size_t n = strlen(marks[k]);
        if (n > r->n - r->at || strncmp(r->text + r->at, marks[k], n) != 0)
            continue;
        r->at += n;
        r->token = (Token){ .kind = TOKEN_MARK, .text = marks[k] };
        return;
    }
    tessi_graph_read_fail(r, "a character that means nothing here");
}

void tessi_graph_read_next(Reader *r)
{
    if (r->failed)
        return;
    skip_blanks(r);
    r->token = (Token){ .kind = TOKEN_END, .text = "" };
    if (r->at >= r->n)
        return;
    size_t name = tessi_graph_name_length(r->text + r->at, r->n - r->at);
    char c = peek(r, 0);
    if (name) {
        r->token.kind = TOKEN_NAME;
        r->token.text = tessi_strndup(r->arena, r->text + r->at, name);
        r->at += name;
    } else if (is_digit(c)) {
        scan_number(r);
    } else if (c == '"') {
        scan_quoted(r);
    } else if (c == '$') {
        scan_winvar(r);
    } else if (c == '%' && is_digit(peek(r, 1))) {
        r->at++;
        r->token = (Token){ .kind = TOKEN_LET, .integer = scan_digits(r) };
    } else {
        scan_mark(r);
    }
    if (r->failed)
        r->token = (Token){ .kind = TOKEN_END, .text = "" };
}

/* ---- What readers ask for -------------------------------------------------------------------- */
bool tessi_graph_read_is(const Reader *r, const char *mark_or_keyword)
{
    const Token *t = &r->token;
    bool may_be = t->kind == TOKEN_MARK || (t->kind == TOKEN_NAME && !t->quoted);
    return may_be && tessi_streq(t->text, mark_or_keyword);
}

bool tessi_graph_read_accept(Reader *r, const char *mark_or_keyword)
{
    if (!tessi_graph_read_is(r, mark_or_keyword))
        return false;
    tessi_graph_read_next(r);
    return true;
}

static const char *shown(const Reader *r)
{
    const Token *t = &r->token;
    switch (t->kind) {
    case TOKEN_END: return "the end of the text";
    case TOKEN_NAME:
    case TOKEN_MARK: return tessi_sprintf(r->arena, "'%.40s'", t->text);
    case TOKEN_LET: return "a name of a shared expression";
    case TOKEN_WINVAR: return "a window variable";
    default: return "a number";
    }
}

void tessi_graph_read_expect(Reader *r, const char *mark_or_keyword)
{
    if (!tessi_graph_read_accept(r, mark_or_keyword))
        tessi_graph_read_fail(r, "'%s' is expected, not %s", mark_or_keyword, shown(r));
}

const char *tessi_graph_read_name(Reader *r, const char *what)
{
    const Token t = r->token;
    if (t.kind != TOKEN_NAME || (!t.quoted && tessi_graph_is_keyword(t.text))) {
        tessi_graph_read_fail(r, "%s is expected, not %s", what, shown(r));
        return "";
    }
    tessi_graph_read_next(r);
    return t.text;
}

int64_t tessi_graph_read_integer(Reader *r, int64_t lo, int64_t hi)
{
    bool minus = tessi_graph_read_accept(r, "-");
    const Token t = r->token;
    if (t.kind != TOKEN_INTEGER || *t.text) {
        tessi_graph_read_fail(r, "an integer is expected, not %s", shown(r));
        return lo;
    }
    bool fits = t.integer <= (uint64_t)INT64_MAX;
    int64_t value = fits ? (minus ? -(int64_t)t.integer : (int64_t)t.integer) : 0;
    if (!fits || value < lo || value > hi) {
        tessi_graph_read_fail(r, "an integer in %lld..%lld is expected", (long long)lo,
                              (long long)hi);
        return lo;
    }
    tessi_graph_read_next(r);
    return value;
}

ScalarType tessi_graph_read_type(Reader *r)
{
    ScalarType t;
    if (r->token.kind != TOKEN_NAME || r->token.quoted || !tessi_type_by_name(r->token.text, &t)
        || t == TYPE_INDEX) {
        tessi_graph_read_fail(r, "a type is expected, not %s", shown(r));
        return TYPE_I32;
    }
    tessi_graph_read_next(r);
    return t;
}

bool tessi_graph_read_enter(Reader *r)
{
    if (r->failed)
        return false;
    if (r->depth >= READ_DEPTH) {
        tessi_graph_read_fail(r, "expressions are nested deeper than %d", READ_DEPTH);
        return false;
    }
    r->depth++;
    return true;
}

void tessi_graph_read_leave(Reader *r)
{
    r->depth--;
}

StageId tessi_graph_read_stage_name(Reader *r)
{
    const char *name = tessi_graph_read_name(r, "a stage");
    StageId id = tessi_graph_stage_by_name(r->g, name);
    if (!id.v)
        tessi_graph_read_fail(r, "there is no stage '%.40s' before this one", name);
    return id;
}
