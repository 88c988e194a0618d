/* SPDX-License-Identifier: MIT
 *
 * Training from files: held-out examples, the metadata of the network, and failing allocations.
 */
#include "support.h"

#include <string.h>

#include <sis/train.h>

#include "support_data.h"

static const char table[] = "job,age,risk\n"
                            "baker,30,low\nbaker,31,low\ncook,60,high\nbaker,33,low\n"
                            "cook,61,high\nbaker,62,high\nbaker,29,low\ncook,28,low\n";

static sis_training_opt asked(const char *path) {
    sis_training_opt o = {.input = path, .test = path, .validation = 0.25, .seed = 3};
    sis_data_opt_init(&o.read);
    o.read.label = "risk";
    o.read.categorical = 1;
    return o;
}

static int train(void *ctx) {
    sis_training_set set;
    sis_trainer *t = NULL;
    sis_net *net = NULL;
    sis_fit test;
    int error = sis_training_set_open(ctx, "linear", &set);
    set.opt.epochs = 1;
    set.opt.jobs = 1;
    if (!error)
        error = sis_trainer_new(&set.arch, &set.opt, &set.learn, &set.valid, &t);
    if (!error)
        error = sis_trainer_epoch(t);
    if (!error)
        error = sis_training_set_finish(&set, t, &test, &net);
    if (!error) {
        size_t n;
        const float *mask = sis_net_mask(net, &n);
        assert_int_equal(set.learn.n, 6);
        assert_int_equal(set.valid.n, 2);
        assert_int_equal(test.n, 8);
        assert_string_equal(sis_net_meta_get(net, SIS_NET_META_LABELS), "[\"low\"]");
        assert_string_equal(sis_net_meta_get(net, SIS_NET_META_NAMES),
                            "[\"job=baker\",\"job=cook\",\"age\"]");
        assert_string_equal(sis_net_meta_get(net, SIS_NET_META_COLUMNS),
                            "[\"job\",\"job\",\"age\"]");
        assert_int_equal(n, 3);
        assert_true(mask[0] == 1 && mask[1] == 0 && mask[2] > 28 && mask[2] < 62);
        assert_non_null(strstr(sis_net_meta_get(net, SIS_NET_META_TRAINING), "\"test_data\""));
    }
    sis_net_free(net);
    sis_trainer_free(t);
    sis_training_set_release(&set);
    return error;
}

static void tables_are_learnt_with_failing_allocations(void **state) {
    (void)state;
    sis_training_opt o = asked(folder_text("train.csv", table));
    assert_int_equal(train(&o), SIS_OK);
    assert_true(with_failing_allocations(train, &o) > 50);
}

static void labels_come_from_a_file_by_name(void **state) {
    (void)state;
    sis_training_set set;
    sis_training_opt o = asked(folder_text("train.csv", "who,x\na,1\nb,2\nc,3\n"));
    o.test = NULL;
    o.validation = 0;
    o.read.label = NULL;
    o.read.id = "who";
    o.labels = folder_text("labels.csv", "c,yes\nb,no\na,yes\n");
    assert_int_equal(sis_training_set_open(&o, "linear", &set), SIS_OK);
    assert_true(set.learn.targets[0] == 1 && set.learn.targets[1] == 0 &&
                set.learn.targets[2] == 1);
    sis_training_set_release(&set);
}

static void contradictory_options_are_refused(void **state) {
    (void)state;
    sis_training_set set;
    sis_training_opt o = asked(folder_text("train.csv", table));
    o.validation = 0.99;
    assert_int_equal(sis_training_set_open(&o, "linear", &set), SIS_E_ARGUMENT);
    assert_message_has("--validation 0.99 leaves nothing");
    sis_training_set_release(&set);
    o.range = "2:1";
    assert_int_equal(sis_training_set_open(&o, "linear", &set), SIS_E_OPTION);
    assert_message_has("--range: expected LOW:HIGH");
    sis_training_set_release(&set);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tables_are_learnt_with_failing_allocations),
        cmocka_unit_test(labels_come_from_a_file_by_name),
        cmocka_unit_test(contradictory_options_are_refused),
    };
    return cmocka_run_group_tests(tests, folder_make, folder_remove);
}
