/* SPDX-License-Identifier: MIT
 *
 * SVMRegressor and SVMClassifier of ai.onnx.ml. Of a classifier with support vectors every pair of
 * classes votes: the sum of kernels of the vectors of both, weighted by their coefficients, plus
 * rho; probabilities are made of the pairs by the method of Wu, Lin and Weng (2004), as libsvm does,
 * and as ONNX Runtime does for two classes, too. The label is who has most votes, whatever is
 * probable; of two classes without vectors the second whenever the larger score is positive, or a half at least where
 * no coefficient is negative.
 */
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "net/ops/axes.h"
#include "net/ops/ml_scores.h"
#include "net/ops/ops.h"

typedef enum { LINEAR, POLY, RBF, SIGMOID } kernel;

typedef struct {
    size_t n, width;
    kernel kind;
    float gamma, coef0, degree;
    const float *vectors, *coefficients, *rho, *prob_a, *prob_b;
    size_t n_vectors, n_coefficients, n_rho, n_prob;
    const int64_t *per_class;
    size_t classes;
    const int64_t *labels;
    sis__post post;
    int one_class;
    int complement;   /* two scores from one: 1 less the other, not its opposite */
    int all_positive; /* no coefficient is negative */
} svm;

static void read_common(sis__cx *c, svm *p) {
    static const char *const kernels[] = {"LINEAR", "POLY", "RBF", "SIGMOID"};
    size_t n;
    sis__rows_read(c, &p->n, &p->width);
    p->kind = (kernel)sis__attr_choice(c, "kernel_type", kernels, 4);
    const float *k = sis__attr_floats(c, "kernel_params", &n);
    p->gamma = n > 0 ? k[0] : 0;
    p->coef0 = n > 1 ? k[1] : 0;
    p->degree = n > 2 ? k[2] : 0;
    p->coefficients = sis__attr_floats(c, "coefficients", &p->n_coefficients);
    p->vectors = sis__attr_floats(c, "support_vectors", &n);
    p->rho = sis__attr_floats(c, "rho", &p->n_rho);
    sis__post_read(c, &p->post);
    if (p->width == 0 || (p->vectors && n % p->width) || p->n_rho == 0 || p->n_coefficients == 0)
        sis__cx_fail(c, SIS_E_FORMAT, "support vectors that do not fit %zu columns", p->width);
    if (!c->error)
        p->n_vectors = p->vectors ? n / p->width : 0;
    if (p->n_vectors == 0)
        p->kind = LINEAR; /* whatever is said */
    c->step->flops = 2.0 * (double)p->n * (double)(p->n_vectors + 1) * (double)p->width;
}

static double kernel_of(const svm *p, const float *x, const float *v) {
    double sum = 0;
    for (size_t i = 0; i < p->width; i++) {
        double d = (double)x[i] - (double)v[i];
        sum += p->kind == RBF ? d * d : (double)x[i] * (double)v[i];
    }
    switch (p->kind) {
    case POLY:
        return pow((double)p->gamma * sum + (double)p->coef0, (double)p->degree);
    case RBF:
        return exp(-(double)p->gamma * sum);
    case SIGMOID:
        return tanh((double)p->gamma * sum + (double)p->coef0);
    default:
        return sum;
    }
}

/* Row i as floats, into scratch. */
static const float *row_of(const sis__step *s, sis__run *r, const svm *p, size_t i) {
    float *x = (float *)(void *)r->scratch;
    for (size_t k = 0; k < p->width; k++)
        x[k] = sis__row_value(s, r, i * p->width + k);
    return x;
}

/* ---- SVMRegressor ---------------------------------------------------------------------------- */

static int svm_regressor_shape(sis__cx *c) {
    svm *p = (svm *)sis__cx_own(c, sizeof *p);
    if (c->error)
        return c->error;
    read_common(c, p);
    p->one_class = sis__attr_int(c, "one_class", 0) != 0;
    sis__attr_find(c, "n_supports");
    if (p->n_vectors ? p->n_coefficients != p->n_vectors : p->n_coefficients != p->width)
        sis__cx_fail(c, SIS_E_FORMAT, "%zu coefficients for %zu vectors", p->n_coefficients,
                     p->n_vectors);
    c->step->scratch = p->width * sizeof(float) + 64;
    sis__cx_output(c, 0, SIS__F32, 2, (size_t[]){p->n, 1});
    sis__cx_elem(c, 0, SIS__FLOAT);
    return c->error;
}

static int svm_regressor_forward(const sis__step *s, sis__run *r) {
    const svm *p = (const svm *)s->p.own;
    for (size_t i = 0; i < p->n; i++) {
        const float *x = row_of(s, r, p, i);
        double sum = p->n_vectors ? 0 : kernel_of(p, x, p->coefficients);
        for (size_t v = 0; v < p->n_vectors; v++)
            sum += (double)p->coefficients[v] * kernel_of(p, x, p->vectors + v * p->width);
        sum += (double)p->rho[0];
        float *y = sis__out(s, r, 0) + i;
        *y = p->one_class ? (sum > 0 ? 1.0f : -1.0f)
                          : (float)sum; /* as ONNX Runtime: no post_transform */
    }
    return SIS_OK;
}

const sis__op sis__op_svm_regressor = {
    1, 1, svm_regressor_shape, svm_regressor_forward, sis__no_gradient, 0, SIS__MIXES};

/* ---- SVMClassifier --------------------------------------------------------------------------- */

static size_t pairs_of(const svm *p) {
    return p->classes * (p->classes - 1) / 2;
}

/* Of a single score, as ONNX Runtime has it, no softmax is taken, nor a sigmoid unless there are two classes. */
static void read_alone(sis__cx *c, svm *p, size_t scores) {
    int softmax = p->post == SIS__POST_SOFTMAX || p->post == SIS__POST_SOFTMAX_ZERO;
    if (scores > 1)
        return;
    p->complement = softmax;
    if (softmax || (p->classes == 1 && p->post == SIS__POST_LOGISTIC))
        p->post = SIS__POST_NONE;
    if (p->classes == 2 && p->post == SIS__POST_PROBIT)
        sis__cx_fail(c, SIS_E_UNSUPPORTED, "a probit of one score for 2 classes");
}

static int svm_classifier_shape(sis__cx *c) {
    svm *p = (svm *)sis__cx_own(c, sizeof *p);
    sis__dtype type = SIS__I64;
    size_t n, a, b;
    if (c->error)
        return c->error;
    read_common(c, p);
    sis__labels_read(c, &p->classes, &p->labels, &type);
    p->per_class = sis__attr_ints(c, "vectors_per_class", &n);
    p->prob_a = sis__attr_floats(c, "prob_a", &a);
    p->prob_b = sis__attr_floats(c, "prob_b", &b);
    p->n_prob = a;
    p->all_positive = 1;
    for (size_t i = 0; i < p->n_coefficients; i++)
        p->all_positive &= p->coefficients[i] >= 0;
    size_t total = 0;
    for (size_t i = 0; i < n; i++)
        total += p->per_class[i] > 0 ? (size_t)p->per_class[i] : 0;
    int fits = p->n_vectors ? n == p->classes && total == p->n_vectors && p->n_rho >= pairs_of(p) &&
                                  p->n_coefficients == (p->classes - 1) * p->n_vectors && a == b &&
                                  (a == 0 || a >= pairs_of(p)) && p->classes > 1
                            : p->n_coefficients == p->classes * p->width && a == 0;
    if (!fits)
        sis__cx_fail(c, SIS_E_FORMAT, "coefficients that do not fit %zu classes", p->classes);
    if (!c->error && p->classes > 4096)
        sis__cx_fail(c, SIS_E_UNSUPPORTED, "%zu classes", p->classes);
    size_t scores = p->n_vectors && !p->prob_a ? pairs_of(p) : p->classes;
    size_t wide = p->n_vectors && !p->prob_a && p->classes == 2 ? 2 : scores;
    read_alone(c, p, scores);
    c->step->scratch =
        (p->width + 16) * sizeof(float) +
        (p->n_vectors + pairs_of(p) + 4 * p->classes + p->classes * p->classes) * sizeof(double) +
        128;
    sis__cx_output(c, 0, type, 1, &p->n);
    sis__cx_elem(c, 0, type == SIS__TEXT ? SIS__STRING : SIS__INT64);
    sis__cx_output(c, 1, SIS__F32, 2, (size_t[]){p->n, wide});
    sis__cx_elem(c, 1, SIS__FLOAT);
    return c->error;
}

/* What each pair of classes says; votes counts who wins. */
static void decide_pairs(const svm *p, const double *k, double *pairs, double *votes) {
    size_t start[2], at = 0;
    memset(votes, 0, p->classes * sizeof *votes);
    start[0] = 0;
    for (size_t i = 0; i < p->classes; i++) {
        size_t ni = (size_t)p->per_class[i];
        start[1] = start[0] + ni;
        for (size_t j = i + 1; j < p->classes; j++, at++) {
            size_t nj = (size_t)p->per_class[j];
            const float *ci = p->coefficients + (j - 1) * p->n_vectors;
            const float *cj = p->coefficients + i * p->n_vectors;
            double sum = (double)p->rho[at];
            for (size_t v = start[0]; v < start[0] + ni; v++)
                sum += (double)ci[v] * k[v];
            for (size_t v = start[1]; v < start[1] + nj; v++)
                sum += (double)cj[v] * k[v];
            pairs[at] = sum;
            votes[sum > 0 ? i : j] += 1;
            start[1] += nj;
        }
        start[0] += ni;
    }
}

/* Probabilities of classes from those of pairs, r (classes, classes). */
static void couple(size_t n, const double *r, double *q, double *out) {
    for (size_t i = 0; i < n; i++)
        out[i] = 1.0 / (double)n;
    for (int round = 0; round < 100; round++) {
        double sum = 0, worst = 0;
        for (size_t i = 0; i < n; i++) {
            q[i] = 0;
            for (size_t j = 0; j < n; j++)
                if (j != i)
                    q[i] +=
                        r[j * n + i] * r[j * n + i] * out[i] - r[j * n + i] * r[i * n + j] * out[j];
            sum += out[i] * q[i];
        }
        for (size_t i = 0; i < n; i++)
            worst = fmax(worst, fabs(q[i] - sum));
        if (worst < 0.005 / (double)n)
            return;
        for (size_t t = 0; t < n; t++) {
            double diagonal = 0;
            for (size_t j = 0; j < n; j++)
                diagonal += j == t ? 0 : r[j * n + t] * r[j * n + t];
            double change = (sum - q[t]) / diagonal;
            out[t] += change;
            sum = (sum + change * (change * diagonal + 2 * q[t])) / (1 + change) / (1 + change);
            for (size_t j = 0; j < n; j++) {
                double qtj = j == t ? diagonal : -r[j * n + t] * r[t * n + j];
                q[j] = (q[j] + change * qtj) / (1 + change);
                out[j] /= 1 + change;
            }
        }
    }
}

static double bounded(double v) {
    return v < 1e-7 ? 1e-7 : v > 1 - 1e-7 ? 1 - 1e-7 : v;
}

static void pair_probabilities(const svm *p, const double *pairs, double *r) {
    for (size_t i = 0, at = 0; i < p->classes; i++)
        for (size_t j = i + 1; j < p->classes; j++, at++) {
            double v = pairs[at] * (double)p->prob_a[at] + (double)p->prob_b[at];
            double one = bounded(1 / (1 + exp(v)));
            r[i * p->classes + j] = one;
            r[j * p->classes + i] = 1 - one;
        }
}

static size_t largest(const double *v, size_t n) {
    size_t best = 0;
    for (size_t i = 1; i < n; i++)
        best = v[i] > v[best] ? i : best;
    return best;
}

/* Scores of one row and the class it is given. */
static size_t classify(const svm *p, const float *x, double *memory, float *y) {
    size_t n = p->classes;
    double *k = memory, *pairs = k + p->n_vectors, *votes = pairs + pairs_of(p);
    double *out = votes + n, *q = out + n, *r = q + n;
    if (!p->n_vectors) {
        for (size_t i = 0; i < n; i++)
            out[i] = kernel_of(p, x, p->coefficients + i * p->width) + (double)p->rho[0];
        for (size_t i = 0; i < n; i++)
            y[i] = (float)out[i];
        size_t best = largest(out, n);
        int second = p->all_positive ? out[best] >= 0.5 : out[best] > 0;
        return n == 2 && second ? 1 : best;
    }
    for (size_t v = 0; v < p->n_vectors; v++)
        k[v] = kernel_of(p, x, p->vectors + v * p->width);
    decide_pairs(p, k, pairs, votes);
    if (!p->prob_a) {
        for (size_t i = 0; i < pairs_of(p); i++)
            y[i] = (float)pairs[i];
        if (n == 2) {
            y[1] = (float)pairs[0];
            y[0] = p->complement ? 1 - y[1] : -y[1];
        }
        return largest(votes, n);
    }
    pair_probabilities(p, pairs, r);
    couple(n, r, q, out);
    for (size_t i = 0; i < n; i++)
        y[i] = (float)out[i];
    return largest(votes, n);
}

static int svm_classifier_forward(const sis__step *s, sis__run *r) {
    const svm *p = (const svm *)s->p.own;
    size_t floats = (p->width * sizeof(float) + 63) / 64 * 64;
    size_t wide = p->n_vectors && !p->prob_a ? (p->classes == 2 ? 2 : pairs_of(p)) : p->classes;
    double *memory = (double *)(void *)(r->scratch + floats);
    float spare[8192];
    for (size_t i = 0; i < p->n; i++) {
        const float *x = row_of(s, r, p, i);
        float *scores = sis__out(s, r, 1) ? sis__out(s, r, 1) + i * wide : NULL;
        if (!scores && wide > sizeof spare / sizeof *spare)
            return sis__fail(SIS_E_UNSUPPORTED, "labels without scores of so many classes");
        size_t best = classify(p, x, memory, scores ? scores : spare);
        if (scores)
            sis__post_apply(p->post, scores, wide);
        if (sis__out(s, r, 0))
            ((int64_t *)(void *)sis__out(s, r, 0))[i] = p->labels[best];
    }
    return SIS_OK;
}

const sis__op sis__op_svm_classifier = {
    1, 1, svm_classifier_shape, svm_classifier_forward, sis__no_gradient, 0, SIS__MIXES};
