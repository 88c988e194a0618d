/* SPDX-License-Identifier: MIT
 *
 * From the value of --model to a model: the table of kinds, and the functions of sis/model.h that
 * use it.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sis/handle.h>

#include "base/dims.h"
#include "base/error.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/sized.h"
#include "model/kind.h"
#include "model/network.h"

static const sis__model_kind *const kinds[] = {
    &sis__model_command, /* prefixes before suffixes: cmd:run m.onnx */
    &sis__model_http,    &sis__model_https,  &sis__model_ort,
    &sis__model_network, &sis__model_forest, &sis__model_llm,
};
enum { N_KINDS = sizeof kinds / sizeof *kinds };

static const sis__sized opt_type = {
    "sis_model_opt", "sis_model_opt_init", sizeof(sis_model_opt), {{0}}};
static const sis__sized model_type = {"sis_model", "sis_model_init", sizeof(sis_model), {{0}}};

static const sis_model_opt standard = {
    .size = sizeof(sis_model_opt), .timeout = 60, .retries = 3, .jobs = 1};

void sis_model_opt_defaults(sis_model_opt *opt) {
    sis__sized_copy(&opt_type, opt, &standard);
}

/* Does it end in one of these suffixes, which are separated by blanks? */
static int ends_in(const char *spec, const char *suffixes) {
    size_t length = strlen(spec), n;
    for (const char *at = suffixes; *at; at += n + (at[n] == ' ')) {
        n = strcspn(at, " ");
        if (length > n && memcmp(spec + length - n, at, n) == 0)
            return 1;
    }
    return 0;
}

static int is_of_kind(const char *spec, const sis__model_kind *kind) {
    size_t prefix = kind->prefix ? strlen(kind->prefix) : 0;
    if (prefix && strncmp(spec, kind->prefix, prefix) != 0)
        return 0;
    return strlen(spec) > 0 && (kind->suffix ? ends_in(spec, kind->suffix) : prefix > 0);
}

/* The kind of a file, from its content; NULL: unknown, or not a file. */
static const sis__model_kind *recognise(const char *spec) {
    char head[256];
    size_t n = sis__file_head(spec, head, sizeof head);
    for (size_t i = 0; n > 0 && i < N_KINDS; i++)
        if (kinds[i]->recognises && kinds[i]->recognises(head, n))
            return kinds[i];
    return NULL;
}

/* A network followed by the name of an output: FILE.onnx#y. Other kinds have no named outputs. */
static const sis__model_kind *recognise_parted(const char *spec) {
    char *file;
    const char *name;
    const sis__model_kind *kind = NULL;
    if (sis__file_part(spec, &file, &name) == SIS_OK && name &&
        (recognise(file) == &sis__model_network || is_of_kind(file, &sis__model_network)))
        kind = &sis__model_network;
    free(file);
    return kind;
}

static int unknown(const char *spec) {
    char list[1024] = "";
    size_t used = 0;
    for (size_t i = 0; i < N_KINDS && used < sizeof list; i++)
        if (kinds[i]->form)
            used += (size_t)snprintf(list + used, sizeof list - used, "%s%s (%s)", i ? " or " : "",
                                     kinds[i]->form, kinds[i]->meaning);
    return sis__fail(SIS_E_ARGUMENT, "model \"%.200s\": expected %s", spec, list);
}

/* An input that is given twice is ambiguous. */
static int check_with(const sis_model_opt *o) {
    for (size_t i = 0; i < o->n_with; i++)
        for (size_t k = 0; k < i; k++)
            if (strcmp(o->with[k].name, o->with[i].name) == 0)
                return sis__fail(SIS_E_ARGUMENT, "--with: input %.60s is given twice",
                                 o->with[i].name);
    return SIS_OK;
}

/* Refuse options that this kind of model ignores, and conflicting ones. */
static int check_options(const sis__model_kind *kind, const sis_model_opt *o) {
    int named = kind != &sis__model_command && kind != &sis__model_forest;
    if (o->normalize && kind != &sis__model_network && kind != &sis__model_ort)
        return sis__fail(SIS_E_ARGUMENT, "--normalize needs a network in an .onnx file");
    if ((o->explain || o->n_with) && !named)
        return sis__fail(
            SIS_E_ARGUMENT,
            "--%s: only networks in .onnx files and models at /v2/models/NAME have named inputs",
            o->explain ? "explain" : "with");
    if ((o->score || o->cache) && kind != &sis__model_llm)
        return sis__fail(SIS_E_ARGUMENT, "--%s needs a language model behind an address",
                         o->score ? "score" : "cache");
    if (o->categories && kind != &sis__model_forest)
        return sis__fail(SIS_E_ARGUMENT, "--categories needs a model of XGBoost or LightGBM");
    return check_with(o);
}

/* Refuse logins in addresses: addresses appear in results and messages, and command lines are
 * visible. */
static int check_address(const char *spec) {
    const char *host = strstr(spec, "://") + 3;
    return !memchr(host, '@', strcspn(host, "/?#"))
               ? SIS_OK
               : sis__fail(SIS_E_ARGUMENT,
                           "model: remove the login from the address, which is written into "
                           "results; put user:password into a file for --token");
}

static int open_model(const char *spec, const sis_model_opt *opt, sis_model *out) {
    if (!(opt->timeout >= 0) || isinf(opt->timeout))
        return sis__fail(SIS_E_ARGUMENT, "timeout: expected seconds, 0 or more, found %g",
                         opt->timeout);
    const sis__model_kind *kind = NULL;
    for (size_t i = 0; !kind && i < N_KINDS; i++)
        if (kinds[i]->prefix && is_of_kind(spec, kinds[i]))
            kind = kinds[i];
    if (!kind)
        kind = recognise(spec);
    if (!kind)
        kind = recognise_parted(spec);
    for (size_t i = 0; !kind && i < N_KINDS; i++)
        if (is_of_kind(spec, kinds[i]))
            kind = kinds[i];
    int remote = kind == &sis__model_http || kind == &sis__model_https;
    if (remote && sis__llm_is_address(spec))
        kind = &sis__model_llm;
    int error = kind ? check_options(kind, opt) : unknown(spec);
    if (error == SIS_OK && remote)
        error = check_address(spec);
    return error == SIS_OK ? kind->open(spec, opt, out) : error;
}

int sis_model_open_sized(const char *spec, const sis_model_opt *given, sis_model *out) {
    sis_model_opt opt = standard;
    sis_model model;
    sis_model_init(&model);
    int error = sis__sized_copy(&model_type, out, &model);
    if (error == SIS_OK && given)
        error = sis__sized_copy(&opt_type, &opt, given);
    if (error == SIS_OK)
        error = open_model(spec, &opt, &model);
    return error == SIS_OK ? sis__sized_copy(&model_type, out, &model) : error;
}

/* The kind of an opened model; NULL: a caller's own model, whose context is never read. */
static const sis__model_kind *kind_of(const sis_model *model) {
    for (size_t i = 0; i < N_KINDS; i++)
        if (kinds[i]->predict && kinds[i]->predict == model->predict)
            return ((const sis__opened *)model->ctx)->kind;
    return NULL;
}

int sis_model_measure(sis_model *model, const double *row, size_t n_values) {
    if (model->n_outputs > 0)
        return SIS_OK;
    const sis__model_kind *kind = kind_of(model);
    return kind ? kind->measure(model, row, n_values)
                : sis__fail(SIS_E_ARGUMENT, "the number of outputs of a custom model is fixed");
}

int sis__opened_add_label(sis__opened *opened, const char *label) {
    char **labels = sis__realloc(opened->labels, opened->n_labels + 1, sizeof *labels);
    if (!labels)
        return SIS_E_NOMEM;
    opened->labels = labels;
    if (!(labels[opened->n_labels] = sis__strdup(label)))
        return SIS_E_NOMEM;
    opened->n_labels++;
    return SIS_OK;
}

void sis__opened_free_labels(sis__opened *opened) {
    for (size_t k = 0; k < opened->n_labels; k++)
        free(opened->labels[k]);
    free(opened->labels);
}

const sis_net *sis_model_document(const sis_model *model) {
    const sis__model_kind *kind = kind_of(model);
    return kind && kind->document ? kind->document(model->ctx) : NULL;
}

const char *sis_model_engine(const sis_model *model) {
    const sis__model_kind *kind = kind_of(model);
    return kind && kind->engine ? kind->engine(model->ctx) : NULL;
}

/* How token ids become embeddings; NULL: they do not. */
static sis__tokens *tokens_of(const sis_model *model) {
    const sis__model_kind *kind = kind_of(model);
    sis__tokens *t = kind && kind->tokens ? kind->tokens(model->ctx) : NULL;
    return t && t->matrix ? t : NULL;
}

int sis_model_mask_token(sis_model *model, const double *embedding, size_t n) {
    const sis__tokens *t = tokens_of(model);
    if (!t)
        return sis__fail(SIS_E_ARGUMENT, "only token models have an embedding for masked tokens");
    if (embedding && n != t->dim)
        return sis__fail(SIS_E_ARGUMENT, "an embedding of this model has %zu values, not %zu",
                         t->dim, n);
    if (!embedding)
        sis__tokens_mean(t);
    for (size_t i = 0; embedding && i < n; i++)
        t->mask[i] = (float)embedding[i];
    return SIS_OK;
}

int sis_model_pad_token(sis_model *model, size_t id, int behind) {
    const sis__model_kind *kind = kind_of(model);
    sis__tokens *t = tokens_of(model);
    if (!t || id >= t->vocabulary)
        return sis__fail(SIS_E_ARGUMENT, "the model has no token %zu for padding", id);
    int error = id != t->pad && kind->pad_token ? kind->pad_token(model->ctx, id) : SIS_OK;
    if (error == SIS_OK) {
        t->pad = id;
        t->behind = behind;
    }
    return error;
}

int sis_model_label(const sis_model *model, size_t output, char *text, size_t size) {
    const sis_net *net = sis_model_document(model);
    const sis__opened *opened = kind_of(model) ? model->ctx : NULL;
    if (net)
        return sis_net_label(net, output, text, size);
    if (!opened || output >= opened->n_labels ||
        (model->n_outputs && model->n_outputs != opened->n_labels))
        return sis__fail(SIS_E_ARGUMENT, "the model names no label for output %zu", output);
    snprintf(text, size, "%s", opened->labels[output]);
    return SIS_OK;
}

void sis_model_name(const char *spec, char *name, size_t size) {
    const char *models = strstr(spec, "/models/"), *scheme = strstr(spec, "://");
    int address = scheme && strncmp(spec, "http", 4) == 0;
    int command = strncmp(spec, "cmd:", 4) == 0;
    size_t n = 0;
    spec = address                                    ? (models ? models + 8 : scheme + 3)
           : command || strncmp(spec, "ort:", 4) == 0 ? spec + 4
                                                      : spec;
    for (size_t word = 0; *spec && n + 1 < size; spec++) {
        if (*spec == '/' && !address) {
            n = word; /* the word copied so far is a folder */
            continue;
        }
        name[n++] = *spec;
        if (command && strchr(" \t'\"=", *spec))
            word = n;
    }
    name[n] = '\0';
}

const char *const *sis_model_names(const sis_model *model) {
    const sis__model_kind *kind = kind_of(model);
    return kind && kind->names ? kind->names(model->ctx) : NULL;
}

const char *const *const *sis_model_words(const sis_model *model) {
    const sis__model_kind *kind = kind_of(model);
    return kind && kind->words ? kind->words(model->ctx) : NULL;
}

const char *sis_model_note(const sis_model *model) {
    const sis__opened *opened = kind_of(model) ? model->ctx : NULL;
    return opened && opened->note[0] ? opened->note : NULL;
}

int sis_model_describe(const sis_model *model, char **text) {
    const sis__model_kind *kind = kind_of(model);
    *text = NULL;
    if (!kind || !kind->describe)
        return sis__fail(SIS_E_UNSUPPORTED, "this model cannot be described");
    return kind->describe(model->ctx, text);
}

/* Walks and gradients belong to other rows. */
static int forget_rows(sis_model *model) {
    model->n_values = 0;
    model->walk_new = NULL;
    model->gradient = NULL;
    return SIS_OK;
}

/* Identified by predict, because the context of a caller's own model can be anything. */
int sis_model_take_texts(sis_model *model, const sis_piece *pieces, size_t n) {
    const sis__model_kind *kind = kind_of(model);
    int error =
        kind && kind->take_texts
            ? kind->take_texts(model->ctx, pieces, n)
            : sis__fail(SIS_E_UNSUPPORTED,
                        "only cmd: and http: models and networks with a string input take texts");
    return error == SIS_OK ? forget_rows(model) : error;
}

int sis_model_take_rows(sis_model *model, const sis_row_form *form) {
    const sis__model_kind *kind = kind_of(model);
    int error = kind && kind->take_rows
                    ? kind->take_rows(model->ctx, form)
                    : sis__fail(SIS_E_UNSUPPORTED, "only cmd: and http: models and networks with "
                                                   "string inputs take rows with words");
    return error == SIS_OK ? forget_rows(model) : error;
}

int sis_model_take_prompts(sis_model *model, const sis_prompt *prompts, size_t n) {
    const sis__model_kind *kind = kind_of(model);
    int error = kind && kind->take_prompts
                    ? kind->take_prompts(model->ctx, prompts, n)
                    : sis__fail(SIS_E_UNSUPPORTED,
                                "--prompt: only language models behind an address take prompts "
                                "(.../v1/completions, .../v1/chat/completions, .../completion)");
    return error == SIS_OK ? forget_rows(model) : error;
}

int sis_model_account(const sis_model *model, size_t prompt, sis_prompt_account *out) {
    const sis__model_kind *kind = kind_of(model);
    *out = (sis_prompt_account){0};
    return kind && kind->account ? kind->account(model->ctx, prompt, out)
                                 : sis__fail(SIS_E_UNSUPPORTED, "this is not a language model");
}

int sis_model_take_batch(sis_model *model) {
    const sis__model_kind *kind = kind_of(model);
    return kind && kind->take_batch
               ? kind->take_batch(model)
               : sis__fail(SIS_E_UNSUPPORTED, "only networks in .onnx files have a batch size");
}

size_t sis_model_row_shape(const sis_model *model, sis_net_shape *shape) {
    const sis__model_kind *kind = kind_of(model);
    size_t n_free = 0;
    *shape = (sis_net_shape){0};
    if (kind && kind->row_shape)
        kind->row_shape(model->ctx, shape);
    for (size_t d = 0; d < shape->rank; d++)
        n_free += shape->dims[d] == 0;
    return n_free;
}

/* The shape of an array as a row of the model. */
static int fit(const sis_model *model, const size_t *dims, size_t rank, sis_net_shape *out) {
    sis_net_shape wanted;
    sis_model_row_shape(model, &wanted);
    out->rank = wanted.rank;
    return wanted.rank ? sis__dims_fit(dims, rank, wanted.dims, wanted.rank, out->dims)
                       : sis__fail(SIS_E_UNSUPPORTED, "the shape of this model's rows is fixed");
}

int sis_model_take_shape(sis_model *model, const size_t *dims, size_t rank) {
    sis_net_shape shape;
    int error = fit(model, dims, rank, &shape);
    return error ? error : sis__shapes_add(&((sis__opened *)model->ctx)->shapes, &shape);
}

int sis_model_takes_shape(const sis_model *model, const size_t *dims, size_t rank) {
    sis_net_shape shape;
    return fit(model, dims, rank, &shape) == SIS_OK &&
           sis__shapes_has(&((const sis__opened *)model->ctx)->shapes, &shape);
}

int sis_model_share_sized(const sis_model *model, sis_model *out) {
    const sis__model_kind *kind = kind_of(model);
    void *twin = NULL;
    if (!kind || !kind->share)
        return sis__fail(SIS_E_UNSUPPORTED,
                         "this model has no settings, so it has only one handle");
    int error = kind->share(model->ctx, &twin);
    if (error == SIS_OK) {
        ((sis__opened *)twin)->shapes = (sis__shapes){0};
        error = sis__sized_copy(&model_type, out, model);
        out->ctx = twin;
    }
    return error;
}

void sis_model_close(sis_model *model) {
    if (!model)
        return;
    sis__opened *opened = model->ctx;
    if (opened) {
        sis__shapes_release(&opened->shapes);
        opened->kind->close(model->ctx);
    }
    const sis_model closed = {.size = sizeof closed};
    if (model->size)
        sis__sized_copy(&model_type, model, &closed);
}
