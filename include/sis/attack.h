/* SPDX-License-Identifier: MIT
 *
 * sis/attack.h - inputs changed as little as possible so that a network decides otherwise.
 *
 * Experimental: may change from one version to the next.
 *
 *     sis_attack_opt opt;  sis_attack_opt_init(&opt);  opt.confidence = 10;
 *     size_t target = 4;
 *     sis_attack_result r;
 *     if (sis_attack(net, image, 1, &target, &opt, &r) == 0 && r.reached)
 *         use(r.values, r.distance);
 *     sis_attack_result_release(&r);
 *
 * Carlini and Wagner's targeted L2 attack (2017). It looks for the x' in the box [low, high] that
 * minimises
 *
 *     |x' - x|^2 + c * max(max over i != t of z_i - z_t, -confidence)
 *
 * where z are the values in front of the softmax, t the target: by Adam on w with x' = tanh(w)
 * mapped to the box, and a binary search for the smallest constant c that leads to the target.
 */
#ifndef SIS_ATTACK_H
#define SIS_ATTACK_H

#include <stddef.h>

#include <sis/error.h>
#include <sis/net.h>
#include <sis/sis.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct sis_attack_opt {
    double confidence; /* required lead of the target's z; default 0 */
    double low, high;  /* the box; default 0 and 1 */
    double rate;       /* learning rate of Adam; default 0.05 */
    double constant;   /* the first c; default 1 */
    size_t searches;   /* number of values of c to try; default 6 */
    size_t steps;      /* maximum steps of Adam for each; default 300 */
    int jobs;          /* threads; default 1, 0: one per core */
    int (*progress)(void *ctx, const sis_progress *p); /* at most 20 times a second and at the end;
                                                          nonzero cancels */
    void *progress_ctx;
} sis_attack_opt;

/* Sets the defaults. */
void sis_attack_opt_init(sis_attack_opt *opt);

/* NULL, or why these options are invalid. */
const char *sis_attack_opt_check(const sis_attack_opt *opt);

typedef struct sis_attack_result {
    int reached; /* the target leads by the confidence */
    float
        *values; /* (n_values) the changed input; the input itself if the target was not reached */
    double distance; /* |x' - x|, the root of the sum of squares */
    double lead; /* z_t minus the largest other z: log-odds of the target against the runner-up */
    double constant; /* the c that reached the target */
} sis_attack_result;

void sis_attack_result_release(sis_attack_result *r);

/* Attack n rows (n, sis_net_values), each towards its target. out (n); on failure nothing needs to
 * be released. A network of one output has the targets 1 (high) and 0 (low). */
int sis_attack(const sis_net *net, const double *rows, size_t n, const size_t *targets,
               const sis_attack_opt *opt, sis_attack_result *out);

#ifdef __cplusplus
}
#endif
#endif
