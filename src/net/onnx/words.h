/* SPDX-License-Identifier: MIT
 *
 * The texts of a network: each that its tensors, attributes or callers bring has one number, and
 * tensors of strings hold those numbers. Shared by all threads that use the network; texts stay
 * where they are until it is freed.
 */
#ifndef SIS_NET_ONNX_WORDS_H
#define SIS_NET_ONNX_WORDS_H

#include <stddef.h>
#include <stdint.h>

typedef struct sis__words sis__words;

sis__words *sis__words_new(void);
void sis__words_free(sis__words *w);

/* The number of a text of n bytes, given on first sight. */
int sis__words_put(sis__words *w, const void *text, size_t n, int64_t *id);

/* The text of a number (ends with 0 too); "" for a number that none has. */
const char *sis__words_get(sis__words *w, int64_t id, size_t *n);

/* Bytes of all of them. */
size_t sis__words_size(sis__words *w);

#endif
