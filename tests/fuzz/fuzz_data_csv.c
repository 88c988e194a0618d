/* SPDX-License-Identifier: MIT
 *
 * Any bytes as a table with categories and a label.
 */
#include "fuzz_data.h"

#define OPT                                                                                        \
    { .label = "c", .categorical = 1 }
FUZZ_DATA(".csv", OPT, "a,b,c\n1,x,p\n2,\"y\"\"\",q\n")
