/* SPDX-License-Identifier: MIT
 *
 * Rows of several examples in one call of a model that costs much for each call and little for each
 * row.
 */
#ifndef SIS_PYTHON_GATHER_H
#define SIS_PYTHON_GATHER_H

#include <sis/sis.h>

/* As sis_find_many, with `together` examples under way at once, of as many values as each other. Each
 * has a thread; predict is called by the thread of the caller alone, with the rows that all of them
 * wait for, max_rows at most. find, done and progress are called by the other threads. */
int gather_find_many(const sis_model *model, const sis_input *inputs, size_t n, const sis_opt *opt,
                     const sis_finder *finder, int together);

#endif
