/* SPDX-License-Identifier: MIT
 *
 * See follow.h.
 */
#include "base/follow.h"
#include "base/ascii.h"

#include <stddef.h>
#include <string.h>

static int name_has(const char *name, const char *part) {
    size_t n = strlen(part);
    for (; *name; name++) {
        size_t i = 0;
        while (i < n && sis__lower(name[i]) == part[i])
            i++;
        if (i == n)
            return 1;
    }
    return 0;
}

/* len, seq_len, seqlen; not a word that happens to end so. */
static int is_length(const char *name) {
    size_t n = strlen(name);
    if (n < 3 || sis__lower(name[n - 3]) != 'l' || sis__lower(name[n - 2]) != 'e' ||
        sis__lower(name[n - 1]) != 'n')
        return 0;
    return n == 3 || !sis__is_alpha(name[n - 4]) || name_has(name, "seqlen");
}

sis__follow sis__follow_named(const char *name) {
    static const struct {
        const char *part;
        sis__follow how;
    } rows[] = {{"mask", SIS__FOLLOWS_MASK},      {"token_type", SIS__FOLLOWS_ZERO},
                {"segment", SIS__FOLLOWS_ZERO},   {"type_ids", SIS__FOLLOWS_ZERO},
                {"position", SIS__FOLLOWS_PLACE}, {"length", SIS__FOLLOWS_COUNT},
                {"lens", SIS__FOLLOWS_COUNT}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (name_has(name, rows[i].part))
            return rows[i].how;
    return is_length(name) ? SIS__FOLLOWS_COUNT : SIS__FOLLOWS_NOT;
}
