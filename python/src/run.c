/* Runs of programs, and what else needs their arguments. Everything of the library that may take long or wait runs
 * without the interpreter's lock. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core.h"

/* What a call holds, all of which end() gives back. */
typedef struct Call {
    ProgramObject *p;
    tess_args *a;
    Tensor *tensors; /* of inputs, then of results */
    bool reusable;   /* the arguments may serve another call */
} Call;

static bool begin(Call *c, PyObject *self)
{
    *c = (Call){ .p = (ProgramObject *)self };
    ProgramObject *p = c->p;
    if (!p->program) {
        PyErr_SetString(PyExc_RuntimeError, "this program was never compiled");
        return false;
    }
    c->tensors = calloc((size_t)(p->n_inputs + p->n_outputs), sizeof *c->tensors);
    PyThread_acquire_lock(p->lock, WAIT_LOCK);
    if (p->n_pool > 0)
        c->a = p->pool[--p->n_pool];
    PyThread_release_lock(p->lock);
    c->reusable = true;
    if (!c->a)
        tess_args_new(p->program, &c->a);
    if (c->a && c->tensors)
        return true;
    PyErr_NoMemory();
    return false;
}

static void end(Call *c)
{
    ProgramObject *p = c->p;
    for (Py_ssize_t i = 0; c->tensors && i < p->n_inputs + p->n_outputs; i++)
        tesspy_tensor_clear(&c->tensors[i]);
    free(c->tensors);
    if (c->a && c->reusable) {
        PyThread_acquire_lock(p->lock, WAIT_LOCK);
        if (p->n_pool < POOL) {
            p->pool[p->n_pool++] = c->a;
            c->a = NULL;
        }
        PyThread_release_lock(p->lock);
    }
    tess_args_free(c->a);
}

static bool fail(Call *c, tess_status status)
{
    atomic_store(&c->p->interrupted, 0);
    c->reusable = false;
    tesspy_raise(c->p->core, status, tess_args_error(c->a), NULL);
    return false;
}

/* ---- Numbers --------------------------------------------------------------------------------- */
/* False with an exception, also for whole numbers that a double does not have. */
static bool number_of(const Call *c, const char *name, PyObject *value, double *out)
{
    *out = PyFloat_AsDouble(value);
    if (*out == -1.0 && PyErr_Occurred()) {
        PyErr_Clear();
        PyObject *kind = PyObject_GetAttrString((PyObject *)Py_TYPE(value), "__name__");
        const char *said = kind ? PyUnicode_AsUTF8AndSize(kind, NULL) : NULL;
        if (said)
            tesspy_raisef(c->p->core, TESS_ERROR_ARGUMENT, "'%s' is a number and takes no %.100s",
                          name, said);
        Py_XDECREF(kind);
        return false;
    }
    if (!PyLong_Check(value) || (*out > -9e15 && *out < 9e15))
        return true;
    PyObject *same = PyFloat_FromDouble(*out);
    const int equal = same ? PyObject_RichCompareBool(same, value, Py_EQ) : -1;
    Py_XDECREF(same);
    if (equal == 0)
        tesspy_raisef(c->p->core, TESS_ERROR_ARGUMENT, "'%s' is too large a number to be exact",
                      name);
    return equal == 1;
}

/* Every number that has a value gets it, since the arguments may have served before; `named` is a dict or None, all
 * of whose names are known. */
static bool bind_numbers(Call *c, PyObject *named)
{
    ProgramObject *p = c->p;
    for (Py_ssize_t i = 0; i < p->n_inputs; i++) {
        const tess_info *info = &p->inputs[i];
        if (info->kind != TESS_SCALAR && info->kind != TESS_PARAMETER)
            continue;
        PyObject *value = named == Py_None ? NULL : PyDict_GetItemString(named, info->name);
        double given = info->value;
        if (value && !number_of(c, info->name, value, &given))
            return false;
        if (!value && !info->has_default) {
            if (info->kind == TESS_PARAMETER)
                continue;
            tesspy_raisef(p->core, TESS_ERROR_ARGUMENT, "the scalar '%s' has no value: give %s=...",
                          info->name, info->name);
            return false;
        }
        c->reusable &= info->kind == TESS_SCALAR;
        const tess_status status = tess_args_scalar(c->a, info->name, given);
        if (status != TESS_OK)
            return fail(c, status);
    }
    return true;
}

/* ---- Images ---------------------------------------------------------------------------------- */
/* `images` is a tuple with one array for each image and mask, in their order. */
static bool bind_images(Call *c, PyObject *images, PyObject *stream)
{
    ProgramObject *p = c->p;
    if (!PyTuple_Check(images) || PyTuple_Size(images) != p->n_images) {
        tesspy_raisef(p->core, TESS_ERROR_ARGUMENT, "the program takes %zd images, not %zd",
                      p->n_images, PyTuple_Check(images) ? PyTuple_Size(images) : (Py_ssize_t)0);
        return false;
    }
    for (Py_ssize_t i = 0, at = 0; i < p->n_inputs; i++) {
        const tess_info *info = &p->inputs[i];
        if (info->kind != TESS_IMAGE && info->kind != TESS_MASK)
            continue;
        if (!tesspy_tensor(p->core, PyTuple_GetItem(images, at++), info,
                           PyTuple_GetItem(p->said_inputs, i), false, stream, &c->tensors[i]))
            return false;
        const tess_status status = tess_args_image(c->a, info->name, &c->tensors[i].t);
        if (status != TESS_OK)
            return fail(c, status);
    }
    return true;
}

/* The NumPy name of what a tensor consists of: bytes where the fields of its pixels have several types. */
static const char *element_of(const tess_info *info)
{
    for (int ch = 1; ch < info->n_channels; ch++)
        if (memcmp(&info->channel_types[ch], &info->channel_types[0], sizeof(DLDataType)) != 0)
            return "uint8";
    return tesspy_type_name(info->dtype);
}

/* As bind_images, of shapes alone; channels are not among them. */
static bool bind_sizes(Call *c, PyObject *sizes)
{
    ProgramObject *p = c->p;
    for (Py_ssize_t i = 0, at = 0; i < p->n_inputs; i++) {
        const tess_info *info = &p->inputs[i];
        if (info->kind != TESS_IMAGE && info->kind != TESS_MASK)
            continue;
        PyObject *size = PyTuple_GetItem(sizes, at++);
        int64_t shape[TESS_MAX_SHAPE];
        DLTensor t = { NULL, { kDLCPU, 0 }, info->ndim, info->dtype, shape, NULL, 0 };
        if (!size)
            return false;
        if (PyTuple_Size(size) < info->ndim) {
            tesspy_raisef(p->core, TESS_ERROR_ARGUMENT,
                          "image '%s' has %d dimensions in the program, but %zd here", info->name,
                          info->ndim, PyTuple_Size(size));
            return false;
        }
        for (int d = 0; d < info->ndim; d++) {
            int overflow;
            shape[d] = PyLong_AsLongLongAndOverflow(PyTuple_GetItem(size, d), &overflow);
            if (overflow)
                shape[d] = overflow < 0 ? INT64_MIN : INT64_MAX;
        }
        if (PyErr_Occurred())
            return false;
        if (info->is_struct)
            shape[t.ndim++] = info->n_channels;
        if (strcmp(element_of(info), "uint8") == 0 && info->is_struct) {
            t.dtype = tesspy_type_named("uint8");
            shape[t.ndim - 1] = 0;
            for (int ch = 0; ch < info->n_channels; ch++)
                shape[t.ndim - 1] += info->channel_types[ch].bits / 8;
        }
        const tess_status status = tess_args_shape(c->a, info->name, &t);
        if (status != TESS_OK)
            return fail(c, status);
    }
    return true;
}

/* The shape of a result as a tuple; NULL with an exception. */
static PyObject *shape_of(Call *c, Py_ssize_t output)
{
    int64_t shape[TESS_MAX_SHAPE];
    int n = 0;
    tess_status status;
    Py_BEGIN_ALLOW_THREADS status =
        tess_result_shape(c->p->program, c->a, (size_t)output, &n, shape);
    Py_END_ALLOW_THREADS if (status != TESS_OK)
    {
        fail(c, status);
        return NULL;
    }
    PyObject *made = PyTuple_New(n);
    for (int d = 0; made && d < n; d++) {
        PyObject *size = PyLong_FromLongLong(shape[d]);
        if (!size || PyTuple_SetItem(made, d, size) < 0)
            Py_CLEAR(made);
    }
    return made;
}

/* Where in a page of memory a result of that shape begins: a part of it farther on than the first image if its rows
 * lie whole KiB apart, for loads of the image would wait for stores to the same place of other pages. -1: anywhere. */
static long place_of(const Call *c, Py_ssize_t output, PyObject *shape)
{
    enum { PAGE = 4096, LINE = 64, SKEW = 17 * LINE, ROW_STEP = 1024, SMALL = 1 << 16 };
    const Tensor *first = c->tensors;
    const Py_ssize_t n = PyTuple_Size(shape);
    for (Py_ssize_t i = 0; i < c->p->n_inputs && !first->t.data; i++)
        first = &c->tensors[i];
    if (!first->t.data || first->t.device.device_type > kDLCPU || n < 2)
        return -1;
    double row = c->p->outputs[output].dtype.bits / 8;
    for (Py_ssize_t d = 1; d < n; d++)
        row *= PyLong_AsDouble(PyTuple_GetItem(shape, d));
    const double bytes = row * PyLong_AsDouble(PyTuple_GetItem(shape, 0));
    if (bytes < SMALL || bytes > (double)PY_SSIZE_T_MAX / 2 || fmod(row, ROW_STEP) != 0)
        return -1;
    const uintptr_t from = (uintptr_t)first->t.data + first->t.byte_offset;
    return (long)((from + (size_t)(1 + output % 3) * SKEW) % PAGE / LINE * LINE);
}

static PyObject *allocate(Call *c, Py_ssize_t output, PyObject *allocator)
{
    PyObject *shape = shape_of(c, output);
    if (!shape)
        return NULL;
    const Core *core = c->p->core;
    const char *element = element_of(&c->p->outputs[output]);
    const long place = allocator == Py_None ? place_of(c, output, shape) : -1;
    PyObject *made = place >= 0
                         ? PyObject_CallFunction(core->empty_at, "Osl", shape, element, place)
                         : PyObject_CallFunction(allocator == Py_None ? core->empty : allocator,
                                                 "Os", shape, element);
    Py_DECREF(shape);
    return made;
}

/* The arrays of the results, given or made, bound; a new tuple. */
static PyObject *bind_results(Call *c, PyObject *outs, PyObject *stream, PyObject *allocator)
{
    ProgramObject *p = c->p;
    PyObject *results = PyTuple_New(p->n_outputs);
    for (Py_ssize_t o = 0; results && o < p->n_outputs; o++) {
        PyObject *given = outs == Py_None ? Py_None : PyTuple_GetItem(outs, o); /* borrowed */
        if (given && given != Py_None)
            Py_INCREF(given);
        else if (given)
            given = allocate(c, o, allocator);
        if (!given || PyTuple_SetItem(results, o, given) < 0) {
            Py_CLEAR(results);
            break;
        }
        Tensor *t = &c->tensors[p->n_inputs + o];
        if (!tesspy_tensor(p->core, given, &p->outputs[o], PyTuple_GetItem(p->said_outputs, o),
                           true, stream, t)) {
            Py_CLEAR(results);
            break;
        }
        const tess_status status = tess_args_output(c->a, (size_t)o, &t->t);
        if (status != TESS_OK) {
            fail(c, status);
            Py_CLEAR(results);
        }
    }
    return results;
}

/* ---- Running --------------------------------------------------------------------------------- */
/* Says what was noted since the last time; false when a filter of warnings makes errors of them. */
static bool say_notes(ProgramObject *p)
{
    char notes[sizeof p->notes / sizeof *p->notes][sizeof p->notes[0]];
    PyThread_acquire_lock(p->lock, WAIT_LOCK);
    const int n = p->n_notes;
    if (n)
        memcpy(notes, p->notes, sizeof notes);
    p->n_notes = 0;
    PyThread_release_lock(p->lock);
    for (int i = 0; i < n; i++) {
        PyObject *done = PyObject_CallFunction(p->core->warn, "s", notes[i]);
        if (!done)
            return false;
        Py_DECREF(done);
    }
    return true;
}

static bool run(Call *c, void *handle, int verify)
{
    ProgramObject *p = c->p;
    tess_status status;
    Py_BEGIN_ALLOW_THREADS status = tess_run(p->program, c->a, handle);
    if (status == TESS_OK && verify)
        status = tess_verify(p->program, c->a);
    Py_END_ALLOW_THREADS PyThread_acquire_lock(p->lock, WAIT_LOCK);
    p->timing.struct_size = sizeof p->timing;
    p->has_timing = tess_args_timing(c->a, &p->timing) == TESS_OK;
    PyThread_release_lock(p->lock);
    return status == TESS_OK ? say_notes(p) : fail(c, status);
}

PyObject *tesspy_run(PyObject *self, PyObject *args)
{
    PyObject *images, *scalars, *outs, *stream, *allocator, *results = NULL;
    unsigned long long handle;
    int verify;
    Call c;
    if (!PyArg_ParseTuple(args, "OOOOKOp", &images, &scalars, &outs, &stream, &handle, &allocator,
                          &verify))
        return NULL;
    if (begin(&c, self) && bind_images(&c, images, stream) && bind_numbers(&c, scalars)) {
        results = bind_results(&c, outs, stream, allocator);
        if (results && !run(&c, (void *)(uintptr_t)handle, verify))
            Py_CLEAR(results);
    }
    end(&c);
    return results;
}

static PyObject *shapes_of(Call *c)
{
    PyObject *shapes = PyTuple_New(c->p->n_outputs);
    for (Py_ssize_t o = 0; shapes && o < c->p->n_outputs; o++) {
        PyObject *shape = shape_of(c, o);
        if (!shape || PyTuple_SetItem(shapes, o, shape) < 0)
            Py_CLEAR(shapes);
    }
    return shapes;
}

PyObject *tesspy_shapes(PyObject *self, PyObject *args)
{
    PyObject *images, *scalars, *shapes = NULL;
    Call c;
    if (!PyArg_ParseTuple(args, "OO", &images, &scalars))
        return NULL;
    if (begin(&c, self) && bind_images(&c, images, Py_None) && bind_numbers(&c, scalars))
        shapes = shapes_of(&c);
    end(&c);
    return shapes;
}

/* ---- Parts ----------------------------------------------------------------------------------- */
/* The programs of parts as JSON; NULL with an exception. */
static PyObject *text_of_parts(Call *c)
{
    tess_parts *parts = NULL;
    char *json = NULL;
    tess_status status;
    Py_BEGIN_ALLOW_THREADS status = tess_parts_new(c->p->program, c->a, &parts);
    if (status == TESS_OK)
        status = tess_parts_text(parts, &json);
    Py_END_ALLOW_THREADS PyObject *text = NULL;
    if (status == TESS_OK)
        text = tesspy_text(json);
    else
        tesspy_raise(c->p->core, status, tess_parts_error(parts), NULL);
    tess_text_free(json);
    tess_parts_free(parts);
    return text;
}

PyObject *tesspy_parts(PyObject *self, PyObject *args)
{
    PyObject *sizes, *scalars, *shapes = NULL, *text = NULL;
    int whole;
    Call c;
    if (!PyArg_ParseTuple(args, "O!Op", &PyTuple_Type, &sizes, &scalars, &whole))
        return NULL;
    if (begin(&c, self) && bind_sizes(&c, sizes) && bind_numbers(&c, scalars))
        shapes = shapes_of(&c);
    if (shapes && !whole)
        text = text_of_parts(&c);
    c.reusable = false; /* these images have no pixels */
    end(&c);
    PyObject *both =
        shapes && (whole || text) ? Py_BuildValue("(OO)", shapes, text ? text : Py_None) : NULL;
    Py_XDECREF(shapes);
    Py_XDECREF(text);
    return both;
}

/* ---- Texts and facts ------------------------------------------------------------------------- */
static PyObject *dump(Call *c, const char *stop, bool with_args)
{
    ProgramObject *p = c->p;
    char *text = NULL;
    tess_diags *d = NULL;
    tess_status status;
    Py_BEGIN_ALLOW_THREADS status = tess_dump(p->program, with_args ? c->a : NULL, stop, &text, &d);
    Py_END_ALLOW_THREADS PyObject *result = NULL;
    if (status == TESS_OK)
        result = tesspy_text(text);
    else if (d && tess_diags_errors(d))
        tesspy_raise(p->core, status, tess_diags_text(d, 0), tess_diags_json(d));
    else
        tesspy_raise(p->core, status, tess_program_error(p->program), NULL);
    tess_text_free(text);
    tess_diags_free(d);
    return result;
}

PyObject *tesspy_dump(PyObject *self, PyObject *args)
{
    const char *stop;
    PyObject *images, *scalars, *text = NULL;
    Call c;
    if (!PyArg_ParseTuple(args, "sOO", &stop, &images, &scalars))
        return NULL;
    if (begin(&c, self) && (images == Py_None || bind_images(&c, images, Py_None))
        && (scalars == Py_None || bind_numbers(&c, scalars)))
        text = dump(&c, stop, images != Py_None || scalars != Py_None);
    c.reusable = false; /* images of this call must not count in the next dump */
    end(&c);
    return text;
}

PyObject *tesspy_reach(PyObject *self, PyObject *args)
{
    const char *name;
    PyObject *scalars, *result = NULL;
    Call c;
    if (!PyArg_ParseTuple(args, "sO", &name, &scalars))
        return NULL;
    if (begin(&c, self) && (scalars == Py_None || bind_numbers(&c, scalars))) {
        tess_reach r = { .struct_size = sizeof r };
        tess_status status;
        Py_BEGIN_ALLOW_THREADS status =
            tess_program_reach(c.p->program, scalars == Py_None ? NULL : c.a, name, &r);
        Py_END_ALLOW_THREADS if (status != TESS_OK)
            tesspy_raise(c.p->core, status, tess_program_error(c.p->program), NULL);
        else result =
            Py_BuildValue("(i(LLLL)(LLLL)(iiii)i)", r.ndim, (long long)r.before[0],
                          (long long)r.before[1], (long long)r.before[2], (long long)r.before[3],
                          (long long)r.after[0], (long long)r.after[1], (long long)r.after[2],
                          (long long)r.after[3], r.any[0], r.any[1], r.any[2], r.any[3], r.placed);
    }
    end(&c);
    return result;
}
