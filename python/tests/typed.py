# SPDX-License-Identifier: MIT
"""What a type checker says of a program that uses the package: lines that end in "# wrong" are refused, no others."""
from typing import Any, List, Optional, Tuple

import numpy as np
import sis


def model(rows: "np.ndarray[Any, Any]") -> "np.ndarray[Any, Any]":
    return np.asarray(rows.sum(axis=1))


x = np.ones((2, 3))
r: sis.Results = sis.explain(model, x, 2, mask="zero", method="quick", keep="score", features=[[0], [1, 2]], jobs=1)
sis.explain(model, x, threshold=[1, "p50"], mask=sis.HotDeck(x, samples=3), features=sis.Grid(4), axis=(0, 1))
sis.explain(model, x, mask=x[0], features={"a": ["b", 1]}, target=[0, 1], domain=(x[0], x[0]), progress=False)
explainer: sis.Explainer = sis.Explainer(model, mask=0.5, background=x, threshold="p90")
one: sis.Explanation = explainer(x)[0]
some: sis.Results = r[:1]
features: Tuple[int, ...] = one[0].features
subset: sis.Subset = one.subsets[0]
values: Optional["np.ndarray[Any, Any]"] = one.values
names: List[Tuple[str, int, int]] = r.summary()
clusters: sis.Clusters = r.cluster(eps=0.5)
comparison: sis.Comparison = r.compare(sis.load("r.jsonl"))
llm = sis.LLM("http://localhost:8000/v1/completions", model="m", prompt="{context}")
answers: List[str] = llm.answers(["a"])
scores: "np.ndarray[Any, Any]" = llm(["a"])

sis.explain(model, x, 2, method="fast")  # wrong
sis.explain(model, x, 2, jobs="two")  # wrong
sis.explain(model, x, 2, outputs=1)  # wrong
sis.Explainer(model, below="yes")  # wrong
sis.Explainer(model, keep="label")  # wrong
sis.Grid("4")  # wrong
sis.LLM(8000)  # wrong
text: str = r[0]  # wrong
number: int = r.summary()  # wrong
r.cluster(min_size="5")  # wrong
