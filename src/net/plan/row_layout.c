/* SPDX-License-Identifier: MIT
 *
 * See row_layout.h. When a layout is made, random rows decide whether several rows may be run
 * together. The lock protects the list; it is never held while anything is compiled or run.
 */
#include "net/plan/row_layout.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/dims.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/rng.h"
#include "net/ops/axes.h"
#include "net/plan/cache.h"
#include "net/plan/source.h"

struct sis__runs {
    sis__run *run;
    struct sis__runs *next;
};

struct sis__row_layouts {
    pthread_mutex_t lock;
    sis__row_layout *list;
    size_t n, clock; /* number of layouts, and of requests so far */
};

/* A run of several rows should need less memory than this, to stay in the L2 cache; and a run of up
 * to 16 rows if the weights do not fit, which are then read once for all rows. */
static const size_t run_bytes = (size_t)1 << 20, max_bytes = (size_t)4 << 20;
static const size_t max_chunk = 256;
static const size_t max_layouts = 8;
static const double max_probe_flops = 1.2e9;
static const double brief_probe_flops = 1.5e8; /* about 10 ms; for plans without other limits */
static const size_t max_probe_bytes = (size_t)64 << 20;

static void layout_free(sis__row_layout *g) {
    for (int t = 0; t < SIS__N_TARGETS; t++)
        for (int i = 0; i < 32; i++) {
            for (struct sis__runs *r = g->runs[t][i], *next; r; r = next) {
                next = r->next;
                sis__run_free(r->run);
                free(r);
            }
            sis__shared_plan_done(g->plans[t][i]);
        }
    free(g);
}

struct sis__row_layouts *sis__row_layouts_new(void) {
    struct sis__row_layouts *c = SIS_NEW(struct sis__row_layouts, 1);
    if (c)
        pthread_mutex_init(&c->lock, NULL);
    return c;
}

void sis__row_layouts_clear(struct sis__row_layouts *c) {
    for (sis__row_layout *g = c->list, *next; g; g = next) {
        next = g->next;
        layout_free(g);
    }
    c->list = NULL;
    c->n = 0;
}

void sis__row_layouts_free(struct sis__row_layouts *c) {
    if (!c)
        return;
    sis__row_layouts_clear(c);
    pthread_mutex_destroy(&c->lock);
    free(c);
}

/* ---- Plans and runs ------------------------------------------------------------------------- */

sis__feed sis__row_layout_rows(const sis__row_layout *g, size_t rows) {
    sis__feed feed = {.value = g->start, .rank = g->rank + (size_t)g->counted};
    feed.dims[0] = rows;
    memcpy(feed.dims + g->counted, g->dims, g->rank * sizeof *g->dims);
    return feed;
}

static int get_shared(const sis_net *net, const sis__row_layout *g, sis__target t, size_t rows,
                      sis__shared_plan **out) {
    rows = g->fixed ? g->fixed : rows;
    sis__feed feed = sis__row_layout_rows(g, rows);
    int margins = t == SIS__MARGINS || t == SIS__MARGIN_GRADIENT || t == SIS__MARGIN_SLOPES;
    sis__plan_spec spec = {.feeds = &feed,
                           .n_feeds = 1,
                           .outputs = margins ? &net->pre_output : &net->output,
                           .n_outputs = 1,
                           .batch = rows,
                           .gradients = t >= SIS__SCORE_GRADIENT,
                           .params_fixed = t >= SIS__SCORE_SLOPES};
    return sis__shared_plan_get(net, &spec, out);
}

static int get_plan(const sis_net *net, sis__row_layout *g, sis__target t, int log2_rows,
                    const sis__plan **out) {
    struct sis__row_layouts *c = sis__cache_layouts(net);
    log2_rows = g->fixed ? 0 : log2_rows;
    sis__shared_plan **at = &g->plans[t][log2_rows], *got = NULL;
    pthread_mutex_lock(&c->lock);
    *out = *at ? (*at)->plan : NULL;
    pthread_mutex_unlock(&c->lock);
    int error = *out ? SIS_OK : get_shared(net, g, t, (size_t)1 << log2_rows, &got);
    if (*out || error)
        return error;
    pthread_mutex_lock(&c->lock);
    if (!*at) {
        *at = got;
        got = NULL;
    }
    *out = (*at)->plan;
    pthread_mutex_unlock(&c->lock);
    sis__shared_plan_done(got);
    return SIS_OK;
}

int sis__row_layout_take(const sis_net *net, sis__row_layout *g, sis__target t, int log2_rows,
                         sis__run **r) {
    struct sis__row_layouts *c = sis__cache_layouts(net);
    const sis__plan *plan;
    log2_rows = g->fixed ? 0 : log2_rows;
    pthread_mutex_lock(&c->lock);
    struct sis__runs *kept = g->runs[t][log2_rows];
    if (kept)
        g->runs[t][log2_rows] = kept->next;
    pthread_mutex_unlock(&c->lock);
    if (kept) {
        *r = kept->run;
        free(kept);
        return SIS_OK;
    }
    int error = get_plan(net, g, t, log2_rows, &plan);
    return error ? error : sis__run_new(plan, r);
}

void sis__row_layout_give(const sis_net *net, sis__row_layout *g, sis__target t, int log2_rows,
                          sis__run *r) {
    struct sis__row_layouts *c = sis__cache_layouts(net);
    struct sis__runs *kept = (struct sis__runs *)calloc(1, sizeof *kept);
    if (!kept) { /* the next caller makes a new one */
        sis__run_free(r);
        return;
    }
    kept->run = r;
    log2_rows = g->fixed ? 0 : log2_rows;
    pthread_mutex_lock(&c->lock);
    kept->next = g->runs[t][log2_rows];
    g->runs[t][log2_rows] = kept;
    pthread_mutex_unlock(&c->lock);
}

/* Row number `row` of n values, in the input's type. */
static void put_row(sis__dtype t, int elem, void *to, size_t row, size_t n, const float *values) {
    if (t == SIS__F32) {
        memcpy((float *)to + row * n, values, n * sizeof *values);
        return;
    }
    for (size_t i = 0; i < n; i++) {
        if (t == SIS__BOOL)
            ((uint8_t *)to)[row * n + i] = values[i] != 0;
        else
            ((int64_t *)to)[row * n + i] = sis__elem_whole(elem, values[i]);
    }
}

void sis__row_layout_feed(const sis__row_layout *g, sis__run *r, size_t row, const float *values) {
    const sis__tensor *t = &r->plan->tensors[g->start];
    put_row(t->dtype, t->elem, r->data[g->start], row, g->n_values, values);
}

/* Random rows: small integers for token models, 0 and 1 for integer inputs, else any floats;
 * consecutive rows differ. */
static void fill_probe(const sis_net *net, int embedded, float *rows, size_t n, size_t width) {
    sis__rng rng;
    sis__rng_init(&rng, 1);
    int tokens = !embedded && net->embedding >= 0;
    int whole = !embedded && net->graph.values[net->input].dtype != SIS__F32;
    size_t words = tokens ? (size_t)net->graph.values[net->embedding].dims[0] : whole ? 2 : 0;
    for (size_t i = 0; i < n; i++)
        rows[i] = !words           ? (float)(2 * sis__rng_uniform(&rng) - 1)
                  : i % width == 0 ? (float)(i / width % 2 % words)
                                   : (float)sis__rng_below(&rng, words < 1000 ? words : 1000);
}

/* ---- Rows whose values determine shapes: words of texts -------------------------------------- */

/* A plan for one row whose values are constants, so all of it is folded. *values must outlive
 * it. */
static int row_plan(const sis_net *net, const sis__row_layout *g, int output, const float *row,
                    void **values, sis__plan **plan) {
    sis__dtype t = g->start == net->input ? net->graph.values[net->input].dtype : SIS__F32;
    sis__feed feed = sis__row_layout_rows(g, 1);
    *plan = NULL;
    *values = sis__alloc_raw(g->n_values, sis__dtype_size(t));
    if (!*values)
        return SIS_E_NOMEM;
    put_row(t, net->graph.values[net->input].elem_type, *values, 0, g->n_values, row);
    feed.constant = *values;
    sis__plan_spec spec = {.feeds = &feed, .n_feeds = 1, .outputs = &output, .n_outputs = 1};
    int error = sis__plan_new(net, &spec, plan);
    if (!error && !(*plan)->tensors[output].data)
        error =
            sis__fail(SIS_E_UNSUPPORTED, "running the network on this input takes too much memory");
    return error;
}

int sis__row_layout_evaluate(const sis_net *net, const sis__row_layout *g, int margins,
                             const float *row, float *out) {
    sis__plan *plan;
    void *values;
    int output = margins ? net->pre_output : net->output;
    int error = row_plan(net, g, output, row, &values, &plan);
    const sis__tensor *y = error ? NULL : &plan->tensors[output];
    if (!error && y->count != g->n_outputs)
        error = sis__fail(SIS_E_UNSUPPORTED,
                          "the model gives %zu scores for this row and %zu for another", y->count,
                          g->n_outputs);
    for (size_t i = 0; !error && i < y->count; i++)
        out[i] = (float)sis__number_at(y, y->data, i);
    sis__plan_free(plan);
    free(values);
    return error;
}

/* If there is no plan for all rows, one row tells the number of scores. SIS_E_MODEL: this row
 * cannot be computed; others may be. */
static int choose_by_value(const sis_net *net, int embedded, sis__row_layout *g) {
    sis__plan *plan = NULL;
    void *values = NULL;
    float *row = SIS_NEW(float, g->n_values);
    if (!row)
        return SIS_E_NOMEM;
    fill_probe(net, embedded, row, g->n_values, g->n_values);
    int error = row_plan(net, g, net->output, row, &values, &plan);
    if (error && error != SIS_E_UNSUPPORTED && error != SIS_E_NOMEM)
        error = SIS_E_MODEL;
    if (!error && plan->tensors[net->output].dtype == SIS__TEXT)
        error = sis__fail(SIS_E_MODEL, "output %s contains strings, not scores",
                          net->graph.values[net->output].name);
    if (!error) {
        g->n_outputs = plan->tensors[net->output].count;
        g->flops = plan->flops;
        g->chunk = 1;
        g->by_value = 1;
    }
    sis__plan_free(plan);
    free(values);
    free(row);
    return error;
}

/* ---- Layouts ---------------------------------------------------------------------------- */

/* The shape of one row, from the declared input and the given shape or number of values. */
static int find_dims(const sis_net *net, const sis__row_form *form, sis__row_layout *g) {
    const sis__value *v = &net->graph.values[net->input];
    const sis_net_shape *told = form->shape && form->shape->rank ? form->shape : NULL;
    long long sizes[SIS__MAX_RANK];
    size_t first = net->counted ? 1 : 0, open = 0, known = 1;
    g->n_values = form->n_values;
    if (told && told->rank != v->rank - first)
        return sis__fail(SIS_E_ARGUMENT, "a row of %zu axes; input %s has %zu", told->rank, v->name,
                         v->rank - first);
    for (size_t d = first; d < v->rank; d++)
        sizes[g->rank++] = v->dims[d] < 0 && told ? (long long)told->dims[d - first] : v->dims[d];
    if (form->embedded && g->rank == SIS__MAX_RANK - 1)
        return sis__fail(SIS_E_UNSUPPORTED, "embeddings of an input of %zu axes", g->rank);
    if (form->embedded)
        sizes[g->rank++] = net->graph.values[net->embedding].dims[1];
    if (form->n_values > SIS__MAX_COUNT)
        return sis__fail(SIS_E_UNSUPPORTED, "rows of more than 2^31 values");
    int error = sis__dims_row(sizes, g->rank, form->n_values, g->dims);
    for (size_t d = 0; d < g->rank; d++) {
        open += sizes[d] < 0;
        known *= sizes[d] < 0 ? 1 : (size_t)sizes[d];
    }
    return !error ? SIS_OK
           : error == SIS_E_UNSUPPORTED
               ? sis__fail(error,
                           "input %s has %zu free sizes, which cannot be found from the "
                           "number of values; give images or arrays, which have a shape",
                           v->name, open)
               : sis__fail(error, "the model takes %zu values a row, found %zu", known,
                           form->n_values);
}

/* Run 2^total rows, 2^log2_rows at a time; outputs (rows, n_outputs). */
static int run_probe(const sis_net *net, sis__row_layout *g, int total, int log2_rows,
                     const float *rows, float *outputs) {
    sis__run *r;
    size_t n = (size_t)1 << log2_rows;
    int error = sis__row_layout_take(net, g, SIS__SCORES, log2_rows, &r);
    if (error)
        return error;
    for (size_t i = 0; i < (size_t)1 << total && !error; i += n) {
        for (size_t k = 0; k < n; k++)
            sis__row_layout_feed(g, r, k, rows + (i + k) * g->n_values);
        error = sis__run_forward(r);
        for (size_t k = 0; k < n * g->n_outputs && !error; k++)
            outputs[i * g->n_outputs + k] =
                (float)sis__number_at(&r->plan->tensors[net->output], r->data[net->output], k);
    }
    sis__row_layout_give(net, g, SIS__SCORES, log2_rows, r);
    return error;
}

/* Do 2^log2_rows rows in one run give the same bits as alone? */
static int compare_runs(const sis_net *net, int embedded, sis__row_layout *g, int log2_rows,
                        int *same) {
    size_t n = (size_t)1 << log2_rows;
    float *rows = SIS_NEW(float, n * g->n_values);
    float *alone = SIS_NEW(float, n * g->n_outputs), *both = SIS_NEW(float, n * g->n_outputs);
    int error = rows && alone && both ? SIS_OK : SIS_E_NOMEM;
    if (!error) {
        fill_probe(net, embedded, rows, n * g->n_values, g->n_values);
        error = run_probe(net, g, log2_rows, 0, rows, alone);
    }
    if (!error)
        error = run_probe(net, g, log2_rows, log2_rows, rows, both);
    *same = !error && memcmp(alone, both, n * g->n_outputs * sizeof *both) == 0;
    free(rows);
    free(alone);
    free(both);
    return error == SIS_E_NOMEM ? error : SIS_OK;
}

/* Is the first axis of a tensor the batch? Then it is shorter in a plan for one row. */
static int counts_rows(const sis__plan *p, const sis__plan *one, int tensor) {
    return tensor >= 0 && (size_t)tensor < one->n_tensors && p->tensors[tensor].rank > 0 &&
           one->tensors[tensor].rank == p->tensors[tensor].rank &&
           one->tensors[tensor].dims[0] != p->tensors[tensor].dims[0];
}

/* Does a step mix rows of its input, or omit some? */
static int mixes_rows(const sis__plan *p, const sis__plan *one, const sis__step *s) {
    sis__source from;
    if (s->n_inputs == 0 || !counts_rows(p, one, s->inputs[0]) ||
        !sis__source_of(p, s, 0, 0, &from))
        return 0;
    const sis__tensor *x = &p->tensors[s->inputs[0]], *y = &p->tensors[s->outputs[0]];
    for (size_t d = 0; d < from.n_over; d++)
        if (from.over[d].size > 1 && from.over[d].size * (size_t)from.over[d].step == x->count)
            return 1;
    return from.same && y->count < x->count && !counts_rows(p, one, s->outputs[0]);
}

static int any_mixes_rows(const sis__plan *p, const sis__plan *one) {
    for (size_t i = 0; i < p->n_steps; i++)
        if (mixes_rows(p, one, &p->steps[i]))
            return 1;
    return 0;
}

/* May 2^log2_rows rows be run together? An error means no. Plans for two rows are compared with
 * single runs; so are larger plans that rest on a guess (see Reshape). */
static int runs_together(const sis_net *net, int embedded, sis__row_layout *g, int log2_rows,
                         int *together) {
    const sis__plan *plan;
    size_t n = (size_t)1 << log2_rows;
    if (log2_rows > 1 && !g->plans[SIS__SCORES][1]->plan->widened)
        return SIS_OK; /* nothing is guessed: what holds for two rows holds for more */
    *together = 0;
    int error = get_plan(net, g, SIS__SCORES, log2_rows, &plan);
    if (error)
        return error == SIS_E_NOMEM ? error : SIS_OK;
    const sis__tensor *y = &plan->tensors[net->output];
    if (y->count != n * g->n_outputs)
        return SIS_OK;
    int any = net->graph.values[net->input].dims[0] < 0; /* exported for any number of rows */
    if (any_mixes_rows(plan, g->plans[SIS__SCORES][0]->plan))
        return SIS_OK;
    int likely = any && !plan->widened;
    if (plan->flops > (likely ? brief_probe_flops : max_probe_flops) ||
        plan->arena + plan->scratch > max_probe_bytes) {
        *together = likely;
        return SIS_OK;
    }
    return compare_runs(net, embedded, g, log2_rows, together);
}

/* Does a run of so many rows fit into memory? */
static int fits(const sis_net *net, const sis__plan *one, int log2_rows) {
    size_t max = log2_rows <= 4 && sis__net_bytes(net) > run_bytes ? max_bytes : run_bytes;
    return log2_rows == 1 || (one->arena << log2_rows) <= max;
}

/* One plan for the whole batch; the largest power of two of its rows is used. */
static int use_whole_batch(sis__row_layout *g, const sis__plan *plan, size_t count) {
    if (count % g->fixed)
        return sis__fail(SIS_E_UNSUPPORTED, "%zu scores for %zu rows", count, g->fixed);
    g->n_outputs = count / g->fixed;
    g->flops = plan->flops / (double)g->fixed;
    g->chunk = 1;
    while (2 * g->chunk <= g->fixed)
        g->chunk *= 2;
    g->batched = 1;
    return SIS_OK;
}

/* Make plans for one row and for the largest number of rows that is fast and safe. */
static int choose_plans(const sis_net *net, int embedded, sis__row_layout *g) {
    const sis__plan *one;
    int error = get_plan(net, g, SIS__SCORES, 0, &one), together = g->counted;
    if (error == SIS_E_UNSUPPORTED && !g->fixed) {
        int other = choose_by_value(net, embedded, g);
        if (other != SIS_E_UNSUPPORTED)
            return other;
        error = get_plan(net, g, SIS__SCORES, 0, &one); /* for its message */
    }
    if (error)
        return error;
    const sis__tensor *y = &one->tensors[net->output];
    g->whole = y->dtype == SIS__I64 || y->dtype == SIS__BOOL;
    if (y->dtype != SIS__F32 && !g->whole)
        return sis__fail(SIS_E_MODEL, "output %s contains %s, not scores",
                         net->graph.values[net->output].name, sis__dtype_name(y->dtype));
    if (g->fixed)
        return use_whole_batch(g, one, y->count);
    g->n_outputs = y->count;
    g->flops = one->flops;
    g->chunk = 1;
    for (int log2_rows = 1; together && ((size_t)1 << log2_rows) <= max_chunk; log2_rows++) {
        if (!fits(net, one, log2_rows))
            break;
        if ((error = runs_together(net, embedded, g, log2_rows, &together)) != 0)
            return error;
        if (together)
            g->chunk = (size_t)1 << log2_rows;
    }
    g->batched = g->chunk > 1;
    return SIS_OK;
}

static sis__row_layout *find_layout(const struct sis__row_layouts *c, const sis__row_layout *like) {
    for (sis__row_layout *g = c->list; g; g = g->next)
        if (g->start == like->start && g->n_values == like->n_values &&
            memcmp(g->dims, like->dims, like->rank * sizeof *g->dims) == 0)
            return g; /* all with this start have the same rank */
    return NULL;
}

/* If there are too many layouts, remove the least recently used one that is not in use. Needs the
 * lock. */
static sis__row_layout *evict(struct sis__row_layouts *c) {
    sis__row_layout **oldest = NULL;
    for (sis__row_layout **at = &c->list; *at; at = &(*at)->next)
        if ((*at)->users == 0 && (!oldest || (*at)->used_at < (*oldest)->used_at))
            oldest = at;
    if (c->n <= max_layouts || !oldest)
        return NULL;
    sis__row_layout *g = *oldest;
    *oldest = g->next;
    c->n--;
    return g;
}

/* Find a layout like it, or insert `made`; counts the caller as a user. The caller frees *spare. */
static sis__row_layout *enter(struct sis__row_layouts *c, const sis__row_layout *like,
                              sis__row_layout *made, sis__row_layout **spare) {
    *spare = NULL;
    pthread_mutex_lock(&c->lock);
    sis__row_layout *g = find_layout(c, like);
    if (!g && made) {
        g = made;
        g->next = c->list;
        c->list = g;
        c->n++;
    }
    if (g) {
        g->users++;
        g->used_at = ++c->clock;
    }
    if (made)
        *spare = g == made ? evict(c) : made;
    pthread_mutex_unlock(&c->lock);
    return g;
}

void sis__row_layout_done(const sis_net *net, sis__row_layout *g) {
    pthread_mutex_lock(&sis__cache_layouts(net)->lock);
    g->users--;
    pthread_mutex_unlock(&sis__cache_layouts(net)->lock);
}

int sis__row_layout_get(const sis_net *net, const sis__row_form *form, sis__row_layout **out) {
    int error = sis_net_ready(net);
    if (error)
        return error;
    sis__row_layout like = {.start = form->embedded ? net->embedded : net->input,
                            .counted = net->counted,
                            .fixed = net->whole ? net->rows : 0},
                    *spare;
    if ((error = find_dims(net, form, &like)) != SIS_OK)
        return error;
    if ((*out = enter(sis__cache_layouts(net), &like, NULL, &spare)) != NULL)
        return SIS_OK;
    sis__row_layout *g = (sis__row_layout *)sis__copy(&like, 1, sizeof like);
    if (!g)
        return SIS_E_NOMEM;
    if ((error = choose_plans(net, form->embedded, g)) != SIS_OK) {
        layout_free(g);
        return error;
    }
    *out = enter(sis__cache_layouts(net), &like, g, &spare);
    if (spare)
        layout_free(spare);
    return SIS_OK;
}
