/* SPDX-License-Identifier: MIT
 *
 * Attributes of the node under compilation. Each read is noted, so that an attribute that no shape
 * function asked for can be refused instead of ignored.
 */
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "net/graph.h"
#include "net/proto.h"

#define TYPE(name) ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__##name

const Onnx__AttributeProto *sis__attr_find(sis__cx *c, const char *name) {
    const Onnx__NodeProto *p = c->node->proto;
    for (size_t i = 0; i < p->n_attribute && i < 64; i++)
        if (p->attribute[i]->name && strcmp(p->attribute[i]->name, name) == 0) {
            c->seen |= (uint64_t)1 << i;
            return p->attribute[i];
        }
    return NULL;
}

/* Old files leave the type out; then what is filled in decides. */
static int wrong_type(const sis__cx *c, const Onnx__AttributeProto *a, int expected, int filled) {
    if (a->has_type && a->type != TYPE(UNDEFINED) ? (int)a->type == expected : filled)
        return SIS_OK;
    return sis__cx_fail(c, SIS_E_FORMAT, "attribute %s has the wrong type", a->name);
}

int sis__attr_int(sis__cx *c, const char *name, int64_t missing, int64_t *v) {
    const Onnx__AttributeProto *a = sis__attr_find(c, name);
    *v = a ? a->i : missing;
    return a ? wrong_type(c, a, TYPE(INT), a->has_i) : SIS_OK;
}

int sis__attr_float(sis__cx *c, const char *name, float missing, float *v) {
    const Onnx__AttributeProto *a = sis__attr_find(c, name);
    *v = a ? a->f : missing;
    return a ? wrong_type(c, a, TYPE(FLOAT), a->has_f) : SIS_OK;
}

int sis__attr_text(sis__cx *c, const char *name, const char *missing, char *v, size_t size) {
    const Onnx__AttributeProto *a = sis__attr_find(c, name);
    snprintf(v, size, "%s", missing);
    if (!a)
        return SIS_OK;
    int error = wrong_type(c, a, TYPE(STRING), a->has_s);
    if (!error)
        snprintf(v, size, "%.*s", (int)(a->s.len < size ? a->s.len : size), (char *)a->s.data);
    return error;
}

int sis__attr_ints(sis__cx *c, const char *name, const int64_t **v, size_t *n) {
    const Onnx__AttributeProto *a = sis__attr_find(c, name);
    *v = a ? a->ints : NULL;
    *n = a ? a->n_ints : 0;
    return a ? wrong_type(c, a, TYPE(INTS), 1) : SIS_OK;
}

int sis__attr_floats(sis__cx *c, const char *name, const float **v, size_t *n) {
    const Onnx__AttributeProto *a = sis__attr_find(c, name);
    *v = a ? a->floats : NULL;
    *n = a ? a->n_floats : 0;
    return a ? wrong_type(c, a, TYPE(FLOATS), 1) : SIS_OK;
}

int sis__attr_texts(sis__cx *c, const char *name, size_t *n) {
    const Onnx__AttributeProto *a = sis__attr_find(c, name);
    *n = a ? a->n_strings : 0;
    return a ? wrong_type(c, a, TYPE(STRINGS), 1) : SIS_OK;
}
