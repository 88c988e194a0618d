/* SPDX-License-Identifier: MIT
 *
 * Arrays in the type of their file. See packed.h.
 */
#include "data/packed.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <sis/files.h>

#include "base/error.h"
#include "base/half.h"
#include "data/source.h"

/* Loads use memcpy, because data in a file are not aligned. */
#define DECODER(name, type)                                                                        \
    static void name(const unsigned char *from, size_t stride, size_t n, double *out) {            \
        for (size_t i = 0; i < n; i++) {                                                           \
            type v;                                                                                \
            memcpy(&v, from + i * stride, sizeof v);                                               \
            out[i] = (double)v;                                                                    \
        }                                                                                          \
    }
DECODER(decode_f4, float)
DECODER(decode_f8, double)
DECODER(decode_i1, int8_t)
DECODER(decode_i2, int16_t)
DECODER(decode_i4, int32_t)
DECODER(decode_i8, int64_t)
DECODER(decode_u1, uint8_t)
DECODER(decode_u2, uint16_t)
DECODER(decode_u4, uint32_t)
DECODER(decode_u8, uint64_t)
#undef DECODER

static void decode_bool(const unsigned char *from, size_t stride, size_t n, double *out) {
    for (size_t i = 0; i < n; i++)
        out[i] = from[i * stride] != 0;
}

static void decode_f2(const unsigned char *from, size_t stride, size_t n, double *out) {
    for (size_t i = 0; i < n; i++) {
        uint16_t bits;
        memcpy(&bits, from + i * stride, sizeof bits);
        out[i] = (double)sis__half_to_float(bits);
    }
}

const sis__packed_type *sis__packed_type_find(char kind, size_t size) {
    static const sis__packed_type types[] = {
        {'f', 2, decode_f2}, {'f', 4, decode_f4}, {'f', 8, decode_f8}, {'i', 1, decode_i1},
        {'i', 2, decode_i2}, {'i', 4, decode_i4}, {'i', 8, decode_i8}, {'u', 1, decode_u1},
        {'u', 2, decode_u2}, {'u', 4, decode_u4}, {'u', 8, decode_u8}, {'b', 1, decode_bool},
    };
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (types[i].kind == kind && types[i].size == size)
            return &types[i];
    return NULL;
}

size_t sis__packed_bytes(size_t rank, const size_t *dims, size_t size) {
    size_t bytes = size, empty = 0;
    for (size_t k = 0; k < rank; k++) {
        if (dims[k] == 0)
            empty = 1; /* continue: strides also depend on the other axes */
        else if (bytes > (size_t)PTRDIFF_MAX / dims[k])
            return SIZE_MAX;
        else
            bytes *= dims[k];
    }
    return empty ? 0 : bytes;
}

void sis__packed_swap(sis__packed *a) {
    size_t size = a->type->size;
    for (unsigned char *p = a->bytes, *end = p + a->n * size; p < end; p += size)
        for (size_t i = 0; i < size / 2; i++) {
            unsigned char byte = p[i];
            p[i] = p[size - 1 - i];
            p[size - 1 - i] = byte;
        }
}

/* The values of all axes but the first `skip`, from `from` on, in C order. Fortran order is read run by
 * run along the last axis, while the other axes count like an odometer. */
static void decode(const sis__packed *a, size_t skip, const unsigned char *from, double *out) {
    size_t strides[SIS_RANK_MAX], at[SIS_RANK_MAX] = {0}, step = a->type->size, n = 1;
    for (size_t k = 0; k < a->rank; k++) {
        strides[k] = step;
        step *= a->dims[k];
        n *= k < skip ? 1 : a->dims[k];
    }
    if (!a->fortran || a->rank <= skip) {
        a->type->decode(from, a->type->size, n, out);
        return;
    }
    size_t last = a->rank - 1, run = a->dims[last];
    for (size_t i = 0; i < n; i += run) {
        a->type->decode(from, strides[last], run, out + i);
        for (size_t k = last; k-- > skip;) {
            from += strides[k];
            if (++at[k] < a->dims[k])
                break;
            from -= a->dims[k] * strides[k];
            at[k] = 0;
        }
    }
}

void sis__packed_row(const sis__packed *a, size_t i, double *out) {
    decode(a, 1, a->bytes + i * (a->fortran ? 1 : a->n / a->dims[0]) * a->type->size, out);
}

void sis__packed_all(const sis__packed *a, double *out) {
    decode(a, 0, a->bytes, out);
}

void sis__packed_release(sis__packed *a) {
    free(a->bytes);
    *a = (sis__packed){0};
}

/* ---- Reading --------------------------------------------------------------------------------- */

static int cut_off(const sis__source *s, size_t wanted, size_t got) {
    return sis__fail(SIS_E_FORMAT, "%s: cut off: its shape needs %zu bytes of numbers, found %zu",
                     s->name, wanted, got);
}

static int goes_on(const sis__source *s, size_t wanted) {
    return sis__fail(SIS_E_FORMAT, "%s: continues after the %zu bytes of its shape", s->name,
                     wanted);
}

int sis__packed_read(sis__source *s, size_t needed, sis__packed *a) {
    size_t got = 0, whole = sis__packed_bytes(a->rank, a->dims, a->type->size);
    size_t left = s->size == SIZE_MAX ? SIZE_MAX : s->size < s->offset ? 0 : s->size - s->offset;
    if (whole == SIZE_MAX)
        return sis__fail(SIS_E_FORMAT, "%s: the shape in its header is impossibly large", s->name);
    a->total = a->rank > 0 ? a->dims[0] : 1;
    if (a->rank > 0 && needed > 0 && needed < a->dims[0] && !a->fortran)
        a->dims[0] = needed;
    size_t bytes = sis__packed_bytes(a->rank, a->dims, a->type->size);
    a->n = bytes / a->type->size;
    if (left != SIZE_MAX && left != whole)
        return left < whole ? cut_off(s, whole, left) : goes_on(s, whole);
    size_t row = a->rank > 0 && a->dims[0] > 0 ? a->n / a->dims[0] : a->n; /* read as doubles */
    size_t as_doubles = row > SIZE_MAX / sizeof(double) ? SIZE_MAX : row * sizeof(double);
    int code = sis__source_check(s, whole, bytes > as_doubles ? bytes : as_doubles);
    if (code != SIS_OK)
        return code;
    code = sis__source_take(s, bytes, &a->bytes, &got);
    if (code == SIS_E_FORMAT && s->error == SIS_OK)
        return cut_off(s, bytes, got);
    if (code == SIS_OK && bytes == whole && sis__source_peek(s) != SIS__SOURCE_END)
        code = goes_on(s, whole);
    return code != SIS_OK ? code : s->error;
}
