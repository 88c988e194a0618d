/* SPDX-License-Identifier: MIT
 *
 * See half.h.
 */
#include "base/half.h"

#include <math.h>
#include <string.h>

static uint32_t bits_of(float v) {
    uint32_t bits;
    memcpy(&bits, &v, sizeof bits);
    return bits;
}

static float float_of(uint32_t bits) {
    float v;
    memcpy(&v, &bits, sizeof v);
    return v;
}

float sis__half_to_float(uint16_t bits) {
    int exponent = (bits >> 10) & 31, fraction = bits & 1023;
    float v = exponent == 31 ? (fraction ? NAN : INFINITY)
              : exponent     ? ldexpf((float)(fraction + 1024), exponent - 25)
                             : ldexpf((float)fraction, -24);
    return bits & 0x8000 ? -v : v;
}

float sis__bfloat_to_float(uint16_t bits) {
    return float_of((uint32_t)bits << 16);
}

uint16_t sis__half_bits(float v) {
    uint32_t bits = bits_of(v), sign = bits >> 16 & 0x8000;
    float size = fabsf(v);
    if (isnan(v) || size >= 65520.0f)
        return (uint16_t)(sign | (isnan(v) ? 0x7e00 : 0x7c00));
    if (size < 0x1p-14f) /* multiples of 2^-24, the spacing of floats between 0.5 and 1 */
        return (uint16_t)(sign | (uint32_t)(((size + 0.5f) - 0.5f) * 0x1p24f));
    uint32_t rounded = bits_of(size) + 0xfffu + (bits >> 13 & 1);
    return (uint16_t)(sign | ((rounded >> 13) - (112u << 10)));
}

uint16_t sis__bfloat_bits(float v) {
    uint32_t bits = bits_of(v);
    return (uint16_t)(isnan(v) ? bits >> 16 | 0x40 : (bits + 0x7fffu + (bits >> 16 & 1)) >> 16);
}
