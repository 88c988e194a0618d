/* SPDX-License-Identifier: MIT
 *
 * .npy files: every type, order and version; wrong shapes; truncated, damaged and hostile files.
 */
#include "support_data.h"

#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <sis/data.h>
#include <sis/files.h>

#include "base/rng.h"

static void refused(const char *path, int code, const char *part) {
    data_refused(path, code, part);
    assert_message_has("a.npy");
}

static void arrays_are_read_in_every_version(void **state) {
    (void)state;
    const float numbers[] = {1, 2, 3, 4, 5, 0.1f};
    for (int major = 1; major <= 3; major++) {
        npy_image m;
        npy_image_make(&m, major,
                       "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }   \n", numbers,
                       sizeof numbers);
        sis_data *data;
        double row[3];
        size_t rank;
        char number[SIS_ID_SIZE];
        assert_int_equal(sis_data_read(npy_image_file(&m), NULL, &data), 0);
        assert_int_equal(sis_data_count(data), 2);
        assert_int_equal(sis_data_width(data, 1), 3);
        assert_int_equal(sis_data_shape(data, 0, &rank)[0], 3);
        assert_int_equal(rank, 1);
        assert_string_equal(sis_data_kind(data), "array");
        assert_string_equal(sis_data_id(data, 1, number), "1");
        assert_null(sis_data_names(data));
        assert_null(sis_data_label(data, 0));
        assert_int_equal(sis_data_values(data, 1, row), 0);
        assert_true(row[0] == 4 && row[1] == 5 && row[2] == (double)0.1f);
        assert_int_equal(sis_data_values(data, 2, row), SIS_E_ARGUMENT);
        assert_message_has("no example 2; the file has 2");
        sis_data_free(data);
    }
    sis_data_free(NULL);
}

/* The two numbers 1 and `second` in each type, as little-endian bytes. */
static void every_type_and_byte_order_is_read(void **state) {
    (void)state;
    const struct {
        const char *type;
        size_t size;
        double second;
        unsigned char bytes[16];
    } cases[] = {
        {"f2", 2, -2, {0x00, 0x3C, 0x00, 0xC0}},
        {"f2", 2, 0x1p-24, {0x00, 0x3C, 0x01, 0x00}},
        {"f2", 2, 65504, {0x00, 0x3C, 0xFF, 0x7B}},
        {"f2", 2, 0x1.554p-2, {0x00, 0x3C, 0x55, 0x35}},
        {"f4", 4, -1.5, {0, 0, 0x80, 0x3F, 0, 0, 0xC0, 0xBF}},
        {"f8", 8, -1.5, {0, 0, 0, 0, 0, 0, 0xF0, 0x3F, 0, 0, 0, 0, 0, 0, 0xF8, 0xBF}},
        {"i1", 1, -2, {1, 0xFE}},
        {"i2", 2, -2, {1, 0, 0xFE, 0xFF}},
        {"i4", 4, -2, {1, 0, 0, 0, 0xFE, 0xFF, 0xFF, 0xFF}},
        {"i8", 8, -0x1p63, {1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x80}},
        {"u1", 1, 254, {1, 0xFE}},
        {"u2", 2, 65534, {1, 0, 0xFE, 0xFF}},
        {"u4", 4, 4294967294.0, {1, 0, 0, 0, 0xFE, 0xFF, 0xFF, 0xFF}},
        {"u8", 8, 0x1p63, {1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x80}},
        {"b1", 1, 1, {1, 0xFE}},
    };
    for (size_t c = 0; c < 2 * sizeof cases / sizeof *cases; c++) {
        size_t size = cases[c / 2].size;
        unsigned char bytes[16];
        char header[128];
        for (size_t i = 0; i < 2 * size; i++) /* big endian: each number back to front */
            bytes[c % 2 ? i / size * size + size - 1 - i % size : i] = cases[c / 2].bytes[i];
        snprintf(header, sizeof header,
                 "{\"shape\":(2,),\"fortran_order\":True,\"descr\":\"%c%s\"}",
                 size == 1 ? '|'
                 : c % 2   ? '>'
                           : '<',
                 cases[c / 2].type);
        sis_data *data;
        double one, two;
        assert_int_equal(sis_data_read(npy_file(header, bytes, 2 * size), NULL, &data), 0);
        assert_int_equal(sis_data_count(data), 2);
        assert_int_equal(sis_data_width(data, 0), 1);
        assert_int_equal(sis_data_values(data, 0, &one), 0);
        assert_int_equal(sis_data_values(data, 1, &two), 0);
        assert_true(one == 1 && two == cases[c / 2].second);
        sis_data_free(data);
    }
}

/* The element at `index` of an array of these dims, in either order. */
static size_t place(size_t rank, const size_t *dims, const size_t *index, int fortran) {
    size_t at = 0;
    for (size_t k = 0; k < rank; k++) {
        size_t axis = fortran ? rank - 1 - k : k;
        at = at * dims[axis] + index[axis];
    }
    return at;
}

static void both_orders_agree_for_every_shape(void **state) {
    (void)state;
    sis__rng r;
    sis__rng_init(&r, 3);
    for (int round = 0; round < 300; round++) {
        size_t rank = 1 + sis__rng_below(&r, 5), dims[5], n = 1;
        uint16_t c[1024], f[1024];
        char header[256], shape[128] = "";
        for (size_t k = 0; k < rank; k++) {
            n *= dims[k] = 1 + sis__rng_below(&r, 4);
            snprintf(shape + strlen(shape), sizeof shape - strlen(shape), "%zu, ", dims[k]);
        }
        for (size_t i = 0; i < n; i++) {
            size_t index[5], rest = i;
            for (size_t k = rank; k-- > 0; rest /= dims[k])
                index[k] = rest % dims[k];
            c[place(rank, dims, index, 0)] = f[place(rank, dims, index, 1)] =
                (uint16_t)sis__rng_next(&r);
        }
        for (int fortran = 0; fortran < 2; fortran++) {
            snprintf(header, sizeof header, "{'descr':'=u2','fortran_order':%s,'shape':(%s)}",
                     fortran ? "True" : "False", shape);
            const char *path = npy_file(header, fortran ? f : c, 2 * n);
            sis_data *data;
            sis_array array;
            double row[1024];
            size_t example_rank;
            assert_int_equal(sis_data_read(path, NULL, &data), 0);
            assert_int_equal(sis_data_count(data), dims[0]);
            size_t width = sis_data_width(data, 0);
            assert_int_equal(width, n / dims[0]);
            const size_t *example = sis_data_shape(data, 0, &example_rank);
            assert_int_equal(example_rank, rank > 1 ? rank - 1 : 1);
            for (size_t k = 1; k < rank; k++)
                assert_int_equal(example[k - 1], dims[k]);
            for (size_t i = 0; i < dims[0]; i++) {
                assert_int_equal(sis_data_values(data, i, row), 0);
                for (size_t k = 0; k < width; k++)
                    assert_true(row[k] == c[i * width + k]);
            }
            assert_int_equal(sis_array_read(path, &array), 0);
            assert_int_equal(array.n, n);
            assert_int_equal(array.rank, rank);
            for (size_t i = 0; i < n; i++)
                assert_true(array.values[i] == c[i]);
            sis_array_release(&array);
            sis_data_free(data);
        }
    }
}

/* Before one number of eight bytes. */
static const struct {
    const char *header;
    int code;
    const char *part;
} HEADERS[] = {
    {"", SIS_E_FORMAT, "expected '{'"},
    {"{", SIS_E_FORMAT, "expected a string"},
    {"{}", SIS_E_FORMAT, "'descr' is missing"},
    {"{'descr': '<f8', 'shape': (1,)}", SIS_E_FORMAT, "'fortran_order' is missing"},
    {"{'descr': '<f8', 'fortran_order': False}", SIS_E_FORMAT, "'shape' is missing"},
    {"{'descr': '<f8', 'fortran_order': False, 'shape': (1,), 'more': 1}", SIS_E_FORMAT,
     "once each"},
    {"{'descr': '<f8', 'descr': '<f8', 'fortran_order': False, 'shape': (1,)}", SIS_E_FORMAT,
     "once each"},
    {"{'descr': '<f8' 'fortran_order': False, 'shape': (1,)}", SIS_E_FORMAT, "expected ','"},
    {"{'descr' '<f8', 'fortran_order': False, 'shape': (1,)}", SIS_E_FORMAT, "expected ':'"},
    {"{'descr': '<f8', 'fortran_order': false, 'shape': (1,)}", SIS_E_FORMAT, "True or False"},
    {"{'descr': '<f8', 'fortran_order': 0, 'shape': (1,)}", SIS_E_FORMAT, "True or False"},
    {"{'descr': '<f8', 'fortran_order': False, 'shape': (1)}", SIS_E_FORMAT, "expected ','"},
    {"{'descr': '<f8', 'fortran_order': False, 'shape': [1]}", SIS_E_FORMAT, "expected '('"},
    {"{'descr': '<f8', 'fortran_order': False, 'shape': (-1,)}", SIS_E_FORMAT, "expected a number"},
    {"{'descr': '<f8', 'fortran_order': False, 'shape': (1,,)}", SIS_E_FORMAT, "expected a number"},
    {"{'descr': '<f8', 'fortran_order': False, 'shape': (1.0,)}", SIS_E_FORMAT, "expected ','"},
    {"{'descr': '<f8', 'fortran_order': False, 'shape': (1,)} x", SIS_E_FORMAT, "nothing more"},
    {"{'descr': '<f\\x38', 'fortran_order': False, 'shape': (1,)}", SIS_E_FORMAT, "a string"},
    {"{'descr': '<f8, 'fortran_order': False, 'shape': (1,)}", SIS_E_UNSUPPORTED, "<f8, "},
    {"{'descr': '<f8', 'fortran_order': False, 'shape': (99999999999999999999,)}", SIS_E_FORMAT,
     "impossibly large"},
    {"{'descr': '<f8', 'fortran_order': False, 'shape': (18446744073709551617,)}", SIS_E_FORMAT,
     "impossibly large"}, /* 1 if it overflowed */
    {"{'descr': '<f8', 'fortran_order': False, 'shape': (4294967296, 4294967296)}", SIS_E_FORMAT,
     "impossibly large"},
    {"{'descr': '<f8', 'fortran_order': False, 'shape': (0, 4294967296, 4294967296)}", SIS_E_FORMAT,
     "impossibly large"},
    {"{'descr': '<f8', 'fortran_order': False, 'shape': (1000000, 1000000)}", SIS_E_FORMAT,
     "needs 8000000000000 bytes of numbers, found 8"},
    {"{'descr': '<f8', 'fortran_order': False, 'shape': (2,)}", SIS_E_FORMAT, "found 8"},
    {"{'descr': '<f4', 'fortran_order': False, 'shape': (1,)}", SIS_E_FORMAT, "continues after"},
    {"{'descr': '<f8', 'fortran_order': False, 'shape': ()}", SIS_E_FORMAT, "single number"},
    {"{'descr': '<f8', 'fortran_order': False, 'shape': (1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,"
     "1,1,1,1,1,1,1,1,1,1,1,1,1,1,1)}",
     SIS_E_UNSUPPORTED, "more than 32 dimensions"},
    {"{'descr': [('a', '<f8')], 'fortran_order': False, 'shape': (1,)}", SIS_E_UNSUPPORTED,
     "structured"},
    {"{'descr': '|O', 'fortran_order': False, 'shape': (1,)}", SIS_E_UNSUPPORTED, "type |O"},
    {"{'descr': '<U2', 'fortran_order': False, 'shape': (1,)}", SIS_E_UNSUPPORTED, "type <U2"},
    {"{'descr': '<c8', 'fortran_order': False, 'shape': (1,)}", SIS_E_UNSUPPORTED, "type <c8"},
    {"{'descr': '<f16', 'fortran_order': False, 'shape': (1,)}", SIS_E_UNSUPPORTED, "<f16"},
    {"{'descr': '|f8', 'fortran_order': False, 'shape': (1,)}", SIS_E_UNSUPPORTED, "|f8"},
    {"{'descr': 'f8', 'fortran_order': False, 'shape': (1,)}", SIS_E_UNSUPPORTED, "type f8"},
    {"{'descr': '', 'fortran_order': False, 'shape': (1,)}", SIS_E_UNSUPPORTED, "of type ;"},
};

static void headers_are_read_strictly(void **state) {
    (void)state;
    const double one = 1;
    for (size_t i = 0; i < sizeof HEADERS / sizeof *HEADERS; i++)
        refused(npy_file(HEADERS[i].header, &one, sizeof one), HEADERS[i].code, HEADERS[i].part);
    refused(npy_file("{'descr': '<f8', 'fortran_order': False, 'shape': (3, 0)}", NULL, 0),
            SIS_E_FORMAT, "without values");
    refused(npy_file("{'descr': '<f8', 'fortran_order': False, 'shape': (0, 3)}", NULL, 0),
            SIS_E_FORMAT, "at least one example");
    sis_data *data;
    assert_int_equal(
        sis_data_read(npy_file("{ 'shape' :( 1L , 1 , ) ,'descr': '<f8',\n'fortran_order':"
                               "False,}\r\n\t",
                               &one, sizeof one),
                      NULL, &data),
        0);
    sis_data_free(data);
}

static void files_that_are_no_npy_say_so(void **state) {
    (void)state;
    npy_image m;
    refused(folder_text("a.npy", ""), SIS_E_FORMAT, "is empty; expected a NumPy array");
    refused(folder_text("a.npy", "PK\x03\x04"), SIS_E_FORMAT, "not a .npy file");
    refused(folder_text("a.npy", "\x93NUM"), SIS_E_FORMAT, "cut off");
    npy_image_make(&m, 4, "{}", NULL, 0);
    refused(npy_image_file(&m), SIS_E_UNSUPPORTED, "version 4.0");
    npy_image_make(&m, 2, "{}", NULL, 0);
    memset(m.bytes + 8, 0xFF, 4);
    refused(npy_image_file(&m), SIS_E_FORMAT, "header of 4294967295 bytes");
    npy_image_make(&m, 1, "{'descr': '<f8', 'fortran_order': False, 'shape': (1,)}", "12345678", 8);
    m.bytes[9] = 1; /* a header longer than the file */
    refused(npy_image_file(&m), SIS_E_FORMAT, "cut off in its .npy header");
    npy_image_make(&m, 1, "{'descr': '<f8', 'fortran_order': False, 'shape': (1,)} ", "12345678",
                   8);
    m.bytes[10 + 55] = 0;
    refused(npy_image_file(&m), SIS_E_FORMAT, "NUL byte");
    refused(folder_path("absent-a.npy"), SIS_E_IO, "cannot open");
    assert_int_equal(mkdir(folder_path("dir-a.npy"), 0700), 0);
    refused(folder_path("dir-a.npy"), SIS_E_FORMAT, "a folder without images");
    assert_int_equal(remove(folder_path("dir-a.npy")), 0);
}

static void values_that_are_not_finite_are_named(void **state) {
    (void)state;
    const double numbers[] = {1, 2, 3, NAN, 5, -INFINITY};
    const char *path = npy_file("{'descr': '<f8', 'fortran_order': False, 'shape': (3, 2)}",
                                numbers, sizeof numbers);
    sis_data *data;
    sis_array array;
    double row[2];
    assert_int_equal(sis_data_read(path, NULL, &data), 0);
    assert_int_equal(sis_data_values(data, 0, row), 0);
    assert_int_equal(sis_data_values(data, 1, row), SIS_E_FORMAT);
    assert_message_has("example 1: value 1 is NaN");
    assert_int_equal(sis_data_values(data, 2, row), SIS_E_FORMAT);
    assert_message_has("example 2: value 1 is infinite");
    sis_data_free(data);
    assert_int_equal(sis_array_read(path, &array), SIS_E_FORMAT);
    assert_message_has("value 3 is NaN");
    assert_null(array.values);
}

/* ---- Pipes --------------------------------------------------------------------------------- */

typedef struct {
    const char *path;
    const npy_image *m;
    size_t extra; /* zero bytes after the image */
} feed;

static void *feeder(void *arg) {
    const feed *f = (const feed *)arg;
    FILE *to = fopen(f->path, "wb");
    size_t zeros = f->extra;
    if (to && fwrite(f->m->bytes, f->m->n, 1, to) == 1)
        while (zeros > 0 && fputc(0, to) == 0)
            zeros--;
    if (to)
        fclose(to);
    return NULL;
}

static int read_fed(const npy_image *m, size_t extra, sis_data **data) {
    char path[2048];
    pthread_t thread;
    snprintf(path, sizeof path, "%s", folder_path("pipe-a.npy"));
    assert_int_equal(mkfifo(path, 0600), 0);
    feed f = {.path = path, .m = m, .extra = extra};
    assert_int_equal(pthread_create(&thread, NULL, feeder, &f), 0);
    int code = sis_data_read(path, NULL, data);
    pthread_join(thread, NULL);
    assert_int_equal(remove(path), 0);
    return code;
}

static void pipes_are_read_and_cannot_promise_more_than_they_bring(void **state) {
    (void)state;
    npy_image m;
    sis_data *data;
    npy_image_make(&m, 1, "{'descr': '|u1', 'fortran_order': False, 'shape': (300, 1000)}", NULL,
                   0);
    assert_int_equal(read_fed(&m, 300000, &data), 0);
    assert_int_equal(sis_data_count(data), 300);
    sis_data_free(data);
    npy_image_make(
        &m, 1, "{'descr': '<f8', 'fortran_order': False, 'shape': (100000000, 10000000)}", NULL, 0);
    assert_int_equal(read_fed(&m, 200000, &data), SIS_E_FORMAT);
    assert_message_has("needs 8000000000000000 bytes of numbers, found 200000");
}

/* ---- Hostile files ------------------------------------------------------------------------- */

/* Any content gives a data set whose values can be read, or an error code and a message. */
static void use_hostile(const char *path) {
    sis_data *data;
    int code = sis_data_read(path, NULL, &data);
    if (code != SIS_OK) {
        assert_true(code == SIS_E_FORMAT || code == SIS_E_UNSUPPORTED);
        assert_message_has("a.npy: ");
        return;
    }
    double *row = (double *)malloc(sis_data_width(data, 0) * sizeof *row);
    for (size_t i = 0; i < sis_data_count(data); i++)
        if (sis_data_values(data, i, row) != SIS_OK)
            assert_message_has("finite");
    free(row);
    sis_data_free(data);
}

static void spoiled_files_do_no_harm(void **state) {
    (void)state;
    npy_image m;
    const double numbers[6] = {1, 2, 3, 4, 5, 6};
    npy_image_make(&m, 1, "{'descr': '<f8', 'fortran_order': True, 'shape': (3, 2), }  \n", numbers,
                   sizeof numbers);
    with_spoiled_files("a.npy", m.bytes, m.n, 3000, use_hostile);
    npy_image_make(&m, 2, "{'descr': '>i2', 'fortran_order': False, 'shape': (3, 2, 4), }\n",
                   numbers, sizeof numbers);
    with_spoiled_files("a.npy", m.bytes, m.n, 1000, use_hostile);
}

static void random_headers_do_no_harm(void **state) {
    (void)state;
    static const char *const pieces[] = {"{",  "}",       "'descr'", "'shape'", "'fortran_order'",
                                         ":",  ",",       "(",       ")",       "'<f8'",
                                         "1",  "3",       "2L",      "True",    "False",
                                         "[",  "'",       "\"",      " ",       "99999999999",
                                         "\\", "'|b1'\n", "\xFF"};
    sis__rng r;
    sis__rng_init(&r, 11);
    for (int round = 0; round < 5000; round++) {
        char header[512] = "";
        npy_image m;
        for (size_t k = sis__rng_below(&r, 24); k > 0; k--)
            strcat(header, pieces[sis__rng_below(&r, sizeof pieces / sizeof *pieces)]);
        npy_image_make(&m, 1, header, "123456781234567812345678", sis__rng_below(&r, 25));
        use_hostile(npy_image_file(&m));
    }
}

static int read_rows(void *ctx) {
    sis_data *data;
    double row[3];
    int code = sis_data_read((const char *)ctx, NULL, &data);
    if (code == SIS_OK)
        code = sis_data_values(data, 1, row);
    if (code == SIS_OK)
        assert_true(row[0] == 4 && row[1] == 5 && row[2] == 6);
    sis_data_free(data);
    return code;
}

static void failing_allocations_are_reported(void **state) {
    (void)state;
    const float numbers[] = {1, 2, 3, 4, 5, 6};
    char path[2048];
    snprintf(path, sizeof path, "%s",
             npy_file("{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3)}", numbers,
                      sizeof numbers));
    assert_true(with_failing_allocations(read_rows, path) > 5);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(arrays_are_read_in_every_version),
        cmocka_unit_test(every_type_and_byte_order_is_read),
        cmocka_unit_test(both_orders_agree_for_every_shape),
        cmocka_unit_test(headers_are_read_strictly),
        cmocka_unit_test(files_that_are_no_npy_say_so),
        cmocka_unit_test(values_that_are_not_finite_are_named),
        cmocka_unit_test(pipes_are_read_and_cannot_promise_more_than_they_bring),
        cmocka_unit_test(spoiled_files_do_no_harm),
        cmocka_unit_test(random_headers_do_no_harm),
        cmocka_unit_test(failing_allocations_are_reported),
    };
    return cmocka_run_group_tests(tests, folder_make, folder_remove);
}
