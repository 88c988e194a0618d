/* SPDX-License-Identifier: MIT
 *
 * Fields of JSON files, and the examples that they speak of. Examples are sorted by id once, then
 * each is a binary search.
 */
#include "report/intake.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"

/* ---- Opening --------------------------------------------------------------------------------- */

static const char *example_id(const sis_report *report, size_t i) {
    return report->examples[i].record.id;
}

static int by_id(const void *a, const void *b, void *ctx) {
    const sis_report *report = (const sis_report *)ctx;
    size_t x = *(const size_t *)a, y = *(const size_t *)b;
    int order = strcmp(example_id(report, x), example_id(report, y));
    return order ? order : (x > y) - (x < y);
}

static size_t *sort_examples(const sis_report *report) {
    size_t *sorted = SIS_NEW_RAW(size_t, report->n);
    for (size_t i = 0; sorted && i < report->n; i++)
        sorted[i] = i;
    if (sorted)
        qsort_r(sorted, report->n, sizeof *sorted, by_id, (void *)(uintptr_t)report);
    return sorted;
}

static int open_file(sis__intake *in, const sis__kind *kind) {
    json_error_t error;
    if (memchr(in->json, '\0', in->n_json))
        return sis__fail(SIS_E_FORMAT, "%s: not %s: it holds a NUL byte", in->name, kind->what);
    if (!(in->root = json_loadb(in->json, in->n_json, JSON_REJECT_DUPLICATES, &error)))
        return sis__fail(SIS_E_FORMAT, "%s, line %d: not %s: %s", in->name, error.line, kind->what,
                         error.text);
    if (!json_is_object(in->root) || !json_object_get(in->root, kind->field))
        return sis__fail(SIS_E_FORMAT, "%s: not %s: expected the JSON object that %s writes",
                         in->name, kind->what, kind->writer);
    in->by_id = sort_examples(in->report);
    return in->by_id ? SIS_OK : SIS_E_NOMEM;
}

int sis__intake_add(sis__intake *in, const sis__kind *kind, void **list, size_t *n) {
    char *items = (char *)sis__realloc(*list, *n + 1, kind->size);
    if (!items)
        return SIS_E_NOMEM;
    *list = items;
    void *item = memset(items + *n * kind->size, 0, kind->size);
    in->code = open_file(in, kind);
    if (in->code == SIS_OK)
        kind->take(in, item);
    if (in->code == SIS_OK)
        ++*n;
    else
        kind->release(item);
    json_decref(in->root);
    free(in->by_id);
    return in->code;
}

/* ---- Fields ---------------------------------------------------------------------------------- */

void sis__intake_wrong(sis__intake *in, const char *field, const char *expected) {
    if (in->code == SIS_OK)
        in->code =
            sis__fail(SIS_E_FORMAT, "%s: field \"%s\": expected %s", in->name, field, expected);
}

void *sis__take_room(sis__intake *in, size_t n, size_t size) {
    void *room = in->code == SIS_OK ? sis__alloc(n, size) : NULL;
    if (!room && in->code == SIS_OK)
        in->code = SIS_E_NOMEM;
    return room;
}

char *sis__take_copy(sis__intake *in, const char *text) {
    char *copy = in->code == SIS_OK ? sis__strdup(text) : NULL;
    if (!copy && in->code == SIS_OK)
        in->code = SIS_E_NOMEM;
    return copy;
}

char *sis__take_text(sis__intake *in, const json_t *v) {
    const char *text = json_string_value(v);
    return sis__take_copy(in, text ? text : "");
}

size_t sis__take_count(sis__intake *in, const json_t *object, const char *field) {
    const json_t *v = json_object_get(object, field);
    if (!v)
        return 0;
    if (!json_is_integer(v) || json_integer_value(v) < 0)
        sis__intake_wrong(in, field, "a count");
    return json_is_integer(v) && json_integer_value(v) > 0 ? (size_t)json_integer_value(v) : 0;
}

double sis__take_number(sis__intake *in, const json_t *object, const char *field) {
    const json_t *v = json_object_get(object, field);
    if (v && !json_is_number(v) && !json_is_null(v))
        sis__intake_wrong(in, field, "a number");
    return json_is_number(v) ? json_number_value(v) : NAN;
}

const json_t *sis__take_object(sis__intake *in, const json_t *object, const char *field) {
    const json_t *v = json_object_get(object, field);
    if (v && !json_is_object(v))
        sis__intake_wrong(in, field, "an object");
    return json_is_object(v) ? v : NULL;
}

const json_t *sis__take_list(sis__intake *in, const json_t *object, const char *field,
                             int required) {
    const json_t *v = json_object_get(object, field);
    if ((v || required) && !json_is_array(v))
        sis__intake_wrong(in, field, "a list");
    return json_is_array(v) ? v : NULL;
}

void sis__take_numbers(sis__intake *in, const json_t *object, const char *field,
                       sis__numbers *out) {
    const json_t *list = sis__take_list(in, object, field, 0);
    for (size_t i = 0; i < json_array_size(list) && in->code == SIS_OK; i++) {
        const json_t *v = json_array_get(list, i);
        if (!json_is_number(v) && !json_is_null(v))
            sis__intake_wrong(in, field, "a list of numbers");
        if (json_is_number(v) && in->code == SIS_OK)
            in->code = sis__numbers_add(out, json_number_value(v));
    }
}

/* ---- Examples -------------------------------------------------------------------------------- */

const char *sis__file_name(const char *path, int *stem) {
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    const char *dot = strrchr(name, '.');
    if (stem)
        *stem = (int)(dot && dot > name ? (size_t)(dot - name) : strlen(name));
    return name;
}

int sis__same_source(const char *found, const char *wanted) {
    if (!wanted || strcmp(found, wanted) == 0)
        return 2;
    return strcmp(sis__file_name(found, NULL), sis__file_name(wanted, NULL)) == 0;
}

size_t sis__find_example(const sis__intake *in, const char *id, const char *source) {
    const sis_report *report = in->report;
    size_t low = 0, high = report->n, best = SIZE_MAX;
    int best_match = 0;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (strcmp(example_id(report, in->by_id[middle]), id) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    for (; low < report->n && strcmp(example_id(report, in->by_id[low]), id) == 0; low++) {
        size_t i = in->by_id[low];
        int match = sis__same_source(report->runs[report->examples[i].run].source, source);
        if (match > best_match) {
            best_match = match;
            best = i;
        }
    }
    return best;
}
