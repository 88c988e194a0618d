/* SPDX-License-Identifier: MIT
 *
 * An array in the type of its file: bytes stay bytes until they are read as doubles.
 */
#ifndef SIS_DATA_PACKED_H
#define SIS_DATA_PACKED_H

#include <stddef.h>

#include <sis/data.h>
#include <sis/files.h>

struct sis__source;

/* A number type. `decode` converts n numbers, `stride` bytes apart, to doubles. */
typedef struct sis__packed_type {
    char kind; /* 'f', 'i', 'u' or 'b' (bool) */
    size_t size;
    void (*decode)(const unsigned char *from, size_t stride, size_t n, double *out);
} sis__packed_type;

/* NULL: no such type. */
const sis__packed_type *sis__packed_type_find(char kind, size_t size);

typedef struct sis__packed {
    const sis__packed_type *type;
    size_t rank, dims[SIS_RANK_MAX];
    size_t n;             /* values: the product of dims */
    int fortran;          /* the first axis varies fastest, not the last */
    size_t total;         /* elements of the first axis in the file; dims[0] may be fewer */
    unsigned char *bytes; /* (n) of `type`, in this machine's byte order */
} sis__packed;

/* The product of dims times `size`; SIZE_MAX if no array can be that large. */
size_t sis__packed_bytes(size_t rank, const size_t *dims, size_t size);

/* Read the numbers of an array after its header: type, order, rank and dims. For arrays in C order
 * only the first `needed` elements of the first axis are kept; 0: all. The size is checked against
 * the file and the unpacking limit before memory is allocated. */
int sis__packed_read(struct sis__source *s, size_t needed, sis__packed *a);

/* Reverse the bytes of each number. */
void sis__packed_swap(sis__packed *a);

/* Element i of the first axis, or the whole array, in C order. */
void sis__packed_row(const sis__packed *a, size_t i, double *out);
void sis__packed_all(const sis__packed *a, double *out);

void sis__packed_release(sis__packed *a);

/* Read the array in a .npy file (npy.c); only the first `needed` elements of its first axis, as
 * sis__packed_read does. On failure there is nothing to release. */
int sis__npy_read(const char *path, size_t needed, sis__packed *out);

#endif
