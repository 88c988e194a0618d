/* SPDX-License-Identifier: MIT
 *
 * Reads lines and splits them into cells. See lines.h.
 */
#include "data/lines.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/ascii.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/utf8.h"

enum { LINE_BYTES_MAX = 32 << 20, COLUMNS_MAX = 1000 };

int sis__lines_open(sis__lines *l, const char *path) {
    return sis__source_open(&l->source, path);
}

void sis__lines_close(sis__lines *l) {
    sis__source_close(&l->source);
    sis__buf_release(&l->line);
    free(l->cells);
}

int sis__lines_fail(const sis__lines *l, const char *what) {
    return sis__fail(SIS_E_FORMAT, "%s, line %zu: %s", l->source.name, l->number, what);
}

/* Strip the line end and the UTF-8 byte order mark. */
static void strip(sis__lines *l) {
    sis__buf *b = &l->line;
    if (b->len > 0 && b->data[b->len - 1] == '\n')
        b->data[--b->len] = '\0';
    if (l->number == 1 && b->len >= 3 && memcmp(b->data, "\xEF\xBB\xBF", 3) == 0) {
        b->len -= 3;
        memmove(b->data, b->data + 3, b->len + 1);
    }
}

int sis__lines_any(sis__lines *l) {
    l->start = l->source.offset;
    int found = sis__source_line(&l->source, LINE_BYTES_MAX, &l->line);
    l->number++;
    if (found < 0)
        return found == l->source.error
                   ? found
                   : sis__fail_in(found, "%s, line %zu", l->source.name, l->number);
    if (found > 0)
        strip(l);
    return found;
}

int sis__lines_next(sis__lines *l) {
    int found = sis__lines_any(l);
    if (found <= 0)
        return found;
    size_t good = sis__utf8_check(l->line.data, l->line.len);
    if (good == l->line.len)
        return 1;
    return sis__fail(SIS_E_FORMAT, "%s, line %zu: byte %zu is %s; save it as UTF-8", l->source.name,
                     l->number, good + 1, l->line.data[good] ? "not UTF-8 text" : "NUL, not text");
}

int sis__lines_blank(const sis__lines *l) {
    return strspn(l->line.data, " \t") == l->line.len;
}

/* Remove the quotes of a cell that is entirely quoted; inside, "" becomes ". */
static char *unquote(char *cell) {
    size_t n = strlen(cell), to = 0;
    if (n < 2 || cell[0] != '"' || cell[n - 1] != '"')
        return cell;
    for (size_t i = 1; i + 1 < n; i++)
        if (cell[i] == '"' && (cell[i + 1] != '"' || ++i + 1 >= n))
            return cell;
    for (size_t i = 1; i + 1 < n; i++) {
        cell[to++] = cell[i];
        i += cell[i] == '"';
    }
    cell[to] = '\0';
    return cell;
}

int sis__lines_cut(sis__lines *l) {
    l->n = 0;
    for (char *at = l->line.data, *tab; at; at = tab) {
        if (l->n >= COLUMNS_MAX)
            return sis__lines_fail(l, "more than 1000 columns");
        int code = sis__reserve(&l->cells, &l->room, l->n + 1, sizeof *l->cells);
        if (code != SIS_OK)
            return code;
        tab = strchr(at, '\t');
        if (tab)
            *tab++ = '\0';
        l->cells[l->n++] = unquote(at);
    }
    return SIS_OK;
}

size_t sis__lines_find(const sis__lines *l, const char *cell) {
    for (size_t k = 0; k < l->n; k++)
        if (sis__same_word(l->cells[k], cell))
            return k;
    return SIZE_MAX;
}
