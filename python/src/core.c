/* SPDX-License-Identifier: MIT
 *
 * sis._core: the C library as Python sees it. Models, collections, verification, records, clusters
 * and pages; everything that is about numpy, frames or notebooks is written in Python.
 *
 * Arrays come and go through the buffer protocol, so this file needs no headers of numpy and the
 * module works with any version of it. Only the limited API of Python 3.11 is used (the build sets
 * Py_LIMITED_API), so that one module serves every later Python. Results are lines of the results
 * file (sis/results.h): what the program writes, to the byte.
 *
 * Threads: the GIL is released while C works and taken back to call a Python model, to hand a
 * record over, and, at most twenty times a second, to report progress. An exception that a callable
 * raises ends the call and is raised again, with its traceback, where the call was made.
 */
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <sis/analysis.h>
#include <sis/data.h>
#include <sis/example.h>
#include <sis/files.h>
#include <sis/handle.h>
#include <sis/model.h>
#include <sis/prove.h>
#include <sis/record.h>
#include <sis/report.h>
#include <sis/results.h>
#include <sis/sis.h>
#include <sis/task.h>
#include <sis/text.h>

#include <sis/explain.h> /* experimental: what tasks hand over, */
#include <sis/net.h>     /* and what a network carries */

#include "gather.h"

static PyObject *Error;         /* sis.Error, a ValueError */
static PyTypeObject *ModelType; /* sis._core.Model */

/* ---- Errors -------------------------------------------------------------------------------- */

static PyObject *raise_code(int code) {
    const char *detail = sis_error_detail();
    const char *text = *detail ? detail : sis_error_text(code);
    if (PyErr_Occurred())
        return NULL;
    if (code == SIS_E_NOMEM)
        return PyErr_NoMemory();
    PyErr_SetString(code == SIS_E_IO ? PyExc_OSError : Error, text);
    return NULL;
}

/* ---- Models -------------------------------------------------------------------------------- */

static int texts_of(PyObject *list, const char ***texts, size_t *n);

typedef struct {
    PyObject_HEAD sis_model model;
    int opened;       /* by sis_model_open */
    PyObject *base;   /* the Model that this is a handle of, or NULL */
    PyObject *call;   /* callable (rows, how many, values, ours) -> buffer of scores */
    PyObject *raised; /* what it raised, until it is raised again */
    PyObject **rows;  /* (n_rows) bytearrays that masked copies are written into, under the GIL */
    size_t n_rows, room;
} Model;

/* A callable holds what holds the model more often than not. */
static int model_traverse(Model *m, visitproc visit, void *arg) {
    Py_VISIT(Py_TYPE((PyObject *)m));
    Py_VISIT(m->base);
    Py_VISIT(m->call);
    Py_VISIT(m->raised);
    return 0;
}

static int model_clear(Model *m) {
    if (!m->opened)
        Py_CLEAR(m->base); /* a handle is closed first */
    Py_CLEAR(m->call);
    Py_CLEAR(m->raised);
    return 0;
}

static void model_dealloc(Model *m) {
    PyTypeObject *type = Py_TYPE((PyObject *)m);
    PyObject_GC_UnTrack(m);
    if (m->opened) {
        Py_BEGIN_ALLOW_THREADS sis_model_close(&m->model);
        Py_END_ALLOW_THREADS m->opened = 0;
    }
    model_clear(m);
    for (size_t i = 0; i < m->n_rows; i++)
        Py_DECREF(m->rows[i]);
    free((void *)m->rows);
    PyObject_GC_Del(m);
    Py_DECREF(type);
}

/* Keep the exception under way, with its traceback; the first of several threads wins. */
static void keep_exception(PyObject **kept) {
    PyObject *type, *value, *trace;
    PyErr_Fetch(&type, &value, &trace);
    PyErr_NormalizeException(&type, &value, &trace);
    if (trace)
        PyException_SetTraceback(value, trace);
    Py_XDECREF(type);
    Py_XDECREF(trace);
    if (*kept)
        Py_XDECREF(value);
    else
        *kept = value;
}

/* Raise again what a callable has raised; 0 if it has not. */
static int raise_kept(Model *m) {
    PyObject *value = m->raised;
    if (!value)
        return 0;
    m->raised = NULL;
    PyErr_SetObject((PyObject *)Py_TYPE(value), value);
    Py_DECREF(value);
    return 1;
}

/* Of n inputs (n, outputs) scores, which are to be numbers. */
static int take_scores(PyObject *answer, size_t n, size_t outputs, double *scores) {
    Py_buffer b;
    size_t max = n * outputs, at = 0;
    if (PyObject_GetBuffer(answer, &b, PyBUF_C_CONTIGUOUS) != 0)
        return -1;
    int fits = (size_t)b.len == max * sizeof *scores;
    if (fits)
        memcpy(scores, b.buf, (size_t)b.len);
    else
        PyErr_Format(Error, "the model returned %zd bytes of scores, expected %zu", b.len,
                     max * sizeof *scores);
    PyBuffer_Release(&b);
    while (fits && at < max && !isnan(scores[at]))
        at++;
    if (fits && at < max)
        PyErr_Format(Error,
                     "the model returned NaN for input %zu of a batch of %zu; "
                     "every score must be a number",
                     at / outputs, n);
    return fits && at == max ? 0 : -1;
}

/* ---- Rows ------------------------------------------------------------------------------------
 *
 * Masked copies are written into bytearrays, of which a callable is given a view: nothing is copied,
 * and what it keeps stays alive and as it was, because rows that somebody else still refers to are
 * not written to again. */

/* The place of rows in the list, or n_rows. */
static size_t rows_find(const Model *m, const double *rows) {
    size_t i = 0;
    while (i < m->n_rows && (const double *)(void *)PyByteArray_AsString(m->rows[i]) != rows)
        i++;
    return i;
}

static void rows_drop(Model *m, size_t i) {
    Py_DECREF(m->rows[i]);
    m->rows[i] = m->rows[--m->n_rows];
}

static double *rows_add(Model *m, size_t n) {
    if (m->n_rows == m->room) {
        PyObject **more = (PyObject **)realloc((void *)m->rows, (m->room + 8) * sizeof *more);
        if (!more)
            return NULL;
        m->rows = more;
        m->room += 8;
    }
    PyObject *bytes = PyByteArray_FromStringAndSize(NULL, (Py_ssize_t)(n * sizeof(double)));
    if (!bytes) {
        PyErr_Clear();
        return NULL;
    }
    m->rows[m->n_rows++] = bytes;
    return (double *)(void *)PyByteArray_AsString(bytes);
}

static double *call_rows(void *ctx, double *rows, size_t n) {
    Model *m = (Model *)ctx;
    PyGILState_STATE gil = PyGILState_Ensure();
    size_t at = rows ? rows_find(m, rows) : m->n_rows;
    if (at == m->n_rows || Py_REFCNT(m->rows[at]) > 1) {
        rows = rows_add(m, n);
        if (rows && at + 1 < m->n_rows)
            rows_drop(m, at);
    }
    PyGILState_Release(gil);
    return rows;
}

static void call_rows_free(void *ctx, double *rows) {
    Model *m = (Model *)ctx;
    PyGILState_STATE gil = PyGILState_Ensure();
    size_t at = rows_find(m, rows);
    if (at < m->n_rows)
        rows_drop(m, at);
    PyGILState_Release(gil);
}

/* Our own rows as they are, others as memory that is good for the call alone. */
static PyObject *rows_view(const Model *m, const double *rows, Py_ssize_t bytes, int *own) {
    size_t at = rows_find(m, rows);
    *own = at < m->n_rows;
    return *own ? Py_NewRef(m->rows[at])
                : PyMemoryView_FromMemory((char *)(uintptr_t)rows, bytes, PyBUF_READ);
}

static int call_predict(void *ctx, const double *rows, size_t n, size_t width, double *scores) {
    Model *m = (Model *)ctx;
    PyGILState_STATE gil = PyGILState_Ensure();
    int own;
    PyObject *view = rows_view(m, rows, (Py_ssize_t)(n * width * sizeof *rows), &own);
    PyObject *answer = view ? PyObject_CallFunction(m->call, "Onni", view, (Py_ssize_t)n,
                                                    (Py_ssize_t)(n * width), own)
                            : NULL;
    int bad = !answer || take_scores(answer, n, m->model.n_outputs, scores) != 0;
    if (bad)
        keep_exception(&m->raised);
    Py_XDECREF(answer);
    Py_XDECREF(view);
    PyGILState_Release(gil);
    if (bad)
        sis_error_set("the model raised an exception");
    return bad ? SIS_E_MODEL : SIS_OK;
}

static int model_init(Model *m, PyObject *args, PyObject *kwargs) {
    static char *names[] = {"call", "n_outputs", "n_values", "max_rows", NULL};
    PyObject *call;
    Py_ssize_t outputs, values, rows = 0;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "Onn|n", names, &call, &outputs, &values, &rows))
        return -1;
    if (outputs < 1 || values < 0 || rows < 0 || m->opened || m->call) {
        PyErr_SetString(Error, "a model needs at least one output and is initialised once");
        return -1;
    }
    m->call = Py_NewRef(call);
    m->model = (sis_model){.size = sizeof(sis_model),
                           .predict = call_predict,
                           .ctx = m,
                           .n_outputs = (size_t)outputs,
                           .n_values = (size_t)values,
                           .max_rows = (size_t)rows,
                           .rows_new = call_rows,
                           .rows_free = call_rows_free,
                           .worker_new = sis_worker_share};
    return 0;
}

static PyObject *model_open(PyObject *type, PyObject *args, PyObject *kwargs) {
    static char *names[] = {"spec",  "timeout", "normalize", "score", "cache",
                            "token", "headers", "retries",   NULL};
    const char *spec;
    PyObject *headers = Py_None;
    Py_ssize_t retries = -1;
    const char **lines = NULL;
    sis_model_opt opt;
    sis_model_opt_init(&opt);
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "s|dzzzzOn", names, &spec, &opt.timeout,
                                     &opt.normalize, &opt.score, &opt.cache, &opt.token, &headers,
                                     &retries) ||
        texts_of(headers, &lines, &opt.n_headers) != 0)
        return NULL;
    opt.headers = lines;
    opt.retries = retries >= 0 ? (size_t)retries : opt.retries;
    Model *m = (Model *)PyType_GenericAlloc((PyTypeObject *)type, 0);
    if (!m) {
        free(lines);
        return NULL;
    }
    int error;
    Py_BEGIN_ALLOW_THREADS error = sis_model_open(spec, &opt, &m->model);
    Py_END_ALLOW_THREADS m->opened = error == SIS_OK;
    free(lines);
    if (error != SIS_OK) {
        Py_DECREF(m);
        return raise_code(error);
    }
    return (PyObject *)m;
}

/* Numbers of a Python sequence; -1 with an exception: they are none, or too many. */
static int sizes_get(PyObject *list, size_t *dims, size_t max, size_t *n) {
    Py_ssize_t size = PySequence_Size(list);
    *n = size > 0 ? (size_t)size : 0;
    if (*n > max)
        PyErr_SetString(PyExc_ValueError, "too many axes");
    for (size_t d = 0; d < *n && !PyErr_Occurred(); d++) {
        PyObject *o = PySequence_GetItem(list, (Py_ssize_t)d);
        dims[d] = o ? PyLong_AsSize_t(o) : 0;
        Py_XDECREF(o);
    }
    return PyErr_Occurred() ? -1 : 0;
}

static PyObject *model_shaped(Model *m, PyObject *shape) {
    size_t dims[SIS_NET_MAX_RANK], rank;
    if (sizes_get(shape, dims, SIS_NET_MAX_RANK, &rank) != 0)
        return NULL;
    Model *handle = (Model *)PyType_GenericAlloc(Py_TYPE((PyObject *)m), 0);
    if (!handle)
        return NULL;
    int error = sis_model_share(&m->model, &handle->model);
    handle->opened = error == SIS_OK;
    handle->base = Py_NewRef((PyObject *)m);
    if (error == SIS_OK)
        error = sis_model_take_shape(&handle->model, dims, rank);
    if (error == SIS_OK)
        return (PyObject *)handle;
    Py_DECREF(handle);
    return raise_code(error);
}

static PyObject *model_take_batch(Model *m, PyObject *none) {
    (void)none;
    int error;
    Py_BEGIN_ALLOW_THREADS error = sis_model_take_batch(&m->model);
    Py_END_ALLOW_THREADS if (error != SIS_OK) return raise_code(error);
    Py_RETURN_NONE;
}

/* Rows of doubles, (n, width). */
typedef struct {
    Py_buffer b;
    size_t n, width;
} rows_in;

static int rows_get(PyObject *o, size_t n, rows_in *r) {
    if (PyObject_GetBuffer(o, &r->b, PyBUF_C_CONTIGUOUS) != 0)
        return -1;
    r->n = n;
    r->width = n ? (size_t)r->b.len / sizeof(double) / n : 0;
    if (r->width * n * sizeof(double) == (size_t)r->b.len && r->width > 0)
        return 0;
    PyBuffer_Release(&r->b);
    PyErr_SetString(Error, "expected rows of doubles");
    return -1;
}

/* measure(row): learn how many outputs an opened model has. */
static PyObject *model_measure(Model *m, PyObject *row) {
    rows_in r;
    if (rows_get(row, 1, &r) != 0)
        return NULL;
    int error;
    Py_BEGIN_ALLOW_THREADS error = sis_model_measure(&m->model, (const double *)r.b.buf, r.width);
    Py_END_ALLOW_THREADS PyBuffer_Release(&r.b);
    return error ? raise_code(error) : PyLong_FromSize_t(m->model.n_outputs);
}

/* predict(rows, n, jobs) -> bytes of (n, n_outputs) doubles */
static PyObject *model_predict(Model *m, PyObject *args) {
    PyObject *rows, *out = NULL;
    Py_ssize_t n;
    int jobs = 1, error = SIS_E_NOMEM;
    rows_in r;
    if (!PyArg_ParseTuple(args, "On|i", &rows, &n, &jobs) || rows_get(rows, (size_t)n, &r) != 0)
        return NULL;
    sis_input *inputs = calloc((size_t)n, sizeof *inputs);
    out = PyBytes_FromStringAndSize(NULL, n * (Py_ssize_t)(m->model.n_outputs * sizeof(double)));
    if (inputs && out) {
        double *scores = (double *)(void *)PyBytes_AsString(out);
        sis_opt opt;
        sis_opt_init(&opt);
        opt.jobs = jobs;
        for (size_t i = 0; i < r.n; i++)
            inputs[i] = (sis_input){.values = (const double *)r.b.buf + i * r.width,
                                    .mask = (const double *)r.b.buf + i * r.width,
                                    .n_values = r.width};
        Py_BEGIN_ALLOW_THREADS error = sis_predict(&m->model, inputs, r.n, &opt, scores);
        Py_END_ALLOW_THREADS
    }
    free(inputs);
    PyBuffer_Release(&r.b);
    if (error != SIS_OK) {
        Py_CLEAR(out);
        if (!raise_kept(m))
            raise_code(error);
    }
    return out;
}

/* What a language model answers to n prompts, or how it scores `answer` there. */
static int ask_prompts(Model *m, const char *const *texts, size_t n, const char *answer,
                       PyObject *out) {
    sis_prompt *prompts = calloc(n + 1, sizeof *prompts);
    sis_input *inputs = calloc(n + 1, sizeof *inputs);
    double *numbers = calloc(n + 1, sizeof *numbers), *scores = calloc(n + 1, sizeof *scores);
    sis_model handle;
    sis_opt opt;
    int error = prompts && inputs && numbers && scores ? SIS_OK : SIS_E_NOMEM;
    sis_opt_init(&opt);
    for (size_t i = 0; error == SIS_OK && i < n; i++) {
        numbers[i] = (double)i;
        prompts[i] = (sis_prompt){.before = texts[i], .after = "", .answer = answer};
        inputs[i] = (sis_input){.values = &numbers[i], .mask = &numbers[i], .n_values = 1};
    }
    if (error == SIS_OK && (error = sis_model_share(&m->model, &handle)) == SIS_OK) {
        Py_BEGIN_ALLOW_THREADS error = sis_model_take_prompts(&handle, prompts, n);
        if (error == SIS_OK)
            error = sis_predict(&handle, inputs, n, &opt, scores);
        Py_END_ALLOW_THREADS for (size_t i = 0; error == SIS_OK && i < n; i++) {
            sis_prompt_account a = {0};
            error = sis_model_account(&handle, i, &a);
            PyObject *one = error == SIS_OK ? Py_BuildValue("(dz)", scores[i], a.answer) : NULL;
            if (error == SIS_OK && (!one || PyList_Append(out, one) != 0))
                error = SIS_E_NOMEM;
            Py_XDECREF(one);
        }
        sis_model_close(&handle);
    }
    free(prompts);
    free(inputs);
    free(numbers);
    free(scores);
    return error;
}

/* ask(prompts, answer) -> [(score, answer)] of a language model; answer None: its own */
static PyObject *model_ask(Model *m, PyObject *args) {
    PyObject *list, *out;
    const char *answer, **texts = NULL;
    size_t n;
    if (!PyArg_ParseTuple(args, "Oz", &list, &answer) || texts_of(list, &texts, &n) != 0)
        return NULL;
    out = PyList_New(0);
    int error = out ? ask_prompts(m, texts, n, answer, out) : SIS_E_NOMEM;
    free(texts);
    if (error == SIS_OK)
        return out;
    Py_XDECREF(out);
    return raise_code(error);
}

/* A text of a file to a list. */
static int list_add(PyObject *list, const char *text) {
    PyObject *o = PyUnicode_DecodeUTF8(text, (Py_ssize_t)strlen(text), "replace");
    int bad = !o || PyList_Append(list, o) != 0;
    Py_XDECREF(o);
    return bad;
}

/* about() -> dict: what an opened network carries, and what the values of a forest are called. */
static PyObject *model_about(Model *m, PyObject *none) {
    (void)none;
    const sis_net *net = m->opened ? sis_model_document(&m->model) : NULL;
    int walked = m->opened && sis_model_net(&m->model);
    PyObject *meta = PyDict_New(), *labels = PyList_New(0);
    int bad = !meta || !labels;
    for (size_t i = 0; !bad && net && i < sis_net_meta_count(net); i++) {
        const char *key = sis_net_meta_key(net, i), *value = sis_net_meta_get(net, key);
        PyObject *text = PyUnicode_DecodeUTF8(value, (Py_ssize_t)strlen(value), "replace");
        bad = !text || PyDict_SetItemString(meta, key, text) != 0;
        Py_XDECREF(text);
    }
    char label[256];
    for (size_t k = 0;
         !bad && m->opened && sis_model_label(&m->model, k, label, sizeof label) == SIS_OK; k++)
        bad = list_add(labels, label);
    const char *const *called = m->opened ? sis_model_names(&m->model) : NULL;
    PyObject *names = PyList_New(0);
    bad |= !names;
    for (size_t k = 0; !bad && called && k < m->model.n_values; k++)
        bad = list_add(names, called[k]);
    size_t n = 0;
    const float *mask = net ? sis_net_mask(net, &n) : NULL;
    PyObject *shape = PyList_New(0);
    sis_net_shape s = {0};
    if (m->opened)
        sis_model_row_shape(&m->model, &s);
    for (size_t d = 0; !bad && shape && d < s.rank; d++) {
        PyObject *size = PyLong_FromSize_t(s.dims[d]);
        bad = !size || PyList_Append(shape, size) != 0;
        Py_XDECREF(size);
    }
    PyObject *out =
        bad || !shape
            ? NULL
            : Py_BuildValue("{s:O,s:O,s:z,s:O,s:O,s:O,s:y#,s:O}", "names", names, "network",
                            walked ? Py_True : Py_False, "engine",
                            m->opened ? sis_model_engine(&m->model) : NULL, "meta", meta, "labels",
                            labels, "shape", shape, "mask", mask ? (const char *)mask : "",
                            (Py_ssize_t)(n * sizeof *mask), "tokens",
                            net && sis_net_is_token(net) ? Py_True : Py_False);
    Py_XDECREF(meta);
    Py_XDECREF(labels);
    Py_XDECREF(names);
    Py_XDECREF(shape);
    return out;
}

static PyObject *model_outputs(Model *m, void *none) {
    (void)none;
    return PyLong_FromSize_t(m->model.n_outputs);
}

static PyObject *model_values(Model *m, void *none) {
    (void)none;
    return PyLong_FromSize_t(m->model.n_values);
}

static PyObject *model_walks(Model *m, void *none) {
    (void)none;
    return PyBool_FromLong(m->model.walk_new != NULL);
}

static PyMethodDef model_methods[] = {
    {"open", (PyCFunction)(void (*)(void))model_open, METH_VARARGS | METH_KEYWORDS | METH_CLASS,
     "open(spec, timeout=60.0): a model as the program's --model names it"},
    {"measure", (PyCFunction)model_measure, METH_O, "measure(row): how many outputs there are"},
    {"take_batch", (PyCFunction)model_take_batch, METH_NOARGS,
     "take_batch(): a row is one of the fixed number of rows that a network was exported for"},
    {"shaped", (PyCFunction)model_shaped, METH_O,
     "shaped(shape) -> a handle of a network, whose rows have this shape"},
    {"predict", (PyCFunction)model_predict, METH_VARARGS,
     "predict(rows, n, jobs=1) -> bytes of (n, n_outputs) doubles"},
    {"ask", (PyCFunction)model_ask, METH_VARARGS, "ask(prompts, answer) -> [(score, answer)]"},
    {"about", (PyCFunction)model_about, METH_NOARGS, "about() -> what a network carries"},
    {0},
};

static PyGetSetDef model_fields[] = {
    {"n_outputs", (getter)model_outputs, NULL, "scores for one input", NULL},
    {"n_values", (getter)model_values, NULL, "values in one input, 0: any number", NULL},
    {"walks", (getter)model_walks, NULL, "has it walks of its own?", NULL},
    {0},
};

static PyType_Slot model_slots[] = {
    {Py_tp_doc, "Model(call, n_outputs, n_values, max_rows=0): anything that predicts"},
    {Py_tp_new, PyType_GenericNew},
    {Py_tp_init, model_init},
    {Py_tp_dealloc, model_dealloc},
    {Py_tp_traverse, model_traverse},
    {Py_tp_clear, model_clear},
    {Py_tp_methods, model_methods},
    {Py_tp_getset, model_fields},
    {0},
};

static PyType_Spec model_spec = {
    .name = "sis._core.Model",
    .basicsize = sizeof(Model),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_IMMUTABLETYPE,
    .slots = model_slots,
};

/* ---- Examples ------------------------------------------------------------------------------ */

/* One example as Python describes it: a dict of buffers and words, borrowed by a sis_input and a
 * sis_record. */
enum {
    VALUES,
    MASK,
    MAP,
    SHOWN_VALUES,
    SHOWN_MASK,
    SHOWN_MAP,
    SHOWN_COLUMN, /* which value of the model each shown one is made of */
    SHOWN_PLACE,  /* the category that it stands for, -1: it is the value itself */
    LOW,
    HIGH,
    MISSING,
    SCALE,
    STEP,
    FIXED,
    N_BUFFERS
};

typedef struct {
    sis_input input;
    sis_record record; /* all but the collection */
    size_t *shape;
    const char **names, **value_names, **words;
    Py_buffer
        buffers[N_BUFFERS]; /* values, mask, feature map; the same as shown; what other values may
                                     be; how contrasts change them. buf NULL: none */
} example;

typedef struct {
    example *items;
    sis_input *inputs;
    size_t n;
} examples;

static void examples_release(examples *e) {
    for (size_t i = 0; e->items && i < e->n; i++) {
        for (size_t k = 0; k < N_BUFFERS; k++)
            if (e->items[i].buffers[k].buf)
                PyBuffer_Release(&e->items[i].buffers[k]);
        free(e->items[i].shape);
        free(e->items[i].names);
        free(e->items[i].value_names);
        free(e->items[i].words);
    }
    free(e->items);
    free(e->inputs);
}

/* The item of a dict, NULL without an exception where it is missing or None. */
static PyObject *item(PyObject *dict, const char *key) {
    PyObject *o = PyDict_GetItemString(dict, key);
    return o == Py_None ? NULL : o;
}

/* A str as a string of C, which a NUL would end. */
static const char *text_of(PyObject *o) {
    Py_ssize_t n;
    const char *text = PyUnicode_AsUTF8AndSize(o, &n);
    if (text && strlen(text) != (size_t)n) {
        PyErr_SetString(Error, "a text, name, id or label contains a null character");
        return NULL;
    }
    return text;
}

static const char *text_item(PyObject *dict, const char *key) {
    PyObject *o = item(dict, key);
    return o ? text_of(o) : NULL;
}

static int buffer_item(PyObject *dict, const char *key, size_t size, Py_buffer *b, size_t *n) {
    PyObject *o = item(dict, key);
    *n = 0;
    if (!o)
        return 0;
    if (PyObject_GetBuffer(o, b, PyBUF_C_CONTIGUOUS) != 0) {
        b->buf = NULL;
        return -1;
    }
    *n = (size_t)b->len / size;
    return 0;
}

/* A list of str as pointers that live as long as the list. */
static int texts_item(PyObject *dict, const char *key, const char ***texts, size_t *n) {
    PyObject *list = item(dict, key);
    *n = 0;
    if (!list)
        return 0;
    if (!PyList_Check(list)) {
        PyErr_Format(Error, "%s: expected a list of str", key);
        return -1;
    }
    *n = (size_t)PyList_Size(list);
    *texts = calloc(*n ? *n : 1, sizeof **texts);
    if (!*texts) {
        PyErr_NoMemory();
        return -1;
    }
    for (size_t i = 0; i < *n; i++)
        if (!((*texts)[i] = text_of(PyList_GetItem(list, (Py_ssize_t)i))))
            return -1;
    return 0;
}

static int shape_item(PyObject *dict, example *e) {
    PyObject *list = item(dict, "shape");
    if (!list)
        return 0;
    Py_ssize_t n = PySequence_Size(list);
    e->shape = n >= 0 ? calloc((size_t)n + 1, sizeof *e->shape) : NULL;
    e->record.drawing.shape = e->shape;
    return e->shape ? sizes_get(list, e->shape, (size_t)n, &e->record.drawing.rank) : -1;
}

/* What the record shows of the example: what the model takes, unless "shown" says otherwise (a column
 * of categories is one number to the model, a 0 or 1 for each category to a reader; numbers of
 * pieces of a text say nothing). */
static int shown_read(PyObject *dict, example *e) {
    sis_record *r = &e->record;
    PyObject *shown = item(dict, "shown");
    size_t n_mask, n_map, n_names, n_column, n_place;
    if (shown == Py_False)
        return 0;
    if (!shown) {
        r->drawing.n_values = e->input.n_values;
        r->drawing.values = e->input.values;
        r->drawing.feature_map = e->input.feature_of;
        r->drawing.mask = e->input.n_samples == 1 && !r->drawing.words ? e->input.mask : NULL;
        return 0;
    }
    if (!PyDict_Check(shown) ||
        buffer_item(shown, "values", sizeof(double), &e->buffers[SHOWN_VALUES],
                    &r->drawing.n_values) ||
        buffer_item(shown, "mask", sizeof(double), &e->buffers[SHOWN_MASK], &n_mask) ||
        buffer_item(shown, "feature_map", sizeof(int), &e->buffers[SHOWN_MAP], &n_map) ||
        buffer_item(shown, "column", sizeof(int), &e->buffers[SHOWN_COLUMN], &n_column) ||
        buffer_item(shown, "place", sizeof(int), &e->buffers[SHOWN_PLACE], &n_place) ||
        texts_item(shown, "value_names", &e->value_names, &n_names))
        return -1;
    if ((n_map && n_map != r->drawing.n_values) || (n_mask && n_mask != r->drawing.n_values) ||
        (n_names && n_names != r->drawing.n_values) || n_column != n_place ||
        (n_column && n_column != r->drawing.n_values)) {
        PyErr_SetString(Error, "shown: expected as many values as names and features");
        return -1;
    }
    r->drawing.values = (const double *)e->buffers[SHOWN_VALUES].buf;
    r->drawing.mask = (const double *)e->buffers[SHOWN_MASK].buf;
    r->drawing.feature_map = (const int *)e->buffers[SHOWN_MAP].buf;
    r->drawing.value_names = (const char *const *)e->value_names;
    return 0;
}

static int texts_read(PyObject *dict, sis_record *r) {
    r->id = text_item(dict, "id");
    r->model = text_item(dict, "model");
    r->drawing.kind = text_item(dict, "kind");
    r->drawing.label = text_item(dict, "label");
    r->question.target_label = text_item(dict, "target_label");
    r->drawing.sequence = text_item(dict, "sequence");
    r->drawing.unit = text_item(dict, "unit");
    r->question.method = "sis";
    return PyErr_Occurred() ? -1 : 0;
}

/* How many features a map of n values has; NULL in it: each value is one. */
static size_t features_of(size_t n, const Py_buffer *map) {
    const int *owner = (const int *)map->buf;
    size_t max = 0;
    for (size_t v = 0; owner && v < n; v++)
        max = owner[v] >= (int)max ? (size_t)owner[v] + 1 : max;
    return owner ? max : n;
}

/* The buffers of an example, in the order of the enumeration, those of "shown" aside. */
static const struct {
    const char *key;
    int place;
    size_t size; /* of an entry */
} BUFFERS[] = {{"values", VALUES, sizeof(double)},
               {"mask", MASK, sizeof(double)},
               {"feature_map", MAP, sizeof(int)},
               {"low", LOW, sizeof(double)},
               {"high", HIGH, sizeof(double)},
               {"missing", MISSING, 1},
               {"scale", SCALE, sizeof(double)},
               {"step", STEP, sizeof(double)},
               {"fixed", FIXED, 1}};

/* Either absent or of this length. */
static int is_optional(const size_t *n, int place, size_t length) {
    return n[place] == 0 || n[place] == length;
}

static int example_read(PyObject *dict, example *e) {
    size_t n[N_BUFFERS] = {0};
    sis_record *r = &e->record;
    sis_input *in = &e->input;
    PyObject *output = item(dict, "target"), *threshold = item(dict, "threshold");
    for (size_t k = 0; k < sizeof BUFFERS / sizeof *BUFFERS; k++) {
        int at = BUFFERS[k].place;
        if (buffer_item(dict, BUFFERS[k].key, BUFFERS[k].size, &e->buffers[at], &n[at]))
            return -1;
    }
    if (texts_item(dict, "names", &e->names, &r->drawing.n_names) ||
        texts_item(dict, "words", &e->words, &r->drawing.n_words) || shape_item(dict, e) ||
        texts_read(dict, r))
        return -1;
    in->n_values = n[VALUES];
    in->output = r->question.target = output ? PyLong_AsSize_t(output) : 0;
    r->question.threshold = threshold ? PyFloat_AsDouble(threshold) : 0;
    if (PyErr_Occurred())
        return -1;
    if (!r->id || !r->model || in->n_values == 0 || n[MASK] == 0 || n[MASK] % in->n_values ||
        !is_optional(n, MAP, in->n_values) || !is_optional(n, LOW, in->n_values) ||
        n[HIGH] != n[LOW] || !is_optional(n, MISSING, in->n_values) ||
        !is_optional(n, SCALE, in->n_values) || n[STEP] != n[SCALE] ||
        !is_optional(n, FIXED, features_of(in->n_values, &e->buffers[MAP]))) {
        PyErr_SetString(Error, "an example needs id, model, values, a feature map of the "
                               "same length, and a mask of that length or a multiple of it");
        return -1;
    }
    in->values = (const double *)e->buffers[VALUES].buf;
    in->mask = (const double *)e->buffers[MASK].buf;
    in->n_samples = n[MASK] / in->n_values;
    in->feature_of = (const int *)e->buffers[MAP].buf;
    in->name = r->id;
    r->drawing.names = (const char *const *)e->names;
    r->drawing.words = (const char *const *)e->words;
    return shown_read(dict, e);
}

static int examples_read(PyObject *list, examples *e) {
    if (!PyList_Check(list)) {
        PyErr_SetString(Error, "examples: expected a list of dicts");
        return -1;
    }
    e->n = (size_t)PyList_Size(list);
    e->items = calloc(e->n + 1, sizeof *e->items);
    e->inputs = calloc(e->n + 1, sizeof *e->inputs);
    if (!e->items || !e->inputs) {
        PyErr_NoMemory();
        return -1;
    }
    for (size_t i = 0; i < e->n; i++) {
        PyObject *dict = PyList_GetItem(list, (Py_ssize_t)i);
        if (!PyDict_Check(dict) || example_read(dict, &e->items[i]) != 0) {
            if (!PyErr_Occurred())
                PyErr_SetString(Error, "example: expected a dict");
            return -1;
        }
        e->inputs[i] = e->items[i].input;
    }
    return 0;
}

/* ---- Explaining ---------------------------------------------------------------------------- */

typedef struct {
    sis_opt opt;
    int trace;
    PyObject *progress, *done;
    double told;   /* when progress was last reported */
    int cancelled; /* by what it answered */
    int together;  /* examples whose rows are asked about in one call; 0, 1: one */
    PyObject *raised;
    examples e;
    Model *m;
    const char *method, *domain; /* NULL: sis; any */
    int for_all, keep_class, smallest, cheapest;
    sis_prover *prover;        /* with for_all */
    sis_guarantee *guarantees; /* (examples) */
} job;

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int keep_raised(job *j) {
    keep_exception(&j->raised);
    return 1;
}

static int tell(void *ctx, const sis_progress *p) {
    job *j = (job *)ctx;
    double t = now();
    if (j->cancelled || t - j->told < 0.05)
        return j->cancelled;
    j->told = t;
    PyGILState_STATE gil = PyGILState_Ensure();
    int cancel = PyErr_CheckSignals() != 0 ? keep_raised(j) : 0;
    if (!cancel && j->progress != Py_None) {
        PyObject *answer =
            PyObject_CallFunction(j->progress, "nnnd", (Py_ssize_t)p->inputs,
                                  (Py_ssize_t)p->inputs_done, (Py_ssize_t)p->evaluations, p->walk);
        cancel = answer ? PyObject_IsTrue(answer) : keep_raised(j);
        Py_XDECREF(answer);
    }
    PyGILState_Release(gil);
    return j->cancelled = cancel;
}

/* A record as a line of the results file, to whom it is for. */
static int hand_record(job *j, size_t i, const sis_record *r) {
    char *line;
    size_t n;
    int error = sis_record_format(r, j->trace, &line, &n);
    if (error)
        return error;
    PyGILState_STATE gil = PyGILState_Ensure();
    PyObject *answer = PyObject_CallFunction(j->done, "ny#", (Py_ssize_t)i, line, (Py_ssize_t)n);
    if (!answer) {
        keep_raised(j);
        error = SIS_E_CANCELLED;
    }
    Py_XDECREF(answer);
    PyGILState_Release(gil);
    free(line);
    return error;
}

static void prove_options(const example *e, const sis_opt *opt, int keep_class, sis_prove_opt *p) {
    sis_prove_opt_init(p);
    p->threshold = opt->threshold;
    p->below = opt->below;
    p->keep_class = keep_class;
    p->max_subsets = opt->max_subsets;
    p->low = (const double *)e->buffers[LOW].buf;
    p->high = (const double *)e->buffers[HIGH].buf;
    p->missing = (const unsigned char *)e->buffers[MISSING].buf;
    p->scale = (const double *)e->buffers[SCALE].buf;
    p->step = (const double *)e->buffers[STEP].buf;
    p->fixed = (const unsigned char *)e->buffers[FIXED].buf;
}

static int find_quick(const sis_model *model, const sis_input *input, const sis_opt *opt,
                      sis_collection *out) {
    sis_rationale r;
    sis_method_opt how;
    sis_method_opt_init(&how);
    how.method = SIS_METHOD_QUICK;
    int error = sis_explain(model, input, opt, &how, &r);
    *out = r.collection;
    r.collection = (sis_collection){0};
    sis_rationale_release(&r);
    return error;
}

/* One example, as it is asked for. */
static int find_one(void *ctx, size_t i, const sis_model *model, const sis_opt *opt,
                    sis_collection *out) {
    job *j = (job *)ctx;
    const sis_input *in = &j->e.inputs[i];
    sis_model lead;
    sis_opt own = *opt;
    own.threshold = j->e.items[i].record.question.threshold;
    opt = &own;
    if (j->for_all) {
        sis_prove_opt p;
        prove_options(&j->e.items[i], opt, j->keep_class, &p);
        p.smallest = j->smallest;
        p.cheapest = j->cheapest;
        p.contrast = j->method && strcmp(j->method, "contrast") == 0;
        return sis_prove_collect(j->prover, in, &p, out, &j->guarantees[i]);
    }
    if (j->keep_class) {
        sis_model_argmax(model, &lead);
        model = &lead;
    }
    return j->method && strcmp(j->method, "quick") == 0 ? find_quick(model, in, opt, out)
                                                        : sis_collect(model, in, opt, out);
}

static int hand_over(void *ctx, size_t i, const sis_collection *c);

static int run_job(job *j) {
    int error = SIS_OK;
    if (j->for_all) {
        j->guarantees = calloc(j->e.n + 1, sizeof *j->guarantees);
        error = j->guarantees ? sis_prover_new(&j->m->model, &j->prover) : SIS_E_NOMEM;
    }
    const sis_finder finder = {find_one, hand_over, j};
    const sis_model *model = &j->m->model;
    if (error == SIS_OK)
        error = j->together > 1 && model->n_values > 0
                    ? gather_find_many(model, j->e.inputs, j->e.n, &j->opt, &finder, j->together)
                    : sis_find_many(model, j->e.inputs, j->e.n, &j->opt, &finder);
    for (size_t i = 0; j->guarantees && i < j->e.n; i++)
        sis_guarantee_release(&j->guarantees[i]);
    free(j->guarantees);
    sis_prover_free(j->prover);
    return error;
}

/* A guarantee without its examples: a record has only such as are of the values that it shows. */
static sis_guarantee without_examples(sis_guarantee g) {
    g.examples = g.distances = NULL;
    g.n_examples = 0;
    g.nearest = 0;
    return g;
}

/* The values x of the model as the record of e shows them. Returns 0 if one is not a category. */
static int show_row(const example *e, const double *x, double *shown) {
    const int *column = (const int *)e->buffers[SHOWN_COLUMN].buf;
    const int *place = (const int *)e->buffers[SHOWN_PLACE].buf;
    size_t columns = 0, found = 0;
    for (size_t v = 0; v < e->record.drawing.n_values; v++) {
        double value = x[column[v]];
        shown[v] = place[v] < 0 ? value : value == place[v];
        columns += place[v] == 0 && !isnan(value);
        found += place[v] >= 0 && value == place[v];
    }
    return columns == found;
}

/* The inverse of show_row(). */
static int model_row(const example *e, const double *shown, double *x) {
    const int *column = (const int *)e->buffers[SHOWN_COLUMN].buf;
    const int *place = (const int *)e->buffers[SHOWN_PLACE].buf;
    for (size_t v = 0; v < e->record.drawing.n_values; v++)
        if (place[v] < 0)
            x[column[v]] = shown[v];
        else if (place[v] == 0 || shown[v] != 0)
            x[column[v]] = shown[v] != 0 ? (double)place[v] : (double)NAN;
    return 1;
}

/* A guarantee whose examples are converted by `row` from rows of `from` values to rows of `to`, in *rows, which the
 * caller frees; without examples if the conversion is not known. */
static sis_guarantee convert_examples(const example *e, sis_guarantee g, const size_t widths[2],
                                      int (*row)(const example *, const double *, double *),
                                      double **rows) {
    *rows = g.n_examples && e->buffers[SHOWN_COLUMN].buf
                ? calloc(g.n_examples * widths[1], sizeof **rows)
                : NULL;
    if (!*rows)
        return without_examples(g);
    for (size_t k = 0; k < g.n_examples; k++)
        if (!row(e, g.examples + k * widths[0], *rows + k * widths[1]))
            return without_examples(g);
    g.examples = *rows;
    return g;
}

static int hand_over(void *ctx, size_t i, const sis_collection *c) {
    job *j = (job *)ctx;
    sis_record r = j->e.items[i].record;
    sis_guarantee told;
    double *rows = NULL;
    r.question.method = j->method ? j->method : "sis";
    r.question.keep = j->keep_class ? "class" : NULL;
    if (j->for_all) {
        r.drawing.mask = NULL;
        const size_t widths[2] = {j->e.inputs[i].n_values, r.drawing.n_values};
        int same = r.drawing.values == j->e.inputs[i].values;
        if (!same)
            told = convert_examples(&j->e.items[i], j->guarantees[i], widths, show_row, &rows);
        r.guarantee = same ? &j->guarantees[i] : &told;
        r.question.domain = j->domain ? j->domain : "any";
    }
    r.question.n_outputs = j->m->model.n_outputs;
    r.question.below = j->opt.below;
    r.collection = *c;
    r.has_row = 1;
    r.row = i;
    int error = hand_record(j, i, &r);
    free(rows);
    return error;
}

/* spread(rows): the scale and the step of each column of doubles (n, width), 2 * width doubles. */
static PyObject *spread(PyObject *self, PyObject *rows) {
    Py_buffer b;
    sis_spread *s = NULL;
    (void)self;
    if (PyObject_GetBuffer(rows, &b, PyBUF_C_CONTIGUOUS | PyBUF_ND) != 0)
        return NULL;
    size_t n = b.ndim == 2 ? (size_t)b.shape[0] : 0, width = b.ndim == 2 ? (size_t)b.shape[1] : 0;
    PyObject *out = PyBytes_FromStringAndSize(NULL, (Py_ssize_t)(2 * width * sizeof(double)));
    int error = out ? sis_spread_new(width, &s) : SIS_OK;
    for (size_t i = 0; s && i < n; i++)
        sis_spread_add(s, (const double *)b.buf + i * width);
    if (s)
        sis_spread_get(s, (double *)(void *)PyBytes_AsString(out),
                       (double *)(void *)PyBytes_AsString(out) + width);
    sis_spread_free(s);
    PyBuffer_Release(&b);
    if (error == SIS_OK)
        return out;
    Py_XDECREF(out);
    return raise_code(error);
}

/* collect(model, examples, done, progress, *, ...): done(i, line) for each in order. */
static PyObject *collect(PyObject *self, PyObject *args, PyObject *kwargs) {
    static char *names[] = {"model",       "examples", "done",       "progress", "below",
                            "max_subsets", "memory",   "jobs",       "exact",    "trace",
                            "method",      "for_all",  "keep_class", "smallest", "domain",
                            "together",    "cheapest", NULL};
    PyObject *list;
    Py_ssize_t max = 0, memory = 0;
    job j = {0};
    int error = SIS_E_ARGUMENT;
    (void)self;
    sis_opt_init(&j.opt);
    if (!PyArg_ParseTupleAndKeywords(
            args, kwargs, "O!OOO|pnnippzpppzip", names, ModelType, &j.m, &list, &j.done,
            &j.progress, &j.opt.below, &max, &memory, &j.opt.jobs, &j.opt.exact, &j.trace,
            &j.method, &j.for_all, &j.keep_class, &j.smallest, &j.domain, &j.together, &j.cheapest))
        return NULL;
    j.opt.threshold = 0; /* each example has its own */
    j.opt.max_subsets = max > 0 ? (size_t)max : 0;
    j.opt.memory = memory > 0 ? (size_t)memory : j.opt.memory;
    j.opt.progress = tell;
    j.opt.progress_ctx = &j;
    int bad = examples_read(list, &j.e);
    if (!bad) {
        Py_BEGIN_ALLOW_THREADS error = run_job(&j);
        Py_END_ALLOW_THREADS
    }
    examples_release(&j.e);
    if (!bad && error == SIS_OK)
        Py_RETURN_NONE;
    if (j.raised) {
        Py_CLEAR(j.m->raised);
        PyErr_SetObject((PyObject *)Py_TYPE(j.raised), j.raised);
        Py_DECREF(j.raised);
        return NULL;
    }
    if (!bad && !raise_kept(j.m) && error == SIS_E_CANCELLED)
        PyErr_SetNone(PyExc_KeyboardInterrupt);
    return bad ? NULL : raise_code(error);
}

/* ---- Tasks: texts, sequences and files, encoded by the library ------------------------------- */

/* A list of str, or None: free(*texts). */
static int texts_of(PyObject *list, const char ***texts, size_t *n) {
    PyObject *dict = Py_BuildValue("{s:O}", "texts", list);
    int bad = !dict || texts_item(dict, "texts", texts, n) != 0;
    Py_XDECREF(dict); /* the strings live as long as the caller's list */
    return bad ? -1 : 0;
}

typedef struct {
    job j;
    sis_task_opt opt;
    PyObject *strings, *ids, *labels, *lines, *command;
    const char *kind;
    sis_data *data;
    sis_task *task;
    int exhaustive;
} file_task;

static int file_task_data(file_task *e) {
    const char **texts = NULL, **ids = NULL, **labels = NULL;
    size_t n, n_ids, n_labels;
    int error = SIS_E_ARGUMENT;
    if (texts_of(e->strings, &texts, &n) == 0 && texts_of(e->ids, &ids, &n_ids) == 0 &&
        texts_of(e->labels, &labels, &n_labels) == 0) {
        sis_data_with with = {.name = "X", .ids = ids, .labels = labels};
        if ((ids && n_ids != n) || (labels && n_labels != n))
            PyErr_SetString(Error, "ids and labels: expected one for each example");
        else
            error = strcmp(e->kind, "dna") == 0 ? sis_data_from_sequences(texts, n, &with, &e->data)
                                                : sis_data_from_texts(texts, n, &with, &e->data);
        e->opt.examples.data = e->data;
    }
    free(texts);
    free(ids);
    free(labels);
    return error;
}

static int parse_line(PyObject *line, sis_record *r);
static int add_audit(const char *id, const sis_audit *audit, PyObject *out);

/* Check what lines claim of the examples of a task. */
static int file_task_verify(file_task *e, PyObject *out) {
    int error = SIS_OK;
    for (Py_ssize_t i = 0; error == SIS_OK && i < PyList_Size(e->lines); i++) {
        sis_record r;
        sis_audit audit = {0};
        if (parse_line(PyList_GetItem(e->lines, i), &r) != 0)
            return SIS_E_FORMAT;
        Py_BEGIN_ALLOW_THREADS error = sis_task_verify(e->task, &r, 1, &audit);
        Py_END_ALLOW_THREADS if (error == SIS_OK) error = add_audit(r.id, &audit, out);
        sis_audit_release(&audit);
        sis_record_release(&r);
    }
    return error;
}

static int file_task_open(file_task *e) {
    int error;
    Py_BEGIN_ALLOW_THREADS error = sis_task_open(&e->opt, &e->task);
    Py_END_ALLOW_THREADS return error;
}

static int file_task_run(file_task *e) {
    sis_record record;
    size_t i = 0;
    int got;
    Py_BEGIN_ALLOW_THREADS while ((got = sis_task_next(e->task, &record)) == 1 &&
                                  (got = hand_record(&e->j, i++, &record)) == SIS_OK) continue;
    Py_END_ALLOW_THREADS return got;
}

static PyObject *bytes_of(char *text) {
    PyObject *bytes = PyBytes_FromString(text);
    free(text);
    return bytes;
}

/* How the records were made, to `out`. */
static int file_task_provenance(file_task *e, PyObject *out) {
    const char **words = NULL;
    size_t n = 0;
    char *provenance = NULL;
    if (e->command != Py_None && texts_of(e->command, &words, &n) != 0)
        return SIS_E_ARGUMENT;
    int error = sis_task_provenance(e->task, words, n, &provenance);
    free(words);
    if (error)
        return error;
    PyObject *bytes = bytes_of(provenance);
    if (!bytes || PyList_Append(out, bytes) != 0)
        error = SIS_E_NOMEM;
    Py_XDECREF(bytes);
    return error;
}

/* provenance(model, mask, examples, samples) -> bytes: how records of arrays and frames are made */
static PyObject *provenance_of(PyObject *self, PyObject *args) {
    sis_task_opt opt;
    Py_ssize_t count, samples;
    char *provenance;
    (void)self;
    sis_task_opt_init(&opt);
    if (!PyArg_ParseTuple(args, "zznn", &opt.model.spec, &opt.question.mask, &count, &samples))
        return NULL;
    opt.question.samples = (size_t)samples;
    int error = sis_task_opt_provenance(&opt, (size_t)count, NULL, 0, &provenance);
    return error ? raise_code(error) : bytes_of(provenance);
}

/* task(model, strings, kind, done, progress, lines, ...): explain texts or sequences, and say how the
 * records were made, or, with lines, verify these; kind "file": strings is the name of one; kind "objects": the
 * examples of a language model, a line of JSON each. */
static PyObject *task(PyObject *self, PyObject *args, PyObject *kwargs) {
    static char *names[] = {"model",        "strings",     "kind",       "done",      "progress",
                            "lines",        "name",        "threshold",  "mask",      "target",
                            "below",        "max_subsets", "memory",     "jobs",      "exact",
                            "ids",          "labels",      "exhaustive", "tokenizer", "features",
                            "fit",          "method",      "guarantee",  "domain",    "keep",
                            "smallest",     "confidence",  "samples",    "refine",    "command",
                            "target_index", "prompt",      "explain",    "answer",    "score",
                            "seed",         "units",       "fixed",      "cheapest",  NULL};
    const char *features = NULL;
    file_task e = {.command = Py_None};
    Py_ssize_t max = 0, memory = 0, samples = 0;
    unsigned long long seed = 1;
    PyObject *out = PyList_New(0);
    (void)self;
    sis_task_opt_init(&e.opt);
    sis_opt *search = &e.opt.answer.search;
    if (!out ||
        !PyArg_ParseTupleAndKeywords(
            args, kwargs, "O!OsOOOszzzpnnipOO|izzpszzspdnpOzzzzzKzzp", names, ModelType, &e.j.m,
            &e.strings, &e.kind, &e.j.done, &e.j.progress, &e.lines, &e.opt.model.spec,
            &e.opt.question.threshold, &e.opt.question.mask, &e.opt.question.target, &search->below,
            &max, &memory, &search->jobs, &search->exact, &e.ids, &e.labels, &e.exhaustive,
            &e.opt.examples.tokenizer, &features, &e.opt.examples.fit, &e.opt.answer.method,
            &e.opt.question.guarantee, &e.opt.question.domain, &e.opt.question.keep,
            &e.opt.question.smallest, &e.opt.question.confidence, &samples, &e.opt.question.refine,
            &e.command, &e.opt.question.target_index, &e.opt.examples.prompt_text,
            &e.opt.model.open.explain, &e.opt.examples.answer, &e.opt.model.open.score, &seed,
            &e.opt.question.units, &e.opt.question.fixed, &e.opt.question.cheapest)) {
        Py_XDECREF(out);
        return NULL;
    }
    e.opt.question.features = features ? features : e.opt.question.features;
    search->max_subsets = max > 0 ? (size_t)max : 0;
    search->memory = memory > 0 ? (size_t)memory : search->memory;
    search->progress = tell;
    search->progress_ctx = &e.j;
    search->exhaustive = (size_t)e.exhaustive;
    e.opt.question.samples = samples > 0 ? (size_t)samples : 0;
    e.opt.question.seed = seed;
    e.opt.answer.trace = e.j.trace = 1;
    e.opt.model.opened = &e.j.m->model;
    int error = SIS_OK;
    if (strcmp(e.kind, "file") == 0)
        error = (e.opt.examples.input = text_of(e.strings)) ? SIS_OK : SIS_E_ARGUMENT;
    else if (strcmp(e.kind, "objects") == 0)
        error = (e.opt.examples.objects = text_of(e.strings)) ? SIS_OK : SIS_E_ARGUMENT;
    else
        error = file_task_data(&e);
    if (error == SIS_OK)
        error = file_task_open(&e);
    if (error == SIS_OK)
        error = e.lines == Py_None ? file_task_run(&e) : file_task_verify(&e, out);
    if (error == SIS_OK && e.lines == Py_None)
        error = file_task_provenance(&e, out);
    sis_task_free(e.task);
    sis_data_free(e.data);
    if (error == SIS_OK)
        return out;
    Py_DECREF(out);
    if (e.j.raised) {
        PyErr_SetObject((PyObject *)Py_TYPE(e.j.raised), e.j.raised);
        Py_DECREF(e.j.raised);
        return NULL;
    }
    if (error == SIS_E_CANCELLED && !PyErr_Occurred())
        PyErr_SetNone(PyExc_KeyboardInterrupt);
    return raise_code(error);
}

/* ---- Records ------------------------------------------------------------------------------- */

static int parse_line(PyObject *line, sis_record *r) {
    char *bytes;
    Py_ssize_t n;
    if (PyBytes_AsStringAndSize(line, &bytes, &n) != 0)
        return -1;
    int error = sis_record_parse(bytes, (size_t)n, r);
    if (error)
        raise_code(error);
    return error;
}

/* Hand each record of a list of lines to `visit`, which may keep it: copy *r and zero it. */
static int each_record(PyObject *lines, int (*visit)(void *ctx, sis_record *r), void *ctx) {
    int error = SIS_OK;
    for (Py_ssize_t i = 0; error == SIS_OK && i < PyList_Size(lines); i++) {
        sis_record r = {0};
        error = parse_line(PyList_GetItem(lines, i), &r);
        if (error == SIS_OK)
            error = visit(ctx, &r);
        sis_record_release(&r);
    }
    return error;
}

/* record_format(line, trace, provenance) -> the line with or without its traces; with what it says of how
 * the file was made, unless that is None */
static PyObject *record_format(PyObject *self, PyObject *args) {
    PyObject *line, *out = NULL;
    int trace;
    sis_record r;
    const char *provenance = NULL;
    char *text;
    size_t n;
    (void)self;
    if (!PyArg_ParseTuple(args, "Sp|z", &line, &trace, &provenance) || parse_line(line, &r) != 0)
        return NULL;
    sis_record told = r;
    told.provenance = provenance ? provenance : r.provenance;
    int error = sis_record_format(&told, trace, &text, &n);
    if (error == SIS_OK) {
        out = PyBytes_FromStringAndSize(text, (Py_ssize_t)n);
        free(text);
    }
    sis_record_release(&r);
    return error ? raise_code(error) : out;
}

/* record_text(line) -> what sis show prints of it */
static PyObject *record_text(PyObject *self, PyObject *line) {
    PyObject *out = NULL;
    sis_record r;
    sis_text_opt opt;
    char *text = NULL;
    size_t n;
    (void)self;
    if (parse_line(line, &r) != 0)
        return NULL;
    sis_text_opt_init(&opt);
    opt.features = 12;
    int error = sis_record_text(&r, &opt, &text, &n);
    if (error == SIS_OK)
        out = PyUnicode_DecodeUTF8(text, (Py_ssize_t)n, "replace");
    free(text);
    sis_record_release(&r);
    return error ? raise_code(error) : out;
}

/* An audit as a line of JSON to `out`. */
static int add_audit(const char *id, const sis_audit *audit, PyObject *out) {
    char *text;
    size_t n;
    int error = sis_audit_format(id, audit, &text, &n);
    if (error)
        return error;
    PyObject *answer = PyBytes_FromStringAndSize(text, (Py_ssize_t)n);
    if (!answer || PyList_Append(out, answer) != 0)
        error = SIS_E_NOMEM;
    Py_XDECREF(answer);
    free(text);
    return error;
}

/* What a record claims of an input, by full passes or a proof, as it says. */
static int audit_record(Model *m, const example *e, const sis_input *in, const sis_record *r,
                        const sis_opt *opt, sis_audit *out) {
    sis_model lead;
    sis_prover *prover;
    sis_prove_opt p;
    if (!r->guarantee || r->guarantee->kind != SIS_GUARANTEE_ALL) {
        sis_model_argmax(&m->model, &lead);
        return sis_verify(r->question.keep ? &lead : &m->model, in, opt, &r->collection, out);
    }
    prove_options(e, opt, r->question.keep != NULL, &p);
    p.contrast = r->question.method && strcmp(r->question.method, "contrast") == 0;
    const size_t widths[2] = {r->drawing.n_values, in->n_values};
    double *rows = NULL;
    sis_guarantee told = *r->guarantee;
    if (r->drawing.n_values == e->record.drawing.n_values && e->record.drawing.values != in->values)
        told = convert_examples(e, told, widths, model_row, &rows);
    else if (widths[0] != widths[1])
        told = without_examples(told);
    int error = sis_prover_new(&m->model, &prover);
    if (error == SIS_OK)
        error = sis_prove_audit(prover, in, &p, &r->collection, &told, out);
    sis_prover_free(prover);
    free(rows);
    return error;
}

/* What a line claims of an example, checked: a line of JSON to `out`. */
static int audit_line(Model *m, const example *e, PyObject *line, int exhaustive, PyObject *out) {
    sis_record r;
    sis_audit audit = {0};
    sis_opt opt;
    if (parse_line(line, &r) != 0)
        return SIS_E_FORMAT;
    sis_opt_init(&opt);
    opt.threshold = r.question.threshold;
    opt.below = r.question.below;
    opt.exhaustive = (size_t)exhaustive;
    sis_input asked = e->input;
    asked.output = r.question.target;
    int error;
    Py_BEGIN_ALLOW_THREADS error = audit_record(m, e, &asked, &r, &opt, &audit);
    Py_END_ALLOW_THREADS if (error == SIS_OK) error = add_audit(r.id, &audit, out);
    sis_audit_release(&audit);
    sis_record_release(&r);
    return error;
}

/* verify(model, examples, lines, exhaustive) -> list of JSON lines */
static PyObject *verify(PyObject *self, PyObject *args) {
    PyObject *list, *lines, *out = PyList_New(0);
    Model *m;
    int exhaustive, error = SIS_OK;
    examples e = {0};
    (void)self;
    if (!out || !PyArg_ParseTuple(args, "O!OO!i", ModelType, &m, &list, &PyList_Type, &lines,
                                  &exhaustive)) {
        Py_XDECREF(out);
        return NULL;
    }
    if (examples_read(list, &e) != 0 || PyList_Size(lines) != (Py_ssize_t)e.n)
        error = SIS_E_ARGUMENT;
    for (size_t i = 0; error == SIS_OK && i < e.n; i++)
        error = audit_line(m, &e.items[i], PyList_GetItem(lines, (Py_ssize_t)i), exhaustive, out);
    examples_release(&e);
    if (error == SIS_OK)
        return out;
    Py_DECREF(out);
    return raise_kept(m) ? NULL : raise_code(error);
}

/* ---- Pages --------------------------------------------------------------------------------- */

typedef struct {
    sis_report *report;
    const char *source;
} report_to;

static int add_to_report(void *ctx, sis_record *r) {
    const report_to *to = ctx;
    return sis_report_add(to->report, to->source, r);
}

static int report_of(PyObject *lines, const char *source, sis_report **out) {
    int error = sis_report_new(out);
    return error ? error : each_record(lines, add_to_report, &(report_to){*out, source});
}

/* page(lines, source, title, cards) -> bytes of HTML */
static PyObject *page(PyObject *self, PyObject *args) {
    PyObject *lines, *out = NULL;
    const char *source;
    sis_page_opt opt = {0};
    sis_report *report = NULL;
    char *html = NULL;
    size_t n;
    (void)self;
    if (!PyArg_ParseTuple(args, "O!szp", &PyList_Type, &lines, &source, &opt.title, &opt.cards))
        return NULL;
    int error = report_of(lines, source, &report);
    if (error == SIS_OK)
        error = sis_report_page(report, &opt, &html, &n);
    if (error == SIS_OK)
        out = PyBytes_FromStringAndSize(html, (Py_ssize_t)n);
    free(html);
    sis_report_free(report);
    return error ? raise_code(error) : out;
}

/* One figure, once it is drawn. */
typedef struct {
    const char *name; /* NULL: any */
    PyObject *svg;
} figure_to;

static int take_figure(void *ctx, const sis_figure *figure) {
    figure_to *to = ctx;
    if (to->name && strcmp(to->name, figure->name) != 0)
        return SIS_OK;
    to->svg = PyUnicode_FromStringAndSize(figure->bytes, (Py_ssize_t)figure->n);
    return 1; /* no more figures */
}

/* figure(lines, name) -> SVG, or None if these results have none of this name; name None: what sis
 * summary --plot draws */
static PyObject *figure(PyObject *self, PyObject *args) {
    PyObject *lines;
    figure_to to = {0};
    sis_report *report = NULL;
    (void)self;
    if (!PyArg_ParseTuple(args, "O!z", &PyList_Type, &lines, &to.name))
        return NULL;
    int error = report_of(lines, "results", &report);
    if (error == SIS_OK)
        error = to.name ? sis_report_figures(report, SIS_FIGURE_SVG, take_figure, &to)
                        : sis_report_summary(report, 0, SIS_FIGURE_SVG, take_figure, &to);
    sis_report_free(report);
    if (error < 0)
        return raise_code(error);
    return to.svg || PyErr_Occurred() ? to.svg : Py_NewRef(Py_None);
}

/* ---- Many records -------------------------------------------------------------------------- */

/* Append a new object, whose reference is taken. */
static int append(PyObject *list, PyObject *item) {
    int failed = !item || PyList_Append(list, item) != 0;
    Py_XDECREF(item);
    return failed ? SIS_E_NOMEM : SIS_OK;
}

/* (record, subset, cluster, core) */
static int add_members(PyObject *out, const sis_member *m, size_t n, int cluster) {
    int error = SIS_OK;
    for (size_t k = 0; error == SIS_OK && k < n; k++)
        error = append(out, Py_BuildValue("(nnii)", (Py_ssize_t)m[k].record,
                                          (Py_ssize_t)m[k].subset, cluster, m[k].core));
    return error;
}

static PyObject *clusters_of(const sis_clustering *c) {
    PyObject *members = PyList_New(0), *medoids = PyList_New(0), *out = NULL;
    int error = members && medoids ? add_members(members, c->noise, c->n_noise, -1) : SIS_E_NOMEM;
    for (size_t k = 0; error == SIS_OK && k < c->n_clusters; k++) {
        const sis_found_cluster *f = &c->clusters[k];
        error = add_members(members, f->members, f->n_members, (int)k);
        if (error == SIS_OK)
            error = append(medoids, Py_BuildValue("(nn)", (Py_ssize_t)f->medoid.record,
                                                  (Py_ssize_t)f->medoid.subset));
    }
    if (error == SIS_OK)
        out = Py_BuildValue("{s:O,s:O,s:d,s:s,s:i}", "members", members, "medoids", medoids, "eps",
                            c->eps, "distance", c->distance, "counts", c->counts);
    Py_XDECREF(members);
    Py_XDECREF(medoids);
    return out;
}

static int add_to_clusterer(void *ctx, sis_record *r) {
    return sis_clusterer_add(ctx, "results", r);
}

/* cluster(lines, distance, eps, min_size, jobs) -> dict; eps NaN: found */
static PyObject *cluster(PyObject *self, PyObject *args) {
    PyObject *lines, *out = NULL;
    Py_ssize_t min_size;
    sis_clustering_opt opt;
    sis_clusterer *c = NULL;
    sis_clustering found = {0};
    (void)self;
    sis_clustering_opt_init(&opt);
    if (!PyArg_ParseTuple(args, "O!zdni", &PyList_Type, &lines, &opt.distance, &opt.eps, &min_size,
                          &opt.jobs))
        return NULL;
    opt.min_size = (size_t)min_size;
    int error = sis_clusterer_new(&opt, &c);
    if (error == SIS_OK)
        error = each_record(lines, add_to_clusterer, c);
    if (error == SIS_OK) {
        Py_BEGIN_ALLOW_THREADS error = sis_clusterer_find(c, &found);
        Py_END_ALLOW_THREADS
    }
    if (error == SIS_OK)
        out = clusters_of(&found);
    sis_clustering_release(&found);
    sis_clusterer_free(c);
    return error ? raise_code(error) : out;
}

static int add_to_records(void *ctx, sis_record *r) {
    return sis_records_add(ctx, r);
}

static int records_of(PyObject *lines, sis_records *out) {
    out->name = "results";
    int error = each_record(lines, add_to_records, out);
    return error == SIS_OK ? sis_records_index(out, 0) : error;
}

/* pairs(lines, lines) -> [(record, record, overlap, shared, same)] of examples that are in both */
static PyObject *pairs(PyObject *self, PyObject *args) {
    PyObject *lines[2], *out;
    sis_records sides[2] = {0};
    sis_pair *found = NULL;
    size_t n = 0;
    (void)self;
    if (!PyArg_ParseTuple(args, "O!O!", &PyList_Type, &lines[0], &PyList_Type, &lines[1]) ||
        !(out = PyList_New(0)))
        return NULL;
    int error = records_of(lines[0], &sides[0]);
    if (error == SIS_OK)
        error = records_of(lines[1], &sides[1]);
    if (error == SIS_OK)
        error = sis_pairs_find(&sides[0], &sides[1], &found, &n);
    for (size_t k = 0; error == SIS_OK && k < n; k++)
        error = append(out, Py_BuildValue("(nndnO)", (Py_ssize_t)found[k].records[0],
                                          (Py_ssize_t)found[k].records[1], found[k].overlap,
                                          (Py_ssize_t)found[k].shared,
                                          found[k].same ? Py_True : Py_False));
    free(found);
    sis_records_release(&sides[0]);
    sis_records_release(&sides[1]);
    if (error)
        Py_DECREF(out);
    return error ? raise_code(error) : out;
}

static int add_to_groups(void *ctx, sis_record *r) {
    return sis_groups_add(ctx, r);
}

/* groups(lines, by) -> bytes: sis_groups_format, a line of JSON for each group */
static PyObject *groups(PyObject *self, PyObject *args) {
    PyObject *lines;
    const char *by;
    sis_groups *g = NULL;
    char *json = NULL;
    size_t n, features, bytes = 0;
    (void)self;
    if (!PyArg_ParseTuple(args, "Os", &lines, &by))
        return NULL;
    int error = sis_groups_new(by, &g);
    if (error == SIS_OK)
        error = each_record(lines, add_to_groups, g);
    if (error == SIS_OK)
        error = sis_groups_sort(g, &n, &features);
    if (error == SIS_OK)
        error = sis_groups_format(g, features, &json, &bytes);
    sis_groups_free(g);
    PyObject *out = error == SIS_OK ? PyBytes_FromStringAndSize(json, (Py_ssize_t)bytes) : NULL;
    free(json);
    return error == SIS_OK ? out : raise_code(error);
}

static int add_to_summary(void *ctx, sis_record *r) {
    return sis_summary_add(ctx, r);
}

/* summary(lines) -> [(name, subsets, examples)], those of most subsets first */
static PyObject *summary(PyObject *self, PyObject *lines) {
    PyObject *out = PyList_New(0);
    sis_summary *s = NULL;
    size_t n = 0;
    (void)self;
    int error = out ? sis_summary_new(&s) : SIS_E_NOMEM;
    if (error == SIS_OK)
        error = each_record(lines, add_to_summary, s);
    if (error == SIS_OK)
        error = sis_summary_sort(s, &n);
    for (size_t k = 0; error == SIS_OK && k < n; k++) {
        sis_summary_item x = sis_summary_at(s, k);
        error = append(
            out, Py_BuildValue("(snn)", x.name, (Py_ssize_t)x.subsets, (Py_ssize_t)x.examples));
    }
    sis_summary_free(s);
    if (error)
        Py_XDECREF(out);
    return error ? raise_code(error) : out;
}

/* ---- Words --------------------------------------------------------------------------------- */

/* A part of a text, without blanks at its ends, unless nothing is left of it. */
static int add_span(PyObject *out, const char *text, size_t from, size_t to) {
    while (from < to && strchr(" \t\r\n\v\f", text[from]))
        from++;
    while (to > from && strchr(" \t\r\n\v\f", text[to - 1]))
        to--;
    return from == to ? SIS_OK
                      : append(out, Py_BuildValue("(nn)", (Py_ssize_t)from, (Py_ssize_t)to));
}

/* words(text, sentences) -> list of (start, end): where each word or sentence stands, in bytes of its UTF-8 */
static PyObject *words(PyObject *self, PyObject *args) {
    const char *text;
    sis_words w = {0};
    int sentences, error = SIS_OK;
    (void)self;
    if (!PyArg_ParseTuple(args, "sp", &text, &sentences))
        return NULL;
    PyObject *out = PyList_New(0);
    if (!out)
        return NULL;
    for (size_t from = 0, to; error == SIS_OK && sentences && text[from]; from = to) {
        to = sis_sentence_end(text, from);
        error = add_span(out, text, from, to);
    }
    if (error == SIS_OK && !sentences)
        error = sis_words_split(text, &w);
    for (size_t i = 0; error == SIS_OK && i < w.n; i++)
        error = add_span(out, text, w.items[i].start, w.items[i].start + w.items[i].length);
    sis_words_release(&w);
    if (error == SIS_OK)
        return out;
    Py_DECREF(out);
    return raise_code(error);
}

/* model_name(spec) -> what records call the model */
static PyObject *model_name(PyObject *self, PyObject *arg) {
    const char *spec = PyUnicode_AsUTF8AndSize(arg, NULL);
    char name[256];
    (void)self;
    if (!spec)
        return NULL;
    sis_model_name(spec, name, sizeof name);
    return PyUnicode_DecodeUTF8(name, (Py_ssize_t)strlen(name), "replace");
}

/* ort_folder(path): where ONNX Runtime's library may be */
static PyObject *ort_folder(PyObject *self, PyObject *arg) {
    const char *folder = PyUnicode_AsUTF8AndSize(arg, NULL);
    (void)self;
    if (!folder)
        return NULL;
    sis_model_ort_folder(folder);
    Py_RETURN_NONE;
}

/* mean(rows, n) -> bytes of doubles: the mean of the values of each column that are not NaN */
static PyObject *mean(PyObject *self, PyObject *args) {
    PyObject *rows, *out;
    Py_ssize_t n;
    rows_in r;
    (void)self;
    if (!PyArg_ParseTuple(args, "On", &rows, &n) || rows_get(rows, (size_t)n, &r) != 0)
        return NULL;
    out = PyBytes_FromStringAndSize(NULL, (Py_ssize_t)(r.width * sizeof(double)));
    sis_mean *means = calloc(r.width, sizeof *means);
    for (size_t i = 0; out && means && i < r.n; i++)
        sis_mean_add(means, (const double *)r.b.buf + i * r.width, r.width);
    for (size_t v = 0; out && means && v < r.width; v++)
        ((double *)(void *)PyBytes_AsString(out))[v] = sis_mean_get(&means[v]);
    if (!means)
        Py_CLEAR(out);
    free(means);
    PyBuffer_Release(&r.b);
    return out || PyErr_Occurred() ? out : PyErr_NoMemory();
}

/* draw(rows, n, owner, samples, seed, whole) -> bytes of doubles (samples, width): masks drawn from the
 * rows, as --mask hotdeck:FILE, or rows:FILE if they are whole */
static PyObject *draw(PyObject *self, PyObject *args) {
    PyObject *rows, *out = NULL;
    Py_ssize_t n, samples;
    unsigned long long seed;
    int whole;
    Py_buffer owner;
    rows_in r;
    sis_deck *deck = NULL;
    (void)self;
    if (!PyArg_ParseTuple(args, "Ony*nKp", &rows, &n, &owner, &samples, &seed, &whole))
        return NULL;
    if (rows_get(rows, (size_t)n, &r) != 0) {
        PyBuffer_Release(&owner);
        return NULL;
    }
    sis_input *inputs = calloc(r.n, sizeof *inputs);
    int error = inputs ? SIS_OK : SIS_E_NOMEM;
    if ((size_t)owner.len != r.width * sizeof(int))
        error = SIS_E_ARGUMENT;
    for (size_t i = 0; error == SIS_OK && i < r.n; i++)
        inputs[i] = (sis_input){.values = (const double *)r.b.buf + i * r.width,
                                .n_values = r.width,
                                .feature_of = owner.buf};
    if (error == SIS_OK)
        error = sis_deck_new(inputs, r.n, whole ? SIS_DECK_ROWS : SIS_DECK_FEATURES, &deck);
    if (error == SIS_OK)
        out = PyBytes_FromStringAndSize(NULL, samples * (Py_ssize_t)(r.width * sizeof(double)));
    if (out)
        error = sis_deck_draw(deck, inputs, (size_t)samples, seed,
                              (double *)(void *)PyBytes_AsString(out));
    if (error != SIS_OK) {
        Py_CLEAR(out);
        raise_code(error);
    }
    sis_deck_free(deck);
    free(inputs);
    PyBuffer_Release(&owner);
    PyBuffer_Release(&r.b);
    return out;
}

/* ---- Files --------------------------------------------------------------------------------- */

/* write(path, bytes): the file whole or not at all. Raises what open() would raise. */
static PyObject *write_file(PyObject *self, PyObject *args) {
    PyObject *path;
    Py_buffer bytes;
    (void)self;
    if (!PyArg_ParseTuple(args, "O&y*", PyUnicode_FSConverter, &path, &bytes))
        return NULL;
    const char *name = PyBytes_AsString(path);
    int error, reason;
    Py_BEGIN_ALLOW_THREADS;
    error = sis_file_write(name, bytes.buf, (size_t)bytes.len);
    reason = errno;
    Py_END_ALLOW_THREADS;
    PyBuffer_Release(&bytes);
    errno = reason;
    if (error == SIS_E_IO && reason)
        PyErr_SetFromErrnoWithFilename(PyExc_OSError, name);
    else if (error != SIS_OK)
        raise_code(error);
    Py_DECREF(path);
    if (error != SIS_OK)
        return NULL;
    Py_RETURN_NONE;
}

/* ---- The module ---------------------------------------------------------------------------- */

static PyMethodDef functions[] = {
    {"collect", (PyCFunction)(void (*)(void))collect, METH_VARARGS | METH_KEYWORDS,
     "collect(model, examples, done, progress, ...)"},
    {"spread", spread, METH_O, "spread(rows)"},
    {"verify", verify, METH_VARARGS, "verify(model, examples, lines, exhaustive)"},
    {"task", (PyCFunction)(void (*)(void))task, METH_VARARGS | METH_KEYWORDS,
     "task(model, strings, kind, done, progress, lines, ...)"},
    {"provenance", provenance_of, METH_VARARGS,
     "provenance(model, mask, examples, samples) -> bytes"},
    {"record_text", record_text, METH_O, "record_text(line) -> what sis show prints of it"},
    {"record_format", record_format, METH_VARARGS,
     "record_format(line, trace, provenance=None) -> bytes"},
    {"page", page, METH_VARARGS, "page(lines, source, title, cards) -> bytes"},
    {"figure", figure, METH_VARARGS, "figure(lines, name) -> SVG or None"},
    {"cluster", cluster, METH_VARARGS, "cluster(lines, distance, eps, min_size, jobs) -> dict"},
    {"pairs", pairs, METH_VARARGS, "pairs(lines, lines) -> list"},
    {"groups", groups, METH_VARARGS, "groups(lines, by) -> bytes, a line of JSON for each group"},
    {"summary", summary, METH_O, "summary(lines) -> [(name, subsets, examples)]"},
    {"model_name", model_name, METH_O, "model_name(spec) -> what records call the model"},
    {"ort_folder", ort_folder, METH_O, "ort_folder(path): where ONNX Runtime's library may be"},
    {"mean", mean, METH_VARARGS, "mean(rows, n) -> bytes of doubles"},
    {"draw", draw, METH_VARARGS, "draw(rows, n, owner, samples, seed, whole) -> bytes of doubles"},
    {"write", write_file, METH_VARARGS, "write(path, bytes): the file whole or not at all"},
    {"words", words, METH_VARARGS, "words(text, sentences) -> [(start, end)] in bytes of UTF-8"},
    {0},
};

static struct PyModuleDef module = {PyModuleDef_HEAD_INIT, .m_name = "sis._core", .m_size = -1,
                                    .m_methods = functions};

PyMODINIT_FUNC PyInit__core(void);
PyMODINIT_FUNC PyInit__core(void) {
    PyObject *m = PyModule_Create(&module);
    ModelType = (PyTypeObject *)PyType_FromSpec(&model_spec);
    Error = PyErr_NewExceptionWithDoc("sis.Error", "What the library could not do, and why.",
                                      PyExc_ValueError, NULL);
    if (!m || !ModelType || !Error || PyModule_AddObjectRef(m, "Error", Error) != 0 ||
        PyModule_AddObjectRef(m, "Model", (PyObject *)ModelType) != 0 ||
        PyModule_AddStringConstant(m, "version", sis_version()) != 0)
        return NULL;
    return m;
}
