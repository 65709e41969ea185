/* Sums of rows with weights: the kernel of masks. Some vectors of accumulators stay in registers while all rows are
 * gone through. */
#ifndef TESSERA_VM_VM_SUMS_H
#define TESSERA_VM_VM_SUMS_H

#include <string.h>

#include "prelude/c.h"
#include "vm/vm_kernels.h"

#if defined(__AVX512F__) && defined(__GNUC__)
#include <immintrin.h>
#define VM_HAS_SUMS 1
typedef __m512 VmVector_f32;
typedef __m512d VmVector_f64;
#define VM_LOAD_f32(p)       _mm512_loadu_ps(p)
#define VM_STORE_f32(p, x)   _mm512_storeu_ps(p, x)
#define VM_ALL_f32(x)        _mm512_set1_ps(x)
#define VM_FUSE_f32(a, b, c) _mm512_fmadd_ps(a, b, c)
#define VM_LOAD_f64(p)       _mm512_loadu_pd(p)
#define VM_STORE_f64(p, x)   _mm512_storeu_pd(p, x)
#define VM_ALL_f64(x)        _mm512_set1_pd(x)
#define VM_FUSE_f64(a, b, c) _mm512_fmadd_pd(a, b, c)
#elif defined(__AVX2__) && defined(__FMA__) && defined(__GNUC__)
#include <immintrin.h>
#define VM_HAS_SUMS          1
typedef __m256 VmVector_f32;
typedef __m256d VmVector_f64;
#define VM_LOAD_f32(p)       _mm256_loadu_ps(p)
#define VM_STORE_f32(p, x)   _mm256_storeu_ps(p, x)
#define VM_ALL_f32(x)        _mm256_set1_ps(x)
#define VM_FUSE_f32(a, b, c) _mm256_fmadd_ps(a, b, c)
#define VM_LOAD_f64(p)       _mm256_loadu_pd(p)
#define VM_STORE_f64(p, x)   _mm256_storeu_pd(p, x)
#define VM_ALL_f64(x)        _mm256_set1_pd(x)
#define VM_FUSE_f64(a, b, c) _mm256_fmadd_pd(a, b, c)
#elif defined(__ARM_NEON) && defined(__aarch64__)
#include <arm_neon.h>
#define VM_HAS_SUMS          1
typedef float32x4_t VmVector_f32;
typedef float64x2_t VmVector_f64;
#define VM_LOAD_f32(p)       vld1q_f32(p)
#define VM_STORE_f32(p, x)   vst1q_f32(p, x)
#define VM_ALL_f32(x)        vdupq_n_f32(x)
#define VM_FUSE_f32(a, b, c) vfmaq_f32(c, a, b)
#define VM_LOAD_f64(p)       vld1q_f64(p)
#define VM_STORE_f64(p, x)   vst1q_f64(p, x)
#define VM_ALL_f64(x)        vdupq_n_f64(x)
#define VM_FUSE_f64(a, b, c) vfmaq_f64(c, a, b)
#endif

#ifdef VM_HAS_SUMS
/* Points of the last block, which is not whole, are computed one by one. */
#define VM_REAL_SUM(T, s)                                                                       \
    static void k_sum_##s(void *d, const void *const *row, const void *weight, uint32_t n_rows, \
                          const void *start, size_t n)                                          \
    {                                                                                           \
        enum { LANES = sizeof(VmVector_##s) / sizeof(T) };                                      \
        T *r = d;                                                                               \
        const T *w = weight, first = *(const T *)start;                                         \
        size_t i = 0;                                                                           \
        for (; i + 4 * LANES <= n; i += 4 * LANES) {                                            \
            VmVector_##s v0 = VM_ALL_##s(first), v1 = v0, v2 = v0, v3 = v0;                     \
            for (uint32_t k = 0; k < n_rows; k++) {                                             \
                const T *at = (const T *)row[k] + i;                                            \
                const VmVector_##s by = VM_ALL_##s(w[k]);                                       \
                v0 = VM_FUSE_##s(by, VM_LOAD_##s(at), v0);                                      \
                v1 = VM_FUSE_##s(by, VM_LOAD_##s(at + LANES), v1);                              \
                v2 = VM_FUSE_##s(by, VM_LOAD_##s(at + 2 * LANES), v2);                          \
                v3 = VM_FUSE_##s(by, VM_LOAD_##s(at + 3 * LANES), v3);                          \
            }                                                                                   \
            VM_STORE_##s(r + i, v0);                                                            \
            VM_STORE_##s(r + i + LANES, v1);                                                    \
            VM_STORE_##s(r + i + 2 * LANES, v2);                                                \
            VM_STORE_##s(r + i + 3 * LANES, v3);                                                \
        }                                                                                       \
        for (; i + LANES <= n; i += LANES) {                                                    \
            VmVector_##s v0 = VM_ALL_##s(first);                                                \
            for (uint32_t k = 0; k < n_rows; k++)                                               \
                v0 = VM_FUSE_##s(VM_ALL_##s(w[k]), VM_LOAD_##s((const T *)row[k] + i), v0);     \
            VM_STORE_##s(r + i, v0);                                                            \
        }                                                                                       \
        for (; i < n; i++) {                                                                    \
            T v = first;                                                                        \
            for (uint32_t k = 0; k < n_rows; k++)                                               \
                v = tess_fma_##s(w[k], tess_load_##s((const T *)row[k] + i), v);                \
            tess_store_##s(r + i, v);                                                           \
        }                                                                                       \
    }
VM_REAL_SUM(float, f32)
VM_REAL_SUM(double, f64)
#define VM_SUMS                                        \
    {                                                  \
        [TYPE_F32] = k_sum_f32, [TYPE_F64] = k_sum_f64 \
    }
#else
#define VM_SUMS \
    {           \
        NULL    \
    }
#endif

#endif
