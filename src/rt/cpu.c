/* Lines of /proc/cpuinfo. */
#include "rt/cpu.h"
#include "rt/file.h"

#include <stdlib.h>
#include <string.h>

char *tessi_cpu_text(void)
{
    uint8_t *text;
    size_t n;
    return tessi_file_read("/proc/cpuinfo", 1 << 24, &text, &n, NULL) ? (char *)text : NULL;
}

const char *tessi_cpu_value(const char *text, const char *key, size_t *n)
{
    const size_t length = strlen(key);
    for (const char *line = text; line; line = strchr(line, '\n')) {
        line += *line == '\n';
        const char *end = line + strcspn(line, "\n"),
                   *colon = memchr(line, ':', (size_t)(end - line));
        if (strncmp(line, key, length) != 0 || !colon
            || (line[length] != '\t' && line[length] != ' ' && line[length] != ':'))
            continue;
        colon++;
        colon += strspn(colon, " \t");
        *n = colon < end ? (size_t)(end - colon) : 0;
        return *n ? colon : NULL;
    }
    return NULL;
}

bool tessi_cpu_digest_of(const char *text, Digest *d)
{
    static const struct {
        const char *key;
        bool features;
    } lines[] = { { "model name", false },
                  { "CPU part", false },
                  { "flags", true },    /* x86 */
                  { "Features", true }, /* ARM */
                  { "isa", true } };    /* RISC-V */
    Hasher h;
    bool known = false;
    tessi_hasher_init(&h);
    for (size_t i = 0; text && i < sizeof lines / sizeof *lines; i++) {
        size_t n;
        const char *value = tessi_cpu_value(text, lines[i].key, &n);
        if (!value)
            continue;
        tessi_hasher_add(&h, lines[i].key, strlen(lines[i].key) + 1);
        tessi_hasher_add(&h, value, n);
        tessi_hasher_add(&h, "", 1);
        known = known || lines[i].features;
    }
    *d = tessi_hasher_end(&h);
    return known;
}

bool tessi_cpu_digest(Digest *d)
{
    char *text = tessi_cpu_text();
    const bool known = tessi_cpu_digest_of(text, d);
    free(text);
    return known;
}
