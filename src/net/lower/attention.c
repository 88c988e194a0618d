/* SPDX-License-Identifier: MIT
 *
 * Lower transformer operators to MatMul, Softmax, Gather and LayerNormalization: Attention of the
 * standard and of ONNX Runtime's optimizer, MultiHeadAttention, RotaryEmbedding,
 * EmbedLayerNormalization, SkipLayerNormalization. The result is what PyTorch exports, so plans
 * fuse it (net/plan/fuse_attention.c) and walks follow it.
 *
 *     q, k, v                            -> (batch, heads, length, size)
 *     softmax(q . k^T * scale + mask) . v  -> (batch, length, width)
 *
 * Shapes and types are not known here. Three internal operators look at them later: Heads splits
 * the last of three axes into heads, Spread gives a mask four axes (net/ops/view.c), Term turns a
 * mask into an addend of scores (net/ops/unary.c).
 *
 * Not supported, and left to ONNX Runtime: past keys, packed queries, keys and values, and outputs
 * other than the first.
 */
#include <string.h>

#include "net/lower/operators.h"
#include "net/onnx/proto.h"

/* Hides a key. Lower than every score, but finite: infinity minus infinity is NaN. */
static const double far_below = -3.4e38;

static int has_input(const sis__lowering *k, size_t i) {
    return *sis__lower_input(k, i) != '\0';
}

static int has_output(const sis__lowering *k, size_t i) {
    return *sis__lower_output(k, i) != '\0';
}

/* ---- Attention ------------------------------------------------------------------------------- */

/* q (batch, heads, queries, size) and t (batch, heads, size, keys) -> scaled */
static void score(sis__lowering *k, float cap) {
    float scale = sis__lower_float(k, "scale", 0);
    const char *to = cap > 0 ? "plain" : "scaled";
    sis__lower_step(k, "MatMul q t > scores");
    if (scale != 0) {
        sis__lower_step(k, "Constant > by {value_float=%.8e}", (double)scale);
        sis__lower_step(k, "Mul scores by > %s", to);
    } else {
        sis__lower_step(k, "Shape t > size {start=2 end=3}");
        sis__lower_step(k, "Cast size > wide {to=1}");
        sis__lower_step(k, "Sqrt wide > root");
        sis__lower_step(k, "Div scores root > %s", to);
    }
    if (cap > 0) {
        sis__lower_step(k, "Constant > cap {value_float=%.8e}", (double)cap);
        sis__lower_step(k, "Div plain cap > small");
        sis__lower_step(k, "Tanh small > bent");
        sis__lower_step(k, "Mul bent cap > scaled");
    }
}

/* Causal mask: hide the keys after each query in `from`, which is scores or a mask. */
static const char *hide_later(sis__lowering *k, const char *from) {
    sis__lower_count(k, "scores", 2, "queries");
    sis__lower_count(k, "scores", 3, "keys");
    sis__lower_step(k, "Unsqueeze queries > down {axes=[1]}");
    sis__lower_step(k, "Less down keys > later");
    sis__lower_step(k, "Constant > far {value_float=%.8e}", far_below);
    sis__lower_step(k, "Where later far %s > causal", from);
    return "causal";
}

/* Write results to y, with heads side by side (flat) or as an axis. With a mask, a query that sees
 * no key gets zeros. */
static void weigh_values(sis__lowering *k, const char *scores, int flat, const char *mask) {
    const char *to = flat ? "seen" : "y";
    sis__lower_step(k, "Softmax %s > weights {axis=-1}", scores);
    sis__lower_step(k, "MatMul weights v > %s", mask ? "found" : to);
    if (mask) {
        sis__lower_step(k, "ReduceMax %s > best {axes=[-1] keepdims=1}", mask);
        sis__lower_step(k, "Constant > none {value_float=%.8e}", far_below);
        sis__lower_step(k, "Greater best none > sees");
        sis__lower_step(k, "Cast sees > share {to=1}");
        sis__lower_step(k, "Mul found share > %s", to);
    }
    if (flat) {
        sis__lower_step(k, "Transpose seen > rows {perm=[0 2 1 3]}");
        sis__lower_step(k, "Reshape rows > y {shape=[0 0 -1]}");
    }
}

/* (batch, length, width) -> (batch, heads, length, size), keys transposed for the product */
static void divide(sis__lowering *k, const char *from, const char *to, int64_t heads) {
    sis__lower_step(k, "sis.Heads %s > %s_4 {heads=%lld}", from, to, (long long)heads);
    sis__lower_step(k, "Transpose %s_4 > %s {perm=[%s]}", to, to,
                    strcmp(to, "t") == 0 ? "0 2 3 1" : "0 2 1 3");
}

/* Mask `i` of ONNX Runtime's operators: 0 hides a key; (batch, keys) or (batch, queries, keys).
 * Lengths, one for each row, come from EmbedLayerNormalization. */
static const char *add_mask(sis__lowering *k, size_t i, const char *scores) {
    double filter = (double)sis__lower_float(k, "mask_filter_value", -10000);
    if (!has_input(k, i))
        return scores;
    if (k->lengths && strcmp(k->lengths, sis__lower_input(k, i)) == 0) {
        sis__lower_count(k, "scores", 3, "places");
        sis__lower_step(k, "Cast %zu > ends {to=7}", i);
        sis__lower_step(k, "Unsqueeze ends > end {axes=[1 2 3]}");
        sis__lower_step(k, "Less places end > there");
        sis__lower_step(k, "sis.Term there > mask {hidden=%.8e}", filter);
    } else {
        sis__lower_step(k, "sis.Spread %zu > spread", i);
        sis__lower_step(k, "sis.Term spread > mask {hidden=%.8e}", filter);
    }
    sis__lower_step(k, "Add %s mask > masked", scores);
    return "masked";
}

/* After q, t and v: add ONNX Runtime's mask and the bias of scores. */
static void attend(sis__lowering *k, size_t mask, size_t bias) {
    const char *scores = "scaled";
    score(k, 0);
    scores = add_mask(k, mask, scores);
    if (has_input(k, bias)) {
        sis__lower_step(k, "Add %s %zu > biased", scores, bias);
        scores = "biased";
    }
    if (sis__lower_int(k, "unidirectional", 0))
        scores = hide_later(k, scores);
    weigh_values(k, scores, 1, NULL);
}

/* x, weights, bias, mask, past, bias of scores, length of the past */
void sis__lower_packed_attention(sis__lowering *k) {
    const Sis__Onnx__Attribute *sizes = sis__lower_attribute(k, "qkv_hidden_sizes");
    int64_t heads = sis__lower_int(k, "num_heads", 0);
    sis__lower_attribute(k, "past_present_share_buffer");
    if (has_input(k, 4) || has_input(k, 6) || has_output(k, 1))
        k->refused = "with past state";
    else if (sis__lower_int(k, "do_rotary", 0))
        k->refused = "with do_rotary";
    else if (sizes && sizes->n_ints != 3)
        k->refused = "with qkv_hidden_sizes that are not three";
    if (k->refused)
        return;
    sis__lower_step(k, "MatMul 0 1 > product");
    sis__lower_step(k, "?2 Add product 2 > all");
    if (sizes)
        sis__lower_step(k, "Split all > a b c {axis=2 split=[%lld %lld %lld]}",
                        (long long)sizes->ints[0], (long long)sizes->ints[1],
                        (long long)sizes->ints[2]);
    else
        sis__lower_step(k, "Split all > a b c {axis=2}");
    divide(k, "a", "q", heads);
    divide(k, "b", "t", heads);
    divide(k, "c", "v", heads);
    attend(k, 3, 5);
}

/* q, k, v, bias, mask, bias of scores, past keys, past values, length of the past, cache */
void sis__lower_multi_head(sis__lowering *k) {
    static const char *const from[] = {"0", "1", "2"}, *const with[] = {"a", "b", "c"},
                             *const to[] = {"q", "t", "v"};
    int64_t heads = sis__lower_int(k, "num_heads", 0);
    if (!has_input(k, 1) || !has_input(k, 2))
        k->refused = "of packed queries, keys and values";
    for (size_t i = 6; i <= 9; i++)
        if (has_input(k, i))
            k->refused = "with past state";
    for (size_t i = 1; i <= 3; i++)
        if (has_output(k, i))
            k->refused = "with several outputs";
    if (k->refused)
        return;
    if (has_input(k, 3)) {
        for (size_t i = 0; i < 3; i++)
            sis__lower_step(k, "Shape %s > %s_size {start=2 end=3}", from[i], with[i]);
        sis__lower_step(k, "Concat a_size b_size c_size > sizes {axis=0}");
        sis__lower_step(k, "Split 3 sizes > a_bias b_bias c_bias {axis=0}");
    }
    for (size_t i = 0; i < 3; i++) {
        if (has_input(k, 3))
            sis__lower_step(k, "Add %s %s_bias > %s", from[i], with[i], with[i]);
        divide(k, has_input(k, 3) ? with[i] : from[i], to[i], heads);
    }
    attend(k, 4, 5);
}

/* Repeat heads of keys or values that several heads of queries share. */
static void repeat(sis__lowering *k, const char *from, const char *to, int64_t shared,
                   int64_t group) {
    sis__lower_step(k, "Unsqueeze %s > %s_5 {axes=[2]}", from, to);
    sis__lower_step(k, "Constant > %s_shape {value_ints=[1 1 %lld 1 1]}", to, (long long)group);
    sis__lower_step(k, "Expand %s_5 %s_shape > %s_all", to, to, to);
    sis__lower_step(k, "Shape %s > %s_ends {start=2 end=4}", from, to);
    sis__lower_step(k, "Constant > %s_heads {value_ints=[0 %lld]}", to,
                    (long long)(shared * group));
    sis__lower_step(k, "Concat %s_heads %s_ends > %s_4d {axis=0}", to, to, to);
    sis__lower_step(k, "Reshape %s_all %s_4d > %s", to, to, to);
}

/* Attention of the standard: q, k, v, mask, past keys, past values, lengths. Three axes are (batch,
 * length, heads * size) with the numbers of heads as attributes, four are (batch, heads, length,
 * size). */
void sis__lower_attention(sis__lowering *k) {
    int64_t heads = sis__lower_int(k, "q_num_heads", 0);
    int64_t shared = sis__lower_int(k, "kv_num_heads", 0);
    int causal = sis__lower_int(k, "is_causal", 0) != 0;
    float cap = sis__lower_float(k, "softcap", 0);
    sis__lower_attribute(k, "softmax_precision");
    sis__lower_attribute(k, "qk_matmul_output_mode");
    if (has_input(k, 4) || has_input(k, 5) || has_input(k, 6))
        k->refused = "with past state";
    else if (has_output(k, 1) || has_output(k, 2) || has_output(k, 3))
        k->refused = "with several outputs";
    else if ((heads > 0) != (shared > 0) || (heads > 0 && heads % shared))
        k->refused = "with heads that cannot be shared";
    if (k->refused)
        return;
    int repeats = heads > shared;
    if (heads > 0) {
        divide(k, "0", "q", heads);
        divide(k, "1", repeats ? "kept" : "t", shared);
        divide(k, "2", repeats ? "given" : "v", shared);
    } else {
        sis__lower_step(k, "Identity 0 > q");
        sis__lower_step(k, "sis.Heads 1 0 > kept");
        sis__lower_step(k, "Transpose kept > t {perm=[0 1 3 2]}");
        sis__lower_step(k, "sis.Heads 2 0 > v");
    }
    if (repeats) {
        repeat(k, "kept", "keys_all", shared, heads / shared);
        sis__lower_step(k, "Transpose keys_all > t {perm=[0 1 3 2]}");
        repeat(k, "given", "v", shared, heads / shared);
    }
    score(k, cap);
    if (!has_input(k, 3)) {
        weigh_values(k, causal ? hide_later(k, "scaled") : "scaled", heads > 0, NULL);
        return;
    }
    sis__lower_step(k, "sis.Term 3 > mask {hidden=%.8e}", far_below);
    const char *mask = causal ? hide_later(k, "mask") : "mask";
    sis__lower_step(k, "Add scaled %s > masked", mask);
    weigh_values(k, "masked", heads > 0, mask);
}

/* ---- RotaryEmbedding ------------------------------------------------------------------------- */

/* Rotate pairs of values: x (batch, length, heads * size) or (batch, heads, length, size); cosines
 * and sines are looked up by positions (batch, length), or given for each row and position. */
static void turn(sis__lowering *k, size_t cosine, size_t positions) {
    int64_t heads = sis__lower_int(k, "num_heads", 0);
    int64_t turned = sis__lower_int(k, "rotary_embedding_dim", 0);
    int pairs = sis__lower_int(k, "interleaved", 0) != 0;
    static const char *const names[] = {"cos", "sin"};
    for (size_t i = 0; i < 2; i++) {
        if (has_input(k, positions))
            sis__lower_step(k, "Gather %zu %zu > %s_3 {axis=0}", cosine + i, positions, names[i]);
        else
            sis__lower_step(k, "Identity %zu > %s_3", cosine + i, names[i]);
        sis__lower_step(k, "sis.Heads %s_3 > %s {heads=1}", names[i], names[i]);
    }
    if (heads > 0)
        sis__lower_step(k, "sis.Heads 0 > apart {heads=%lld}", (long long)heads);
    else
        sis__lower_step(k, "Transpose 0 > apart {perm=[0 2 1 3]}");
    sis__lower_step(k, "Shape cos > half {start=3 end=4}");
    sis__lower_step(k, "Add half half > whole");
    sis__lower_step(k, "Constant > from {value_ints=[%d]}", 0);
    sis__lower_step(k, "Constant > next {value_ints=[%d]}", 1);
    sis__lower_step(k, "Constant > two {value_ints=[%d]}", 2);
    sis__lower_step(k, "Constant > last {value_ints=[3]}");
    sis__lower_step(k, "Slice apart from %s last %s > first", pairs ? "whole" : "half",
                    pairs ? "two" : "next");
    sis__lower_step(k, "Slice apart %s whole last %s > second", pairs ? "next" : "half",
                    pairs ? "two" : "next");
    sis__lower_step(k, "Mul first cos > fc");
    sis__lower_step(k, "Mul second sin > ss");
    sis__lower_step(k, "Sub fc ss > one");
    sis__lower_step(k, "Mul second cos > sc");
    sis__lower_step(k, "Mul first sin > fs");
    sis__lower_step(k, "Add sc fs > other");
    if (pairs) {
        sis__lower_step(k, "Unsqueeze one > one_5 {axes=[4]}");
        sis__lower_step(k, "Unsqueeze other > other_5 {axes=[4]}");
        sis__lower_step(k, "Concat one_5 other_5 > both {axis=4}");
        sis__lower_step(k, "Reshape both > joined {shape=[0 0 0 -1]}");
    } else {
        sis__lower_step(k, "Concat one other > joined {axis=3}");
    }
    if (turned > 0) { /* the rest of each head is copied */
        sis__lower_step(k, "Shape apart > size {start=3 end=4}");
        sis__lower_step(k, "Slice apart whole size last > stays");
        sis__lower_step(k, "Concat joined stays > full {axis=3}");
    }
    if (heads > 0)
        sis__lower_step(k, "Identity %s > back", turned > 0 ? "full" : "joined");
    else
        sis__lower_step(k, "Transpose %s > back {perm=[0 2 1 3]}", turned > 0 ? "full" : "joined");
    sis__lower_step(k, "Shape 0 > shape");
    sis__lower_step(k, "Reshape back shape > y");
}

void sis__lower_rotary(sis__lowering *k) { /* x, positions, cosines, sines */
    if (sis__lower_int(k, "is_packed_batching", 0))
        k->refused = "of packed batches";
    else if (sis__lower_float(k, "scale", 1) != 1)
        k->refused = "with a scale";
    else
        turn(k, 2, 1);
}

void sis__lower_standard_rotary(sis__lowering *k) { /* x, cosines, sines, positions */
    turn(k, 1, 3);
}

/* ---- Normalisations -------------------------------------------------------------------------- */

/* ids, segments, words, positions and segments as matrices, gamma, beta, mask, positions -> y, lengths of the mask, sum */
void sis__lower_embed(sis__lowering *k) {
    double epsilon = (double)sis__lower_float(k, "epsilon", 1e-12f);
    const char *sum = "words";
    sis__lower_attribute(k, "mask_index_type");
    sis__lower_step(k, "Gather 2 0 > words {axis=0}");
    if (has_input(k, 8)) {
        sis__lower_step(k, "Gather 3 8 > places {axis=0}");
    } else {
        sis__lower_step(k, "Shape 0 > length {start=1 end=2}");
        sis__lower_step(k, "Constant > from {value_ints=[0]}");
        sis__lower_step(k, "Slice 3 from length from > places");
    }
    if (has_input(k, 1)) {
        sis__lower_step(k, "Gather 4 1 > types {axis=0}");
        sis__lower_step(k, "Add words types > typed");
        sum = "typed";
    }
    sis__lower_step(k, "Add %s places > %s", sum, has_output(k, 2) ? "o2" : "sum");
    sis__lower_step(k, "LayerNormalization %s 5 6 > y {axis=-1 epsilon=%.8e}",
                    has_output(k, 2) ? "o2" : "sum", epsilon);
    if (has_output(k, 1) && has_input(k, 7)) {
        sis__lower_step(k, "Cast 7 > there {to=9}");
        sis__lower_step(k, "Cast there > ones {to=6}");
        sis__lower_step(k, "ReduceSum ones > o1 {axes=[1] keepdims=0}");
    }
}

/* x, skip, gamma, (beta,) bias -> y, mean, 1 / deviation, sum */
static void lower_skip(sis__lowering *k, int centred) {
    double epsilon = (double)sis__lower_float(k, "epsilon", 1e-12f);
    size_t bias = centred ? 4 : 3;
    const char *sum = has_output(k, 3) ? "o3" : "sum";
    sis__lower_step(k, "Add 0 1 > %s", has_input(k, bias) ? "two" : sum);
    if (has_input(k, bias))
        sis__lower_step(k, "Add two %zu > %s", bias, sum);
    if (centred)
        sis__lower_step(k, "LayerNormalization %s 2 3 > y %s {axis=-1 epsilon=%.8e}", sum,
                        has_output(k, 1) || has_output(k, 2) ? "o1 o2" : "", epsilon);
    else if (has_output(k, 1) || has_output(k, 2))
        k->refused = "with several outputs";
    else
        sis__lower_step(k, "RMSNormalization %s 2 > y {axis=-1 epsilon=%.8e}", sum, epsilon);
}

void sis__lower_skip_norm(sis__lowering *k) {
    lower_skip(k, 1);
}

void sis__lower_skip_simplified(sis__lowering *k) {
    lower_skip(k, 0);
}
