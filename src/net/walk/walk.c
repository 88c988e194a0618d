/* SPDX-License-Identifier: MIT
 *
 * One input as every rule sees it, and the table of rules. The walk that is handed out wraps the
 * rule's: it owns the subject, passes the three verbs on, and the rule's tolerance, which may
 * change from one to the next.
 */
#include "net/walk/walk.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "net/plan/cache.h"

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
    unsigned char *masked; /* (n_features) */
} net_walk;

/* ---- Subject ------------------------------------------------------------------------------- */

static void subject_release(sis__subject *s) {
    free(s->start);
    free(s->value);
    free(s->x);
    free(s->z);
    free(s->notes);
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

static int subject_init(sis__subject *s, const sis_net *net, const sis_input *input,
                        const sis_net_walk_opt *opt) {
    int embedded = opt && opt->embedded;
    if (embedded && net->embedding < 0)
        return sis__fail(SIS_E_ARGUMENT, "the model has no embeddings to start from");
    if (input->n_samples > 1)
        return sis__fail(SIS_E_UNSUPPORTED, "walks take one mask sample, not %zu",
                         input->n_samples);
    long n = sis_input_features(input);
    if (n < 0)
        return (int)n;
    *s = (sis__subject){.net = net,
                        .input = input,
                        .embedded = embedded,
                        .fed = embedded ? net->embedded : net->input,
                        .n_values = input->n_values,
                        .n_features = (size_t)n,
                        .output = input->output,
                        .memory = opt && opt->memory ? opt->memory : (size_t)1 << 30};
    s->start = SIS_NEW(size_t, s->n_features + 1);
    s->value = SIS_NEW(size_t, s->n_values);
    s->x = SIS_NEW_RAW(float, s->n_values);
    s->z = SIS_NEW_RAW(float, s->n_values);
    s->notes = SIS_NEW(sis__note, net->graph.n_nodes);
    if (!s->start || !s->value || !s->x || !s->z || !s->notes) {
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

void sis__subject_row(const sis__subject *s, const unsigned char *masked, int top, float *row) {
    memcpy(row, s->x, s->n_values * sizeof *row);
    for (size_t j = 0; j < s->n_features; j++)
        for (size_t k = s->start[j]; (masked[j] || (int)j == top) && k < s->start[j + 1]; k++)
            row[s->value[k]] = s->z[s->value[k]];
}

int sis__subject_margins(const sis__subject *s, const unsigned char *masked, const int *tops,
                         size_t n, double *margins) {
    size_t outputs = 0;
    float *rows = (float *)sis__alloc_raw(n, s->n_values * sizeof *rows);
    sis_net_batch b = {
        .rows = rows, .n_rows = n, .n_values = s->n_values, .embedded = s->embedded, .jobs = 1};
    int error = rows ? sis_net_batch_outputs(s->net, &b, &outputs) : SIS_E_NOMEM;
    double *all = error == SIS_OK ? (double *)sis__alloc_raw(n, outputs * sizeof *all) : NULL;
    if (error == SIS_OK && !all)
        error = SIS_E_NOMEM;
    for (size_t i = 0; error == SIS_OK && i < n; i++)
        sis__subject_row(s, masked, tops[i], rows + i * s->n_values);
    if (error == SIS_OK)
        error = sis_net_margins(s->net, &b, all);
    for (size_t i = 0; error == SIS_OK && i < n; i++)
        margins[i] = all[i * outputs + s->output];
    free(rows);
    free(all);
    return error;
}

int sis__subject_plan(const sis__subject *s, int output, sis__plan **plan) {
    sis__geometry *g;
    int error = sis__cache_geometry(s->net, s->embedded, s->n_values, &g);
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

void sis__subject_note(const sis__subject *s, const sis__step *step, const char *format, ...) {
    va_list args;
    if (!s->notes)
        return;
    sis__note *note = &s->notes[step->node];
    va_start(args, format);
    vsnprintf(note->text, sizeof note->text, format, args);
    va_end(args);
}

/* ---- The walk ------------------------------------------------------------------------------ */

/* A rule that works with differences may get NaN from numbers that are large but sound; then a full
 * pass has the last word. */
static int check_nan(const net_walk *n, int top, double *margin) {
    if (!isnan(*margin))
        return SIS_OK;
    int error = sis__subject_margins(&n->subject, n->masked, &top, 1, margin);
    if (error == SIS_OK && isnan(*margin))
        error = sis__fail(SIS_E_NAN, "the network answered NaN for output %zu", n->subject.output);
    return error;
}

static int walk_reset(sis_walk *w, const unsigned char *masked, double *margin) {
    net_walk *n = (net_walk *)w;
    memcpy(n->masked, masked, n->subject.n_features);
    int error = n->rule->ops->reset(n->rule, masked, margin);
    w->evaluations++;
    w->tolerance = n->rule->tolerance;
    return error == SIS_OK ? check_nan(n, -1, margin) : error;
}

static int walk_probe(sis_walk *w, const int *features, size_t n, double *margins) {
    net_walk *own = (net_walk *)w;
    own->rule->wants = w->wants;
    int error = own->rule->ops->probe(own->rule, features, n, margins);
    w->evaluations += n;
    w->tolerance = own->rule->tolerance;
    for (size_t k = 0; error == SIS_OK && k < n; k++)
        error = check_nan(own, features[k], &margins[k]);
    return error;
}

static int walk_mask(sis_walk *w, int feature, double *margin) {
    net_walk *n = (net_walk *)w;
    int error = n->rule->ops->mask(n->rule, feature, margin);
    n->masked[feature] = 1;
    w->tolerance = n->rule->tolerance;
    return error == SIS_OK ? check_nan(n, -1, margin) : error;
}

static void walk_free(sis_walk *w) {
    net_walk *n = (net_walk *)w;
    if (n->rule)
        n->rule->ops->free(n->rule);
    subject_release(&n->subject);
    free(n->masked);
    free(n);
}

static const sis_walk_ops ops = {walk_reset, walk_probe, walk_mask, walk_free};

const sis__note *sis__walk_notes(const sis_walk *w, const sis_net *net) {
    while (w && w->ops != &ops)
        w = w->inner;
    const net_walk *n = (const net_walk *)w;
    return n && n->subject.net == net ? n->subject.notes : NULL;
}

int sis_net_walk(const sis_net *net, const sis_input *input, const sis_net_walk_opt *opt,
                 sis_walk **out) {
    *out = NULL;
    net_walk *w = SIS_NEW(net_walk, 1);
    if (!w)
        return SIS_E_NOMEM;
    w->walk.ops = &ops;
    int error = subject_init(&w->subject, net, input, opt);
    if (error != SIS_OK) {
        free(w);
        return error;
    }
    w->masked = SIS_NEW(unsigned char, w->subject.n_features);
    error = w->masked ? SIS_E_UNSUPPORTED : SIS_E_NOMEM;
    for (size_t i = 0; error == SIS_E_UNSUPPORTED && i < sizeof rules / sizeof *rules; i++) {
        memset(w->subject.notes, 0, net->graph.n_nodes * sizeof *w->subject.notes);
        error = rules[i](&w->subject, &w->rule);
    }
    if (error != SIS_OK) {
        w->rule = NULL;
        walk_free(&w->walk);
        return error;
    }
    w->walk.tolerance = w->rule->tolerance;
    *out = &w->walk;
    return SIS_OK;
}
