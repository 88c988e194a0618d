/* SPDX-License-Identifier: MIT
 *
 * Loads one example, encoded for the model, and makes its record.
 */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>

#include <sis/example.h>

#include "base/error.h"
#include "base/mem.h"
#include "task/task.h"

void sis_example_release(sis_example *e) {
    if (!e)
        return;
    free(e->id);
    free(e->words);
    free(e->text);
    free(e->human);
    free(e->word_at);
    free(e->spans);
    if (e->own) {
        free(e->own->values);
        free(e->own->mask);
        free(e->own->map);
        free(e->own->pool);
    }
    free(e->own);
    *e = (sis_example){0};
}

/* ---- Values -------------------------------------------------------------------------------- */

static int load_values(const sis_task *t, size_t row, sis_example *e) {
    size_t width;
    int error = sis__task_width(t, t->source.data, row, &width);
    if (error != SIS_OK)
        return error;
    e->row = row;
    if (!(e->own = SIS_NEW(sis__example_memory, 1)))
        return SIS_E_NOMEM;
    e->own->values = SIS_NEW_RAW(double, width);
    if (t->encoding.texts)
        e->word_at = SIS_NEW_RAW(size_t, width);
    if (!e->own->values || (t->encoding.texts && !e->word_at))
        return SIS_E_NOMEM;
    e->input = (sis_input){.values = e->own->values, .n_values = width};
    return sis__task_encode(t, t->source.data, row, width, e->own->values, e->word_at);
}

int sis__task_load_values(const sis_task *t, size_t row, sis_example *out) {
    *out = (sis_example){0};
    int error = load_values(t, row, out);
    if (error != SIS_OK)
        sis_example_release(out);
    return error;
}

/* ---- Features, mask, output ---------------------------------------------------------------- */

int sis__task_load_features(const sis_task *t, sis_example *e) {
    if (sis__task_has_words(t))
        return sis__task_words(t, e);
    e->input.feature_of = t->features.map;
    if (t->features.parts) {
        e->input.feature_of = e->own->map = SIS_NEW_RAW(int, e->input.n_values);
        return e->own->map ? sis__task_parts_load(t, e, t->opt.question.refine, e->own->map)
                           : SIS_E_NOMEM;
    }
    if (t->features.map || sis__task_own_features(t, e->row, NULL) == e->input.n_values)
        return SIS_OK;
    e->input.feature_of = e->own->map = SIS_NEW_RAW(int, e->input.n_values);
    if (!e->own->map)
        return SIS_E_NOMEM;
    sis__task_own_features(t, e->row, e->own->map);
    return SIS_OK;
}

static int load_mask(const sis_task *t, sis_example *e) {
    if (!t->mask.ready)
        return SIS_OK;
    e->input.n_samples = t->mask.n_samples;
    e->input.mask = t->mask.rows;
    if (t->mask.blur > 0)
        return sis__task_blur(t, e);
    if (!t->mask.constant)
        return SIS_OK;
    e->input.mask = e->own->mask = SIS_NEW_RAW(double, e->input.n_values);
    for (size_t v = 0; e->own->mask && v < e->input.n_values; v++)
        e->own->mask[v] = t->mask.fill;
    return e->own->mask ? SIS_OK : SIS_E_NOMEM;
}

/* Find the output with the highest score, if that is explained. */
static int load_output(const sis_task *t, const sis_model *model, sis_example *e) {
    if (t->outputs.fixed != SIZE_MAX) {
        e->input.output = t->outputs.fixed;
        return SIS_OK;
    }
    sis_opt plain;
    sis_opt_init(&plain);
    model = sis__task_model_for(t, model, e->row);
    double *scores = SIS_NEW_RAW(double, model->n_outputs);
    int error = scores ? sis_predict(model, &e->input, 1, &plain, scores) : SIS_E_NOMEM;
    if (error == SIS_OK)
        e->input.output = sis__task_output(t, scores);
    free(scores);
    return error;
}

int sis__task_load(const sis_task *t, size_t i, const sis_model *model, size_t output,
                   sis_example *out) {
    char number[SIS_ID_SIZE];
    int error = sis__task_load_values(t, sis__task_row(&t->source, i), out);
    if (error != SIS_OK)
        return error;
    out->id = sis__strdup(sis__task_name(&t->source, i, number));
    out->input.name = out->id;
    error = out->id ? sis__task_load_features(t, out) : SIS_E_NOMEM;
    if (error == SIS_OK && t->encoding.texts)
        error = sis_data_error(t->source.data);
    if (error == SIS_OK)
        error = load_mask(t, out);
    out->input.output = output;
    if (error == SIS_OK && output == SIZE_MAX)
        error = load_output(t, model, out);
    if (error != SIS_OK)
        sis_example_release(out);
    return error;
}

int sis_task_load(const sis_task *t, size_t i, sis_example *out) {
    if (i >= t->source.n) {
        *out = (sis_example){0};
        return sis__fail(SIS_E_ARGUMENT, "no example %zu; the task has %zu", i, t->source.n);
    }
    return sis__task_load(t, i, &t->model, SIZE_MAX, out);
}

/* ---- Records ------------------------------------------------------------------------------- */

/* The shape of a text is its number of values. */
static const size_t *record_shape(const sis_task *t, sis_example *e, size_t *rank) {
    if (!t->encoding.texts)
        return sis__task_shape(t, e->row, e->own->dims, rank);
    *rank = 1;
    e->own->dims[0] = e->input.n_values;
    return e->own->dims;
}

/* Describe an example in its record: kind, values, names. */
static void describe(const sis_task *t, sis_example *e, sis_record *r) {
    const sis_net *net = t->encoding.net;
    const sis_data *data = t->source.data;
    const char *kind = net ? sis_net_meta_get(net, SIS_NET_META_KIND) : NULL;
    int words = sis__task_has_words(t);
    r->drawing.kind = kind ? kind : words ? "text" : sis_data_kind(data);
    r->drawing.label = sis_data_label(data, e->row);
    r->drawing.columns = sis_data_kept(data, e->row);
    if (!t->encoding.pieces.items &&
        !t->encoding.prompts.items) { /* numbers of pieces are meaningless in records */
        r->drawing.shape = record_shape(t, e, &r->drawing.rank);
        r->drawing.values = e->input.values;
        r->drawing.n_values = e->input.n_values;
        r->drawing.feature_map = e->input.feature_of;
    }
    if (words) {
        r->drawing.words = (const char *const *)e->words;
        r->drawing.n_words = e->n_words;
        r->drawing.unit = t->encoding.prompts.items && t->encoding.prompts.items[e->row].list
                              ? "passage"
                              : sis__task_unit(t);
        r->drawing.text = e->spans ? e->text : NULL;
        r->drawing.spans = e->spans;
        r->drawing.n_spans = e->spans ? 2 * e->n_words : 0;
        r->drawing.human = e->human;
        r->drawing.n_human = e->n_human;
        return;
    }
    if (t->features.by_default) {
        r->drawing.human = sis_data_human(data, e->row, &r->drawing.n_human);
        r->drawing.sequence = sis_data_sequence(data, e->row);
        r->drawing.full_length = sis_data_full_length(data, e->row);
    }
    r->drawing.mask = e->input.n_samples == 1 ? e->input.mask : NULL;
    r->drawing.names = (const char *const *)t->features.names;
    r->drawing.n_names = t->features.names ? t->features.n : 0;
    r->drawing.value_names = t->features.value_names;
    if (t->encoding.read.n_names == r->drawing.n_values && sis__task_is_kind(data, "table"))
        r->drawing.categories = t->encoding.read.words;
}

void sis_task_record(const sis_task *t, sis_example *e, const sis_rationale *found, sis_record *r) {
    size_t output = e->input.output;
    *r = (sis_record){.id = e->id,
                      .model = t->name,
                      .question.method = t->opt.answer.method,
                      .question.constraint =
                          sis__task_minimal(&t->method) ? NULL : t->opt.answer.constraint,
                      .question.target = output,
                      .question.n_outputs = t->model.n_outputs,
                      .question.below = t->opt.answer.search.below,
                      .question.threshold = t->threshold,
                      .has_row = !t->derived, /* numbers of examples in a request are meaningless */
                      .row = e->row};
    if (output < t->outputs.n)
        r->question.target_label = t->outputs.labels[output];
    r->question.keep = t->guarantee.keep_class ? "class" : NULL;
    if (t->guarantee.keep_side)
        r->question.below = found && sis__task_is_below(t, found->collection.score);
    if (t->guarantee.asked.kind == SIS_GUARANTEE_ALL)
        r->question.domain = t->opt.question.domain ? t->opt.question.domain : "any";
    if (t->guarantee.asked.kind != SIS_GUARANTEE_MASK)
        r->guarantee = found && found->guarantee.kind ? &found->guarantee : &t->guarantee.asked;
    if (found) {
        r->collection = found->collection;
        r->attributions = found->attributions;
        r->n_attributions = found->attributions ? found->collection.n_features : 0;
        e->own->completeness[0] = found->sum;
        e->own->completeness[1] = found->difference;
        r->completeness = isnan(found->difference) ? NULL : e->own->completeness;
    }
    describe(t, e, r);
    if ((!r->drawing.mask || t->mask.blur > 0) && t->guarantee.asked.kind != SIS_GUARANTEE_ALL)
        r->drawing.masking = t->opt.question.mask ? t->opt.question.mask
                             : t->encoding.pieces.items || t->encoding.prompts.items ? "remove"
                                                                                     : "own";
    if (t->encoding.prompts.items)
        sis__task_prompt_record(t, e, r);
}
