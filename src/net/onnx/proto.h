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

#endif
