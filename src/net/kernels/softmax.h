/* SPDX-License-Identifier: MIT
 *
 * The margin of a softmax output subtracts the logarithm of the sum of the other outputs'
 * exponentials. This kernel computes it in double, for a vector of rows at a time. Part of body.h,
 * which includes it once for each instruction set.
 */

INLINE wide pick_wide(wide_mask which, wide yes, wide no) {
    return (wide)(((wide_mask)yes & which) | ((wide_mask)no & ~which));
}

/* e^x for x <= 0, accurate to one or two units in the last place; 0 below -708. 2^n * polynomial,
 * as in exp_any(). */
INLINE wide exp_below(wide x) {
    static const double factors[] = {1.0 / 479001600,
                                     1.0 / 39916800,
                                     1.0 / 3628800,
                                     1.0 / 362880,
                                     1.0 / 40320,
                                     1.0 / 5040,
                                     1.0 / 720,
                                     1.0 / 120,
                                     1.0 / 24,
                                     1.0 / 6,
                                     0.5,
                                     1.0,
                                     1.0};
    const wide magic = all_wide(0x1.8p52); /* adding it rounds to an integer */
    wide_mask under = x < -708.0;
    wide shifted = x * 0x1.71547652b82fep0 + magic, n = shifted - magic;
    wide r = x - n * 0x1.62e42fefa3800p-1;
    r = r - n * 0x1.ef35793c76730p-45;
    wide p = all_wide(1.0 / 6227020800);
    UNROLL for (size_t i = 0; i < 13; i++) p = p * r + factors[i];
    wide_mask power = ((wide_mask)shifted - (wide_mask)magic + 1023) << 52;
    return pick_wide(under, all_wide(0), p * (wide)power);
}

/* Column j of up to WIDE rows; missing rows repeat the last one. */
INLINE wide column(const float *z, size_t rows, size_t n, size_t j) {
    wide v = {0};
    UNROLL for (size_t i = 0; i < WIDE; i++) v[i] = (double)z[(i < rows ? i : rows - 1) * n + j];
    return v;
}

static void log_rest(const float *z, size_t m, size_t n, size_t c, double *y, size_t step) {
    for (size_t from = 0; from < m; from += WIDE, z += WIDE * n) {
        size_t rows = m - from < WIDE ? m - from : WIDE;
        wide top = all_wide(-INFINITY), sum = {0};
        for (size_t j = 0; j < n; j++) {
            wide v = column(z, rows, n, j);
            if (j != c)
                top = pick_wide((v > top) | (v != v), v, top);
        }
        for (size_t j = 0; j < n; j++)
            if (j != c)
                sum += exp_below(column(z, rows, n, j) - top);
        for (size_t i = 0; i < rows; i++)
            y[(from + i) * step] = isinf(top[i]) ? top[i] : top[i] + log(sum[i]);
    }
}
