/* A whole file: definitions, then declarations, then statements, then `return`; and the files read by `use`. */
#include <string.h>

#include "front/parse.h"

typedef enum Phase { PHASE_DEFINITIONS, PHASE_DECLARATIONS, PHASE_STATEMENTS } Phase;

static const char *const phase_names[] = { "definitions", "declarations of parameters and inputs",
                                           "statements" };

typedef struct FileState {
    bool used; /* read by `use`: definitions only */
    Phase phase;
    bool said[PHASE_STATEMENTS]; /* that this phase came too late */
    uint32_t last_definition;    /* token where the last struct or function begins; 0 = none */
    bool returned, stopped;
} FileState;

static void too_late(Parser *p, FileState *f, Phase wanted)
{
    if (f->said[wanted])
        return;
    f->said[wanted] = true;
    tessi_diag(p->diags, DIAG_WRONG_ORDER, tessi_parse_token_span(p, p->at), phase_names[wanted],
               phase_names[f->phase]);
}

/* The rule would be in force for statements above it too. */
static void border_too_late(Parser *p)
{
    Diag *d = tessi_diag(p->diags, DIAG_WRONG_ORDER, tessi_parse_token_span(p, p->at),
                         "the border rule of the program", phase_names[PHASE_STATEMENTS]);
    tessi_diag_help(p->diags, d, "for one read write it there, 'photo:reflect'");
}

/* The parts of a program may stand in any order that defines before use; those of the original dialect may not. */
static void enter_phase(Parser *p, FileState *f, Phase wanted)
{
    if (wanted < f->phase && p->forma)
        too_late(p, f, wanted);
    else if (wanted > f->phase)
        f->phase = wanted;
}

/* use "name"; */
static void use_file(Parser *p)
{
    tessi_parse_advance(p);
    Span span = tessi_parse_token_span(p, p->at);
    if (p->tokens[p->at].kind != TOK_STRING) {
        Diag *d = tessi_parse_unexpected(p, "the name of a file in double quotes");
        if (d && p->tokens[p->at].kind == TOK_NAME)
            tessi_diag_help(p->diags, d, "write 'use \"%.*s\";'", (int)(span.end - span.begin),
                            p->text + span.begin);
        return;
    }
    tessi_parse_advance(p);
    static const char suffix[] = ".tess"; /* may be written */
    size_t length = span.end - span.begin - 2, tail = sizeof suffix - 1;
    if (length > tail && !memcmp(p->text + span.end - 1 - tail, suffix, tail))
        length -= tail;
    const char *name = tessi_parse_intern(p, p->text + span.begin + 1, length);
    tessi_parse_semicolon(p);
    for (uint32_t i = 0; i < p->used.n; i++)
        if (p->used.at[i] == name)
            return;
    if (p->used.n == PARSE_MAX_USED_FILES) {
        tessi_diag(p->diags, DIAG_LIMIT, span, "files that are used",
                   (long long)PARSE_MAX_USED_FILES);
        return;
    }
    VEC_PUSH(p->arena, &p->used, name);
    size_t n = 0;
    const char *text = p->use ? p->use(p->use_user, name, &n) : NULL;
    if (!text) {
        tessi_diag(p->diags, DIAG_UNKNOWN_USE, span, name);
        return;
    }
    uint16_t file =
        tessi_sources_add(p->sources, tessi_sprintf(p->arena, "%s.tess", name), text, n);
    bool panic = p->panic;
    tessi_parse_file(p, file, false, true);
    p->panic = panic;
}

static bool at_use(const Parser *p)
{
    TokenKind next = tessi_parse_look(p, 1);
    return !p->forma && tessi_parse_is_word(p, 0, "use")
           && (next == TOK_STRING || next == TOK_BROKEN || next == TOK_NAME);
}

/* border rule;  border [rule, rule];  but not the statement border[..] = value; */
static bool at_border(const Parser *p)
{
    if (p->forma || !tessi_parse_is_word(p, 0, "border"))
        return false;
    if (tessi_parse_look(p, 1) == TOK_NAME)
        return true;
    if (tessi_parse_look(p, 1) != TOK_LBRACKET)
        return false;
    uint32_t ahead = 2;
    while (tessi_parse_look(p, ahead) == TOK_NAME || tessi_parse_look(p, ahead) == TOK_COMMA)
        ahead++;
    TokenKind kind = tessi_parse_look(p, ahead), after = tessi_parse_look(p, ahead + 1);
    return kind == TOK_LPAREN || (kind == TOK_RBRACKET && after == TOK_SEMICOLON);
}

static void program_border(Parser *p)
{
    uint32_t first = p->at;
    AstBorders rules = { 0 };
    tessi_parse_advance(p);
    tessi_parse_borders(p, &rules);
    Span span = tessi_parse_span_from(p, first);
    tessi_parse_semicolon(p);
    if (p->panic)
        return;
    if (p->ast->border.n || p->ast->border.missing.name.text) {
        Diag *d = tessi_diag(p->diags, DIAG_BORDER_TWICE, span);
        tessi_diag_note(p->diags, d, p->ast->border_span, "the first stands here");
        return;
    }
    p->ast->border = rules;
    p->ast->border_span = span;
}

static void push_stmt(Parser *p, AstStmts *out)
{
    AstStmt *s = tessi_parse_stmt(p);
    if (s)
        VEC_PUSH(p->arena, out, s);
}

/* At a typed name: the place of its `=`, or 0 when it has none. */
static uint32_t initialiser(const Parser *p)
{
    uint32_t ahead = 0;
    TokenKind kind = tessi_parse_look(p, ahead);
    while (kind == TOK_CONST || kind == TOK_TYPE || kind == TOK_STRUCT || kind == TOK_NAME)
        kind = tessi_parse_look(p, ++ahead);
    return kind == TOK_ASSIGN ? ahead : 0;
}

/* Does the value behind the `=` at token `ahead` mention a name (functions apart)? A default does not: it is known
 * before anything of the program is. */
static bool mentions_names(const Parser *p, uint32_t ahead)
{
    for (;; ahead++) {
        TokenKind kind = tessi_parse_look(p, ahead);
        if (kind == TOK_END || kind == TOK_SEMICOLON || kind == TOK_BROKEN
            || tessi_parse_is_word(p, ahead, "in"))
            return false;
        if (kind == TOK_NAME && tessi_parse_look(p, ahead + 1) != TOK_LPAREN)
            return true;
    }
}

/* A typed name is an input when it has no value or one that mentions no name, else a statement. Among the
 * definitions, `const` is one of them when a function or struct, which may need it, comes later. */
static void typed_item(Parser *p, FileState *f)
{
    bool is_const = tessi_parse_peek(p) == TOK_CONST;
    uint32_t value = initialiser(p);
    if (tessi_parse_misspelt(p))
        return;
    if (value && is_const && f->phase == PHASE_DEFINITIONS && p->at < f->last_definition) {
        push_stmt(p, &p->ast->constants);
    } else if (value && !p->forma && (f->phase == PHASE_STATEMENTS || mentions_names(p, value))) {
        if (!is_const)
            f->phase = PHASE_STATEMENTS;
        push_stmt(p, &p->ast->body);
    } else {
        enter_phase(p, f, PHASE_DECLARATIONS);
        tessi_parse_decl(p);
    }
}

static void program_return(Parser *p, FileState *f)
{
    f->returned = true;
    tessi_parse_return(p, &p->ast->result, &p->ast->result_span);
    if (!p->panic && p->forma && p->ast->result.n > 1) {
        Diag *d = tessi_diag(p->diags, DIAG_ONE_RESULT, p->ast->result.at[1]->span,
                             "a program of the original dialect");
        tessi_diag_help(p->diags, d, "several images are the fields of one: struct T(a, b)");
    }
}

static void program_item(Parser *p, FileState *f)
{
    TokenKind kind = tessi_parse_peek(p);
    if (at_use(p)) {
        enter_phase(p, f, PHASE_DEFINITIONS);
        use_file(p);
    } else if (at_border(p)) {
        if (f->phase == PHASE_STATEMENTS)
            border_too_late(p);
        program_border(p);
    } else if (tessi_parse_at_definition(p, 0)) {
        enter_phase(p, f, PHASE_DEFINITIONS);
        tessi_parse_definition(p);
    } else if (kind == TOK_RETURN) {
        program_return(p, f);
    } else if (tessi_parse_at_mask(p)) {
        push_stmt(p, f->phase == PHASE_DEFINITIONS ? &p->ast->constants : &p->ast->body);
    } else if (tessi_parse_at_declared(p)) {
        f->phase = PHASE_STATEMENTS;
        push_stmt(p, &p->ast->body);
    } else if (tessi_parse_at_type(p)) {
        typed_item(p, f);
    } else if (tessi_parse_at_decl(p)) {
        enter_phase(p, f, PHASE_DECLARATIONS);
        tessi_parse_decl(p);
    } else if (kind == TOK_NAME && tessi_parse_look(p, 1) == TOK_HASH && tessi_parse_misspelt(p)) {
        return;
    } else {
        push_stmt(p, &p->ast->body);
        if (!p->panic) /* what was not understood need not be a statement */
            f->phase = PHASE_STATEMENTS;
    }
}

static void used_item(Parser *p, FileState *f)
{
    const char *found = NULL;
    if (at_use(p))
        use_file(p);
    else if (tessi_parse_at_definition(p, 0))
        tessi_parse_definition(p);
    else if (tessi_parse_at_mask(p) || (tessi_parse_peek(p) == TOK_CONST && initialiser(p)))
        push_stmt(p, &p->ast->constants);
    else if (at_border(p))
        found = "a border rule";
    else if (tessi_parse_peek(p) == TOK_RETURN)
        found = "a 'return'";
    else if (tessi_parse_at_decl(p))
        found = tessi_parse_misspelt(p) ? NULL : "a declaration";
    else if (tessi_parse_peek(p) == TOK_NAME || tessi_parse_peek(p) == TOK_FOR)
        found = "a statement";
    else
        tessi_parse_unexpected(p, "a definition");
    if (found) {
        tessi_diag(p->diags, DIAG_USE_NOT_DEFINITION, tessi_parse_token_span(p, p->at), found);
        f->stopped = true;
    }
}

static uint32_t find_last_definition(const Parser *p)
{
    uint32_t last = 0;
    int braces = 0;
    for (uint32_t i = 0; i < p->n_tokens; i++) {
        TokenKind kind = p->tokens[i].kind;
        braces += kind == TOK_LBRACE;
        braces -= kind == TOK_RBRACE && braces > 0;
        if (!braces && tessi_parse_at_definition(p, i))
            last = i;
    }
    return last;
}

static void read_items(Parser *p, FileState *f)
{
    while (tessi_parse_peek(p) != TOK_END && !f->returned && !f->stopped
           && !tessi_diags_full(p->diags)) {
        uint32_t start = p->at;
        if (tessi_parse_foreign_statement(p))
            continue;
        if (f->used)
            used_item(p, f);
        else
            program_item(p, f);
        if (p->panic)
            tessi_parse_recover(p);
        if (p->at == start)
            tessi_parse_advance(p);
    }
}

void tessi_parse_file(Parser *p, uint16_t file, bool forma, bool used)
{
    Parser outer = *p;
    SourceFile source = p->sources->files.at[file];
    uint32_t errors = p->diags->n_errors;
    Tokens tokens = tessi_lex(p->arena, p->diags, &source, file, forma);
    p->file = file;
    p->text = source.text;
    p->tokens = tokens.at;
    p->n_tokens = tokens.n;
    p->at = 0;
    p->forma = forma;
    p->context = CONTEXT_PROGRAM;
    p->panic = false;
    FileState f = { .used = used };
    f.last_definition = find_last_definition(p);
    read_items(p, &f);
    while (f.returned && tessi_parse_peek(p) == TOK_HASH && tessi_parse_foreign_statement(p))
        continue;
    Span here = tessi_parse_token_span(p, p->at);
    if (f.returned && tessi_parse_peek(p) != TOK_END && tessi_parse_peek(p) != TOK_BROKEN)
        tessi_diag(p->diags, DIAG_AFTER_RETURN, here, "the program");
    if (!used && !f.returned && p->diags->n_errors == errors)
        tessi_diag(p->diags, DIAG_MISSING_RETURN, here, "the program");
    p->file = outer.file;
    p->text = outer.text;
    p->tokens = outer.tokens;
    p->n_tokens = outer.n_tokens;
    p->at = outer.at;
    p->forma = outer.forma;
    p->context = outer.context;
    p->panic = outer.panic;
}

/* struct rgb and rgba are there in programs that name them and do not define them: bytes r, g, b and a. */
static void predeclare(Parser *p, const char *name, uint32_t n_fields)
{
    static const char *const fields[] = { "r", "g", "b", "a" };
    bool named = false;
    VEC_FOREACH (const char *const, it, &p->names) {
        named |= tessi_streq(*it, name);
    }
    VEC_FOREACH (AstStructDef *const, s, &p->ast->structs) {
        named &= !tessi_streq((*s)->name.text, name);
    }
    if (!named)
        return;
    AstStructDef *s = ARENA_NEW(p->arena, AstStructDef);
    s->name.text = name;
    s->predeclared = true;
    for (uint32_t k = 0; k < n_fields; k++) {
        AstField f = { .name = { .text = fields[k] }, .type = { .name = { .text = "uint8" } } };
        VEC_PUSH(p->arena, &s->fields, f);
    }
    VEC_PUSH(p->arena, &p->ast->structs, s);
}

Ast *tessi_parse(Arena *a, Diags *d, SourceMap *sources, uint16_t file, bool forma, UseReader use,
                 void *use_user)
{
    Parser p = { .arena = a, .diags = d, .sources = sources, .use = use, .use_user = use_user };
    p.ast = ARENA_NEW(a, Ast);
    p.ast->arena = a;
    p.ast->forma = forma;
    p.ast->sources = sources;
    p.ast->file = file;
    p.ast->use = use;
    p.ast->use_user = use_user;
    const uint32_t errors = d->n_errors;
    tessi_parse_file(&p, file, forma, false);
    if (!forma) {
        predeclare(&p, "rgb", 3);
        predeclare(&p, "rgba", 4);
    }
    if (forma && d->n_errors == errors)
        tessi_parse_forma(d, p.ast);
    return p.ast;
}
