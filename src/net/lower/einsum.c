/* SPDX-License-Identifier: MIT
 *
 * Lower Einsum, such as "bhid,bhjd->bhij", to one MatMul between Transposes. A letter of the
 * equation is
 *
 *     shared   in both terms and in the result: leading axes of both factors
 *     left     in the first term and the result      right   in the second and the result
 *     summed   in both terms, not in the result
 *
 * MatMul takes (shared, left, summed) and (shared, summed, right): one letter summed, one left and
 * one right. If nothing is shared, further letters of one side are leading axes that the other side
 * repeats. An equation of one term that permutes axes is a Transpose. Everything else (ellipsis,
 * diagonals, products of three) is left to ONNX Runtime.
 */
#include <string.h>

#include "base/ascii.h"
#include "net/lower/operators.h"
#include "net/onnx/proto.h"

enum { MAX_LETTERS = 8 };

typedef struct {
    char letters[MAX_LETTERS + 1];
    size_t n;
} term;

static int has(const term *t, char letter) {
    return memchr(t->letters, letter, t->n) != NULL;
}

static int add(term *t, char letter) {
    if (t->n == MAX_LETTERS || has(t, letter))
        return 0;
    t->letters[t->n++] = letter;
    return 1;
}

static void join(term *t, const term *more, size_t from, size_t to) {
    for (size_t i = from; i < to; i++)
        add(t, more->letters[i]);
}

/* Split "ab,bc->ac" into terms and result. Returns the number of terms, 0: not supported. */
static size_t read_equation(const char *at, size_t n, term *in, term *out) {
    size_t terms = 0;
    term *t = &in[0];
    for (size_t i = 0; i < n; i++)
        if (at[i] == ',' && t != out && terms == 0)
            t = &in[++terms];
        else if (at[i] == '-' && i + 1 < n && at[i + 1] == '>' && t != out)
            t = out, i++;
        else if (at[i] != ' ' && (!sis__is_alpha(at[i]) || !add(t, at[i])))
            return 0;
    return t == out ? terms + 1 : 0;
}

/* Transpose a value from one order of letters to another. */
static void turn(sis__lowering *k, const char *from, const term *is, const term *wanted,
                 const char *to) {
    char perm[4 * MAX_LETTERS] = "";
    for (size_t i = 0; i < wanted->n; i++) {
        const char *at = (const char *)memchr(is->letters, wanted->letters[i], is->n);
        char digit[3] = {' ', (char)('0' + (at - is->letters)), '\0'};
        strcat(perm, i ? digit : digit + 1);
    }
    sis__lower_step(k, "Transpose %s > %s {perm=[%s]}", from, to, perm);
}

static int same(const term *a, const term *b) {
    return a->n == b->n && memcmp(a->letters, b->letters, a->n) == 0;
}

static void lower_product(sis__lowering *k, const term *in, const term *out) {
    term shared = {0}, left = {0}, right = {0}, summed = {0}, a = {0}, b = {0}, y = {0};
    int fits = 1;
    for (size_t i = 0; i < in[0].n; i++) {
        char letter = in[0].letters[i];
        int other = has(&in[1], letter), kept = has(out, letter);
        fits &= other || kept;
        add(other && kept ? &shared : other ? &summed : &left, letter);
    }
    for (size_t i = 0; i < in[1].n; i++)
        if (!has(&in[0], in[1].letters[i]))
            fits &= add(&right, in[1].letters[i]) && has(out, in[1].letters[i]);
    fits &= summed.n == 1 && left.n > 0 && right.n > 0 && (left.n == 1 || right.n == 1) &&
            (shared.n == 0 || left.n + right.n == 2);
    if (!fits || out->n != shared.n + left.n + right.n) {
        k->refused = "that is no MatMul";
        return;
    }
    size_t l = left.n - 1, r = right.n - 1; /* leading axes of one side */
    join(&a, &shared, 0, shared.n);
    join(&a, &left, 0, left.n);
    join(&a, &summed, 0, 1);
    join(&b, &shared, 0, shared.n);
    join(&b, &right, 0, r);
    join(&b, &summed, 0, 1);
    join(&b, &right, r, right.n);
    join(&y, &shared, 0, shared.n);
    join(&y, &left, 0, l);
    join(&y, &right, 0, r);
    join(&y, &left, l, left.n);
    join(&y, &right, r, right.n);
    if (!same(&a, &in[0]))
        turn(k, "0", &in[0], &a, "first");
    if (!same(&b, &in[1]))
        turn(k, "1", &in[1], &b, "second");
    sis__lower_step(k, "MatMul %s %s > %s", same(&a, &in[0]) ? "0" : "first",
                    same(&b, &in[1]) ? "1" : "second", same(&y, out) ? "y" : "product");
    if (!same(&y, out))
        turn(k, "product", &y, out, "y");
}

void sis__lower_einsum(sis__lowering *k) {
    const Sis__Onnx__Attribute *a = sis__lower_attribute(k, "equation");
    term in[2] = {0}, out = {0};
    size_t terms = a ? read_equation((const char *)a->s.data, a->s.len, in, &out) : 0;
    int known = 1;
    for (size_t i = 0; i < out.n; i++)
        known &= has(&in[0], out.letters[i]) || has(&in[1], out.letters[i]);
    if (terms == 1 && known && out.n == in[0].n)
        turn(k, "0", &in[0], &out, "y");
    else if (terms == 2 && known)
        lower_product(k, in, &out);
    else
        k->refused = "that is no MatMul";
}
