/* SPDX-License-Identifier: MIT
 *
 * See values.h.
 */
#include "model/values.h"

#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/half.h"

static const struct {
    const char *name, *tensorflow;
    int onnx;
    size_t size;
    double min, max;
} types[] = {
#define ROW(name, tensorflow, onnx, type, min, max)                                                \
    {#name, #tensorflow, onnx, sizeof(type), min, max},
    SIS__VALUE_TYPES(ROW)
#undef ROW
};

sis__value_type sis__value_named(const char *name) {
    for (size_t i = 0; name && i < SIS__VALUE_UNKNOWN; i++)
        if (strcmp(name, types[i].name) == 0 || strcmp(name, types[i].tensorflow) == 0)
            return (sis__value_type)i;
    return SIS__VALUE_UNKNOWN;
}

sis__value_type sis__value_numbered(int onnx) {
    size_t i = 0;
    while (i < SIS__VALUE_UNKNOWN && types[i].onnx != onnx)
        i++;
    return (sis__value_type)i;
}

const char *sis__value_name(sis__value_type type) {
    return type < SIS__VALUE_UNKNOWN ? types[type].name : "unknown";
}

size_t sis__value_size(sis__value_type type) {
    return type < SIS__VALUE_UNKNOWN ? types[type].size : 0;
}

int sis__value_is_float(sis__value_type type) {
    return type == SIS__VALUE_FP32 || type == SIS__VALUE_FP64 || type == SIS__VALUE_FP16 ||
           type == SIS__VALUE_BF16;
}

int sis__values_check(sis__value_type type, const double *values, size_t n) {
    double min = types[type].min, max = types[type].max;
    for (size_t i = 0; min < max && i < n; i++)
        if (!(values[i] >= min && values[i] <= max) || values[i] != floor(values[i]))
            return sis__fail(
                SIS_E_ARGUMENT,
                "value %zu of a row is %g; the model takes %s, whole numbers from %.0f to %.0f", i,
                values[i], types[type].name, min, max);
    return SIS_OK;
}

void sis__value_put(sis__value_type type, void *array, size_t i, double value) {
    if (type == SIS__VALUE_FP16)
        value = sis__half_bits((float)value);
    else if (type == SIS__VALUE_BF16)
        value = sis__bfloat_bits((float)value);
    switch (type) {
#define PUT(name, tensorflow, onnx, c_type, min, max)                                              \
    case SIS__VALUE_##name: {                                                                      \
        c_type v = (c_type)value;                                                                  \
        memcpy((char *)array + i * sizeof v, &v, sizeof v);                                        \
        break;                                                                                     \
    }
        SIS__VALUE_TYPES(PUT)
#undef PUT
    default:
        break;
    }
}

static double read_value(sis__value_type type, const void *array, size_t i) {
    switch (type) {
#define GET(name, tensorflow, onnx, c_type, min, max)                                              \
    case SIS__VALUE_##name: {                                                                      \
        c_type v;                                                                                  \
        memcpy(&v, (const char *)array + i * sizeof v, sizeof v);                                  \
        return (double)v;                                                                          \
    }
        SIS__VALUE_TYPES(GET)
#undef GET
    default:
        return NAN;
    }
}

double sis__value_get(sis__value_type type, const void *array, size_t i) {
    double value = read_value(type, array, i); /* for 16-bit types the bits */
    return type == SIS__VALUE_FP16   ? (double)sis__half_to_float((uint16_t)value)
           : type == SIS__VALUE_BF16 ? (double)sis__bfloat_to_float((uint16_t)value)
                                     : value;
}
