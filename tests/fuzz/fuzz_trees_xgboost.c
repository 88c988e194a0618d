/* SPDX-License-Identifier: MIT
 *
 * Any bytes as a model of XGBoost, JSON or UBJSON.
 */
#include "fuzz_trees.h"

FUZZ_TREES(sis__xgboost_parse)
