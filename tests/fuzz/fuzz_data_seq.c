/* SPDX-License-Identifier: MIT
 *
 * Any bytes as a table of sequences.
 */
#include "fuzz_data.h"

#define OPT                                                                                        \
    { 0 }
FUZZ_DATA(".seq", OPT, "FoldID\tEventID\tseq\tBound\nA\tp\tACG\t1\n")
