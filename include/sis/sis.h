/* SPDX-License-Identifier: MIT
 *
 * sis/sis.h - finds the features of an input that suffice for a model's decision.
 *
 * Stable: declarations do not change as long as SIS_ABI stays the same.
 *
 * A model maps an input to a score; the decision is `score >= threshold`. A sufficient input subset
 * (SIS) is a minimal set of features whose values alone, everything else masked, still reach the
 * decision. This header finds disjoint SIS of an input until none is left (Carter, Mueller, Jain
 * and Gifford, AISTATS 2019):
 *
 *     static int predict(void *ctx, const double *rows, size_t n, size_t width, double *scores) {
 *         for (size_t i = 0; i < n; i++)                      // any model: n rows in, n scores out
 *             scores[i] = my_model(ctx, rows + i * width);
 *         return 0;
 *     }
 *     sis_model model;  sis_model_init(&model);
 *     model.predict = predict;  model.ctx = my_weights;  model.n_outputs = 1;
 *     sis_input input = {.values = x, .mask = mean, .n_values = 784};
 *     sis_opt opt;  sis_opt_init(&opt);  opt.threshold = 0.7;
 *     sis_collection c;
 *     if (sis_collect(&model, &input, &opt, &c) == 0)
 *         for (size_t k = 0; k < c.n_subsets; k++)
 *             use(c.subsets[k].features, c.subsets[k].n);     // most important feature first
 *     sis_collection_release(&c);
 *
 * The header also explains many inputs at once, verifies results and reads traces of backward
 * selections. Other stable headers, each usable by itself:
 *
 *     task.h      from a model and a file to records, in five lines
 *     model.h     ONNX files, trees, processes, servers        data.h      examples from files
 *     results.h   the results file                             kind.h      kinds of inputs
 *
 * Experimental headers, which may change from one version to the next:
 *
 *     net.h       neural networks; train.h                     analysis.h  clusters, comparisons
 *     explain.h   other methods; attack.h                      report.h    pages and figures
 *     prove.h     proofs for all values of the rest            export.h    tables, BED, SQLite
 *
 * Ownership: a const pointer is borrowed for the call. Release a struct that a function fills with
 * the `_release` function of its name; releasing a zeroed or failed struct is harmless. ABI:
 * options and models begin with their size, which their `_init` sets. Fields that later versions
 * add have their defaults in programs compiled earlier. A size of 0 is refused. Inputs and results
 * end with `reserved`, which later versions turn into fields. It is zero in structs that the
 * library fills and must be zero in yours (begin with {0}). Errors: functions return 0 or a
 * negative code of sis/error.h. Threads: there are no globals. Two calls may run at the same time
 * if their models may. Results are the same, to the bit, for any number of threads.
 */
#ifndef SIS_H
#define SIS_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <sis/error.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Version ------------------------------------------------------------------------------- */

/* Version of these headers. The ABI number ends the shared library's name (libsis.so.1). It
 * increases whenever programs have to be recompiled. */
#define SIS_VERSION "1.0.0"
#define SIS_ABI 1

/* SIS_VERSION of the linked library. */
const char *sis_version(void);

/* ---- Model --------------------------------------------------------------------------------- */

typedef struct sis_input sis_input;
typedef struct sis_walk sis_walk;

/* Arguments and results of a model's gradient: the scores (link applied) of one output at n points,
 * and their gradients. */
typedef struct sis_slopes {
    const double *points; /* (n, width) */
    size_t n, width;
    size_t output;
    double *scores;   /* (n) result */
    double *d_points; /* (n, width) result: the gradient of each score at its point */
} sis_slopes;

/* A model: any function that predicts. Call sis_model_init, or write {.size = sizeof(sis_model),
 * .predict = ...}. Only `predict` and `n_outputs` are required. */
typedef struct sis_model {
    size_t size; /* sizeof this struct when your program was compiled */

    /* rows (n_rows, n_values) -> scores (n_rows, n_outputs). Returns 0, or a negative code
     * (SIS_E_MODEL) that ends the call. The number of rows is arbitrary; rows may repeat. */
    int (*predict)(void *ctx, const double *rows, size_t n_rows, size_t n_values, double *scores);
    void *ctx;        /* passed to predict */
    size_t n_outputs; /* scores for one input, at least 1 */
    size_t n_values;  /* values in one input; 0: any number, inputs may differ in length */
    size_t max_rows;  /* preferred maximum of rows per predict call; 0: no preference */

    /* If set, masked copies are written into memory of the model: n values, which predict then
     * reads from the first on. Called before each batch with the current `rows` (NULL: none yet).
     * It returns the same rows if they are writable and unchanged; other rows are written from
     * scratch. It returns NULL if memory runs out. rows_free frees the rows. */
    double *(*rows_new)(void *ctx, double *rows, size_t n);
    void (*rows_free)(void *ctx, double *rows);

    /* If set, predict returns margins, and link(margin) is the score. link is strictly increasing,
     * such as the logistic function. Features are ranked by margin, which distinguishes 1 - 1e-20
     * from 1 - 1e-30 where the score cannot. NULL: predict returns scores. */
    double (*link)(double margin);

    /* Creates and frees a context for another thread. NULL: one thread uses the model, whatever
     * `jobs` says. If predict is thread-safe, set worker_new to sis_worker_share. */
    int (*worker_new)(void *ctx, void **worker);
    void (*worker_free)(void *worker);

    /* Creates a walk that is faster than predicting every masked copy (see sis/walk.h). It should
     * stay below `memory` bytes. NULL, or a result of SIS_E_UNSUPPORTED: the batch walk is used. */
    int (*walk_new)(void *ctx, const sis_input *input, size_t memory, sis_walk **walk);

    /* For gradient methods (sis/explain.h); NULL: the model has no gradient. Gradients are taken at
     * points. A point is a row unless the model embeds its values (token ids): then `embed` turns a
     * row into a point, `dim` values per value of the row. */
    int (*gradient)(void *ctx, const sis_slopes *slopes);
    int (*embed)(void *ctx, const double *row, size_t n_values, double *point);
    size_t dim; /* with embed */

    int missing; /* the model handles NaN in a row as a missing value. NaN may be passed to other
                    models too, whose scores are then undefined */

    int confirm; /* before scores or an audit are reported, predict is called for one more row: the
                    model may only then notice that an earlier answer was wrong (cmd:) */

    int noisy; /* two predictions of one row may differ, for example on a server that batches. A
                  claim must then hold by more than the largest difference seen */
} sis_model;

/* Sets the size; every other field is zero. */
static inline void sis_model_init(sis_model *model) {
    memset(model, 0, sizeof *model);
    model->size = sizeof *model;
}

/* A worker_new for models whose predict is thread-safe: every thread gets the same context. */
int sis_worker_share(void *ctx, void **worker);

/* ---- Input --------------------------------------------------------------------------------- */

/* One example. All pointers are borrowed. */
struct sis_input {
    const double *values;  /* (n_values) */
    const double *mask;    /* (n_samples, n_values): the values of masked features */
    size_t n_values;       /* at least 1 */
    size_t n_samples;      /* 0 or 1: one mask. More (hot-deck): a score is the mean over them */
    const int *feature_of; /* (n_values) feature of each value, -1 = never masked; the numbers from
                              0 to the largest must all occur. NULL: each value is a feature */
    const unsigned char *absent; /* (n_features) nonzero: masked from the start. NULL: none */
    size_t output;               /* the model's output to explain */
    const char *name;            /* name in messages; NULL: its number */
    void *reserved[4];
};

/* Checks that the model accepts this input: 0, or SIS_E_ARGUMENT and what does not fit. The feature
 * map is not checked. */
int sis_input_check(const sis_input *input, const sis_model *model);

/* The number of features, or a negative code if the feature map is invalid or skips a number. */
long sis_input_features(const sis_input *input);

/* ---- Options ------------------------------------------------------------------------------- */

/* The argument of a progress function. Totals are over all threads. */
typedef struct sis_progress {
    size_t inputs, inputs_done; /* of this call */
    size_t evaluations;         /* masked copies evaluated so far */
    double walk;                /* 0..1: progress of the reporting thread in its input */
} sis_progress;

typedef struct sis_opt {
    size_t size; /* sizeof this struct when your program was compiled; set by sis_opt_init */
    double threshold;
    int below;          /* explain score <= threshold instead of score >= threshold */
    size_t max_subsets; /* stop after this number of subsets; 0: find all */
    size_t memory;      /* bytes that walks may use, all threads together; default 1 GiB. Less makes
                           some walks slower. Small networks never need so much */
    int jobs;           /* threads of sis_collect_many; default 1, 0: one per core */
    int exact;          /* do not use the model's own walk: full passes only */
    int early_stop; /* end a backward selection at the first drop below the threshold. The subsets
                       are larger (the paper's local minimum); meant for demonstrations */
    size_t exhaustive; /* sis_verify: test every proper subset of subsets up to this size, <= 16 */

    /* Limits per input; 0: none. If a limit is reached, the collection has status CUT. The scores
     * of the input, of the mask and of reported subsets are evaluated in any case. */
    double time_limit; /* seconds */
    size_t max_evaluations;

    /* Called by one thread at a time, at most 20 times a second; nonzero cancels (SIS_E_CANCELLED).
     * A last call, which cannot cancel, has all inputs done and walk = 1. */
    int (*progress)(void *ctx, const sis_progress *p);
    void *progress_ctx;
    double progress_every; /* seconds between calls; default 0.05, 0: at every evaluation */
} sis_opt;

/* Sets the defaults. The threshold has no default (NaN): set it. */
void sis_opt_defaults(sis_opt *opt); /* writes opt->size bytes */
static inline void sis_opt_init(sis_opt *opt) {
    opt->size = sizeof *opt;
    sis_opt_defaults(opt);
}

/* NULL, or why these options are invalid. */
const char *sis_opt_check(const sis_opt *opt);

/* 1 if `score >= threshold` (`<=` with below), else 0. A score that equals the threshold in single
 * precision counts as equal: 0.7f of a float32 model reaches 0.7. */
int sis_decided(double score, double threshold, int below);

/* ---- Result -------------------------------------------------------------------------------- */

/* name in results files, meaning */
#define SIS_STATUSES(X)                                                                            \
    X(EXPLAINED, "explained")               /* at least one subset */                              \
    X(NOT_DECIDED, "not_decided")           /* the score of the input itself does not decide */    \
    X(DEFAULT_DECISION, "default_decision") /* the fully masked input decides, too */              \
    X(ERROR, "error")                       /* the model failed on this input; see `message` */    \
    X(CUT, "cut")                           /* a limit came first: what was found until then */

typedef enum sis_status {
#define SIS_STATUS_CODE(name, text) SIS_STATUS_##name,
    SIS_STATUSES(SIS_STATUS_CODE)
#undef SIS_STATUS_CODE
} sis_status;
enum { SIS_N_STATUSES = SIS_STATUS_CUT + 1 };

const char *sis_status_name(sis_status status);

/* One backward selection: the features in the order in which they were masked, and the score after
 * each. sis_trace_find reads the subset for any threshold from it. */
typedef struct sis_trace {
    size_t n;       /* features masked */
    int *order;     /* (n) masked first ... masked last */
    double *scores; /* (n) score after order[0..k] are masked */
    double start;   /* score before any feature is masked */
    void *reserved[2];
} sis_trace;

typedef struct sis_subset {
    size_t n;
    int *features; /* (n) most important (= last masked) first */
    double score;  /* of these features alone, by a full pass */
    sis_trace trace;
    double without; /* prompts of language models: the score of the input without these features */
    void *reserved[4];
} sis_subset;

/* What a collection claims about its subsets besides their scores. */
typedef enum sis_claim {
    SIS_CLAIM_MINIMAL,    /* each is sufficient, and without any one of its features it is not */
    SIS_CLAIM_SUFFICIENT, /* each is sufficient */
    SIS_CLAIM_NOTHING,    /* neither */
} sis_claim;

/* name in results files, condition under which the subsets are sufficient */
#define SIS_GUARANTEES(X)                                                                          \
    X(MASK, "mask")     /* with everything else masked */                                          \
    X(CHANCE, "chance") /* for a share of the values of everything else, drawn from data */        \
    X(ALL, "all")       /* for every value of everything else within a domain */

typedef enum sis_guarantee_kind {
#define SIS_GUARANTEE_CODE(name, text) SIS_GUARANTEE_##name,
    SIS_GUARANTEES(SIS_GUARANTEE_CODE)
#undef SIS_GUARANTEE_CODE
} sis_guarantee_kind;

const char *sis_guarantee_name(sis_guarantee_kind kind);

/* The number of draws that kept the decision, and an exact confidence interval of the true
 * share. */
typedef struct sis_kept {
    size_t draws, kept;
    double low, high;
    void *reserved[2];
} sis_kept;

typedef struct sis_guarantee {
    sis_guarantee_kind kind;
    int proved;               /* ALL: every subset is proved to hold */
    int minimal;              /* no single feature of a subset can be left out; ALL: proved */
    int smallest;             /* ALL: proved that no subset has fewer features than the first */
    double share, confidence; /* CHANCE: as requested */
    uint64_t seed;            /* CHANCE: of the draws */
    size_t n_shares;
    sis_kept *shares; /* (n_shares) CHANCE: of each subset */
    size_t n_examples;
    double
        *examples; /* (n_examples, n_values) contrasts: for each subset, an input that changes only
                      its features and loses the decision */
    double *distances; /* (n_examples) distance of each; NaN: unknown. NULL: all unknown */
    int nearest;       /* proved: no nearer input changes only these features */
    int cheapest;      /* proved: no other set of features has a nearer input than the first */
    size_t n_fixed;
    int *fixed; /* (n_fixed) features that contrasts may not change */
    size_t n_bounds;
    double *bounds; /* (n_bounds) ALL: bound of the worst score of any allowed input that keeps the
                       subset; NaN: unknown */
    void *reserved[6];
} sis_guarantee;

void sis_guarantee_release(sis_guarantee *g);

typedef struct sis_collection {
    sis_status status;
    sis_claim claim; /* of sis_collect: MINIMAL; of sis/explain.h: depends on the method */
    char *message;   /* status ERROR: what happened; else NULL */
    size_t n_features;
    double score;        /* of the input (with its absent features masked) */
    double masked_score; /* with everything masked */
    double rest_score;   /* with all subsets masked: below the threshold unless max_subsets stopped
                            the search */
    size_t n_subsets;
    sis_subset *subsets; /* disjoint, in the order found */
    sis_subset bound;   /* status CUT: the features left when the unfinished selection last reached
                           the threshold (trace: its order so far). Sufficient but not minimal; n =
                           0: no selection was unfinished */
    int verified;       /* every claim above was checked by full passes */
    int complete;       /* rest_score does not reach the threshold (Proposition 2) */
    size_t evaluations; /* masked copies evaluated: scored, or provably not the best */
    double seconds;
    double noise; /* the largest difference between two scores of one row; 0: none seen */
    void *reserved[8];
} sis_collection;

void sis_collection_release(sis_collection *c);

/* ---- Explain --------------------------------------------------------------------------------- */

/* Explain one decision. On failure *out is empty and needs no release. SIS_E_UNSTABLE: the model
 * gave another score when a result was checked. */
int sis_collect(const sis_model *model, const sis_input *input, const sis_opt *opt,
                sis_collection *out);

/* Explain many decisions on opt->jobs threads. `done` gets each collection in the order of the
 * inputs, one at a time; the collection is borrowed, and nonzero stops. An input for which the
 * model returns NaN, or is unstable (SIS_E_UNSTABLE), yields a collection of status ERROR. Any
 * other failure ends the call and is its result, after all earlier inputs have been passed to
 * `done`. */
int sis_collect_many(const sis_model *model, const sis_input *inputs, size_t n, const sis_opt *opt,
                     int (*done)(void *ctx, size_t i, const sis_collection *c), void *ctx);

/* Arguments of sis_find_many(), which is like sis_collect_many, but `find` explains an input.
 * `inputs` may be NULL if `find` has its own inputs. It then names the input in its messages and
 * reports NaN as a collection of status ERROR. */
typedef struct sis_finder {
    /* Explains input i with a model and options of the calling thread, and returns what sis_collect
     * does. Several threads call it at once. */
    int (*find)(void *ctx, size_t i, const sis_model *model, const sis_opt *opt,
                sis_collection *out);
    int (*done)(void *ctx, size_t i, const sis_collection *c); /* as for sis_collect_many */
    void *ctx;                                                 /* of both */
} sis_finder;
int sis_find_many(const sis_model *model, const sis_input *inputs, size_t n, const sis_opt *opt,
                  const sis_finder *finder);

/* Scores of n inputs without masking: scores (n, n_outputs), link applied. The masks are not read.
 * Only jobs, memory and progress of the options are used. NaN is an error that names the
 * example. */
int sis_predict(const sis_model *model, const sis_input *inputs, size_t n, const sis_opt *opt,
                double *scores);

/* ---- Masks --------------------------------------------------------------------------------- */

/* Means of features, in one pass over any number of rows: zero `means` (n_values), add each row,
 * then get each mean. NaN (a missing value) is skipped. Sums are exact to about 106 bits, so a mean
 * does not depend on the order of the rows, and the mean of a constant column is exact. */
typedef struct sis_mean {
    double high, low; /* the sum, as two doubles with a scale */
    size_t n;         /* values added */
} sis_mean;
void sis_mean_add(sis_mean *means, const double *row, size_t n_values);
double sis_mean_get(const sis_mean *mean); /* NaN: nothing was added */

/* For one-hot features: a mean of categories is no valid category. In each feature with several
 * values the largest mean (the first of equals) becomes 1, the others 0. feature_of as in
 * sis_input. */
int sis_mean_choose(const int *feature_of, size_t n_values, double *mean);

/* Hot-deck masks (values drawn from other inputs) come from sis_deck_draw (sis/explain.h). */

/* ---- Verification -------------------------------------------------------------------------- */

typedef struct sis_subset_audit {
    double score;            /* of the subset alone */
    double best_without_one; /* highest (below: lowest) score with one of its features masked too */
    int sufficient;          /* score reaches the threshold */
    int minimal;             /* best_without_one does not (Proposition 1) */
    int exhaustive;          /* every proper subset was tested */
    size_t n_smaller;        /* with exhaustive: size of a smallest sufficient proper subset, 0 if
                                none */
    int *smaller;
    size_t
        n_examples; /* proofs, if requested: for each of its features an input that loses the */
    double *examples; /* decision without it (n_examples, n_values), NaN if none was found */
    double *example_scores; /* (n_examples) */
    size_t draws;           /* masks drawn from data: fresh draws, that the search has not seen; */
    double drawn_score, drawn_error; /* the mean score with these, and its standard error */
    void *reserved[8];
} sis_subset_audit;

typedef struct sis_audit {
    double score, masked_score, rest_score;
    size_t n_subsets;
    sis_subset_audit *subsets;
    size_t n_values;  /* of examples */
    int complete;     /* the rest does not reach the threshold (Proposition 2) */
    int holds;        /* the collection's claims are all true */
    char reason[256]; /* the first false claim; "" if holds */
    size_t evaluations;
    size_t within_noise; /* claims that these scores contradict by no more than the noise */
    void *reserved[8];
} sis_audit;

/* Check the claims of a collection with full passes only: its status, every score (within
 * rounding), that the subsets are disjoint, sufficient and minimal as claim->claim says, and
 * completeness if claimed. Returns 0 even if claims are false: read out->holds. Scores may differ
 * by twice the noise that the claim states. */
int sis_verify(const sis_model *model, const sis_input *input, const sis_opt *opt,
               const sis_collection *claim, sis_audit *out);

/* The same for n inputs and their claims on opt->jobs threads: out (n). On failure nothing needs to
 * be released. */
int sis_verify_many(const sis_model *model, const sis_input *inputs, size_t n, const sis_opt *opt,
                    const sis_collection *claims, sis_audit *out);

void sis_audit_release(sis_audit *a);

/* ---- Traces ---------------------------------------------------------------------------------- */

void sis_trace_release(sis_trace *t);

/* The size of the smallest suffix of the order that reaches the threshold, without evaluations: 0
 * if the fully masked input does, SIZE_MAX if no suffix does. */
size_t sis_trace_find(const sis_trace *t, double threshold, int below);

#ifdef __cplusplus
}
#endif
#endif
