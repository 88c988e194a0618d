/* SPDX-License-Identifier: MIT
 *
 * Creates a task from its options: first the model, which may define how data are read; then the
 * examples and their names; then everything that examples share. Each step has its own file.
 */
#include "task/task.h"

#include <errno.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sis/example.h>
#include <sis/files.h>
#include <sis/handle.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/names.h"
#include "base/number.h"
#include "base/sized.h"

/* ---- Helpers ------------------------------------------------------------------------------- */

int sis__text_whole(const char *text, long *value) {
    char *end;
    errno = 0;
    *value = strtol(text, &end, 10);
    return end != text && !*end && errno == 0;
}

int sis__text_number(const char *text, double *value) {
    char *end;
    *value = sis__number(text, &end);
    return end != text && !*end && text[0] != ' ' && isfinite(*value);
}

int sis__text_ends_in(const char *text, const char *end) {
    size_t n = strlen(text), m = strlen(end);
    return n > m && strcmp(text + n - m, end) == 0;
}

int sis__text_is(const char *text, const char *name, const char **rest) {
    size_t n = strlen(name);
    if (!text || strncmp(text, name, n) != 0 || (text[n] && text[n] != ':'))
        return 0;
    *rest = text[n] ? text + n + 1 : "";
    return 1;
}

/* ---- Options ------------------------------------------------------------------------------- */

#define SIZED(type, ...)                                                                           \
    {                                                                                              \
#type, "sis_task_opt_init", sizeof(type), {                                                \
            __VA_ARGS__                                                                            \
        }                                                                                          \
    }
static const sis__sized open_type = SIZED(sis_model_opt, {0}), read_type = SIZED(sis_data_opt, {0}),
                        how_type = SIZED(sis_task_numbers, {0}), search_type = SIZED(sis_opt, {0});
static const sis__sized model_type =
    SIZED(sis_task_model_opt, {offsetof(sis_task_model_opt, open), &open_type});
static const sis__sized examples_type =
    SIZED(sis_task_examples_opt, {offsetof(sis_task_examples_opt, read), &read_type});
static const sis__sized question_type = SIZED(sis_task_question_opt, {0});
static const sis__sized answer_type =
    SIZED(sis_task_answer_opt, {offsetof(sis_task_answer_opt, how), &how_type},
          {offsetof(sis_task_answer_opt, search), &search_type});
static const sis__sized audit_type = SIZED(sis_task_audit_opt, {0});
static const sis__sized opt_type = SIZED(sis_task_opt, {offsetof(sis_task_opt, model), &model_type},
                                         {offsetof(sis_task_opt, examples), &examples_type},
                                         {offsetof(sis_task_opt, question), &question_type},
                                         {offsetof(sis_task_opt, answer), &answer_type},
                                         {offsetof(sis_task_opt, audit), &audit_type});

static void fill_defaults(sis_task_opt *o) {
    sis_method_opt how;
    sis_method_opt_init(&how);
    *o = (sis_task_opt){
        .size = sizeof *o,
        .model.size = sizeof o->model,
        .examples = {.size = sizeof o->examples, .shards = 1},
        .question = {.size = sizeof o->question,
                     .features = "each",
                     .seed = 1,
                     .target = "top",
                     .confidence = 0.95},
        .answer = {.size = sizeof o->answer,
                   .method = "sis",
                   .constraint = "sufficient",
                   .how = {sizeof o->answer.how, how.steps, how.zero_baseline, how.step,
                           (int)how.prefer, how.width, how.ridge}},
        .audit.size = sizeof o->audit,
    };
    sis_model_opt_init(&o->model.open);
    sis_data_opt_init(&o->examples.read);
    sis_opt_init(&o->answer.search);
}

void sis_task_opt_defaults(sis_task_opt *opt) {
    sis_task_opt standard;
    fill_defaults(&standard);
    sis__sized_copy(&opt_type, opt, &standard);
}

int sis__task_opt_take(const sis_task_opt *given, sis_task_opt *out) {
    fill_defaults(out);
    return sis__sized_copy(&opt_type, out, given);
}

enum { TEXTS = 33 };

static void list_texts(sis_task_opt *o, const char **texts[TEXTS]) {
    const char **all[TEXTS] = {&o->model.spec,
                               &o->examples.input,
                               &o->examples.read.label,
                               &o->examples.read.kept,
                               &o->examples.read.id,
                               &o->examples.read.text,
                               &o->examples.rows,
                               &o->question.features,
                               &o->question.mask,
                               &o->question.target,
                               &o->question.threshold,
                               &o->answer.method,
                               &o->answer.constraint,
                               &o->answer.lengths,
                               &o->answer.orders,
                               &o->question.keep,
                               &o->question.guarantee,
                               &o->question.domain,
                               &o->examples.missing,
                               &o->examples.rows_as,
                               &o->examples.read.types,
                               &o->examples.read.categories,
                               &o->examples.read.labels,
                               &o->examples.read.kind,
                               &o->examples.read.layout,
                               &o->examples.tokenizer,
                               &o->question.target_index,
                               &o->examples.prompt,
                               &o->examples.answer,
                               &o->examples.prompt_text,
                               &o->examples.objects,
                               &o->question.units,
                               &o->question.fixed};
    memcpy(texts, all, sizeof all);
}

/* Copy the options. */
static int copy_options(sis_task *t, const sis_task_opt *opt) {
    const char **texts[TEXTS];
    int error = SIS_OK;
    t->opt = *opt;
    t->opt.model.open.jobs = t->opt.answer.search.jobs;
    sis_model_name(opt->model.spec ? opt->model.spec : "model", t->name, sizeof t->name);
    list_texts(&t->opt, texts);
    for (size_t i = 0; i < TEXTS; i++) {
        const char *given = *texts[i];
        *texts[i] = given && error == SIS_OK ? sis__strdup(given) : NULL;
        if (given && !*texts[i])
            error = SIS_E_NOMEM;
    }
    return error;
}

/* Refuse a label together with a position. */
static int check_target(const char *target, const char *index) {
    if (index && target && strcmp(target, "top") != 0)
        return sis__fail(SIS_E_OPTION, "--target and --target-index: expected one of them");
    return SIS_OK;
}

static int check_options(const sis_task_opt *o, sis_task *t) {
    if (!o->model.spec && !o->model.opened)
        return sis__fail(SIS_E_OPTION, "--model: expected a model");
    if (o->examples.objects && !sis__task_has_prompts(o))
        return sis__fail(SIS_E_OPTION, "examples.objects: expected prompt_text beside it");
    if ((o->examples.input != NULL) + (o->examples.data != NULL) + (o->examples.objects != NULL) >
        1)
        return sis__fail(SIS_E_OPTION, "--input: a data set was given too; give one of them");
    if (o->examples.shards == 0 || o->examples.shard >= o->examples.shards)
        return sis__fail(SIS_E_OPTION, "--shard: expected one from 0 to %zu, found %zu",
                         o->examples.shards ? o->examples.shards - 1 : 0, o->examples.shard);
    if (o->question.seed > INT64_MAX) /* records cannot hold more */
        return sis__fail(SIS_E_OPTION, "--seed: expected at most %lld, found %llu",
                         (long long)INT64_MAX, (unsigned long long)o->question.seed);
    if (!o->question.features || !o->answer.method || !o->answer.constraint)
        return sis__fail(SIS_E_OPTION, "--%s: is empty; expected a value",
                         !o->question.features ? "features"
                         : !o->answer.method   ? "method"
                                               : "constraint");
    int error = check_target(o->question.target, o->question.target_index);
    if (error == SIS_OK)
        error = sis__task_method_check(o, &t->method);
    return error ? error : sis__task_guarantee_check(o, &t->guarantee);
}

/* ---- Examples ------------------------------------------------------------------------------ */

size_t sis__task_row(const sis__task_source *s, size_t i) {
    return s->rows ? s->rows[i] : s->first + i * s->step;
}

const char *sis__task_name(const sis__task_source *s, size_t i, char number[SIS_ID_SIZE]) {
    return sis_data_id(s->data, sis__task_row(s, i), number);
}

/* Select rows of the data set. */
static int choose_rows(sis__task_source *s, const char *text) {
    s->n = sis_data_count(s->data);
    s->step = 1;
    int error = text ? sis_rows_parse(text, s->n, &s->rows, &s->n) : SIS_OK;
    return error ? sis__fail_in(error == SIS_E_FORMAT ? SIS_E_OPTION : error, "--rows") : SIS_OK;
}

static uint64_t hash_id(const char *id) {
    return sis__bytes_hash(id, strlen(id), 1);
}

static int by_hash(const void *a, const void *b) {
    const sis__task_id_hash *x = (const sis__task_id_hash *)a, *y = (const sis__task_id_hash *)b;
    return x->hash != y->hash ? (x->hash > y->hash) - (x->hash < y->hash)
                              : (x->at > y->at) - (x->at < y->at);
}

/* Index the ids, by which records find their examples. */
static int name_examples(sis__task_source *s) {
    char number[SIS_ID_SIZE];
    int numbered = s->rows == NULL;
    for (size_t i = 0; numbered && i < s->n; i++)
        numbered = sis__task_name(s, i, number) == number;
    if (numbered)
        return sis_data_error(s->data);
    s->by_id = SIS_NEW_RAW(sis__task_id_hash, s->n);
    if (!s->by_id)
        return SIS_E_NOMEM;
    for (size_t i = 0; i < s->n; i++)
        s->by_id[i] = (sis__task_id_hash){hash_id(sis__task_name(s, i, number)), i};
    qsort(s->by_id, s->n, sizeof *s->by_id, by_hash);
    return sis_data_error(s->data);
}

static int is_called(const sis__task_source *s, size_t i, const char *id) {
    char number[SIS_ID_SIZE];
    return strcmp(sis__task_name(s, i, number), id) == 0;
}

/* Find a row by number if rows are not selected. */
static size_t find_number(const sis__task_source *s, const char *id) {
    size_t row = (size_t)strtoull(id, NULL, 10), i = (row - s->first) / s->step;
    return row >= s->first && i < s->n && is_called(s, i, id) ? i : SIZE_MAX;
}

static size_t find_example(const sis__task_source *s, const char *id) {
    if (!s->by_id)
        return find_number(s, id);
    uint64_t hash = hash_id(id);
    size_t low = 0, high = s->n;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (s->by_id[middle].hash < hash)
            low = middle + 1;
        else
            high = middle;
    }
    for (; low < s->n && s->by_id[low].hash == hash; low++)
        if (is_called(s, s->by_id[low].at, id))
            return s->by_id[low].at;
    return SIZE_MAX;
}

/* Refuse duplicate ids. */
static int check_ids(const sis__task_source *s) {
    char number[SIS_ID_SIZE];
    for (size_t k = 1; s->by_id && k < s->n; k++) {
        if (s->by_id[k].hash != s->by_id[k - 1].hash)
            continue;
        char *id = sis__strdup(sis__task_name(s, s->by_id[k].at, number));
        if (!id)
            return SIS_E_NOMEM;
        int error = find_example(s, id) == s->by_id[k].at
                        ? SIS_OK
                        : sis__fail(SIS_E_ARGUMENT,
                                    "--input: two examples are named \"%s\"; rename one, or choose "
                                    "one with --rows",
                                    id);
        free(id);
        if (error != SIS_OK)
            return error;
    }
    return SIS_OK;
}

/* Keep only the task's shard; ids stay with their examples. */
static void keep_shard(sis__task_source *s, size_t shard, size_t shards) {
    size_t n = 0;
    for (size_t k = 0; s->by_id && k < s->n; k++)
        if (s->by_id[k].at % shards == shard)
            s->by_id[n++] = (sis__task_id_hash){s->by_id[k].hash, s->by_id[k].at / shards};
    s->n = s->n > shard ? (s->n - shard - 1) / shards + 1 : 0;
    for (size_t i = 0; s->rows && i < s->n; i++)
        s->rows[i] = s->rows[i * shards + shard];
    s->first += shard * s->step;
    s->step *= shards;
}

/* Examples are accessed in order, so only a few need to be in memory. */
static int read_input(sis_task *t) {
    int error = sis__task_seed_open(t);
    sis_data_opt read = t->encoding.read;
    if (!read.memory)
        read.memory = (size_t)4 << 20;
    int percentile =
        t->opt.question.threshold && *t->opt.question.threshold == 'p'; /* a percentile of the whole
                                                                           file */
    if (t->opt.examples.rows && !percentile)
        read.needed = sis_rows_end(t->opt.examples.rows);
    if (error == SIS_OK)
        error = sis__task_has_prompts(&t->opt)
                    ? sis__task_prompts_read(t, &t->source.read)
                    : sis_data_read(t->opt.examples.input, &read, &t->source.read);
    sis__task_seed_close(&t->encoding);
    return error;
}

static int open_source(sis_task *t) {
    sis__task_source *s = &t->source;
    int error = SIS_OK;
    s->data = t->opt.examples.data;
    if (t->opt.examples.fit)
        error = sis__task_fit(t);
    if (error == SIS_OK && (t->opt.examples.input || t->opt.examples.objects)) {
        error = read_input(t);
        s->data = s->read;
    }
    if (error != SIS_OK || !s->data)
        return error;
    error = choose_rows(s, t->opt.examples.rows);
    if (error == SIS_OK)
        error = sis__task_drop(t);
    if (error == SIS_OK)
        error = name_examples(s);
    return error;
}

static void release_source(sis__task_source *s) {
    free(s->rows);
    free(s->by_id);
    sis_data_free(s->read);
}

/* Check every example against the model. Words always fit; of a table file either all rows fit or
 * none. */
static int check_examples(const sis_task *t) {
    size_t n = t->source.read && sis__task_is_kind(t->source.data, "table") ? 1 : t->source.n;
    size_t width, room = 0;
    double *values = NULL;
    int error = SIS_OK;
    for (size_t i = 0; error == SIS_OK && !t->encoding.texts && i < n; i++) {
        size_t row = sis__task_row(&t->source, i);
        error = sis__task_width(t, t->source.data, row, &width);
        if (error == SIS_OK)
            error = sis__reserve(&values, &room, width, sizeof *values);
        if (error == SIS_OK)
            error = sis__task_encode(t, t->source.data, row, width, values, NULL);
    }
    free(values);
    return error;
}

/* ---- The model ----------------------------------------------------------------------------- */

static int open_named(const sis_task_opt *opt, sis_model *out) {
    sis_model_opt open = opt->model.open;
    sis_net_tensor *with = NULL;
    if (opt->model.n_with == 0)
        return sis_model_open_sized(opt->model.spec, &open, out);
    int error = sis__given_read(opt->model.with, opt->model.n_with, &with);
    open.with = with; /* only needed to open it */
    open.n_with = opt->model.n_with;
    if (!error)
        error = sis_model_open_sized(opt->model.spec, &open, out);
    sis__given_free(with, opt->model.n_with);
    return error;
}

int sis_task_open_model_sized(const sis_task_opt *given, sis_model *out) {
    sis_task_opt opt;
    int error = sis__task_opt_take(given, &opt);
    return error == SIS_OK ? open_named(&opt, out) : error;
}

static int open_model(sis_task *t) {
    if (t->opt.model.opened) {
        if (t->opt.model.opened->size == 0)
            return sis__fail(SIS_E_ARGUMENT,
                             "sis_model: its size is not set; call sis_model_init first");
        sis__sized_extend(&t->model, sizeof t->model, t->opt.model.opened);
        return SIS_OK;
    }
    sis_model_init(&t->model);
    int error = open_named(&t->opt, &t->model);
    t->own_model = error == SIS_OK;
    sis_prompt_account a;
    if (error == SIS_OK && !sis__task_has_prompts(&t->opt) &&
        sis_model_account(&t->model, 0, &a) != SIS_E_UNSUPPORTED)
        error = sis__fail(SIS_E_OPTION, "a language model needs --prompt FILE and --explain FIELD");
    return error;
}

/* Settings for masks and texts change the model handle, so a shared one must not be used. */
int sis__task_own_model(sis_task *t) {
    return t->derived ? SIS_OK : sis__task_take_model(t);
}

int sis__task_take_model(sis_task *t) {
    sis_model own;
    if (t->own_model)
        return SIS_OK;
    int error = sis_model_share(&t->model, &own);
    if (error == SIS_E_UNSUPPORTED)
        return SIS_OK;
    if (error == SIS_OK) {
        t->model = own;
        t->own_model = 1;
    }
    return error;
}

/* Add a hint to the error of a child that may expect cells but gets a value for each category. */
static int explain_categories(const sis_task *t, size_t n, int error) {
    enum { MAX = 8, NAME = 40 };
    const sis_data *data = t->source.data;
    const char *const *names = sis_data_names(data);
    char list[MAX * (NAME + 2) + 8] = "";
    size_t used = 0;
    if (error != SIS_E_MODEL || !names || t->encoding.rows.wanted ||
        sis_data_features(data, sis__task_row(&t->source, 0), NULL) == n)
        return error;
    for (size_t v = 0; v < n && v < MAX && used < sizeof list; v++)
        used += (size_t)snprintf(list + used, sizeof list - used, "%s%.*s", v ? ", " : "", NAME,
                                 names[v]);
    char said[640];
    snprintf(said, sizeof said, "%s", sis_error_detail());
    return sis__fail(error,
                     "%s; the model was given a list of %zu values: %s%s (--rows-as values sends "
                     "rows as they are)",
                     said, n, list, n > MAX ? ", ..." : "");
}

/* Determine an unknown number of outputs by predicting the first example. */
static int measure(sis_task *t) {
    sis_example first;
    if (t->model.n_outputs > 0 || t->source.n == 0)
        return SIS_OK;
    int error = sis__task_load_values(t, sis__task_row(&t->source, 0), &first);
    if (error != SIS_OK)
        return error;
    error = sis_model_measure(&t->model, first.input.values, first.input.n_values);
    if (error != SIS_OK)
        error = explain_categories(t, first.input.n_values, error);
    sis_example_release(&first);
    return error;
}

/* ---- Open and free ------------------------------------------------------------------------- */

int sis__task_redraws(const sis_task *t) {
    return t->guarantee.asked.kind == SIS_GUARANTEE_CHANCE || !t->opt.question.target;
}

/* 1 if a mask is needed. Proofs need none. Records that are verified state their mask: without one
 * in the options, it is made when a record needs it. */
static int needs_mask(const sis_task *t) {
    size_t n;
    int checking = !t->opt.question.target && !t->opt.question.mask && !t->encoding.token;
    int own = t->encoding.net && sis_net_mask(t->encoding.net, &n);
    return !t->opt.question.plain && t->guarantee.asked.kind != SIS_GUARANTEE_ALL &&
           (!checking || own || t->encoding.texts || sis__task_is_kind(t->source.data, "dna"));
}

/* Use the batch axis of a network exported for a fixed batch, if examples are rows of it. If that
 * fails, the error is that the example does not fit. */
static int find_batch(sis_task *t) {
    sis_net_shape s = {0};
    const sis_net *net = t->encoding.net;
    size_t n = net ? sis_net_values(net) : 0, width = 0;
    if (n == 0 || t->source.n == 0 || !t->own_model || t->encoding.texts || t->encoding.rows.wanted)
        return SIS_OK;
    sis_net_input_shape(net, &s);
    int error = sis__task_width(t, t->source.data, sis__task_row(&t->source, 0), &width);
    if (error || s.rank < 2 || s.dims[0] < 2 || width * s.dims[0] != n)
        return error;
    error = sis_model_take_batch(&t->model);
    return error == SIS_E_ARGUMENT || error == SIS_E_UNSUPPORTED ? SIS_OK : error;
}

/* Set up everything that examples share, after they are loaded. */
static int prepare(sis_task *t) {
    int error = sis__task_encode_begin(t);
    if (error == SIS_OK)
        error = find_batch(t);
    if (error == SIS_OK)
        error = check_examples(t);
    if (error == SIS_OK) /* before the first prediction */
        error = sis__task_shapes_tell(t, 1);
    if (error == SIS_OK)
        error = measure(t);
    if (error == SIS_OK)
        error = sis__task_shapes_tell(t, t->source.n);
    if (error == SIS_OK && !t->opt.question.plain)
        error = check_ids(&t->source);
    if (error == SIS_OK && !t->opt.question.plain)
        error = sis__task_features_begin(t);
    if (error == SIS_OK && needs_mask(t))
        error = sis__task_mask_begin(t);
    if (error == SIS_OK && !t->opt.question.plain)
        error = sis__task_rows_check_mask(t);
    if (error == SIS_OK)
        error = sis__task_guarantee_begin(t);
    if (error == SIS_OK)
        error = sis__task_outputs_begin(t);
    return error;
}

/* Prepare what derived tasks share. */
static int prepare_without_examples(sis_task *t) {
    return t->guarantee.asked.kind == SIS_GUARANTEE_ALL ? sis__task_guarantee_begin(t)
                                                        : sis__task_mask_begin(t);
}

static int open_task(sis_task *t, const sis_task_opt *opt) {
    int error = copy_options(t, opt);
    if (error == SIS_OK)
        error = check_options(opt, t);
    if (error == SIS_OK)
        error = open_model(t);
    if (error == SIS_OK)
        error = sis__task_encode_open(t);
    if (error == SIS_OK)
        error = open_source(t);
    if (error == SIS_OK)
        error = t->source.data ? prepare(t) : prepare_without_examples(t);
    t->threshold = opt->answer.search.threshold;
    if (error == SIS_OK && (t->guarantee.keep_class || t->guarantee.keep_side))
        t->threshold = t->guarantee.keep_side ? t->model.link(0) : 0;
    else if (error == SIS_OK && sis__task_has_prompts(opt) && !opt->question.threshold)
        t->threshold = sis__task_prompt_threshold(t);
    if (error == SIS_OK && opt->question.threshold)
        error = sis__task_threshold_find(t, opt->question.threshold, &t->threshold);
    if (error == SIS_OK && t->source.data)
        keep_shard(&t->source, opt->examples.shard, opt->examples.shards);
    return error == SIS_OK ? sis__task_method_begin(t) : error;
}

/* Return a task that was opened, or none. */
static int give_task(sis_task *t, int error, sis_task **out) {
    if (error != SIS_OK) {
        sis_task_free(t);
        t = NULL;
    }
    *out = t;
    return error;
}

static sis_task *new_task(void) {
    sis_task *t = SIS_NEW(sis_task, 1);
    if (t)
        pthread_mutex_init(&t->run.lock, NULL);
    return t;
}

int sis_task_open(const sis_task_opt *given, sis_task **out) {
    sis_task_opt opt;
    *out = NULL;
    int error = sis__task_opt_take(given, &opt);
    sis_task *t = error == SIS_OK ? new_task() : NULL;
    return t ? give_task(t, open_task(t, &opt), out) : error ? error : SIS_E_NOMEM;
}

/* Share with `like` everything that does not depend on examples. */
static int open_like(sis_task *t, const sis_task *like, const sis_data *data) {
    sis_task_opt opt = like->opt;
    opt.examples.input = opt.examples.rows = NULL;
    opt.examples.data = data;
    opt.examples.shard = 0;
    opt.examples.shards = 1;
    int error = copy_options(t, &opt);
    if (error != SIS_OK)
        return error;
    t->model = like->model;
    t->derived = 1;
    t->encoding = like->encoding;
    t->encoding.shared = 1;
    t->encoding.texts = 0;
    t->encoding.pieces = (sis__task_pieces){0};
    t->encoding.prompts = (sis__task_prompts){0};
    t->mask = like->mask;
    t->mask.shared = 1;
    t->method.is_sis = like->method.is_sis;
    t->method.contrast = like->method.contrast;
    t->method.how = like->method.how;
    sis__task_guarantee_share(&like->guarantee, &t->guarantee);
    t->threshold = like->threshold;
    error = open_source(t);
    if (error == SIS_OK)
        error = prepare(t);
    return error == SIS_OK ? sis__task_method_begin(t) : error;
}

int sis_task_derive(const sis_task *like, const sis_data *data, sis_task **out) {
    sis_task *t = new_task();
    *out = NULL;
    return t ? give_task(t, open_like(t, like, data), out) : SIS_E_NOMEM;
}

/* Replace a string of the options; NULL: unchanged. */
static int replace(const char **option, const char *text) {
    char *copy = text ? sis__strdup(text) : NULL;
    if (text && !copy)
        return SIS_E_NOMEM;
    if (copy) {
        free((char *)*option);
        *option = copy;
    }
    return SIS_OK;
}

void sis__task_begin_again(sis_task *t) {
    sis__task_ahead_free(t);
    atomic_store(&t->cancelled, 0);
}

int sis_task_limit(sis_task *t, size_t max_subsets) {
    sis_task_opt opt = t->opt;
    sis__task_method method = {0};
    sis__task_begin_again(t);
    opt.answer.search.max_subsets = max_subsets;
    int error = sis__task_method_check(&opt, &method);
    if (error == SIS_OK)
        t->opt.answer.search.max_subsets = max_subsets;
    return error;
}

int sis_task_decide(sis_task *t, const char *threshold, int below, const char *target,
                    const char *target_index) {
    size_t before = t->outputs.fixed;
    double value = t->threshold;
    sis__task_begin_again(t);
    int error = check_target(target, target_index);
    if (error == SIS_OK && (target || target_index))
        error = sis__task_outputs_choose(&t->outputs, target, target_index);
    if (error == SIS_OK && (threshold || below) &&
        (t->guarantee.keep_class || t->guarantee.keep_side))
        error = sis__fail(SIS_E_OPTION, "--threshold: leave it out with --keep class");
    if (error == SIS_OK && threshold)
        error = sis__task_threshold_find(t, threshold, &value);
    if (error == SIS_OK)
        error = replace(&t->opt.question.target, target_index ? "top" : target);
    if (error == SIS_OK && (target || target_index)) {
        free((char *)t->opt.question.target_index);
        t->opt.question.target_index = NULL;
        error = replace(&t->opt.question.target_index, target_index);
    }
    if (error == SIS_OK)
        error = replace(&t->opt.question.threshold, threshold);
    if (error != SIS_OK) {
        t->outputs.fixed = before;
        return error;
    }
    t->threshold = value;
    t->opt.answer.search.below = below;
    return SIS_OK;
}

/* n texts and the list of them. */
static void free_texts(char **texts, size_t n) {
    for (size_t i = 0; texts && i < n; i++)
        free(texts[i]);
    free(texts);
}

void sis_task_free(sis_task *t) {
    if (!t)
        return;
    sis__task_ahead_free(t);
    sis__task_handles_free(t);
    pthread_mutex_destroy(&t->run.lock);
    free(t->run.which);
    sis__task_method_release(&t->method, t->source.n);
    sis__task_guarantee_release(&t->guarantee);
    free_texts(t->features.names, t->features.n);
    free(t->features.map);
    if (!t->mask.shared) {
        free(t->mask.rows);
        sis__task_deck_free(t->mask.deck);
    }
    free_texts(t->outputs.labels, t->outputs.n);
    sis__task_shapes_release(t);
    if (t->own_model)
        sis_model_close(&t->model);
    sis__task_encode_release(&t->encoding);
    release_source(&t->source);
    const char **texts[TEXTS];
    list_texts(&t->opt, texts);
    for (size_t i = 0; i < TEXTS; i++)
        free((char *)*texts[i]);
    free(t);
}

/* ---- The examples of a task ---------------------------------------------------------------- */

size_t sis_task_count(const sis_task *t) {
    return t->source.n;
}

const char *sis_task_id(const sis_task *t, size_t i, char number[SIS_ID_SIZE]) {
    return sis__task_name(&t->source, i, number);
}

size_t sis_task_row(const sis_task *t, size_t i) {
    return sis__task_row(&t->source, i);
}

size_t sis_task_find(const sis_task *t, const char *id) {
    return t->source.data ? find_example(&t->source, id) : SIZE_MAX;
}

const sis_data *sis_task_data(const sis_task *t) {
    return t->source.data;
}

const sis_model *sis_task_model(const sis_task *t) {
    return &t->model;
}

const sis_model *sis_task_model_of(const sis_task *t, const sis_example *e) {
    return sis__task_model_for(t, &t->model, e->row);
}

size_t sis_task_dropped(const sis_task *t) {
    return t->source.dropped;
}

double sis_task_threshold(const sis_task *t) {
    return t->threshold;
}
