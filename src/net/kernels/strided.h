/* SPDX-License-Identifier: MIT
 *
 * Load values that are a stride apart, as neighbouring windows need them. For small strides, two
 * vectors are loaded and the values picked from them; for large strides, the values are gathered.
 * Part of body.h, which includes it once for each instruction set.
 */
typedef enum { SIDE_BY_SIDE, IN_TWO, APART } placed;

static placed how_placed(size_t stride) {
    return stride == 1 ? SIDE_BY_SIDE : VBYTES >= 32 && stride <= LANES / 2 ? IN_TWO : APART;
}

/* Number of values that are loaded together. */
INLINE size_t together(const placed how, size_t stride) {
    return how == IN_TWO ? 2 * LANES / stride : LANES;
}

/* Offset of each lane's value from the first. */
INLINE ivec distances(size_t stride) {
    typedef unsigned lanes __attribute__((vector_size(VBYTES)));
    static const unsigned numbers[16] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
    lanes at;
    memcpy(&at, numbers, sizeof at);
    return (ivec)(at * (unsigned)stride);
}

/* n values that lie `stride` apart; how is a constant where this is inlined. */
INLINE vec strided(const placed how, const float *x, size_t stride, ivec at, size_t n) {
    (void)stride;
    (void)at;
    if (how == SIDE_BY_SIDE)
        return load_some(x, n);
#if VBYTES >= 32
    if (how == IN_TWO) {
        size_t seen = (n - 1) * stride + 1;
        vec low = load_some(x, seen);
        vec high = seen > LANES ? load_some(x + LANES, seen - LANES) : low;
#if VBYTES == 64
        return (vec)_mm512_permutex2var_ps((__m512)low, (__m512i)at, (__m512)high);
#else
        return pick(at >= LANES, (vec)_mm256_permutevar8x32_ps((__m256)high, (__m256i)at),
                    (vec)_mm256_permutevar8x32_ps((__m256)low, (__m256i)at));
#endif
    }
#endif
#if VBYTES == 64
    return (vec)_mm512_mask_i32gather_ps(_mm512_setzero_ps(), lanes_below(n), (__m512i)at, x, 4);
#else
    float v[LANES] = {0};
    if (n >= LANES) {
        UNROLL for (size_t i = 0; i < LANES; i++) v[i] = x[i * stride];
        return load(v);
    }
    for (size_t i = 0; i < n; i++)
        v[i] = x[i * stride];
    return load(v);
#endif
}
