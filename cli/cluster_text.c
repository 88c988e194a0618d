/* SPDX-License-Identifier: MIT
 *
 * Clusters for a person: the largest first, each with its most frequent patterns.
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

enum { LINE_MOST = 88 }; /* columns of a pattern */

/* ---- Members and patterns -------------------------------------------------------------------- */

int cli_members_find(const sis_clusters *c, cli_members *out) {
    size_t groups = c->n_clusters + 1;
    *out = (cli_members){.n_clusters = c->n_clusters};
    out->start = cli_grab(groups + 1, sizeof *out->start);
    out->items = cli_grab(c->n, sizeof *out->items);
    size_t *at = cli_grab(groups + 1, sizeof *at);
    if (!out->start || !out->items || !at) {
        free(at);
        return CLI_FAILED;
    }
    for (size_t i = 0; i < c->n; i++)
        out->start[(c->labels[i] < 0 ? c->n_clusters : (size_t)c->labels[i]) + 1]++;
    for (size_t g = 0; g < groups; g++)
        at[g + 1] = out->start[g + 1] += out->start[g];
    for (size_t i = 0; i < c->n; i++)
        out->items[at[c->labels[i] < 0 ? c->n_clusters : (size_t)c->labels[i]]++] = i;
    free(at);
    return CLI_DONE;
}

static int by_text(const void *a, const void *b) {
    const cli_pattern *x = (const cli_pattern *)a, *y = (const cli_pattern *)b;
    int order = strcmp(x->text, y->text);
    return order ? order : (x->first > y->first) - (x->first < y->first);
}

static int by_count(const void *a, const void *b) {
    const cli_pattern *x = (const cli_pattern *)a, *y = (const cli_pattern *)b;
    if (x->count != y->count)
        return x->count > y->count ? -1 : 1;
    return (x->first > y->first) - (x->first < y->first);
}

cli_pattern *cli_patterns_find(const cli_cluster_page *p, size_t cluster, size_t *found) {
    const size_t *items = p->members->items + p->members->start[cluster];
    size_t n = p->members->start[cluster + 1] - p->members->start[cluster], different = 0;
    cli_pattern *all = cli_grab(n, sizeof *all);
    *found = 0;
    if (!all)
        return NULL;
    for (size_t k = 0; k < n; k++)
        all[k] = (cli_pattern){p->subsets->items[items[k]].pattern, 1, items[k]};
    qsort(all, n, sizeof *all, by_text);
    for (size_t k = 0; k < n; k++) {
        if (k > 0 && strcmp(all[k].text, all[different - 1].text) == 0)
            all[different - 1].count++;
        else
            all[different++] = all[k];
    }
    qsort(all, different, sizeof *all, by_count);
    *found = different < p->top ? different : p->top;
    return all;
}

/* ---- One cluster ----------------------------------------------------------------------------- */

/* At most LINE_MOST columns of a pattern. */
static void print_pattern(FILE *out, const char *text) {
    char line[4 * LINE_MOST + 1];
    size_t n = 0, columns = 0;
    while (text[n] && n < sizeof line - 5) {
        columns += ((unsigned char)text[n] & 0xC0) != 0x80;
        if (columns > LINE_MOST)
            break;
        line[n] = text[n];
        n++;
    }
    line[n] = '\0';
    cli_print_safe(out, line);
    fputs(text[n] ? " ...\n" : "\n", out);
}

/* The name of a source without its folders. */
static void print_shares(FILE *out, const cli_cluster_page *p, size_t cluster) {
    const cli_members *m = p->members;
    size_t sources = cli_source_count(p->subsets), n = m->start[cluster + 1] - m->start[cluster];
    for (size_t source = 0; sources > 1 && source < sources; source++) {
        size_t count = 0;
        for (size_t k = m->start[cluster]; k < m->start[cluster + 1]; k++)
            count += cli_source_of(p->subsets, m->items[k]) == source;
        fputs(source ? ", " : "   ", out);
        cli_print_safe(out, cli_last_part(cli_source_name(p->subsets, source)));
        fprintf(out, " %.0f %%", 100 * (double)count / (double)n);
    }
}

/* The most likely base of each column, small where it is not much more likely than others, N where
 * any is as good as another. */
static void print_consensus(FILE *out, const sis_motif *m) {
    for (size_t k = 0; k < m->length; k++) {
        const double *p = m->probabilities + 4 * k;
        size_t best = 0;
        for (size_t b = 1; b < 4; b++)
            best = p[b] > p[best] ? b : best;
        fputc(p[best] >= 0.75 ? "ACGT"[best] : p[best] >= 0.4 ? "acgt"[best] : 'N', out);
    }
}

static void print_matrix(FILE *out, const cli_matrices *x, size_t cluster) {
    fputs("     matrix   ", out);
    print_consensus(out, &x->items[cluster]);
    fputc('\n', out);
    for (long k = 0; k < x->n_matches[cluster]; k++) {
        const sis_motif_match *match = &x->matches[cluster][k];
        const sis_motif *motif = &x->motifs.items[match->motif];
        fputs(k ? "              " : "     like     ", out);
        cli_print_safe(out, motif->name);
        if (strcmp(motif->name, motif->id) != 0) {
            fputs(" (", out);
            cli_print_safe(out, motif->id);
            fputc(')', out);
        }
        fprintf(out, "   divergence %.2f   p %.2g   q %.2g%s\n", match->divergence, match->p,
                match->q, match->reverse ? ", other strand" : "");
    }
}

/* How often each pixel is chosen, two rows in a line. */
static void print_mean(FILE *out, const cli_means *x, size_t cluster) {
    static const char shades[] = " .:-=+*#%@";
    const double *mean = x->values + 2 * cluster * x->height * x->width;
    double most = 0;
    for (size_t k = 0; k < x->height * x->width; k++)
        most = fmax(most, mean[k]);
    for (size_t y = 0; y < x->height; y += 2) {
        char line[128];
        size_t n = 0, kept = 0;
        for (size_t c = 0; c < x->width && n < sizeof line - 1; c++) {
            double v = mean[y * x->width + c];
            v = fmax(v, y + 1 < x->height ? mean[(y + 1) * x->width + c] : 0);
            line[n++] = shades[most > 0 ? (size_t)ceil(v / most * 9) : 0];
            kept = line[n - 1] != ' ' ? n : kept;
        }
        line[kept] = '\0';
        fprintf(out, "     |%s\n", line);
    }
}

static int print_patterns(FILE *out, const cli_cluster_page *p, size_t cluster) {
    size_t found;
    cli_pattern *top = cli_patterns_find(p, cluster, &found);
    for (size_t k = 0; k < found; k++) {
        fprintf(out, "%8zu   ", top[k].count);
        print_pattern(out, top[k].text);
    }
    int status = top ? CLI_DONE : CLI_FAILED;
    free(top);
    return status;
}

static int print_cluster(FILE *out, const cli_cluster_page *p, size_t cluster) {
    const cli_members *m = p->members;
    size_t n = m->start[cluster + 1] - m->start[cluster], core = 0;
    for (size_t k = m->start[cluster]; k < m->start[cluster + 1]; k++)
        core += p->clusters->core[m->items[k]];
    fprintf(out, "\nC%-3zu %zu subset%s, %zu core", cluster + 1, n, n == 1 ? "" : "s", core);
    print_shares(out, p, cluster);
    fputc('\n', out);
    if (p->means) {
        print_mean(out, p->means, cluster);
        return CLI_DONE;
    }
    int status = print_patterns(out, p, cluster);
    if (status == CLI_DONE && p->matrices)
        print_matrix(out, p->matrices, cluster);
    return status;
}

/* ---- All ------------------------------------------------------------------------------------- */

static int by_size(const void *a, const void *b, void *ctx) {
    const cli_members *m = (const cli_members *)ctx;
    size_t x = *(const size_t *)a, y = *(const size_t *)b;
    size_t n = m->start[x + 1] - m->start[x], k = m->start[y + 1] - m->start[y];
    return n != k ? (n < k ? 1 : -1) : (x > y) - (x < y);
}

/* How eps was chosen. */
static const char *choice_of(const cli_cluster_page *p) {
    if (!p->automatic)
        return "";
    return strncmp(p->distance, "energy", 6) == 0 ? " (from the curve)"
                                                  : " (the knee of the curve)";
}

static void print_head(FILE *out, const cli_cluster_page *p) {
    const sis_clusters *c = p->clusters;
    size_t noise = p->members->start[c->n_clusters + 1] - p->members->start[c->n_clusters];
    fprintf(out, "%zu subset%s of %zu decision%s, %zu different\n", c->n, c->n == 1 ? "" : "s",
            p->subsets->n_origins, p->subsets->n_origins == 1 ? "" : "s", c->n_different);
    fprintf(out, "%s distance, eps %.4g%s, min size %zu: %zu cluster%s, %zu subset%s in none\n",
            p->distance, p->eps, choice_of(p), p->min_size, c->n_clusters,
            c->n_clusters == 1 ? "" : "s", noise, noise == 1 ? "" : "s");
}

int cli_cluster_print(FILE *out, const cli_cluster_page *p) {
    size_t n = p->clusters->n_clusters, shown = p->most && p->most < n ? p->most : n;
    size_t *order = cli_grab(n, sizeof *order);
    int status = order ? CLI_DONE : CLI_FAILED;
    for (size_t k = 0; order && k < n; k++)
        order[k] = k;
    if (status == CLI_DONE) {
        sis__sort(order, n, sizeof *order, by_size, (void *)p->members);
        print_head(out, p);
    }
    for (size_t k = 0; status == CLI_DONE && k < shown; k++)
        status = print_cluster(out, p, order[k]);
    if (status == CLI_DONE && shown < n)
        fprintf(out, "\nand %zu smaller cluster%s (--most 0 shows all)\n", n - shown,
                n - shown == 1 ? "" : "s");
    free(order);
    return status;
}
