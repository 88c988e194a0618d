# SPDX-License-Identifier: MIT
"""The paper's procedures, written down plainly in numpy: what the library has to answer."""
import numpy as np


def decided(score, threshold, below):
    score, threshold = np.float32(score), np.float32(threshold)
    return score <= threshold if below else score >= threshold


def masked(x, masks, owner, gone):
    rows = np.repeat(x[None], len(masks), axis=0)
    hidden = np.isin(owner, list(gone))
    rows[:, hidden] = masks[:, hidden]
    return rows


def collection(score, x, masks, owner, threshold, below=False):
    """Subsets as tuples of features, most important first; score(rows) -> (n,)."""
    everything = [f for f in range(owner.max() + 1)]

    def of(gone):
        return float(np.mean(score(masked(x, masks, owner, gone))))

    gone, found = set(), []
    if not decided(of(gone), threshold, below):
        return "not_decided", found
    if decided(of(everything), threshold, below):
        return "default_decision", found
    while decided(of(gone), threshold, below):
        order, now = [], set(gone)
        while len(now) < len(everything):
            left = [f for f in everything if f not in now]
            scores = [of(now | {f}) for f in left]
            best = int(np.argmin(scores) if below else np.argmax(scores))
            order.append(left[best])
            now.add(left[best])
        subset = []
        for f in reversed(order):
            subset.append(f)
            if decided(of(set(everything) - set(subset)), threshold, below):
                break
        found.append(tuple(subset))
        gone |= set(subset)
    return "explained", found


def published(f, threshold, x, mask):
    """SIScollection as the authors' module computes it, for vectors: (subset, order, values) of each
    result. A subset is read from the end of the order: the last feature belongs to it if everything
    masked is below the threshold; the ones before it do until a value reaches the threshold."""
    def of(gone):
        return f(np.where(np.isin(np.arange(len(x)), list(gone)), mask, x)[None])[0]

    gone, found = set(), []
    while len(gone) < len(x) and not of(gone) < threshold:
        order, values, now = [], [], set(gone)
        while len(now) < len(x):
            left = [i for i in range(len(x)) if i not in now]
            scores = [of(now | {i}) for i in left]
            best = int(np.argmax(scores))  # the first NaN, else the first of the highest
            order.append(left[best])
            values.append(scores[best])
            now.add(left[best])
        subset = [order[-1]] if values[-1] < threshold else []
        for i, value in list(zip(order, values))[-2::-1]:
            if value >= threshold:
                break
            subset.append(i)
        found.append((subset, order, values))
        gone |= set(subset) or set(range(len(x)))  # an empty subset ends it
    return found
