/* SPDX-License-Identifier: MIT
 *
 * Any bytes as FASTA.
 */
#include "fuzz_data.h"

#define OPT                                                                                        \
    { 0 }
FUZZ_DATA(".fa", OPT, ">one x\nACgtN\nAA\n>two\nG\n")
