/* rt/cache against others: directories that they could write to, and entries that are not what we wrote. As root
 * also with a second user; what needs one is left out otherwise, and said. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* setgroups */
#endif
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <fcntl.h>
#include <grp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "rt/file.h"
#include "rt/kernel.h"
#include "tessera.h"

enum { SOMEBODY = 61234 }; /* a user without a name */

static char *dir;
static mode_t umask_before;

static int make_dir(void **state)
{
    (void)state;
    umask_before = umask(0);
    char *made;
    if (!tessi_temp_dir(NULL, &made, NULL))
        return -1;
    dir = realpath(made, NULL);
    free(made);
    return dir ? 0 : -1;
}

static int remove_dir(void **state)
{
    (void)state;
    umask(umask_before);
    tessi_temp_dir_remove(NULL, dir);
    free(dir);
    return 0;
}

static char *in_dir(const char *name)
{
    return tessi_path_join(dir, name);
}

static mode_t mode_of(const char *path)
{
    struct stat st;
    assert_int_equal(lstat(path, &st), 0);
    return st.st_mode & 07777;
}

static CacheKey key_of(const char *text)
{
    CacheKey key = tessi_cache_key();
    tessi_cache_key_add_text(&key, text);
    return key;
}

static char *path_of(const RtCache *c, const char *text)
{
    char name[CACHE_NAME];
    tessi_cache_name(key_of(text), ".so", name);
    return tessi_path_join(c->dir, name);
}

static bool is_there(const RtCache *c, const char *text)
{
    size_t n;
    char *data = tessi_cache_read(c, key_of(text), ".so", &n);
    free(data);
    return data != NULL;
}

static void insert(const RtCache *c, const char *text)
{
    assert_true(tessi_cache_insert(c, key_of(text), ".so", text, strlen(text)));
}

/* Says why that directory is no cache; and that it then is none. */
static void expect_refused(const char *path, const char *because)
{
    RtCache c;
    tessi_cache_open(&c, path);
    if (c.dir || !strstr(c.refused.text, because))
        fail_msg("%s: '%s' should say '%s'", path, c.refused.text, because);
    assert_int_equal(c.refused.status, TESS_ERROR_FILE);
    assert_false(tessi_cache_insert(&c, key_of("x"), ".so", "x", 1));
    tessi_cache_dispose(&c);
}

static RtCache open_here(const char *path)
{
    RtCache c;
    tessi_cache_open(&c, path);
    if (!c.dir)
        fail_msg("%s", c.refused.text);
    return c;
}

/* Runs a function as another user; its result is the number of things that are wrong. */
static void as_somebody(int (*wrong)(void))
{
    if (geteuid() != 0) {
        print_message("not as root: what needs two users is left out\n");
        return;
    }
    pid_t pid = fork();
    if (pid == 0)
        _exit(setgroups(0, NULL) != 0 || setgid(SOMEBODY) != 0 || setuid(SOMEBODY) != 0 ? 99
                                                                                        : wrong());
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
}

/* ---- Directories ---- */

static void test_made_for_the_owner_alone(void **state)
{
    (void)state;
    static const mode_t masks[] = { 0, 02, 022, 077 };
    for (size_t i = 0; i < sizeof masks / sizeof *masks; i++) {
        umask(masks[i]);
        char name[16];
        snprintf(name, sizeof name, "a%zu", i);
        char *top = in_dir(name), *path = tessi_path_join(top, "b/tessera//");
        RtCache c = open_here(path);
        insert(&c, "x");
        char *entry = path_of(&c, "x"), *above = tessi_path_join(top, "b");
        assert_int_equal(mode_of(top), 0700);
        assert_int_equal(mode_of(above), 0700);
        assert_int_equal(mode_of(c.dir), 0700);
        assert_int_equal(mode_of(entry), 0600);
        assert_true(is_there(&c, "x"));
        tessi_cache_dispose(&c);
        free(entry);
        free(above);
        free(path);
        free(top);
    }
}

static void test_where_others_write(void **state)
{
    (void)state;
    char *above = in_dir("above"), *path = in_dir("above/tessera"), *new = in_dir("above/new/x");
    assert_int_equal(mkdir(above, 0755), 0);
    assert_int_equal(mkdir(path, 0755), 0);
    RtCache c = open_here(path); /* all may look, we alone may write */
    insert(&c, "x");
    static const mode_t modes[] = { 0770, 0702, 0777, 01777 };
    for (size_t i = 0; i < sizeof modes / sizeof *modes; i++) {
        assert_int_equal(chmod(path, modes[i]), 0);
        expect_refused(path, "others can write to '");
        assert_false(is_there(&c, "x")); /* also when it was opened before */
        assert_false(tessi_cache_insert(&c, key_of("y"), ".so", "y", 1));
    }
    assert_int_equal(chmod(path, 0700), 0);
    assert_true(is_there(&c, "x"));
    tessi_cache_dispose(&c);
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(chmod(above, modes[i]), 0);
        expect_refused(path, "/above' (chmod go-w");
        expect_refused(new, "/above' (chmod go-w");
        assert_int_equal(access(new, F_OK), -1); /* nothing is made there */
    }
    assert_int_equal(chmod(above, 01777), 0); /* as /tmp */
    c = open_here(path);
    assert_true(is_there(&c, "x"));
    tessi_cache_dispose(&c);
    free(above);
    free(path);
    free(new);
}

static void test_no_directory(void **state)
{
    (void)state;
    char *file = in_dir("file"), *link = in_dir("link"), *gone = in_dir("gone");
    assert_true(tessi_file_write(file, "x", 1, NULL));
    assert_int_equal(symlink(gone, link), 0);
    expect_refused(file, "cannot open '");
    expect_refused(link, "cannot make '"); /* leads nowhere */
    assert_int_equal(access(gone, F_OK), -1);
    RtCache c = open_here(gone);
    insert(&c, "x");
    tessi_cache_dispose(&c);
    c = open_here(link); /* leads to a good one */
    assert_string_equal(c.dir, gone);
    assert_true(is_there(&c, "x"));
    /* Another directory in its place is another cache. */
    char *aside = in_dir("aside");
    assert_int_equal(rename(gone, aside), 0);
    assert_int_equal(mkdir(gone, 0700), 0);
    assert_false(is_there(&c, "x"));
    assert_false(tessi_cache_insert(&c, key_of("y"), ".so", "y", 1));
    tessi_cache_dispose(&c);
    free(file);
    free(link);
    free(gone);
    free(aside);
}

static void test_environment(void **state)
{
    (void)state;
    char *home = in_dir("home"), *cache = in_dir("home/.cache/tessera"), *xdg = in_dir("xdg"),
         *inner = in_dir("xdg/tessera");
    const char *before = getenv("HOME"), *named = getenv("TESSERA_CACHE");
    char *home_before = before ? strdup(before) : NULL,
         *named_before = named ? strdup(named) : NULL;
    unsetenv("TESSERA_CACHE");
    unsetenv("XDG_CACHE_HOME");
    setenv("HOME", home, 1);
    expect_refused(NULL, "HOME names no directory ('");
    assert_int_equal(access(home, F_OK), -1); /* a home is not made */
    assert_int_equal(mkdir(home, 0755), 0);
    RtCache c = open_here(NULL);
    assert_string_equal(c.dir, cache);
    tessi_cache_dispose(&c);
    setenv("XDG_CACHE_HOME", xdg, 1);
    c = open_here(NULL);
    assert_string_equal(c.dir, inner);
    assert_int_equal(mode_of(xdg), 0700);
    tessi_cache_dispose(&c);
    setenv("XDG_CACHE_HOME", "relative", 1); /* counts as unset */
    c = open_here(NULL);
    assert_string_equal(c.dir, cache);
    assert_int_equal(access("relative", F_OK), -1);
    tessi_cache_dispose(&c);
    setenv("TESSERA_CACHE", dir, 1);
    c = open_here(NULL);
    assert_string_equal(c.dir, dir);
    tessi_cache_dispose(&c);
    unsetenv("TESSERA_CACHE");
    unsetenv("XDG_CACHE_HOME");
    unsetenv("HOME");
    expect_refused(NULL, "neither TESSERA_CACHE, XDG_CACHE_HOME nor HOME is set");
    if (home_before)
        setenv("HOME", home_before, 1);
    if (named_before)
        setenv("TESSERA_CACHE", named_before, 1);
    free(home_before);
    free(named_before);
    free(home);
    free(cache);
    free(xdg);
    free(inner);
}

/* ---- Two users ---- */

static int opens_what_root_has(void)
{
    int wrong = 0;
    for (int i = 0; i < 2; i++) { /* root's own cache, and one that root left open to all */
        char *path = in_dir(i ? "open" : "roots");
        RtCache c;
        tessi_cache_open(&c, path);
        wrong += c.dir != NULL
                 || !(strstr(c.refused.text, "belongs to another user (number 0)")
                      || strstr(c.refused.text, "Permission denied"));
        wrong += is_there(&c, "x");
        tessi_cache_dispose(&c);
        free(path);
    }
    return wrong;
}

static int makes_traps(void)
{
    int wrong = 0;
    umask(0);
    char *trap = in_dir("open/trap"), *inner = in_dir("open/trap/inner"), *own = in_dir("open/own"),
         *deep = in_dir("open/sticky/deep");
    char *sticky = in_dir("open/sticky");
    wrong += mkdir(trap, 0777) != 0 || mkdir(inner, 0777) != 0;
    wrong += mkdir(sticky, 01777) != 0;
    RtCache c; /* its own cache there works: names in a sticky directory are their owners' */
    tessi_cache_open(&c, own);
    wrong += !c.dir || !tessi_cache_insert(&c, key_of("x"), ".so", "evil", 4);
    tessi_cache_dispose(&c);
    free(trap);
    free(inner);
    free(own);
    free(sticky);
    free(deep);
    return wrong;
}

static void test_two_users(void **state)
{
    (void)state;
    static const mode_t masks[] = { 0, 02 };
    if (geteuid() != 0) {
        print_message("not as root: what needs two users is left out\n");
        return;
    }
    assert_int_equal(chmod(dir, 0755), 0);
    for (size_t i = 0; i < 2; i++) {
        umask(masks[i]);
        char *roots = in_dir("roots"), *open = in_dir("open");
        RtCache c = open_here(roots);
        insert(&c, "x");
        assert_int_equal(mkdir(open, 0777), 0);
        assert_int_equal(chmod(open, 01777), 0);
        as_somebody(opens_what_root_has);
        as_somebody(makes_traps);
        static const char *const traps[] = { "open/trap", "open/trap/inner", "open/own",
                                             "open/sticky/deep", "open/trap/new" };
        for (size_t t = 0; t < sizeof traps / sizeof *traps; t++) {
            char *path = in_dir(traps[t]);
            expect_refused(path, "belongs to another user (number 61234)");
            free(path);
        }
        /* An entry that somebody else wrote, as only root could place it. */
        char *entry = path_of(&c, "x");
        assert_int_equal(chown(entry, SOMEBODY, SOMEBODY), 0);
        assert_false(is_there(&c, "x"));
        assert_int_equal(access(entry, F_OK), -1);
        tessi_cache_dispose(&c);
        tessi_temp_dir_remove(NULL, roots);
        tessi_temp_dir_remove(NULL, open);
        free(entry);
        free(roots);
        free(open);
    }
}

/* ---- Entries ---- */

/* What is no file of ours, at the name of an entry: it is not read, nobody waits, and a new entry takes its place. */
static void test_no_entry_of_ours(void **state)
{
    (void)state;
    char *path = in_dir("cache"), *outside = in_dir("outside"), *fifo = in_dir("fifo");
    RtCache c = open_here(path);
    insert(&c, "x");
    char *entry = path_of(&c, "x");
    uint8_t *good;
    size_t n;
    assert_true(tessi_file_read(entry, 0, &good, &n, NULL));
    for (int kind = 0; kind < 7; kind++) {
        unlink(entry);
        unlink(outside);
        unlink(fifo);
        assert_true(tessi_file_write(outside, good, n, NULL)); /* would do, were it there */
        assert_int_equal(chmod(outside, 0600), 0);
        int fd = -1;
        switch (kind) {
        case 0: assert_int_equal(symlink(outside, entry), 0); break;
        case 1: assert_int_equal(mkfifo(entry, 0600), 0); break;
        case 2:
            assert_int_equal(mkfifo(fifo, 0600), 0);
            assert_int_equal(symlink(fifo, entry), 0);
            break;
        case 3: /* one that somebody holds open */
            assert_int_equal(mkfifo(entry, 0600), 0);
            fd = open(entry, O_RDWR);
            assert_true(fd >= 0 && write(fd, good, n) == (ssize_t)n);
            break;
        default: {
            static const mode_t modes[] = { 0644, 0620, 0666 };
            assert_int_equal(rename(outside, entry), 0);
            assert_int_equal(chmod(entry, modes[kind - 4]), 0);
            assert_true(tessi_file_write(outside, good, n, NULL));
        }
        }
        alarm(60); /* instead of hanging for good */
        assert_false(is_there(&c, "x"));
        assert_int_equal(tessi_cache_find(&c, key_of("x"), ".so"), -1);
        insert(&c, "x");
        assert_true(is_there(&c, "x"));
        alarm(0);
        assert_int_equal(mode_of(entry), 0600);
        assert_int_equal(access(outside, F_OK), 0); /* links are not followed */
        if (fd >= 0)
            close(fd);
    }
    /* A directory is in the way; it stays, and nothing is kept. */
    unlink(entry);
    assert_int_equal(mkdir(entry, 0700), 0);
    assert_false(is_there(&c, "x"));
    assert_false(tessi_cache_insert(&c, key_of("x"), ".so", "x", 1));
    free(good);
    free(entry);
    free(path);
    free(outside);
    free(fifo);
    tessi_cache_dispose(&c);
}

/* A link in the place of an entry does not make an insertion write elsewhere. */
static void test_insertion_follows_no_link(void **state)
{
    (void)state;
    char *path = in_dir("cache"), *outside = in_dir("outside");
    RtCache c = open_here(path);
    char *entry = path_of(&c, "x");
    assert_true(tessi_file_write(outside, "precious", 8, NULL));
    assert_int_equal(symlink(outside, entry), 0);
    insert(&c, "x");
    uint8_t *data;
    size_t n;
    assert_true(tessi_file_read(outside, 0, &data, &n, NULL));
    assert_string_equal((char *)data, "precious");
    assert_true(is_there(&c, "x"));
    free(data);
    free(entry);
    free(path);
    free(outside);
    tessi_cache_dispose(&c);
}

/* ---- Loading ---- */

typedef int (*TakesNothing)(void);

static int value_of(RtModule *m)
{
    Failure f = { 0 };
    RtFunction function = tessi_module_function(m, "value", &f);
    if (!function)
        fail_msg("%s", f.text);
    return ((TakesNothing)function)();
}

/* Compiles a module whose value() is `x` into the cache; the text is the key that it can be found by. */
static void keep_module(const RtCache *c, const CcTool *tool, int x)
{
    char text[64], name[16], *path = in_dir("module.so");
    Failure f = { 0 };
    snprintf(text, sizeof text, "int value(void) { return %d; }", x);
    snprintf(name, sizeof name, "%d", x);
    CcJob job = { .tool = tool, .c_text = text, .kind = CC_SHARED, .out = path };
    if (!tessi_cc_compile(&job, &f))
        fail_msg("%s", f.text);
    uint8_t *data;
    size_t n;
    assert_true(tessi_file_read(path, 0, &data, &n, NULL));
    assert_true(tessi_cache_insert(c, key_of(name), ".so", data, n));
    free(data);
    free(path);
}

/* What was verified is what is loaded, whatever the name means by then, and whatever the descriptor's number meant
 * before. */
static void test_exchanged_while_loading(void **state)
{
    (void)state;
    char *path = in_dir("cache");
    RtCache c = open_here(path);
    CcTool tool;
    RtModule one, again, two;
    free(path);
    if (!tessi_cc_find(NULL, NULL, NULL, &tool, NULL)) {
        tessi_cache_dispose(&c);
        skip();
    }
    keep_module(&c, &tool, 1);
    keep_module(&c, &tool, 2);
    char *entry = path_of(&c, "1"), *other = path_of(&c, "2");
    const int fd = tessi_cache_find(&c, key_of("1"), ".so");
    assert_true(fd >= 0);
    assert_int_equal(unlink(entry), 0);
    assert_int_equal(link(other, entry), 0); /* the moment between looking and loading */
    assert_true(tessi_module_open_file(fd, &one, NULL));
    assert_true(tessi_module_open_file(fd, &again, NULL));
    close(fd);
    assert_int_equal(value_of(&one), 1);
    assert_int_equal(tessi_cache_find(&c, key_of("1"), ".so"), -1); /* under a name not its own */
    const int next = tessi_cache_find(&c, key_of("2"), ".so");
    assert_int_equal(next, fd); /* the same number, while the first module is loaded */
    assert_true(tessi_module_open_file(next, &two, NULL));
    close(next);
    assert_int_equal(value_of(&two), 2);
    assert_int_equal(value_of(&again), 1);
    tessi_module_close(&one);
    assert_int_equal(value_of(&again), 1);
    tessi_module_close(&again);
    tessi_module_close(&two);
    free(entry);
    free(other);
    tessi_cc_dispose(&tool);
    tessi_cache_dispose(&c);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, make_dir, remove_dir)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_made_for_the_owner_alone),
        TEST(test_where_others_write),
        TEST(test_no_directory),
        TEST(test_environment),
        TEST(test_two_users),
        TEST(test_no_entry_of_ours),
        TEST(test_insertion_follows_no_link),
        TEST(test_exchanged_while_loading),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
