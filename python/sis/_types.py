# SPDX-License-Identifier: MIT
"""What arguments of public functions may be, in the words of `typing`."""
import os
from typing import Any, Callable, Mapping, Sequence, Union

import numpy as np
from numpy.typing import ArrayLike

from ._inputs import Grid, HotDeck

Path = Union[str, "os.PathLike[str]"]
Model = Any  # a callable, an estimator, a module, a booster, a sis.LLM, or a file or address: sis.Explainer says it
Examples = Any  # an array, a frame, texts, dicts of fields, or a pathlib.Path
Mask = Union[None, str, float, ArrayLike, HotDeck, Mapping[str, Any], Callable[[np.ndarray], ArrayLike]]
Column = Union[str, int]
Features = Union[None, str, Grid, np.ndarray, Sequence[Union[Column, Sequence[Column]]],
                 Mapping[str, Union[Column, Sequence[Column]]]]
Threshold = Union[None, float, str, Sequence[Union[float, str]], np.ndarray]
Target = Union[str, int, Sequence[Union[str, int]], np.ndarray]
Names = Union[None, Sequence[Any], np.ndarray]  # ids or labels, one for each example
Tokenizer = Union[None, str, "os.PathLike[str]", Callable[[str], Sequence[Sequence[int]]]]
