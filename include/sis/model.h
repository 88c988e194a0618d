/* SPDX-License-Identifier: MIT
 *
 * sis/model.h - opens models by name: the argument of --model becomes a sis_model.
 *
 * Stable: declarations do not change as long as SIS_ABI stays the same.
 *
 *     sis_model model;
 *     if (sis_model_open("cmd:python3 scorer.py", NULL, &model) == 0 &&
 *         sis_model_measure(&model, first_row, n_values) == 0)
 *         ... sis_collect(&model, ...) ...
 *     sis_model_close(&model);
 *
 * Models:
 *
 *     FILE.onnx     a network (sis/net.h), explained by incremental walks. Rows are its input. If
 *                   it begins with an embedding, rows hold token ids. SIS_TOKEN_MASK instead of an
 *                   id selects the embedding of a masked token; NaN removes the token: earlier
 *                   tokens move up, and padding (id 0) fills the front. The first floating-point
 *                   output gives the scores; FILE.onnx#OUTPUT selects another by name.
 *
 *                   A file with unsupported operators is opened as ort: if possible;
 *                   sis_model_note() then says so.
 *
 *     ort:FILE.onnx a network in ONNX Runtime, without walks and gradients: every masked copy is a
 *                   full pass. Batch sizes depend only on shapes, so that equal rows have equal
 *                   scores. Inputs, outputs, token ids, texts and margins are those of a FILE.onnx;
 *                   the output may also be a list of dictionaries. The library is loaded on first
 *                   use (see docs/networks.md). SIS_E_UNSUPPORTED if it is not found.
 *
 *     FILE.json, FILE.ubj, FILE.txt
 *                   a model of XGBoost (JSON or UBJSON, as its save_model() writes) or LightGBM
 *                   (text), detected from the content. Rows are numbers in the order of training,
 *                   NaN for missing values, categories as their numbers. Outputs are the library's
 *                   predictions; multi:softmax gives a probability for each class. Sums of leaves
 *                   equal the library's to the bit. Links are computed in double, so scores agree
 *                   with XGBoost's to about seven digits. Walks visit only the trees that a feature
 *                   changes.
 *
 *     cmd:COMMAND   a child process. `sh -c COMMAND` is started once for each thread and lives
 *                   until the model is closed. For every request it reads one line and writes one:
 *
 *         {"inputs":[[1,0.5,-3],[1,0,0]]}    to its stdin: one list of numbers per row
 *         {"outputs":[0.1,0.9]}              from its stdout: one score per row, in the same order,
 *         {"outputs":[[0.2,0.8],[0.7,0.3]]}  or one list of scores per row, all of the same length,
 *         {"error":"what is wrong"}          or why there are none
 *
 *         A row of texts (sis_model_take_texts) is one string instead of a list:
 *
 *         {"inputs":["A wonderful, moving film.","A film."]}
 *
 *         A row of cells (sis_model_take_rows) is a list of numbers and words, or an object:
 *
 *         {"inputs":[[34,"own"],[51,null]]}
 *         {"inputs":[{"age":34,"housing":"own"},{"age":51,"housing":null}]}
 *
 *         A missing value (NaN) is written as null. A request holds at most 4 MiB of rows. Its
 *         number of rows differs from the previous request's (an unused row is added if necessary),
 *         so that an answer to another request is detected by its length. The child must flush its
 *         output after each line, write nothing else to stdout, and exit when its stdin ends. Its
 *         stderr is quoted if it fails. It runs in its own process group, which is killed if it
 *         does not exit.
 *
 *     http://...    a model on a server, also https://... (docs/remote.md). The end of the address
 *                   selects the protocol:
 *
 *         .../v2/models/NAME[/versions/V]   Open Inference Protocol (KServe, Triton, MLServer)
 *         .../v1/models/NAME[/versions/V]   TensorFlow Serving, KServe v1
 *         .../invocations                   MLflow
 *         .../v1/completions#MODEL          language models (docs/llm.md)
 *         .../v1/chat/completions#MODEL
 *         .../completion                    llama.cpp
 *
 *         #OUTPUT at the end selects an output by name. Opening requests the model's metadata:
 *         name, type and shape of its input. Each thread has a connection. A row of texts is a
 *         string (BYTES in v2). A missing value (NaN) is written as NaN. Requires libcurl at build
 *         time and at run time; SIS_E_UNSUPPORTED without it.
 *
 * Threads: any number of threads may call sis_collect and related functions with an opened model at
 * the same time. Networks run in parallel; the child of a cmd: model and the connection of an http:
 * model serve one request at a time (sis_collect_many starts one for each of its threads). Opening,
 * closing and the calls below that say so require that no other thread uses the model.
 *
 * Errors: SIS_E_MODEL if a model fails, SIS_E_NAN if a score is NaN. sis_error_detail() is one line
 * that names the model, the request and the row, and quotes the model's output.
 */
#ifndef SIS_MODEL_H
#define SIS_MODEL_H

#include <sis/sis.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct sis_net sis_net; /* all three in sis/net.h */
typedef struct sis_net_shape sis_net_shape;
typedef struct sis_net_tensor sis_net_tensor;

/* Borrowed by sis_model_open() during the call. */
typedef struct sis_model_opt {
    size_t size;    /* sizeof this struct when your program was compiled; set by
                       sis_model_opt_init */
    double timeout; /* seconds to wait for one answer, the first including the child's start;
                       default 60, 0: no limit */

    int jobs; /* threads that will use the model at once; default 1, 0: one per core. Children get
                 an equal share of the cores (through OMP_NUM_THREADS and similar variables, unless
                 they are set) */

    /* For cmd: models. */
    size_t restarts; /* how often a child that died or timed out is restarted, after a pause that
                        doubles each time, and the request repeated; default 0 */

    /* For http: models. */
    size_t retries; /* how often a request is repeated after a failed connection, no answer, or
                       status 429, 502, 503 or 504; default 3 */
    const char *const *headers; /* (n_headers) "Name: value", sent with every request */
    size_t n_headers;
    const char *token;        /* a file with a token (Authorization: Bearer) or with
                                 user:password (Basic); or NULL */
    const char *certificates; /* a file of trusted certificates (PEM), NULL: the system's */
    int redirects;            /* follow redirections, within the same host */
    const char *explain; /* models of several inputs (FILE.onnx, ort:, v2 servers): the input that
                            rows are fed to; NULL: as in sis/net.h */
    const sis_net_tensor *with; /* values of the other inputs, by name (sis/net.h), each once */
    size_t n_with;
    const char *normalize; /* image networks (FILE.onnx) get (value - mean) / deviation: "imagenet",
                              or "M[,M...]/S[,S...]": one mean and deviation for all channels or for
                              each; NULL: unchanged values */

    /* For language models (docs/llm.md). */
    const char *score; /* "margin" (NULL), "logprob" or "label:A,B" */
    const char *cache; /* a file of cached answers (SQLite), created if it does not exist; or
                          NULL */

    const char *categories; /* XGBoost, LightGBM: a file {"column":["word",...],...} with the words of
                               columns of categories, in the order of their numbers; or NULL: those
                               in the model, if any */
} sis_model_opt;

/* Sets the defaults. */
void sis_model_opt_defaults(sis_model_opt *opt); /* writes opt->size bytes */
static inline void sis_model_opt_init(sis_model_opt *opt) {
    opt->size = sizeof *opt;
    sis_model_opt_defaults(opt);
}

/* Open the model named `spec`; opt may be NULL. On failure *out is zeroed and needs no close.
 * out->n_outputs is 0 if only a prediction can tell it: then call sis_model_measure(). */
int sis_model_open_sized(const char *spec, const sis_model_opt *opt, sis_model *out);
static inline int sis_model_open(const char *spec, const sis_model_opt *opt, sis_model *out) {
    sis_model_init(out); /* the size limits what may be written */
    return sis_model_open_sized(spec, opt, out);
}

/* Determine n_outputs (and link) of an opened model by predicting one row (n_values). Does nothing
 * if they are known. Call it from one thread before the model is used. */
int sis_model_measure(sis_model *model, const double *row, size_t n_values);

/* One line for users about how the model is run, for example that ONNX Runtime runs it. NULL: none.
 * Lives until the model is closed. */
const char *sis_model_note(const sis_model *model);

/* The network of an opened FILE.onnx (sis/net.h), for sis_net_mask (the mask of a sis_input, except
 * for token models, see below), sis_net_label and sis_net_meta_get. NULL for other models. Lives
 * until the model is closed. */
const sis_net *sis_model_net(const sis_model *model);

/* The name of an output: its class, from the ONNX file (also in ONNX Runtime) or from the metadata
 * of a server ("labels" of the output's "parameters"). 0, or SIS_E_ARGUMENT if it has none. */
int sis_model_label(const sis_model *model, size_t output, char *text, size_t size);

/* The model's name in records: the file without its folder, a command without the folders in it,
 * the own name of a served model. The name of a name is the name itself. */
void sis_model_name(const char *spec, char *name, size_t size);

/* The names of the values of a row, n_values of them, if the file of a tree model has them; else
 * NULL. Lives until the model is closed. (A network's names are in its metadata, sis/net.h.) */
const char *const *sis_model_names(const sis_model *model);

/* The words of its columns of categories, n_values of them: NULL, or words and a NULL behind them,
 * whose positions are the values. NULL: none are known, from the file or from opt.categories. */
const char *const *const *sis_model_words(const sis_model *model);

/* A description for people of a tree model or a network in ONNX Runtime, a few lines; free(*text).
 * SIS_E_UNSUPPORTED for other models: networks have sis_net_describe(). */
int sis_model_describe(const sis_model *model, char **text);

/* A masked token in a row of token ids. */
#define SIS_TOKEN_MASK (-1.0)

/* A part of a text, not NUL-terminated. Borrowed. */
typedef struct sis_piece {
    const char *text;
    size_t length;
} sis_piece;

/* A second handle of an opened model with its own masked token, texts, prompts and shapes. A task
 * makes one itself if it needs it (sis/task.h), so tasks may share an opened model. A network,
 * session or connection is shared; a cmd: model starts another child.
 * Close it before the first handle. SIS_E_UNSUPPORTED: models of this kind have no such state, so
 * one handle is enough. */
int sis_model_share_sized(const sis_model *model, sis_model *out);
static inline int sis_model_share(const sis_model *model, sis_model *out) {
    sis_model_init(out);
    return sis_model_share_sized(model, out);
}

/* Close an opened model; children get a moment to exit. A zeroed model is allowed, a model of your
 * own is not. */
void sis_model_close(sis_model *model);

#ifdef __cplusplus
}
#endif
#endif
