/* A lane is one contestant of the bench: a program that prepares one job, writes its result to a file, and then runs
 * the job as often as it is told on standard input. bench/run.py starts the lanes of a job together and lets them
 * run in turn, so that all of them see the same minute of the machine. Used from C and C++. */
#ifndef BENCH_LANE_H
#define BENCH_LANE_H

#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct Lane {
    const char *rival; /* who runs: "tessera", "copy", "halide" ... */
    const char *job, *dtype;
    int width, height, planes, k, threads;
    size_t bytes;   /* of the input image */
    void *in;       /* the input image */
    float *weights; /* NULL when the job has none */
    size_t n_weights;
    int argc;
    char **argv;
} Lane;

/* Reads the command line, `name=value` each: rival job dtype width height planes k threads input weights output, and
 * what the lane itself asks for. Ends the program with a sentence when something is missing. */
void lane_open(Lane *lane, int argc, char **argv);
/* The value of an option of the command line. */
const char *lane_option(const Lane *lane, const char *name, const char *otherwise);
/* Memory that begins a page, all of it touched. */
void *lane_memory(size_t bytes);
/* Says why the lane cannot run, as JSON, and ends the program. */
void lane_fail(const char *reason);
double lane_now_ms(void);

/* Runs once, writes the result, says so, and serves: each line read is a number of runs; each answer holds their
 * times. At the end of the input it prints the line of its results. `run` returns false on failure. */
int lane_serve(const Lane *lane, bool (*run)(void *user), void *user, const void *result,
               size_t result_bytes, double compile_ms);

#ifdef __cplusplus
}
#endif
#endif
