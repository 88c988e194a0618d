# SPDX-License-Identifier: MIT
"""The functions of the published numpy module (google-research, sufficient_input_subsets/sis.py) under
their own names, with their arguments, results and errors:

    from sis import compat as sis
    sis.sis_collection(f, threshold, initial_input, fully_masked_input)

Candidates are not built anew for every step: the batch is kept and one position of each is
rewritten. Results are as published also where that is surprising: where the fully masked input and the
one before it reach the threshold, there is one result, an empty subset whose mask is True everywhere.
"""
import collections
from typing import Any, Callable, List, Optional, Sequence, Union

import numpy as np


class SISResult(collections.namedtuple("SISResult", [
        "sis", "ordering_over_entire_backselect", "values_over_entire_backselect", "mask"])):
    """One sufficient input subset.

    sis       (k, axes of the mask) positions that stay, last masked first
    ordering_over_entire_backselect   (m, axes of the mask) positions in the order they were masked
    values_over_entire_backselect     (m,) value of f after each of them
    mask      True at the positions of the subset
    """
    __slots__ = ()

    def __len__(self) -> int:
        return self.sis.shape[0]

    def _same(self, other, alike):
        return isinstance(other, SISResult) and bool(
            np.array_equal(self.sis, other.sis)
            and np.array_equal(self.ordering_over_entire_backselect,
                               other.ordering_over_entire_backselect)
            and alike(self.values_over_entire_backselect, other.values_over_entire_backselect)
            and np.array_equal(self.mask, other.mask))

    def __eq__(self, other: object) -> bool:
        return self._same(other, np.array_equal)

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return NotImplemented

    def approx_equal(self, other: "SISResult", rtol: float = 1e-05, atol: float = 1e-08) -> bool:
        """Equal, but for rounding in the values."""
        return self._same(other, lambda a, b: np.shape(a) == np.shape(b)
                          and np.allclose(a, b, rtol=rtol, atol=atol))


def make_empty_boolean_mask(shape: Sequence[int]) -> np.ndarray:
    """True everywhere: nothing is masked."""
    return np.ones(shape, dtype=bool)


def make_empty_boolean_mask_broadcast_over_axis(shape: Sequence[int], axis: Union[int, Sequence[int]]) -> np.ndarray:
    """The same with size 1 along `axis` (a number or several): positions along it are masked
    together.

    >>> make_empty_boolean_mask_broadcast_over_axis((2, 3), 0).shape
    (1, 3)
    """
    sizes = np.array(shape)
    sizes[np.asarray(axis)] = 1
    return make_empty_boolean_mask(tuple(sizes))


def produce_masked_inputs(input_to_mask: np.ndarray, fully_masked_input: np.ndarray,
                          batch_of_masks: np.ndarray) -> np.ndarray:
    """The input with each of the masks (B, ...) applied: where a mask is False, the value is that
    of the fully masked input. TypeError if the axis that counts masks is missing."""
    values, masks = np.asarray(input_to_mask), np.asarray(batch_of_masks)
    if masks.ndim != values.ndim + 1:
        raise TypeError("batch_of_masks must have one axis more than input_to_mask, the first")
    return np.where(masks, values, np.asarray(fully_masked_input))


def _assert_sis_collection_disjoint(collection):
    seen = set()
    for result in collection:
        positions = {tuple(p) for p in result.sis}
        if seen & positions:
            raise AssertionError("two subsets of the collection share a position: %s" % (collection,))
        seen |= positions


def _transform_index_array_into_indexer(idx_array):
    return tuple(np.asarray(idx_array).T)


def _transform_next_masks_index_array_into_tuple(idx_array):
    if idx_array.ndim != 2:
        raise TypeError("idx_array must have two axes")
    return (np.arange(len(idx_array)),) + tuple(idx_array.T)


def _produce_next_masks(current_mask):
    """Every mask with one more position masked, and these positions, in row-major order."""
    current_mask = np.asarray(current_mask)
    positions = np.argwhere(current_mask)
    if len(positions) == 0:
        return np.array([]), np.array([])
    masks = np.broadcast_to(current_mask, (len(positions),) + current_mask.shape).copy()
    masks[_transform_next_masks_index_array_into_tuple(positions)] = False
    return masks, positions


def _backselect(f, current_input, current_mask, fully_masked_input):
    """Mask, one after the other, the position that leaves the highest value, of several the first:
    a list of (position, value)."""
    masks, positions = _produce_next_masks(current_mask)
    stack = []
    if len(positions) == 0:
        return stack
    current_input = np.asarray(current_input)
    masked = np.asarray(fully_masked_input)
    batch = produce_masked_inputs(current_input, masked, masks)
    masked = np.broadcast_to(masked, batch.shape[1:])
    shape = np.shape(current_mask)
    while len(positions) > 0:
        values = f(batch.copy())
        best = int(np.argmax(values))
        where = positions[best]
        stack.append((where, values[best]))
        batch = np.delete(batch, best, axis=0)
        positions = np.delete(positions, best, axis=0)
        part = tuple(slice(None) if n == 1 else int(i) for i, n in zip(where, shape))
        batch[(slice(None),) + part] = masked[part]
    return stack


def _find_sis_from_backselect(backselect_stack, threshold):
    """The positions that were masked last, last first, back to the first value that reaches the
    threshold. ValueError if nothing was selected.

    As published, the value of the fully masked input does not end the search: it only decides
    whether the last position belongs to the subset. A value of NaN is neither below the threshold nor
    does it reach it."""
    if not backselect_stack:
        raise ValueError("backselect_stack cannot be empty")
    last, masked_value = backselect_stack[-1]
    found = [last] if masked_value < threshold else []
    for position, value in backselect_stack[-2::-1]:
        if value >= threshold:
            break
        found.append(position)
    return found


def find_sis(f: Callable[[np.ndarray], Any], threshold: float, current_input: np.ndarray, current_mask: np.ndarray,
             fully_masked_input: np.ndarray) -> Optional[SISResult]:
    """One subset of an input of which `current_mask` says what is there; None if f(current_input)
    is below the threshold or nothing is left to mask."""
    current_input, current_mask = np.asarray(current_input), np.asarray(current_mask)
    if f(np.asarray([current_input])) < threshold:
        return None
    stack = _backselect(f, current_input, current_mask, fully_masked_input)
    if not stack:
        return None
    positions = _find_sis_from_backselect(stack, threshold)
    mask = np.zeros(current_mask.shape, dtype=bool)
    mask[_transform_index_array_into_indexer(positions)] = True  # of no position: everywhere
    return SISResult(
        sis=np.array(positions, dtype=np.int_),
        ordering_over_entire_backselect=np.array([p for p, _ in stack], dtype=np.int_),
        values_over_entire_backselect=np.array([v for _, v in stack], dtype=np.float64),
        mask=mask)


def sis_collection(f: Callable[[np.ndarray], Any], threshold: float, initial_input: np.ndarray,
                   fully_masked_input: np.ndarray, initial_mask: Optional[np.ndarray] = None) -> List[SISResult]:
    """All disjoint subsets of an input, in the order found; empty if f(initial_input) is below the
    threshold. `initial_mask` may be broadcast over the input, to mask rows or columns at a time."""
    current = np.copy(initial_input)
    mask = make_empty_boolean_mask(current.shape) if initial_mask is None else np.copy(initial_mask)
    found = []
    while True:
        result = find_sis(f, threshold, current, mask, fully_masked_input)
        if result is None:
            break
        found.append(result)
        current = produce_masked_inputs(current, fully_masked_input, ~result.mask[None])[0]
        mask = np.logical_and(mask, ~result.mask)
    _assert_sis_collection_disjoint(found)
    return found
