/* Names in generated C: legal, no words of C or C++, nothing the headers or the prelude define, and unique in their scope. */
#include <stdlib.h>
#include <string.h>

#include "emit/c_private.h"

/* Sorted. Words of C and C++, macros and functions of the headers that generated files include and use. */
static const char *const taken_words[] = {
    "BIG_ENDIAN",
    "BUFSIZ",
    "BYTE_ORDER",
    "EOF",
    "I",
    "LITTLE_ENDIAN",
    "L_ctermid",
    "L_cuserid",
    "L_tmpnam",
    "MAXFLOAT",
    "NAN",
    "NFDBITS",
    "NULL",
    "PDP_ENDIAN",
    "P_tmpdir",
    "WCONTINUED",
    "WEXITED",
    "WEXITSTATUS",
    "WIFCONTINUED",
    "WIFEXITED",
    "WIFSIGNALED",
    "WIFSTOPPED",
    "WNOHANG",
    "WNOWAIT",
    "WSTOPPED",
    "WSTOPSIG",
    "WTERMSIG",
    "WUNTRACED",
    "abort",
    "alignas",
    "aligned_alloc",
    "alignof",
    "alloca",
    "and",
    "and_eq",
    "asm",
    "assert",
    "auto",
    "be16toh",
    "be32toh",
    "be64toh",
    "bitand",
    "bitor",
    "bool",
    "break",
    "case",
    "catch",
    "char",
    "char16_t",
    "char32_t",
    "char8_t",
    "class",
    "co_await",
    "co_return",
    "co_yield",
    "compl",
    "complex",
    "concept",
    "const",
    "const_cast",
    "consteval",
    "constexpr",
    "constinit",
    "continue",
    "decltype",
    "default",
    "delete",
    "do",
    "double",
    "dynamic_cast",
    "else",
    "enum",
    "errno",
    "exit",
    "explicit",
    "export",
    "extern",
    "false",
    "float",
    "for",
    "fpclassify",
    "free",
    "friend",
    "goto",
    "htobe16",
    "htobe32",
    "htobe64",
    "htole16",
    "htole32",
    "htole64",
    "i386",
    "if",
    "imaginary",
    "inline",
    "int",
    "iscanonical",
    "iseqsig",
    "isfinite",
    "isgreater",
    "isgreaterequal",
    "isinf",
    "isless",
    "islessequal",
    "islessgreater",
    "isnan",
    "isnormal",
    "issignaling",
    "issubnormal",
    "isunordered",
    "iszero",
    "le16toh",
    "le32toh",
    "le64toh",
    "linux",
    "long",
    "main",
    "malloc",
    "math_errhandling",
    "memcmp",
    "memcpy",
    "memset",
    "mutable",
    "namespace",
    "new",
    "noexcept",
    "noreturn",
    "not",
    "not_eq",
    "nullptr",
    "offsetof",
    "operator",
    "or",
    "or_eq",
    "printf",
    "private",
    "protected",
    "public",
    "register",
    "reinterpret_cast",
    "requires",
    "restrict",
    "return",
    "short",
    "signbit",
    "signed",
    "sizeof",
    "static",
    "static_assert",
    "static_cast",
    "stderr",
    "stdin",
    "stdout",
    "strdupa",
    "strndupa",
    "struct",
    "switch",
    "template",
    "this",
    "thread_local",
    "throw",
    "true",
    "try",
    "typedef",
    "typeid",
    "typename",
    "typeof",
    "typeof_unqual",
    "union",
    "unix",
    "unsigned",
    "using",
    "va_arg",
    "va_copy",
    "va_end",
    "va_start",
    "virtual",
    "void",
    "volatile",
    "wchar_t",
    "while",
    "xor",
    "xor_eq",
};

static int compare_words(const void *a, const void *b)
{
    return strcmp(a, *(const char *const *)b);
}

static bool ends_with(const char *s, const char *end)
{
    size_t n = strlen(s), m = strlen(end);
    return n >= m && strcmp(s + n - m, end) == 0;
}

static bool is_taken(const char *name)
{
    if (bsearch(name, taken_words, sizeof taken_words / sizeof *taken_words, sizeof *taken_words,
                compare_words))
        return true;
    static const char *const beginnings[] = { "tess_",    "TESS",    "omp_",  "KMP_",
                                              "M_",       "FP_",     "FD_",   "EXIT_",
                                              "MATH_ERR", "RENAME_", "SEEK_", "SNAN" };
    static const char *const ends[] = { "_t",      "_MAX",    "_MIN",    "_WIDTH",  "INT8_C",
                                        "INT16_C", "INT32_C", "INT64_C", "INTMAX_C" };
    for (size_t i = 0; i < sizeof beginnings / sizeof *beginnings; i++)
        if (strncmp(name, beginnings[i], strlen(beginnings[i])) == 0)
            return true;
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
        if (ends_with(name, ends[i]))
            return true;
    return strstr(name, "INFINITY") || strstr(name, "HUGE_VAL");
}

/* Letters, digits and underscores stay; runs of anything else become one underscore, but not at the ends. */
static const char *legal(Arena *a, const char *wanted)
{
    Text t;
    tessi_text_init(&t, a);
    bool gap = false;
    for (const char *c = wanted ? wanted : ""; *c; c++) {
        bool letter = (*c >= 'a' && *c <= 'z') || (*c >= 'A' && *c <= 'Z');
        bool digit = *c >= '0' && *c <= '9';
        if (!letter && !digit) {
            gap = true;
            continue;
        }
        if (digit && !t.n)
            tessi_text_add(&t, "v");
        tessi_text_add(&t, gap && t.n ? "_" : "");
        tessi_text_addn(&t, c, 1);
        gap = false;
    }
    if (!t.n)
        tessi_text_add(&t, "v");
    if (is_taken(tessi_text_str(&t)))
        tessi_text_add(&t,
                       strncmp(t.at, "tess", 4) == 0 || strncmp(t.at, "TESS", 4) == 0 ? "" : "_");
    const char *name = tessi_text_str(&t);
    return is_taken(name) ? tessi_sprintf(a, "v_%s", name) : name;
}

void tessi_c_names_init(CNames *names, Arena *a)
{
    memset(names, 0, sizeof *names);
    names->arena = a;
    VEC_PUSH(a, &names->entries, (CNameEntry){ 0 });
}

typedef struct Query {
    const CNames *names;
    const char *name;
} Query;

static bool same_entry(void *user, uint32_t id)
{
    const Query *q = user;
    return tessi_streq(q->names->entries.at[id].name, q->name);
}

static uint32_t entry_of(CNames *names, const char *name)
{
    uint64_t h = tessi_hash_bytes(0, name, strlen(name));
    uint32_t id = tessi_idmap_find(&names->map, h, same_entry, &(Query){ names, name });
    if (!id) {
        VEC_PUSH(names->arena, &names->entries, ((CNameEntry){ name, false, 2 }));
        id = names->entries.n - 1;
        tessi_idmap_add(names->arena, &names->map, h, id);
    }
    return id;
}

const char *tessi_c_name(CNames *names, const char *wanted)
{
    uint32_t base = entry_of(names, legal(names->arena, wanted)), id = base;
    CNameUse use = { .base = base, .base_next = names->entries.at[base].next };
    while (names->entries.at[id].in_scope) {
        uint32_t number = names->entries.at[base].next++;
        const char *numbered =
            tessi_sprintf(names->arena, "%s_%u", names->entries.at[base].name, number);
        id = entry_of(names, numbered);
    }
    use.entry = id;
    names->entries.at[id].in_scope = true;
    VEC_PUSH(names->arena, &names->uses, use);
    return names->entries.at[id].name;
}

uint32_t tessi_c_names_mark(const CNames *names)
{
    return names->uses.n;
}

void tessi_c_names_leave(CNames *names, uint32_t mark)
{
    while (names->uses.n > mark) {
        CNameUse use = names->uses.at[--names->uses.n];
        names->entries.at[use.entry].in_scope = false;
        names->entries.at[use.base].next = use.base_next;
    }
}
