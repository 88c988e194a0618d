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
 * Rows go in at one end, scores come out of the first output that holds floats (scikit-learn's label
 * outputs are left aside; a model that has nothing else gives those, as numbers). The first axis of
 * the input counts rows if it is free or 1; else the whole input is one row. A model of several
 * inputs takes them side by side in one row, in the order of the file, unless one of them is token
 * ids: then the others follow from it (see Several inputs). Texts are numbers in a row
 * (sis_net_word).
 *
 * What it promises: a row's result does not depend, to the bit, on the rows beside it, on its place
 * among them or on the number of threads. Everything is computed in single precision.
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

/* Read an ONNX file, opsets 7 to 22. What cannot be run is refused here: SIS_E_UNSUPPORTED with the
 * operator, the node and what to do; SIS_E_FORMAT for anything that is not a whole, sound model. */
int sis_net_read(const char *path, sis_net **out);

/* The same from memory, which is not needed afterwards. */
int sis_net_parse(const void *bytes, size_t n, sis_net **out);

/* Write it, with everything that was in the file it came from. */
int sis_net_write(const sis_net *net, const char *path);

/* The same to memory; free(*bytes). */
int sis_net_pack(const sis_net *net, void **bytes, size_t *n);

void sis_net_free(sis_net *net);

/* The instruction set that networks run on here: "avx512", "avx2" or "base". */
const char *sis_net_kernels(void);

/* ---- What it takes and gives ---------------------------------------------------------------- */

enum { SIS_NET_MAX_RANK = 8 };

typedef struct sis_net_shape {
    size_t rank;
    size_t dims[SIS_NET_MAX_RANK]; /* 0: any size */
} sis_net_shape;

/* Shape of one row, without the axis that counts rows. */
void sis_net_input_shape(const sis_net *net, sis_net_shape *shape);

/* The first axis of its input, of a fixed size (as of an export for ten images), counts rows from now on: each is one row.
 * SIS_E_ARGUMENT: there is no such axis; SIS_E_UNSUPPORTED: rows of a batch depend on each other, which is tried out. Where
 * the graph has their number built in, only full passes of whole batches are made. Not while another thread
 * uses the network; on failure it is as before. */
int sis_net_count_rows(sis_net *net);

/* Values in one row; 0 if the network takes rows of different lengths. */
size_t sis_net_values(const sis_net *net);

/* Scores for one row; 0 if the network takes rows of different lengths: see
 * sis_net_batch_outputs. */
size_t sis_net_outputs(const sis_net *net);

/* Is the input whole numbers (token ids)? Rows hold them as floats either way. */
int sis_net_integers(const sis_net *net);

/* Do margins differ from scores? See sis_net_margins. */
int sis_net_has_link(const sis_net *net);

/* Multiply-adds for one row, about; 0 if rows have different lengths. */
double sis_net_flops(const sis_net *net);

/* A description for people: input, what else the file carries, nodes with their shapes and parameters, output; and, given a
 * walk over the network (sis_net_walk, or one that passes on to it), how each node takes part in
 * it: what is kept and what is computed of it for each candidate. walk: may be NULL.
 * free(*text). */
int sis_net_describe(const sis_net *net, const sis_walk *walk, char **text);

/* Of that, what else the file carries: kind, names, labels, mask, how it was trained. */
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

/* The inputs that the file declares, and what each takes (data is NULL). */
size_t sis_net_inputs(const sis_net *net);
int sis_net_input_get(const sis_net *net, size_t i, sis_net_tensor *input);

/* Is it the row, or a part of it? Else it is given, or follows. */
int sis_net_input_is_fed(const sis_net *net, size_t i);

/* Are there texts among what a row holds? */
int sis_net_takes_words(const sis_net *net);

/* Rows are fed to this input alone (--explain NAME). The others must have been given, or follow from
 * its tokens: by their names, a mask is 1 where a token is and 0 where the padding token is, token
 * types and segments are 0, positions count from 0, lengths count the tokens. NULL: as it was read.
 * Neither this nor the next two while another thread uses the network; on failure it is as before. */
int sis_net_explain_input(sis_net *net, const char *name);

/* From now on this output gives the scores (FILE.onnx#NAME), not the first of floating point. NULL: that one again. */
int sis_net_choose_output(sis_net *net, const char *name);

/* 0, or why no rows can be fed as things are: an input of several leaves a size free, or has no shape. sis_net_set_input may
 * change that. */
int sis_net_ready(const sis_net *net);

/* From now on this input has that value (--with NAME=FILE), and rows no part for it; numbers are
 * converted to what it takes, one number (rank 0) fills all of it. Any other has the shape that the file
 * declares, but for axes of 1: SIS_E_ARGUMENT if not. The name of the tensor does not matter. NULL: no
 * longer. */
int sis_net_set_input(sis_net *net, const char *name, const sis_net_tensor *value);

/* Rows are pixels from now on, and the network sees (value - mean) / deviation (--normalize): n is the
 * number of channels of the images it takes, or 1: the same for all values. Once, after inputs are
 * set. After an error the network can only be freed. */
int sis_net_normalize(sis_net *net, const double *mean, const double *deviation, size_t n);

/* The id of the token that stands for no token, 0 unless set. */
int sis_net_set_padding(sis_net *net, int64_t id);

/* What stands for a text in a row: the same number for the same text as long as the network lives. */
int sis_net_word(const sis_net *net, const char *text, float *value);

/* Bytes of all texts that the network has seen, which it keeps. */
size_t sis_net_words_size(const sis_net *net);

/* ---- Running ------------------------------------------------------------------------------- */

typedef struct sis_net_batch {
    const float *rows; /* (n_rows, n_values) */
    size_t n_rows, n_values;
    int embedded; /* token models: rows are embeddings (length, dim) instead of ids (length) */
    int jobs;     /* threads; 0 or 1: the caller's alone */
    const sis_net_shape
        *shape; /* of each row (of ids, if rows are embeddings), all axes of sis_net_input_shape.
                                   NULL: what n_values tells; of two sizes that are free both are
                                   alike, as those of a square image */
} sis_net_batch;

/* Scores for each row of a batch, whose rows are not looked at. */
int sis_net_batch_outputs(const sis_net *net, const sis_net_batch *batch, size_t *n);

/* scores (n_rows, outputs) */
int sis_net_forward(const sis_net *net, const sis_net_batch *batch, float *scores);

/* margins (n_rows, outputs), computed in double from the single-precision values in front of the
 * last activation: softmax and log-softmax give the log-odds z_c - log sum over the others of
 * exp(z_j), sigmoid gives z, anything else the score itself. Where there is a link, probability =
 * sis_net_link(margin). */
int sis_net_margins(const sis_net *net, const sis_net_batch *batch, double *margins);

/* 1 / (1 + exp(-margin)) */
double sis_net_link(double margin);

/* What to differentiate. With `weights` the function is the sum of weights * scores over rows and
 * outputs, without it the sum over rows of the one `output`. */
typedef struct sis_net_grad {
    size_t output;
    const float *weights; /* (n_rows, outputs) or NULL */
    int of_margins;       /* of margins instead of scores */
    float *d_rows;        /* (n_rows, n_values) result; NULL: not wanted */
    float *const
        *d_params; /* one array a parameter (any may be NULL), added to; NULL: not wanted */
} sis_net_grad;

/* Gradient with respect to rows and parameters. The same to the bit for any number of threads.
 * Token models need embedded rows for d_rows. SIS_E_UNSUPPORTED where the scores are not
 * differentiable in the rows (trees). */
int sis_net_gradient(const sis_net *net, const sis_net_batch *batch, const sis_net_grad *grad);

/* ---- Walks --------------------------------------------------------------------------------- */

typedef struct sis_net_walk_opt {
    int embedded;  /* token models: the values of the input are embeddings instead of ids */
    size_t memory; /* bytes it should stay below; 0: 1 GiB */
    int by_cost;   /* choose by what it costs: no walk for an input of so few features that a
                      backward selection is over before it has paid to make one; and full passes in
                      batches once they turn out to be faster. Margins are the same */
    const sis_net_shape *shape; /* of the row, as in a sis_net_batch */
} sis_net_walk_opt;

/* A walk over one input (sis.h) that computes only what masking a feature changes; margins as
 * sis_net_margins gives them. Borrows the network; the input is needed only by this call. opt may
 * be NULL. SIS_E_UNSUPPORTED: no rule fits this network, or not within that memory, or the input has
 * several mask samples: predict every masked copy instead. */
int sis_net_walk(const sis_net *net, const sis_input *input, const sis_net_walk_opt *opt,
                 sis_walk **out);

/* ---- Parameters ---------------------------------------------------------------------------- */

typedef struct sis_net_param {
    const char *name;
    sis_net_shape shape;
    size_t count;
    const float *values;
} sis_net_param;

/* The float initializers, in file order (the mask is none of them). */
size_t sis_net_params(const sis_net *net);
int sis_net_param_get(const sis_net *net, size_t i, sis_net_param *param);

/* Replace the values of one. Not while another thread uses the network. */
int sis_net_param_set(sis_net *net, size_t i, const float *values);

/* ---- Token models -------------------------------------------------------------------------- */

/* Does the network look its input up in an embedding matrix first? */
int sis_net_is_token(const sis_net *net);

/* That matrix, (vocabulary, dim). SIS_E_ARGUMENT if it is no token model. */
int sis_net_embedding(const sis_net *net, const float **matrix, size_t *vocabulary, size_t *dim);

/* ---- What a model carries ------------------------------------------------------------------- */

/* Keys that sis itself writes into metadata_props. */
#define SIS_NET_META_KIND "sis.kind"             /* "image", "text", "dna", "table" ... */
#define SIS_NET_META_LABELS "sis.labels"         /* JSON array of strings, one an output */
#define SIS_NET_META_VOCABULARY "sis.vocabulary" /* JSON array of words, index = token id */
#define SIS_NET_META_TOKENIZER "sis.tokenizer" /* how text becomes words: SIS_TOKENIZER of data.h */
#define SIS_NET_META_LENGTH "sis.length"       /* how many words a row holds, if any number fits */
#define SIS_NET_META_NAMES "sis.names"         /* JSON array of strings, one a value */
#define SIS_NET_META_COLUMNS                                                                       \
    "sis.columns" /* JSON array of strings, one a value: what its column is called */
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

/* The mask that the model carries: its values and how many; NULL and 0 if it carries none. */
const float *sis_net_mask(const sis_net *net, size_t *n);
int sis_net_mask_set(sis_net *net, const float *values, const sis_net_shape *shape);

/* ---- For another engine ---------------------------------------------------------------------- */

/* Read an ONNX file that another engine runs, whatever its operators: what it carries, its inputs, its
 * embedding and its output can be asked for and set as above. Nothing of it is run here:
 * SIS_E_UNSUPPORTED. */
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
    const char *output; /* the scores; NULL: the file has no output of numbers */
    sis_net_activation activation;
    const char *before; /* a further output: what the last activation reads; NULL: there is none */
    int adds_output;    /* it is none of the file's own outputs, and comes behind them */
    int64_t axis;       /* that a softmax runs along, from the end if negative */
    int to_the_end;     /* and along all behind it */
    const char *embedded; /* a further input: embeddings of the ids; the ids only lend their shape.
                             NULL: ids are looked up, and the network is no token model */
} sis_net_cut;

/* A document with its last activation and its lookup of token ids cut off. Afterwards the document holds
 * no weights but its mask and embedding, and can only be asked, not changed. */
int sis_net_cut_ends(sis_net *net, sis_net_cut *cut);

/* The text that stands for a value of a row (sis_net_word); "" if none does. */
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
void sis_net_builder_free(sis_net_builder *b); /* to give up; sis_net_build does it otherwise */

/* An input with all its axes, the one that counts rows included; a size of 0 is free. */
int sis_net_add_input(sis_net_builder *b, const char *name, int integers,
                      const sis_net_shape *shape);
int sis_net_add_param(sis_net_builder *b, const char *name, const sis_net_shape *shape,
                      const float *values);
int sis_net_add_ints(sis_net_builder *b, const char *name, const sis_net_shape *shape,
                     const int64_t *values);

/* A node; names are separated by spaces, "-" leaves an optional one out. An operator of ai.onnx.ml
 * is written "ml.Scaler", one of com.microsoft "ms.FastGelu". Attributes are those of the node added last. */
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
