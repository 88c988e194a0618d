/* SPDX-License-Identifier: MIT
 *
 * A bar of scores: everything masked, each subset, the threshold, the whole input. The text above
 * it has the numbers, and the section's legend explains the marks. The script of the live page
 * makes the same elements and classes.
 */
#include <math.h>

#include <sis/record.h>

#include "report/page.h"

enum { SUBSETS_MAX = 12 };

/* The scale: 0 to 1 if it holds all scores, else minimum to maximum. */
typedef struct {
    double low, high;
} scale;

static void take_in(scale *s, double v) {
    if (isfinite(v)) {
        s->low = fmin(s->low, v);
        s->high = fmax(s->high, v);
    }
}

static scale find_scale(const sis_record *r) {
    const sis_collection *c = &r->collection;
    scale s = {INFINITY, -INFINITY};
    take_in(&s, c->score);
    take_in(&s, c->masked_score);
    if (!r->question.keep)
        take_in(&s, r->question.threshold);
    for (size_t k = 0; k < c->n_subsets && k < SUBSETS_MAX; k++)
        take_in(&s, c->subsets[k].score);
    if (s.low >= 0 && s.high <= 1)
        return (scale){0, 1};
    double room = fmax((s.high / 2 - s.low / 2) * 0.1, 1e-9);
    return (scale){s.low - room, s.high + room};
}

static double place(const scale *s, double v) {
    double share = (v / 2 - s->low / 2) / (s->high / 2 - s->low / 2); /* halved to avoid overflow */
    return 100 * fmax(0, fmin(1, share));
}

static void add_dot(sis__buf *b, const scale *s, double v, const char *kind, size_t colour) {
    if (isfinite(v))
        sis__buf_printf(b, "<i class=\"%s s%zu\" style=\"left:%.1f%%\"></i>", kind, colour,
                        place(s, v));
}

void sis__score_bar(sis__buf *b, const sis_record *r) {
    const sis_collection *c = &r->collection;
    scale s = find_scale(r);
    if (!isfinite(c->score) || !isfinite(c->masked_score) || !(s.high > s.low))
        return;
    double from = place(&s, fmin(c->score, c->masked_score));
    double to = place(&s, fmax(c->score, c->masked_score));
    sis__buf_printf(b,
                    "<div class=\"scorebar\"><div class=\"track\" aria-hidden=\"true\"><b "
                    "style=\"left:%.1f%%;width:%.1f%%\"></b>",
                    from, to - from);
    if (!r->question.keep)
        add_dot(b, &s, r->question.threshold, "limit", 0);
    if (sis_record_masked_name(r))
        add_dot(b, &s, c->masked_score, "masked", 0);
    add_dot(b, &s, c->score, "full", 0);
    for (size_t k = 0; k < c->n_subsets && k < SUBSETS_MAX; k++)
        add_dot(b, &s, c->subsets[k].score, "sub", k % SIS__SUBSET_COLOURS);
    sis__buf_str(b, "</div></div>\n");
}
