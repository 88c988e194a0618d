/* SPDX-License-Identifier: MIT
 *
 * The kernels for all machines except ARMv8 (neon.c): vectors of 16 bytes, which every x86-64 has.
 * On other machines the compiler turns them into scalar code.
 */
#if !defined(__aarch64__)
#define VBYTES 16
#define MR 6
#define KERNELS_TEXT "base"
#define KERNELS_NAME(prefix) prefix##base
#include "net/kernels/body.h"
#else
typedef int sis__no_base; /* nothing to compile */
#endif
