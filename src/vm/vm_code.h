/* Inside the strip machine: its code.
 *
 * Values live in slots. A scalar slot holds one value; a strip slot holds those of a strip, up to VmLoop.lanes points;
 * a view points at a strip in memory, or at strip memory of its own where elements are not neighbours. At run time
 * all are pointers, so that an instruction calls its kernel with operands of any kind. */
#ifndef TESSERA_VM_VM_CODE_H
#define TESSERA_VM_VM_CODE_H

#include "loop/loop_lanes.h"
#include "loop/loop_layout.h"
#include "vm/vm.h"

enum { VM_LEAST_STRIP = 64, VM_MOST_STRIP = 4096, VM_STRIP_BYTES = 28 << 10, VM_LINE = 64 };

typedef enum VmOpcode {
    VM_KERNEL, /* kernel(d, a, b, c); `strip`: of all points, else of one */
    VM_SUM,    /* d = start b + taps from imm on, a of them */
    VM_ROW,    /* view d = the place of address a, with the loop's variable at 0 */
    VM_NEAR,   /* view d = row a, moved to the strip in hand; c: LOAD or STORE */
    VM_LOAD,   /* view d = the strip at address a */
    VM_FETCH,  /* scalar d = the element at address a */
    VM_PLACE,  /* view d = where the strip at address a is stored */
    VM_FLUSH,  /* stores what is in view d at address a, where it is not there yet */
    VM_PUT,    /* element at address a = scalar b */
    VM_OFFSETS, /* strip d of bytes = address a, whose index `imm` is the strip b; c: those of others, added */
    VM_GATHER,  /* strip d = elements at address a plus the bytes in strip b */
    VM_SCATTER, /* the other way round, from d; kernel: an addition instead */
    VM_ADD,     /* element at address a += scalar b, by kernel */
    VM_SORT,    /* the first b elements of the local buffer a; `strip`: of each point */
    VM_MOVE,    /* LSTMT_MOVE number imm */
    VM_LOCAL,   /* buffer a comes into being */
    VM_LOOP,    /* loop number imm: what stands behind it, until its end */
    VM_IF,      /* scalar a: to the instruction behind, else to imm */
    VM_JUMP     /* to imm */
} VmOpcode;

typedef struct VmIns {
    uint8_t code, strip, type; /* type: of an element in memory */
    uint32_t d, a, b, c;
    int64_t imm;
    union {
        VmKernel kernel;
        VmSum sum;
        VmGather gather;
    } by;
} VmIns;

typedef enum VmSlotKind { VM_SCALAR, VM_STRIP, VM_VIEW } VmSlotKind;
typedef struct VmSlot {
    uint8_t kind, bytes; /* of a value */
    bool always;         /* it has its value before the program begins */
    uint32_t
        at; /* scalars: in the frame; strips and views: bytes into the strip memory of the loop */
    uint32_t loop; /* of strips and views: which */
} VmSlot;

/* buffer[index[d] + add[d] + x * per[d] ...], x the variable of the strip loop; index 0: none. */
typedef struct VmAddress {
    LBufferId buffer;
    uint8_t n;
    bool expanded; /* of a local buffer that each point has */
    uint32_t index[LOOP_MAX_DIMS];
    int64_t add[LOOP_MAX_DIMS], per[LOOP_MAX_DIMS];
} VmAddress;

typedef struct VmTap {
    uint32_t row, weight; /* slots */
} VmTap;

typedef struct VmLoop {
    uint32_t var, from, to; /* scalar slots */
    int64_t step;
    bool parallel, strip;
    uint32_t lanes; /* of a strip */
    uint32_t body;  /* instruction behind those that are executed once */
    uint32_t end;
    uint64_t strip_bytes, view_at; /* memory of its strips, in each thread; of its views, in it */
    const char *scalar; /* why the points of a loop over points are taken one by one; NULL */
} VmLoop;

/* A local buffer: its memory, in each thread. */
typedef struct VmLocal {
    uint64_t at, bytes;
    uint32_t lanes; /* 0: not expanded */
} VmLocal;

typedef struct VmFunction {
    uint32_t first, end;           /* instructions */
    uint32_t first_slot, end_slot; /* scalars of its own, in the frame: first_byte .. end_byte */
    uint32_t first_byte, end_byte;
} VmFunction;

typedef struct VmConstant {
    uint32_t slot;
    ScalarType type;
    Value value;
} VmConstant;

struct VmCode {
    const LoopProgram *p;
    const VmKernels *k;
    LoopLayout layout;
    VEC(VmIns) ins;
    VEC(VmSlot) slots; /* at[0] unused */
    VEC(VmAddress) addresses;
    VEC(VmTap) taps;
    VEC(VmLoop) loops;
    VEC(const LStmt *) moves;
    VEC(VmFunction) functions;
    VEC(VmConstant) constants;
    VmLocal *local;                                 /* by LBufferId */
    unsigned char **table;                          /* likewise; NULL: no table */
    uint32_t *param;                                /* slots, by number; 0: not used */
    uint32_t *scalar;                               /* likewise */
    uint64_t frame_bytes, strip_bytes, local_bytes; /* of each thread */
    uint32_t most_taps;
    const char *lacks; /* why it cannot be executed; NULL */
};

/* log2 of the bytes of a value: which of the kernels by width. */
static inline unsigned tessi_vm_width(unsigned bytes)
{
    return bytes == 1 ? 0 : bytes == 2 ? 1 : bytes == 4 ? 2 : 3;
}
/* Bytes of a value of the type in a slot. */
unsigned tessi_vm_bytes(ScalarType t);
/* A value as it lies in a slot. */
void tessi_vm_store_value(void *at, ScalarType t, Value v);

#endif
