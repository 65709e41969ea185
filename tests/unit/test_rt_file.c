/* rt/file: whole reads, writes that happen completely or not at all; rt/output: blocks taken beforehand. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* fallocate */
#endif
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "rt/file.h"
#include "rt/output.h"
#include "tessera.h"

static char *dir; /* of the running test */

static int make_dir(void **state)
{
    (void)state;
    return tessi_temp_dir(NULL, &dir, NULL) ? 0 : -1;
}

static int remove_dir(void **state)
{
    (void)state;
    tessi_temp_dir_remove(NULL, dir);
    bool gone = !tessi_dir_exists(dir);
    free(dir);
    return gone ? 0 : -1;
}

static char *in_dir(const char *name)
{
    char *path = tessi_path_join(dir, name);
    assert_non_null(path);
    return path;
}

static int count_files(void)
{
    int n = 0;
    DIR *d = opendir(dir);
    for (struct dirent *e; (e = readdir(d)) != NULL;)
        n += e->d_name[0] != '.' || strlen(e->d_name) > 2;
    closedir(d);
    return n;
}

static void expect_content(const char *path, const char *text)
{
    uint8_t *data;
    size_t n;
    Failure f = { 0 };
    if (!tessi_file_read(path, 0, &data, &n, &f))
        fail_msg("%s", f.text);
    assert_int_equal(n, strlen(text));
    assert_string_equal((char *)data, text); /* the NUL after it */
    free(data);
}

static void test_write_and_read(void **state)
{
    (void)state;
    char *path = in_dir("a");
    Failure f = { 0 };
    assert_true(tessi_file_write(path, "hello", 5, &f));
    expect_content(path, "hello");
    assert_true(tessi_file_write(path, "", 0, &f));
    expect_content(path, "");
    assert_int_equal(count_files(), 1);
    free(path);
}

static void test_large_file(void **state)
{
    (void)state;
    size_t n = 3000001, got;
    char *path = in_dir("large"), *data = malloc(n);
    uint8_t *back;
    for (size_t i = 0; i < n; i++)
        data[i] = (char)(i * 7 >> 3);
    assert_true(tessi_file_write(path, data, n, NULL));
    assert_true(tessi_file_read(path, n, &back, &got, NULL));
    assert_int_equal(got, n);
    assert_memory_equal(back, data, n);
    free(back);
    Failure f = { 0 };
    assert_false(tessi_file_read(path, n - 1, &back, &got, &f));
    assert_non_null(strstr(f.text, "more than 3000000 bytes"));
    free(data);
    free(path);
}

static void test_endless_input_is_bounded(void **state)
{
    (void)state;
    uint8_t *data;
    size_t n;
    Failure f = { 0 };
    assert_false(tessi_file_read("/dev/zero", 1 << 20, &data, &n, &f));
    assert_non_null(strstr(f.text, "more than 1048576 bytes"));
    assert_false(tessi_file_read(dir, 0, &data, &n, &f));
    assert_non_null(strstr(f.text, "it is a directory"));
}

static void test_full_device(void **state)
{
    (void)state;
    if (!tessi_file_exists("/dev/full"))
        skip();
    Failure f = { 0 };
    assert_false(tessi_file_write("/dev/full", "x", 1, &f));
    assert_int_equal(f.status, TESS_ERROR_FILE);
    assert_non_null(strstr(f.text, "/dev/full"));
    assert_true(tessi_file_write("/dev/null", "x", 1, &f));
    assert_true(tessi_file_exists("/dev/null"));
}

/* A file that may not grow is the disk that is full. In a child, as the limit holds for the
 * process. */
static void test_full_disk_leaves_the_old_file(void **state)
{
    (void)state;
    char *path = in_dir("a");
    assert_true(tessi_file_write(path, "old", 3, NULL));
    pid_t pid = fork();
    if (pid == 0) {
        struct rlimit limit = { 1000, 1000 };
        signal(SIGXFSZ, SIG_IGN);
        setrlimit(RLIMIT_FSIZE, &limit);
        static char data[5000];
        Failure f = { 0 };
        bool ok = tessi_file_write(path, data, sizeof data, &f);
        _exit(!ok && f.status == TESS_ERROR_FILE ? 0 : 1);
    }
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    expect_content(path, "old");
    assert_int_equal(count_files(), 1);
    free(path);
}

static bool takes_blocks(int fd, off_t bytes)
{
    struct stat st;
#ifdef FALLOC_FL_KEEP_SIZE
    if (fallocate(fd, FALLOC_FL_KEEP_SIZE, 0, bytes) != 0)
        return false;
#endif
    assert_int_equal(fstat(fd, &st), 0);
    return (off_t)st.st_blocks * 512 >= bytes;
}

/* Blocks that are taken before their bytes come change neither the file's size nor what is in it. */
static void test_expected_bytes(void **state)
{
    (void)state;
    enum { BYTES = 2 << 20 };
    char *path = in_dir("a"), *other = in_dir("b"), *data = calloc(1, BYTES);
    struct stat st;
    RtOutput out;
    Failure f = { 0 };
    assert_true(tessi_output_open(path, false, &out, &f));
    tessi_output_expect(&out, BYTES);
    assert_int_equal(fstat(out.fd, &st), 0);
    assert_int_equal(st.st_size, 0);
    const int fd = open(other, O_RDWR | O_CREAT, 0600);
    assert_true(fd >= 0);
    if (takes_blocks(fd, BYTES)) /* here files can */
        assert_true((off_t)st.st_blocks * 512 >= BYTES);
    close(fd);
    assert_non_null(data);
    tessi_output_add(&out, data, BYTES);
    assert_true(tessi_output_close(path, &out, true, &f));
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_size, BYTES);
    free(data);
    free(other);
    free(path);
}

static void test_permissions_and_links(void **state)
{
    (void)state;
    char *path = in_dir("a"), *link = in_dir("link");
    struct stat st;
    assert_true(tessi_file_write(path, "one", 3, NULL));
    assert_int_equal(chmod(path, 0640), 0);
    assert_int_equal(symlink("a", link), 0);
    assert_true(tessi_file_write(link, "two", 3, NULL));
    assert_int_equal(lstat(link, &st), 0);
    assert_true(S_ISLNK(st.st_mode)); /* written through */
    expect_content(path, "two");
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0640);
    if (geteuid() != 0) {
        Failure f = { 0 };
        assert_int_equal(chmod(path, 0440), 0);
        assert_false(tessi_file_write(path, "three", 5, &f));
        expect_content(path, "two");
    }
    free(path);
    free(link);
}

static void test_refused_targets(void **state)
{
    (void)state;
    Failure f = { 0 };
    assert_false(tessi_file_write(dir, "x", 1, &f));
    assert_non_null(strstr(f.text, "it is a directory"));
    assert_false(tessi_file_write("", "x", 1, &f));
    char *path = in_dir("no/such/place");
    assert_false(tessi_file_write(path, "x", 1, &f));
    assert_non_null(strstr(f.text, "No such file or directory"));
    free(path);
    assert_int_equal(count_files(), 0);
    /* A sentence of bounded length for names of any length. */
    char *name = malloc(100000);
    memset(name, 'x', 99999);
    name[99999] = 0;
    assert_false(tessi_file_write(name, "x", 1, &f));
    assert_true(strlen(f.text) < sizeof f.text);
    free(name);
}

static void test_two_steps(void **state)
{
    (void)state;
    char *path = in_dir("a");
    PendingFile p;
    assert_true(tessi_file_prepare(path, "x", 1, &p, NULL));
    assert_false(tessi_file_exists(path));
    tessi_file_discard(&p);
    assert_int_equal(count_files(), 0);
    assert_true(tessi_file_prepare(path, "x", 1, &p, NULL));
    assert_true(tessi_file_commit(&p, NULL));
    assert_int_equal(count_files(), 1);
    /* The target became a directory in between: nothing is left. */
    char *other = in_dir("b");
    Failure f = { 0 };
    assert_true(tessi_file_prepare(other, "x", 1, &p, NULL));
    assert_int_equal(mkdir(other, 0777), 0);
    assert_false(tessi_file_commit(&p, &f));
    assert_int_equal(count_files(), 2);
    assert_int_equal(rmdir(other), 0);
    free(other);
    free(path);
}

static void test_paths(void **state)
{
    (void)state;
    assert_string_equal(tessi_path_suffix("a.b/c.png"), ".png");
    assert_string_equal(tessi_path_suffix("a.b/c"), "");
    assert_string_equal(tessi_path_suffix(".hidden"), "");
    assert_string_equal(tessi_path_suffix("x.tar.gz"), ".gz");
    char *path = tessi_path_join("a/", "b");
    assert_string_equal(path, "a/b");
    free(path);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, make_dir, remove_dir)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_write_and_read),
        TEST(test_large_file),
        TEST(test_endless_input_is_bounded),
        TEST(test_full_device),
        TEST(test_full_disk_leaves_the_old_file),
        TEST(test_expected_bytes),
        TEST(test_permissions_and_links),
        TEST(test_refused_targets),
        TEST(test_two_steps),
        TEST(test_paths),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
