/* What generated .cu files use of CUDA, on the processor, so that they can be tested where there is no GPU. Blocks
 * run one after the other; the threads of a block are contexts of their own, which take turns at barriers. Launches
 * are written CUDA_LAUNCH(kernel, grid, block, arguments), which tests put in the place of <<< >>>. */
#ifndef TESSERA_TESTS_CUDA_H
#define TESSERA_TESTS_CUDA_H

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>

/* ---- The language ---------------------------------------------------------------------------- */
#define __global__
#define __device__
#define __constant__
#define __shared__      static
#define __forceinline__ inline
#define __align__(n)    __attribute__((aligned(n)))
#define __launch_bounds__(...)

struct dim3 {
    unsigned x, y, z;
    dim3(unsigned a, unsigned b, unsigned c) : x(a), y(b), z(c)
    {
    }
};
struct alignas(8) uint2 {
    unsigned x, y;
};
struct alignas(16) uint4 {
    unsigned x, y, z, w;
};
inline dim3 threadIdx(0, 0, 0), blockIdx(0, 0, 0), gridDim(0, 0, 0);

template <typename To, typename From> To cuda_bits(From from)
{
    To to;
    static_assert(sizeof to == sizeof from);
    memcpy(&to, &from, sizeof to);
    return to;
}
inline unsigned __float_as_uint(float x)
{
    return cuda_bits<unsigned>(x);
}
inline float __uint_as_float(unsigned u)
{
    return cuda_bits<float>(u);
}
inline long long __double_as_longlong(double x)
{
    return cuda_bits<long long>(x);
}
inline double __longlong_as_double(long long u)
{
    return cuda_bits<double>(u);
}
inline int cuda_to_int(double x) /* x is whole */
{
    return x != x ? 0 : x < -0x1p31 ? INT32_MIN : x > 0x1p31 - 1 ? INT32_MAX : (int)x;
}
inline int __float2int_rz(float x)
{
    return cuda_to_int(trunc((double)x));
}
inline int __float2int_rn(float x)
{
    return cuda_to_int(nearbyint((double)x));
}
template <typename T> T atomicAdd(T *place, T value)
{
    const T before = *place;
    *place += value;
    return before;
}

/* ---- Kernels --------------------------------------------------------------------------------- */
struct CudaThread {
    enum { STACK = 1 << 18 };
    ucontext_t context;
    char *stack = (char *)malloc(STACK);
    dim3 index{ 0, 0, 0 };
    bool done;
};
inline ucontext_t cuda_scheduler;
inline CudaThread *cuda_current;
inline void (*cuda_kernel)();

inline void cuda_thread()
{
    cuda_kernel();
    cuda_current->done = true;
}
inline void __syncthreads()
{
    swapcontext(&cuda_current->context, &cuda_scheduler);
}
/* All threads of a block take part, which are one line. */
template <typename T> T cuda_shuffle(T value, int by)
{
    static unsigned char lanes[1024][8];
    const int thread = (int)threadIdx.x, lane = thread % 32 + by;
    memcpy(lanes[thread], &value, sizeof value);
    __syncthreads();
    memcpy(&value, lanes[lane < 0 || lane > 31 ? thread : thread + by], sizeof value);
    __syncthreads();
    return value;
}
template <typename T> T __shfl_up_sync(unsigned, T value, unsigned by)
{
    return cuda_shuffle(value, -(int)by);
}
template <typename T> T __shfl_down_sync(unsigned, T value, unsigned by)
{
    return cuda_shuffle(value, (int)by);
}
inline void cuda_block(dim3 block)
{
    static CudaThread threads[1024];
    const unsigned n = block.x * block.y * block.z;
    for (unsigned i = 0; i < n; i++) {
        CudaThread *t = &threads[i];
        getcontext(&t->context);
        t->context.uc_stack.ss_sp = t->stack;
        t->context.uc_stack.ss_size = CudaThread::STACK;
        t->context.uc_link = &cuda_scheduler;
        t->index = dim3(i % block.x, i / block.x % block.y, i / block.x / block.y);
        t->done = false;
        makecontext(&t->context, cuda_thread, 0);
    }
    for (bool alive = true; alive;) {
        alive = false;
        for (unsigned i = 0; i < n; i++) {
            if (threads[i].done)
                continue;
            alive = true;
            cuda_current = &threads[i];
            threadIdx = cuda_current->index;
            swapcontext(&cuda_scheduler, &cuda_current->context);
        }
    }
}
template <typename Kernel> void cuda_launch(dim3 grid, dim3 block, Kernel kernel)
{
    static Kernel *launched;
    launched = &kernel;
    cuda_kernel = [] { (*launched)(); };
    gridDim = grid;
    for (unsigned z = 0; z < grid.z; z++)
        for (unsigned y = 0; y < grid.y; y++)
            for (unsigned x = 0; x < grid.x; x++) {
                blockIdx = dim3(x, y, z);
                cuda_block(block);
            }
}
#define CUDA_LAUNCH(kernel, grid, block, ...) cuda_launch(grid, block, [&] { kernel(__VA_ARGS__); })

/* ---- The runtime ----------------------------------------------------------------------------- */
typedef void *cudaStream_t;
enum cudaError_t { cudaSuccess, cudaErrorMemoryAllocation = 2 };
enum cudaMemcpyKind { cudaMemcpyHostToDevice, cudaMemcpyDeviceToHost };

inline cudaError_t cudaMalloc(void **memory, size_t bytes)
{
    *memory = aligned_alloc(256, (bytes + 255) / 256 * 256);
    if (*memory)
        memset(*memory, 0x5a, bytes);
    return *memory ? cudaSuccess : cudaErrorMemoryAllocation;
}
inline cudaError_t cudaFree(void *memory)
{
    free(memory);
    return cudaSuccess;
}
template <class T> cudaError_t cudaGetSymbolAddress(void **address, T &symbol)
{
    *address = (void *)&symbol;
    return cudaSuccess;
}
inline cudaError_t cudaMallocAsync(void **memory, size_t bytes, cudaStream_t)
{
    return cudaMalloc(memory, bytes);
}
inline cudaError_t cudaFreeAsync(void *memory, cudaStream_t)
{
    return cudaFree(memory);
}
inline cudaError_t cudaMemcpy(void *to, const void *from, size_t bytes, cudaMemcpyKind)
{
    memcpy(to, from, bytes);
    return cudaSuccess;
}
inline cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t bytes, cudaMemcpyKind way,
                                   cudaStream_t)
{
    return cudaMemcpy(to, from, bytes, way);
}
inline cudaError_t cudaStreamSynchronize(cudaStream_t)
{
    return cudaSuccess;
}
inline cudaError_t cudaGetLastError()
{
    return cudaSuccess;
}
inline const char *cudaGetErrorString(cudaError_t)
{
    return "memory is short";
}

#endif
