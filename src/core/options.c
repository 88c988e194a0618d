/* SPDX-License-Identifier: MIT
 *
 * The version; options, their defaults and their check; the decision itself; names of statuses and guarantees.
 */
#include <float.h>
#include <math.h>
#include <stdlib.h>

#include "base/texts.h"
#include "core/core.h"

const char *sis_version(void) {
    return SIS_VERSION;
}

void sis_opt_init(sis_opt *opt) {
    *opt =
        (sis_opt){.threshold = NAN, .memory = (size_t)1 << 30, .jobs = 1, .progress_every = 0.05};
}

const char *sis_opt_check(const sis_opt *opt) {
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
    *g = (sis_guarantee){0};
}

int sis_worker_share(void *ctx, void **worker) {
    *worker = ctx;
    return SIS_OK;
}
