/* Running another program, without a shell. */
#ifndef TESSERA_RT_PROCESS_H
#define TESSERA_RT_PROCESS_H

#include "base/base.h"
#include "rt/host.h"

typedef struct ProcessOptions {
    double timeout_s;   /* 0 = none; then the program and what it started are ended */
    size_t tail_bytes;  /* how much of the end of its output is kept; 0 = 16 KiB */
    const char *tmpdir; /* its TMPDIR; NULL: ours */
    const RtHost *host; /* asked whether to go on; may be NULL */
} ProcessOptions;

typedef struct ProcessResult {
    int exit_code; /* -1 when it did not exit by itself */
    int signal;    /* that ended it, or 0 */
    bool timed_out;
    char *output; /* the end of what it wrote to both outputs; NUL-terminated */
    size_t n_output;
} ProcessResult;

/* Runs argv (argv[0] looked up on PATH, NULL at the end) to its end, with nothing to read on
 * standard input; what it started and left behind is not waited for. False with a sentence that
 * names it when it could not be started, when the host wants to stop, or when nobody can know how
 * it ended; else that is in *result, disposed by the caller. */
bool tessi_process_run(const char *const *argv, const ProcessOptions *options,
                       ProcessResult *result, Failure *f);
void tessi_process_result_dispose(ProcessResult *r);
/* "exit code 3", "signal 11 (Segmentation fault)", "it did not end in time" */
void tessi_process_describe(const ProcessResult *r, char *out, size_t n);

/* The file that `name` means on PATH (or itself when it contains '/'): owned by the caller (free),
 * NULL when there is no such program. */
char *tessi_process_find(const char *name);

#endif
