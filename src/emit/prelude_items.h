/* A prelude as a list of items, and the names that each defines and mentions: what pruning walks. Private to
 * prelude_items.c, prelude_macros.c and prelude.c. */
#ifndef TESSERA_EMIT_PRELUDE_ITEMS_H
#define TESSERA_EMIT_PRELUDE_ITEMS_H

#include "base/base.h"

typedef enum ItemKind {
    ITEM_DECLARATION, /* a function, a type, a table, or an invocation of macros that define some */
    ITEM_DEFINE,
    ITEM_LINE,    /* #include, #undef, #pragma */
    ITEM_SECTION, /* a comment that heads what follows */
    ITEM_IF,
    ITEM_ELSE, /* or #elif */
    ITEM_ENDIF
} ItemKind;

/* Numbers of none. */
#define NO_ITEM UINT32_MAX
#define NO_NAME UINT32_MAX
#define NO_MADE UINT32_MAX

/* A declaration in the body of a macro, with what stands before it. */
typedef struct Member {
    const char *text; /* as in the prelude, with the ends of lines before it */
    size_t n;
    const char *body; /* without them, and without comments */
    bool kept;
} Member;

typedef struct Item {
    ItemKind kind;
    const char *comment; /* in front of it; comment_n is 0 where there is none */
    size_t comment_n;
    const char *text; /* without the newline at its end */
    size_t n;
    uint32_t
        around; /* the ITEM_IF that it stands in; of ITEM_ELSE and ITEM_ENDIF their own; NO_ITEM = none */
    bool apart; /* a blank line stands before it */
    bool kept;
    /* of ITEM_DEFINE */
    const char *body;
    VEC(const char *) parameters;
    bool has_parameters;
    /* of macros that are nothing but declarations: each of them, which is kept for itself; else none */
    VEC(Member) members;
} Item;

typedef VEC(uint32_t) ItemList;
/* What an invocation makes of a member of a macro. */
typedef struct Made {
    const char *text;
    uint32_t item; /* in which it stands; NO_ITEM: in the program */
    uint32_t macro, member;
    uint32_t within; /* what the invocation stands in, if that was made too; else NO_MADE */
    bool kept;
} Made;
typedef struct Definition {
    uint32_t item; /* NO_ITEM: it stands in the program */
    uint32_t made; /* NO_MADE: it stands in the text of the item */
} Definition;
typedef struct Name {
    const char *at;
    bool wanted;
    VEC(Definition) definitions;
} Name;

typedef struct Prelude {
    Arena *arena;
    VEC(Item) items;
    VEC(Name) names;
    VEC(Made) made;
    IdMap by_name;       /* to its number in `names` plus one */
    IdMap invocations;   /* that were expanded already, by the hash of their text */
    VEC(uint32_t) to_do; /* wanted names whose items are not kept yet */
} Prelude;

/* Splits the text into items. Conditions that only guard a file against being read twice are left out, and so is what
 * stands under #ifndef of a name that was defined before. */
void tessi_prelude_split(Prelude *p, const char *text);
uint32_t tessi_prelude_name(Prelude *p, const char *at, size_t n);
/* The number of a name that is known; NO_NAME of others. */
uint32_t tessi_prelude_find(const Prelude *p, const char *at, size_t n);
void tessi_prelude_defines(Prelude *p, const char *at, size_t n, Definition by);
/* Notes which names the items define, those that come of macros included. */
void tessi_prelude_define(Prelude *p);
/* The same for the macros that a program invokes to define something. */
void tessi_prelude_define_program(Prelude *p, const char *program);
/* Wants all names of a text of C, and those that its macros lead to. */
void tessi_prelude_mention(Prelude *p, const char *text, size_t n);

/* The end of a declaration that begins at `at`: of a function, of an invocation of a macro, else its semicolon. */
const char *tessi_prelude_declaration_end(const Prelude *p, const char *at);
/* Behind blanks, continuations of lines and comments. */
const char *tessi_prelude_behind_blanks(const char *at);
/* Behind the comment, the string or the character constant at `at`; `at` itself when there is none. */
const char *tessi_prelude_skip(const char *at);
/* Length of the identifier at `at`; 0: none. */
size_t tessi_prelude_word(const char *at);
/* The definitions of the macro with parameters that the name stands for, directly or as another's name. */
void tessi_prelude_macros(const Prelude *p, Arena *a, const char *at, size_t n, ItemList *out);

#endif
