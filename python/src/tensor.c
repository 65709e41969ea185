/* Objects of Python as tensors. NumPy's arrays are read by their __array_struct__, which is one look-up; what that
 * does not fit is first made into an array or a DLPack capsule by `convert` (tessera/_arrays.py). Nothing is copied
 * here. */
#include <string.h>

#include "core.h"

/* The structure behind __array_struct__, as NumPy's array interface defines it. */
typedef struct ArrayInterface {
    int two; /* its version */
    int ndim;
    char kind;
    int item_bytes;
    int flags;
    Py_ssize_t *shape, *strides; /* in bytes */
    void *data;
    PyObject *description;
} ArrayInterface;
enum { ALIGNED = 0x100, NATIVE_ORDER = 0x200, WRITEABLE = 0x400 };

/* The form of DLPack's capsules since version 1. */
typedef struct VersionedManaged {
    uint32_t major, minor;
    void *context;
    void (*deleter)(struct VersionedManaged *self);
    uint64_t flags;
    DLTensor t;
} VersionedManaged;
enum { READ_ONLY = 1 };

typedef struct ElementType {
    char kind; /* NumPy's */
    DLDataType type;
    const char *name;
} ElementType;
static const ElementType types[] = {
    { 'f', { kDLFloat, 32, 1 }, "float32" }, { 'u', { kDLUInt, 8, 1 }, "uint8" },
    { 'f', { kDLFloat, 64, 1 }, "float64" }, { 'u', { kDLUInt, 16, 1 }, "uint16" },
    { 'i', { kDLInt, 16, 1 }, "int16" },     { 'i', { kDLInt, 32, 1 }, "int32" },
    { 'b', { kDLBool, 8, 1 }, "bool" },      { 'u', { kDLUInt, 32, 1 }, "uint32" },
    { 'i', { kDLInt, 8, 1 }, "int8" },       { 'i', { kDLInt, 64, 1 }, "int64" },
    { 'f', { kDLFloat, 16, 1 }, "float16" }, { 'u', { kDLUInt, 64, 1 }, "uint64" },
};
enum { N_TYPES = sizeof types / sizeof *types };

const char *tesspy_type_name(DLDataType type)
{
    for (int i = 0; i < N_TYPES; i++)
        if (types[i].type.code == type.code && types[i].type.bits == type.bits)
            return types[i].name;
    return "unknown";
}

DLDataType tesspy_type_named(const char *name)
{
    for (int i = 0; i < N_TYPES; i++)
        if (strcmp(types[i].name, name) == 0)
            return types[i].type;
    return (DLDataType){ 0 };
}

static bool find_type(const ArrayInterface *a, DLDataType *type)
{
    for (int i = 0; i < N_TYPES; i++)
        if (types[i].kind == a->kind && types[i].type.bits == a->item_bytes * 8) {
            *type = types[i].type;
            return true;
        }
    return false;
}

/* Strides in elements; false where they are no whole elements. */
static bool take_shape(const ArrayInterface *a, Tensor *out)
{
    for (int d = 0; d < a->ndim; d++) {
        out->shape[d] = a->shape[d];
        out->strides[d] = a->strides[d] / a->item_bytes;
        if (a->strides[d] % a->item_bytes && a->shape[d] > 1)
            return false;
    }
    return true;
}

/* Whether the library reads the rows as they are: the last dimension is compact, and the one before too where the
 * last holds the channels. */
static bool is_compact(const ArrayInterface *a, const tess_info *info)
{
    Py_ssize_t compact = a->item_bytes;
    for (int d = 0; d < a->ndim; d++)
        if (a->shape[d] == 0)
            return true; /* refused for its size */
    for (int d = a->ndim - 1; d >= 0 && d >= a->ndim - (info->is_struct ? 2 : 1); d--) {
        if (a->shape[d] > 1 && a->strides[d] != compact)
            return false;
        compact *= a->shape[d];
    }
    return true;
}

static bool take_interface(const ArrayInterface *a, const tess_info *info, bool writable,
                           Tensor *out)
{
    DLDataType type;
    if (a->two != 2 || a->ndim > TESS_MAX_SHAPE || !(a->flags & ALIGNED)
        || !(a->flags & NATIVE_ORDER) || (writable && !(a->flags & WRITEABLE))
        || !find_type(a, &type) || !is_compact(a, info) || !take_shape(a, out))
        return false;
    out->t = (DLTensor){ a->data, { kDLCPU, 0 }, a->ndim, type, out->shape, out->strides, 0 };
    return true;
}

/* An array of NumPy's that can be read as it is; false without an exception where it cannot. */
static bool take_ndarray(const Core *core, PyObject *array, const tess_info *info, bool writable,
                         Tensor *out)
{
    if (!core->ndarray || !PyObject_IsInstance(array, core->ndarray))
        return false;
    PyObject *capsule = PyObject_GetAttr(array, core->array_struct);
    const ArrayInterface *a = capsule ? PyCapsule_GetPointer(capsule, NULL) : NULL;
    if (!a) {
        Py_XDECREF(capsule);
        PyErr_Clear();
        return false;
    }
    const bool ok = take_interface(a, info, writable, out);
    if (ok) {
        Py_INCREF(array);
        out->keep = array;
    }
    Py_DECREF(capsule); /* shape and strides are copied, the data is the array's */
    return ok;
}

static bool take_dltensor(const Core *core, const DLTensor *t, const char *name, Tensor *out)
{
    if (t->ndim < 0 || t->ndim > TESS_MAX_SHAPE) {
        tesspy_raisef(core, TESS_ERROR_ARGUMENT,
                      "image '%s' has %d dimensions, more than any program takes", name, t->ndim);
        return false;
    }
    out->t = *t;
    memcpy(out->shape, t->shape, (size_t)t->ndim * sizeof *t->shape);
    out->t.shape = out->shape;
    if (t->strides) {
        memcpy(out->strides, t->strides, (size_t)t->ndim * sizeof *t->strides);
        out->t.strides = out->strides;
    }
    return true;
}

/* Takes over what is in a capsule, which is renamed, so that it is used once. */
static bool take_capsule(const Core *core, PyObject *capsule, const char *name, bool writable,
                         Tensor *out)
{
    const bool versioned = PyCapsule_IsValid(capsule, "dltensor_versioned");
    const char *form = versioned ? "dltensor_versioned" : "dltensor";
    void *managed = PyCapsule_GetPointer(capsule, form);
    if (!managed)
        return false;
    const VersionedManaged *v = managed;
    if (versioned && v->major != 1) {
        tesspy_raisef(core, TESS_ERROR_ARGUMENT,
                      "image '%s' comes in version %u of DLPack; 1 is known here", name, v->major);
        return false;
    }
    if (versioned && writable && (v->flags & READ_ONLY)) {
        tesspy_raisef(core, TESS_ERROR_ARGUMENT, "the memory for result '%s' is read-only", name);
        return false;
    }
    if (!take_dltensor(core, versioned ? &v->t : &((const Managed *)managed)->t, name, out)
        || PyCapsule_SetName(capsule, versioned ? "used_dltensor_versioned" : "used_dltensor") < 0)
        return false;
    out->managed = managed;
    out->versioned = versioned;
    return true;
}

/* (pointer, shape, strides in elements or None, code, bits, device, owner): what __cuda_array_interface__ says. */
static bool take_description(PyObject *made, Tensor *out)
{
    unsigned long long pointer;
    PyObject *shape, *strides, *owner;
    int code, bits, device;
    if (!PyArg_ParseTuple(made, "KO!OiiiO", &pointer, &PyTuple_Type, &shape, &strides, &code, &bits,
                          &device, &owner))
        return false;
    const Py_ssize_t ndim = PyTuple_Size(shape);
    if (ndim > TESS_MAX_SHAPE) {
        PyErr_SetString(PyExc_ValueError, "an image has too many dimensions");
        return false;
    }
    out->t = (DLTensor){ .data = (void *)(uintptr_t)pointer,
                         .device = { kDLCUDA, device },
                         .ndim = (int32_t)ndim,
                         .dtype = { (uint8_t)code, (uint8_t)bits, 1 },
                         .shape = out->shape,
                         .strides = strides == Py_None ? NULL : out->strides };
    for (Py_ssize_t d = 0; d < ndim; d++) {
        out->shape[d] = PyLong_AsLongLong(PyTuple_GetItem(shape, d));
        if (strides != Py_None)
            out->strides[d] = PyLong_AsLongLong(PyTuple_GetItem(strides, d));
    }
    if (PyErr_Occurred())
        return false;
    Py_INCREF(owner);
    out->keep = owner;
    return true;
}

bool tesspy_tensor(const Core *core, PyObject *array, const tess_info *info, PyObject *said,
                   bool writable, PyObject *stream, Tensor *out)
{
    const char *name = info->name;
    memset(out, 0, sizeof *out);
    if (take_ndarray(core, array, info, writable, out))
        return true;
    PyObject *made =
        PyObject_CallFunction(core->convert, "OOOO", array, said, writable ? Py_True : Py_False,
                              stream ? stream : Py_None);
    if (!made)
        return false;
    bool ok;
    if (PyCapsule_CheckExact(made))
        ok = take_capsule(core, made, name, writable, out);
    else if (PyTuple_CheckExact(made))
        ok = take_description(made, out);
    else
        ok = take_ndarray(core, made, info, writable, out);
    if (!ok && !PyErr_Occurred())
        tesspy_raisef(core, TESS_ERROR_INTERNAL, "image '%s' was not made into what can be read",
                      name);
    Py_DECREF(made);
    return ok;
}

void tesspy_tensor_clear(Tensor *t)
{
    if (t->managed && t->versioned) {
        VersionedManaged *v = t->managed;
        if (v->deleter)
            v->deleter(v);
    } else if (t->managed) {
        Managed *m = t->managed;
        if (m->deleter)
            m->deleter(m);
    }
    Py_XDECREF(t->keep);
    memset(t, 0, sizeof *t);
}
