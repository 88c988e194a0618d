/* SPDX-License-Identifier: MIT
 *
 * What sis cluster, sis compare and sis evaluate wrote, read back: JSON in, fields out. The first
 * thing that is wrong sticks, and everything after it is passed over, so that readers need no check
 * a line.
 */
#ifndef SIS_REPORT_INTAKE_H
#define SIS_REPORT_INTAKE_H

#include <jansson.h>

#include "report/report.h"
#include "report/stats.h"

/* One file on its way in. The first three are what it takes to begin. */
typedef struct sis__intake {
    const sis_report *report;
    const char *name, *json; /* of the file: what messages call it, and its bytes */
    size_t n_json;
    int code;
    json_t *root;
    size_t *by_id; /* (report->n) examples sorted by id */
} sis__intake;

/* A kind of file: what it has to be, and how one is read into zeroed room and let go again. */
typedef struct sis__kind {
    const char *what, *writer; /* "clusters", "sis cluster" */
    const char *field;         /* that it is known by */
    size_t size;               /* of what is read */
    void (*take)(sis__intake *in, void *item);
    void (*release)(void *item);
} sis__kind;

extern const sis__kind sis__kind_clusters, sis__kind_comparison, sis__kind_evaluation;

/* Read the file as one more of the *n items of the list, which is as before if that fails. */
int sis__intake_add(sis__intake *in, const sis__kind *kind, void **list, size_t *n);

/* Note that the field is not what was expected. */
void sis__intake_wrong(sis__intake *in, const char *field, const char *expected);

/* Zeroed room; NULL after any error. */
void *sis__take_room(sis__intake *in, size_t n, size_t size);

/* A copy; "" for what is no text. NULL after any error. */
char *sis__take_text(sis__intake *in, const json_t *v);
char *sis__take_copy(sis__intake *in, const char *text);

/* Fields of an object. Absent: 0, NaN, NULL; null is NaN, too. */
size_t sis__take_count(sis__intake *in, const json_t *object, const char *field);
double sis__take_number(sis__intake *in, const json_t *object, const char *field);
const json_t *sis__take_object(sis__intake *in, const json_t *object, const char *field);

/* A list; NULL, with a message unless it may be absent, if there is none. */
const json_t *sis__take_list(sis__intake *in, const json_t *object, const char *field,
                             int required);

/* The finite numbers of a list, added to `out`; null is passed over. */
void sis__take_numbers(sis__intake *in, const json_t *object, const char *field, sis__numbers *out);

/* The example of that id from that file: the same path, or the same name in another folder; any
 * file if it is NULL. SIZE_MAX: it is not there. */
size_t sis__find_example(const sis__intake *in, const char *id, const char *source);

/* Everything of an object that sis cluster wrote; release the set whatever the outcome. */
void sis__take_clusters(sis__intake *in, const json_t *root, sis__clusters *set);

/* 2: the same path, or none was given; 1: the same name; 0: another file. */
int sis__same_source(const char *found, const char *wanted);

#endif
