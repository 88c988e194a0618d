/* SPDX-License-Identifier: MIT
 *
 * LightGBM's text files: lines "name=value", a header and then a section for each tree.
 *
 *     tree                        the first line
 *     num_class=1
 *     num_tree_per_iteration=1    trees are assigned to this many outputs in turn
 *     max_feature_idx=7
 *     objective=binary sigmoid:1
 *     average_output              if present: sums are divided by the number of trees
 *     feature_names=a b c ...
 *
 *     Tree=0
 *     num_leaves=3                a tree of one leaf has only leaf_value
 *     num_cat=1
 *     split_feature=0 1           one per split (num_leaves - 1), as are the next lines
 *     threshold=0.5 0
 *     decision_type=2 1           bit 0: categories; bit 1: missing goes left; bits 2 and 3: what
 *                                 is missing: 0 nothing (NaN is 0), 1 zero and NaN, 2 NaN
 *     left_child=1 -1             a split, or -1 - leaf
 *     right_child=-2 -3
 *     leaf_value=0.1 0.2 0.3
 *     cat_boundaries=0 1          first word of each of num_cat sets, and the end
 *     cat_threshold=5             32 categories per word
 *
 *     end of trees
 *
 * A value goes left if it is at most the threshold, compared as doubles. A category goes left if it
 * is in the set whose index is the threshold; NaN and negative values go right.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/number.h"
#include "trees/booster.h"

static const size_t OUTPUTS_MAX = (size_t)1 << 20, WIDTH_MAX = (size_t)1 << 26;

/* ---- Lines ----------------------------------------------------------------------------------- */

/* A section of the file: the header or one tree. Errors are sticky. */
typedef struct {
    const char *from, *to;
    char where[32]; /* "tree 3", for messages; "" */
    int error;
} part;

static void refuse(part *p, int code, const char *what, const char *name) {
    if (p->error)
        return;
    p->error = p->where[0] ? sis__fail(code, "%s: %s %s", p->where, what, name)
                           : sis__fail(code, "%s %s", what, name);
}

/* The end of the line that begins here; *next is the start of the next line. */
static const char *line_end(const char *at, const char *end) {
    const char *found = (const char *)memchr(at, '\n', (size_t)(end - at));
    return found ? found : end;
}

/* The text after "name=" at the start of a line, up to *stop; NULL if there is none. */
static const char *find(const part *p, const char *name, const char **stop) {
    size_t n = strlen(name);
    for (const char *at = p->from; at < p->to;) {
        const char *end = line_end(at, p->to);
        if ((size_t)(end - at) > n && memcmp(at, name, n) == 0 && at[n] == '=') {
            *stop = end > at && end[-1] == '\r' ? end - 1 : end;
            return at + n + 1;
        }
        at = end + (end < p->to);
    }
    return NULL;
}

/* Is there a line with this word alone? */
static int has_line(const part *p, const char *word) {
    size_t n = strlen(word);
    for (const char *at = p->from; at < p->to;) {
        const char *end = line_end(at, p->to);
        size_t length = (size_t)(end - at);
        if ((length == n || (length == n + 1 && at[n] == '\r')) && memcmp(at, word, n) == 0)
            return 1;
        at = end + (end < p->to);
    }
    return 0;
}

/* Read n numbers; NULL after a failure. A number cannot extend over the end of the line: the
 * newline, or the NUL after the file, ends it. */
static double *numbers(part *p, const char *name, size_t n) {
    const char *stop = NULL, *at = p->error ? NULL : find(p, name, &stop);
    char *end;
    if (!p->error && !at && n > 0)
        refuse(p, SIS_E_FORMAT, "missing:", name);
    if (!p->error && n > 0 && n > (size_t)(stop - at))
        refuse(p, SIS_E_FORMAT, "too few numbers in", name);
    double *to = p->error ? NULL : SIS_NEW(double, n);
    if (!p->error && !to)
        p->error = SIS_E_NOMEM;
    for (size_t i = 0; !p->error && i < n; i++) {
        while (at < stop && *at == ' ')
            at++;
        to[i] = at < stop ? sis__number(at, &end) : 0;
        if (at >= stop || end == at || end > stop)
            refuse(p, SIS_E_FORMAT, "too few numbers in", name);
        else
            at = end;
    }
    while (!p->error && n > 0 && at < stop && *at == ' ')
        at++;
    if (!p->error && n > 0 && at < stop)
        refuse(p, SIS_E_FORMAT, "too many numbers in", name);
    if (p->error) {
        free(to);
        return NULL;
    }
    return to;
}

/* An integer >= 0. */
static size_t count_at(part *p, const char *name, size_t otherwise) {
    const char *stop, *at = p->error ? NULL : find(p, name, &stop);
    char *end;
    if (!at)
        return otherwise;
    double v = sis__number(at, &end);
    if (end == at || end > stop || !(v >= 0 && v < INT32_MAX && v == floor(v))) {
        refuse(p, SIS_E_FORMAT, "expected a count:", name);
        return otherwise;
    }
    return (size_t)v;
}

/* ---- Objectives ------------------------------------------------------------------------------ */

static const struct {
    const char *name;
    sis__booster_link link;
} objectives[] = {
    {"binary", SIS__LINK_LOGISTIC},
    {"cross_entropy", SIS__LINK_LOGISTIC},
    {"xentropy", SIS__LINK_LOGISTIC},
    {"cross_entropy_lambda", SIS__LINK_SOFTPLUS},
    {"xentlambda", SIS__LINK_SOFTPLUS},
    {"multiclass", SIS__LINK_SOFTMAX},
    {"softmax", SIS__LINK_SOFTMAX},
    {"multiclassova", SIS__LINK_LOGISTIC},
    {"multiclass_ova", SIS__LINK_LOGISTIC},
    {"ova", SIS__LINK_LOGISTIC},
    {"ovr", SIS__LINK_LOGISTIC},
    {"poisson", SIS__LINK_EXP},
    {"gamma", SIS__LINK_EXP},
    {"tweedie", SIS__LINK_EXP},
    {"regression", SIS__LINK_NONE},
    {"regression_l2", SIS__LINK_NONE},
    {"regression_l1", SIS__LINK_NONE},
    {"huber", SIS__LINK_NONE},
    {"fair", SIS__LINK_NONE},
    {"quantile", SIS__LINK_NONE},
    {"mape", SIS__LINK_NONE},
    {"lambdarank", SIS__LINK_NONE},
    {"rank_xendcg", SIS__LINK_NONE},
    {"custom", SIS__LINK_NONE},
    {"none", SIS__LINK_NONE},
};

/* Parameters after the objective's name: "sigmoid:0.5" is the slope of a logistic link; "sqrt"
 * means that the model predicts square roots. */
static void read_parameters(part *p, sis__booster *b) {
    char *rest, *end = NULL, *word = strtok_r(b->objective, " ", &rest); /* the name */
    while (word && (word = strtok_r(NULL, " ", &rest))) {
        if (strncmp(word, "sigmoid:", 8) == 0 && b->link == SIS__LINK_LOGISTIC)
            b->scale = sis__number(word + 8, &end);
        if (strcmp(word, "sqrt") == 0 && b->link == SIS__LINK_NONE)
            b->link = SIS__LINK_SQUARE;
    }
    if (!(b->scale > 0) || isinf(b->scale) || (end && *end))
        refuse(p, SIS_E_FORMAT, "expected a number above 0:", "sigmoid");
}

static void read_objective(part *p, sis__booster *b) {
    const char *stop, *at = find(p, "objective", &stop);
    size_t n = at ? (size_t)(stop - at) : 0;
    b->objective = (char *)sis__alloc(n + 1, 1);
    if (!b->objective) {
        p->error = SIS_E_NOMEM;
        return;
    }
    if (!at)
        return; /* custom objective: predictions are sums */
    memcpy(b->objective, at, n);
    size_t name = strcspn(b->objective, " ");
    for (size_t i = 0; i < sizeof objectives / sizeof *objectives; i++)
        if (strlen(objectives[i].name) == name && memcmp(objectives[i].name, at, name) == 0) {
            b->link = objectives[i].link;
            read_parameters(p, b);
            return;
        }
    refuse(p, SIS_E_UNSUPPORTED, "unknown objective:", b->objective);
}

/* ---- Head ------------------------------------------------------------------------------------ */

static void read_names(part *p, sis__booster *b) {
    const char *stop, *at = find(p, "feature_names", &stop);
    if (p->error || !at)
        return;
    if ((size_t)(stop - at) + 1 < 2 * b->forest.width) {
        refuse(p, SIS_E_FORMAT, "too few names in", "feature_names");
        return;
    }
    b->names = SIS_NEW(char *, b->forest.width);
    if (!b->names)
        p->error = SIS_E_NOMEM;
    for (size_t j = 0; !p->error && j < b->forest.width; j++) {
        const char *end = (const char *)memchr(at, ' ', (size_t)(stop - at));
        end = end ? end : stop;
        size_t n = (size_t)(end - at);
        if (n == 0 || memchr(at, '\0', n))
            refuse(p, SIS_E_FORMAT, "too few names in", "feature_names");
        else if (!(b->names[j] = (char *)sis__alloc(n + 1, 1)))
            p->error = SIS_E_NOMEM;
        else
            memcpy(b->names[j], at, n);
        at = end + (end < stop);
    }
    if (!p->error && at < stop)
        refuse(p, SIS_E_FORMAT, "too many names in", "feature_names");
}

static void read_head(part *p, sis__booster *b) {
    size_t classes = count_at(p, "num_class", 1);
    b->forest.width = count_at(p, "max_feature_idx", SIZE_MAX) + 1;
    b->forest.n_sums = count_at(p, "num_tree_per_iteration", classes);
    if (!p->error && b->forest.width == 0)
        refuse(p, SIS_E_FORMAT, "missing:", "max_feature_idx");
    if (b->forest.n_sums == 0 || b->forest.n_sums > OUTPUTS_MAX || b->forest.width > WIDTH_MAX)
        refuse(p, SIS_E_UNSUPPORTED,
               "too many outputs or features:", "num_tree_per_iteration, max_feature_idx");
    if (!p->error)
        read_objective(p, b);
    if (!p->error && b->link == SIS__LINK_SOFTMAX && b->forest.n_sums < 2)
        refuse(p, SIS_E_FORMAT, "expected two classes or more:", "num_tree_per_iteration");
    read_names(p, b);
    b->kind = has_line(p, "average_output") ? "random forest" : "boosted trees";
}

/* ---- Trees ----------------------------------------------------------------------------------- */

typedef struct {
    size_t leaves, n_sets, n_words;
    double *feature, *threshold, *type, *left, *right, *value, *boundary, *word;
} tree;

static void tree_release(tree *t) {
    free(t->feature);
    free(t->threshold);
    free(t->type);
    free(t->left);
    free(t->right);
    free(t->value);
    free(t->boundary);
    free(t->word);
    *t = (tree){0};
}

static void read_tree(part *p, tree *t) {
    *t = (tree){.leaves = count_at(p, "num_leaves", 0), .n_sets = count_at(p, "num_cat", 0)};
    if (!p->error && t->leaves == 0)
        refuse(p, SIS_E_FORMAT, "a tree without leaves:", "num_leaves");
    if (count_at(p, "is_linear", 0))
        refuse(p, SIS_E_UNSUPPORTED, "linear trees", "(is_linear=1)");
    size_t splits = t->leaves - !p->error;
    t->value = numbers(p, "leaf_value", t->leaves);
    t->feature = numbers(p, "split_feature", splits);
    t->threshold = numbers(p, "threshold", splits);
    t->type = numbers(p, "decision_type", splits);
    t->left = numbers(p, "left_child", splits);
    t->right = numbers(p, "right_child", splits);
    if (p->error || t->n_sets == 0)
        return;
    t->boundary = numbers(p, "cat_boundaries", t->n_sets + 1);
    double n = p->error ? 0 : t->boundary[t->n_sets];
    if (!(n >= 0 && n < INT32_MAX && n == floor(n)))
        refuse(p, SIS_E_FORMAT, "expected a count at the end of", "cat_boundaries");
    t->n_words = p->error ? 0 : (size_t)n;
    t->word = numbers(p, "cat_threshold", t->n_words);
}

/* Index of a node in the forest: splits first, then leaves. SIZE_MAX: no such child. */
static size_t child(const tree *t, double v) {
    double splits = (double)t->leaves - 1;
    if (v != floor(v) || !(v < splits) || !(v >= -(double)t->leaves))
        return SIZE_MAX;
    return v >= 0 ? (size_t)v : (size_t)(splits - 1 - v);
}

static void fill_set(part *p, sis__forest *f, const tree *t, size_t i, sis__tree_node *n) {
    double set = t->threshold[i];
    size_t at = set >= 0 && set < (double)t->n_sets && set == floor(set) ? (size_t)set : SIZE_MAX;
    double from = at == SIZE_MAX ? 0 : t->boundary[at],
           to = at == SIZE_MAX ? 0 : t->boundary[at + 1];
    if (at == SIZE_MAX || !(from >= 0 && from <= to && to <= (double)t->n_words)) {
        refuse(p, SIS_E_FORMAT, "a set of categories that does not exist:", "cat_boundaries");
        return;
    }
    n->mode = SIS__NODE_IN;
    n->value = nextafter(-1, 0); /* values truncated to 0 are category 0 */
    n->missing_yes = n->zero_missing = 0;
    n->from = (uint32_t)(f->n_members + (size_t)from);
    n->to = (uint32_t)(f->n_members + (size_t)to);
}

static void fill_split(part *p, sis__forest *f, const tree *t, size_t i) {
    sis__tree_node *n = &f->nodes[f->n_nodes + i];
    size_t left = child(t, t->left[i]), right = child(t, t->right[i]);
    double feature = t->feature[i], type = t->type[i];
    if (left == SIZE_MAX || right == SIZE_MAX || !(feature >= 0 && feature < (double)f->width) ||
        feature != floor(feature)) {
        refuse(p, SIS_E_FORMAT, "a split with a child or a feature that does not exist:",
               left == SIZE_MAX || right == SIZE_MAX ? "left_child, right_child" : "split_feature");
        return;
    }
    if (!(type >= 0 && type < 256) || type != floor(type) || ((unsigned)type >> 2 & 3) == 3) {
        refuse(p, SIS_E_UNSUPPORTED, "unknown kind of split:", "decision_type");
        return;
    }
    unsigned bits = (unsigned)type, missing = bits >> 2 & 3;
    n->feature = (uint32_t)feature;
    n->yes = (uint32_t)(f->n_nodes + left);
    n->no = (uint32_t)(f->n_nodes + right);
    n->mode = SIS__NODE_LEQ;
    n->value = t->threshold[i];
    n->missing_yes = (unsigned char)(missing == 0 ? 0 <= n->value : bits >> 1 & 1);
    n->zero_missing = missing == 1;
    if (bits & 1)
        fill_set(p, f, t, i, n);
}

static void fill_tree(part *p, sis__forest *f, const tree *t, size_t target) {
    f->roots[f->n_trees++] = (uint32_t)f->n_nodes;
    for (size_t i = 0; !p->error && i + 1 < t->leaves; i++)
        fill_split(p, f, t, i);
    for (size_t i = 0; i < t->leaves; i++) {
        sis__tree_node *n = &f->nodes[f->n_nodes + t->leaves - 1 + i];
        n->mode = SIS__NODE_LEAF;
        n->from = n->to = (uint32_t)f->n_weights;
        n->to += t->leaves > 1 || t->value[i] != 0; /* an empty tree adds nothing */
        f->targets[f->n_weights] = (uint32_t)target;
        f->weights[f->n_weights++] = t->value[i];
    }
    for (size_t i = 0; !p->error && i < t->n_words; i++) {
        if (!(t->word[i] >= 0 && t->word[i] <= UINT32_MAX))
            refuse(p, SIS_E_FORMAT, "expected words of 32 bits:", "cat_threshold");
        else
            f->members[f->n_members + i] = (uint32_t)t->word[i];
    }
    f->n_members += t->n_words;
    f->n_nodes += 2 * t->leaves - 1;
}

/* ---- The file -------------------------------------------------------------------------------- */

/* Start of the next tree's section; `end` if there is none. */
static const char *next_tree(const char *at, const char *end) {
    while (at < end) {
        if ((size_t)(end - at) > 5 && memcmp(at, "Tree=", 5) == 0)
            return at;
        if ((size_t)(end - at) >= 12 && memcmp(at, "end of trees", 12) == 0)
            return end;
        at = line_end(at, end);
        at += at < end;
    }
    return end;
}

/* Count, or fill in, the contents of each tree of the file. */
static int each_tree(const char *from, const char *to, sis__forest *f, int fill) {
    const char *at = next_tree(from, to);
    int error = SIS_OK;
    for (size_t i = 0; !error && at < to; i++) {
        const char *next = next_tree(line_end(at, to), to);
        part p = {.from = at, .to = next};
        tree t;
        snprintf(p.where, sizeof p.where, "tree %zu", i);
        read_tree(&p, &t);
        if (fill && !p.error)
            fill_tree(&p, f, &t, i % f->n_sums);
        if (!fill && !p.error) {
            f->n_trees++;
            f->n_nodes += 2 * t.leaves - 1;
            f->n_weights += t.leaves;
            f->n_members += t.n_words;
        }
        tree_release(&t);
        error = p.error;
        at = next;
    }
    return error;
}

/* The number of trees according to the header; `otherwise` if it is missing. */
static size_t declared_trees(const part *head, size_t otherwise) {
    const char *stop, *at = find(head, "tree_sizes", &stop);
    size_t n = 0;
    for (const char *c = at; at && c < stop; c++)
        n += *c != ' ' && (c == at || c[-1] == ' ');
    return at ? n : otherwise;
}

static int read_trees(const part *head, const char *to, sis__booster *b) {
    sis__forest *f = &b->forest;
    const char *from = head->to;
    int error = each_tree(from, to, f, 0);
    size_t told = declared_trees(head, f->n_trees);
    if (!error && f->n_trees != told)
        error = sis__fail(SIS_E_FORMAT, "%zu trees, but tree_sizes lists %zu; is the file cut off?",
                          f->n_trees, told);
    else if (!error && f->n_trees % f->n_sums)
        error = sis__fail(SIS_E_FORMAT, "%zu trees for %zu outputs; is the file cut off?",
                          f->n_trees, f->n_sums);
    if (!error)
        error = sis__booster_allocate(b);
    f->n_trees = f->n_nodes = f->n_weights = f->n_members = 0;
    return error ? error : each_tree(from, to, f, 1);
}

/* ---- Words of categories --------------------------------------------------------------------- */

/* The columns of categories: in feature_infos their values are separated by colons, and ranges of
 * numbers are in brackets. Returns how many; of: (width) their columns. */
static size_t categorical_columns(const part *head, size_t width, size_t *of) {
    const char *stop, *at = find(head, "feature_infos", &stop);
    size_t n = 0;
    for (size_t j = 0; at && at < stop && j < width; j++) {
        const char *end = (const char *)memchr(at, ' ', (size_t)(stop - at));
        end = end ? end : stop;
        if (*at != '[' && end - at > 0 && (*at == '-' || (*at >= '0' && *at <= '9')))
            of[n++] = j;
        at = end + (end < stop);
    }
    return n;
}

/* Behind "pandas_categorical:" in the last lines; NULL: there is none, or it is null. */
static const char *last_words(const char *bytes, size_t n) {
    static const char name[] = "\npandas_categorical:";
    const char *found = NULL;
    for (const char *at = bytes; (at = strstr(at, name)); at += sizeof name - 1)
        found = at + sizeof name - 1;
    return found && (size_t)(found - bytes) < n && *found == '[' ? found : NULL;
}

/* The last line, written by the Python package: the words of each such column. If a column had
 * one value only, it is not clear which list belongs to which column, and there are no words. */
static int read_words(const part *head, const char *line, const char *end, sis__booster *b) {
    sis__document d;
    size_t *of = SIS_NEW(size_t, b->forest.width),
           n = of ? categorical_columns(head, b->forest.width, of) : 0;
    int error = !of ? SIS_E_NOMEM : n ? sis__json_parse(line, (size_t)(end - line), &d) : SIS_OK;
    for (size_t k = 0; !error && n && d.root.kind == SIS__DOC_LIST && d.root.n == n && k < n; k++)
        if (d.root.items[k].n > 0)
            error = sis__booster_set_words(b, of[k], &d.root.items[k]);
    if (n && error != SIS_E_NOMEM)
        sis__document_release(&d);
    free(of);
    return error;
}

int sis__lightgbm_is(const char *head, size_t n) {
    return n > 5 && memcmp(head, "tree", 4) == 0 && (head[4] == '\n' || head[4] == '\r');
}

int sis__lightgbm_parse(const char *bytes, size_t n, sis__booster *out) {
    const char *end = bytes + n, *trees = next_tree(bytes, end);
    part head = {.from = bytes, .to = trees};
    *out = (sis__booster){.library = "LightGBM", .kind = "", .divisor = 1, .scale = 1};
    read_head(&head, out);
    int error = head.error ? head.error : read_trees(&head, end, out);
    if (!error)
        error = sis__booster_finish(out);
    const char *words = error ? NULL : last_words(bytes, n);
    if (words)
        error = read_words(&head, words, end, out);
    if (!error && has_line(&head, "average_output") && out->forest.n_trees)
        out->divisor = (double)(out->forest.n_trees / out->forest.n_sums);
    if (error)
        sis__booster_release(out);
    return error;
}
