/* SPDX-License-Identifier: MIT
 *
 * BackSelect: mask one feature at a time, always the one whose removal leaves the highest score,
 * and record order and scores. FindSIS on such a trace is a search from its end (sis_trace_find);
 * it needs no evaluation, whatever the threshold.
 *
 * Each step asks the walk for the margins of all remaining features that can change the score. The
 * others (value equal to mask) leave the current margin. Ties go to the lowest feature.
 *
 * A walk with a tolerance may order two close candidates wrongly. Then the judge makes full passes
 * for the close ones, so that the order is the one that full passes alone would give. One pass
 * serves all candidates that provably change nothing.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <sis/walk.h>

#include "base/error.h"
#include "base/mem.h"
#include "core/core.h"

static int trace_init(sis_trace *t, size_t n) {
    *t = (sis_trace){.order = SIS_NEW(int, n), .scores = SIS_NEW(double, n)};
    if (t->order && t->scores)
        return SIS_OK;
    sis_trace_release(t);
    return SIS_E_NOMEM;
}

void sis_trace_release(sis_trace *t) {
    if (!t)
        return;
    free(t->order);
    free(t->scores);
    *t = (sis_trace){0};
}

/* Score of the last `size` features of the order. */
static double score_of_size(const sis_trace *t, size_t size) {
    return size == t->n ? t->start : t->scores[t->n - 1 - size];
}

size_t sis_trace_find(const sis_trace *t, double threshold, int below) {
    for (size_t size = 0; size <= t->n; size++)
        if (sis_decided(score_of_size(t, size), threshold, below))
            return size;
    return SIZE_MAX;
}

/* State of one backward selection. */
typedef struct {
    sis_walk_state *s;
    double sign; /* +1: the highest margin is best, -1: the lowest */
    int *live;   /* remaining features that can change the score, ascending */
    size_t n_live;
    int *still; /* remaining features that cannot, ascending */
    size_t n_still, next_still;
    double *margins; /* (n_live) */
    int *close;      /* candidates within the tolerance of the best */
    double *judged;
} sweep;

static void sweep_release(sweep *w) {
    free(w->live);
    free(w->still);
    free(w->margins);
    free(w->close);
    free(w->judged);
}

static int sweep_init(sweep *w, sis_walk_state *s, int below) {
    size_t n = s->features.n;
    *w = (sweep){.s = s,
                 .sign = below ? -1 : 1,
                 .live = SIS_NEW_RAW(int, n),
                 .still = SIS_NEW_RAW(int, n),
                 .margins = SIS_NEW_RAW(double, n),
                 .close = SIS_NEW_RAW(int, n),
                 .judged = SIS_NEW_RAW(double, n)};
    if (!w->live || !w->still || !w->margins || !w->close || !w->judged) {
        sweep_release(w);
        return SIS_E_NOMEM;
    }
    for (size_t i = 0; i < n; i++) {
        if (s->masked[i])
            continue;
        if (s->features.same[i])
            w->still[w->n_still++] = (int)i;
        else
            w->live[w->n_live++] = (int)i;
    }
    return SIS_OK;
}

/* Index in `live` of the best margin, the first of equals. */
static size_t best_live(const sweep *w) {
    size_t best = 0;
    for (size_t i = 1; i < w->n_live; i++)
        if (w->sign * w->margins[i] > w->sign * w->margins[best])
            best = i;
    return best;
}

/* Is this margin within the tolerance of the best? */
static int is_close(const sweep *w, double margin, double best) {
    return w->sign * margin >= w->sign * best - 2 * w->s->walk->tolerance * (1 + fabs(best));
}

/* Collect the candidates close to the best in w->close; of those that change nothing only the
 * first, whose index goes to *unchanged (SIZE_MAX: none). Returns their number. */
static size_t gather_close(sweep *w, double best, size_t *unchanged) {
    size_t n = 0;
    *unchanged = SIZE_MAX;
    for (size_t i = 0; i < w->n_live; i++) {
        if (!is_close(w, w->margins[i], best))
            continue;
        if (w->margins[i] == w->s->walked) {
            if (*unchanged != SIZE_MAX)
                continue;
            *unchanged = n;
        }
        w->close[n++] = w->live[i];
    }
    return n;
}

/* If several candidates are too close to call, replace their margins by those of full passes and
 * exclude the others. */
static int judge_close_calls(sweep *w) {
    sis_walk_state *s = w->s;
    double best = w->margins[best_live(w)];
    int has_still = w->next_still < w->n_still;
    if (has_still && w->sign * s->margin > w->sign * best)
        best = s->margin;
    int still_close = has_still && is_close(w, s->margin, best);
    size_t unchanged, n = gather_close(w, best, &unchanged);
    if (n + (size_t)still_close < 2)
        return SIS_OK;
    int error = still_close ? sis__batch_margin(s->judge, &s->margin) : SIS_OK;
    if (error == SIS_OK)
        error = sis__judge_probe(s, w->close, n, w->judged);
    for (size_t i = 0, k = 0; error == SIS_OK && i < w->n_live; i++) {
        if (k < n && w->live[i] == w->close[k])
            w->margins[i] = w->judged[k++];
        else if (unchanged != SIZE_MAX && w->margins[i] == s->walked)
            w->margins[i] = w->judged[unchanged];
        else
            w->margins[i] = -w->sign * INFINITY;
    }
    return error;
}

/* Choose the next feature and its margin. */
static int choose(sweep *w, int *feature, double *margin) {
    sis_walk_state *s = w->s;
    int error = SIS_OK, still = w->next_still < w->n_still ? w->still[w->next_still] : -1;
    *feature = still;
    *margin = s->margin;
    if (w->n_live == 0)
        return SIS_OK;
    s->walk->wants = w->sign > 0 ? 1 : -1;
    error = s->walk->ops->probe(s->walk, w->live, w->n_live, w->margins);
    s->walk->wants = 0;
    for (size_t i = 0; error == SIS_OK && i < w->n_live; i++)
        if (isnan(w->margins[i]))
            error =
                sis__fail(SIS_E_NAN, "the model returned NaN with feature %d masked", w->live[i]);
    if (error == SIS_OK && s->walk->tolerance > 0)
        error = judge_close_calls(w);
    if (error != SIS_OK)
        return error;
    size_t best = best_live(w);
    double live = w->sign * w->margins[best], present = w->sign * s->margin;
    if (still < 0 || live > present || (live == present && w->live[best] < still)) {
        *feature = w->live[best];
        *margin = w->margins[best];
    } else {
        *margin = s->margin; /* judge_close_calls() may have refined it */
    }
    return SIS_OK;
}

/* Mask a feature and remove it from its list. */
static int take(sweep *w, int feature, double margin) {
    sis_walk_state *s = w->s;
    int error = sis_walk_mask(s->walk, feature, NULL);
    s->margin = margin; /* from the judge, if it was asked */
    if (w->next_still < w->n_still && w->still[w->next_still] == feature) {
        w->next_still++;
        return error;
    }
    size_t at = 0;
    while (w->live[at] != feature)
        at++;
    memmove(w->live + at, w->live + at + 1, (w->n_live - at - 1) * sizeof *w->live);
    w->n_live--;
    return error;
}

int sis__unsure(const sis_walk_state *s, const sis_opt *opt, double margin) {
    double slack = 2 * s->walk->tolerance * (1 + fabs(margin));
    return slack > 0 && sis_decided(sis__score(s, margin - slack), opt->threshold, opt->below) !=
                            sis_decided(sis__score(s, margin + slack), opt->threshold, opt->below);
}

/* Has the score just dropped below the threshold? The judge is at the current state. */
static int fell_short(sis_walk_state *s, const sis_opt *opt, double *margin, int *fell) {
    int error = sis__unsure(s, opt, *margin) ? sis__batch_margin(s->judge, margin) : SIS_OK;
    *fell = !sis_decided(sis__score(s, *margin), opt->threshold, opt->below);
    return error;
}

int sis__backselect(sis_walk_state *s, const sis_opt *opt, sis_trace *out, double *margins) {
    *out = (sis_trace){0};
    sweep w;
    int error = sweep_init(&w, s, opt->below), fell = 0;
    if (error != SIS_OK)
        return error;
    size_t n = w.n_live + w.n_still;
    error = trace_init(out, n);
    out->start = sis_walk_score(s->walk);
    while (error == SIS_OK && out->n < n && !fell) {
        double margin = 0, left = (double)(n - out->n) / (double)n;
        int feature = -1;
        s->fraction = 1 - left * left;
        error = choose(&w, &feature, &margin);
        if (error == SIS_OK)
            error = take(&w, feature, margin);
        if (error == SIS_OK)
            error = sis__tick(s);
        if (error == SIS_OK && opt->early_stop)
            error = fell_short(s, opt, &margin, &fell);
        if (error != SIS_OK)
            break;
        if (margins)
            margins[out->n] = margin;
        out->order[out->n] = feature;
        out->scores[out->n++] = sis__score(s, margin);
    }
    s->fraction = 0;
    s->selections++;
    sweep_release(&w);
    if (error != SIS_OK && !s->cut)
        sis_trace_release(out);
    return error;
}

int sis_backselect(sis_walk *walk, const sis_opt *given, sis_trace *out) {
    sis_opt opt;
    int error = sis__opt_copy(given, &opt);
    *out = (sis_trace){0};
    if (error == SIS_OK)
        error = sis__backselect(walk->state, &opt, out, NULL);
    if (error == SIS_OK)
        sis__progress_end(&walk->state->opt, sis__evaluations(walk->state));
    return error;
}
