/* SPDX-License-Identifier: MIT
 *
 * Which candidates can be the best, without computing them.
 *
 * Where the prefix ends in a dense layer and the head is one more, a candidate's row is
 * relu(sums + its own change), sums being the same for all. Between two probes the sums move by d;
 * unless a candidate's own change was brought up to date, each value of its row moves by somewhere
 * between 0 and d. Its margin, z_c - log(sum of exp(z_k)), then grows by at most
 *
 *     max over k of the sum over u of the positive part of (w_cu - w_ku) * d_u
 *
 * (w_cu * d_u where it is z_c itself, which no softmax follows), which is added up from probe to probe. A candidate that could not have come up to the best of
 * those that were computed is not computed.
 *
 * Margins are rounded when they are learnt and would be now: a value of the row once, then `width`
 * steps of a sum in single precision. With no value of a row above `largest` and weights that add
 * up to at most `reach` for two outputs, that is allowed for by (width + 4) 2^-23 of reach *
 * largest.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "net/plan/forward.h"
#include "net/window/window.h"

struct sis__bound {
    size_t width, n_slopes, n_features;
    float *slopes; /* (width, n_slopes) how the margin may follow values of the row */
    float *steps;  /* (n_slopes) */
    double *sums;  /* (width) at the last probe */
    int wants;     /* the direction the rest is about; 0: nothing is known */
    double grown;  /* by how much any margin may have grown, added up */
    double reach; /* sizes of the weights of two outputs, added up, at most; and of what is added */
    double largest; /* no value of a row is above that */
    double
        *known; /* (n_features) wants * margin - grown when it was computed; INFINITY: it was not */
};

void sis__bound_free(sis__bound *b) {
    if (b) {
        free(b->slopes);
        free(b->steps);
        free(b->sums);
        free(b->known);
    }
    free(b);
}

/* Weight of value u for output k of a dense layer. */
static float weight_of(const sis__gemm *g, size_t u, size_t k) {
    size_t nr = sis__kernels_best()->nr;
    return g->packed[(k / nr * g->k + u) * nr + k % nr];
}

/* Sizes of the weights of an output, added up, and of what is added to it. */
static double size_of(const sis__gemm *g, const float *bias, size_t k) {
    double sum = bias ? fabs((double)g->beta * (double)bias[k * g->c_col]) : 0;
    for (size_t u = 0; u < g->k; u++)
        sum += fabs((double)weight_of(g, u, k));
    return sum;
}

static void find_slopes(sis__bound *b, const sis__gemm *g, const float *bias, size_t output,
                        int softmax) {
    float *to = b->slopes;
    for (size_t k = 0; k < g->n; k++)
        b->reach = fmax(b->reach, size_of(g, bias, output) + size_of(g, bias, k));
    for (size_t u = 0; u < b->width; u++)
        for (size_t k = 0; k < g->n; k++)
            if ((k == output) != softmax)
                *to++ = weight_of(g, u, output) - (softmax ? weight_of(g, u, k) : 0.0f);
}

int sis__bound_new(const sis__prefix *f, const sis__head *head, sis__bound **out) {
    const float *bias;
    const sis__gemm *g = sis__head_gemm(head, &bias);
    const sis__keep_point *s = &f->points[f->n_points - 1];
    const sis_net *net = f->s->net;
    int softmax = net->final == SIS__FINAL_SOFTMAX || net->final == SIS__FINAL_LOG_SOFTMAX;
    *out = NULL;
    if (!g || s->kind != SIS__KEEP_DENSE || !s->cut.relu || s->cut.width != f->row ||
        g->k != f->row || (g->n == 1 && softmax))
        return SIS_OK;
    sis__bound *b = SIS_NEW(sis__bound, 1);
    if (!b)
        return SIS_E_NOMEM;
    *b = (sis__bound){.width = g->k, .n_slopes = softmax ? g->n - 1 : 1};
    b->n_features = f->s->in.n;
    b->slopes = (float *)sis__alloc_raw(b->n_slopes, b->width * sizeof *b->slopes);
    b->steps = SIS_NEW(float, b->n_slopes);
    b->sums = SIS_NEW(double, b->width);
    b->known = SIS_NEW(double, b->n_features);
    if (!b->slopes || !b->steps || !b->sums || !b->known) {
        sis__bound_free(b);
        return SIS_E_NOMEM;
    }
    find_slopes(b, g, bias, f->s->output, softmax);
    *out = b;
    return SIS_OK;
}

void sis__bound_reset(sis__bound *b) {
    b->wants = 0;
}

void sis__bound_forget(sis__bound *b, size_t j) {
    b->known[j] = INFINITY;
}

/* The most that a margin can grow when the sums become these. */
static double growth(const sis__bound *b, const double *sums) {
    size_t n = b->n_slopes;
    float most = 0, *restrict grow = b->steps;
    memset(grow, 0, n * sizeof *grow);
    for (size_t u = 0; u < b->width; u++) {
        const float *slope = b->slopes + u * n, step = (float)(b->wants * (sums[u] - b->sums[u]));
        for (size_t k = 0; step != 0 && k < n; k++)
            grow[k] += slope[k] * step > 0 ? slope[k] * step : 0;
    }
    for (size_t k = 0; k < n; k++)
        most = grow[k] > most ? grow[k] : most;
    return (double)most * (1 + (double)(b->width + 4) * 0x1p-23);
}

/* Nothing is known, in another direction. */
static void begin(sis__bound *b, int wants) {
    b->wants = wants;
    b->grown = 0;
    b->largest = 1;
    for (size_t j = 0; j < b->n_features; j++)
        b->known[j] = INFINITY;
}

void sis__bound_follow(sis__bound *b, const double *sums, int wants) {
    double step = 0;
    if (b->wants != wants)
        begin(b, wants);
    else
        b->grown += growth(b, sums);
    for (size_t u = 0; u < b->width; u++) {
        step = fmax(step, fabs(sums[u] - b->sums[u]));
        b->sums[u] = sums[u];
    }
    b->largest += step;
}

void sis__bound_see(sis__bound *b, float largest) {
    b->largest = (double)largest < b->largest ? b->largest : (double)largest;
}

void sis__bound_learn(sis__bound *b, size_t j, double margin) {
    b->known[j] = b->wants * margin - b->grown;
}

double sis__bound_of(const sis__bound *b, size_t j) {
    double most = b->known[j] + b->grown;
    return most + (double)(b->width + 4) * 0x1p-23 * b->reach * b->largest +
           0x1p-40 * (1 + fabs(most) + b->grown);
}
