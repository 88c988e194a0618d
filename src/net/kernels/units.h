/* SPDX-License-Identifier: MIT
 *
 * Kernels for walks over dense layers: Relu units that switch on or off, and products of 16
 * columns. Part of body.h, which includes it once for each instruction set.
 */
static size_t switched(const float *a, const float *b, const int *on, size_t n, int *units,
                       float *sizes) {
    size_t count = 0;
    for (size_t j = 0; j < n; j += LANES) {
        vec v = load(a + j) + load(b + j);
        ivec was = (ivec)load((const float *)(const void *)(on + j));
        unsigned bits = lanes_of((v > 0.0f) ^ was);
        if (__builtin_expect(bits == 0, 1))
            continue;
        float size[LANES];
        store(size, magnitude(v));
        for (; bits; bits &= bits - 1) {
            size_t lane = (size_t)__builtin_ctz(bits);
            units[count] = (int)(j + lane);
            sizes[count++] = size[lane];
        }
    }
    return count;
}

static void patch(const sis__patch *p, float low, float *y, size_t n) {
    for (size_t j = 0; j < n; j += LANES) {
        vec v = load(p->a + j) + load(p->b + j);
        for (size_t k = 0; k < p->n_rows; k++)
            v += p->sizes[k] * load(p->rows + (size_t)p->units[k] * n + j);
        store(y + j, pick(v < low, all(low), v));
    }
}

/* A tile of 16 columns in registers. */
enum { QUARTERS = 16 / LANES, TALL = LANES == 4 && MR > 6 ? 6 : 3 * LANES / 4 };

/* Append the columns k0..k0+15 of x in which some row is not zero to `list`. */
INLINE size_t filled_columns(size_t rows, size_t n, const float *x, size_t k0, int *list) {
    size_t count = 0;
    for (size_t k = k0; k < k0 + 16; k += LANES) {
        vec max = load(x + k);
        for (size_t i = 1; i < rows; i++) {
            vec v = load(x + i * n + k);
            max = pick(v > max, v, max);
        }
        for (unsigned bits = lanes_of(max > 0.0f); bits; bits &= bits - 1)
            list[count++] = (int)k + __builtin_ctz(bits);
    }
    return count;
}

/* A tile, sixteen terms at a time; terms that are zero in all rows are skipped. */
INLINE void narrow_tile(const size_t rows, size_t n, const float *x, const float *w, float *y) {
    vec s[TALL][QUARTERS];
    UNROLL for (size_t i = 0; i < rows; i++) {
        UNROLL for (size_t q = 0; q < QUARTERS; q++) s[i][q] = load(y + i * 16 + q * LANES);
    }
    for (size_t k0 = 0; k0 < n; k0 += 16) {
        int list[16];
        size_t count = filled_columns(rows, n, x, k0, list);
        for (size_t c = 0; c < count; c++) {
            const float *at = x + list[c], *row = w + (size_t)list[c] * 16;
            UNROLL for (size_t i = 0; i < rows; i++) {
                UNROLL for (size_t q = 0; q < QUARTERS; q++) s[i][q] +=
                    at[i * n] * load(row + q * LANES);
            }
        }
    }
    UNROLL for (size_t i = 0; i < rows; i++) {
        UNROLL for (size_t q = 0; q < QUARTERS; q++) store(y + i * 16 + q * LANES, s[i][q]);
    }
}

static void narrow_product(size_t m, size_t n, const float *x, const float *w, float *y) {
    size_t i = 0;
    for (; i + TALL <= m; i += TALL)
        narrow_tile(TALL, n, x + i * n, w, y + i * 16);
    for (; i < m; i++)
        narrow_tile(1, n, x + i * n, w, y + i * 16);
}
