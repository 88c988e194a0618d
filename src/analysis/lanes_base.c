/* SPDX-License-Identifier: MIT
 *
 * Lanes for every machine.
 */
#define VBYTES 16
#define LANES_NAME sis__lanes_base
#include "analysis/lanes_body.h"
