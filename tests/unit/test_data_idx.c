/* SPDX-License-Identifier: MIT
 *
 * IDX arrays and gzipped files: images with their labels, every type, every kind of damage.
 */
#include "support_data.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <zlib.h>

#include <sis/data.h>
#include <sis/files.h>

/* Two images of 2 x 3 pixels. */
static const unsigned char images[] = {0, 0, 8, 3,  0,   0,   0,   2,   0, 0, 0, 2, 0, 0,
                                       0, 3, 0, 51, 102, 153, 204, 255, 1, 2, 3, 4, 5, 6};
static const unsigned char labels[] = {0, 0, 8, 1, 0, 0, 0, 2, 7, 9};

/* Write bytes gzipped, in `members` members. */
static const char *folder_gzip(const char *name, const void *bytes, size_t n, size_t members) {
    const char *path = folder_path(name);
    for (size_t k = 0; k < members; k++) {
        gzFile f = gzopen(path, k ? "ab" : "wb");
        size_t from = n * k / members, to = n * (k + 1) / members;
        assert_non_null(f);
        if (to > from)
            assert_int_equal(gzwrite(f, (const char *)bytes + from, (unsigned)(to - from)),
                             (int)(to - from));
        assert_int_equal(gzclose(f), Z_OK);
    }
    return path;
}

static void forget(const char *name) {
    remove(folder_path(name));
}

static void refused(const char *path, const char *part) {
    data_refused(path, SIS_E_FORMAT, part);
}

static void holds_images(sis_data *data) {
    double row[6];
    size_t rank;
    const size_t *shape = sis_data_shape(data, 0, &rank);
    assert_string_equal(sis_data_kind(data), "image");
    assert_int_equal(sis_data_count(data), 2);
    assert_int_equal(rank, 2);
    assert_int_equal(shape[0], 2);
    assert_int_equal(shape[1], 3);
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(sis_data_values(data, i, row), 0);
        for (size_t k = 0; k < 6; k++)
            assert_true(row[k] == images[16 + 6 * i + k] / 255.0);
    }
    sis_data_free(data);
}

static void images_are_read_packed_or_not(void **state) {
    (void)state;
    static const char *const names[] = {"a.idx", "b-idx3-ubyte", "c.idx.gz", "d-ubyte.GZ"};
    for (size_t i = 0; i < 4; i++) {
        holds_images(data_open(folder_write(names[i], images, sizeof images)));
        holds_images(data_open(folder_gzip(names[i], images, sizeof images, 1)));
        holds_images(data_open(folder_gzip(names[i], images, sizeof images, 5)));
    }
}

static void channels_are_where_one_says(void **state) {
    unsigned char bytes[20 + 24] = {0, 0, 8, 4, 0, 0, 0, 1, 0, 0, 0, 3, 0, 0, 0, 2, 0, 0, 0, 4};
    static const char *const layouts[] = {NULL, "hwc", "chw"};
    double row[24];
    size_t rank;
    (void)state;
    for (unsigned char k = 0; k < 24; k++)
        bytes[20 + k] = k;
    const char *path = folder_write("colours.idx", bytes, sizeof bytes);
    for (size_t i = 0; i < 3; i++) {
        sis_data *data;
        assert_int_equal(
            sis_data_read(path, &(sis_data_opt){.size = sizeof(sis_data_opt), .layout = layouts[i]},
                          &data),
            0);
        const size_t *shape = sis_data_shape(data, 0, &rank);
        assert_string_equal(sis_data_kind(data), "image");
        assert_int_equal(shape[0], i < 2 ? 3 : 2);
        assert_int_equal(shape[2], i < 2 ? 4 : 3);
        assert_int_equal(sis_data_features(data, 0, NULL), i < 2 ? 6 : 8);
        assert_int_equal(sis_data_values(data, 0, row), 0);
        assert_true(row[1] == (i < 2 ? 1 : 8) / 255.0);
        sis_data_free(data);
    }
}

static void labels_are_found_beside(void **state) {
    (void)state;
    const char *const pairs[][2] = {{"t-images-idx3-ubyte", "t-labels-idx1-ubyte"},
                                    {"t-images-idx3-ubyte.gz", "t-labels-idx1-ubyte.gz"},
                                    {"t-images-idx3-ubyte.gz", "t-labels-idx1-ubyte"},
                                    {"t-images-idx3-ubyte", "t-labels-idx1-ubyte.gz"},
                                    {"images.idx", "labels.idx"}};
    for (size_t i = 0; i < 5; i++) {
        folder_write(pairs[i][1], labels, sizeof labels);
        sis_data *data = data_open(folder_write(pairs[i][0], images, sizeof images));
        double v;
        assert_string_equal(sis_data_label(data, 0), "7");
        assert_string_equal(sis_data_label(data, 1), "9");
        assert_true(sis_data_label_number(data, 1, &v) && v == 9);
        holds_images(data);
        forget(pairs[i][1]);
        data = data_open(folder_path(pairs[i][0]));
        assert_null(sis_data_label(data, 0));
        assert_false(sis_data_label_number(data, 0, &v));
        sis_data_free(data);
        forget(pairs[i][0]);
    }
    sis_data *data = data_open(folder_write("labels.idx", labels, sizeof labels));
    double v;
    assert_string_equal(sis_data_kind(data), "array");
    assert_int_equal(sis_data_width(data, 1), 1);
    assert_int_equal(sis_data_values(data, 1, &v), 0);
    assert_true(v == 9);
    assert_string_equal(sis_data_label(data, 1), "9");
    sis_data_free(data);
}

static void labels_must_fit(void **state) {
    (void)state;
    static const unsigned char three[] = {0, 0, 8, 1, 0, 0, 0, 3, 7, 9, 1};
    const char *path = folder_write("f-images-idx3-ubyte", images, sizeof images);
    folder_write("f-labels-idx1-ubyte", three, sizeof three);
    refused(path,
            "f-labels-idx1-ubyte: 3 numbers along 1 axis; expected a label for each of the 2");
    folder_write("f-labels-idx1-ubyte", images, sizeof images);
    refused(path, "12 numbers along 3 axes");
    static const unsigned char two[] = {0, 0, 8, 1, 0, 0, 0, 2, 7};
    folder_write("f-labels-idx1-ubyte", two, sizeof two);
    refused(path, "f-labels-idx1-ubyte: cut off");
}

static void every_type_is_read(void **state) {
    (void)state;
    static const unsigned char f8[] = {0, 0, 14, 1, 0, 0, 0, 1, 0xC0, 4, 0, 0, 0, 0, 0, 0};
    static const unsigned char f4[] = {0, 0, 13, 1, 0, 0, 0, 1, 0xC0, 0x20, 0, 0};
    static const unsigned char i4[] = {0, 0, 12, 1, 0, 0, 0, 1, 0xFF, 0xFF, 0xFF, 0};
    static const unsigned char i2[] = {0, 0, 11, 1, 0, 0, 0, 1, 0xFF, 0};
    static const unsigned char i1[] = {0, 0, 9, 1, 0, 0, 0, 1, 0xFE};
    const struct {
        const unsigned char *bytes;
        size_t n;
        double value;
    } cases[] = {{f8, sizeof f8, -2.5},
                 {f4, sizeof f4, -2.5},
                 {i4, sizeof i4, -256},
                 {i2, sizeof i2, -256},
                 {i1, sizeof i1, -2}};
    for (size_t i = 0; i < 5; i++) {
        sis_data *data = data_open(folder_write("n.idx", cases[i].bytes, cases[i].n));
        double v;
        assert_int_equal(sis_data_values(data, 0, &v), 0);
        assert_true(v == cases[i].value);
        assert_true(sis_data_label_number(data, 0, &v) && v == cases[i].value);
        sis_data_free(data);
    }
}

static void damage_is_said(void **state) {
    (void)state;
    unsigned char bad[sizeof images + 1];
    memcpy(bad, images, sizeof images);
    bad[sizeof images] = 0;
    refused(folder_write("x.idx", bad, sizeof bad), "x.idx: continues after the 12 bytes");
    refused(folder_write("x.idx", bad, 20),
            "x.idx: cut off: its shape needs 12 bytes of numbers, found 4");
    refused(folder_write("x.idx", bad, 14), "x.idx: cut off in the IDX header, after 14 bytes");
    refused(folder_write("x.idx", bad, 3), "x.idx: cut off in the IDX header");
    refused(folder_write("x.idx", bad, 0), "x.idx: cut off in the IDX header");
    bad[2] = 7;
    refused(folder_write("x.idx", bad, sizeof images),
            "not an IDX file: it begins with the bytes 00 00 07 03");
    bad[2] = 8;
    bad[3] = 0;
    refused(folder_write("x.idx", bad, sizeof images), "has 0 axes");
    bad[3] = 3;
    bad[7] = 0;
    refused(folder_write("x.idx", bad, sizeof images), "axis 0 has length 0");
    memset(bad + 4, 0xFF, 12);
    refused(folder_write("x.idx", bad, sizeof images), "impossibly large");
    memset(bad + 8, 0, 8);
    bad[11] = bad[15] = 1;
    refused(folder_write("x.idx", bad, sizeof images), "needs 4294967295 bytes");
    refused(folder_gzip("x.idx.gz", bad, sizeof images, 1), "says 4294967295 bytes");
    refused(folder_text("x.idx", "PK\3\4 not at all"), "not an IDX file");
}

static void damaged_gzip_is_said(void **state) {
    (void)state;
    size_t n;
    char *bytes = file_bytes(folder_gzip("z.idx.gz", images, sizeof images, 1), &n);
    for (size_t cut = 2; cut < n; cut++)
        refused(folder_write("z.idx.gz", bytes, cut), "z.idx.gz: the compressed file is cut off");
    bytes[n - 1] ^= 1;
    refused(folder_write("z.idx.gz", bytes, n), "z.idx.gz: the compressed file is damaged");
    bytes[n - 1] ^= 1;
    bytes[2] = 3;
    refused(folder_write("z.idx.gz", bytes, n), "z.idx.gz: the compressed file is damaged");
    free(bytes);
}

static void spoiled_files_do_no_harm(void **state) {
    (void)state;
    size_t n;
    with_spoiled_files("s.idx", images, sizeof images, 2000, data_read_spoiled);
    char *bytes = file_bytes(folder_gzip("s.idx.gz", images, sizeof images, 2), &n);
    with_spoiled_files("s.idx.gz", bytes, n, 2000, data_read_spoiled);
    free(bytes);
}

static void failing_allocations_are_reported(void **state) {
    (void)state;
    char path[2048];
    folder_gzip("m-labels-idx1-ubyte.gz", labels, sizeof labels, 1);
    snprintf(path, sizeof path, "%s", folder_gzip("m-images-idx3-ubyte", images, sizeof images, 1));
    assert_true(with_failing_allocations(data_read_once, path) > 5);
}

static void digests_are_those_of_the_standard(void **state) {
    (void)state;
    const struct {
        const char *text, *digest;
    } cases[] = {
        {"", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"},
        {"abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"},
        {"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
         "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"},
    };
    char digest[SIS_DIGEST_SIZE];
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(sis_file_digest(folder_text("d", cases[i].text), digest), 0);
        assert_string_equal(digest, cases[i].digest);
        folder_gzip("d.gz", cases[i].text, strlen(cases[i].text), 1);
        assert_int_equal(sis_file_digest(folder_path("d.gz"), digest), 0);
        assert_string_equal(digest, cases[i].digest);
    }
    char *million = (char *)malloc(1000000);
    memset(million, 'a', 1000000);
    assert_int_equal(sis_file_digest(folder_write("d", million, 1000000), digest), 0);
    assert_string_equal(digest, "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
    free(million);
    assert_int_equal(sis_file_digest(folder_path("absent"), digest), SIS_E_IO);
    assert_string_equal(digest, "");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(images_are_read_packed_or_not),
        cmocka_unit_test(channels_are_where_one_says),
        cmocka_unit_test(labels_are_found_beside),
        cmocka_unit_test(labels_must_fit),
        cmocka_unit_test(every_type_is_read),
        cmocka_unit_test(damage_is_said),
        cmocka_unit_test(damaged_gzip_is_said),
        cmocka_unit_test(spoiled_files_do_no_harm),
        cmocka_unit_test(failing_allocations_are_reported),
        cmocka_unit_test(digests_are_those_of_the_standard),
    };
    return cmocka_run_group_tests(tests, folder_make, folder_remove);
}
