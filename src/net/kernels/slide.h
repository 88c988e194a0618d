/* SPDX-License-Identifier: MIT
 *
 * Kernels that slide over single planes: depthwise convolutions. Part of body.h, which includes it once
 * for each instruction set.
 *
 * A plane is copied with its padding; borders are zero from the beginning and stay so. Then every
 * line of results is a few vectors in registers, while rows and places of the kernel run. With a
 * stride along lines all results are computed and some of them kept: products cost less than
 * picking what they are made of. Several small planes are copied before the first is read: what has just been
 * written is slow to read in other pieces.
 */
enum { SLIDE = 4 }; /* vectors side by side */

/* What the kernel sees of a plane into the middle of its room. */
static void copy_inside(const sis__depthwise *p, const float *x, float *room) {
    size_t wide_line = p->line;
    size_t skip = p->pad[1] < 0 ? (size_t)-p->pad[1] : 0;
    size_t from = p->pad[1] > 0 ? (size_t)p->pad[1] : 0, n = p->in[1] - skip;
    n = wide_line < from ? 0 : n < wide_line - from ? n : wide_line - from;
    for (size_t i = 0; i < p->lines; i++) {
        ptrdiff_t y = (ptrdiff_t)i - p->pad[0];
        float *to = room + i * wide_line + from;
        const float *line = x + y * (ptrdiff_t)p->in[1] + skip;
        if (y < 0 || y >= (ptrdiff_t)p->in[0])
            continue;
        size_t k = 0;
        for (; k + LANES <= n; k += LANES)
            store(to + k, load(line + k));
        if (k < n)
            store_some(to + k, load_some(line + k, n - k), n - k);
    }
}

/* n <= vecs * LANES results from `at` on, one beside the other. vecs, and taps (places in a row of the
 * kernel) if they are few, are constants where this is inlined. */
INLINE void slide(const size_t vecs, const size_t taps, const sis__depthwise *p, const float *at,
                  const float *w, float start, float *y, size_t n) {
    size_t line = p->line * p->dilation[0], step = p->dilation[1];
    vec total[SLIDE] = {{0}}, s[SLIDE];
    for (size_t r = 0; r < p->kernel[0]; r++, at += line, w += taps) {
        UNROLL for (size_t v = 0; v < vecs; v++) s[v] = all(r ? 0.0f : start);
        UNROLL for (size_t t = 0; t < taps; t++) {
            vec x = all(w[t]);
            UNROLL for (size_t v = 0; v < vecs; v++) s[v] += x * load(at + t * step + v * LANES);
        }
        UNROLL for (size_t v = 0; v < vecs; v++) total[v] = r ? total[v] + s[v] : s[v];
    }
    UNROLL for (size_t v = 0; v < vecs; v++) {
        vec result = p->relu ? pick(total[v] < 0.0f, all(0.0f), total[v]) : total[v];
        if (v * LANES < n)
            store_some(y + v * LANES, result, n - v * LANES);
    }
}

static void slide_along(const sis__depthwise *p, const float *at, const float *w, float start,
                        size_t n, float *y) {
    size_t taps = p->kernel[1];
    for (size_t some; n; n -= some, at += some, y += some) {
        size_t vecs = n > 2 * LANES ? SLIDE : n > LANES ? 2 : 1;
        some = n < vecs * LANES ? n : vecs * LANES;
#define SLIDE_BY(v)                                                                                \
    if (vecs == (v) && taps == 3)                                                                  \
        slide(v, 3, p, at, w, start, y, some);                                                     \
    else if (vecs == (v))                                                                          \
        slide(v, taps, p, at, w, start, y, some);
        SLIDE_BY(1)
        SLIDE_BY(2)
        SLIDE_BY(SLIDE)
#undef SLIDE_BY
    }
}

static void slide_plane(const sis__depthwise *p, const float *room, const float *w, float start,
                        float *y) {
    size_t line = p->line, step = p->stride[1], n = (p->out[1] - 1) * step + 1;
    float *all_of_line = p->room + p->ahead * p->lines * line + SLIDE * LANES;
    for (size_t i = 0; i < p->out[0]; i++, y += p->out[1]) {
        slide_along(p, room + i * p->stride[0] * line, w, start, n, step > 1 ? all_of_line : y);
        for (size_t k = 0; step > 1 && k < p->out[1]; k++)
            y[k] = all_of_line[k * step];
    }
}

/* Plane i, which lies in `room`, with all filters of its channel. */
static void slide_filters(const sis__depthwise *p, const float *room, size_t i) {
    size_t kernel = p->kernel[0] * p->kernel[1], out = p->out[0] * p->out[1];
    for (size_t k = 0; k < p->times; k++) {
        size_t f = i % p->channels * p->times + k;
        slide_plane(p, room, p->w + f * kernel, p->start ? p->start[f] : 0.0f,
                    p->y + (i * p->times + k) * out);
    }
}

static void depthwise(const sis__depthwise *p) {
    size_t plane = p->lines * p->line;
    memset(p->room, 0, (p->ahead * plane + SLIDE * LANES) * sizeof *p->room);
    for (size_t i = 0, n; i < p->planes; i += n) {
        n = p->planes - i < p->ahead ? p->planes - i : p->ahead;
        for (size_t k = 0; k < n; k++)
            copy_inside(p, p->x + (i + k) * p->in[0] * p->in[1], p->room + k * plane);
        for (size_t k = 0; k < n; k++)
            slide_filters(p, p->room + k * plane, i + k);
    }
}
