/* SPDX-License-Identifier: MIT
 *
 * Pooling of windows that lie inside a plane, one vector of windows at a time (strided.h). Part of
 * body.h, which includes it once for each instruction set.
 */

/* The maximum of each window, for one vector of windows that begin at x. */
INLINE vec largest_of_windows(const placed how, const sis__pooled *p, const float *x, ivec at,
                              size_t n) {
    vec top = all(-INFINITY);
    for (size_t i = 0; i < p->kernel[0]; i++)
        for (size_t j = 0; j < p->kernel[1]; j++) {
            const float *row = x + i * p->dilation[0] * p->slice + j * p->dilation[1] * p->line;
            for (size_t k = 0; k < p->kernel[2]; k++, row += p->dilation[2])
                top = larger_of(strided(how, row, p->stride[2], at, n), top);
        }
    return top;
}

INLINE vec average_of_windows(const placed how, const sis__pooled *p, const float *x, ivec at,
                              size_t n) {
    wide low = {0}, high = {0};
    for (size_t i = 0; i < p->kernel[0]; i++)
        for (size_t j = 0; j < p->kernel[1]; j++) {
            const float *row = x + i * p->dilation[0] * p->slice + j * p->dilation[1] * p->line;
            for (size_t k = 0; k < p->kernel[2]; k++, row += p->dilation[2]) {
                vec v = strided(how, row, p->stride[2], at, n);
                low += low_half(v);
                high += high_half(v);
            }
        }
    return joined(narrow(low / p->divisor), narrow(high / p->divisor));
}

INLINE void pool_by(const placed how, const int average, const sis__pooled *p) {
    const size_t some = together(how, p->stride[2]), last = p->out[2];
    const ivec at = distances(p->stride[2]);
    for (size_t z = 0; z < p->out[0]; z++)
        for (size_t y = 0; y < p->out[1]; y++) {
            const float *x = p->x + z * p->stride[0] * p->slice + y * p->stride[1] * p->line;
            float *to = p->y + z * p->y_slice + y * p->y_line;
            for (size_t o = 0; o < last; o += some) {
                size_t n = last - o < some ? last - o : some;
                const float *from = x + o * p->stride[2];
                vec v = average ? average_of_windows(how, p, from, at, n)
                                : largest_of_windows(how, p, from, at, n);
                store_some(to + o, v, n);
            }
        }
}

INLINE void pool_any(const int average, const sis__pooled *p) {
    placed how = how_placed(p->stride[2]);
    if (how == SIDE_BY_SIDE)
        pool_by(SIDE_BY_SIDE, average, p);
    else if (how == IN_TWO)
        pool_by(IN_TWO, average, p);
    else
        pool_by(APART, average, p);
}

static void pool_max(const sis__pooled *p) {
    pool_any(0, p);
}

static void pool_average(const sis__pooled *p) {
    pool_any(1, p);
}
