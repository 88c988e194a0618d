/* SPDX-License-Identifier: MIT
 *
 * One input as every rule sees it, and the table of rules. The walk that is handed out wraps the
 * rule's: it owns the subject, and passes the three verbs on.
 */
#include "net/walk.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "net/cache.h"

static const sis__rule_new rules[] = {
    sis__walk_trees_new,
    sis__walk_recurrent_new,
    sis__walk_dense_new,
    sis__walk_window_new,
};

typedef struct {
    sis_walk walk;
    sis__subject subject;
    sis_walk *rule;
} net_walk;

/* ---- Subject ------------------------------------------------------------------------------- */

static void subject_release(sis__subject *s) {
    free(s->start);
    free(s->value);
    free(s->x);
    free(s->z);
}

/* Values by feature: a counting sort. The core has checked the map. */
static void index_features(sis__subject *s) {
    const int *map = s->input->feature_of;
    for (size_t v = 0; v < s->n_values; v++)
        if (!map || map[v] >= 0)
            s->start[(map ? (size_t)map[v] : v) + 1]++;
    for (size_t i = 0; i < s->n_features; i++)
        s->start[i + 1] += s->start[i];
    size_t total = s->start[s->n_features];
    for (size_t v = s->n_values; v-- > 0;)
        if (!map || map[v] >= 0)
            s->value[--s->start[(map ? (size_t)map[v] : v) + 1]] = v;
    for (size_t i = 0; i < s->n_features; i++)
        s->start[i] = s->start[i + 1];
    s->start[s->n_features] = total;
}

static int subject_init(sis__subject *s, const sis_net *net, const sis_input *input, int embedded) {
    long n = sis_input_features(input);
    if (n < 0)
        return (int)n;
    *s = (sis__subject){.net = net,
                        .input = input,
                        .fed = embedded ? net->embedded : net->input,
                        .n_values = input->n_values,
                        .n_features = (size_t)n,
                        .output = input->output,
                        .memory = (size_t)1 << 30};
    s->start = SIS_NEW(size_t, s->n_features + 1);
    s->value = SIS_NEW(size_t, s->n_values);
    s->x = SIS_NEW_RAW(float, s->n_values);
    s->z = SIS_NEW_RAW(float, s->n_values);
    if (!s->start || !s->value || !s->x || !s->z) {
        subject_release(s);
        return SIS_E_NOMEM;
    }
    index_features(s);
    for (size_t v = 0; v < s->n_values; v++) {
        s->x[v] = (float)input->values[v];
        s->z[v] = (float)input->mask[v];
    }
    return SIS_OK;
}

int sis__subject_plan(const sis__subject *s, int output, sis__plan **plan) {
    sis__geometry *g;
    int error = sis__cache_geometry(s->net, s->fed == s->net->embedded, s->n_values, &g);
    if (error != SIS_OK)
        return error;
    sis__feed feed = {.value = s->fed, .rank = g->rank + (size_t)g->counted};
    feed.dims[0] = 1;
    memcpy(feed.dims + g->counted, g->dims, g->rank * sizeof *g->dims);
    int last = output < 0 ? s->net->pre_output : output;
    sis__plan_spec spec = {
        .feeds = &feed, .n_feeds = 1, .outputs = &last, .n_outputs = 1, .batch = 1, .keep_all = 1};
    sis__cache_done(s->net, g);
    return sis__plan_new(s->net, &spec, plan);
}

/* ---- The walk ------------------------------------------------------------------------------ */

static int walk_reset(sis_walk *w, const unsigned char *masked, double *margin) {
    sis_walk *rule = ((net_walk *)w)->rule;
    int error = rule->ops->reset(rule, masked, margin);
    w->evaluations++;
    w->tolerance = rule->tolerance;
    return error;
}

static int walk_probe(sis_walk *w, const int *features, size_t n, double *margins) {
    sis_walk *rule = ((net_walk *)w)->rule;
    int error = rule->ops->probe(rule, features, n, margins);
    w->evaluations += n;
    w->tolerance = rule->tolerance; /* may depend on the state */
    return error;
}

static int walk_mask(sis_walk *w, int feature, double *margin) {
    sis_walk *rule = ((net_walk *)w)->rule;
    int error = rule->ops->mask(rule, feature, margin);
    w->tolerance = rule->tolerance;
    return error;
}

static void walk_free(sis_walk *w) {
    net_walk *n = (net_walk *)w;
    if (n->rule)
        n->rule->ops->free(n->rule);
    subject_release(&n->subject);
    free(n);
}

int sis_net_walk(const sis_net *net, const sis_input *input, int embedded, sis_walk **out) {
    static const sis_walk_ops ops = {walk_reset, walk_probe, walk_mask, walk_free};
    *out = NULL;
    net_walk *w = SIS_NEW(net_walk, 1);
    if (!w)
        return SIS_E_NOMEM;
    w->walk.ops = &ops;
    int error = subject_init(&w->subject, net, input, embedded);
    if (error != SIS_OK) {
        free(w);
        return error;
    }
    error = SIS_E_UNSUPPORTED;
    for (size_t i = 0; error == SIS_E_UNSUPPORTED && i < sizeof rules / sizeof *rules; i++)
        error = rules[i](&w->subject, &w->rule);
    if (error != SIS_OK) {
        w->rule = NULL;
        walk_free(&w->walk);
        return error;
    }
    w->walk.tolerance = w->rule->tolerance;
    *out = &w->walk;
    return SIS_OK;
}
