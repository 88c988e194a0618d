/* SPDX-License-Identifier: MIT
 *
 * Published models of all families (../shared/data/zoo beside the checkout): each is read and
 * evaluated once with the recorded inputs. Outputs must equal the recorded ones of ONNX Runtime
 * within 1e-4, relative above 1. Prints a table by family.
 */
#include "support.h"

#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "net/onnx/words.h"
#include "support_plain.h"

enum { MAX_TENSORS = 256, MAX_FAMILIES = 32 };

/* The folder of the models, or NULL. */
static const char *zoo(void) {
    static char path[4096];
    const char *index = shared_data("zoo/index.tsv");
    if (!index)
        return NULL;
    snprintf(path, sizeof path, "%.*s", (int)(strlen(index) - strlen("/index.tsv")), index);
    return path;
}

/* ---- Recorded tensors ------------------------------------------------------------------------ */

static double number_of(const json_t *v) {
    const char *text = json_string_value(v);
    if (json_is_true(v) || json_is_false(v))
        return json_is_true(v);
    if (text)
        return strcmp(text, "NaN") == 0 ? (double)NAN : strtod(text, NULL);
    return json_is_null(v) ? (double)NAN : json_number_value(v);
}

static int read_tensor(const char *name, const json_t *from, sis_net_tensor *t) {
    const char *type = json_string_value(json_object_get(from, "type"));
    json_t *dims = json_object_get(from, "dims"), *data = json_object_get(from, "data");
    if (!type || !json_is_array(dims) || !json_is_array(data))
        return -1;
    size_t n = json_array_size(data);
    *t = (sis_net_tensor){.name = name, .type = SIS_NET_INTS};
    t->type = strstr(type, "string")                                          ? SIS_NET_TEXTS
              : strcmp(type, "bool") == 0                                     ? SIS_NET_BOOLS
              : strncmp(type, "float", 5) == 0 || strcmp(type, "double") == 0 ? SIS_NET_FLOATS
                                                                              : SIS_NET_INTS;
    t->shape.rank = json_array_size(dims);
    for (size_t d = 0; d < t->shape.rank && d < SIS_NET_MAX_RANK; d++)
        t->shape.dims[d] = (size_t)json_integer_value(json_array_get(dims, d));
    void *values = calloc(n + 1, 8);
    for (size_t i = 0; i < n; i++) {
        const json_t *v = json_array_get(data, i);
        const char *text = json_string_value(v);
        if (t->type == SIS_NET_TEXTS)
            ((const char **)values)[i] = text ? text : "";
        else if (t->type == SIS_NET_FLOATS)
            ((float *)values)[i] = (float)number_of(v);
        else if (t->type == SIS_NET_BOOLS)
            ((uint8_t *)values)[i] = number_of(v) != 0;
        else
            ((int64_t *)values)[i] = text                 ? strtoll(text, NULL, 10)
                                     : json_is_integer(v) ? (int64_t)json_integer_value(v)
                                                          : (int64_t)number_of(v);
    }
    t->data = values;
    return 0;
}

static size_t read_tensors(json_t *from, sis_net_tensor *t) {
    const char *name;
    json_t *value;
    size_t n = 0;
    json_object_foreach(from, name,
                        value) if (n < MAX_TENSORS && read_tensor(name, value, &t[n]) == 0) n++;
    return n;
}

static void free_tensors(sis_net_tensor *t, size_t n) {
    for (size_t i = 0; i < n; i++)
        free((void *)(uintptr_t)t[i].data);
}

/* ---- Comparison ------------------------------------------------------------------------------ */

static size_t count_of(const sis_net_tensor *t) {
    size_t n = 1;
    for (size_t d = 0; d < t->shape.rank; d++)
        n *= t->shape.dims[d];
    return n;
}

static double value_at(sis__dtype type, const void *data, size_t i) {
    return type == SIS__F32    ? (double)((const float *)data)[i]
           : type == SIS__BOOL ? (double)((const uint8_t *)data)[i]
                               : (double)((const int64_t *)data)[i];
}

static const char *differs(const plain_pass *p, const sis_net_tensor *want) {
    static char text[512];
    static const sis__dtype types[] = {SIS__F32, SIS__I64, SIS__BOOL, SIS__TEXT};
    const sis__tensor *got = plain_output(p, want->name);
    size_t n = count_of(want), length;
    if (!got)
        return "an output is missing";
    if (got->dtype != types[want->type] || got->count != n) {
        snprintf(text, sizeof text, "output %s: %s, %zu values instead of %s, %zu", want->name,
                 sis__dtype_name(got->dtype), got->count, sis__dtype_name(types[want->type]), n);
        return text;
    }
    for (size_t i = 0; i < n; i++) {
        if (got->dtype == SIS__TEXT) {
            const char *a =
                sis__words_get(p->graph.words, ((const int64_t *)got->data)[i], &length);
            const char *b = ((const char *const *)want->data)[i];
            if (strcmp(a, b) != 0) {
                snprintf(text, sizeof text, "output %s: %s instead of %s", want->name, a, b);
                return text;
            }
            continue;
        }
        double a = value_at(got->dtype, got->data, i), b = value_at(got->dtype, want->data, i);
        double size = fabs(b) > 1 ? fabs(b) : 1;
        if (a != b && !(isnan(a) && isnan(b)) && !(fabs(a - b) <= 1e-4 * size)) {
            snprintf(text, sizeof text, "output %s, value %zu: %.9g instead of %.9g", want->name, i,
                     a, b);
            return text;
        }
    }
    return NULL;
}

/* ---- One model ------------------------------------------------------------------------------- */

typedef struct {
    char family[128];
    size_t models, loaded, equal;
} tally;

/* NULL, or why it differs. */
static const char *evaluate(const sis_net *net, const char *record) {
    static char text[512];
    json_error_t at;
    json_t *root = json_load_file(record, 0, &at);
    sis_net_tensor in[MAX_TENSORS] = {0}, want[MAX_TENSORS] = {0};
    plain_pass pass = {0};
    size_t n = read_tensors(json_object_get(root, "inputs"), in);
    size_t n_want = read_tensors(json_object_get(root, "outputs"), want);
    const char *wrong = root && n && n_want ? NULL : "no record";
    if (!wrong && plain_run(net, in, n, &pass) != 0) {
        snprintf(text, sizeof text, "%s", sis_error_detail());
        wrong = text;
    }
    for (size_t i = 0; i < n_want && !wrong; i++)
        wrong = differs(&pass, &want[i]);
    plain_release(&pass);
    free_tensors(in, n);
    free_tensors(want, n_want);
    json_decref(root);
    return wrong;
}

static void try_model(const char *folder, const char *name, tally *t) {
    char path[8192];
    sis_net *net;
    snprintf(path, sizeof path, "%s/%s.onnx", folder, name);
    t->models++;
    if (sis_net_read(path, &net) != 0) {
        printf("  %s: %s\n", name,
               strrchr(sis_error_detail(), '/') ? strrchr(sis_error_detail(), '/') + 1
                                                : sis_error_detail());
        return;
    }
    t->loaded++;
    snprintf(path, sizeof path, "%s/%s.json", folder, name);
    const char *wrong = evaluate(net, path);
    if (wrong)
        printf("  %s: %s\n", name, wrong);
    t->equal += wrong == NULL;
    sis_net_free(net);
}

static tally *family_of(tally *all, size_t *n, const char *name) {
    for (size_t i = 0; i < *n; i++)
        if (strcmp(all[i].family, name) == 0)
            return &all[i];
    assert_true(*n < MAX_FAMILIES);
    snprintf(all[*n].family, sizeof all[*n].family, "%s", name);
    return &all[(*n)++];
}

static void models_give_recorded_outputs(void **state) {
    (void)state;
    const char *folder = zoo();
    char path[8192], line[4096], name[512], family[128];
    tally all[MAX_FAMILIES] = {0};
    size_t n = 0, models = 0, loaded = 0, equal = 0;
    if (!folder) {
        printf("skipped: there is no zoo of models beside the checkout\n");
        skip();
    }
    snprintf(path, sizeof path, "%s/index.tsv", folder);
    FILE *f = fopen(path, "r");
    assert_non_null(f);
    while (fgets(line, sizeof line, f))
        if (sscanf(line, "%511[^\t]\t%127[^\t]", name, family) == 2 && strcmp(name, "file") != 0)
            try_model(folder, name, family_of(all, &n, family));
    fclose(f);
    printf("%-36s %6s %6s %6s\n", "family", "models", "loaded", "equal");
    for (size_t i = 0; i < n; i++) {
        printf("%-36s %6zu %6zu %6zu\n", all[i].family, all[i].models, all[i].loaded, all[i].equal);
        models += all[i].models;
        loaded += all[i].loaded;
        equal += all[i].equal;
    }
    printf("%-36s %6zu %6zu %6zu\n", "all", models, loaded, equal);
    assert_true(loaded * 116 >= models * 95); /* the others are left to ONNX Runtime */
    assert_int_equal(equal, loaded);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(models_give_recorded_outputs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
