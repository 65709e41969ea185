/* Strips that are gone on with: what is finished of a run is written to a journal beside its first result, and read
 * by the next run with --resume. A journal of another program, other inputs, options or another version counts for
 * nothing.
 *
 *     tessera 0.1.0 resume
 *     key 0123456789abcdef           of all on which the results depend
 *     rows 4096 4096:16777344 ..     of the images; and of each file: its rows and its bytes
 *     end */
#include <errno.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/strips.h"

enum { KEPT = 4 }; /* strips that may be on their way to the disk */

struct StripJournal {
    char *path, *temporary;
    uint64_t key;
    size_t n_files;
    struct {
        int64_t end;   /* of the strip, in the images */
        int64_t *rows; /* of each file */
    } strip[KEPT];
    int n_strips;
};

/* ---- The key --------------------------------------------------------------------------------- */
static uint64_t mix(uint64_t hash, const char *text)
{
    for (; text && *text; text++)
        hash = (hash ^ (unsigned char)*text) * UINT64_C(0x100000001b3);
    return (hash ^ 0xff) * UINT64_C(0x100000001b3);
}

static uint64_t mix_number(uint64_t hash, int64_t n)
{
    char text[32];
    snprintf(text, sizeof text, "%" PRId64, n);
    return mix(hash, text);
}

/* A file of the same size and time is the same. */
static uint64_t mix_file(uint64_t hash, const char *path)
{
    struct stat st;
    hash = mix(hash, path);
    if (stat(tess_image_file(path), &st) != 0)
        return hash;
    hash = mix_number(mix_number(hash, st.st_size), st.st_mtim.tv_sec);
    return mix_number(hash, st.st_mtim.tv_nsec);
}

bool cli_journal_key(const Strips *s, uint64_t *key)
{
    const CommandLine *line = s->line;
    char *graph = NULL;
    if (tess_dump(s->program, s->args, "graph", &graph, NULL) != TESS_OK)
        return cli_fail("%s", tess_program_error(s->program)), false;
    uint64_t hash = mix(mix(UINT64_C(0xcbf29ce484222325), tess_version()), graph);
    tess_text_free(graph);
    for (size_t i = 0; i < line->n_words; i++)
        hash = mix_file(mix(hash, line->words[i]), cli_word_value(line->words[i]));
    for (size_t i = 0; i < line->n_outputs; i++)
        hash = mix_number(mix(hash, line->outputs[i]), line->depths[i]);
    const int options[] = { line->page,   line->gray,           line->drop_alpha,
                            line->srgb,   line->no_orient,      line->no_metadata,
                            line->strict, (int)line->options.fp };
    for (size_t i = 0; i < sizeof options / sizeof *options; i++)
        hash = mix_number(hash, options[i]);
    for (size_t i = 0; s->rounds && i < tess_rounds_count(s->rounds); i++) {
        char program[200];
        tess_round round = { .struct_size = sizeof round };
        tess_rounds_round(s->rounds, i, &round); /* how many turns it has depends on the memory */
        tess_program_provenance(round.program, program, sizeof program);
        hash = mix_number(mix(hash, program), round.times);
    }
    *key = hash;
    return true;
}

/* ---- Reading --------------------------------------------------------------------------------- */
static bool has_bytes(const char *path, uint64_t bytes)
{
    struct stat st;
    char *part = cli_with_suffix(path, ".part");
    const bool ok = bytes == 0 || (part && stat(part, &st) == 0 && (uint64_t)st.st_size >= bytes);
    free(part);
    return ok;
}

/* The rows that are finished, where all of it fits; 0 where the run begins anew. */
static int64_t read_journal(const Strips *s, const StripJournal *j, int64_t *rows)
{
    FILE *f = fopen(j->path, "r");
    char version[40];
    uint64_t key = 0;
    int64_t end = 0;
    if (!f)
        return 0;
    bool ok =
        fscanf(f, "tessera %39s resume key %" SCNx64 " rows %" SCNd64, version, &key, &end) == 3
        && key == j->key && strcmp(version, tess_version()) == 0 && end > 0;
    for (size_t i = 0; ok && i < j->n_files; i++) {
        uint64_t bytes;
        ok = fscanf(f, "%" SCNd64 ":%" SCNu64, &rows[i], &bytes) == 2 && rows[i] >= 0
             && has_bytes(s->line->outputs[i], bytes);
    }
    char word[8] = "";
    ok = ok && fscanf(f, "%7s", word) == 1 && strcmp(word, "end") == 0;
    fclose(f);
    if (!ok && !s->line->quiet)
        cli_tell("%s: what is there is of another run or incomplete, and begins anew", j->path);
    return ok ? end : 0;
}

bool cli_journal_open(const Strips *s, StripJournal **journal, int64_t *end, int64_t *rows)
{
    StripJournal *j = *journal = calloc(1, sizeof *j);
    *end = 0;
    if (j) {
        j->n_files = s->line->n_outputs;
        j->path = cli_with_suffix(s->line->outputs[0], ".resume");
        j->temporary = cli_with_suffix(s->line->outputs[0], ".resume.new");
        for (int k = 0; k < KEPT; k++)
            j->strip[k].rows = calloc(j->n_files + 1, sizeof *rows);
    }
    if (!j || !j->path || !j->temporary || !j->strip[KEPT - 1].rows)
        return cli_fail("out of memory"), false;
    if (!cli_journal_key(s, &j->key))
        return false;
    *end = read_journal(s, j, rows);
    if (*end == 0)
        memset(rows, 0, j->n_files * sizeof *rows);
    return true;
}

/* ---- Writing --------------------------------------------------------------------------------- */
void cli_journal_add(StripJournal *j, int64_t end, const int64_t *rows)
{
    if (j->n_strips == KEPT) { /* the oldest is forgotten: the next is as good */
        int64_t *again = j->strip[0].rows;
        memmove(&j->strip[0], &j->strip[1], (KEPT - 1) * sizeof j->strip[0]);
        j->strip[--j->n_strips].rows = again;
    }
    j->strip[j->n_strips].end = end;
    memcpy(j->strip[j->n_strips++].rows, rows, j->n_files * sizeof *rows);
}

static bool write_journal(const StripJournal *j, int k, const uint64_t *bytes)
{
    FILE *f = fopen(j->temporary, "w");
    if (!f)
        return false;
    fprintf(f, "tessera %s resume\nkey %016" PRIx64 "\nrows %" PRId64, tess_version(), j->key,
            j->strip[k].end);
    for (size_t i = 0; i < j->n_files; i++)
        fprintf(f, " %" PRId64 ":%" PRIu64, j->strip[k].rows[i], bytes[i]);
    fprintf(f, "\nend\n");
    const bool ok = fflush(f) == 0 && fsync(fileno(f)) == 0;
    return fclose(f) == 0 && ok && rename(j->temporary, j->path) == 0;
}

bool cli_journal_settle(StripJournal *j, const int64_t *settled, const uint64_t *bytes)
{
    int last = -1;
    for (int k = 0; k < j->n_strips; k++) {
        bool all = true;
        for (size_t i = 0; i < j->n_files; i++)
            all = all && settled[i] >= j->strip[k].rows[i];
        last = all ? k : last;
    }
    return last < 0 || write_journal(j, last, bytes)
           || (cli_fail("cannot write %s: %s", j->path, strerror(errno)), false);
}

void cli_journal_close(StripJournal *j, bool is_done)
{
    if (!j)
        return;
    if (is_done && j->path)
        unlink(j->path);
    for (int k = 0; k < KEPT; k++)
        free(j->strip[k].rows);
    free(j->path);
    free(j->temporary);
    free(j);
}
