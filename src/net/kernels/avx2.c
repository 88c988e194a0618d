/* SPDX-License-Identifier: MIT
 *
 * The kernels for AVX2 with FMA: compiled with both enabled, called only on machines that have
 * them.
 */
#if defined(__AVX2__) && defined(__FMA__)
#define VBYTES 32
#define MR 6
#define KERNELS_TEXT "avx2"
#define KERNELS_NAME(prefix) prefix##avx2
#include "net/kernels/body.h"
#else
typedef int sis__no_avx2; /* another architecture: nothing to compile */
#endif
