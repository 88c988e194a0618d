/* SPDX-License-Identifier: MIT
 *
 * The transforms of Winograd's convolution F(2 x 2, 3 x 3); see net/ops/conv_tiles.c. Part of
 * body.h, which includes it once for each instruction set. There are only additions, so nothing is
 * contracted and all instruction sets give the same bits.
 */

/* The examples of one value; n <= LANES. */
INLINE vec load_lanes(const float *p, const int whole, size_t n) {
    return whole ? load(p) : load_some(p, n);
}

INLINE void store_lanes(float *p, vec v, const int whole, size_t n) {
    if (whole)
        store(p, v);
    else
        store_some(p, v, n);
}

/* Column x of a 4 x 4 part of the map, transformed along y. */
INLINE void tile_column(const sis__tiles *t, const float *map, size_t x, const int whole, vec *c) {
    vec d[4];
    UNROLL for (size_t i = 0; i < 4; i++) d[i] =
        load_lanes(map + i * t->line + x * t->lanes, whole, t->lanes);
    c[0] = d[0] - d[2];
    c[1] = d[1] + d[2];
    c[2] = d[2] - d[1];
    c[3] = d[1] - d[3];
}

INLINE void tiles_in_any(const sis__tiles *t, const int whole) {
    for (size_t k = 0; k < t->n; k++) {
        const float *map = t->map + k * t->plane;
        float *to = t->sums + k * t->row;
        vec c[4][4];
        tile_column(t, map, 0, whole, c[0]);
        tile_column(t, map, 1, whole, c[1]);
        for (size_t x = 0; x < t->count; x++, to += t->lanes) {
            tile_column(t, map, 2 * x + 2, whole, c[2]);
            tile_column(t, map, 2 * x + 3, whole, c[3]);
            UNROLL for (size_t i = 0; i < 4; i++) {
                store_lanes(to + (4 * i + 0) * t->step, c[0][i] - c[2][i], whole, t->lanes);
                store_lanes(to + (4 * i + 1) * t->step, c[1][i] + c[2][i], whole, t->lanes);
                store_lanes(to + (4 * i + 2) * t->step, c[2][i] - c[1][i], whole, t->lanes);
                store_lanes(to + (4 * i + 3) * t->step, c[1][i] - c[3][i], whole, t->lanes);
                c[0][i] = c[2][i];
                c[1][i] = c[3][i];
            }
        }
    }
}

static void tiles_in(const sis__tiles *t) {
    if (t->lanes == LANES)
        tiles_in_any(t, 1);
    else
        tiles_in_any(t, 0);
}

INLINE void tiles_out_any(const sis__tiles *t, const int whole) {
    for (size_t k = 0; k < t->n; k++) {
        const float *from = t->sums + k * t->row;
        const vec bias = all(t->bias ? t->bias[k] : 0.0f);
        for (size_t x = 0; x < t->count; x++, from += t->lanes) {
            float *to = t->map + k * t->plane + 2 * x * t->lanes;
            vec r[2][4];
            UNROLL for (size_t j = 0; j < 4; j++) {
                vec m[4];
                UNROLL for (size_t i = 0; i < 4; i++) m[i] =
                    load_lanes(from + (4 * i + j) * t->step, whole, t->lanes);
                r[0][j] = m[0] + m[1] + m[2];
                r[1][j] = m[1] - m[2] - m[3];
            }
            for (size_t i = 0; i < t->lines; i++, to += t->line) {
                vec left = r[i][0] + r[i][1] + r[i][2] + bias;
                vec right = r[i][1] - r[i][2] - r[i][3] + bias;
                store_lanes(to, t->relu ? relu_of(left) : left, whole, t->lanes);
                if (2 * x + 1 < t->cols)
                    store_lanes(to + t->lanes, t->relu ? relu_of(right) : right, whole, t->lanes);
            }
        }
    }
}

static void tiles_out(const sis__tiles *t) {
    if (t->lanes == LANES)
        tiles_out_any(t, 1);
    else
        tiles_out_any(t, 0);
}
