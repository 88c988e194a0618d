/* SPDX-License-Identifier: MIT
 *
 * All cases that the walk fuzzer has found, and some random ones, without the fuzzer, so that they
 * run with the other tests. A difference ends the program (tests/fuzz/fuzz_walk.c).
 */
#include "../fuzz/fuzz_walk.c"

#include <dirent.h>

#include "support.h"

static void run_file(const char *path) {
    unsigned char bytes[20000];
    FILE *f = fopen(path, "rb");
    assert_non_null(f);
    size_t n = fread(bytes, 1, sizeof bytes, f);
    fclose(f);
    assert_in_range(n, 1, sizeof bytes - 1);
    print_message("%s\n", path);
    LLVMFuzzerTestOneInput(bytes, n);
}

static void recorded_fuzz_cases_pass(void **state) {
    (void)state;
    char path[4096];
    size_t n = 0;
    DIR *folder = opendir(SIS_SOURCE_DIR "/tests/fuzz/walk");
    assert_non_null(folder);
    for (struct dirent *e; (e = readdir(folder)) != NULL;) {
        if (e->d_name[0] == '.')
            continue;
        snprintf(path, sizeof path, SIS_SOURCE_DIR "/tests/fuzz/walk/%s", e->d_name);
        run_file(path);
        n++;
    }
    closedir(folder);
    assert_true(n > 0);
}

static void any_walk_selects_as_full_passes_do(void **state) {
    (void)state;
    for (uint32_t seed = 0; seed < rounds(1000); seed++) {
        unsigned char bytes[5] = {0};
        memcpy(bytes + 1, &seed, sizeof seed);
        LLVMFuzzerTestOneInput(bytes, sizeof bytes);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(recorded_fuzz_cases_pass),
        cmocka_unit_test(any_walk_selects_as_full_passes_do),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
