/* SPDX-License-Identifier: MIT
 *
 * What to ask instead, where there was nothing to explain. Only a threshold between the score with
 * everything masked and the score of the input has an explanation:
 *
 *         masked        score                      score         masked
 *     ------(=============]------>  score     -------[==============)------>  score
 *        score >= threshold                        score <= threshold, the opposite
 *
 * Numbers have four digits, and more where four would leave nothing between them. That of the score
 * is rounded inwards: it is a threshold one can ask with.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include <sis/results.h>

enum { NUMBER = 32, FEW = 4, ALL = 17 };

/* v with so many digits, not less (up) or not more than v. */
static double round_to(double v, int digits, int up, char text[NUMBER]) {
    snprintf(text, NUMBER, "%.*g", digits, v);
    double near = strtod(text, NULL);
    if (up ? near < v : near > v) {
        double unit = pow(10, floor(log10(fabs(v))) - (digits - 1));
        snprintf(text, NUMBER, "%.*g", digits, up ? v + unit : v - unit);
        near = strtod(text, NULL);
    }
    return near;
}

/* Both numbers as text, still apart. */
static void write_ends(double score, double masked, char at[NUMBER], char beyond[NUMBER]) {
    for (int digits = FEW; digits <= ALL; digits++) {
        double end = round_to(score, digits, score < masked, at);
        snprintf(beyond, NUMBER, "%.*g", digits, masked);
        double other = strtod(beyond, NULL);
        if (score < masked ? end < other : end > other)
            return;
    }
}

void sis_record_advice(const sis_record *r, char *text, size_t size) {
    const sis_collection *c = &r->collection;
    double score = c->score, masked = c->masked_score;
    int by_default = c->status == SIS_STATUS_DEFAULT_DECISION;
    char at[NUMBER], beyond[NUMBER];
    text[0] = '\0';
    if (!by_default && c->status != SIS_STATUS_BELOW_THRESHOLD)
        return;
    if ((float)score == (float)masked || !isfinite(score) || !isfinite(masked)) {
        snprintf(text, size,
                 "It scores the same with everything masked: only another mask could tell its "
                 "parts apart.");
        return;
    }
    int below = score < masked; /* the direction that can be explained */
    const char *ask = by_default ? "Take another mask, or ask" : "Ask";
    const char *how = below == r->below ? "with"
                      : below           ? "with --below and"
                                        : "without --below and with";
    write_ends(score, masked, at, beyond);
    if (below)
        snprintf(text, size, "%s %s a threshold of %s or more, below %s (everything masked).", ask,
                 how, at, beyond);
    else
        snprintf(text, size, "%s %s a threshold above %s (everything masked), up to %s.", ask, how,
                 beyond, at);
}
