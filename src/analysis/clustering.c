/* SPDX-License-Identifier: MIT
 *
 * Clusters the subsets of many records. Each subset becomes a point, stored with its pattern and
 * origin. Clusters are described by members, most frequent patterns, shares of sources, and by
 * kind: matrices and known motifs of DNA, mean images.
 */
#include "analysis/clustering.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <sis/dna.h>
#include <sis/record.h>
#include <sis/text.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/order.h"

enum {
    FLANK = 20,
    FLANK_MAX = 1000,
    NUMBERS_MAX = 1 << 28 /* for all mean images together: 2 GiB */
};

void sis_clustering_opt_init(sis_clustering_opt *opt) {
    sis_cluster_opt plain;
    sis_cluster_opt_init(&plain);
    *opt = (sis_clustering_opt){
        .eps = NAN, .min_size = plain.min_size, .flank = FLANK, .matches = 3, .top = 4, .jobs = 1};
}

/* ---- Patterns ------------------------------------------------------------------------------ */

/* A word in lower case, as in the tokenizer. */
static int put_word(sis__buf *b, const char *word, sis_words *split) {
    int error = sis_words_split(word, split);
    if (error == SIS_OK)
        sis__buf_str(b, split->n == 1 ? split->items[0].text : word);
    return error;
}

/* Name and value: housing=own, income=52000. */
static void put_cell(sis__buf *b, const sis_record *r, int f) {
    char name[256], number[SIS_NUMBER_SIZE];
    const char *was = sis_record_was(r, f, number);
    if (sis_record_name(r, f, name, sizeof name))
        sis__buf_str(b, name);
    else
        sis__buf_printf(b, "%d", f);
    if (was)
        sis__buf_printf(b, "=%s", was);
}

/* Features in the order of the example. */
static int put_features(sis__buf *b, const sis_record *r, const sis_subset *s) {
    sis_words split = {0};
    int *sorted = (int *)sis__copy(s->features, s->n, sizeof *sorted);
    int error = sorted ? SIS_OK : SIS_E_NOMEM;
    if (sorted)
        qsort(sorted, s->n, sizeof *sorted, sis__by_int);
    for (size_t k = 0; error == SIS_OK && k < s->n; k++) {
        if (k)
            sis__buf_char(b, ' ');
        if (r->drawing.words)
            error = put_word(b, r->drawing.words[sorted[k]], &split);
        else
            put_cell(b, r, sorted[k]);
    }
    sis_words_release(&split);
    free(sorted);
    return error;
}

/* Features in the order of the example, or pixels row by row, or letters. */
static int put_pattern(sis__buf *b, const sis_record *r, const sis__item *item) {
    char *letters;
    size_t n;
    for (size_t k = 0; k < item->n_pixels; k++)
        sis__buf_printf(b, "%s%d,%d", k ? " " : "", item->places[2 * k], item->places[2 * k + 1]);
    if (item->n_pixels)
        return SIS_OK;
    if (!r->drawing.sequence)
        return put_features(b, r, &r->collection.subsets[item->subset]);
    int error = sis_subset_letters(r, item->subset, &letters, &n);
    if (error == SIS_OK)
        sis__buf_str(b, letters);
    free(letters);
    return error;
}

static int make_pattern(const sis_clusterer *c, const sis_record *r, sis__item *item) {
    sis__buf b;
    sis__buf_init(&b);
    int error = put_pattern(&b, r, item);
    if (error == SIS_OK)
        error = sis__buf_error(&b);
    if (error == SIS_OK && !(item->pattern = sis__held_text(c->held, b.data ? b.data : "")))
        error = SIS_E_NOMEM;
    sis__buf_release(&b);
    return error;
}

/* The sequence around a subset of DNA. */
static int make_window(const sis_clusterer *c, const sis_record *r, sis__item *item) {
    char *letters;
    size_t n;
    int error = sis_subset_window(r, item->subset, c->opt.flank, &letters, &n);
    if (error == SIS_OK && !(item->window = sis__held_text(c->held, letters)))
        error = SIS_E_NOMEM;
    free(letters);
    return error;
}

/* ---- Records ------------------------------------------------------------------------------- */

int sis_clusterer_new(const sis_clustering_opt *opt, sis_clusterer **out) {
    *out = NULL;
    if (opt->flank > FLANK_MAX)
        return sis__fail(SIS_E_ARGUMENT, "flank is %zu; expected at most %d", opt->flank,
                         FLANK_MAX);
    *out = SIS_NEW(sis_clusterer, 1);
    if (!*out)
        return SIS_E_NOMEM;
    (*out)->opt = *opt;
    (*out)->held = SIS_NEW(sis__held, 1);
    if ((*out)->held)
        return SIS_OK;
    sis_clusterer_free(*out);
    *out = NULL;
    return SIS_E_NOMEM;
}

void sis_clusterer_free(sis_clusterer *c) {
    if (!c)
        return;
    for (size_t i = 0; i < c->n; i++) {
        free(c->items[i].places);
        free(c->items[i].values);
    }
    free(c->items);
    free(c->origins);
    sis__names_release(&c->sources);
    sis__names_release(&c->models);
    sis_points_free(c->points);
    sis__held_free(c->held);
    free(c);
}

/* Kind and distance come from the first record with subsets; others must agree. */
static int agree(sis_clusterer *c, const sis_record *r, const char *source) {
    sis_kind kind = sis_kind_of(r->drawing.kind);
    if (c->points && c->kind != kind)
        return sis__fail(SIS_E_FORMAT,
                         "%s: record \"%s\" has kind \"%s\", earlier ones have kind "
                         "\"%s\"; cluster one kind at a time",
                         source, r->id, sis_kind_name(kind), sis_kind_name(c->kind));
    if (c->points)
        return SIS_OK;
    sis_distance distance = sis_distance_of_kind(r->drawing.kind);
    int error = c->opt.distance ? sis_distance_find(c->opt.distance, &distance) : SIS_OK;
    c->kind = kind;
    if (error == SIS_OK)
        error = sis_points_new(distance, &c->points);
    if (error == SIS_OK && distance == SIS_DISTANCE_LEVENSHTEIN && kind == SIS_KIND_DNA)
        error = sis_points_both_strands(c->points, !c->opt.forward);
    return error;
}

static int add_subset(sis_clusterer *c, const sis_record *r, size_t k, const char *source) {
    int error = sis__reserve(&c->items, &c->items_room, c->n + 1, sizeof *c->items);
    if (error != SIS_OK)
        return error;
    error = sis_points_add_subset(c->points, r, k);
    if (error != SIS_OK)
        return sis__fail_in(error, "%s", source);
    sis__item *item = &c->items[c->n++];
    *item = (sis__item){.record = c->n_origins - 1, .subset = k};
    c->several_features |= r->collection.subsets[k].n > 1;
    if (sis__is_energy(sis_points_distance_kind(c->points)))
        error = sis_subset_pixels(r, k, &item->places, &item->values, &item->n_pixels);
    if (error == SIS_OK && c->opt.flank &&
        sis_points_distance_kind(c->points) == SIS_DISTANCE_LEVENSHTEIN)
        error = make_window(c, r, item);
    return error == SIS_OK ? make_pattern(c, r, item) : error;
}

static void count_bases(sis_clusterer *c, const char *sequence) {
    static const char bases[] = "ACGT";
    for (const char *s = sequence; s && *s; s++) {
        const char *at = strchr(bases, *s);
        if (at)
            c->bases[at - bases]++;
    }
}

static int add_origin(sis_clusterer *c, const sis_record *r, const char *source) {
    sis__origin origin = {.number = c->n_records - 1, .first = c->n};
    int error = sis__reserve(&c->origins, &c->origins_room, c->n_origins + 1, sizeof *c->origins);
    if (error == SIS_OK)
        error = sis__names_add(&c->sources, source, strlen(source), &origin.source);
    if (error == SIS_OK)
        error = sis__names_add(&c->models, r->model, strlen(r->model), &origin.model);
    if (error == SIS_OK && !(origin.id = sis__held_text(c->held, r->id)))
        error = SIS_E_NOMEM;
    if (error == SIS_OK)
        c->origins[c->n_origins++] = origin;
    return error;
}

int sis_clusterer_add(sis_clusterer *c, const char *source, const sis_record *r) {
    c->n_records++;
    c->statuses[r->collection.status]++;
    if (r->collection.n_subsets == 0)
        return SIS_OK;
    if (!sis_record_is_target(r, c->opt.target, c->opt.target_index)) {
        c->other_outputs++;
        return SIS_OK;
    }
    if (c->n_origins == 0)
        c->first_output = r->question.target;
    c->several_outputs |= r->question.target != c->first_output;
    int error = agree(c, r, source);
    if (error == SIS_OK)
        error = add_origin(c, r, source);
    for (size_t k = 0; error == SIS_OK && k < r->collection.n_subsets; k++)
        error = add_subset(c, r, k, source);
    count_bases(c, r->drawing.sequence);
    return error;
}

int sis__clusterer_check(const sis_clusterer *c, const char *verb) {
    const sis_clustering_opt *o = &c->opt;
    if (c->n > 0)
        return SIS_OK;
    if (c->n_records == 0)
        return sis__fail(SIS_E_ARGUMENT, "cannot %s: the results contain no records", verb);
    if (c->other_outputs)
        return sis__fail(SIS_E_ARGUMENT, "cannot %s: no record has %s %s, %zu have other targets%s",
                         verb, o->target ? "--target" : "--target-index",
                         o->target ? o->target : o->target_index, c->other_outputs,
                         o->target ? "; for a position use --target-index N" : "");
    return sis__fail(SIS_E_ARGUMENT,
                     "cannot %s: none of %zu record%s is explained (%zu not "
                     "decided, %zu default decisions, %zu errors)",
                     verb, c->n_records, c->n_records == 1 ? "" : "s",
                     c->statuses[SIS_STATUS_NOT_DECIDED], c->statuses[SIS_STATUS_DEFAULT_DECISION],
                     c->statuses[SIS_STATUS_ERROR]);
}

int sis_clusterer_check(const sis_clusterer *c, sis_distance *distance) {
    int error = sis__clusterer_check(c, "cluster");
    if (error == SIS_OK)
        *distance = sis_points_distance_kind(c->points);
    return error;
}

/* ---- Members ------------------------------------------------------------------------------- */

/* The state of sis_clusterer_find(). */
typedef struct {
    sis_clusterer *c;
    sis_clusters clusters;
    size_t *items; /* (n) members of each cluster, in order, then the noise */
    sis_found_cluster *found;
    const char **sources; /* (n_sources) */
    size_t n_sources;
    int by_model; /* sources are models: one file has several */
    sis_motifs motifs;
} search;

static uint32_t source_of(const search *s, size_t item) {
    const sis__origin *o = &s->c->origins[s->c->items[item].record];
    return s->by_model ? o->model : o->source;
}

static int name_sources(search *s) {
    sis_clusterer *c = s->c;
    s->by_model = c->sources.n == 1 && c->models.n > 1;
    const sis__names *names = s->by_model ? &c->models : &c->sources;
    s->n_sources = names->n;
    s->sources = (const char **)sis__held_room(c->held, names->n, sizeof *s->sources);
    for (size_t k = 0; s->sources && k < names->n; k++)
        if (!(s->sources[k] = sis__held_text(c->held, sis__names_text(names, (uint32_t)k))))
            return SIS_E_NOMEM;
    return s->sources ? SIS_OK : SIS_E_NOMEM;
}

static sis_member member_of(const search *s, size_t item, int with_source) {
    const sis__item *x = &s->c->items[item];
    const sis__origin *o = &s->c->origins[x->record];
    return (sis_member){.id = o->id,
                        .subset = x->subset,
                        .source = with_source ? s->sources[source_of(s, item)] : NULL,
                        .record = o->number,
                        .core = s->clusters.core[item]};
}

/* The items of each cluster, and the members of all. */
static int list_members(search *s, sis_clustering *out) {
    const sis_clusters *k = &s->clusters;
    size_t groups = k->n_clusters + 1, *at = SIS_NEW(size_t, groups + 1);
    sis_member *members = (sis_member *)sis__held_room(s->c->held, k->n, sizeof *members);
    s->items = SIS_NEW(size_t, k->n);
    int error = at && members && s->items ? SIS_OK : SIS_E_NOMEM;
    for (size_t i = 0; error == SIS_OK && i < k->n; i++)
        at[(k->labels[i] < 0 ? k->n_clusters : (size_t)k->labels[i]) + 1]++;
    for (size_t g = 0; error == SIS_OK && g < groups; g++) {
        if (g < k->n_clusters) {
            s->found[g].size = s->found[g].n_members = at[g + 1];
            s->found[g].members = members + at[g];
        } else {
            out->n_noise = at[g + 1];
            out->noise = members + at[g];
        }
        at[g + 1] += at[g];
    }
    for (size_t i = 0; error == SIS_OK && i < k->n; i++) {
        size_t place = at[k->labels[i] < 0 ? k->n_clusters : (size_t)k->labels[i]]++;
        s->items[place] = i;
        members[place] = member_of(s, i, 1);
    }
    free(at);
    return error;
}

/* ---- One cluster --------------------------------------------------------------------------- */

typedef struct {
    const char *text;
    size_t count, first; /* first: index of the first item with it */
} counted;

static int by_text(const void *a, const void *b) {
    const counted *x = (const counted *)a, *y = (const counted *)b;
    int order = strcmp(x->text, y->text);
    return order ? order : (x->first > y->first) - (x->first < y->first);
}

static int by_count(const void *a, const void *b) {
    const counted *x = (const counted *)a, *y = (const counted *)b;
    if (x->count != y->count)
        return x->count > y->count ? -1 : 1;
    return (x->first > y->first) - (x->first < y->first);
}

/* The most frequent patterns. */
static int find_patterns(const search *s, const size_t *items, sis_found_cluster *f) {
    size_t n = f->size, different = 0;
    counted *all = SIS_NEW(counted, n);
    if (!all)
        return SIS_E_NOMEM;
    for (size_t k = 0; k < n; k++)
        all[k] = (counted){s->c->items[items[k]].pattern, 1, items[k]};
    qsort(all, n, sizeof *all, by_text);
    for (size_t k = 0; k < n; k++) {
        if (k > 0 && strcmp(all[k].text, all[different - 1].text) == 0)
            all[different - 1].count++;
        else
            all[different++] = all[k];
    }
    qsort(all, different, sizeof *all, by_count);
    f->n_patterns = different < s->c->opt.top ? different : s->c->opt.top;
    sis_pattern *top = (sis_pattern *)sis__held_room(s->c->held, f->n_patterns, sizeof *top);
    for (size_t k = 0; top && k < f->n_patterns; k++)
        top[k] = (sis_pattern){all[k].text, all[k].count};
    f->patterns = top;
    free(all);
    return top ? SIS_OK : SIS_E_NOMEM;
}

static int find_shares(const search *s, const size_t *items, sis_found_cluster *f) {
    sis_share *shares = (sis_share *)sis__held_room(s->c->held, s->n_sources, sizeof *shares);
    if (!shares)
        return SIS_E_NOMEM;
    for (size_t k = 0; k < s->n_sources; k++)
        shares[k].source = s->sources[k];
    for (size_t k = 0; k < f->size; k++)
        shares[source_of(s, items[k])].share++;
    for (size_t k = 0; k < s->n_sources; k++)
        shares[k].share /= (double)f->size;
    f->n_shares = s->n_sources;
    f->shares = shares;
    return SIS_OK;
}

/* ---- DNA ----------------------------------------------------------------------------------- */

/* Shares of A C G T in all sequences; with both strands, complementary bases have equal shares. A
 * pseudocount of one base each keeps them above 0. */
static void find_background(const sis_clusterer *c, double background[4]) {
    double sum = 4;
    for (size_t b = 0; b < 4; b++)
        sum += c->bases[b];
    for (size_t b = 0; b < 4; b++)
        background[b] =
            (1 + (c->opt.forward ? c->bases[b] : (c->bases[b] + c->bases[3 - b]) / 2)) / sum;
}

/* Align the strings of a cluster, that of its medoid first, and their windows. turned (n) or
 * NULL. */
static int learn(const search *s, const size_t *items, size_t medoid, size_t n,
                 unsigned char *turned, sis_motif *matrix, double **numbers) {
    const char **texts = SIS_NEW(const char *, 2 * n);
    size_t at = 1;
    if (!texts)
        return SIS_E_NOMEM;
    sis_sites sites = {.n = n, .flank = s->c->opt.flank, .strings = texts, .windows = texts + n};
    for (size_t k = 0; k < n; k++) {
        size_t place = items[k] == medoid ? 0 : at++;
        texts[place] = s->c->items[items[k]].pattern;
        texts[n + place] = s->c->items[items[k]].window;
    }
    find_background(s->c, sites.background);
    int error = sites.flank ? sis_motif_learn_sites(&sites, "cluster", turned, matrix, numbers)
                            : sis_motif_learn(texts, n, "cluster", turned, matrix, numbers);
    free(texts);
    return error;
}

/* The matrix of a cluster. Patterns are then shown on the aligned strand, so that similar ones look
 * similar. */
static int find_matrix(const search *s, const size_t *items, size_t medoid, sis_found_cluster *f,
                       sis_motif *matrix, double **numbers) {
    size_t n = f->size, at = 1;
    unsigned char *turned = s->c->opt.forward ? NULL : SIS_NEW(unsigned char, n);
    int error = turned || s->c->opt.forward ? SIS_OK : SIS_E_NOMEM;
    if (error == SIS_OK)
        error = learn(s, items, medoid, n, turned, matrix, numbers);
    for (size_t k = 0; error == SIS_OK && turned && k < n; k++) {
        char *pattern = s->c->items[items[k]].pattern;
        if (turned[items[k] == medoid ? 0 : at++])
            sis_dna_turn(pattern, strlen(pattern));
    }
    if (error == SIS_OK) {
        double *counts = (double *)sis__held_room(s->c->held, 4 * matrix->length, sizeof *counts);
        if (counts)
            memcpy(counts, matrix->counts, 4 * matrix->length * sizeof *counts);
        f->matrix = counts;
        f->n_matrix = 4 * matrix->length;
        error = counts ? SIS_OK : SIS_E_NOMEM;
    }
    free(turned);
    return error;
}

/* Describe a motif on the matching strand. */
static int describe_match(const search *s, const sis_motif_match *m, sis_found_match *out) {
    const sis_motif *motif = &s->motifs.items[m->motif];
    size_t cells = 4 * motif->length;
    double *numbers = (double *)sis__held_room(s->c->held, cells, sizeof *numbers);
    *out = (sis_found_match){.id = sis__held_text(s->c->held, motif->id),
                             .name = sis__held_text(s->c->held, motif->name),
                             .divergence = m->divergence,
                             .p = m->p,
                             .q = m->q,
                             .offset = (double)m->offset,
                             .reverse = m->reverse,
                             .n_matrix = cells,
                             .matrix = numbers};
    for (size_t c = 0; numbers && c < cells; c++) /* reversal gives the other strand */
        numbers[c] = motif->probabilities[m->reverse ? cells - 1 - c : c];
    return numbers && out->id && out->name ? SIS_OK : SIS_E_NOMEM;
}

static int find_matches(const search *s, const sis_motif *matrix, sis_found_cluster *f) {
    sis_motif_match *matches = NULL;
    long n = sis_motif_test(matrix, &s->motifs, s->c->opt.matches, &matches);
    if (n < 0)
        return (int)n;
    sis_found_match *found =
        (sis_found_match *)sis__held_room(s->c->held, (size_t)n, sizeof *found);
    int error = found ? SIS_OK : SIS_E_NOMEM;
    f->matches = found;
    for (; error == SIS_OK && f->n_matches < (size_t)n; f->n_matches++)
        error = describe_match(s, &matches[f->n_matches], &found[f->n_matches]);
    free(matches);
    return error;
}

static int find_motif(const search *s, const size_t *items, size_t medoid, sis_found_cluster *f) {
    sis_motif matrix;
    double *numbers = NULL;
    int error = find_matrix(s, items, medoid, f, &matrix, &numbers);
    if (error == SIS_OK && s->motifs.n)
        error = find_matches(s, &matrix, f);
    free(numbers);
    return error;
}

/* ---- Images -------------------------------------------------------------------------------- */

static int measure_images(const search *s, sis_clustering *out) {
    for (size_t i = 0; i < s->c->n; i++)
        for (size_t k = 0; k < s->c->items[i].n_pixels; k++) {
            const int *at = s->c->items[i].places + 2 * k;
            out->height = (size_t)at[0] >= out->height ? (size_t)at[0] + 1 : out->height;
            out->width = (size_t)at[1] >= out->width ? (size_t)at[1] + 1 : out->width;
        }
    size_t plane = out->height * out->width;
    if (plane > NUMBERS_MAX / 2 || (plane && out->n_clusters > NUMBERS_MAX / 2 / plane))
        return sis__fail(SIS_E_UNSUPPORTED,
                         "the mean images of %zu clusters of %zu by %zu pixels are too large",
                         out->n_clusters, out->height, out->width);
    return SIS_OK;
}

static int find_mean(const search *s, const size_t *items, const sis_clustering *c,
                     sis_found_cluster *f) {
    size_t plane = c->height * c->width;
    double share = 1 / (double)f->size;
    double *often = (double *)sis__held_room(s->c->held, 2 * plane, sizeof *often);
    for (size_t k = 0; often && k < f->size; k++) {
        const sis__item *item = &s->c->items[items[k]];
        for (size_t p = 0; p < item->n_pixels; p++) {
            size_t at = (size_t)item->places[2 * p] * c->width + (size_t)item->places[2 * p + 1];
            often[at] += share;
            often[plane + at] += share * item->values[p];
        }
    }
    f->mean = often;
    return often ? SIS_OK : SIS_E_NOMEM;
}

/* ---- Clustering ------------------------------------------------------------------------------ */

static int describe_cluster(const search *s, size_t k, const size_t *items, sis_distance d,
                            const sis_clustering *out) {
    sis_found_cluster *f = &s->found[k];
    size_t medoid = s->clusters.medoids[k];
    f->medoid = member_of(s, medoid, 0);
    f->medoid_pattern = s->c->items[medoid].pattern;
    for (size_t i = 0; i < f->size; i++)
        f->core += (size_t)f->members[i].core;
    int error = d == SIS_DISTANCE_LEVENSHTEIN ? find_motif(s, items, medoid, f)
                : sis__is_energy(d)           ? find_mean(s, items, out, f)
                                              : SIS_OK;
    if (error == SIS_OK)
        error = find_shares(s, items, f);
    return error == SIS_OK ? find_patterns(s, items, f) : error;
}

/* The largest first; of equal size, the earlier first core subset first. */
static int by_size(const void *a, const void *b) {
    const sis_found_cluster *x = (const sis_found_cluster *)a, *y = (const sis_found_cluster *)b;
    return x->size != y->size ? (x->size < y->size) - (x->size > y->size)
                              : (x->number > y->number) - (x->number < y->number);
}

static void number_by_size(sis_found_cluster *found, size_t n) {
    for (size_t k = 0; k < n; k++)
        found[k].number = k;
    if (n)
        qsort(found, n, sizeof *found, by_size);
    for (size_t k = 0; k < n; k++)
        found[k].number = k + 1;
}

static int describe_clusters(search *s, sis_distance d, sis_clustering *out) {
    const char *motifs = s->c->opt.motifs;
    size_t at = 0, n = s->clusters.n_clusters;
    s->found = (sis_found_cluster *)sis__held_room(s->c->held, n, sizeof *s->found);
    int error = s->found ? name_sources(s) : SIS_E_NOMEM;
    out->clusters = s->found;
    out->n_clusters = n;
    if (error == SIS_OK)
        error = list_members(s, out);
    if (error == SIS_OK && d == SIS_DISTANCE_LEVENSHTEIN && motifs)
        error = sis_motifs_read(motifs, &s->motifs);
    if (error == SIS_OK && sis__is_energy(d))
        error = measure_images(s, out);
    for (size_t k = 0; error == SIS_OK && k < n; k++) {
        error = describe_cluster(s, k, s->items + at, d, out);
        at += s->found[k].size;
    }
    if (error == SIS_OK)
        number_by_size(s->found, n);
    return error;
}

/* Single words are equal or have distance 1: clusters are counts of words. */
static int has_only_words(const sis_clusterer *c, sis_distance d) {
    int words = d == SIS_DISTANCE_JACCARD || d == SIS_DISTANCE_JACCARD_BAG;
    return words && !c->several_features && isnan(c->opt.eps) && !c->opt.curve;
}

int sis__clusterer_find(sis_clusterer *c, sis_clustering *out) {
    search s = {.c = c};
    sis_cluster_opt opt;
    sis_distance d;
    *out = (sis_clustering){0};
    sis_cluster_opt_init(&opt);
    opt.min_size = c->opt.min_size;
    opt.jobs = c->opt.jobs;
    int error = sis_clusterer_check(c, &d);
    if (error == SIS_OK && has_only_words(c, d)) {
        out->counts = 1;
        opt.eps = 0;
        opt.min_size = 1;
    } else if (error == SIS_OK) {
        error = sis__clustering_eps(c, &opt, out);
    }
    if (error == SIS_OK)
        error = sis_cluster(c->points, &opt, &s.clusters);
    if (error == SIS_OK) {
        out->distance = sis_distance_name(d);
        out->strands = d != SIS_DISTANCE_LEVENSHTEIN ? NULL : c->opt.forward ? "forward" : "both";
        out->eps = opt.eps;
        out->min_size = opt.min_size;
        out->n = c->n;
        out->n_records = c->n_origins;
        out->n_different = s.clusters.n_different;
        out->several_outputs = c->several_outputs;
        error = describe_clusters(&s, d, out);
    }
    free(s.items);
    sis_motifs_release(&s.motifs);
    sis_clusters_release(&s.clusters);
    return error;
}

int sis_clusterer_find(sis_clusterer *c, sis_clustering *out) {
    int error = sis__clusterer_find(c, out);
    if (error == SIS_OK) {
        out->held = c->held;
        c->held = NULL;
    } else {
        *out = (sis_clustering){0};
    }
    return error;
}
