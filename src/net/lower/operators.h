/* SPDX-License-Identifier: MIT
 *
 * Replace compound operators in the document by standard ones, above all those that ONNX Runtime's
 * optimizer and quantiser write.
 */
#ifndef SIS_NET_LOWER_OPERATORS_H
#define SIS_NET_LOWER_OPERATORS_H

#include <stddef.h>
#include <stdint.h>

struct Sis__Onnx__Attribute;
struct Sis__Onnx__Model;
struct Sis__Onnx__Node;

/* Replace all such nodes of the document, except quantised ones. */
int sis__lower_operators(struct Sis__Onnx__Model *doc);

/* Then quantised ones, and fold biases of convolutions. */
int sis__lower_levels(struct Sis__Onnx__Model *doc);

/* ---- One node ------------------------------------------------------------------------------- */

enum { SIS__MAX_LOWERED = 96 };

typedef struct sis__lowering {
    const struct Sis__Onnx__Node *from;
    struct Sis__Onnx__Node *made[SIS__MAX_LOWERED];
    size_t n;
    uint64_t used;       /* bits: attributes of `from` that steps have used */
    unsigned missing;    /* bits: letters whose value is missing */
    const char *lengths; /* output 1 of the EmbedLayerNormalization before it, or NULL */
    const char *refused; /* the form that is left to ONNX Runtime, such as "with past state" */
    int error;
} sis__lowering;

/* Add the node of a step, written as in the table of operators.c. Does nothing after an error. */
void sis__lower_step(sis__lowering *k, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* An attribute of the node, or NULL; marks it as used. */
const struct Sis__Onnx__Attribute *sis__lower_attribute(sis__lowering *k, const char *name);
int64_t sis__lower_int(sis__lowering *k, const char *name, int64_t missing);
float sis__lower_float(sis__lowering *k, const char *name, float missing);

/* The name of input or output i; "" if it is missing. */
const char *sis__lower_input(const sis__lowering *k, size_t i);
const char *sis__lower_output(const sis__lowering *k, size_t i);

/* `to` = 0, 1, ... along an axis of a value; -2 and -1 are its last two. */
void sis__lower_count(sis__lowering *k, const char *of, int axis, const char *to);

/* Functions that lower one operator: attention.c, einsum.c. */
void sis__lower_attention(sis__lowering *k); /* of the standard */
void sis__lower_packed_attention(sis__lowering *k);
void sis__lower_multi_head(sis__lowering *k);
void sis__lower_standard_rotary(sis__lowering *k);
void sis__lower_rotary(sis__lowering *k);
void sis__lower_embed(sis__lowering *k);
void sis__lower_skip_norm(sis__lowering *k);
void sis__lower_skip_simplified(sis__lowering *k);
void sis__lower_einsum(sis__lowering *k);

#endif
