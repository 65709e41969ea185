/* Shortage of memory at every allocation, and failures of the file system at every call, while images of each format
 * are written and read: one sentence, what stood under the name stays, nothing else is left, and no memory is lost
 * or freed twice. Allocations of libpng, libjpeg and libtiff fail as well as ours: this program brings the functions
 * of malloc itself. Under sanitizers, which bring theirs, the linker sends only our own calls here. Calls of the
 * file system are all ours. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "image_testing.h"
#include "rt/file.h"
#include "rt/meta_ifd.h"
#include "tessera.h"

/* ---- Allocations that fail ---- */

static bool armed;     /* only what happens between arm() and disarm() counts */
static bool only_once; /* one allocation fails; else all from it on */
static long countdown; /* the allocation that fails; 0: none */
static long allocations;
static long live; /* blocks that were allocated and not freed; sanitizers count for themselves */

static bool fails(void)
{
    if (!armed)
        return false;
    allocations++;
    return countdown && (only_once ? allocations == countdown : allocations >= countdown);
}

static void *counted(void *p)
{
#ifndef TESSERA_WRAPPED /* the C library's own are not seen then */
    live += armed && p;
#endif
    return p;
}

#ifdef TESSERA_WRAPPED
#define OURS(name) __wrap_##name
#define REAL(name) __real_##name
void *__real_malloc(size_t n);
void *__real_calloc(size_t n, size_t size);
void *__real_realloc(void *p, size_t n);
void *__real_aligned_alloc(size_t alignment, size_t n);
void __real_free(void *p);
void *__wrap_malloc(size_t n);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_realloc(void *p, size_t n);
void *__wrap_aligned_alloc(size_t alignment, size_t n);
void __wrap_free(void *p);
#else
#define OURS(name)           name
#define REAL(name)           __libc_##name
void *__libc_malloc(size_t n);
void *__libc_calloc(size_t n, size_t size);
void *__libc_realloc(void *p, size_t n);
void *__libc_memalign(size_t alignment, size_t n);
void __libc_free(void *p);
#define __libc_aligned_alloc __libc_memalign
#endif

/* Libraries find them by name. */
#pragma GCC visibility push(default)

void *OURS(malloc)(size_t n)
{
    return fails() ? NULL : counted(REAL(malloc)(n));
}

void *OURS(calloc)(size_t n, size_t size)
{
    return fails() ? NULL : counted(REAL(calloc)(n, size));
}

void *OURS(realloc)(void *p, size_t n)
{
    if (fails())
        return NULL;
    void *grown = REAL(realloc)(p, n);
    return p ? grown : counted(grown);
}

void *OURS(aligned_alloc)(size_t alignment, size_t n)
{
    return fails() ? NULL : counted(REAL(aligned_alloc)(alignment, n));
}

void OURS(free)(void *p)
{
#ifndef TESSERA_WRAPPED
    live -= armed && p;
#endif
    REAL(free)(p);
}

#pragma GCC visibility pop

static void arm(long k, bool once)
{
    countdown = k;
    only_once = once;
    allocations = live = 0;
    armed = true;
}

static void disarm(void)
{
    armed = false;
    countdown = 0;
}

/* ---- Calls of the file system that fail ---- */

static char *dir, *path; /* of the image at hand */

typedef enum Fault {
    NO_FAULT,
    FULL,        /* the write writes nothing */
    ALMOST_FULL, /* it writes half, the next one nothing */
    INTERRUPTED, /* by a signal, once */
    NO_READER,   /* of the pipe */
    NO_CLOSE,
    NO_RENAME,
    NO_SEEK,
    NO_READ,
    N_FAULTS
} Fault;
static Fault fault;
static long calls,
    bad_call; /* of the kind that the fault is about; the one that fails, from 1 on */
static int reader = -1;

ssize_t __real_write(int fd, const void *p, size_t n);
ssize_t __real_read(int fd, void *p, size_t n);
int __real_close(int fd);
int __real_rename(const char *from, const char *to);
off_t __real_lseek(int fd, off_t offset, int whence);
ssize_t __wrap_write(int fd, const void *p, size_t n);
ssize_t __wrap_read(int fd, void *p, size_t n);
int __wrap_close(int fd);
int __wrap_rename(const char *from, const char *to);
off_t __wrap_lseek(int fd, off_t offset, int whence);

ssize_t __wrap_write(int fd, const void *p, size_t n)
{
    const bool here = armed && fault >= FULL && fault <= NO_READER && ++calls >= bad_call;
    if (!here || (fault == INTERRUPTED && calls > bad_call))
        return __real_write(fd, p, n);
    if (fault == NO_READER && reader >= 0) {
        __real_close(reader);
        reader = -1;
    }
    if (fault == NO_READER || (fault == ALMOST_FULL && calls == bad_call && n > 1))
        return __real_write(fd, p, fault == NO_READER ? n : n / 2);
    errno = fault == INTERRUPTED ? EINTR : ENOSPC;
    return -1;
}

static bool is_image(int fd)
{
    struct stat open_file, image;
    return fstat(fd, &open_file) == 0 && stat(path, &image) == 0
           && open_file.st_ino == image.st_ino;
}

ssize_t __wrap_read(int fd, void *p, size_t n)
{
    if (armed && fault == NO_READ && is_image(fd) && ++calls >= bad_call) {
        errno = EIO;
        return -1;
    }
    return __real_read(fd, p, n);
}

int __wrap_close(int fd)
{
    const int status = __real_close(fd);
    if (!armed || fault != NO_CLOSE || ++calls != bad_call)
        return status;
    errno = EDQUOT;
    return -1;
}

int __wrap_rename(const char *from, const char *to)
{
    if (!armed || fault != NO_RENAME || ++calls != bad_call)
        return __real_rename(from, to);
    errno = EIO;
    return -1;
}

off_t __wrap_lseek(int fd, off_t offset, int whence)
{
    if (!armed || fault != NO_SEEK || ++calls != bad_call)
        return __real_lseek(fd, offset, whence);
    errno = EIO;
    return -1;
}

/* ---- Images and what is left of them ---- */

static const struct {
    const char *suffix;
    ScalarType type, wanted; /* of the image, and for reading */
    int channels, pages;
} cases[] = {
    { ".png", TYPE_U8, TYPE_F32, 3, 1 },  { ".png", TYPE_U16, TYPE_U16, 1, 1 },
    { ".jpg", TYPE_U8, TYPE_U8, 1, 1 },   { ".jpeg", TYPE_U8, TYPE_I16, 3, 1 },
    { ".tif", TYPE_F32, TYPE_F32, 1, 1 }, { ".tiff", TYPE_U8, TYPE_F64, 5, 3 },
    { ".tif", TYPE_BOOL, TYPE_U8, 1, 2 }, { ".pgm", TYPE_F32, TYPE_F32, 1, 1 },
    { ".ppm", TYPE_U16, TYPE_U16, 3, 1 }, { ".pam", TYPE_U8, TYPE_I32, 2, 1 },
    { ".pfm", TYPE_F32, TYPE_F64, 3, 1 }, { ".npy", TYPE_I64, TYPE_I64, 1, 2 },
    { ".npy", TYPE_U8, TYPE_F32, 1, 1 },  { ".pbm", TYPE_BOOL, TYPE_U8, 1, 1 },

};
enum { N_CASES = sizeof cases / sizeof *cases };

static RtImage noise(size_t k, int64_t height, int64_t width)
{
    RtImage image;
    int64_t shape[4];
    int ndim = 0;
    if (cases[k].pages > 1)
        shape[ndim++] = cases[k].pages;
    shape[ndim++] = height;
    shape[ndim++] = width;
    if (cases[k].channels > 1)
        shape[ndim++] = cases[k].channels;
    assert_true(tessi_image_alloc(&image, cases[k].type, ndim, shape, cases[k].channels, NULL));
    uint32_t state = 1;
    for (size_t i = 0; i < image.bytes; i++) {
        state = state * 1664525 + 1013904223;
        /* Bytes of bool are 0 or 1, and floats are not NaN. */
        const int shift = cases[k].type == TYPE_BOOL ? 31 : cases[k].type == TYPE_F32 ? 26 : 24;
        ((uint8_t *)image.data)[i] = (uint8_t)(state >> shift);
    }
    return image;
}

static RtMeta said;       /* besides the pixels */
static bool pixels_alone; /* it is not */

/* A profile of colours, EXIF with a directory of its own, XMP, tags of all types. */
static int make_said(void **state)
{
    (void)state;
    static const char *const texts[] = { "ImageJ=1.53", "Someone" };
    const double scale[3] = { 10, 10, 0 }, tie[6] = { 0, 0, 0, 5, 6, 0 };
    const uint16_t keys[4] = { 1, 1, 0, 0 }, iso = 200;
    uint8_t profile[132] = { 0, 0, 0, 132 };
    RtTags first = { 0 }, exif = { 0 };
    const RtTags none = { 0 };
    memcpy(profile + 8, "\2\20\0\0mntrRGB XYZ ", 16);
    memcpy(profile + 36, "acsp", 4);
    tessi_bytes_add(&said.icc, profile, sizeof profile);
    tessi_bytes_add(&said.xmp, "<x:xmpmeta/>", 12);
    tessi_tag_add(&first, 315, 2, strlen(texts[1]) + 1, texts[1]);
    tessi_tag_add(&exif, 34855, 3, 1, &iso);
    tessi_exif_make(&first, &exif, &none, &exif, &said.exif);
    tessi_tag_add(&said.tags, 270, 2, strlen(texts[0]) + 1, texts[0]);
    tessi_tag_add(&said.tags, 33550, 12, 3, scale);
    tessi_tag_add(&said.tags, 33922, 12, 6, tie);
    tessi_tag_add(&said.tags, 34735, 3, 4, keys);
    tessi_tags_dispose(&first);
    tessi_tags_dispose(&exif);
    said.resolution[0] = said.resolution[1] = 300;
    said.unit = RT_UNIT_INCH;
    return 0;
}

static int free_said(void **state)
{
    (void)state;
    tessi_meta_dispose(&said);
    return 0;
}

static bool write_noise(const RtImage *image, Failure *f)
{
    const RtView view = tessi_image_view(image);
    RtStore store = { .meta = &said, .provenance = "test" };
    if (pixels_alone)
        store = (RtStore){ 0 };
    return tessi_image_write(path, &view, &store, f);
}

static bool read_noise(size_t k, RtImage *image, Failure *f)
{
    RtMeta meta;
    RtRequest want = { .dtype = cases[k].wanted, .turn = true, .meta = &meta };
    const bool ok = tessi_image_read(path, &want, image, f);
    tessi_meta_dispose(&meta);
    return ok;
}

static void begin_case(size_t k)
{
    char name[16] = "x";
    assert_true(tessi_temp_dir(NULL, &dir, NULL));
    strcat(name, cases[k].suffix);
    path = tessi_path_join(dir, name);
}

static void end_case(void)
{
    tessi_temp_dir_remove(NULL, dir);
    free(path);
    free(dir);
}

/* False where this build lacks the library. */
static bool is_there(const RtImage *image)
{
    Failure f = { 0 };
    if (write_noise(image, &f))
        return true;
    assert_int_equal(f.status, TESS_ERROR_UNSUPPORTED);
    return false;
}

static int files_there(void)
{
    int n = 0;
    DIR *d = opendir(dir);
    for (struct dirent *e; (e = readdir(d)) != NULL;)
        n += !tessi_streq(e->d_name, ".") && !tessi_streq(e->d_name, "..");
    closedir(d);
    return n;
}

static void check_sentence(const char *what, long k, const Failure *f)
{
    if (!*f->text || strchr(f->text, '\n')
        || (f->status != TESS_ERROR_MEMORY && f->status != TESS_ERROR_FILE))
        fail_msg("%s %ld of %s: status %d, '%s'", what, k, path, f->status, f->text);
}

static void check_precious(const char *what, long k)
{
    uint8_t *data;
    size_t n;
    assert_true(tessi_file_read(path, 0, &data, &n, NULL));
    if (n != 8 || memcmp(data, "precious", 8) != 0 || files_there() != 1)
        fail_msg("%s %ld of %s: %zu bytes there, %d files", what, k, path, n, files_there());
    free(data);
}

/* ---- Tests ---- */

/* The file is the one that is written with enough memory. */
static void check_whole(const uint8_t *want, size_t n_want, long k)
{
    uint8_t *data;
    size_t n;
    assert_true(tessi_file_read(path, 0, &data, &n, NULL));
    if (n != n_want || memcmp(data, want, n) != 0)
        fail_msg("allocation %ld of %s failed, nothing was said, and the file is another", k, path);
    free(data);
}

static void write_with_little_memory(const RtImage *image, bool once)
{
    uint8_t *whole;
    size_t n_whole;
    assert_true(write_noise(image, NULL) && tessi_file_read(path, 0, &whole, &n_whole, NULL));
    bool reached = true;
    for (long k = 1; reached; k++) {
        Failure f = { 0 };
        assert_true(tessi_file_write(path, "precious", 8, NULL));
        arm(k, once);
        const bool ok = write_noise(image, &f);
        const long left = live;
        reached = allocations >= k;
        disarm();
        if (left != 0 || (!ok && !reached))
            fail_msg("allocation %ld of %s: '%s', %ld blocks left", k, path, f.text, left);
        if (ok) {
            check_whole(whole, n_whole, k); /* libraries can do without some memory */
            continue;
        }
        check_sentence("allocation", k, &f);
        check_precious("allocation", k);
    }
    free(whole);
}

static void test_memory_ends_while_writing(void **state)
{
    (void)state;
    for (size_t k = 0; k < N_CASES; k++) {
        RtImage image = noise(k, 19, 33);
        begin_case(k);
        /* libtiff counts a tag that it got no memory for, and reads past the end of its tags when it closes. */
        pixels_alone = strstr(path, ".tif") != NULL;
        if (is_there(&image)) {
            write_with_little_memory(&image, false);
            write_with_little_memory(&image, true);
        }
        pixels_alone = false;
        end_case();
        tessi_image_dispose(&image);
    }
}

static void read_with_little_memory(size_t c, bool once)
{
    RtImage whole;
    assert_true(read_noise(c, &whole, NULL));
    bool reached = true;
    for (long k = 1; reached; k++) {
        Failure f = { 0 };
        RtImage image;
        arm(k, once);
        const bool ok = read_noise(c, &image, &f);
        const bool same =
            ok && image.bytes == whole.bytes && memcmp(image.data, whole.data, whole.bytes) == 0;
        const bool kept = !ok && image.data;
        tessi_image_dispose(&image);
        const long left = live;
        reached = allocations >= k;
        disarm();
        if (left != 0 || kept || ok != same || (!ok && !reached))
            fail_msg("allocation %ld of reading %s: '%s', %ld blocks left", k, path, f.text, left);
        if (!ok)
            check_sentence("allocation", k, &f);
    }
    tessi_image_dispose(&whole);
}

static void test_memory_ends_while_reading(void **state)
{
    (void)state;
    for (size_t k = 0; k < N_CASES; k++) {
        RtImage image = noise(k, 19, 33);
        begin_case(k);
        pixels_alone = strstr(path, ".tif") != NULL; /* as above */
        if (is_there(&image)) {
            read_with_little_memory(k, false);
            read_with_little_memory(k, true);
        }
        pixels_alone = false;
        end_case();
        tessi_image_dispose(&image);
    }
}

/* Each call in turn, until one that is not made any more. */
static void write_with_fault(const RtImage *image, Fault what)
{
    bool reached = true;
    for (long k = 1; reached; k++) {
        Failure f = { 0 };
        assert_true(tessi_file_write(path, "precious", 8, NULL));
        fault = what;
        calls = 0;
        bad_call = k;
        arm(0, false);
        const bool ok = write_noise(image, &f);
        const long left = live;
        disarm();
        fault = NO_FAULT;
        reached = calls >= k;
        if (left != 0 || ok != (!reached || what == INTERRUPTED))
            fail_msg("fault %d, call %ld of %s: %s, %ld blocks left", what, k, path,
                     ok ? "written" : f.text, left);
        if (ok)
            continue;
        check_sentence("call", k, &f);
        check_precious("call", k);
        if (!strstr(f.text, path))
            fail_msg("fault %d: %s", what, f.text);
    }
}

static void test_files_that_cannot_be_written(void **state)
{
    (void)state;
    for (size_t k = 0; k < N_CASES; k++) {
        RtImage image = noise(k, 300, 700); /* more than what is written at once */
        begin_case(k);
        for (Fault what = FULL; is_there(&image) && what <= NO_SEEK; what++)
            if (what != NO_READER)
                write_with_fault(&image, what);
        end_case();
        tessi_image_dispose(&image);
    }
}

static void test_files_that_cannot_be_read(void **state)
{
    (void)state;
    for (size_t k = 0; k < N_CASES; k++) {
        RtImage image = noise(k, 200, 500), back;
        begin_case(k);
        bool reached = is_there(&image);
        for (long call = 1; reached; call++) {
            Failure f = { 0 };
            fault = NO_READ;
            calls = 0;
            bad_call = call;
            arm(0, false);
            const bool ok = read_noise(k, &back, &f);
            tessi_image_dispose(&back);
            const long left = live;
            disarm();
            fault = NO_FAULT;
            reached = calls >= call;
            if (left != 0 || ok == reached || (!ok && !strstr(f.text, "Input/output error")))
                fail_msg("read %ld of %s: '%s', %ld blocks left", call, path, f.text, left);
        }
        end_case();
        tessi_image_dispose(&image);
    }
}

/* A pipe that nobody reads any more: what is there of the file went to the reader, and a sentence comes. */
static void test_pipes_without_reader(void **state)
{
    (void)state;
    signal(SIGPIPE, SIG_IGN);
    for (size_t k = 0; k < N_CASES; k++) {
        RtImage image = noise(k, 30, 40);
        begin_case(k);
        if (is_there(&image)) {
            Failure f = { 0 };
            assert_int_equal(unlink(path), 0);
            assert_int_equal(mkfifo(path, 0600), 0);
            reader = open(path, O_RDONLY | O_NONBLOCK);
            fault = NO_READER;
            calls = 0;
            bad_call = 1;
            arm(0, false);
            const bool ok = write_noise(&image, &f);
            const long left = live;
            disarm();
            fault = NO_FAULT;
            if (ok || left != 0 || !strstr(f.text, "Broken pipe") || files_there() != 1)
                fail_msg("%s: '%s', %ld blocks left", path, f.text, left);
        }
        end_case();
        tessi_image_dispose(&image);
    }
    signal(SIGPIPE, SIG_DFL);
}

/* A pipe takes every format whole, also those that go back in the file. */
static void test_pipes_with_reader(void **state)
{
    (void)state;
    for (size_t k = 0; k < N_CASES; k++) {
        RtImage image = noise(k, 3, 4), back;
        begin_case(k);
        if (is_there(&image)) {
            uint8_t got[8192];
            Failure f = { 0 };
            assert_int_equal(unlink(path), 0);
            assert_int_equal(mkfifo(path, 0600), 0);
            const int fd = open(path, O_RDONLY | O_NONBLOCK);
            if (!write_noise(&image, &f))
                fail_msg("%s", f.text);
            const ssize_t n = __real_read(fd, got, sizeof got);
            __real_close(fd);
            assert_true(n > 0 && n < (ssize_t)sizeof got);
            if (!decode_image(got, (size_t)n, &back, &f))
                fail_msg("%s through a pipe: %s", path, f.text);
            assert_int_equal(back.ndim, image.ndim);
            tessi_image_dispose(&back);
        }
        end_case();
        tessi_image_dispose(&image);
    }
}

/* A file that may not grow, of every size up to what it takes. In a child, as the limit holds for the process. */
static int write_within(const RtImage *image, rlim_t most)
{
    const pid_t pid = fork();
    if (pid == 0) {
        const struct rlimit limit = { most, most };
        Failure f = { 0 };
        signal(SIGXFSZ, SIG_IGN);
        setrlimit(RLIMIT_FSIZE, &limit);
        const bool ok = write_noise(image, &f);
        _exit(ok ? 0 : f.status == TESS_ERROR_FILE && strstr(f.text, "too large") ? 1 : 2);
    }
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 3;
}

static void test_full_disk(void **state)
{
    (void)state;
    for (size_t k = 0; k < N_CASES; k++) {
        RtImage image = noise(k, 100, 150);
        begin_case(k);
        struct stat st;
        if (is_there(&image) && stat(path, &st) == 0) {
            const off_t sizes[] = { 0, 1, 10, 1000, st.st_size / 2, st.st_size - 1, st.st_size };
            for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
                assert_true(tessi_file_write(path, "precious", 8, NULL));
                const int want = sizes[i] < st.st_size;
                const int got = write_within(&image, (rlim_t)sizes[i]);
                if (got != want)
                    fail_msg("%s with %ld bytes: %d", path, (long)sizes[i], got);
                if (want)
                    check_precious("size", (long)sizes[i]);
            }
        }
        end_case();
        tessi_image_dispose(&image);
    }
}

static void test_full_device(void **state)
{
    (void)state;
    if (!tessi_file_exists("/dev/full"))
        skip();
    for (size_t k = 0; k < N_CASES; k++) {
        RtImage image = noise(k, 30, 40);
        begin_case(k);
        Failure f = { 0 };
        if (is_there(&image)) {
            assert_int_equal(unlink(path), 0);
            assert_int_equal(symlink("/dev/full", path), 0);
            assert_false(write_noise(&image, &f));
            check_sentence("device", 0, &f);
            assert_non_null(strstr(f.text, "No space left"));
            assert_int_equal(files_there(), 1);
        }
        end_case();
        tessi_image_dispose(&image);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_memory_ends_while_writing),
        cmocka_unit_test(test_memory_ends_while_reading),
        cmocka_unit_test(test_files_that_cannot_be_written),
        cmocka_unit_test(test_files_that_cannot_be_read),
        cmocka_unit_test(test_pipes_without_reader),
        cmocka_unit_test(test_pipes_with_reader),
        cmocka_unit_test(test_full_disk),
        cmocka_unit_test(test_full_device),
    };
    return cmocka_run_group_tests(tests, make_said, free_said);
}
