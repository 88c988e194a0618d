/* SPDX-License-Identifier: MIT
 *
 * The table of texts of a network. Every text of its tensors, attributes or callers gets a number,
 * and string tensors hold these numbers. All threads that use the network share the table; the
 * pointers stay valid until it is freed.
 */
#ifndef SIS_NET_ONNX_WORDS_H
#define SIS_NET_ONNX_WORDS_H

#include <stddef.h>
#include <stdint.h>

typedef struct sis__words sis__words;

sis__words *sis__words_new(void);
void sis__words_free(sis__words *w);

/* The number of a text of n bytes; a new text gets the next one. */
int sis__words_put(sis__words *w, const void *text, size_t n, int64_t *id);

/* The text of a number, NUL-terminated; "" for an unknown number. */
const char *sis__words_get(sis__words *w, int64_t id, size_t *n);

/* Total size of all texts in bytes. */
size_t sis__words_size(sis__words *w);

#endif
