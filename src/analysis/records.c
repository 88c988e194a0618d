/* SPDX-License-Identifier: MIT
 *
 * All records of a file in memory, found by their ids. See sis/analysis.h.
 */
#include <stdint.h>
#include <stdlib.h>

#include <sis/analysis.h>

#include "base/error.h"
#include "base/ids.h"
#include "base/mem.h"

int sis_records_add(sis_records *s, sis_record *r) {
    int error = sis__reserve(&s->items, &s->room, s->n + 1, sizeof *s->items);
    if (error != SIS_OK)
        return error;
    s->items[s->n++] = *r;
    *r = (sis_record){0};
    return SIS_OK;
}

static void drop_ids(sis_records *s) {
    if (s->ids)
        sis__ids_release((sis__ids *)s->ids);
    free(s->ids);
    s->ids = NULL;
}

int sis_records_index(sis_records *s, int once) {
    const char **ids = SIS_NEW(const char *, s->n);
    drop_ids(s);
    sis__ids *index = SIS_NEW(sis__ids, 1);
    s->ids = index;
    for (size_t i = 0; ids && i < s->n; i++)
        ids[i] = s->items[i].id;
    int error = ids && index ? sis__ids_init(index, ids, s->n) : SIS_E_NOMEM;
    free(ids);
    const char *twice = error == SIS_OK && once ? sis__ids_twice(index) : NULL;
    return twice ? sis__fail(SIS_E_FORMAT,
                             "%s: has two records \"%s\"; expected one for each example", s->name,
                             twice)
                 : error;
}

const sis_record *sis_records_find(const sis_records *s, const char *id) {
    size_t at = sis__ids_find((const sis__ids *)s->ids, id);
    return at == SIZE_MAX ? NULL : &s->items[at];
}

void sis_records_release(sis_records *s) {
    for (size_t i = 0; i < s->n; i++)
        sis_record_release(&s->items[i]);
    free(s->items);
    drop_ids(s);
    *s = (sis_records){0};
}
