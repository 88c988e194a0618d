# SPDX-License-Identifier: MIT
"""Drawings with matplotlib."""
import numpy as np

from . import _core


def axes(ax):
    if ax is not None:
        return ax
    import matplotlib.pyplot as plt
    return plt.subplots()[1]


def picture(values):
    """An image as (height, width) or (height, width, 3), or None."""
    if values is None or values.ndim not in (2, 3) or values.size < 16:
        return None
    if values.ndim == 3 and values.shape[0] in (1, 3):
        values = np.moveaxis(values, 0, -1)
    if values.ndim == 3 and values.shape[2] == 1:
        values = values[:, :, 0]
    fits = values.ndim == 2 and min(values.shape) > 3 or values.ndim == 3 and values.shape[2] == 3
    return values if fits else None


def plot_explanation(e, subset, ax):
    ax = axes(ax)
    image = picture(e.values)
    if not e.subsets:
        ax.text(0.5, 0.5, e.status.replace("_", " "), ha="center", va="center")
        ax.set_axis_off()
    elif image is not None:
        chosen = e.mask_of(subset)
        if chosen.ndim == 3:
            chosen = chosen.any(axis=0 if chosen.shape[0] in (1, 3) else 2)
        ax.imshow(image if image.ndim == 3 else image, cmap="gray_r")
        veil = np.zeros(chosen.shape + (4,))
        veil[chosen] = (0.85, 0.33, 0.1, 0.75)
        ax.imshow(veil)
        ax.set_axis_off()
    elif e.subsets[subset].scores and e.n_features > 30:
        s = e.subsets[subset]
        ax.plot(range(1, len(s.scores) + 1), s.scores)
        if not e.data.get("keep"):
            ax.axhline(e.threshold, linestyle="--", color="gray")
        ax.set_xlabel("features masked")
        ax.set_ylabel("score")
    else:
        bars(e, ax)
    ax.set_title("example %s, score %.4g" % (e.id, e.score))
    return ax


def bars(e, ax):
    """The scores of the subsets from the masked input to the full one."""
    names = [_core.masked_name(e.line)] + [", ".join(map(str, s.names[:4])) for s in e.subsets] + ["whole input"]
    scores = [e.masked_score] + [s.score for s in e.subsets] + [e.score]
    at = np.arange(len(names))[::-1]
    ax.barh(at, scores, color=["lightgray"] + ["tab:blue"] * len(e.subsets) + ["gray"])
    if not e.data.get("keep"):
        ax.axvline(e.threshold, linestyle="--", color="tab:red")
    ax.set_yticks(at, names)
    ax.set_xlabel("score")


def plot_results(results, ax):
    ax = axes(ax)
    names = results.summary(15)[::-1]
    ax.barh([n for n, _, _ in names], [k for _, k, _ in names])
    ax.set_xlabel("subsets with this feature")
    return ax
