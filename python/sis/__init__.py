# SPDX-License-Identifier: MIT
"""Sufficient input subsets: which part of this input was enough for the decision?

    import sis
    r = sis.explain(model, X, threshold=0.7, mask="mean", background=X_train)
    r[0].subsets[0].features      # most important first
    r[0]                          # is drawn in a terminal and in a notebook
    r.save("r.jsonl"); r.report("r.html"); r.to_pandas(); r.cluster(); r.verify()

`help(sis.explain)` and `help(sis.Explainer)` describe models, masks, features and all other options.
"""
from ._core import Error, version as __version__
from ._explain import Explainer, Interrupted, explain
from ._inputs import Grid, HotDeck
from ._llm import LLM
from ._results import Clusters, Comparison, Explanation, Figure, Results, Subset, load

__all__ = ["Clusters", "Comparison", "Error", "Explainer", "Explanation", "Figure", "Grid", "HotDeck", "Interrupted",
           "LLM", "Results", "Subset", "explain", "load"]
