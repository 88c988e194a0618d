/* SPDX-License-Identifier: MIT
 *
 * See signature.h.
 */
#include "base/signature.h"

#include <stddef.h>
#include <string.h>

#include "base/ascii.h"
#include "base/dims.h"
#include "base/error.h"

static const size_t max_part = (size_t)1 << 24;  /* values of a row that go to one input */
static const size_t max_given = (size_t)1 << 28; /* values the caller may set */

/* ---- Names ----------------------------------------------------------------------------------- */

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

/* len, seq_len, seqlen; not a word that happens to end in "len". */
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

/* ---- The one that takes the row -------------------------------------------------------------- */

static int is_ids(const sis__declared *in) {
    return in->kind == SIS__INPUT_WHOLE && in->rank == 2 && in->dims[1] != 1;
}

/* The only input that the caller does not set, or the only one of token ids that does not follow
 * from others. n: none, or several. */
static size_t find_main(const sis__declared *inputs, size_t n) {
    size_t left = 0, only = n, others = 0, ids = n;
    for (size_t i = 0; i < n; i++) {
        if (inputs[i].given)
            continue;
        left++;
        only = i;
        if (sis__follow_named(inputs[i].name) != SIS__FOLLOWS_NOT)
            continue;
        others++;
        ids = is_ids(&inputs[i]) ? i : n;
    }
    return left == 1 ? only : others == 1 ? ids : n;
}

static int find_named(const sis__declared *inputs, size_t n, const char *name, size_t *main) {
    for (*main = 0; *main < n; ++*main)
        if (strcmp(inputs[*main].name, name) == 0)
            return inputs[*main].given
                       ? sis__fail(SIS_E_ARGUMENT,
                                   "input %.60s: give it to --explain or to --with, not both", name)
                       : SIS_OK;
    return sis__fail(SIS_E_ARGUMENT, "the model has no input %.60s; its first is %.60s", name,
                     n ? inputs[0].name : "(none)");
}

/* All other inputs that the caller does not set must follow from the main one. */
static int follow_main(const sis__declared *inputs, size_t n, size_t main, sis__input_role *roles) {
    for (size_t i = 0; i < n; i++) {
        if (i == main || inputs[i].given)
            continue;
        roles[i].follow = sis__follow_named(inputs[i].name);
        if (roles[i].follow == SIS__FOLLOWS_NOT || inputs[i].kind >= SIS__INPUT_TEXTS)
            return sis__fail(SIS_E_UNSUPPORTED,
                             "the model also takes input %.60s besides %.60s; give it a value with "
                             "--with %.60s=...",
                             inputs[i].name, inputs[main].name, inputs[i].name);
    }
    return SIS_OK;
}

/* ---- Parts ----------------------------------------------------------------------------------- */

/* Number of row values that go into an input; 0: depends on the row, or too many. */
static size_t count_values(const sis__declared *in, int counted) {
    size_t values = 1;
    for (size_t d = counted ? 1 : 0; d < in->rank; d++) {
        if (in->dims[d] <= 0 || (size_t)in->dims[d] > max_part / values)
            return 0;
        values *= (size_t)in->dims[d];
    }
    return values;
}

static int has_rows(const sis__declared *in) {
    return in->rank > 0 && in->dims[0] <= 1;
}

/* Report that input i has no fixed size; the reason may be another input without a row axis. */
static int refuse_part(const sis__declared *inputs, size_t n, size_t i) {
    size_t k = 0;
    while (k < n && (inputs[k].given || has_rows(&inputs[k])))
        k++;
    return sis__fail(SIS_E_UNSUPPORTED,
                     "the model has %zu inputs, and %.60s %s; choose one with --explain NAME and "
                     "give the others with --with NAME=FILE",
                     n, inputs[k < n ? k : i].name,
                     k < n ? "has no axis for rows" : "leaves a size free");
}

/* Divide each row among all inputs. */
static int share_row(const sis__declared *inputs, size_t n, sis__input_role *roles, int *counted) {
    size_t at = 0, left = 0;
    *counted = 1;
    for (size_t i = 0; i < n; i++) {
        left += !inputs[i].given;
        if (!inputs[i].given)
            *counted &= has_rows(&inputs[i]);
    }
    if (left == 0)
        return sis__fail(SIS_E_ARGUMENT, "--with gives a value to every input of the model; leave "
                                         "out the one that takes the rows");
    for (size_t i = 0; i < n; i++) {
        if (inputs[i].given)
            continue;
        if (inputs[i].kind == SIS__INPUT_OTHER)
            return sis__fail(SIS_E_UNSUPPORTED, "input %.60s is not a tensor with a shape",
                             inputs[i].name);
        roles[i] = (sis__input_role){.part = at, .count = count_values(&inputs[i], *counted)};
        if (roles[i].count == 0)
            return refuse_part(inputs, n, i);
        at += roles[i].count;
    }
    return SIS_OK;
}

int sis__signature_assign(const sis__declared *inputs, size_t n, const char *explain,
                          sis__input_role *roles, sis__signature *out) {
    *out = (sis__signature){.main = find_main(inputs, n)};
    for (size_t i = 0; i < n; i++)
        roles[i] = (sis__input_role){0};
    int error = explain ? find_named(inputs, n, explain, &out->main) : SIS_OK;
    if (error)
        return error;
    return out->main < n ? follow_main(inputs, n, out->main, roles)
                         : share_row(inputs, n, roles, &out->counted);
}

/* ---- Given ----------------------------------------------------------------------------------- */

int sis__signature_given(const sis__declared *in, const size_t *dims, size_t rank, size_t *out,
                         size_t *out_rank, size_t *count) {
    size_t wanted[SIS__SIGNATURE_RANK];
    *out_rank = in->rank ? in->rank : rank;
    *count = 1;
    for (size_t d = 0; d < in->rank; d++)
        wanted[d] = in->dims[d] > 0 ? (size_t)in->dims[d] : 0;
    int error = rank && in->rank ? sis__dims_fit(dims, rank, wanted, in->rank, out) : SIS_OK;
    if (error)
        return sis__fail_in(error, "input %.60s", in->name);
    for (size_t d = 0; d < *out_rank; d++) {
        if (!rank)
            out[d] = wanted[d] ? wanted[d] : 1;
        else if (!in->rank)
            out[d] = dims[d];
        if (out[d] && *count > max_given / out[d])
            return sis__fail(SIS_E_ARGUMENT, "input %.60s has too many values", in->name);
        *count *= out[d];
    }
    return SIS_OK;
}
