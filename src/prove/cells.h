/* SPDX-License-Identifier: MIT
 *
 * The cells of each column, and the tests of a forest as sets of cells. See trees.h.
 */
#ifndef SIS_PROVE_CELLS_H
#define SIS_PROVE_CELLS_H

#include "trees/forest.h"

/* The cells of one column: intervals of numbers in order, then the missing value. */
typedef struct sis__column_cells {
    size_t n, words;    /* number of cells, including the missing value; 64 per word */
    double *low, *high; /* (n - 1) smallest and largest number of each */
    int category;       /* its numbers are categories: trees test membership in sets */
} sis__column_cells;

/* A test of the trees: the cells of its column that pass. */
typedef struct sis__test {
    uint32_t column;
    const uint64_t *passed; /* (words of the column) */
} sis__test;

typedef struct sis__cells {
    size_t width;
    sis__column_cells *columns; /* (width) */
    sis__test *tests;
    size_t n_tests;
    uint32_t *test_of;  /* (nodes) test of each split; equal tests have the same number */
    uint64_t **blocks;  /* (width) memory for the sets of each column's tests */
    size_t *first_word; /* (width + 1) offset of each column's set in a state */
} sis__cells;

int sis__cells_init(sis__cells *c, const sis__forest *f);
void sis__cells_release(sis__cells *c);

/* The cell of a value. */
size_t sis__cells_find(const sis__cells *c, size_t column, double x);

/* Is a cell in a set? */
static inline int sis__cells_has(const uint64_t *set, size_t cell) {
    return set[cell / 64] >> (cell % 64) & 1;
}

#endif
