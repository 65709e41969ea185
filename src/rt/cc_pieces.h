/* A C text as several that compilers work on at once. */
#ifndef TESSERA_RT_CC_PIECES_H
#define TESSERA_RT_CC_PIECES_H

#include <stddef.h>

enum { MOST_PIECES = 4 };

/* Into how many pieces it pays to take the text apart where so many threads compile, and their texts (from malloc, the
 * caller's); 1, and none, where it does not pay or memory is short. Each has all of the text but the bodies of large
 * functions, `static void` or `TESS_PART void` at the beginning of a line, that are in another; what comes behind the
 * last of them is in the first piece alone. Linked together they are the text. */
size_t tessi_cc_pieces(const char *text, int threads, char *pieces[MOST_PIECES]);

#endif
