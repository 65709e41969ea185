/* tessera-mpi: the tool as processes of MPI, which run a program together (team.h). Files that all write are written by
 * MPI-IO. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* realpath */
#endif
#include <errno.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/team.h"

enum {
    LARGEST = 1 << 30,
    TAG = 1,
    TAG_UNDER_WAY = 2,
    MOST_FILES = 64
}; /* LARGEST: bytes of one call; counts are ints */

struct TeamFile {
    MPI_File file;
    char *path, *temporary;
};

static TeamFile *open_files[MOST_FILES]; /* to be removed when a process fails */

/* ---- Messages -------------------------------------------------------------------------------- */
static bool gather(const void *own, size_t n, char **bytes, size_t *n_bytes)
{
    int size, rank;
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    unsigned long long mine = n, *of = calloc((size_t)size, sizeof *of);
    if (!of)
        return false;
    MPI_Allgather(&mine, 1, MPI_UNSIGNED_LONG_LONG, of, 1, MPI_UNSIGNED_LONG_LONG, MPI_COMM_WORLD);
    unsigned long long all = 0;
    for (int i = 0; i < size; i++)
        all += of[i];
    *n_bytes = (size_t)all;
    *bytes = malloc((size_t)all + 1);
    char *at = *bytes;
    for (int i = 0; *bytes && i < size;
         i++) { /* any number of bytes, where a gathering has an int */
        if (i == rank && n)
            memcpy(at, own, n);
        for (unsigned long long done = 0; done < of[i]; done += LARGEST)
            MPI_Bcast(at + done, of[i] - done < LARGEST ? (int)(of[i] - done) : LARGEST, MPI_BYTE,
                      i, MPI_COMM_WORLD);
        at += of[i];
    }
    free(of);
    return *bytes != NULL;
}

static bool send(int rank, const void *bytes, size_t n)
{
    unsigned long long size = n;
    MPI_Send(&size, 1, MPI_UNSIGNED_LONG_LONG, rank, TAG, MPI_COMM_WORLD);
    for (size_t done = 0; done < n; done += LARGEST)
        MPI_Send((const char *)bytes + done, n - done < LARGEST ? (int)(n - done) : LARGEST,
                 MPI_BYTE, rank, TAG, MPI_COMM_WORLD);
    return true;
}

static bool receive(int rank, char **bytes, size_t *n)
{
    unsigned long long size;
    MPI_Recv(&size, 1, MPI_UNSIGNED_LONG_LONG, rank, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    *n = (size_t)size;
    *bytes = malloc(*n + 1);
    for (size_t done = 0; *bytes && done < *n; done += LARGEST)
        MPI_Recv(*bytes + done, *n - done < LARGEST ? (int)(*n - done) : LARGEST, MPI_BYTE, rank,
                 TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    return *bytes != NULL;
}

/* ---- Messages under way ---------------------------------------------------------------------- */
static struct {
    MPI_Request *at;
    int n, room;
} under_way;

static MPI_Request *new_request(void)
{
    if (under_way.n == under_way.room) {
        const int room = 2 * under_way.room + 16;
        MPI_Request *more = realloc(under_way.at, (size_t)room * sizeof *more);
        if (!more)
            return NULL;
        under_way.at = more;
        under_way.room = room;
    }
    return &under_way.at[under_way.n++];
}

static bool begin_send(int rank, const void *bytes, size_t n)
{
    for (size_t done = 0; done < n; done += LARGEST) {
        MPI_Request *request = new_request();
        if (!request)
            return false;
        MPI_Isend((const char *)bytes + done, n - done < LARGEST ? (int)(n - done) : LARGEST,
                  MPI_BYTE, rank, TAG_UNDER_WAY, MPI_COMM_WORLD, request);
    }
    return true;
}

static bool begin_receive(int rank, void *bytes, size_t n)
{
    for (size_t done = 0; done < n; done += LARGEST) {
        MPI_Request *request = new_request();
        if (!request)
            return false;
        MPI_Irecv((char *)bytes + done, n - done < LARGEST ? (int)(n - done) : LARGEST, MPI_BYTE,
                  rank, TAG_UNDER_WAY, MPI_COMM_WORLD, request);
    }
    return true;
}

static void look(void)
{
    int all;
    if (under_way.n)
        MPI_Testall(under_way.n, under_way.at, &all, MPI_STATUSES_IGNORE);
}

static void settle(void)
{
    if (under_way.n)
        MPI_Waitall(under_way.n, under_way.at, MPI_STATUSES_IGNORE);
    under_way.n = 0;
}

/* ---- Files ----------------------------------------------------------------------------------- */
static void say_error(int code, const char *what, char *error, size_t error_size)
{
    char text[MPI_MAX_ERROR_STRING + 1] = "";
    int n = 0;
    MPI_Error_string(code, text, &n);
    snprintf(error, error_size, "cannot %s it: %.400s", what, text);
}

static void free_file(TeamFile *f)
{
    for (int i = 0; i < MOST_FILES; i++)
        if (open_files[i] == f)
            open_files[i] = NULL;
    free(f->path);
    free(f->temporary);
    free(f);
}

/* The name under which a file is written, which rank 0 chooses: that of what a link leads to, with something behind. */
static char *temporary_name(const char *path, char **final)
{
    char *real = realpath(path, NULL);
    const char *name = real ? real : path;
    const size_t n = strlen(name) + 32;
    char *temporary = malloc(n);
    if (temporary)
        snprintf(temporary, n, "%s.mpi-%ld", name, (long)getpid());
    *final = strdup(name);
    free(real);
    return temporary;
}

static char *from_first(char *text, int rank)
{
    int n = rank == 0 && text ? (int)strlen(text) + 1 : 0;
    MPI_Bcast(&n, 1, MPI_INT, 0, MPI_COMM_WORLD);
    if (n == 0)
        return NULL;
    if (rank)
        text = malloc((size_t)n);
    if (!text)
        MPI_Abort(MPI_COMM_WORLD, EXIT_DIAGNOSED);
    MPI_Bcast(text, n, MPI_CHAR, 0, MPI_COMM_WORLD);
    return text;
}

/* Before it is there: processes that end while it is opened remove it as well. */
static void note_file(TeamFile *f)
{
    for (int i = 0; i < MOST_FILES; i++)
        if (!open_files[i]) {
            open_files[i] = f;
            break;
        }
}

static TeamFile *open_file(const char *path, char *error, size_t error_size)
{
    int rank, code = MPI_SUCCESS;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    TeamFile *f = calloc(1, sizeof *f);
    if (f && rank == 0)
        f->temporary = temporary_name(path, &f->path);
    if (f && (f->temporary = from_first(f->temporary, rank))) {
        note_file(f);
        code = MPI_File_open(MPI_COMM_WORLD, f->temporary,
                             MPI_MODE_CREATE | MPI_MODE_WRONLY | MPI_MODE_UNIQUE_OPEN,
                             MPI_INFO_NULL, &f->file);
    }
    if (!f || !f->temporary || (rank == 0 && !f->path) || code != MPI_SUCCESS) {
        if (code == MPI_SUCCESS)
            snprintf(error, error_size, "out of memory");
        else
            say_error(code, "write", error, error_size);
        if (f)
            free_file(f);
        return NULL;
    }
    return f;
}

static int put(void *file, uint64_t at, const void *bytes, size_t n)
{
    TeamFile *f = file;
    for (size_t done = 0; done < n;) {
        MPI_Status status;
        const int now = n - done < LARGEST ? (int)(n - done) : LARGEST;
        int written = 0, class = MPI_SUCCESS;
        const int code = MPI_File_write_at(f->file, (MPI_Offset)(at + done),
                                           (const char *)bytes + done, now, MPI_BYTE, &status);
        if (code != MPI_SUCCESS) {
            MPI_Error_class(code, &class);
            return class == MPI_ERR_NO_SPACE ? ENOSPC : class == MPI_ERR_QUOTA ? EDQUOT : EIO;
        }
        MPI_Get_count(&status, MPI_BYTE, &written);
        if (written <= 0)
            return ENOSPC;
        done += (size_t)written;
    }
    return 0;
}

/* An existing file keeps its permissions, as when one process writes it. */
static bool show(const TeamFile *f)
{
    struct stat st;
    if (stat(f->path, &st) == 0 && S_ISREG(st.st_mode)
        && chmod(f->temporary, st.st_mode & 07777) != 0)
        return false;
    return rename(f->temporary, f->path) == 0;
}

static bool close_file(TeamFile *f, bool ok, char *error, size_t error_size)
{
    int rank, shows = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    const int code = MPI_File_close(&f->file);
    const int fine = ok && code == MPI_SUCCESS;
    int all = 0;
    MPI_Allreduce(&fine, &all, 1, MPI_INT, MPI_LAND, MPI_COMM_WORLD);
    if (code != MPI_SUCCESS)
        say_error(code, "write", error, error_size);
    if (rank == 0) {
        shows = all && show(f);
        if (all && !shows)
            snprintf(error, error_size, "cannot write it: %s", strerror(errno));
        if (!shows)
            unlink(f->temporary);
    }
    MPI_Bcast(&shows, 1, MPI_INT, 0, MPI_COMM_WORLD);
    free_file(f);
    return shows;
}

/* Also in handlers of signals: who starts the processes ends all others when one has died. */
static void remove_files(void)
{
    for (int i = 0; i < MOST_FILES; i++)
        if (open_files[i])
            unlink(open_files[i]->temporary);
}

static void fail(void)
{
    remove_files();
    fflush(stderr);
    MPI_Abort(MPI_COMM_WORLD, EXIT_DIAGNOSED);
}

/* ---- The process ----------------------------------------------------------------------------- */
/* False: this MPI does not do. */
static bool begin_team(int *argc, char ***argv, Team *team)
{
    *team = (Team){ .gather = gather,
                    .send = send,
                    .receive = receive,
                    .begin_send = begin_send,
                    .begin_receive = begin_receive,
                    .look = look,
                    .settle = settle,
                    .open = open_file,
                    .put = put,
                    .close = close_file,
                    .fail = fail };
    int provided;
    MPI_Comm near;
    MPI_Init_thread(argc, argv, MPI_THREAD_MULTIPLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &team->rank);
    MPI_Comm_size(MPI_COMM_WORLD, &team->size);
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, team->rank, MPI_INFO_NULL, &near);
    MPI_Comm_rank(near, &team->near);
    MPI_Comm_size(near, &team->n_near);
    MPI_Comm_free(&near);
    if (team->rank
        && !freopen("/dev/null", "w", stdout)) /* what all would print, the first prints */
        fail();
    if (provided < MPI_THREAD_MULTIPLE && team->rank == 0)
        cli_fail("this MPI does not let several threads of a process write files, which "
                 "tessera-mpi needs (MPI_THREAD_MULTIPLE)");
    cli_at_signal(remove_files);
    return provided >= MPI_THREAD_MULTIPLE;
}

int main(int argc, char **argv)
{
    Team team;
    const int status =
        begin_team(&argc, &argv, &team) ? cli_main(argc, argv, &team) : EXIT_DIAGNOSED;
    MPI_Finalize();
    return status;
}
