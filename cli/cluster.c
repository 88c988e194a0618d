/* SPDX-License-Identifier: MIT
 *
 * sis cluster: reads results files and clusters their subsets.
 */
#include "cluster.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <sis/files.h>

#include "output.h"
#include "records.h"

typedef struct {
    const char *output, *matrices, *means, *where;
    cli_target target;
    cli_clustering clustering;
    size_t max;
    int force;
    cli_common common;
} cluster_options;

/* ---- Options shared with compare ------------------------------------------------------------- */

const cli_option cli_clustering_options[] = {
    {"eps", 'e', "E", CLI_STRING(cli_clustering, eps), "maximum distance of neighbours, or auto",
     .more = "auto sorts the distances at which subsets have --min-size neighbours, from far to "
             "near, and takes the distance where the curve turns flat. For pictures it tries "
             "smaller distances too and takes the one with the most subsets in clusters other "
             "than the largest. It uses at most 1000 subsets, spread evenly; fewer if there are "
             "more than 200,000."},
    {"min-size", 0, "M", CLI_COUNT(cli_clustering, opt.min_size),
     "number of neighbours that make a subset core", .min = 1, .max = 1e9,
     .more = "The subset itself counts."},
    {"curve", 0, "FILE", CLI_STRING(cli_clustering, curve), "write the curve that auto uses",
     .writes = CLI_WRITES_FILE,
     .more = "Two columns separated by a tab, with a header: rank, from 1, and distance."},
    {"strands", 0, "S", CLI_CHOICE(cli_clustering, strands), "DNA: strands that are compared",
     .choices = "both forward",
     .more = "both: a subset and its reverse complement are the same motif; the distance is that "
             "of the nearer one, and members of a cluster are aligned on either strand. forward: "
             "subsets are compared as written."},
    CLI_JOBS(cli_clustering, jobs, "threads"),
    {0},
};

void cli_clustering_init(cli_clustering *c) {
    sis_clustering_opt_init(&c->opt);
    c->eps = "auto";
    c->strands = "both";
}

static const cli_option options[] = {
    CLI_HEADING("Input"),
    CLI_TARGET(cluster_options, target),
    CLI_WHERE(cluster_options, where),
    CLI_HEADING("Method"),
    CLI_DISTANCE(
        cluster_options, clustering.opt.distance,
        .more =
            "jaccard: by words, each counted once; the default for texts. jaccard-bag: the same, "
            "with repeated words counted. levenshtein: edits between the strings from the first "
            "to the last chosen base, with N for gaps; the default for DNA. energy: the paper's "
            "energy distance of pixel positions, the default for images; energy-sqrt: its square "
            "root. overlap: by names of features and their values; the default for everything "
            "else."),
    CLI_GROUP(cluster_options, clustering, cli_clustering, cli_clustering_options),
    CLI_HEADING("Output"),
    {"output", 'o', "FILE", CLI_STRING(cluster_options, output), "file for the clusters, as JSON",
     .writes = CLI_WRITES_FILE, .unset = "a table only", .more = "A dash is standard output."},
    {"top", 0, "N", CLI_COUNT(cluster_options, clustering.opt.top),
     "number of patterns printed for each cluster", .min = 1, .max = 1000},
    {"most", 0, "N", CLI_COUNT(cluster_options, max), "number of clusters printed, 0 for all"},
    {"matrices", 0, "FILE", CLI_STRING(cluster_options, matrices),
     "DNA: write frequency matrices of clusters (JASPAR)", .writes = CLI_WRITES_FILE},
    {"motifs", 0, "FILE", CLI_STRING(cluster_options, clustering.opt.motifs),
     "DNA: known motifs to compare these matrices with",
     .more = "A JASPAR or MEME file; sis data jaspar fetches one. FILE:ID selects one motif. The "
             "divergence is the sum over positions of the Kullback-Leibler divergence from the "
             "motif, in nats, at the position and strand with the smallest sum. p is the "
             "probability that a motif of the same length, with columns drawn from the file, is "
             "as close. q is the false discovery rate among matches as good as this one. The "
             "motifs with the smallest p are listed."},
    {"matches", 0, "N", CLI_COUNT(cluster_options, clustering.opt.matches),
     "DNA: number of motifs listed for each cluster", .min = 1, .max = 1e6},
    {"flank", 0, "N", CLI_COUNT(cluster_options, clustering.opt.flank),
     "DNA: bases around subsets that a matrix may cover", .max = 1000,
     .more = "The sequences around the subsets of a cluster are aligned, on either strand. A "
             "column of the matrix has their bases if these differ from the bases of all "
             "sequences (G test, p at most 0.01, and at least 0.1 bit), up to N bases away from "
             "the subsets; otherwise it has the bases of the subsets. 0: use only the bases of "
             "the subsets."},
    {"means", 0, "FILE.npy", CLI_STRING(cluster_options, means),
     "images: write the mean image of each cluster", .writes = CLI_WRITES_FILE,
     .more = "An array (clusters, 2, height, width): how often each pixel is chosen, and the mean "
             "of the chosen pixels over the members; 0 if a pixel is never chosen."},
    CLI_FORCE(cluster_options, force),
    CLI_GROUP(cluster_options, common, cli_common, cli_common_options),
    {0},
};

static void init(void *p) {
    cluster_options *o = (cluster_options *)p;
    cli_clustering_init(&o->clustering);
    o->max = 20;
}

/* ---- The command ----------------------------------------------------------------------------- */

int cli_clustering_set(const cli_clustering *c, const cli_target *target, sis_clustering_opt *opt) {
    *opt = c->opt;
    opt->target = target->label;
    opt->target_index = target->index;
    int automatic = strcmp(c->eps, "auto") == 0;
    if (!automatic && (!cli_number(c->eps, &opt->eps) || opt->eps < 0))
        return cli_usage("--eps: expected a number from 0 up or auto, found \"%s\"", c->eps);
    opt->jobs = (int)c->jobs;
    opt->forward = strcmp(c->strands, "forward") == 0;
    opt->curve = c->curve != NULL;
    return CLI_DONE;
}

int cli_curve_write(const sis_clustering *c, const char *path) {
    cli_output out = {0};
    int status = cli_output_open(&out, path);
    if (status == CLI_DONE)
        fputs("rank\tdistance\n", out.file);
    for (size_t i = 0; status == CLI_DONE && i < c->n_curve; i++)
        fprintf(out.file, "%zu\t%.9g\n", i + 1, c->curve[i]);
    return cli_output_close(&out, status);
}

typedef struct {
    sis_clusterer *clusterer;
    const char *source;
} reader;

static int take_record(void *ctx, sis_record *r) {
    reader *to = ctx;
    return cli_fail(sis_clusterer_add(to->clusterer, to->source, r));
}

/* Shards of one run count as one source. */
static int read_all(sis_clusterer *c, cli_where *where, const cli_list *paths) {
    reader to = {.clusterer = c};
    sis_parts parts = {0};
    int status = CLI_DONE;
    for (size_t i = 0; status == CLI_DONE && i < paths->n; i++) {
        for (size_t k = 0; status == CLI_DONE && k < i; k++)
            if (strcmp(paths->items[k], paths->items[i]) == 0)
                status = cli_usage("%s is given twice", paths->items[i]);
        if (status == CLI_DONE)
            status = cli_fail(sis_parts_add(&parts, paths->items[i], &to.source));
        if (status == CLI_DONE)
            status = cli_records_each(paths->items[i], SIZE_MAX, where, take_record, &to);
    }
    sis_parts_release(&parts);
    return status;
}

/* Is every option valid for this kind of points? */
static int check_options(const cluster_options *o, const sis_clusterer *c) {
    sis_distance d;
    int status = cli_fail(sis_clusterer_check(c, &d));
    if (status != CLI_DONE)
        return status;
    if ((o->clustering.opt.motifs || o->matrices) && d != SIS_DISTANCE_LEVENSHTEIN)
        return cli_usage("%s: only DNA clusters (distance levenshtein) have matrices; "
                         "these have distance %s",
                         o->clustering.opt.motifs ? "--motifs" : "--matrices",
                         sis_distance_name(d));
    if (o->means && d != SIS_DISTANCE_ENERGY && d != SIS_DISTANCE_ENERGY_SQRT)
        return cli_usage("--means: only image clusters (distance energy) have mean "
                         "images; these have distance %s",
                         sis_distance_name(d));
    return CLI_DONE;
}

static int write_matrices(const sis_clustering *c, const char *path) {
    cli_output out = {0};
    int status = cli_output_open(&out, path);
    for (size_t k = 0; status == CLI_DONE && k < c->n_clusters; k++) {
        const sis_found_cluster *f = &c->clusters[k];
        fprintf(out.file, ">cluster%zu %s\n", f->number, f->medoid_pattern);
        for (size_t b = 0; b < 4; b++) {
            fprintf(out.file, "%c [", "ACGT"[b]);
            for (size_t at = b; at < f->n_matrix; at += 4)
                fprintf(out.file, " %.6g", f->matrix[at]);
            fputs(" ]\n", out.file);
        }
    }
    return cli_output_close(&out, status);
}

static int write_means(const sis_clustering *c, const char *path) {
    size_t dims[4] = {c->n_clusters, 2, c->height, c->width}, each = 2 * c->height * c->width;
    if (c->n_clusters == 0)
        return cli_error("--means: no clusters were found");
    double *all = cli_grab(c->n_clusters * each, sizeof *all);
    for (size_t k = 0; all && k < c->n_clusters; k++)
        memcpy(all + k * each, c->clusters[k].mean, each * sizeof *all);
    int status = all ? cli_fail(sis_npy_write(path, all, 4, dims)) : CLI_FAILED;
    free(all);
    return status;
}

static int write_json(const sis_clustering *c, const char *path) {
    char *text = NULL;
    size_t n;
    int error = sis_clustering_format(c, &text, &n);
    return cli_output_made(path, error, text, n);
}

static int show(const cluster_options *o, const sis_clustering *c) {
    int status = CLI_DONE;
    if (c->several_outputs)
        cli_note(o->common.quiet, "decisions about several outputs are clustered together; use "
                                  "--target to choose one");
    if (o->clustering.curve)
        status = cli_curve_write(c, o->clustering.curve);
    if (status == CLI_DONE && o->matrices)
        status = write_matrices(c, o->matrices);
    if (status == CLI_DONE && o->means)
        status = write_means(c, o->means);
    if (status == CLI_DONE && o->output)
        status = write_json(c, o->output);
    if (status == CLI_DONE && !(o->output && strcmp(o->output, "-") == 0))
        cli_cluster_print(c, o->max);
    return status;
}

static int run(const void *p, const cli_list *args) {
    const cluster_options *o = (const cluster_options *)p;
    sis_clustering_opt opt;
    sis_clusterer *c = NULL;
    sis_clustering found = {0};
    cli_where where = {0};
    int status = cli_clustering_set(&o->clustering, &o->target, &opt);
    if (status == CLI_DONE)
        status = cli_where_open(&where, o->where);
    if (status == CLI_DONE)
        status = cli_fail(sis_clusterer_new(&opt, &c));
    if (status == CLI_DONE)
        status = read_all(c, &where, args);
    if (status == CLI_DONE)
        cli_where_tell(&where, o->common.quiet);
    cli_where_release(&where);
    if (status == CLI_DONE)
        status = check_options(o, c);
    if (status == CLI_DONE)
        status = cli_fail(sis_clusterer_find(c, &found));
    if (status == CLI_DONE)
        status = show(o, &found);
    sis_clustering_release(&found);
    sis_clusterer_free(c);
    return status;
}

const cli_command cli_cluster = {
    .name = "cluster",
    .summary = "group the subsets of many decisions",
    .options = options,
    .options_size = sizeof(cluster_options),
    .args = "RESULTS...",
    .min_args = 1,
    .max_args = SIZE_MAX,
    .init = init,
    .run = run,
    .examples =
        (const cli_example[]){
            {"sis cluster reviews.jsonl --eps 0.5 --min-size 10 -o clusters.json",
             "Find words that are often enough by themselves."},
            {"sis cluster dna.jsonl --motifs jaspar.pfm --matrices found.pfm",
             "Print the matrix of each cluster and the most similar known motifs."},
            {"sis cluster cnn.jsonl mlp.jsonl --target 4 --means fours.npy",
             "Cluster the subsets of two models together, with the share of each in every "
             "cluster."},
            {0}},
    .description =
        "One subset explains one decision. Clusters of the subsets of many decisions show "
        "what a model has learned to look for. The method is DBSCAN: a subset with at least "
        "--min-size neighbours, including itself, is core. Core subsets that are neighbours "
        "belong to the same cluster, and so do their other neighbours. The rest is noise. "
        "Clusters are numbered by size, the largest first.\n\nThe output shows for each "
        "cluster the number of subsets, how many of them are core, the share of each file "
        "(or of each model, if one file has several), and the most frequent patterns with "
        "their counts: words in the order of the text, bases from the first to the last "
        "chosen one with N for gaps, or names with values. For images it draws how often "
        "each pixel is chosen, two rows of pixels in a line. If every subset of texts is one "
        "word, it counts words instead, unless you give --eps.\n\nThe result does not depend "
        "on the number of threads.",
};
