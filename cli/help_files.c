/* tessera help files: what each format of files stores, from the library's table. */
#include <stdio.h>
#include <string.h>

#include "cli/tables.h"

/* Types that fare alike everywhere share a column: those of tess_format.stores by number. */
static const struct {
    const char *title;
    int type;
} columns[] = {
    { "bool", 0 },      { "uint8", 2 },   { "int8", 1 },   { "uint16", 4 },  { "int16", 3 },
    { "int32..64", 5 }, { "float16", 9 }, { "float", 10 }, { "double", 11 },
};
enum { N_COLUMNS = sizeof columns / sizeof *columns };

/* "1 3", "1-4", "any" */
static void channels_text(const char *channels, char *text, size_t size)
{
    const size_t n = strlen(channels);
    if (n == 0 || channels[0] == '*')
        snprintf(text, size, "any");
    else if (n > 2)
        snprintf(text, size, "%c-%c", channels[0], channels[n - 1]);
    else
        snprintf(text, size, "%c%s%s", channels[0], n > 1 ? " " : "", channels + 1);
}

void cli_print_format_names(void)
{
    tess_format f = { .struct_size = sizeof f };
    for (size_t i = 0; tess_file_format(i, &f) == TESS_OK; i++)
        printf("%s%s", i ? ", " : "", f.name);
}

void cli_print_formats(void)
{
    tess_format f = { .struct_size = sizeof f };
    printf("%-5s", "");
    for (int c = 0; c < N_COLUMNS; c++)
        printf("%-*s", c == 5 ? 10 : 8, columns[c].title);
    printf("%-10s%-7s%s\n", "channels", "pages", "metadata");
    for (size_t i = 0; tess_file_format(i, &f) == TESS_OK; i++) {
        char channels[16];
        channels_text(f.channels, channels, sizeof channels);
        printf("%-5s", f.name);
        for (int c = 0; c < N_COLUMNS; c++)
            printf("%-*s", c == 5 ? 10 : 8, f.stores[columns[c].type]);
        printf("%-10s%-7s%s\n", channels,
               !f.stacks       ? "-"
               : f.channels[0] ? "yes"
                               : "any",
               !f.keeps[0]               ? "-"
               : strstr(f.keeps, "tags") ? "all"
                                         : "no place");
    }
    fputs("\nsame: as it is; 8, 16: unsigned integers of so many bits, rnd: reals rounded to "
          "nearest (halves to even) "
          "and\nsaturated, NaN to 0, sat: integers saturated, and what was saturated is counted "
          "and said; 0 255: black "
          "and white;\nfloat: widened; -: refused with a sentence. TIFF has bool as 1 bit. --depth "
          "and --scale change "
          "what integers there are.\nmetadata: ICC profile, EXIF, XMP, resolution; all: place on "
          "earth (GeoTIFF) and "
          "descriptions too; what is left out\nis said. docs/files.md has more.\n",
          stdout);
}
