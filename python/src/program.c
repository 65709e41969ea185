/* The type Program: compiling, and what is known without a run. */
#include <stdlib.h>
#include <string.h>

#include "core.h"

/* ---- What the library tells while it works, from any thread ---------------------------------- */
static void on_note(void *user, const char *sentence)
{
    ProgramObject *p = user;
    PyThread_acquire_lock(p->lock, WAIT_LOCK);
    if (p->n_notes < (int)(sizeof p->notes / sizeof *p->notes)) {
        char *place = p->notes[p->n_notes++];
        strncpy(place, sentence, sizeof p->notes[0] - 1);
        place[sizeof p->notes[0] - 1] = '\0';
    }
    PyThread_release_lock(p->lock);
}

/* Asked several times a second while a compiler runs: an interrupt of Python's ends it. */
static int on_hold(void *user, int change)
{
    ProgramObject *p = user;
    if (change == 0 && Py_IsInitialized()) {
        const PyGILState_STATE state = PyGILState_Ensure();
        if (!PyErr_Occurred() && PyErr_CheckSignals() < 0)
            atomic_store(&p->interrupted, 1);
        PyGILState_Release(state);
    }
    return atomic_load(&p->interrupted);
}

/* ---- Descriptions ---------------------------------------------------------------------------- */
/* (name, kind, type, dimensions, channel names, channel types, const, default, low, high, is_struct, is_any, nodata) */
static PyObject *number(int has, double value)
{
    if (has)
        return PyFloat_FromDouble(value);
    Py_RETURN_NONE;
}

static PyObject *channel_facts(const tess_info *info, bool names)
{
    const int n = info->kind == TESS_IMAGE || info->kind == TESS_MASK ? info->n_channels : 0;
    PyObject *all = PyTuple_New(n);
    for (int c = 0; all && c < n; c++) {
        PyObject *one = PyUnicode_FromString(names ? info->channel_names[c]
                                                   : tesspy_type_name(info->channel_types[c]));
        if (!one || PyTuple_SetItem(all, c, one) < 0)
            Py_CLEAR(all);
    }
    return all;
}

static PyObject *say(const tess_info *info)
{
    static const char *const kinds[] = { "image", "mask", "scalar", "parameter" };
    return Py_BuildValue("(sssiNNONNNOON)", info->name, kinds[info->kind],
                         tesspy_type_name(info->dtype), info->ndim, channel_facts(info, true),
                         channel_facts(info, false), info->is_const ? Py_True : Py_False,
                         number(info->has_default, info->value), number(info->has_range, info->lo),
                         number(info->has_range, info->hi), info->is_struct ? Py_True : Py_False,
                         info->is_any ? Py_True : Py_False, number(info->has_nodata, info->nodata));
}

typedef tess_status (*InfoOf)(const tess_program *p, size_t i, tess_info *info);

/* The signature, for C in *infos and for Python in *said. */
static bool describe(const tess_program *p, size_t n, InfoOf info_of, tess_info **infos,
                     PyObject **said)
{
    *infos = calloc(n ? n : 1, sizeof **infos);
    *said = PyTuple_New((Py_ssize_t)n);
    if (!*infos)
        PyErr_NoMemory();
    if (!*infos || !*said)
        return false;
    for (size_t i = 0; i < n; i++) {
        (*infos)[i].struct_size = sizeof **infos;
        info_of(p, i, &(*infos)[i]);
        PyObject *one = say(&(*infos)[i]);
        if (!one || PyTuple_SetItem(*said, (Py_ssize_t)i, one) < 0)
            return false;
    }
    return true;
}

static bool is_array(const tess_info *info)
{
    return info->kind == TESS_IMAGE || info->kind == TESS_MASK;
}

/* ---- Compiling --------------------------------------------------------------------------------------------------- */
/* The constants of a dict, in memory of the caller's (names are borrowed from the dict; None is no name); NULL with an
 * exception, or where there are none. */
static tess_constant *take_constants(PyObject *dict, size_t *n)
{
    *n = 0;
    const Py_ssize_t size = dict == Py_None ? 0 : PyDict_Size(dict);
    tess_constant *all = size > 0 ? calloc((size_t)size, sizeof *all) : NULL;
    if (size > 0 && !all)
        PyErr_NoMemory();
    Py_ssize_t at = 0;
    PyObject *key, *value;
    while (all && PyDict_Next(dict, &at, &key, &value)) {
        all[*n].name = key == Py_None ? NULL : PyUnicode_AsUTF8AndSize(key, NULL);
        all[(*n)++].value = PyFloat_AsDouble(value);
        if (PyErr_Occurred())
            break;
    }
    return all;
}

/* The same of a list of tuples (name or None, NumPy's name of a type, channels). */
static tess_typed *take_types(PyObject *list, size_t *n)
{
    *n = 0;
    const Py_ssize_t size = list == Py_None ? 0 : PyList_Size(list);
    tess_typed *all = size > 0 ? calloc((size_t)size, sizeof *all) : NULL;
    if (size > 0 && !all)
        PyErr_NoMemory();
    for (Py_ssize_t i = 0; all && i < size; i++) {
        const char *type;
        if (!PyArg_ParseTuple(PyList_GetItem(list, i), "zsi", &all[i].name, &type,
                              &all[i].channels))
            break;
        all[i].dtype = tesspy_type_named(type);
        *n += 1;
    }
    return all;
}

static bool keep_diagnostics(ProgramObject *self, tess_diags *d)
{
    self->text = tesspy_text(d ? tess_diags_text(d, 0) : "");
    self->json = tesspy_text(d ? tess_diags_json(d) : "");
    return self->text && self->json;
}

static bool compile_text(ProgramObject *self, const char *text, Py_ssize_t n, const char *name,
                         tess_options *o)
{
    tess_diags *d = NULL;
    tess_status status;
    Py_BEGIN_ALLOW_THREADS status = tess_compile(text, (size_t)n, name, o, &self->program, &d);
    Py_END_ALLOW_THREADS bool ok = keep_diagnostics(self, d);
    if (ok && status != TESS_OK) {
        const char *said = d ? tess_diags_text(d, 0) : "";
        tesspy_raise(self->core, status, *said ? said : tess_status_text(status),
                     d ? tess_diags_json(d) : NULL);
        ok = false;
    }
    tess_diags_free(d);
    return ok;
}

static bool learn_signature(ProgramObject *self)
{
    const size_t n_inputs = tess_program_inputs(self->program),
                 n_outputs = tess_program_outputs(self->program);
    if (!describe(self->program, n_inputs, tess_program_input, &self->inputs, &self->said_inputs)
        || !describe(self->program, n_outputs, tess_program_output, &self->outputs,
                     &self->said_outputs))
        return false;
    self->n_inputs = (Py_ssize_t)n_inputs;
    self->n_outputs = (Py_ssize_t)n_outputs;
    for (size_t i = 0; i < n_inputs; i++)
        self->n_images += is_array(&self->inputs[i]);
    return true;
}

static int init(PyObject *object, PyObject *args, PyObject *named)
{
    static char *names[] = { "text",    "name",   "target", "fp",        "threads",
                             "device",  "forma",  "border", "plan",      "machine",
                             "library", "cache",  "cc",     "constants", "device_bytes",
                             "types",   "nodata", "first",  "effort",    NULL };
    ProgramObject *self = (ProgramObject *)object;
    tess_options o;
    tess_options_init(&o);
    const char *text, *name;
    Py_ssize_t n;
    int target = 0, fp = 0, first = 0, effort = 0;
    unsigned long long device_bytes = 0;
    PyObject *constants = Py_None, *types = Py_None, *nodata = Py_None;
    if (self->program) {
        PyErr_SetString(PyExc_RuntimeError, "this program is compiled already");
        return -1;
    }
    if (!PyArg_ParseTupleAndKeywords(args, named, "s#s|iiiiizzzzzzOKOOii", names, &text, &n, &name,
                                     &target, &fp, &o.threads, &o.device, &o.forma, &o.border,
                                     &o.plan, &o.machine, &o.library, &o.cache, &o.cc, &constants,
                                     &device_bytes, &types, &nodata, &first, &effort))
        return -1;
    o.target = (tess_target)target;
    o.fp = (tess_fp)fp;
    o.first = (tess_first)first;
    o.effort = (tess_effort)effort;
    o.device_bytes = device_bytes;
    o.note = on_note;
    o.hold = on_hold;
    o.user = self;
    tess_constant *all = take_constants(constants, &o.n_constants);
    o.constants = all;
    tess_typed *typed = PyErr_Occurred() ? NULL : take_types(types, &o.n_types);
    o.types = typed;
    tess_constant *holes = PyErr_Occurred() ? NULL : take_constants(nodata, &o.n_nodata);
    o.nodata = holes;
    const bool ok =
        !PyErr_Occurred() && compile_text(self, text, n, name, &o) && learn_signature(self);
    free(all);
    free(typed);
    free(holes);
    return ok ? 0 : -1;
}

static PyObject *new_program(PyTypeObject *type, PyObject *args, PyObject *named)
{
    (void)args, (void)named;
    allocfunc make = (allocfunc)PyType_GetSlot(type, Py_tp_alloc);
    ProgramObject *self = (ProgramObject *)make(type, 0);
    if (!self)
        return NULL;
    self->module = PyType_GetModule(type);
    self->lock = PyThread_allocate_lock();
    if (!self->module || !self->lock) {
        self->module = NULL;
        Py_DECREF(self);
        return self->lock ? NULL : PyErr_NoMemory();
    }
    Py_INCREF(self->module);
    self->core = tesspy_core(self->module);
    return (PyObject *)self;
}

static void dealloc(PyObject *object)
{
    ProgramObject *self = (ProgramObject *)object;
    PyTypeObject *type = Py_TYPE(object);
    for (int i = 0; i < self->n_pool; i++)
        tess_args_free(self->pool[i]);
    tess_program *program = self->program;
    if (program) {
        Py_BEGIN_ALLOW_THREADS tess_program_free(program); /* may wait for a compiler */
        Py_END_ALLOW_THREADS
    }
    free(self->inputs);
    free(self->outputs);
    Py_XDECREF(self->said_inputs);
    Py_XDECREF(self->said_outputs);
    Py_XDECREF(self->text);
    Py_XDECREF(self->json);
    Py_XDECREF(self->module);
    if (self->lock)
        PyThread_free_lock(self->lock);
    ((freefunc)PyType_GetSlot(type, Py_tp_free))(object);
    Py_DECREF(type);
}

/* ---- Facts ----------------------------------------------------------------------------------- */
static PyObject *borrow(PyObject *fact)
{
    PyObject *said = fact ? fact : Py_None;
    Py_INCREF(said);
    return said;
}

static PyObject *get_inputs(PyObject *self, void *unused)
{
    (void)unused;
    return borrow(((ProgramObject *)self)->said_inputs);
}

static PyObject *get_outputs(PyObject *self, void *unused)
{
    (void)unused;
    return borrow(((ProgramObject *)self)->said_outputs);
}

static PyObject *get_text(PyObject *self, void *unused)
{
    (void)unused;
    return borrow(((ProgramObject *)self)->text);
}

static PyObject *get_json(PyObject *self, void *unused)
{
    (void)unused;
    return borrow(((ProgramObject *)self)->json);
}

/* (target, milliseconds of the front, of the compiler, of the run, of copies, compiled before, strips) of the last
 * run. */
static PyObject *get_time(PyObject *object, void *unused)
{
    (void)unused;
    ProgramObject *self = (ProgramObject *)object;
    PyThread_acquire_lock(self->lock, WAIT_LOCK);
    const tess_timing t = self->timing;
    const bool has = self->has_timing;
    PyThread_release_lock(self->lock);
    if (!has)
        Py_RETURN_NONE;
    return Py_BuildValue("(sddddii)", t.target, t.front_ms, t.compile_ms, t.run_ms, t.copy_ms,
                         t.compile_cached, t.strips);
}

static PyGetSetDef facts[] = {
    { "inputs", get_inputs, NULL, "Descriptions of all inputs.", NULL },
    { "outputs", get_outputs, NULL, "Descriptions of the results.", NULL },
    { "diagnostics_text", get_text, NULL, "What the compiler said.", NULL },
    { "diagnostics_json", get_json, NULL, "The same, one object a line.", NULL },
    { "time", get_time, NULL, "How long the last run took.", NULL },
    { NULL, NULL, NULL, NULL, NULL },
};

static PyMethodDef methods[] = {
    { "run", tesspy_run, METH_VARARGS,
      "run(images, scalars, outs, stream, handle, allocate, verify)\n--\n\nRuns; returns a tuple "
      "of the results." },
    { "shapes", tesspy_shapes, METH_VARARGS,
      "shapes(images, scalars)\n--\n\nThe shapes of the results for these images." },
    { "dump", tesspy_dump, METH_VARARGS,
      "dump(stop, images, scalars)\n--\n\nText of a stop of the compiler." },
    { "reach", tesspy_reach, METH_VARARGS,
      "reach(name, scalars)\n--\n\nHow far from a point of the results an image matters." },
    { "parts", tesspy_parts, METH_VARARGS,
      "parts(shapes, scalars, whole)\n--\n\nThe shapes of the results for images of these shapes, "
      "and, if not whole, the programs of their parts as JSON." },
    { "device_image", tesspy_device_image, METH_VARARGS,
      "device_image(shape, type)\n--\n\nMemory of the program's device, for _core.lend." },
    { NULL, NULL, 0, NULL },
};

static PyType_Slot slots[] = {
    { Py_tp_new, (void *)new_program },
    { Py_tp_init, (void *)init },
    { Py_tp_dealloc, (void *)dealloc },
    { Py_tp_methods, methods },
    { Py_tp_getset, facts },
    { Py_tp_doc, "A program, compiled. Use tessera.compile." },
    { 0, NULL },
};

PyType_Spec tesspy_program_spec = {
    .name = "tessera._core.Program",
    .basicsize = sizeof(ProgramObject),
    .flags = Py_TPFLAGS_DEFAULT,
    .slots = slots,
};
