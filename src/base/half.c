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

/* Subnormal numbers are multiples of 2^-24, the spacing of floats between 0.5 and 1. */
static float round_half(float v) {
    uint32_t bits = bits_of(v);
    float size = fabsf(v);
    if (size < 0x1p-14f)
        return copysignf((size + 0.5f) - 0.5f, v);
    if (size >= 65520.0f || isnan(v))
        return isnan(v) ? v : copysignf(INFINITY, v);
    return float_of((bits + 0xfffu + (bits >> 13 & 1)) & ~(uint32_t)0x1fff);
}

static float round_bfloat(float v) {
    uint32_t bits = bits_of(v);
    return isnan(v) ? v : float_of((bits + 0x7fffu + (bits >> 16 & 1)) & 0xffff0000u);
}

uint16_t sis__half_bits(float v) {
    float rounded = round_half(v), size = fabsf(rounded);
    uint32_t sign = signbit(rounded) ? 0x8000 : 0, bits = bits_of(size);
    if (isnan(v))
        return (uint16_t)(sign | 0x7e00);
    if (size < 0x1p-14f)
        return (uint16_t)(sign | (uint32_t)(size * 0x1p24f));
    return (uint16_t)(sign | (isinf(size) ? 0x7c00 : (bits >> 13) - (112u << 10)));
}

uint16_t sis__bfloat_bits(float v) {
    return (uint16_t)(bits_of(round_bfloat(v)) >> 16 | (isnan(v) ? 0x40 : 0));
}
