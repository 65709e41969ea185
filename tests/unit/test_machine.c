/* Machine descriptions: what is read, what is refused and with which sentence, and the ones that come with us. */
#include "graph_testing.h"
#include "plan/machine_text.h"
#include "plan/plan.h"
#include "rt/device.h"
#include "support.h"

static Machine *read_machine(Arena *a, const char *text, size_t n, const char **complaint)
{
    SourceMap *sources = ARENA_NEW(a, SourceMap);
    Diags *d = ARENA_NEW(a, Diags);
    tessi_sources_init(sources, a);
    tessi_diags_init(d, a, sources);
    Machine *m = tessi_machine_read(a, d, text, n);
    assert_int_equal(d->n_errors, m ? 0 : 1);
    if (!m)
        assert_int_equal(d->list.at[0].code, DIAG_BAD_MACHINE_TEXT);
    *complaint = m ? "" : d->list.at[0].text;
    return m;
}

static const char *printed(Arena *a, const Machine *m)
{
    Text t = tessi_text_new(a);
    tessi_machine_print(m, &t);
    return tessi_text_str(&t);
}

static void reads_keys_and_comments(void **state)
{
    const char *complaint, text[] = "# a machine\n\n  name = My CPU#3 # not this\r\ncores=12\n"
                                    "ghz = 2.5e0   # fast\nl2_bytes = 262144";
    Machine *m = read_machine(*state, text, sizeof text - 1, &complaint);
    assert_string_equal(complaint, "");
    assert_string_equal(m->name, "My CPU#3");
    assert_int_equal(m->cores, 12);
    assert_true(m->ghz == 2.5);
    assert_int_equal(m->l2_bytes, 262144);
    assert_int_equal(m->line_bytes, tessi_machine_default(*state)->line_bytes);
}

static void prints_what_it_reads(void **state)
{
    static const char *const files[] = { "generic-avx2", "generic-avx512", "generic-neon" };
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        size_t n;
        const char *complaint, *path = tessi_sprintf(*state, "machines/%s.machine", files[i]);
        const char *text = support_read_file(*state, path, &n);
        Machine *m = read_machine(*state, text, n, &complaint);
        assert_string_equal(complaint, "");
        assert_string_equal(m->name, files[i]);
        const char *out = printed(*state, m);
        Machine *again = read_machine(*state, out, strlen(out), &complaint);
        assert_string_equal(complaint, "");
        assert_string_equal(printed(*state, again), out);
    }
}

/* A fitted constant is a key like others, but one that is the standard is not printed. */
static void constants_are_keys(void **state)
{
    const char *complaint, text[] = "name = x\ntile_row_cycles = 95\nmemory_exposed = 0.5";
    const Machine *standard = tessi_machine_default(*state);
    Machine *m = read_machine(*state, text, sizeof text - 1, &complaint);
    assert_string_equal(complaint, "");
    assert_true(m->tile_row_cycles == 95);
    assert_true(m->memory_exposed == standard->memory_exposed);
    assert_true(m->walk_cycles == standard->walk_cycles);
    const char *out = printed(*state, m);
    assert_non_null(strstr(out, "\ntile_row_cycles = 95.0\n"));
    assert_null(strstr(out, "memory_exposed"));
    assert_null(strstr(out, "walk_cycles"));
    for (int k = 0; k < N_MACHINE_KEYS; k++) {
        const MachineKey *key = tessi_machine_key(k);
        assert_int_equal(!*key->unit, !*key->sentence);
        if (*key->sentence)
            assert_true(key->least > 0 && key->least < key->most);
    }
    assert_null(read_machine(*state, "walk_cycles = 0", 15, &complaint));
    assert_non_null(strstr(complaint, "walk_cycles is a number from 1.0 to 256.0"));
}

static void refuses_with_a_sentence(void **state)
{
    static const struct {
        const char *text, *sentence;
    } cases[] = {
        { "cores = 0", "line 1: cores is an integer from 1 to 65536, not '0'" },
        { "\ncores = 1.5", "line 2: cores is an integer from 1 to 65536, not '1.5'" },
        { "cores = 99999999999999999999",
          "line 1: cores is an integer from 1 to 65536, not '99999999999999999999'" },
        { "ghz = fast", "line 1: ghz is a number from 0.001 to 1e+03, not 'fast'" },
        { "ghz = nan", "line 1: ghz is a number from 0.001 to 1e+03, not 'nan'" },
        { "ghz = 1e999", "line 1: ghz is a number from 0.001 to 1e+03, not '1e999'" },
        { "ghz =", "line 1: ghz is a number from 0.001 to 1e+03, not ''" },
        { "core = 4", "line 1: there is no key 'core'; did you mean 'cores'?" },
        { "wallpaper = 4", "line 1: there is no key 'wallpaper'" },
        { "cores = 4\ncores = 4", "line 2: cores has been given in line 1 already" },
        { "name = # none", "line 1: the name is empty" },
        { "target =", "line 1: the target is empty" },
        { "target = fpga", "line 1: target is one of the words cpu gpu, not 'fpga'" },
        { "target = gp", "line 1: target is one of the words cpu gpu, not 'gp'" },
        { "cores 4", "line 1: expected 'key = value'" },
        { "name = a\x01", "line 1: the byte 0x01 cannot stand in a text" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *complaint;
        assert_null(read_machine(*state, cases[i].text, strlen(cases[i].text), &complaint));
        assert_string_equal(
            complaint,
            tessi_sprintf(*state, "not a machine description I can read: %s", cases[i].sentence));
    }
    const char *complaint;
    assert_null(read_machine(*state, "name = a\0b", 10, &complaint));
    assert_non_null(read_machine(*state, "", 0, &complaint));
}

/* Of every key: without a value it is refused, or it is as if the line were not there. */
static void keys_without_values(void **state)
{
    const char *standard = printed(*state, tessi_machine_default(*state));
    for (int k = 0; k < N_MACHINE_KEYS; k++) {
        const char *complaint, *text = tessi_sprintf(*state, "%s =", tessi_machine_key(k)->name);
        const Machine *m = read_machine(*state, text, strlen(text), &complaint);
        if (m)
            assert_string_equal(printed(*state, m), standard);
        else
            assert_non_null(strstr(complaint, tessi_machine_key(k)->name));
    }
}

/* What drivers say can be planned for, be it nonsense. */
static void devices_can_be_read(void **state)
{
    static const struct {
        DeviceInfo info;
        const char *name, *says;
        double ghz;
    } cases[] = {
        { { .name = "GPU", .ghz = 2 }, "GPU", "\nghz = 1.89\n", 1.89 },
        { { .name = "GPU" }, "GPU", "\nghz = 1.5\n", 1.5 },
        { { .name = "CPU", .ghz = 0.001, .is_cpu = true },
          "CPU",
          "\n# ghz = 0.000945, it is said",
          3 },
        { { .name = "GPU", .ghz = 0.001 }, "GPU", "\n# ghz = 0.000945, it is said", 1.5 },
        { { .name = "GPU", .ghz = 1.98e3 }, "GPU", "which cannot be", 1.5 },
        { { .name = "", .ghz = 1 }, "a device", "", 0.945 },
        { { .name = " \x01\n", .ghz = 1 }, "a device", "", 0.945 },
        { { .name = "#3 \tGPU #4 a#b", .ghz = 1 }, "3  GPU  4 a#b", "", 0.945 },
        { { .name = "GPU",
            .compute_units = 1 << 30,
            .cache_bytes = UINT64_MAX,
            .unit_threads = -5 },
          "GPU",
          "# threads = -5, it is said",
          1.5 },
        { { .name = "GPU", .ghz = 2, .compute_units = 100 }, "GPU", "\nl2_gbs = 5292.0\n", 1.89 },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *complaint;
        Text text = tessi_text_new(*state);
        tessi_device_describe(&cases[i].info, &text);
        const Machine *m = read_machine(*state, tessi_text_str(&text), text.n, &complaint);
        assert_string_equal(complaint, "");
        assert_string_equal(m->name, cases[i].name);
        assert_true(m->ghz == cases[i].ghz);
        assert_non_null(strstr(tessi_text_str(&text), cases[i].says));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        GRAPH_TEST(reads_keys_and_comments), GRAPH_TEST(prints_what_it_reads),
        GRAPH_TEST(constants_are_keys),      GRAPH_TEST(refuses_with_a_sentence),
        GRAPH_TEST(keys_without_values),     GRAPH_TEST(devices_can_be_read)
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
