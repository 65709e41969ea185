/* The values of numbers as written. The C library's strtod obeys the locale of the host program; this does not, and
 * rounds correctly. */
#include <float.h>
#include <math.h>
#include <string.h>

#include "front/lex.h"

bool tessi_read_integer(const char *s, size_t n, uint64_t *out)
{
    bool hex = n > 2 && s[0] == '0' && (s[1] == 'x' || s[1] == 'X');
    unsigned base = hex ? 16 : 10;
    uint64_t value = 0;
    for (size_t i = hex ? 2 : 0; i < n; i++) {
        unsigned digit = s[i] <= '9' ? (unsigned)(s[i] - '0') : (unsigned)((s[i] | 32) - 'a') + 10;
        if (value > ((uint64_t)INT64_MAX - digit) / base)
            return false;
        value = value * base + digit;
    }
    *out = value;
    return true;
}

/* A natural number, little-endian. The largest that occurs is 10^(LEX_LONGEST_WORD + LOWEST_EXPONENT) shifted by two
 * words. */
enum { N_LIMBS = 96, HIGHEST_EXPONENT = 310, LOWEST_EXPONENT = -345 };
typedef struct Natural {
    uint32_t limb[N_LIMBS];
    int n;
} Natural;

static void multiply_add(Natural *x, uint32_t factor, uint32_t addend)
{
    uint64_t carry = addend;
    for (int i = 0; i < x->n; i++) {
        carry += (uint64_t)x->limb[i] * factor;
        x->limb[i] = (uint32_t)carry;
        carry >>= 32;
    }
    if (carry && x->n < N_LIMBS)
        x->limb[x->n++] = (uint32_t)carry;
}

static int compare(const Natural *a, const Natural *b)
{
    if (a->n != b->n)
        return a->n < b->n ? -1 : 1;
    for (int i = a->n - 1; i >= 0; i--)
        if (a->limb[i] != b->limb[i])
            return a->limb[i] < b->limb[i] ? -1 : 1;
    return 0;
}

static void subtract(Natural *a, const Natural *b) /* a >= b */
{
    uint64_t borrow = 0;
    for (int i = 0; i < a->n; i++) {
        uint64_t take = borrow + (i < b->n ? b->limb[i] : 0);
        borrow = a->limb[i] < take;
        a->limb[i] = (uint32_t)(a->limb[i] - take);
    }
    while (a->n && !a->limb[a->n - 1])
        a->n--;
}

static int bit_length(const Natural *x)
{
    int bits = 32 * (x->n - 1);
    for (uint32_t top = x->limb[x->n - 1]; top; top >>= 1)
        bits++;
    return bits;
}

static void shift_left(Natural *x, int bits)
{
    int words = bits / 32;
    if (x->n + words >= N_LIMBS)
        return; /* cannot happen within the limits above */
    memmove(x->limb + words, x->limb, (size_t)x->n * sizeof x->limb[0]);
    memset(x->limb, 0, (size_t)words * sizeof x->limb[0]);
    x->n += words;
    multiply_add(x, (uint32_t)1 << bits % 32, 0);
}

/* numerator/denominator rounded to `precision` bits, or to fewer where the type has subnormals. */
static double divide_rounded(Natural *numerator, Natural *denominator, bool single)
{
    int precision = single ? FLT_MANT_DIG : DBL_MANT_DIG;
    int lowest = (single ? FLT_MIN_EXP : DBL_MIN_EXP) - precision; /* exponent of the last bit */
    /* Choose exponent e so that the quotient numerator/denominator/2^e has `precision` bits or one more. */
    int e = bit_length(numerator) - bit_length(denominator) - precision;
    if (e < lowest)
        e = lowest;
    if (e < 0)
        shift_left(numerator, -e);
    else
        shift_left(denominator, e);
    uint64_t quotient = 0;
    int steps = bit_length(numerator) - bit_length(denominator);
    if (steps > 0)
        shift_left(denominator, steps);
    for (int i = steps > 0 ? steps : 0; i >= 0;
         i--) { /* one bit at a time, the divisor kept still */
        quotient <<= 1;
        if (compare(numerator, denominator) >= 0) {
            subtract(numerator, denominator);
            quotient |= 1;
        }
        if (i)
            multiply_add(numerator, 2, 0);
    }
    /* The remainder decides; a quotient of precision + 1 bits has one bit to give away first. */
    bool sticky = numerator->n > 0;
    if (quotient >> precision) {
        bool half = quotient & 1;
        quotient >>= 1;
        e++;
        if (half && (sticky || (quotient & 1)))
            quotient++;
    } else {
        multiply_add(numerator, 2, 0);
        int side = compare(numerator, denominator);
        if (side > 0 || (side == 0 && (quotient & 1)))
            quotient++;
    }
    return ldexp((double)quotient, e);
}

static double power_of_ten(int exponent) /* exact for 0..22 */
{
    double p = 1;
    while (exponent-- > 0)
        p *= 10;
    return p;
}

bool tessi_read_real(const char *s, size_t n, bool single, double *out)
{
    Natural digits = { { 0 }, 0 };
    int exponent = 0, n_digits = 0;
    bool after_point = false;
    uint64_t small = 0; /* the digits, while they fit */
    size_t i = 0;
    for (; i < n && (s[i] | 32) != 'e'; i++) {
        if (s[i] == '.') {
            after_point = true;
            continue;
        }
        uint32_t digit = (uint32_t)(s[i] - '0');
        multiply_add(&digits, 10, digit);
        exponent -= after_point;
        n_digits += n_digits > 0 || digit > 0;
        if (n_digits <= 19)
            small = small * 10 + digit;
    }
    if (i < n) {
        bool negative = s[++i] == '-';
        i += s[i] == '-' || s[i] == '+';
        int written = 0;
        for (; i < n; i++)
            written = written < 100000 ? written * 10 + (s[i] - '0') : written;
        exponent += negative ? -written : written;
    }
    *out = 0;
    if (!digits.n || exponent + n_digits < LOWEST_EXPONENT)
        return true;
    if (exponent + n_digits > HIGHEST_EXPONENT)
        return false;
    /* Both operands exact: one rounding, the right one. */
    if (!single && n_digits <= 15 && exponent >= -22 && exponent <= 22) {
        *out = exponent < 0 ? (double)small / power_of_ten(-exponent)
                            : (double)small * power_of_ten(exponent);
        return true;
    }
    Natural denominator = { { 1 }, 1 };
    for (; exponent > 0; exponent--)
        multiply_add(&digits, 10, 0);
    for (; exponent < 0; exponent++)
        multiply_add(&denominator, 10, 0);
    double value = divide_rounded(&digits, &denominator, single);
    *out = value;
    return value <= (single ? (double)FLT_MAX : DBL_MAX);
}
