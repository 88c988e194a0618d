/* SPDX-License-Identifier: MIT
 *
 * The edit distances of lanes.h. lanes_base.c and lanes_avx2.c include this file after defining
 * VBYTES, the bytes of a vector register, and LANES_NAME, the variable that gets the functions.
 */
#include "analysis/lanes.h"

#include <string.h>

/* Myers' recurrence. A register holds WIDTH patterns, each in a lane of type `lane`, and reads the
 * text letter by letter. Bit i of `up` and `down`: the column of the edit distance table rises or
 * falls from row i to row i + 1. `score` is the last row, updated by bit `length - 1` of `rise` and
 * `fall`, the changes from one column to the next. */
#define RUN(bits, lane)                                                                            \
    typedef lane vector##bits __attribute__((vector_size(VBYTES)));                                \
    static void run##bits(const lane *masks, unsigned length, const uint8_t *text, size_t n,       \
                          lane *distances) {                                                       \
        enum { WIDTH = VBYTES / sizeof(lane) };                                                    \
        for (size_t from = 0; from < SIS__LANES; from += WIDTH) {                                  \
            vector##bits up = {0}, down = {0}, score = {0}, same, one = {0};                       \
            up = ~up;                                                                              \
            one = one - up; /* 0 - (-1) = 1 in every lane */                                       \
            score = score + (lane)length;                                                          \
            for (size_t i = 0; i < n; i++) {                                                       \
                memcpy(&same, masks + (size_t)text[i] * SIS__LANES + from, sizeof same);           \
                vector##bits level = (((same & up) + up) ^ up) | same;                             \
                vector##bits rise = down | ~(level | up), fall = up & level;                       \
                same |= down;                                                                      \
                score = score + ((rise >> (length - 1)) & one) - ((fall >> (length - 1)) & one);   \
                rise = (rise << 1) | one;                                                          \
                fall = fall << 1;                                                                  \
                up = fall | ~(same | rise);                                                        \
                down = rise & same;                                                                \
            }                                                                                      \
            memcpy(distances + from, &score, sizeof score);                                        \
        }                                                                                          \
    }

RUN(16, uint16_t)
RUN(32, uint32_t)
RUN(64, uint64_t)

const sis__lanes LANES_NAME = {run16, run32, run64};
