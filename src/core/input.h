/* SPDX-License-Identifier: MIT
 *
 * One input made ready for masking: which values make up each feature, which features change
 * nothing, which are masked from the start, and values in single precision for networks. The core,
 * the walks of networks and the other methods start from the same one.
 */
#ifndef SIS_CORE_INPUT_H
#define SIS_CORE_INPUT_H

#include <sis/sis.h>

/* Everything in it is its own: the sis_input is not needed any more. */
typedef struct sis__prepared_input {
    size_t n, n_values;    /* features, values */
    size_t n_samples;      /* of the mask, at least 1 */
    int *feature_of;       /* (n_values) -1: never masked */
    size_t *start;         /* (n + 1) feature i owns value[start[i] .. start[i + 1]) */
    size_t *value;         /* positions in the input */
    unsigned char *same;   /* (n) its values equal its mask: masking changes nothing */
    unsigned char *absent; /* (n) masked from the start */
    float *x, *z;          /* (n_values) values and first mask; NULL unless wanted */
} sis__prepared_input;

/* Check the feature map and fill it; `single`: x and z are wanted. */
int sis__prepared_input_init(sis__prepared_input *p, const sis_input *input, int single);
void sis__prepared_input_release(sis__prepared_input *p);

/* x with these features (flags) masked: row (n_values). And one more feature of a row masked. */
void sis__prepared_input_row(const sis__prepared_input *p, const unsigned char *masked, float *row);
void sis__prepared_input_mask(const sis__prepared_input *p, int feature, float *row);

/* Ask the model again about what a collection claims: SIS_OK, or SIS_E_UNSTABLE if it is no function of its
 * input (again.c). Adds to the collection's evaluations. */
int sis__ask_again(const sis_model *model, const sis_input *input, const sis_opt *opt,
                   sis_collection *c);

/* Call predict; a failure always has a message and a negative code. */
int sis__model_predict(const sis_model *m, const double *rows, size_t n, size_t width,
                       double *scores);

/* SIS_E_ARGUMENT if its size is not set, or predict or n_outputs. */
int sis__model_check(const sis_model *model);

/* Tell the caller that an input is done. */
void sis__progress_end(const sis_opt *opt, size_t evaluations);

#endif
