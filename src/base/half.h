/* SPDX-License-Identifier: MIT
 *
 * Floats of 16 bits as they lie in files and messages: IEEE's half (5 bits of exponent, 10 of fraction)
 * and bfloat16, the upper half of a float.
 */
#ifndef SIS_BASE_HALF_H
#define SIS_BASE_HALF_H

#include <stdint.h>

float sis__half_to_float(uint16_t bits);
float sis__bfloat_to_float(uint16_t bits);

/* The bits of the nearest one, ties to even; beyond the range infinity. */
uint16_t sis__half_bits(float v);
uint16_t sis__bfloat_bits(float v);

#endif
