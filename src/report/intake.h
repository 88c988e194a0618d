/* SPDX-License-Identifier: MIT
 *
 * What sis cluster, sis compare and sis evaluate wrote, read back: JSON in, fields out. The first thing
 * that is wrong sticks, and everything after it is passed over, so that readers need no check a line.
 */
#ifndef SIS_REPORT_INTAKE_H
#define SIS_REPORT_INTAKE_H

#include <jansson.h>

#include "report/report.h"
#include "report/stats.h"

typedef struct sis__intake {
    const sis_report *report;
    size_t *by_id;    /* (report->n) examples sorted by id */
    const char *name; /* of the file */
    int code;
    json_t *root;
} sis__intake;

/* What a file has to be. */
typedef struct sis__format {
    const char *what, *writer,
        *field; /* "clusters", "sis cluster", and the field they are known by */
} sis__format;

/* Parse n bytes, which must be an object with the field of the format. Close it whatever the outcome. */
int sis__intake_open(sis__intake *in, const sis_report *report, const sis__format *format,
                     const char *json, size_t n);
void sis__intake_close(sis__intake *in);

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

/* The example of that id from that file: the same path, or the same name in another folder; any file
 * if it is NULL. SIZE_MAX: it is not there. */
size_t sis__find_example(const sis__intake *in, const char *id, const char *source);

/* Everything of an object that sis cluster wrote; release the set whatever the outcome. */
void sis__take_clusters(sis__intake *in, const json_t *root, sis__clusters *set);

/* 2: the same path, or none was given; 1: the same name; 0: another file. */
int sis__same_source(const char *found, const char *wanted);

#endif
