/* SPDX-License-Identifier: MIT
 *
 * See spread.h.
 */
#include "spread.h"

const cli_spread *cli_spread_now;
