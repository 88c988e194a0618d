/* SPDX-License-Identifier: MIT
 *
 * Numbers in bytes, as DynamicQuantizeLinear makes them: what others need of it.
 */
#ifndef SIS_NET_OPS_QUANT_H
#define SIS_NET_OPS_QUANT_H

#include <stddef.h>

/* x as it is after being made 8-bit integers, by the smallest and largest of all n, and floats again. */
void sis__bytes_round(const float *x, size_t n, float *y);

/* MatMul of integers: the step becomes one of MatMulInteger without zero points. */
int sis__matmul_whole_shape(sis__cx *c);

#endif
