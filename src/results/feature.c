/* SPDX-License-Identifier: MIT
 *
 * Describes a record in words: names and values of features, the axes of an image, and usable
 * thresholds.
 *
 * A feature with several values is usually a column of a table whose categories are values 0 or 1,
 * named "housing=own" or "housing_own": then the feature is "housing" and its value "own". Names of
 * any other form are used unchanged.
 */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sis/record.h>
#include <sis/results.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/number.h"
#include "base/platform.h"
#include "results/record.h"

static int is_separator(char c) {
    return c == '=' || c == '_';
}

size_t sis_name_stem(const char *a, const char *b) {
    size_t stem = 0;
    for (size_t i = 0; a[i] && a[i] == b[i]; i++)
        if (is_separator(a[i]))
            stem = i;
    return stem;
}

/* ---- Values of features -------------------------------------------------------------------- */

static int by_feature(const void *a, const void *b, void *ctx) {
    const int *map = (const int *)ctx, v = *(const int *)a, w = *(const int *)b;
    return map[v] != map[w] ? (map[v] > map[w]) - (map[v] < map[w]) : (v > w) - (v < w);
}

int sis__record_index(sis_record *r) {
    int *order = SIS_NEW_RAW(int, r->drawing.n_values);
    if (!order)
        return SIS_E_NOMEM;
    for (size_t v = 0; v < r->drawing.n_values; v++)
        order[v] = (int)v;
    sis__sort(order, r->drawing.n_values, sizeof *order, by_feature,
              (void *)(uintptr_t)r->drawing.feature_map);
    r->drawing.by_feature = order;
    return SIS_OK;
}

/* The number of values that belong to features below this one. */
static size_t values_below(const sis_record *r, long feature) {
    size_t low = 0, high = r->drawing.n_values;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (r->drawing.feature_map[r->drawing.by_feature[middle]] < feature)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

size_t sis_record_value(const sis_record *r, int feature, size_t k) {
    if (!r->drawing.feature_map)
        return (size_t)feature;
    if (r->drawing.by_feature)
        return (size_t)r->drawing.by_feature[values_below(r, feature) + k];
    size_t v = 0;
    for (; v < r->drawing.n_values; v++)
        if (r->drawing.feature_map[v] == feature && k-- == 0)
            break;
    return v;
}

size_t sis_record_values(const sis_record *r, int feature, size_t *count) {
    *count = r->drawing.values && (size_t)feature < r->drawing.n_values;
    if (r->drawing.values && r->drawing.feature_map && r->drawing.by_feature)
        *count = values_below(r, (long)feature + 1) - values_below(r, feature);
    else if (r->drawing.values && r->drawing.feature_map) {
        *count = 0;
        for (size_t v = 0; v < r->drawing.n_values; v++)
            *count += r->drawing.feature_map[v] == feature;
    }
    return *count ? sis_record_value(r, feature, 0) : SIZE_MAX;
}

/* ---- Names --------------------------------------------------------------------------------- */

static int names_features(const sis_record *r) {
    return r->drawing.names && r->drawing.n_names == r->collection.n_features;
}

/* The names of all values, or NULL. */
static const char *const *value_names(const sis_record *r) {
    return r->drawing.value_names ? r->drawing.value_names
           : names_features(r)    ? NULL
                                  : r->drawing.names;
}

/* The length of the feature's name in the names of its values; 0: no common part. */
static size_t stem_of(const sis_record *r, int feature) {
    const char *const *names = value_names(r);
    size_t count, stem, first = sis_record_values(r, feature, &count);
    if (!names || first >= r->drawing.n_values)
        return 0;
    if (names_features(r)) {
        stem = strlen(r->drawing.names[feature]);
        return strncmp(names[first], r->drawing.names[feature], stem) == 0 &&
                       is_separator(names[first][stem])
                   ? stem
                   : 0;
    }
    stem = count > 1 ? strlen(names[first]) : 0;
    for (size_t k = 1; k < count && stem; k++) {
        size_t shared = sis_name_stem(names[first], names[sis_record_value(r, feature, k)]);
        stem = shared < stem ? shared : stem;
    }
    return stem;
}

int sis_record_name(const sis_record *r, int feature, char *text, size_t size) {
    size_t count, f = (size_t)feature, first = sis_record_values(r, feature, &count);
    const char *const *names = value_names(r);
    if (r->drawing.words && f < r->drawing.n_words)
        snprintf(text, size, "%s", r->drawing.words[f]);
    else if (names_features(r) && f < r->drawing.n_names)
        snprintf(text, size, "%s", r->drawing.names[f]);
    else if (names && first < r->drawing.n_values) {
        size_t stem = stem_of(r, feature);
        snprintf(text, stem && stem < size ? stem + 1 : size, "%s", names[first]);
    } else {
        snprintf(text, size, "feature %d", feature);
        return 0;
    }
    return 1;
}

/* ---- Values -------------------------------------------------------------------------------- */

const char *sis_record_value_name(const sis_record *r, size_t value) {
    const char *const *names = value_names(r);
    int feature = r->drawing.feature_map ? r->drawing.feature_map[value] : (int)value;
    if (!names)
        return NULL;
    size_t stem = feature < 0 ? 0 : stem_of(r, feature);
    const char *name = stem && strlen(names[value]) > stem ? names[value] + stem + 1 : names[value];
    return *name ? name : "\"\"";
}

/* The word at a position of a list; NULL: not a position. */
static const char *word_at(const char *const *words, double position) {
    size_t n = 0;
    while (words[n])
        n++;
    return position >= 0 && position < (double)n && position == floor(position)
               ? words[(size_t)position]
               : NULL;
}

const char *sis_record_category(const sis_record *r, const double *values, int feature) {
    size_t count, one = SIZE_MAX, missing = 0;
    size_t first = sis_record_values(r, feature, &count);
    if (count == 1 && r->drawing.categories && r->drawing.categories[first])
        return isnan(values[first]) ? "missing"
                                    : word_at(r->drawing.categories[first], values[first]);
    for (size_t k = 0; k < count; k++) {
        size_t v = sis_record_value(r, feature, k);
        if (values[v] == 1 && one == SIZE_MAX)
            one = v;
        else if (isnan(values[v]))
            missing++;
        else if (values[v] != 0)
            return NULL;
    }
    if (!count || (missing && missing != count) || !stem_of(r, feature))
        return NULL;
    if (one != SIZE_MAX)
        return sis_record_value_name(r, one);
    return missing ? "missing" : names_features(r) && r->drawing.value_names ? "(none)" : NULL;
}

const char *sis_record_was(const sis_record *r, int feature, char number[SIS_NUMBER_SIZE]) {
    size_t count, first = sis_record_values(r, feature, &count);
    const char *category = count ? sis_record_category(r, r->drawing.values, feature) : NULL;
    if (category || count != 1)
        return category;
    if (isnan(r->drawing.values[first]))
        return "missing";
    sis__format(number, SIS_NUMBER_SIZE, "%.6g", r->drawing.values[first]);
    return number;
}

/* ---- Images -------------------------------------------------------------------------------- */

enum { CHANNELS_MAX = 4, AXIS_MAX = 1 << 16 };

static sis_raster channels_first(const size_t d[3]) {
    return (sis_raster){d[1], d[2], d[0], d[2], 1, d[1] * d[2]};
}

static sis_raster channels_last(const size_t d[3]) {
    return (sis_raster){d[0], d[1], d[2], d[1] * d[2], d[2], 1};
}

/* The number of channels if all channels of a pixel are one feature, otherwise 0. */
static size_t tied_channels(const sis_raster *g, const int *map) {
    if (g->channels == 1 || !map)
        return g->channels == 1;
    for (size_t y = 0; y < g->rows; y++)
        for (size_t x = 0; x < g->columns; x++)
            for (size_t c = 1; c < g->channels; c++) {
                const int *pixel = map + y * g->row_step + x * g->column_step;
                if (pixel[c * g->channel_step] != *pixel)
                    return 0;
            }
    return g->channels;
}

/* The axis of three that holds channels; 0 if none does. */
static int place_channels(const size_t d[3], const int *map, sis_raster *out) {
    int first = d[0] <= CHANNELS_MAX, last = d[2] <= CHANNELS_MAX;
    sis_raster ahead = channels_first(d), behind = channels_last(d);
    if (first && last)
        first = tied_channels(&ahead, map) > tied_channels(&behind, map);
    *out = first ? ahead : behind;
    return first || last;
}

int sis_record_raster(const sis_record *r, sis_raster *out) {
    const size_t *d = r->drawing.shape;
    size_t rank = r->drawing.rank, n = 1;
    for (; d && rank > 3 && *d == 1; rank--)
        d++;
    if (!d || (rank != 2 && rank != 3))
        return 0;
    for (size_t k = 0; k < rank; n *= d[k++])
        if (d[k] < 1 || d[k] > AXIS_MAX)
            return 0;
    if (r->drawing.n_values && r->drawing.n_values != n)
        return 0;
    *out = (sis_raster){d[0], d[1], 1, d[1], 1, 0};
    return rank == 2 || place_channels(d, r->drawing.n_values ? r->drawing.feature_map : NULL, out);
}

/* ---- Units --------------------------------------------------------------------------------- */

/* The kind of features of an image, from their number. */
static const char *picture_unit(const sis_record *r, const sis_raster *g) {
    size_t pixels = 0, n = r->collection.n_features;
    for (size_t p = 0; p < g->rows * g->columns; p++) {
        size_t v = p / g->columns * g->row_step + p % g->columns * g->column_step;
        pixels += !r->drawing.feature_map || r->drawing.feature_map[v] >= 0;
    }
    return n == pixels ? "pixel" : n < pixels ? "part" : "value";
}

const char *sis_record_unit(const sis_record *r) {
    sis_raster g;
    if (r->drawing.words)
        return r->drawing.unit ? r->drawing.unit : "word";
    if (r->drawing.sequence)
        return "base";
    if (sis_kind_of(r->drawing.kind) == SIS_KIND_IMAGE && r->drawing.values &&
        sis_record_raster(r, &g))
        return picture_unit(r, &g);
    return "feature";
}

/* ---- Guarantees ------------------------------------------------------------------------------ */

/* Describe "data:FILE" and "ball:E" in words. */
static void put_domain(const char *domain, char *text, size_t size) {
    int radius = domain ? (int)strcspn(domain, ",") - 5 : 0; /* number of its digits */
    text[0] = '\0';
    if (domain && strncmp(domain, "ball:", 5) == 0 && domain[5 + radius] == ',')
        snprintf(text, size, ", within %.*s of what they were and %.40s", radius < 20 ? radius : 20,
                 domain + 5, domain + 6 + radius);
    else if (domain && strncmp(domain, "ball:", 5) == 0)
        snprintf(text, size, ", within %.20s of what they were", domain + 5);
    else if (domain && strncmp(domain, "data:", 5) == 0)
        snprintf(text, size, ", within the range of %.60s", domain + 5);
}

static int is_position(const sis_record *r, const char *text) {
    char number[32];
    if (!text)
        return 1;
    snprintf(number, sizeof number, "%zu", r->question.target);
    return strcmp(text, number) == 0;
}

int sis_record_is_target(const sis_record *r, const char *label, const char *position) {
    int named = label && r->question.target_label ? strcmp(r->question.target_label, label) == 0
                                                  : is_position(r, label);
    return named && is_position(r, position);
}

int sis_record_is_contrast(const sis_record *r) {
    return (r->guarantee && r->guarantee->examples) || strcmp(r->question.method, "contrast") == 0;
}

void sis_record_promise(const sis_record *r, size_t k, char *text, size_t size) {
    const sis_guarantee *g = r->guarantee;
    size_t others = r->collection.n_features - r->collection.subsets[k].n;
    char domain[96], unit[16];
    snprintf(unit, sizeof unit, "%s%s", sis_record_unit(r), others == 1 ? "" : "s");
    put_domain(r->question.domain, domain, sizeof domain);
    if (sis_record_is_contrast(r))
        snprintf(text, size, "to lose the decision, if %s%s", g ? "changed" : "masked", domain);
    else if (!g || g->kind == SIS_GUARANTEE_MASK)
        snprintf(text, size, "with everything else masked");
    else if (g->kind == SIS_GUARANTEE_CHANCE)
        sis__format(text, size, "for %.1f to %.1f %% of completions", 100 * g->shares[k].low,
                    100 * g->shares[k].high);
    else if (others == 0)
        snprintf(text, size, "because it is all there is");
    else
        snprintf(text, size, "whatever the other %zu %s %s%s", others, unit,
                 others == 1 ? "is" : "are", domain);
}

/* ---- Descriptions -------------------------------------------------------------------------- */

static sis_guarantee_kind kind_of(const sis_record *r) {
    return r->guarantee ? r->guarantee->kind : SIS_GUARANTEE_MASK;
}

void sis_record_found(const sis_record *r, char *text, size_t size) {
    const sis_collection *c = &r->collection;
    const char *s = c->n_subsets == 1 ? "" : "s";
    int proved = kind_of(r) == SIS_GUARANTEE_ALL;
    if (r->question.constraint) {
        snprintf(text, size, "rationale%s by %.40s, %.40s", s, r->question.method,
                 r->question.constraint);
        return;
    }
    snprintf(text, size, "%zu %s%s%s%s%s%s", c->n_subsets,
             sis_record_is_contrast(r) ? "way" : "sufficient subset", s,
             sis_record_is_contrast(r) ? " to lose it" : "",
             !r->guarantee            ? ""
             : r->guarantee->smallest ? ", none with fewer features"
             : r->guarantee->cheapest ? ", none is nearer"
                                      : "",
             proved        ? ", proved"
             : c->verified ? ", verified"
                           : ", not verified",
             proved && !r->guarantee->minimal ? ", may be more than is needed" : "");
}

const char *sis_record_score_name(const sis_record *r) {
    static const char *const names[][2] = {
        {"score", "ahead by"},
        {"mean score", "ahead on average by"},
        {"lowest score met", "smallest lead met"},
        {"highest score met", "smallest lead met"},
        {"changes the score to", "changes the lead to"},
        {"without them", "lead without them"},
    };
    int row = sis_record_is_contrast(r)            ? 4 + !r->guarantee
              : kind_of(r) == SIS_GUARANTEE_ALL    ? 2 + (r->question.below && !r->question.keep)
              : kind_of(r) == SIS_GUARANTEE_CHANCE ? 1
                                                   : 0;
    return names[row][r->question.keep != NULL];
}

/* Round to four digits, down or up. */
static double rounded(double v, int up) {
    double unit = v == 0 || !isfinite(v) ? 0 : pow(10, floor(log10(fabs(v))) - 3);
    return unit > 0 ? unit * (up ? ceil(v / unit) : floor(v / unit)) : v;
}

const char *sis_record_subset_score(const sis_record *r, size_t k, double *score) {
    const sis_guarantee *g = r->guarantee;
    int below = r->question.below;
    *score = r->collection.subsets[k].score;
    if (!g || k >= g->n_bounds || isnan(g->bounds[k]))
        return sis_record_score_name(r);
    *score = rounded(g->bounds[k], below);
    return below ? "score at most" : "score at least";
}

const char *sis_record_masked_name(const sis_record *r) {
    switch (kind_of(r)) {
    case SIS_GUARANTEE_ALL: /* nothing is proved for an undecided input */
        return r->collection.status == SIS_STATUS_NOT_DECIDED ? NULL : "other values of everything";
    case SIS_GUARANTEE_CHANCE:
        return "everything drawn anew";
    default:
        return "everything masked";
    }
}

void sis_record_rest(const sis_record *r, char *text, size_t size) {
    const sis_collection *c = &r->collection;
    const char *what = r->question.constraint ? "rationale" : "subset";
    const char *s = r->question.constraint && c->n_subsets == 1 ? "" : "s";
    int all = kind_of(r) == SIS_GUARANTEE_ALL, drawn = kind_of(r) == SIS_GUARANTEE_CHANCE;
    if (sis_record_is_contrast(r) && !r->guarantee)
        sis__format(text, size,
                    "masked alone, each of these sets loses the decision; only these sets %.4g%s",
                    c->rest_score, c->complete ? "" : " (there are more ways)");
    else if (sis_record_is_contrast(r))
        snprintf(text, size, "changing these alone can lose the decision%s%s",
                 r->guarantee->minimal ? ", changing less of them cannot" : "",
                 c->complete ? "; there are no others" : "");
    else
        sis__format(text, size, "%s the %s%s%s %.4g%s", all ? "other values of only" : "only", what,
                    s,
                    all     ? ""
                    : drawn ? " drawn anew"
                            : " masked",
                    c->rest_score,
                    c->complete || r->question.constraint ? ""
                    : all || drawn                        ? " (there may be more subsets)"
                                                          : " (there are more subsets)");
}

void sis_record_reason(const sis_record *r, char *text, size_t size) {
    const sis_collection *c = &r->collection;
    char domain[96];
    put_domain(r->question.domain, domain, sizeof domain);
    text[0] = '\0';
    if (c->status == SIS_STATUS_NOT_DECIDED)
        snprintf(text, size, "The %s, so there is no decision to explain.",
                 r->question.keep ? "model does not choose this output"
                                  : "score does not meet this threshold");
    if (c->status != SIS_STATUS_DEFAULT_DECISION)
        return;
    if (kind_of(r) == SIS_GUARANTEE_ALL)
        sis__format(
            text, size,
            "Whatever all %sfeatures are%s, the decision is the same; the %s that was met is "
            "%.4g.",
            r->guarantee->n_fixed ? "but the fixed " : "", domain,
            r->question.keep ? "smallest lead" : "nearest score", c->masked_score);
    else if (kind_of(r) == SIS_GUARANTEE_CHANCE)
        sis__format(text, size,
                    "Even with everything drawn anew the decision stays as often as was asked for "
                    "(%s %.4g), so no part of this input is responsible.",
                    r->question.keep ? "mean lead" : "mean score", c->masked_score);
    else
        sis__format(text, size,
                    "Even with everything masked %s %.4g, so no part of this input is responsible.",
                    r->question.keep ? "it is ahead by" : "the score is", c->masked_score);
}

/* ---- Advice -------------------------------------------------------------------------------- */

/* A decision has an explanation only if the threshold is between the score with everything masked
 * and the score of the input:
 *
 *         masked        score                      score         masked
 *     ------(=============]------>  score     -------[==============)------>  score
 *        score >= threshold                        score <= threshold, the opposite
 *
 * Numbers have four digits, or more if four do not distinguish them. The score is rounded inwards,
 * so that it is a valid threshold. */
enum { NUMBER = 32, FEW = 4, ALL = 17 };

/* Round v to this many digits, upwards (up) or downwards. */
static double round_to(double v, int digits, int up, char text[NUMBER]) {
    sis__format(text, NUMBER, "%.*g", digits, v);
    double near = sis__number(text, NULL);
    if (up ? near < v : near > v) {
        double unit = pow(10, floor(log10(fabs(v))) - (digits - 1));
        sis__format(text, NUMBER, "%.*g", digits, up ? v + unit : v - unit);
        near = sis__number(text, NULL);
    }
    return near;
}

/* Write both numbers with enough digits to differ. */
static void write_ends(double score, double masked, char at[NUMBER], char beyond[NUMBER]) {
    for (int digits = FEW; digits <= ALL; digits++) {
        double end = round_to(score, digits, score < masked, at);
        sis__format(beyond, NUMBER, "%.*g", digits, masked);
        double other = sis__number(beyond, NULL);
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
    if (!by_default && c->status != SIS_STATUS_NOT_DECIDED)
        return;
    if (r->prompted && r->question.threshold == 0) { /* a margin */
        snprintf(text, size, "%s",
                 by_default ? "The model gives this answer without any of these parts."
                            : "To the whole prompt the model gives another answer.");
        return;
    }
    int for_all = kind_of(r) == SIS_GUARANTEE_ALL;
    if (r->question.keep) { /* no threshold */
        snprintf(text, size, "%s",
                 !by_default ? "Another output is higher: ask about that one."
                 : for_all   ? "Ask with another domain."
                             : "Take another mask, or ask about another output.");
        return;
    }
    if (kind_of(r) != SIS_GUARANTEE_MASK) {
        round_to(score, FEW, r->question.below, at);
        if (by_default)
            snprintf(text, size, "Ask with another threshold, or another %s.",
                     for_all ? "domain" : "hot deck");
        else
            snprintf(text, size, "Ask with a threshold of %s or %s.", at,
                     r->question.below ? "more" : "less");
        return;
    }
    if ((float)score == (float)masked || !isfinite(score) || !isfinite(masked)) {
        snprintf(text, size,
                 "It scores the same with everything masked: only another mask could tell its "
                 "parts apart.");
        return;
    }
    int below = score < masked; /* the direction that can be explained */
    const char *ask = by_default ? "Take another mask, or ask" : "Ask";
    const char *how = below == r->question.below ? "with"
                      : below                    ? "with --below and"
                                                 : "without --below and with";
    write_ends(score, masked, at, beyond);
    if (below)
        snprintf(text, size, "%s %s a threshold of %s or more, below %s (everything masked).", ask,
                 how, at, beyond);
    else
        snprintf(text, size, "%s %s a threshold above %s (everything masked), up to %s.", ask, how,
                 beyond, at);
}

static int is_number(const char *text, double *v) {
    char *end;
    *v = sis__number(text, &end);
    return end != text && !*end;
}

/* Compare labels as text, or by value if they are numbers: 1 equals 1.0. */
static int is_same_label(const char *a, const char *b) {
    double x, y;
    return strcmp(a, b) == 0 || (is_number(a, &x) && is_number(b, &y) && x == y);
}

/* Is the label the class of the output? -1: unknown. If the output has a name, a numeric label is
 * its index; a single output has index 1, as opposed to 0. */
static int is_label_of_output(const sis_record *r) {
    const char *name = r->question.target_label;
    size_t place = r->question.n_outputs == 1 ? 1 : r->question.target;
    double label, number;
    int by_place = is_number(r->drawing.label, &label) && !(name && is_number(name, &number));
    if (!by_place)
        return name ? is_same_label(r->drawing.label, name) : -1;
    if (name && is_same_label(r->drawing.label, name))
        return 1;
    if (r->question.n_outputs == 0 && r->question.target == 0 && !name)
        return -1; /* older records do not tell whether it is the only output */
    if (r->question.n_outputs == 1 && label != 0 && label != 1)
        return name ? 0 : -1;
    return label == (double)place;
}

int sis_record_is_right(const sis_record *r) {
    sis_status status = r->collection.status;
    if (!r->drawing.label || status == SIS_STATUS_ERROR)
        return -1;
    int same = is_label_of_output(r), below = r->question.below;
    if (same >= 0 && r->question.n_outputs == 1 && status == SIS_STATUS_NOT_DECIDED)
        below = !below; /* the score is on the other side of the threshold */
    return same < 0 ? -1 : same == !below;
}
