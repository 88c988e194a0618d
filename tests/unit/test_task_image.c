/* SPDX-License-Identifier: MIT
 *
 * Images in a task: the blurred image as mask, and resizing to the network's size.
 */
#include "support_data.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sis/example.h>
#include <sis/files.h>
#include <sis/task.h>

enum { HEIGHT = 5, WIDTH = 7 };

static const sis_model summing = {.size = sizeof summing, .predict = sum_values, .n_outputs = 1};

static sis_task_opt options(const char *input, const char *mask) {
    sis_task_opt o;
    sis_task_opt_init(&o);
    o.model.opened = &summing;
    o.examples.input = input;
    o.question.mask = mask;
    o.question.threshold = "0.5";
    return o;
}

/* An image of random values, (channels, height, width) as .npy. */
static const char *image_file(double *pixels, size_t channels) {
    const char *path = folder_path("i.npy");
    for (size_t k = 0; k < channels * HEIGHT * WIDTH; k++)
        pixels[k] = (double)(k * k % 17) / 17;
    assert_int_equal(sis_npy_write(path, pixels, 4, (size_t[]){1, channels, HEIGHT, WIDTH}), 0);
    return path;
}

/* The definition: both axes at once, over all pixels inside. */
static double slow_blur(const double *pixels, size_t y, size_t x, double s) {
    double sum = 0, all = 0, max = ceil(4 * s);
    for (size_t v = 0; v < HEIGHT; v++)
        for (size_t u = 0; u < WIDTH; u++) {
            double dy = (double)v - (double)y, dx = (double)u - (double)x;
            double w =
                fabs(dy) > max || fabs(dx) > max ? 0 : exp(-(dx * dx + dy * dy) / (2 * s * s));
            sum += w * pixels[v * WIDTH + u];
            all += w;
        }
    return sum / all;
}

static void blurred_images_are_masks(void **state) {
    static const char *const masks[] = {"blur:0.3", "blur:1", "blur:2.5", "blur:300"};
    static const double pixels_of[] = {0.3, 1, 2.5, 300};
    double pixels[3 * HEIGHT * WIDTH];
    (void)state;
    for (size_t k = 0; k < 8; k++) {
        sis_task_opt o = options(image_file(pixels, k % 2 ? 3 : 1), masks[k / 2]);
        sis_task *task;
        sis_example e;
        o.examples.read.kind = "image";
        if (sis_task_open(&o, &task) != 0 || sis_task_load(task, 0, &e) != 0)
            fail_msg("%s", sis_error_detail());
        assert_int_equal(e.input.n_samples, 1);
        for (size_t c = 0, n = k % 2 ? 3 : 1; c < n; c++)
            for (size_t p = 0; p < HEIGHT * WIDTH; p++)
                assert_true(
                    fabs(e.input.mask[p * n + c] - slow_blur(pixels + c * HEIGHT * WIDTH, p / WIDTH,
                                                             p % WIDTH, pixels_of[k / 2])) < 1e-12);
        sis_example_release(&e);
        sis_task_free(task);
    }
}

static void refused(const char *mask, const char *kind, const char *part) {
    double pixels[HEIGHT * WIDTH];
    sis_task_opt o = options(image_file(pixels, 1), mask);
    sis_task *task;
    o.examples.read.kind = kind;
    assert_int_equal(sis_task_open(&o, &task), SIS_E_OPTION);
    assert_message_has(part);
    assert_null(task);
}

static void other_blurs_are_refused(void **state) {
    (void)state;
    refused("blur:0", "image", "expected pixels, more than 0");
    refused("blur:-1", "image", "expected pixels, more than 0");
    refused("blur:9999", "image", "at most 4096");
    refused("blur:", "image", "found \"\"");
    refused("blur:2", NULL, "give --kind image");
}

/* ---- Sizes --------------------------------------------------------------------------------- */

static const char *png(size_t height, size_t width, size_t channels) {
    double pixels[40 * 40 * 3];
    const char *path = folder_path("p.png");
    for (size_t k = 0; k < height * width * channels; k++)
        pixels[k] = (double)(k % 11) / 11;
    assert_int_equal(sis_png_write(path, pixels, (size_t[]){height, width, channels}), 0);
    return path;
}

static sis_task_opt digits(const char *input) {
    sis_task_opt o = options(input, "blur:2");
    o.model.opened = NULL;
    o.model.spec = SIS_SOURCE_DIR "/models/mnist-cnn.onnx";
    return o;
}

static void images_of_another_size_fit(void **state) {
    sis_task *task;
    sis_record r;
    (void)state;
    sis_task_opt o = digits(png(30, 40, 3));
    assert_int_equal(sis_task_open(&o, &task), SIS_E_ARGUMENT);
    assert_message_has("--fit resizes images");
    o.examples.fit = 1;
    o.question.threshold = "0";
    if (sis_task_open(&o, &task) != 0)
        fail_msg("%s", sis_error_detail());
    assert_string_equal(sis_data_note(sis_task_data(task)),
                        "1 of 1 image fitted to 28 x 28 pixels, grey");
    assert_int_equal(sis_task_next(task, &r), 1);
    assert_int_equal(r.drawing.n_values, 784);
    assert_string_equal(r.drawing.kind, "image");
    sis_task_free(task);
}

static void a_model_without_a_size_cannot_be_fitted(void **state) {
    sis_task *task;
    (void)state;
    sis_task_opt o = options(png(3, 3, 1), "zero");
    o.examples.fit = 1;
    assert_int_equal(sis_task_open(&o, &task), SIS_E_OPTION);
    assert_message_has("does not state its image size");
}

static int blur_once(void *ctx) {
    sis_task *task;
    sis_example e = {0};
    sis_task_opt o = options((const char *)ctx, "blur:1");
    int error = sis_task_open(&o, &task);
    if (error == 0)
        error = sis_task_load(task, 0, &e);
    sis_example_release(&e);
    sis_task_free(task);
    return error;
}

static void failing_allocations_are_reported(void **state) {
    char path[2048];
    (void)state;
    snprintf(path, sizeof path, "%s", png(3, 4, 3));
    assert_true(with_failing_allocations(blur_once, path) > 10);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(blurred_images_are_masks),
        cmocka_unit_test(other_blurs_are_refused),
        cmocka_unit_test(images_of_another_size_fit),
        cmocka_unit_test(a_model_without_a_size_cannot_be_fitted),
        cmocka_unit_test(failing_allocations_are_reported),
    };
    return cmocka_run_group_tests(tests, folder_make, folder_remove);
}
