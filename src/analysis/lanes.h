/* SPDX-License-Identifier: MIT
 *
 * Edit distances of one text to many patterns at once, in vector registers.
 *
 * A column of the edit distance table changes by -1, 0 or 1 from row to row, so it takes two bits
 * per row, and Myers' recurrence (in Hyyro's form) computes the next column in a dozen word
 * operations. Each lane of a vector register holds the column of another pattern: LANES patterns of
 * the same length, of up to 16, 32 or 64 letters, advance together over the same text.
 */
#ifndef SIS_ANALYSIS_LANES_H
#define SIS_ANALYSIS_LANES_H

#include <stddef.h>
#include <stdint.h>

enum { SIS__LANES = 32 };

/* masks (letters, LANES): bit i of masks[c][k] is set where letter i of pattern k is c. Patterns
 * have `length` letters, at least 1 and at most the bits of a lane. -> distances (LANES) */
typedef struct sis__lanes {
    void (*run16)(const uint16_t *masks, unsigned length, const uint8_t *text, size_t n,
                  uint16_t *distances);
    void (*run32)(const uint32_t *masks, unsigned length, const uint8_t *text, size_t n,
                  uint32_t *distances);
    void (*run64)(const uint64_t *masks, unsigned length, const uint8_t *text, size_t n,
                  uint64_t *distances);
} sis__lanes;

/* The fastest for this machine. */
const sis__lanes *sis__lanes_best(void);

/* All that run on this machine, ended by NULL: for tests. */
const sis__lanes *const *sis__lanes_all(void);

#endif
