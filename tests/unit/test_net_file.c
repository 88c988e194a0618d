/* SPDX-License-Identifier: MIT
 *
 * Networks written and read back, with their metadata, masks and labels; and the same with failing
 * allocations.
 */
#include "support.h"

#include <stdlib.h>
#include <unistd.h>

#include "support_net.h"

/* ---- Files --------------------------------------------------------------------------------- */

static void written_networks_read_back_equal(void **state) {
    (void)state;
    for (size_t i = 0; i < n_families; i++) {
        sis_net *net = build_family(families[i].name), *again;
        void *bytes, *bytes_again;
        size_t n, n_again, p;
        sis__rng r;
        sis__rng_init(&r, 4);
        assert_int_equal(sis_net_pack(net, &bytes, &n), 0);
        assert_int_equal(sis_net_parse(bytes, n, &again), 0);
        assert_int_equal(sis_net_pack(again, &bytes_again, &n_again), 0);
        assert_int_equal(n, n_again);
        assert_memory_equal(bytes, bytes_again, n);
        size_t k = sis_net_outputs(net);
        float *x = random_rows(net, &r, 3, &p), y[2][3 * 16];
        assert_true(k <= 16);
        sis_net_batch b = {x, 3, p, 0, 1, NULL};
        assert_int_equal(sis_net_forward(net, &b, y[0]), 0);
        assert_int_equal(sis_net_forward(again, &b, y[1]), 0);
        assert_memory_equal(y[0], y[1], 3 * k * sizeof(float));
        free(x);
        free(bytes);
        free(bytes_again);
        sis_net_free(net);
        sis_net_free(again);
    }
}

static void files_are_written_and_read(void **state) {
    (void)state;
    sis_net *net = build_family("mlp"), *again;
    char path[] = "/tmp/sis-net-XXXXXX";
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    close(fd);
    assert_int_equal(sis_net_write(net, path), 0);
    assert_int_equal(sis_net_read(path, &again), 0);
    sis_net_free(again);
    assert_int_equal(truncate(path, 100), 0);
    assert_int_equal(sis_net_read(path, &again), SIS_E_FORMAT);
    assert_message_has(path); /* names the file */
    assert_null(again);
    assert_int_equal(truncate(path, 0), 0);
    assert_int_equal(sis_net_read(path, &again), SIS_E_FORMAT);
    unlink(path);
    assert_int_equal(sis_net_read(path, &again), SIS_E_IO);
    assert_int_equal(sis_net_read("/", &again), SIS_E_IO);
    assert_int_equal(sis_net_write(net, "/nowhere/at/all"), SIS_E_IO);
    sis_net_free(net);
}

/* ---- Metadata, masks, labels ----------------------------------------------------------------- */

static sis_net *round_trip(sis_net *net) {
    void *bytes;
    size_t n;
    sis_net *again;
    assert_int_equal(sis_net_pack(net, &bytes, &n), 0);
    assert_int_equal(sis_net_parse(bytes, n, &again), 0);
    free(bytes);
    sis_net_free(net);
    return again;
}

static void metadata_and_mask_are_saved_with_the_model(void **state) {
    (void)state;
    sis_net *net = build_family("cnn");
    size_t n, p = sis_net_values(net);
    float *mask = (float *)calloc(p, sizeof *mask);
    assert_null(sis_net_meta_get(net, SIS_NET_META_KIND));
    assert_null(sis_net_mask(net, &n));
    assert_int_equal(n, 0);
    mask[3] = 0.25f;
    sis_net_shape shape;
    sis_net_input_shape(net, &shape);
    size_t params = sis_net_params(net);
    assert_int_equal(sis_net_meta_set(net, SIS_NET_META_KIND, "image"), 0);
    assert_int_equal(sis_net_meta_set(net, "other", "1"), 0);
    assert_int_equal(sis_net_meta_set(net, SIS_NET_META_LABELS, "[\"cat\",\"dog\"]"), 0);
    assert_int_equal(sis_net_mask_set(net, mask, &shape), 0);
    net = round_trip(net);
    assert_string_equal(sis_net_meta_get(net, SIS_NET_META_KIND), "image");
    assert_int_equal(sis_net_meta_count(net), 3);
    assert_string_equal(sis_net_meta_key(net, 1), "other");
    assert_null(sis_net_meta_key(net, 3));
    const float *kept = sis_net_mask(net, &n);
    assert_int_equal(n, p);
    assert_memory_equal(kept, mask, p * sizeof *mask);
    assert_int_equal(sis_net_params(net), params); /* the mask is not a parameter */
    mask[3] = 0.5f;
    assert_int_equal(sis_net_mask_set(net, mask, &shape), 0);
    assert_int_equal(sis_net_meta_set(net, SIS_NET_META_KIND, "picture"), 0);
    assert_int_equal(sis_net_meta_set(net, "other", NULL), 0);
    assert_int_equal(sis_net_meta_set(net, "never there", NULL), 0);
    net = round_trip(net);
    assert_string_equal(sis_net_meta_get(net, SIS_NET_META_KIND), "picture");
    assert_null(sis_net_meta_get(net, "other"));
    assert_true(sis_net_mask(net, &n)[3] == 0.5f);
    char label[8];
    assert_int_equal(sis_net_label(net, 1, label, sizeof label), 0);
    assert_string_equal(label, "dog");
    assert_int_equal(sis_net_label(net, 2, label, sizeof label), SIS_E_ARGUMENT);
    free(mask);
    sis_net_free(net);
}

static void classifiers_know_their_labels(void **state) {
    (void)state;
    char label[16];
    sis_net *net = build_family("logistic");
    assert_int_equal(sis_net_label(net, 2, label, sizeof label), 0);
    assert_string_equal(label, "virginica");
    sis_net_free(net);
    net = build_family("trees");
    assert_int_equal(sis_net_label(net, 1, label, sizeof label), 0);
    assert_string_equal(label, "9");
    sis_net_free(net);
}

/* Its scores are summed, so there is one output, which is not a class. */
static void labels_of_a_classifier_inside_are_not_those_of_the_outputs(void **state) {
    (void)state;
    char label[16];
    sis_net *net;
    sis_net_builder *b = sis_net_builder_new("inside");
    sis_net_add_input(b, "x", 0, SHAPE(0, 2));
    sis_net_add_node(b, "ml.LinearClassifier", "x", "label p");
    sis_net_attr_floats(b, "coefficients", (float[]){1, 2, 3, 4}, 4);
    sis_net_attr_ints(b, "classlabels_ints", (int64_t[]){1, 2}, 2);
    sis_net_add_node(b, "ReduceMax", "p", "y");
    sis_net_attr_ints(b, "axes", (int64_t[]){1}, 1);
    sis_net_add_output(b, "y");
    assert_int_equal(sis_net_build(b, &net), 0);
    assert_int_equal(sis_net_outputs(net), 1);
    assert_int_equal(sis_net_label(net, 0, label, sizeof label), SIS_E_ARGUMENT);
    sis_net_free(net);
}

/* ---- Failing allocations --------------------------------------------------------------------- */

static int build_all(void *ctx) {
    sis_net *net;
    int error = ((const family *)ctx)->build(1, &net);
    sis_net_free(net);
    return error;
}

typedef struct {
    void *bytes;
    size_t n;
    float *rows;
    size_t n_values;
} packed;

static int parse_and_use(void *ctx) {
    const packed *p = (const packed *)ctx;
    sis_net *net;
    void *bytes = NULL;
    char *text = NULL;
    float scores[64];
    size_t n;
    int error = sis_net_parse(p->bytes, p->n, &net);
    sis_net_batch b = {p->rows, 3, p->n_values, 0, 2, NULL};
    if (!error)
        error = sis_net_forward(net, &b, scores);
    if (!error)
        error = sis_net_meta_set(net, "a", "b");
    if (!error)
        error = sis_net_meta_set(net, "a", "c");
    if (!error)
        error = sis_net_mask_set(net, p->rows, SHAPE(p->n_values));
    if (!error)
        error = sis_net_mask_set(net, p->rows, SHAPE(p->n_values));
    if (!error)
        error = sis_net_forward(net, &b, scores);
    if (!error)
        error = sis_net_describe(net, NULL, &text);
    if (!error)
        error = sis_net_pack(net, &bytes, &n);
    free(bytes);
    free(text);
    sis_net_free(net);
    return error;
}

static void failing_allocations_are_reported(void **state) {
    (void)state;
    for (size_t i = 0; i < n_families; i++) {
        packed p;
        sis_net *net = build_family(families[i].name);
        sis__rng r;
        sis__rng_init(&r, 2);
        assert_int_equal(sis_net_pack(net, &p.bytes, &p.n), 0);
        p.rows = random_rows(net, &r, 3, &p.n_values);
        sis_net_free(net);
        assert_true(with_failing_allocations(build_all, (void *)&families[i]) > 20);
        assert_true(with_failing_allocations(parse_and_use, &p) > 20);
        free(p.rows);
        free(p.bytes);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(written_networks_read_back_equal),
        cmocka_unit_test(files_are_written_and_read),
        cmocka_unit_test(metadata_and_mask_are_saved_with_the_model),
        cmocka_unit_test(classifiers_know_their_labels),
        cmocka_unit_test(labels_of_a_classifier_inside_are_not_those_of_the_outputs),
        cmocka_unit_test(failing_allocations_are_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
