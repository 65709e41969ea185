/* What the files of tessera bench share. */
#ifndef TESSERA_CLI_BENCH_H
#define TESSERA_CLI_BENCH_H

#include "cli/cli.h"

typedef struct BenchResult {
    double median, least, copy, compile; /* milliseconds */
    int runs;
    const char *target, *device, *driver;
    tess_estimate estimate;
} BenchResult;

int bench_by_value(const void *a, const void *b); /* of doubles, for qsort */
size_t bench_bytes(const DLTensor *t);

/* bench_device.c: after one run of s->args, which gave results. False after saying why. */
bool bench_is_device(const CommandLine *line);
bool bench_on_device(const CommandLine *line, Session *s, BenchResult *r);

/* audit.c: all programs of the folder that the line names. An exit status. */
int bench_audit(const CommandLine *line);

#endif
