/* SPDX-License-Identifier: MIT
 *
 * The kernels for AVX-512: compiled with it enabled, called only on machines that have it.
 */
#if defined(__AVX512F__)
#define VBYTES 64
#define MR 12
#define KERNELS_TEXT "avx512"
#define KERNELS_NAME(prefix) prefix##avx512
#include "net/kernels/body.h"
#else
typedef int sis__no_avx512; /* another architecture: nothing to compile */
#endif
