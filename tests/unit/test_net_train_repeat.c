/* SPDX-License-Identifier: MIT
 *
 * Training repeats to the bit, for any number of threads and interruptions; valid and damaged
 * checkpoints.
 */
#include "support_train.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "support.h"

static void expect_same(const lesson *a, const lesson *b, size_t epochs, int same) {
    void *x, *y;
    size_t n, m;
    lesson_train(a, epochs, NULL, &x, &n, NULL);
    lesson_train(b, epochs, NULL, &y, &m, NULL);
    assert_int_equal(n, m);
    assert_int_equal(memcmp(x, y, n) == 0, same);
    free(x);
    free(y);
}

static void runs_repeat_to_the_bit(void **state) {
    (void)state;
    const char *const names[] = {"text-lstm", "mnist-mlp", "text-cnn"};
    for (size_t i = 0; i < rounds(3); i++) {
        lesson a, b;
        lesson_make(&a, names[i], 3 * ROWS + 7);
        a.opt.batch = 100; /* four shards and a rest */
        a.arch.dropout[1] = 0.3;
        b = a;
        expect_same(&a, &b, 2, 1);
        b.opt.jobs = 1;
        expect_same(&a, &b, 2, 1);
        b.opt.jobs = 5;
        expect_same(&a, &b, 2, 1);
        b.opt.seed = 2;
        expect_same(&a, &b, 2, 0);
        lesson_release(&a);
    }
}

static void another_seed_learns_too(void **state) {
    (void)state;
    for (uint64_t seed = 1; seed < 1 + rounds(2); seed++) {
        lesson k;
        void *bytes;
        size_t n;
        double loss;
        lesson_make(&k, "mnist-mlp", ROWS);
        k.opt.seed = seed;
        k.opt.rate = 0.002;
        lesson_train(&k, 60, NULL, &bytes, &n, &loss);
        assert_true(loss < 0.02);
        free(bytes);
        lesson_release(&k);
    }
}

static int stop_after(void *ctx, size_t done, size_t rows, double loss) {
    (void)done, (void)rows, (void)loss;
    return --*(int *)ctx == 0;
}

static void a_stopped_training_resumes(void **state) {
    (void)state;
    char path[] = "/tmp/sis-train-XXXXXX";
    close(mkstemp(path));
    for (int stop = 1; stop < 9;
         stop += rounds(6) < 6 ? 3 : 1) { /* in the middle of the first or second epoch */
        lesson k;
        sis_trainer *t;
        void *x, *y;
        size_t n, m;
        int left = stop;
        lesson_make(&k, stop % 2 ? "mnist-mlp" : "text-lstm", 2 * ROWS);
        k.arch.dropout[1] = 0.3;
        lesson_train(&k, 3, NULL, &x, &n, NULL);
        lesson cut = k;
        cut.opt.progress = stop_after;
        cut.opt.progress_ctx = &left;
        assert_int_equal(sis_trainer_new(&cut.arch, &cut.opt, &cut.train, NULL, &t), 0);
        int error = SIS_OK;
        while (error == SIS_OK)
            error = sis_trainer_epoch(t);
        assert_int_equal(error, SIS_E_CANCELLED);
        assert_int_equal(sis_trainer_save(t, path), 0);
        sis_trainer_free(t);
        lesson_train(&k, 3, path, &y, &m, NULL);
        assert_int_equal(n, m);
        assert_memory_equal(x, y, n);
        free(x);
        free(y);
        lesson_release(&k);
    }
    remove(path);
}

static void damaged_checkpoints_are_refused(void **state) {
    (void)state;
    char path[] = "/tmp/sis-train-XXXXXX";
    static char bytes[1 << 20];
    lesson k;
    sis_trainer *t;
    close(mkstemp(path));
    lesson_make(&k, "mlp", ROWS);
    assert_int_equal(sis_trainer_new(&k.arch, &k.opt, &k.train, NULL, &t), 0);
    assert_int_equal(sis_trainer_epoch(t), 0);
    assert_int_equal(sis_trainer_save(t, path), 0);
    sis_trainer_free(t);
    FILE *f = fopen(path, "rb");
    size_t n = fread(bytes, 1, sizeof bytes, f);
    fclose(f);
    assert_true(n < sizeof bytes);
    for (size_t i = 0; i < n + 40; i += i < 600 ? 7 : 997) { /* a changed byte, then a truncation */
        for (int cut = 0; cut < 2; cut++) {
            if (!cut && i < n)
                bytes[i] ^= 0x20;
            unlink(path); /* a new file does not wait for the disk */
            f = fopen(path, "wb");
            fwrite(bytes, 1, cut && i < n ? i : n, f);
            if (i >= n)
                fputc('x', f);
            fclose(f);
            if (!cut && i < n)
                bytes[i] ^= 0x20;
            assert_int_equal(sis_trainer_new(&k.arch, &k.opt, &k.train, NULL, &t), 0);
            assert_int_equal(sis_trainer_load(t, path), SIS_E_FORMAT);
            sis_trainer_free(t);
        }
    }
    k.opt.seed = 9;
    f = fopen(path, "wb");
    fwrite(bytes, 1, n, f);
    fclose(f);
    assert_int_equal(sis_trainer_new(&k.arch, &k.opt, &k.train, NULL, &t), 0);
    assert_int_equal(sis_trainer_load(t, path), SIS_E_FORMAT);
    assert_message_has("another run");
    remove(path);
    assert_int_equal(sis_trainer_load(t, path), SIS_E_IO);
    sis_trainer_free(t);
    lesson_release(&k);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(runs_repeat_to_the_bit),
        cmocka_unit_test(another_seed_learns_too),
        cmocka_unit_test(a_stopped_training_resumes),
        cmocka_unit_test(damaged_checkpoints_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
