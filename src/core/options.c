/* SPDX-License-Identifier: MIT
 *
 * The version; options, their defaults and checks; the decision rule; names of statuses and
 * guarantees.
 */
#include <float.h>
#include <math.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/sized.h"
#include "base/texts.h"
#include "core/core.h"

const char *sis_version(void) {
    return SIS_VERSION;
}

static const sis__sized opt_type = {"sis_opt", "sis_opt_init", sizeof(sis_opt), {{0}}};

static const sis_opt standard = {.size = sizeof(sis_opt),
                                 .threshold = NAN,
                                 .memory = (size_t)1 << 30,
                                 .jobs = 1,
                                 .progress_every = 0.05};

void sis_opt_defaults(sis_opt *opt) {
    sis__sized_copy(&opt_type, opt, &standard);
}

static const char *check(const sis_opt *opt) {
    if (isnan(opt->threshold))
        return "the threshold is not set";
    if (isinf(opt->threshold))
        return "the threshold must be finite";
    if (opt->memory < 1 << 16)
        return "the memory budget must be at least 64 KiB";
    if (opt->jobs < 0 || opt->jobs > 1024)
        return "jobs must be between 0 (one per core) and 1024";
    if (!(opt->time_limit >= 0))
        return "the time limit is no time";
    if (!(opt->progress_every >= 0))
        return "the time between reports of progress is no time";
    if (opt->exhaustive > 16)
        return "the exhaustive test goes up to subsets of 16 features";
    return NULL;
}

int sis__opt_copy(const sis_opt *given, sis_opt *out) {
    *out = standard;
    return sis__sized_copy(&opt_type, out, given);
}

int sis__opt_take(const sis_opt *given, sis_opt *out) {
    int error = sis__opt_copy(given, out);
    const char *wrong = error ? NULL : check(out);
    return wrong ? sis__fail(SIS_E_ARGUMENT, "%s", wrong) : error;
}

const char *sis_opt_check(const sis_opt *given) {
    sis_opt opt;
    return sis__opt_copy(given, &opt) == SIS_OK ? check(&opt) : sis_error_detail();
}
int sis_decided(double score, double threshold, int below) {
    double single = (double)(float)threshold;
    int known = isfinite(single) && (fabs(single) >= FLT_MIN || threshold == 0);
    return (below ? score <= threshold : score >= threshold) || (known && score == single);
}

const char *sis_status_name(sis_status status) {
    return SIS__TEXT_OF(SIS_STATUSES, status);
}

const char *sis_guarantee_name(sis_guarantee_kind kind) {
    return SIS__TEXT_OF(SIS_GUARANTEES, kind);
}

void sis_guarantee_release(sis_guarantee *g) {
    free(g->shares);
    free(g->examples);
    free(g->distances);
    free(g->fixed);
    free(g->bounds);
    *g = (sis_guarantee){0};
}

int sis_worker_share(void *ctx, void **worker) {
    *worker = ctx;
    return SIS_OK;
}
