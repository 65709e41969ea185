/* Setting how reals are rounded. On x86 by the two registers: fenv.h takes some hundred nanoseconds, as long as a
 * small image. */
#include "base/rounding.h"

#if defined(__GNUC__) && defined(__SSE__)
enum { SSE_DEFAULT = 0x1f80, X87_DEFAULT = 0x37f };

static void set_x87(uint16_t word)
{
    __asm__ volatile("fldcw %0" : : "m"(word));
}

Rounding tessi_round_to_nearest(void)
{
    Rounding before = { .sse = __builtin_ia32_stmxcsr() };
    __asm__ volatile("fnstcw %0" : "=m"(before.x87));
    __builtin_ia32_ldmxcsr(SSE_DEFAULT);
    if (before.x87 != X87_DEFAULT)
        set_x87(X87_DEFAULT);
    return before;
}

void tessi_round_as(Rounding before)
{
    __builtin_ia32_ldmxcsr(before.sse);
    if (before.x87 != X87_DEFAULT)
        set_x87(before.x87);
}
#else
Rounding tessi_round_to_nearest(void)
{
    Rounding before;
    fegetenv(&before.all);
    fesetenv(FE_DFL_ENV);
    return before;
}

void tessi_round_as(Rounding before)
{
    fesetenv(&before.all);
}
#endif
