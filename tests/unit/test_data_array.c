/* SPDX-License-Identifier: MIT
 *
 * Arrays that are not data sets: masks, feature maps, and the arrays that sis writes.
 */
#include "support_data.h"

#include <stdio.h>
#include <stdlib.h>

#include <sis/data.h>
#include <sis/files.h>

static void arrays_of_any_shape_are_read(void **state) {
    (void)state;
    const double one = 0.25;
    sis_array array;
    assert_int_equal(
        sis_array_read(
            npy_file("{'descr': '<f8', 'fortran_order': False, 'shape': ()}", &one, sizeof one),
            &array),
        0);
    assert_int_equal(array.rank, 0);
    assert_int_equal(array.n, 1);
    assert_true(array.values[0] == 0.25);
    sis_array_release(&array);
    for (int fortran = 0; fortran < 2; fortran++) {
        const char *path =
            npy_file(fortran ? "{'descr': '<f8', 'fortran_order': True, 'shape': (2, 0, 3)}"
                             : "{'descr': '<f8', 'fortran_order': False, 'shape': (2, 0, 3)}",
                     NULL, 0);
        assert_int_equal(sis_array_read(path, &array), 0);
        assert_int_equal(array.n, 0);
        assert_int_equal(array.dims[2], 3);
        sis_array_release(&array);
    }
}

static void feature_maps_are_checked(void **state) {
    (void)state;
    const struct {
        float numbers[4];
        const char *part; /* NULL: accepted */
    } cases[] = {
        {{0, 0, 1, -1}, NULL},
        {{1, 2, 0, 3}, NULL},
        {{-1, -1, -1, -1}, "every value is -1"},
        {{0, 2, 2, 3}, "no value belongs to feature 1"},
        {{0, 0.5, 1, 1}, "value 1 is 0.5; expected the number of a feature"},
        {{0, -2, 1, 1}, "value 1 is -2"},
        {{0, 1, 2, 1e30f}, "value 3 is"},
        {{0, 1, 2, 4}, "value 3 is 4; expected the number of a feature, 0 to 3"},
    };
    int *map;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *path = npy_file("{'descr': '<f4', 'fortran_order': False, 'shape': (2, 2)}",
                                    cases[i].numbers, sizeof cases[i].numbers);
        int code = sis_feature_map_read(path, 4, &map);
        assert_int_equal(code, cases[i].part ? SIS_E_FORMAT : 0);
        for (size_t k = 0; k < 4 && !cases[i].part; k++)
            assert_true(map[k] == (int)cases[i].numbers[k]);
        if (cases[i].part)
            assert_message_has(cases[i].part);
        free(map);
        assert_int_equal(sis_feature_map_read(path, 5, &map), SIS_E_FORMAT);
        assert_message_has("of 4 numbers; expected one for each of the 5 values");
        assert_null(map);
    }
}

static void what_is_written_reads_back(void **state) {
    (void)state;
    const size_t dims[] = {2, 3, 1};
    const double values[] = {0, -1.5, 1e300, 5e-324, 3, 0.1};
    const float floats[] = {0, -1.5f, 1e30f, 1e-45f, 3, 0.1f};
    for (size_t rank = 0; rank <= 3; rank++) {
        sis_array array;
        size_t n = rank == 0 ? 1 : rank == 1 ? 2 : 6, bytes;
        const char *path = folder_path("w.npy");
        assert_int_equal(sis_npy_write(path, values, rank, dims), 0);
        char *file = file_bytes(path, &bytes);
        assert_int_equal((bytes - n * sizeof *values) % 64, 0);
        free(file);
        assert_int_equal(sis_array_read(path, &array), 0);
        assert_int_equal(array.rank, rank);
        assert_int_equal(array.n, n);
        assert_memory_equal(array.values, values, n * sizeof *values);
        sis_array_release(&array);
        assert_int_equal(sis_npy_write_float(path, floats, rank, dims), 0);
        assert_int_equal(sis_array_read(path, &array), 0);
        for (size_t i = 0; i < n; i++)
            assert_true(array.values[i] == floats[i]);
        sis_array_release(&array);
    }
    assert_int_equal(sis_npy_write(folder_path("no/such/w.npy"), values, 1, dims), SIS_E_IO);
    assert_message_has("cannot write");
    assert_int_equal(sis_npy_write("/dev/full", values, 1, dims), SIS_E_IO);
    assert_message_has("/dev/full");
    const size_t huge[] = {SIZE_MAX / 2, 3};
    assert_int_equal(sis_npy_write(folder_path("w.npy"), values, 2, huge), SIS_E_ARGUMENT);
}

static int write_and_read_map(void *ctx) {
    const double values[] = {0, 1, 1, 2};
    const size_t dims[] = {4};
    int *map = NULL, code = sis_npy_write((const char *)ctx, values, 1, dims);
    if (code == SIS_OK)
        code = sis_feature_map_read((const char *)ctx, 4, &map);
    free(map);
    return code;
}

static void failing_allocations_are_reported(void **state) {
    (void)state;
    char path[2048];
    snprintf(path, sizeof path, "%s", folder_path("map.npy"));
    assert_true(with_failing_allocations(write_and_read_map, path) > 5);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(arrays_of_any_shape_are_read),
        cmocka_unit_test(feature_maps_are_checked),
        cmocka_unit_test(what_is_written_reads_back),
        cmocka_unit_test(failing_allocations_are_reported),
    };
    return cmocka_run_group_tests(tests, folder_make, folder_remove);
}
