/* SPDX-License-Identifier: MIT
 *
 * The server's counters in the text format of Prometheus.
 */
#include "serve/serve.h"

static const double bounds[SIS__METRIC_BUCKETS] = {0.001, 0.0025, 0.005, 0.01, 0.025, 0.05,
                                                   0.1,   0.25,   0.5,   1,    2.5,   10};

void sis__metrics_answer(sis__metrics *m, unsigned status, double seconds) {
    size_t k = 0;
    while (k < SIS__METRIC_BUCKETS && seconds > bounds[k])
        k++;
    atomic_fetch_add(&m->buckets[k], 1);
    atomic_fetch_add(&m->status[status / 100 < 6 ? status / 100 : 0], 1);
    atomic_fetch_add(&m->microseconds, (size_t)(seconds * 1e6));
}

static void write_head(sis__buf *b, const char *name, const char *type, const char *help) {
    sis__buf_printf(b, "# HELP %s %s.\n# TYPE %s %s\n", name, help, name, type);
}

static void write_gauge(sis__buf *b, const char *name, const char *help, const atomic_size_t *n) {
    write_head(b, name, "gauge", help);
    sis__buf_printf(b, "%s %zu\n", name, atomic_load(n));
}

static void write_times(const sis__metrics *m, sis__buf *b) {
    size_t total = 0;
    write_head(b, "sis_request_seconds", "histogram", "Time from a whole request to its answer");
    for (size_t k = 0; k < SIS__METRIC_BUCKETS; k++) {
        total += atomic_load(&m->buckets[k]);
        sis__buf_printf(b, "sis_request_seconds_bucket{le=\"%g\"} %zu\n", bounds[k], total);
    }
    total += atomic_load(&m->buckets[SIS__METRIC_BUCKETS]);
    sis__buf_printf(b,
                    "sis_request_seconds_bucket{le=\"+Inf\"} %zu\nsis_request_seconds_sum %.6f\n"
                    "sis_request_seconds_count %zu\n",
                    total, 1e-6 * (double)atomic_load(&m->microseconds), total);
}

void sis__metrics_write(const sis__metrics *m, sis__buf *b) {
    static const struct {
        const char *name, *help;
    } counters[] = {
#define NAMED(code, name, help) {name, help},
        SIS__COUNTERS(NAMED)
#undef NAMED
    };
    for (size_t k = 0; k < SIS__N_COUNTERS; k++) {
        write_head(b, counters[k].name, "counter", counters[k].help);
        sis__buf_printf(b, "%s %zu\n", counters[k].name, atomic_load(&m->counts[k]));
    }
    write_head(b, "sis_requests_total", "counter", "Requests answered, by status");
    for (size_t k = 1; k < 6; k++)
        sis__buf_printf(b, "sis_requests_total{status=\"%zuxx\"} %zu\n", k,
                        atomic_load(&m->status[k]));
    write_gauge(b, "sis_requests_waiting", "Requests in the queue", &m->waiting);
    write_gauge(b, "sis_requests_running", "Requests being computed", &m->running);
    write_times(m, b);
}
