/* SPDX-License-Identifier: MIT
 *
 * sis/handle.h - what an opened model is told before it is asked: how its rows are meant.
 *
 * Experimental: what is declared here may change from one version to the next.
 *
 *
 * A task (sis/task.h) does all of this. Each opened model, and each handle that sis_model_share makes of
 * it, is told for itself.
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

/* What the file of a FILE.onnx or ort: model carries, likewise, and what its inputs are. It may be a
 * network that another engine runs: ask sis_model_net() for one to run. NULL for other kinds, and if ONNX Runtime
 * alone can read the file. */
const sis_net *sis_model_document(const sis_model *model);

/* What computes the scores, if that is another engine: "ONNX Runtime 1.30.0". NULL: sis itself, a child or a
 * server. */
const char *sis_model_engine(const sis_model *model);

/* A further folder in which ONNX Runtime's library (libonnxruntime.so*) is looked for, before all others but
 * $SIS_ORT. Call it before the first model is opened. */
void sis_model_ort_folder(const char *folder);

/* What SIS_TOKEN_MASK looks like to a token model: n values, its embedding. As opened, it is the
 * mask the model carries or else the mean over its vocabulary. Not while the model is in use. */
int sis_model_mask_token(sis_model *model, const double *embedding, size_t n);

/* Which token of a token model stands where there is none, and whether it comes behind the others
 * (where tokens are removed, and attention masks are off). As opened: token 0, in front. Not while
 * the model is in use; another number is refused for a handle of sis_model_share. */
int sis_model_pad_token(sis_model *model, size_t id, int behind);

/* From now on rows of a cmd: or http: model, or of a network whose one input is a string, are texts:
 * each value is the number of a piece from 0, or NaN for none, and the model is sent the pieces one
 * behind the other. A network has no walk and no gradient then. `pieces` are borrowed until the model
 * is closed. SIS_E_UNSUPPORTED for other kinds, and for a server's model of which
 * it is known that it takes numbers. Not while the model is in use. */
int sis_model_take_texts(sis_model *model, const sis_piece *pieces, size_t n);

/* How rows of a table are given to a model as they are: words as words, numbers as numbers. A column
 * of words is several values of a row, one for each category: 1 for the one it is, 0 for the others;
 * NaN in all of them, or in a number, is an absent value, null. */
typedef struct sis_row_column {
    const char *name;
    size_t first, n;               /* its values */
    const char *const *categories; /* (n) NULL: a number, which is one value */
    const double *numbers; /* (n) categories that all are numbers, sent as such; NULL: words */
    int logical;           /* these are 1 and 0, sent as true and false */
} sis_row_column;

typedef struct sis_row_form {
    const sis_row_column *columns; /* (n) in the order of their values */
    size_t n;
    int objects; /* {"age":34,"housing":"own"}; else [34,"own"] */
} sis_row_form;

/* From now on rows of a cmd: or http: model, or of a network with inputs of strings, are given so. To
 * MLflow they are dataframe_records or dataframe_split. A network finds columns by the names of its
 * inputs where each is one column, else in their order; it has no walk and no gradient then. `form` is borrowed until the model is closed. SIS_E_UNSUPPORTED for other kinds,
 * for servers of the Open Inference Protocol and those that say their model takes a tensor: these
 * hold numbers. A row that mixes categories is SIS_E_ARGUMENT when it is asked about. Not while the
 * model is in use. */
int sis_model_take_rows(sis_model *model, const sis_row_form *form);

/* A prompt of a language model: `before`, the parts with what stands between them, `after`; then the answer.
 * Parts lie in one text, in order. Borrowed. */
typedef struct sis_prompt {
    const char *before, *after;
    const sis_piece *parts; /* (n) */
    size_t n;
    const char *answer; /* NULL: the model's own to the whole prompt */
    int own;            /* `answer` was the model's own: it follows the prompt without a blank */
} sis_prompt;

/* From now on rows of a language model (http://HOST/v1/completions#MODEL and its kin) are about these prompts:
 * the first value is the number of the prompt, then come as many as it has parts, 1 to keep the part and
 * 0 to leave it out. `prompts` are borrowed until the model is closed. SIS_E_UNSUPPORTED for other kinds. Not
 * while the model is in use. */
int sis_model_take_prompts(sis_model *model, const sis_prompt *prompts, size_t n);

/* The cost of the questions about a prompt so far, and their results. */
typedef struct sis_prompt_account {
    const char
        *answer; /* given, or the model's own; NULL: not asked yet. Lives as long as the model */
    int own;     /* the answer is the model's own */
    size_t requests, prompt_tokens, completion_tokens; /* as the server counts tokens */
    double noise; /* the largest difference between two scores of one question */
    int bounded;  /* some scores are upper bounds: a token was not among those reported */
} sis_prompt_account;
int sis_model_account(const sis_model *model, size_t prompt, sis_prompt_account *out);

/* From now on a row of a FILE.onnx that was exported for a fixed number of rows (ten images, say) is one of them
 * (sis_net_count_rows): n_values and n_outputs of the model are set anew. Refused for handles of
 * sis_model_share and where rows depend on each other. Not while the model is in use. */
int sis_model_take_batch(sis_model *model);

/* What shape a row has, without the axis that counts rows, 0 for sizes that are free, as a FILE.onnx, an ort:
 * or an http: model says; no axes: it does not say. How many sizes are free. */
size_t sis_model_row_shape(const sis_model *model, sis_net_shape *shape);

/* From now on rows that have as many values as this shape are of this shape. Needed where a model leaves
 * several sizes free (sis_model_row_shape), and a number of values does not tell a wide image from a high one;
 * axes of size 1 may be left out. SIS_E_ARGUMENT: the model takes no such rows, or this handle was told
 * another shape of as many values: then it is a matter for another handle (sis_model_share).
 * SIS_E_UNSUPPORTED: it does not say what it takes. Not while the model is in use. And: was it told so? */
int sis_model_take_shape(sis_model *model, const size_t *dims, size_t rank);
int sis_model_takes_shape(const sis_model *model, const size_t *dims, size_t rank);

#ifdef __cplusplus
}
#endif
#endif
