/* SPDX-License-Identifier: MIT
 *
 * Decode the values of a TensorProto. Values of type float and int64 are used in place, in the
 * protobuf message; all others are converted into a new array. The number of values must match the
 * dimensions.
 */
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/half.h"
#include "base/mem.h"
#include "net/onnx/graph.h"
#include "net/onnx/proto.h"
#include "net/onnx/words.h"

#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "raw tensor data are little-endian; this file reads them as they are"
#endif

#define T(name) SIS__ONNX__TENSOR__DATA_TYPE__##name

size_t sis__dtype_size(sis__dtype t) {
    return t == SIS__F32 ? 4 : t == SIS__I64 || t == SIS__TEXT ? 8 : t == SIS__BOOL ? 1 : 0;
}

const char *sis__dtype_name(sis__dtype t) {
    static const char *const names[] = {"float", "int64", "bool", "string", "another type"};
    return names[t];
}

/* The element types of ONNX, indexed by their number: name, the type that the engine computes in,
 * bytes of an element in raw_data, and the range of integers. */
static const struct {
    const char *name;
    sis__dtype dtype;
    size_t bytes;
    int64_t low, high;
} elems[] = {
    [0] = {"undefined", SIS__OTHER, 1, 0, 0},
    [T(FLOAT)] = {"float", SIS__F32, 4, 0, 0},
    [T(UINT8)] = {"uint8", SIS__I64, 1, 0, UINT8_MAX},
    [T(INT8)] = {"int8", SIS__I64, 1, INT8_MIN, INT8_MAX},
    [T(UINT16)] = {"uint16", SIS__I64, 2, 0, UINT16_MAX},
    [T(INT16)] = {"int16", SIS__I64, 2, INT16_MIN, INT16_MAX},
    [T(INT32)] = {"int32", SIS__I64, 4, INT32_MIN, INT32_MAX},
    [T(INT64)] = {"int64", SIS__I64, 8, INT64_MIN, INT64_MAX},
    [T(STRING)] = {"string", SIS__TEXT, 1, 0, 0},
    [T(BOOL)] = {"bool", SIS__BOOL, 1, 0, 1},
    [T(FLOAT16)] = {"float16", SIS__F32, 2, 0, 0},
    [T(DOUBLE)] = {"double", SIS__F32, 8, 0, 0},
    [T(UINT32)] = {"uint32", SIS__I64, 4, 0, UINT32_MAX},
    [T(UINT64)] = {"uint64", SIS__OTHER, 8, 0, 0},
    [14] = {"complex64", SIS__OTHER, 8, 0, 0},
    [15] = {"complex128", SIS__OTHER, 16, 0, 0},
    [T(BFLOAT16)] = {"bfloat16", SIS__F32, 2, 0, 0},
    [17] = {"float8e4m3fn", SIS__OTHER, 1, 0, 0},
    [18] = {"float8e4m3fnuz", SIS__OTHER, 1, 0, 0},
    [19] = {"float8e5m2", SIS__OTHER, 1, 0, 0},
    [20] = {"float8e5m2fnuz", SIS__OTHER, 1, 0, 0},
    [21] = {"uint4", SIS__OTHER, 1, 0, 0},
    [22] = {"int4", SIS__OTHER, 1, 0, 0},
};

/* The row of a type in `elems`; row 0 (undefined) for unknown types. */
static size_t row_of(int elem_type) {
    return elem_type > 0 && (size_t)elem_type < sizeof elems / sizeof *elems ? (size_t)elem_type
                                                                             : 0;
}

sis__dtype sis__elem_dtype(int elem_type) {
    return elems[row_of(elem_type)].dtype;
}

const char *sis__elem_name(int elem_type) {
    return elem_type && row_of(elem_type) == 0 ? "unknown" : elems[row_of(elem_type)].name;
}

void sis__elem_range(int elem_type, int64_t *low, int64_t *high) {
    size_t row = elems[row_of(elem_type)].dtype == SIS__I64 ? row_of(elem_type) : T(INT64);
    *low = elems[row].low;
    *high = elems[row].high;
}

int64_t sis__elem_whole(int elem_type, float v) {
    int64_t low, high;
    sis__elem_range(elem_type, &low, &high);
    if (!(v >= -9e15f && v <= 9e15f)) /* NaN, infinite or too large for the cast below */
        return v > 0 && high < INT64_MAX ? high : low;
    return (int64_t)v < low ? low : (int64_t)v > high ? high : (int64_t)v;
}

int sis__elem_check(int elem_type, const char *input, const int64_t *values, size_t n) {
    int64_t low, high;
    sis__elem_range(elem_type, &low, &high);
    for (size_t i = 0; i < n; i++)
        if (values[i] < low || values[i] > high)
            return sis__fail(SIS_E_ARGUMENT, "input %s takes %s, and value %zu is %lld", input,
                             sis__elem_name(elem_type), i, (long long)values[i]);
    return SIS_OK;
}

int64_t sis__elem_wrap(int elem_type, int64_t v) {
    int64_t low, high;
    sis__elem_range(elem_type, &low, &high);
    return high == INT64_MAX
               ? v
               : (int64_t)(((uint64_t)v - (uint64_t)low) & (uint64_t)(high - low)) + low;
}

/* Where a tensor stores its values (one of the pointers is set), and their number. int32_data also
 * stores types of 8 and 16 bits, one value per element. */
typedef struct {
    const void *raw;
    const float *f;
    const double *d;
    const int32_t *i32;
    const int64_t *i64;
    const uint64_t *u64;
    size_t n;
} storage;

static storage find_storage(const Sis__Onnx__Tensor *t) {
    storage s = {0};
    if (t->has_raw_data) {
        s.raw = t->raw_data.data;
        size_t size = elems[row_of(t->data_type)].bytes;
        s.n = t->raw_data.len % size ? SIZE_MAX : t->raw_data.len / size;
    } else if (t->data_type == T(FLOAT)) {
        s.f = t->float_data;
        s.n = t->n_float_data;
    } else if (t->data_type == T(DOUBLE)) {
        s.d = t->double_data;
        s.n = t->n_double_data;
    } else if (t->data_type == T(INT64)) {
        s.i64 = t->int64_data;
        s.n = t->n_int64_data;
    } else if (t->data_type == T(UINT32)) {
        s.u64 = t->uint64_data;
        s.n = t->n_uint64_data;
    } else {
        s.i32 = t->int32_data;
        s.n = t->n_int32_data;
    }
    return s;
}

static uint16_t bits16(const storage *s, size_t i) {
    uint16_t v = 0;
    if (s->i32)
        return (uint16_t)s->i32[i];
    memcpy(&v, (const char *)s->raw + 2 * i, 2);
    return v;
}

static float as_float(const storage *s, int elem_type, size_t i) {
    double d;
    if (elem_type == T(FLOAT16))
        return sis__half_to_float(bits16(s, i));
    if (elem_type == T(BFLOAT16))
        return sis__bfloat_to_float(bits16(s, i));
    if (s->d)
        return (float)s->d[i];
    memcpy(&d, (const char *)s->raw + 8 * i, 8);
    return (float)d;
}

static int64_t as_int(const storage *s, int elem_type, size_t i) {
    uint64_t v = 0;
    size_t size = elems[row_of(elem_type)].bytes;
    if (s->raw)
        memcpy(&v, (const char *)s->raw + size * i, size);
    else
        v = s->i32 ? (uint64_t)s->i32[i] : s->u64[i];
    return sis__elem_wrap(elem_type, (int64_t)v);
}

static int convert(const storage *s, int elem_type, sis__decoded *out) {
    out->owned = sis__alloc_raw(out->count, sis__dtype_size(out->dtype));
    if (!out->owned)
        return SIS_E_NOMEM;
    for (size_t i = 0; i < out->count; i++) {
        if (out->dtype == SIS__F32)
            ((float *)out->owned)[i] = as_float(s, elem_type, i);
        else if (out->dtype == SIS__I64)
            ((int64_t *)out->owned)[i] = as_int(s, elem_type, i);
        else
            ((uint8_t *)out->owned)[i] =
                s->i32 ? s->i32[i] != 0 : ((const uint8_t *)s->raw)[i] != 0;
    }
    out->data = out->owned;
    return SIS_OK;
}

/* Replace each text by its number in `words`. */
static int convert_texts(const Sis__Onnx__Tensor *t, sis__words *words, sis__decoded *out) {
    int64_t *ids = SIS_NEW(int64_t, out->count);
    int error = ids ? SIS_OK : SIS_E_NOMEM;
    for (size_t i = 0; i < out->count && !error; i++)
        error = sis__words_put(words, t->string_data[i].data, t->string_data[i].len, &ids[i]);
    if (error) {
        free(ids);
        return error;
    }
    out->data = out->owned = ids;
    return SIS_OK;
}

static int read_dims(const Sis__Onnx__Tensor *t, const char *name, sis__decoded *out) {
    if (t->n_dims > SIS__MAX_RANK)
        return sis__fail(SIS_E_UNSUPPORTED, "tensor %s has %zu axes; at most %d are supported",
                         name, t->n_dims, SIS__MAX_RANK);
    out->rank = t->n_dims;
    out->count = 1;
    for (size_t i = 0; i < t->n_dims; i++) {
        int64_t d = t->dims[i];
        if (d < 0 || (d > 0 && out->count > (size_t)INT32_MAX / (size_t)d))
            return sis__fail(SIS_E_FORMAT, "tensor %s: axis %zu of size %lld is not possible", name,
                             i, (long long)d);
        out->dims[i] = d;
        out->count *= (size_t)d;
    }
    return SIS_OK;
}

int sis__tensor_decode(const Sis__Onnx__Tensor *t, sis__words *words, sis__decoded *out) {
    static const int64_t empty[2] = {0}; /* target of pointers to empty tensors */
    const char *name = t->name ? t->name : "(unnamed)";
    *out = (sis__decoded){0};
    out->dtype = sis__elem_dtype(t->data_type);
    out->elem = t->data_type;
    int error = read_dims(t, name, out);
    if (error)
        return error;
    if (t->data_location == SIS__ONNX__TENSOR__DATA_LOCATION__EXTERNAL || t->n_external_data)
        return sis__fail(SIS_E_UNSUPPORTED,
                         "tensor %s: its values are in another file; save the model "
                         "as one file",
                         name);
    if (t->segment)
        return sis__fail(SIS_E_UNSUPPORTED, "tensor %s is stored in segments", name);
    out->data = empty;
    if (out->dtype == SIS__OTHER)
        return SIS_OK;
    storage s = find_storage(t);
    s.n = out->dtype == SIS__TEXT ? t->n_string_data : s.n;
    if (s.n != out->count)
        return sis__fail(SIS_E_FORMAT, "tensor %s: %zu values for a shape of %zu", name,
                         s.n == SIZE_MAX ? t->raw_data.len : s.n, out->count);
    if (out->count == 0)
        return SIS_OK;
    if (out->dtype == SIS__TEXT)
        return convert_texts(t, words, out);
    if (t->data_type == T(FLOAT))
        out->data = s.raw ? s.raw : s.f;
    else if (t->data_type == T(INT64))
        out->data = s.raw ? s.raw : (const void *)s.i64;
    else
        return convert(&s, t->data_type, out);
    return SIS_OK;
}
