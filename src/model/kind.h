/* SPDX-License-Identifier: MIT
 *
 * What the kinds of models that can be opened by name have in common. A new kind is a file that
 * defines a sis__model_kind and a line in the table of open.c.
 */
#ifndef SIS_MODEL_KIND_H
#define SIS_MODEL_KIND_H

#include <sis/handle.h>
#include <sis/model.h>

#include "model/shapes.h"

typedef struct sis__model_kind {
    const char *prefix,
        *suffix; /* of the specs it opens, suffixes with blanks between; NULL: any */
    /* Is it the kind of a file that begins so? Asked before any suffix is looked at. NULL: it cannot
     * tell. */
    int (*recognises)(const char *head, size_t n);
    const char *form, *meaning; /* "cmd:COMMAND", "a program that ...": for the list of kinds;
                                   NULL: the list is long enough */

    /* Open `spec`, all of it. out is zeroed; out->ctx must begin with a sis__opened. */
    int (*open)(const char *spec, const sis_model_opt *opt, sis_model *out);

    /* Set n_outputs of the model, and its link, by predicting one row. NULL: open sets them. */
    int (*measure)(sis_model *model, const double *row, size_t n_values);

    /* The predict of its models, by which they are known. */
    int (*predict)(void *ctx, const double *rows, size_t n, size_t n_values, double *scores);

    /* As sis_model_take_texts says. NULL: this kind takes none. */
    int (*take_texts)(void *ctx, const sis_piece *pieces, size_t n);

    /* As sis_model_take_rows says. NULL: this kind takes numbers. */
    int (*take_rows)(void *ctx, const sis_row_form *form);

    /* As sis_model_take_prompts and sis_model_account say. NULL: it is no language model. */
    int (*take_prompts)(void *ctx, const sis_prompt *prompts, size_t n);
    int (*account)(void *ctx, size_t prompt, sis_prompt_account *out);

    /* As sis_model_take_batch says. NULL: this kind has none. */
    int (*take_batch)(sis_model *model);

    /* As sis_model_row_shape says; *shape is zeroed. NULL: this kind does not say. */
    void (*row_shape)(const void *ctx, sis_net_shape *shape);
    void (*close)(void *ctx);

    /* A context for sis_model_share(), closed like the first. NULL: nothing can be told to models of
     * this kind. */
    int (*share)(void *ctx, void **twin);

    /* As sis_model_document(), sis_model_engine() say; NULL: it has none. And how token ids become
     * embeddings (zeroed: they do not). */
    const sis_net *(*document)(const void *ctx);
    const char *(*engine)(const void *ctx);
    struct sis__tokens *(*tokens)(void *ctx);
    int (*pad_token)(void *ctx,
                     size_t id); /* it is another one from now on; NULL: tokens() will do */

    /* For sis_model_names() and sis_model_describe(); NULL: nothing to say. */
    const char *const *(*names)(const void *ctx);
    int (*describe)(const void *ctx, char **text);
} sis__model_kind;

/* How sis_model_close() knows what it closes. */
typedef struct sis__opened {
    const sis__model_kind *kind;
    char note[400]; /* for sis_model_note(); "": none */
    char **labels;  /* (n_labels) for sis_model_label(), of other kinds than networks */
    size_t n_labels;

    /* That rows were said to have; open.c alone changes it. Workers borrow it with a copy of the context, handles of
     * sis_model_share() begin anew. */
    sis__shapes shapes;
} sis__opened;

/* Another label; and free all of them. */
int sis__opened_add_label(sis__opened *opened, const char *label);
void sis__opened_free_labels(sis__opened *opened);

/* Does a language model answer at this address? */
int sis__llm_is_address(const char *spec);

extern const sis__model_kind sis__model_command;
extern const sis__model_kind sis__model_forest;
extern const sis__model_kind sis__model_http, sis__model_https;
extern const sis__model_kind sis__model_llm; /* opened by way of the two before */
extern const sis__model_kind sis__model_network;
extern const sis__model_kind sis__model_ort;

#endif
