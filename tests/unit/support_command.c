/* SPDX-License-Identifier: MIT
 *
 * See support_command.h.
 */
#include "support_command.h"

const double ROW[3] = {1, 2, 3};

sis_model open_model(const char *spec, double timeout) {
    sis_model model;
    sis_model_opt opt;
    sis_model_opt_init(&opt);
    opt.timeout = timeout;
    assert_int_equal(sis_model_open(spec, &opt, &model), SIS_OK);
    return model;
}
