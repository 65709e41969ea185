/* The part of DLPack's C interface that Tessera uses: a description of a strided array in host or device memory. The
 * layout follows the DLPack specification (version 0.8), so a DLTensor made by NumPy, PyTorch, CuPy or JAX passes as
 * it is. When the real dlpack.h is included first, its definitions are used. */
#ifndef TESSERA_DLPACK_H
#define TESSERA_DLPACK_H
#ifndef DLPACK_DLPACK_H_

#include <stdint.h>

enum { kDLCPU = 1, kDLCUDA = 2, kDLCUDAHost = 3, kDLOpenCL = 4 };
typedef struct DLDevice {
    int32_t device_type;
    int32_t device_id;
} DLDevice;

enum { kDLInt = 0, kDLUInt = 1, kDLFloat = 2, kDLBool = 6 };
typedef struct DLDataType {
    uint8_t code;
    uint8_t bits;
    uint16_t lanes;
} DLDataType;

typedef struct DLTensor {
    void *data;
    DLDevice device;
    int32_t ndim;
    DLDataType dtype;
    int64_t *shape;
    int64_t *strides; /* in elements; NULL = compact, last dimension fastest */
    uint64_t byte_offset;
} DLTensor;

#endif
#endif
