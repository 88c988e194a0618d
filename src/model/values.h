/* SPDX-License-Identifier: MIT
 *
 * Types of tensor values in other programs, with their names there. Rows are doubles; a value that
 * a type cannot hold is refused before it is sent.
 */
#ifndef SIS_MODEL_VALUES_H
#define SIS_MODEL_VALUES_H

#include <stddef.h>
#include <stdint.h>

/* name in the Open Inference Protocol, in TensorFlow, number in ONNX, C type, smallest and largest
 * value (0, 0: any) */
#define SIS__VALUE_TYPES(X)                                                                        \
    X(FP32, DT_FLOAT, 1, float, 0, 0)                                                              \
    X(FP64, DT_DOUBLE, 11, double, 0, 0)                                                           \
    X(FP16, DT_HALF, 10, uint16_t, 0, 0)                                                           \
    X(BF16, DT_BFLOAT16, 16, uint16_t, 0, 0)                                                       \
    X(INT8, DT_INT8, 3, int8_t, -128, 127)                                                         \
    X(INT16, DT_INT16, 5, int16_t, -32768, 32767)                                                  \
    X(INT32, DT_INT32, 6, int32_t, -2147483648.0, 2147483647.0)                                    \
    X(INT64, DT_INT64, 7, int64_t, -999999999999999.0, 999999999999999.0)                          \
    X(UINT8, DT_UINT8, 2, uint8_t, 0, 255)                                                         \
    X(UINT16, DT_UINT16, 4, uint16_t, 0, 65535)                                                    \
    X(UINT32, DT_UINT32, 12, uint32_t, 0, 4294967295.0)                                            \
    X(UINT64, DT_UINT64, 13, uint64_t, 0, 999999999999999.0)                                       \
    X(BOOL, DT_BOOL, 9, uint8_t, 0, 1)                                                             \
    X(BYTES, DT_STRING, 8, char, 0, 0)

typedef enum sis__value_type {
#define SIS__VALUE_CODE(name, tensorflow, onnx, type, min, max) SIS__VALUE_##name,
    SIS__VALUE_TYPES(SIS__VALUE_CODE)
#undef SIS__VALUE_CODE
        SIS__VALUE_UNKNOWN
} sis__value_type;

/* By either name, or by ONNX's number; SIS__VALUE_UNKNOWN if it is not in the list. */
sis__value_type sis__value_named(const char *name);
sis__value_type sis__value_numbered(int onnx);

/* "FP32"; size in bytes; is it floating point? */
const char *sis__value_name(sis__value_type type);
size_t sis__value_size(sis__value_type type);
int sis__value_is_float(sis__value_type type);

/* Can the type hold the values? Integer types hold integers of their range. SIS_E_ARGUMENT names
 * the first value that does not fit. */
int sis__values_check(sis__value_type type, const double *values, size_t n);

/* Value i of an array of that type, in native byte order. */
void sis__value_put(sis__value_type type, void *array, size_t i, double value);
double sis__value_get(sis__value_type type, const void *array, size_t i);

#endif
