/* SPDX-License-Identifier: MIT
 *
 * Walks over transformers. Up to the first attention the network processes each token separately,
 * so every value there (embedding sums, normalisation, query, key, value, visibility) is one of
 * two: token present or masked. Both are computed once, and a candidate is the current state with
 * one token's values exchanged. From the first attention on, every token depends on every other.
 * The head computes this part for a batch of whole rows; in the last layer, it computes only the
 * tokens that the output reads (net/plan/slice_pushdown.c).
 *
 * If a masked token is hidden from attention (the padding token, with a derived attention mask), it
 * can be removed: its weight is exactly 0 in every sum and sums run in order, so the head gives the
 * same bits for the shorter sequence. Tokens are removed from the current state, and one more from
 * each candidate. When a walk is made, it tests which tokens may be removed: each alone and in
 * random sets, compared with rows that contain them. Tokens that the head reads directly (often the
 * first one) stay.
 *
 * Every operation is that of a full pass, so margins have the same bits.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/rng.h"
#include "net/ops/axes.h"
#include "net/ops/ops.h"
#include "net/plan/source.h"
#include "net/walk/walk.h"

enum { NEVER = -1, SEVERAL = -2, UNKNOWN = -3 }; /* features that a value depends on */
static const size_t NONE = SIZE_MAX, STAYS = SIZE_MAX - 1;
enum { BLOCK = 32 };  /* rows per call of the head */
enum { LENGTHS = 2 }; /* numbers of tokens are multiples of this, so few plans are needed */

/* The input of the head. A row holds the values of all cuts. */
typedef struct {
    sis__cut *cuts;
    int *axes; /* (n_cuts) token axis of each */
    size_t n_cuts, width;
    int *feature, *token; /* (width) of each value of a row; token NEVER: none */
    size_t *run;          /* (width) number of values from here on with the same feature and
                           * token */
    float *x, *z;         /* (width) each value with its feature present, and masked */
} row_layout;

typedef struct {
    size_t n;              /* 0: the cuts have no common token axis */
    int *feature;          /* (n) feature of each token */
    unsigned char *may_go; /* (n) may be removed while masked */
    unsigned char *gone;   /* (n) removed in the current state */
    unsigned char *going;  /* (n) removed in the next one */
    size_t stay;           /* number of tokens in the current state */
    int shorter;           /* candidates lack their own token too */
    size_t *own; /* (features) the one token that is removed with it; NONE, STAYS: no token */
} token_axis;

/* The current state as a row of the needed length. */
typedef struct {
    unsigned char *masked; /* (features) */
    size_t version;
    size_t laid_out;     /* version that the following fields belong to */
    size_t *made;        /* (features) version when its row was last requested; 0: never */
    float *base;         /* (width) the row */
    size_t *start;       /* (features + 1) of each feature in `place` */
    size_t *place;       /* (width) offsets of its values in the row */
    float *value;        /* (width) their masked values */
    unsigned char *idle; /* (features) masking it changes nothing */
} present_row;

typedef struct {
    sis__rule_instance instance; /* first, see walk.h; its head is one of `heads` */
    const sis__net_input *s;
    sis__plan *plan; /* one row, from the input to the input of the last activation */
    sis__run *run;
    int **tags; /* (tensors) the feature of each value; NULL: values depend on several */
    row_layout row;
    token_axis tokens;
    sis__head **heads; /* (tokens + 1) by number of tokens; NULL: not made yet */
    present_row now;
} attention;

/* ---- Values of single tokens ----------------------------------------------------------------- */

static int join(int a, int b) {
    return a == NEVER || a == b ? b : b == NEVER ? a : SEVERAL;
}

/* Is every input of the step tagged or constant? */
static int inputs_known(const attention *a, const sis__step *s) {
    for (size_t i = 0; i < s->n_inputs; i++)
        if (s->inputs[i] >= 0 && !a->plan->tensors[s->inputs[i]].data && !a->tags[s->inputs[i]])
            return 0;
    return 1;
}

static const sis__tensor *in_of(const attention *a, const sis__step *s, size_t i) {
    return &a->plan->tensors[s->inputs[i]];
}

/* The feature of the values that are read from `at` on. */
static int joined(const sis__source *from, const int *of, size_t at) {
    size_t index[SIS__MAX_RANK] = {0}, n = 1;
    int tag = NEVER;
    for (size_t d = 0; d < from->n_over; d++)
        n *= from->over[d].size;
    for (size_t i = 0; i < n; i++) {
        tag = join(tag, of[at]);
        for (size_t d = from->n_over; d-- > 0;) {
            at += (size_t)from->over[d].step;
            if (++index[d] < from->over[d].size)
                break;
            at -= (size_t)from->over[d].step * from->over[d].size;
            index[d] = 0;
        }
    }
    return tag;
}

/* Join the features of input i into the tags of a result. */
static int tag_input(const attention *a, const sis__step *s, size_t i, int *tag) {
    const sis__tensor *x = in_of(a, s, i), *y = &a->plan->tensors[s->outputs[0]];
    sis__source from;
    if (!sis__source_of(a->plan, s, 0, i, &from))
        return 0;
    int *known = SIS_NEW_RAW(int, x->count); /* for each first value that is read */
    if (!known)
        return SIS_E_NOMEM;
    for (size_t k = 0; k < x->count; k++)
        known[k] = UNKNOWN;
    for (size_t k = 0; k < y->count; k++) {
        size_t at = sis__source_at(&from, k);
        if (at >= x->count)
            continue;
        if (known[at] == UNKNOWN)
            known[at] = joined(&from, a->tags[s->inputs[i]], at);
        tag[k] = join(tag[k], known[at]);
    }
    free(known);
    return 1;
}

/* 1: tag is filled; 0: some value depends on several features; negative: error code. */
static int tag_step(const attention *a, const sis__step *s, int *tag) {
    int taken = 1, any = 0;
    for (size_t k = 0; k < a->plan->tensors[s->outputs[0]].count; k++)
        tag[k] = NEVER;
    for (size_t i = 0; i < s->n_inputs && taken > 0; i++)
        if (s->inputs[i] >= 0 && a->tags[s->inputs[i]]) {
            taken = tag_input(a, s, i, tag);
            any = 1;
        }
    return any ? taken : 0;
}

static int all_single(const int *tag, size_t n) {
    for (size_t i = 0; i < n; i++)
        if (tag[i] == SEVERAL)
            return 0;
    return 1;
}

/* Tag all tensors whose values depend on one token each. *saved: products among them. */
static int tag_all(attention *a, double *saved) {
    const sis__plan *p = a->plan;
    sis__arena *memory = &a->instance.memory;
    int *fed = a->tags[a->s->fed] = SIS_ARENA_RAW(memory, int, a->s->in.n_values);
    if (!fed)
        return SIS_E_NOMEM;
    memcpy(fed, a->s->in.feature_of, a->s->in.n_values * sizeof *fed);
    for (size_t k = 0; k < p->n_steps; k++) {
        const sis__step *s = &p->steps[k];
        int out = s->outputs[0], one = s->n_outputs > 0 && out >= 0;
        for (size_t o = 1; o < s->n_outputs; o++)
            one &= s->outputs[o] < 0;
        if (!one || !inputs_known(a, s))
            continue;
        int *tag = SIS_NEW_RAW(int, p->tensors[out].count);
        int taken = tag ? tag_step(a, s, tag) : SIS_E_NOMEM;
        if (taken == 1 && all_single(tag, p->tensors[out].count)) {
            if (!(a->tags[out] = (int *)sis__arena_own(memory, tag)))
                return SIS_E_NOMEM;
            *saved += s->op == SIS__OP_MATMUL ? s->flops : 0;
            sis__net_input_note(a->s, s, "each token by itself");
            continue;
        }
        free(tag);
        if (taken < 0)
            return taken;
    }
    return SIS_OK;
}

/* ---- Where the head starts ------------------------------------------------------------------- */

/* Is it read by a step whose result depends on several tokens? */
static int is_read(const attention *a, int tensor) {
    for (size_t k = 0; k < a->plan->n_steps; k++) {
        const sis__step *s = &a->plan->steps[k];
        for (size_t i = 0; i < s->n_inputs; i++)
            if (s->inputs[i] == tensor && (s->outputs[0] < 0 || !a->tags[s->outputs[0]]))
                return 1;
    }
    return 0;
}

static int find_cuts(attention *a) {
    a->row.cuts = SIS_ARENA(&a->instance.memory, sis__cut, a->plan->n_tensors);
    a->row.axes = SIS_ARENA(&a->instance.memory, int, a->plan->n_tensors);
    if (!a->row.cuts || !a->row.axes)
        return SIS_E_NOMEM;
    for (size_t t = 0; t < a->plan->n_tensors; t++) {
        const sis__tensor *like = &a->plan->tensors[t];
        if (!a->tags[t] || !is_read(a, (int)t))
            continue;
        if (like->count == 0 || like->rank == 0 || like->dims[0] != 1 || like->dtype > SIS__BOOL ||
            like->wanted)
            return SIS_E_UNSUPPORTED;
        a->row.cuts[a->row.n_cuts++] = (sis__cut){.value = (int)t, .like = like};
        a->row.width += like->count;
    }
    return a->row.n_cuts && a->row.width < (size_t)1 << 28 ? SIS_OK : SIS_E_UNSUPPORTED;
}

static void read_cuts(const attention *a, float *to) {
    for (size_t c = 0; c < a->row.n_cuts; c++) {
        const sis__tensor *t = a->row.cuts[c].like;
        const void *data = a->run->data[a->row.cuts[c].value];
        for (size_t i = 0; i < t->count; i++)
            *to++ = t->dtype == SIS__F32   ? ((const float *)data)[i]
                    : t->dtype == SIS__I64 ? (float)((const int64_t *)data)[i]
                                           : (float)((const uint8_t *)data)[i];
    }
}

/* Values of all cuts for a row of the network; *apart: are hidden scores far below the others? */
static int run_row(attention *a, const unsigned char *masked, float *to, int *apart) {
    float *row = (float *)a->run->data[a->s->fed];
    sis__prepared_input_row(&a->s->in, masked, row);
    int error = sis__run_forward(a->run);
    if (!error)
        read_cuts(a, to);
    for (size_t k = 0; !error && k < a->plan->n_steps; k++) {
        const sis__step *s = &a->plan->steps[k];
        if (s->op != SIS__OP_SOFTMAX)
            continue; /* others may have no first input */
        const float *v = (const float *)a->run->data[s->inputs[0]];
        for (size_t i = 0; i < in_of(a, s, 0)->count; i++)
            *apart &= (v[i] > -1000 && v[i] < 1000) || v[i] < -9000;
    }
    return error;
}

/* Is `axis` the token axis of a tensor: do tags change only along it? */
static int tokens_along(const sis__tensor *t, const int *tag, size_t axis) {
    sis__axis around;
    sis__axis_around(t, axis, &around);
    for (size_t i = 0; i < t->count; i++) {
        size_t k = i / around.inner % around.size;
        if (tag[i] != tag[k * around.inner])
            return 0;
    }
    return 1;
}

/* The feature of each token, from a cut that has a token axis. */
static void find_tokens(attention *a) {
    for (size_t c = 0; c < a->row.n_cuts && !a->tokens.n; c++) {
        const sis__tensor *t = a->row.cuts[c].like;
        if (t->dtype == SIS__F32 && t->rank == 3 && t->dims[1] > 1 &&
            tokens_along(t, a->tags[a->row.cuts[c].value], 1))
            a->tokens.n = t->dims[1];
    }
}

/* Set the token axis of a cut; if an axis of that length has other features, there is none. */
static int set_axis(attention *a, size_t cut) {
    const sis__tensor *t = a->row.cuts[cut].like;
    const int *tag = a->tags[a->row.cuts[cut].value];
    int *axis = &a->row.axes[cut];
    sis__axis around;
    for (size_t d = 1; d < t->rank && *axis == 0; d++)
        if (t->dims[d] == a->tokens.n && tokens_along(t, tag, d))
            *axis = (int)d;
    if (*axis == 0)
        return 0;
    sis__axis_around(t, (size_t)*axis, &around);
    for (size_t k = 0; k < a->tokens.n; k++) {
        int f = tag[k * around.inner];
        if (a->tokens.feature[k] < 0) /* not known yet, or only from cuts that never change */
            a->tokens.feature[k] = f;
        if (f != NEVER && f != a->tokens.feature[k])
            return 0;
    }
    return 1;
}

/* Set feature and token of all values of a row. Without a common token axis no token is removed. */
static int place_values(attention *a) {
    size_t at = 0;
    find_tokens(a);
    a->tokens.feature = SIS_ARENA_RAW(&a->instance.memory, int, a->tokens.n);
    if (!a->tokens.feature)
        return SIS_E_NOMEM;
    for (size_t k = 0; k < a->tokens.n; k++)
        a->tokens.feature[k] = SEVERAL;
    for (size_t c = 0; c < a->row.n_cuts && a->tokens.n; c++)
        if (!set_axis(a, c))
            a->tokens.n = 0;
    for (size_t c = 0; c < a->row.n_cuts; c++) {
        const sis__tensor *t = a->row.cuts[c].like;
        sis__axis around = {.inner = 1, .size = 1};
        if (a->tokens.n)
            sis__axis_around(t, (size_t)a->row.axes[c], &around);
        for (size_t i = 0; i < t->count; i++, at++) {
            a->row.feature[at] = a->tags[a->row.cuts[c].value][i];
            a->row.token[at] = a->tokens.n ? (int)(i / around.inner % around.size) : NEVER;
        }
    }
    for (size_t i = a->row.width; i-- > 0;)
        a->row.run[i] = i + 1 < a->row.width && a->row.feature[i] == a->row.feature[i + 1] &&
                                a->row.token[i] == a->row.token[i + 1]
                            ? a->row.run[i + 1] + 1
                            : 1;
    return SIS_OK;
}

/* ---- States ---------------------------------------------------------------------------------- */

/* The head for this number of tokens. */
static int make_head(attention *a, size_t tokens, sis__head **head) {
    size_t at = a->tokens.n ? tokens : 0;
    int error = SIS_OK;
    if (!a->heads[at])
        error = sis__head_new(a->s,
                              &(sis__head_spec){.cuts = a->row.cuts,
                                                .n_cuts = a->row.n_cuts,
                                                .axes = at ? a->row.axes : NULL,
                                                .size = tokens,
                                                .fused = 1},
                              &a->heads[at]);
    if (!error)
        *head = a->heads[at];
    return error;
}

/* Number of features that attention still sees: without those of no token and those whose value
 * equals the mask. */
static size_t features_left(const attention *a) {
    size_t left = 0;
    for (size_t j = 0; j < a->s->in.n; j++)
        left += !a->now.masked[j] && !a->now.idle[j];
    return left;
}

/* Remove masked tokens that may be removed, as long as attention sees another token whatever is
 * masked next, down to a multiple of LENGTHS for candidates. Returns the number of remaining
 * tokens. */
static size_t let_go(const attention *a, unsigned char *gone) {
    size_t stay = a->tokens.n, less = (size_t)a->tokens.shorter;
    int none = features_left(a) < 2;
    for (size_t k = 0; k < a->tokens.n; k++) {
        int f = a->tokens.feature[k];
        gone[k] = a->tokens.may_go[k] && !none && (f < 0 || a->now.masked[f]);
        stay -= gone[k];
    }
    for (size_t k = 0; k < a->tokens.n && ((stay - less) % LENGTHS || stay < 2 + less); k++) {
        stay += gone[k];
        gone[k] = 0;
    }
    return stay;
}

/* Find the features whose values equal their masked values. */
static void find_idle(attention *a) {
    memset(a->now.idle, 1, a->s->in.n);
    for (size_t i = 0; i < a->row.width; i++)
        if (a->row.feature[i] >= 0 && !(a->row.x[i] == a->row.z[i]))
            a->now.idle[a->row.feature[i]] = 0;
}

/* Build the base row and the offsets of each feature in it. */
static void lay_out(attention *a) {
    size_t n = a->s->in.n, now = 0, at = 0;
    memset(a->now.start, 0, (n + 1) * sizeof *a->now.start);
    for (size_t i = 0, some; i < a->row.width; i += some) {
        int f = a->row.feature[i];
        some = a->row.run[i];
        if (a->row.token[i] >= 0 && a->tokens.gone[a->row.token[i]])
            continue;
        memcpy(a->now.base + now, (f >= 0 && a->now.masked[f] ? a->row.z : a->row.x) + i,
               some * sizeof *a->now.base);
        now += some;
        if (f >= 0)
            a->now.start[f + 1] += some;
    }
    for (size_t j = 0; j < n; j++)
        a->now.start[j + 1] += a->now.start[j];
    for (size_t i = 0, some; i < a->row.width; i += some) {
        int f = a->row.feature[i];
        some = a->row.run[i];
        if (a->row.token[i] >= 0 && a->tokens.gone[a->row.token[i]])
            continue;
        for (size_t e = 0; f >= 0 && e < some; e++)
            a->now.place[a->now.start[f] + e] = at + e;
        if (f >= 0) {
            memcpy(a->now.value + a->now.start[f], a->row.z + i, some * sizeof *a->now.value);
            a->now.start[f] += some;
        }
        at += some;
    }
    for (size_t j = n; j > 0; j--)
        a->now.start[j] = a->now.start[j - 1];
    a->now.start[0] = 0;
    a->now.laid_out = a->now.version;
}

static int is_laid_out(const attention *a) {
    return a->now.laid_out == a->now.version;
}

/* Find the candidates that lack a token: those with exactly one token that may be removed, as long
 * as attention sees another one. */
static void find_own(attention *a) {
    int some = a->tokens.shorter && features_left(a) >= 2 && a->tokens.stay > 2;
    for (size_t j = 0; j < a->s->in.n; j++)
        a->tokens.own[j] = some ? NONE : STAYS;
    for (size_t k = 0, place = 0; k < a->tokens.n && some; place += !a->tokens.gone[k++]) {
        int f = a->tokens.feature[k];
        if (f >= 0 && !a->tokens.gone[k])
            a->tokens.own[f] = a->tokens.may_go[k] && a->tokens.own[f] == NONE ? place : STAYS;
    }
}

/* Free heads of other lengths, which are not needed soon; the next ones reuse their memory, which
 * is still in the cache. */
static void drop_heads(attention *a) {
    for (size_t k = 0; a->tokens.n && k <= a->tokens.n; k++)
        if (a->heads[k] && a->heads[k] != a->instance.head && k + 1 != a->tokens.stay) {
            sis__head_free(a->heads[k]);
            a->heads[k] = NULL;
        }
}

static int enter_state(attention *a) {
    a->tokens.stay = let_go(a, a->tokens.gone);
    int error = make_head(a, a->tokens.stay, &a->instance.head);
    if (!error)
        drop_heads(a);
    a->now.version++;
    find_own(a);
    return error;
}

static int attention_reset(sis__rule_instance *r, const unsigned char *masked) {
    attention *a = (attention *)r;
    memcpy(a->now.masked, masked, a->s->in.n);
    return enter_state(a);
}

/* While no token is removed, only the values of the feature change. */
static int attention_mask(sis__rule_instance *r, int feature) {
    attention *a = (attention *)r;
    a->now.masked[feature] = 1;
    let_go(a, a->tokens.going);
    if (memcmp(a->tokens.going, a->tokens.gone, a->tokens.n) != 0)
        return enter_state(a);
    for (size_t i = a->now.start[feature]; i < a->now.start[feature + 1] && is_laid_out(a); i++)
        a->now.base[a->now.place[i]] = a->now.value[i];
    a->now.laid_out += (size_t)is_laid_out(a);
    a->now.version++;
    find_own(a);
    return SIS_OK;
}

/* Writes nothing: attention_margins() passes the changes to the head. */
static sis__change attention_row(sis__rule_instance *r, int feature, float *row) {
    attention *a = (attention *)r;
    (void)row;
    if (feature < 0)
        return SIS__CHANGED;
    if (a->now.idle[feature])
        return SIS__NOTHING;
    if (a->now.made[feature] == a->now.version)
        return SIS__AS_BEFORE;
    a->now.made[feature] = a->now.version;
    return SIS__CHANGED;
}

/* Candidates that are run together: up to BLOCK with a token removed, or up to BLOCK without. */
typedef struct {
    attention *a;
    int lacking;
    size_t n, asked[BLOCK]; /* positions in the request */
    size_t tokens[BLOCK];
    sis__row_change changes[BLOCK];
} group;

static void add_to_group(group *g, int feature, size_t asked) {
    const attention *a = g->a;
    size_t from = feature >= 0 ? a->now.start[feature] : 0,
           to = feature >= 0 ? a->now.start[feature + 1] : 0;
    g->tokens[g->n] = g->lacking ? a->tokens.own[feature] : STAYS;
    g->changes[g->n] = (sis__row_change){to - from, a->now.place + from, a->now.value + from};
    g->asked[g->n++] = asked;
}

static void write_group(void *ctx, size_t first, size_t n, sis__row_slots *to) {
    const group *g = (const group *)ctx;
    (void)n;
    if (g->lacking)
        sis__slots_without(to, g->a->now.base, g->a->now.version, g->tokens + first);
    else
        sis__slots_near(to, g->a->now.base, g->a->now.version, g->changes + first);
}

static int run_group(group *g, double *margins) {
    double found[BLOCK];
    sis__head *head = NULL;
    if (g->n == 0)
        return SIS_OK;
    int error = make_head(g->a, g->a->tokens.stay - (size_t)g->lacking, &head);
    if (!error)
        error = sis__head_margins(head, &(sis__row_writer){.write = write_group, .ctx = g}, g->n,
                                  found);
    for (size_t k = 0; k < g->n && !error; k++)
        margins[g->asked[k]] = found[k];
    return error;
}

static int attention_margins(sis__rule_instance *r, const int *features, float *rows, size_t n,
                             double *margins) {
    attention *a = (attention *)r;
    int error = SIS_OK;
    (void)rows;
    if (!is_laid_out(a))
        lay_out(a);
    for (size_t i = 0; i < n && !error; i += BLOCK) {
        group stay = {.a = a}, leave = {.a = a, .lacking = 1};
        for (size_t k = i; k < n && k < i + BLOCK; k++)
            add_to_group(features[k] >= 0 && a->tokens.own[features[k]] < STAYS ? &leave : &stay,
                         features[k], k);
        error = run_group(&stay, margins);
        if (!error)
            error = run_group(&leave, margins);
    }
    return error;
}

/* ---- Which tokens may be removed ------------------------------------------------------------- */

/* The margin of the current state with these tokens removed. */
static int margin_without(attention *a, const unsigned char *gone, double *margin) {
    size_t stay = 0;
    for (size_t k = 0; k < a->tokens.n; k++)
        stay += !gone[k];
    memcpy(a->tokens.gone, gone, a->tokens.n);
    int error = make_head(a, stay, &a->instance.head);
    a->now.version++;
    lay_out(a);
    return !error ? sis__head_margins_rows(a->instance.head, a->now.base, 1, margin) : error;
}

/* Does the margin of a state keep its bits if these tokens are removed? */
static int goes(attention *a, const unsigned char *gone, int *same) {
    double whole = 0, rest = 0;
    unsigned char *none = SIS_NEW(unsigned char, a->tokens.n);
    int error = none ? margin_without(a, none, &whole) : SIS_E_NOMEM;
    if (!error)
        error = margin_without(a, gone, &rest);
    *same = !error && memcmp(&whole, &rest, sizeof whole) == 0;
    free(none);
    return error == SIS_E_UNSUPPORTED ? SIS_OK : error; /* it accepts one length only */
}

/* Which of tokens first..last-1 may be removed, with nothing else masked? Bisects until the others
 * are found or *budget is used up. */
static int try_range(attention *a, size_t first, size_t last, int *budget) {
    unsigned char *gone = SIS_NEW(unsigned char, a->tokens.n);
    int same = 0, error = gone ? SIS_OK : SIS_E_NOMEM;
    memset(a->now.masked, 0, a->s->in.n);
    for (size_t k = first; k < last && !error; k++) {
        gone[k] = 1;
        if (a->tokens.feature[k] >= 0)
            a->now.masked[a->tokens.feature[k]] = 1;
    }
    if (!error && --*budget >= 0 && features_left(a) > 0)
        error = goes(a, gone, &same);
    free(gone);
    for (size_t k = first; same && k < last; k++)
        a->tokens.may_go[k] = 1;
    if (error || same || last - first < 2 || *budget < 0)
        return error;
    size_t middle = first + (last - first) / 2;
    error = try_range(a, middle, last, budget);
    return !error ? try_range(a, first, middle, budget) : error;
}

/* Remove all that may be removed in a random state. *same = 0: the margin changed. */
static int try_state(attention *a, sis__rng *r, double share, int *same) {
    unsigned char *gone = SIS_NEW(unsigned char, a->tokens.n);
    if (!gone)
        return SIS_E_NOMEM;
    for (size_t j = 0; j < a->s->in.n; j++)
        a->now.masked[j] = sis__rng_uniform(r) < share;
    let_go(a, gone);
    int error = goes(a, gone, same);
    free(gone);
    return error;
}

/* Try the last token and the middle one: if neither may be removed, masking hides nothing. */
static int try_two(attention *a, int *some) {
    const size_t two[] = {a->tokens.n - 1, a->tokens.n / 2};
    int error = SIS_OK;
    for (size_t i = 0; i < 2 && !error && !*some; i++) {
        int budget = 1;
        error = try_range(a, two[i], two[i] + 1, &budget);
        *some = a->tokens.may_go[two[i]];
    }
    return error;
}

/* The second half first. */
static int try_tokens(attention *a) {
    size_t some = 0;
    int budget = 6, same = 1, hides = 0;
    sis__rng r;
    sis__rng_init(&r, 0xA7);
    for (size_t n = a->tokens.n; n > 1; n /= 2)
        budget += 4;
    int error = try_two(a, &hides);
    if (!error && hides)
        error = try_range(a, 0, a->tokens.n, &budget);
    for (size_t k = 0; k < a->tokens.n; k++)
        some += a->tokens.may_go[k];
    for (int i = 0; i < 4 && some && same && !error; i++)
        error = try_state(a, &r, 0.2 + 0.2 * i, &same);
    if (!same)
        memset(a->tokens.may_go, 0, a->tokens.n);
    return error;
}

/* ---- Opening --------------------------------------------------------------------------------- */

static void attention_close(sis__rule_instance *r) {
    attention *a = (attention *)r;
    for (size_t k = 0; a->heads && k <= a->tokens.n; k++)
        if (a->heads[k] != r->head)
            sis__head_free(a->heads[k]);
    sis__run_free(a->run);
    sis__plan_free(a->plan);
}

/* Is there a softmax between products of computed tensors? */
static const sis__step *find_attention(const sis__plan *p) {
    for (size_t k = 0; k < p->n_steps; k++) {
        const sis__step *s = &p->steps[k];
        const sis__step *next =
            s->op == SIS__OP_SOFTMAX ? sis__plan_reader(p, s->outputs[0]) : NULL;
        if (next && next->op == SIS__OP_MATMUL && next->inputs[0] == s->outputs[0] &&
            !p->tensors[next->inputs[1]].data)
            return s;
    }
    return NULL;
}

static int make_room(attention *a) {
    size_t n = a->s->in.n, w = a->row.width;
    sis__arena *memory = &a->instance.memory;
    a->row.feature = SIS_ARENA_RAW(memory, int, w);
    a->row.token = SIS_ARENA_RAW(memory, int, w);
    a->row.run = SIS_ARENA_RAW(memory, size_t, w);
    a->row.x = SIS_ARENA_RAW(memory, float, w);
    a->row.z = SIS_ARENA_RAW(memory, float, w);
    a->now.base = SIS_ARENA_RAW(memory, float, w);
    a->now.place = SIS_ARENA_RAW(memory, size_t, w);
    a->now.value = SIS_ARENA_RAW(memory, float, w);
    a->now.idle = SIS_ARENA(memory, unsigned char, n);
    a->tokens.own = SIS_ARENA(memory, size_t, n);
    a->now.made = SIS_ARENA(memory, size_t, n);
    a->now.start = SIS_ARENA(memory, size_t, n + 1);
    a->now.masked = SIS_ARENA(memory, unsigned char, n);
    return sis__arena_error(memory);
}

/* Find both values of everything in a row. A token may be removed only if hidden scores are far
 * below the others. */
static int find_values(attention *a, int *apart) {
    int error = run_row(a, a->now.masked, a->row.x, apart);
    memset(a->now.masked, 1, a->s->in.n);
    if (!error)
        error = run_row(a, a->now.masked, a->row.z, apart);
    memset(a->now.masked, 0, a->s->in.n);
    return error;
}

static int find_tokens_that_go(attention *a, int apart) {
    sis__arena *memory = &a->instance.memory;
    a->tokens.may_go = SIS_ARENA(memory, unsigned char, a->tokens.n);
    a->tokens.gone = SIS_ARENA(memory, unsigned char, a->tokens.n);
    a->heads = SIS_ARENA(memory, sis__head *, a->tokens.n + 1);
    a->tokens.going = SIS_ARENA(memory, unsigned char, a->tokens.n);
    int error = sis__arena_error(memory);
    if (!error)
        error = make_head(a, a->tokens.n, &a->instance.head);
    if (!error && a->tokens.n > 2 && a->s->in.n > 2 && apart)
        error = try_tokens(a);
    a->tokens.shorter = !error && a->tokens.n > 2 && sis__head_leaves_out(a->instance.head);
    memset(a->now.masked, 0, a->s->in.n);
    if (!error)
        error = enter_state(a);
    return error;
}

static int open_rule(attention *a, double *saved) {
    int error = sis__net_input_plan(a->s, -1, &a->plan), apart = 1;
    if (!error && (!find_attention(a->plan) || a->plan->tensors[a->s->fed].dtype != SIS__F32))
        error = SIS_E_UNSUPPORTED;
    if (!error)
        error = sis__run_new(a->plan, &a->run);
    if (!error) {
        a->tags = SIS_ARENA(&a->instance.memory, int *, a->plan->n_tensors);
        error = a->tags ? tag_all(a, saved) : SIS_E_NOMEM;
    }
    if (!error)
        error = find_cuts(a);
    if (!error && a->row.width > a->s->memory / 64)
        error = SIS_E_UNSUPPORTED;
    if (!error)
        error = make_room(a);
    if (!error)
        error = find_values(a, &apart);
    if (!error)
        error = place_values(a);
    if (!error)
        find_idle(a);
    return !error ? find_tokens_that_go(a, apart) : error;
}

static int attention_open(sis__rule_instance *r) {
    attention *a = (attention *)r;
    double saved = 0;
    a->s = r->s;
    int error = open_rule(a, &saved);
    size_t some = 0;
    for (size_t k = 0; !error && k < a->tokens.n; k++)
        some += a->tokens.may_go[k];
    if (some)
        sis__net_input_note(a->s, find_attention(a->plan), "%zu tokens leave when masked", some);
    if (!error && saved <= 0 && !some)
        error = SIS_E_UNSUPPORTED; /* plain batches do the same */
    a->instance.exact = 1;
    a->instance.block = BLOCK;
    return error;
}

const sis__rule sis__rule_attention = {.name = "attention",
                                       .bytes = sizeof(attention),
                                       .min_copies = 500,
                                       .open = attention_open,
                                       .close = attention_close,
                                       .reset = attention_reset,
                                       .mask = attention_mask,
                                       .row = attention_row,
                                       .margins = attention_margins};
