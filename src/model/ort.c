/* SPDX-License-Identifier: MIT
 *
 * `ort:FILE.onnx`: a network in ONNX Runtime, which is loaded when it is first needed: $SIS_ORT, or
 * else libonnxruntime.so.1 or libonnxruntime.so wherever the system finds them. Nothing of it is
 * needed to build: its only symbol is OrtGetApiBase, which hands out a table of functions that only
 * ever grows, so the slots below stay what they are (test_model_ort.c tries each of them).
 *
 * Every masked copy is a full pass here, in batches as long as a trial at the beginning found to be
 * fastest. All threads share the session, and the cores are shared between them and the threads
 * that the session has inside. The scores of a row may differ in the last bits with the length of
 * the batch it stands in.
 */
#include "model/ort.h"

#include <dlfcn.h>
#include <math.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sis/net.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/file.h"
#include "base/library.h"
#include "base/mem.h"
#include "base/parallel.h"
#include "model/inputs.h"
#include "model/kind.h"

/* ---- The library ----------------------------------------------------------------------------- */

/* Its objects are only ever passed back. A status is NULL if all is well. */
typedef void status, environment, session_options, session, type_info, tensor_info, allocator,
    memory_info, run_options, value;

/* slot, name, result, arguments */
#define CALLS(X)                                                                                   \
    X(2, error_message, const char *, (const status *))                                            \
    X(3, create_env, status *, (int level, const char *id, environment **))                        \
    X(7, create_session, status *,                                                                 \
      (const environment *, const char *path, const session_options *, session **))                \
    X(9, run, status *,                                                                            \
      (session *, const run_options *, const char *const *inputs, const value *const *given,       \
       size_t n_inputs, const char *const *outputs, size_t n_outputs, value **results))            \
    X(10, create_options, status *, (session_options **))                                          \
    X(24, set_threads_inside, status *, (session_options *, int))                                  \
    X(25, set_threads_between, status *, (session_options *, int))                                 \
    X(30, input_count, status *, (const session *, size_t *))                                      \
    X(31, output_count, status *, (const session *, size_t *))                                     \
    X(33, input_type, status *, (const session *, size_t, type_info **))                           \
    X(34, output_type, status *, (const session *, size_t, type_info **))                          \
    X(36, input_name, status *, (const session *, size_t, allocator *, char **))                   \
    X(37, output_name, status *, (const session *, size_t, allocator *, char **))                  \
    X(49, tensor_on, status *,                                                                     \
      (const memory_info *, void *data, size_t bytes, const int64_t *dims, size_t rank, int type,  \
       value **))                                                                                  \
    X(51, tensor_data, status *, (value *, void **))                                               \
    X(55, tensor_of_type, status *, (const type_info *, const tensor_info **))                     \
    X(56, kind_of_type, status *, (const type_info *, int *))                                      \
    X(60, element_type, status *, (const tensor_info *, int *))                                    \
    X(61, rank, status *, (const tensor_info *, size_t *))                                         \
    X(62, dims, status *, (const tensor_info *, int64_t *, size_t))                                \
    X(64, element_count, status *, (const tensor_info *, size_t *))                                \
    X(65, info_of_value, status *, (const value *, tensor_info **))                                \
    X(67, kind_of_value, status *, (const value *, int *))                                         \
    X(69, create_memory, status *, (int allocator, int type, memory_info **))                      \
    X(76, free_memory, status *, (allocator *, void *))                                            \
    X(78, default_allocator, status *, (allocator **))                                             \
    X(80, part, status *, (const value *, int, allocator *, value **))                             \
    X(81, part_count, status *, (const value *, size_t *))                                         \
    X(93, release_status, void, (status *))                                                        \
    X(95, release_session, void, (session *))                                                      \
    X(96, release_value, void, (value *))                                                          \
    X(98, release_type, void, (type_info *))                                                       \
    X(99, release_info, void, (tensor_info *))                                                     \
    X(100, release_options, void, (session_options *))

enum { VERSION = 1, MOST_INPUTS = 256 };
enum { KIND_TENSOR = 1, KIND_SEQUENCE = 2 }; /* ONNXType */
enum { LOG_FATAL = 4, ARENA = 1, DEFAULT_MEMORY = 0 };

/* The library, loaded once and never again left. */
static struct {
#define POINTER(slot, name, result, arguments) result(*name) arguments;
    CALLS(POINTER)
#undef POINTER
    environment *env;
    memory_info *memory;
    allocator *allocator;
    char problem[512]; /* why it is not there; "": it is */
} ort;

typedef struct {
    void *const *(*get)(uint32_t version);
    const char *(*version)(void);
} api_base;

/* A status becomes a message of ours. */
static int check(status *s) {
    if (!s)
        return SIS_OK;
    int code = sis__fail(SIS_E_MODEL, "ONNX Runtime: %.500s", ort.error_message(s));
    ort.release_status(s);
    return code;
}

static void *load_library(void) {
    const char *file = getenv("SIS_ORT");
    if (file && *file)
        return sis__library_open((const char *const[]){file, NULL});
    return sis__library_open((const char *const[]){"libonnxruntime.so.1", "libonnxruntime.so",
                                                   "libonnxruntime.dylib", NULL});
}

static void take_slots(void *const *slots) {
#define TAKE(slot, name, result, arguments) memcpy(&ort.name, &slots[slot], sizeof ort.name);
    CALLS(TAKE)
#undef TAKE
}

/* dlopen leaves its reason in words. */
static void not_there(const char *why) {
    const char *file = getenv("SIS_ORT");
    if (file && *file)
        snprintf(ort.problem, sizeof ort.problem, "ONNX Runtime ($SIS_ORT): %.300s", why);
    else
        snprintf(ort.problem, sizeof ort.problem,
                 "ONNX Runtime is not there (libonnxruntime.so.1); install it, for example by "
                 "tools/install-ort.sh or your package manager, and name its file by SIS_ORT if "
                 "the system does not find it");
}

static void load(void) {
    const api_base *(*get_base)(void) = NULL;
    void *library = load_library();
    if (!library || !sis__library_take(library, "OrtGetApiBase", &get_base)) {
        const char *why = dlerror();
        not_there(why ? why : "no library");
        return;
    }
    const api_base *base = get_base();
    void *const *slots = base ? base->get(VERSION) : NULL;
    if (!slots) {
        not_there("it does not know version 1 of its own interface");
        return;
    }
    take_slots(slots);
    if (check(ort.create_env(LOG_FATAL, "sis", &ort.env)) != SIS_OK ||
        check(ort.create_memory(ARENA, DEFAULT_MEMORY, &ort.memory)) != SIS_OK ||
        check(ort.default_allocator(&ort.allocator)) != SIS_OK)
        snprintf(ort.problem, sizeof ort.problem, "%s", sis_error_detail());
}

/* Is the library there? SIS_E_UNSUPPORTED if not, with what to do in the message. */
static int ensure_loaded(void) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, load);
    return ort.problem[0] ? sis__fail(SIS_E_UNSUPPORTED, "%s", ort.problem) : SIS_OK;
}

/* ---- A model --------------------------------------------------------------------------------- */

typedef struct {
    sis__opened opened;   /* first: see kind.h */
    pthread_mutex_t lock; /* one pass at a time */
    int borrowed;         /* session, names and path belong to the model that was opened */
    char *path;
    session *session;
    char *output; /* the library's own string */
    sis__model_inputs inputs;
    size_t n_outputs; /* 0: not measured yet */
    size_t batch;     /* rows in one pass; 0: not tried yet */
    struct {
        void *values; /* of one pass, in the tensor's type */
        size_t cap;
    } given[MOST_INPUTS];
    double *scores; /* (scores_cap) of one pass */
    size_t scores_cap;
} ort_model;

static void ort_close(void *ctx) {
    ort_model *m = ctx;
    if (!m)
        return;
    if (!m->borrowed) {
        sis__inputs_release(&m->inputs);
        if (m->output)
            check(ort.free_memory(ort.allocator, m->output));
        if (m->session)
            ort.release_session(m->session);
        free(m->path);
        sis__opened_free_labels(&m->opened);
    }
    for (size_t i = 0; i < MOST_INPUTS; i++)
        free(m->given[i].values);
    free(m->scores);
    pthread_mutex_destroy(&m->lock);
    free(m);
}

/* ---- Results --------------------------------------------------------------------------------- */

/* Room for n more scores of this pass behind the first `have`. */
static int need_scores(ort_model *m, size_t n) {
    void *p = m->scores;
    int error = sis__reserve(&p, &m->scores_cap, n, sizeof *m->scores);
    m->scores = p;
    return error;
}

/* Append the numbers of a tensor to the scores; *n counts them, *first is its first axis. */
static int read_tensor(ort_model *m, value *v, size_t *n, size_t *first) {
    tensor_info *info = NULL;
    int64_t dims[SIS__RANK] = {0};
    size_t rank = 0, count = 0;
    int number = 0;
    void *data = NULL;
    int code = check(ort.info_of_value(v, &info));
    if (code == SIS_OK)
        code = check(ort.element_type(info, &number));
    if (code == SIS_OK)
        code = check(ort.element_count(info, &count));
    if (code == SIS_OK)
        code = check(ort.rank(info, &rank));
    if (code == SIS_OK && rank <= SIS__RANK)
        code = check(ort.dims(info, dims, rank));
    if (info)
        ort.release_info(info);
    sis__value_type type = sis__value_numbered(number);
    if (code == SIS_OK && (type == SIS__VALUE_UNKNOWN || type == SIS__VALUE_BYTES))
        code = sis__fail(SIS_E_UNSUPPORTED, "output \"%.60s\" holds no numbers (ONNX type %d)",
                         m->output, number);
    if (code == SIS_OK)
        code = check(ort.tensor_data(v, &data));
    if (code == SIS_OK)
        code = need_scores(m, *n + count);
    for (size_t i = 0; code == SIS_OK && i < count; i++)
        m->scores[(*n)++] = sis__value_get(type, data, i);
    *first = rank > 0 && dims[0] > 0 ? (size_t)dims[0] : 1;
    return code;
}

/* A list with a dictionary for each row, as scikit-learn's exporter makes of probabilities: keys are
 * the classes in order, values the scores. */
static int read_maps(ort_model *m, value *v, size_t *n, size_t *first) {
    size_t ignored;
    int code = check(ort.part_count(v, first));
    for (size_t i = 0; code == SIS_OK && i < *first; i++) {
        value *map = NULL, *scores = NULL;
        code = check(ort.part(v, (int)i, ort.allocator, &map));
        if (code == SIS_OK)
            code = check(ort.part(map, 1, ort.allocator, &scores));
        if (code == SIS_OK)
            code = read_tensor(m, scores, n, &ignored);
        if (scores)
            ort.release_value(scores);
        if (map)
            ort.release_value(map);
    }
    return code;
}

/* ---- Passes ---------------------------------------------------------------------------------- */

static int fit_input(const ort_model *m, size_t i, size_t n_values, sis__fit *fit) {
    return sis__inputs_fit(&m->inputs, i, sis__shapes_find(&m->opened.shapes, n_values), n_values,
                           fit);
}

/* Rows (n, n_values) as tensor i of the model: those beyond n repeat the last. */
static int fill(ort_model *m, size_t i, const sis__fit *fit, const double *rows, size_t n,
                size_t filled, size_t n_values) {
    const sis__model_input *in = &m->inputs.items[i];
    size_t count = sis__inputs_count(fit), copies = fit->batched ? filled : 1;
    int follows = in->given || in->follow != SIS__FOLLOWS_NOT;
    int code = sis__reserve(&m->given[i].values, &m->given[i].cap, copies * count,
                            sis__value_size(in->type));
    for (size_t r = 0; code == SIS_OK && r < copies; r++) {
        const double *row = rows + (r < n ? r : n - 1) * n_values;
        code = follows ? SIS_OK : sis__values_check(in->type, row + in->part, count);
        for (size_t k = 0; code == SIS_OK && k < count; k++)
            sis__value_put(in->type, m->given[i].values, r * count + k,
                           sis__inputs_value(&m->inputs, i, row, n_values, k));
    }
    return code;
}

/* The tensor of an input that was filled. */
static int make_value(ort_model *m, size_t i, const sis__fit *fit, size_t filled, value **out) {
    static const int onnx_types[] = {
#define NUMBER(name, tensorflow, onnx, type, least, most) onnx,
        SIS__VALUE_TYPES(NUMBER)
#undef NUMBER
    };
    sis__value_type type = m->inputs.items[i].type;
    int64_t dims[SIS__RANK + 1];
    size_t rank = 0, count = sis__inputs_count(fit) * (fit->batched ? filled : 1);
    if (fit->batched)
        dims[rank++] = (int64_t)filled;
    for (size_t d = 0; d < fit->rank; d++)
        dims[rank++] = (int64_t)fit->dims[d];
    return check(ort.tensor_on(ort.memory, m->given[i].values, count * sis__value_size(type), dims,
                               rank, onnx_types[type], out));
}

static int run(ort_model *m, const double *rows, size_t n, size_t filled, size_t n_values,
               value **result) {
    value *given[MOST_INPUTS] = {NULL};
    const char *names[MOST_INPUTS], *const outputs[] = {m->output};
    int code = SIS_OK;
    for (size_t i = 0; i < m->inputs.n && code == SIS_OK; i++) {
        sis__fit fit;
        names[i] = m->inputs.items[i].name;
        code = fit_input(m, i, n_values, &fit);
        if (code == SIS_OK)
            code = fill(m, i, &fit, rows, n, filled, n_values);
        if (code == SIS_OK)
            code = make_value(m, i, &fit, filled, &given[i]);
    }
    if (code == SIS_OK)
        code = check(ort.run(m->session, NULL, names, (const value *const *)given, m->inputs.n,
                             outputs, 1, result));
    for (size_t i = 0; i < m->inputs.n; i++)
        if (given[i])
            ort.release_value(given[i]);
    return code;
}

/* How rows fill the tensor that takes them, or the first that takes a part. */
static int fit_rows(const ort_model *m, size_t n_values, sis__fit *fit) {
    size_t i = m->inputs.main;
    for (size_t k = 0; i == m->inputs.n && k < m->inputs.n; k++)
        if (!m->inputs.items[k].given)
            i = k;
    return fit_input(m, i, n_values, fit);
}

/* One pass over n rows: m->scores (n or more, *count / n). */
static int pass(ort_model *m, const double *rows, size_t n, size_t n_values, size_t *outputs) {
    sis__fit fit;
    value *result = NULL;
    int kind = 0;
    size_t count = 0, first = 0;
    int code = fit_rows(m, n_values, &fit);
    size_t filled = code == SIS_OK && fit.batched && fit.rows ? fit.rows : n;
    if (code == SIS_OK)
        code = run(m, rows, n, filled, n_values, &result);
    if (code == SIS_OK)
        code = check(ort.kind_of_value(result, &kind));
    if (code == SIS_OK)
        code = kind == KIND_SEQUENCE ? read_maps(m, result, &count, &first)
                                     : read_tensor(m, result, &count, &first);
    if (result)
        ort.release_value(result);
    if (code == SIS_OK && (count == 0 || count % filled != 0 || (filled > 1 && first != filled)))
        code =
            sis__fail(SIS_E_MODEL, "expected scores for %zu rows, found %zu values", filled, count);
    *outputs = code == SIS_OK ? count / filled : 0;
    return code;
}

/* How many rows may go into one pass. */
static size_t most_rows(const ort_model *m, size_t n_values) {
    sis__fit fit;
    if (fit_rows(m, n_values, &fit) != SIS_OK || !fit.batched)
        return 1;
    return fit.rows ? fit.rows : m->batch ? m->batch : 1;
}

static int fail_here(int code, const ort_model *m) {
    if (code == SIS_E_MODEL || code == SIS_E_UNSUPPORTED || code == SIS_E_ARGUMENT)
        sis__fail_in(code, "model ort:%.200s", m->path);
    return code;
}

static int predict(void *ctx, const double *rows, size_t n_rows, size_t n_values, double *scores) {
    ort_model *m = ctx;
    size_t most = most_rows(m, n_values), outputs, n;
    int code = m->n_outputs ? SIS_OK : sis__fail(SIS_E_ARGUMENT, "its outputs were not measured");
    pthread_mutex_lock(&m->lock);
    for (; code == SIS_OK && n_rows > 0; n_rows -= n) {
        n = n_rows < most ? n_rows : most;
        code = pass(m, rows, n, n_values, &outputs);
        if (code == SIS_OK && outputs != m->n_outputs)
            code = sis__fail(SIS_E_MODEL, "expected %zu scores a row, found %zu", m->n_outputs,
                             outputs);
        if (code != SIS_OK)
            break;
        memcpy(scores, m->scores, n * outputs * sizeof *scores);
        rows += n * n_values;
        scores += n * outputs;
    }
    pthread_mutex_unlock(&m->lock);
    return fail_here(code, m);
}

/* ---- The best length of a batch -------------------------------------------------------------- */

/* Rows a second of passes of b copies of a row; 0 if the model does not take so many. */
static double rate_of(ort_model *m, const double *copies, size_t b, size_t n_values) {
    size_t outputs, passes = 0;
    if (pass(m, copies, b, n_values, &outputs) != SIS_OK || outputs != m->n_outputs)
        return 0;
    double begin = sis__seconds(), seconds = 0;
    while (seconds < 0.005 && passes < 50) {
        if (pass(m, copies, b, n_values, &outputs) != SIS_OK)
            return 0;
        passes++;
        seconds = sis__seconds() - begin;
    }
    return (double)(passes * b) / seconds;
}

/* A row that is not the same: its values the other way round, which are as large; or its first half, or all 1 if that
 * changes nothing. */
static void vary(const double *row, size_t n, int turned, double *other) {
    int same = 1;
    for (size_t i = 0; i < n; i++) {
        other[i] = turned ? row[n - 1 - i] : i < n / 2 ? row[i] : 0;
        same &= other[i] == row[i];
    }
    for (size_t i = 0; same && i < n; i++)
        other[i] = 1;
}

/* Does the row have these scores when it is the first or second of a pair? Only a lack of memory is a
 * failure: some models have no axis of rows in their output, and a row that is turned may be none that they take. */
static int compare_pair(ort_model *m, const double *pair, size_t place, size_t n_values,
                        const double *alone, int turned, int *same) {
    size_t outputs = 0;
    int code = pass(m, pair, 2, n_values, &outputs);
    *same = code == SIS_OK ? outputs == m->n_outputs : turned;
    for (size_t i = 0; code == SIS_OK && *same && i < m->n_outputs; i++)
        *same = fabs(m->scores[place * outputs + i] - alone[i]) <= 1e-4 * fmax(1, fabs(alone[i]));
    return code == SIS_E_NOMEM ? code : SIS_OK;
}

/* Does a row keep its scores beside another one, in front of it or behind? Some models mix all rows of a
 * batch. */
static int may_batch(ort_model *m, const double *row, size_t n_values, int *may) {
    size_t outputs;
    double *pair = SIS_NEW_RAW(double, 2 * n_values + m->n_outputs),
           *alone = pair ? pair + 2 * n_values : NULL;
    int code = pair ? pass(m, row, 1, n_values, &outputs) : SIS_E_NOMEM;
    *may = code == SIS_OK && outputs == m->n_outputs;
    if (*may)
        memcpy(alone, m->scores, m->n_outputs * sizeof *alone);
    for (size_t trial = 0; code == SIS_OK && *may && trial < 4; trial++) {
        size_t place = trial % 2;
        memcpy(pair + place * n_values, row, n_values * sizeof *row);
        vary(row, n_values, trial > 1, pair + (1 - place) * n_values);
        code = compare_pair(m, pair, place, n_values, alone, trial > 1, may);
    }
    free(pair);
    return code;
}

/* A model that always takes several rows has to give each its own scores. */
static int check_fixed(ort_model *m, const double *row, size_t n_values, size_t rows) {
    int good = 0, code = may_batch(m, row, n_values, &good);
    return code != SIS_OK || good
               ? code
               : sis__fail(
                     SIS_E_UNSUPPORTED,
                     "it always takes %zu rows, and their scores depend on each other; export "
                     "it for one row, or give all of them as one example",
                     rows);
}

/* The trial takes a fraction of a second: lengths grow until nothing is gained by it. */
static int find_batch(ort_model *m, const double *row, size_t n_values) {
    enum { MOST = 256, GROWTH = 4 };
    static const double LONGEST = 0.3; /* seconds, all of it */
    int may, code = may_batch(m, row, n_values, &may);
    m->batch = 1;
    if (code != SIS_OK || !may)
        return code;
    double *copies = SIS_NEW_RAW(double, MOST *n_values), begin = sis__seconds();
    if (!copies)
        return SIS_E_NOMEM;
    for (size_t i = 0; i < MOST; i++)
        memcpy(copies + i * n_values, row, n_values * sizeof *row);
    double best = rate_of(m, copies, 1, n_values);
    for (size_t b = GROWTH; b <= MOST && sis__seconds() - begin < LONGEST; b *= GROWTH) {
        double rate = rate_of(m, copies, b, n_values);
        if (rate < 1.05 * best)
            break;
        best = rate;
        m->batch = b;
    }
    free(copies);
    return SIS_OK;
}

static int measure(void *ctx, const double *row, size_t n_values, size_t *n_outputs) {
    ort_model *m = ctx;
    sis__fit fit;
    *n_outputs = 0;
    int code = pass(m, row, 1, n_values, &m->n_outputs);
    if (code == SIS_OK)
        code = fit_rows(m, n_values, &fit);
    if (code == SIS_OK && fit.batched && fit.rows == 0)
        code = find_batch(m, row, n_values);
    else if (code == SIS_OK && fit.batched && fit.rows > 1)
        code = check_fixed(m, row, n_values, fit.rows);
    if (code != SIS_OK)
        m->n_outputs = 0;
    *n_outputs = m->n_outputs;
    return fail_here(code, m);
}

/* ---- Opening --------------------------------------------------------------------------------- */

/* What an input or output is; if it is a tensor, of what (*info, else NULL). */
static int read_type(const type_info *type, int *kind, const tensor_info **info, int *number) {
    int code = check(ort.kind_of_type(type, kind));
    if (code == SIS_OK && *kind == KIND_TENSOR)
        code = check(ort.tensor_of_type(type, info));
    if (code == SIS_OK && *info)
        code = check(ort.element_type(*info, number));
    return code;
}

static int read_input(ort_model *m, size_t i, const char *name) {
    type_info *type = NULL;
    const tensor_info *info = NULL;
    sis__shape shape = {0};
    int64_t dims[SIS__RANK];
    int number = 0, kind = 0;
    int code = check(ort.input_type(m->session, i, &type));
    if (code == SIS_OK)
        code = read_type(type, &kind, &info, &number);
    if (code == SIS_OK && info)
        code = check(ort.rank(info, &shape.rank));
    if (code == SIS_OK && info && shape.rank <= SIS__RANK)
        code = check(ort.dims(info, dims, shape.rank));
    sis__value_type t = sis__value_numbered(number);
    if (code == SIS_OK &&
        (t == SIS__VALUE_UNKNOWN || t == SIS__VALUE_BYTES || shape.rank > SIS__RANK))
        code = sis__fail(SIS_E_UNSUPPORTED,
                         "input \"%.60s\" is no tensor of numbers (ONNX type %d)", name, number);
    for (size_t d = 0; code == SIS_OK && d < shape.rank; d++)
        shape.dims[d] = dims[d];
    if (type)
        ort.release_type(type);
    return code == SIS_OK ? sis__inputs_add(&m->inputs, name, t, &shape) : code;
}

static int read_inputs(ort_model *m, const sis_model_opt *opt) {
    size_t n = 0;
    int code = check(ort.input_count(m->session, &n));
    if (code == SIS_OK && (n == 0 || n > MOST_INPUTS))
        code = sis__fail(SIS_E_UNSUPPORTED, "it takes %zu inputs, and 1 to %d can be fed", n,
                         MOST_INPUTS);
    for (size_t i = 0; i < n && code == SIS_OK; i++) {
        char *name = NULL;
        code = check(ort.input_name(m->session, i, ort.allocator, &name));
        if (code == SIS_OK)
            code = read_input(m, i, name);
        if (name)
            check(ort.free_memory(ort.allocator, name));
    }
    return code == SIS_OK ? sis__inputs_settle(&m->inputs, opt) : code;
}

/* 2: numbers of floating point, or dictionaries of them; 1: other numbers; 0: neither. */
static int rank_output(const ort_model *m, size_t i, int *rank) {
    type_info *type = NULL;
    const tensor_info *info = NULL;
    int kind = 0, number = 0;
    int code = check(ort.output_type(m->session, i, &type));
    if (code == SIS_OK)
        code = read_type(type, &kind, &info, &number);
    sis__value_type t = sis__value_numbered(number);
    *rank = kind == KIND_SEQUENCE || sis__value_is_float(t)    ? 2
            : t != SIS__VALUE_UNKNOWN && t != SIS__VALUE_BYTES ? 1
                                                               : 0;
    if (type)
        ort.release_type(type);
    return code;
}

/* Is output i called so? NULL: any is. */
static int is_called(const ort_model *m, size_t i, const char *wanted, int *called) {
    char *name = NULL;
    int code = check(ort.output_name(m->session, i, ort.allocator, &name));
    *called = code == SIS_OK && (!wanted || strcmp(name, wanted) == 0);
    if (name)
        check(ort.free_memory(ort.allocator, name));
    return code;
}

static int no_output(const char *wanted, size_t n) {
    return wanted ? sis__fail(SIS_E_ARGUMENT,
                              "none of its %zu outputs is called \"%.60s\" and holds "
                              "numbers",
                              n, wanted)
                  : sis__fail(SIS_E_UNSUPPORTED, "none of its %zu outputs holds numbers", n);
}

/* The one that is wanted, by name; NULL: the first output of floating point, since what stands beside
 * probabilities are labels, else the first of numbers. */
static int choose_output(ort_model *m, const char *wanted) {
    size_t n = 0, chosen = 0;
    int best = 0, rank = 0, called = 0;
    int code = check(ort.output_count(m->session, &n));
    for (size_t i = 0; code == SIS_OK && i < n; i++) {
        code = is_called(m, i, wanted, &called);
        if (code == SIS_OK)
            code = rank_output(m, i, &rank);
        if (called && rank > best) {
            best = rank;
            chosen = i;
        }
    }
    if (code == SIS_OK && best == 0)
        code = no_output(wanted, n);
    return code == SIS_OK ? check(ort.output_name(m->session, chosen, ort.allocator, &m->output))
                          : code;
}

/* A session whose own threads leave the cores to the other users of the model. */
static int start_session(ort_model *m, int jobs) {
    session_options *options = NULL;
    int cores = sis__cores(), users = jobs > 0 ? jobs : cores;
    int code = check(ort.create_options(&options));
    if (code == SIS_OK)
        code = check(ort.set_threads_inside(options, users < cores ? cores / users : 1));
    if (code == SIS_OK)
        code = check(ort.set_threads_between(options, 1));
    if (code == SIS_OK)
        code = check(ort.create_session(ort.env, m->path, options, &m->session));
    if (options)
        ort.release_options(options);
    return code;
}

/* What the file calls its classes, as our own reader finds it. A file that it cannot read has no labels. */
static int read_labels(ort_model *m) {
    char label[256];
    sis_net *net;
    int code = sis_net_read(m->path, &net);
    if (code != SIS_OK)
        return code == SIS_E_NOMEM ? code : SIS_OK;
    for (size_t k = 0; code == SIS_OK && sis_net_label(net, k, label, sizeof label) == SIS_OK; k++)
        code = sis__opened_add_label(&m->opened, label);
    sis_net_free(net);
    return code;
}

static void row_shape(const void *ctx, sis_net_shape *shape) {
    sis__inputs_row(&((const ort_model *)ctx)->inputs, shape);
}

static int worker_new(void *ctx, void **worker) {
    ort_model *w = sis__copy(ctx, 1, sizeof *w);
    *worker = w;
    if (!w)
        return SIS_E_NOMEM;
    pthread_mutex_init(&w->lock, NULL);
    w->borrowed = 1;
    memset(w->given, 0, sizeof w->given);
    w->scores = NULL;
    w->scores_cap = 0;
    return SIS_OK;
}

/* `path` with `output` of several; NULL: as choose_output says. */
static int open_output(const char *path, const char *output, const sis_model_opt *opt,
                       const char *note, sis_model *out) {
    int code = ensure_loaded();
    ort_model *m = code == SIS_OK ? SIS_NEW(ort_model, 1) : NULL;
    if (!m)
        return code == SIS_OK ? SIS_E_NOMEM : code;
    m->opened.kind = &sis__model_ort;
    pthread_mutex_init(&m->lock, NULL);
    if (note)
        snprintf(m->opened.note, sizeof m->opened.note, "%s", note);
    m->path = sis__strdup(path);
    code = m->path ? start_session(m, opt->jobs) : SIS_E_NOMEM;
    if (code == SIS_OK)
        code = read_inputs(m, opt);
    if (code == SIS_OK)
        code = choose_output(m, output);
    if (code == SIS_OK)
        code = read_labels(m);
    if (code != SIS_OK) {
        if (m->path)
            fail_here(code, m);
        ort_close(m);
        return code;
    }
    *out = (sis_model){.predict = predict,
                       .ctx = m,
                       .n_values = sis__inputs_values(&m->inputs),
                       .worker_new = worker_new,
                       .worker_free = ort_close};
    return SIS_OK;
}

int sis__ort_open(const char *spec, const sis_model_opt *opt, const char *note, sis_model *out) {
    char *file;
    const char *output;
    int code = sis__file_part(spec, &file, &output);
    if (code == SIS_OK)
        code = open_output(file, output, opt, note, out);
    free(file);
    return code;
}

static int ort_open(const char *spec, const sis_model_opt *opt, sis_model *out) {
    return sis__ort_open(spec + strlen(sis__model_ort.prefix), opt, NULL, out);
}

const sis__model_kind sis__model_ort = {
    .prefix = "ort:",
    .open = ort_open,
    .measure = measure,
    .predict = predict,
    .row_shape = row_shape,
    .share = worker_new,
    .close = ort_close,
};
