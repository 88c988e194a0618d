/* SPDX-License-Identifier: MIT
 *
 * See operators.h. A rule is a list of steps; each step becomes a node:
 *
 *     [condition] operator inputs > outputs [{attributes}]
 *
 * An input is a number (an input of the node) or a word (a result of an earlier step). Results are
 * words; `y`, `z` and `x` are the first three outputs of the node, `o0`, `o1` ... any of them. An
 * attribute is copied by its name, or has a value: name=1, name=[1 2], name=1e-5 or name='text'.
 * `*` copies all attributes that no step names, `-name` ignores one that changes nothing. If its
 * condition is false, a step returns its first input:
 *
 *     ?3       input 3 exists          @name    attribute name is not 0
 *
 * A step whose only input is a missing input of the node produces no node, and its result (one
 * letter) is missing too.
 *
 * Two operators are special: `!` applies the activation named by attribute `activation`, `#`
 * multiplies by attribute `alpha`. A node with an attribute that no step uses stays unchanged and
 * is refused later.
 */
#include "net/lower/operators.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/ascii.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/number.h"
#include "net/lower/bias.h"
#include "net/lower/exact_quant.h"
#include "net/lower/index.h"
#include "net/onnx/graph.h"
#include "net/onnx/proto.h"

enum { MAX_STEPS = 13 };

#define POOL "kernel_shape strides pads auto_pad ceil_mode count_include_pad dilations"
#define TO_CHANNELS "{perm=[0 3 1 2]}" /* of images */
#define TO_LAST "{perm=[0 2 3 1]}"

typedef void (*lower_fn)(sis__lowering *k);

typedef struct rule {
    const char *name;
    const char *steps[MAX_STEPS];
} rule;

/* Quantised operators, computed exactly in floats (net/lower/exact_quant.h). They are lowered last,
 * because other rules produce some of them. */
static const rule in_levels[] = {
    {"QuantizeLinear", {"sis.Levels 0 1 2 > l {over=1}", "sis.Settle l 2 > y {bytes=1}"}},
    {"DequantizeLinear", {"sis.Lift 0 2 > l", "Mul l 1 > y"}},
    {"QLinearConv",
     {"sis.Lift 0 2 > a", "sis.Lift 3 5 > w", "sis.Lift 8 > b", "Conv a w b > s {*}",
      "sis.Factor 1 4 6 3 > f", "sis.Levels s f 7 > l", "sis.Settle l 7 > y"}},
    {"ConvInteger",
     {"sis.Lift 0 2 > a", "sis.Lift 1 3 > w", "Conv a w > s {*}", "sis.Settle s > y"}},
    {"MatMulInteger",
     {"sis.Lift 0 2 > a {from_end=2}", "sis.Lift 1 3 > b {from_end=1}", "MatMul a b > s",
      "sis.Settle s > y"}},
    {"QLinearMatMul",
     {"sis.Lift 0 2 > a {from_end=2}", "sis.Lift 3 5 > b {from_end=1}", "MatMul a b > s",
      "sis.Factor 1 4 6 > f", "sis.Levels s f 7 > l", "sis.Settle l 7 > y"}},
    {"QGemm",
     {"sis.Lift 0 2 > a", "sis.Lift 3 5 > b {from_end=1 transB}", "@transB sis.Swap b > w",
      "MatMul a w > p", "sis.Lift 6 > c", "?6 Add p c > s", "sis.Factor 1 4 7 > f {alpha}",
      "sis.Levels s f 8 > l", "sis.Settle l 8 > y"}},
    {"QLinearAdd",
     {"sis.Lift 0 2 > a", "sis.Lift 2 > b", "Add a b > c", "sis.Lift 3 5 > d", "sis.Lift 5 > e",
      "Add d e > f", "sis.Sums 1 2 4 5 6 7 > g h i j", "sis.Fused c g i > k", "sis.Fused f h k > m",
      "sis.Levels m j 7 > n {raw=1}", "sis.Lift 7 > o", "Sub n o > l", "sis.Settle l 7 > y"}},
};

/* QGemm with float results. */
static const rule float_gemm = {"QGemm",
                                {"sis.Lift 0 2 > a", "sis.Lift 3 5 > b {from_end=1 transB}",
                                 "@transB sis.Swap b > w", "MatMul a w > p", "sis.Lift 6 > c",
                                 "?6 Add p c > s", "sis.Factor 1 4 > f {alpha}", "Mul s f > y"}};

static const rule rules[] = {
    /* the same under another name */
    {"Pad", {"Pad 0 1 2 > y {*}"}},
    {"Range", {"Range 0 1 2 > y"}},
    {"ExpandDims", {"Unsqueeze 0 1 > y"}},
    {"QuantizeLinear", {"QuantizeLinear 0 1 2 > y {*}"}},
    {"DequantizeLinear", {"DequantizeLinear 0 1 2 > y {*}"}},
    {"GatherND", {"GatherND 0 1 > y"}},
    /* fused */
    {"FusedConv", {"Conv 0 1 2 > a {*}", "?3 Add a 3 > b", "! b > y"}},
    {"FusedGemm", {"Gemm 0 1 2 > a {alpha beta transA transB}", "! a > y"}},
    {"FusedMatMul",
     {"@transBatchA sis.Sink 0 > d", "@transBatchB sis.Sink 1 > e", "@transA sis.Swap d > a",
      "@transB sis.Swap e > b", "MatMul a b > c", "# c > y"}},
    {"TransposeMatMul",
     {"@transA sis.Swap 0 > a", "@transB sis.Swap 1 > b", "MatMul a b > c", "# c > y"}},
    {"NhwcMaxPool",
     {"Transpose 0 > a " TO_CHANNELS, "MaxPool a > b {" POOL "}", "Transpose b > y " TO_LAST}},
    /* quantised: computed in floats, between scales */
    {"QLinearSigmoid", {"DequantizeLinear 0 1 2 > a", "Sigmoid a > b", "QuantizeLinear b 3 4 > y"}},
    {"QLinearLeakyRelu",
     {"DequantizeLinear 0 1 2 > a", "LeakyRelu a > b {alpha}", "QuantizeLinear b 3 4 > y"}},
    {"QLinearSoftmax",
     {"DequantizeLinear 0 1 2 > a", "Softmax a > b {axis -opset}", "QuantizeLinear b 3 4 > y"}},
    {"QLinearAveragePool",
     {"DequantizeLinear 0 1 2 > a", "@channels_last Transpose a > b " TO_CHANNELS,
      "AveragePool b > c {" POOL "}", "@channels_last Transpose c > d " TO_LAST,
      "QuantizeLinear d 3 4 > y"}},
    {"QLinearGlobalAveragePool",
     {"DequantizeLinear 0 1 2 > a", "@channels_last Transpose a > b " TO_CHANNELS,
      "GlobalAveragePool b > c", "@channels_last Transpose c > d " TO_LAST,
      "QuantizeLinear d 3 4 > y"}},
    {"QLinearReduceMean",
     {"DequantizeLinear 0 1 2 > a", "ReduceMean a > b {axes keepdims}",
      "QuantizeLinear b 3 4 > y"}},
    {"QLinearWhere",
     {"DequantizeLinear 1 2 3 > a", "DequantizeLinear 4 5 6 > b", "Where 0 a b > c",
      "QuantizeLinear c 7 8 > y"}},
    {"QLinearConv",
     {"@channels_last Transpose 0 > a " TO_CHANNELS, "QLinearConv a 1 2 3 4 5 6 7 8 > b {*}",
      "@channels_last Transpose b > y " TO_LAST}},
    {"QLinearMul",
     {"DequantizeLinear 0 1 2 > a", "DequantizeLinear 3 4 5 > b", "Mul a b > c",
      "QuantizeLinear c 6 7 > y"}},
    {"BiasGelu", {"Add 0 1 > a", "Gelu a > y"}},
    {"FastGelu", {"?1 Add 0 1 > a", "Gelu a > y {approximate='tanh'}"}},
};

/* Operators of the standard. */
static const rule standard[] = {
    {"Size", {"Shape 0 > a", "ReduceProd a > y {keepdims=0}"}},
    {"SimplifiedLayerNormalization", {"RMSNormalization 0 1 > y {*}"}},
};

/* Explicit broadcasting (before opset 7), for nodes whose attribute broadcast is not 0. */
#define OLD(name)                                                                                  \
    {                                                                                              \
        name, {                                                                                    \
            "sis.Align 1 0 > a {axis -broadcast -consumed_inputs}", name " 0 a > y"                \
        }                                                                                          \
    }
static const rule broadcasts[] = {
    OLD("Add"), OLD("Sub"), OLD("Mul"),   OLD("Div"),     OLD("Pow"),
    OLD("And"), OLD("Or"),  OLD("Equal"), OLD("Greater"), OLD("Less"),
};
#undef OLD

/* ---- One node -------------------------------------------------------------------------------- */

static const Sis__Onnx__Attribute *attribute(const sis__lowering *k, const char *name, size_t n,
                                             size_t *at) {
    for (*at = 0; *at < k->from->n_attribute; (*at)++) {
        const Sis__Onnx__Attribute *a = k->from->attribute[*at];
        if (a->name && strlen(a->name) == n && memcmp(a->name, name, n) == 0)
            return a;
    }
    return NULL;
}

const Sis__Onnx__Attribute *sis__lower_attribute(sis__lowering *k, const char *name) {
    size_t at;
    const Sis__Onnx__Attribute *a = attribute(k, name, strlen(name), &at);
    if (a && at < 64)
        k->used |= (uint64_t)1 << at;
    return a;
}

int64_t sis__lower_int(sis__lowering *k, const char *name, int64_t missing) {
    const Sis__Onnx__Attribute *a = sis__lower_attribute(k, name);
    return a ? a->i : missing;
}

float sis__lower_float(sis__lowering *k, const char *name, float missing) {
    const Sis__Onnx__Attribute *a = sis__lower_attribute(k, name);
    return a ? a->f : missing;
}

const char *sis__lower_input(const sis__lowering *k, size_t i) {
    return i < k->from->n_input && k->from->input[i] ? k->from->input[i] : "";
}

const char *sis__lower_output(const sis__lowering *k, size_t i) {
    return i < k->from->n_output && k->from->output[i] ? k->from->output[i] : "";
}

/* The name in the graph for a number or word of a step; the caller frees it. */
static char *node_name(const sis__lowering *k, const char *word, size_t n) {
    char local[32];
    static const char *const outputs = "yzx";
    if (sis__is_digit(*word))
        return sis__strdup(sis__lower_input(k, (size_t)strtoul(word, NULL, 10)));
    if (n == 1 && *word >= 'a' && *word <= 'z' && k->missing >> (*word - 'a') & 1)
        return sis__strdup("");
    if (n == 1 && strchr(outputs, *word))
        return sis__strdup(sis__lower_output(k, (size_t)(strchr(outputs, *word) - outputs)));
    if (n == 2 && *word == 'o' && sis__is_digit(word[1]))
        return sis__strdup(sis__lower_output(k, (size_t)(word[1] - '0')));
    snprintf(local, sizeof local, "/sis.%.*s", (int)n, word);
    size_t length = strlen(k->from->output[0]);
    char *name = SIS_NEW(char, length + strlen(local) + 1);
    if (name) {
        memcpy(name, k->from->output[0], length);
        memcpy(name + length, local, strlen(local) + 1);
    }
    return name;
}

static int append_name(char ***list, size_t *n, char *name) {
    int error = name ? sis__proto_append(list, n, name) : SIS_E_NOMEM;
    if (error)
        free(name);
    return error;
}

/* ---- Attributes ------------------------------------------------------------------------------ */

/* After a failure the node has an attribute without a value, and is freed. */
static int add_float(Sis__Onnx__Node *n, const char *name, size_t length, float v) {
    Sis__Onnx__Attribute *a = sis__proto_add_attribute(n, name, length, SIS__ATTRIBUTE(FLOAT));
    if (!a)
        return SIS_E_NOMEM;
    a->has_f = 1;
    a->f = v;
    return SIS_OK;
}

/* 1 2 3] */
static int set_ints(Sis__Onnx__Attribute *a, const char *values) {
    char *end;
    int64_t v[8];
    size_t count = 0;
    for (; count < 8 && *values != ']'; values = end + strspn(end, " "))
        v[count++] = strtoll(values, &end, 10);
    a->ints = (int64_t *)sis__copy(v, count, sizeof *v);
    a->n_ints = a->ints ? count : 0;
    return a->ints ? SIS_OK : SIS_E_NOMEM;
}

/* text' */
static int set_text(Sis__Onnx__Attribute *a, const char *text) {
    a->has_s = 1;
    a->s.len = strcspn(text, "'");
    a->s.data = (uint8_t *)sis__copy(text, a->s.len, 1);
    return a->s.data ? SIS_OK : SIS_E_NOMEM;
}

/* name=value; *at moves past it. */
static int add_given(Sis__Onnx__Node *n, const char *name, size_t length, const char **at) {
    const char *value = name + length + 1;
    size_t size = *value == '[' ? strcspn(value, "]") + 1 : strcspn(value, " }");
    *at = value + size;
    if (*value != '[' && *value != '\'' && memchr(value, 'e', size))
        return add_float(n, name, length, sis__number_float(value, NULL));
    int type = *value == '[' ? SIS__ATTRIBUTE(INTS) : SIS__ATTRIBUTE(INT);
    if (*value == '\'')
        type = SIS__ATTRIBUTE(STRING);
    Sis__Onnx__Attribute *a = sis__proto_add_attribute(n, name, length, type);
    if (!a || type != SIS__ATTRIBUTE(INT))
        return !a ? SIS_E_NOMEM : *value == '[' ? set_ints(a, value + 1) : set_text(a, value + 1);
    a->has_i = 1;
    a->i = strtoll(value, NULL, 10);
    return SIS_OK;
}

static int add_copy(Sis__Onnx__Node *n, const Sis__Onnx__Attribute *from) {
    uint8_t *bytes;
    size_t size;
    int error = sis__proto_pack(&from->base, &bytes, &size);
    if (error)
        return error;
    Sis__Onnx__Attribute *a = sis__onnx__attribute__unpack(NULL, size, bytes);
    free(bytes);
    error = a ? sis__proto_append(&n->attribute, &n->n_attribute, a) : SIS_E_NOMEM;
    if (error && a)
        sis__proto_free(&a->base);
    return error;
}

static int take(sis__lowering *k, Sis__Onnx__Node *n, const char *name, size_t length) {
    size_t at;
    int drops = *name == '-';
    const Sis__Onnx__Attribute *a = attribute(k, name + drops, length - (size_t)drops, &at);
    if (!a || at >= 64)
        return SIS_OK;
    k->used |= (uint64_t)1 << at;
    return drops ? SIS_OK : add_copy(n, a);
}

/* Copy all attributes that no other step names, except those of conditions and of the two special
 * operators. */
static int take_rest(sis__lowering *k, Sis__Onnx__Node *n) {
    static const char *const ours[] = {"channels_last", "activation", "activation_params"};
    int error = SIS_OK;
    for (size_t i = 0; i < k->from->n_attribute && i < 64 && !error; i++) {
        const char *name = k->from->attribute[i]->name ? k->from->attribute[i]->name : "";
        int named = 0;
        for (size_t j = 0; j < sizeof ours / sizeof *ours; j++)
            named |= strcmp(name, ours[j]) == 0;
        if (!named)
            error = take(k, n, name, strlen(name));
    }
    return error;
}

/* a b c=1} */
static int add_attributes(sis__lowering *k, Sis__Onnx__Node *n, const char *at) {
    int error = SIS_OK;
    while (!error && *at && *at != '}') {
        const char *name = at;
        size_t length = strcspn(at, " =}");
        at += length;
        if (*name == '*')
            error = take_rest(k, n);
        else if (*at == '=')
            error = add_given(n, name, length, &at);
        else
            error = take(k, n, name, length);
        at += strspn(at, " ");
    }
    return error;
}

/* ---- Steps ----------------------------------------------------------------------------------- */

/* Messages name the original node: its operator and its name. */
static char *name_after(const Sis__Onnx__Node *from) {
    const char *name = from->name && *from->name ? from->name : from->output[0];
    size_t size = strlen(from->op_type) + strlen(name) + 2;
    char *text = SIS_NEW(char, size);
    if (text)
        snprintf(text, size, "%s %s", from->op_type, name);
    return text;
}

/* A new, empty node for a step. */
static Sis__Onnx__Node *start(sis__lowering *k, const char *type, size_t length) {
    const char *domain = strncmp(type, "sis.", 4) == 0 ? "sis" : "";
    size_t prefix = *domain ? 4 : 0;
    Sis__Onnx__Node *n = k->n < SIS__MAX_LOWERED
                             ? (Sis__Onnx__Node *)sis__proto_new(&sis__onnx__node__descriptor)
                             : NULL;
    if (!n)
        return NULL;
    k->made[k->n++] = n;
    n->op_type = (char *)sis__alloc(length - prefix + 1, 1);
    n->domain = sis__strdup(domain);
    n->name = name_after(k->from);
    if (!n->op_type || !n->domain || !n->name)
        return NULL;
    memcpy(n->op_type, type + prefix, length - prefix);
    return n;
}

/* Does the condition hold? *step moves past it. */
static int holds(sis__lowering *k, const char **step) {
    char name[32];
    size_t length = strcspn(*step, " ");
    const char *word = *step;
    if (*word != '?' && *word != '@')
        return 1;
    *step += length + 1;
    if (*word == '?')
        return *sis__lower_input(k, (size_t)strtoul(word + 1, NULL, 10)) != '\0';
    snprintf(name, sizeof name, "%.*s", (int)length - 1, word + 1);
    const Sis__Onnx__Attribute *a = sis__lower_attribute(k, name);
    return a && a->i != 0;
}

/* Append words up to the mark; *at moves past them and the mark. */
static int add_names(sis__lowering *k, const char **at, char mark, char ***list, size_t *n,
                     size_t max) {
    int error = SIS_OK;
    while (!error && **at && **at != mark && **at != '{') {
        size_t length = strcspn(*at, " ");
        if (*n < max)
            error = append_name(list, n, node_name(k, *at, length));
        *at += length;
        *at += strspn(*at, " ");
    }
    *at += **at == mark;
    *at += strspn(*at, " ");
    return error;
}

/* The activation of a fused operator: its name, and its parameters in the order of its list. */
static int activate(sis__lowering *k, Sis__Onnx__Node *n) {
    static const char *const order[][3] = {{"LeakyRelu", "alpha"},
                                           {"Elu", "alpha"},
                                           {"HardSigmoid", "alpha", "beta"},
                                           {"Clip", "min", "max"},
                                           {"ThresholdedRelu", "alpha"}};
    const Sis__Onnx__Attribute *a = sis__lower_attribute(k, "activation"),
                               *list = sis__lower_attribute(k, "activation_params");
    const Sis__Onnx__Attribute *one[2] = {sis__lower_attribute(k, "activation_alpha"),
                                          sis__lower_attribute(k, "activation_beta")};
    int error = SIS_OK;
    free(n->op_type);
    n->op_type = (char *)sis__alloc(a ? a->s.len + 1 : 9, 1);
    if (!n->op_type)
        return SIS_E_NOMEM;
    if (a && a->s.len)
        memcpy(n->op_type, a->s.data, a->s.len);
    else if (!a)
        memcpy(n->op_type, "Identity", 8);
    sis__lower_attribute(k, "activation_gamma");
    for (size_t i = 0; i < sizeof order / sizeof *order; i++)
        for (size_t j = 0; j < 2 && strcmp(order[i][0], n->op_type) == 0 && !error; j++)
            if (order[i][j + 1] && list && j < list->n_floats)
                error = add_float(n, order[i][j + 1], strlen(order[i][j + 1]), list->floats[j]);
            else if (order[i][j + 1] && one[j])
                error = add_float(n, order[i][j + 1], strlen(order[i][j + 1]), one[j]->f);
    return error;
}

/* Multiply by alpha. */
static int scale(sis__lowering *k, Sis__Onnx__Node *n) {
    const Sis__Onnx__Attribute *a = sis__lower_attribute(k, "alpha");
    free(n->op_type);
    free(n->domain);
    n->op_type = sis__strdup("Times");
    n->domain = sis__strdup("sis");
    if (!n->op_type || !n->domain)
        return SIS_E_NOMEM;
    return add_float(n, "alpha", 5, a ? a->f : 1.0f);
}

/* Is the only input of a step missing? Then the step produces nothing. */
static int is_idle(sis__lowering *k, const char *step) {
    const char *at = step + strcspn(step, " ") + 1;
    char *end;
    if (!sis__is_digit(*at))
        return 0;
    size_t input = strtoul(at, &end, 10);
    if (strncmp(end, " > ", 3) != 0 || *sis__lower_input(k, input))
        return 0;
    k->missing |= 1u << (end[3] - 'a');
    return 1;
}

static int add_step(sis__lowering *k, const char *step) {
    if (is_idle(k, step))
        return SIS_OK;
    int so = holds(k, &step);
    size_t length = strcspn(step, " ");
    Sis__Onnx__Node *n = start(k, so ? step : "Identity", so ? length : 8);
    if (!n)
        return SIS_E_NOMEM;
    int own = so && (*step == '!' || *step == '#') ? *step : 0;
    step += length + 1;
    int error = add_names(k, &step, '>', &n->input, &n->n_input, so ? SIZE_MAX : 1);
    if (!error)
        error = add_names(k, &step, '{', &n->output, &n->n_output, SIZE_MAX);
    if (!error && own)
        return own == '!' ? activate(k, n) : scale(k, n);
    while (n->n_input && !*n->input[n->n_input - 1])
        free(n->input[--n->n_input]);
    return error || !so ? error : add_attributes(k, n, step);
}

void sis__lower_step(sis__lowering *k, const char *format, ...) {
    char step[512];
    va_list list;
    if (k->error)
        return;
    va_start(list, format);
    sis__vformat(step, sizeof step, format, list);
    va_end(list);
    k->error = add_step(k, step);
}

/* ---- All nodes ------------------------------------------------------------------------------- */

static const rule *find_rule(const rule *list, size_t n, const char *name) {
    for (size_t i = 0; i < n; i++)
        if (strcmp(list[i].name, name) == 0)
            return &list[i];
    return NULL;
}

#define FIND(list, name) find_rule(list, sizeof(list) / sizeof *(list), name)

static int is_of(const Sis__Onnx__Node *n, const char *domain) {
    const char *own = n->domain && strcmp(n->domain, "ai.onnx") != 0 ? n->domain : "";
    return strcmp(own, domain) == 0;
}

/* QLinearConcat: scale and zero point of the result, then value, scale and zero point of each
 * part. */
static void lower_concat(sis__lowering *k) {
    int64_t axis = sis__lower_int(k, "axis", 0);
    size_t n = k->from->n_input;
    if (n < 5 || n % 3 != 2 || n > SIS__MAX_LOWERED)
        k->refused = "of this number of inputs";
    for (size_t i = 2; !k->refused && i < n; i += 3) {
        sis__lower_step(k, "DequantizeLinear %zu %zu %zu > p%zu", i, i + 1, i + 2, i);
        if (i == 2)
            sis__lower_step(k, "Identity p2 > c2");
        else
            sis__lower_step(k, "Concat c%zu p%zu > c%zu {axis=%lld}", i - 3, i, i, (long long)axis);
    }
    if (!k->refused)
        sis__lower_step(k, "QuantizeLinear c%zu 0 1 > y", n - 3);
}

/* Max, Min and Sum of any number of inputs: one after the other. */
static void lower_variadic(sis__lowering *k) {
    const char *op = strcmp(k->from->op_type, "Sum") == 0 ? "Add" : k->from->op_type;
    size_t n = k->from->n_input;
    sis__lower_attribute(k, "consumed_inputs"); /* only in the first versions: storage hints */
    if (n > SIS__MAX_LOWERED)
        k->refused = "of this number of inputs";
    else if (n == 1)
        sis__lower_step(k, "Identity 0 > y");
    for (size_t i = 1; !k->refused && i < n; i++) {
        char from[32] = "0", to[32] = "y";
        if (i > 1)
            snprintf(from, sizeof from, "s%zu", i - 1);
        if (i + 1 < n)
            snprintf(to, sizeof to, "s%zu", i);
        sis__lower_step(k, "%s %s %zu > %s", op, from, i, to);
    }
}

/* ConstantOfShape: one number everywhere. */
static void lower_fill(sis__lowering *k) {
    int given = sis__lower_attribute(k, "value") != NULL;
    sis__lower_step(k, "Constant > v {%s}", given ? "value" : "value_float=0e0");
    sis__lower_step(k, "Squeeze v > w");
    sis__lower_step(k, "Expand w 0 > y");
}

void sis__lower_count(sis__lowering *k, const char *of, int axis, const char *to) {
    int end = axis == -1 ? SIS__MAX_RANK : axis + 1;
    sis__lower_step(k, "Shape %s > %s_1 {start=%d end=%d}", of, to, axis, end);
    sis__lower_step(k, "Squeeze %s_1 > %s_n {axes=[0]}", to, to);
    sis__lower_step(k, "Constant > %s_0 {value_int=0}", to);
    sis__lower_step(k, "Constant > %s_by {value_int=1}", to);
    sis__lower_step(k, "Range %s_0 %s_n %s_by > %s", to, to, to, to);
}

/* Trilu: zeros below the diagonal of matrices, or above it. */
static void lower_trilu(sis__lowering *k) {
    int upper = sis__lower_int(k, "upper", 1) != 0;
    sis__lower_count(k, "0", -2, "rows");
    sis__lower_count(k, "0", -1, "cols");
    sis__lower_step(k, "Unsqueeze rows > down {axes=[1]}");
    sis__lower_step(k, "Sub cols down > diagonal");
    if (!*sis__lower_input(k, 1))
        sis__lower_step(k, "Constant > main {value_int=0}");
    sis__lower_step(k, "%s diagonal %s > stays", upper ? "GreaterOrEqual" : "LessOrEqual",
                    *sis__lower_input(k, 1) ? "1" : "main");
    sis__lower_step(k, "Constant > nothing {value_int=0}");
    sis__lower_step(k, "CastLike nothing 0 > zero");
    sis__lower_step(k, "Where stays 0 zero > y");
}

/* Operators that functions lower. Max and Min of two inputs stay. */
static lower_fn function_of(const Sis__Onnx__Node *n) {
    static const struct {
        const char *domain, *name;
        lower_fn lower;
    } rows[] = {
        {"", "Einsum", sis__lower_einsum},
        {"", "Attention", sis__lower_attention},
        {"", "RotaryEmbedding", sis__lower_standard_rotary},
        {"", "Max", lower_variadic},
        {"", "Min", lower_variadic},
        {"", "Sum", lower_variadic},
        {"", "ConstantOfShape", lower_fill},
        {"", "Trilu", lower_trilu},
        {"com.microsoft", "Trilu", lower_trilu},
        {"com.microsoft", "QLinearConcat", lower_concat},
        {"com.microsoft", "Attention", sis__lower_packed_attention},
        {"com.microsoft", "MultiHeadAttention", sis__lower_multi_head},
        {"com.microsoft", "RotaryEmbedding", sis__lower_rotary},
        {"com.microsoft", "EmbedLayerNormalization", sis__lower_embed},
        {"com.microsoft", "SkipLayerNormalization", sis__lower_skip_norm},
        {"com.microsoft", "SkipSimplifiedLayerNormalization", sis__lower_skip_simplified},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (strcmp(n->op_type, rows[i].name) == 0 && is_of(n, rows[i].domain))
            return rows[i].lower == lower_variadic && n->n_input == 2 && *n->op_type == 'M'
                       ? NULL
                       : rows[i].lower;
    return NULL;
}

/* How a node is lowered: not at all, by a rule, by a function, or it is refused. */
typedef struct {
    const rule *rule;
    lower_fn lower;
    const char *refused;
} choice;

static const rule *quant_rule(const Sis__Onnx__Node *n) {
    int ours = n->op_type && (is_of(n, "") || is_of(n, "com.microsoft"));
    return ours ? FIND(in_levels, n->op_type) : NULL;
}

/* Other forms of QuantizeLinear and DequantizeLinear are operators of their own. */
static choice choose_level(sis__index *g, const Sis__Onnx__Node *n) {
    const rule *r = quant_rule(n);
    const char *refused = r ? sis__exact_quant_refused(g, n) : NULL;
    if (!r || (refused && (r == &in_levels[0] || r == &in_levels[1])))
        return (choice){0};
    int floats = strcmp(r->name, "QGemm") == 0 && (n->n_input < 8 || !*n->input[7]);
    return (choice){.refused = refused, .rule = refused ? NULL : floats ? &float_gemm : r};
}

/* g: the graph's names when quantised operators are lowered, else NULL. */
static choice choose(sis__index *g, const Sis__Onnx__Node *n) {
    if (!n->op_type || n->n_output == 0 || !*n->output[0])
        return (choice){0};
    if (g)
        return choose_level(g, n);
    lower_fn lower = function_of(n);
    if (lower)
        return (choice){.lower = lower};
    if (is_of(n, "") && sis__proto_int(n, "broadcast", 0))
        return (choice){.rule = FIND(broadcasts, n->op_type)};
    if (is_of(n, ""))
        return (choice){.rule = FIND(standard, n->op_type)};
    if (!is_of(n, "com.microsoft"))
        return (choice){0};
    return (choice){.rule = FIND(rules, n->op_type)};
}

/* Make the nodes of a choice in k; none if an attribute is left that no step uses. */
static int apply_choice(sis__lowering *k, const choice *c) {
    k->refused = c->refused;
    for (size_t i = 0; c->rule && i < MAX_STEPS && c->rule->steps[i] && !k->error; i++)
        k->error = add_step(k, c->rule->steps[i]);
    if (c->lower)
        c->lower(k);
    int left = k->from->n_attribute > 64 || k->refused;
    for (size_t i = 0; i < k->from->n_attribute && i < 64; i++)
        left |= !(k->used >> i & 1) && k->from->attribute[i]->name != NULL &&
                !(k->from->attribute[i]->has_i && k->from->attribute[i]->i == 0);
    for (size_t i = 0; (k->error || left) && i < k->n; i++)
        sis__proto_free(&k->made[i]->base);
    if (k->error || left)
        k->n = 0;
    return k->error;
}

/* Rename the operator so that the message about it says which form is refused. */
static int rename_refused(Sis__Onnx__Node *n, const char *form) {
    size_t size = strlen(n->op_type) + strlen(form) + 2;
    char *name = SIS_NEW(char, size);
    if (!name)
        return SIS_E_NOMEM;
    snprintf(name, size, "%s %s", n->op_type, form);
    free(n->op_type);
    n->op_type = name;
    return SIS_OK;
}

/* The new list of nodes; for `lengths` see sis__lowering. */
typedef struct {
    Sis__Onnx__Node **list;
    size_t n;
    char *lengths;
} nodes;

static int note_lengths(nodes *to, const Sis__Onnx__Node *n) {
    if (n->n_output < 2 || strcmp(n->op_type, "EmbedLayerNormalization") != 0)
        return SIS_OK;
    free(to->lengths);
    to->lengths = sis__strdup(n->output[1]);
    return to->lengths ? SIS_OK : SIS_E_NOMEM;
}

/* Append the replacement of a node to a list; the node is freed unless it is kept. */
static int lower_node(const choice *c, Sis__Onnx__Node *n, nodes *to) {
    sis__lowering k = {.from = n, .lengths = to->lengths};
    int error = apply_choice(&k, c);
    if (!error && k.refused)
        error = rename_refused(n, k.refused);
    if (error || k.n == 0)
        return error ? error : sis__proto_append(&to->list, &to->n, n);
    size_t done = 0;
    error = note_lengths(to, n);
    while (done < k.n && !error)
        if (!(error = sis__proto_append(&to->list, &to->n, k.made[done])))
            done++;
    while (done < k.n)
        sis__proto_free(&k.made[done++]->base);
    if (!error)
        sis__proto_free(&n->base);
    return error;
}

/* Choose for each node; *found: does any node change? Names are indexed only if an operator needs
 * them. */
static int choose_all(const Sis__Onnx__Graph *g, int in_levels_now, choice *chosen, int *found) {
    sis__index l = {0};
    int asks = !in_levels_now, error = SIS_OK;
    for (size_t i = 0; i < g->n_node; i++)
        asks |= quant_rule(g->node[i]) != NULL;
    if (asks && in_levels_now)
        error = sis__index_graph(&l, g);
    for (size_t i = 0; i < g->n_node && asks && !error; i++) {
        chosen[i] = choose(in_levels_now ? &l : NULL, g->node[i]);
        *found |= chosen[i].rule || chosen[i].lower || chosen[i].refused;
        error = l.error;
    }
    sis__index_release(&l);
    return error;
}

static int lower_graph(Sis__Onnx__Graph *g, int in_levels_now) {
    int found = 0;
    choice *chosen = SIS_NEW(choice, g->n_node + 1);
    if (!chosen)
        return SIS_E_NOMEM;
    int error = choose_all(g, in_levels_now, chosen, &found);
    for (size_t i = 0; i < g->n_node && !error; i++)
        for (size_t k = 0; k < g->node[i]->n_attribute && !error; k++)
            if (g->node[i]->attribute[k]->g)
                error = lower_graph(g->node[i]->attribute[k]->g, in_levels_now);
    if (error || !found) {
        free(chosen);
        return error;
    }
    nodes to = {0};
    size_t done = 0;
    while (done < g->n_node && !(error = lower_node(&chosen[done], g->node[done], &to)))
        done++;
    free(chosen);
    free(to.lengths);
    for (; done < g->n_node; done++) /* after a failure: the document frees the rest */
        if (sis__proto_append(&to.list, &to.n, g->node[done]) != SIS_OK)
            sis__proto_free(&g->node[done]->base);
    free((void *)g->node);
    g->node = to.list;
    g->n_node = to.n;
    return error || !in_levels_now ? error : sis__exact_quant_join(g);
}

int sis__lower_operators(Sis__Onnx__Model *doc) {
    return doc->graph ? lower_graph(doc->graph, 0) : SIS_OK;
}

int sis__lower_levels(Sis__Onnx__Model *doc) {
    int error = doc->graph ? lower_graph(doc->graph, 1) : SIS_OK;
    return error || !doc->graph ? error : sis__bias_join(doc->graph);
}
