/* SPDX-License-Identifier: MIT
 *
 * See support_nets_rnn.h.
 */
#include "support_nets_rnn.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "support.h"

/* ---- Subjects ------------------------------------------------------------------------------ */

static int predict(void *ctx, const double *rows, size_t n, size_t width, double *margins) {
    const subject *s = (const subject *)ctx;
    float *v = (float *)malloc(n * width * sizeof *v);
    if (!v)
        return SIS_E_NOMEM;
    for (size_t i = 0; i < n * width; i++)
        v[i] = (float)rows[i];
    sis_net_batch batch = {.rows = v, .n_rows = n, .n_values = width, .embedded = s->embedded};
    int error = sis_net_margins(s->net, &batch, margins);
    free(v);
    return error;
}

static int walk_new(void *ctx, const sis_input *input, size_t memory, sis_walk **walk) {
    const subject *s = (const subject *)ctx;
    sis_net_walk_opt opt = {.embedded = s->embedded, .memory = memory};
    return sis_net_walk(s->net, input, &opt, walk);
}

void subject_init(subject *s, sis_net *net, int embedded, size_t n, double *x, double *z) {
    *s =
        (subject){.net = net, .embedded = embedded, .n_values = n, .n_features = n, .x = x, .z = z};
    assert_non_null(x);
    assert_non_null(z);
    s->n_outputs = sis_net_outputs(net);
    s->input = (sis_input){.values = x, .mask = z, .n_values = n};
    s->model = (sis_model){.size = sizeof(sis_model),
                           .predict = predict,
                           .ctx = s,
                           .n_outputs = s->n_outputs,
                           .link = sis_net_has_link(net) ? sis_net_link : NULL,
                           .walk_new = walk_new};
}

/* Renumber the used features without gaps. */
static void renumber(subject *s) {
    int *number = (int *)calloc(s->n_values + 1, sizeof *number), next = 0;
    assert_non_null(number);
    for (size_t v = 0; v < s->n_values; v++) {
        if (s->map[v] < 0)
            continue;
        int *to = &number[s->map[v]];
        if (!*to)
            *to = ++next;
        s->map[v] = *to - 1;
    }
    free(number);
    s->n_features = (size_t)next;
}

void subject_map(subject *s, sis__rng *r, maps kind, size_t width) {
    if (kind == EACH)
        return;
    size_t units = kind == STEPS ? s->n_values / width : s->n_values, per = s->n_values / units;
    size_t groups = 1 + units / (1 + sis__rng_below(r, 3));
    s->map = (int *)malloc(s->n_values * sizeof *s->map);
    assert_non_null(s->map);
    for (size_t u = 0; u < units; u++) {
        int f = kind == STEPS && sis__rng_below(r, 3) ? (int)u : (int)sis__rng_below(r, groups);
        if (u && sis__rng_below(r, 8) == 0)
            f = -1;
        for (size_t k = 0; k < per; k++)
            s->map[u * per + k] = f;
    }
    renumber(s);
    s->input.feature_of = s->map;
}

void subject_release(subject *s) {
    sis_net_free(s->net);
    free(s->x);
    free(s->z);
    free(s->map);
    *s = (subject){0};
}

double *random_doubles(sis__rng *r, size_t n, double size) {
    double *v = (double *)malloc(n * sizeof *v);
    for (size_t i = 0; v && i < n; i++)
        v[i] = size * sis__rng_normal(r);
    return v;
}

double *random_mask(sis__rng *r, const double *x, size_t n, double size) {
    double *v = random_doubles(r, n, size);
    int zero = sis__rng_below(r, 2) == 0;
    for (size_t i = 0; v && i < n; i++)
        v[i] = sis__rng_below(r, 10) == 0 ? x[i] : zero ? 0 : v[i];
    return v;
}

double full_margin(const subject *s, const unsigned char *masked, int top) {
    float *row = (float *)malloc(s->n_values * sizeof *row);
    double *margins = (double *)malloc(s->n_outputs * sizeof *margins), m;
    assert_true(row && margins);
    for (size_t v = 0; v < s->n_values; v++) {
        int f = s->map ? s->map[v] : (int)v;
        row[v] = (float)(f >= 0 && (masked[f] || f == top) ? s->z[v] : s->x[v]);
    }
    sis_net_batch batch = {
        .rows = row, .n_rows = 1, .n_values = s->n_values, .embedded = s->embedded};
    assert_int_equal(sis_net_margins(s->net, &batch, margins), SIS_OK);
    m = margins[s->input.output];
    free(row);
    free(margins);
    return m;
}

sis_walk *subject_walk(const subject *s) {
    sis_walk *w = NULL;
    int error = sis_net_walk(s->net, &s->input, &(sis_net_walk_opt){.embedded = s->embedded}, &w);
    if (error != SIS_OK)
        fail_msg("no walk: %d %s", error, sis_error_detail());
    return w;
}

/* ---- Sweeps -------------------------------------------------------------------------------- */

static void compare(const sis_walk *w, double margin, double full, deviation *d) {
    double off = fabs(margin - full), allowed = w->tolerance * (1 + fabs(margin));
    d->margins++;
    d->error = fmax(d->error, off / (1 + fabs(margin)));
    if (off > 0)
        d->worst = fmax(d->worst, allowed > 0 ? off / allowed : INFINITY);
}

static size_t choose(const subject *s, const unsigned char *masked, sis__rng *r, int all,
                     int *features) {
    size_t n = 0;
    for (size_t i = 0; i < s->n_features; i++)
        if (!masked[i] && (all || sis__rng_below(r, 3)))
            features[n++] = (int)i;
    return n;
}

static void check_probe(const subject *s, sis_walk *w, const unsigned char *masked, double now,
                        const int *features, size_t n, sis__rng *r, size_t rare, deviation *d) {
    double *margins = (double *)malloc(n * sizeof *margins);
    assert_non_null(margins);
    assert_int_equal(w->ops->probe(w, features, n, margins), SIS_OK);
    double present = NAN;
    for (size_t i = 0; i < n; i++) {
        int same = margins[i] == now && w->tolerance > 0;
        d->unchanged += same ? 1 : 0;
        if (!same && sis__rng_below(r, rare) != 0)
            continue;
        double full = full_margin(s, masked, features[i]);
        compare(w, margins[i], full, d);
        if (same && isnan(present))
            present = full_margin(s, masked, -1);
        if (same) /* a full pass must then give exactly the same margin */
            assert_true(full == present);
    }
    free(margins);
}

void check_sweep(const subject *s, sis_walk *w, sis__rng *r, size_t rare, deviation *d) {
    unsigned char *masked = (unsigned char *)calloc(s->n_features, 1);
    int *features = (int *)malloc(s->n_features * sizeof *features);
    assert_true(masked && features);
    double from = sis__rng_uniform(r), now;
    for (size_t i = 0; i < s->n_features && from > 0.3; i++)
        masked[i] = sis__rng_uniform(r) < from - 0.3;
    assert_int_equal(w->ops->reset(w, masked, &now), SIS_OK);
    compare(w, now, full_margin(s, masked, -1), d);
    for (;;) {
        size_t left = choose(s, masked, r, 1, features);
        if (left == 0)
            break;
        int next = features[sis__rng_below(r, left)];
        size_t n = choose(s, masked, r, sis__rng_below(r, 2) != 0, features);
        check_probe(s, w, masked, now, features, n, r, rare, d);
        assert_int_equal(w->ops->mask(w, next, &now), SIS_OK);
        masked[next] = 1;
        if (sis__rng_below(r, rare) == 0)
            compare(w, now, full_margin(s, masked, -1), d);
    }
    free(masked);
    free(features);
}

void check_walk(const subject *s, sis__rng *r, int sweeps, size_t rare, deviation *d) {
    sis_walk *w = subject_walk(s);
    for (int i = 0; i < sweeps; i++)
        check_sweep(s, w, r, rare, d);
    w->ops->free(w);
}

/* ---- Collections --------------------------------------------------------------------------- */

static void assert_same(const sis_collection *a, const sis_collection *b) {
    assert_int_equal(a->status, b->status);
    assert_int_equal(a->n_subsets, b->n_subsets);
    assert_true(a->score == b->score && a->masked_score == b->masked_score);
    assert_true(a->rest_score == b->rest_score);
    for (size_t k = 0; k < a->n_subsets; k++) {
        const sis_subset *p = &a->subsets[k], *q = &b->subsets[k];
        assert_int_equal(p->n, q->n);
        assert_true(p->score == q->score);
        assert_int_equal(p->trace.n, q->trace.n);
        for (size_t i = 0; i < p->n; i++)
            assert_int_equal(p->features[i], q->features[i]);
        for (size_t i = 0; i < p->trace.n; i++)
            assert_int_equal(p->trace.order[i], q->trace.order[i]);
    }
}

void check_collections(const subject *s, sis__rng *r, int n) {
    sis_opt opt;
    sis_opt_init(&opt);
    unsigned char *none = (unsigned char *)calloc(s->n_features, 1);
    assert_non_null(none);
    double whole = full_margin(s, none, -1);
    memset(none, 1, s->n_features);
    double nothing = full_margin(s, none, -1);
    free(none);
    for (size_t k = 0; k < rounds((size_t)n); k++) {
        double t = nothing + (whole - nothing) * sis__rng_uniform(r);
        opt.threshold = s->model.link ? s->model.link(t) : t;
        opt.below = whole < nothing;
        sis_collection fast, plain;
        opt.exact = 0;
        assert_int_equal(sis_collect(&s->model, &s->input, &opt, &fast), SIS_OK);
        opt.exact = 1;
        assert_int_equal(sis_collect(&s->model, &s->input, &opt, &plain), SIS_OK);
        assert_same(&fast, &plain);
        sis_collection_release(&fast);
        sis_collection_release(&plain);
    }
}

int try_walk(void *ctx) {
    const subject *s = (const subject *)ctx;
    unsigned char masked[256] = {0};
    double margin, margins[2];
    sis_walk *w;
    assert_true(s->n_features <= sizeof masked && s->n_features >= 2);
    int error = sis_net_walk(s->net, &s->input, &(sis_net_walk_opt){.embedded = s->embedded}, &w);
    if (error != SIS_OK)
        return error;
    error = w->ops->reset(w, masked, &margin);
    if (error == SIS_OK)
        error = w->ops->probe(w, (int[]){0, 1}, 2, margins);
    if (error == SIS_OK)
        error = w->ops->mask(w, 1, &margin);
    w->ops->free(w);
    return error;
}
