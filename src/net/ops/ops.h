/* SPDX-License-Identifier: MIT
 *
 * The table of all operators: X(ID, domain, name in the standard, variable of its sis__op). Domain
 * "" is ai.onnx, "ml" ai.onnx.ml, "ms" com.microsoft. Operators of domain "sis" do not occur in
 * files: they compute inputs (net/onnx/graft.h) or are results of lowering (net/lower/operators.h).
 * Operators of one file are listed together.
 */
#ifndef SIS_NET_OPS_OPS_H
#define SIS_NET_OPS_OPS_H

#include "net/plan/context.h"

#define SIS__OPS(X)                                                                                \
    /* conv.c */                                                                                   \
    X(CONV, "", "Conv", conv)                                                                      \
    /* pool.c */                                                                                   \
    X(MAX_POOL, "", "MaxPool", max_pool)                                                           \
    X(AVERAGE_POOL, "", "AveragePool", average_pool)                                               \
    X(GLOBAL_MAX_POOL, "", "GlobalMaxPool", global_max_pool)                                       \
    X(GLOBAL_AVERAGE_POOL, "", "GlobalAveragePool", global_average_pool)                           \
    /* dense.c */                                                                                  \
    X(GEMM, "", "Gemm", gemm)                                                                      \
    X(MATMUL, "", "MatMul", matmul)                                                                \
    /* binary.c */                                                                                 \
    X(ADD, "", "Add", add)                                                                         \
    X(SUB, "", "Sub", sub)                                                                         \
    X(MUL, "", "Mul", mul)                                                                         \
    X(DIV, "", "Div", div)                                                                         \
    X(POW, "", "Pow", pow)                                                                         \
    X(MAX, "", "Max", max)                                                                         \
    X(MIN, "", "Min", min)                                                                         \
    X(MOD, "", "Mod", mod)                                                                         \
    X(PRELU, "", "PRelu", prelu)                                                                   \
    X(EQUAL, "", "Equal", equal)                                                                   \
    X(GREATER, "", "Greater", greater)                                                             \
    X(LESS, "", "Less", less)                                                                      \
    X(GREATER_OR_EQUAL, "", "GreaterOrEqual", greater_or_equal)                                    \
    X(LESS_OR_EQUAL, "", "LessOrEqual", less_or_equal)                                             \
    X(AND, "", "And", and)                                                                         \
    X(OR, "", "Or", or)                                                                            \
    X(WHERE, "", "Where", where)                                                                   \
    /* unary.c */                                                                                  \
    X(RELU, "", "Relu", relu)                                                                      \
    X(LEAKY_RELU, "", "LeakyRelu", leaky_relu)                                                     \
    X(ELU, "", "Elu", elu)                                                                         \
    X(SIGMOID, "", "Sigmoid", sigmoid)                                                             \
    X(TANH, "", "Tanh", tanh)                                                                      \
    X(CLIP, "", "Clip", clip)                                                                      \
    X(EXP, "", "Exp", exp)                                                                         \
    X(LOG, "", "Log", log)                                                                         \
    X(SQRT, "", "Sqrt", sqrt)                                                                      \
    X(NEG, "", "Neg", neg)                                                                         \
    X(ABS, "", "Abs", abs)                                                                         \
    X(RECIPROCAL, "", "Reciprocal", reciprocal)                                                    \
    X(FLOOR, "", "Floor", floor)                                                                   \
    X(CEIL, "", "Ceil", ceil)                                                                      \
    X(SOFTPLUS, "", "Softplus", softplus)                                                          \
    X(HARD_SIGMOID, "", "HardSigmoid", hard_sigmoid)                                               \
    X(SELU, "", "Selu", selu)                                                                      \
    X(CELU, "", "Celu", celu)                                                                      \
    X(THRESHOLDED_RELU, "", "ThresholdedRelu", thresholded_relu)                                   \
    X(HARD_SWISH, "", "HardSwish", hard_swish)                                                     \
    X(MISH, "", "Mish", mish)                                                                      \
    X(SWISH, "", "Swish", swish)                                                                   \
    X(GELU, "", "Gelu", gelu)                                                                      \
    X(SHRINK, "", "Shrink", shrink)                                                                \
    X(SOFTSIGN, "", "Softsign", softsign)                                                          \
    X(ERF, "", "Erf", erf)                                                                         \
    X(SIN, "", "Sin", sin)                                                                         \
    X(COS, "", "Cos", cos)                                                                         \
    X(ROUND, "", "Round", round)                                                                   \
    X(SIGN, "", "Sign", sign)                                                                      \
    X(IS_NAN, "", "IsNaN", is_nan)                                                                 \
    X(CAST_LIKE, "", "CastLike", cast_like)                                                        \
    X(QUICK_GELU, "ms", "QuickGelu", quick_gelu)                                                   \
    X(NOT, "", "Not", not )                                                                        \
    X(CAST, "", "Cast", cast)                                                                      \
    /* softmax.c */                                                                                \
    X(SOFTMAX, "", "Softmax", softmax)                                                             \
    X(LOG_SOFTMAX, "", "LogSoftmax", log_softmax)                                                  \
    X(ARG_MAX, "", "ArgMax", arg_max)                                                              \
    /* reduce.c */                                                                                 \
    X(REDUCE_MAX, "", "ReduceMax", reduce_max)                                                     \
    X(REDUCE_MIN, "", "ReduceMin", reduce_min)                                                     \
    X(REDUCE_MEAN, "", "ReduceMean", reduce_mean)                                                  \
    X(REDUCE_SUM, "", "ReduceSum", reduce_sum)                                                     \
    X(REDUCE_PROD, "", "ReduceProd", reduce_prod)                                                  \
    X(REDUCE_L2, "", "ReduceL2", reduce_l2)                                                        \
    X(REDUCE_SUM_SQUARE, "", "ReduceSumSquare", reduce_sum_square)                                 \
    /* norm.c */                                                                                   \
    X(BATCH_NORMALIZATION, "", "BatchNormalization", batch_normalization)                          \
    X(NORMALIZER, "ml", "Normalizer", normalizer)                                                  \
    X(SCALER, "ml", "Scaler", scaler)                                                              \
    /* layer_norm.c */                                                                             \
    X(LAYER_NORMALIZATION, "", "LayerNormalization", layer_normalization)                          \
    X(RMS_NORMALIZATION, "", "RMSNormalization", rms_normalization)                                \
    X(INSTANCE_NORMALIZATION, "", "InstanceNormalization", instance_normalization)                 \
    X(GROUP_NORMALIZATION, "", "GroupNormalization", group_normalization)                          \
    /* gather.c */                                                                                 \
    X(GATHER_ELEMENTS, "", "GatherElements", gather_elements)                                      \
    X(GATHER_ND, "", "GatherND", gather_nd)                                                        \
    X(ONE_HOT, "", "OneHot", one_hot)                                                              \
    /* rearrange.c */                                                                              \
    X(CUM_SUM, "", "CumSum", cum_sum)                                                              \
    /* quant.c */                                                                                  \
    X(QUANTIZE_LINEAR, "", "QuantizeLinear", quantize_linear)                                      \
    X(DEQUANTIZE_LINEAR, "", "DequantizeLinear", dequantize_linear)                                \
    X(LIFT, "sis", "Lift", lift)                                                                   \
    X(LEVELS, "sis", "Levels", levels)                                                             \
    X(SETTLE, "sis", "Settle", settle)                                                             \
    X(FACTOR, "sis", "Factor", factor)                                                             \
    X(SUMS, "sis", "Sums", sums)                                                                   \
    X(FUSED, "sis", "Fused", fused)                                                                \
    /* made only by plans: plan/fuse_attention.c */                                                \
    X(FUSED_ATTENTION, "sis", "Attention", fused_attention)                                        \
    /* results of lowering, in move.c and unary.c */                                               \
    X(SWAP, "sis", "Swap", swap)                                                                   \
    X(SINK, "sis", "Sink", sink)                                                                   \
    X(TERM, "sis", "Term", term)                                                                   \
    X(TIMES, "sis", "Times", times)                                                                \
    /* graft.c */                                                                                  \
    X(PART, "sis", "Part", part)                                                                   \
    X(PRESENT, "sis", "Present", present)                                                          \
    X(ZEROS, "sis", "Zeros", zeros)                                                                \
    X(POSITIONS, "sis", "Positions", positions)                                                    \
    X(LENGTHS, "sis", "Lengths", lengths)                                                          \
    X(MS_GELU, "ms", "Gelu", gelu)                                                                 \
    /* view.c */                                                                                   \
    X(HEADS, "sis", "Heads", heads)                                                                \
    X(SPREAD, "sis", "Spread", spread)                                                             \
    X(ALIGN, "sis", "Align", align)                                                                \
    X(THEN, "sis", "Then", then)                                                                   \
    X(ELSE, "sis", "Else", else)                                                                   \
    X(RESHAPE, "", "Reshape", reshape)                                                             \
    X(FLATTEN, "", "Flatten", flatten)                                                             \
    X(SQUEEZE, "", "Squeeze", squeeze)                                                             \
    X(UNSQUEEZE, "", "Unsqueeze", unsqueeze)                                                       \
    X(IDENTITY, "", "Identity", identity)                                                          \
    X(DROPOUT, "", "Dropout", dropout)                                                             \
    X(ZIP_MAP, "ml", "ZipMap", zip_map)                                                            \
    /* move.c */                                                                                   \
    X(TRANSPOSE, "", "Transpose", transpose)                                                       \
    X(SLICE, "", "Slice", slice)                                                                   \
    X(EXPAND, "", "Expand", expand)                                                                \
    X(TILE, "", "Tile", tile)                                                                      \
    /* join.c */                                                                                   \
    X(CONCAT, "", "Concat", concat)                                                                \
    X(SPLIT, "", "Split", split)                                                                   \
    X(GATHER, "", "Gather", gather)                                                                \
    X(ARRAY_FEATURE_EXTRACTOR, "ml", "ArrayFeatureExtractor", array_feature_extractor)             \
    /* pad.c */                                                                                    \
    X(PAD, "", "Pad", pad)                                                                         \
    /* constant.c */                                                                               \
    X(CONSTANT, "", "Constant", constant)                                                          \
    X(SHAPE, "", "Shape", shape)                                                                   \
    X(RANGE, "", "Range", range)                                                                   \
    /* lstm.c, gru.c */                                                                            \
    X(LSTM, "", "LSTM", lstm)                                                                      \
    X(GRU, "", "GRU", gru)                                                                         \
    /* encode.c, text.c */                                                                         \
    X(FEATURE_VECTORIZER, "ml", "FeatureVectorizer", feature_vectorizer)                           \
    X(IMPUTER, "ml", "Imputer", imputer)                                                           \
    X(LABEL_ENCODER, "ml", "LabelEncoder", label_encoder)                                          \
    X(ONE_HOT_ENCODER, "ml", "OneHotEncoder", one_hot_encoder)                                     \
    X(STRING_NORMALIZER, "", "StringNormalizer", string_normalizer)                                \
    X(TF_IDF_VECTORIZER, "", "TfIdfVectorizer", tf_idf_vectorizer)                                 \
    X(TOKENIZER, "ms", "Tokenizer", tokenizer)                                                     \
    /* linear.c, trees.c */                                                                        \
    X(LINEAR_CLASSIFIER, "ml", "LinearClassifier", linear_classifier)                              \
    X(LINEAR_REGRESSOR, "ml", "LinearRegressor", linear_regressor)                                 \
    X(TREE_ENSEMBLE, "ml", "TreeEnsemble", tree_ensemble)                                          \
    X(TREE_ENSEMBLE_CLASSIFIER, "ml", "TreeEnsembleClassifier", tree_ensemble_classifier)          \
    X(TREE_ENSEMBLE_REGRESSOR, "ml", "TreeEnsembleRegressor", tree_ensemble_regressor)

enum sis__op_id {
#define SIS__OP_ID(id, domain, name, op) SIS__OP_##id,
    SIS__OPS(SIS__OP_ID)
#undef SIS__OP_ID
        SIS__OP_COUNT
};

#define SIS__OP_DECLARE(id, domain, name, op) extern const sis__op sis__op_##op;
SIS__OPS(SIS__OP_DECLARE)
#undef SIS__OP_DECLARE

/* The operator of a node, or NULL; *id is its number, or -1. domain as in the file. */
const sis__op *sis__op_find(const char *domain, const char *name, int *id);
const char *sis__op_name(int id);

#endif
