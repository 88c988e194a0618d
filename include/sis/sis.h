/* SPDX-License-Identifier: MIT
 *
 * sis/sis.h - which part of this input was enough for the decision?
 *
 * Stable: what is declared here stays as it is for as long as SIS_ABI does.
 *
 * A model maps an input to a score; the decision is `score >= threshold`. A sufficient input subset
 * (SIS) is a minimal set of features whose values alone, everything else masked, still reach it.
 * This header finds all disjoint ones of an input (Carter, Mueller, Jain and Gifford, AISTATS
 * 2019):
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
 * The rest of the header goes up step by step: many inputs at once, verification, one backward
 * selection and its trace, walks. Beside it stand, each of use by itself, two storeys. Stable:
 *
 *     task.h      from a model and a file to records, in five lines
 *     model.h     ONNX files, trees, processes, servers        data.h      examples from files
 *     results.h   the results file                             kind.h      what inputs are
 *
 * and experimental headers, which may change from one version to the next:
 *
 *     net.h       the networks themselves; train.h             analysis.h  clusters, comparisons
 *     explain.h   other methods; attack.h                      report.h    pages and figures
 *     prove.h     subsets that are enough whatever the rest is  export.h    tables, BED, SQLite
 *
 * Ownership: a const pointer is borrowed for the call; a struct that a function fills is released
 * with the `_release` of its name, and releasing a zeroed or failed one is harmless. Growth: options
 * and models begin with their size, which their `_init` sets; fields that later versions add have
 * their defaults in programs that were compiled before. A size of 0 is refused. Inputs and results, which
 * stand in arrays and in each other, end with `reserved`, from which later versions take their fields: it is
 * zero in what the library fills, and has to be in what you fill (begin with {0}). Errors: 0 or a
 * negative code of sis/error.h. Threads: there are no globals; any two calls may run at the same
 * time if their models may. Results are the same, to the bit, for any number of threads.
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

/* Of these headers. The ABI number is the end of the shared library's name (libsis.so.1): it goes
 * up whenever a program that was compiled before has to be compiled again. */
#define SIS_VERSION "0.9.0"
#define SIS_ABI 1

/* SIS_VERSION of the library that is linked. */
const char *sis_version(void);

/* ---- Model --------------------------------------------------------------------------------- */

typedef struct sis_input sis_input;
typedef struct sis_walk sis_walk;

/* What a model's gradient is asked: scores (link applied) of one output at n points, and how they
 * change with every coordinate. */
typedef struct sis_slopes {
    const double *points; /* (n, width) */
    size_t n, width;
    size_t output;
    double *scores;   /* (n) result */
    double *d_points; /* (n, width) result: the gradient of each score at its point */
} sis_slopes;

/* Anything that predicts. Call sis_model_init, or write {.size = sizeof(sis_model), .predict = ...};
 * only `predict` and `n_outputs` are needed besides. */
typedef struct sis_model {
    size_t size; /* of this struct as your program was compiled */

    /* rows (n_rows, n_values) -> scores (n_rows, n_outputs). 0, or a negative code (SIS_E_MODEL)
     * that ends the call. It may be handed any number of rows, the same row more than once. */
    int (*predict)(void *ctx, const double *rows, size_t n_rows, size_t n_values, double *scores);
    void *ctx;        /* passed to predict */
    size_t n_outputs; /* scores for one input, at least 1 */
    size_t n_values;  /* values in one input; 0: any number, inputs may differ in length */
    size_t max_rows;  /* rows predict would like at most in one call; 0: no preference */

    /* If set, rows that masked copies are written into, n values in all, are the model's own memory:
     * predict then gets them from the first on. Before each batch `rows` (NULL: none yet) are asked
     * for again; it answers them if they may be written to and still hold what was last written, or
     * others in their place, which are written anew. NULL: there is no memory. rows_free ends them. */
    double *(*rows_new)(void *ctx, double *rows, size_t n);
    void (*rows_free)(void *ctx, double *rows);

    /* If set, predict answers margins and link(margin) is the score: a strictly increasing function
     * such as the logistic. Features are ranked by margin, which tells 1 - 1e-20 from 1 - 1e-30
     * where the score no longer can. NULL: predict answers scores. */
    double (*link)(double margin);

    /* A context for one more thread, and its end. NULL: only one thread uses the model, whatever
     * `jobs` says. A predict that may be called by several threads at once sets worker_new to
     * sis_worker_share. */
    int (*worker_new)(void *ctx, void **worker);
    void (*worker_free)(void *worker);

    /* A walk of the model's own that is faster than predicting every masked copy (see "Walks"). It
     * should stay below `memory` bytes. NULL: the batch walk. SIS_E_UNSUPPORTED from it also means
     * the batch walk. */
    int (*walk_new)(void *ctx, const sis_input *input, size_t memory, sis_walk **walk);

    /* For methods that follow slopes (sis/explain.h); NULL: the model has none. Slopes are taken at
     * points. A point is a row, unless the model looks its values up (token ids): then `embed`
     * makes a point of a row, `dim` values for each. */
    int (*gradient)(void *ctx, const sis_slopes *slopes);
    int (*embed)(void *ctx, const double *row, size_t n_values, double *point);
    size_t dim; /* with embed */

    int missing; /* NaN in a row is a missing value, which the model knows what to do with. (Others
                    may be given it too; what they answer is theirs) */

    int confirm; /* Before scores or an audit are reported, predict is asked for one more row: it may
                    find out only then that an earlier answer was not the model's (cmd:) */

    int noisy; /* Two answers to one question may differ, as those of a server do that batches. A claim then
                  has to hold by more than the largest difference that was seen */
} sis_model;

/* Everything but the size is zero. */
static inline void sis_model_init(sis_model *model) {
    memset(model, 0, sizeof *model);
    model->size = sizeof *model;
}

/* A worker_new for models whose predict is thread-safe: every thread gets the same context. */
int sis_worker_share(void *ctx, void **worker);

/* ---- Input --------------------------------------------------------------------------------- */

/* One example. Everything is borrowed. */
struct sis_input {
    const double *values;  /* (n_values) */
    const double *mask;    /* (n_samples, n_values): what a missing value looks like */
    size_t n_values;       /* at least 1 */
    size_t n_samples;      /* 0 or 1: one mask. More (hot-deck): a score is the mean over them */
    const int *feature_of; /* (n_values) feature of each value, -1 = never masked; every number
                              from 0 to the largest is used. NULL: each value is a feature */
    const unsigned char *absent; /* (n_features) nonzero: masked from the start. NULL: none */
    size_t output;               /* the model's output to explain */
    const char *name;            /* what messages call it; NULL: its number */
    void *reserved[4];
};

/* Can this model be asked about it? 0, or SIS_E_ARGUMENT with what is missing or does not fit. The
 * feature map is not looked at. */
int sis_input_check(const sis_input *input, const sis_model *model);

/* The number of features, or a negative code if the map skips a number or is not one. */
long sis_input_features(const sis_input *input);

/* ---- Options ------------------------------------------------------------------------------- */

/* The argument of a progress function. Totals are over all threads. */
typedef struct sis_progress {
    size_t inputs, inputs_done; /* of this call */
    size_t evaluations;         /* masked copies asked about so far */
    double walk;                /* 0..1: how far the reporting thread is with its input */
} sis_progress;

typedef struct sis_opt {
    size_t size; /* of this struct as your program was compiled; set by sis_opt_init */
    double threshold;
    int below;          /* explain score <= threshold instead of score >= threshold */
    size_t max_subsets; /* stop after that many; 0: find all */
    size_t memory;      /* bytes for what walks keep, all threads together; default 1 GiB. Less
                           makes some walks slower, and is never reached by small networks */
    int jobs;           /* threads of sis_collect_many; default 1, 0: one per core */
    int exact;          /* never use the model's own walk: full passes only */
    int early_stop; /* end a backward selection at the first drop below the threshold. Gives larger
                       subsets (the paper's local minimum); here only to show that */
    size_t exhaustive; /* sis_verify: test every proper subset of subsets up to this size, <= 16 */

    /* Limits for one input; 0: none. When one is reached the collection has status CUT. The scores of
     * the input and of the mask, and of what is reported, are asked for all the same. */
    double time_limit; /* seconds */
    size_t max_evaluations;

    /* Called by one thread at a time, at most 20 times a second; nonzero cancels (SIS_E_CANCELLED).
     * One more call tells the end, which cannot be cancelled: all inputs are done, walk is 1. */
    int (*progress)(void *ctx, const sis_progress *p);
    void *progress_ctx;
    double progress_every; /* seconds between calls; default 0.05, 0: at every answer */
} sis_opt;

/* Every default. The threshold has none (NaN): set it. */
void sis_opt_defaults(sis_opt *opt); /* of as many fields as opt->size says */
static inline void sis_opt_init(sis_opt *opt) {
    opt->size = sizeof *opt;
    sis_opt_defaults(opt);
}

/* NULL, or why these options cannot be used, in words. */
const char *sis_opt_check(const sis_opt *opt);

/* Is the decision reached? `score >= threshold` (`<=` with below), where a score that equals the
 * threshold in single precision counts as equal: a float32 model that answers 0.7f reaches 0.7. */
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

/* One backward selection: features in the order they were masked, and the score after each. It
 * holds the answer for every threshold (sis_trace_find). */
typedef struct sis_trace {
    size_t n;       /* features masked */
    int *order;     /* (n) masked first ... masked last */
    double *scores; /* (n) score after order[0..k] are masked */
    double start;   /* score before any was */
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

/* Claims about the subsets of a collection, apart from their scores. */
typedef enum sis_claim {
    SIS_CLAIM_MINIMAL,    /* each is sufficient, and without any one of its features it is not */
    SIS_CLAIM_SUFFICIENT, /* each is sufficient */
    SIS_CLAIM_NOTHING,    /* neither */
} sis_claim;

/* name in results files, for what the subsets of a collection are sufficient */
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

/* How many draws kept the decision, and an exact interval of the share of all that do. */
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
    double share, confidence; /* CHANCE: what was asked for */
    uint64_t seed;            /* CHANCE: of the draws */
    size_t n_shares;
    sis_kept *shares; /* (n_shares) CHANCE: of each subset */
    size_t n_examples;
    double
        *examples; /* (n_examples, n_values) of contrasts: an input for each subset, whose features
                         alone are changed, without the decision */
    double *distances; /* (n_examples) how far each is; NaN: not known. NULL: none is known */
    int nearest;       /* proved that no input that changes these features alone is nearer */
    int cheapest;      /* proved that no other set of features has a nearer one than the first */
    size_t n_fixed;
    int *fixed; /* (n_fixed) features that contrasts may not change */
    size_t n_bounds;
    double *bounds; /* (n_bounds) ALL: no allowed input that keeps the subset scores worse; NaN: not known */
    void *reserved[6];
} sis_guarantee;

void sis_guarantee_release(sis_guarantee *g);

typedef struct sis_collection {
    sis_status status;
    sis_claim claim; /* of sis_collect: MINIMAL; of the methods of sis/explain.h: it depends */
    char *message;   /* status ERROR: what happened; else NULL */
    size_t n_features;
    double score;        /* of the input (with its absent features masked) */
    double masked_score; /* with everything masked */
    double rest_score;   /* with all subsets masked: below the threshold unless max_subsets cut */
    size_t n_subsets;
    sis_subset *subsets; /* disjoint, in the order found */
    sis_subset bound;   /* status CUT: what was left of the selection under way (trace: its order so
                            far) when it last reached the threshold. Sufficient, but not minimal;
                            n = 0: none was under way */
    int verified;       /* every claim above was checked by full passes */
    int complete;       /* rest_score does not reach the threshold (Proposition 2) */
    size_t evaluations; /* masked copies asked about: scored, or provably not the best */
    double seconds;
    double noise; /* the largest difference between two answers to one question; 0: none was seen */
    void *reserved[8];
} sis_collection;

void sis_collection_release(sis_collection *c);

/* ---- The verb ------------------------------------------------------------------------------ */

/* Explain one decision. On failure *out is empty and needs no release. A model that answers differently
 * when it is asked again about what was found fails with SIS_E_UNSTABLE. */
int sis_collect(const sis_model *model, const sis_input *input, const sis_opt *opt,
                sis_collection *out);

/* Explain many decisions on opt->jobs threads. `done` gets each collection in the order of the
 * inputs, one at a time, and borrows it; nonzero from it stops. An input for which the model
 * answers NaN, or something else when it is asked again (SIS_E_UNSTABLE), is handed over with status
 * ERROR; any other failure stops the call and is its result, after every earlier input has been
 * handed over. */
int sis_collect_many(const sis_model *model, const sis_input *inputs, size_t n, const sis_opt *opt,
                     int (*done)(void *ctx, size_t i, const sis_collection *c), void *ctx);

/* The same with another way to explain one input. `inputs` may be NULL if `find` has its own: it
 * then says itself in its messages which one it was, and answers NaN by a collection of status
 * ERROR. */
typedef struct sis_finder {
    /* Called for input i, by several threads at once, with a model and options for the thread it
     * runs on; answers as sis_collect does. */
    int (*find)(void *ctx, size_t i, const sis_model *model, const sis_opt *opt,
                sis_collection *out);
    int (*done)(void *ctx, size_t i, const sis_collection *c); /* as for sis_collect_many */
    void *ctx;                                                 /* of both */
} sis_finder;
int sis_find_many(const sis_model *model, const sis_input *inputs, size_t n, const sis_opt *opt,
                  const sis_finder *finder);

/* Scores of n inputs as they are (their masks are not looked at): scores (n, n_outputs), link
 * applied. Only jobs, memory and progress of the options matter. NaN is an error that names the
 * example. */
int sis_predict(const sis_model *model, const sis_input *inputs, size_t n, const sis_opt *opt,
                double *scores);

/* ---- Masks --------------------------------------------------------------------------------- */

/* Means of features, in one pass over a data set of any size: zero `means` (n_values), add each row,
 * then get each mean. NaN, a missing value, is left out. Sums are exact to about 106 bits, so a mean
 * does not depend on the order of the rows, and a constant column keeps exactly its constant. */
typedef struct sis_mean {
    double high, low; /* the sum, in a scale of its own */
    size_t n;         /* values added */
} sis_mean;
void sis_mean_add(sis_mean *means, const double *row, size_t n_values);
double sis_mean_get(const sis_mean *mean); /* NaN: nothing was added */

/* Where the values of a feature are its categories, 0 or 1, their means are shares, and a mixture of
 * categories is nothing that exists: of each feature with several values the largest mean becomes 1
 * (of equals the first), the others 0. feature_of as in sis_input. */
int sis_mean_choose(const int *feature_of, size_t n_values, double *mean);

/* Hot-deck masks, with values drawn from other inputs, are sis_deck_draw's (sis/explain.h). */

/* ---- Verification -------------------------------------------------------------------------- */

typedef struct sis_subset_audit {
    double score;            /* of the subset alone */
    double best_without_one; /* highest (below: lowest) score with one of its features masked too */
    int sufficient;          /* score reaches the threshold */
    int minimal;             /* best_without_one does not (Proposition 1) */
    int exhaustive;          /* every proper subset was tested */
    size_t n_smaller;        /* with exhaustive: a smallest sufficient proper subset, 0 if none */
    int *smaller;
    size_t
        n_examples; /* proofs, if asked for: for each of its features in turn an input that loses */
    double *examples; /* the decision without it (n_examples, n_values), NaN if none was found */
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
    char reason[256]; /* the first that is not; "" if holds */
    size_t evaluations;
    size_t within_noise; /* claims that the scores found here contradict, but by no more than noise */
    void *reserved[8];
} sis_audit;

/* Check the claims of a collection with full passes only: its status, every score (but for
 * rounding), that subsets are disjoint, sufficient and minimal as far as claim->claim goes, and
 * completeness if it claims that. 0 even if the claims are false: read out->holds. Scores may differ by
 * twice the noise that the claim states. */
int sis_verify(const sis_model *model, const sis_input *input, const sis_opt *opt,
               const sis_collection *claim, sis_audit *out);

/* The same for n inputs and their claims on opt->jobs threads: out (n). On failure nothing needs
 * release. */
int sis_verify_many(const sis_model *model, const sis_input *inputs, size_t n, const sis_opt *opt,
                    const sis_collection *claims, sis_audit *out);

void sis_audit_release(sis_audit *a);

/* ---- Traces ---------------------------------------------------------------------------------- */

void sis_trace_release(sis_trace *t);

/* The size of the smallest suffix of the order that reaches the threshold, without evaluating
 * anything: 0 if the fully masked input does, SIZE_MAX if nothing does. */
size_t sis_trace_find(const sis_trace *t, double threshold, int below);

#ifdef __cplusplus
}
#endif
#endif
