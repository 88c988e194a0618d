/* SPDX-License-Identifier: MIT
 *
 * JPEG files, folders of images, labels from a file, arrays as images, resizing; damaged files and
 * files of other formats. Without libjpeg, JPEG is refused, and the rest is tested.
 */
#include "support_data.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <sis/files.h>

#include "base/rng.h"
#include "data/image.h"

/* 5 x 3 pixels: red 40 x, green 80 y, blue 200, at the highest quality; the same in grey,
 * progressive; the same in CMYK. */
static const unsigned char colour_jpg[] = {
    0xff, 0xd8, 0xff, 0xe0, 0x00, 0x10, 0x4a, 0x46, 0x49, 0x46, 0x00, 0x01, 0x01, 0x00, 0x00, 0x01,
    0x00, 0x01, 0x00, 0x00, 0xff, 0xdb, 0x00, 0x43, 0x00, 0x02, 0x01, 0x01, 0x01, 0x01, 0x01, 0x02,
    0x01, 0x01, 0x01, 0x02, 0x02, 0x02, 0x02, 0x02, 0x04, 0x03, 0x02, 0x02, 0x02, 0x02, 0x05, 0x04,
    0x04, 0x03, 0x04, 0x06, 0x05, 0x06, 0x06, 0x06, 0x05, 0x06, 0x06, 0x06, 0x07, 0x09, 0x08, 0x06,
    0x07, 0x09, 0x07, 0x06, 0x06, 0x08, 0x0b, 0x08, 0x09, 0x0a, 0x0a, 0x0a, 0x0a, 0x0a, 0x06, 0x08,
    0x0b, 0x0c, 0x0b, 0x0a, 0x0c, 0x09, 0x0a, 0x0a, 0x0a, 0xff, 0xdb, 0x00, 0x43, 0x01, 0x02, 0x02,
    0x02, 0x02, 0x02, 0x02, 0x05, 0x03, 0x03, 0x05, 0x0a, 0x07, 0x06, 0x07, 0x0a, 0x0a, 0x0a, 0x0a,
    0x0a, 0x0a, 0x0a, 0x0a, 0x0a, 0x0a, 0x0a, 0x0a, 0x0a, 0x0a, 0x0a, 0x0a, 0x0a, 0x0a, 0x0a, 0x0a,
    0x0a, 0x0a, 0x0a, 0x0a, 0x0a, 0x0a, 0x0a, 0x0a, 0x0a, 0x0a, 0x0a, 0x0a, 0x0a, 0x0a, 0x0a, 0x0a,
    0x0a, 0x0a, 0x0a, 0x0a, 0x0a, 0x0a, 0x0a, 0x0a, 0x0a, 0x0a, 0x0a, 0x0a, 0x0a, 0x0a, 0xff, 0xc0,
    0x00, 0x11, 0x08, 0x00, 0x03, 0x00, 0x05, 0x03, 0x01, 0x11, 0x00, 0x02, 0x11, 0x01, 0x03, 0x11,
    0x01, 0xff, 0xc4, 0x00, 0x14, 0x00, 0x01, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
    0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x05, 0xff, 0xc4, 0x00, 0x1e, 0x10, 0x00, 0x01, 0x01, 0x09,
    0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x08, 0x02, 0x00, 0x01,
    0x05, 0x16, 0x27, 0x42, 0x43, 0x51, 0x62, 0xff, 0xc4, 0x00, 0x15, 0x01, 0x01, 0x01, 0x00, 0x00,
    0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x06, 0x08, 0xff, 0xc4,
    0x00, 0x1f, 0x11, 0x00, 0x01, 0x02, 0x06, 0x03, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
    0x00, 0x00, 0x00, 0x01, 0x06, 0x41, 0x00, 0x02, 0x07, 0x14, 0x24, 0x51, 0x16, 0x61, 0xd1, 0xff,
    0xda, 0x00, 0x0c, 0x03, 0x01, 0x00, 0x02, 0x11, 0x03, 0x11, 0x00, 0x3f, 0x00, 0x48, 0x7c, 0x11,
    0x46, 0xb9, 0x25, 0x34, 0x76, 0x0f, 0x6e, 0x35, 0x69, 0xfd, 0x35, 0x32, 0xa5, 0x5a, 0xaa, 0xaf,
    0xce, 0x5c, 0xef, 0xaf, 0x20, 0x0d, 0x12, 0xa8, 0x4b, 0x5e, 0x24, 0x33, 0xa7, 0x67, 0x1a, 0x3d,
    0x47, 0xff, 0xd9};
static const unsigned char grey_jpg[] = {
    0xff, 0xd8, 0xff, 0xe0, 0x00, 0x10, 0x4a, 0x46, 0x49, 0x46, 0x00, 0x01, 0x01, 0x00, 0x00, 0x01,
    0x00, 0x01, 0x00, 0x00, 0xff, 0xdb, 0x00, 0x43, 0x00, 0x03, 0x02, 0x02, 0x03, 0x02, 0x02, 0x03,
    0x03, 0x03, 0x03, 0x04, 0x03, 0x03, 0x04, 0x05, 0x08, 0x05, 0x05, 0x04, 0x04, 0x05, 0x0a, 0x07,
    0x07, 0x06, 0x08, 0x0c, 0x0a, 0x0c, 0x0c, 0x0b, 0x0a, 0x0b, 0x0b, 0x0d, 0x0e, 0x12, 0x10, 0x0d,
    0x0e, 0x11, 0x0e, 0x0b, 0x0b, 0x10, 0x16, 0x10, 0x11, 0x13, 0x14, 0x15, 0x15, 0x15, 0x0c, 0x0f,
    0x17, 0x18, 0x16, 0x14, 0x18, 0x12, 0x14, 0x15, 0x14, 0xff, 0xc2, 0x00, 0x0b, 0x08, 0x00, 0x03,
    0x00, 0x05, 0x01, 0x01, 0x11, 0x00, 0xff, 0xc4, 0x00, 0x14, 0x00, 0x01, 0x00, 0x00, 0x00, 0x00,
    0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x03, 0xff, 0xda, 0x00, 0x08,
    0x01, 0x01, 0x00, 0x00, 0x00, 0x01, 0x6f, 0xff, 0xc4, 0x00, 0x16, 0x10, 0x01, 0x01, 0x01, 0x00,
    0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x05, 0x04, 0x13, 0xff,
    0xda, 0x00, 0x08, 0x01, 0x01, 0x00, 0x01, 0x05, 0x02, 0x3c, 0x88, 0xf1, 0xff, 0xc4, 0x00, 0x16,
    0x10, 0x00, 0x03, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
    0x00, 0x00, 0x02, 0x34, 0xff, 0xda, 0x00, 0x08, 0x01, 0x01, 0x00, 0x06, 0x3f, 0x02, 0x9d, 0x0f,
    0xff, 0xc4, 0x00, 0x15, 0x10, 0x01, 0x01, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
    0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0xd1, 0xff, 0xda, 0x00, 0x08, 0x01, 0x01, 0x00, 0x01, 0x3f,
    0x21, 0x92, 0x3f, 0xff, 0xda, 0x00, 0x08, 0x01, 0x01, 0x00, 0x00, 0x00, 0x10, 0x7f, 0xff, 0xc4,
    0x00, 0x18, 0x10, 0x00, 0x02, 0x03, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
    0x00, 0x00, 0x00, 0x00, 0x11, 0x41, 0x61, 0xd1, 0xff, 0xda, 0x00, 0x08, 0x01, 0x01, 0x00, 0x01,
    0x3f, 0x10, 0x4f, 0x54, 0xb4, 0xff, 0xd9};
static const unsigned char cmyk_jpg[] = {
    0xff, 0xd8, 0xff, 0xee, 0x00, 0x0e, 0x41, 0x64, 0x6f, 0x62, 0x65, 0x00, 0x64, 0x00, 0x00, 0x00,
    0x00, 0x00, 0xff, 0xdb, 0x00, 0x43, 0x00, 0x10, 0x0b, 0x0c, 0x0e, 0x0c, 0x0a, 0x10, 0x0e, 0x0d,
    0x0e, 0x12, 0x11, 0x10, 0x13, 0x18, 0x28, 0x1a, 0x18, 0x16, 0x16, 0x18, 0x31, 0x23, 0x25, 0x1d,
    0x28, 0x3a, 0x33, 0x3d, 0x3c, 0x39, 0x33, 0x38, 0x37, 0x40, 0x48, 0x5c, 0x4e, 0x40, 0x44, 0x57,
    0x45, 0x37, 0x38, 0x50, 0x6d, 0x51, 0x57, 0x5f, 0x62, 0x67, 0x68, 0x67, 0x3e, 0x4d, 0x71, 0x79,
    0x70, 0x64, 0x78, 0x5c, 0x65, 0x67, 0x63, 0xff, 0xc0, 0x00, 0x14, 0x08, 0x00, 0x03, 0x00, 0x05,
    0x04, 0x43, 0x11, 0x00, 0x4d, 0x11, 0x00, 0x59, 0x11, 0x00, 0x4b, 0x11, 0x00, 0xff, 0xc4, 0x00,
    0x17, 0x00, 0x00, 0x03, 0x01, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
    0x00, 0x00, 0x01, 0x04, 0x06, 0x07, 0xff, 0xc4, 0x00, 0x1d, 0x10, 0x00, 0x01, 0x02, 0x07, 0x00,
    0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x01, 0x03, 0x05, 0x06,
    0x15, 0x35, 0x54, 0x81, 0x91, 0xff, 0xda, 0x00, 0x0e, 0x04, 0x43, 0x00, 0x4d, 0x00, 0x59, 0x00,
    0x4b, 0x00, 0x00, 0x3f, 0x00, 0x5a, 0x57, 0xb6, 0xa6, 0x83, 0x45, 0x86, 0xe1, 0xb7, 0xc2, 0x90,
    0xd0, 0x0f, 0xff, 0xd9};

/* Pixels of these images as another decoder reads them. */
static const unsigned char colours[] = {1,   0,   202, 39,  1,   198, 81,  0,   199, 121, 0,   201,
                                        162, 1,   201, 1,   79,  205, 40,  80,  201, 81,  79,  202,
                                        121, 79,  203, 161, 79,  203, 2,   161, 200, 40,  163, 197,
                                        82,  162, 197, 121, 161, 197, 162, 162, 198};
static const unsigned char greys[] = {23,  34,  47,  59,  70,  70,  82, 94,
                                      107, 118, 118, 129, 142, 154, 165};

/* 1 if this build lacks libjpeg. */
static int no_jpeg(void) {
    sis_data *data;
    int code = sis_data_read(folder_write("try.jpg", grey_jpg, sizeof grey_jpg), NULL, &data);
    sis_data_free(data);
    if (code == SIS_E_UNSUPPORTED)
        assert_message_has("convert it to PNG");
    return code == SIS_E_UNSUPPORTED;
}

static void assert_pixels(const sis_data *data, size_t i, const unsigned char *want, size_t n) {
    double v[64];
    assert_int_equal(sis_data_width(data, i), n);
    assert_int_equal(sis_data_values(data, i, v), 0);
    for (size_t k = 0; k < n; k++)
        if (fabs(v[k] * 255 - want[k]) > 1.001)
            fail_msg("value %zu is %g, expected %d", k, v[k] * 255, want[k]);
}

static void jpeg_is_read(void **state) {
    (void)state;
    size_t rank;
    if (no_jpeg())
        return;
    sis_data *data = data_open(folder_write("c.jpg", colour_jpg, sizeof colour_jpg));
    const size_t *shape = sis_data_shape(data, 0, &rank);
    assert_string_equal(sis_data_kind(data), "image");
    assert_int_equal(rank, 3);
    assert_int_equal(shape[0], 3);
    assert_int_equal(shape[1], 5);
    assert_pixels(data, 0, colours, sizeof colours);
    sis_data_free(data);
    data = data_open(folder_write("g.JPEG", grey_jpg, sizeof grey_jpg));
    sis_data_shape(data, 0, &rank);
    assert_int_equal(rank, 2);
    assert_pixels(data, 0, greys, sizeof greys);
    sis_data_free(data);
    data = data_open(folder_write("wrong-ending.png", grey_jpg, sizeof grey_jpg));
    assert_pixels(data, 0, greys, sizeof greys);
    sis_data_free(data);
}

static void damaged_jpeg_is_said(void **state) {
    (void)state;
    unsigned char huge[sizeof grey_jpg];
    if (no_jpeg())
        return;
    data_refused(folder_text("d.jpg", ""), SIS_E_FORMAT, "is empty; expected a JPEG image");
    data_refused(folder_text("d.jpg", "GIF89a"), SIS_E_FORMAT, "not a JPEG image");
    data_refused(folder_write("d.jpg", colour_jpg, sizeof colour_jpg - 8), SIS_E_FORMAT, "damaged");
    data_refused(folder_write("d.jpg", cmyk_jpg, sizeof cmyk_jpg), SIS_E_UNSUPPORTED, "CMYK");
    memcpy(huge, grey_jpg, sizeof huge);
    for (size_t k = 0; k + 9 < sizeof huge; k++)
        if (huge[k] == 0xFF && huge[k + 1] == 0xC2)
            memcpy(huge + k + 5, "\xF0\x00\xF0\x00", 4); /* height and width */
    data_refused(folder_write("d.jpg", huge, sizeof huge), SIS_E_FORMAT, "61440 x 61440 pixels");
}

/* Many scans of almost no bytes, each over all pixels. */
static void endless_passes_are_refused(void **state) {
    (void)state;
    static unsigned char file[1 << 16];
    size_t n = 0, end = sizeof grey_jpg - 2, scan = 0;
    if (no_jpeg())
        return;
    for (size_t k = 0; k + 1 < end; k++)
        if (grey_jpg[k] == 0xFF && grey_jpg[k + 1] == 0xDA)
            scan = k;
    memcpy(file, grey_jpg, end);
    n = end;
    while (n + end - scan + 2 < sizeof file) {
        memcpy(file + n, grey_jpg + scan, end - scan);
        n += end - scan;
    }
    memcpy(file + n, grey_jpg + end, 2);
    sis_data *data;
    assert_int_equal(sis_data_read(folder_write("p.jpg", file, n + 2), NULL, &data), SIS_E_FORMAT);
    assert_null(data);
}

static void spoiled_files_do_no_harm(void **state) {
    (void)state;
    if (no_jpeg())
        return;
    with_spoiled_files("s.jpg", grey_jpg, sizeof grey_jpg, 500, data_read_spoiled);
    with_spoiled_files("s.jpg", colour_jpg, sizeof colour_jpg, 500, data_read_spoiled);
}

/* ---- Folders ------------------------------------------------------------------------------- */

static void put_png(const char *path, size_t height, size_t width, size_t channels, double v) {
    double pixels[64];
    for (size_t k = 0; k < height * width * channels; k++)
        pixels[k] = v + (double)k / 255;
    assert_int_equal(sis_png_write(path, pixels, (size_t[]){height, width, channels}), 0);
}

static const char *const parts[] = {"pets/cat/b.png", "pets/cat/a.PNG", "pets/dog/deep/a.png",
                                    "pets/z.png"};

/* pets: cat/a.PNG (2 x 2), cat/b.png (2 x 3, colours), dog/deep/a.png, z.png; and others. */
static const char *make_folder(void) {
    static const char *const folders[] = {"pets", "pets/cat", "pets/dog", "pets/dog/deep"};
    for (size_t k = 0; k < 4; k++)
        mkdir(folder_path(folders[k]), 0700);
    for (size_t k = 0; k < 4; k++)
        put_png(folder_path(parts[k]), 2, k == 0 ? 3 : 2, k == 0 ? 3 : 1, 0.1 * (double)k);
    folder_text("pets/readme.txt", "nothing");
    folder_text("pets/.hidden.png", "nothing");
    return folder_path("pets");
}

static void remove_folder(void) {
    static const char *const folders[] = {"pets/dog/deep", "pets/dog", "pets/cat", "pets"};
    for (size_t k = 0; k < 4; k++)
        unlink(folder_path(parts[k]));
    unlink(folder_path("pets/readme.txt"));
    unlink(folder_path("pets/.hidden.png"));
    for (size_t k = 0; k < 4; k++)
        rmdir(folder_path(folders[k]));
}

static void folders_are_read(void **state) {
    static const char *const ids[] = {"cat/a.PNG", "cat/b.png", "dog/deep/a.png", "z.png"};
    static const char *const labels[] = {"cat", "cat", "dog", NULL};
    char number[SIS_ID_SIZE];
    double v[64];
    (void)state;
    sis_data *data = data_open(make_folder());
    assert_int_equal(sis_data_count(data), 4);
    for (size_t i = 0; i < 4; i++) {
        assert_string_equal(sis_data_id(data, i, number), ids[i]);
        if (labels[i])
            assert_string_equal(sis_data_label(data, i), labels[i]);
        else
            assert_null(sis_data_label(data, i));
        assert_int_equal(sis_data_width(data, i), i == 1 ? 18 : 4);
    }
    assert_int_equal(sis_data_values(data, 3, v), 0);
    assert_true(fabs(v[1] - v[0] - 1.0 / 255) < 1e-9);
    assert_null(sis_data_note(data));
    put_png(folder_path("pets/z.png"), 3, 3, 1, 0);
    assert_int_equal(sis_data_values(data, 3, v), SIS_E_IO);
    assert_message_has("has changed");
    unlink(folder_path("pets/z.png"));
    assert_int_equal(sis_data_values(data, 3, v), SIS_E_IO);
    sis_data_free(data);
    remove_folder();
}

static void other_folders_are_refused(void **state) {
    char path[2048];
    (void)state;
    snprintf(path, sizeof path, "%s", folder_path("empty"));
    mkdir(path, 0700);
    data_refused(path, SIS_E_FORMAT, "a folder without images");
    sis_data_opt opt = {.size = sizeof opt, .label = "x"};
    sis_data *data;
    assert_int_equal(sis_data_read(path, &opt, &data), SIS_E_ARGUMENT);
    assert_message_has("has no named columns");
    assert_int_equal(symlink(".", folder_path("empty/loop")), 0);
    data_refused(path, SIS_E_FORMAT, "more than 16 deep");
    unlink(folder_path("empty/loop"));
    assert_int_equal(symlink("nowhere", folder_path("empty/README")), 0);
    data_refused(path, SIS_E_FORMAT, "a folder without images"); /* its name is not an image's */
    unlink(folder_path("empty/README"));
    assert_int_equal(symlink("nowhere", folder_path("empty/x.png")), 0);
    data_refused(path, SIS_E_IO, "cannot open ");
    unlink(folder_path("empty/x.png"));
    folder_text("empty/x.png", "no image");
    data_refused(path, SIS_E_FORMAT, "empty/x.png: not a PNG image");
    rename(folder_path("empty/x.png"), folder_path("empty/\xff.png"));
    data_refused(path, SIS_E_FORMAT, "not UTF-8");
    unlink(folder_path("empty/\xff.png"));
    rmdir(folder_path("empty"));
}

/* ---- Labels -------------------------------------------------------------------------------- */

static void label_with(const char *name, const char *text, const char *want) {
    sis_data_opt opt = {.size = sizeof opt, .labels = folder_text(name, text)};
    sis_data *data;
    if (sis_data_read(folder_path("pets"), &opt, &data) != 0)
        fail_msg("%s", sis_error_detail());
    for (size_t i = 0; i < sis_data_count(data); i++)
        assert_int_equal(sis_data_label(data, i)[0], want[i]);
    sis_data_free(data);
}

static void labels_refused(const char *name, const char *text, const char *part) {
    sis_data_opt opt = {.size = sizeof opt, .labels = folder_text(name, text)};
    sis_data *data;
    assert_int_equal(sis_data_read(folder_path("pets"), &opt, &data), SIS_E_FORMAT);
    assert_null(data);
    assert_message_has(part);
}

static void labels_may_have_a_file(void **state) {
    (void)state;
    make_folder();
    label_with("l.csv", "name,what\nz,k\ncat/b.png,l\ncat/a,m\ndog/deep/a.png,n\nother,9\n",
               "mlnk");
    label_with("l.tsv", "z.png\tx\tmore\ncat/a.PNG\ty\tx\nb.png\tz\t\ndog/deep/a\tq\t\n", "yzqx");
    label_with("l.csv.gz", "z,k\ncat/b.png,l\ncat/a,m\ndog/deep/a.png,n\n", "mlnk");
    label_with("L.CSV", "z,k\ncat/b.png,l\ncat/a,m\ndog/deep/a.png,n\n", "mlnk");
    label_with("x-ubyte.csv", "z,k\ncat/b.png,l\ncat/a,m\ndog/deep/a.png,n\n", "mlnk");
    label_with("l.txt", "p\nq\nr\ns\n", "pqrs");
    label_with("l.txt", "label\np\nq\nr\ns\n", "pqrs");
    labels_refused("l.txt", "p\nq\n", "has 2 labels for 4 examples");
    labels_refused("l.csv", "z,1\n", "has no label for \"cat/a.PNG\"");
    labels_refused("l.csv", "z,1\nz,2\n", "two labels for \"z\"");
    labels_refused("l.csv", "z,1\ny\n", "some rows have one cell");
    labels_refused("l.csv", "z,\xff\n", "not UTF-8");
    labels_refused("l.csv", "\n", "contains no labels");
    double numbers[] = {4, 3, 2, 0.5};
    sis_data_opt opt = {.size = sizeof opt, .labels = folder_path("l.npy")};
    sis_data *data;
    assert_int_equal(sis_npy_write(opt.labels, numbers, 1, (size_t[]){4}), 0);
    assert_int_equal(sis_data_read(folder_path("pets"), &opt, &data), 0);
    assert_string_equal(sis_data_label(data, 3), "0.5");
    assert_string_equal(sis_data_label(data, 0), "4");
    sis_data_free(data);
    remove_folder();
}

/* ---- Arrays as images ---------------------------------------------------------------------- */

static sis_data *read_as(const char *path, const sis_data_opt *opt) {
    sis_data *data;
    if (sis_data_read(path, opt, &data) != 0)
        fail_msg("%s", sis_error_detail());
    return data;
}

static void arrays_may_be_images(void **state) {
    double values[2 * 3 * 4 * 5], row[60];
    int map[60];
    size_t rank;
    (void)state;
    for (size_t k = 0; k < 120; k++)
        values[k] = (double)k;
    const char *path = folder_path("chw.npy");
    assert_int_equal(sis_npy_write(path, values, 4, (size_t[]){2, 3, 4, 5}), 0);
    for (int given = 0; given < 2; given++) {
        sis_data *data = read_as(path, &(sis_data_opt){.size = sizeof(sis_data_opt),
                                                       .kind = "image",
                                                       .layout = given ? "chw" : NULL});
        const size_t *shape = sis_data_shape(data, 1, &rank);
        assert_string_equal(sis_data_kind(data), "image");
        assert_int_equal(rank, 3);
        assert_int_equal(shape[0], 4);
        assert_int_equal(shape[1], 5);
        assert_int_equal(shape[2], 3);
        assert_int_equal(sis_data_values(data, 1, row), 0);
        for (size_t p = 0; p < 20; p++)
            for (size_t c = 0; c < 3; c++)
                assert_true(row[p * 3 + c] == values[60 + c * 20 + p]);
        assert_int_equal(sis_data_features(data, 0, map), 20);
        assert_int_equal(map[4], 1);
        sis_data_free(data);
    }
    sis_data *data = read_as(path, &(sis_data_opt){.size = sizeof(sis_data_opt), .layout = "hwc"});
    assert_int_equal(sis_data_features(data, 0, NULL), 12);
    sis_data_free(data);
    static const struct {
        size_t rank, dims[5];
        const char *kind, *layout, *part;
    } wrong[] = {
        {4, {1, 3, 4, 3}, "image", NULL, "images of shape (3, 4, 3) may have"},
        {2, {1, 5}, "image", NULL, "an example has 1 axis"},
        {2, {1, 5}, "photo", NULL, "--kind: expected image"},
        {4, {1, 3, 4, 5}, "image", "whc", "--layout: expected chw or hwc"},
    };
    for (size_t k = 0; k < sizeof wrong / sizeof *wrong; k++) {
        sis_data_opt opt = {.size = sizeof opt, .kind = wrong[k].kind, .layout = wrong[k].layout};
        assert_int_equal(sis_npy_write(path, values, wrong[k].rank, wrong[k].dims), 0);
        assert_true(sis_data_read(path, &opt, &data) < 0);
        assert_null(data);
        assert_message_has(wrong[k].part);
    }
    assert_true(sis_data_read(folder_text("t.csv", "a,b\n1,2\n"),
                              &(sis_data_opt){.size = sizeof(sis_data_opt), .kind = "image"},
                              &data) < 0);
    assert_message_has("found a table");
}

/* ---- Other sizes --------------------------------------------------------------------------- */

/* A line of pixels as a function: pixel k covers k to k + 1; linear between centres. */
static double line_at(const double *in, size_t n, double x) {
    double at = fmin(fmax(x - 0.5, 0), (double)(n - 1));
    size_t k = (size_t)at < n - 1 ? (size_t)at : n - 1, next = k + 1 < n ? k + 1 : k;
    return in[k] + (at - (double)k) * (in[next] - in[k]);
}

/* Each new pixel is cut into n pieces, each inside one old pixel. */
static double slow_pixel(const double *in, size_t n, size_t i, size_t m) {
    double sum = 0;
    if (m >= n)
        return line_at(in, n, ((double)i + 0.5) * (double)n / (double)m);
    for (size_t k = 0; k < n; k++)
        sum += in[(i * n + k) / m];
    return sum / (double)n;
}

static void other_sizes_are_averages_or_between(void **state) {
    (void)state;
    sis__rng r;
    sis__rng_init(&r, 11);
    for (size_t round = 0; round < rounds(120); round++) {
        size_t from[3] = {1 + sis__rng_below(&r, 7), 1 + sis__rng_below(&r, 7), round % 3 ? 1 : 3};
        size_t to[3] = {1 + sis__rng_below(&r, 9), 1 + sis__rng_below(&r, 9), round % 2 ? 1 : 3};
        double in[7 * 7 * 3], grey[7 * 7], rows[9 * 7], line[9], out[9 * 9 * 3];
        for (size_t k = 0; k < from[0] * from[1] * from[2]; k++)
            in[k] = sis__rng_uniform(&r);
        assert_int_equal(sis__image_resize(in, from, out, to), 0);
        for (size_t c = 0; c < to[2]; c++) {
            for (size_t p = 0; p < from[0] * from[1]; p++)
                grey[p] = from[2] == 1 ? in[p]
                          : to[2] == 3
                              ? in[3 * p + c]
                              : 0.299 * in[3 * p] + 0.587 * in[3 * p + 1] + 0.114 * in[3 * p + 2];
            for (size_t x = 0; x < from[1]; x++) {
                for (size_t y = 0; y < from[0]; y++)
                    line[y] = grey[y * from[1] + x];
                for (size_t y = 0; y < to[0]; y++)
                    rows[y * from[1] + x] = slow_pixel(line, from[0], y, to[0]);
            }
            for (size_t y = 0; y < to[0]; y++)
                for (size_t x = 0; x < to[1]; x++)
                    assert_true(fabs(slow_pixel(rows + y * from[1], from[1], x, to[1]) -
                                     out[(y * to[1] + x) * to[2] + c]) < 1e-12);
        }
    }
    double four[4] = {0};
    assert_int_equal(sis__image_resize(four, (size_t[]){1, 1, 4}, four, (size_t[]){1, 1, 3}),
                     SIS_E_UNSUPPORTED);
}

static void images_fit_and_say_so(void **state) {
    double v[64];
    size_t rank;
    (void)state;
    sis_data *data =
        read_as(make_folder(), &(sis_data_opt){.size = sizeof(sis_data_opt), .fit = {2, 2, 1}});
    assert_string_equal(sis_data_note(data), "1 of 4 images fitted to 2 x 2 pixels, grey");
    for (size_t i = 0; i < 4; i++) {
        const size_t *shape = sis_data_shape(data, i, &rank);
        assert_true(rank == 2 && shape[0] == 2 && shape[1] == 2);
        assert_int_equal(sis_data_values(data, i, v), 0);
    }
    sis_data_free(data);
    assert_int_equal(sis_data_read(folder_text("t.csv", "a,b\n1,2\n"),
                                   &(sis_data_opt){.size = sizeof(sis_data_opt), .fit = {2, 2, 1}},
                                   &data),
                     SIS_E_ARGUMENT);
    assert_message_has("--fit needs images");
    remove_folder();
}

/* ---- Memory -------------------------------------------------------------------------------- */

static int read_folder_once(void *ctx) {
    double v[64];
    sis_data *data;
    const sis_data_opt opt = {.size = sizeof opt, .fit = {2, 2, 3}, .labels = (const char *)ctx};
    int code = sis_data_read(folder_path("pets"), &opt, &data);
    for (size_t i = 0; code == 0 && i < sis_data_count(data); i++)
        code = sis_data_values(data, i, v);
    sis_data_free(data);
    return code;
}

static void failing_allocations_are_reported(void **state) {
    char path[2048];
    (void)state;
    make_folder();
    snprintf(path, sizeof path, "%s", folder_text("l.csv", "a,1\nb,2\nz,3\n"));
    assert_true(with_failing_allocations(read_folder_once, path) > 20);
    remove_folder();
    if (no_jpeg())
        return;
    snprintf(path, sizeof path, "%s", folder_write("m.jpg", colour_jpg, sizeof colour_jpg));
    assert_true(with_failing_allocations(data_read_once, path) > 3);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(jpeg_is_read),
        cmocka_unit_test(damaged_jpeg_is_said),
        cmocka_unit_test(endless_passes_are_refused),
        cmocka_unit_test(spoiled_files_do_no_harm),
        cmocka_unit_test(folders_are_read),
        cmocka_unit_test(other_folders_are_refused),
        cmocka_unit_test(labels_may_have_a_file),
        cmocka_unit_test(arrays_may_be_images),
        cmocka_unit_test(other_sizes_are_averages_or_between),
        cmocka_unit_test(images_fit_and_say_so),
        cmocka_unit_test(failing_allocations_are_reported),
    };
    return cmocka_run_group_tests(tests, folder_make, folder_remove);
}
