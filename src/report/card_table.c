/* SPDX-License-Identifier: MIT
 *
 * Cards of tables and of unstructured numbers: the features of each subset by rank, with their
 * attributions. Each value is compared with the values of all examples and with its masked value,
 * or the value that loses the decision. The whole input follows, folded.
 */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>

#include <sis/record.h>

#include "report/page.h"

enum { ROWS_MAX = 200, VALUES_MAX = 4 };

/* The columns of a table of features. */
typedef struct {
    const sis__report_example *e;
    const sis__population *among; /* NULL: too few records to compare with */
    double max;                   /* largest attribution; 0: no attributions */
    int changed;                  /* subsets have values that lose the decision */
    const char *other;            /* heading of the masked or changed values; NULL: none */
} columns;

static columns find_columns(const sis__report_example *e, const sis__population *p) {
    const sis_record *r = &e->record;
    int changed = r->guarantee && r->guarantee->examples &&
                  r->guarantee->n_examples >= r->collection.n_subsets && r->drawing.n_values;
    return (columns){e, sis__population_has(p, e) ? p : NULL, sis__attribution_max(r), changed,
                     changed           ? "becomes"
                     : r->drawing.mask ? "masked"
                                       : NULL};
}

/* Several nonzero categories are a mixture: add the largest one and their number. All zeros means
 * no category. */
static void add_mixture(sis__buf *b, const sis_record *r, const double *values, int feature,
                        size_t count) {
    size_t best = sis_record_value(r, feature, 0), others = 0;
    for (size_t k = 0; k < count; k++) {
        size_t v = sis_record_value(r, feature, k);
        best = values[v] > values[best] ? v : best;
        others += values[v] > 0;
    }
    if (others == 0) {
        sis__buf_str(b, "none");
        return;
    }
    sis__html(b, "mostly <bdi>%.80s</bdi>", sis_record_value_name(r, best));
    if (others > 1)
        sis__html(b, ", %zu in all", others);
}

/* Add the values of a feature: its category, "0.5", "0.5 0.1 0.9", "mostly own, 3 in all",
 * "none". */
static void add_values(sis__buf *b, const sis_record *r, const double *values, int feature) {
    size_t count, shown;
    sis_record_values(r, feature, &count);
    const char *category = sis_record_category(r, values, feature);
    if (category) {
        sis__html(b, "<bdi>%.80s</bdi>", category);
        return;
    }
    if (count > 1 && sis_record_value_name(r, sis_record_value(r, feature, 0))) {
        add_mixture(b, r, values, feature, count);
        return;
    }
    for (shown = 0; shown < VALUES_MAX && shown < count; shown++) {
        double v = values[sis_record_value(r, feature, shown)];
        sis__html(b, isnan(v) ? "%smissing" : "%s%g", shown ? " " : "", v);
    }
    if (shown < count)
        sis__buf_str(b, " \xE2\x80\xA6");
}

/* ---- Comparison with other examples ---------------------------------------------------------- */

/* Minimum to maximum as a line, the middle half as a box, this value and the masked one as
 * marks. */
static void add_spread(sis__buf *b, const columns *c, size_t feature, size_t v) {
    const sis_record *r = &c->e->record;
    const sis__numbers *all = &c->among->numbers[feature];
    double min = all->items[0], max = all->items[all->n - 1], value = r->drawing.values[v], low,
           high;
    double below = 100 * sis__population_below(c->among, feature, value);
    int is_above = below >= 50;
    double q[2] = {sis__numbers_quantile(all, 0.25), sis__numbers_quantile(all, 0.75)};
    double at[4] = {q[0], q[1], value, r->drawing.mask ? r->drawing.mask[v] : NAN};
    sis__numbers_range(all, &low, &high);
    for (int k = 2; k < 4; k++) { /* fmin and fmax ignore NaN */
        low = fmin(low, at[k]);
        high = fmax(high, at[k]);
    }
    for (int k = 0; k < 4; k++) {
        double share = high > low ? (at[k] / 2 - low / 2) / (high / 2 - low / 2) : 0.5;
        at[k] = isnan(at[k]) ? NAN : 100 * fmax(0, fmin(1, share));
    }
    sis__html(b,
              "<span class=\"spread%s%s\" title=\"least %g, half between %g and %g, most %g\">"
              "<b style=\"left:%.1f%%;width:%.1f%%\"></b>",
              min < low ? " less" : "", max > high ? " more" : "", min, q[0], q[1], max, at[0],
              at[1] - at[0]);
    if (!isnan(at[3]))
        sis__html(b, "<u style=\"left:%.1f%%\"></u>", at[3]);
    if (!is_above)
        below = 100 - 100 * sis__population_below(c->among, feature, nextafter(value, INFINITY));
    sis__html(b, "<i style=\"left:%.1f%%\"></i></span> <small>%s %.0f %%</small>", at[2],
              is_above ? "above" : "below", below);
}

/* For categories: the share of records with this category. */
static void add_one_share(sis__buf *b, double share) {
    sis__html(b,
              "<span class=\"spread share\"><b style=\"left:0;width:%.1f%%\"></b>"
              "</span> <small>%.0f %% are</small>",
              share, share);
}

/* The same if the value is the position of a word. */
static void add_word_share(sis__buf *b, const columns *c, int feature, double position) {
    const sis__numbers *all = &c->among->numbers[feature];
    size_t same = 0;
    for (size_t i = 0; i < all->n; i++)
        same += all->items[i] == position;
    add_one_share(b, 100 * (double)same / (double)c->among->n);
}

static void add_share(sis__buf *b, const columns *c, int feature, size_t count) {
    const sis_record *r = &c->e->record;
    for (size_t k = 0; k < count; k++) {
        size_t v = sis_record_value(r, feature, k);
        double share = 100 * (double)c->among->ones[v] / (double)c->among->n;
        if (r->drawing.values[v] == 1)
            add_one_share(b, share);
    }
}

static void add_among(sis__buf *b, const columns *c, int feature) {
    size_t count, v = sis_record_values(&c->e->record, feature, &count);
    sis__buf_str(b, "<td class=\"among\">");
    const sis_drawing *d = &c->e->record.drawing;
    if (count == 1 && d->categories && d->categories[v])
        add_word_share(b, c, feature, d->values[v]);
    else if (count == 1 && isfinite(d->values[v]) && c->among->numbers[feature].n)
        add_spread(b, c, (size_t)feature, v);
    else if (sis_record_category(&c->e->record, c->e->record.drawing.values, feature))
        add_share(b, c, feature, count);
    sis__buf_str(b, "</td>");
}

/* ---- Rows ------------------------------------------------------------------------------------ */

static void add_head(sis__buf *b, const columns *c) {
    const sis_record *r = &c->e->record;
    sis__buf_str(b, "<thead><tr><th scope=\"col\">feature</th>");
    if (r->drawing.values)
        sis__buf_str(b, "<th scope=\"col\">value</th>");
    if (c->among)
        sis__buf_printf(b, "<th scope=\"col\" class=\"among\">among %zu examples</th>",
                        c->among->n);
    if (c->other)
        sis__buf_printf(b, "<th scope=\"col\">%s</th>", c->other);
    if (c->max > 0)
        sis__buf_str(b, "<th scope=\"col\">attribution</th>");
    sis__buf_str(b, "</tr></thead>\n");
}

static void add_attribution(sis__buf *b, const columns *c, double v) {
    sis__buf_str(b, "<td class=\"attributed\"><span");
    sis__attribution_style(b, v, c->max);
    sis__html(b, ">%g</span></td>", v);
}

/* `other`: the masked or changed values; NULL: unknown. */
static void add_row(sis__buf *b, const columns *c, int feature, const double *other,
                    const sis__choice *choice) {
    const sis_record *r = &c->e->record;
    char name[321];
    sis_record_name(r, feature, name, sizeof name);
    sis__html(b, "<tr data-f=\"%d\"", feature);
    sis__choice_class(b, choice, 0, "");
    sis__html(b, "><th scope=\"row\"><bdi>%.80s</bdi></th>", name);
    if (r->drawing.values) {
        sis__buf_str(b, "<td>");
        add_values(b, r, r->drawing.values, feature);
        sis__buf_str(b, "</td>");
    }
    if (c->among)
        add_among(b, c, feature);
    if (c->other) {
        sis__html(b, "<td class=\"%s\">", c->changed ? "changed" : "soft");
        if (other)
            add_values(b, r, other, feature);
        sis__buf_str(b, "</td>");
    }
    if (c->max > 0)
        add_attribution(b, c, r->attributions[feature]);
    sis__buf_str(b, "</tr>\n");
}

static void add_subset(sis__buf *b, const columns *c, size_t k) {
    const sis__report_example *e = c->e;
    const sis_record *r = &e->record;
    const sis_subset *s = &r->collection.subsets[k];
    const double *other =
        c->changed ? r->guarantee->examples + k * r->drawing.n_values : r->drawing.mask;
    sis__buf_printf(b,
                    "<tbody><tr class=\"group\"><th colspan=\"5\" scope=\"rowgroup\"><span "
                    "class=\"key s%zu r0\">%zu</span> ",
                    k % SIS__SUBSET_COLOURS, k + 1);
    sis__subset_caption(b, e, k);
    sis__buf_str(b, "</th></tr>\n");
    for (size_t i = 0; i < s->n && i < ROWS_MAX; i++)
        add_row(b, c, s->features[i], other, NULL);
    if (s->n > ROWS_MAX)
        sis__buf_printf(b, "<tr><td colspan=\"5\" class=\"soft\">and %zu more</td></tr>",
                        s->n - ROWS_MAX);
    sis__buf_str(b, "</tbody>\n");
}

/* Add all features; those of subsets have the subset's colour. */
static int add_whole(sis__buf *b, const columns *c) {
    const sis_record *r = &c->e->record;
    size_t n = r->collection.n_features;
    sis__choices choices;
    int code = sis__choices_make(&r->collection, 0, r->collection.n_subsets, &choices);
    columns plain = *c;
    plain.changed = 0;
    plain.other = r->drawing.mask ? "masked" : NULL;
    sis__html(b,
              "<details class=\"whole\"><summary>The whole input: %'zu feature%s</summary>\n"
              "<div class=\"scroll\"><table class=\"features\">\n",
              n, sis__plural(n));
    add_head(b, &plain);
    sis__buf_str(b, "<tbody>\n");
    for (size_t f = 0; code == SIS_OK && f < n && f < ROWS_MAX; f++)
        add_row(b, &plain, (int)f, r->drawing.mask, sis__choices_find(&choices, (int)f));
    sis__buf_str(b, "</tbody></table></div>\n");
    if (n > ROWS_MAX)
        sis__buf_printf(b, "<p class=\"soft\">The first %d of them.</p>\n", ROWS_MAX);
    sis__buf_str(b, "</details>\n");
    free(choices.items);
    return code;
}

int sis__card_table(sis__buf *b, const sis__report_example *e, const sis__population *p) {
    columns c = find_columns(e, p);
    if (e->record.collection.n_subsets) {
        sis__buf_str(b, "<div class=\"scroll\"><table class=\"features\">\n");
        add_head(b, &c);
    }
    for (size_t k = 0; k < e->record.collection.n_subsets; k++)
        add_subset(b, &c, k);
    if (e->record.collection.n_subsets)
        sis__buf_str(b, "</table></div>\n");
    return e->look == SIS__TABLE ? add_whole(b, &c) : SIS_OK;
}
