/* SPDX-License-Identifier: MIT
 *
 * sis compare: two results files and their models. Do they decide alike, and for the same reasons?
 */
#include "compare.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "output.h"
#include "task.h"

typedef struct {
    const char *model_a, *model_b, *distance, *output, *class;
    cli_clustering clustering;
    size_t top, most, differ;
    double timeout;
    cli_common common;
} compare_options;

static const cli_option options[] = {
    {"model-a", 0, "MODEL", CLI_STRING(compare_options, model_a), "the model of the first results",
     .required = 1, .more = "FILE.onnx or cmd:COMMAND, as for sis explain."},
    {"model-b", 0, "MODEL", CLI_STRING(compare_options, model_b), "the model of the second results",
     .required = 1},
    {"distance", 'd', "D", CLI_CHOICE(compare_options, distance), "what makes subsets alike",
     .choices = "jaccard jaccard-bag levenshtein energy energy-sqrt overlap",
     .unset = "by the kind of the records"},
    CLI_GROUP(compare_options, clustering, cli_clustering, cli_clustering_options),
    {"class", 'c', "OUTPUT", CLI_STRING(compare_options, class),
     "only decisions for this output of the models: label or number", .unset = "all"},
    {"output", 'o', "FILE", CLI_STRING(compare_options, output),
     "write everything as JSON; - for standard output", .unset = "a report only"},
    {"differ", 0, "N", CLI_COUNT(compare_options, differ),
     "examples whose subsets differ most to show"},
    {"top", 0, "N", CLI_COUNT(compare_options, top), "patterns of a cluster to name", .min = 1,
     .max = 1000},
    {"most", 0, "N", CLI_COUNT(compare_options, most), "clusters to print, 0 for all"},
    {"timeout", 0, "SECONDS", CLI_NUMBER(compare_options, timeout),
     "longest wait for one answer of a cmd: model, 0 for ever", .max = 1e9},
    CLI_GROUP(compare_options, common, cli_common, cli_common_options),
    {0},
};

static void init(void *p) {
    compare_options *o = (compare_options *)p;
    sis_model_opt model;
    sis_model_opt_init(&model);
    cli_clustering_init(&o->clustering);
    o->timeout = model.timeout;
    o->top = 4;
    o->most = 20;
    o->differ = 5;
}

/* What was found. */
typedef struct {
    const compare_options *o;
    cli_side sides[2];
    cli_subsets subsets;
    cli_cross cross[2]; /* subsets of the side, by the other's model */
    double own[2][5];   /* quantiles of the scores of their own model */
    sis_clusters clusters;
    cli_members members;
    cli_matrices matrices;
    cli_means means;
    cli_cluster_page page;
    struct {
        size_t common, both, other_output, only[2], neither;
    } decisions;
    struct difference *differences; /* farthest first */
    size_t n_differences;
} comparison;

/* An example that both models explain. */
struct difference {
    size_t records[2];
    double distance;
};

/* ---- Reading ----------------------------------------------------------------------------------- */

static int keep_record(comparison *c, size_t side, sis_record *r) {
    cli_side *s = &c->sides[side];
    if (s->n == s->room) {
        size_t room = s->room ? s->room * 2 : 64;
        sis_record *records = realloc(s->records, room * sizeof *records);
        if (records)
            s->records = records;
        size_t *items = realloc(s->first_item, room * sizeof *items);
        if (items)
            s->first_item = items;
        if (!records || !items)
            return cli_error("out of memory");
        s->room = room;
    }
    if (s->n > 0 && (r->threshold != s->threshold || r->below != s->below))
        return cli_error(
            "%s: record \"%s\" is of a decision %s %g, those before %s %g; compare one "
            "decision at a time",
            s->path, r->id, r->below ? "<=" : ">=", r->threshold,
            s->below ? "<=" : ">=", s->threshold);
    s->threshold = r->threshold;
    s->below = r->below;
    s->first_item[s->n] = c->subsets.n;
    s->records[s->n++] = *r;
    *r = (sis_record){0};
    return CLI_DONE;
}

static int read_side(comparison *c, size_t side) {
    cli_side *s = &c->sides[side];
    sis_results *file;
    sis_record r;
    int status = CLI_DONE, found = sis_results_open(s->path, &file);
    if (found != SIS_OK)
        return cli_fail(found);
    while (status == CLI_DONE && (found = sis_results_next(file, &r)) > 0) {
        if (r.collection.status != SIS_STATUS_ERROR && cli_record_is_output(&r, c->o->class)) {
            size_t before = c->subsets.n;
            status = cli_subsets_add(&c->subsets, &r, side);
            if (status == CLI_DONE)
                status = keep_record(c, side, &r);
            if (status == CLI_DONE)
                s->first_item[s->n - 1] = before;
        }
        sis_record_release(&r);
    }
    sis_results_close(file);
    if (status == CLI_DONE && found < 0)
        return cli_fail(found);
    if (status == CLI_DONE && s->n == 0)
        return cli_error("%s: there is nothing to compare: no records%s%s", s->path,
                         c->o->class ? " of --class " : "", c->o->class ? c->o->class : "");
    return status;
}

static int by_id(const void *a, const void *b, void *records) {
    const sis_record *r = (const sis_record *)records;
    return strcmp(r[*(const size_t *)a].id, r[*(const size_t *)b].id);
}

static int index_side(cli_side *s) {
    s->by_id = cli_grab(s->n, sizeof *s->by_id);
    if (!s->by_id)
        return CLI_FAILED;
    for (size_t i = 0; i < s->n; i++)
        s->by_id[i] = i;
    qsort_r(s->by_id, s->n, sizeof *s->by_id, by_id, s->records);
    for (size_t i = 1; i < s->n; i++)
        if (strcmp(s->records[s->by_id[i]].id, s->records[s->by_id[i - 1]].id) == 0)
            return cli_error("%s: record \"%s\" is there twice", s->path,
                             s->records[s->by_id[i]].id);
    return CLI_DONE;
}

const sis_record *cli_side_find(const cli_side *s, const char *id) {
    size_t low = 0, high = s->n;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        const sis_record *r = &s->records[s->by_id[middle]];
        int order = strcmp(r->id, id);
        if (order == 0)
            return r;
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return NULL;
}

static int read_all(comparison *c, const cli_list *args) {
    c->subsets.files = cli_grab(2, sizeof *c->subsets.files);
    if (!c->subsets.files)
        return CLI_FAILED;
    c->subsets.n_files = 2;
    int status = CLI_DONE;
    for (size_t k = 0; k < 2; k++)
        c->subsets.files[k] = c->sides[k].path = args->items[k];
    for (size_t k = 0; k < 2 && status == CLI_DONE; k++) {
        status = read_side(c, k);
        if (status == CLI_DONE)
            status = index_side(&c->sides[k]);
    }
    if (status == CLI_DONE && c->sides[0].below != c->sides[1].below)
        status = cli_error("%s holds decisions %s, %s decisions %s: they cannot be compared",
                           c->sides[0].path, c->sides[0].below ? "<=" : ">=", c->sides[1].path,
                           c->sides[1].below ? "<=" : ">=");
    return status == CLI_DONE ? cli_subsets_check(&c->subsets) : status;
}

/* ---- Decisions --------------------------------------------------------------------------------- */

static int is_decided(const sis_record *r) {
    return r->collection.status == SIS_STATUS_EXPLAINED ||
           r->collection.status == SIS_STATUS_DEFAULT_DECISION;
}

static int same_output(const sis_record *a, const sis_record *b) {
    return a->output_label && b->output_label ? strcmp(a->output_label, b->output_label) == 0
                                              : a->output == b->output;
}

static void count_decisions(comparison *c) {
    for (size_t i = 0; i < c->sides[0].n; i++) {
        const sis_record *a = &c->sides[0].records[i], *b = cli_side_find(&c->sides[1], a->id);
        if (!b)
            continue;
        c->decisions.common++;
        if (is_decided(a) && is_decided(b))
            *(same_output(a, b) ? &c->decisions.both : &c->decisions.other_output) += 1;
        else if (is_decided(a) || is_decided(b))
            c->decisions.only[is_decided(b)]++;
        else
            c->decisions.neither++;
    }
}

static double agreement(const comparison *c) {
    size_t same = c->decisions.both + c->decisions.neither;
    return c->decisions.common ? (double)same / (double)c->decisions.common : 0;
}

/* ---- Differences --------------------------------------------------------------------------------- */

/* The mean, over the subsets of both, of the distance to the nearest of the other. */
static int distance_of(const comparison *c, struct difference *d) {
    size_t first[2], n[2];
    double sum = 0;
    for (size_t k = 0; k < 2; k++) {
        first[k] = c->sides[k].first_item[d->records[k]];
        n[k] = c->sides[k].records[d->records[k]].collection.n_subsets;
    }
    for (size_t k = 0; k < 2; k++)
        for (size_t i = 0; i < n[k]; i++) {
            double nearest = INFINITY, one;
            for (size_t j = 0; j < n[!k]; j++) {
                int error =
                    sis_points_distance(c->subsets.points, first[k] + i, first[!k] + j, &one);
                if (error)
                    return cli_fail(error);
                nearest = fmin(nearest, one);
            }
            sum += nearest;
        }
    d->distance = sum / (double)(n[0] + n[1]);
    return CLI_DONE;
}

static int farthest_first(const void *a, const void *b) {
    const struct difference *x = (const struct difference *)a, *y = (const struct difference *)b;
    if (x->distance != y->distance)
        return x->distance > y->distance ? -1 : 1;
    return (x->records[0] > y->records[0]) - (x->records[0] < y->records[0]);
}

static int find_differences(comparison *c) {
    const cli_side *a = &c->sides[0], *b = &c->sides[1];
    int status = CLI_DONE;
    c->differences = cli_grab(a->n, sizeof *c->differences);
    if (!c->differences)
        return CLI_FAILED;
    for (size_t i = 0; i < a->n && status == CLI_DONE; i++) {
        const sis_record *other = cli_side_find(b, a->records[i].id);
        if (!other || !a->records[i].collection.n_subsets || !other->collection.n_subsets)
            continue;
        struct difference *d = &c->differences[c->n_differences++];
        *d = (struct difference){{i, (size_t)(other - b->records)}, 0};
        status = distance_of(c, d);
    }
    qsort(c->differences, c->n_differences, sizeof *c->differences, farthest_first);
    return status;
}

/* ---- Printing ------------------------------------------------------------------------------------ */

static const char *short_name(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash && slash[1] ? slash + 1 : path;
}

static void print_decisions(const comparison *c) {
    static const char letters[] = "AB";
    for (size_t k = 0; k < 2; k++) {
        const cli_side *s = &c->sides[k];
        size_t n = c->cross[k].n, features = 0, decided = 0;
        for (size_t i = 0; i < s->n; i++) {
            decided += (size_t)is_decided(&s->records[i]);
            for (size_t j = 0; j < s->records[i].collection.n_subsets; j++)
                features += s->records[i].collection.subsets[j].n;
        }
        printf("%c  ", letters[k]);
        cli_print_safe(stdout, short_name(s->path));
        printf(", ");
        cli_print_safe(stdout, strncmp(s->spec, "cmd:", 4) == 0 ? s->spec : short_name(s->spec));
        printf(": %zu of %zu examples %s %g, %zu subsets", decided, s->n,
               s->below ? "<=" : ">=", s->threshold, n);
        if (n)
            printf(" of %.1f features on average", (double)features / (double)n);
        putchar('\n');
    }
    if (c->decisions.common == 0) {
        printf("\nNo example is in both files, so decisions cannot be compared one by one.\n");
        return;
    }
    printf("\nDecisions on %zu common examples: %.1f %% agree\n", c->decisions.common,
           100 * agreement(c));
    printf(
        "   both decide the same %zu, for different outputs %zu, only A %zu, only B %zu, neither "
        "%zu\n",
        c->decisions.both, c->decisions.other_output, c->decisions.only[0], c->decisions.only[1],
        c->decisions.neither);
}

static void print_quantiles(const char *who, const double q[5], size_t n, size_t sufficient) {
    printf("   %-16s %8.3g %8.3g %8.3g %8.3g %8.3g   %5.1f %%\n", who, q[0], q[1], q[2], q[3], q[4],
           n ? 100 * (double)sufficient / (double)n : 0);
}

static void print_scores(const comparison *c) {
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
static const cli_subset *item_of(const comparison *c, size_t side, const struct difference *d,
                                 size_t k) {
    const cli_side *s = &c->sides[side];
    size_t record = d->records[side];
    return k < s->records[record].collection.n_subsets
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

static void draw_both(const comparison *c, const struct difference *d) {
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

static void print_difference(const comparison *c, const struct difference *d) {
    printf("\nexample ");
    cli_print_safe(stdout, c->sides[0].records[d->records[0]].id);
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

static int print_all(const comparison *c) {
    print_decisions(c);
    print_scores(c);
    printf("\nBoth together: ");
    int status = cli_cluster_print(stdout, &c->page);
    if (status == CLI_DONE && c->n_differences && c->differences[0].distance == 0) {
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

/* ---- JSON ---------------------------------------------------------------------------------------- */

static void put_numbers(FILE *out, const char *name, const double *v, size_t n) {
    fprintf(out, "\"%s\":[", name);
    for (size_t k = 0; k < n; k++) {
        fputs(k ? "," : "", out);
        cli_json_number(out, v[k]);
    }
    fputc(']', out);
}

static void put_side(FILE *out, const comparison *c, size_t k) {
    const cli_side *s = &c->sides[k];
    fprintf(out, "\"%c\":{\"results\":", "ab"[k]);
    cli_json_text(out, s->path);
    fputs(",\"model\":", out);
    cli_json_text(out, s->spec);
    fprintf(out, ",\"n\":%zu,\"subsets\":%zu,\"threshold\":", s->n, c->cross[k].n);
    cli_json_number(out, s->threshold);
    fprintf(out, ",\"direction\":\"%s\"},\n", s->below ? "<=" : ">=");
}

static void put_cross(FILE *out, const comparison *c, size_t k) {
    const cli_cross *x = &c->cross[k];
    fprintf(out, "\"%s\":{\"n\":%zu,\"sufficient\":", k ? "b_by_a" : "a_by_b", x->n);
    cli_json_number(out, x->n ? (double)x->sufficient / (double)x->n : 0);
    fputc(',', out);
    put_numbers(out, "quantiles", x->quantiles, x->n ? 5 : 0);
    fputc(',', out);
    put_numbers(out, "scores", x->scores, x->n);
    fputc(',', out);
    put_numbers(out, "own_quantiles", c->own[k], x->n ? 5 : 0);
    fputs("}", out);
}

static void put_difference(FILE *out, const comparison *c, const struct difference *d) {
    fputs("{\"id\":", out);
    cli_json_text(out, c->sides[0].records[d->records[0]].id);
    fputs(",\"distance\":", out);
    cli_json_number(out, d->distance);
    for (size_t side = 0; side < 2; side++) {
        const cli_subset *item;
        fprintf(out, ",\"%c\":[", "ab"[side]);
        for (size_t k = 0; (item = item_of(c, side, d, k)); k++) {
            fputs(k ? "," : "", out);
            cli_json_text(out, item->pattern);
        }
        fputc(']', out);
    }
    fputc('}', out);
}

static int write_json(const comparison *c, const char *path) {
    cli_output o = {0};
    int status = cli_output_open(&o, path, -1);
    if (status == CLI_DONE) {
        FILE *out = o.file;
        fputc('{', out);
        put_side(out, c, 0);
        put_side(out, c, 1);
        fprintf(out,
                "\"decisions\":{\"common\":%zu,\"same\":%zu,\"other_output\":%zu,\"only_a\":%zu,"
                "\"only_b\":%zu,\"neither\":%zu,\"agreement\":",
                c->decisions.common, c->decisions.both, c->decisions.other_output,
                c->decisions.only[0], c->decisions.only[1], c->decisions.neither);
        cli_json_number(out, agreement(c));
        fputs("},\n\"scores\":{", out);
        put_cross(out, c, 0);
        fputs(",\n", out);
        put_cross(out, c, 1);
        fputs("},\n\"joint\":", out);
        status = cli_cluster_json(out, &c->page);
        fputs(",\"differ\":[", out);
        for (size_t k = 0; k < c->n_differences && k < c->o->differ; k++) {
            fputs(k ? ",\n" : "\n", out);
            put_difference(out, c, &c->differences[k]);
        }
        fputs("]}\n", out);
    }
    int closed = cli_output_close(&o);
    return status == CLI_DONE ? closed : status;
}

/* ---- The command ----------------------------------------------------------------------------------- */

static int cluster_all(comparison *c) {
    const compare_options *o = c->o;
    sis_distance d = sis_points_distance_kind(c->subsets.points);
    c->page = (cli_cluster_page){.subsets = &c->subsets,
                                 .clusters = &c->clusters,
                                 .members = &c->members,
                                 .distance = sis_distance_name(d),
                                 .automatic = strcmp(o->clustering.eps, "auto") == 0,
                                 .min_size = o->clustering.min_size,
                                 .top = o->top,
                                 .most = o->most};
    int status = cli_cluster_subsets(&c->subsets, &o->clustering, &c->page.eps, &c->clusters);
    if (status == CLI_DONE)
        status = cli_members_find(&c->clusters, &c->members);
    if (status == CLI_DONE && d == SIS_DISTANCE_LEVENSHTEIN) {
        status = cli_matrices_find(&c->subsets, &c->clusters, &c->members, NULL, &c->matrices);
        c->page.matrices = &c->matrices;
    }
    if (status == CLI_DONE && (d == SIS_DISTANCE_ENERGY || d == SIS_DISTANCE_ENERGY_SQRT)) {
        status = cli_means_find(&c->subsets, &c->members, &c->means);
        c->page.means = &c->means;
    }
    return status;
}

/* Quantiles of the scores that models give to their own subsets, as the records have them. */
static int own_scores(comparison *c, size_t side) {
    const cli_side *s = &c->sides[side];
    double *scores = cli_grab(c->cross[side].n, sizeof *scores);
    size_t n = 0;
    for (size_t i = 0; scores && i < s->n; i++)
        for (size_t k = 0; k < s->records[i].collection.n_subsets; k++)
            scores[n++] = s->records[i].collection.subsets[k].score;
    int status = scores ? n ? cli_quantiles(scores, n, c->own[side]) : CLI_DONE : CLI_FAILED;
    free(scores);
    return status;
}

static int score_all(comparison *c) {
    int status = CLI_DONE;
    for (size_t k = 0; k < 2 && status == CLI_DONE; k++)
        status = cli_side_open(&c->sides[k], c->o->timeout);
    for (size_t k = 0; k < 2 && status == CLI_DONE; k++) {
        status = cli_cross_score(&c->sides[k], &c->sides[!k], c->o->clustering.jobs, &c->cross[k]);
        if (status == CLI_DONE)
            status = own_scores(c, k);
    }
    return status;
}

static void release(comparison *c) {
    for (size_t k = 0; k < 2; k++) {
        cli_side *s = &c->sides[k];
        for (size_t i = 0; i < s->n; i++)
            sis_record_release(&s->records[i]);
        free(s->records);
        free(s->by_id);
        free(s->first_item);
        sis_vocabulary_free(s->vocabulary);
        sis_model_close(&s->model);
        free(c->cross[k].scores);
    }
    free(c->differences);
    free(c->means.values);
    cli_matrices_release(&c->matrices);
    free(c->members.start);
    free(c->members.items);
    sis_clusters_release(&c->clusters);
    cli_subsets_release(&c->subsets);
}

static int spare_inputs(const compare_options *o, const cli_list *args) {
    const char *outputs[] = {o->output, o->clustering.curve};
    const char *inputs[] = {args->items[0], args->items[1], o->model_a, o->model_b};
    int status = CLI_DONE;
    for (size_t k = 0; k < 2; k++)
        for (size_t i = 0; i < 4 && status == CLI_DONE; i++)
            status = cli_output_spares(outputs[k], inputs[i]);
    return status;
}

static int run(const void *p, const cli_list *args) {
    const compare_options *o = (const compare_options *)p;
    comparison c = {.o = o, .subsets = {.distance = o->distance}};
    c.sides[0].spec = o->model_a;
    c.sides[1].spec = o->model_b;
    if (strcmp(args->items[0], args->items[1]) == 0)
        return cli_usage("%s is given twice", args->items[0]);
    int status = spare_inputs(o, args);
    if (status == CLI_DONE)
        status = read_all(&c, args);
    if (status == CLI_DONE)
        status = score_all(&c);
    if (status == CLI_DONE) {
        count_decisions(&c);
        status = cluster_all(&c);
    }
    if (status == CLI_DONE)
        status = find_differences(&c);
    if (status == CLI_DONE && o->output)
        status = write_json(&c, o->output);
    if (status == CLI_DONE && !(o->output && strcmp(o->output, "-") == 0))
        status = print_all(&c);
    release(&c);
    return status;
}

const cli_command cli_compare = {
    .name = "compare",
    .summary = "two models: decisions, cross-scores, joint clusters",
    .options = options,
    .options_size = sizeof(compare_options),
    .args = "A.jsonl B.jsonl",
    .min_args = 2,
    .max_args = 2,
    .init = init,
    .run = run,
    .examples =
        (const cli_example[]){
            {"sis compare cnn.jsonl mlp.jsonl --model-a cnn.onnx --model-b mlp.onnx",
             "Do two networks call an image a 4 for the same reasons?"},
            {"sis compare before.jsonl after.jsonl --model-a m.onnx --model-b m.onnx -o diff.json",
             "What the same model looks at before and after an attack."},
            {0}},
    .description =
        "Reads what sis explain found for two models, or for two versions of one, and tells\n\n"
        "how often they decide alike, over the examples (by id) that are in both files;\n\n"
        "how each model scores the subsets of the other with everything else masked, and how often "
        "these are still sufficient, against its own threshold. Texts become the token ids of the "
        "model that scores, by its own vocabulary; what is missing looks as it does in that "
        "model's own "
        "results, or as the model's own mask has it;\n\n"
        "the clusters of all subsets together, as sis cluster makes them, with the share of each "
        "file: are there reasons that only one of the models has?\n\n"
        "the examples on which the subsets differ most: those with the largest mean distance of a "
        "subset to the nearest subset of the other model.",
};
