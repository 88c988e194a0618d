/* SPDX-License-Identifier: MIT
 *
 * Values of a TensorProto. Float, int64 and bool data that the file holds in the machine's own form
 * stay where protobuf-c has put them; double, float16, bfloat16 and int32 are converted to a copy.
 * The number of values must be what the dimensions say.
 */
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "net/onnx/graph.h"
#include "net/onnx/proto.h"

#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "raw tensor data are little-endian; this file reads them as they are"
#endif

#define T(name) ONNX__TENSOR_PROTO__DATA_TYPE__##name

size_t sis__dtype_size(sis__dtype t) {
    return t == SIS__F32 ? 4 : t == SIS__I64 ? 8 : t == SIS__BOOL ? 1 : 0;
}

const char *sis__dtype_name(sis__dtype t) {
    static const char *const names[] = {"float", "int64", "bool", "another type"};
    return names[t];
}

sis__dtype sis__elem_dtype(int elem_type) {
    switch (elem_type) {
    case T(FLOAT):
    case T(DOUBLE):
    case T(FLOAT16):
    case T(BFLOAT16):
        return SIS__F32;
    case T(INT32):
    case T(INT64):
        return SIS__I64;
    case T(BOOL):
        return SIS__BOOL;
    default:
        return SIS__OTHER;
    }
}

const char *sis__elem_name(int elem_type) {
    static const char *const names[] = {"undefined",  "float",   "uint8",  "int8",   "uint16",
                                        "int16",      "int32",   "int64",  "string", "bool",
                                        "float16",    "double",  "uint32", "uint64", "complex64",
                                        "complex128", "bfloat16"};
    return elem_type >= 0 && elem_type <= 16 ? names[elem_type] : "unknown";
}

/* Bytes of one element in raw_data. */
static size_t raw_size(int elem_type) {
    switch (elem_type) {
    case T(FLOAT):
    case T(INT32):
        return 4;
    case T(DOUBLE):
    case T(INT64):
        return 8;
    case T(BOOL):
        return 1;
    default:
        return 2;
    }
}

static float half_to_float(uint16_t h) {
    int sign = h >> 15, exponent = (h >> 10) & 31, fraction = h & 1023;
    float v = exponent == 31 ? (fraction ? NAN : INFINITY)
              : exponent     ? ldexpf((float)(fraction + 1024), exponent - 25)
                             : ldexpf((float)fraction, -24);
    return sign ? -v : v;
}

static float bfloat_to_float(uint16_t b) {
    union {
        uint32_t u;
        float f;
    } v = {.u = (uint32_t)b << 16};
    return v.f;
}

/* Where the elements lie and how many there are; element i of int32_data holds small types. */
typedef struct {
    const void *raw;
    const float *f;
    const double *d;
    const int32_t *i32;
    const int64_t *i64;
    size_t n;
} source;

static source find_source(const Onnx__TensorProto *t) {
    source s = {0};
    if (t->has_raw_data) {
        s.raw = t->raw_data.data;
        size_t size = raw_size(t->data_type);
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
    } else {
        s.i32 = t->int32_data;
        s.n = t->n_int32_data;
    }
    return s;
}

static uint16_t bits16(const source *s, size_t i) {
    uint16_t v = 0;
    if (s->i32)
        return (uint16_t)s->i32[i];
    memcpy(&v, (const char *)s->raw + 2 * i, 2);
    return v;
}

static float as_float(const source *s, int elem_type, size_t i) {
    double d;
    if (elem_type == T(FLOAT16))
        return half_to_float(bits16(s, i));
    if (elem_type == T(BFLOAT16))
        return bfloat_to_float(bits16(s, i));
    if (s->d)
        return (float)s->d[i];
    memcpy(&d, (const char *)s->raw + 8 * i, 8);
    return (float)d;
}

static int64_t as_int(const source *s, size_t i) {
    int32_t v;
    if (s->i32)
        return s->i32[i];
    memcpy(&v, (const char *)s->raw + 4 * i, 4);
    return v;
}

static int convert(const source *s, int elem_type, sis__decoded *out) {
    out->owned = sis__alloc_raw(out->count, sis__dtype_size(out->dtype));
    if (!out->owned)
        return SIS_E_NOMEM;
    for (size_t i = 0; i < out->count; i++) {
        if (out->dtype == SIS__F32)
            ((float *)out->owned)[i] = as_float(s, elem_type, i);
        else if (out->dtype == SIS__I64)
            ((int64_t *)out->owned)[i] = as_int(s, i);
        else
            ((uint8_t *)out->owned)[i] =
                s->i32 ? s->i32[i] != 0 : ((const uint8_t *)s->raw)[i] != 0;
    }
    out->data = out->owned;
    return SIS_OK;
}

static int read_dims(const Onnx__TensorProto *t, const char *name, sis__decoded *out) {
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

int sis__tensor_decode(const Onnx__TensorProto *t, sis__decoded *out) {
    static const int64_t nothing[2] = {0}; /* what tensors without elements point at */
    const char *name = t->name ? t->name : "(unnamed)";
    *out = (sis__decoded){0};
    out->dtype = sis__elem_dtype(t->data_type);
    int error = read_dims(t, name, out);
    if (error)
        return error;
    if (t->data_location == ONNX__TENSOR_PROTO__DATA_LOCATION__EXTERNAL || t->n_external_data)
        return sis__fail(SIS_E_UNSUPPORTED,
                         "tensor %s keeps its values in another file; save the model with all "
                         "values inside one file",
                         name);
    if (t->segment)
        return sis__fail(SIS_E_UNSUPPORTED, "tensor %s is stored in segments", name);
    out->data = nothing;
    if (out->dtype == SIS__OTHER)
        return SIS_OK;
    source s = find_source(t);
    if (s.n != out->count)
        return sis__fail(SIS_E_FORMAT, "tensor %s: %zu values for a shape of %zu", name,
                         s.n == SIZE_MAX ? t->raw_data.len : s.n, out->count);
    if (out->count == 0)
        return SIS_OK;
    if (t->data_type == T(FLOAT))
        out->data = s.raw ? s.raw : s.f;
    else if (t->data_type == T(INT64))
        out->data = s.raw ? s.raw : (const void *)s.i64;
    else
        return convert(&s, t->data_type, out);
    return SIS_OK;
}
