/* SPDX-License-Identifier: MIT
 *
 * See support_kernels.h.
 */
#include "support_kernels.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

/* b is packed in panels of one column: it is simply b transposed, (n, k). */
static void naive_gemm(size_t m, size_t n, size_t k, const float *a, size_t a_row, size_t a_col,
                       const float *b, float *c, size_t ldc) {
    for (size_t i = 0; i < m; i++)
        for (size_t j = 0; j < n; j++)
            for (size_t p = 0; p < k; p++)
                c[i * ldc + j] = fmaf(a[i * a_row + p * a_col], b[j * k + p], c[i * ldc + j]);
}

/* a is packed in strips of one row: pieces of k, each (m, piece). */
static void naive_gemm_apart(size_t m, size_t n, size_t k, const float *a, size_t a_row,
                             const float *b, float *c, size_t ldc) {
    for (size_t i = 0; i < m * n; i++) {
        float sum = 0;
        for (size_t p = 0; p < k; p++)
            sum += a[i / n * a_row + p] * b[i % n * k + p];
        c[i / n * ldc + i % n] += sum;
    }
}

static float naive_part(const sis__packed_product *p, size_t i, size_t j, size_t part, float sum) {
    size_t piece = sis__piece_of(p->k, p->parts), depth = p->k / p->parts;
    for (size_t q = part * depth; q < (part + 1) * depth; q++) {
        size_t from = q / piece * piece, there = p->k - from < piece ? p->k - from : piece;
        size_t at = p->line ? j / p->line * p->pitch + j % p->line : j;
        float right = p->place ? p->b[(size_t)p->place[q] + at] : p->b[j * p->k + q];
        sum = fmaf(p->a[from * p->m + i * there + q - from], right, sum);
    }
    return sum;
}

static void naive_gemm_packed(const sis__packed_product *p) {
    for (size_t i = 0; i < p->m; i++)
        for (size_t j = 0; j < p->n; j++) {
            float sum = naive_part(p, i, j, 0, p->row_start ? p->row_start[i] : 0.0f);
            for (size_t part = 1; part < p->parts; part++)
                sum += naive_part(p, i, j, part, 0.0f);
            p->c[i * p->ldc + j] = sum;
        }
}

/* Result (i, j) of one filter on a plane. */
static float naive_pixel(const sis__depthwise *p, const float *x, const float *w, float start,
                         size_t i, size_t j) {
    float total = 0;
    for (size_t r = 0; r < p->kernel[0]; r++) {
        ptrdiff_t y = (ptrdiff_t)(i * p->stride[0] + r * p->dilation[0]) - p->pad[0];
        float sum = r ? 0.0f : start;
        for (size_t t = 0; t < p->kernel[1]; t++) {
            ptrdiff_t at = (ptrdiff_t)(j * p->stride[1] + t * p->dilation[1]) - p->pad[1];
            int there = y >= 0 && y < (ptrdiff_t)p->in[0] && at >= 0 && at < (ptrdiff_t)p->in[1];
            sum =
                fmaf(w[r * p->kernel[1] + t], there ? x[y * (ptrdiff_t)p->in[1] + at] : 0.0f, sum);
        }
        total = r ? total + sum : sum;
    }
    return p->relu && total < 0 ? 0 : total;
}

static void naive_depthwise(const sis__depthwise *p) {
    float *y = p->y;
    for (size_t i = 0; i < p->planes * p->times; i++) {
        size_t f = i / p->times % p->channels * p->times + i % p->times;
        for (size_t k = 0; k < p->out[0] * p->out[1]; k++)
            *y++ = naive_pixel(p, p->x + i / p->times * p->in[0] * p->in[1],
                               p->w + f * p->kernel[0] * p->kernel[1],
                               p->start ? p->start[f] : 0.0f, k / p->out[1], k % p->out[1]);
    }
}

static void naive_exp(const float *x, float *y, size_t n) {
    for (size_t i = 0; i < n; i++)
        y[i] = expf(x[i]);
}

static float logistic(float x) {
    return (float)(1.0 / (1.0 + exp(-(double)x)));
}

static void naive_sigmoid(const float *x, float *y, size_t n) {
    for (size_t i = 0; i < n; i++)
        y[i] = logistic(x[i]);
}

static void naive_tanh(const float *x, float *y, size_t n) {
    for (size_t i = 0; i < n; i++)
        y[i] = tanhf(x[i]);
}

static void naive_linear(const sis__linear_product *p) {
    for (size_t i = 0; i < p->m; i++)
        for (size_t j = 0; j < p->n; j++) {
            float sum = 0;
            for (size_t t = 0; t < p->k; t++)
                sum = fmaf(p->a[i * p->k + t], p->b[j * p->k + t], sum);
            p->c[i * p->n + j] = p->bias ? sum + p->bias[j] : sum;
        }
}

static void naive_erf(const float *x, float *y, size_t n) {
    for (size_t i = 0; i < n; i++)
        y[i] = erff(x[i]);
}

#define NAIVE_ARITHMETIC(name, operation)                                                          \
    static void naive_##name(const float *a, size_t sa, const float *b, size_t sb, float *y,       \
                             size_t n) {                                                           \
        for (size_t i = 0; i < n; i++)                                                             \
            y[i] = a[i * sa] operation b[i * sb];                                                  \
    }
NAIVE_ARITHMETIC(add, +)
NAIVE_ARITHMETIC(sub, -)
NAIVE_ARITHMETIC(mul, *)
NAIVE_ARITHMETIC(div, /)
#undef NAIVE_ARITHMETIC

static void naive_max(const float *a, size_t sa, const float *b, size_t sb, float *y, size_t n) {
    for (size_t i = 0; i < n; i++)
        y[i] = isnan(a[i * sa]) || a[i * sa] > b[i * sb] ? a[i * sa] : b[i * sb];
}

static void naive_min(const float *a, size_t sa, const float *b, size_t sb, float *y, size_t n) {
    for (size_t i = 0; i < n; i++)
        y[i] = isnan(a[i * sa]) || a[i * sa] < b[i * sb] ? a[i * sa] : b[i * sb];
}

static double add_lanes(double *lanes) {
    for (size_t half = 8; half; half /= 2)
        for (size_t i = 0; i < half; i++)
            lanes[i] += lanes[i + half];
    return lanes[0];
}

static double naive_sum(const float *x, size_t n) {
    double lanes[16] = {0};
    for (size_t i = 0; i < n; i++)
        lanes[i % 16] += (double)x[i];
    return add_lanes(lanes);
}

static double naive_squares(const float *x, double mean, size_t n) {
    double lanes[16] = {0};
    for (size_t i = 0; i < n; i++)
        lanes[i % 16] += ((double)x[i] - mean) * ((double)x[i] - mean);
    return add_lanes(lanes);
}

static void naive_standardize(const sis__standard *t, const float *x, float *y, size_t n) {
    for (size_t i = 0; i < n; i++)
        y[i] = (float)(((double)x[i] - t->mean) * t->rstd) * t->scale + t->shift;
}

static void naive_softmax(const float *x, float *y, size_t m, size_t n) {
    for (size_t r = 0; r < m; r++, x += n, y += n) {
        float top = -INFINITY;
        double sum = 0;
        for (size_t i = 0; i < n; i++)
            top = x[i] > top ? x[i] : top;
        for (size_t i = 0; i < n; i++) {
            y[i] = top == -INFINITY   ? (isnan(x[i]) ? NAN : 0.0f)
                   : x[i] - top < -87 ? 0.0f
                                      : expf(x[i] - top);
            sum += trunc((double)y[i] * 0x1p30);
        }
        for (size_t i = 0; top != -INFINITY && i < n; i++)
            y[i] *= 1 / (float)(sum * 0x1p-30);
    }
}

static float naive_score(const sis__attention *a, size_t i, size_t j) {
    float s = 0;
    for (size_t p = 0; p < a->k; p++)
        s = fmaf(a->q.at[i * a->q.row + p * a->q.col],
                 a->keys.at[j * a->keys.row + p * a->keys.col], s);
    for (size_t t = 0; t < a->n_steps; t++) {
        const sis__score_step *step = &a->steps[t];
        size_t at = i * step->row + j * step->col;
        float other = step->map ? step->map[at] : step->number;
        s = step->how == SIS__SCORES_TIMES  ? s * other
            : step->how == SIS__SCORES_OVER ? s / other
            : step->how == SIS__SCORES_PLUS ? s + other
            : step->hidden[at]              ? other
                                            : s;
    }
    return s;
}

static void naive_attention(const sis__attention *a) {
    for (size_t i = 0; i < a->m; i++) {
        for (size_t j = 0; j < a->n; j++)
            a->room[j] = naive_score(a, i, j);
        naive_softmax(a->room, a->room, 1, a->n);
        for (size_t d = 0; d < a->v; d++) {
            float sum = 0;
            for (size_t j = 0; j < a->n; j++)
                sum = fmaf(a->room[j], a->values.at[j * a->values.row + d * a->values.col], sum);
            a->y[i * a->y_row + d * a->y_col] = sum;
        }
    }
}

static void naive_gelu(const sis__gelu *g, const float *x, float *y, size_t n) {
    for (size_t i = 0; i < n; i++) {
        float v = x[i], e = erff(g->times ? v * g->by : v / g->by) + g->one;
        y[i] = g->order == SIS__HALF_LAST   ? (v * e) * g->half
               : g->order == SIS__HALF_OF_X ? (v * g->half) * e
                                            : v * (e * g->half);
    }
}

static void naive_layer_norm(const sis__layer_norm *l, const float *x, const float *more, float *y,
                             size_t m) {
    for (size_t i = 0; more && i < m * l->n; i++)
        y[i] = x[i] + more[i];
    x = more ? y : x;
    for (size_t r = 0; r < m; r++, x += l->n, y += l->n) {
        double squares[16] = {0};
        float mean = (float)(naive_sum(x, l->n) / (double)l->n);
        for (size_t i = 0; i < l->n; i++) {
            volatile float d = x[i] - mean, square = d * d;
            squares[i % 16] += (double)square;
        }
        float deviation = sqrtf((float)(add_lanes(squares) / (double)l->n) + l->epsilon);
        for (size_t i = 0; i < l->n; i++) {
            volatile float v = (x[i] - mean) / deviation * l->scale[i];
            y[i] = v + l->shift[i];
        }
    }
}

static void naive_relu(const float *x, float *y, size_t n) {
    for (size_t i = 0; i < n; i++)
        y[i] = x[i] < 0 ? 0 : x[i];
}

static void naive_log_rest(const float *z, size_t m, size_t n, size_t c, double *y, size_t step) {
    for (size_t i = 0; i < m; i++, z += n) {
        double top = -INFINITY, sum = 0;
        for (size_t j = 0; j < n; j++)
            if (j != c && ((double)z[j] > top || isnan(z[j])))
                top = z[j];
        for (size_t j = 0; j < n; j++)
            if (j != c)
                sum += exp((double)z[j] - top);
        y[i * step] = isinf(top) ? top : top + log(sum);
    }
}

static void naive_max_row(float *y, const float *x, size_t n) {
    for (size_t i = 0; i < n; i++)
        if (x[i] > y[i] || isnan(x[i]))
            y[i] = x[i];
}

static float naive_max_of(const float *x, size_t n) {
    float best = x[0];
    naive_max_row(&best, x, 1);
    for (size_t i = 1; i < n; i++)
        naive_max_row(&best, x + i, 1);
    return best;
}

/* The maximum of window (z, y, x), and its sum. */
static void naive_window(const sis__pooled *p, const size_t *o, float *max, double *sum) {
    const float *x =
        p->x + o[0] * p->stride[0] * p->slice + o[1] * p->stride[1] * p->line + o[2] * p->stride[2];
    *max = -INFINITY;
    *sum = 0;
    for (size_t i = 0; i < p->kernel[0]; i++)
        for (size_t j = 0; j < p->kernel[1]; j++)
            for (size_t k = 0; k < p->kernel[2]; k++) {
                const float *at = x + i * p->dilation[0] * p->slice + j * p->dilation[1] * p->line +
                                  k * p->dilation[2];
                naive_max_row(max, at, 1);
                *sum += (double)*at;
            }
}

static void naive_pool(const sis__pooled *p, int average) {
    float max;
    double sum;
    for (size_t z = 0; z < p->out[0]; z++)
        for (size_t y = 0; y < p->out[1]; y++)
            for (size_t x = 0; x < p->out[2]; x++) {
                naive_window(p, (size_t[]){z, y, x}, &max, &sum);
                p->y[z * p->y_slice + y * p->y_line + x] =
                    average ? (float)(sum / p->divisor) : max;
            }
}

static void naive_pool_max(const sis__pooled *p) {
    naive_pool(p, 0);
}

static void naive_pool_average(const sis__pooled *p) {
    naive_pool(p, 1);
}

static void naive_silu(const float *x, float *y, size_t n) {
    for (size_t i = 0; i < n; i++)
        y[i] = x[i] * logistic(x[i]);
}

static float naive_x(const sis__cell_step *s, size_t row, size_t at) {
    return s->x[row][at] + (s->more ? s->more[row][at] : 0);
}

/* x + h . r^T of a unit; r as the naive kernels pack it: (units, k). */
static float naive_gate_sum(const sis__cell_step *s, size_t row, const float *r, size_t unit,
                            float x) {
    float sum = 0;
    for (size_t p = 0; p < s->hidden; p++)
        sum += s->h[row * s->hidden + p] * r[unit * s->hidden + p];
    return x + sum;
}

static void naive_lstm(const sis__cell_step *s) {
    size_t hidden = s->hidden;
    for (size_t at = 0; at < s->n * hidden; at++) {
        size_t row = at / hidden, j = at % hidden;
        float gate[4];
        for (size_t k = 0; k < 4; k++) {
            float sum =
                naive_gate_sum(s, row, s->r, k * hidden + j, naive_x(s, row, k * hidden + j));
            gate[k] = k < 3 ? logistic(sum) : tanhf(sum);
            if (s->gates)
                s->gates[(row * 4 + k) * hidden + j] = gate[k];
        }
        s->c[at] = gate[2] * s->c[at] + gate[0] * gate[3];
        s->to[at] = gate[1] * tanhf(s->c[at]);
    }
}

static void naive_gru_reset(const sis__cell_step *s) {
    size_t hidden = s->hidden;
    for (size_t at = 0; at < s->n * hidden; at++) {
        size_t row = at / hidden, j = at % hidden;
        float z = logistic(naive_gate_sum(s, row, s->r, j, naive_x(s, row, j)));
        float r = logistic(naive_gate_sum(s, row, s->r, hidden + j, naive_x(s, row, hidden + j)));
        float term = naive_gate_sum(s, row, s->r_reset, j, s->reset_bias ? s->reset_bias[j] : 0);
        s->to[at] = z * s->h[at] + (1 - z) * tanhf(naive_x(s, row, 2 * hidden + j) + r * term);
    }
}

static void naive_gates(float *gates, size_t n) {
    for (size_t j = 0; j < n; j++)
        gates[j] = logistic(gates[j]);
}

static void naive_gru(const float *z, const float *candidate, const float *h_before, float *h,
                      size_t hidden) {
    for (size_t j = 0; j < hidden; j++)
        h[j] = z[j] * h_before[j] + (1.0f - z[j]) * tanhf(candidate[j]);
}

static void naive_dense_wide(size_t m, size_t n, size_t k, const float *a, size_t a_row,
                             size_t a_col, const float *b, float *c, size_t ldc) {
    for (size_t i = 0; i < m; i++)
        for (size_t j = 0; j < n; j++) {
            double sum = (double)c[i * ldc + j];
            for (size_t from = 0; from < k; from += SIS__PIECE) {
                double piece = 0;
                for (size_t p = from; p < k && p < from + SIS__PIECE; p++)
                    piece += (double)a[i * a_row + p * a_col] * (double)b[j * k + p];
                sum += piece;
            }
            c[i * ldc + j] = (float)sum;
        }
}

static void naive_columns_placed(const sis__column_product *p) {
    for (size_t i = 0; i < p->m; i++)
        for (size_t j = 0; j < p->n; j++) {
            float sum = p->start[j];
            for (size_t t = 0; t < p->k; t++)
                sum = fmaf(p->a[i][t * p->step + j], p->b[t * p->n + j], sum);
            p->c[i][j] = sum;
        }
}

static void naive_gemm_placed(const sis__placed_product *g) {
    for (size_t i = 0; i < g->m; i++)
        for (size_t j = 0; j < g->n; j++) {
            float sum = g->start ? g->start[j] : g->c[i][j];
            for (size_t p = 0; p < g->k; p++)
                sum = fmaf(g->a[i][g->offset ? (size_t)g->offset[p] : p], g->b[j * g->k + p], sum);
            g->c[i][j] = sum;
        }
}

static void naive_max_up(const float *const *x, size_t count, size_t n, float *y) {
    memcpy(y, x[0], n * sizeof *y);
    for (size_t k = 1; k < count; k++)
        naive_max_row(y, x[k], n);
}

static void naive_window_maxima(const sis__window_maxima *m, float *y) {
    for (size_t i = 0; i < m->n; i++, y += m->channels) {
        memcpy(y, m->x[0] + i * m->step, m->channels * sizeof *y);
        for (size_t k = 1; k < m->count; k++)
            naive_max_row(y, m->x[k] + i * m->step, m->channels);
    }
}

static void naive_add_up(const float *const *x, size_t count, size_t n, int relu, float *y) {
    for (size_t i = 0; i < n; i++) {
        float sum = x[0][i];
        for (size_t k = 1; k < count; k++)
            sum += x[k][i];
        y[i] = relu && sum < 0 ? 0 : sum;
    }
}

static void naive_add_rows(const sis__rows *r, double *y, size_t n) {
    for (size_t i = 0; i < n; i++) {
        double sum = 0;
        for (size_t t = 0; t < r->count; t++)
            sum = fma(r->d[t], (double)r->w[(size_t)r->index[t] * r->ldw + i], sum);
        y[i] += sum;
    }
}

static float larger(float x, float y) {
    return isnan(x) || x > y ? x : y;
}

static void naive_add_max(const float *a, const float *b, size_t count, float *y, size_t n) {
    for (size_t k = 0; k < count * n; k++)
        y[k % n] = larger(a[k] + b[k], y[k % n]);
}

static int naive_join_maxima(const sis__maxima *t, float *y) {
    int changed = 0;
    for (size_t i = 0; i < t->n; i++) {
        float top = larger(t->inside[i], larger(t->outside[0][i], t->outside[1][i]));
        y[i] = t->relu && top < 0 ? 0 : top;
        changed |= y[i] != t->base[i];
    }
    return changed;
}

static float naive_near(const sis__near *t) {
    float sum = 0;
    for (size_t i = 0; i < t->n; i++)
        sum += t->x[i] + t->error[i] < t->y[i] ? 0 : t->weight[i];
    return sum;
}

static size_t naive_changes(sis__compared *c) {
    size_t found = 0;
    c->more_nonzero = 0;
    for (size_t i = 0; i < c->n; i++) {
        double d = (double)c->now[i] - (double)c->base[i], step = d - c->kept[i];
        c->more_nonzero += (d != 0) - (c->kept[i] != 0);
        c->kept[i] = d;
        if (step == 0)
            continue;
        c->index[found] = c->first + (int)i;
        c->change[found++] = step;
    }
    return found;
}

static int naive_round_sums(const sis__sums *s, float *y) {
    int close = 0;
    for (size_t i = 0; i < s->n; i++) {
        double v = s->sum[i] + (s->change ? s->change[i] : 0.0);
        float rounded = (float)((v - s->slack[i]) / s->divisor);
        y[i] = s->relu && rounded < 0 ? 0 : rounded;
        close |= rounded != (float)((v + s->slack[i]) / s->divisor);
    }
    return close;
}

static size_t naive_switched(const float *a, const float *b, const int *on, size_t n, int *units,
                             float *sizes) {
    size_t count = 0;
    for (size_t j = 0; j < n; j++)
        if ((a[j] + b[j] > 0) != (on[j] != 0)) {
            units[count] = (int)j;
            sizes[count++] = fabsf(a[j] + b[j]);
        }
    return count;
}

static void naive_patch(const sis__patch *p, float low, float *y, size_t n) {
    for (size_t j = 0; j < n; j++) {
        float v = p->a[j] + p->b[j];
        for (size_t k = 0; k < p->n_rows; k++)
            v = fmaf(p->sizes[k], p->rows[(size_t)p->units[k] * n + j], v);
        y[j] = v < low ? low : v;
    }
}

static void naive_narrow(size_t m, size_t n, const float *x, const float *w, float *y) {
    for (size_t i = 0; i < m; i++)
        for (size_t j = 0; j < 16; j++)
            for (size_t k = 0; k < n; k++)
                y[i * 16 + j] = fmaf(x[i * n + k], w[k * 16 + j], y[i * 16 + j]);
}

const sis__kernels naive_kernels = {
    .name = "naive",
    .nr = 1,
    .mr = 1,
    .gemm = naive_gemm,
    .gemm_apart = naive_gemm_apart,
    .gemm_packed = naive_gemm_packed,
    .linear = naive_linear,
    .depthwise = naive_depthwise,
    .exp = naive_exp,
    .sigmoid = naive_sigmoid,
    .tanh = naive_tanh,
    .silu = naive_silu,
    .erf = naive_erf,
    .add = naive_add,
    .sub = naive_sub,
    .mul = naive_mul,
    .div = naive_div,
    .max = naive_max,
    .min = naive_min,
    .sum = naive_sum,
    .squares = naive_squares,
    .standardize = naive_standardize,
    .softmax = naive_softmax,
    .attention = naive_attention,
    .gelu = naive_gelu,
    .layer_norm = naive_layer_norm,
    .relu = naive_relu,
    .log_rest = naive_log_rest,
    .max_row = naive_max_row,
    .max_of = naive_max_of,
    .pool_max = naive_pool_max,
    .pool_average = naive_pool_average,
    .lstm = naive_lstm,
    .gates = naive_gates,
    .gru = naive_gru,
    .gru_reset = naive_gru_reset,
    .dense = naive_gemm,
    .dense_wide = naive_dense_wide,
    .gemm_placed = naive_gemm_placed,
    .columns_placed = naive_columns_placed,
    .max_up = naive_max_up,
    .window_maxima = naive_window_maxima,
    .add_up = naive_add_up,
    .add_rows = naive_add_rows,
    .add_max = naive_add_max,
    .join_maxima = naive_join_maxima,
    .near = naive_near,
    .changes = naive_changes,
    .round_sums = naive_round_sums,
    .switched = naive_switched,
    .patch = naive_patch,
    .narrow = naive_narrow,
};
