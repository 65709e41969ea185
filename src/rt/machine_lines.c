#include "rt/machine_lines.h"

#include <inttypes.h>

void tessi_machine_text(Text *out, const char *key, const char *text, const char *otherwise)
{
    bool any = false, blank = true; /* the byte before is one */
    tessi_text_addf(out, "%s = ", key);
    for (const char *at = text; *at; at++) {
        const bool comment = *at == '#' && (blank || at[-1] == '=');
        blank = (unsigned char)*at <= ' ' || comment;
        any = any || !blank;
        tessi_text_addf(out, "%c", blank ? ' ' : *at);
    }
    tessi_text_addf(out, "%s\n", any ? "" : otherwise);
}

void tessi_machine_int(Text *out, const char *key, int64_t value, int64_t least, int64_t most)
{
    if (!value)
        return;
    const bool fits = value >= least && value <= most;
    tessi_text_addf(out, "%s%s = %" PRId64 "%s\n", fits ? "" : "# ", key, value,
                    fits ? "" : ", it is said, which cannot be: the usual value stands");
}

bool tessi_machine_real(Text *out, const char *key, double value, double least, double most)
{
    const bool fits = value >= least && value <= most;
    if (!(value > 0))
        return false;
    tessi_text_addf(out, "%s%s = ", fits ? "" : "# ", key);
    tessi_text_add_real(out, value, true);
    tessi_text_add(out, fits ? "\n" : ", it is said, which cannot be: the usual value stands\n");
    return fits;
}

static const double slowest = 0.02, fastest = 20;

bool tessi_machine_is_clock(double ghz)
{
    return ghz >= slowest && ghz <= fastest;
}

bool tessi_machine_clock(Text *out, double ghz)
{
    return tessi_machine_real(out, "ghz", ghz, slowest, fastest);
}
