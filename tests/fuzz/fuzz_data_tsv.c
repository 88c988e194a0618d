/* SPDX-License-Identifier: MIT
 *
 * Any bytes as a table with tabs, or as texts behind their labels.
 */
#include "fuzz_data.h"

#define OPT                                                                                        \
    { 0 }
FUZZ_DATA(".tsv", OPT, "a\ttext\n1\tgood \"one\"\n2\t\"bad\"\n")
