/* SPDX-License-Identifier: MIT
 *
 * Plots of extreme numbers, order statistics, and motifs. tests/report/golden has the expected
 * drawings.
 */
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "report/figures.h"
#include "report/plot.h"
#include "support.h"

/* ---- Statistics ------------------------------------------------------------------------------ */

static void quantiles_lie_between_their_neighbours(void **state) {
    (void)state;
    sis__numbers v = {0};
    assert_true(isnan(sis__numbers_quantile(&v, 0.5)));
    for (int i = 5; i > 0; i--)
        assert_int_equal(sis__numbers_add(&v, i), 0);
    sis__numbers_sort(&v);
    assert_true(sis__numbers_quantile(&v, 0) == 1 && sis__numbers_quantile(&v, 1) == 5);
    assert_true(sis__numbers_quantile(&v, 0.5) == 3 && sis__numbers_quantile(&v, 0.25) == 2);
    assert_true(fabs(sis__numbers_quantile(&v, 0.1) - 1.4) < 1e-12);
    sis__numbers_release(&v);
}

static void steps_are_round(void **state) {
    (void)state;
    assert_true(fabs(sis__round_step(0.0123) - 0.02) < 1e-15);
    assert_true(sis__round_step(1) == 1 && sis__round_step(3) == 5 && sis__round_step(70) == 100);
}

static void axes_hold_what_they_are_made_for(void **state) {
    (void)state;
    sis__rng rng;
    sis__rng_init(&rng, 3);
    for (int i = 0; i < 2000; i++) {
        double low = (sis__rng_uniform(&rng) - 0.5) * pow(10, (double)sis__rng_below(&rng, 12) - 4);
        double high = low + sis__rng_uniform(&rng) * pow(10, (double)sis__rng_below(&rng, 8) - 3);
        sis__plot_axis a = sis__plot_axis_fit("", low, high, 6, i % 2);
        double slack = 1e-6 * (a.high - a.low);
        assert_true(a.low <= low + slack && a.high >= high - slack && a.high > a.low);
        assert_true(a.step > 0 && (a.high - a.low) / a.step < 40);
    }
}

/* ---- Plots ----------------------------------------------------------------------------------- */

typedef int (*plotter)(sis__pen *p, const sis__plot *a);
static const plotter PLOTTERS[] = {sis__plot_histogram, sis__plot_boxes, sis__plot_scatter,
                                   sis__plot_lines, sis__plot_bars};

typedef struct {
    sis__plot plot;
    plotter draw;
    int format; /* -1: for the page */
} drawing;

static int draw(void *ctx) {
    drawing *d = (drawing *)ctx;
    sis__pen *pen;
    sis__buf out;
    int code = d->format <= SIS_FIGURE_SVG
                   ? sis__pen_svg(400, 300, "t", d->format < 0, &pen)
                   : sis__pen_cairo(400, 300, (sis_figure_format)d->format, &pen);
    if (code != SIS_OK)
        return code;
    sis__buf_init(&out);
    int drawn = d->draw(pen, &d->plot);
    code = sis__pen_finish(pen, &out);
    if (code == SIS_OK && drawn == SIS_OK) {
        assert_true(out.len > 200);
        if (d->format <= SIS_FIGURE_SVG)
            assert_true(!strstr(out.data, "nan") && !strstr(out.data, "inf"));
    }
    sis__buf_release(&out);
    return drawn != SIS_OK ? drawn : code;
}

/* One or two series of the numbers, as x and as y. */
static void fill(sis__plot *a, sis__series series[2], const double *v, size_t n) {
    for (int k = 0; k < 2; k++) {
        series[k] = (sis__series){.name = k ? "second <&> \xC3\xA9" : "first"};
        for (size_t i = 0; i < n; i++)
            assert_true(sis__numbers_add(&series[k].x, v[i]) == 0 &&
                        sis__numbers_add(&series[k].y, v[n - 1 - i]) == 0);
    }
    *a = (sis__plot){.x_label = "x (unit)", .y_label = "y", .n = 2, .series = series, .to = 100};
}

static void release(sis__series series[2]) {
    for (int k = 0; k < 2; k++) {
        sis__numbers_release(&series[k].x);
        sis__numbers_release(&series[k].y);
    }
}

static void no_numbers_break_a_plot(void **state) {
    (void)state;
    static const struct {
        double v[6];
        size_t n;
    } cases[] = {{{0}, 0},
                 {{3}, 1},
                 {{2, 2, 2, 2, 2, 2}, 6},
                 {{0, 1, 2, 3, 4, 5}, 6},
                 {{-DBL_MAX, DBL_MAX, 0, 1}, 4},
                 {{DBL_MAX, DBL_MAX}, 2},
                 {{5e-324, 1e-323, 0}, 3},
                 {{1e15, 1e15 + 1, 1e15 + 2}, 3},
                 {{-1e-9, 1e9, 7, 7, 7, 7}, 6}};
    static const sis__mark mark = {.at = 0.5, .text = "threshold"};
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++)
        for (size_t p = 0; p < sizeof PLOTTERS / sizeof *PLOTTERS; p++)
            for (int variant = 0; variant < 12; variant++) {
                sis__series series[2];
                drawing d = {.draw = PLOTTERS[p], .format = variant % 4 - 1};
                fill(&d.plot, series, cases[c].v, cases[c].n);
                d.plot.whole = variant % 2;
                d.plot.violin = variant % 3 == 0;
                d.plot.n = variant < 6 ? 1 : 2;
                d.plot.marks = &mark;
                d.plot.n_marks = variant % 2 ? 1 : 0;
                assert_int_equal(draw(&d), SIS_OK);
                release(series);
            }
}

/* Ten thousand points are drawn as a density, even if all are at one position. */
static void crowds_are_drawn_as_density(void **state) {
    (void)state;
    sis__rng rng;
    sis__rng_init(&rng, 1);
    for (int spread = 0; spread < 2; spread++) {
        sis__series s = {.name = "crowd"};
        sis__pen *pen;
        sis__buf out;
        for (int i = 0; i < 10000; i++)
            assert_true(sis__numbers_add(&s.x, spread * sis__rng_normal(&rng)) == 0 &&
                        sis__numbers_add(&s.y, spread * sis__rng_normal(&rng)) == 0);
        sis__plot plot = {.x_label = "x", .y_label = "y", .n = 1, .series = &s};
        assert_int_equal(sis__pen_svg(400, 300, "t", 0, &pen), SIS_OK);
        assert_int_equal(sis__plot_scatter(pen, &plot), SIS_OK);
        sis__buf_init(&out);
        assert_int_equal(sis__pen_finish(pen, &out), SIS_OK);
        assert_true(out.len < 150000 && (!spread || strstr(out.data, "fill-opacity")));
        assert_null(strstr(out.data, "nan"));
        sis__buf_release(&out);
        sis__numbers_release(&s.x);
        sis__numbers_release(&s.y);
    }
}

static void failing_allocations_are_reported(void **state) {
    (void)state;
    static const double v[] = {1, 2, 3, 4, 5, 9};
    for (size_t p = 0; p < sizeof PLOTTERS / sizeof *PLOTTERS; p++)
        for (int format = -1; format <= SIS_FIGURE_PDF; format++) {
            sis__series series[2];
            drawing d = {.draw = PLOTTERS[p], .format = format};
            fill(&d.plot, series, v, 6);
            assert_true(with_failing_allocations(draw, &d) > 1);
            release(series);
        }
}

/* ---- Ranges ---------------------------------------------------------------------------------- */

static void far_values_do_not_stretch_a_range(void **state) {
    (void)state;
    double near[] = {0, 1, 2, 3, 4}, far[] = {0, 1, 2, 3, 4, 5, 6, 7, 1000}, equal[] = {0, 0, 0, 0, 9};
    double low, high;
    sis__numbers_range(&(sis__numbers){near, 5, 5}, &low, &high);
    assert_true(low == 0 && high == 4);
    sis__numbers_range(&(sis__numbers){far, 9, 9}, &low, &high); /* the middle half is 2 to 6 */
    assert_true(low == 0 && high == 18);
    sis__numbers_range(&(sis__numbers){equal, 5, 5}, &low, &high);
    assert_true(low == 0 && high == 9);
}

/* ---- Names ----------------------------------------------------------------------------------- */

static void texts_are_cut_to_a_width(void **state) {
    (void)state;
    char text[32] = "short", wide[32] = "caf\xC3\xA9\xC3\xA9\xC3\xA9\xC3\xA9\xC3\xA9",
         full[8] = "wwwwwww";
    sis__text_fit(text, sizeof text, 10, 100);
    assert_string_equal(text, "short");
    sis__text_fit(wide, sizeof wide, 10, 40);
    assert_string_equal(wide, "caf\xC3\xA9\xC3\xA9\xE2\x80\xA6");
    sis__text_fit(full, sizeof full, 10, 54); /* the ellipsis replaces other bytes */
    assert_string_equal(full, "wwww\xE2\x80\xA6");
    sis__text_fit(text, sizeof text, 10, 1);
    assert_string_equal(text, "\xE2\x80\xA6");
}

/* The SVG of bars with these names. */
static void bars_of(const char *const *names, size_t n, sis__buf *out) {
    sis__series s = {.name = "bars"};
    sis__pen *pen;
    for (size_t i = 0; i < n; i++)
        assert_int_equal(sis__numbers_add(&s.x, 1), 0);
    sis__plot plot = {
        .x_label = "x", .y_label = "y", .n = 1, .series = &s, .n_bars = n, .bar_names = names};
    assert_int_equal(sis__pen_svg(480, 300, "t", 0, &pen), SIS_OK);
    assert_int_equal(sis__plot_bars(pen, &plot), SIS_OK);
    sis__buf_init(out);
    assert_int_equal(sis__pen_finish(pen, out), SIS_OK);
    sis__numbers_release(&s.x);
}

static void names_that_are_too_long_take_two_lines(void **state) {
    (void)state;
    static const char *const names[] = {"the same", "differently", "only fashion-convolutional",
                                        "only averyveryverylongname", "neither"};
    sis__buf out;
    bars_of(names, 5, &out);
    assert_non_null(strstr(out.data, ">the same<"));
    assert_non_null(strstr(out.data, ">only fashion-<"));
    assert_non_null(strstr(out.data, ">convolutional<"));
    assert_non_null(strstr(out.data, ">only<"));
    assert_non_null(strstr(out.data, ">averyveryver"));
    assert_non_null(strstr(out.data, "\xE2\x80\xA6<"));
    assert_null(strstr(out.data, "longname"));
    sis__buf_release(&out);
    bars_of(names, 2, &out);
    assert_non_null(strstr(out.data, ">differently<"));
    sis__buf_release(&out);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(quantiles_lie_between_their_neighbours),
        cmocka_unit_test(steps_are_round),
        cmocka_unit_test(axes_hold_what_they_are_made_for),
        cmocka_unit_test(no_numbers_break_a_plot),
        cmocka_unit_test(crowds_are_drawn_as_density),
        cmocka_unit_test(failing_allocations_are_reported),
        cmocka_unit_test(far_values_do_not_stretch_a_range),
        cmocka_unit_test(texts_are_cut_to_a_width),
        cmocka_unit_test(names_that_are_too_long_take_two_lines),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
