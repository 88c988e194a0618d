/* SPDX-License-Identifier: MIT
 *
 * Lowering: operators that are others put together, above all those that ONNX Runtime's optimizer and
 * quantiser write, are replaced by standard ones in the document.
 */
#ifndef SIS_NET_LOWER_RECIPES_H
#define SIS_NET_LOWER_RECIPES_H

#include <stddef.h>
#include <stdint.h>

struct Sis__Onnx__Attribute;
struct Sis__Onnx__Model;
struct Sis__Onnx__Node;

/* Put standard operators in the place of such nodes, in the document. */
int sis__recipes_apply(struct Sis__Onnx__Model *doc);

/* ---- One node ------------------------------------------------------------------------------- */

enum { SIS__MAX_LOWERED = 96 };

typedef struct sis__lowering {
    const struct Sis__Onnx__Node *from;
    struct Sis__Onnx__Node *made[SIS__MAX_LOWERED];
    size_t n;
    uint64_t used;       /* attributes of `from` that steps have taken */
    unsigned missing;    /* letters that stand for nothing */
    const char *lengths; /* output 1 of the EmbedLayerNormalization before it, or NULL */
    const char *refused; /* what the engine leaves to ONNX Runtime: "with past state" */
    int error;
} sis__lowering;

/* Add the node of a step, written as in the table of recipes.c. Does nothing after an error. */
void sis__lower_step(sis__lowering *k, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* An attribute of the node, NULL if it has none of that name. It counts as taken. */
const struct Sis__Onnx__Attribute *sis__lower_attribute(sis__lowering *k, const char *name);
int64_t sis__lower_int(sis__lowering *k, const char *name, int64_t missing);
float sis__lower_float(sis__lowering *k, const char *name, float missing);

/* The name of input or output i; "": it is not there. */
const char *sis__lower_input(const sis__lowering *k, size_t i);
const char *sis__lower_output(const sis__lowering *k, size_t i);

/* The function that lowers a transformer operator (attention.c); NULL: it is none. */
typedef void (*sis__lower_fn)(sis__lowering *k);
sis__lower_fn sis__lower_transformer(const struct Sis__Onnx__Node *n);

/* einsum.c */
void sis__lower_einsum(sis__lowering *k);

#endif
