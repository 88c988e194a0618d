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
