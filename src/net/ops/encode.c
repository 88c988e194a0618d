/* SPDX-License-Identifier: MIT
 *
 * Operators of ai.onnx.ml that prepare features: FeatureVectorizer, Imputer, LabelEncoder,
 * OneHotEncoder.
 */
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "net/onnx/proto.h"
#include "net/onnx/words.h"
#include "net/ops/axes.h"
#include "net/ops/encode.h"
#include "net/ops/ops.h"

/* ---- Texts of attributes --------------------------------------------------------------------- */

const int64_t *sis__attr_words(sis__shape_ctx *c, const char *name, size_t *n) {
    const Sis__Onnx__Attribute *a = sis__attr_find(c, name);
    *n = a ? a->n_strings : 0;
    int64_t *ids = *n ? (int64_t *)sis__ctx_alloc(c, *n, sizeof *ids) : NULL;
    for (size_t i = 0; !c->error && i < *n; i++)
        c->error =
            sis__words_put(c->plan->graph->words, a->strings[i].data, a->strings[i].len, &ids[i]);
    return c->error ? NULL : ids;
}

/* The number of one text attribute. */
static int64_t word_of(sis__shape_ctx *c, const char *name, const char *missing) {
    const Sis__Onnx__Attribute *a = sis__attr_find(c, name);
    int64_t id = 0;
    int error = a && a->has_s
                    ? sis__words_put(c->plan->graph->words, a->s.data, a->s.len, &id)
                    : sis__words_put(c->plan->graph->words, missing, strlen(missing), &id);
    if (error && !c->error)
        c->error = error;
    return id;
}

/* ---- Imputer --------------------------------------------------------------------------------- */

typedef struct {
    const float *floats;
    const int64_t *ints;
    size_t n; /* one for all columns, or one per column */
    float missing;
    int64_t missing_int;
} imputer;

static int imputer_shape(sis__shape_ctx *c) {
    const sis__tensor *x = sis__ctx_input(c, 0);
    imputer *p = (imputer *)sis__ctx_own(c, sizeof *p);
    size_t n, whole;
    const float *floats = sis__attr_floats(c, "imputed_value_floats", &n);
    const int64_t *ints = sis__attr_ints(c, "imputed_value_int64s", &whole);
    float missing = sis__attr_float(c, "replaced_value_float", 0);
    int64_t missing_int = sis__attr_int(c, "replaced_value_int64", 0);
    n = x->dtype == SIS__F32 ? n : whole;
    size_t columns = x->rank ? x->dims[x->rank - 1] : 1;
    if (x->dtype > SIS__I64 || n == 0 || (n != 1 && n != columns))
        sis__ctx_fail(c, SIS_E_FORMAT, "%zu values to fill in for %zu columns", n, columns);
    if (!c->error)
        *p = (imputer){floats, ints, n, missing, missing_int};
    return sis__ctx_output(c, 0, x->dtype, x->rank, x->dims);
}

static int is_missing(const imputer *p, float v) {
    return isnan(p->missing) ? isnan(v) : v == p->missing;
}

int sis__imputer_of_nan(const sis__step *s) {
    return isnan(((const imputer *)s->p.own)->missing);
}

static int imputer_forward(const sis__step *s, sis__run *r) {
    const imputer *p = (const imputer *)s->p.own;
    const float *x = sis__in(s, r, 0);
    const int64_t *whole = (const int64_t *)(const void *)x;
    for (size_t i = 0, n = sis__tin(s, r, 0)->count; i < n; i++)
        if (sis__tin(s, r, 0)->dtype == SIS__F32)
            sis__out(s, r, 0)[i] = is_missing(p, x[i]) ? p->floats[i % p->n] : x[i];
        else
            ((int64_t *)(void *)sis__out(s, r, 0))[i] =
                whole[i] == p->missing_int ? p->ints[i % p->n] : whole[i];
    return SIS_OK;
}

static int imputer_backward(const sis__step *s, sis__run *r) {
    const imputer *p = (const imputer *)s->p.own;
    for (size_t i = 0; sis__din(s, r, 0) && i < sis__tin(s, r, 0)->count; i++)
        if (!is_missing(p, sis__in(s, r, 0)[i]))
            sis__din(s, r, 0)[i] += sis__dout(s, r, 0)[i];
    return SIS_OK;
}

const sis__op sis__op_imputer = {1,
                                 1,
                                 imputer_shape,
                                 imputer_forward,
                                 imputer_backward,
                                 .trait = SIS__MAPS_PLACES,
                                 .family = SIS__IMPUTES};

/* ---- LabelEncoder: keys to values ------------------------------------------------------------ */

/* Keys and values, each in one of three types, and the default value. */
typedef struct {
    sis__dtype from, to;
    const int64_t *keys, *values; /* integers or texts */
    const float *float_keys, *float_values;
    size_t n;
    int64_t missing;
    float float_missing;
    int finds_nan; /* NaN matches a NaN key, since version 4 */
    int first;     /* the first of duplicate keys wins, as in ONNX Runtime; else the last */
} mapping;

/* Read a list of keys or values, whose name depends on its type. */
static size_t read_list(sis__shape_ctx *c, const char *const *names, sis__dtype *type,
                        const int64_t **whole, const float **floats) {
    size_t n;
    *whole = sis__attr_words(c, names[0], &n);
    *type = SIS__TEXT;
    if (n)
        return n;
    *whole = sis__attr_ints(c, names[1], &n);
    *type = SIS__I64;
    if (n)
        return n;
    *floats = sis__attr_floats(c, names[2], &n);
    *type = SIS__F32;
    return n;
}

/* The same from a tensor attribute. */
static size_t read_tensor(sis__shape_ctx *c, const char *name, sis__dtype *type,
                          const int64_t **whole, const float **floats) {
    sis__decoded d;
    if (!sis__attr_tensor(c, name, &d))
        return 0;
    *type = d.dtype;
    if (d.dtype == SIS__F32)
        *floats = (const float *)d.data;
    else
        *whole = (const int64_t *)d.data;
    return d.count;
}

static void read_defaults(sis__shape_ctx *c, mapping *m) {
    sis__dtype type = SIS__OTHER;
    const int64_t *whole = NULL;
    const float *floats = NULL;
    float f = sis__attr_float(c, "default_float", -0.0f);
    int64_t i = sis__attr_int(c, "default_int64", -1);
    int64_t word = word_of(c, "default_string", "_Unused");
    size_t n = read_tensor(c, "default_tensor", &type, &whole, &floats);
    m->missing = m->to == SIS__TEXT ? word : i;
    m->float_missing = f;
    if (n == 1 && type == m->to && type == SIS__F32)
        m->float_missing = floats[0];
    else if (n == 1 && type == m->to)
        m->missing = whole[0];
}

static int label_encoder_shape(sis__shape_ctx *c) {
    static const char *const keys[] = {"keys_strings", "keys_int64s", "keys_floats"};
    static const char *const values[] = {"values_strings", "values_int64s", "values_floats"};
    mapping *m = (mapping *)sis__ctx_own(c, sizeof *m);
    size_t n, old;
    if (c->error)
        return c->error;
    const int64_t *classes = sis__attr_words(c, "classes_strings", &old);
    if (old) { /* version 1: maps a text to its index in the list, or an index to its text */
        int64_t *places = (int64_t *)sis__ctx_alloc(c, old, sizeof *places);
        for (size_t i = 0; places && i < old; i++)
            places[i] = (int64_t)i;
        int texts = sis__ctx_input(c, 0)->dtype == SIS__TEXT;
        *m = (mapping){.from = texts ? SIS__TEXT : SIS__I64, .to = texts ? SIS__I64 : SIS__TEXT};
        m->keys = texts ? classes : places;
        m->values = texts ? places : classes;
        m->n = old;
    } else {
        m->n = read_list(c, keys, &m->from, &m->keys, &m->float_keys);
        n = read_list(c, values, &m->to, &m->values, &m->float_values);
        if (m->n == 0)
            m->n = read_tensor(c, "keys_tensor", &m->from, &m->keys, &m->float_keys);
        if (n == 0)
            n = read_tensor(c, "values_tensor", &m->to, &m->values, &m->float_values);
        if (n != m->n)
            sis__ctx_fail(c, SIS_E_FORMAT, "%zu keys for %zu values", m->n, n);
    }
    m->finds_nan = c->node->opset >= 4;
    m->first = old == 0;
    read_defaults(c, m);
    const sis__tensor *x = sis__ctx_input(c, 0);
    if (x->dtype != m->from)
        sis__ctx_fail(c, SIS_E_FORMAT, "keys of another type than the input");
    c->step->flops = (double)x->count * (double)(m->n + 1);
    sis__ctx_output(c, 0, m->to, x->rank, x->dims);
    sis__ctx_elem(c, 0,
                  m->to == SIS__F32    ? SIS__FLOAT
                  : m->to == SIS__TEXT ? SIS__STRING
                                       : SIS__INT64);
    return c->error;
}

static int is_key(const mapping *m, const void *x, size_t i, size_t k) {
    if (m->from != SIS__F32)
        return ((const int64_t *)x)[i] == m->keys[k];
    float v = ((const float *)x)[i];
    return v == m->float_keys[k] || (m->finds_nan && isnan(v) && isnan(m->float_keys[k]));
}

/* The index of a key; SIZE_MAX: absent. */
static size_t find_key(const mapping *m, const void *x, size_t i) {
    for (size_t n = 0; n < m->n; n++) {
        size_t k = m->first ? n : m->n - 1 - n;
        if (is_key(m, x, i, k))
            return k;
    }
    return SIZE_MAX;
}

static int mapping_forward(const sis__step *s, sis__run *r) {
    const mapping *m = (const mapping *)s->p.own;
    for (size_t i = 0, n = sis__tin(s, r, 0)->count; i < n; i++) {
        size_t k = find_key(m, sis__in(s, r, 0), i);
        if (m->to == SIS__F32)
            sis__out(s, r, 0)[i] = k == SIZE_MAX ? m->float_missing : m->float_values[k];
        else
            ((int64_t *)(void *)sis__out(s, r, 0))[i] = k == SIZE_MAX ? m->missing : m->values[k];
    }
    return SIS_OK;
}

const sis__op sis__op_label_encoder = {
    1, 1, label_encoder_shape, mapping_forward, NULL, .trait = SIS__MAPS_TEXTS};

/* ---- OneHotEncoder --------------------------------------------------------------------------- */

static int one_hot_encoder_shape(sis__shape_ctx *c) {
    const sis__tensor *x = sis__ctx_input(c, 0);
    mapping *m = (mapping *)sis__ctx_own(c, sizeof *m);
    size_t n, texts, dims[SIS__MAX_RANK + 1];
    const int64_t *words = sis__attr_words(c, "cats_strings", &texts);
    const int64_t *ints = sis__attr_ints(c, "cats_int64s", &n);
    int64_t zeros = sis__attr_int(c, "zeros", 1);
    if (c->error)
        return c->error;
    int is_text = x->dtype == SIS__TEXT;
    *m = (mapping){.from = x->dtype, .keys = is_text ? words : ints, .n = is_text ? texts : n};
    m->missing = zeros;
    if (m->n == 0 || x->dtype == SIS__BOOL)
        return sis__ctx_fail(c, SIS_E_FORMAT, "no categories of the input's type");
    memcpy(dims, x->dims, sizeof x->dims);
    dims[x->rank] = m->n;
    sis__ctx_output(c, 0, SIS__F32, x->rank + 1, dims);
    sis__ctx_elem(c, 0, SIS__FLOAT);
    return c->error;
}

static int one_hot_encoder_forward(const sis__step *s, sis__run *r) {
    const mapping *m = (const mapping *)s->p.own;
    const sis__tensor *x = sis__tin(s, r, 0);
    for (size_t i = 0; i < x->count; i++) {
        double v = x->dtype == SIS__F32 ? (double)sis__in(s, r, 0)[i] : 0;
        int64_t id = x->dtype == SIS__F32 ? (v >= -9e15 && v <= 9e15 ? (int64_t)v : INT64_MIN)
                                          : ((const int64_t *)(const void *)sis__in(s, r, 0))[i];
        float *y = sis__out(s, r, 0) + i * m->n;
        size_t k = m->n; /* the last of duplicate categories wins */
        while (k > 0 && m->keys[k - 1] != id)
            k--;
        if (k == 0 && !m->missing)
            return sis__fail(SIS_E_ARGUMENT, "an unknown category");
        memset(y, 0, m->n * sizeof *y);
        if (k > 0)
            y[k - 1] = 1;
    }
    return SIS_OK;
}

const sis__op sis__op_one_hot_encoder = {
    1, 1, one_hot_encoder_shape, one_hot_encoder_forward, NULL, .trait = SIS__MIXES_TEXTS};

/* ---- FeatureVectorizer: columns side by side ------------------------------------------------- */

/* A vector is one row; otherwise the first axis is the batch. */
static size_t rows_of(const sis__tensor *t) {
    return t->rank > 1 ? t->dims[0] : 1;
}

static size_t width_of(const sis__tensor *t) {
    return rows_of(t) ? t->count / rows_of(t) : 0;
}

static int vectorizer_shape(sis__shape_ctx *c) {
    size_t n, width = 0, rows = 1;
    sis__attr_ints(c, "inputdimensions", &n);
    for (size_t i = 0; i < c->step->n_inputs; i++) {
        const sis__tensor *t = sis__ctx_input(c, i);
        if (!t || t->dtype > SIS__I64 || (i && rows_of(t) != rows))
            return sis__ctx_fail(c, SIS_E_FORMAT, "input %zu is not a row of numbers", i);
        rows = rows_of(t);
        width += width_of(t);
    }
    sis__ctx_output(c, 0, SIS__F32, 2, (size_t[]){rows, width});
    sis__ctx_elem(c, 0, SIS__FLOAT);
    return c->error;
}

static int vectorizer_forward(const sis__step *s, sis__run *r) {
    size_t width = sis__tout(s, r, 0)->dims[1], at = 0;
    for (size_t i = 0; i < s->n_inputs; i++) {
        const sis__tensor *t = sis__tin(s, r, i);
        size_t n = width_of(t);
        for (size_t k = 0; k < t->count; k++)
            sis__out(s, r, 0)[k / n * width + at + k % n] =
                (float)sis__number_at(t, sis__in(s, r, i), k);
        at += n;
    }
    return SIS_OK;
}

static int vectorizer_backward(const sis__step *s, sis__run *r) {
    size_t width = sis__tout(s, r, 0)->dims[1], at = 0;
    for (size_t i = 0; i < s->n_inputs; i++) {
        const sis__tensor *t = sis__tin(s, r, i);
        size_t n = width_of(t);
        for (size_t k = 0; sis__din(s, r, i) && k < t->count; k++)
            sis__din(s, r, i)[k] += sis__dout(s, r, 0)[k / n * width + at + k % n];
        at += n;
    }
    return SIS_OK;
}

const sis__op sis__op_feature_vectorizer = {
    1, SIZE_MAX, vectorizer_shape, vectorizer_forward, vectorizer_backward, .trait = SIS__MIXES};
