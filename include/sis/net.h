/* SPDX-License-Identifier: MIT
 *
 * sis/net.h - neural networks and other trained models from ONNX files.
 *
 * Experimental: may change from one version to the next.
 *
 *     sis_net *net;
 *     if (sis_net_read("model.onnx", &net) != 0)
 *         die(sis_error_detail());                             // which operator, and what to do
 *     size_t p = sis_net_values(net), k = sis_net_outputs(net);  // per row
 *     sis_net_batch batch = {.rows = x, .n_rows = n, .n_values = p, .jobs = 2};
 *     sis_net_forward(net, &batch, scores);                    // x (n, p) -> scores (n, k)
 *     sis_net_margins(net, &batch, margins);                   // the same in log-odds
 *     sis_net_free(net);
 *
 * Scores are the first output of floats. scikit-learn's label outputs are ignored unless the model
 * has no other output; then labels are returned as numbers. The first axis of the input counts rows
 * if its size is free or 1; else the whole input is one row. A row of a model with several inputs
 * holds them one after the other, in file order. If one input is token ids, the others are derived
 * from it (see Several inputs). Texts in a row are numbers (sis_net_word).
 *
 * A row's result does not depend, to the bit, on other rows of the batch, its position or the
 * number of threads. All computations use single precision.
 *
 * Ownership: pointers into a network live as long as it does, unless said otherwise. Threads: any
 * number of calls with a const network may run at the same time.
 */
#ifndef SIS_NET_H
#define SIS_NET_H

#include <stddef.h>
#include <stdint.h>

#include <sis/error.h>
#include <sis/sis.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct sis_net sis_net;

/* ---- Files --------------------------------------------------------------------------------- */

/* Read an ONNX file, opsets 7 to 22. SIS_E_UNSUPPORTED names an operator that cannot be run, its
 * node and what to do; SIS_E_FORMAT: the file is not a complete, valid model. */
int sis_net_read(const char *path, sis_net **out);

/* The same from memory, which may be freed afterwards. */
int sis_net_parse(const void *bytes, size_t n, sis_net **out);

/* Write the network with everything in the file it was read from. */
int sis_net_write(const sis_net *net, const char *path);

/* The same to memory; free(*bytes). */
int sis_net_pack(const sis_net *net, void **bytes, size_t *n);

void sis_net_free(sis_net *net);

/* The instruction set of the kernels on this machine: "avx512", "avx2" or "base". */
const char *sis_net_kernels(void);

/* ---- Inputs and outputs --------------------------------------------------------------------- */

enum { SIS_NET_MAX_RANK = 8 };

typedef struct sis_net_shape {
    size_t rank;
    size_t dims[SIS_NET_MAX_RANK]; /* 0: any size */
} sis_net_shape;

/* Shape of one row, without the axis that counts rows. */
void sis_net_input_shape(const sis_net *net, sis_net_shape *shape);

/* The first axis of the input, of fixed size (an export for ten images, say), counts rows from now
 * on. SIS_E_ARGUMENT: there is no such axis; SIS_E_UNSUPPORTED: a test shows that rows of a batch
 * depend on each other. If the graph contains the batch size, only full passes of whole batches are
 * possible. Do not call it while another thread uses the network; a failure changes nothing. */
int sis_net_count_rows(sis_net *net);

/* Values in one row; 0 if the network takes rows of different lengths. */
size_t sis_net_values(const sis_net *net);

/* Scores for one row; 0 if the network takes rows of different lengths: see
 * sis_net_batch_outputs. */
size_t sis_net_outputs(const sis_net *net);

/* 1 if the input is integers (token ids). Rows hold them as floats. */
int sis_net_integers(const sis_net *net);

/* 1 if margins differ from scores, see sis_net_margins. */
int sis_net_has_link(const sis_net *net);

/* Approximate multiply-adds per row; 0 if rows have different lengths. */
double sis_net_flops(const sis_net *net);

/* A description for people: input, metadata, nodes with shapes and parameters, output. With a walk
 * over the network (sis_net_walk or one that wraps it), also what the walk keeps of each node and
 * computes for each candidate. walk may be NULL. free(*text). */
int sis_net_describe(const sis_net *net, const sis_walk *walk, char **text);

/* Only the metadata of that description: kind, names, labels, mask, training. */
int sis_net_describe_meta(const sis_net *net, char **text);

/* ---- Several inputs ------------------------------------------------------------------------- */

typedef enum sis_net_type {
    SIS_NET_FLOATS,
    SIS_NET_INTS,
    SIS_NET_BOOLS,
    SIS_NET_TEXTS
} sis_net_type;

typedef struct sis_net_tensor {
    const char *name;
    sis_net_type type;
    sis_net_shape shape;
    const void *data; /* float, int64_t, uint8_t or const char *, as the type says */
} sis_net_tensor;

/* The declared inputs and their types and shapes (data is NULL). */
size_t sis_net_inputs(const sis_net *net);
int sis_net_input_get(const sis_net *net, size_t i, sis_net_tensor *input);

/* 1 if the input is the row or a part of it; 0 if its value is set or derived. */
int sis_net_input_is_fed(const sis_net *net, size_t i);

/* 1 if rows hold texts. */
int sis_net_takes_words(const sis_net *net);

/* Feed rows to this input alone (--explain NAME). The others must be set, or are derived from its
 * tokens by name: a mask is 1 for tokens and 0 for padding, token types and segments are 0,
 * positions count from 0, lengths count the tokens. NULL: undo. Do not call this or the next two
 * while another thread uses the network; a failure changes nothing. */
int sis_net_explain_input(sis_net *net, const char *name);

/* Take the scores from this output (FILE.onnx#NAME). NULL: from the first of floating point. */
int sis_net_choose_output(sis_net *net, const char *name);

/* 0, or why no rows can be fed: one of several inputs has a free size or no shape.
 * sis_net_set_input may fix it. */
int sis_net_ready(const sis_net *net);

/* Set an input to a fixed value (--with NAME=FILE), which rows then do not contain. Numbers are
 * converted to the input's type; one number (rank 0) fills the input. Any other value must have the
 * declared shape, except for axes of size 1: SIS_E_ARGUMENT. The tensor's name is ignored. NULL:
 * undo. */
int sis_net_set_input(sis_net *net, const char *name, const sis_net_tensor *value);

/* From now on rows are pixels, and the network gets (value - mean) / deviation (--normalize). n is
 * the number of channels, or 1: the same for all values. Call it once, after inputs are set. After
 * an error the network can only be freed. */
int sis_net_normalize(sis_net *net, const double *mean, const double *deviation, size_t n);

/* The id of the padding token, default 0. */
int sis_net_set_padding(sis_net *net, int64_t id);

/* The number that represents a text in a row; it stays the same as long as the network lives. */
int sis_net_word(const sis_net *net, const char *text, float *value);

/* Bytes of all texts seen so far, which the network keeps. */
size_t sis_net_words_size(const sis_net *net);

/* ---- Running ------------------------------------------------------------------------------- */

typedef struct sis_net_batch {
    const float *rows; /* (n_rows, n_values) */
    size_t n_rows, n_values;
    int embedded; /* token models: rows are embeddings (length, dim) instead of ids (length) */
    int jobs;     /* threads; 0 or 1: only the caller's */
    const sis_net_shape
        *shape; /* of each row (of ids, if rows are embeddings), all axes of sis_net_input_shape.
                   NULL: derived from n_values; two free sizes are equal, as in a square image */
} sis_net_batch;

/* Scores per row of a batch. The rows are not read. */
int sis_net_batch_outputs(const sis_net *net, const sis_net_batch *batch, size_t *n);

/* scores (n_rows, outputs) */
int sis_net_forward(const sis_net *net, const sis_net_batch *batch, float *scores);

/* margins (n_rows, outputs), computed in double from the single-precision inputs of the last
 * activation: softmax and log-softmax give the log-odds z_c - log sum over the others of exp(z_j),
 * sigmoid gives z, anything else the score itself. With a link, probability =
 * sis_net_link(margin). */
int sis_net_margins(const sis_net *net, const sis_net_batch *batch, double *margins);

/* 1 / (1 + exp(-margin)) */
double sis_net_link(double margin);

/* What to differentiate: with `weights` the sum of weights * scores over rows and outputs, else the
 * sum of the one `output` over rows. */
typedef struct sis_net_grad {
    size_t output;
    const float *weights; /* (n_rows, outputs) or NULL */
    int of_margins;       /* of margins instead of scores */
    float *d_rows;        /* (n_rows, n_values) result; NULL: not wanted */
    float *const
        *d_params; /* one array per parameter (any may be NULL), added to; NULL: not wanted */
} sis_net_grad;

/* Gradient with respect to rows and parameters, the same to the bit for any number of threads.
 * Token models need embedded rows for d_rows. SIS_E_UNSUPPORTED if the scores are not
 * differentiable in the rows (trees). */
int sis_net_gradient(const sis_net *net, const sis_net_batch *batch, const sis_net_grad *grad);

/* ---- Walks --------------------------------------------------------------------------------- */

typedef struct sis_net_walk_opt {
    int embedded;  /* token models: the values of the input are embeddings instead of ids */
    size_t memory; /* bytes it should stay below; 0: 1 GiB */
    int by_cost;   /* choose by cost: no walk if the input has too few features to pay for one; full
                      passes in batches once they prove faster. Margins are the same */
    const sis_net_shape *shape; /* of the row, as in a sis_net_batch */
} sis_net_walk_opt;

/* A walk over one input (sis/walk.h) that computes only what masking a feature changes; margins as
 * in sis_net_margins. Borrows the network; the input is needed only during the call. opt may be
 * NULL. SIS_E_UNSUPPORTED: the network has no incremental rules, memory is too small, or the input
 * has several mask samples: predict every masked copy instead. */
int sis_net_walk(const sis_net *net, const sis_input *input, const sis_net_walk_opt *opt,
                 sis_walk **out);

/* ---- Parameters ---------------------------------------------------------------------------- */

typedef struct sis_net_param {
    const char *name;
    sis_net_shape shape;
    size_t count;
    const float *values;
} sis_net_param;

/* The float initializers, in file order, without the mask. */
size_t sis_net_params(const sis_net *net);
int sis_net_param_get(const sis_net *net, size_t i, sis_net_param *param);

/* Replace the values of one parameter. Not while another thread uses the network. */
int sis_net_param_set(sis_net *net, size_t i, const float *values);

/* ---- Token models -------------------------------------------------------------------------- */

/* 1 if the network begins with the lookup of token ids in an embedding matrix. */
int sis_net_is_token(const sis_net *net);

/* That matrix, (vocabulary, dim). SIS_E_ARGUMENT if it is no token model. */
int sis_net_embedding(const sis_net *net, const float **matrix, size_t *vocabulary, size_t *dim);

/* ---- Metadata ------------------------------------------------------------------------------- */

/* Keys that sis writes into metadata_props. */
#define SIS_NET_META_KIND "sis.kind"             /* "image", "text", "dna", "table" ... */
#define SIS_NET_META_LABELS "sis.labels"         /* JSON array of strings, one per output */
#define SIS_NET_META_VOCABULARY "sis.vocabulary" /* JSON array of words, index = token id */
#define SIS_NET_META_TOKENIZER "sis.tokenizer" /* how text becomes words: SIS_TOKENIZER of data.h */
#define SIS_NET_META_LENGTH "sis.length"       /* words per row, if the network takes any number */
#define SIS_NET_META_NAMES "sis.names"         /* JSON array of strings, one per value */
#define SIS_NET_META_COLUMNS                                                                       \
    "sis.columns" /* JSON array of strings, one per value: its column */
#define SIS_NET_META_TRAINING "sis.training" /* JSON object: how it was trained */
#define SIS_NET_MASK "sis.mask"              /* an initializer that no node reads */

/* NULL if there is no such key. Valid until the key is set. */
const char *sis_net_meta_get(const sis_net *net, const char *key);
/* Add or replace; NULL removes. */
int sis_net_meta_set(sis_net *net, const char *key, const char *value);
size_t sis_net_meta_count(const sis_net *net);
const char *sis_net_meta_key(const sis_net *net, size_t i);

/* The name of an output, from sis.labels or the classifier's own labels. 0, or SIS_E_ARGUMENT if it
 * has none. */
int sis_net_label(const sis_net *net, size_t output, char *text, size_t size);

/* The model's mask and its length; NULL and 0 if it has none. */
const float *sis_net_mask(const sis_net *net, size_t *n);
int sis_net_mask_set(sis_net *net, const float *values, const sis_net_shape *shape);

/* ---- Files for another engine --------------------------------------------------------------- */

/* Read an ONNX file that another engine runs, with any operators. Its metadata, inputs, embedding
 * and output can be read and set as above. Running it is SIS_E_UNSUPPORTED. */
int sis_net_read_document(const char *path, sis_net **out);

typedef enum sis_net_activation {
    SIS_NET_NO_ACTIVATION,
    SIS_NET_SIGMOID,
    SIS_NET_SOFTMAX /* or its logarithm */
} sis_net_activation;

/* Names live as long as the network. */
typedef struct sis_net_cut {
    unsigned char *bytes; /* (n) an ONNX file of the outputs and inputs below; free() it */
    size_t n;
    const char *output; /* the scores; NULL: the file has no numeric output */
    sis_net_activation activation;
    const char *before; /* another output: the input of the last activation; NULL: none */
    int adds_output;    /* it is not an output of the original file, and follows those */
    int64_t axis;       /* of the softmax, from the end if negative */
    int to_the_end;     /* the softmax also covers all later axes */
    const char *embedded; /* another input: embeddings of the ids; the ids only give the shape.
                             NULL: ids are looked up, and the network is no token model */
} sis_net_cut;

/* Cut off the last activation and the lookup of token ids. Afterwards the document holds no weights
 * except its mask and embedding, and is read-only. */
int sis_net_cut_ends(sis_net *net, sis_net_cut *cut);

/* The text that a value of a row represents (sis_net_word); "" if none. */
const char *sis_net_text(const sis_net *net, float value);

/* ---- Building ------------------------------------------------------------------------------ */

/* A network under construction: add everything, then finish. Errors stick: every call after a
 * failed one does nothing, and sis_net_build returns what went wrong.
 *
 *     sis_net_builder *b = sis_net_builder_new("xor");
 *     sis_net_add_input(b, "x", 0, &(sis_net_shape){2, {0, 2}});
 *     sis_net_add_param(b, "w", &(sis_net_shape){2, {2, 1}}, w);
 *     sis_net_add_node(b, "MatMul", "x w", "y");
 *     sis_net_add_output(b, "y");
 *     sis_net_build(b, &net);                                  // frees b
 */
typedef struct sis_net_builder sis_net_builder;

sis_net_builder *sis_net_builder_new(const char *name);
void sis_net_builder_free(sis_net_builder *b); /* only to abandon it: sis_net_build frees it */

/* An input with all axes, including the one that counts rows; size 0 is free. */
int sis_net_add_input(sis_net_builder *b, const char *name, int integers,
                      const sis_net_shape *shape);
int sis_net_add_param(sis_net_builder *b, const char *name, const sis_net_shape *shape,
                      const float *values);
int sis_net_add_ints(sis_net_builder *b, const char *name, const sis_net_shape *shape,
                     const int64_t *values);

/* A node; names are separated by spaces, "-" omits an optional one. An operator of ai.onnx.ml is
 * written "ml.Scaler", one of com.microsoft "ms.FastGelu". Attributes belong to the last node
 * added. */
int sis_net_add_node(sis_net_builder *b, const char *op, const char *inputs, const char *outputs);
int sis_net_attr_int(sis_net_builder *b, const char *name, int64_t v);
int sis_net_attr_float(sis_net_builder *b, const char *name, float v);
int sis_net_attr_text(sis_net_builder *b, const char *name, const char *v);
int sis_net_attr_ints(sis_net_builder *b, const char *name, const int64_t *v, size_t n);
int sis_net_attr_floats(sis_net_builder *b, const char *name, const float *v, size_t n);
int sis_net_attr_texts(sis_net_builder *b, const char *name, const char *const *v, size_t n);

int sis_net_add_output(sis_net_builder *b, const char *name);
int sis_net_build(sis_net_builder *b, sis_net **out);

#ifdef __cplusplus
}
#endif
#endif
