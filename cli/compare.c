/* SPDX-License-Identifier: MIT
 *
 * sis compare: two results files and their models. Do they decide alike, and for the same reasons?
 */
#include "compare.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "output.h"

static const cli_option options[] = {
    {"model-a", 0, "MODEL", CLI_STRING(cli_compare_options, model_a),
     "the model of the first results", .required = 1,
     .more = "FILE.onnx, cmd:COMMAND or an address, as for sis explain."},
    {"model-b", 0, "MODEL", CLI_STRING(cli_compare_options, model_b),
     "the model of the second results", .required = 1},
    CLI_DISTANCE(cli_compare_options, distance, .more = "See sis cluster."),
    CLI_GROUP(cli_compare_options, clustering, cli_clustering, cli_clustering_options),
    CLI_TARGET(cli_compare_options, target),
    {"output", 'o', "FILE", CLI_STRING(cli_compare_options, output), "where it all goes, as JSON",
     .writes = CLI_WRITES_FILE, .unset = "a report only", .more = "A dash is standard output."},
    {"differ", 0, "N", CLI_COUNT(cli_compare_options, differ), "examples that differ most to show"},
    {"top", 0, "N", CLI_COUNT(cli_compare_options, top), "patterns of a cluster to name", .min = 1,
     .max = 1000},
    {"most", 0, "N", CLI_COUNT(cli_compare_options, most), "clusters to print, 0 for all"},
    CLI_OPENING(cli_compare_options, open),
    CLI_FORCE(cli_compare_options, force),
    CLI_GROUP(cli_compare_options, common, cli_common, cli_common_options),
    {0},
};

static void init(void *p) {
    cli_compare_options *o = (cli_compare_options *)p;
    cli_clustering_init(&o->clustering);
    o->clustering.optional = 1;
    cli_opening_init(&o->open);
    o->top = 4;
    o->most = 20;
    o->differ = 5;
}

/* ---- Reading --------------------------------------------------------------------------------- */

/* Where a record goes. */
typedef struct {
    cli_comparison *c;
    size_t side;
} reader;

static int take_record(void *ctx, sis_record *r) {
    cli_comparison *c = ((reader *)ctx)->c;
    size_t side = ((reader *)ctx)->side;
    cli_side *s = &c->sides[side];
    if (r->collection.status == SIS_STATUS_ERROR || !cli_record_is_output(r, &c->o->target))
        return CLI_DONE;
    if (r->keep || sis_record_is_contrast(r))
        return cli_error("%s: record \"%s\" is of %s; sis compare asks whether subsets meet a "
                         "threshold",
                         s->results.path, r->id,
                         r->keep ? "--keep class, which has no threshold"
                                 : "--method contrast, whose subsets lose the decision");
    if (s->results.n > 0 && (r->threshold != s->threshold || r->below != s->below))
        return cli_error(
            "%s: record \"%s\" is of a decision %s %g, those before %s %g; compare one "
            "decision at a time",
            s->results.path, r->id, r->below ? "<=" : ">=", r->threshold,
            s->below ? "<=" : ">=", s->threshold);
    s->threshold = r->threshold;
    s->below = r->below;
    int status = cli_subsets_add(&c->subsets, r, side);
    return status == CLI_DONE ? cli_results_add(&s->results, r) : status;
}

/* Where the subsets of each record begin; those of the first at `from`. */
static int find_items(cli_side *s, size_t from) {
    s->first_item = cli_grab(s->results.n, sizeof *s->first_item);
    for (size_t i = 0; s->first_item && i < s->results.n; i++) {
        s->first_item[i] = from;
        from += s->results.records[i].collection.n_subsets;
    }
    return s->first_item ? CLI_DONE : CLI_FAILED;
}

static int read_side(cli_comparison *c, size_t side) {
    cli_results *s = &c->sides[side].results;
    reader to = {c, side};
    size_t from = c->subsets.n;
    int status = cli_records_each(s->path, SIZE_MAX, take_record, &to);
    if (status == CLI_DONE && s->n == 0 && c->o->target.label)
        return cli_error(
            "%s: there is nothing to compare: no records of --target %s; a position is "
            "--target-index N",
            s->path, c->o->target.label);
    if (status == CLI_DONE && s->n == 0)
        return cli_error("%s: there is nothing to compare: no records%s%s", s->path,
                         c->o->target.index ? " of --target-index " : "",
                         c->o->target.index ? c->o->target.index : "");
    if (status == CLI_DONE)
        status = find_items(&c->sides[side], from);
    return status == CLI_DONE ? cli_results_sort(s, 1) : status;
}

static int read_all(cli_comparison *c, const cli_list *args) {
    c->subsets.forward = strcmp(c->o->clustering.strands, "forward") == 0;
    c->subsets.files = cli_grab(2, sizeof *c->subsets.files);
    if (!c->subsets.files)
        return CLI_FAILED;
    c->subsets.n_files = 2;
    int status = CLI_DONE;
    for (size_t k = 0; k < 2; k++)
        c->subsets.files[k] = c->sides[k].results.path = args->items[k];
    for (size_t k = 0; k < 2 && status == CLI_DONE; k++)
        status = read_side(c, k);
    if (status == CLI_DONE && c->sides[0].below != c->sides[1].below)
        status = cli_error("%s holds decisions %s, %s decisions %s: they cannot be compared",
                           c->sides[0].results.path,
                           c->sides[0].below ? "<=" : ">=", c->sides[1].results.path,
                           c->sides[1].below ? "<=" : ">=");
    return status == CLI_DONE ? cli_subsets_check(&c->subsets, "compare") : status;
}

/* Exchanged models, or results that another model made, give scores that mean nothing. */
static void note_other_models(const cli_comparison *c) {
    for (size_t k = 0; k < 2; k++) {
        const cli_side *s = &c->sides[k];
        if (!cli_same_model(s->results.records[0].model, s->spec))
            cli_note(c->o->common.quiet, "%s was made with model %s, --model-%c is %s",
                     s->results.path, s->results.records[0].model, "ab"[k], s -> spec);
    }
}

/* ---- Decisions ------------------------------------------------------------------------------- */

static int same_output(const sis_record *a, const sis_record *b) {
    return a->output_label && b->output_label ? strcmp(a->output_label, b->output_label) == 0
                                              : a->output == b->output;
}

static void count_decisions(cli_comparison *c) {
    for (size_t i = 0; i < c->sides[0].results.n; i++) {
        const sis_record *a = &c->sides[0].results.records[i],
                         *b = cli_results_find(&c->sides[1].results, a->id);
        if (!b)
            continue;
        c->decisions.common++;
        if (cli_is_decided(a) && cli_is_decided(b))
            *(same_output(a, b) ? &c->decisions.both : &c->decisions.other_output) += 1;
        else if (cli_is_decided(a) || cli_is_decided(b))
            c->decisions.only[cli_is_decided(b)]++;
        else
            c->decisions.neither++;
    }
}

/* ---- Differences ----------------------------------------------------------------------------- */

/* The mean, over the subsets of both, of the distance to the nearest of the other. */
static int distance_of(const cli_comparison *c, cli_difference *d) {
    size_t first[2], n[2];
    double sum = 0;
    for (size_t k = 0; k < 2; k++) {
        first[k] = c->sides[k].first_item[d->records[k]];
        n[k] = c->sides[k].results.records[d->records[k]].collection.n_subsets;
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
    const cli_difference *x = (const cli_difference *)a, *y = (const cli_difference *)b;
    if (x->distance != y->distance)
        return x->distance > y->distance ? -1 : 1;
    return (x->records[0] > y->records[0]) - (x->records[0] < y->records[0]);
}

static int find_differences(cli_comparison *c) {
    const cli_side *a = &c->sides[0], *b = &c->sides[1];
    int status = CLI_DONE;
    c->differences = cli_grab(a->results.n, sizeof *c->differences);
    if (!c->differences)
        return CLI_FAILED;
    for (size_t i = 0; i < a->results.n && status == CLI_DONE; i++) {
        const sis_record *other = cli_results_find(&b->results, a->results.records[i].id);
        if (!other || !a->results.records[i].collection.n_subsets || !other->collection.n_subsets)
            continue;
        cli_difference *d = &c->differences[c->n_differences++];
        *d = (cli_difference){{i, (size_t)(other - b->results.records)}, 0};
        status = distance_of(c, d);
    }
    qsort(c->differences, c->n_differences, sizeof *c->differences, farthest_first);
    return status;
}

/* ---- The command ----------------------------------------------------------------------------- */

static int cluster_all(cli_comparison *c) {
    const cli_compare_options *o = c->o;
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
    if (status == CLI_DONE && isnan(c->page.eps)) {
        cli_note(o->common.quiet,
                 "--eps auto: %s; so only identical subsets are put together; give a number, or a "
                 "smaller --min-size",
                 sis_error_detail());
        c->page.eps = 0;
        c->page.automatic = 0;
    }
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
static int own_scores(cli_comparison *c, size_t side) {
    const cli_side *s = &c->sides[side];
    double *scores = cli_grab(c->cross[side].n, sizeof *scores);
    size_t n = 0;
    for (size_t i = 0; scores && i < s->results.n; i++)
        for (size_t k = 0; k < s->results.records[i].collection.n_subsets; k++)
            scores[n++] = s->results.records[i].collection.subsets[k].score;
    int status = scores ? n ? cli_quantiles(scores, n, c->own[side]) : CLI_DONE : CLI_FAILED;
    free(scores);
    return status;
}

static int score_all(cli_comparison *c) {
    int status = CLI_DONE;
    for (size_t k = 0; k < 2 && status == CLI_DONE; k++)
        status = cli_side_open(&c->sides[k], &c->o->open);
    if (status == CLI_DONE)
        note_other_models(c);
    for (size_t k = 0; k < 2 && status == CLI_DONE; k++) {
        status = cli_cross_score(&c->sides[k], &c->sides[!k], c->o->clustering.jobs, &c->cross[k]);
        if (status == CLI_DONE)
            status = own_scores(c, k);
    }
    return status;
}

static void release(cli_comparison *c) {
    for (size_t k = 0; k < 2; k++) {
        cli_side *s = &c->sides[k];
        cli_results_release(&s->results);
        free(s->first_item);
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

static int run(const void *p, const cli_list *args) {
    const cli_compare_options *o = (const cli_compare_options *)p;
    cli_comparison c = {.o = o, .subsets = {.distance = o->distance}};
    c.sides[0].spec = o->model_a;
    c.sides[1].spec = o->model_b;
    if (strcmp(args->items[0], args->items[1]) == 0)
        return cli_usage("%s is given twice", args->items[0]);
    int status = read_all(&c, args);
    if (status == CLI_DONE)
        status = score_all(&c);
    if (status == CLI_DONE) {
        count_decisions(&c);
        status = cluster_all(&c);
    }
    if (status == CLI_DONE)
        status = find_differences(&c);
    if (status == CLI_DONE && o->output)
        status = cli_comparison_json(&c, o->output);
    if (status == CLI_DONE && !(o->output && strcmp(o->output, "-") == 0))
        status = cli_comparison_print(&c);
    release(&c);
    return status;
}

const cli_command cli_compare = {
    .name = "compare",
    .summary = "two models: decisions, cross-scores, joint clusters",
    .options = options,
    .options_size = sizeof(cli_compare_options),
    .args = "A.jsonl B.jsonl",
    .min_args = 2,
    .max_args = 2,
    .init = init,
    .run = run,
    .examples =
        (const cli_example[]){
            {"sis compare a.jsonl b.jsonl --model-a a.onnx --model-b b.onnx",
             "Do two networks decide for the same reasons?"},
            {"sis compare before.jsonl after.jsonl --model-a m.onnx --model-b m.onnx -o diff.json",
             "What the same model looks at before and after an attack."},
            {0}},
    .description =
        "Reads what sis explain found for two models, or for two versions of one, and tells\n\n"
        "how often they decide alike, over the examples (by id) that are in both files;\n\n"
        "how each model scores the subsets of the other with everything else masked, and how often "
        "these are still sufficient, against its own threshold. Texts become the token ids of the "
        "model that scores, by its own vocabulary; what is missing looks as it does in that "
        "model's own results, or as the model's own mask has it;\n\n"
        "the clusters of all subsets together, as sis cluster makes them, with the share of each "
        "file: are there reasons that only one of the models has?\n\n"
        "the examples on which the subsets differ most: those with the largest mean distance of a "
        "subset to the nearest subset of the other model.",
};
