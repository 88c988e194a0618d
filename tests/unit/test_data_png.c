/* SPDX-License-Identifier: MIT
 *
 * PNG images: grey and colour, and files that are damaged, huge or not images.
 */
#include "support_data.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <png.h>
#include <zlib.h>

#include <sis/data.h>
#include <sis/files.h>

/* Write an image of that format; its bytes increase in steps of 10. */
static const char *image_file(const char *name, unsigned format, unsigned width, unsigned height) {
    png_image image = {
        .version = PNG_IMAGE_VERSION, .width = width, .height = height, .format = format};
    unsigned char pixels[256];
    for (size_t i = 0; i < sizeof pixels; i++)
        pixels[i] = (unsigned char)(10 * i);
    const char *path = folder_path(name);
    assert_true(png_image_write_to_file(&image, path, 0, pixels, 0, NULL));
    return path;
}

static void images_are_read(void **state) {
    (void)state;
    sis_data *data;
    double v[64];
    int map[64];
    size_t rank;
    assert_int_equal(sis_data_read(image_file("g.png", PNG_FORMAT_GRAY, 3, 2), NULL, &data), 0);
    const size_t *shape = sis_data_shape(data, 0, &rank);
    assert_string_equal(sis_data_kind(data), "image");
    assert_int_equal(sis_data_count(data), 1);
    assert_int_equal(rank, 2);
    assert_int_equal(shape[0], 2);
    assert_int_equal(shape[1], 3);
    assert_int_equal(sis_data_values(data, 0, v), 0);
    for (size_t k = 0; k < 6; k++)
        assert_true(v[k] == (double)(10 * k) / 255);
    assert_int_equal(sis_data_features(data, 0, NULL), 6);
    sis_data_free(data);

    assert_int_equal(sis_data_read(image_file("c.PNG", PNG_FORMAT_RGB, 2, 2), NULL, &data), 0);
    shape = sis_data_shape(data, 0, &rank);
    assert_int_equal(rank, 3);
    assert_int_equal(shape[2], 3);
    assert_int_equal(sis_data_values(data, 0, v), 0);
    for (size_t k = 0; k < 12; k++)
        assert_true(v[k] == (double)(10 * k) / 255);
    assert_int_equal(sis_data_features(data, 0, map), 4);
    for (int k = 0; k < 12; k++)
        assert_int_equal(map[k], k / 3);
    sis_data_free(data);

    assert_int_equal(sis_data_read(image_file("a.png", PNG_FORMAT_RGBA, 1, 1), NULL, &data), 0);
    assert_int_equal(sis_data_width(data, 0), 3);
    sis_data_free(data);
}

/* 16-bit pixels, grey or colour, as other programs write them, without gamma. */
static const char *deep_file(int type, unsigned width, const unsigned char *bytes) {
    const char *path = folder_path("deep.png");
    FILE *f = fopen(path, "wb");
    png_structp png = png_create_write_struct(PNG_LIBPNG_VER_STRING, NULL, NULL, NULL);
    png_infop info = png_create_info_struct(png);
    assert_non_null(f);
    png_init_io(png, f);
    png_set_IHDR(png, info, width, 1, 16, type, PNG_INTERLACE_NONE, PNG_COMPRESSION_TYPE_BASE,
                 PNG_FILTER_TYPE_BASE);
    png_write_info(png, info);
    png_write_row(png, bytes);
    png_write_end(png, info);
    png_destroy_write_struct(&png, &info);
    fclose(f);
    return path;
}

static void deep_images_are_cut_to_8_bits(void **state) {
    static const unsigned char bytes[] = {0, 0, 0x40, 0x40, 0x80, 0x80};
    static const int types[] = {PNG_COLOR_TYPE_GRAY, PNG_COLOR_TYPE_RGB};
    (void)state;
    for (unsigned k = 0; k < 2; k++) {
        sis_data *data = data_open(deep_file(types[k], k ? 1 : 3, bytes));
        double v[3];
        assert_int_equal(sis_data_values(data, 0, v), 0);
        assert_true(v[0] == 0 && v[1] == 64 / 255.0 && v[2] == 128 / 255.0);
        sis_data_free(data);
    }
}

static void refused(const char *path, const char *part) {
    data_refused(path, SIS_E_FORMAT, part);
}

/* A file whose header announces that many pixels, without data. */
static const char *promise(unsigned width, unsigned height) {
    unsigned char b[41] = {0x89, 'P', 'N', 'G', '\r', '\n', 0x1A, '\n', 0, 0, 0, 13, 'I', 'H', 'D',
                           'R',  0,   0,   0,   0,    0,    0,    0,    0, 8, 0, 0,  0,   0};
    for (int i = 0; i < 4; i++) {
        b[16 + i] = (unsigned char)(width >> (24 - 8 * i));
        b[20 + i] = (unsigned char)(height >> (24 - 8 * i));
    }
    unsigned long crc = crc32(crc32(0, NULL, 0), b + 12, 17);
    for (int i = 0; i < 4; i++)
        b[29 + i] = (unsigned char)(crc >> (24 - 8 * i));
    memcpy(b + 33, "\0\0\0\12IDAT", 8);
    return folder_write("p.png", b, sizeof b);
}

static void damage_and_bombs_are_said(void **state) {
    (void)state;
    size_t n;
    char *bytes = file_bytes(image_file("d.png", PNG_FORMAT_RGB, 4, 4), &n);
    refused(folder_text("d.png", ""), "d.png: is empty; expected a PNG image");
    refused(folder_text("d.png", "GIF89a not this"), "d.png: not a PNG image");
    for (size_t cut = 1; cut + 20 < n; cut++)
        refused(folder_write("d.png", bytes, cut), "not a PNG image, or a damaged one");
    free(bytes);
    refused(promise(50000, 50000), "p.png: an image of 50000 x 50000 pixels; at most 4096 x 4096");
    refused(promise(4097, 1), "an image of 4097 x 1 pixels");
    refused(promise(0, 1), "not a PNG image");
    refused(promise(4096, 4096), "not a PNG image, or a damaged one");
}

static void spoiled_files_do_no_harm(void **state) {
    (void)state;
    size_t n;
    char *bytes = file_bytes(image_file("s.png", PNG_FORMAT_RGB, 3, 2), &n);
    with_spoiled_files("s.png", bytes, n, 1000, data_read_spoiled);
    free(bytes);
}

static void failing_allocations_are_reported(void **state) {
    (void)state;
    char path[2048];
    snprintf(path, sizeof path, "%s", image_file("m.png", PNG_FORMAT_GRAY, 3, 2));
    assert_true(with_failing_allocations(data_read_once, path) > 3);
}

static int write_once(void *ctx) {
    const double pixels[] = {0, 0.5, 1, -3, 7, 0.2};
    return sis_png_write((const char *)ctx, pixels, (size_t[]){2, 3, 1});
}

static void what_is_written_is_read(void **state) {
    (void)state;
    const double pixels[] = {0, 1.0 / 255, 1, -3, 7, 0.2}, want[] = {0, 1.0 / 255, 1, 0, 1, 0.2};
    for (size_t channels = 1; channels <= 3; channels += 2) {
        sis_data *data;
        double got[6];
        const char *path = folder_path("w.png");
        size_t dims[] = {channels == 3 ? 1 : 2, channels == 3 ? 2 : 3, channels};
        assert_int_equal(sis_png_write(path, pixels, dims), SIS_OK);
        assert_int_equal(sis_data_read(path, NULL, &data), SIS_OK);
        assert_int_equal(sis_data_width(data, 0), 6);
        assert_int_equal(sis_data_values(data, 0, got), SIS_OK);
        assert_memory_equal(got, want, sizeof want);
        sis_data_free(data);
    }
    assert_int_equal(sis_png_write("x.png", pixels, (size_t[]){3, 1, 2}), SIS_E_ARGUMENT);
    assert_int_equal(sis_png_write("x.png", pixels, (size_t[]){5000, 1, 1}), SIS_E_ARGUMENT);
    assert_int_equal(sis_png_write("x.png", pixels, (size_t[]){0, 1, 1}), SIS_E_ARGUMENT);
    assert_int_equal(sis_png_write(folder_path("none/x.png"), pixels, (size_t[]){2, 3, 1}),
                     SIS_E_IO);
    assert_message_has("cannot write");
    char path[2048];
    snprintf(path, sizeof path, "%s", folder_path("w.png"));
    with_failing_allocations(write_once, path);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(images_are_read),
        cmocka_unit_test(deep_images_are_cut_to_8_bits),
        cmocka_unit_test(damage_and_bombs_are_said),
        cmocka_unit_test(spoiled_files_do_no_harm),
        cmocka_unit_test(failing_allocations_are_reported),
        cmocka_unit_test(what_is_written_is_read),
    };
    return cmocka_run_group_tests(tests, folder_make, folder_remove);
}
