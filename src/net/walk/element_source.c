/* SPDX-License-Identifier: MIT
 *
 * Follows the elements of a tensor back through the steps that made it, by the `source` function of
 * each operator (net/plan/source.h). See element_source.h.
 */
#include "net/walk/element_source.h"

#include <stdlib.h>

#include "base/error.h"
#include "base/mem.h"
#include "net/plan/source.h"

static const size_t max = (size_t)1 << 24; /* elements of a list */

int sis__origin_begin(sis__origin *o, const sis__plan *p, int tensor) {
    *o = (sis__origin){.tensor = tensor, .n = p->tensors[tensor].count};
    if (o->n > max)
        return SIS_E_UNSUPPORTED;
    o->from = SIS_NEW_RAW(size_t, o->n);
    for (size_t i = 0; o->from && i < o->n; i++)
        o->from[i] = i;
    return o->from ? SIS_OK : SIS_E_NOMEM;
}

void sis__origin_release(sis__origin *o) {
    free(o->from);
    *o = (sis__origin){0};
}

/* Add the contribution of one input; 0 if an element depends on several. */
static int add_input(const sis__source *source, const size_t *list, size_t *from, size_t n) {
    for (size_t i = 0; i < n; i++) {
        size_t at = sis__source_at(source, i);
        size_t element = at == SIZE_MAX ? SIZE_MAX : list[at];
        if (element != SIZE_MAX && from[i] != SIZE_MAX && from[i] != element)
            return 0;
        from[i] = element != SIZE_MAX ? element : from[i];
    }
    return 1;
}

int sis__origin_pass(const sis__plan *p, const sis__step *s, size_t *const *lists, sis__passing how,
                     size_t **from) {
    size_t n = s->n_outputs && s->outputs[0] >= 0 ? p->tensors[s->outputs[0]].count : SIZE_MAX;
    size_t *list = n > max ? NULL : SIS_NEW_RAW(size_t, n);
    *from = NULL;
    if (!list)
        return n > max ? 0 : SIS_E_NOMEM;
    for (size_t i = 0; i < n; i++)
        list[i] = SIZE_MAX;
    int fits = 1, known = 0;
    for (size_t i = 0; i < s->n_inputs && fits; i++) {
        int in = s->inputs[i];
        sis__source source;
        if (in < 0 || p->tensors[in].data)
            continue;
        known = 1;
        fits = lists[in] && sis__source_of(p, s, 0, i, &source) && sis__source_single(&source) &&
               (source.same || how == SIS__MAPPED) && add_input(&source, lists[in], list, n);
    }
    if (!fits || !known) {
        free(list);
        return 0;
    }
    *from = list;
    return 1;
}

int sis__origin_step(sis__origin *o, const sis__plan *p, sis__passing how) {
    const sis__step *s = sis__plan_reader(p, o->tensor);
    size_t **lists = s ? SIS_NEW(size_t *, p->n_tensors) : NULL, *from;
    if (!lists)
        return s ? SIS_E_NOMEM : 0;
    lists[o->tensor] = o->from;
    int more = sis__origin_pass(p, s, lists, how, &from);
    free((void *)lists);
    if (more <= 0)
        return more;
    free(o->from);
    o->from = from;
    o->tensor = s->outputs[0];
    o->n = p->tensors[o->tensor].count;
    return 1;
}

int sis__origin_follow(sis__origin *o, const sis__plan *p, sis__passing how) {
    int more;
    while ((more = sis__origin_step(o, p, how)) > 0)
        ;
    return more;
}
