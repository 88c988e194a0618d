/* SPDX-License-Identifier: MIT
 *
 * Making sequences, for operators whose results are some.
 */
#ifndef SIS_NET_OPS_SEQUENCE_H
#define SIS_NET_OPS_SEQUENCE_H

#include "net/plan/context.h"

/* Room for n items; NULL: the error says why. Set them from the first to the last. */
sis__items *sis__items_new(sis__cx *c, size_t n);
void sis__items_set(sis__items *items, size_t i, size_t rank, const size_t *dims);

/* Output i is this sequence. */
int sis__items_give(sis__cx *c, size_t i, const sis__items *items, sis__dtype type, int elem);

#endif
