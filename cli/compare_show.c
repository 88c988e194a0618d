/* SPDX-License-Identifier: MIT
 *
 * The result of a comparison as text.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "compare.h"

static void print_decisions(const sis_comparison *c) {
    for (size_t k = 0; k < 2; k++) {
        const sis_side *s = &c->sides[k];
        printf("%c  ", "AB"[k]);
        cli_print_safe(stdout, cli_last_part(s->results));
        printf(", ");
        cli_print_safe(stdout, cli_last_part(s->model));
        printf(": %zu of %zu example%s %s %g, %zu subset%s", s->decided, s->n, s->n == 1 ? "" : "s",
               s->below ? "<=" : ">=", s->threshold, s->subsets, s->subsets == 1 ? "" : "s");
        if (s->subsets)
            printf(" of %.1f features on average", s->features);
        putchar('\n');
    }
    if (c->common == 0) {
        printf("\nNo example is in both files, so decisions cannot be compared one by one.\n");
        return;
    }
    printf("\nDecisions on %zu common example%s: %.1f %% agree\n", c->common,
           c->common == 1 ? "" : "s", 100 * sis_comparison_agreement(c));
    printf(
        "   both decide the same %zu, for different outputs %zu, only A %zu, only B %zu, neither "
        "%zu\n",
        c->decisions[SIS_DECISION_SAME], c->decisions[SIS_DECISION_OTHER_OUTPUT],
        c->decisions[SIS_DECISION_ONLY_A], c->decisions[SIS_DECISION_ONLY_B],
        c->decisions[SIS_DECISION_NEITHER]);
}

static void print_quantiles(const char *who, const double q[5], double sufficient) {
    printf("   %-22s %8.3g %8.3g %8.3g %8.3g %8.3g %10.1f %%\n", who, q[0], q[1], q[2], q[3], q[4],
           100 * sufficient);
}

static void print_scores(const sis_comparison *c) {
    static const char *const own[] = {"A's by A", "B's by B"}, *const cross[] = {"A's by B",
                                                                                 "B's by A"};
    printf(
        "\nScores of subsets alone      least  quarter   median  quarter     most   sufficient\n");
    for (size_t k = 0; k < 2; k++)
        if (c->cross[k].n > 0) {
            print_quantiles(own[k], c->cross[k].own_quantiles, 1);
            print_quantiles(cross[k], c->cross[k].quantiles, c->cross[k].sufficient);
        }
}

enum { COLUMN = 38, DRAWN_MAX = 38 };

/* Print text in a column: at most COLUMN characters, padded with blanks. */
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

/* Draw two rows of an image: a dot for one pixel, a colon for both. The pattern of an image lists
 * its pixels as row,column. */
static void draw_line(const char *pattern, size_t y, char line[DRAWN_MAX + 1]) {
    memset(line, ' ', DRAWN_MAX);
    line[DRAWN_MAX] = '\0';
    for (size_t row, column; sscanf(pattern, "%zu,%zu", &row, &column) == 2;
         pattern += strcspn(pattern + 1, " ") + 1) {
        if (row / 2 != y / 2 || column >= DRAWN_MAX)
            continue;
        char now = row % 2 ? '.' : '\'';
        line[column] = line[column] == ' ' ? now : ':';
    }
}

static void draw_both(const sis_difference *d, size_t height) {
    for (size_t y = 0; y < height; y += 2) {
        char a[DRAWN_MAX + 1], b[DRAWN_MAX + 1];
        draw_line(d->patterns[0][0], y, a);
        draw_line(d->patterns[1][0], y, b);
        size_t n = DRAWN_MAX;
        while (n > 0 && b[n - 1] == ' ')
            b[--n] = '\0';
        printf("   |%s|%s\n", a, b);
    }
}

static void print_difference(const sis_difference *d, size_t height, size_t top) {
    printf("\nexample ");
    cli_print_safe(stdout, d->id);
    printf("   %.3g apart\n", d->distance);
    if (height) {
        draw_both(d, height);
        return;
    }
    for (size_t k = 0; k < top && (k < d->n_patterns[0] || k < d->n_patterns[1]); k++) {
        printf("   ");
        print_column(k < d->n_patterns[0] ? d->patterns[0][k] : "-");
        fputs("  ", stdout);
        cli_print_safe(stdout, k < d->n_patterns[1] ? d->patterns[1][k] : "-");
        fputc('\n', stdout);
    }
}

int cli_comparison_print(const cli_compare_options *o, const sis_comparison *c) {
    print_decisions(c);
    print_scores(c);
    printf("\nBoth together: ");
    cli_cluster_print(&c->joint, o->max);
    if (c->n_explained == 0)
        return CLI_DONE;
    if (c->farthest == 0 && c->n_explained == 1)
        printf("\nBoth models have the same subsets on the example that both explain.\n");
    else if (c->farthest == 0)
        printf("\nBoth models have the same subsets on all %zu examples that both explain.\n",
               c->n_explained);
    else if (c->n_differences)
        printf("\nWhere subsets differ most, A on the left, B on the right%s\n",
               c->joint.height ? " (the first subset of each)" : "");
    for (size_t k = 0; c->farthest > 0 && k < c->n_differences; k++)
        print_difference(&c->differences[k], c->joint.height, o->clustering.opt.top);
    return CLI_DONE;
}
