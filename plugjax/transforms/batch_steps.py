"""Which axis of a batched result is the batch axis, asked after the fact.

A batching rule reports the batch axis of its final result, and of no value that it computes on the way. To name the axis of
such a value in an error, the rule is staged once more with a batch size that no other axis has: in the equation whose result
has the shape in question, the axis of that size is the batch axis. This runs only when an error asks for it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from plugjax.core import registry
from plugjax.core.aval import ShapedArray
from plugjax.core.jaxpr import ClosedJaxpr
from plugjax.core.primitive import Primitive
from plugjax.core.rules import RuleKind
from plugjax.transforms.named_axes import Axis, bound_axes
from plugjax.transforms.staging import stage

# Sizes to ask with: large, so that few shapes hold them, and prime, so that few products do.
_SIZES = (1009, 2003, 4001, 8009)


class BatchStep:
    """A primitive that a ``vmap`` is batching.

    Attributes:
        axis: the batch axis.
        mapped: whether an operand has it.
    """

    __slots__ = ("_avals", "_dims", "_kind", "_params", "_primitive", "axis", "mapped")

    def __init__(
        self,
        kind: RuleKind[Any],
        axis: Axis,
        primitive: Primitive,
        avals: Sequence[ShapedArray],
        dims: Sequence[int | None],
        params: dict[str, Any],
    ) -> None:
        self.axis = axis
        self.mapped = any(d is not None for d in dims)
        self._kind = kind
        self._primitive = primitive
        self._avals = avals
        self._dims = dims
        self._params = params

    def place(self, primitive: Primitive, shape: Sequence[int]) -> int | None:
        """The batch axis of a result.

        Args:
            primitive: what gave the result, while this step's primitive was batched.
            shape: the result's.

        Returns:
            The axis; ``None`` if the rule does not tell, or tells several.
        """
        candidates = [i for i, n in enumerate(shape) if n == self.axis.size]
        if not self.mapped or len(candidates) < 2:
            return candidates[0] if self.mapped and candidates else None
        sizes = {n for aval in self._avals for n in aval.shape}
        size = next(n for n in _SIZES if n not in sizes)
        wanted = {
            (*shape[:i], size, *shape[i + 1 :]): i for i, n in enumerate(shape) if i in candidates
        }
        program = self._staged(size)
        if program is None:
            return None
        named: set[int] = set()
        others: set[int] = set()
        for eqn in program.jaxpr.eqns:
            for var in eqn.outvars:
                axis = wanted.get(var.aval.shape)
                if axis is not None:
                    (named if eqn.primitive is primitive else others).add(axis)
        found = named or others
        return found.pop() if len(found) == 1 else None

    def _staged(self, size: int) -> ClosedJaxpr | None:
        axis = Axis(size, self.axis.name)
        rule = registry.table(self._kind)[self._primitive]
        avals = [
            a if d is None else a.update(shape=(*a.shape[:d], size, *a.shape[d + 1 :]))
            for a, d in zip(self._avals, self._dims, strict=True)
        ]

        def batched(*args: Any) -> list[Any]:
            out, _ = rule(axis, args, self._dims, **self._params)
            return list(out) if self._primitive.multiple_results else [out]

        try:
            with bound_axes([axis] if axis.name is not None else []):
                return stage(batched, avals, "vmap")
        except Exception:
            # A rule, of whomever it is, need not accept another size; what is being reported matters more.
            return None


def batch_axes(
    steps: Sequence[Any], primitive: Primitive, shape: Sequence[int]
) -> dict[int, int | None]:
    """Where the batch axes of nested ``vmap`` s are in a result.

    Args:
        steps: what is around the primitive, outermost first; those that are no ``BatchStep`` are passed over.
        primitive: what gave the result.
        shape: the result's.

    Returns:
        By position in ``steps``: an axis of ``shape``, ``None`` where it cannot be told.
    """
    found: dict[int, int | None] = {}
    # The axes of ``shape`` that are left when those of the vmaps further out are taken away.
    left = list(range(len(shape)))
    for position, step in enumerate(steps):
        if isinstance(step, BatchStep):
            axis = step.place(primitive, [shape[i] for i in left])
            found[position] = None if axis is None else left.pop(axis)
            primitive = step._primitive
    return found
