/* SPDX-License-Identifier: MIT
 *
 * See attack.h. Half of the tries are random completions: each changes a random fraction of the
 * free features to allowed values, often close to where the model changes. The other half descends
 * from the worst of these, one feature at a time. Then gradients are followed, if there are any:
 * from the worst row, from the example, and from random completions.
 */
#include "prove/attack.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"

enum { ROWS = 64, TRIES_A_SLOPE = 16 };

typedef struct {
    const sis__attack *a;
    size_t width, n_free;
    int *column;   /* (n_free) the free columns */
    double *rows;  /* (ROWS, width) */
    double *worst; /* (width) */
    double *margins;
    double margin; /* of `worst` */
    size_t evaluations;
    sis__rng r;
} search;

static int search_init(search *f, const unsigned char *kept) {
    const sis__oracle *o = f->a->o;
    f->width = o->width;
    f->column = SIS_NEW(int, o->width);
    f->rows = (double *)sis__alloc(ROWS, o->width * sizeof *f->rows);
    f->worst = (double *)sis__copy(o->row, o->width, sizeof *o->row);
    f->margins = (double *)sis__alloc(ROWS, f->a->model->n_outputs * sizeof *f->margins);
    if (!f->column || !f->rows || !f->worst || !f->margins)
        return SIS_E_NOMEM;
    for (size_t j = 0; j < o->width; j++) {
        int feature = sis__oracle_feature(o, j);
        if (feature >= 0 && !kept[feature] && !(o->fixed && o->fixed[feature]))
            f->column[f->n_free++] = (int)j;
    }
    sis__rng_init(&f->r, f->a->seed);
    return SIS_OK;
}

/* Score the first n rows, keep the worst. */
static int judge(search *f, size_t n) {
    const sis_model *m = f->a->model;
    int error = m->predict(m->ctx, f->rows, n, f->width, f->margins);
    f->evaluations += n;
    for (size_t i = 0; !error && i < n; i++) {
        double margin = f->margins[i * m->n_outputs + f->a->output];
        if (f->a->below ? margin > f->margin : margin < f->margin) {
            f->margin = margin;
            memcpy(f->worst, f->rows + i * f->width, f->width * sizeof *f->worst);
        }
    }
    return error;
}

static void complete(search *f, double *row) {
    size_t share = 1 + sis__rng_below(&f->r, 8); /* eighths of the free columns */
    memcpy(row, f->a->o->row, f->width * sizeof *row);
    for (size_t k = 0; k < f->n_free; k++)
        if (sis__rng_below(&f->r, 8) < share)
            row[f->column[k]] = f->a->o->draw(f->a->o, (size_t)f->column[k], &f->r);
    if (f->a->o->repair)
        f->a->o->repair(f->a->o, &f->r, row);
}

/* The worst row with another value of one column. */
static void change_one(search *f, double *row) {
    size_t k = sis__rng_below(&f->r, f->n_free);
    memcpy(row, f->worst, f->width * sizeof *row);
    row[f->column[k]] = f->a->o->draw(f->a->o, (size_t)f->column[k], &f->r);
    if (f->a->o->repair)
        f->a->o->repair(f->a->o, &f->r, row);
}

static int follow_slopes(search *f, const unsigned char *kept) {
    size_t steps = f->n_free && f->a->o->worsen ? f->a->tries / TRIES_A_SLOPE : 0;
    double *from = f->rows + f->width;
    int error = SIS_OK;
    for (size_t i = 0; !error && i < steps; i++) {
        if (i % 3 == 2)
            complete(f, from);
        else
            memcpy(from, i % 3 ? f->a->o->row : f->worst, f->width * sizeof *from);
        f->a->o->worsen(f->a->o, kept, from, i / 3, f->rows);
        error = judge(f, 1);
    }
    return error;
}

static int run(search *f, const unsigned char *kept) {
    memcpy(f->rows, f->a->o->row, f->width * sizeof *f->rows);
    f->margin = f->a->below ? -INFINITY : INFINITY;
    int error = judge(f, 1);
    for (size_t done = 0, n; !error && f->n_free && done < f->a->tries; done += n) {
        size_t left = f->a->tries - done, down = done >= f->a->tries / 2;
        n = down ? 8 : ROWS; /* descending needs small batches: each step builds on the last */
        n = n < left ? n : left;
        for (size_t i = 0; i < n; i++)
            (down ? change_one : complete)(f, f->rows + i * f->width);
        error = judge(f, n);
    }
    return error ? error : follow_slopes(f, kept);
}

int sis__attack_run(const sis__attack *a, const unsigned char *kept, double *margin, double *row,
                    size_t *evaluations) {
    search f = {.a = a};
    int error = search_init(&f, kept);
    if (!error)
        error = run(&f, kept);
    if (!error && isnan(f.margin))
        error = sis__fail(SIS_E_NAN, "the model returned NaN for output %zu", a->output);
    *margin = f.margin;
    if (!error && row)
        memcpy(row, f.worst, f.width * sizeof *row);
    if (evaluations)
        *evaluations += f.evaluations;
    free(f.column);
    free(f.rows);
    free(f.worst);
    free(f.margins);
    return error;
}
