/* SPDX-License-Identifier: MIT
 *
 * erf with an absolute error below 1e-7. Part of body.h, which includes it once for each
 * instruction set.
 */

#if VBYTES == 64
/* Polynomials around 0, 1/8 ... 31/8, interpolating at Chebyshev nodes (the first one erf(x) / x).
 * A vector looks up its coefficients in two registers. Above 3.81 the result is 1. */
static const float erf_factors[][2 * LANES] = {
    {0.0f,         0.140316203f, 0.276326388f, 0.404116899f, 0.520499885f, 0.623240888f,
     0.711155653f, 0.784075081f, 0.842700779f, 0.888388216f, 0.92290014f,  0.948170066f,
     0.966105163f, 0.978443742f, 0.986671686f, 0.99199003f,  0.995322287f, 0.997345984f,
     0.998537302f, 0.999217033f, 0.999593019f, 0.999794602f, 0.999899387f, 0.999952137f,
     0.999977887f, 0.999990106f, 0.999995708f, 0.999998212f, 0.999999285f, 0.999999702f,
     0.999999881f, 1.0f},
    {1.12837911f,     1.11088479f,     1.06001377f,     0.980352581f,
     0.87878257f,     0.763499677f,    0.642931342f,    0.524745345f,
     0.415107816f,    0.31827426f,     0.236521348f,    0.170359924f,
     0.118930362f,    0.0804722682f,   0.0527749658f,   0.0335457735f,
     0.0206669234f,   0.0123407608f,   0.00714226812f,  0.00400643796f,
     0.002178255f,    0.00114785496f,  0.000586264068f, 0.000290220109f,
     0.000139248194f, 6.47559282e-05f, 2.91875258e-05f, 1.27509575e-05f,
     5.39903385e-06f, 2.21573077e-06f, 8.81344192e-07f, 0.0f},
    {6.86988233e-06f,  -0.138860554f,    -0.265003353f,    -0.367632061f,
     -0.439391047f,    -0.477187008f,    -0.482198179f,    -0.459151864f,
     -0.415107518f,    -0.358058274f,    -0.295651495f,    -0.234244794f,
     -0.178395525f,    -0.130767494f,    -0.0923562869f,   -0.0628984496f,
     -0.0413339734f,   -0.0262242351f,   -0.0160702039f,   -0.00951537024f,
     -0.00544569734f,  -0.00301316148f,  -0.00161225453f,  -0.000834400882f,
     -0.000417755626f, -0.000202368727f, -9.48630768e-05f, -4.30364271e-05f,
     -1.88976228e-05f, -8.03252169e-06f, -3.3052786e-06f,  0.0f},
    {-0.376676142f,   -0.358215123f,   -0.308780223f,   -0.234654248f,
     -0.1464279f,     -0.0558054298f,  0.0265291724f,   0.0925957561f,
     0.138031647f,    0.16215308f,     0.167305484f,    0.157788232f,
     0.138679326f,    0.114830077f,    0.0901895165f,   0.0674969703f,
     0.0482868142f,   0.033098381f,    0.0217765812f,   0.013771343f,
     0.00837996975f,  0.00491103437f,  0.00277385721f,  0.00151091162f,
     0.000794071704f, 0.000402842066f, 0.000197345173f, 9.33845804e-05f,
     4.26975785e-05f, 1.88676695e-05f, 8.05962918e-06f, 0.0f},
    {0.0140834413f,    0.0685965419f,    0.126783133f,     0.166338935f,
     0.182835549f,     0.176258102f,     0.150555804f,     0.112345904f,
     0.0692070127f,    0.0280490462f,    -0.00605550269f,  -0.0303924829f,
     -0.0445045382f,   -0.0496484898f,   -0.0480584316f,   -0.0422398075f,
     -0.0344427042f,   -0.0263696965f,   -0.0190975461f,   -0.0131484075f,
     -0.00863603503f,  -0.00542526413f,  -0.00326620787f,  -0.00188732939f,
     -0.00104800414f,  -0.000559784647f, -0.000287857663f, -0.000142603953f,
     -6.80980738e-05f, -3.13619894e-05f, -1.3935557e-05f,  0.0f}};

INLINE vec erf_factor(size_t k, ivec which) {
    return (vec)_mm512_permutex2var_ps((__m512)load(erf_factors[k]), (__m512i)which,
                                       (__m512)load(erf_factors[k] + LANES));
}

/* count <= AT_ONCE is a constant where this is inlined. */
INLINE void erf_at_once(const size_t count, vec *x) {
    const vec magic = all(12582912.0f);
    vec t[AT_ONCE], near[AT_ONCE], p[AT_ONCE];
    UNROLL for (size_t i = 0; i < count; i++) t[i] =
        (vec)_mm512_min_ps((__m512)all(3.9374f), (__m512)magnitude(x[i])); /* NaN stays NaN */
    UNROLL for (size_t i = 0; i < count; i++) near[i] = t[i] * 8.0f + magic;
    UNROLL for (size_t i = 0; i < count; i++) t[i] = t[i] - (near[i] - magic) * 0.125f;
    UNROLL for (size_t i = 0; i < count; i++) p[i] = erf_factor(4, (ivec)near[i]);
    UNROLL for (size_t k = 4; k-- > 0;) UNROLL for (size_t i = 0; i < count; i++) p[i] =
        p[i] * t[i] + erf_factor(k, (ivec)near[i]);
    UNROLL for (size_t i = 0; i < count; i++) x[i] =
        (vec)((ivec)p[i] | ((ivec)x[i] & (int)0x80000000));
}
#else
/* x + x * polynomial(x^2) below 1, else 1 - 2^polynomial. The degrees are the smallest for which
 * rounding dominates the error. count <= AT_ONCE is a constant where this is inlined. */
INLINE void erf_at_once(const size_t count, vec *x) {
    static const float low[] = {-8.01020826e-4f, 5.18832961e-3f,  -2.68538129e-2f,
                                1.12835854e-1f,  -3.76126260e-1f, 1.28379166e-1f};
    static const float high[] = {-4.24095709e-3f, 3.14584263e-2f, -1.48651496e-1f,
                                 -9.20765042e-1f, -1.62597501f,   -5.10309357e-4f};
    vec near[AT_ONCE], e[AT_ONCE], t[AT_ONCE];
    UNROLL for (size_t i = 0; i < count; i++) t[i] = within(magnitude(x[i]), all(0.0f), all(4.0f));
    UNROLL for (size_t i = 0; i < count; i++) e[i] = all(2.67726689e-4f);
    polynomials(count, sizeof high / sizeof *high, high, t, e);
    power_of_two(count, e);
    UNROLL for (size_t i = 0; i < count; i++) t[i] = x[i] * x[i];
    UNROLL for (size_t i = 0; i < count; i++) near[i] = all(7.85390657e-5f);
    polynomials(count, sizeof low / sizeof *low, low, t, near);
    UNROLL for (size_t i = 0; i < count; i++) near[i] = near[i] * x[i] + x[i];
    UNROLL for (size_t i = 0; i < count; i++) {
        vec far = (vec)((ivec)(1.0f - e[i]) | ((ivec)x[i] & (int)0x80000000));
        x[i] = pick(magnitude(x[i]) >= 1.0f, far, near[i]); /* near also for NaN */
    }
}
#endif
