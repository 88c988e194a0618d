/* SPDX-License-Identifier: MIT
 *
 * Training: losses against differences, optimisers against numbers computed by hand, every
 * architecture learns 64 examples by heart, runs repeat to the bit whatever the threads and
 * interruptions, and padding that is computed once gives what full rows give.
 */
#include "support.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <sis/train.h>

#include "base/rng.h"
#include "net/train.h"

enum { ROWS = 64 };

/* ---- Data ------------------------------------------------------------------------------------ */

typedef struct {
    sis_arch arch;
    sis_train_opt opt;
    sis_examples train;
    float *rows, *targets;
} task;

/* Sizes that a sanitized run gets through. */
static void small_arch(sis_arch *a, const char *name) {
    assert_int_equal(sis_arch_init(a, name), 0);
    if (a->words) {
        a->words = 40;
        a->inputs = 80;
        a->dim = 8;
        a->hidden = a->hidden ? 12 : 0;
        a->filters = a->filters ? 16 : 0;
    } else if (strcmp(name, "dna-cnn") == 0) {
        a->inputs = 40;
        a->filters = 32;
        a->width = 8;
    } else if (a->standardize) {
        a->inputs = 30;
    }
    a->dropout[0] = a->dropout[1] = 0;
}

/* One row of what the architecture takes, with random contents. */
static void fill_row(const sis_arch *a, sis__rng *r, float *row, size_t width) {
    size_t words = a->words ? 1 + sis__rng_below(r, a->inputs) : 0;
    if (a->words && sis__rng_below(r, 3)) /* mostly short ones */
        words = 1 + words / 4;
    for (size_t j = 0; j < width; j++)
        row[j] = a->words ? (j < width - words ? 0 : (float)(1 + sis__rng_below(r, a->words - 1)))
                          : (float)sis__rng_uniform(r);
    for (size_t p = 0; strcmp(a->name, "dna-cnn") == 0 && p < a->inputs; p++) {
        size_t base = sis__rng_below(r, 4);
        for (size_t b = 0; b < 4; b++)
            row[b * a->inputs + p] = b == base;
    }
}

/* Random rows with random labels: nothing to be learnt but the rows themselves. */
static void task_init(task *k, const char *name, size_t n) {
    sis__rng r;
    sis__rng_init(&r, 5);
    small_arch(&k->arch, name);
    sis_train_opt_init(&k->opt, &k->arch);
    sis_train_opt_use(&k->opt, SIS_ADAM);
    k->opt.batch = 32;
    k->opt.jobs = 2;
    size_t width = strcmp(name, "dna-cnn") == 0 ? 4 * k->arch.inputs : k->arch.inputs;
    k->rows = (float *)calloc(n * width, sizeof *k->rows);
    k->targets = (float *)calloc(n, sizeof *k->targets);
    for (size_t i = 0; i < n; i++) {
        fill_row(&k->arch, &r, k->rows + i * width, width);
        k->targets[i] = (float)sis__rng_below(&r, k->arch.outputs > 1 ? k->arch.outputs : 2);
    }
    k->train = (sis_examples){k->rows, k->targets, n, width};
}

static void task_release(task *k) {
    free(k->rows);
    free(k->targets);
}

/* Train for some epochs; the packed network is to be freed. */
static void train(const task *k, size_t epochs, const char *resume, void **bytes, size_t *n,
                  double *loss) {
    sis_trainer *t;
    sis_net *net;
    task copy = *k;
    copy.opt.epochs = epochs;
    if (sis_trainer_new(&copy.arch, &copy.opt, &copy.train, NULL, &t) != 0)
        fail_msg("%s: %s", k->arch.name, sis_error_detail());
    if (resume)
        assert_int_equal(sis_trainer_load(t, resume), 0);
    while (!sis_trainer_done(t))
        if (sis_trainer_epoch(t) != 0)
            fail_msg("%s: %s", k->arch.name, sis_error_detail());
    if (loss)
        *loss = sis_trainer_curve(t, NULL)[epochs - 1].loss;
    assert_int_equal(sis_trainer_finish(t, &net), 0);
    assert_int_equal(sis_net_pack(net, bytes, n), 0);
    sis_net_free(net);
    sis_trainer_free(t);
}

static void expect_same(const task *a, const task *b, size_t epochs, int same) {
    void *x, *y;
    size_t n, m;
    train(a, epochs, NULL, &x, &n, NULL);
    train(b, epochs, NULL, &y, &m, NULL);
    assert_int_equal(n, m);
    assert_int_equal(memcmp(x, y, n) == 0, same);
    free(x);
    free(y);
}

/* ---- Losses ---------------------------------------------------------------------------------- */

static void check_loss(sis_loss loss, int plain, size_t n, const float *target) {
    float z[3] = {0.7f, -1.3f, 2.1f}, dz[3];
    sis__row_loss r = {loss, plain, n, z, target};
    sis__loss(&r, 1, dz);
    for (size_t i = 0; i < n; i++) {
        const float h = 1e-3f, at = z[i];
        z[i] = at + h;
        double up = sis__loss(&r, 1, NULL);
        z[i] = at - h;
        double down = sis__loss(&r, 1, NULL);
        z[i] = at;
        assert_true(fabs((up - down) / (2 * (double)h) - (double)dz[i]) < 1e-3);
    }
}

static void losses_have_their_gradients(void **state) {
    (void)state;
    check_loss(SIS_LOSS_CROSS_ENTROPY, 0, 3, (const float[]){1});
    check_loss(SIS_LOSS_BINARY, 0, 1, (const float[]){1});
    check_loss(SIS_LOSS_BINARY, 0, 1, (const float[]){0.3f});
    check_loss(SIS_LOSS_MSE, 0, 1, (const float[]){0.3f});
    check_loss(SIS_LOSS_MSE, 0, 3, (const float[]){0.3f, 0, 1});
    check_loss(SIS_LOSS_MSE, 1, 3, (const float[]){0.3f, -4, 7});
}

static void losses_of_extreme_scores_are_finite(void **state) {
    (void)state;
    float z[3] = {1000, -1000, 0}, dz[3], one = 1, zero = 0;
    sis__row_loss r = {SIS_LOSS_CROSS_ENTROPY, 0, 3, z, &one};
    assert_float_equal(sis__loss(&r, 1, dz), 2000, 1e-6);
    assert_float_equal(dz[0], 1, 1e-6);
    r = (sis__row_loss){SIS_LOSS_BINARY, 0, 1, z, &zero};
    assert_float_equal(sis__loss(&r, 1, dz), 1000, 1e-6);
    r.target = &one;
    assert_float_equal(sis__loss(&r, 1, dz), 0, 1e-6);
}

/* ---- Optimisers ------------------------------------------------------------------------------ */

/* Two updates with gradients 0.5 and -0.25 from w = 1. */
static float two_updates(const sis_train_opt *o) {
    float w = 1, a = 0, b = 0;
    const float d[2] = {0.5f, -0.25f};
    for (size_t i = 0; i < 2; i++)
        sis__optimizer_update(&(sis__update){o, i + 1, 1, &w, &d[i], {&a, &b}});
    return w;
}

static void optimisers_compute_known_steps(void **state) {
    (void)state;
    sis_train_opt o = {0};
    sis_train_opt_use(&o, SIS_SGD);
    /* v = -0.005, w = 0.995; v = 0.9 * -0.005 + 0.0025 = -0.002, w = 0.993 */
    assert_float_equal(two_updates(&o), 0.993f, 1e-7);
    sis_train_opt_use(&o, SIS_ADAM);
    /* w -= 0.001; then m = 0.02, v = 3.1225e-4, rate = 0.001 sqrt(0.001999) / 0.19:
     * 0.0002353182 * 0.02 / 0.0176706 = 0.0002663388 */
    assert_float_equal(two_updates(&o), 0.9987336612f, 2e-7);
    sis_train_opt_use(&o, SIS_ADADELTA);
    /* a = 0.0125, move = 0.5 sqrt(1e-7) / sqrt(0.0125001) = 0.00141420, s = 0.05 move^2 =
     * 9.99980e-8; a = 0.015, move = -0.25 sqrt(1.999980e-7) / sqrt(0.0150001) = -0.000912864 */
    assert_float_equal(two_updates(&o), 0.999498664f, 2e-7);
}

/* ---- Whole networks -------------------------------------------------------------------------- */

static void learns_by_heart(const char *name, size_t epochs, double rate) {
    task k;
    void *bytes;
    size_t n;
    double first, loss;
    task_init(&k, name, ROWS);
    k.opt.rate = rate;
    train(&k, 1, NULL, &bytes, &n, &first);
    free(bytes);
    train(&k, epochs, NULL, &bytes, &n, &loss);
    free(bytes);
    if (!(loss < 0.01 && loss < first))
        fail_msg("%s: loss %g after %zu epochs, %g after the first", name, loss, epochs, first);
    task_release(&k);
}

static void every_architecture_learns_64_examples(void **state) {
    (void)state;
    learns_by_heart("mnist-cnn", 18, 0.002);
    learns_by_heart("mnist-mlp", 80, 0.002);
    learns_by_heart("dna-cnn", 80, 0.005);
    learns_by_heart("text-cnn", 80, 0.01);
    learns_by_heart("text-lstm", 80, 0.02);
    learns_by_heart("mlp", 80, 0.01);
}

static void a_line_is_found(void **state) {
    (void)state;
    task k;
    void *bytes;
    size_t n;
    double loss;
    task_init(&k, "linear", ROWS);
    k.arch.plain_output = 1;
    k.opt.loss = SIS_LOSS_MSE;
    sis_train_opt_use(&k.opt, SIS_SGD);
    for (size_t i = 0; i < ROWS; i++)
        k.targets[i] = 100 + 3 * k.rows[i * 30] - 7 * k.rows[i * 30 + 29];
    train(&k, 300, NULL, &bytes, &n, &loss);
    assert_true(loss < 1e-3);
    /* The written network takes raw values. */
    sis_net *net;
    float scores[ROWS];
    assert_int_equal(sis_net_parse(bytes, n, &net), 0);
    sis_net_batch b = {.rows = k.rows, .n_rows = ROWS, .n_values = 30};
    assert_int_equal(sis_net_forward(net, &b, scores), 0);
    for (size_t i = 0; i < ROWS; i++)
        assert_float_equal(scores[i], k.targets[i], 0.1);
    sis_net_free(net);
    free(bytes);
    task_release(&k);
}

static void the_written_network_gives_the_judged_scores(void **state) {
    (void)state;
    const char *const names[] = {"mnist-mlp", "text-lstm", "text-cnn", "mlp"};
    for (size_t i = 0; i < 4; i++) {
        task k;
        sis_trainer *t;
        sis_net *net;
        sis_fit fit;
        float scores[ROWS * 10];
        size_t right = 0;
        task_init(&k, names[i], ROWS);
        k.arch.dropout[1] = 0.5;
        assert_int_equal(sis_trainer_new(&k.arch, &k.opt, &k.train, NULL, &t), 0);
        for (size_t e = 0; e < 5; e++)
            assert_int_equal(sis_trainer_epoch(t), 0);
        assert_int_equal(sis_trainer_evaluate(t, &k.train, &fit), 0);
        assert_int_equal(sis_trainer_finish(t, &net), 0);
        sis_net_batch b = {.rows = k.rows, .n_rows = ROWS, .n_values = k.train.n_values};
        assert_int_equal(sis_net_forward(net, &b, scores), 0);
        for (size_t r = 0; r < ROWS; r++) {
            size_t best = 0, outputs = k.arch.outputs;
            for (size_t c = 1; c < outputs; c++)
                best = scores[r * outputs + c] > scores[r * outputs + best] ? c : best;
            right += outputs > 1 ? best == (size_t)k.targets[r]
                                 : (scores[r] >= 0.5f) == (k.targets[r] >= 0.5f);
        }
        assert_float_equal(fit.accuracy, (double)right / ROWS, 1.01 / ROWS);
        sis_net_free(net);
        sis_trainer_free(t);
        task_release(&k);
    }
}

/* ---- Repeating ------------------------------------------------------------------------------- */

static void runs_repeat_to_the_bit(void **state) {
    (void)state;
    const char *const names[] = {"mnist-mlp", "text-lstm", "text-cnn"};
    for (size_t i = 0; i < 3; i++) {
        task a, b;
        task_init(&a, names[i], 3 * ROWS + 7);
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
        task_release(&a);
    }
}

static void another_seed_learns_too(void **state) {
    (void)state;
    for (uint64_t seed = 1; seed < 3; seed++) {
        task k;
        void *bytes;
        size_t n;
        double loss;
        task_init(&k, "mnist-mlp", ROWS);
        k.opt.seed = seed;
        k.opt.rate = 0.002;
        train(&k, 60, NULL, &bytes, &n, &loss);
        assert_true(loss < 0.02);
        free(bytes);
        task_release(&k);
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
    for (int stop = 1; stop < 9; stop++) { /* in the middle of the first or second epoch */
        task k;
        sis_trainer *t;
        void *x, *y;
        size_t n, m;
        int left = stop;
        task_init(&k, stop % 2 ? "mnist-mlp" : "text-lstm", 2 * ROWS);
        k.arch.dropout[1] = 0.3;
        train(&k, 3, NULL, &x, &n, NULL);
        task cut = k;
        cut.opt.progress = stop_after;
        cut.opt.progress_ctx = &left;
        assert_int_equal(sis_trainer_new(&cut.arch, &cut.opt, &cut.train, NULL, &t), 0);
        int error = SIS_OK;
        while (error == SIS_OK)
            error = sis_trainer_epoch(t);
        assert_int_equal(error, SIS_E_CANCELLED);
        assert_int_equal(sis_trainer_save(t, path), 0);
        sis_trainer_free(t);
        train(&k, 3, path, &y, &m, NULL);
        assert_int_equal(n, m);
        assert_memory_equal(x, y, n);
        free(x);
        free(y);
        task_release(&k);
    }
    remove(path);
}

static void damaged_checkpoints_are_refused(void **state) {
    (void)state;
    char path[] = "/tmp/sis-train-XXXXXX";
    static char bytes[1 << 20];
    task k;
    sis_trainer *t;
    close(mkstemp(path));
    task_init(&k, "mlp", ROWS);
    assert_int_equal(sis_trainer_new(&k.arch, &k.opt, &k.train, NULL, &t), 0);
    assert_int_equal(sis_trainer_epoch(t), 0);
    assert_int_equal(sis_trainer_save(t, path), 0);
    sis_trainer_free(t);
    FILE *f = fopen(path, "rb");
    size_t n = fread(bytes, 1, sizeof bytes, f);
    fclose(f);
    assert_true(n < sizeof bytes);
    for (size_t i = 0; i < n + 40; i += i < 600 ? 7 : 997) { /* a changed byte, then a cut */
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
    assert_non_null(strstr(sis_error_detail(), "another training"));
    remove(path);
    assert_int_equal(sis_trainer_load(t, path), SIS_E_IO);
    sis_trainer_free(t);
    task_release(&k);
}

/* ---- Padding --------------------------------------------------------------------------------- */

/* Weights after some plain steps, with padding computed once and like any other word. */
static void padding_gives_what_full_rows_give(void **state) {
    (void)state;
    const char *const names[] = {"text-lstm", "text-cnn"};
    for (size_t i = 0; i < 2; i++) {
        sis_trainer *t[2];
        double off = 0, size = 0;
        task k;
        task_init(&k, names[i], 2 * ROWS);
        sis_train_opt_use(&k.opt, SIS_SGD); /* Adam would blow up rounding of tiny gradients */
        k.opt.rate = 0.5;
        k.opt.batch = 2 * ROWS; /* rows of all lengths in every update */
        for (int full = 0; full < 2; full++) {
            k.opt.full_rows = full;
            assert_int_equal(sis_trainer_new(&k.arch, &k.opt, &k.train, NULL, &t[full]), 0);
            for (int e = 0; e < 3; e++)
                assert_int_equal(sis_trainer_epoch(t[full]), 0);
        }
        assert_true(t[0]->padding.used > 0 || i == 1);
        assert_float_equal(t[0]->curve[2].loss, t[1]->curve[2].loss, 1e-6);
        sis_trainer *start;
        assert_int_equal(sis_trainer_new(&k.arch, &k.opt, &k.train, NULL, &start), 0);
        for (size_t p = 0; p < t[0]->n_params; p++)
            for (size_t j = 0; j < t[0]->params[p].count; j++) {
                float moved = t[1]->params[p].w[j] - start->params[p].w[j];
                off = fmax(off, fabs((double)t[0]->params[p].w[j] - t[1]->params[p].w[j]));
                size = fmax(size, fabs((double)moved));
            }
        assert_true(size > 1e-3);
        if (off > 1e-4 * size)
            fail_msg("%s: weights differ by %g after moving by %g", names[i], off, size);
        sis_trainer_free(start);
        sis_trainer_free(t[0]);
        sis_trainer_free(t[1]);
        task_release(&k);
    }
}

/* ---- Early stopping, what can be wrong ------------------------------------------------------- */

static void training_stops_when_validation_gets_worse(void **state) {
    (void)state;
    task k, other;
    sis_trainer *t;
    sis_fit fit;
    size_t n;
    task_init(&k, "mlp", ROWS);
    task_init(&other, "mlp", ROWS);
    for (size_t i = 0; i < ROWS; i++) /* what is learnt is wrong there */
        other.targets[i] = 1 - other.targets[i];
    k.opt.epochs = 50;
    k.opt.patience = 2;
    k.opt.rate = 0.01;
    assert_int_equal(sis_trainer_new(&k.arch, &k.opt, &k.train, &other.train, &t), 0);
    while (!sis_trainer_done(t))
        assert_int_equal(sis_trainer_epoch(t), 0);
    const sis_epoch *curve = sis_trainer_curve(t, &n);
    assert_int_equal(n, sis_trainer_best(t) + 3);
    assert_true(n < 20);
    for (size_t i = 0; i < n; i++)
        assert_true(curve[i].valid.loss >= curve[sis_trainer_best(t)].valid.loss);
    assert_int_equal(sis_trainer_evaluate(t, &other.train, &fit), 0);
    assert_float_equal(fit.loss, curve[sis_trainer_best(t)].valid.loss, 1e-12);
    sis_trainer_free(t);
    task_release(&k);
    task_release(&other);
}

static void expect_refused(const task *k, const char *why) {
    sis_trainer *t;
    assert_int_equal(sis_trainer_new(&k->arch, &k->opt, &k->train, NULL, &t), SIS_E_ARGUMENT);
    if (!strstr(sis_error_detail(), why))
        fail_msg("expected \"%s\" in \"%s\"", why, sis_error_detail());
}

static void what_cannot_be_trained_is_refused(void **state) {
    (void)state;
    task k;
    task_init(&k, "text-cnn", ROWS);
    task bad = k;
    sis_arch arch;
    assert_int_equal(sis_arch_init(&arch, "resnet"), SIS_E_ARGUMENT);
    k.rows[81] = 40;
    expect_refused(&k, "training row 1: 40 at position 1 is no token of a vocabulary of 40");
    k.rows[81] = 1.5f;
    expect_refused(&k, "is no token");
    k.rows[81] = NAN;
    expect_refused(&k, "row 1: value 1 is not finite");
    k.rows[81] = 0;
    k.targets[3] = 2;
    expect_refused(&k, "row 3: target 2, expected a number between 0 and 1");
    k.targets[3] = 0;
    bad.train.n = 0;
    expect_refused(&bad, "no training rows");
    bad = k;
    bad.train.n_values = 79;
    expect_refused(&bad, "79 values; text-cnn takes 80");
    bad = k;
    bad.opt.loss = SIS_LOSS_CROSS_ENTROPY;
    expect_refused(&bad, "classes");
    bad = k;
    bad.arch.plain_output = 1;
    bad.opt.loss = SIS_LOSS_BINARY;
    expect_refused(&bad, "probability");
    bad = k;
    bad.opt.rate = NAN;
    expect_refused(&bad, "rate");
    bad = k;
    bad.opt.batch = 0;
    expect_refused(&bad, "batch");
    bad = k;
    bad.arch.width = 81;
    expect_refused(&bad, "wider");
    bad = k;
    bad.arch.dropout[1] = 1;
    expect_refused(&bad, "dropout");
    task_release(&k);
    task_init(&k, "mnist-mlp", ROWS);
    k.targets[0] = 10;
    expect_refused(&k, "row 0: class 10, expected 0 to 9");
    task_release(&k);
}

static void a_loss_that_explodes_is_an_error(void **state) {
    (void)state;
    task k;
    sis_trainer *t;
    task_init(&k, "linear", ROWS);
    k.arch.plain_output = 1;
    k.opt.loss = SIS_LOSS_MSE;
    sis_train_opt_use(&k.opt, SIS_SGD);
    k.opt.rate = 1e5;
    assert_int_equal(sis_trainer_new(&k.arch, &k.opt, &k.train, NULL, &t), 0);
    int error = SIS_OK;
    for (int e = 0; e < 50 && error == SIS_OK; e++)
        error = sis_trainer_epoch(t);
    assert_int_equal(error, SIS_E_NAN);
    assert_non_null(strstr(sis_error_detail(), "learning rate"));
    sis_trainer_free(t);
    task_release(&k);
}

/* ---- Memory ---------------------------------------------------------------------------------- */

static int train_little(void *ctx) {
    const task *k = (const task *)ctx;
    sis_trainer *t;
    sis_net *net = NULL;
    int error = sis_trainer_new(&k->arch, &k->opt, &k->train, &k->train, &t);
    if (error)
        return error;
    error = sis_trainer_epoch(t);
    if (!error)
        error = sis_trainer_finish(t, &net);
    sis_net_free(net);
    sis_trainer_free(t);
    return error;
}

static void failing_allocations_are_reported(void **state) {
    (void)state;
    const char *const names[] = {"linear", "text-lstm"};
    for (size_t i = 0; i < 2; i++) {
        task k;
        task_init(&k, names[i], 3);
        k.opt.jobs = 1;
        assert_true(with_failing_allocations(train_little, &k) > 50);
        task_release(&k);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(losses_have_their_gradients),
        cmocka_unit_test(losses_of_extreme_scores_are_finite),
        cmocka_unit_test(optimisers_compute_known_steps),
        cmocka_unit_test(every_architecture_learns_64_examples),
        cmocka_unit_test(a_line_is_found),
        cmocka_unit_test(the_written_network_gives_the_judged_scores),
        cmocka_unit_test(runs_repeat_to_the_bit),
        cmocka_unit_test(another_seed_learns_too),
        cmocka_unit_test(a_stopped_training_resumes),
        cmocka_unit_test(damaged_checkpoints_are_refused),
        cmocka_unit_test(padding_gives_what_full_rows_give),
        cmocka_unit_test(training_stops_when_validation_gets_worse),
        cmocka_unit_test(what_cannot_be_trained_is_refused),
        cmocka_unit_test(a_loss_that_explodes_is_an_error),
        cmocka_unit_test(failing_allocations_are_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
