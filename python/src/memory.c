/* Images in the memory of a program's device, as objects of Python: who makes arrays of them (JAX, whose own cannot be
 * written) takes them by DLPack. */
#include <stdlib.h>

#include "core.h"

static const char IMAGE[] = "tessera.device_image";

static void free_image(PyObject *capsule)
{
    tess_image_free(PyCapsule_GetPointer(capsule, IMAGE));
}

/* device_image(shape, type): a capsule that owns the memory. */
PyObject *tesspy_device_image(PyObject *object, PyObject *args)
{
    ProgramObject *self = (ProgramObject *)object;
    PyObject *shape;
    const char *type;
    int64_t sizes[TESS_MAX_SHAPE];
    if (!PyArg_ParseTuple(args, "O!s", &PyTuple_Type, &shape, &type))
        return NULL;
    const Py_ssize_t ndim = PyTuple_Size(shape);
    for (Py_ssize_t d = 0; d < ndim && d < TESS_MAX_SHAPE; d++)
        sizes[d] = PyLong_AsLongLong(PyTuple_GetItem(shape, d));
    if (PyErr_Occurred())
        return NULL;
    if (!self->program || ndim > TESS_MAX_SHAPE) {
        PyErr_SetString(PyExc_ValueError, "there is no such image");
        return NULL;
    }
    DLTensor *image = NULL;
    tess_status status;
    Py_BEGIN_ALLOW_THREADS status =
        tess_device_image(self->program, tesspy_type_named(type), (int)ndim, sizes, &image);
    Py_END_ALLOW_THREADS if (status != TESS_OK)
    {
        tesspy_raise(self->core, status, tess_program_error(self->program), NULL);
        return NULL;
    }
    PyObject *capsule = PyCapsule_New(image, IMAGE, free_image);
    if (!capsule)
        tess_image_free(image);
    return capsule;
}

/* What a lent tensor holds: the image, for as long as the borrower wants. */
typedef struct Lent {
    Managed managed;
    PyObject *owner;
} Lent;

static void give_back(Managed *managed)
{
    if (!Py_IsInitialized()) /* the interpreter is gone, and takes the memory with it */
        return;
    const PyGILState_STATE state = PyGILState_Ensure(); /* borrowers let go in any thread */
    Lent *lent = managed->context;
    Py_DECREF(lent->owner);
    free(lent);
    PyGILState_Release(state);
}

/* Nobody took it. */
static void drop(PyObject *capsule)
{
    if (!PyCapsule_IsValid(capsule, "dltensor"))
        return;
    Managed *managed = PyCapsule_GetPointer(capsule, "dltensor");
    managed->deleter(managed);
}

/* lend(image): the image as a capsule of DLPack. */
PyObject *tesspy_lend(PyObject *module, PyObject *image)
{
    (void)module;
    const DLTensor *tensor = PyCapsule_GetPointer(image, IMAGE);
    if (!tensor)
        return NULL;
    Lent *lent = calloc(1, sizeof *lent);
    if (!lent)
        return PyErr_NoMemory();
    Py_INCREF(image);
    *lent = (Lent){ .managed = { *tensor, lent, give_back }, .owner = image };
    PyObject *capsule = PyCapsule_New(&lent->managed, "dltensor", drop);
    if (!capsule)
        give_back(&lent->managed);
    return capsule;
}
