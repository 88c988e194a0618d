/* SPDX-License-Identifier: MIT
 *
 * Einsum: sums of products over named axes, "bij,bjk->bik". Every letter is an axis; a sum runs over
 * letters that the result does not name. An ellipsis stands for the axes in front that are not named
 * (broadcast). Value by value, in double.
 */
#include <string.h>

#include "base/ascii.h"
#include "base/error.h"
#include "net/ops/axes.h"
#include "net/ops/ops.h"

enum { MAX_LETTERS = 16, MAX_INPUTS = 8 };

typedef struct {
    size_t n_inputs, n_letters, n_out; /* letters of the result come first */
    size_t size[MAX_LETTERS];
    size_t stride[MAX_INPUTS][MAX_LETTERS]; /* 0: the input does not have it */
    size_t sums;                            /* products in one result */
} einsum;

/* Letters of the terms; ellipses become letters '0', '1' ... counted from the last axis. */
typedef struct {
    char letters[MAX_LETTERS];
    size_t n;
} term;

static void add_letter(sis__cx *c, term *t, char letter) {
    if (t->n == MAX_LETTERS)
        sis__cx_fail(c, SIS_E_UNSUPPORTED, "more than %d axes", (int)MAX_LETTERS);
    else
        t->letters[t->n++] = letter;
}

/* One term from *at on; an ellipsis stands for `hidden` axes. */
static void read_term(sis__cx *c, const char **at, size_t hidden, term *t) {
    t->n = 0;
    for (; **at && **at != ',' && strncmp(*at, "->", 2) != 0; (*at)++) {
        if (strncmp(*at, "...", 3) == 0) {
            for (size_t i = hidden; i-- > 0;)
                add_letter(c, t, (char)('0' + i));
            *at += 2;
        } else if (sis__is_alpha(**at)) {
            add_letter(c, t, **at);
        } else if (**at != ' ') {
            sis__cx_fail(c, SIS_E_FORMAT, "the equation has a '%c'", **at);
        }
    }
}

static size_t named_in(const char *at) {
    size_t n = 0;
    for (; *at && *at != ',' && strncmp(at, "->", 2) != 0; at++)
        n += sis__is_alpha(*at) != 0;
    return n;
}

static size_t letter_of(const term *all, char letter) {
    for (size_t i = 0; i < all->n; i++)
        if (all->letters[i] == letter)
            return i;
    return SIZE_MAX;
}

/* Without "->": letters that come once, in the order of the alphabet, ellipsis first. */
static void implied_result(sis__cx *c, const term *in, size_t n, size_t hidden, term *out) {
    size_t seen[256] = {0};
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < in[i].n; k++)
            seen[(unsigned char)in[i].letters[k]]++;
    out->n = 0;
    for (size_t i = hidden; i-- > 0;)
        add_letter(c, out, (char)('0' + i));
    for (int letter = 'A'; letter <= 'z'; letter++)
        if (seen[letter] == 1)
            add_letter(c, out, (char)letter);
}

/* Sizes and strides of one input's axes. */
static void place_input(sis__cx *c, einsum *p, const term *all, const term *in, size_t i) {
    const sis__tensor *x = sis__cx_input(c, i);
    size_t stride[SIS__MAX_RANK];
    if (x->rank != in->n || x->dtype != SIS__F32) {
        sis__cx_fail(c, SIS_E_FORMAT, "input %zu has %zu axes, the equation %zu", i, x->rank,
                     in->n);
        return;
    }
    sis__strides_of(x, stride);
    for (size_t d = 0; d < x->rank; d++) {
        size_t k = letter_of(all, in->letters[d]);
        if (x->dims[d] != 1 && p->size[k] != 1 && p->size[k] != x->dims[d])
            sis__cx_fail(c, SIS_E_FORMAT, "axis %c has two sizes", in->letters[d]);
        p->size[k] = x->dims[d] != 1 ? x->dims[d] : p->size[k];
        p->stride[i][k] += x->dims[d] != 1 ? stride[d] : 0;
    }
}

static int einsum_shape(sis__cx *c) {
    einsum *p = (einsum *)sis__cx_own(c, sizeof *p);
    char equation[256];
    term in[MAX_INPUTS], out = {0}, all = {0};
    size_t n = c->step->n_inputs, hidden = 0;
    sis__attr_text(c, "equation", "", equation, sizeof equation);
    const char *at = equation;
    if (n > MAX_INPUTS)
        sis__cx_fail(c, SIS_E_UNSUPPORTED, "%zu inputs", n);
    for (size_t i = 0; !c->error && i < n; i++) {
        size_t named = named_in(at), rank = sis__cx_input(c, i)->rank;
        hidden = rank > named && rank - named > hidden ? rank - named : hidden;
        read_term(c, &at, rank > named ? rank - named : 0, &in[i]);
        at += *at == ',';
    }
    const char *arrow = strstr(equation, "->");
    if (arrow) {
        at = arrow + 2;
        read_term(c, &at, hidden, &out);
    } else if (!c->error) {
        implied_result(c, in, n, hidden, &out);
    }
    if (c->error)
        return c->error;
    all = out;
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < in[i].n; k++)
            if (letter_of(&all, in[i].letters[k]) == SIZE_MAX)
                add_letter(c, &all, in[i].letters[k]);
    *p = (einsum){.n_inputs = n, .n_letters = all.n, .n_out = out.n, .sums = 1};
    for (size_t k = 0; k < all.n; k++)
        p->size[k] = 1;
    for (size_t i = 0; !c->error && i < n; i++)
        place_input(c, p, &all, &in[i], i);
    double results = 1;
    for (size_t k = 0; k < all.n; k++) {
        p->sums *= k < out.n ? 1 : p->size[k];
        results *= (double)p->size[k];
    }
    c->step->flops = results * (double)n;
    return sis__cx_output(c, 0, SIS__F32, out.n, p->size);
}

/* Offsets of all inputs for an index over letters first .. first + n. */
static void offsets_of(const einsum *p, size_t first, size_t n, size_t index, size_t *at) {
    for (size_t k = first + n; k-- > first;) {
        size_t i = index % p->size[k];
        index /= p->size[k];
        for (size_t j = 0; j < p->n_inputs; j++)
            at[j] += i * p->stride[j][k];
    }
}

static int einsum_forward(const sis__step *s, sis__run *r) {
    const einsum *p = (const einsum *)s->p.own;
    for (size_t o = 0, n = sis__tout(s, r, 0)->count; o < n; o++) {
        size_t base[MAX_INPUTS] = {0};
        double sum = 0;
        offsets_of(p, 0, p->n_out, o, base);
        for (size_t k = 0; k < p->sums; k++) {
            size_t at[MAX_INPUTS];
            double product = 1;
            memcpy(at, base, sizeof at);
            offsets_of(p, p->n_out, p->n_letters - p->n_out, k, at);
            for (size_t j = 0; j < p->n_inputs; j++)
                product *= (double)sis__in(s, r, j)[at[j]];
            sum += product;
        }
        sis__out(s, r, 0)[o] = (float)sum;
    }
    return SIS_OK;
}

/* d(product)/d(one factor) = the product of the others. */
static int einsum_backward(const sis__step *s, sis__run *r) {
    const einsum *p = (const einsum *)s->p.own;
    for (size_t o = 0, n = sis__tout(s, r, 0)->count; o < n; o++)
        for (size_t k = 0; k < p->sums; k++) {
            size_t at[MAX_INPUTS] = {0};
            offsets_of(p, 0, p->n_out, o, at);
            offsets_of(p, p->n_out, p->n_letters - p->n_out, k, at);
            for (size_t j = 0; j < p->n_inputs; j++) {
                double others = (double)sis__dout(s, r, 0)[o];
                for (size_t i = 0; i < p->n_inputs; i++)
                    others *= i == j ? 1.0 : (double)sis__in(s, r, i)[at[i]];
                if (sis__din(s, r, j))
                    sis__din(s, r, j)[at[j]] += (float)others;
            }
        }
    return SIS_OK;
}

const sis__op sis__op_einsum = {1, SIZE_MAX,  einsum_shape, einsum_forward, einsum_backward,
                                0, SIS__MIXES};
