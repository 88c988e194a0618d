/* SPDX-License-Identifier: MIT
 *
 * sis cluster: results files in, clusters of their subsets out.
 */
#include "cluster.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "output.h"
#include "task.h"

typedef struct {
    const char *distance, *output, *motifs, *matrices, *means;
    cli_target target;
    cli_clustering clustering;
    size_t top, most;
    int force;
    cli_common common;
} cluster_options;

/* ---- Options that compare has too ------------------------------------------------------------ */

const cli_option cli_clustering_options[] = {
    {"eps", 'e', "E", CLI_STRING(cli_clustering, eps), "how far neighbours may be, or auto",
     .more = "auto looks at how far subsets have to look to find --min-size neighbours, sorted "
             "from far to near, and takes the distance where that curve turns; of pictures, the "
             "one from there down with which the most subsets are in clusters beside the largest. "
             "At most 1000 subsets, spread evenly, are looked at; fewer if there are more than "
             "200,000."},
    {"min-size", 0, "M", CLI_COUNT(cli_clustering, min_size), "neighbours that make a subset core",
     .min = 1, .max = 1e9, .more = "The subset itself is among them."},
    {"curve", 0, "FILE", CLI_STRING(cli_clustering, curve), "write the curve that auto looks at",
     .writes = CLI_WRITES_FILE,
     .more = "Two columns with a tab between and a header: rank, from 1, and distance."},
    {"strands", 0, "S", CLI_CHOICE(cli_clustering, strands), "DNA:", .choices = "both forward",
     .more = "both: a subset and its reverse complement are the same motif, so distances take the "
             "nearer of the two and members of a cluster are laid on either strand. forward: as "
             "they are written."},
    CLI_JOBS(cli_clustering, jobs, "threads"),
    {0},
};

void cli_clustering_init(cli_clustering *c) {
    sis_cluster_opt opt;
    sis_cluster_opt_init(&opt);
    c->eps = "auto";
    c->strands = "both";
    c->min_size = opt.min_size;
}

static const cli_option options[] = {
    CLI_DISTANCE(
        cluster_options, distance,
        .more =
            "jaccard: the words of two subsets, each counted once; the default for texts. "
            "jaccard-bag: the same with repeated words counted. levenshtein: edits between the "
            "bases from the first to the last chosen one, gaps as N; the default for DNA. energy: "
            "where the pixels are, the paper's energy distance, and energy-sqrt, its root; energy "
            "is the default for images. overlap: names of features and their values; the default "
            "for everything else."),
    CLI_GROUP(cluster_options, clustering, cli_clustering, cli_clustering_options),
    CLI_TARGET(cluster_options, target),
    {"output", 'o', "FILE", CLI_STRING(cluster_options, output), "where clusters go, as JSON",
     .writes = CLI_WRITES_FILE, .unset = "a table only", .more = "A dash is standard output."},
    {"top", 0, "N", CLI_COUNT(cluster_options, top), "patterns of a cluster to name", .min = 1,
     .max = 1000},
    {"most", 0, "N", CLI_COUNT(cluster_options, most), "clusters to print, 0 for all"},
    {"matrices", 0, "FILE", CLI_STRING(cluster_options, matrices),
     "DNA: write frequency matrices of clusters (JASPAR)", .writes = CLI_WRITES_FILE},
    {"motifs", 0, "FILE", CLI_STRING(cluster_options, motifs),
     "DNA: known motifs to compare these matrices with",
     .more =
         "JASPAR or MEME; sis data jaspar fetches some. The divergence is the sum over positions "
         "of the Kullback-Leibler "
         "divergence from the motif, in nats, at the place and on the strand where it is least. p "
         "is "
         "the chance that a motif of the same length with columns drawn from all of the file is as "
         "near, q the share of false ones among matches as good as this one. The motifs with the "
         "smallest p are listed. FILE:ID takes one "
         "motif of the file."},
    {"means", 0, "FILE.npy", CLI_STRING(cluster_options, means),
     "images: write the mean image of each cluster", .writes = CLI_WRITES_FILE,
     .more = "An array (clusters, 2, height, width): how often each pixel is chosen, and the mean "
             "over the members of the chosen pixels, 0 where a pixel is not chosen."},
    CLI_FORCE(cluster_options, force),
    CLI_GROUP(cluster_options, common, cli_common, cli_common_options),
    {0},
};

static void init(void *p) {
    cluster_options *o = (cluster_options *)p;
    cli_clustering_init(&o->clustering);
    o->top = 4;
    o->most = 20;
}

/* ---- The command ----------------------------------------------------------------------------- */

/* Does every option fit the kind of the points? */
static int check_options(const cluster_options *o, const cli_subsets *s) {
    sis_distance d = sis_points_distance_kind(s->points);
    int image = d == SIS_DISTANCE_ENERGY || d == SIS_DISTANCE_ENERGY_SQRT;
    if ((o->motifs || o->matrices) && d != SIS_DISTANCE_LEVENSHTEIN)
        return cli_usage(
            "%s: there are matrices of DNA clusters only (distance levenshtein), these "
            "are of distance %s",
            o->motifs ? "--motifs" : "--matrices", sis_distance_name(d));
    if (o->means && !image)
        return cli_usage("--means: there are mean images of image clusters only (distance energy), "
                         "these are of distance %s",
                         sis_distance_name(d));
    if (s->n_outputs > 1)
        cli_note(o->common.quiet, "these are decisions for several outputs of the model, clustered "
                                  "together; --target looks at one of them");
    return CLI_DONE;
}

static int write_means(const cli_means *x, const char *path) {
    size_t dims[4] = {x->n, 2, x->height, x->width};
    return x->n ? cli_fail(sis_npy_write(path, x->values, 4, dims))
                : cli_error("--means: there are no clusters");
}

static int write_json(const cli_cluster_page *p, const char *path) {
    cli_cluster_found f;
    char *text = NULL;
    size_t n;
    int status = cli_cluster_find(p, &f);
    if (status == CLI_DONE)
        status = cli_fail(sis_clustering_format(&f.finding, &text, &n));
    if (status == CLI_DONE)
        status = cli_output_all(path, text, n);
    free(text);
    cli_cluster_found_release(&f);
    return status;
}

/* Everything after reading. */
static int show(const cluster_options *o, cli_subsets *s) {
    sis_clusters clusters = {0};
    cli_members members = {0};
    cli_matrices matrices = {0};
    cli_means means = {0};
    sis_distance d = sis_points_distance_kind(s->points);
    cli_cluster_page page = {.subsets = s,
                             .clusters = &clusters,
                             .members = &members,
                             .distance = sis_distance_name(d),
                             .automatic = strcmp(o->clustering.eps, "auto") == 0,
                             .min_size = o->clustering.min_size,
                             .top = o->top,
                             .most = o->most};
    int status = cli_cluster_subsets(s, &o->clustering, &page.eps, &clusters);
    if (status == CLI_DONE)
        status = cli_members_find(&clusters, &members);
    if (status == CLI_DONE && d == SIS_DISTANCE_LEVENSHTEIN) {
        status = cli_matrices_find(s, &clusters, &members, o->motifs, &matrices);
        page.matrices = &matrices;
    }
    if (status == CLI_DONE && (d == SIS_DISTANCE_ENERGY || d == SIS_DISTANCE_ENERGY_SQRT)) {
        status = cli_means_find(s, &members, &means);
        page.means = &means;
    }
    if (status == CLI_DONE && o->matrices)
        status = cli_matrices_write(&matrices, o->matrices);
    if (status == CLI_DONE && o->means)
        status = write_means(&means, o->means);
    if (status == CLI_DONE && o->output)
        status = write_json(&page, o->output);
    if (status == CLI_DONE && !(o->output && strcmp(o->output, "-") == 0))
        status = cli_cluster_print(stdout, &page);
    free(means.values);
    cli_matrices_release(&matrices);
    free(members.start);
    free(members.items);
    sis_clusters_release(&clusters);
    return status;
}

static int run(const void *p, const cli_list *args) {
    const cluster_options *o = (const cluster_options *)p;
    cli_subsets s = {.distance = o->distance,
                     .target = o->target,
                     .forward = strcmp(o->clustering.strands, "forward") == 0};
    int status = CLI_DONE;
    for (size_t i = 0; status == CLI_DONE && i < args->n; i++)
        status = cli_subsets_read(&s, args->items[i]);
    if (status == CLI_DONE)
        status = cli_subsets_check(&s, "cluster");
    if (status == CLI_DONE)
        status = check_options(o, &s);
    if (status == CLI_DONE)
        status = show(o, &s);
    cli_subsets_release(&s);
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
             "Which words alone were enough, again and again."},
            {"sis cluster dna.jsonl --motifs jaspar.pfm --matrices found.pfm",
             "What the DNA of each cluster looks like, and which known motif that is."},
            {"sis cluster cnn.jsonl mlp.jsonl --target 4 --means fours.npy",
             "Subsets of two models together, with the share of each in every cluster."},
            {0}},
    .description =
        "One subset is about one decision. Clusters of the subsets of many decisions show what a "
        "model has learned to look for. They are those of DBSCAN: a subset with at least "
        "--min-size neighbours, itself among them, is core; core subsets that are neighbours "
        "belong together, and what is near a core subset belongs to its cluster; the rest is "
        "noise. Clusters are numbered by their first core subset, in the order of the files.\n\n"
        "The table shows the largest clusters first: how many subsets, how many of them core, the "
        "share of each file if there are several (of each model, if one file holds several), and "
        "the most frequent patterns with their counts: words in the order of the text, bases from "
        "the first to the last chosen one with N for gaps, names with values. Images are drawn by "
        "how often each pixel is chosen, two rows in a line.\n\n"
        "The same input gives the same clusters whatever the number of threads.",
};
