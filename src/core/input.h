/* SPDX-License-Identifier: MIT
 *
 * One input prepared for masking: the values of each feature, features that change nothing,
 * features masked from the start, and values in single precision for networks. The core, the walks
 * of networks and the other methods all start from it.
 */
#ifndef SIS_CORE_INPUT_H
#define SIS_CORE_INPUT_H

#include <sis/sis.h>

/* It owns its memory: the sis_input is no longer needed. */
typedef struct sis__prepared_input {
    size_t n, n_values;    /* features, values */
    size_t n_samples;      /* of the mask, at least 1 */
    int *feature_of;       /* (n_values) -1: never masked */
    size_t *start;         /* (n + 1) feature i owns value[start[i] .. start[i + 1]) */
    size_t *value;         /* positions in the input */
    unsigned char *same;   /* (n) its values equal its mask: masking changes nothing */
    unsigned char *absent; /* (n) masked from the start */
    float *x, *z;          /* (n_values) values and first mask; NULL unless requested */
} sis__prepared_input;

/* Check the feature map and fill `p`; `single`: x and z are needed. */
int sis__prepared_input_init(sis__prepared_input *p, const sis_input *input, int single);
void sis__prepared_input_release(sis__prepared_input *p);

/* row (n_values): x with the flagged features masked. _mask: mask one more feature of a row. */
void sis__prepared_input_row(const sis__prepared_input *p, const unsigned char *masked, float *row);
void sis__prepared_input_mask(const sis__prepared_input *p, int feature, float *row);

/* Ask the model again about what a collection claims: SIS_OK, or SIS_E_UNSTABLE if it is not
 * deterministic (again.c). Adds to the collection's evaluations. */
int sis__ask_again(const sis_model *model, const sis_input *input, const sis_opt *opt,
                   sis_collection *c);

/* Call predict. A failure always has a message and a negative code. */
int sis__model_predict(const sis_model *m, const double *rows, size_t n, size_t width,
                       double *scores);

/* SIS_E_ARGUMENT if size, predict or n_outputs is not set. */
int sis__model_check(const sis_model *model);

/* Report that an input is done. */
void sis__progress_end(const sis_opt *opt, size_t evaluations);

#endif
