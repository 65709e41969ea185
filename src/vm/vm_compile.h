/* Inside the compiler of the strip machine: what it knows while it goes through a program. */
#ifndef TESSERA_VM_VM_COMPILE_H
#define TESSERA_VM_VM_COMPILE_H

#include "vm/vm_code.h"

/* base + x * per + add: an index that changes evenly from point to point; base: a scalar slot, 0: none. */
typedef struct VmAffine {
    bool good;
    int64_t per, add;
    uint32_t base;
} VmAffine;

typedef struct VmVar {
    uint32_t slot;
    bool lanes;     /* it differs from point to point */
    bool is_affine; /* and is not in a slot, but `at` */
    bool owns;      /* the slot is given back behind its last use */
    VmAffine at;
} VmVar;

/* The value of an expression in the statement at hand. */
typedef struct VmValue {
    uint32_t stamp; /* of the statement */
    uint32_t slot;
    uint32_t uses;  /* that are still to come */
    uint32_t used;  /* altogether */
    uint32_t keeps; /* the expression whose slot it shares; 0: none */
    uint8_t varies; /* 0: not asked, 1: no, 2: yes */
    bool known, owns;
} VmValue;

typedef struct VmRow {
    VmAddress address;
    uint32_t slot;
} VmRow;
typedef struct VmSpread {
    uint32_t scalar, slot;
    unsigned width;
} VmSpread;

typedef VEC(LVarId) VmVars;
typedef struct VmTouched {
    uint32_t stamp;
    uint8_t how;
} VmTouched;

typedef struct VmCompile {
    Arena *a;
    VmCode *code;
    const LoopProgram *p;
    const VmKernels *k;
    VmVar *var;     /* by LVarId */
    VmValue *value; /* by LExprId */
    uint32_t stamp;
    uint32_t n_scalars;
    IdMap constant_map;
    const LFunction *function;

    /* ---- Of vm_loops.c: stamps of looks and statements --------------------------------------------- */
    uint32_t look_stamp, use_stamp;
    VmTouched *touched;             /* by LBufferId */
    uint32_t *looked_at, *declared; /* by LExprId, by LVarId */
    uint32_t *used_at, *last_use;   /* likewise */
    VEC(LBufferId) touched_buffers;

    /* ---- Of the strip loop in hand ----------------------------------------------------------------- */
    bool in_strip;
    LVarId x;
    uint32_t loop, strip_stamp;
    uint32_t first_slot; /* those before it have their values when the loop begins */
    const char *fault;   /* why its points cannot be taken in strips; NULL */
    uint32_t *stored;    /* by LBufferId: strip_stamp of the loop that stores to it */
    uint32_t *expanded;  /* by LBufferId: that of the loop in which each point has one */
    uint64_t strip_units, view_units; /* bytes a point */
    VEC(uint32_t) free_strips[VM_WIDTHS];
    VEC(uint32_t) free_views[VM_WIDTHS + 1];
    VEC(VmIns) before; /* what is done once */
    VEC(VmRow) rows;
    VEC(VmSpread) spreads;
} VmCompile;

/* ---- vm_slots.c */
uint32_t tessi_vm_scalar_slot(VmCompile *c, ScalarType t);
/* The same for a value that is given to the program. */
uint32_t tessi_vm_given_slot(VmCompile *c, ScalarType t);
/* It has its value when the strip loop in hand begins. */
bool tessi_vm_is_early(const VmCompile *c, uint32_t slot);
uint32_t tessi_vm_strip_slot(VmCompile *c, unsigned bytes);
/* A view; with memory of its own when elements may not be neighbours. */
uint32_t tessi_vm_view_slot(VmCompile *c, unsigned bytes, bool backed);
/* The same, which nothing else has used before: what is in them is there when the loop begins. */
uint32_t tessi_vm_kept_strip(VmCompile *c, unsigned bytes);
uint32_t tessi_vm_kept_view(VmCompile *c, unsigned bytes, bool backed);
void tessi_vm_give_back(VmCompile *c, uint32_t slot);
uint32_t tessi_vm_constant(VmCompile *c, ScalarType t, Value v);
uint32_t tessi_vm_index(VmCompile *c, int64_t i);
VmIns *tessi_vm_emit(VmCompile *c, VmOpcode code);
void tessi_vm_kernel(VmCompile *c, VmKernel kernel, bool strip, uint32_t d, uint32_t x, uint32_t y,
                     uint32_t z);
/* A strip with the scalar in every lane, made when the loop begins if it is known then. */
uint32_t tessi_vm_spread(VmCompile *c, uint32_t scalar, unsigned bytes);

/* ---- vm_index.c */
VmAffine tessi_vm_affine(VmCompile *c, LExprId id);
/* A strip of the values. */
uint32_t tessi_vm_ramp(VmCompile *c, VmAffine at);
uint32_t tessi_vm_affine_scalar(VmCompile *c, VmAffine at); /* at the strip's first point */
/* The place, if all indices change evenly; then also whether one of them does change. */
bool tessi_vm_address(VmCompile *c, LBufferId b, const LExprId *index, uint8_t n, VmAddress *at,
                      bool *moves);
uint32_t tessi_vm_note_address(VmCompile *c, const VmAddress *at);
bool tessi_vm_is_dense(const VmCompile *c, const VmAddress *at);
/* A view of the strip there; code: LOAD or PLACE. */
uint32_t tessi_vm_view(VmCompile *c, const VmAddress *at, VmOpcode code);
/* Bytes from the address at[0] to the elements, a strip: of indices that do not change evenly. */
uint32_t tessi_vm_offsets(VmCompile *c, LBufferId b, const LExprId *index, uint8_t n,
                          VmAddress *at);

/* ---- vm_expr.c */
/* A new statement, with the expressions that it consists of. */
void tessi_vm_begin(VmCompile *c, const LExprId *roots, int n);
bool tessi_vm_varies(VmCompile *c, LExprId id);
uint32_t tessi_vm_scalar(VmCompile *c, LExprId id); /* does not vary: a scalar slot */
/* A strip or view; into `d` if that is not 0. */
uint32_t tessi_vm_strip(VmCompile *c, LExprId id, uint32_t d);
void tessi_vm_done(VmCompile *c, LExprId id);
/* The value is now a variable's, or the statement's; false: it shares its slot with another. */
bool tessi_vm_take(VmCompile *c, LExprId id);

/* ---- vm_sum.c */
/* d = the expression as a sum of rows with weights, if it is one; 0: it is none. */
uint32_t tessi_vm_as_sum(VmCompile *c, LExprId id, uint32_t d);

/* ---- vm_loops.c: what loops allow */
/* Why its points are not independent of each other; NULL: they are. */
const char *tessi_vm_dependent(VmCompile *c, const LStmt *loop);
/* There is a loop whose points are. */
bool tessi_vm_has_points(VmCompile *c, const LBlock *block);
void tessi_vm_note_stores(VmCompile *c, const LBlock *block);
/* By statement of the block: variables that it is the last to use. */
VmVars *tessi_vm_last_uses(VmCompile *c, const LBlock *block);

#endif
