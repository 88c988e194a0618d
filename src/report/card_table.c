/* SPDX-License-Identifier: MIT
 *
 * Tables, and inputs of which nothing but numbers is known: each subset as a small table of
 * features by rank, their values against what they look like when masked; below it, folded, the
 * whole input.
 */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>

#include "report/page.h"

enum { ROWS_MOST = 200, NAME_MOST = 80, VALUES_MOST = 4 };

static void add_name(sis__buf *b, const char *name) {
    sis__buf_str(b, "<bdi>");
    sis__html_clip(b, name, NAME_MOST);
    sis__buf_str(b, "</bdi>");
}

/* The values of a feature: the category it is, or "0.5", "0.5 0.1 0.9", "own 0.7, rent 0.3". */
static void add_values(sis__buf *b, const sis_record *r, const double *values, int feature) {
    size_t count, shown;
    sis_record_values(r, feature, &count);
    const char *category = sis_record_category(r, values, feature);
    if (category) {
        add_name(b, category);
        return;
    }
    for (shown = 0; shown < VALUES_MOST && shown < count; shown++) {
        size_t v = sis_record_value(r, feature, shown);
        const char *name = count > 1 ? sis_record_value_name(r, v) : NULL;
        if (shown)
            sis__buf_str(b, name ? ", " : " ");
        if (name) {
            add_name(b, name);
            sis__buf_char(b, ' ');
        }
        if (isnan(values[v]))
            sis__buf_str(b, "missing");
        else
            sis__html_number(b, values[v]);
    }
    if (shown < count)
        sis__buf_str(b, " \xE2\x80\xA6");
}

static void add_head(sis__buf *b, const sis_record *r) {
    sis__buf_str(b, "<thead><tr><th scope=\"col\">feature</th>");
    if (r->values)
        sis__buf_str(b, "<th scope=\"col\">value</th>");
    if (r->mask)
        sis__buf_str(b, "<th scope=\"col\">masked</th>");
    sis__buf_str(b, "</tr></thead>\n<tbody>\n");
}

static void add_row(sis__buf *b, const sis_record *r, int feature, const sis__choice *choice) {
    char name[4 * NAME_MOST + 1];
    sis_record_name(r, feature, name, sizeof name);
    sis__buf_printf(b, "<tr data-f=\"%d\"", feature);
    sis__choice_class(b, choice, 0);
    sis__buf_str(b, "><th scope=\"row\">");
    add_name(b, name);
    sis__buf_str(b, "</th>");
    for (int masked = 0; masked < 2; masked++) {
        const double *values = masked ? r->mask : r->values;
        if (!values)
            continue;
        sis__buf_printf(b, "<td%s>", masked ? " class=\"soft\"" : "");
        add_values(b, r, values, feature);
        sis__buf_str(b, "</td>");
    }
    sis__buf_str(b, "</tr>\n");
}

static void add_subset(sis__buf *b, const sis__report_example *e, size_t k) {
    const sis_subset *s = &e->record.collection.subsets[k];
    sis__buf_printf(b, "<table class=\"features\"><caption><span class=\"key s%zu r0\">%zu</span> ",
                    k % SIS__SUBSET_COLOURS, k + 1);
    sis__subset_caption(b, e, k);
    sis__buf_str(b, "</caption>\n");
    add_head(b, &e->record);
    for (size_t i = 0; i < s->n && i < ROWS_MOST; i++)
        add_row(b, &e->record, s->features[i], NULL);
    sis__buf_str(b, "</tbody>");
    if (s->n > ROWS_MOST)
        sis__buf_printf(
            b, "<tfoot><tr><td colspan=\"3\" class=\"soft\">and %zu more</td></tr></tfoot>",
            s->n - ROWS_MOST);
    sis__buf_str(b, "</table>\n");
}

/* All features, those of subsets in the subset's colour. */
static int add_whole(sis__buf *b, const sis__report_example *e) {
    const sis_record *r = &e->record;
    size_t n = r->collection.n_features;
    sis__choices choices;
    int code = sis__choices_make(&r->collection, 0, r->collection.n_subsets, &choices);
    sis__buf_str(b, "<details class=\"whole\"><summary>The whole input: ");
    sis__html_plural(b, n, "feature");
    sis__buf_str(b, "</summary>\n<div class=\"scroll\"><table class=\"features\">\n");
    add_head(b, r);
    for (size_t f = 0; code == SIS_OK && f < n && f < ROWS_MOST; f++)
        add_row(b, r, (int)f, sis__choices_find(&choices, (int)f));
    sis__buf_str(b, "</tbody></table></div>\n");
    if (n > ROWS_MOST)
        sis__buf_printf(b, "<p class=\"soft\">The first %d of them.</p>\n", ROWS_MOST);
    sis__buf_str(b, "</details>\n");
    free(choices.items);
    return code;
}

int sis__card_table(sis__buf *b, const sis__report_example *e) {
    sis__buf_str(b, "<div class=\"tables\">\n");
    for (size_t k = 0; k < e->record.collection.n_subsets; k++)
        add_subset(b, e, k);
    sis__buf_str(b, "</div>\n");
    return e->look == SIS__TABLE ? add_whole(b, e) : SIS_OK;
}
