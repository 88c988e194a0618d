/* SPDX-License-Identifier: MIT
 *
 * Lanes for AVX2. Compiled with it enabled, called only where it exists.
 */
#ifdef __AVX2__
#define VBYTES 32
#else
#define VBYTES 16 /* compiled without AVX2: correct, but not faster than lanes_base.c */
#endif
#define LANES_NAME sis__lanes_avx2
#include "analysis/lanes_body.h"
