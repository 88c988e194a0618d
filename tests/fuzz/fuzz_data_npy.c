/* SPDX-License-Identifier: MIT
 *
 * Any bytes as a NumPy array.
 */
#include "fuzz_data.h"

#define OPT                                                                                        \
    { 0 }
FUZZ_DATA(".npy", OPT,
          "\223NUMPY\1\0\106\0{'descr': '<f4', 'fortran_order': False, 'shape': (1, 2), }        \n"
          "abcdefgh")
