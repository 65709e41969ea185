/* tessera._core: what Python needs of the library, in C against Python's stable interface. Python code beside it
 * (../tessera) decides what arguments mean; this turns arrays into tensors, runs without the interpreter's lock, and
 * turns failures into exceptions.
 *
 *   module.c   the module: functions, setting up
 *   tensor.c   objects of Python as tensors
 *   memory.c   memory of devices
 *   program.c  the type Program
 *   run.c      its runs
 *   spline.c   the coefficients of splines */
#ifndef TESSERA_PYTHON_CORE_H
#define TESSERA_PYTHON_CORE_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "tessera.h"

/* What Python code hands over once, since it is easier said there (tessera/_runtime.py). */
typedef struct Core {
    PyObject *make_error; /* (status, sentence, diagnostics as JSON or None) -> exception */
    /* (object, its description, writable, stream) -> ndarray, capsule or tuple */
    PyObject *convert;
    PyObject *warn;         /* (sentence) */
    PyObject *empty;        /* numpy.empty */
    PyObject *empty_at;     /* (shape, type, place in a page): the same */
    PyObject *ndarray;      /* numpy.ndarray */
    PyObject *array_struct; /* the name of the attribute */
} Core;
Core *tesspy_core(PyObject *module);
int tesspy_setup(Core *core, PyObject *args);

/* Text of the library's, which may show what is no UTF-8. */
PyObject *tesspy_text(const char *text);
/* Raises what stands for a failure of the library; `json` may be NULL. */
void tesspy_raise(const Core *core, tess_status status, const char *text, const char *json);
/* The same as a printf. */
void tesspy_raisef(const Core *core, tess_status status, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* ---- Tensors ----------------------------------------------------------------------------------------------------- */
/* An array of Python for the time of a call: cleared by tesspy_tensor_clear, all zero is none. */
typedef struct Tensor {
    DLTensor t;
    int64_t shape[TESS_MAX_SHAPE], strides[TESS_MAX_SHAPE];
    PyObject *keep; /* owns the memory */
    void *managed;  /* of a DLPack capsule, to be given back */
    bool versioned; /* its form */
} Tensor;
/* Fills *out from any array that `convert` knows, for the image that `info` describes; `said` describes it to
 * Python. False with an exception. */
bool tesspy_tensor(const Core *core, PyObject *array, const tess_info *info, PyObject *said,
                   bool writable, PyObject *stream, Tensor *out);
void tesspy_tensor_clear(Tensor *t);
/* The form of DLPack's capsules before its version 1. */
typedef struct Managed {
    DLTensor t;
    void *context;
    void (*deleter)(struct Managed *self);
} Managed;
/* NumPy's name of an element type, "float32". */
const char *tesspy_type_name(DLDataType type);
DLDataType tesspy_type_named(const char *name); /* all zero: there is none of that name */

/* ---- Programs ---------------------------------------------------------------------------------------------------- */
enum { POOL = 8 }; /* arguments kept for later runs: as many as run at once */

typedef struct ProgramObject {
    PyObject_HEAD Core *core; /* borrowed of the module, which the type keeps */
    PyObject *module;
    tess_program *program;
    tess_info *inputs, *outputs;
    Py_ssize_t n_inputs, n_outputs, n_images;
    PyObject *said_inputs, *said_outputs; /* tuples of descriptions */
    PyObject *text;                       /* of the diagnostics, and the same as JSON */
    PyObject *json;
    PyThread_type_lock lock; /* guards what follows */
    tess_args *pool[POOL];
    int n_pool;
    tess_timing timing;
    bool has_timing;
    char notes[4][512]; /* sentences not yet said */
    int n_notes;
    atomic_int interrupted;
} ProgramObject;

extern PyType_Spec tesspy_program_spec;
/* run.c: methods of programs. */
PyObject *tesspy_run(PyObject *self, PyObject *args);
PyObject *tesspy_shapes(PyObject *self, PyObject *args);
PyObject *tesspy_dump(PyObject *self, PyObject *args);
PyObject *tesspy_reach(PyObject *self, PyObject *args);
PyObject *tesspy_parts(PyObject *self, PyObject *args);

/* memory.c: a method of programs, and a function. */
PyObject *tesspy_device_image(PyObject *self, PyObject *args);
PyObject *tesspy_lend(PyObject *module, PyObject *image);

/* ---- Splines ----------------------------------------------------------------------------------------------------- */
PyObject *tesspy_spline(PyObject *module, PyObject *args);

#endif
