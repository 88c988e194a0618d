/* SPDX-License-Identifier: MIT
 *
 * A network's own walk against full passes: whatever the network, the input, its masks and features,
 * the threshold and the memory, both must find the same subsets in the same order. What differs ends
 * the program, with the step where it does. Cases that did are kept in tests/fuzz/walk.
 *
 * A case is what fuzz_nets.h makes of its bytes and then more of them for the input and the
 * question. Or, if the first is 1, an ONNX file, with the number of bytes in front of it that decide
 * the rest and these bytes. With SIS_FUZZ_KEEP=FILE a case of the first kind is written as one of
 * the second, which stays the same case when the networks of fuzz_nets.h change. Or, if the first is 2, a
 * network with a large map; or, if it is 3, one with convolutions in tiles (net/ops/conv_tiles.c).
 */
#include <math.h>
#include <stdlib.h>
#include <unistd.h>

#include <sis/model.h>
#include <sis/net.h>
#include <sis/sis.h>

#include "fuzz_nets.h"

int LLVMFuzzerTestOneInput(const unsigned char *bytes, size_t n);

enum { MAX_VALUES = 400, MAX_FEATURES = 24, MAX_SAMPLES = 3 };

/* ---- The model ------------------------------------------------------------------------------- */

/* Through a file, as users have it; the same name every time. */
static const char *path_of_file(void) {
    static char path[256];
    const char *base = getenv("TMPDIR");
    snprintf(path, sizeof path, "%s/sis-fuzz-%ld.onnx", base && *base ? base : "/tmp",
             (long)getpid());
    return path;
}

static int open_bytes(const unsigned char *bytes, size_t n, sis_model *model) {
    const char *path = path_of_file();
    FILE *f = fopen(path, "wb");
    if (!f || (n && fwrite(bytes, n, 1, f) != 1) || fclose(f) != 0)
        abort();
    int error = sis_model_open(path, NULL, model);
    unlink(path);
    return error;
}

/* Write what is left of the source and a network as a case. */
static void keep_case(const fuzz_source *s, const void *packed, size_t size) {
    const char *path = getenv("SIS_FUZZ_KEEP");
    FILE *f = path ? fopen(path, "wb") : NULL;
    if (!f)
        return;
    size_t left = s->n < 200 ? s->n : 200;
    fputc(1, f);
    fputc((int)(sizeof s->rng + left), f);
    fwrite(&s->rng, sizeof s->rng, 1, f);
    fwrite(s->bytes, 1, left, f);
    fwrite(packed, 1, size, f);
    fclose(f);
}

/* A dense layer that sums 262,144 terms, whose weights may all be positive. */
static int large_net(fuzz_source *s, sis_net **net) {
    enum { SIDE = 8, CHANNELS = 4096, TERMS = SIDE * SIDE * CHANNELS };
    static float weights[TERMS], filters[CHANNELS];
    int one_sign = pick(s, 2) == 0;
    for (size_t i = 0; i < CHANNELS; i++)
        filters[i] = (float)sis__rng_uniform(&s->rng);
    for (size_t i = 0; i < TERMS; i++)
        weights[i] = (float)(sis__rng_uniform(&s->rng) - (one_sign ? 0 : 0.5));
    sis_net_builder *b = sis_net_builder_new("large");
    sis_net_add_input(b, "x", 0, &(sis_net_shape){4, {0, 1, SIDE, SIDE}});
    sis_net_add_param(b, "k", &(sis_net_shape){4, {CHANNELS, 1, 1, 1}}, filters);
    sis_net_add_param(b, "w", &(sis_net_shape){2, {TERMS, 1}}, weights);
    sis_net_add_node(b, "Conv", "x k", "c");
    sis_net_add_node(b, "Relu", "c", "r");
    sis_net_add_node(b, "Flatten", "r", "f");
    sis_net_add_node(b, "MatMul", "f w", "y");
    sis_net_add_output(b, "y");
    return sis_net_build(b, net);
}

static void add_conv(sis_net_builder *b, fuzz_source *s, const char *names, const char *out,
                     int64_t stride, size_t channels, size_t filters) {
    static float w[48 * 48 * 9];
    char name[2] = {names[2], 0};
    for (size_t i = 0; i < filters * channels * 9; i++)
        w[i] = (float)((sis__rng_uniform(&s->rng) - 0.5) / sqrt((double)channels));
    sis_net_add_param(b, name, &(sis_net_shape){4, {filters, channels, 3, 3}}, w);
    sis_net_add_node(b, "Conv", names, out);
    sis_net_attr_ints(b, "strides", (int64_t[]){stride, stride}, 2);
    sis_net_attr_ints(b, "pads", (int64_t[]){1, 1, 1, 1}, 4);
}

/* Every pixel reaches most of the last maps, 4 x 4 or 3 x 4. */
static int deep_net(fuzz_source *s, sis_net **net) {
    size_t side = from_to(s, 11, 16);
    sis_net_builder *b = sis_net_builder_new("deep");
    sis_net_add_input(b, "x", 0, &(sis_net_shape){4, {0, 1, side, 16}});
    add_conv(b, s, "x i", "a", 2, 1, 4);
    sis_net_add_node(b, "Relu", "a", "c");
    add_conv(b, s, "c j", "d", 2, 4, 48);
    add_conv(b, s, "d k", "e", 1, 48, 48);
    sis_net_add_node(b, "Relu", "e", "f");
    add_conv(b, s, "f l", "g", 1, 48, 48);
    sis_net_add_node(b, pick(s, 2) ? "GlobalMaxPool" : "GlobalAveragePool", "g", "h");
    sis_net_add_node(b, "Flatten", "h", "y");
    sis_net_add_output(b, "y");
    return sis_net_build(b, net);
}

/* 0 if the case is a network that can be asked in a moment. */
static int open_case(fuzz_source *s, const unsigned char *bytes, size_t n, sis_model *model) {
    sis_net *net;
    void *packed;
    size_t size;
    if (n > 2 && bytes[0] == 1) {
        size_t head = bytes[1] < n - 2 ? bytes[1] : n - 2;
        *s = fuzz_source_from(bytes + 2, head);
        return open_bytes(bytes + 2 + head, n - 2 - head, model);
    }
    *s = fuzz_source_of(bytes + (n > 0), n - (n > 0));
    int kind = n > 0 ? bytes[0] : 0;
    if ((kind == 2 ? large_net(s, &net) : kind == 3 ? deep_net(s, &net) : fuzz_net(s, &net)) != 0)
        return -1;
    int error = sis_net_pack(net, &packed, &size);
    sis_net_free(net);
    if (error)
        return error;
    keep_case(s, packed, size);
    error = open_bytes((unsigned char *)packed, size, model);
    free(packed);
    return error;
}

/* ---- The input ------------------------------------------------------------------------------- */

typedef struct {
    double x[MAX_VALUES], z[MAX_SAMPLES * MAX_VALUES];
    int feature_of[MAX_VALUES];
    unsigned char absent[MAX_VALUES];
    size_t n_features;
    sis_input input;
} example;

/* Some of the values are the mask's, or next to it. */
static void draw_values(example *e, fuzz_source *s) {
    fuzz_look look = (fuzz_look)pick(s, N_LOOKS), masks = (fuzz_look)pick(s, N_LOOKS);
    int zero = pick(s, 2) == 0, near = pick(s, 4) == 0;
    size_t n = e->input.n_values;
    for (size_t i = 0; i < n; i++)
        e->x[i] = fuzz_number(s, look);
    for (size_t i = 0; i < n * e->input.n_samples; i++) {
        double x = e->x[i % n];
        e->z[i] = zero ? 0 : fuzz_number(s, masks);
        if (sis__rng_below(&s->rng, 16) == 0)
            e->z[i] = x;
        else if (near && sis__rng_below(&s->rng, 4) == 0)
            e->z[i] = x + 1e-6 * sis__rng_normal(&s->rng);
    }
}

static void draw_tokens(example *e, fuzz_source *s, size_t vocabulary) {
    size_t n = e->input.n_values, way = pick(s, 4);
    for (size_t i = 0; i < n; i++)
        e->x[i] = (double)sis__rng_below(&s->rng, vocabulary);
    for (size_t i = 0; i < n * e->input.n_samples; i++)
        e->z[i] = way == 0   ? 0
                  : way == 1 ? (double)sis__rng_below(&s->rng, vocabulary)
                  : way == 2 ? NAN
                             : SIS_TOKEN_MASK;
}

/* Features: each value, neighbours, or any; some values may belong to none. */
static void draw_features(example *e, fuzz_source *s) {
    size_t n = e->input.n_values, way = pick(s, 4), used = 0;
    size_t wide = (n + MAX_FEATURES - 1) / MAX_FEATURES;
    int number[MAX_VALUES];
    wide = wide < 2 && way == 1 ? 2 : wide;
    for (size_t i = 0; i < n; i++) {
        size_t f = way == 2 ? sis__rng_below(&s->rng, (n + wide - 1) / wide) : i / wide;
        e->feature_of[i] = i && way == 3 && sis__rng_below(&s->rng, 8) == 0 ? -1 : (int)f;
        number[i] = -1;
    }
    for (size_t i = 0; i < n; i++) { /* number them without gaps */
        int *f = &e->feature_of[i];
        if (*f >= 0 && number[*f] < 0)
            number[*f] = (int)used++;
        *f = *f < 0 ? -1 : number[*f];
    }
    e->n_features = used;
    e->input.feature_of = way == 0 && wide == 1 ? NULL : e->feature_of;
    if (pick(s, 8) == 0)
        for (size_t i = 0; i < used; i++)
            e->absent[i] = sis__rng_below(&s->rng, 4) == 0;
}

static int draw_example(example *e, fuzz_source *s, sis_model *model, double max_flops) {
    const sis_net *net = sis_model_net(model);
    const float *matrix;
    size_t vocabulary = 0, dim;
    size_t n = model->n_values ? model->n_values : from_to(s, 1, 12);
    memset(e, 0, sizeof *e);
    e->input = (sis_input){
        .values = e->x, .mask = e->z, .n_values = n, .n_samples = 1, .absent = e->absent};
    if (n > MAX_VALUES || sis_net_flops(net) > max_flops)
        return -1;
    if (pick(s, 16) == 0)
        e->input.n_samples = from_to(s, 2, MAX_SAMPLES);
    if (sis_net_is_token(net))
        sis_net_embedding(net, &matrix, &vocabulary, &dim);
    if (vocabulary)
        draw_tokens(e, s, vocabulary);
    else
        draw_values(e, s);
    draw_features(e, s);
    if (sis_model_measure(model, e->x, n) != 0 || model->n_outputs == 0)
        return -1;
    e->input.output = pick(s, model->n_outputs);
    return 0;
}

/* ---- The question ---------------------------------------------------------------------------- */

/* The score by a full pass with these features masked. */
static int score(const sis_model *model, const example *e, const unsigned char *masked,
                 double *out) {
    double row[MAX_VALUES], *scores = (double *)malloc(model->n_outputs * sizeof *scores);
    const sis_input in = {.values = row, .mask = row, .n_values = e->input.n_values};
    sis_opt opt;
    sis_opt_init(&opt);
    for (size_t i = 0; i < in.n_values; i++) {
        int f = e->input.feature_of ? e->feature_of[i] : (int)i;
        row[i] = f >= 0 && masked[f] ? e->z[i] : e->x[i];
    }
    int error = scores ? sis_predict(model, &in, 1, &opt, scores) : -1;
    *out = error ? 0 : scores[e->input.output];
    free(scores);
    return error;
}

/* A threshold between the input's score and the mask's, or the very score of some of the input. */
static int draw_question(sis_opt *opt, fuzz_source *s, const sis_model *model, const example *e) {
    unsigned char masked[MAX_VALUES];
    double whole, nothing, some, part = sis__rng_uniform(&s->rng);
    size_t memory = pick(s, 4);
    sis_opt_init(opt);
    for (size_t i = 0; i < e->n_features; i++)
        masked[i] = e->absent[i] || sis__rng_uniform(&s->rng) < part;
    int error = score(model, e, masked, &some);
    error = error ? error : score(model, e, e->absent, &whole);
    memset(masked, 1, sizeof masked);
    error = error ? error : score(model, e, masked, &nothing);
    if (error)
        return error;
    opt->below = whole < nothing;
    opt->threshold = pick(s, 4) ? nothing + (0.05 + 0.9 * part) * (whole - nothing) : some;
    opt->max_subsets = pick(s, 3);
    opt->early_stop = pick(s, 8) == 0;
    if (memory == 0)
        opt->memory = (size_t)1 << from_to(s, 16, 20);
    return isfinite(opt->threshold) ? 0 : -1;
}

/* ---- The comparison -------------------------------------------------------------------------- */

static void print_trace(const sis_trace *t, const char *who) {
    fprintf(stderr, "%s:", who);
    for (size_t i = 0; i < t->n; i++)
        fprintf(stderr, " %d %.9g%s", t->order[i], t->scores[i], i + 1 < t->n ? "," : "\n");
}

static void print_subset(const sis_subset *u, const char *who) {
    fprintf(stderr, "%s: {", who);
    for (size_t i = 0; i < u->n; i++)
        fprintf(stderr, " %d", u->features[i]);
    fprintf(stderr, " } %.17g\n", u->score);
}

static int same_subset(const sis_subset *a, const sis_subset *b) {
    return a->n == b->n && a->trace.n == b->trace.n && a->score == b->score &&
           memcmp(a->features, b->features, a->n * sizeof *a->features) == 0 &&
           memcmp(a->trace.order, b->trace.order, a->trace.n * sizeof *a->trace.order) == 0;
}

static void compare(const sis_collection *walk, const sis_collection *full) {
    size_t n = walk->n_subsets < full->n_subsets ? walk->n_subsets : full->n_subsets;
    for (size_t k = 0; k < n; k++)
        if (!same_subset(&walk->subsets[k], &full->subsets[k])) {
            fprintf(stderr, "subset %zu differs\n", k);
            print_subset(&walk->subsets[k], "walk");
            print_subset(&full->subsets[k], "full");
            print_trace(&walk->subsets[k].trace, "walk");
            print_trace(&full->subsets[k].trace, "full");
            abort();
        }
    if (walk->status == full->status && walk->n_subsets == full->n_subsets &&
        walk->complete == full->complete && walk->score == full->score &&
        walk->rest_score == full->rest_score && walk->masked_score == full->masked_score)
        return;
    fprintf(stderr, "%s, %zu subsets, rest %.17g; by full passes %s, %zu, %.17g\n",
            sis_status_name(walk->status), walk->n_subsets, walk->rest_score,
            sis_status_name(full->status), full->n_subsets, full->rest_score);
    abort();
}

static void ask(const sis_model *model, const example *e, sis_opt *opt) {
    sis_collection walk, full;
    int error = sis_collect(model, &e->input, opt, &walk);
    opt->exact = 1;
    int exact = sis_collect(model, &e->input, opt, &full);
    if (!error && !exact)
        compare(&walk, &full);
    else if (error != exact && exact != SIS_E_NAN) { /* a walk need not look at every NaN */
        fprintf(stderr, "the walk fails with %d (%s), full passes with %d\n", error,
                sis_error_detail(), exact);
        abort();
    }
    sis_collection_release(&walk);
    sis_collection_release(&full);
}

int LLVMFuzzerTestOneInput(const unsigned char *bytes, size_t n) {
    static example e;
    fuzz_source s;
    sis_model model;
    sis_opt opt;
    if (open_case(&s, bytes, n, &model) != 0)
        return 0;
    double max_flops = n > 0 && bytes[0] >= 2 ? 1e7 : 1e5;
    if (draw_example(&e, &s, &model, max_flops) == 0 && draw_question(&opt, &s, &model, &e) == 0)
        ask(&model, &e, &opt);
    sis_model_close(&model);
    return 0;
}
