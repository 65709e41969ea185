/* How expressions of C are put together: who binds how strongly, and so where parentheses stand. Whatever prints an
 * expression beside an operator asks here. */
#include <string.h>

#include "emit/c_private.h"

CInfix tessi_c_infix(const char *sign)
{
    static const CInfix product = { C_PRODUCT, C_PRODUCT, C_PRODUCT + 1 },
                        sum = { C_SUM, C_SUM, C_SUM + 1 }, compare = { C_COMPARE, C_SUM, C_SUM },
                        bits = { C_BITS, C_UNARY, C_UNARY };
    if (strchr("*/%", *sign))
        return product;
    if (strchr("+-", *sign))
        return sum;
    return strchr("<>", *sign) || sign[1] == '=' ? compare : bits;
}

void tessi_c_enclose(CWriter *w, size_t from, int binds, int around)
{
    if (binds >= around)
        return;
    tessi_text_add(&w->line, "()");
    char *at = w->line.at + from;
    memmove(at + 1, at, w->line.n - from - 2);
    *at = '(';
}

CText tessi_c_word(const char *text)
{
    return (CText){ text, C_PRIMARY };
}

const char *tessi_c_inside(const CWriter *w, CText x, int around)
{
    return x.binds < around ? tessi_sprintf(w->arena, "(%s)", x.text) : x.text;
}

CText tessi_c_join(const CWriter *w, CText a, const char *sign, CText b)
{
    const CInfix infix = tessi_c_infix(sign);
    const char *text = tessi_sprintf(w->arena, "%s %s %s", tessi_c_inside(w, a, infix.left), sign,
                                     tessi_c_inside(w, b, infix.right));
    return (CText){ text, infix.own };
}

CText tessi_c_printed(CWriter *w, LExprId id)
{
    Text line = w->line;
    w->line = tessi_text_new(w->arena);
    const int binds = tessi_c_append(w, id);
    const CText x = { tessi_text_str(&w->line), binds };
    w->line = line;
    return x;
}
