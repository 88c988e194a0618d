/* SPDX-License-Identifier: MIT
 *
 * sis/model.h - models by name: turns what a user writes after --model into a sis_model.
 *
 * Stable: what is declared here stays as it is for as long as SIS_ABI does.
 *
 *     sis_model model;
 *     if (sis_model_open("cmd:python3 scorer.py", NULL, &model) == 0 &&
 *         sis_model_measure(&model, first_row, n_values) == 0)
 *         ... sis_collect(&model, ...) ...
 *     sis_model_close(&model);
 *
 * What can be opened:
 *
 *     FILE.onnx     a network (sis/net.h), explained by its own walks. Rows are its input. Those of
 *                   a model that begins by looking token ids up hold ids; SIS_TOKEN_MASK in the
 *                   place of one is the embedding of a masked token, and NaN removes the token:
 *                   those before it move up and padding (id 0) comes in front. Of several outputs the
 *                   first of floating point gives the scores; FILE.onnx#OUTPUT is another one, by name.
 *
 *                   A file with operators that the engine lacks is opened as ort: below, if that
 *                   can be; sis_model_note() then says so.
 *
 *     ort:FILE.onnx a network in ONNX Runtime, which has no walks and gradients: every masked copy is a
 *                   full pass, in batches whose length follows from shapes, so that the same row has
 *                   the same scores every time. Inputs, outputs, token ids, texts and margins are
 *                   those of a FILE.onnx; the output may also be a list of dictionaries. The library
 *                   is loaded when it is first needed (docs/networks.md says from where).
 *                   SIS_E_UNSUPPORTED if there is none.
 *
 *     FILE.json, FILE.ubj, FILE.txt
 *                   a model of XGBoost (JSON or UBJSON, as its save_model() writes) or LightGBM
 *                   (text), told by what is in the file, whatever it is called. Rows are numbers in
 *                   the order of training, NaN where one is missing, categories as their numbers.
 *                   Outputs are predictions as the library makes them, but for multi:softmax: a
 *                   probability for each class. Sums of leaves are those of the library to the bit;
 *                   links are computed in double, so that scores agree to about seven digits with
 *                   XGBoost's. Walks visit only the trees that a feature changes.
 *
 *     cmd:COMMAND   a child process. `sh -c COMMAND` is started once for each thread and lives
 *                   until the model is closed. For every request it reads one line and writes one:
 *
 *         {"inputs":[[1,0.5,-3],[1,0,0]]}    to its stdin: one list of numbers a row
 *         {"outputs":[0.1,0.9]}              from its stdout: one score a row, in the same order,
 *         {"outputs":[[0.2,0.8],[0.7,0.3]]}  or one list of scores a row, all of the same length,
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
 *         A missing value (NaN) is written as null. A request holds as many rows as fit in 4 MiB,
 *         and never as many as the one before it: if need be a row is added, of which the score is not
 *         used, so that an answer to another request is noticed by its length.
 *         The child must flush its output after each line, write nothing else to stdout, and end
 *         when its stdin does; what it writes to stderr is quoted if it fails. It runs in a process
 *         group of its own, which is killed if it does not end.
 *
 *     http://...    a model behind a server, and https://... (docs/remote.md). The end of the
 *                   address tells the protocol:
 *
 *         .../v2/models/NAME[/versions/V]   Open Inference Protocol (KServe, Triton, MLServer)
 *         .../v1/models/NAME[/versions/V]   TensorFlow Serving, KServe v1
 *         .../invocations                   MLflow
         .../v1/completions#MODEL          language models (docs/llm.md)
         .../v1/chat/completions#MODEL
         .../completion                    llama.cpp
 *
 *         #OUTPUT behind it chooses one of several outputs by name. Opening asks for the model's
 *         metadata: name, type and shape of its input. Each thread has a connection. A row of texts
 *         is a string (BYTES in v2). A missing value (NaN) is written as NaN. Needs libcurl when
 *         the library is built and when a model is opened; without it opening one is
 *         SIS_E_UNSUPPORTED.
 *
 * Threads: an opened model may be shared. Any number of threads may call sis_collect and its kin with
 * it at the same time. A network answers them side by side; the child of a cmd: model, or the
 * connection of an http: model, takes their questions one after the other (sis_collect_many starts one
 * for each of its threads). Opening
 * and closing it, and the calls below that say so, are for one thread while no other uses it.
 *
 * Whatever goes wrong with a model is SIS_E_MODEL, a score that is no number SIS_E_NAN, with one
 * line in sis_error_detail() that names the model, the request and the row, and quotes what the
 * model said.
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

/* Borrowed by sis_model_open() only. */
typedef struct sis_model_opt {
    size_t size;    /* of this struct as your program was compiled; set by sis_model_opt_init */
    double timeout; /* seconds to wait for one answer, the child's start included in the first;
                       default 60, 0: as long as it takes */

    int jobs; /* threads that will use it at once; default 1, 0: one for each core. Children (through
                 OMP_NUM_THREADS and its kin, unless they are set) get their share of the cores for
                 threads of their own */

    /* Of cmd: models. */
    size_t restarts; /* how often a child that has died or does not answer in time is started again,
                        after a pause that doubles, and asked the same once more; default 0 */

    /* Of http: models. */
    size_t retries; /* how often a request is repeated that found no connection, got no answer or
                       the status 429, 502, 503 or 504; default 3 */
    const char *const *headers; /* (n_headers) "Name: value", sent with every request */
    size_t n_headers;
    const char *token;        /* a file with a token (Authorization: Bearer) or with
                                 user:password (Basic); or NULL */
    const char *certificates; /* a file of those (PEM) to trust, NULL: the system's */
    int redirects;            /* follow redirections, within the same host */
    const char *explain; /* models of several inputs (FILE.onnx, ort:, v2 servers): the one that
                                 rows go into; NULL: as sis/net.h says */
    const sis_net_tensor *with; /* and others that are given, by name (sis/net.h), each once */
    size_t n_with;
    const char *normalize; /* networks of images (FILE.onnx) are given (value - mean) / deviation:
                              "imagenet", or "M[,M...]/S[,S...]": a mean and a deviation for all
                              channels or for each; NULL: values as they are */

    /* Of language models (docs/llm.md). */
    const char *score; /* "margin" (NULL), "logprob" or "label:A,B" */
    const char *cache; /* a file of answers (SQLite), made if it is not there; or NULL */
} sis_model_opt;

/* Every default. */
void sis_model_opt_defaults(sis_model_opt *opt); /* of as many fields as opt->size says */
static inline void sis_model_opt_init(sis_model_opt *opt) {
    opt->size = sizeof *opt;
    sis_model_opt_defaults(opt);
}

/* Open the model that `spec` names; opt may be NULL. On failure *out is zeroed and needs no close.
 * out->n_outputs is 0 if only asking the model can tell it: then call sis_model_measure(). */
int sis_model_open_sized(const char *spec, const sis_model_opt *opt, sis_model *out);
static inline int sis_model_open(const char *spec, const sis_model_opt *opt, sis_model *out) {
    sis_model_init(out); /* its size: as much as may be written to */
    return sis_model_open_sized(spec, opt, out);
}

/* Learn n_outputs (and link) of an opened model by predicting one row (n_values). Nothing is asked if it is
 * already known. Call it before the model is used, from one thread. */
int sis_model_measure(sis_model *model, const double *row, size_t n_values);

/* What a user should know of how it is run, in one line: that ONNX Runtime has to, say. NULL:
 * nothing. Lives until the model is closed. */
const char *sis_model_note(const sis_model *model);

/* The network behind an opened FILE.onnx, for what it carries (sis/net.h): sis_net_mask (a
 * sis_input's mask, but for token models, see below), sis_net_label, sis_net_meta_get. NULL for other
 * kinds. Lives until the model is closed. */
const sis_net *sis_model_net(const sis_model *model);

/* What an output is called: the class that it scores, as the ONNX file says, in ONNX Runtime too, or the metadata of a
 * server ("labels" of the output's "parameters"). 0, or SIS_E_ARGUMENT if the model does not say. */
int sis_model_label(const sis_model *model, size_t output, char *text, size_t size);

/* What records call the model that sis_model_open() opens by this text: the file without its folder, a
 * command without the folders in it, a served model by its own name. A name is its own name. */
void sis_model_name(const char *spec, char *name, size_t size);

/* What the values of a row are called, n_values names, if the file of a forest says it; else NULL.
 * Lives until the model is closed. (A network's names are in its metadata, sis/net.h.) */
const char *const *sis_model_names(const sis_model *model);

/* What is in a forest or a network that ONNX Runtime runs, a few lines for people; free(*text).
 * SIS_E_UNSUPPORTED for other kinds: networks have sis_net_describe(). */
int sis_model_describe(const sis_model *model, char **text);

/* In a row of token ids: a masked token. */
#define SIS_TOKEN_MASK (-1.0)

/* A part of a text, not terminated. Borrowed. */
typedef struct sis_piece {
    const char *text;
    size_t length;
} sis_piece;

/* Another handle of an opened model, for use beside it, with a masked token, texts and shapes of its own: a
 * network or session is shared, of a cmd: model another child is started. Close it before the first. So each
 * task has a handle to tell things to (sis/task.h). SIS_E_UNSUPPORTED: nothing can be told to models
 * of this kind, so there is no need of another. */
int sis_model_share_sized(const sis_model *model, sis_model *out);
static inline int sis_model_share(const sis_model *model, sis_model *out) {
    sis_model_init(out);
    return sis_model_share_sized(model, out);
}

/* End an opened model: children are given a moment to end by themselves. A zeroed one is fine, one
 * that was not made by sis_model_open() is not. */
void sis_model_close(sis_model *model);

#ifdef __cplusplus
}
#endif
#endif
