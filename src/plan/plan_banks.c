/* Banks of shared memory. 32 words of 4 bytes stand in as many banks; threads of a warp that ask one bank for different
 * words wait for each other. Where a warp is several rows of threads, rows of a copy must begin in other banks: some
 * elements after each row, which nobody reads, see to it. */
#include "plan/plan_base.h"

enum { BANKS = 32, BANK_BYTES = 4 };

/* Words that the threads [from, to) of a block ask one bank for, beyond the first. */
static int64_t waits(const int64_t *word, int n)
{
    int64_t most = 0;
    for (int bank = 0; bank < BANKS; bank++) {
        int64_t words = 0;
        for (int i = 0; i < n; i++) {
            bool fresh = word[i] % BANKS == bank;
            for (int k = 0; k < i && fresh; k++)
                fresh = word[k] != word[i];
            words += fresh;
        }
        most = words > most ? words : most;
    }
    return most - 1;
}

int64_t tessi_plan_bank_conflicts(const uint16_t *threads, int64_t pitch, int64_t bytes)
{
    /* Elements wider than a word are read by parts of a warp, one after the other. */
    const int at_once = bytes > BANK_BYTES ? (int)(PLAN_WARP * BANK_BYTES / bytes) : PLAN_WARP;
    const int all = threads[0] * threads[1];
    int64_t conflicts = 0;
    for (int first = 0; first < all; first += at_once) {
        int64_t word[PLAN_WARP];
        int n = 0;
        for (int i = first; i < all && n < at_once; i++, n++)
            word[n] = (i / threads[0] * pitch + i % threads[0]) * bytes / BANK_BYTES;
        conflicts += waits(word, n);
    }
    return conflicts;
}

uint8_t tessi_plan_bank_pad(const uint16_t *threads, int64_t row, int64_t bytes)
{
    uint8_t best = 0;
    int64_t least = tessi_plan_bank_conflicts(threads, row, bytes);
    for (int64_t pad = 1; least && pad <= PLAN_MAX_PAD; pad++) {
        const int64_t conflicts = tessi_plan_bank_conflicts(threads, row + pad, bytes);
        if (conflicts < least)
            best = (uint8_t)pad;
        least = conflicts < least ? conflicts : least;
    }
    return best;
}
