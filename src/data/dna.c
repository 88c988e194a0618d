/* SPDX-License-Identifier: MIT
 *
 * Synthetic DNA: shuffles that preserve pairs of neighbours, backgrounds, planted motifs. A
 * sequence is a path through a graph whose vertices are letters and whose edges are the pairs of
 * neighbours; another path over the same edges has the same pairs. To draw one uniformly, first
 * draw the last edge that leaves each letter: these edges must form a tree towards the last letter,
 * and Wilson's algorithm (a random walk with loops erased) draws such trees uniformly. All other
 * edges can then be used in any order, and the path cannot get stuck.
 */
#include <stdlib.h>
#include <string.h>

#include <sis/dna.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/rng.h"

enum { LETTERS = 5 };
static const char letters[LETTERS + 1] = "ACGTN";

/* The edges that leave each letter, in an order to be shuffled. */
typedef struct {
    size_t start[LETTERS + 1]; /* edges of letter v are to[start[v]] to to[start[v + 1] - 1] */
    unsigned char *to;
} graph;

static size_t letter(char c) {
    return (size_t)(strchr(letters, c) - letters);
}

static void swap(unsigned char *a, unsigned char *b) {
    unsigned char t = *a;
    *a = *b;
    *b = t;
}

static void make_graph(const char *s, size_t n, graph *g) {
    size_t next[LETTERS];
    memset(g->start, 0, sizeof g->start);
    for (size_t i = 0; i + 1 < n; i++)
        g->start[letter(s[i]) + 1]++;
    for (size_t v = 0; v < LETTERS; v++) {
        g->start[v + 1] += g->start[v];
        next[v] = g->start[v];
    }
    for (size_t i = 0; i + 1 < n; i++)
        g->to[next[letter(s[i])]++] = (unsigned char)letter(s[i + 1]);
}

/* Choose the last edge of each letter but the root, and put it at the end of that letter's
 * edges. */
static void draw_tree(graph *g, size_t root, sis__rng *r) {
    int in_tree[LETTERS] = {0};
    size_t edge[LETTERS] = {0};
    in_tree[root] = 1;
    for (size_t v = 0; v < LETTERS; v++) {
        if (g->start[v] == g->start[v + 1])
            continue;
        for (size_t u = v; !in_tree[u]; u = g->to[edge[u]])
            edge[u] = g->start[u] + sis__rng_below(r, g->start[u + 1] - g->start[u]);
        for (size_t u = v; !in_tree[u]; u = g->to[edge[u]])
            in_tree[u] = 1;
    }
    for (size_t v = 0; v < LETTERS; v++)
        if (v != root && g->start[v] < g->start[v + 1])
            swap(&g->to[edge[v]], &g->to[g->start[v + 1] - 1]);
}

static void shuffle_edges(graph *g, size_t root, sis__rng *r) {
    for (size_t v = 0; v < LETTERS; v++) {
        size_t free_edges = g->start[v + 1] - g->start[v];
        free_edges -= v != root && free_edges > 0;
        for (size_t k = free_edges; k > 1; k--)
            swap(&g->to[g->start[v] + k - 1], &g->to[g->start[v] + sis__rng_below(r, k)]);
    }
}

static int shuffle(const char *s, size_t n, sis__rng *r, char *out) {
    graph g = {.to = SIS_NEW_RAW(unsigned char, n)};
    size_t next[LETTERS];
    if (!g.to)
        return SIS_E_NOMEM;
    make_graph(s, n, &g);
    draw_tree(&g, letter(s[n - 1]), r);
    shuffle_edges(&g, letter(s[n - 1]), r);
    memcpy(next, g.start, sizeof next);
    for (size_t i = 0, v = letter(s[0]); i < n; i++) {
        out[i] = letters[v];
        if (i + 1 < n)
            v = g.to[next[v]++];
    }
    out[n] = '\0';
    free(g.to);
    return SIS_OK;
}

int sis_dna_shuffle(const char *sequence, uint64_t seed, char *out) {
    sis__rng r;
    size_t n = strlen(sequence);
    if (n == 0 || strspn(sequence, letters) != n)
        return sis__fail(SIS_E_ARGUMENT, "only a sequence of A, C, G, T and N can be shuffled");
    sis__rng_init(&r, seed);
    return shuffle(sequence, n, &r, out);
}

/* ---- Random sequences ---------------------------------------------------------------------- */

void sis_dna_opt_init(sis_dna_opt *opt) {
    *opt = (sis_dna_opt){.length = 101, .composition = {0.25, 0.25, 0.25, 0.25}, .seed = 1};
}

/* One of four letters with these weights, whose sum is positive. */
static size_t draw(const double *weights, sis__rng *r) {
    double sum = weights[0] + weights[1] + weights[2] + weights[3];
    double at = sis__rng_uniform(r) * sum;
    size_t k = 0, last = 0;
    for (; k < 4; k++) {
        if (weights[k] > 0)
            last = k;
        if ((at -= weights[k]) < 0)
            return last;
    }
    return last; /* rounding */
}

static int make_background(const sis_dna_opt *opt, sis__rng *r, char **out) {
    const char *peak = opt->peak;
    size_t n = peak ? strlen(peak) : opt->length;
    if (!(*out = SIS_NEW(char, n + 1)))
        return SIS_E_NOMEM;
    if (peak)
        return shuffle(peak, n, r, *out);
    for (size_t i = 0; i < n; i++)
        (*out)[i] = letters[draw(opt->composition, r)];
    return SIS_OK;
}

static int plant(const sis_dna_opt *opt, sis__rng *r, char *sequence, sis_dna_site *site) {
    size_t n = strlen(sequence), k = sis__rng_below(r, opt->n_motifs);
    const sis_motif *m = &opt->motifs[k];
    if (m->length > n)
        return sis__fail(SIS_E_ARGUMENT, "motif %s is %zu bases long, but a sequence only %zu",
                         m->id, m->length, n);
    *site = (sis_dna_site){.motif = k,
                           .start = sis__rng_below(r, n - m->length + 1),
                           .length = m->length,
                           .reverse = (int)sis__rng_below(r, 2)};
    for (size_t p = 0; p < m->length; p++) {
        size_t base = draw(m->probabilities + 4 * p, r);
        size_t at = site->start + (site->reverse ? m->length - 1 - p : p);
        sequence[at] = letters[site->reverse ? 3 - base : base];
    }
    return SIS_OK;
}

static int check(const sis_dna_opt *opt, int positive) {
    double sum = 0;
    for (size_t b = 0; b < 4; b++) {
        if (!(opt->composition[b] >= 0) || !(opt->composition[b] <= 1e300))
            return sis__fail(SIS_E_ARGUMENT, "the composition must be four shares >= 0");
        sum += opt->composition[b];
    }
    if (!opt->peak && (!(sum > 0) || opt->length == 0 || opt->length > 1 << 28))
        return sis__fail(SIS_E_ARGUMENT, sum > 0 ? "a sequence must have at least one base"
                                                 : "the composition must not be all 0");
    if (opt->peak && (!*opt->peak || strspn(opt->peak, letters) != strlen(opt->peak)))
        return sis__fail(SIS_E_ARGUMENT, "only a sequence of A, C, G, T and N can be shuffled");
    if (positive && opt->n_motifs == 0)
        return sis__fail(SIS_E_ARGUMENT, "no motif to plant");
    return SIS_OK;
}

int sis_dna_make(const sis_dna_opt *opt, size_t i, int positive, char **sequence,
                 sis_dna_site *site) {
    sis__rng r, start;
    *sequence = NULL;
    int code = check(opt, positive);
    if (code != SIS_OK)
        return code;
    sis__rng_init(&start, opt->seed);
    sis__rng_init(&r, sis__rng_next(&start) + i);
    code = make_background(opt, &r, sequence);
    if (code == SIS_OK && positive)
        code = plant(opt, &r, *sequence, site);
    if (code != SIS_OK) {
        free(*sequence);
        *sequence = NULL;
    }
    return code;
}
