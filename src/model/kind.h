/* SPDX-License-Identifier: MIT
 *
 * The interface of a kind of model that can be opened by name. To add a kind, write a file that
 * defines a sis__model_kind and add a line to the table of open.c.
 */
#ifndef SIS_MODEL_KIND_H
#define SIS_MODEL_KIND_H

#include <sis/handle.h>
#include <sis/model.h>

#include "model/shapes.h"

typedef struct sis__model_kind {
    const char *prefix,
        *suffix; /* suffixes of the specs it opens, separated by blanks; NULL: any */
    /* Is a file that begins like this of this kind? Called before suffixes are compared. NULL:
     * unknown. */
    int (*recognises)(const char *head, size_t n);
    const char *form, *meaning; /* "cmd:COMMAND", "a program that ...": for the list of kinds; NULL:
                                 * not listed */

    /* Open `spec`. out is zeroed; out->ctx must begin with a sis__opened. */
    int (*open)(const char *spec, const sis_model_opt *opt, sis_model *out);

    /* Set n_outputs of the model, and its link, by predicting one row. NULL: open sets them. */
    int (*measure)(sis_model *model, const double *row, size_t n_values);

    /* The predict function of its models: with it, a context begins with a sis__opened. */
    int (*predict)(void *ctx, const double *rows, size_t n, size_t n_values, double *scores);

    /* See sis_model_take_texts(). NULL: not supported. */
    int (*take_texts)(void *ctx, const sis_piece *pieces, size_t n);

    /* See sis_model_take_rows(). NULL: only numbers. */
    int (*take_rows)(void *ctx, const sis_row_form *form);

    /* See sis_model_take_prompts() and sis_model_account(). NULL: not a language model. */
    int (*take_prompts)(void *ctx, const sis_prompt *prompts, size_t n);
    int (*account)(void *ctx, size_t prompt, sis_prompt_account *out);

    /* See sis_model_take_batch(). NULL: not supported. */
    int (*take_batch)(sis_model *model);

    /* See sis_model_row_shape(); *shape is zeroed. NULL: unknown. */
    void (*row_shape)(const void *ctx, sis_net_shape *shape);
    void (*close)(void *ctx);

    /* A context for sis_model_share(), closed like the first. NULL: models of this kind have no
     * settings. */
    int (*share)(void *ctx, void **twin);

    /* See sis_model_document() and sis_model_engine(); NULL: none. And how token ids become
     * embeddings (zeroed: they do not). */
    const sis_net *(*document)(const void *ctx);
    const char *(*engine)(const void *ctx);
    struct sis__tokens *(*tokens)(void *ctx);
    int (*pad_token)(void *ctx,
                     size_t id); /* called when it changes; NULL: tokens() is sufficient */

    /* For sis_model_names() and sis_model_describe(); NULL: none. */
    const char *const *(*names)(const void *ctx);
    const char *const *const *(*words)(const void *ctx); /* sis_model_words() */
    int (*describe)(const void *ctx, char **text);
} sis__model_kind;

/* Identifies the context of an opened model for sis_model_close(). */
typedef struct sis__opened {
    const sis__model_kind *kind;
    char note[400]; /* for sis_model_note(); "": none */
    char **labels;  /* (n_labels) for sis_model_label(), of other kinds than networks */
    size_t n_labels;

    /* Declared shapes of rows; only open.c changes it. Workers borrow it with a copy of the
     * context, handles of sis_model_share() start without. */
    sis__shapes shapes;
} sis__opened;

/* Append a label; free all of them. */
int sis__opened_add_label(sis__opened *opened, const char *label);
void sis__opened_free_labels(sis__opened *opened);

/* Is this the address of a language model? */
int sis__llm_is_address(const char *spec);

extern const sis__model_kind sis__model_command;
extern const sis__model_kind sis__model_forest;
extern const sis__model_kind sis__model_http, sis__model_https;
extern const sis__model_kind sis__model_llm; /* opened through the two before */
extern const sis__model_kind sis__model_network;
extern const sis__model_kind sis__model_ort;

#endif
