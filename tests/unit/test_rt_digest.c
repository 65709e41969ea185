/* rt/digest: BLAKE2b with 32 bytes, against the values of another implementation (Python's hashlib.blake2b(..,
 * digest_size=32)). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "rt/cpu.h"

static void expect(const Digest *d, const char *hex)
{
    char text[2 * DIGEST_BYTES + 1];
    for (int i = 0; i < DIGEST_BYTES; i++)
        snprintf(text + 2 * i, 3, "%02x", d->at[i]);
    assert_string_equal(text, hex);
}

/* Of bytes i * 7 + n, in pieces of so many. */
static Digest digest_of(size_t n, size_t piece)
{
    static uint8_t data[1000];
    Hasher h;
    tessi_hasher_init(&h);
    for (size_t i = 0; i < n; i++)
        data[i] = (uint8_t)(i * 7 + n);
    for (size_t at = 0; at < n; at += piece)
        tessi_hasher_add(&h, data + at, n - at < piece ? n - at : piece);
    return tessi_hasher_end(&h);
}

static void test_known_values(void **state)
{
    (void)state;
    static const struct {
        size_t n;
        const char *hex;
    } known[] = {
        { 0, "0e5751c026e543b2e8ab2eb06099daa1d1e5df47778f7787faab45cdf12fe3a8" },
        { 1, "ee155ace9c40292074cb6aff8c9ccdd273c81648ff1149ef36bcea6ebb8a3e25" },
        { 127, "f609ab2904b340cd075920018e0e3c6f6a90a3dae3edf03d3cccc0634a81ffe3" },
        { 128, "0702c64922fb7635a1b799668a7e89ba9c5fe55ed7bd2fdecb001544073afad9" },
        { 129, "490091b32bad7b3380c9e593d341bce9b73ff9d4ebcf0091ff932bdff7279897" },
        { 256, "3d0cb2693dfbac42af5a6cc960953fea8714aa39c4bcd054ef61d6b5e98ade4a" },
        { 257, "080f7f2ee61cc8ffcf2ad907f7a9824a8445c5e4b194a0106c65f9b9c1ea6787" },
        { 1000, "a2ae1ecc90361e0bb07dab9789a4b0a724ee3cf05623ac6cefa1e6af3da4aae8" },
    };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        Digest d = digest_of(known[i].n, 1000);
        expect(&d, known[i].hex);
    }
    Hasher h;
    tessi_hasher_init(&h);
    tessi_hasher_add(&h, "abc", 3);
    Digest d = tessi_hasher_end(&h);
    expect(&d, "bddd813c634239723171ef3fee98579b94964e3bb1cb3e427262c8c068d52319");
}

/* The digests of all lengths up to 519, hashed; pieces do not matter. */
static void test_all_lengths(void **state)
{
    (void)state;
    static const size_t pieces[] = { 1, 3, 64, 127, 128, 129, 300, 1000 };
    for (size_t p = 0; p < sizeof pieces / sizeof *pieces; p++) {
        Hasher all;
        tessi_hasher_init(&all);
        for (size_t n = 0; n < 520; n++) {
            const Digest d = digest_of(n, pieces[p]);
            tessi_hasher_add(&all, d.at, DIGEST_BYTES);
        }
        const Digest d = tessi_hasher_end(&all);
        expect(&d, "cdbf6223e686fe388d8f64635ad603e2fb5c7b9cbc58cba1769b4206c81b0fab");
    }
}

static void test_processors(void **state)
{
    (void)state;
    Digest a, b, c;
    assert_true(tessi_cpu_digest_of("processor\t: 0\nmodel name\t: X\nflags\t\t: fpu avx2\n", &a));
    assert_true(tessi_cpu_digest_of("model name\t: X\nflags\t\t: fpu avx2\nbugs\t: none\n", &b));
    assert_memory_equal(&a, &b, sizeof a);
    assert_true(tessi_cpu_digest_of("model name\t: X\nflags\t\t: fpu\n", &c));
    assert_memory_not_equal(&a, &c, sizeof a);
    assert_true(tessi_cpu_digest_of("Features\t: fp asimd\nCPU part\t: 0xd0c\n", &c));
    /* Nothing tells what such code needs. */
    assert_false(tessi_cpu_digest_of(NULL, &c));
    assert_false(tessi_cpu_digest_of("", &c));
    assert_false(tessi_cpu_digest_of("model name\t: X flags : y\nflags\t\t:\n", &c));
    assert_false(tessi_cpu_digest_of("model name\t: X\nvmx flags\t: vnmi\n", &c));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_known_values),
        cmocka_unit_test(test_all_lengths),
        cmocka_unit_test(test_processors),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
