/* SPDX-License-Identifier: MIT
 *
 * Shared by the files behind FILE.onnx and ort:FILE.onnx.
 */
#ifndef SIS_MODEL_NETWORK_H
#define SIS_MODEL_NETWORK_H

#include <sis/handle.h>
#include <sis/net.h>

#include "model/kind.h"

/* ---- tokens.c ------------------------------------------------------------------------------ */

/* From ids to embeddings. A value of a row is a token's number, SIS_TOKEN_MASK, or NaN: removed. */
typedef struct sis__tokens {
    const float *matrix; /* (vocabulary, dim); NULL: the network does not take tokens */
    size_t vocabulary, dim;
    float *mask; /* (dim) the embedding of SIS_TOKEN_MASK */
    size_t pad;  /* id of the padding token */
    int behind;  /* padding goes after the tokens, not before */
} sis__tokens;

/* The mask is the model's own if it has one of `dim` values, else the mean over the vocabulary. */
int sis__tokens_init(sis__tokens *t, const sis_net *net);

/* Set the mask to the mean over the vocabulary. */
void sis__tokens_mean(const sis__tokens *t);

/* ids (n) -> embeddings (n, dim). If ids are removed, the others move together and padding fills
 * the space before or after them. */
int sis__tokens_embed(const sis__tokens *t, const double *ids, size_t n, float *out);

/* The network's walk over the embeddings of an input of ids. */
int sis__tokens_walk(const sis__tokens *t, const sis_net *net, const sis_input *input,
                     const sis_net_walk_opt *opt, sis_walk **out);

/* ---- texts.c ------------------------------------------------------------------------------- */

/* Texts as rows of a network that takes one string. Threads may share it. */
typedef struct sis__texts sis__texts;

/* `pieces` are borrowed. SIS_E_UNSUPPORTED: the network takes another type. */
int sis__texts_new(const sis_net *net, const sis_piece *pieces, size_t n, sis__texts **out);
void sis__texts_free(sis__texts *t);

/* margins (n, n_outputs) of rows (n, n_values); a value is the number of a piece, NaN: none. */
int sis__texts_margins(sis__texts *t, const double *rows, size_t n, size_t n_values,
                       size_t n_outputs, double *margins);

/* ---- mixed.c ------------------------------------------------------------------------------- */

/* Rows of a table as rows of a network that takes words. */
typedef struct sis__mixed {
    struct sis__mixed_value *items; /* (n) NULL: rows are plain numbers */
    size_t n;                       /* number of values of the network's row */
} sis__mixed;

/* `form` is borrowed. */
int sis__mixed_init(sis__mixed *c, const sis_net *net, const sis_row_form *form);
void sis__mixed_free(sis__mixed *c);

/* Convert a row of the form to a row of the network (c->n). */
int sis__mixed_row(const sis__mixed *c, const double *from, float *row);

/* ---- ort.c --------------------------------------------------------------------------------- */

/* Open FILE or FILE#OUTPUT in ONNX Runtime. `note`: the text of sis_model_note(), or NULL. */
int sis__ort_open(const char *spec, const sis_model_opt *opt, const char *note, sis_model *out);

/* ---- network.c ----------------------------------------------------------------------------- */

/* Insert (value - mean) / deviation before the network, as --normalize says. */
int sis__network_normalize(sis_net *net, const char *text);

typedef struct network_model {
    sis__opened opened; /* first: see kind.h */
    sis_net *net;
    int borrowed; /* the network belongs to another handle */
    sis__tokens tokens;
    sis__mixed mixed;
    sis__texts *texts; /* NULL: rows are not texts */
    size_t n_outputs;  /* 0: not measured yet */
    int always_walk;   /* whatever the cost: for tests */
} network_model;

#endif
