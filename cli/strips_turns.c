/* Runs in rounds of turns that are gone on with: which rounds are finished, and what the last of them has left, is
 * noted beside the first result, for --resume. What is finished of the round at hand is in the journals of its files
 * (strips_resume.c).
 *
 *     tessera 0.1.0 turns
 *     key 0123456789abcdef
 *     round 1 7 0                    of the rounds' programs, how often it was run, whether its condition holds
 *     left 12345 1 2 4096 0x1.8p+1   the id and the generation of files, how many; bytes of files, or numbers
 *     end */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/strips.h"

void cli_turns_forget(TurnsDone *done)
{
    free(done->left);
    *done = (TurnsDone){ 0 };
}

static bool is_whole(const Strips *s, const TurnsDone *done, size_t k)
{
    struct stat st;
    char *file = cli_turns_file(s, done->id, k, done->generation);
    const bool ok = file && stat(file, &st) == 0 && st.st_size >= 0
                    && (uint64_t)st.st_size == done->left[k].bytes;
    free(file);
    return ok;
}

static bool read_left(FILE *f, TurnsDone *done)
{
    enum { MOST = 1000 };
    if (fscanf(f, " left %ld %d %zu", &done->id, &done->generation, &done->n_left) != 3
        || done->n_left > MOST)
        return false;
    done->left = calloc(done->n_left + 1, sizeof *done->left);
    for (size_t k = 0; done->left && k < done->n_left; k++)
        if (fscanf(f, "%" SCNu64 ":%la", &done->left[k].bytes, &done->left[k].number) != 2)
            return false;
    return done->left != NULL;
}

static bool read_all(FILE *f, uint64_t key, TurnsDone *done)
{
    char version[40], word[8] = "";
    uint64_t its_key = 0;
    const bool ok = fscanf(f, "tessera %39s turns key %" SCNx64 " round %zu %" SCNd64 " %d",
                           version, &its_key, &done->round, &done->times, &done->ends)
                        == 5
                    && read_left(f, done) && fscanf(f, "%7s", word) == 1
                    && strcmp(word, "end") == 0;
    return ok && its_key == key && strcmp(version, tess_version()) == 0;
}

/* What rounds of another run have left. */
static void remove_files(const Strips *s, const TurnsDone *done)
{
    for (size_t k = 0; done->left && k < done->n_left; k++)
        cli_turns_remove(s, done->id, k);
}

bool cli_turns_read(const Strips *s, TurnsDone *done)
{
    uint64_t key;
    *done = (TurnsDone){ 0 };
    char *path = cli_with_suffix(s->line->outputs[0], ".turns");
    if (!path || !cli_journal_key(s, &key)) {
        free(path);
        return false;
    }
    FILE *f = fopen(path, "r");
    bool ok = f && read_all(f, key, done);
    for (size_t k = 0; ok && k < done->n_left; k++)
        ok = done->left[k].bytes == 0 || is_whole(s, done, k);
    if (f && !ok) {
        if (!s->line->quiet)
            cli_tell("%s: what is there is of another run or incomplete, and begins anew", path);
        remove_files(s, done);
    }
    if (!ok)
        cli_turns_forget(done);
    if (f)
        fclose(f);
    free(path);
    return true;
}

/* Has the bytes of a file on the disk, and tells how many they are. */
static bool settle(const char *file, uint64_t *bytes)
{
    struct stat st;
    const int fd = open(file, O_RDONLY | O_CLOEXEC);
    const bool ok = fd >= 0 && fsync(fd) == 0 && fstat(fd, &st) == 0;
    *bytes = ok ? (uint64_t)st.st_size : 0;
    if (fd >= 0)
        close(fd);
    return ok;
}

bool cli_turns_write(const Strips *s, TurnsDone *done)
{
    uint64_t key;
    if (!cli_journal_key(s, &key))
        return false;
    bool ok = true;
    for (size_t k = 0; ok && k < done->n_left; k++) {
        char *file = done->left[k].bytes ? cli_turns_file(s, done->id, k, done->generation) : NULL;
        ok = done->left[k].bytes == 0 || (file && settle(file, &done->left[k].bytes));
        free(file);
    }
    char *path = cli_with_suffix(s->line->outputs[0], ".turns");
    char *temporary = cli_with_suffix(s->line->outputs[0], ".turns.new");
    FILE *f = ok && path && temporary ? fopen(temporary, "w") : NULL;
    if (f) {
        fprintf(f,
                "tessera %s turns\nkey %016" PRIx64 "\nround %zu %" PRId64 " %d\nleft %ld %d %zu",
                tess_version(), key, done->round, done->times, done->ends, done->id,
                done->generation, done->n_left);
        for (size_t k = 0; k < done->n_left; k++)
            fprintf(f, " %" PRIu64 ":%a", done->left[k].bytes, done->left[k].number);
        fprintf(f, "\nend\n");
        ok = fflush(f) == 0 && fsync(fileno(f)) == 0;
        ok = fclose(f) == 0 && ok && rename(temporary, path) == 0;
    }
    ok = ok && f;
    if (!ok)
        cli_fail("cannot note which turns are done: %s", strerror(errno));
    free(path);
    free(temporary);
    return ok;
}

void cli_turns_end(const Strips *s)
{
    char *path = cli_with_suffix(s->line->outputs[0], ".turns");
    if (path)
        unlink(path);
    free(path);
}
