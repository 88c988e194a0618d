/* SPDX-License-Identifier: MIT
 *
 * Read and write ONNX messages. Hostile bytes are safe: nesting is checked before protobuf-c
 * recurses, and the allocated memory is bounded by the size of the file.
 */
#ifndef SIS_NET_ONNX_PROTO_H
#define SIS_NET_ONNX_PROTO_H

#include <stddef.h>
#include <stdint.h>

#include <onnx/onnx.pb-c.h>

/* Parse a message of the type; SIS_E_FORMAT if it is not one. Free with sis__proto_free. */
int sis__proto_parse(const ProtobufCMessageDescriptor *type, const void *bytes, size_t n,
                     ProtobufCMessage **out);
void sis__proto_free(ProtobufCMessage *m);

/* The message as bytes, to be freed with free(). */
int sis__proto_pack(const ProtobufCMessage *m, uint8_t **bytes, size_t *n);

/* Append to a repeated field of messages or strings: `items` is the address of the field's array of
 * pointers, which grows by one. `item` belongs to the message on success only. */
int sis__proto_append(void *items, size_t *n, void *item);

/* The attribute of a node with that name, or NULL; the same as an integer. */
const Sis__Onnx__Attribute *sis__proto_attribute(const Sis__Onnx__Node *n, const char *name);
int64_t sis__proto_int(const Sis__Onnx__Node *n, const char *name, int64_t missing);

/* A new message; the same, appended to a repeated field. NULL: out of memory. */
void *sis__proto_new(const ProtobufCMessageDescriptor *type);
void *sis__proto_add(const ProtobufCMessageDescriptor *type, void *items, size_t *n);

/* Append a copy of a text to a repeated field of strings. */
int sis__proto_add_text(char ***items, size_t *n, const char *text, size_t length);

/* A new attribute of a node, without a value. NULL: out of memory. */
Sis__Onnx__Attribute *sis__proto_add_attribute(Sis__Onnx__Node *n, const char *name, size_t length,
                                               int type);
#define SIS__ATTRIBUTE(type) SIS__ONNX__ATTRIBUTE__ATTRIBUTE_TYPE__##type

#endif
