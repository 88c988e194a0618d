/* SPDX-License-Identifier: MIT
 *
 * Any bytes as an IDX file, packed or not.
 */
#include "fuzz_data.h"

#define OPT                                                                                        \
    { 0 }
FUZZ_DATA("-ubyte", OPT, "\0\0\10\3\0\0\0\1\0\0\0\2\0\0\0\2abcd")
