/* SPDX-License-Identifier: MIT
 *
 * Byte-pair encoding of one piece: repeatedly merges the adjacent pair of lowest rank, leftmost
 * first. Pairs are in a heap and tokens in a linked list, so that one piece of a million bytes
 * takes no longer than a million short pieces.
 */
#include <stdlib.h>

#include "base/mem.h"
#include "data/tokenizer.h"

int sis__bpe_by_pair(const void *a, const void *b) {
    uint64_t x = ((const sis__merge *)a)->pair, y = ((const sis__merge *)b)->pair;
    return (x > y) - (x < y);
}

/* A pair that may be merged: the left token, and both ids when it was found. */
typedef struct {
    uint32_t rank, result;
    size_t left;
    int32_t first, second;
} candidate;

typedef struct {
    const sis__bpe *b;
    int32_t *ids;
    size_t *next, *before; /* SIZE_MAX: none */
    candidate *heap;
    size_t n;
} joining;

static int comes_first(const candidate *a, const candidate *b) {
    return a->rank != b->rank ? a->rank < b->rank : a->left < b->left;
}

static void push(joining *j, candidate c) {
    size_t at = j->n++;
    for (; at > 0 && comes_first(&c, &j->heap[(at - 1) / 2]); at = (at - 1) / 2)
        j->heap[at] = j->heap[(at - 1) / 2];
    j->heap[at] = c;
}

static candidate pop(joining *j) {
    candidate top = j->heap[0], last = j->heap[--j->n];
    size_t at = 0;
    for (size_t child; (child = 2 * at + 1) < j->n; at = child) {
        if (child + 1 < j->n && comes_first(&j->heap[child + 1], &j->heap[child]))
            child++;
        if (!comes_first(&j->heap[child], &last))
            break;
        j->heap[at] = j->heap[child];
    }
    j->heap[at] = last;
    return top;
}

/* Add the token at `left` and its successor to the heap, if they may be merged. */
static void consider(joining *j, size_t left) {
    size_t right = left == SIZE_MAX ? SIZE_MAX : j->next[left];
    if (right == SIZE_MAX)
        return;
    sis__merge key = {.pair = (uint64_t)(uint32_t)j->ids[left] << 32 | (uint32_t)j->ids[right]};
    const sis__merge *m = j->b->n ? (const sis__merge *)bsearch(&key, j->b->merges, j->b->n,
                                                                sizeof key, sis__bpe_by_pair)
                                  : NULL;
    if (m)
        push(j, (candidate){m->rank, m->result, left, j->ids[left], j->ids[right]});
}

/* Merge a pair; the merged token's second place becomes -1. */
static void join(joining *j, const candidate *c, size_t *bytes) {
    size_t right = j->next[c->left], after = right == SIZE_MAX ? SIZE_MAX : j->next[right];
    if (j->ids[c->left] != c->first || right == SIZE_MAX || j->ids[right] != c->second)
        return; /* one of them has been merged already */
    j->ids[c->left] = (int32_t)c->result;
    bytes[c->left] += bytes[right];
    j->ids[right] = -1;
    j->next[c->left] = after;
    if (after != SIZE_MAX)
        j->before[after] = c->left;
    consider(j, j->before[c->left]);
    consider(j, c->left);
}

long sis__bpe_join(const sis__bpe *b, int32_t *ids, size_t *bytes, size_t n) {
    size_t left = 0;
    joining j = {.b = b,
                 .ids = ids,
                 .next = SIS_NEW_RAW(size_t, n),
                 .before = SIS_NEW_RAW(size_t, n),
                 .heap = (candidate *)sis__alloc_raw(n, 3 * sizeof(candidate))};
    int ready = j.next && j.before && j.heap;
    for (size_t i = 0; ready && i < n; i++) {
        j.next[i] = i + 1 < n ? i + 1 : SIZE_MAX;
        j.before[i] = i ? i - 1 : SIZE_MAX;
    }
    for (size_t i = 0; ready && i < n; i++)
        consider(&j, i);
    while (ready && j.n > 0) {
        candidate c = pop(&j);
        join(&j, &c, bytes);
    }
    for (size_t i = 0; ready && i < n; i++)
        if (ids[i] >= 0) {
            ids[left] = ids[i];
            bytes[left++] = bytes[i];
        }
    free(j.next);
    free(j.before);
    free(j.heap);
    return ready ? (long)left : -1;
}
