/* The product of matrices that a warp of a GPU takes in one instruction: rows of bytes times columns of signed bytes,
 * added to sums of 32 bits. There are 8 rows, one behind the other, and 8 others; a row is 8 words of four bytes, the
 * first in the low bits; so is a column. Sum 2 r + c of the thread of lane t is of row t / 4 of the first 8, or with
 * r = 1 of the others, and of column t % 4 * 2 + c. All threads of a warp name the same rows and columns. */
#ifndef TESSERA_BASE_PRODUCT_H
#define TESSERA_BASE_PRODUCT_H

/* Sums of a thread, columns, bytes of each row and of each column, and the words that these are. */
enum {
    PRODUCT_SUMS = 4,
    PRODUCT_COLUMNS = 8,
    PRODUCT_BYTES = 32,
    PRODUCT_WORDS = PRODUCT_BYTES / 4
};

#endif
