# SPDX-License-Identifier: MIT
"""Estimators of scikit-learn as models that the library runs itself, with walks: trees, forests and
boosted trees become LightGBM's text, linear models XGBoost's linear booster. What is converted
answers as the estimator does, which `agrees` checks before it is used; what is then claimed is checked
with the estimator itself (_check.py)."""
import json

import numpy as np

from ._check import close


def at_most(threshold):
    """scikit-learn compares float32(x) <= threshold; this is the largest double T with the same
    meaning for x <= T: halfway to the next float32, on this side of it where the half rounds up."""
    threshold = np.asarray(threshold, dtype=np.float64)
    low = threshold.astype(np.float32)
    low = np.where(low > threshold, np.nextafter(low, np.float32(-np.inf)), low).astype(np.float32)
    high = np.nextafter(low, np.float32(np.inf)).astype(np.float64)
    half = (low.astype(np.float64) + high) / 2
    even = (low.view(np.uint32) & 1) == 0
    return np.where(even, half, np.nextafter(half, -np.inf))


def numbers(name, values, form="%.17g"):
    return name + "=" + " ".join(form % v for v in values)


def tree_lines(number, split, feature, threshold, left, right, values, decision):
    """One tree. split: which nodes are splits; left, right: numbers of nodes."""
    inner, leaf = np.flatnonzero(split), np.flatnonzero(~split)
    place = np.empty(len(split), dtype=int)
    place[inner], place[leaf] = np.arange(len(inner)), -1 - np.arange(len(leaf))
    lines = ["", "Tree=%d" % number, "num_leaves=%d" % len(leaf), "num_cat=0"]
    if len(inner):
        lines += [numbers("split_feature", feature[inner], "%d"), numbers("threshold", threshold[inner]),
                  numbers("decision_type", decision[inner], "%d"),
                  numbers("left_child", place[left[inner]], "%d"),
                  numbers("right_child", place[right[inner]], "%d")]
    return lines + [numbers("leaf_value", np.asarray(values)[leaf])]


def constant(number, value):
    return ["", "Tree=%d" % number, "num_leaves=1", "num_cat=0", numbers("leaf_value", [value])]


def sklearn_tree(number, tree, values):
    split = tree.children_left >= 0
    return tree_lines(number, split, tree.feature, at_most(tree.threshold), tree.children_left,
                      tree.children_right, values, np.full(len(split), 8 | 2))


def document(width, outputs, trees, objective=None, average=False):
    head = ["tree", "version=v3", "num_class=%d" % outputs, "num_tree_per_iteration=%d" % outputs,
            "label_index=0", "max_feature_idx=%d" % (width - 1)]
    head += ["objective=" + objective] if objective else []
    head += ["average_output"] if average else []
    head += ["feature_names=" + " ".join("x%d" % k for k in range(width))]
    return "\n".join(head + [line for t in trees for line in t] + ["", "end of trees", ""]).encode()


def forest(model, width):
    """A tree, or the mean of many: shares of classes, or means."""
    members = getattr(model, "estimators_", None) or [model]
    if getattr(model, "n_outputs_", 1) != 1:
        return None
    classes = getattr(model, "classes_", None)
    trees = []
    for member in members:
        tree = member.tree_
        if classes is None:
            trees.append(sklearn_tree(len(trees), tree, tree.value[:, 0, 0]))
            continue
        counts = tree.value[:, 0, :]
        shares = counts / counts.sum(axis=1, keepdims=True)
        for k in range(len(classes)):
            trees.append(sklearn_tree(len(trees), tree, shares[:, k]))
    outputs = 1 if classes is None else len(classes)
    return document(width, outputs, trees, average=True)


def boosted(model, width, first):
    """Boosted trees. Two classes are a softmax over a score that is always 0 and the other."""
    classes = getattr(model, "classes_", None)
    outputs = 1 if classes is None else len(classes)
    two = outputs == 2
    trees = []
    for k in range(outputs):
        value = first[0] if outputs == 1 else (0.0 if two and k == 0 else first[k - 1 if two else k])
        trees.append(constant(len(trees), value))
    for stage in model.estimators_:
        for k in range(outputs):
            if two and k == 0:
                trees.append(constant(len(trees), 0.0))
                continue
            tree = stage[k - 1 if two else k].tree_
            trees.append(sklearn_tree(len(trees), tree, model.learning_rate * tree.value[:, 0, 0]))
    objective = None if outputs == 1 else "multiclass num_class:%d" % outputs
    return document(width, outputs, trees, objective)


def gradient_boosting(model, width):
    zero = np.zeros((1, model.n_features_in_), dtype=np.float32)
    if getattr(model, "init", None) not in (None, "zero"):
        return None
    return boosted(model, width, np.atleast_1d(np.ravel(model._raw_predict_init(zero))))


def histogram_boosting(model, width):
    if getattr(model, "is_categorical_", None) is not None and np.any(model.is_categorical_):
        return None
    classes = getattr(model, "classes_", None)
    outputs = 1 if classes is None else len(classes)
    first = np.ravel(model._baseline_prediction)
    two, trees = outputs == 2, []
    for k in range(outputs):
        value = first[0] if outputs == 1 else (0.0 if two and k == 0 else first[k - 1 if two else k])
        trees.append(constant(len(trees), value))
    for stage in model._predictors:
        for k in range(outputs):
            if two and k == 0:
                trees.append(constant(len(trees), 0.0))
                continue
            n = stage[k - 1 if two else k].nodes
            split = n["is_leaf"] == 0
            decision = np.where(n["missing_go_to_left"] != 0, 8 | 2, 8)
            trees.append(tree_lines(len(trees), split, n["feature_idx"], n["num_threshold"],
                                    n["left"], n["right"], n["value"], decision))
    objective = None if outputs == 1 else "multiclass num_class:%d" % outputs
    loss = getattr(model, "loss", "")
    if classes is None and loss not in ("squared_error", "absolute_error", "quantile"):
        return None
    return document(width, outputs, trees, objective)


def linear(model, width):
    """Weights as XGBoost's linear booster; classes of a logistic regression as a softmax."""
    weights = np.atleast_2d(model.coef_)
    bias = np.broadcast_to(np.ravel(model.intercept_), (len(weights),))
    classes = getattr(model, "classes_", None)
    if classes is not None and len(classes) == 2:
        weights = np.vstack([np.zeros_like(weights), weights])
        bias = np.concatenate([[0.0], bias])
    elif classes is None and len(weights) != 1:
        return None
    weights = np.pad(weights, ((0, 0), (0, width - weights.shape[1])))
    flat = np.concatenate([weights.T.ravel(), bias])
    objective = {"name": "reg:squarederror"} if classes is None else {
        "name": "multi:softprob", "softmax_multiclass_param": {"num_class": str(len(weights))}}
    groups = len(weights) if classes is not None else 0
    return json.dumps({"version": [1, 7, 4], "learner": {
        "attributes": {}, "feature_names": [], "feature_types": [],
        "gradient_booster": {"name": "gblinear", "model": {"weights": [float(w) for w in flat]}},
        "learner_model_param": {"base_score": "0E0", "num_class": str(groups),
                                "num_feature": str(weights.shape[1]), "num_target": "1"},
        "objective": objective}}).encode()


KINDS = {
    "DecisionTreeClassifier": forest, "DecisionTreeRegressor": forest, "ExtraTreeClassifier": forest,
    "ExtraTreeRegressor": forest, "RandomForestClassifier": forest, "RandomForestRegressor": forest,
    "ExtraTreesClassifier": forest, "ExtraTreesRegressor": forest,
    "GradientBoostingClassifier": gradient_boosting, "GradientBoostingRegressor": gradient_boosting,
    "HistGradientBoostingClassifier": histogram_boosting,
    "HistGradientBoostingRegressor": histogram_boosting,
    "LogisticRegression": linear, "LinearRegression": linear, "Ridge": linear, "Lasso": linear,
    "ElasticNet": linear,
}


def converted(model, unread=0):
    """(bytes, ending of a file name, what it is called), or None where there is no conversion. The copy takes
    `unread` values more than the estimator and ignores them."""
    kind = KINDS.get(type(model).__name__)
    if kind is None or not type(model).__module__.startswith("sklearn."):
        return None
    if getattr(model, "multi_class", "auto") == "ovr" and len(getattr(model, "classes_", ())) > 2:
        return None
    try:
        data = kind(model, model.n_features_in_ + unread)
    except (AttributeError, IndexError, TypeError, ValueError):  # another version of scikit-learn
        return None
    return data and (data, ".json" if kind is linear else ".txt",
                     "linear model, walked" if kind is linear else "trees, walked")


def agrees(core, wanted, rows):
    """Does the converted model answer these rows as wanted?"""
    rows = np.ascontiguousarray(rows, dtype=np.float64)
    wanted = np.asarray(wanted, dtype=float).reshape(len(rows), -1)
    got = np.frombuffer(core.predict(rows, len(rows))).reshape(len(rows), -1)
    return close(got, wanted)
