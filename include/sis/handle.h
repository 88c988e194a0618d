/* SPDX-License-Identifier: MIT
 *
 * sis/handle.h - settings of an opened model that define the meaning of its rows.
 *
 * Experimental: may change from one version to the next.
 *
 * A task (sis/task.h) does all of this. Each opened model, and each handle from sis_model_share,
 * has its own settings.
 */
#ifndef SIS_HANDLE_H
#define SIS_HANDLE_H

#include <stddef.h>

#include <sis/error.h>
#include <sis/model.h>
#include <sis/sis.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The file of a FILE.onnx or ort: model: its metadata and inputs. Another engine may run the
 * network: use sis_model_net() for one that sis can run. NULL for other models, and if only ONNX
 * Runtime can read the file. */
const sis_net *sis_model_document(const sis_model *model);

/* The engine that computes the scores: "ONNX Runtime 1.30.0". NULL: sis itself, a child or a
 * server. */
const char *sis_model_engine(const sis_model *model);

/* Another folder to search for ONNX Runtime's library (libonnxruntime.so*), after $SIS_ORT and
 * before all others. Call it before the first model is opened. */
void sis_model_ort_folder(const char *folder);

/* Set the embedding of SIS_TOKEN_MASK in a token model: n values; NULL: the mean over its
 * vocabulary. Default: the model's mask, or else that mean. Not while the model is in use. */
int sis_model_mask_token(sis_model *model, const double *embedding, size_t n);

/* Set the padding token of a token model, and whether it follows the other tokens (where tokens are
 * removed, and attention masks are off). Default: token 0, in front. Not while the model is in use;
 * handles of sis_model_share refuse another id. */
int sis_model_pad_token(sis_model *model, size_t id, int behind);

/* Rows of a cmd: or http: model, or of a network with one string input, are texts from now on. Each
 * value is the number of a piece, from 0, or NaN for none; the model gets the concatenated pieces.
 * A network then has no walk and no gradient. `pieces` are borrowed until the model is closed.
 * SIS_E_UNSUPPORTED for other models, and for a server's model that is known to take numbers. Not
 * while the model is in use. */
int sis_model_take_texts(sis_model *model, const sis_piece *pieces, size_t n);

/* Rows of a table as cells: words as words, numbers as numbers. A column of words has one value per
 * category: 1 for its category, 0 for the others. NaN in a number or in all categories is a missing
 * value, null. */
typedef struct sis_row_column {
    const char *name;
    size_t first, n;               /* its values */
    const char *const *categories; /* (n) NULL: a number, one value */
    const double *numbers; /* (n) categories that are all numbers, sent as numbers; NULL: words */
    int logical;           /* categories 1 and 0, sent as true and false */
} sis_row_column;

typedef struct sis_row_form {
    const sis_row_column *columns; /* (n) in the order of their values */
    size_t n;
    int objects; /* {"age":34,"housing":"own"}; else [34,"own"] */
} sis_row_form;

/* Send rows in this form to a cmd: or http: model, or to a network with string inputs. MLflow gets
 * dataframe_records or dataframe_split. A network finds columns by the names of its inputs if each
 * is one column, else in order; it then has no walk and no gradient. `form` is borrowed until the
 * model is closed. SIS_E_UNSUPPORTED for other models, for servers of the Open Inference Protocol
 * and for servers whose model takes a tensor of numbers. Predicting a row that mixes categories is
 * SIS_E_ARGUMENT. Not while the model is in use. */
int sis_model_take_rows(sis_model *model, const sis_row_form *form);

/* A prompt of a language model: `before`, the parts with the text between them, `after`, then the
 * answer. Parts are pieces of one text, in order. Borrowed. */
typedef struct sis_prompt {
    const char *before, *after;
    const sis_piece *parts; /* (n) */
    size_t n;
    const char *answer; /* NULL: the model's own answer to the whole prompt */
    int own;            /* `answer` was the model's own: it follows the prompt without a blank */
} sis_prompt;

/* Rows of a language model (http://HOST/v1/completions#MODEL and similar) refer to these prompts
 * from now on: the first value is the number of the prompt, followed by one value per part, 1 to
 * keep it and 0 to leave it out. `prompts` are borrowed until the model is closed.
 * SIS_E_UNSUPPORTED for other models. Not while the model is in use. */
int sis_model_take_prompts(sis_model *model, const sis_prompt *prompts, size_t n);

/* The answer to a prompt, and the cost of its requests so far. */
typedef struct sis_prompt_account {
    const char
        *answer; /* given, or the model's own; NULL: not requested yet. Lives as long as the
                    model */
    int own;     /* the answer is the model's own */
    size_t requests, prompt_tokens, completion_tokens; /* as the server counts tokens */
    double noise; /* the largest difference between two scores of one row */
    int bounded;  /* some scores are upper bounds: a token was not among those reported */
} sis_prompt_account;
int sis_model_account(const sis_model *model, size_t prompt, sis_prompt_account *out);

/* Rows of a FILE.onnx that was exported for a fixed batch (ten images, say) are single elements of
 * the batch from now on (sis_net_count_rows): n_values and n_outputs change. Refused for handles of
 * sis_model_share and if rows depend on each other. Not while the model is in use. */
int sis_model_take_batch(sis_model *model);

/* The shape of a row of a FILE.onnx, ort: or http: model, without the axis that counts rows; 0 for
 * free sizes; rank 0: unknown. Returns the number of free sizes. */
size_t sis_model_row_shape(const sis_model *model, sis_net_shape *shape);

/* Rows with as many values as this shape have this shape from now on. Needed if several sizes are
 * free (sis_model_row_shape), because the number of values alone does not distinguish a wide image
 * from a high one. Axes of size 1 may be omitted. SIS_E_ARGUMENT: the model does not accept this
 * shape, or this handle already has another shape of as many values: use another handle
 * (sis_model_share). SIS_E_UNSUPPORTED: the input's shape is unknown. Not while the model is in
 * use. takes_shape: 1 if this shape was set. */
int sis_model_take_shape(sis_model *model, const size_t *dims, size_t rank);
int sis_model_takes_shape(const sis_model *model, const size_t *dims, size_t rank);

#ifdef __cplusplus
}
#endif
#endif
