/* SPDX-License-Identifier: MIT
 *
 * The body of lanes_base.c and lanes_avx2.c, which define the bytes of a register (VBYTES) and the
 * name of the functions (LANES_NAME).
 */
#include "analysis/lanes.h"

#include <string.h>

/* Myers' recurrence for one register of lanes of type `lane`, from the first to the last letter.
 * The score follows the last row: bit `length - 1`. */
#define RUN(bits, lane)                                                                            \
    typedef lane vector##bits __attribute__((vector_size(VBYTES)));                                \
    static void run##bits(const lane *masks, unsigned length, const uint8_t *text, size_t n,       \
                          lane *distances) {                                                       \
        enum { WIDTH = VBYTES / sizeof(lane) };                                                    \
        for (size_t from = 0; from < SIS__LANES; from += WIDTH) {                                  \
            vector##bits up = {0}, down = {0}, score = {0}, same, one = {0};                       \
            up = ~up;                                                                              \
            one = one - up; /* minus -1 */                                                         \
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
