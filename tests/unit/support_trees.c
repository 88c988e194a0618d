/* SPDX-License-Identifier: MIT
 *
 * See support_trees.h.
 */
#include "support_trees.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"

/* ---- Growing --------------------------------------------------------------------------------- */

static int pick(sis__rng *r, int n) {
    return (int)sis__rng_below(r, (size_t)n);
}

static double draw(int single, sis__rng *r) {
    double v = pick(r, 3) ? sis__rng_normal(r) : pick(r, 7) - 3;
    return single ? (double)(float)v : v;
}

static int grow(const made_forest *f, made_tree *t, int depth, int single, sis__rng *r) {
    int at = t->n++;
    t->nodes[at] = (made_node){.left = -1, .right = -1, .value = draw(single, r)};
    if (depth == 0 || t->n + 2 * depth > MADE_NODES || pick(r, 6) == 0)
        return at;
    made_node n = {.feature = pick(r, (int)f->columns),
                   .default_left = pick(r, 2),
                   .categorical = pick(r, 4) == 0,
                   .missing = pick(r, 3),
                   .set = sis__rng_next(r) & sis__rng_next(r),
                   .value = draw(single, r)};
    n.set >>= pick(r, 2) ? 40 : 0;
    n.left = grow(f, t, depth - 1, single, r);
    n.right = grow(f, t, depth - 1, single, r);
    t->nodes[at] = n;
    return at;
}

void made_forest_init(made_forest *f, int single, sis__rng *r) {
    *f = (made_forest){.columns = 1 + sis__rng_below(r, MADE_COLUMNS),
                       .outputs = pick(r, 2) ? 1 : 2 + sis__rng_below(r, 3),
                       .dart = pick(r, 3) == 0,
                       .named = pick(r, 2),
                       .average = pick(r, 3) == 0,
                       .base = (double)(float)(0.1 + 0.8 * sis__rng_uniform(r))};
    f->classes = f->outputs > 1;
    f->objective = f->classes ? "multi:softprob" : "reg:squarederror";
    f->n = f->outputs * (1 + sis__rng_below(r, MADE_TREES / f->outputs));
    f->linear = single && pick(r, 6) == 0;
    for (size_t i = 0; i < f->n; i++) {
        f->trees[i].drop = f->dart ? (float)sis__rng_uniform(r) : 1;
        grow(f, &f->trees[i], pick(r, 6), single, r);
    }
    for (size_t j = 0; j <= f->columns; j++)
        for (size_t k = 0; k < f->outputs; k++)
            f->slopes[j][k] = (double)(float)sis__rng_normal(r);
}

double made_value(const made_forest *f, sis__rng *r) {
    const made_tree *t = &f->trees[pick(r, (int)f->n)];
    double near = t->nodes[pick(r, t->n)].value;
    switch (pick(r, 7)) {
    case 0:
        return NAN;
    case 1:
        return near;
    case 2:
        return nextafter(near, pick(r, 2) ? INFINITY : -INFINITY);
    case 3:
        return pick(r, 2) ? 0 : -1e-36;
    case 4:
        return pick(r, 80) - 4; /* a category, known or not */
    case 5:
        return pick(r, 10) + 0.5;
    default:
        return sis__rng_normal(r);
    }
}

/* ---- XGBoost --------------------------------------------------------------------------------- */

/* JSON or UBJSON. */
typedef struct {
    sis__buf b;
    int binary;
} writer;

static void put_number(writer *w, char type, uint64_t bits, int bytes) {
    sis__buf_char(&w->b, type);
    while (bytes-- > 0)
        sis__buf_char(&w->b, (char)(bits >> 8 * bytes));
}

static void comma(writer *w) {
    char last = w->b.len ? w->b.data[w->b.len - 1] : '{';
    if (!w->binary && !strchr("{[:", last))
        sis__buf_char(&w->b, ',');
}

static void put_text(writer *w, const char *text) {
    if (w->binary) {
        sis__buf_char(&w->b, 'S');
        put_number(w, 'L', strlen(text), 8);
        sis__buf_str(&w->b, text);
    } else {
        comma(w);
        sis__buf_json(&w->b, text);
    }
}

static void name(writer *w, const char *text) {
    if (w->binary) {
        put_number(w, 'U', strlen(text), 1);
        sis__buf_str(&w->b, text);
    } else {
        comma(w);
        sis__buf_printf(&w->b, "\"%s\":", text);
    }
}

static void open_object(writer *w) {
    comma(w);
    sis__buf_char(&w->b, '{');
}

static void field(writer *w, const char *key, const char *format, double v) {
    char text[64];
    snprintf(text, sizeof text, format, v);
    name(w, key);
    put_text(w, text);
}

/* A list of numbers: floats, integers or bytes in the binary form. */
static void numbers(writer *w, const char *key, char type, const double *v, size_t n) {
    name(w, key);
    sis__buf_char(&w->b, '[');
    if (w->binary) {
        sis__buf_char(&w->b, '$');
        sis__buf_char(&w->b, type);
        sis__buf_char(&w->b, '#');
        put_number(w, 'L', n, 8);
    }
    for (size_t i = 0; i < n; i++) {
        float single = (float)v[i];
        uint32_t bits = (uint32_t)(int32_t)(isnan(v[i]) || type == 'd' ? 0 : v[i]);
        if (type == 'd')
            memcpy(&bits, &single, sizeof bits);
        if (!w->binary)
            sis__buf_printf(&w->b, "%s%.9g", i ? "," : "", v[i]);
        for (int k = type == 'U' ? 0 : 3; w->binary && k >= 0; k--)
            sis__buf_char(&w->b, (char)(bits >> 8 * k));
    }
    if (!w->binary)
        sis__buf_char(&w->b, ']');
}

typedef struct {
    double left[MADE_NODES], right[MADE_NODES], feature[MADE_NODES], value[MADE_NODES],
        default_left[MADE_NODES], type[MADE_NODES];
    double cats[MADE_NODES * MADE_CATEGORIES], nodes[MADE_NODES], from[MADE_NODES],
        sizes[MADE_NODES];
    size_t n, n_cats, n_sets;
} lists;

static void list_tree(const made_tree *t, lists *l) {
    l->n = (size_t)t->n;
    l->n_cats = l->n_sets = 0;
    for (size_t i = 0; i < l->n; i++) {
        const made_node *n = &t->nodes[i];
        l->left[i] = n->left;
        l->right[i] = n->right;
        l->feature[i] = n->feature;
        l->value[i] = n->value;
        l->default_left[i] = n->default_left;
        l->type[i] = n->categorical && n->left >= 0;
        if (l->type[i] == 0)
            continue;
        l->nodes[l->n_sets] = (double)i;
        l->from[l->n_sets] = (double)l->n_cats;
        for (int c = 0; c < MADE_CATEGORIES; c++)
            if (n->set >> c & 1)
                l->cats[l->n_cats++] = c;
        l->sizes[l->n_sets] = (double)l->n_cats - l->from[l->n_sets];
        l->n_sets++;
    }
}

static void put_tree(writer *w, const made_tree *t) {
    static lists l;
    list_tree(t, &l);
    open_object(w);
    numbers(w, "categories", 'l', l.cats, l.n_cats);
    numbers(w, "categories_nodes", 'l', l.nodes, l.n_sets);
    numbers(w, "categories_segments", 'l', l.from, l.n_sets);
    numbers(w, "categories_sizes", 'l', l.sizes, l.n_sets);
    numbers(w, "default_left", 'U', l.default_left, l.n);
    numbers(w, "left_children", 'l', l.left, l.n);
    numbers(w, "right_children", 'l', l.right, l.n);
    numbers(w, "split_conditions", 'd', l.value, l.n);
    numbers(w, "split_indices", 'l', l.feature, l.n);
    numbers(w, "split_type", 'U', l.type, l.n);
    sis__buf_char(&w->b, '}');
}

static void put_model(writer *w, const made_forest *f) {
    double info[MADE_TREES];
    for (size_t i = 0; i < f->n; i++)
        info[i] = (double)(i % f->outputs);
    name(w, "model");
    open_object(w);
    numbers(w, "tree_info", 'l', info, f->n);
    name(w, "trees");
    sis__buf_char(&w->b, '[');
    for (size_t i = 0; i < f->n; i++)
        put_tree(w, &f->trees[i]);
    sis__buf_str(&w->b, "]}");
}

static void put_linear(writer *w, const made_forest *f) {
    double v[(MADE_COLUMNS + 1) * 8];
    size_t n = 0;
    for (size_t j = 0; j <= f->columns; j++)
        for (size_t k = 0; k < f->outputs; k++)
            v[n++] = f->slopes[j][k];
    name(w, "model");
    open_object(w);
    numbers(w, "weights", 'd', v, n);
    sis__buf_char(&w->b, '}');
}

static void put_booster(writer *w, const made_forest *f) {
    double drops[MADE_TREES];
    for (size_t i = 0; i < f->n; i++)
        drops[i] = (double)f->trees[i].drop;
    name(w, "gradient_booster");
    open_object(w);
    name(w, "name");
    put_text(w, f->linear ? "gblinear" : f->dart ? "dart" : "gbtree");
    if (f->linear)
        put_linear(w, f);
    else if (f->dart) {
        numbers(w, "weight_drop", 'd', drops, f->n);
        name(w, "gbtree");
        open_object(w);
        put_model(w, f);
        sis__buf_char(&w->b, '}');
    } else
        put_model(w, f);
    sis__buf_char(&w->b, '}');
}

static void put_names(writer *w, const made_forest *f) {
    char text[32];
    name(w, "feature_names");
    sis__buf_char(&w->b, '[');
    for (size_t j = 0; f->named && j < f->columns; j++) {
        snprintf(text, sizeof text, "col_%zu", j);
        put_text(w, text);
    }
    sis__buf_char(&w->b, ']');
}

char *made_xgboost(const made_forest *f, int binary, size_t *n) {
    writer w = {.binary = binary};
    char *bytes;
    sis__buf_init(&w.b);
    open_object(&w);
    name(&w, "learner");
    open_object(&w);
    put_names(&w, f);
    put_booster(&w, f);
    name(&w, "learner_model_param");
    open_object(&w);
    field(&w, "base_score", binary ? "[%.9E]" : "%.9g", f->base);
    field(&w, "num_class", "%.0f", f->classes ? (double)f->outputs : 0);
    field(&w, "num_feature", "%.0f", (double)f->columns);
    sis__buf_char(&w.b, '}');
    name(&w, "objective");
    open_object(&w);
    name(&w, "name");
    put_text(&w, f->objective);
    sis__buf_str(&w.b, "}}}");
    assert_int_equal(sis__buf_give(&w.b, &bytes, n), SIS_OK);
    return bytes;
}

/* Left if the value is below the condition; right if it is a category of the set. */
static int xgboost_left(const made_node *n, float x) {
    if (isnan(x))
        return n->default_left;
    if (!n->categorical)
        return x < (float)n->value;
    return x < 0 || x >= MADE_CATEGORIES || !(n->set >> (int)x & 1);
}

void made_xgboost_sums(const made_forest *f, const double *row, double *sums) {
    for (size_t k = 0; k < f->outputs; k++) {
        float sum = (float)f->base;
        if (f->linear)
            sum = (float)f->slopes[f->columns][k] + sum;
        for (size_t i = k; i < f->n && !f->linear; i += f->outputs) {
            const made_node *n = f->trees[i].nodes;
            while (n->left >= 0)
                n = f->trees[i].nodes +
                    (xgboost_left(n, (float)row[n->feature]) ? n->left : n->right);
            sum += (float)n->value * f->trees[i].drop;
        }
        for (size_t j = 0; f->linear && j < f->columns; j++)
            if (!isnan(row[j]))
                sum += (float)row[j] * (float)f->slopes[j][k];
        sums[k] = (double)sum;
    }
}

/* ---- LightGBM -------------------------------------------------------------------------------- */

/* LightGBM numbers splits and leaves separately. */
static void number_nodes(const made_tree *t, int *number) {
    int splits = 0, leaves = 0;
    for (int i = 0; i < t->n; i++)
        number[i] = t->nodes[i].left >= 0 ? splits++ : -1 - leaves++;
}

static void put_list(sis__buf *b, const made_tree *t, const char *key, int leaves,
                     double (*of)(const made_tree *, int, const int *), const int *number) {
    const char *between = "";
    sis__buf_printf(b, "%s=", key);
    for (int i = 0; i < t->n; i++)
        if ((t->nodes[i].left < 0) == leaves) {
            sis__buf_printf(b, "%s%.17g", between, of(t, i, number));
            between = " ";
        }
    sis__buf_char(b, '\n');
}

static double feature_of(const made_tree *t, int i, const int *number) {
    (void)number;
    return t->nodes[i].feature;
}

static double type_of(const made_tree *t, int i, const int *number) {
    const made_node *n = &t->nodes[i];
    (void)number;
    return n->categorical | n->default_left << 1 | n->missing << 2;
}

static double value_of(const made_tree *t, int i, const int *number) {
    (void)number;
    return t->nodes[i].value;
}

/* A threshold, or the index of the category set among those of the splits so far. */
static double threshold_of(const made_tree *t, int i, const int *number) {
    int sets = 0;
    (void)number;
    for (int k = 0; k < i; k++)
        sets += t->nodes[k].left >= 0 && t->nodes[k].categorical;
    return t->nodes[i].categorical ? sets : t->nodes[i].value;
}

static double left_of(const made_tree *t, int i, const int *number) {
    return number[t->nodes[i].left];
}

static double right_of(const made_tree *t, int i, const int *number) {
    return number[t->nodes[i].right];
}

static void put_sets(sis__buf *b, const made_tree *t) {
    int words = 0;
    sis__buf_str(b, "cat_boundaries=0");
    for (int i = 0; i < t->n; i++)
        if (t->nodes[i].left >= 0 && t->nodes[i].categorical) {
            words += t->nodes[i].set >> 32 ? 2 : 1;
            sis__buf_printf(b, " %d", words);
        }
    sis__buf_str(b, "\ncat_threshold=");
    for (int i = 0; i < t->n; i++)
        if (t->nodes[i].left >= 0 && t->nodes[i].categorical) {
            sis__buf_printf(b, "%u ", (unsigned)(uint32_t)t->nodes[i].set);
            if (t->nodes[i].set >> 32)
                sis__buf_printf(b, "%u ", (unsigned)(t->nodes[i].set >> 32));
        }
    sis__buf_char(b, '\n');
}

static void put_text_tree(sis__buf *b, const made_tree *t, size_t at) {
    int number[MADE_NODES], leaves = 0, sets = 0;
    number_nodes(t, number);
    for (int i = 0; i < t->n; i++) {
        leaves += t->nodes[i].left < 0;
        sets += t->nodes[i].left >= 0 && t->nodes[i].categorical;
    }
    sis__buf_printf(b, "Tree=%zu\nnum_leaves=%d\nnum_cat=%d\n", at, leaves, sets);
    if (leaves > 1) {
        put_list(b, t, "split_feature", 0, feature_of, number);
        put_list(b, t, "threshold", 0, threshold_of, number);
        put_list(b, t, "decision_type", 0, type_of, number);
        put_list(b, t, "left_child", 0, left_of, number);
        put_list(b, t, "right_child", 0, right_of, number);
    }
    put_list(b, t, "leaf_value", 1, value_of, number);
    if (sets)
        put_sets(b, t);
    sis__buf_str(b, "is_linear=0\nshrinkage=1\n\n\n");
}

char *made_lightgbm(const made_forest *f, size_t *n) {
    sis__buf b;
    char *bytes;
    sis__buf_init(&b);
    sis__buf_printf(&b,
                    "tree\nversion=v4\nnum_class=%zu\nnum_tree_per_iteration=%zu\n"
                    "label_index=0\nmax_feature_idx=%zu\n",
                    f->outputs, f->outputs, f->columns - 1);
    if (f->classes)
        sis__buf_printf(&b, "objective=multiclass num_class:%zu\n", f->outputs);
    else
        sis__buf_str(&b, "objective=regression\n");
    if (f->average)
        sis__buf_str(&b, "average_output\n");
    sis__buf_str(&b, "feature_names=");
    for (size_t j = 0; j < f->columns; j++)
        sis__buf_printf(&b, "%sColumn_%zu", j ? " " : "", j);
    sis__buf_str(&b, "\nfeature_infos=none\n\n");
    for (size_t i = 0; i < f->n; i++)
        put_text_tree(&b, &f->trees[i], i);
    sis__buf_str(&b, "end of trees\n\nfeature_importances:\n\nparameters:\n[boosting: gbdt]\n"
                     "end of parameters\n");
    assert_int_equal(sis__buf_give(&b, &bytes, n), SIS_OK);
    return bytes;
}

/* Left if the value is not above the threshold, or is a category of the set. */
static int lightgbm_left(const made_node *n, double x) {
    if (n->categorical)
        return !isnan(x) && (int)x >= 0 && (int)x < MADE_CATEGORIES && n->set >> (int)x & 1;
    if (isnan(x) && n->missing != 2)
        x = 0;
    int zero = x > -1e-35 && x < 1e-35;
    if ((n->missing == 1 && zero) || (n->missing == 2 && isnan(x)))
        return n->default_left;
    return x <= n->value;
}

void made_lightgbm_sums(const made_forest *f, const double *row, double *sums) {
    for (size_t k = 0; k < f->outputs; k++) {
        sums[k] = 0;
        for (size_t i = k; i < f->n; i += f->outputs) {
            const made_node *n = f->trees[i].nodes;
            while (n->left >= 0)
                n = f->trees[i].nodes + (lightgbm_left(n, row[n->feature]) ? n->left : n->right);
            sums[k] += n->value;
        }
        if (f->average)
            sums[k] /= (double)(f->n / f->outputs);
    }
}
