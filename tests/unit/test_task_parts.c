/* SPDX-License-Identifier: MIT
 *
 * Parts of images as features, and refinement from parts to pixels.
 */
#include "support.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <sis/example.h>
#include <sis/task.h>

#include "base/rng.h"

#ifdef __SANITIZE_ADDRESS__
enum { SIDE = 112 }; /* the same image, smaller */
#else
enum { SIDE = 224 };
#endif
enum { COLOURS = 3, VALUES = SIDE * SIDE * COLOURS };

/* A noise image with an object; the model scores how much of the object is visible. */
typedef struct {
    double *picture; /* (SIDE, SIDE, COLOURS) */
    char *object;    /* (SIDE, SIDE) 1: part of the object */
    size_t rows;     /* asked about */
} scene;

static int in_object(size_t pixel) {
    const double unit = SIDE / 224.0;
    double y = (double)(pixel / SIDE) - 90 * unit, x = (double)(pixel % SIDE) - 130 * unit;
    return y * y / 400 + x * x / 900 < unit * unit;
}

/* The share of the object's pixels that are bright, minus brightness elsewhere. */
static int scene_predict(void *ctx, const double *rows, size_t n, size_t width, double *scores) {
    scene *s = (scene *)ctx;
    for (size_t i = 0; i < n; i++) {
        double inside = 0, all = 0, outside = 0;
        for (size_t p = 0; p < SIDE * SIDE; p++) {
            const double *pixel = rows + i * width + p * COLOURS;
            double bright = (pixel[0] + pixel[1] + pixel[2]) / 3;
            *(s->object[p] ? &inside : &outside) += bright;
            all += s->object[p];
        }
        scores[i] = inside / all - 0.1 * outside / (SIDE * SIDE);
    }
    s->rows += n;
    return 0;
}

static sis_data *make_data(scene *s) {
    sis__rng r;
    sis_data *data;
    sis__rng_init(&r, 3);
    s->picture = malloc(VALUES * sizeof *s->picture);
    s->object = malloc(SIDE * SIDE);
    for (size_t p = 0; p < SIDE * SIDE; p++) {
        s->object[p] = (char)in_object(p);
        for (size_t c = 0; c < COLOURS; c++)
            s->picture[p * COLOURS + c] = (s->object[p] ? 0.8 : 0.2) + 0.1 * sis__rng_uniform(&r);
    }
    assert_int_equal(sis_data_from_values(s->picture, 4, (size_t[]){1, SIDE, SIDE, COLOURS},
                                          &(sis_data_with){.kind = "image"}, &data),
                     SIS_OK);
    return data;
}

static void open_task(scene *s, const char *features, int refine, sis_data **data, sis_task **t) {
    static sis_model model;
    sis_task_opt o;
    *data = make_data(s);
    model =
        (sis_model){.size = sizeof(sis_model), .predict = scene_predict, .ctx = s, .n_outputs = 1};
    sis_task_opt_init(&o);
    o.model.opened = &model;
    o.examples.data = *data;
    o.question.mask = "zero";
    o.question.threshold = "0.1";
    o.answer.method = "quick";
    o.question.features = features;
    o.question.refine = refine;
    o.answer.search.max_subsets = 1;
    assert_int_equal(sis_task_open(&o, t), SIS_OK);
}

static void close_task(scene *s, sis_data *data, sis_task *t) {
    sis_task_free(t);
    sis_data_free(data);
    free(s->picture);
    free(s->object);
}

/* Every part is used, connected, made of whole pixels, and not empty. */
static void parts_are_of_whole_pixels(void **state) {
    (void)state;
    static const char *const kinds[] = {"grid:196", "superpixel:196", "grid:1", "superpixel:7",
                                        "grid:100000"};
    for (size_t k = 0; k < 5; k++) {
        scene s = {0};
        sis_data *data;
        sis_task *t;
        sis_example e;
        open_task(&s, kinds[k], 0, &data, &t);
        assert_int_equal(sis_task_load(t, 0, &e), SIS_OK);
        long n = sis_input_features(&e.input);
        assert_true(n >= 1 && n <= SIDE * SIDE);
        assert_true(k > 1 || (n > 100 && n < 300));
        for (size_t v = 0; v < VALUES; v++)
            assert_int_equal(e.input.feature_of[v], e.input.feature_of[v / COLOURS * COLOURS]);
        sis_example_release(&e);
        close_task(&s, data, t);
    }
}

/* Superpixels follow the edge of the object: few have pixels on both sides. */
static void superpixels_follow_edges(void **state) {
    (void)state;
    size_t mixed[2] = {0};
    for (int k = 0; k < 2; k++) {
        scene s = {0};
        sis_data *data;
        sis_task *t;
        sis_example e;
        size_t in[2000] = {0}, all[2000] = {0};
        open_task(&s, k ? "superpixel:200" : "grid:200", 0, &data, &t);
        assert_int_equal(sis_task_load(t, 0, &e), SIS_OK);
        for (size_t p = 0; p < SIDE * SIDE; p++) {
            in[e.input.feature_of[p * COLOURS]] += (size_t)s.object[p];
            all[e.input.feature_of[p * COLOURS]]++;
        }
        for (size_t i = 0; i < 2000; i++)
            mixed[k] += in[i] * 20 > all[i] && in[i] * 20 < all[i] * 19;
        sis_example_release(&e);
        close_task(&s, data, t);
    }
    assert_true(mixed[1] * 2 < mixed[0]);
}

static void pixels_are_found_with_few_questions(void **state) {
    (void)state;
    scene s = {0};
    sis_data *data;
    sis_task *t;
    sis_record r;
    sis_audit a;
    sis_example e;
    open_task(&s, "superpixel:196", 1, &data, &t);
    s.rows = 0;
    assert_int_equal(sis_task_next(t, &r), 1);
    assert_int_equal(r.collection.n_features, SIDE * SIDE);
    assert_true(r.collection.n_subsets == 1 && r.collection.subsets[0].n > SIDE * SIDE / 500);
    assert_true(s.rows < 5000 && r.collection.evaluations < 5000);
    assert_int_equal(sis_task_load(t, 0, &e), SIS_OK);
    sis_opt opt = decision(0.1);
    assert_int_equal(sis_verify(sis_task_model(t), &e.input, &opt, &r.collection, &a), SIS_OK);
    assert_string_equal(a.reason, "");
    assert_true(a.holds && a.subsets[0].sufficient && a.subsets[0].minimal);
    sis_audit_release(&a);
    sis_example_release(&e);
    close_task(&s, data, t);
}

static void what_is_no_picture_is_refused(void **state) {
    (void)state;
    static const char *const wrong[] = {"grid:0", "grid:x", "superpixel:", "grid:-3"};
    const double rows[6] = {1, 2, 3, 4, 5, 6};
    scene s = {0};
    sis_model model = {.size = sizeof model, .predict = scene_predict, .ctx = &s, .n_outputs = 1};
    sis_data *data;
    sis_task *t;
    sis_record r;
    sis_task_opt o;
    assert_int_equal(sis_data_from_values(rows, 2, (size_t[]){1, 6}, NULL, &data), SIS_OK);
    sis_task_opt_init(&o);
    o.model.opened = &model;
    o.examples.data = data;
    o.question.mask = "zero";
    o.question.threshold = "0.1";
    for (size_t k = 0; k < 4; k++) {
        o.question.features = wrong[k];
        assert_int_equal(sis_task_open(&o, &t), SIS_E_OPTION);
    }
    o.question.features = "each";
    o.question.refine = 1;
    assert_int_equal(sis_task_open(&o, &t), SIS_E_OPTION);
    o.question.refine = 0;
    o.question.features = "grid:2";
    assert_int_equal(sis_task_open(&o, &t), SIS_OK);
    assert_int_equal(sis_task_next(t, &r), SIS_E_ARGUMENT);
    assert_message_has("not an image");
    sis_task_free(t);
    sis_data_free(data);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parts_are_of_whole_pixels),
        cmocka_unit_test(superpixels_follow_edges),
        cmocka_unit_test(pixels_are_found_with_few_questions),
        cmocka_unit_test(what_is_no_picture_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
