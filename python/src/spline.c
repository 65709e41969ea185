/* The coefficients of splines: what tessera.ndimage interpolates between from order 2 on. An image is filtered along
 * one axis after the other, forwards and backwards for each pole of the spline (M. Unser, "Splines: a perfect fit for
 * signal and image processing", 1999). Where the two passes begin depends on all of the line, in weights that follow
 * from how it goes on beyond its edges. */
#include <math.h>
#include <stdlib.h>

#include "core.h"

enum {
    MOST_POLES = 2,
    LANES = 8
}; /* lines filtered together, as a processor's vectors want them */
typedef enum Ends { MIRRORED, REFLECTED, REPEATED, N_ENDS } Ends;

/* What one pole needs to know of lines of n points. */
typedef struct Pole {
    double z;
    double *first, *last; /* n weights: of the first value forwards, of the last backwards */
} Pole;

/* Some lines of an image: `lanes` of them, `across` apart, of `n` points that are `stride` apart. */
typedef struct Lines {
    double *at;
    Py_ssize_t n, stride, lanes, across;
} Lines;
typedef double Point[LANES]; /* the same point of lines that were copied to lie side by side */

static int poles_of(int order, double *z)
{
    switch (order) {
    case 2: z[0] = sqrt(8.0) - 3.0; return 1;
    case 3: z[0] = sqrt(3.0) - 2.0; return 1;
    case 4:
        z[0] = sqrt(664.0 - sqrt(438976.0)) + sqrt(304.0) - 19.0;
        z[1] = sqrt(664.0 + sqrt(438976.0)) - sqrt(304.0) - 19.0;
        return 2;
    default:
        z[0] = sqrt(67.5 - sqrt(4436.25)) + sqrt(26.25) - 6.5;
        z[1] = sqrt(67.5 + sqrt(4436.25)) - sqrt(26.25) - 6.5;
        return 2;
    }
}

/* The first value is the sum of z^k times the point k before it, which the line's continuation repeats after `period`
 * points; the last is the same of what comes behind, with the sign and the power that the recursion has there. Of
 * reflected lines SciPy adds the first point once more with all that was added before, weighed by `again`; so does
 * this, since the results are to be SciPy's (it shows in lines of a few points). */
static void weigh(Pole *p, Py_ssize_t n, Ends ends)
{
    const double z = p->z;
    const Py_ssize_t period = ends == MIRRORED ? 2 * n - 2 : ends == REFLECTED ? 2 * n : n;
    const double whole = 1.0 / (1.0 - pow(z, (double)period)),
                 again = pow(z, 2.0 * (double)n - 1.0);
    for (Py_ssize_t i = 0; i < n; i++) {
        const double near = pow(z, (double)i), far = pow(z, (double)(period - i));
        p->last[i] = 0;
        if (ends == MIRRORED)
            p->first[i] = whole * (i == 0 || i == n - 1 ? near : near + far);
        else if (ends == REFLECTED)
            p->first[i] = whole * z
                              * ((1.0 + again)
                                     * (i == 0       ? 1.0
                                        : i == n - 1 ? far / z
                                                     : near + far / z)
                                 + (i == n - 1 ? near : 0.0))
                          + (i == 0);
        else {
            p->first[i] = whole * (i == 0 ? 1.0 : far);
            p->last[i] = -whole * (i == n - 1 ? z : near * z * z);
        }
    }
    if (ends == MIRRORED) {
        p->last[n - 1] = z / (z * z - 1.0);
        p->last[n - 2] = z * p->last[n - 1];
    } else if (ends == REFLECTED)
        p->last[n - 1] = z / (z - 1.0);
}

/* Replaces point `at` by the weighed sum of all, those of no weight left out. */
static void sum_up(Point *line, Py_ssize_t n, const double *weights, Py_ssize_t at)
{
    Point sum = { 0 };
    for (Py_ssize_t i = 0; i < n; i++) {
        if (weights[i] == 0)
            continue;
        for (int k = 0; k < LANES; k++)
            sum[k] += weights[i] * line[i][k];
    }
    for (int k = 0; k < LANES; k++)
        line[at][k] = sum[k];
}

static void filter(Point *line, Py_ssize_t n, const Pole *poles, int n_poles)
{
    double gain = 1.0;
    for (int i = 0; i < n_poles; i++)
        gain *= (1.0 - poles[i].z) * (1.0 - 1.0 / poles[i].z);
    for (Py_ssize_t i = 0; i < n; i++)
        for (int k = 0; k < LANES; k++)
            line[i][k] *= gain;
    for (const Pole *p = poles; p < poles + n_poles; p++) {
        sum_up(line, n, p->first, 0);
        for (Py_ssize_t i = 1; i < n; i++)
            for (int k = 0; k < LANES; k++)
                line[i][k] += p->z * line[i - 1][k];
        sum_up(line, n, p->last, n - 1);
        for (Py_ssize_t i = n - 2; i >= 0; i--)
            for (int k = 0; k < LANES; k++)
                line[i][k] = p->z * (line[i + 1][k] - line[i][k]);
    }
}

/* The lines of chunk number `chunk` of an image of before x n x behind numbers, along its middle dimension: those that
 * lie side by side, or where that is the last dimension, one behind the other. */
static Lines lines_of(double *image, Py_ssize_t before, Py_ssize_t n, Py_ssize_t behind,
                      Py_ssize_t chunk)
{
    const Py_ssize_t count = behind == 1 ? before : behind, chunks = (count + LANES - 1) / LANES;
    const Py_ssize_t first = chunk % chunks * LANES, across = behind == 1 ? n : 1;
    return (Lines){ .at = image + chunk / chunks * n * behind + first * across,
                    .n = n,
                    .stride = behind,
                    .lanes = count - first < LANES ? count - first : LANES,
                    .across = across };
}

static void filter_lines(Lines l, Point *line, const Pole *poles, int n_poles)
{
    for (Py_ssize_t i = 0; i < l.n; i++)
        for (Py_ssize_t k = 0; k < l.lanes; k++)
            line[i][k] = l.at[i * l.stride + k * l.across];
    filter(line, l.n, poles, n_poles);
    for (Py_ssize_t i = 0; i < l.n; i++)
        for (Py_ssize_t k = 0; k < l.lanes; k++)
            l.at[i * l.stride + k * l.across] = line[i][k];
}

/* Part `part` of `parts` of an image in memory as before x n x behind numbers, along its middle dimension. False
 * without memory. */
static bool filter_part(double *image, Py_ssize_t before, Py_ssize_t n, Py_ssize_t behind,
                        int order, Ends ends, Py_ssize_t part, Py_ssize_t parts)
{
    double z[MOST_POLES];
    Pole poles[MOST_POLES];
    const int n_poles = poles_of(order, z);
    double *weights = malloc((size_t)n * 2 * MOST_POLES * sizeof *weights);
    Point *line = calloc((size_t)n, sizeof *line);
    const bool ok = weights && line;
    for (int i = 0; ok && i < n_poles; i++) {
        poles[i] = (Pole){ z[i], weights + 2 * i * n, weights + (2 * i + 1) * n };
        weigh(&poles[i], n, ends);
    }
    const Py_ssize_t chunks =
        behind == 1 ? (before + LANES - 1) / LANES : before * ((behind + LANES - 1) / LANES);
    for (Py_ssize_t c = chunks * part / parts; ok && c < chunks * (part + 1) / parts; c++)
        filter_lines(lines_of(image, before, n, behind, c), line, poles, n_poles);
    free(weights);
    free(line);
    return ok;
}

PyObject *tesspy_spline(PyObject *module, PyObject *args)
{
    (void)module;
    unsigned long long address;
    Py_ssize_t before, n, behind, part, parts;
    int order, ends;
    if (!PyArg_ParseTuple(args, "Knnniinn", &address, &before, &n, &behind, &order, &ends, &part,
                          &parts))
        return NULL;
    if (order < 2 || order > 5 || ends < 0 || ends >= N_ENDS || n < 1 || part < 0
        || part >= parts) {
        PyErr_SetString(PyExc_ValueError, "splines have orders 2 to 5");
        return NULL;
    }
    bool ok = true;
    Py_BEGIN_ALLOW_THREADS if (n > 1) ok = filter_part((double *)(uintptr_t)address, before, n,
                                                       behind, order, (Ends)ends, part, parts);
    Py_END_ALLOW_THREADS if (!ok) return PyErr_NoMemory();
    Py_RETURN_NONE;
}
