/* SPDX-License-Identifier: MIT
 *
 * See support_train.h.
 */
#include "support_train.h"

#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "support.h"

/* Sizes small enough for a sanitized run. */
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

/* A random row of the architecture's input. */
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

void lesson_make(lesson *k, const char *name, size_t n) {
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

void lesson_release(lesson *k) {
    free(k->rows);
    free(k->targets);
}

void lesson_train(const lesson *k, size_t epochs, const char *resume, void **bytes, size_t *n,
                  double *loss) {
    sis_trainer *t;
    sis_net *net;
    lesson copy = *k;
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
