/* SPDX-License-Identifier: MIT
 *
 * Records as text for a terminal.
 */
#include <stdlib.h>
#include <string.h>

#include "support_report.h"

static char *text_of(const sis_record *r, const sis_text_opt *opt) {
    char *text;
    size_t n;
    assert_int_equal(sis_record_text(r, opt, &text, &n), 0);
    assert_int_equal(n, strlen(text));
    return text;
}

static void features_may_be_limited(void **state) {
    sample s;
    sis_record kinds[5];
    sis_text_opt opt;
    (void)state;
    kinds_make(&s, kinds);
    sis_text_opt_init(&opt);
    opt.lines = 1;
    char *all = text_of(&kinds[2], &opt);
    assert_null(strstr(all, " more\n"));
    opt.features = 1;
    char *few = text_of(&kinds[2], &opt);
    assert_non_null(strstr(few, "          and 1 more\n"));
    assert_true(occurrences(few, " = ") < occurrences(all, " = "));
    free(all);
    free(few);
}

static void colours_are_asked_for(void **state) {
    sample s;
    sis_record kinds[5];
    sis_text_opt opt;
    (void)state;
    kinds_make(&s, kinds);
    sis_text_opt_init(&opt);
    for (size_t k = 0; k < 5; k++) {
        opt.colour = 0;
        char *plain = text_of(&kinds[k], &opt);
        opt.colour = 1;
        char *coloured = text_of(&kinds[k], &opt);
        assert_null(strchr(plain, 033));
        assert_non_null(strchr(coloured, 033));
        free(plain);
        free(coloured);
    }
}

static int write_once(void *ctx) {
    sis_text_opt opt;
    char *text = NULL;
    size_t n;
    sis_text_opt_init(&opt);
    int error = sis_record_text(ctx, &opt, &text, &n);
    free(text);
    return error;
}

static void memory_may_run_out(void **state) {
    sample s;
    sis_record kinds[5];
    (void)state;
    kinds_make(&s, kinds);
    for (size_t k = 0; k < 5; k++)
        assert_true(with_failing_allocations(write_once, &kinds[k]) > 1);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(features_may_be_limited),
        cmocka_unit_test(colours_are_asked_for),
        cmocka_unit_test(memory_may_run_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
