/* SPDX-License-Identifier: MIT
 *
 * 16-bit floats as files and messages store them: IEEE half (5 bits of exponent, 10 of fraction)
 * and bfloat16, the upper half of a float.
 */
#ifndef SIS_BASE_HALF_H
#define SIS_BASE_HALF_H

#include <stdint.h>

float sis__half_to_float(uint16_t bits);
float sis__bfloat_to_float(uint16_t bits);

/* The bits of the nearest 16-bit float, ties to even; infinity if v is out of range. */
uint16_t sis__half_bits(float v);
uint16_t sis__bfloat_bits(float v);

#endif
