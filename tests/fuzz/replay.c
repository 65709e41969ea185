/* Runs a fuzz target on the files given. */
#include <string.h>

#include "fuzz.h"

int main(int argc, char **argv)
{
    static uint8_t bytes[1 << 22];
    for (int i = 1; i < argc; i++) {
        FILE *f = fopen(argv[i], "rb");
        if (!f) {
            fprintf(stderr, "cannot read %s\n", argv[i]);
            return 1;
        }
        size_t n = fread(bytes, 1, sizeof bytes, f);
        fclose(f);
        uint8_t *exact = malloc(n ? n : 1); /* so that a sanitizer sees a read past the end */
        if (!exact)
            return 1;
        memcpy(exact, bytes, n);
        LLVMFuzzerTestOneInput(exact, n);
        free(exact);
    }
    return 0;
}
