/* SPDX-License-Identifier: MIT
 *
 * Depthwise convolutions: kernels that slide over single planes. Part of body.h, which includes it
 * once for each instruction set.
 *
 * A plane is copied with its padding; the borders are set to zero once. Each line of results is a
 * few vectors in registers while the rows and columns of the kernel run. With a stride along lines,
 * all results are computed and some are kept, because products cost less than gathering their
 * operands. Several small planes are copied before the first one is read, because reading what has
 * just been written in pieces of another size is slow.
 */
enum { SLIDE = 4 }; /* vectors side by side */

/* Copy the part of a plane that the kernel sees between the borders in `room`. */
static void copy_inside(const sis__depthwise *p, const float *x, float *room) {
    const size_t wide_line = p->line, in = p->in[1];
    const size_t skip = p->pad[1] < 0 ? (size_t)-p->pad[1] : 0;
    const size_t from = p->pad[1] > 0 ? (size_t)p->pad[1] : 0;
    const ptrdiff_t above = p->pad[0], end = (ptrdiff_t)p->in[0] + above;
    const size_t first = above > 0 ? (size_t)above : 0, lines = p->lines;
    const size_t last = end < 0 ? 0 : (size_t)end < lines ? (size_t)end : lines;
    size_t n = in - skip;
    n = wide_line < from ? 0 : n < wide_line - from ? n : wide_line - from;
    float *to = room + first * wide_line + from;
    const float *line = x + ((ptrdiff_t)first - above) * (ptrdiff_t)in + skip;
    for (size_t i = first; i < last; i++, to += wide_line, line += in) {
        size_t k = 0;
        for (; k + LANES <= n; k += LANES)
            store(to + k, load(line + k));
        if (k < n)
            store_some(to + k, load_some(line + k, n - k), n - k);
    }
}

/* The even lanes of two vectors. */
INLINE vec every_second(vec low, vec high) {
#if VBYTES == 64
    return (vec)_mm512_permutex2var_ps((__m512)low, (__m512i)distances(2), (__m512)high);
#elif VBYTES == 32
    __m256 even = _mm256_shuffle_ps((__m256)low, (__m256)high, 0x88);
    return (vec)_mm256_permute4x64_pd((__m256d)even, 0xD8);
#else
    return (vec){low[0], low[2], high[0], high[2]};
#endif
}

/* Store n <= vecs * LANES results contiguously; with a stride of 2, every second one. */
INLINE void put_results(const size_t vecs, const sis__depthwise *p, vec *total, float *y,
                        size_t n) {
    if (p->relu) {
        UNROLL for (size_t v = 0; v < vecs; v++) total[v] =
            pick(total[v] < 0.0f, all(0.0f), total[v]);
    }
    if (p->stride[1] == 2) {
        UNROLL for (size_t v = 0; v < vecs; v += 2) if (v * LANES < n)
            store_some(y + v / 2 * LANES, every_second(total[v], total[v + 1 < vecs ? v + 1 : v]),
                       (n - v * LANES + 1) / 2);
    } else {
        UNROLL for (size_t v = 0; v < vecs; v++) if (v * LANES < n)
            store_some(y + v * LANES, total[v], n - v * LANES);
    }
}

/* n <= vecs * LANES results, from `at` on. vecs, and taps (columns of the kernel) if they are few,
 * are constants where this is inlined. */
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
    put_results(vecs, p, total, y, n);
}

static void slide_along(const sis__depthwise *p, const float *at, const float *w, float start,
                        size_t n, float *y) {
    size_t taps = p->kernel[1];
    for (size_t some; n; n -= some, at += some, y += p->stride[1] == 2 ? some / 2 : some) {
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

/* All lines in one go, including the useless results between two lines: vectors are full although
 * lines are short. */
static void slide_lines(const sis__depthwise *p, const float *room, const float *w, float start,
                        float *y) {
    size_t n = p->out[1];
    float *all_of_them = p->room + p->ahead * p->lines * p->line + SLIDE * LANES;
    slide_along(p, room, w, start, (p->out[0] - 1) * p->line + n, all_of_them);
    for (size_t i = 0; i < p->out[0]; i++, y += n, all_of_them += p->line)
        store_some(y, load_some(all_of_them, n), n);
}

/* Do lines need fewer vectors if they are joined? Not with a stride, which leaves results out. */
INLINE int lines_are_short(const sis__depthwise *p) {
    size_t together = (p->out[0] - 1) * p->line + p->out[1];
    return p->stride[0] == 1 && p->stride[1] == 1 && p->out[1] <= LANES &&
           together <= (p->out[0] - 1) * LANES;
}

/* ---- Three by three -------------------------------------------------------------------------- */

/* One row of the kernel over a line; x holds the values that each column of the kernel sees. */
INLINE vec roll_row(const float *w, const vec *x, float start) {
    vec s = all(start);
    s += w[0] * x[0];
    s += w[1] * x[1];
    s += w[2] * x[2];
    return s;
}

INLINE void see_line(const size_t vecs, const float *line, vec (*x)[3]) {
    UNROLL for (size_t v = 0; v < vecs; v++) {
        UNROLL for (size_t t = 0; t < 3; t++) x[v][t] = load(line + v * LANES + t);
    }
}

/* n columns of a plane from `at` on, line by line. While a line is in registers, its contribution
 * to three lines of results (stride 2: to one or two) is computed. */
INLINE void roll(const size_t vecs, const size_t step, const sis__depthwise *p, const float *at,
                 const float *w, float start, float *y, size_t n) {
    vec x[2][3], first[2], second[2], result[2];
    see_line(vecs, at, x);
    UNROLL for (size_t v = 0; v < vecs; v++) first[v] = second[v] = roll_row(w, x[v], start);
    if (step == 1) {
        see_line(vecs, at += p->line, x);
        UNROLL for (size_t v = 0; v < vecs; v++) {
            second[v] = first[v] + roll_row(w + 3, x[v], 0.0f);
            first[v] = roll_row(w, x[v], start);
        }
    }
    for (size_t i = 0; i < p->out[0]; i++, y += p->out[1]) {
        if (step == 2) {
            see_line(vecs, at += p->line, x);
            UNROLL for (size_t v = 0; v < vecs; v++) second[v] =
                first[v] + roll_row(w + 3, x[v], 0.0f);
        }
        see_line(vecs, at += p->line, x);
        UNROLL for (size_t v = 0; v < vecs; v++) {
            result[v] = second[v] + roll_row(w + 6, x[v], 0.0f);
            second[v] = first[v] + roll_row(w + 3, x[v], 0.0f);
            first[v] = roll_row(w, x[v], start);
        }
        put_results(vecs, p, result, y, n);
    }
}

/* Is the kernel 3 x 3 without dilation, with the same stride along both axes? */
INLINE int rolls(const sis__depthwise *p) {
    return p->kernel[0] == 3 && p->kernel[1] == 3 && p->dilation[0] == 1 && p->dilation[1] == 1 &&
           p->stride[0] == p->stride[1] && p->stride[0] <= 2;
}

static void roll_plane(const sis__depthwise *p, const float *room, const float *w, float start,
                       float *y) {
    size_t step = p->stride[1], n = (p->out[1] - 1) * step + 1;
    for (size_t k = 0; k < n; k += 2 * LANES) {
        size_t some = n - k < 2 * LANES ? n - k : 2 * LANES;
        if (step == 1 && some <= LANES)
            roll(1, 1, p, room + k, w, start, y + k, some);
        else if (step == 1)
            roll(2, 1, p, room + k, w, start, y + k, some);
        else if (some <= LANES)
            roll(1, 2, p, room + k, w, start, y + k / 2, some);
        else
            roll(2, 2, p, room + k, w, start, y + k / 2, some);
    }
}

/* ---- Planes ---------------------------------------------------------------------------------- */

static void slide_plane(const sis__depthwise *p, const float *room, const float *w, float start,
                        float *y) {
    size_t line = p->line, step = p->stride[1], n = (p->out[1] - 1) * step + 1;
    float *all_of_line = p->room + p->ahead * p->lines * line + SLIDE * LANES;
    if (lines_are_short(p)) {
        slide_lines(p, room, w, start, y);
        return;
    }
    if (rolls(p)) {
        roll_plane(p, room, w, start, y);
        return;
    }
    for (size_t i = 0; i < p->out[0]; i++, y += p->out[1]) {
        slide_along(p, room + i * p->stride[0] * line, w, start, n, step > 2 ? all_of_line : y);
        for (size_t k = 0; step > 2 && k < p->out[1]; k++)
            y[k] = all_of_line[k * step];
    }
}

/* Plane i, whose copy is in `room`, with all filters of its channel. */
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
