/* Element types of images: conversions of elements and of a whole image. Elements go through a small
 * buffer of values, so that one loop a type loads and one stores, not one a pair of types. */
#include "rt/image.h"
#include "rt/image_codec.h"
#include "tessera.h"

#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CHUNK = 1024 };

#define LOAD(T, member)                                       \
    for (size_t i = 0; i < n; i++) {                          \
        T x;                                                  \
        memcpy(&x, (const char *)p + i * sizeof x, sizeof x); \
        v[i].member = x;                                      \
    }                                                         \
    return
#define STORE(T, member)                                \
    for (size_t i = 0; i < n; i++) {                    \
        T x = (T)v[i].member;                           \
        memcpy((char *)p + i * sizeof x, &x, sizeof x); \
    }                                                   \
    return

static void load_chunk(ScalarType t, const void *p, size_t n, Value *v)
{
    switch (t) {
    case TYPE_U8: LOAD(uint8_t, i);
    case TYPE_U16: LOAD(uint16_t, i);
    case TYPE_I32: LOAD(int32_t, i);
    case TYPE_F32: LOAD(float, f);
    case TYPE_F64: LOAD(double, f);
    default: break;
    }
    for (size_t i = 0; i < n; i++)
        v[i] = tessi_load_element(t, (const char *)p + i * tessi_type_info(t)->bytes);
}

static void store_chunk(ScalarType t, void *p, size_t n, const Value *v)
{
    switch (t) {
    case TYPE_U8: STORE(uint8_t, i);
    case TYPE_U16: STORE(uint16_t, i);
    case TYPE_I32: STORE(int32_t, i);
    case TYPE_F32: STORE(float, f);
    case TYPE_F64: STORE(double, f);
    default: break;
    }
    for (size_t i = 0; i < n; i++)
        tessi_store_element(t, (char *)p + i * tessi_type_info(t)->bytes, v[i]);
}

/* ---- Conversions of one value: true when the value is kept as the conversion promises ---- */

static bool keep_value(ScalarType to, ScalarType from, Value *v)
{
    if (tessi_is_real(to)) {
        double x = tessi_value_number(from, *v);
        if (to == TYPE_F64)
            v->f = x;
        else
            *v = tessi_eval_cast(to, TYPE_F64, tessi_value_real(x));
        return isfinite(v->f) || !isfinite(x);
    }
    if (to == TYPE_BOOL) {
        v->i = tessi_is_real(from) ? v->f != 0 : v->i != 0;
        return true;
    }
    if (tessi_is_real(from)) {
        const ScalarType wide = to == TYPE_U64 ? to : TYPE_I64;
        const Value whole = tessi_eval_cast(wide, from, *v);
        const double end = to == TYPE_U64 ? 0x1p64 : 0x1p63;
        if (!(v->f >= -0x1p63 && v->f < end) || v->f != tessi_value_number(wide, whole))
            return false;
        *v = whole;
        from = wide;
    }
    if ((from == TYPE_U64) != (to == TYPE_U64) && v->i < 0)
        return false;
    Interval range = tessi_type_range(to);
    return v->i >= range.lo && v->i <= range.hi;
}

static bool saturate_value(const Conversion *c, Value *v)
{
    Interval range = tessi_type_range(c->to);
    if (tessi_is_real(c->from) || c->factor != 0) {
        double x = tessi_value_number(c->from, *v);
        if (c->factor != 0)
            x = (x - c->offset) * c->factor;
        if (isnan(x)) {
            v->i = 0;
            return false;
        }
        double r = nearbyint(x); /* to even: the rounding mode is the default one */
        v->i = r < (double)range.lo ? range.lo : r > (double)range.hi ? range.hi : (int64_t)r;
        return r >= (double)range.lo && r <= (double)range.hi;
    }
    if (c->from == TYPE_U64 && v->i < 0) {
        v->i = range.hi;
        return false;
    }
    bool inside = v->i >= range.lo && v->i <= range.hi;
    v->i = v->i < range.lo ? range.lo : v->i > range.hi ? range.hi : v->i;
    return inside;
}

static bool convert_value(const Conversion *c, Value *v)
{
    switch (c->how) {
    case CONVERT_KEEP: return keep_value(c->to, c->from, v);
    case CONVERT_SATURATE: return saturate_value(c, v);
    case CONVERT_SHOW: v->i = v->i ? tessi_type_range(c->to).hi : 0; return true;
    }
    return false;
}

/* What most pictures become; nothing can break. */
static bool widen_to_float(const Conversion *c, const void *in, float *out, size_t n)
{
    if (c->how != CONVERT_KEEP || c->to != TYPE_F32 || (c->from != TYPE_U8 && c->from != TYPE_U16))
        return false;
    if (c->from == TYPE_U8)
        for (size_t i = 0; i < n; i++)
            out[i] = ((const uint8_t *)in)[i];
    else
        for (size_t i = 0; i < n; i++)
            out[i] = ((const uint16_t *)in)[i];
    return true;
}

/* Floats rounded to even and saturated as saturate_value does, in a loop without calls; what has no place is counted.
 * The sum with a number whose last digit is 1 rounds. */
static size_t saturate_floats(const Conversion *c, const char *in, char *out, size_t n)
{
    const double rounder = 0x1.8p52, hi = c->to == TYPE_U8 ? UINT8_MAX : UINT16_MAX;
    const double offset = c->factor != 0 ? c->offset : 0, factor = c->factor != 0 ? c->factor : 1;
    size_t broken = 0;
    for (size_t i = 0; i < n; i++) {
        float value;
        memcpy(&value, in + i * sizeof value, sizeof value);
        const double x = ((double)value - offset) * factor;
        const double near = x < -1 ? -1 : x > hi + 1 ? hi + 1 : x, r = (near + rounder) - rounder;
        const double inside = r >= 0 ? r > hi ? hi : r : 0; /* NaN is 0 */
        broken += !(r >= 0 && r <= hi);
        const uint16_t whole = (uint16_t)(int)inside;
        if (c->to == TYPE_U8)
            ((uint8_t *)out)[i] = (uint8_t)whole;
        else
            memcpy(out + i * sizeof whole, &whole, sizeof whole);
    }
    return broken;
}

size_t tessi_convert_elements(const Conversion *c, const void *in, void *out, size_t n,
                              size_t *first)
{
    Value v[CHUNK];
    const size_t in_bytes = tessi_type_info(c->from)->bytes,
                 to_bytes = tessi_type_info(c->to)->bytes;
    size_t broken = 0;
    if (widen_to_float(c, in, out, n))
        return 0;
    if (FLT_EVAL_METHOD == 0 && !first && c->how == CONVERT_SATURATE && c->from == TYPE_F32
        && (c->to == TYPE_U8 || c->to == TYPE_U16))
        return saturate_floats(c, in, out, n);
    for (size_t at = 0; at < n; at += CHUNK) {
        size_t m = n - at < CHUNK ? n - at : CHUNK;
        load_chunk(c->from, (const char *)in + at * in_bytes, m, v);
        for (size_t i = 0; i < m; i++)
            if (!convert_value(c, &v[i]) && broken++ == 0 && first)
                *first = at + i;
        store_chunk(c->to, (char *)out + at * to_bytes, m, v);
    }
    return broken;
}

bool tessi_fail_convert(const Conversion *c, const RtImage *image, int64_t k, const void *element,
                        Failure *f)
{
    Value v = tessi_load_element(c->from, element);
    char value[40], place[RT_IMAGE_DIMS * 21 + 1] = "";
    if (tessi_is_real(c->from))
        snprintf(value, sizeof value, "%.9g", v.f);
    else
        snprintf(value, sizeof value, "%" PRId64, v.i);
    int64_t index[RT_IMAGE_DIMS];
    for (int d = image->ndim - 1; d >= 0; d--) {
        index[d] = k % image->shape[d];
        k /= image->shape[d];
    }
    for (int d = 0; d < image->ndim; d++) {
        size_t used = strlen(place);
        snprintf(place + used, sizeof place - used, "%s%" PRId64, d ? "," : "", index[d]);
    }
    return tessi_failf(f, TESS_ERROR_ARGUMENT, "its %s values do not fit %s: %s at [%s]",
                       tessi_type_info(c->from)->name, tessi_type_info(c->to)->name, value, place);
}

bool tessi_image_convert(RtImage *image, ScalarType dtype, Failure *f)
{
    if (image->dtype == dtype)
        return true;
    RtImage to;
    if (!tessi_image_alloc(&to, dtype, image->ndim, image->shape, image->channels, f))
        return false;
    const Conversion c = { .from = image->dtype, .to = dtype, .how = CONVERT_KEEP };
    size_t first;
    if (tessi_convert_elements(&c, image->data, to.data, (size_t)tessi_image_elements(image),
                               &first)) {
        const size_t bytes = tessi_type_info(image->dtype)->bytes;
        tessi_image_dispose(&to);
        return tessi_fail_convert(&c, image, (int64_t)first,
                                  (const char *)image->data + first * bytes, f);
    }
    tessi_image_dispose(image);
    *image = to;
    return true;
}
