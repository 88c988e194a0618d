/* SPDX-License-Identifier: MIT
 *
 * Read and write ONNX messages. See proto.h.
 *
 * protobuf-c unpacks recursively without a limit (a node's attribute may be a graph of nodes ...),
 * so a file of a few kilobytes can exhaust the stack. A first pass over the bytes follows the
 * message descriptors and refuses nesting deeper than any real model has. An empty sub-message
 * takes two bytes in the file and a few hundred in memory, so an allocator with a budget
 * proportional to the file limits the memory.
 */
#include "net/onnx/proto.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"

enum { MAX_DEPTH = 32, BYTES_PER_BYTE = 64, MIN_BYTES = 1 << 20 };

/* ---- The pass in front --------------------------------------------------------------------- */

typedef struct {
    const uint8_t *p, *end;
} cursor;

static int read_varint(cursor *c, uint64_t *v) {
    *v = 0;
    for (unsigned shift = 0; shift < 70 && c->p < c->end; shift += 7) {
        uint8_t byte = *c->p++;
        *v |= shift < 64 ? (uint64_t)(byte & 0x7F) << shift : 0;
        if (!(byte & 0x80))
            return 0;
    }
    return -1;
}

static const ProtobufCFieldDescriptor *find_field(const ProtobufCMessageDescriptor *type,
                                                  uint64_t id) {
    for (unsigned i = 0; i < type->n_fields; i++)
        if (type->fields[i].id == id)
            return &type->fields[i];
    return NULL;
}

static int skip(cursor *c, uint64_t n) {
    if (n > (uint64_t)(c->end - c->p))
        return -1;
    c->p += n;
    return 0;
}

/* Read the next field and its bytes; a plain number has none. */
static int next_field(cursor *c, uint64_t *tag, cursor *inside) {
    uint64_t n = 0;
    if (read_varint(c, tag) != 0)
        return -1;
    switch (*tag & 7) {
    case 0:
        if (read_varint(c, &n) != 0)
            return -1;
        n = 0;
        break;
    case 1:
        n = 8;
        break;
    case 2:
        if (read_varint(c, &n) != 0)
            return -1;
        break;
    case 5:
        n = 4;
        break;
    default:
        return -1;
    }
    *inside = *c;
    if (skip(c, n) != 0)
        return -1;
    inside->end = c->p;
    return 0;
}

static int scan(const ProtobufCMessageDescriptor *type, cursor c, int depth) {
    if (depth > MAX_DEPTH)
        return -1;
    while (c.p < c.end) {
        uint64_t tag;
        cursor inside;
        if (next_field(&c, &tag, &inside) != 0)
            return -1;
        const ProtobufCFieldDescriptor *f = (tag & 7) == 2 ? find_field(type, tag >> 3) : NULL;
        if (f && f->type == PROTOBUF_C_TYPE_MESSAGE &&
            scan((const ProtobufCMessageDescriptor *)f->descriptor, inside, depth + 1) != 0)
            return -1;
    }
    return 0;
}

/* ---- The allocator ------------------------------------------------------------------------- */

typedef struct {
    size_t left;
    int over, nomem;
} budget;

static void *budget_alloc(void *data, size_t n) {
    budget *b = (budget *)data;
    if (n > b->left) {
        b->over = 1;
        return NULL;
    }
    b->left -= n;
    void *p = sis__alloc_raw(n, 1);
    b->nomem |= p == NULL;
    return p;
}

static void budget_free(void *data, void *p) {
    (void)data;
    free(p);
}

int sis__proto_parse(const ProtobufCMessageDescriptor *type, const void *bytes, size_t n,
                     ProtobufCMessage **out) {
    *out = NULL;
    const uint8_t *p = (const uint8_t *)bytes;
    if (n == 0)
        return sis__fail(SIS_E_FORMAT, "not an ONNX file: it is empty");
    if (n > SIZE_MAX / 2 / BYTES_PER_BYTE || scan(type, (cursor){p, p + n}, 0) != 0)
        return sis__fail(SIS_E_FORMAT, "not an ONNX file, or a damaged one: %zu bytes", n);
    budget b = {.left = MIN_BYTES + n * BYTES_PER_BYTE};
    ProtobufCAllocator a = {.alloc = budget_alloc, .free = budget_free, .allocator_data = &b};
    *out = protobuf_c_message_unpack(type, &a, n, p);
    if (*out)
        return SIS_OK;
    if (b.nomem)
        return SIS_E_NOMEM;
    return sis__fail(SIS_E_FORMAT, "not an ONNX file, or a damaged one: %zu bytes%s", n,
                     b.over ? ", unpacking to far more" : "");
}

void sis__proto_free(ProtobufCMessage *m) {
    if (m)
        protobuf_c_message_free_unpacked(m, NULL);
}

int sis__proto_pack(const ProtobufCMessage *m, uint8_t **bytes, size_t *n) {
    *n = protobuf_c_message_get_packed_size(m);
    *bytes = SIS_NEW_RAW(uint8_t, *n);
    if (!*bytes)
        return SIS_E_NOMEM;
    protobuf_c_message_pack(m, *bytes);
    return SIS_OK;
}

int sis__proto_append(void *items, size_t *n, void *item) {
    void *array; /* points to an array of pointers of some type; copied, not aliased */
    memcpy(&array, items, sizeof array);
    void *grown = sis__realloc(array, *n + 1, sizeof(void *));
    if (!grown)
        return SIS_E_NOMEM;
    memcpy((char *)grown + *n * sizeof(void *), &item, sizeof item);
    memcpy(items, &grown, sizeof grown);
    (*n)++;
    return SIS_OK;
}

const Sis__Onnx__Attribute *sis__proto_attribute(const Sis__Onnx__Node *n, const char *name) {
    for (size_t i = 0; i < n->n_attribute; i++)
        if (n->attribute[i]->name && strcmp(n->attribute[i]->name, name) == 0)
            return n->attribute[i];
    return NULL;
}

int64_t sis__proto_int(const Sis__Onnx__Node *n, const char *name, int64_t missing) {
    const Sis__Onnx__Attribute *a = sis__proto_attribute(n, name);
    return a ? a->i : missing;
}

/* ---- New messages ---------------------------------------------------------------------------- */

void *sis__proto_new(const ProtobufCMessageDescriptor *type) {
    ProtobufCMessage *m = (ProtobufCMessage *)sis__alloc(1, type->sizeof_message);
    if (m)
        protobuf_c_message_init(type, m);
    return m;
}

void *sis__proto_add(const ProtobufCMessageDescriptor *type, void *items, size_t *n) {
    void *m = sis__proto_new(type);
    if (m && sis__proto_append(items, n, m) != SIS_OK) {
        free(m);
        return NULL;
    }
    return m;
}

static char *copy_text(const char *text, size_t length) {
    char *copy = SIS_NEW(char, length + 1);
    if (copy)
        memcpy(copy, text, length);
    return copy;
}

int sis__proto_add_text(char ***items, size_t *n, const char *text, size_t length) {
    char *copy = copy_text(text, length);
    int error = copy ? sis__proto_append(items, n, copy) : SIS_E_NOMEM;
    if (error)
        free(copy);
    return error;
}

Sis__Onnx__Attribute *sis__proto_add_attribute(Sis__Onnx__Node *n, const char *name, size_t length,
                                               int type) {
    Sis__Onnx__Attribute *a = (Sis__Onnx__Attribute *)sis__proto_add(
        &sis__onnx__attribute__descriptor, &n->attribute, &n->n_attribute);
    if (!a || !(a->name = copy_text(name, length)))
        return NULL;
    a->has_type = 1;
    a->type = (Sis__Onnx__Attribute__AttributeType)type;
    return a;
}
