/* Files of which several write a share of the rows each, and files that are gone on with: the bytes of one that is
 * written at once, in every format and type whose rows lie one behind the other. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "rt/file.h"
#include "support.h"
#include "tessera.h"

enum { ROWS = 37, COLUMNS = 13, ROOM = 1 << 16 };

static const struct {
    const char *suffix;
    DLDataType type;
} files[] = {
    { ".npy", { kDLFloat, 32, 1 } }, { ".npy", { kDLBool, 8, 1 } },
    { ".tif", { kDLUInt, 16, 1 } },  { ".tif", { kDLBool, 8, 1 } },
    { ".tif", { kDLFloat, 64, 1 } }, { ".pgm", { kDLUInt, 16, 1 } },
    { ".pgm", { kDLFloat, 32, 1 } }, { ".pbm", { kDLBool, 8, 1 } },
    { ".pam", { kDLUInt, 8, 1 } },
};
enum { N_FILES = sizeof files / sizeof *files };

static DLTensor *image_of(DLDataType type)
{
    const int64_t shape[2] = { ROWS, COLUMNS };
    DLTensor *t = tess_image_new(type, 2, shape);
    for (int i = 0; i < ROWS * COLUMNS; i++) {
        const int value = i * i % 251;
        switch (type.bits) {
        case 8:
            ((uint8_t *)t->data)[i] = (uint8_t)(type.code == kDLBool ? value % 2 : value);
            break;
        case 16: ((uint16_t *)t->data)[i] = (uint16_t)(value * 200); break;
        case 32: ((float *)t->data)[i] = (float)value * 1.5f; break;
        default: ((double *)t->data)[i] = value / 7.0; break;
        }
    }
    return t;
}

typedef struct Memory {
    uint8_t at[ROOM];
    size_t n;
} Memory;

static int put(void *user, uint64_t at, const void *bytes, size_t n)
{
    Memory *m = user;
    if (at + n > ROOM)
        return 28;
    memcpy(m->at + at, bytes, n);
    m->n = m->n > at + n ? m->n : (size_t)(at + n);
    return 0;
}

/* How many rows are in the file then. */
static int64_t add_rows(const char *path, const DLTensor *image, tess_image_store *store,
                        int64_t from, int64_t to, int whole)
{
    char error[600] = "";
    tess_writer *w;
    int64_t shape[2] = { to - from, COLUMNS };
    DLTensor rows = *image;
    rows.shape = shape;
    rows.data = (char *)image->data + (size_t)(from * COLUMNS) * (image->dtype.bits / 8u);
    assert_int_equal(tess_writer_open(path, image, store, &w, error, sizeof error), TESS_OK);
    assert_int_equal(tess_writer_add(w, &rows, error, sizeof error), TESS_OK);
    if (store->resumes && !whole) {
        int64_t n;
        uint64_t bytes;
        assert_int_equal(tess_writer_settle(w, &n, &bytes, error, sizeof error), TESS_OK);
        assert_in_range(n, 0, to);
        tess_writer_close(w, 0, error, sizeof error);
        return n;
    }
    assert_int_equal(tess_writer_close(w, 1, error, sizeof error), TESS_OK);
    return to;
}

static void same_bytes(const char *path, const uint8_t *at, size_t n)
{
    uint8_t *all;
    size_t n_all;
    assert_true(tessi_file_read(path, 0, &all, &n_all, NULL));
    assert_int_equal(n_all, n);
    assert_memory_equal(all, at, n);
    free(all);
}

static void file_in_shares(const char *path, const DLTensor *image)
{
    static const int64_t ends[] = { 0, 10, 11, ROWS };
    static const int order[] = { 2, 0, 1 };
    Memory *m = calloc(1, sizeof *m);
    tess_image_store whole, store;
    int64_t n_saturated = 0;
    char error[600] = "", doubt[600] = "";
    tess_image_store_init(&whole);
    assert_int_equal(tess_image_save(path, image, &whole, error, sizeof error), TESS_OK);
    double lo = INFINITY, hi = -INFINITY;
    for (int k = 0; k < 3; k++) {
        const tess_file_share share = { ends[order[k]], ends[order[k] + 1], put, m };
        tess_image_store_init(&store);
        store.share = &share;
        add_rows(path, image, &store, share.from, share.to, 1);
        n_saturated += store.n_saturated;
        lo = store.lo < lo ? store.lo : lo;
        hi = store.hi > hi ? store.hi : hi;
    }
    same_bytes(path, m->at, m->n);
    tess_image_store_init(&store);
    store.n_saturated = n_saturated;
    store.lo = lo;
    store.hi = hi;
    assert_int_equal(tess_writer_join(path, image, &store, doubt, sizeof doubt), TESS_OK);
    assert_string_equal(doubt, error);
    assert_int_equal(store.n_saturated, whole.n_saturated);
    free(m);
}

static void file_gone_on_with(const char *path, const DLTensor *image)
{
    uint8_t *all;
    size_t n;
    tess_image_store store;
    assert_true(tessi_file_read(path, 0, &all, &n, NULL));
    tess_image_store_init(&store);
    store.resumes = 1;
    store.rows_there = add_rows(path, image, &store, 0, 10, 0);
    add_rows(path, image, &store, store.rows_there, ROWS, 1);
    same_bytes(path, all, n);
    free(all);
}

static void test_files(void **state)
{
    char path[200];
    for (int k = 0; k < N_FILES; k++) {
        snprintf(path, sizeof path, "%s/shares%s", (const char *)*state, files[k].suffix);
        DLTensor *image = image_of(files[k].type);
        file_in_shares(path, image);
        file_gone_on_with(path, image);
        tess_image_free(image);
        unlink(path);
    }
}

/* Between pages of TIFF there is more than rows. */
static void test_pages(void **state)
{
    const int64_t shape[3] = { 4, 5, 6 };
    char path[200], error[600] = "";
    tess_image_store store;
    tess_writer *w;
    DLTensor *stack = tess_image_new((DLDataType){ kDLUInt, 8, 1 }, 3, shape);
    snprintf(path, sizeof path, "%s/pages.tif", (const char *)*state);
    tess_image_store_init(&store);
    store.picture_dims = 3;
    assert_int_equal(tess_writer_can_share(path, stack, &store, error, sizeof error),
                     TESS_ERROR_UNSUPPORTED);
    store.resumes = 1;
    assert_int_equal(tess_writer_open(path, stack, &store, &w, error, sizeof error),
                     TESS_ERROR_ARGUMENT);
    assert_non_null(strstr(error, "pages"));
    tess_image_free(stack);
}

/* A file that shrinks while it is read: its head promised more, and the rows that are gone are not made up. */
static void test_shrinks(void **state)
{
    const int64_t shape[2] = { 400, 300 };
    static const char *const names[] = { "shrinks.npy", "shrinks.tif", "shrinks.pgm",
                                         "shrinks.bin" };
    for (size_t k = 0; k < sizeof names / sizeof *names; k++) {
        char path[200], read[240], error[600] = "";
        DLTensor *image = tess_image_new((DLDataType){ kDLUInt, 8, 1 }, 2, shape);
        tess_image_store store;
        tess_image_request request;
        tess_reader *r;
        tess_info info = { .struct_size = sizeof info, .name = "a", .ndim = 2, .n_channels = 1 };
        info.dtype = image->dtype;
        memset(image->data, 7, 400 * 300);
        snprintf(path, sizeof path, "%s/%s", (const char *)*state, names[k]);
        snprintf(read, sizeof read, k == 3 ? "raw:400x300:uint8:%s" : "%s", path);
        tess_image_store_init(&store);
        store.picture_dims = 2;
        if (tess_image_save(path, image, &store, error, sizeof error) == TESS_OK) {
            tess_image_request_init(&request);
            assert_int_equal(tess_reader_open(read, &info, &request, &r, error, sizeof error),
                             TESS_OK);
            assert_int_equal(tess_reader_order(r, 0, 100, image->data, error, sizeof error),
                             TESS_OK);
            assert_int_equal(tess_reader_wait(r, error, sizeof error), TESS_OK);
            assert_int_equal(truncate(path, 200 * 300), 0);
            assert_int_equal(tess_reader_order(r, 100, 400, image->data, error, sizeof error),
                             TESS_OK);
            assert_int_not_equal(tess_reader_wait(r, error, sizeof error), TESS_OK);
            assert_true(strstr(error, "cannot read") && !strchr(error, '\n'));
            tess_reader_close(r);
        }
        tess_image_free(image);
        unlink(path);
    }
}

static int make_folder(void **state)
{
    char *path = strdup("/tmp/tessera-shares-XXXXXX");
    *state = mkdtemp(path);
    return *state ? 0 : -1;
}

static int remove_folder(void **state)
{
    rmdir(*state);
    free(*state);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_files), cmocka_unit_test(test_pages),
                                        cmocka_unit_test(test_shrinks) };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
