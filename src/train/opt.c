/* SPDX-License-Identifier: MIT
 *
 * Training options, losses with their gradients, optimizers. Losses start from z, the values before
 * the last activation: the cross-entropies of softmax and sigmoid are then differences that do not
 * overflow, with gradient score - target. Optimizers compute what Keras computes, in single
 * precision.
 */
#include <math.h>
#include <string.h>

#include "train/train.h"

/* ---- Options --------------------------------------------------------------------------------- */

void sis_train_opt_use(sis_train_opt *o, sis_optimizer optimizer) {
    o->optimizer = optimizer;
    o->rate = optimizer == SIS_SGD ? 0.01 : optimizer == SIS_ADAM ? 0.001 : 1.0;
    o->momentum = optimizer == SIS_SGD ? 0.9 : optimizer == SIS_ADAM ? 0.9 : 0.95;
    o->beta2 = 0.999;
    o->epsilon = 1e-7;
}

void sis_train_opt_init(sis_train_opt *o, const sis_arch *arch) {
    int text = arch->words > 0, table = arch->standardize, mnist = arch->outputs == 10 && !table;
    *o = (sis_train_opt){.seed = 1};
    sis_train_opt_use(o, text || table ? SIS_ADAM : SIS_ADADELTA);
    o->loss = arch->plain_output || text ? SIS_LOSS_MSE
              : arch->outputs > 1        ? SIS_LOSS_CROSS_ENTROPY
                                         : SIS_LOSS_BINARY;
    if (text && arch->outputs > 1 && !arch->plain_output)
        o->loss = SIS_LOSS_CROSS_ENTROPY;
    o->batch = table ? 32 : 128;
    o->epochs = table ? 50 : mnist ? 12 : 10;
    o->patience = table ? 5 : 3;
}

const char *sis_train_opt_check(const sis_train_opt *o) {
    if (!(o->rate > 0 && o->rate <= 1e6))
        return "the learning rate must be above 0 and at most a million";
    if (!(o->momentum >= 0 && o->momentum < 1) || !(o->beta2 >= 0 && o->beta2 < 1))
        return "momentum, rho and betas lie between 0 and 1";
    if (!(o->epsilon > 0))
        return "epsilon must be above 0";
    if (o->batch < 1 || o->batch > 65536)
        return "a batch has 1 to 65536 rows";
    if (o->epochs < 1 || o->epochs > 1000000)
        return "there must be 1 to 1000000 epochs";
    return NULL;
}

/* ---- Losses ---------------------------------------------------------------------------------- */

/* log of the sum of exp(z_j) */
static double log_sum(const float *z, size_t n) {
    double top = z[0], sum = 0;
    for (size_t j = 1; j < n; j++)
        top = z[j] > top ? z[j] : top;
    for (size_t j = 0; j < n; j++)
        sum += exp(z[j] - top);
    return top + log(sum);
}

void sis__scores(const sis__row_loss *r, double *scores) {
    double all = r->n > 1 && !r->plain ? log_sum(r->z, r->n) : 0;
    for (size_t j = 0; j < r->n; j++)
        scores[j] = r->plain ? r->z[j] : r->n > 1 ? exp(r->z[j] - all) : sis_net_link(r->z[j]);
}

static double cross_entropy(const sis__row_loss *r, double scale, float *dz) {
    size_t c = (size_t)r->target[0];
    double all = log_sum(r->z, r->n);
    for (size_t j = 0; dz && j < r->n; j++)
        dz[j] = (float)(scale * (exp(r->z[j] - all) - (j == c)));
    return all - r->z[c];
}

/* max(z, 0) - z t + log(1 + exp(-|z|)), summed over outputs */
static double binary(const sis__row_loss *r, double scale, float *dz) {
    double loss = 0;
    for (size_t j = 0; j < r->n; j++) {
        double z = r->z[j], t = r->target[j];
        loss += (z > 0 ? z : 0) - z * t + log1p(exp(-fabs(z)));
        if (dz)
            dz[j] = (float)(scale * (sis_net_link(z) - t) / (double)r->n);
    }
    return loss / (double)r->n;
}

/* Mean squared error over outputs. Through a softmax, output i changes every score: by s_j (i==j -
 * s_i). */
static double squares(const sis__row_loss *r, double scale, float *dz) {
    double loss = 0, n = (double)r->n, all = r->n > 1 && !r->plain ? log_sum(r->z, r->n) : 0;
    double mixed = 0;
    for (int pass = 0; pass < 2; pass++)
        for (size_t j = 0; j < r->n; j++) {
            double s = r->plain ? r->z[j] : r->n > 1 ? exp(r->z[j] - all) : sis_net_link(r->z[j]);
            double off = s - r->target[j], d = 2 * off / n;
            if (pass == 0) {
                loss += off * off / n;
                mixed += d * s;
            } else if (dz) {
                double slope = r->plain ? d : r->n > 1 ? s * (d - mixed) : d * s * (1 - s);
                dz[j] = (float)(scale * slope);
            }
        }
    return loss;
}

double sis__loss(const sis__row_loss *r, double scale, float *dz) {
    return r->loss == SIS_LOSS_CROSS_ENTROPY ? cross_entropy(r, scale, dz)
           : r->loss == SIS_LOSS_BINARY      ? binary(r, scale, dz)
                                             : squares(r, scale, dz);
}

/* ---- Optimisers ------------------------------------------------------------------------------ */

size_t sis__optimizer_slots(const sis_train_opt *opt) {
    return opt->optimizer == SIS_SGD ? 1 : 2;
}

/* v = momentum v - rate d; w += v */
static void sgd(const sis__update *u) {
    float rate = (float)u->opt->rate, momentum = (float)u->opt->momentum;
    float *restrict w = u->w, *restrict v = u->slots[0];
    const float *restrict d = u->d;
    for (size_t i = 0; i < u->n; i++) {
        v[i] = momentum * v[i] - rate * d[i];
        w[i] += v[i];
    }
}

/* Running means of d and d^2; the rate corrects their bias in the first steps. */
static void adam(const sis__update *u) {
    const sis_train_opt *o = u->opt;
    double b1 = o->momentum, b2 = o->beta2, t = (double)u->step;
    float rate = (float)(o->rate * sqrt(1 - pow(b2, t)) / (1 - pow(b1, t)));
    float k1 = (float)b1, k2 = (float)b2, g1 = (float)(1 - b1), g2 = (float)(1 - b2);
    float epsilon = (float)o->epsilon;
    float *restrict w = u->w, *restrict m = u->slots[0], *restrict v = u->slots[1];
    const float *restrict d = u->d;
    for (size_t i = 0; i < u->n; i++) {
        m[i] = k1 * m[i] + g1 * d[i];
        v[i] = k2 * v[i] + g2 * d[i] * d[i];
        w[i] -= rate * m[i] / (sqrtf(v[i]) + epsilon);
    }
}

/* The step is scaled by the ratio of recent steps to recent gradients. */
static void adadelta(const sis__update *u) {
    float rate = (float)u->opt->rate, rho = (float)u->opt->momentum, rest = 1 - rho;
    float epsilon = (float)u->opt->epsilon;
    float *restrict w = u->w, *restrict a = u->slots[0], *restrict s = u->slots[1];
    const float *restrict d = u->d;
    for (size_t i = 0; i < u->n; i++) {
        a[i] = rho * a[i] + rest * d[i] * d[i];
        float move = d[i] * sqrtf(s[i] + epsilon) / sqrtf(a[i] + epsilon);
        w[i] -= rate * move;
        s[i] = rho * s[i] + rest * move * move;
    }
}

void sis__optimizer_update(const sis__update *u) {
    if (u->opt->optimizer == SIS_SGD)
        sgd(u);
    else if (u->opt->optimizer == SIS_ADAM)
        adam(u);
    else
        adadelta(u);
}
