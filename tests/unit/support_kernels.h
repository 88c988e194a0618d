/* SPDX-License-Identifier: MIT
 *
 * Every kernel as plain scalar loops: what the fast ones are compared with, and the reference for what is meant.
 */
#ifndef SUPPORT_KERNELS_H
#define SUPPORT_KERNELS_H

#include "net/kernels/kernels.h"

extern const sis__kernels naive_kernels;

#endif
