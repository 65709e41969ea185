/* The module tessera._core: setting up, and what belongs to no program. */
#include <dlfcn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core.h"

Core *tesspy_core(PyObject *module)
{
    return PyModule_GetState(module);
}

PyObject *tesspy_text(const char *text)
{
    return PyUnicode_DecodeUTF8(text, (Py_ssize_t)strlen(text), "replace");
}

void tesspy_raise(const Core *core, tess_status status, const char *text, const char *json)
{
    if (PyErr_Occurred()) /* an interrupt is why it failed */
        return;
    if (!core->make_error) {
        PyErr_SetString(PyExc_RuntimeError, text);
        return;
    }
    PyObject *sentence = tesspy_text(text), *diagnostics = tesspy_text(json ? json : "");
    PyObject *error =
        sentence && diagnostics
            ? PyObject_CallFunction(core->make_error, "iOO", (int)status, sentence, diagnostics)
            : NULL;
    Py_XDECREF(sentence);
    Py_XDECREF(diagnostics);
    if (error)
        PyErr_SetObject((PyObject *)Py_TYPE(error), error);
    Py_XDECREF(error);
}

void tesspy_raisef(const Core *core, tess_status status, const char *fmt, ...)
{
    char text[512];
    va_list args;
    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    tesspy_raise(core, status, text, NULL);
}

static PyObject *setup(PyObject *module, PyObject *args)
{
    Core *core = tesspy_core(module);
    PyObject *given[6];
    if (!PyArg_ParseTuple(args, "OOOOOO", &given[0], &given[1], &given[2], &given[3], &given[4],
                          &given[5]))
        return NULL;
    PyObject **const places[6] = { &core->make_error, &core->convert,  &core->warn,
                                   &core->empty,      &core->empty_at, &core->ndarray };
    for (int i = 0; i < 6; i++) {
        PyObject *old = *places[i];
        Py_INCREF(given[i]);
        *places[i] = given[i];
        Py_XDECREF(old);
    }
    Py_RETURN_NONE;
}

static PyObject *presets(PyObject *module, PyObject *unused)
{
    (void)module, (void)unused;
    PyObject *list = PyList_New(0);
    for (size_t i = 0; list && tess_preset(i); i++) {
        PyObject *name = PyUnicode_FromString(tess_preset(i));
        if (!name || PyList_Append(list, name) < 0)
            Py_CLEAR(list);
        Py_XDECREF(name);
    }
    return list;
}

static PyObject *machine(PyObject *module, PyObject *unused)
{
    (void)unused;
    char *text = NULL;
    tess_status status;
    Py_BEGIN_ALLOW_THREADS status = tess_machine_text(&text);
    Py_END_ALLOW_THREADS if (status != TESS_OK)
    {
        tesspy_raise(tesspy_core(module), status, tess_status_text(status), NULL);
        return NULL;
    }
    PyObject *result = PyUnicode_FromString(text);
    tess_text_free(text);
    return result;
}

static PyMethodDef functions[] = {
    { "setup", setup, METH_VARARGS,
      "setup(make_error, convert, warn, empty, empty_at, ndarray)\n--\n\nHands over what is said "
      "in "
      "Python." },
    { "presets", presets, METH_NOARGS,
      "presets()\n--\n\nThe names of plans that any program takes." },
    { "spline_filter", tesspy_spline, METH_VARARGS,
      "spline_filter(address, before, n, behind, order, ends, part, parts)\n--\n\nMakes a part of "
      "an image of doubles, of the shape (before, n, behind), coefficients of its spline along "
      "n." },
    { "lend", tesspy_lend, METH_O,
      "lend(image)\n--\n\nMemory of a device (Program.device_image) as a capsule of DLPack." },
    { "machine", machine, METH_NOARGS, "machine()\n--\n\nA description of this machine." },
    { NULL, NULL, 0, NULL },
};

/* GCC's OpenMP lets threads at the end of a parallel loop spin for milliseconds, in which they hold the cores that the
 * last one waits for when others are at work too. Its runtime reads how many turns when it is loaded: here, unless
 * somebody was first or has said what is wanted. */
static void wait_briefly(void)
{
    if (getenv("OMP_WAIT_POLICY") || getenv("GOMP_SPINCOUNT"))
        return;
    setenv("GOMP_SPINCOUNT", "4000", 1);
    void *openmp = dlopen("libgomp.so.1", RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (openmp)
        dlclose(openmp);
    unsetenv("GOMP_SPINCOUNT");
}

static int execute(PyObject *module)
{
    wait_briefly();
    Core *core = tesspy_core(module);
    core->array_struct = PyUnicode_InternFromString("__array_struct__");
    if (!core->array_struct || PyModule_AddStringConstant(module, "version", tess_version()) < 0)
        return -1;
    PyObject *type = PyType_FromModuleAndSpec(module, &tesspy_program_spec, NULL);
    if (!type)
        return -1;
    const int status = PyModule_AddObjectRef(module, "Program", type);
    Py_DECREF(type);
    return status;
}

static int traverse(PyObject *module, visitproc visit, void *arg)
{
    const Core *core = tesspy_core(module);
    Py_VISIT(core->make_error);
    Py_VISIT(core->convert);
    Py_VISIT(core->warn);
    Py_VISIT(core->empty);
    Py_VISIT(core->empty_at);
    Py_VISIT(core->ndarray);
    return 0;
}

static int clear(PyObject *module)
{
    Core *core = tesspy_core(module);
    Py_CLEAR(core->make_error);
    Py_CLEAR(core->convert);
    Py_CLEAR(core->warn);
    Py_CLEAR(core->empty);
    Py_CLEAR(core->empty_at);
    Py_CLEAR(core->ndarray);
    Py_CLEAR(core->array_struct);
    return 0;
}

static void release(void *module)
{
    clear(module);
}

static PyModuleDef_Slot slots[] = {
    { Py_mod_exec, (void *)execute },
#ifdef Py_GIL_DISABLED /* what changes is guarded by locks of ours */
    { Py_mod_gil, Py_MOD_GIL_NOT_USED },
#endif
    { 0, NULL },
};

static struct PyModuleDef definition = {
    .m_base = PyModuleDef_HEAD_INIT,
    .m_name = "tessera._core",
    .m_doc = "The library behind the package tessera.",
    .m_size = sizeof(Core),
    .m_methods = functions,
    .m_slots = slots,
    .m_traverse = traverse,
    .m_clear = clear,
    .m_free = release,
};

PyMODINIT_FUNC PyInit__core(void)
{
    return PyModuleDef_Init(&definition);
}
