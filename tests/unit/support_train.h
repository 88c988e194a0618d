/* SPDX-License-Identifier: MIT
 *
 * Something small to train every architecture on.
 */
#ifndef SIS_TEST_SUPPORT_TRAIN_H
#define SIS_TEST_SUPPORT_TRAIN_H

#include <sis/train.h>

enum { ROWS = 64 };

/* An architecture of a size that a sanitized run gets through, options, and examples. */
typedef struct {
    sis_arch arch;
    sis_train_opt opt;
    sis_examples train;
    float *rows, *targets;
} lesson;

/* n random rows with random labels: nothing to be learnt but the rows themselves. */
void lesson_make(lesson *k, const char *name, size_t n);
void lesson_release(lesson *k);

/* Train for some epochs, from the checkpoint `resume` unless it is NULL. The packed network is to
 * be freed; *loss, unless NULL, is that of the last epoch. */
void lesson_train(const lesson *k, size_t epochs, const char *resume, void **bytes, size_t *n,
                  double *loss);

#endif
