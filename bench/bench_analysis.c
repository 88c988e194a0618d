/* SPDX-License-Identifier: MIT
 *
 * Clustering with the library's indexes against clustering with a distance matrix, both on one
 * thread, in processor seconds.
 *
 * The plain version computes the distance of every pair once, by definition, and stores the matrix.
 * For 100,000 points this would take hours and 40 GB. So it computes some rows of the matrix and
 * scales their time to all rows. All pairs of a row are computed, and half of them are counted.
 * Before the measurement, results are compared: every label on a part of the points that is small
 * enough for a matrix, and on the whole set whether each point of the computed rows is core.
 *
 * Last, a million sets of words: time and memory.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include <sis/analysis.h>

#include "base/clock.h"
#include "base/parallel.h"
#include "base/rng.h"

enum { PART = 2000, TEXT_MAX = 48, PIXELS_MAX = 40, WORDS_MAX = 8 };

/* A point of the plain version. */
typedef struct {
    int n;
    int items[2 * PIXELS_MAX]; /* words ascending, letters, or rows and columns */
    double own;                 /* pixels: sum over its own pairs */
} plain_point;

typedef struct {
    const char *name;
    sis_distance distance;
    size_t n, rows; /* points, rows of the matrix to compute */
    double eps, wanted;
    size_t min_size;
    void (*make)(sis__rng *r, plain_point *p);
    double (*plain)(const plain_point *a, const plain_point *b);
} contest;

static void die(const char *what) {
    fprintf(stderr, "%s: %s\n", what, sis_error_detail());
    exit(1);
}

/* ---- Points ---------------------------------------------------------------------------------- */

/* Random images: parts of a few strokes at random positions, and pixels around them. */
static void make_pixels(sis__rng *r, plain_point *p) {
    size_t stroke = sis__rng_below(r, 40), y = 4 + stroke % 5 * 4, x = 4 + stroke / 5 * 3;
    int taken[28][28] = {{0}}, wanted = 10 + (int)sis__rng_below(r, 31), n = 0;
    double slope = (double)(stroke % 7) / 3 - 1;
    y += sis__rng_below(r, 3);
    x += sis__rng_below(r, 3);
    for (int tries = 0; n < wanted && tries < 4000; tries++) {
        double along = (double)sis__rng_below(r, 12) - 6;
        int a = (int)y + (int)(along + sis__rng_normal(r)),
            b = (int)x + (int)(slope * along + sis__rng_normal(r));
        if (a < 0 || b < 0 || a > 27 || b > 27 || taken[a][b])
            continue;
        taken[a][b] = 1;
        n++;
    }
    p->n = 0;
    for (int a = 0; a < 28; a++)
        for (int b = 0; b < 28; b++)
            if (taken[a][b]) {
                p->items[2 * p->n] = a;
                p->items[2 * p->n + 1] = b;
                p->n++;
            }
}

static int by_number(const void *a, const void *b) {
    return *(const int *)a - *(const int *)b;
}

/* Random words: some are frequent, most are rare, and some occur together. */
static void make_words(sis__rng *r, plain_point *p) {
    int wanted = 1 + (int)sis__rng_below(r, WORDS_MAX), topic = (int)sis__rng_below(r, 200);
    p->n = 0;
    for (int k = 0; k < wanted; k++) {
        double u = sis__rng_uniform(r);
        int word = sis__rng_below(r, 2) ? 20000 + 25 * topic + (int)(25 * u * u)
                                        : (int)(20000 * u * u * u * u);
        int twice = 0;
        for (int j = 0; j < p->n; j++)
            twice |= p->items[j] == word;
        if (!twice)
            p->items[p->n++] = word;
    }
    qsort(p->items, (size_t)p->n, sizeof *p->items, by_number);
}

/* Random DNA: sites of a few motifs, sometimes with another base, with gaps where the base did not
 * matter; and random strings. */
static void make_letters(sis__rng *r, plain_point *p) {
    static const char *const motifs[] = {"TGGCCACCAGGGGGCGCTA", "GCTGAGTCAGCA", "CCGGAAGTGACGT",
                                         "TTGCATAACAAT", "CACGTGACCGGA"};
    size_t which = sis__rng_below(r, 6);
    char text[TEXT_MAX];
    size_t n = which < 5 ? strlen(motifs[which]) : 8 + sis__rng_below(r, 12);
    for (size_t k = 0; k < n; k++) {
        int gap = sis__rng_uniform(r) < 0.2, other = which == 5 || sis__rng_uniform(r) < 0.05;
        text[k] = gap ? 'N' : other ? "ACGT"[sis__rng_below(r, 4)] : motifs[which][k];
    }
    size_t first = sis__rng_below(r, 4), end = n - sis__rng_below(r, 4);
    p->n = 0;
    for (size_t k = first; k < end; k++)
        p->items[p->n++] = text[k];
}

/* ---- Plain distances ------------------------------------------------------------------------- */

static double gaps(const plain_point *a, const plain_point *b) {
    double sum = 0;
    for (int i = 0; i < a->n; i++)
        for (int j = 0; j < b->n; j++) {
            double dy = a->items[2 * i] - b->items[2 * j];
            double dx = a->items[2 * i + 1] - b->items[2 * j + 1];
            sum += sqrt(dy * dy + dx * dx);
        }
    return sum;
}

static double plain_energy(const plain_point *a, const plain_point *b) {
    double n = a->n, m = b->n;
    return fmax(0, 2 * gaps(a, b) / (n * m) - (a->own / (n * n) + b->own / (m * m)));
}

static double plain_jaccard(const plain_point *a, const plain_point *b) {
    int both = 0;
    for (int i = 0, j = 0; i < a->n && j < b->n;) {
        both += a->items[i] == b->items[j];
        int step = a->items[i] <= b->items[j];
        j += a->items[i] >= b->items[j];
        i += step;
    }
    int all = a->n + b->n - both;
    return (double)(all - both) / (double)all;
}

static int min(int a, int b) {
    return a < b ? a : b;
}

static double plain_levenshtein(const plain_point *a, const plain_point *b) {
    int cost[TEXT_MAX + 1];
    for (int j = 0; j <= b->n; j++)
        cost[j] = j;
    for (int i = 1; i <= a->n; i++) {
        int diagonal = cost[0];
        cost[0] = i;
        for (int j = 1; j <= b->n; j++) {
            int above = cost[j], change = diagonal + (a->items[i - 1] != b->items[j - 1]);
            cost[j] = min(min(above, cost[j - 1]) + 1, change);
            diagonal = above;
        }
    }
    return cost[b->n];
}

/* ---- The library's points -------------------------------------------------------------------- */

static int add_point(sis_points *points, const plain_point *p) {
    char text[TEXT_MAX], words[WORDS_MAX][16];
    const char *list[WORDS_MAX];
    switch (sis_points_distance_kind(points)) {
    case SIS_DISTANCE_LEVENSHTEIN:
        for (int k = 0; k < p->n; k++)
            text[k] = (char)p->items[k];
        return sis_points_add_letters(points, text, (size_t)p->n);
    case SIS_DISTANCE_ENERGY:
        return sis_points_add_pixels(points, p->items, (size_t)p->n);
    default:
        for (int k = 0; k < p->n; k++) {
            snprintf(words[k], sizeof words[k], "w%d", p->items[k]);
            list[k] = words[k];
        }
        return sis_points_add_words(points, list, (size_t)p->n);
    }
}

static sis_points *add_points(const contest *c, const plain_point *p, size_t n) {
    sis_points *points;
    if (sis_points_new(c->distance, &points) != 0)
        die(c->name);
    for (size_t i = 0; i < n; i++)
        if (add_point(points, &p[i]) != 0)
            die(c->name);
    return points;
}

/* Processor time, so that other work on the machine does not matter. Only for one thread. */
static double own_seconds(void) {
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static double cluster(const contest *c, const sis_points *points, int jobs, sis_clusters *out) {
    sis_cluster_opt opt;
    sis_cluster_opt_init(&opt);
    opt.eps = c->eps;
    opt.min_size = c->min_size;
    opt.jobs = jobs;
    double began = jobs == 1 ? own_seconds() : sis__seconds();
    if (sis_cluster(points, &opt, out) != 0)
        die(c->name);
    return (jobs == 1 ? own_seconds() : sis__seconds()) - began;
}

/* ---- With a matrix --------------------------------------------------------------------------- */

/* Textbook DBSCAN on a distance matrix. */
static void matrix_dbscan(const contest *c, const plain_point *p, size_t n, int *labels) {
    double *m = malloc(n * n * sizeof *m);
    size_t *stack = malloc((n + 1) * sizeof *stack), *near = calloc(n, sizeof *near);
    int next = 0;
    if (!m || !stack || !near)
        exit(1);
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j <= i; j++)
            m[i * n + j] = m[j * n + i] = i == j ? 0 : c->plain(&p[i], &p[j]);
    for (size_t i = 0; i < n; i++) {
        labels[i] = -1;
        for (size_t j = 0; j < n; j++)
            near[i] += m[i * n + j] <= c->eps;
    }
    for (size_t i = 0; i < n; i++) {
        size_t depth = 0;
        if (labels[i] >= 0 || near[i] < c->min_size)
            continue;
        for (stack[depth++] = i, labels[i] = next; depth > 0;) {
            size_t at = stack[--depth];
            for (size_t j = 0; near[at] >= c->min_size && j < n; j++)
                if (labels[j] < 0 && m[at * n + j] <= c->eps) {
                    labels[j] = next;
                    stack[depth++] = j;
                }
        }
        next++;
    }
    free(m);
    free(stack);
    free(near);
}

/* 1 if all labels of the first points are the same. */
static void check_part(const contest *c, const plain_point *p) {
    int labels[PART];
    sis_clusters found;
    sis_points *points = add_points(c, p, PART);
    cluster(c, points, 1, &found);
    matrix_dbscan(c, p, PART, labels);
    if (memcmp(labels, found.labels, sizeof labels) != 0) {
        fprintf(stderr, "%s: labels differ from those of the matrix\n", c->name);
        exit(1);
    }
    printf("%s: all labels of %d points are those of the matrix (%zu clusters)\n", c->name, PART,
           found.n_clusters);
    sis_clusters_release(&found);
    sis_points_free(points);
}

/* Seconds for the rows of the matrix. Also checks that their points are core where they should be.
 */
static double time_rows(const contest *c, const plain_point *p, const sis_clusters *found) {
    double seconds = 0;
    for (size_t k = 0; k < c->rows; k++) {
        size_t i = k * (c->n / c->rows), near = 0;
        double began = own_seconds();
        for (size_t j = 0; j < c->n; j++)
            near += i == j || c->plain(&p[i], &p[j]) <= c->eps;
        seconds += own_seconds() - began;
        if ((near >= c->min_size) != found->core[i]) {
            fprintf(stderr, "%s: point %zu has %zu neighbours\n", c->name, i, near);
            exit(1);
        }
    }
    return seconds;
}

/* ---- Measurement ----------------------------------------------------------------------------- */

static plain_point *make_points(const contest *c) {
    plain_point *p = calloc(c->n, sizeof *p);
    sis__rng r;
    if (!p)
        exit(1);
    sis__rng_init(&r, 1);
    for (size_t i = 0; i < c->n; i++) {
        c->make(&r, &p[i]);
        if (c->distance == SIS_DISTANCE_ENERGY)
            p[i].own = gaps(&p[i], &p[i]);
    }
    return p;
}

static int hold(const contest *c) {
    plain_point *p = make_points(c);
    sis_clusters found;
    check_part(c, p);
    sis_points *points = add_points(c, p, c->n);
    double ours = cluster(c, points, 1, &found);
    double plain = time_rows(c, p, &found) * (double)c->n / (double)c->rows / 2;
    printf("  %zu points, %zu different, %zu pairs of neighbours, %zu clusters\n", c->n,
           found.n_different, found.n_neighbours, found.n_clusters);
    printf("  every pair once   %10.1f s (from %zu rows of the matrix)\n", plain, c->rows);
    printf("  sis               %10.3f s   %.0f times faster (wanted: %.0f)\n", ours, plain / ours,
           c->wanted);
    sis_clusters_release(&found);
    printf("  sis, %d threads    %10.3f s by the clock\n", sis__cores(),
           cluster(c, points, 0, &found));
    sis_clusters_release(&found);
    sis_points_free(points);
    free(p);
    return plain / ours >= c->wanted;
}

static double resident(void) {
    struct rusage u;
    getrusage(RUSAGE_SELF, &u);
    return (double)u.ru_maxrss / (1 << 20);
}

static int cluster_a_million(void) {
    contest c = {"a million sets of words",
                 SIS_DISTANCE_JACCARD,
                 1000000,
                 0,
                 0.5,
                 4,
                 10,
                 make_words,
                 plain_jaccard};
    sis_points *points;
    sis_clusters found;
    plain_point p;
    sis__rng r;
    sis__rng_init(&r, 2);
    if (sis_points_new(c.distance, &points) != 0)
        die(c.name);
    for (size_t i = 0; i < c.n; i++) {
        make_words(&r, &p);
        if (add_point(points, &p) != 0)
            die(c.name);
    }
    double seconds = cluster(&c, points, 0, &found);
    printf("%s: %zu different, %zu pairs of neighbours, %zu clusters\n", c.name, found.n_different,
           found.n_neighbours, found.n_clusters);
    printf("  sis, %d threads    %10.3f s by the clock, %.2f GiB at most (wanted: under 4)\n",
           sis__cores(), seconds, resident());
    sis_clusters_release(&found);
    sis_points_free(points);
    return resident() < 4;
}

int main(void) {
    static const contest contests[] = {
        {"image subsets, energy", SIS_DISTANCE_ENERGY, 20000, 50, 0.12, 10, 10, make_pixels,
         plain_energy},
        {"word subsets, jaccard", SIS_DISTANCE_JACCARD, 100000, 500, 0.5, 100, 10, make_words,
         plain_jaccard},
        {"DNA subsets, levenshtein", SIS_DISTANCE_LEVENSHTEIN, 100000, 200, 2, 50, 10, make_letters,
         plain_levenshtein},
    };
    int good = 1;
    for (size_t k = 0; k < sizeof contests / sizeof *contests; k++)
        good &= hold(&contests[k]);
    good &= cluster_a_million();
    return good ? 0 : 1;
}
