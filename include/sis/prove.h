/* SPDX-License-Identifier: MIT
 *
 * sis/prove.h - which part of this input is enough whatever the rest is?
 *
 * Laboratory: may change from one version to the next.
 *
 * sis_collect() finds subsets that are sufficient with everything else masked. Of boosted trees
 * (XGBoost and LightGBM files, sis/model.h) it can be decided exactly whether a subset is sufficient
 * for every value of everything else:
 *
 *     sis_prove_opt opt;
 *     sis_prove_opt_init(&opt);
 *     opt.threshold = 0.8;                        // or opt.keep_class = 1
 *     sis_proven p;
 *     if (sis_prove_subset(&model, &input, &opt, &p) == 0 && p.proved)
 *         use(p.features, p.n);                   // whatever the other features are: score >= 0.8
 *     sis_proven_release(&p);
 *
 * Laboratory: this header may change.
 */
#ifndef SIS_PROVE_H
#define SIS_PROVE_H

#include <sis/error.h>
#include <sis/sis.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct sis_prove_opt {
    double threshold; /* score of input->output >= threshold is to stay; has no default (NaN) */
    int below;        /* score <= threshold instead */
    int keep_class;   /* instead of both: the same output stays the highest */
    const double *low, *high; /* (n_values) what the others may be. Default NULL: any number */
    int missing;              /* the others may be missing, too. Default 0 */
    size_t branches;          /* give up a question after so many; default 1,000,000, 0: never */
} sis_prove_opt;

/* Every default. */
void sis_prove_opt_init(sis_prove_opt *opt);

/* A subset for which the decision stays whatever the other features are. */
typedef struct sis_proven {
    size_t n;
    int *features; /* (n) the first is the one whose value matters most by itself */
    int proved;    /* it cannot do without any of them. 0: a question was given up, so that some may
                      be more than is needed */
} sis_proven;

/* The mask of the input is not looked at. SIS_E_UNSUPPORTED: not a model of boosted trees, or a
 * threshold for one of several classes. SIS_E_ARGUMENT: the input does not have that decision. */
int sis_prove_subset(const sis_model *model, const sis_input *input, const sis_prove_opt *opt,
                     sis_proven *out);
void sis_proven_release(sis_proven *p);

/* Does the decision stay whatever is not among these n features? *holds 1: yes, proved; 0: no, and
 * `example` (n_values, may be NULL) is an input for which it does not; -1: given up. */
int sis_prove_check(const sis_model *model, const sis_input *input, const sis_prove_opt *opt,
                    const int *features, size_t n, int *holds, double *example);

#ifdef __cplusplus
}
#endif
#endif
