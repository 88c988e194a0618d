/* SPDX-License-Identifier: MIT
 *
 * The boosted trees behind an opened model.
 */
#ifndef SIS_MODEL_FOREST_H
#define SIS_MODEL_FOREST_H

#include <sis/sis.h>

#include "trees/booster.h"

/* NULL: another kind of model. */
const sis__booster *sis__model_booster(const sis_model *model);

#endif
