/* SPDX-License-Identifier: MIT
 *
 * Choosing examples by number.
 */
#include "support_data.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sis/data.h>
#include <sis/files.h>

static void chosen(const char *text, size_t count, const char *expected) {
    size_t *rows, n;
    char joined[256] = "";
    if (sis_rows_parse(text, count, &rows, &n) != 0)
        fail_msg("\"%s\": %s", text, sis_error_detail());
    for (size_t i = 0; i < n; i++)
        snprintf(joined + strlen(joined), sizeof joined - strlen(joined), "%s%zu", i ? " " : "",
                 rows[i]);
    assert_string_equal(joined, expected);
    free(rows);
}

static void refused_as(int code, const char *text, size_t count, const char *part) {
    size_t *rows, n;
    assert_int_equal(sis_rows_parse(text, count, &rows, &n), code);
    assert_null(rows);
    assert_int_equal(n, 0);
    assert_message_has(part);
}

static void refused(const char *text, size_t count, const char *part) {
    refused_as(SIS_E_ARGUMENT, text, count, part);
}

static void ranges_and_lists_are_read(void **state) {
    (void)state;
    chosen("0:3", 10, "0 1 2");
    chosen("8:", 10, "8 9");
    chosen(":2", 10, "0 1");
    chosen(":", 3, "0 1 2");
    chosen("9:10", 10, "9");
    chosen("7", 10, "7");
    chosen("5,0,7", 10, "5 0 7");
    chosen("20:22,3,0:2", 30, "20 21 3 0 1");
    chosen("007", 10, "7");
}

static void numbers_that_are_not_there_are_refused(void **state) {
    (void)state;
    refused("0:11", 10, "rows 0:11: out of range; there are 10 examples, numbered from 0");
    refused("10", 10, "rows 10: out of range; there are 10 examples");
    refused("0,5,10", 10, "rows 10: out of range");
    refused("10:", 10, "out of range");
    refused("18446744073709551615", 10, "out of range");
    refused("0:99999999999999999999999999999999999999999999999999999999", 10, "out of range");
    refused("3:3", 10, "rows 3:3: selects nothing");
    refused("5:2", 10, "selects nothing");
    refused(":0", 10, "selects nothing");
    refused("1,2,1", 10, "example 1 is chosen twice");
    refused("0:3,2", 10, "example 2 is chosen twice");
    refused(":", 0, "no examples");
}

static void nonsense_is_refused(void **state) {
    (void)state;
    static const char *const texts[] = {"",   "-1",  "0:-1",  "a",   "1,", ",1",  "1,,2", "1 2",
                                        " 1", "1.5", "0:5:2", "1;2", "::", "0x1", "1\n2", "+1"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        refused_as(SIS_E_FORMAT, texts[i], 10, "expected A:B");
}

static int parse_once(void *ctx) {
    size_t *rows, n;
    int code = sis_rows_parse((const char *)ctx, 100, &rows, &n);
    free(rows);
    return code;
}

static void failing_allocations_are_reported(void **state) {
    (void)state;
    char text[] = "0:50,99";
    assert_int_equal(with_failing_allocations(parse_once, text), 3);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ranges_and_lists_are_read),
        cmocka_unit_test(numbers_that_are_not_there_are_refused),
        cmocka_unit_test(nonsense_is_refused),
        cmocka_unit_test(failing_allocations_are_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
