/* SPDX-License-Identifier: MIT
 *
 * Any bytes as a file of data. A fuzz target is FUZZ_DATA with the end of the file's name and a
 * good file to start from; what can be read is used in every way there is.
 */
#ifndef SIS_FUZZ_DATA_H
#define SIS_FUZZ_DATA_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <sis/data.h>
#include <sis/text.h>

int LLVMFuzzerTestOneInput(const unsigned char *bytes, size_t n);
size_t LLVMFuzzerMutate(unsigned char *bytes, size_t n, size_t max);
size_t LLVMFuzzerCustomMutator(unsigned char *bytes, size_t n, size_t max, unsigned seed);

/* The bytes as a file; the same name every time. */
static const char *fuzz_file(const unsigned char *bytes, size_t n, const char *end) {
    static char path[256];
    const char *base = getenv("TMPDIR");
    snprintf(path, sizeof path, "%s/sis-fuzz-%ld%s", base && *base ? base : "/tmp", (long)getpid(),
             end);
    FILE *f = fopen(path, "wb");
    if (!f || (n && fwrite(bytes, n, 1, f) != 1) || fclose(f) != 0)
        abort();
    return path;
}

static inline void fuzz_use(const sis_data *data) {
    sis_words words = {0};
    size_t rank, human;
    for (size_t i = 0; i < sis_data_count(data) && i < 16; i++) {
        char number[SIS_ID_SIZE];
        double v, *values = (double *)malloc((sis_data_width(data, i) + 1) * sizeof *values);
        int *map = (int *)malloc((sis_data_width(data, i) + 1) * sizeof *map);
        sis_data_shape(data, i, &rank);
        if (values && map) {
            sis_data_values(data, i, values);
            sis_data_features(data, i, map);
        }
        sis_data_id(data, i, number);
        sis_data_label_number(data, i, &v);
        sis_data_human(data, i, &human);
        if (sis_data_text(data, i))
            sis_data_words(data, i, &words);
        free(values);
        free(map);
    }
    sis_words_release(&words);
}

static inline void fuzz_read(const unsigned char *bytes, size_t n, const char *end,
                             const sis_data_opt *opt) {
    sis_data *data;
    const char *path = fuzz_file(bytes, n, end);
    if (sis_data_read(path, opt, &data) == 0)
        fuzz_use(data);
    sis_data_free(data);
    unlink(path);
}

/* Mutations begin at the good file whenever there is next to nothing. */
#define FUZZ_START(start)                                                                          \
    size_t LLVMFuzzerCustomMutator(unsigned char *bytes, size_t n, size_t max, unsigned seed) {   \
        static const char good[] = start;                                                          \
        if ((n < 4 || seed % 64 == 0) && max >= sizeof good) {                                    \
            memcpy(bytes, good, sizeof good - 1);                                                  \
            n = sizeof good - 1;                                                                   \
        }                                                                                          \
        return LLVMFuzzerMutate(bytes, n, max);                                                   \
    }

#define FUZZ_DATA(end, options, start)                                                             \
    FUZZ_START(start)                                                                              \
    int LLVMFuzzerTestOneInput(const unsigned char *bytes, size_t n) {                             \
        sis_data_opt opt = options;                                                                \
        opt.size = sizeof opt;                                                                     \
        fuzz_read(bytes, n, end, &opt);                                                            \
        return 0;                                                                                  \
    }

#endif
