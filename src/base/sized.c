/* SPDX-License-Identifier: MIT
 *
 * See sized.h.
 */
#include "base/sized.h"

#include <string.h>

#include <sis/error.h>

#include "base/error.h"

static size_t size_of(const void *s) {
    size_t size;
    memcpy(&size, s, sizeof size);
    return size;
}

static int check(const sis__sized *type, const void *s, size_t room) {
    size_t size = size_of(s);
    if (size < sizeof size)
        return sis__fail(SIS_E_ARGUMENT, "%s: the size is not set; call %s first", type->name,
                         type->init);
    if (size > room)
        return sis__fail(SIS_E_ARGUMENT,
                         "%s: the size is %zu, but the library knows %zu bytes; call %s first, and "
                         "use a library that is not older than the headers",
                         type->name, size, type->size, type->init);
    return SIS_OK;
}

static size_t min_size(size_t a, size_t b) {
    return a < b ? a : b;
}

/* `t` and `f` are the offsets reached in `to` and `from`, `done` the offset in this library's
 * struct. */
int sis__sized_copy(const sis__sized *type, void *to, const void *from) {
    size_t t = sizeof(size_t), f = t, done = t;
    int error = check(type, to, type->size);
    if (error == SIS_OK)
        error = check(type, from, type->size);
    for (size_t k = 0; error == SIS_OK; k++) {
        const sis__sized *inner = k < SIS__SIZED_INNER ? type->inner[k].type : NULL;
        size_t run = (inner ? type->inner[k].at : type->size) - done;
        size_t both = min_size(size_of(to) - t, size_of(from) - f);
        memcpy((char *)to + t, (const char *)from + f, min_size(run, both));
        if (!inner || both <= run)
            return SIS_OK;
        t += run;
        f += run;
        done += run + inner->size;
        error = check(inner, (char *)to + t, min_size(inner->size, size_of(to) - t));
        if (error == SIS_OK)
            error = check(inner, (const char *)from + f, min_size(inner->size, size_of(from) - f));
        if (error == SIS_OK)
            error = sis__sized_copy(inner, (char *)to + t, (const char *)from + f);
        if (error == SIS_OK) {
            t += size_of((char *)to + t);
            f += size_of((const char *)from + f);
        }
    }
    return error;
}

int sis__reserved_check(const char *name, const void *reserved, size_t size) {
    for (size_t i = 0; i < size; i++)
        if (((const char *)reserved)[i])
            return sis__fail(SIS_E_ARGUMENT, "%s: `reserved` is not zero; begin with {0}", name);
    return SIS_OK;
}

void sis__sized_extend(void *to, size_t room, const void *from) {
    memset(to, 0, room);
    memcpy(to, from, min_size(room, size_of(from)));
}
