/* SPDX-License-Identifier: MIT
 *
 * Results files: read record by record, and continued after an interruption.
 */
#include "support_data.h"
#include "support_results.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sis/record.h>

/* A file of n whole records (ids 0, 1, ...) and then `tail`; its path, and where each line ends. */
static const char *results_file(size_t n, const char *tail, size_t *ends) {
    char *text = (char *)calloc(1, 1 << 16);
    size_t used = 0;
    assert_non_null(text);
    for (size_t i = 0; i < n; i++) {
        sample s;
        char id[24];
        sample_make(&s);
        snprintf(id, sizeof id, "%zu", i);
        s.record.id = id;
        char *line = record_line(&s.record, i % 2 == 0);
        strcpy(text + used, line);
        used += strlen(line);
        if (ends)
            ends[i] = used;
        free(line);
    }
    strcpy(text + used, tail);
    const char *path = folder_text("r.jsonl", text);
    free(text);
    return path;
}

static int count_records(const char *path, size_t *n) {
    sis_results *results;
    sis_record r;
    int code = sis_results_open(path, &results);
    for (*n = 0; code == SIS_OK && (code = sis_results_next(results, &r)) == 1; ++*n) {
        char id[24];
        snprintf(id, sizeof id, "%zu", *n);
        assert_string_equal(r.id, id);
        sis_record_release(&r);
        code = SIS_OK;
    }
    sis_results_close(results);
    return code;
}

static void files_are_read_record_by_record(void **state) {
    (void)state;
    size_t n;
    assert_int_equal(count_records(results_file(5, "", NULL), &n), 0);
    assert_int_equal(n, 5);
    assert_int_equal(count_records(results_file(0, "", NULL), &n), 0);
    assert_int_equal(n, 0);
    assert_int_equal(count_records(results_file(2, "\n\r\n  \n", NULL), &n), 0);
    assert_int_equal(n, 2);
    assert_int_equal(count_records(results_file(2, "{\"sis\":3}\n", NULL), &n), SIS_E_FORMAT);
    assert_message_has("r.jsonl, line 3: field \"sis\": version 3");
    assert_int_equal(count_records(results_file(2, "{\"sis\":2,\"i", NULL), &n), SIS_E_FORMAT);
    assert_message_has("r.jsonl, line 3: cut off (if the run was interrupted");
    assert_int_equal(n, 2);
    assert_int_equal(count_records(results_file(2, "hello", NULL), &n), SIS_E_FORMAT);
    assert_message_has("r.jsonl, line 3: not a record");
    assert_int_equal(count_records(results_file(0, "a,b\n1,2\n", NULL), &n), SIS_E_FORMAT);
    assert_message_has("r.jsonl: not a results file; expected the output of");
    assert_int_equal(count_records(results_file(0, "{\"id\":\"0\",\"sis\":2}\n", NULL), &n),
                     SIS_E_FORMAT);
    assert_message_has("r.jsonl, line 1: field");
    assert_int_equal(count_records(folder_path("absent.jsonl"), &n), SIS_E_IO);
    assert_message_has("cannot open");
    assert_int_equal(count_records(SIS_BINARY_DIR, &n), SIS_E_IO);
    assert_message_has("cannot read");
    sis_results_close(NULL);
}

static void records_can_be_left_out(void **state) {
    (void)state;
    sis_results *results;
    sis_record r;
    assert_int_equal(sis_results_open(results_file(3, "\nnot a record\n\n", NULL), &results), 0);
    assert_int_equal(sis_results_skip(results), 1);
    assert_int_equal(sis_results_next(results, &r), 1);
    assert_string_equal(r.id, "1");
    sis_record_release(&r);
    for (int k = 0; k < 2; k++) /* skipped lines are not read */
        assert_int_equal(sis_results_skip(results), 1);
    assert_int_equal(sis_results_skip(results), 0);
    sis_results_close(results);
}

static void endless_lines_are_refused(void **state) {
    (void)state;
    size_t n;
    assert_int_equal(count_records("/dev/zero", &n), SIS_E_FORMAT);
    assert_message_has("/dev/zero, line 1: longer than 268435456 bytes");
}

static int note_id(void *ctx, sis_record *r) {
    strcat(ctx, r->id);
    return 0;
}

static void torn_files_go_on_where_they_were_cut(void **state) {
    (void)state;
    size_t ends[4], n, line = 0;
    sis_resume resume;
    const char *path = results_file(4, "", ends);
    char *bytes = file_bytes(path, &n);
    assert_int_equal(n, ends[3]);
    for (size_t cut = 0; cut <= n; cut++) {
        while (line < 4 && ends[line] <= cut)
            line++;
        char ids[8] = "";
        assert_int_equal(
            sis_resume_scan(folder_write("r.jsonl", bytes, cut), note_id, ids, &resume), 0);
        assert_int_equal(resume.n, line);
        assert_int_equal(resume.bytes, line ? ends[line - 1] : 0);
        assert_int_equal(resume.torn, cut - resume.bytes);
        assert_int_equal(strlen(ids), line);
        assert_memory_equal(ids, "0123", line);
    }
    free(bytes);
}

static void files_that_are_not_ours_are_not_cut(void **state) {
    (void)state;
    sis_resume resume;
    const struct {
        const char *tail, *part;
    } cases[] = {
        {"my thesis", "line 3: not a record"},
        {"my thesis\n", "line 3: not a record"},
        {"{\"sis\":2}\n", "line 3: field \"id\": is missing"},
        {"{\"sis\":2,\"id\"\n", "line 3: not a record"},
        {"{\"id\":1", "line 3: not a record"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_int_equal(sis_resume_scan(results_file(2, cases[i].tail, NULL), NULL, NULL, &resume),
                         SIS_E_FORMAT);
        assert_message_has(cases[i].part);
        assert_true(resume.n == 0 && resume.bytes == 0);
    }
    assert_int_equal(sis_resume_scan(folder_path("absent.jsonl"), NULL, NULL, &resume), 0);
    assert_true(resume.n == 0 && resume.bytes == 0);
    assert_int_equal(sis_resume_scan(results_file(11, "\n", NULL), NULL, NULL, &resume), 0);
    assert_int_equal(resume.n, 11);
}

static int read_file(void *ctx) {
    size_t n;
    return count_records((const char *)ctx, &n);
}

static int scan_file(void *ctx) {
    sis_resume resume;
    int code = sis_resume_scan((const char *)ctx, NULL, NULL, &resume);
    return code;
}

static void failing_allocations_are_reported(void **state) {
    (void)state;
    char path[2048];
    snprintf(path, sizeof path, "%s", results_file(3, "{\"si", NULL));
    assert_true(with_failing_allocations(scan_file, path) > 60);
    snprintf(path, sizeof path, "%s", results_file(3, "", NULL));
    assert_true(with_failing_allocations(read_file, path) > 60);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(files_are_read_record_by_record),
        cmocka_unit_test(records_can_be_left_out),
        cmocka_unit_test(endless_lines_are_refused),
        cmocka_unit_test(torn_files_go_on_where_they_were_cut),
        cmocka_unit_test(files_that_are_not_ours_are_not_cut),
        cmocka_unit_test(failing_allocations_are_reported),
    };
    return cmocka_run_group_tests(tests, folder_make, folder_remove);
}
