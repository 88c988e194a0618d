/* SPDX-License-Identifier: MIT
 *
 * See external.h. A tensor names a file, and an offset and a length in it. The name must be
 * relative and must stay inside the folder. The total size is limited, because many tensors may
 * name the same part of a file.
 */
#include "net/onnx/external.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/replace.h"
#include "net/onnx/graph.h"
#include "net/onnx/proto.h"

static const uint64_t max_bytes = (uint64_t)4 << 30;

typedef struct {
    const char *path; /* of the model */
    uint64_t left;
} reader;

static const char *entry_of(const Sis__Onnx__Tensor *t, const char *key) {
    for (size_t i = 0; i < t->n_external_data; i++)
        if (t->external_data[i]->key && strcmp(t->external_data[i]->key, key) == 0)
            return t->external_data[i]->value;
    return NULL;
}

/* A number of bytes; 0: absent, -1: invalid. */
static int64_t number_of(const Sis__Onnx__Tensor *t, const char *key) {
    const char *text = entry_of(t, key);
    char *end;
    if (!text)
        return 0;
    errno = 0;
    long long v = strtoll(text, &end, 10);
    return errno || *end || end == text || v < 0 ? -1 : (int64_t)v;
}

/* Does a relative name stay inside the folder? */
static int stays_inside(const char *name) {
    if (!*name || *name == '/' || strchr(name, '\\'))
        return 0;
    for (const char *at = name; at; at = strchr(at, '/')) {
        at += *at == '/';
        if (strncmp(at, "..", 2) == 0 && (at[2] == '/' || at[2] == '\0'))
            return 0;
    }
    return 1;
}

static FILE *open_beside(const reader *r, const char *name) {
    const char *slash = strrchr(r->path, '/');
    size_t folder = slash ? (size_t)(slash - r->path) + 1 : 0, n = strlen(name);
    char *path = SIS_NEW_RAW(char, folder + n + 1);
    if (!path)
        return NULL;
    memcpy(path, r->path, folder);
    memcpy(path + folder, name, n + 1);
    FILE *f = sis__replace_never(path) == SIS_OK ? fopen(path, "rb") : NULL;
    free(path);
    return f;
}

/* Read `length` bytes (0: to the end) from `offset` of a file into the message. */
static int read_part(reader *r, FILE *f, int64_t offset, int64_t length, Sis__Onnx__Tensor *t) {
    struct stat st;
    const char *name = t->name ? t->name : "(unnamed)";
    if (fstat(fileno(f), &st) != 0 || !S_ISREG(st.st_mode))
        return sis__fail(SIS_E_IO, "cannot find the file with the values of tensor %s", name);
    if (length == 0)
        length = st.st_size - offset;
    if (offset > st.st_size || length < 0 || length > st.st_size - offset)
        return sis__fail(SIS_E_FORMAT, "tensor %s: %lld bytes at %lld of a file of %lld", name,
                         (long long)length, (long long)offset, (long long)st.st_size);
    if ((uint64_t)length > r->left)
        return sis__fail(SIS_E_UNSUPPORTED, "values of more than %llu GB in other files",
                         (unsigned long long)(max_bytes >> 30));
    r->left -= (uint64_t)length;
    uint8_t *bytes = SIS_NEW_RAW(uint8_t, (size_t)length + 1);
    if (!bytes)
        return SIS_E_NOMEM;
    if (fseeko(f, (off_t)offset, SEEK_SET) != 0 ||
        fread(bytes, 1, (size_t)length, f) != (size_t)length) {
        free(bytes);
        return sis__fail(SIS_E_IO, "cannot read the values of tensor %s", name);
    }
    t->raw_data.data = bytes;
    t->raw_data.len = (size_t)length;
    t->has_raw_data = 1;
    return SIS_OK;
}

static void drop_entries(Sis__Onnx__Tensor *t) {
    for (size_t i = 0; i < t->n_external_data; i++)
        sis__proto_free(&t->external_data[i]->base);
    free((void *)t->external_data);
    t->external_data = NULL;
    t->n_external_data = 0;
    t->data_location = SIS__ONNX__TENSOR__DATA_LOCATION__DEFAULT;
    t->has_data_location = 0;
}

static int load_tensor(reader *r, Sis__Onnx__Tensor *t) {
    if (t->data_location != SIS__ONNX__TENSOR__DATA_LOCATION__EXTERNAL)
        return SIS_OK;
    const char *name = t->name ? t->name : "(unnamed)", *file = entry_of(t, "location");
    int64_t offset = number_of(t, "offset"), length = number_of(t, "length");
    if (!file || !stays_inside(file) || offset < 0 || length < 0 || t->has_raw_data)
        return sis__fail(SIS_E_FORMAT,
                         "tensor %s: its values must be in a file in the same folder "
                         "as the model",
                         name);
    FILE *f = open_beside(r, file);
    if (!f)
        return sis__fail(SIS_E_IO, "cannot open %s, which contains tensor %s: %s", file, name,
                         strerror(errno));
    int error = read_part(r, f, offset, length, t);
    fclose(f);
    if (!error)
        drop_entries(t);
    return error;
}

static int load_graph(reader *r, Sis__Onnx__Graph *g);

static int load_nodes(reader *r, Sis__Onnx__Node **nodes, size_t n) {
    int error = SIS_OK;
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < nodes[i]->n_attribute && !error; k++) {
            Sis__Onnx__Attribute *a = nodes[i]->attribute[k];
            if (a->t)
                error = load_tensor(r, a->t);
            if (!error && a->g)
                error = load_graph(r, a->g);
        }
    return error;
}

static int load_graph(reader *r, Sis__Onnx__Graph *g) {
    int error = SIS_OK;
    for (size_t i = 0; i < g->n_initializer && !error; i++)
        error = load_tensor(r, g->initializer[i]);
    return error ? error : load_nodes(r, g->node, g->n_node);
}

int sis__external_load(Sis__Onnx__Model *doc, const char *path) {
    reader r = {.path = path, .left = max_bytes};
    int error = doc->graph ? load_graph(&r, doc->graph) : SIS_OK;
    for (size_t i = 0; i < doc->n_functions && !error; i++)
        error = load_nodes(&r, doc->functions[i]->node, doc->functions[i]->n_node);
    return error;
}
