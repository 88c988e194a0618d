/* SPDX-License-Identifier: MIT
 *
 * Walks over LSTM and GRU layers equal full passes to the bit.
 */
#include "support.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "net/ops/ops.h"
#include "net/walk/walk.h"
#include "support_net.h"
#include "support_nets_rnn.h"

/* ---- Random networks ----------------------------------------------------------------------- */

typedef enum { TURNED, BATCH_FIRST, TIME_FIRST, TOKENS, N_LAYOUTS } layout;
typedef enum { LAST_H, LAST_C, GATHER_LAST, SLICE_LAST, MEAN, FLAT, N_ENDS } ending;

typedef struct {
    size_t length, dim, layers, hidden[3];
    int gru[3], linear_before_reset, no_bias;
    int initial; /* initial states: 1 constant, 2 zeros for as many rows as the input has */
    const char *direction;
    layout layout;
    ending end;
    double size;     /* of the weights */
    size_t words;    /* of a token model */
    int outputs;     /* 1: sigmoid, else softmax */
    int64_t lengths; /* sequence_lens; 0: none */
    int last_both;   /* the last layer is bidirectional */
    int twice;       /* LAST_H, and all time steps too */
    int joined; /* LAST_H: last states of all layers or directions, concatenated and selected */
} shape;

static int both(const shape *s) {
    return strcmp(s->direction, "bidirectional") == 0;
}

static void random_shape(sis__rng *r, shape *s) {
    static const char *const directions[] = {"forward", "forward", "reverse", "bidirectional"};
    *s = (shape){.length = 1 + sis__rng_below(r, 24),
                 .dim = 1 + sis__rng_below(r, 6),
                 .layers = 1 + sis__rng_below(r, 3),
                 .linear_before_reset = (int)sis__rng_below(r, 2),
                 .no_bias = sis__rng_below(r, 4) == 0,
                 .initial = (int)sis__rng_below(r, 6) - 3,
                 .direction = directions[sis__rng_below(r, 4)],
                 .layout = (layout)sis__rng_below(r, N_LAYOUTS),
                 .end = (ending)sis__rng_below(r, N_ENDS),
                 .size = sis__rng_below(r, 3) ? 0.5 : 0.02,
                 .words = 9,
                 .outputs = 1 + (int)sis__rng_below(r, 3)};
    s->initial = s->initial > 0 ? s->initial : 0;
    if (both(s) && sis__rng_below(r, 2))
        s->layers = 1;
    for (size_t k = 0; k < s->layers; k++) {
        s->hidden[k] = 1 + sis__rng_below(r, 20);
        s->gru[k] = (int)sis__rng_below(r, 2);
    }
    if (s->end == LAST_C && s->gru[s->layers - 1])
        s->end = LAST_H;
    s->joined = s->end == LAST_H && s->layout != BATCH_FIRST && sis__rng_below(r, 2);
    int alike = s->joined || (both(s) && sis__rng_below(r, 3)); /* as most networks have it */
    for (size_t k = 0; alike && k < s->layers; k++)
        s->hidden[k] = s->hidden[0];
}

static sis_net_builder *builder;

static void ints(const char *name, int64_t v) {
    sis_net_add_ints(builder, name, SHAPE(1), &v);
}

/* Adds the input and its embedding for the first layer. */
static const char *add_input(const shape *s, sis__rng *r) {
    if (s->layout == TOKENS) {
        sis_net_add_input(builder, "x", 1, SHAPE(0, s->length));
        add_random(builder, "embedding", SHAPE(s->words, s->dim), r, 1);
        sis_net_add_node(builder, "Gather", "embedding x", "embedded");
    } else if (s->layout == TIME_FIRST) {
        sis_net_add_input(builder, "embedded", 0, SHAPE(s->length, 1, s->dim));
        return "embedded";
    } else {
        sis_net_add_input(builder, "embedded", 0, SHAPE(0, s->length, s->dim));
    }
    if (s->layout == BATCH_FIRST)
        return "embedded";
    sis_net_add_node(builder, "Transpose", "embedded", "turned");
    sis_net_attr_ints(builder, "perm", (int64_t[]){1, 0, 2}, 3);
    return "turned";
}

/* Zeros, `d` times n for each row of the input. */
static void add_zeros(const shape *s, size_t k, size_t d, size_t n, char name[8]) {
    char here[32], dims[96];
    int rows = s->layout == TIME_FIRST;
    snprintf(here, sizeof here, "axis%d ways%d units%d", (int)k, (int)k, (int)k);
    for (int i = 0; i < 3; i++) {
        char one[16];
        snprintf(one, sizeof one, "%s%d", i == 0 ? "axis" : i == 1 ? "ways" : "units", (int)k);
        ints(one, i == 0 ? rows : i == 1 ? (int64_t)d : (int64_t)n);
    }
    snprintf(dims, sizeof dims, "shape%d", (int)k);
    sis_net_add_node(builder, "Shape", "embedded", dims);
    snprintf(dims, sizeof dims, "shape%d axis%d", (int)k, (int)k);
    snprintf(here, sizeof here, "count%d", (int)k);
    sis_net_add_node(builder, "Gather", dims, here);
    snprintf(dims, sizeof dims,
             s->layout == BATCH_FIRST ? "count%d ways%d units%d" : "ways%d count%d units%d", (int)k,
             (int)k, (int)k);
    snprintf(here, sizeof here, "dims%d", (int)k);
    sis_net_add_node(builder, "Concat", dims, here);
    sis_net_attr_int(builder, "axis", 0);
    snprintf(name, 8, "z%d", (int)k);
    sis_net_add_node(builder, "ConstantOfShape", here, name);
}

/* Layer k reads `from`; its outputs are y, h and c. */
static void add_layer(const shape *s, size_t k, const char *from, sis__rng *r) {
    size_t in = k ? s->hidden[k - 1] * (both(s) ? 2 : 1) : s->dim;
    size_t n = s->hidden[k], g = s->gru[k] ? 3 : 4;
    int last = k + 1 == s->layers, ways = both(s) || (s->last_both && last);
    size_t d = ways ? 2 : 1;
    char w[8], rec[8], b[8], h0[8], names[96], outputs[64];
    snprintf(w, sizeof w, "w%d", (int)k);
    snprintf(rec, sizeof rec, "r%d", (int)k);
    snprintf(b, sizeof b, "b%d", (int)k);
    snprintf(h0, sizeof h0, "h%d", (int)k);
    add_random(builder, w, SHAPE(d, g * n, in), r, s->size);
    add_random(builder, rec, SHAPE(d, g * n, n), r, s->size);
    add_random(builder, b, SHAPE(d, 2 * g * n), r, s->size);
    if (s->initial == 2)
        add_zeros(s, k, d, n, h0);
    else
        add_random(builder, h0, s->layout == BATCH_FIRST ? SHAPE(1, d, n) : SHAPE(d, 1, n), r, 0.5);
    snprintf(names, sizeof names, "%s %s %s %s %s %s", from, w, rec, s->no_bias ? "-" : b,
             s->lengths ? "lengths" : "-", s->initial ? h0 : "-");
    snprintf(outputs, sizeof outputs, "%s %s%s", last && s->end <= LAST_C && !s->twice ? "-" : "y",
             last && s->end == LAST_H ? "h" : "-", last && s->end == LAST_C ? " c" : "");
    if (!last)
        snprintf(outputs, sizeof outputs, s->joined ? "y%d last%d" : "y%d", (int)k, (int)k);
    sis_net_add_node(builder, s->gru[k] ? "GRU" : "LSTM", names, outputs);
    sis_net_attr_int(builder, "hidden_size", (int64_t)n);
    sis_net_attr_text(builder, "direction", ways ? "bidirectional" : s->direction);
    if (s->gru[k])
        sis_net_attr_int(builder, "linear_before_reset", s->linear_before_reset);
    if (s->layout == BATCH_FIRST)
        sis_net_attr_int(builder, "layout", 1);
}

/* Output y of a layer as input of the next one. */
static void add_between(const shape *s, size_t k, char *name, size_t size) {
    char from[16], squeezed[16], turned[16];
    snprintf(from, sizeof from, "y%d squeeze", (int)k);
    snprintf(squeezed, sizeof squeezed, "s%d", (int)k);
    snprintf(turned, sizeof turned, "t%d", (int)k);
    if (both(s)) { /* side by side */
        snprintf(from, sizeof from, "y%d", (int)k);
        if (s->layout != BATCH_FIRST) {
            sis_net_add_node(builder, "Transpose", from, turned);
            sis_net_attr_ints(builder, "perm", (int64_t[]){0, 2, 1, 3}, 4);
        }
        snprintf(from, sizeof from, "%s%d beside", s->layout != BATCH_FIRST ? "t" : "y", (int)k);
        sis_net_add_node(builder, "Reshape", from, squeezed);
        snprintf(name, size, "%s", squeezed);
        return;
    }
    sis_net_add_node(builder, "Squeeze", from, squeezed); /* the axis of directions */
    snprintf(name, size, "%s", squeezed);
    if (k == 0 && s->layout == TURNED) { /* transposed and back, as some exporters do */
        sis_net_add_node(builder, "Transpose", squeezed, "there");
        sis_net_attr_ints(builder, "perm", (int64_t[]){1, 0, 2}, 3);
        sis_net_add_node(builder, "Dropout", "there", "dropped");
        sis_net_add_node(builder, "Transpose", "dropped", turned);
        sis_net_attr_ints(builder, "perm", (int64_t[]){1, 0, 2}, 3);
        snprintf(name, size, "%s", turned);
    }
}

/* The last states of all layers concatenated, and the last of them; those of both directions
 * split and put side by side. */
static const char *add_joined(const shape *s) {
    static const char *const all[] = {"h", "last0 h", "last0 last1 h"};
    ints("zero", 0);
    if (both(s)) {
        sis_net_add_node(builder, "Gather", "h zero", "there_h");
        sis_net_add_node(builder, "Gather", "h minus", "back_h");
        sis_net_add_node(builder, "Concat", "there_h back_h", "joined");
        sis_net_attr_int(builder, "axis", 2);
        return "joined";
    }
    sis_net_add_node(builder, "Concat", all[s->layers - 1], "joined");
    sis_net_attr_int(builder, "axis", 0);
    sis_net_add_node(builder, "Gather", "joined minus", "picked");
    return "picked";
}

/* From the last layer's output to (rows, features); returns the number of features. */
static size_t add_end(const shape *s) {
    size_t d = both(s) || s->last_both ? 2 : 1, n = d * s->hidden[s->layers - 1];
    int batch_first = s->layout == BATCH_FIRST;
    const char *state = s->end == LAST_C ? "c" : "h";
    ints("minus", -1);
    if (s->joined)
        state = add_joined(s);
    if (s->end <= LAST_C) { /* (directions, batch, hidden) or (batch, directions, hidden) */
        if (!batch_first) {
            sis_net_add_node(builder, "Transpose", state, "batched");
            sis_net_attr_ints(builder, "perm", (int64_t[]){1, 0, 2}, 3);
            state = "batched";
        }
        sis_net_add_node(builder, "Flatten", state, "flat");
        return n;
    }
    /* (time, directions, batch, hidden) or (batch, time, directions, hidden) */
    const char *y = "y";
    if (!batch_first) {
        sis_net_add_node(builder, "Transpose", "y", "batched");
        sis_net_attr_ints(builder, "perm", (int64_t[]){2, 0, 1, 3}, 4);
        y = "batched";
    }
    if (s->end == GATHER_LAST) {
        sis_net_add_node(builder, "Gather", batch_first ? "y minus" : "batched minus", "last");
        sis_net_attr_int(builder, "axis", 1);
        sis_net_add_node(builder, "Flatten", "last", "flat");
        return n;
    }
    if (s->end == SLICE_LAST) {
        ints("end", INT64_MAX);
        ints("one", 1);
        sis_net_add_node(builder, "Slice",
                         batch_first ? "y minus end one" : "batched minus end one", "last");
        sis_net_add_node(builder, "Flatten", "last", "flat");
        return n;
    }
    if (s->end == MEAN) {
        sis_net_add_node(builder, "ReduceMean", y, "mean");
        sis_net_attr_ints(builder, "axes", (int64_t[]){1}, 1);
        sis_net_add_node(builder, "Flatten", "mean", "flat");
        return n;
    }
    sis_net_add_node(builder, "Flatten", y, "flat");
    return n * s->length;
}

static sis_net *build(const shape *s, sis__rng *r) {
    char from[32];
    builder = sis_net_builder_new("recurrent");
    snprintf(from, sizeof from, "%s", add_input(s, r));
    ints("squeeze", s->layout == BATCH_FIRST ? 2 : 1);
    ints("lengths", s->lengths);
    sis_net_add_ints(builder, "beside", SHAPE(3), (int64_t[]){0, 0, -1});
    for (size_t k = 0; k < s->layers; k++) {
        add_layer(s, k, from, r);
        if (k + 1 < s->layers)
            add_between(s, k, from, sizeof from);
    }
    size_t n = add_end(s), out = (size_t)s->outputs;
    add_random(builder, "wd", SHAPE(n, out), r, 1);
    add_random(builder, "bd", SHAPE(out), r, 0.1);
    if (s->twice) {
        sis_net_add_node(builder, "ReduceMean", "y", "mean");
        sis_net_attr_ints(builder, "axes", (int64_t[]){0, 1}, 2);
        sis_net_attr_int(builder, "keepdims", 0);
        sis_net_add_node(builder, "Add", "flat mean", "both");
    }
    sis_net_add_node(builder, "Gemm", s->twice ? "both wd bd" : "flat wd bd", "z");
    sis_net_add_node(builder, s->outputs == 1 ? "Sigmoid" : "Softmax", "z", "p");
    sis_net_add_output(builder, "p");
    sis_net *net;
    if (sis_net_build(builder, &net) != SIS_OK)
        fail_msg("%s", sis_error_detail());
    return net;
}

/* x and mask of token ids. */
static double *random_tokens(sis__rng *r, size_t n, size_t words) {
    double *v = (double *)malloc(n * sizeof *v);
    for (size_t i = 0; v && i < n; i++)
        v[i] = (double)sis__rng_below(r, words);
    return v;
}

static void subject_of(const shape *s, sis__rng *r, subject *to) {
    int tokens = s->layout == TOKENS, embedded = tokens && sis__rng_below(r, 2) == 0;
    size_t n = tokens && !embedded ? s->length : s->length * s->dim;
    double *x = tokens && !embedded ? random_tokens(r, n, s->words) : random_doubles(r, n, 1);
    double *z = tokens && !embedded ? random_tokens(r, n, s->words) : random_mask(r, x, n, 0.5);
    subject_init(to, build(s, r), embedded, n, x, z);
    int whole = tokens && !embedded ? 1 : (int)sis__rng_below(r, 2); /* or values by themselves */
    subject_map(to, r, STEPS, whole && !(tokens && !embedded) ? s->dim : 1);
    to->input.output = sis__rng_below(r, to->n_outputs);
}

/* ---- Tests --------------------------------------------------------------------------------- */

/* A walk by this rule only, with this much memory. */
static int rule_walk_new(sis_walk **w, const subject *s, size_t memory) {
    sis_net_walk_opt opt = {.embedded = s->embedded, .memory = memory};
    return sis__walk_by(&sis__rule_recurrent, s->net, &s->input, &opt, w);
}

static void rule_walk_free(sis_walk *w) {
    if (w)
        w->ops->free(w);
}

static void margins_are_full_passes_to_the_bit(void **state) {
    (void)state;
    sis__rng r;
    sis__rng_init(&r, 1);
    deviation d = {0};
    for (size_t k = 0; k < rounds(600); k++) {
        shape p;
        subject s;
        sis_walk *w;
        random_shape(&r, &p);
        subject_of(&p, &r, &s);
        int error = rule_walk_new(&w, &s, 1 << 24);
        for (int i = 0; i < 2 && error == SIS_OK; i++)
            check_sweep(&s, w, &r, 2, &d);
        if (error != SIS_OK || d.worst != 0)
            fail_msg("case %zu: %zu layers, %s, layout %d, end %d: %d", k, p.layers, p.direction,
                     (int)p.layout, (int)p.end, error);
        rule_walk_free(w);
        subject_release(&s);
    }
    print_message("%zu margins\n", d.margins);
    assert_true(d.margins > rounds(20000));
}

static void collections_are_those_of_full_passes(void **state) {
    (void)state;
    sis__rng r;
    sis__rng_init(&r, 2);
    for (size_t k = 0; k < rounds(100); k++) {
        shape p;
        subject s;
        random_shape(&r, &p);
        subject_of(&p, &r, &s);
        check_collections(&s, &r, 2);
        subject_release(&s);
    }
}

static void less_memory_gives_the_same_margins(void **state) {
    (void)state;
    sis__rng r;
    sis__rng_init(&r, 3);
    deviation d = {0};
    int made = 0, refused = 0;
    int step = rounds(40) < 40 ? 7 : 1; /* 7 is coprime to the kinds below */
    for (int k = 0; k < 40; k += step) {
        shape p = {.length = 120,
                   .dim = 2,
                   .layers = 2,
                   .hidden = {5, 7},
                   .gru = {k % 2, k / 2 % 2},
                   .direction = k % 3 ? "forward" : "reverse",
                   .layout = TURNED,
                   .end = k % 5 ? LAST_H : MEAN,
                   .size = k % 4 ? 0.5 : 0.05,
                   .outputs = 1};
        subject s;
        sis_walk *w;
        subject_of(&p, &r, &s);
        int error = rule_walk_new(&w, &s, 200000 + (size_t)k * 20000);
        assert_true(error == SIS_OK || error == SIS_E_UNSUPPORTED);
        if (error == SIS_OK) {
            check_sweep(&s, w, &r, 32, &d);
            made++;
        } else {
            refused++;
        }
        rule_walk_free(w);
        subject_release(&s);
    }
    assert_true(d.worst == 0);
    assert_true(made * step > 20 && refused * step > 3);
}

/* Two bidirectional layers, with memory for everything, for less and for nothing, read at the
 * last time step, at the first of one direction, or at all. */
static void stacked_bidirectional_layers_equal_full_passes(void **state) {
    (void)state;
    sis__rng r;
    sis__rng_init(&r, 11);
    deviation d = {0};
    int made = 0, refused = 0;
    int step = rounds(48) < 48 ? 5 : 1;
    for (int k = 0; k < 48; k += step) {
        shape p = {.length = 30,
                   .dim = 3,
                   .layers = 2,
                   .hidden = {16 + (size_t)(k % 3), 16 + (size_t)(k % 3)},
                   .gru = {k % 2, k / 2 % 2},
                   .linear_before_reset = k % 5 > 0,
                   .no_bias = k % 7 == 0,
                   .initial = k % 4 == 1,
                   .direction = "bidirectional",
                   .layout = TURNED,
                   .end = k / 4 % 3 == 0   ? LAST_H
                          : k / 4 % 3 == 1 ? GATHER_LAST
                                           : MEAN,
                   .size = k % 3 ? 0.5 : 0.05,
                   .outputs = 1};
        subject s;
        sis_walk *w;
        subject_of(&p, &r, &s);
        int error = rule_walk_new(&w, &s, (size_t)50000 << k % 6);
        assert_true(error == SIS_OK || error == SIS_E_UNSUPPORTED);
        if (error == SIS_OK) {
            check_sweep(&s, w, &r, 8, &d);
            made++;
        } else {
            refused++;
        }
        rule_walk_free(w);
        subject_release(&s);
    }
    assert_true(d.worst == 0);
    assert_true(made * step > 20 && refused * step > 3);
}

static const shape simple = {.length = 6,
                             .dim = 3,
                             .layers = 1,
                             .hidden = {4, 5},
                             .direction = "forward",
                             .layout = TURNED,
                             .end = LAST_H,
                             .size = 0.5,
                             .outputs = 1};

/* A simple network with this many values for each feature. */
static void simple_subject(const shape *p, sis__rng *r, int values, subject *s) {
    size_t n = p->length * p->dim;
    double *x = random_doubles(r, n, 1);
    subject_init(s, build(p, r), 0, n, x, random_doubles(r, n, 1));
    s->map = (int *)malloc(n * sizeof *s->map);
    assert_non_null(s->map);
    for (size_t v = 0; v < n; v++)
        s->map[v] = (int)v / values;
    s->input.feature_of = s->map;
    s->n_features = n / (size_t)values;
}

static int try_rule(const shape *p, sis__rng *r, int values, deviation *d) {
    subject s;
    sis_walk *w;
    simple_subject(p, r, values, &s);
    int error = rule_walk_new(&w, &s, 1 << 20);
    if (error == SIS_OK)
        check_sweep(&s, w, r, 1, d);
    rule_walk_free(w);
    subject_release(&s);
    return error;
}

/* Networks and feature maps that the rule does not support, and some borderline ones. */
static void unsupported_layers_have_no_recurrent_walk(void **state) {
    (void)state;
    sis__rng r;
    sis__rng_init(&r, 4);
    deviation d = {0};
    shape p = simple;
    assert_int_equal(try_rule(&p, &r, 3, &d), SIS_OK);
    assert_int_equal(try_rule(&p, &r, 2, &d), SIS_OK); /* across positions */
    assert_int_equal(try_rule(&p, &r, 1, &d), SIS_OK); /* single values */
    p.lengths = 6;
    assert_int_equal(try_rule(&p, &r, 3, &d), SIS_OK);
    p.lengths = 5;
    assert_int_equal(try_rule(&p, &r, 3, &d), SIS_E_UNSUPPORTED);
    p = simple;
    p.twice = 1;
    assert_int_equal(try_rule(&p, &r, 3, &d), SIS_E_UNSUPPORTED);
    p = simple;
    p.layers = 2;
    p.last_both = 1; /* the second layer is in the head */
    assert_int_equal(try_rule(&p, &r, 3, &d), SIS_OK);
    p.layout = TIME_FIRST; /* also if rows are not the first axis */
    assert_int_equal(try_rule(&p, &r, 3, &d), SIS_OK);
    assert_true(d.worst == 0 && d.margins > 20);
}

/* Scores of 3 rows by a plan that keeps everything, or by one that computes only what is read.
 * Returns the operations of its recurrent layers. */
static double run_rows(const sis_net *net, const shape *p, int keep, const float *x,
                       float *scores) {
    sis__feed feed = {.value = net->input, .rank = 3, .dims = {3, p->length, p->dim}};
    sis__plan_spec spec = {.feeds = &feed,
                           .n_feeds = 1,
                           .outputs = &net->output,
                           .n_outputs = 1,
                           .batch = 3,
                           .keep_all = keep};
    sis__plan *plan;
    sis__run *run;
    double flops = 0;
    assert_int_equal(sis__plan_new(net, &spec, &plan), SIS_OK);
    assert_int_equal(sis__run_new(plan, &run), SIS_OK);
    memcpy(run->data[net->input], x, 3 * p->length * p->dim * sizeof *x);
    assert_int_equal(sis__run_forward(run), SIS_OK);
    memcpy(scores, run->data[net->output], 3 * (size_t)p->outputs * sizeof *scores);
    for (size_t i = 0; i < plan->n_steps; i++)
        if (plan->steps[i].op == SIS__OP_LSTM || plan->steps[i].op == SIS__OP_GRU)
            flops += plan->steps[i].flops;
    sis__run_free(run);
    sis__plan_free(plan);
    return flops;
}

/* If only the last time step is read, the backward half of a layer computes one step, with the
 * same result. */
static void layers_are_computed_only_as_far_as_read(void **state) {
    (void)state;
    sis__rng r;
    sis__rng_init(&r, 7);
    for (int k = 0; k < 24; k++) {
        shape p = {.length = 9,
                   .dim = 3,
                   .layers = 1 + (size_t)(k / 4 % 2),
                   .hidden = {4, 4},
                   .gru = {k % 2, k % 2},
                   .direction = k % 3 ? "bidirectional" : "forward",
                   .layout = k / 8 % 2 ? TURNED : BATCH_FIRST,
                   .end = k / 2 % 2 ? GATHER_LAST : SLICE_LAST,
                   .size = 0.5,
                   .outputs = 2};
        sis_net *net = build(&p, &r);
        float x[3 * 9 * 3], scores[2][6];
        for (size_t i = 0; i < 81; i++)
            x[i] = (float)(2 * sis__rng_uniform(&r) - 1);
        double all = run_rows(net, &p, 1, x, scores[0]);
        double read = run_rows(net, &p, 0, x, scores[1]);
        assert_memory_equal(scores[0], scores[1], sizeof scores[0]);
        if (!both(&p))
            assert_true(read == all);
        else if (p.layers == 1)
            assert_true(fabs(read / all - 10.0 / 18) < 1e-9);
        else
            assert_true(read < all);
        sis_net_free(net);
    }
}

/* NaN in one word is an error when it is read, as in full passes. */
static void nan_is_an_error(void **state) {
    (void)state;
    sis__rng r;
    sis__rng_init(&r, 5);
    subject s;
    simple_subject(&simple, &r, 3, &s);
    s.z[7] = NAN;
    sis_walk *w = subject_walk(&s);
    unsigned char masked[6] = {0};
    double margin, margins[6];
    assert_int_equal(w->ops->reset(w, masked, &margin), SIS_OK);
    assert_int_equal(w->ops->probe(w, (int[]){0, 1}, 2, margins), SIS_OK);
    assert_int_equal(w->ops->probe(w, (int[]){1, 2}, 2, margins), SIS_E_NAN);
    assert_message_has("NaN");
    w->ops->free(w);
    subject_release(&s);
}

static void failing_allocations_are_reported(void **state) {
    (void)state;
    sis__rng r;
    sis__rng_init(&r, 6);
    for (int k = 0; k < 5; k++) {
        shape p = {.length = 8,
                   .dim = 2,
                   .layers = k == 3 ? 1 : 2,
                   .hidden = {3, k == 4 ? 3 : 4},
                   .gru = {k % 2, 0},
                   .direction = k >= 3 ? "bidirectional" : "forward",
                   .layout = k == 2 ? TOKENS : TURNED,
                   .end = k == 1 ? MEAN : LAST_H,
                   .size = 0.5,
                   .words = 9,
                   .outputs = 2};
        subject s;
        do { /* at least two features */
            subject_of(&p, &r, &s);
            if (s.n_features >= 2)
                break;
            subject_release(&s);
        } while (1);
        assert_true(with_failing_allocations(try_walk, &s) > 10);
        subject_release(&s);
    }
}

/* Empty batches: nothing is computed or read. */
static void empty_batches_give_empty_results(void **state) {
    (void)state;
    sis__rng r;
    sis__rng_init(&r, 9);
    for (int gru = 0; gru < 2; gru++) {
        const size_t gates = gru ? 3 : 4, hidden = 5;
        const int64_t zero = 0, one = 1, all[] = {0, 1, 2, 3};
        float x[2 * 8], y[2 * 8];
        sis_net *net;
        sis_net_builder *b = sis_net_builder_new("empty");
        sis_net_add_input(b, "x", 0, SHAPE(0, 8));
        sis_net_add_ints(b, "times", SHAPE(3), (int64_t[]){4, 1, 2});
        sis_net_add_ints(b, "zero", SHAPE(1), &zero);
        sis_net_add_ints(b, "one", SHAPE(1), &one);
        sis_net_add_ints(b, "all", SHAPE(4), all);
        add_random(b, "w", SHAPE(1, gates * hidden, 2), &r, 1);
        add_random(b, "r", SHAPE(1, gates * hidden, hidden), &r, 1);
        sis_net_add_node(b, "Reshape", "x times", "t");
        sis_net_add_node(b, "Slice", "t zero zero one", "none");
        sis_net_add_node(b, gru ? "GRU" : "LSTM", "none w r", "h");
        sis_net_attr_int(b, "hidden_size", (int64_t)hidden);
        sis_net_add_node(b, "ReduceSum", "h all", "sum");
        sis_net_attr_int(b, "keepdims", 0);
        sis_net_add_node(b, "Add", "x sum", "y");
        sis_net_add_output(b, "y");
        assert_int_equal(sis_net_build(b, &net), SIS_OK);
        for (size_t i = 0; i < 16; i++)
            x[i] = (float)i;
        assert_int_equal(sis_net_forward(net, &(sis_net_batch){x, 2, 8, 0, 1, NULL}, y), 0);
        assert_memory_equal(x, y, sizeof x);
        sis_net_free(net);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(empty_batches_give_empty_results),
        cmocka_unit_test(margins_are_full_passes_to_the_bit),
        cmocka_unit_test(collections_are_those_of_full_passes),
        cmocka_unit_test(less_memory_gives_the_same_margins),
        cmocka_unit_test(stacked_bidirectional_layers_equal_full_passes),
        cmocka_unit_test(unsupported_layers_have_no_recurrent_walk),
        cmocka_unit_test(layers_are_computed_only_as_far_as_read),
        cmocka_unit_test(nan_is_an_error),
        cmocka_unit_test(failing_allocations_are_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
