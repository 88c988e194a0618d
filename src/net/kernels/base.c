/* SPDX-License-Identifier: MIT
 *
 * The kernels for the oldest machine: vectors of 16 bytes, which every x86-64 and ARMv8 has and
 * which a compiler turns into scalar code elsewhere.
 */
#define VBYTES 16
#define MR 6
#define KERNELS_TEXT "base"
#define KERNELS_NAME(prefix) prefix##base
#include "net/kernels/body.h"
