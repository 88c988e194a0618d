/* SPDX-License-Identifier: MIT
 *
 * The kernels for ARMv8, which always has NEON: vectors of 16 bytes as in base.c, but 32 registers
 * and therefore tiles as high as those of AVX-512.
 */
#if defined(__aarch64__)
#define VBYTES 16
#define MR 12
#define KERNELS_TEXT "neon"
#define KERNELS_NAME(prefix) prefix##neon
#include "net/kernels/body.h"
#else
typedef int sis__no_neon; /* another architecture: nothing to compile */
#endif
