/* SPDX-License-Identifier: MIT
 *
 * Any bytes as JSON Lines.
 */
#include "fuzz_data.h"

#define OPT                                                                                        \
    { 0 }
FUZZ_DATA(".jsonl", OPT,
          "{\"words\":[\"a\",\"B\"],\"id\":1,\"label\":0.5,\"human\":[1]}\n{\"words\":[\"c\"]}\n")
