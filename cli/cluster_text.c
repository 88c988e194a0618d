/* SPDX-License-Identifier: MIT
 *
 * Clusters as text: the largest first, each with its most frequent patterns.
 *
 *     C3   57 subsets, 40 core   a.jsonl 70 %, b.jsonl 30 %
 *           3   creme brulee
 *           2   creme brulee amazing
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/platform.h"
#include "cluster.h"
#include "task.h"

enum { LINE_MAX = 88 }; /* columns of a pattern */

/* Print at most LINE_MAX columns of a pattern. */
static void print_pattern(const char *text) {
    char line[4 * LINE_MAX + 1];
    size_t n = 0, columns = 0;
    while (text[n] && n < sizeof line - 5) {
        columns += ((unsigned char)text[n] & 0xC0) != 0x80;
        if (columns > LINE_MAX)
            break;
        line[n] = text[n];
        n++;
    }
    line[n] = '\0';
    cli_print_safe(stdout, line);
    puts(text[n] ? " ..." : "");
}

/* Sources are printed without their folders. */
static void print_shares(const sis_found_cluster *f) {
    for (size_t k = 0; f->n_shares > 1 && k < f->n_shares; k++) {
        fputs(k ? ", " : "   ", stdout);
        cli_print_safe(stdout, cli_last_part(f->shares[k].source));
        printf(" %.0f %%", 100 * f->shares[k].share);
    }
}

/* The most likely base of each column: lower case if its share is below 75 %, N if below 40 %. */
static void print_consensus(const sis_found_cluster *f) {
    for (size_t at = 0; at < f->n_matrix; at += 4) {
        const double *counts = f->matrix + at;
        size_t best = 0;
        for (size_t b = 1; b < 4; b++)
            best = counts[b] > counts[best] ? b : best;
        double p = counts[best] / (double)f->size;
        putchar(p >= 0.75 ? "ACGT"[best] : p >= 0.4 ? "acgt"[best] : 'N');
    }
}

static void print_matrix(const sis_found_cluster *f) {
    fputs("     matrix   ", stdout);
    print_consensus(f);
    putchar('\n');
    for (size_t k = 0; k < f->n_matches; k++) {
        const sis_found_match *m = &f->matches[k];
        fputs(k ? "              " : "     like     ", stdout);
        cli_print_safe(stdout, m->name);
        if (strcmp(m->name, m->id) != 0) {
            fputs(" (", stdout);
            cli_print_safe(stdout, m->id);
            putchar(')');
        }
        printf("   divergence %.2f   p %.2g   q %.2g%s\n", m->divergence, m->p, m->q,
               m->reverse ? ", other strand" : "");
    }
}

/* How often each pixel is chosen; each line shows two rows. */
static void print_mean(const sis_clustering *x, const double *mean) {
    static const char shades[] = " .:-=+*#%@";
    double max = 0;
    for (size_t k = 0; k < x->height * x->width; k++)
        max = fmax(max, mean[k]);
    for (size_t y = 0; y < x->height; y += 2) {
        char line[128];
        size_t n = 0, kept = 0;
        for (size_t c = 0; c < x->width && n < sizeof line - 1; c++) {
            double v = mean[y * x->width + c];
            v = fmax(v, y + 1 < x->height ? mean[(y + 1) * x->width + c] : 0);
            line[n++] = shades[max > 0 ? (size_t)ceil(v / max * 9) : 0];
            kept = line[n - 1] != ' ' ? n : kept;
        }
        line[kept] = '\0';
        printf("     |%s\n", line);
    }
}

static void print_cluster(const sis_clustering *c, const sis_found_cluster *f) {
    printf("\nC%-3zu %zu subset%s, %zu core", f->number, f->size, f->size == 1 ? "" : "s", f->core);
    print_shares(f);
    putchar('\n');
    if (f->mean) {
        print_mean(c, f->mean);
        return;
    }
    for (size_t k = 0; k < f->n_patterns; k++) {
        printf("%8zu   ", f->patterns[k].count);
        print_pattern(f->patterns[k].text);
    }
    if (f->matrix)
        print_matrix(f);
}

static void print_count(const sis_found_cluster *f) {
    printf("%8zu   ", f->size);
    cli_print_safe(stdout, f->medoid_pattern);
    print_shares(f);
    putchar('\n');
}

static void print_head(const sis_clustering *c) {
    printf("%zu subset%s of %zu decision%s, %zu different\n", c->n, c->n == 1 ? "" : "s",
           c->n_records, c->n_records == 1 ? "" : "s", c->n_different);
    if (c->counts) {
        printf("every subset is one word; how many subsets are which:\n\n");
        return;
    }
    printf("%s distance, eps %.4g%s, min size %zu: %zu cluster%s, %zu subset%s in none\n",
           c->distance, c->eps,
           !c->found_eps ? ""
           : c->height   ? " (from the curve)"
                         : " (the knee of the curve)",
           c->min_size, c->n_clusters, c->n_clusters == 1 ? "" : "s", c->n_noise,
           c->n_noise == 1 ? "" : "s");
}

void cli_cluster_print(const sis_clustering *c, size_t max) {
    size_t n = c->n_clusters, shown = max && max < n ? max : n;
    print_head(c);
    for (size_t k = 0; k < shown; k++)
        if (c->counts)
            print_count(&c->clusters[k]);
        else
            print_cluster(c, &c->clusters[k]);
    if (shown < n)
        printf("\nand %zu %s%s (--most 0 shows all)\n", n - shown,
               c->counts ? "rarer word" : "smaller cluster", n - shown == 1 ? "" : "s");
}
