/* SPDX-License-Identifier: MIT
 *
 * What a comparison has found: a report for a person, and one JSON object.
 */
#include <stdlib.h>
#include <string.h>

#include "compare.h"
#include "output.h"

static double agreement(const cli_comparison *c) {
    size_t same = c->decisions.both + c->decisions.neither;
    return c->decisions.common ? (double)same / (double)c->decisions.common : 0;
}

/* ---- Printing -------------------------------------------------------------------------------- */

static void print_decisions(const cli_comparison *c) {
    static const char letters[] = "AB";
    for (size_t k = 0; k < 2; k++) {
        const cli_side *s = &c->sides[k];
        size_t n = c->cross[k].n, features = 0, decided = 0;
        for (size_t i = 0; i < s->results.n; i++) {
            decided += (size_t)cli_is_decided(&s->results.records[i]);
            for (size_t j = 0; j < s->results.records[i].collection.n_subsets; j++)
                features += s->results.records[i].collection.subsets[j].n;
        }
        printf("%c  ", letters[k]);
        cli_print_safe(stdout, cli_last_part(s->results.path));
        printf(", ");
        cli_print_safe(stdout, cli_last_part(s->spec));
        printf(": %zu of %zu example%s %s %g, %zu subset%s", decided, s->results.n,
               s->results.n == 1 ? "" : "s", s->below ? "<=" : ">=", s->threshold, n,
               n == 1 ? "" : "s");
        if (n)
            printf(" of %.1f features on average", (double)features / (double)n);
        putchar('\n');
    }
    if (c->decisions.common == 0) {
        printf("\nNo example is in both files, so decisions cannot be compared one by one.\n");
        return;
    }
    printf("\nDecisions on %zu common example%s: %.1f %% agree\n", c->decisions.common,
           c->decisions.common == 1 ? "" : "s", 100 * agreement(c));
    printf(
        "   both decide the same %zu, for different outputs %zu, only A %zu, only B %zu, neither "
        "%zu\n",
        c->decisions.both, c->decisions.other_output, c->decisions.only[0], c->decisions.only[1],
        c->decisions.neither);
}

static void print_quantiles(const char *who, const double q[5], size_t n, size_t sufficient) {
    printf("   %-22s %8.3g %8.3g %8.3g %8.3g %8.3g %10.1f %%\n", who, q[0], q[1], q[2], q[3], q[4],
           n ? 100 * (double)sufficient / (double)n : 0);
}

static void print_scores(const cli_comparison *c) {
    printf(
        "\nScores of subsets alone      least  quarter   median  quarter     most   sufficient\n");
    for (size_t k = 0; k < 2; k++) {
        char who[32];
        if (c->cross[k].n == 0)
            continue;
        snprintf(who, sizeof who, "%s's by %s", k ? "B" : "A", k ? "B" : "A");
        print_quantiles(who, c->own[k], c->cross[k].n, c->cross[k].n);
        snprintf(who, sizeof who, "%s's by %s", k ? "B" : "A", k ? "A" : "B");
        print_quantiles(who, c->cross[k].quantiles, c->cross[k].n, c->cross[k].sufficient);
    }
}

enum { COLUMN = 38, DRAWN_MOST = 38 };

/* Text in a column: at most COLUMN characters, filled up with blanks. */
static void print_column(const char *text) {
    char line[4 * COLUMN + 1];
    size_t n = 0, columns = 0;
    while (text[n] && n < sizeof line - 1) {
        int starts = ((unsigned char)text[n] & 0xC0) != 0x80;
        if (starts && columns == COLUMN - 4 && strlen(text + n) > 4)
            break;
        columns += (size_t)starts;
        line[n] = text[n];
        n++;
    }
    line[n] = '\0';
    cli_print_safe(stdout, line);
    if (text[n]) {
        fputs(" ...", stdout);
        columns += 4;
    }
    printf("%*s", columns < COLUMN ? (int)(COLUMN - columns) : 0, "");
}

/* Subset number k of one side's record, or NULL. */
static const cli_subset *item_of(const cli_comparison *c, size_t side, const cli_difference *d,
                                 size_t k) {
    const cli_side *s = &c->sides[side];
    size_t record = d->records[side];
    return k < s->results.records[record].collection.n_subsets
               ? &c->subsets.items[s->first_item[record] + k]
               : NULL;
}

/* Two rows of an image: a pixel of either is a dot, of both a colon. */
static void draw_line(const cli_subset *item, size_t y, char line[DRAWN_MOST + 1]) {
    memset(line, ' ', DRAWN_MOST);
    line[DRAWN_MOST] = '\0';
    for (size_t k = 0; item && k < item->n_pixels; k++) {
        size_t row = (size_t)item->places[2 * k], column = (size_t)item->places[2 * k + 1];
        if (row / 2 != y / 2 || column >= DRAWN_MOST)
            continue;
        char now = row % 2 ? '.' : '\'';
        line[column] = line[column] == ' ' ? now : ':';
    }
}

static void draw_both(const cli_comparison *c, const cli_difference *d) {
    for (size_t y = 0; y < c->means.height; y += 2) {
        char a[DRAWN_MOST + 1], b[DRAWN_MOST + 1];
        draw_line(item_of(c, 0, d, 0), y, a);
        draw_line(item_of(c, 1, d, 0), y, b);
        size_t n = DRAWN_MOST;
        while (n > 0 && b[n - 1] == ' ')
            b[--n] = '\0';
        printf("   |%s|%s\n", a, b);
    }
}

static void print_difference(const cli_comparison *c, const cli_difference *d) {
    printf("\nexample ");
    cli_print_safe(stdout, c->sides[0].results.records[d->records[0]].id);
    printf("   %.3g apart\n", d->distance);
    if (c->page.means) {
        draw_both(c, d);
        return;
    }
    for (size_t k = 0; k < c->o->top; k++) {
        const cli_subset *a = item_of(c, 0, d, k), *b = item_of(c, 1, d, k);
        if (!a && !b)
            break;
        printf("   ");
        print_column(a ? a->pattern : "-");
        fputs("  ", stdout);
        cli_print_safe(stdout, b ? b->pattern : "-");
        fputc('\n', stdout);
    }
}

int cli_comparison_print(const cli_comparison *c) {
    print_decisions(c);
    print_scores(c);
    printf("\nBoth together: ");
    int status = cli_cluster_print(stdout, &c->page);
    if (status == CLI_DONE && c->n_differences && c->differences[0].distance == 0) {
        if (c->n_differences == 1)
            printf("\nBoth models have the same subsets on the example that both explain.\n");
        else
            printf("\nBoth models have the same subsets on all %zu examples that both explain.\n",
                   c->n_differences);
    } else if (status == CLI_DONE && c->n_differences && c->o->differ) {
        printf("\nWhere subsets differ most, A on the left, B on the right%s\n",
               c->page.means ? " (the first subset of each)" : "");
        for (size_t k = 0; k < c->n_differences && k < c->o->differ; k++)
            print_difference(c, &c->differences[k]);
    }
    return status;
}

/* ---- As a finding ---------------------------------------------------------------------------- */

static sis_side side_of(const cli_comparison *c, size_t k) {
    const cli_side *s = &c->sides[k];
    return (sis_side){.results = s->results.path,
                      .model = s->spec,
                      .n = s->results.n,
                      .subsets = c->cross[k].n,
                      .threshold = s->threshold,
                      .below = s->below};
}

static sis_cross cross_of(const cli_comparison *c, size_t k) {
    const cli_cross *x = &c->cross[k];
    return (sis_cross){.sufficient = x->n ? (double)x->sufficient / (double)x->n : 0,
                       .n = x->n,
                       .scores = x->scores,
                       .n_quantiles = x->n ? 5 : 0,
                       .quantiles = x->quantiles,
                       .own_quantiles = c->own[k]};
}

/* The examples that differ most, and the patterns of their subsets behind one another. */
static void list_differences(const cli_comparison *c, size_t n, sis_difference *out,
                             const char **patterns) {
    for (size_t i = 0; i < n; i++) {
        const cli_difference *d = &c->differences[i];
        const cli_subset *item;
        out[i].id = c->sides[0].results.records[d->records[0]].id;
        out[i].distance = d->distance;
        for (size_t side = 0; side < 2; side++) {
            out[i].patterns[side] = patterns;
            for (size_t k = 0; (item = item_of(c, side, d, k)); k++)
                *patterns++ = item->pattern;
            out[i].n_patterns[side] = (size_t)(patterns - out[i].patterns[side]);
        }
    }
}

static int write_finding(const sis_comparison *f, const char *path) {
    char *text;
    size_t n;
    int error = sis_comparison_format(f, &text, &n);
    if (error)
        return cli_fail(error);
    int status = cli_output_all(path, text, n);
    free(text);
    return status;
}

int cli_comparison_json(const cli_comparison *c, const char *path) {
    size_t n = c->n_differences < c->o->differ ? c->n_differences : c->o->differ;
    sis_difference *differences = cli_grab(n, sizeof *differences);
    const char **patterns = cli_grab(c->subsets.n, sizeof *patterns);
    cli_cluster_found joint = {0};
    int status = differences && patterns ? cli_cluster_find(&c->page, &joint) : CLI_FAILED;
    if (status == CLI_DONE) {
        list_differences(c, n, differences, patterns);
        sis_comparison f = {.sides = {side_of(c, 0), side_of(c, 1)},
                            .common = c->decisions.common,
                            .decisions = {[SIS_DECISION_SAME] = c->decisions.both,
                                          [SIS_DECISION_OTHER_OUTPUT] = c->decisions.other_output,
                                          [SIS_DECISION_ONLY_A] = c->decisions.only[0],
                                          [SIS_DECISION_ONLY_B] = c->decisions.only[1],
                                          [SIS_DECISION_NEITHER] = c->decisions.neither},
                            .cross = {cross_of(c, 0), cross_of(c, 1)},
                            .joint = joint.finding,
                            .n_differences = n,
                            .differences = differences};
        status = write_finding(&f, path);
    }
    cli_cluster_found_release(&joint);
    free(differences);
    free(patterns);
    return status;
}
