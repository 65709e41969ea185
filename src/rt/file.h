/* Files: read whole, written whole or not at all. */
#ifndef TESSERA_RT_FILE_H
#define TESSERA_RT_FILE_H

#include "base/base.h"
#include "rt/host.h"

/* Reads the whole file ("-" = standard input); at most `limit` bytes (0 = half of this machine's
 * memory). *data is owned by the caller (free) and followed by a NUL that is not counted in *n.
 * Directories are refused. */
bool tessi_file_read(const char *path, size_t limit, uint8_t **data, size_t *n, Failure *f);

/* The same from a descriptor, which stays open, to its end; `shown` names it in sentences. */
bool tessi_file_read_open(int fd, const char *shown, size_t limit, uint8_t **data, size_t *n,
                          Failure *f);
bool tessi_file_write_open(int fd, const void *data, size_t n); /* all of it; else errno says why */

/* Writes the whole file. A regular file appears under its name complete or not at all: the bytes go
 * to a temporary name beside it, which is renamed, or removed on any failure. Symbolic links are
 * followed; an existing file keeps its permissions, and one that may not be written is refused.
 * Devices, pipes and "-" (standard output) are written to directly. */
bool tessi_file_write(const char *path, const void *data, size_t n, Failure *f);

/* The same in two steps, so that several files can be prepared before the first of them shows. */
typedef struct PendingFile {
    char *final, *temporary; /* temporary NULL: nothing is pending */
} PendingFile;
bool tessi_file_prepare(const char *path, const void *data, size_t n, PendingFile *p, Failure *f);
/* The same piece by piece: *fd is open for reading and writing, or where p->temporary is NULL, for
 * writing to what already takes the bytes. Ends with tessi_file_end; `error` is 0 or the errno of what
 * failed, and then nothing is left. */
bool tessi_file_begin(const char *path, PendingFile *p, int *fd, Failure *f);
/* The same with `path`.part as the temporary name, which also stays after failures, and is gone on with: what is in it
 * is kept unless `anew`. It ends with tessi_file_stay, or with close and tessi_file_commit. */
bool tessi_file_begin_part(const char *path, bool anew, PendingFile *p, int *fd, Failure *f);
void tessi_file_stay(PendingFile *p, int fd);
bool tessi_file_end(const char *path, PendingFile *p, int fd, int error, Failure *f);
bool tessi_file_commit(PendingFile *p, Failure *f); /* disposes p in any case */
void tessi_file_discard(PendingFile *p);            /* removes the temporary file, disposes p */

bool tessi_file_exists(const char *path);
bool tessi_dir_exists(const char *path);
/* Owned by the caller (free); NULL without memory. */
char *tessi_path_join(const char *dir, const char *name);
const char *tessi_path_suffix(const char *path); /* ".png" of the last component, or "" */

/* A fresh private directory below TMPDIR or the system's place for such; owned by the caller (free).
 * Until it is removed `host` (may be NULL) is held. */
bool tessi_temp_dir(const RtHost *host, char **path, Failure *f);
/* Removes a directory with all that is in it. */
void tessi_temp_dir_remove(const RtHost *host, const char *path);

#endif
