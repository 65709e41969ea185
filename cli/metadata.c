/* What the files of results say besides their pixels: what the first image says, and what made them. */
#include "cli/cli.h"

enum { PROVENANCE = 200 };

/* The number of the first image that was given; that of no input when none was. */
static size_t first_image(const Job *job)
{
    for (size_t i = 0; i < job->in.n; i++) {
        tess_info info = { .struct_size = sizeof info };
        tess_program_input(job->program, i, &info);
        const Inputs *shared = job->in.shared;
        if (info.kind == TESS_IMAGE && (job->in.images[i] || (shared && shared->images[i])))
            return i;
    }
    return job->in.n;
}

void cli_add_metadata(const CommandLine *line, const Job *job, size_t output,
                      tess_image_store *store, tess_geometry *geometry, char *provenance)
{
    if (line->no_metadata)
        return;
    tess_program_provenance(job->program, provenance, PROVENANCE);
    store->provenance = provenance;
    const size_t first = first_image(job);
    tess_info info = { .struct_size = sizeof info };
    geometry->struct_size = sizeof *geometry;
    if (first == job->in.n || tess_program_input(job->program, first, &info) != TESS_OK
        || tess_result_geometry(job->program, job->in.args, output, info.name, geometry) != TESS_OK)
        return;
    store->meta = job->in.images[first] ? job->in.meta[first] : job->in.shared->meta[first];
    store->geometry = geometry;
}
