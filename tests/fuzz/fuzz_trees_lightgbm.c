/* SPDX-License-Identifier: MIT
 *
 * Any bytes as a model of LightGBM.
 */
#include "fuzz_trees.h"

FUZZ_TREES(sis__lightgbm_parse)
