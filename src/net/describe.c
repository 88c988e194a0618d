/* SPDX-License-Identifier: MIT
 *
 * The text that describes a network: its inputs, its metadata, every node that is run with output
 * shape and number of parameters, and its outputs.
 */
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/number.h"
#include "net/onnx/proto.h"
#include "net/ops/ops.h"
#include "net/plan/net.h"
#include "net/walk/walk.h"

/* The network to describe. */
typedef struct {
    const sis_net *net;
    const sis__plan *plan;
    const sis_walk *walk;   /* NULL: do not describe walks */
    const sis__note *notes; /* NULL: no incremental walk */
} description;

static void add_shape(sis__buf *b, const size_t *dims, size_t rank) {
    sis__buf_char(b, '(');
    for (size_t d = 0; d < rank; d++) {
        sis__buf_str(b, d ? ", " : "");
        if (dims[d])
            sis__buf_printf(b, "%zu", dims[d]);
        else
            sis__buf_str(b, "any");
    }
    sis__buf_char(b, ')');
}

/* Print a name from the file on one line, with control characters as '?'. */
static void add_name(sis__buf *b, const char *name) {
    for (; name && *name; name++)
        sis__buf_char(b, (unsigned char)*name < ' ' || *name == 0x7F ? '?' : *name);
}

/* Print the shape of a result without the batch axis. */
static void add_result(sis__buf *b, const sis_net *net, const sis__tensor *t) {
    size_t skip = net->counted && t->rank && t->dims[0] == 1 ? 1 : 0;
    add_shape(b, t->dims + skip, t->rank - skip);
}

/* The number of float parameters of a step that no earlier step has used. */
static size_t new_params(const sis_net *net, const sis__step *s, unsigned char *used) {
    size_t n = 0;
    for (size_t i = 0; i < s->n_inputs; i++) {
        int id = s->inputs[i];
        if (id < 0 || used[id] || !net->graph.values[id].tensor ||
            net->graph.values[id].dtype != SIS__F32)
            continue;
        const sis__value *v = &net->graph.values[id];
        size_t count = 1;
        for (size_t d = 0; d < v->rank; d++)
            count *= (size_t)v->dims[d];
        used[id] = 1;
        n += count;
    }
    return n;
}

static void pad(sis__buf *b, size_t start, size_t width) {
    while (!b->error && b->len < start + width)
        sis__buf_char(b, ' ');
}

/* How a step takes part in a walk. */
static const char *part_of(const description *w, const sis__step *s) {
    const char *note = w->notes[s->node].text;
    if (*note)
        return note;
    if (s->op == SIS__OP_GATHER && s->outputs[0] == w->net->embedded)
        return "once for all";
    return s->flops > 0 ? "batch of candidates" : "as it is";
}

static void add_step(sis__buf *b, const description *w, size_t i, size_t params) {
    const sis_net *net = w->net;
    const sis__plan *p = w->plan;
    const sis__step *s = &p->steps[i];
    sis__buf_printf(b, "  %-22s ", sis__op_name(s->op));
    size_t start = b->len;
    for (size_t o = 0; o < s->n_outputs; o++)
        if (s->outputs[o] >= 0) {
            add_result(b, net, &p->tensors[s->outputs[o]]);
            break;
        }
    pad(b, start, 20);
    sis__buf_printf(b, " %10zu  ", params);
    start = b->len;
    if (w->notes) {
        sis__buf_str(b, part_of(w, s));
        pad(b, start, 34);
        sis__buf_char(b, ' ');
    }
    add_name(b, net->graph.nodes[s->node].proto->name);
    sis__buf_char(b, '\n');
}

static void add_plan(sis__buf *b, const description *w, unsigned char *used) {
    const sis_net *net = w->net;
    const sis__plan *p = w->plan;
    size_t total = 0;
    sis__buf_printf(b, "  %-22s %-20s %10s  ", "operator", "result of one row", "parameters");
    if (w->notes)
        sis__buf_printf(b, "%-34s ", "in a walk, for each candidate");
    sis__buf_str(b, "node\n");
    for (size_t i = 0; i < p->n_steps; i++) {
        size_t params = new_params(net, &p->steps[i], used);
        add_step(b, w, i, params);
        total += params;
    }
    sis__buf_str(b, "output ");
    add_name(b, net->graph.values[net->output].name);
    sis__buf_str(b, ": ");
    add_result(b, net, &p->tensors[net->output]);
    sis__buf_printf(b, "\n%zu parameters in use, about %.3g operations a row\n", total, p->flops);
    if (w->walk && !w->notes)
        sis__buf_str(b, "no walk fits it in this memory: every masked copy is a full pass\n");
}

/* List the inputs of the file if there are several: parts of the row, constants, or derived
 * ones. */
static void add_inputs(sis__buf *b, const sis_net *net) {
    sis_net_tensor t;
    size_t n = sis_net_inputs(net);
    for (size_t i = 0; n > 1 && i < n; i++) {
        if (sis_net_input_get(net, i, &t) != SIS_OK)
            continue;
        int id = sis__graph_find(&net->graph, t.name);
        sis__buf_str(b, "  ");
        add_name(b, t.name);
        sis__buf_printf(b, ": %s ", sis__elem_name(net->graph.values[id].elem_type));
        add_shape(b, t.shape.dims, t.shape.rank);
        sis__buf_str(b, net->refusal                   ? ""
                        : id == net->input             ? ", the row"
                        : net->graph.values[id].data   ? ", given"
                        : sis_net_input_is_fed(net, i) ? ", part of the row"
                                                       : ", follows from the tokens");
        sis__buf_char(b, '\n');
    }
}

static void add_input(sis__buf *b, const sis_net *net) {
    const sis__value *v = &net->graph.values[net->input];
    sis_net_shape shape;
    sis_net_input_shape(net, &shape);
    sis__buf_str(b, "input ");
    add_name(b, v->name);
    sis__buf_printf(b, ": %s ", sis__elem_name(v->elem_type));
    add_shape(b, shape.dims, shape.rank);
    if (net->embedding >= 0) {
        const sis__value *m = &net->graph.values[net->embedding];
        sis__buf_printf(b, ", tokens of a vocabulary of %lld, embedded in %lld",
                        (long long)m->dims[0], (long long)m->dims[1]);
    }
    sis__buf_char(b, '\n');
}

/* ---- Metadata -------------------------------------------------------------------------------- */

/* "title: one, two, three", truncated if it is long. */
typedef struct {
    sis__buf *b;
    const char *title;
    size_t used; /* columns; 0: nothing was written */
    int full;
} list;

static void list_add(list *l, const char *item) {
    enum { COLUMNS = 132, WIDEST = 100 };
    char text[WIDEST + 1];
    if (l->full)
        return;
    sis__format(text, sizeof text, "%s", item);
    sis__buf_str(l->b, l->used ? ", " : l->title);
    l->used += (l->used ? 2 : strlen(l->title)) + strlen(text);
    l->full = l->used > COLUMNS;
    add_name(l->b, l->full ? "..." : text);
}

static void list_end(const list *l) {
    sis__buf_str(l->b, l->used ? "\n" : "");
}

/* "rate 0.001"; nothing if the value is neither text nor number. */
static void add_member(list *l, const char *name, const json_t *value) {
    char text[128];
    if (json_is_string(value))
        sis__format(text, sizeof text, "%s %s", name, json_string_value(value));
    else if (json_is_integer(value))
        sis__format(text, sizeof text, "%s %" JSON_INTEGER_FORMAT, name, json_integer_value(value));
    else if (json_is_real(value))
        sis__format(text, sizeof text, "%s %.4g", name, json_real_value(value));
    else
        return;
    list_add(l, text);
}

static json_t *load_meta(const sis_net *net, const char *name) {
    const char *text = sis_net_meta_get(net, name);
    return text ? sis__json_load(text, strlen(text), 0, NULL) : NULL;
}

/* Print what sis_training_set_finish() wrote: for each part of the data the accuracy, or the
 * squared error if the targets are numbers. */
static void add_training(sis__buf *b, const sis_net *net) {
    list l = {b, "trained: ", 0, 0}, options = {b, "options: ", 0, 0},
         scores = {b, "scores: ", 0, 0};
    json_t *o = load_meta(net, SIS_NET_META_TRAINING), *value;
    const json_t *data = json_object_get(o, "data");
    const char *file = json_string_value(json_object_get(data, "file")), *key;
    const char *name =
        json_string_value(json_object_get(json_object_get(o, "architecture"), "name"));
    const json_t *n = json_object_get(data, "examples");
    char text[128];
    sis__format(text, sizeof text, "%.40s on %.50s", name ? name : "", file ? file : "");
    if (name && file)
        list_add(&l, text);
    sis__format(text, sizeof text, "%" JSON_INTEGER_FORMAT " examples", json_integer_value(n));
    if (json_is_integer(n))
        list_add(&l, text);
    add_member(&l, "best epoch", json_object_get(o, "best_epoch"));
    list_end(&l);
    json_object_foreach(json_object_get(o, "options"), key, value) add_member(&options, key, value);
    list_end(&options);
    json_object_foreach(json_object_get(o, "scores"), key, value) {
        const json_t *accuracy = json_object_get(value, "accuracy");
        sis__format(text, sizeof text, "%.40s %s", key, accuracy ? "accuracy" : "MSE");
        add_member(&scores, text, accuracy ? accuracy : json_object_get(value, "mse"));
    }
    list_end(&scores);
    json_decref(o);
}

static void add_carried(sis__buf *b, const sis_net *net) {
    const char *kind = sis_net_meta_get(net, SIS_NET_META_KIND);
    list kinds = {b, "kind: ", 0, 0}, names = {b, "names: ", 0, 0}, labels = {b, "labels: ", 0, 0};
    json_t *texts = load_meta(net, SIS_NET_META_NAMES);
    size_t n = 0;
    char label[256];
    if (kind)
        list_add(&kinds, kind);
    list_end(&kinds);
    for (size_t k = 0; k < json_array_size(texts) && !names.full; k++) {
        const char *name = json_string_value(json_array_get(texts, k));
        list_add(&names, name ? name : "?");
    }
    list_end(&names);
    json_decref(texts);
    for (size_t k = 0; !labels.full && sis_net_label(net, k, label, sizeof label) == SIS_OK; k++)
        list_add(&labels, label);
    list_end(&labels);
    if (sis_net_mask(net, &n))
        sis__buf_printf(b, "mask: its own, %zu value%s\n", n, n == 1 ? "" : "s");
    else
        sis__buf_str(b, "mask: none of its own\n");
    add_training(b, net);
}

int sis_net_describe_meta(const sis_net *net, char **text) {
    sis__buf b = {0};
    size_t n;
    add_carried(&b, net);
    return sis__buf_give(&b, text, &n);
}

int sis_net_describe(const sis_net *net, const sis_walk *walk, char **text) {
    sis__plan *plan = NULL;
    sis__buf b;
    *text = NULL;
    sis__buf_init(&b);
    unsigned char *used = SIS_NEW(unsigned char, net->graph.n_values);
    int error = used ? SIS_OK : SIS_E_NOMEM;
    add_input(&b, net);
    add_carried(&b, net);
    add_inputs(&b, net);
    if (!error && net->refusal)
        sis__buf_printf(&b, "no rows can be fed to it: %s\n", net->refusal);
    else if (!error && sis_net_values(net) == 0)
        sis__buf_str(
            &b, "rows may have any length, so the shapes of its nodes are those of each row\n");
    else if (!error)
        error = sis__net_plan_row(net, &plan);
    if (error == SIS_E_UNSUPPORTED) {
        sis__buf_str(&b, "shapes depend on values: every row is computed by itself\n");
        error = SIS_OK;
    }
    if (!error && plan)
        add_plan(&b, &(description){net, plan, walk, sis__walk_notes(walk, net)}, used);
    if (!error)
        error = sis__buf_error(&b);
    if (!error)
        *text = b.data;
    else
        sis__buf_release(&b);
    sis__plan_free(plan);
    free(used);
    return error;
}
