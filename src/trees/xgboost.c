/* SPDX-License-Identifier: MIT
 *
 * XGBoost's model files, JSON or UBJSON (document.h), version 1.0 or later:
 *
 *     learner
 *       feature_names, feature_types      lists of text, may be empty
 *       learner_model_param               base_score, num_class, num_feature, num_target
 *       objective                         name
 *       gradient_booster                  name: gbtree, dart or gblinear
 *         model                           (dart: gbtree.model, and weight_drop beside gbtree)
 *           tree_info                     the output each tree adds to
 *           trees                         a list of
 *             tree_param                  num_nodes, size_leaf_vector
 *             left_children, right_children   -1: a leaf
 *             split_indices, split_conditions, default_left    a leaf's condition is its value
 *             split_type, categories, categories_nodes, categories_segments, categories_sizes
 *         model.cats.enc              the words of each feature's categories, since 3.1
 *         model.weights                   (gblinear) a row of outputs for each feature, then bias
 *
 * Numbers in the param objects are text. A value goes left if it is below the condition, a missing
 * value as default_left says, a category right if the node lists it. base_score is a score, not a
 * margin; since 3.1 it is a list with one entry per output or one for all.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/number.h"
#include "trees/booster.h"
#include "trees/document.h"

/* Limits beyond any real model, so that memory stays close to the size of the file. */
static const size_t OUTPUTS_MAX = (size_t)1 << 20, WIDTH_MAX = (size_t)1 << 26,
                    MEMBERS_MAX = (size_t)1 << 26;

/* ---- Objectives ------------------------------------------------------------------------------ */

typedef struct {
    const char *name;
    sis__booster_link link, base; /* link of predictions; link of base_score */
} objective;

static const objective objectives[] = {
    {"binary:hinge", SIS__LINK_STEP, SIS__LINK_NONE},
    {"binary:logistic", SIS__LINK_LOGISTIC, SIS__LINK_LOGISTIC},
    {"binary:logitraw", SIS__LINK_NONE, SIS__LINK_NONE},
    {"count:poisson", SIS__LINK_EXP, SIS__LINK_EXP},
    {"multi:softmax", SIS__LINK_SOFTMAX, SIS__LINK_NONE},
    {"multi:softprob", SIS__LINK_SOFTMAX, SIS__LINK_NONE},
    {"rank:map", SIS__LINK_NONE, SIS__LINK_NONE},
    {"rank:ndcg", SIS__LINK_NONE, SIS__LINK_NONE},
    {"rank:pairwise", SIS__LINK_NONE, SIS__LINK_NONE},
    {"reg:absoluteerror", SIS__LINK_NONE, SIS__LINK_NONE},
    {"reg:expectileerror", SIS__LINK_NONE, SIS__LINK_NONE},
    {"reg:gamma", SIS__LINK_EXP, SIS__LINK_EXP},
    {"reg:linear", SIS__LINK_NONE, SIS__LINK_NONE},
    {"reg:logistic", SIS__LINK_LOGISTIC, SIS__LINK_LOGISTIC},
    {"reg:pseudohubererror", SIS__LINK_NONE, SIS__LINK_NONE},
    {"reg:quantileerror", SIS__LINK_NONE, SIS__LINK_NONE},
    {"reg:squarederror", SIS__LINK_NONE, SIS__LINK_NONE},
    {"reg:squaredlogerror", SIS__LINK_NONE, SIS__LINK_NONE},
    {"reg:tweedie", SIS__LINK_EXP, SIS__LINK_EXP},
    {"survival:aft", SIS__LINK_EXP, SIS__LINK_EXP},
    {"survival:cox", SIS__LINK_EXP, SIS__LINK_EXP},
};

/* The initial value of the library's sums, in its own arithmetic: probabilities 0 and 1 are moved
 * slightly inside. */
static double start_of(const objective *o, double base) {
    const float min = 1e-6f;
    float p = (float)base;
    if (o->base == SIS__LINK_LOGISTIC) {
        p = p <= 0 ? min : p >= 1 ? 1.0f - min : p;
        p = -logf(1.0f / p - 1.0f);
    }
    if (o->base == SIS__LINK_EXP)
        p = logf(p);
    return (double)p;
}

/* ---- Reading values -------------------------------------------------------------------------- */

/* Errors are sticky: after the first one, all reads return nothing. */
typedef struct {
    int error;
    char where[64]; /* "tree 3", for messages; "" */
} reader;

static void refuse(reader *r, int code, const char *what, const char *name) {
    if (r->error)
        return;
    r->error = r->where[0] ? sis__fail(code, "%s: %s %s", r->where, what, name)
                           : sis__fail(code, "%s %s", what, name);
}

/* Find a value by path: names separated by dots. */
static const sis__doc *find(const sis__doc *at, const char *path) {
    char name[64];
    while (at && *path) {
        size_t n = strcspn(path, ".");
        snprintf(name, sizeof name, "%.*s", (int)n, path);
        at = sis__doc_get(at, name);
        path += n + (path[n] == '.');
    }
    return at;
}

static const sis__doc *want(reader *r, const sis__doc *at, const char *path, sis__doc_kind kind) {
    const sis__doc *found = r->error ? NULL : find(at, path);
    if (!r->error && !found)
        refuse(r, SIS_E_FORMAT, "missing:", path);
    if (found && found->kind != kind) {
        refuse(r, SIS_E_FORMAT, "wrong type:", path);
        return NULL;
    }
    return found;
}

/* A list of exactly n numbers; NULL after a failure. */
static const double *numbers(reader *r, const sis__doc *at, const char *path, size_t n) {
    const sis__doc *found = want(r, at, path, SIS__DOC_NUMBERS);
    if (found && found->n != n) {
        refuse(r, SIS_E_FORMAT, "a wrong number of entries in", path);
        return NULL;
    }
    return found ? found->numbers : NULL;
}

/* An integer >= 0, possibly written as text; `otherwise` if it is missing. */
static size_t count_at(reader *r, const sis__doc *at, const char *path, size_t otherwise) {
    const sis__doc *found = r->error ? NULL : find(at, path);
    double v = -1;
    char *end;
    if (!found)
        return otherwise;
    if (found->kind == SIS__DOC_NUMBER)
        v = found->number;
    else if (found->kind == SIS__DOC_TEXT) {
        v = sis__number(found->text, &end);
        v = end == found->text || *end ? -1 : v;
    }
    if (!(v >= 0 && v <= INT32_MAX && v == floor(v))) {
        refuse(r, SIS_E_FORMAT, "expected a count:", path);
        return otherwise;
    }
    return (size_t)v;
}

/* ---- Header ---------------------------------------------------------------------------------- */

static const objective *read_objective(reader *r, const sis__doc *learner, sis__booster *b) {
    const sis__doc *name = want(r, learner, "objective.name", SIS__DOC_TEXT);
    if (!name)
        return NULL;
    for (size_t i = 0; i < sizeof objectives / sizeof *objectives; i++)
        if (strcmp(objectives[i].name, name->text) == 0) {
            b->objective = sis__strdup(name->text);
            r->error = b->objective ? SIS_OK : SIS_E_NOMEM;
            b->link = objectives[i].link;
            return &objectives[i];
        }
    refuse(r, SIS_E_UNSUPPORTED, "unknown objective:", name->text);
    return NULL;
}

static void read_sizes(reader *r, const sis__doc *learner, sis__booster *b) {
    size_t classes = count_at(r, learner, "learner_model_param.num_class", 0);
    size_t targets = count_at(r, learner, "learner_model_param.num_target", 1);
    b->forest.width = count_at(r, learner, "learner_model_param.num_feature", 0);
    b->forest.n_sums = classes > targets ? classes : targets;
    if (b->forest.n_sums == 0)
        b->forest.n_sums = 1;
    if (!r->error && b->forest.width == 0)
        refuse(r, SIS_E_FORMAT, "the model was trained on no features:", "num_feature is 0");
    if (b->forest.n_sums > OUTPUTS_MAX || b->forest.width > WIDTH_MAX)
        refuse(r, SIS_E_UNSUPPORTED, "too many outputs or features:", "num_class, num_feature");
    if (!r->error && b->link == SIS__LINK_SOFTMAX && b->forest.n_sums < 2)
        refuse(r, SIS_E_FORMAT, "expected two classes or more:", "num_class");
}

/* "0.5" or "[5E-1]" or "[1E-1,2E-1]": up to `max` numbers to v. Returns their number; 0: not such a
 * text. */
static size_t read_numbers(const char *at, size_t max, double *v) {
    size_t n = 0;
    at += *at == '[';
    while (*at && *at != ']') {
        char *end;
        double one = sis__number(at, &end);
        if (end == at || n == max)
            return 0;
        v[n++] = one;
        at = end + (*end == ',');
    }
    return n;
}

/* Read base_score: a text, or, as other programs write it, a number or a list. */
static void read_base(reader *r, const sis__doc *learner, const objective *o, sis__booster *b) {
    const sis__doc *at = find(learner, "learner_model_param.base_score");
    size_t outputs = b->forest.n_sums, n = 0;
    double *base = b->forest.base;
    if (r->error)
        return;
    if (!at || at->kind == SIS__DOC_TEXT)
        n = read_numbers(at ? at->text : "0.5", outputs, base);
    else if (at->kind == SIS__DOC_NUMBER || at->kind == SIS__DOC_NUMBERS) {
        n = at->kind == SIS__DOC_NUMBER ? 1 : at->n <= outputs ? at->n : 0;
        if (n)
            memcpy(base, at->kind == SIS__DOC_NUMBER ? &at->number : at->numbers, n * sizeof *base);
    }
    if (n == 0 || (n > 1 && n != outputs))
        refuse(r, SIS_E_FORMAT, "expected a number for each output:", "base_score");
    for (size_t k = 0; k < outputs; k++)
        base[k] = k < n ? start_of(o, base[k]) : base[0];
}

static void read_names(reader *r, const sis__doc *learner, sis__booster *b) {
    const sis__doc *names = find(learner, "feature_names");
    if (r->error || !names || names->kind != SIS__DOC_LIST)
        return;
    if (names->n != b->forest.width) {
        refuse(r, SIS_E_FORMAT, "a wrong number of entries in", "feature_names");
        return;
    }
    b->names = SIS_NEW(char *, names->n);
    if (!b->names)
        r->error = SIS_E_NOMEM;
    for (size_t j = 0; !r->error && j < names->n; j++) {
        if (names->items[j].kind != SIS__DOC_TEXT)
            refuse(r, SIS_E_FORMAT, "expected texts:", "feature_names");
        else if (!(b->names[j] = sis__strdup(names->items[j].text)))
            r->error = SIS_E_NOMEM;
    }
}

/* The words of one column; see read_words(). */
static void read_texts(reader *r, sis__booster *b, size_t column, const sis__doc *offsets,
                       const sis__doc *bytes) {
    char word[4096];
    for (size_t k = 0; !r->error && k + 1 < offsets->n; k++) {
        double from = offsets->numbers[k], to = offsets->numbers[k + 1];
        size_t n = 0;
        if (!(from >= 0 && from <= to && to <= (double)bytes->n && to - from < sizeof word)) {
            refuse(r, SIS_E_FORMAT, "wrong offsets in", "cats.enc");
            return;
        }
        for (size_t i = (size_t)from; i < (size_t)to; i++) {
            double byte = bytes->numbers[i];
            word[n++] = byte >= -128 && byte <= 255 ? (char)(int)byte : '?';
        }
        r->error = sis__booster_add_word(b, column, word, n);
    }
}

static void read_integers(reader *r, sis__booster *b, size_t column, const sis__doc *values) {
    char number[32];
    for (size_t k = 0; !r->error && k < values->n; k++) {
        sis__format(number, sizeof number, "%.17g", values->numbers[k]);
        r->error = sis__booster_add_word(b, column, number, strlen(number));
    }
}

/* The words of categories, written since 3.1: for each feature {"offsets","values"}, the bytes of
 * texts, or {"type","values"}, integers. */
static void read_words(reader *r, const sis__doc *booster, sis__booster *b) {
    const sis__doc *all = find(booster, "model.cats.enc");
    all = all ? all : find(booster, "gbtree.model.cats.enc");
    if (r->error || !all || all->kind != SIS__DOC_LIST || all->n != b->forest.width)
        return;
    for (size_t j = 0; !r->error && j < all->n; j++) {
        const sis__doc *offsets = sis__doc_get(&all->items[j], "offsets");
        const sis__doc *values = sis__doc_get(&all->items[j], "values");
        if (!values || values->kind != SIS__DOC_NUMBERS)
            refuse(r, SIS_E_FORMAT, "expected numbers:", "cats.enc.values");
        else if (!offsets)
            read_integers(r, b, j, values);
        else if (offsets->kind == SIS__DOC_NUMBERS)
            read_texts(r, b, j, offsets, values);
        else
            refuse(r, SIS_E_FORMAT, "expected numbers:", "cats.enc.offsets");
    }
}

/* ---- Trees ----------------------------------------------------------------------------------- */

/* The lists of one tree. */
typedef struct {
    const double *left, *right, *feature, *condition, *default_left;
    const double *type;     /* NULL: no categories anywhere */
    const double *cats;     /* all categories */
    const double *cat_from; /* first category of each node that has some */
    const double *cat_size, *cat_node;
    size_t n, n_cats, n_sets;
} tree;

/* Are leaves vectors? Then they have no value of their own. */
static int has_vector_leaves(reader *r, const sis__doc *t) {
    return count_at(r, t, "tree_param.size_leaf_vector", 0) > 1;
}

static void read_sets(reader *r, const sis__doc *t, tree *out) {
    const sis__doc *cats = want(r, t, "categories", SIS__DOC_NUMBERS);
    const sis__doc *nodes = want(r, t, "categories_nodes", SIS__DOC_NUMBERS);
    if (!cats || !nodes)
        return;
    out->cats = cats->numbers;
    out->n_cats = cats->n;
    out->cat_node = nodes->numbers;
    out->n_sets = nodes->n;
    out->cat_from = numbers(r, t, "categories_segments", nodes->n);
    out->cat_size = numbers(r, t, "categories_sizes", nodes->n);
}

static void read_tree(reader *r, const sis__doc *t, tree *out) {
    *out = (tree){0};
    const sis__doc *left = want(r, t, "left_children", SIS__DOC_NUMBERS);
    if (!r->error && has_vector_leaves(r, t))
        refuse(r, SIS_E_UNSUPPORTED, "leaves with a vector of values",
               "(multi_strategy=multi_output_tree)");
    if (left && left->n == 0)
        refuse(r, SIS_E_FORMAT, "a tree without nodes:", "left_children");
    if (!left || r->error)
        return;
    out->n = left->n;
    out->left = left->numbers;
    out->right = numbers(r, t, "right_children", out->n);
    out->feature = numbers(r, t, "split_indices", out->n);
    out->condition = numbers(r, t, "split_conditions", out->n);
    out->default_left = numbers(r, t, "default_left", out->n);
    if (!r->error && find(t, "split_type")) {
        out->type = numbers(r, t, "split_type", out->n);
        read_sets(r, t, out);
    }
}

/* An integer below `max` as an index; SIZE_MAX if it is not one. */
static size_t index_of(double v, size_t max) {
    return v >= 0 && v < (double)max && v == floor(v) ? (size_t)v : SIZE_MAX;
}

/* Number of words of a node's set; 0: it has none. */
static size_t words_of(reader *r, const tree *t, size_t set) {
    size_t from = index_of(t->cat_from[set], t->n_cats + 1);
    size_t n = index_of(t->cat_size[set], t->n_cats + 1);
    double max = -1;
    if (from == SIZE_MAX || n == SIZE_MAX || n > t->n_cats - from) {
        refuse(r, SIS_E_FORMAT, "a set of categories that does not exist:", "categories_segments");
        return 0;
    }
    for (size_t i = from; i < from + n; i++) {
        if (index_of(t->cats[i], (size_t)1 << 24) == SIZE_MAX) {
            refuse(r, SIS_E_FORMAT, "an invalid category:", "categories");
            return 0;
        }
        max = fmax(max, t->cats[i]);
    }
    return (size_t)((max + 32) / 32);
}

static void fill_set(sis__forest *f, const tree *t, size_t set, sis__tree_node *n, size_t words) {
    size_t from = (size_t)t->cat_from[set], count = (size_t)t->cat_size[set];
    n->from = (uint32_t)f->n_members;
    n->to = (uint32_t)(f->n_members + words);
    for (size_t i = from; i < from + count; i++) {
        uint32_t category = (uint32_t)t->cats[i];
        f->members[f->n_members + category / 32] |= 1u << (category % 32);
    }
    f->n_members += words;
}

/* Count the memory for the sets of all trees; filling counts again. */
static void count_tree(reader *r, const sis__doc *doc, sis__forest *f) {
    tree t;
    read_tree(r, doc, &t);
    for (size_t s = 0; !r->error && s < t.n_sets; s++)
        f->n_members += words_of(r, &t, s);
    if (r->error)
        return;
    f->n_nodes += t.n;
    for (size_t i = 0; i < t.n; i++)
        f->n_weights += t.left[i] == -1;
    if (f->n_nodes > INT32_MAX || f->n_members > MEMBERS_MAX)
        refuse(r, SIS_E_UNSUPPORTED, "too many nodes or categories:", "split_indices, categories");
}

static void fill_leaf(sis__forest *f, const tree *t, size_t i, size_t target, float drop) {
    sis__tree_node *n = &f->nodes[f->n_nodes + i];
    n->mode = SIS__NODE_LEAF;
    n->from = (uint32_t)f->n_weights;
    n->to = (uint32_t)f->n_weights + 1;
    f->targets[f->n_weights] = (uint32_t)target;
    f->weights[f->n_weights++] = (double)((float)t->condition[i] * drop);
}

static void fill_split(reader *r, sis__forest *f, const tree *t, size_t i) {
    sis__tree_node *n = &f->nodes[f->n_nodes + i];
    size_t left = index_of(t->left[i], t->n), right = index_of(t->right[i], t->n);
    size_t feature = index_of(t->feature[i], f->width);
    if (left == SIZE_MAX || right == SIZE_MAX || feature == SIZE_MAX) {
        refuse(r, SIS_E_FORMAT, "a node with a child or a feature that does not exist:",
               feature == SIZE_MAX ? "split_indices" : "left_children, right_children");
        return;
    }
    int categories = t->type && t->type[i] == 1;
    n->feature = (uint32_t)feature;
    n->mode = categories ? SIS__NODE_IN : SIS__NODE_LT;
    n->value = categories ? 0 : (double)(float)t->condition[i];
    n->yes = (uint32_t)(f->n_nodes + (categories ? right : left));
    n->no = (uint32_t)(f->n_nodes + (categories ? left : right));
    n->missing_yes = (t->default_left[i] != 0) != categories;
}

static void fill_tree(reader *r, const sis__doc *doc, sis__forest *f, size_t target, float drop) {
    tree t;
    read_tree(r, doc, &t);
    f->roots[f->n_trees++] = (uint32_t)f->n_nodes;
    for (size_t i = 0; !r->error && i < t.n; i++)
        if (t.left[i] == -1)
            fill_leaf(f, &t, i, target, drop);
        else
            fill_split(r, f, &t, i);
    for (size_t s = 0; !r->error && s < t.n_sets; s++) {
        size_t i = index_of(t.cat_node[s], t.n), words = words_of(r, &t, s);
        if (i == SIZE_MAX || t.left[i] == -1 || t.type[i] != 1)
            refuse(r, SIS_E_FORMAT,
                   "categories for a node without categories:", "categories_nodes");
        else
            fill_set(f, &t, s, &f->nodes[f->n_nodes + i], words);
    }
    f->n_nodes += t.n;
}

/* The factors of dart's trees; NULL: all are 1. */
static const double *read_drops(reader *r, const sis__doc *booster, size_t n) {
    return find(booster, "gbtree") ? numbers(r, booster, "weight_drop", n) : NULL;
}

static void read_trees(reader *r, const sis__doc *booster, sis__booster *b) {
    const sis__doc *model = find(booster, "gbtree.model");
    const sis__doc *list = model ? model : find(booster, "model");
    const sis__doc *trees = find(list, "trees");
    sis__forest *f = &b->forest;
    if (!trees || (trees->kind != SIS__DOC_LIST && trees->n > 0)) {
        refuse(r, SIS_E_FORMAT, "missing:", "list of trees");
        return;
    }
    size_t n = trees->n;
    const double *info = numbers(r, list, "tree_info", n), *drops = read_drops(r, booster, n);
    f->n_trees = n;
    for (size_t i = 0; !r->error && i < n; i++) {
        snprintf(r->where, sizeof r->where, "tree %zu", i);
        count_tree(r, &trees->items[i], f);
    }
    if (!r->error)
        r->error = sis__booster_allocate(b);
    f->n_nodes = f->n_trees = f->n_weights = f->n_members = 0;
    for (size_t i = 0; !r->error && i < n; i++) {
        snprintf(r->where, sizeof r->where, "tree %zu", i);
        size_t target = index_of(info[i], f->n_sums);
        if (target == SIZE_MAX)
            refuse(r, SIS_E_FORMAT, "unknown class:", "tree_info");
        else
            fill_tree(r, &trees->items[i], f, target, drops ? (float)drops[i] : 1.0f);
    }
    r->where[0] = '\0';
}

/* ---- Linear models --------------------------------------------------------------------------- */

static void read_linear(reader *r, const sis__doc *booster, sis__booster *b) {
    sis__forest *f = &b->forest;
    size_t n = f->width * f->n_sums; /* each below 2^31 */
    const double *w = numbers(r, booster, "model.weights", n + f->n_sums);
    if (r->error)
        return;
    r->error = sis__booster_allocate(b);
    f->linear = SIS_NEW(double, n);
    if (!r->error && !f->linear)
        r->error = SIS_E_NOMEM;
    for (size_t i = 0; !r->error && i < n; i++)
        f->linear[i] = (double)(float)w[i];
    b->kind = "gblinear";
}

/* The bias is added first, together with the base score. */
static void add_bias(const sis__doc *booster, sis__booster *b) {
    size_t n = b->forest.width * b->forest.n_sums;
    const sis__doc *w = find(booster, "model.weights");
    for (size_t k = 0; k < b->forest.n_sums; k++)
        b->forest.base[k] = (double)((float)w->numbers[n + k] + (float)b->forest.base[k]);
}

/* ---- The file -------------------------------------------------------------------------------- */

static void read_booster(reader *r, const sis__doc *learner, sis__booster *b) {
    const sis__doc *booster = want(r, learner, "gradient_booster", SIS__DOC_OBJECT);
    const sis__doc *name = want(r, booster, "name", SIS__DOC_TEXT);
    const objective *o = read_objective(r, learner, b);
    read_sizes(r, learner, b);
    read_names(r, learner, b);
    read_words(r, booster, b);
    if (r->error)
        return;
    int linear = strcmp(name->text, "gblinear") == 0, dart = strcmp(name->text, "dart") == 0;
    if (!linear && !dart && strcmp(name->text, "gbtree") != 0)
        refuse(r, SIS_E_UNSUPPORTED, "unknown booster:", name->text);
    b->kind = dart ? "dart" : "gbtree";
    if (linear)
        read_linear(r, booster, b);
    else if (!r->error)
        read_trees(r, booster, b);
    if (r->error)
        return;
    read_base(r, learner, o, b);
    if (!r->error && linear)
        add_bias(booster, b);
}

/* JSON of the two libraries that contains trees but is not a model file. */
static int refuse_dump(const sis__doc *root) {
    if (root->kind == SIS__DOC_LIST && root->n && sis__doc_get(&root->items[0], "nodeid"))
        return sis__fail(SIS_E_UNSUPPORTED,
                         "a dump of XGBoost's trees, without classes and base score; "
                         "write the model with save_model()");
    if (sis__doc_get(root, "tree_info"))
        return sis__fail(SIS_E_UNSUPPORTED, "a dump of LightGBM; write the model as text with "
                                            "save_model()");
    return sis__fail(SIS_E_FORMAT, "not a model of XGBoost: \"learner\" is missing");
}

/* The format before JSON. */
static int is_old(const char *head, size_t n) {
    return n >= 4 && memcmp(head, "binf", 4) == 0;
}

int sis__xgboost_is(const char *head, size_t n) {
    size_t i = 0;
    if (is_old(head, n))
        return 1;
    while (i < n && strchr(" \t\r\n", head[i]) && head[i])
        i++;
    return i < n && (head[i] == '{' || head[i] == '[');
}

/* In UBJSON the length of the first name follows the brace. */
static int is_binary(const char *bytes, size_t n) {
    return n > 1 && bytes[0] == '{' && strchr("#$iUIlL", bytes[1]) && bytes[1];
}

int sis__xgboost_parse(const char *bytes, size_t n, sis__booster *out) {
    sis__document d;
    reader r = {0};
    *out = (sis__booster){.library = "XGBoost", .kind = "", .divisor = 1, .scale = 1};
    out->forest.single = 1;
    if (is_old(bytes, n))
        return sis__fail(SIS_E_UNSUPPORTED,
                         "the old binary format of XGBoost; load it in XGBoost and "
                         "write it with save_model(\"m.json\")");
    int error =
        is_binary(bytes, n) ? sis__ubjson_parse(bytes, n, &d) : sis__json_parse(bytes, n, &d);
    if (error)
        return error;
    const sis__doc *learner = sis__doc_get(&d.root, "learner");
    if (learner)
        read_booster(&r, learner, out);
    error = learner ? r.error : refuse_dump(&d.root);
    if (!error)
        error = sis__booster_finish(out);
    sis__document_release(&d);
    if (error)
        sis__booster_release(out);
    return error;
}
