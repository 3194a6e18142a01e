"""Long lowerings that a program needs many times: each is written once, as a function that IREE keeps.

IREE inlines all functions, and its compiler takes time by the number of operations: some milliseconds each. A sine has sixty of them here
(``trigonometric.py``), random numbers have hundreds. So a long lowering that would stand in a module many times becomes a function that is
compiled once and called, at three microseconds a call. Functions that IREE keeps have two defects:

* Their arguments and results have one place in memory for all calls, and a call with an argument or result of the program's own among others is
  refused. What goes into a call and comes out of it therefore passes through an operation that changes nothing and is not known to.
* An operand becomes a buffer, the buffer's size and an offset, and IREE takes two of these arguments for one if they are the same in the last
  calls, whether or not they differ in the first ones. So a function has one operand, an array of the elements of all: its offset is
  smaller than the size of its buffer, in each call.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from typing import Any

import numpy as np

from plugjax.extend.core import ClosedJaxpr, Jaxpr, JaxprEqn, ShapedArray, Var, programs_in
from plugjax.stablehlo import mlir
from plugjax.stablehlo.context import EqnContext
from plugjax.stablehlo.mlir import Value
from plugjax_iree.mlir.kept_functions import KEPT

# As many operations take the compiler two seconds.
_LONGEST = 1000
# What is shorter stays where it is: a call costs more.
_LONG = 40
# Elements of operands and results together. Above it, passing values through operations takes longer than a call, at each run.
_LARGE = 1 << 16


def _signature(eqn: JaxprEqn) -> Hashable:
    """What two equations with one lowering have in common."""
    return eqn.primitive, tuple(v.aval for v in eqn.invars), tuple(sorted(eqn.params.items()))


def _count(jaxpr: ClosedJaxpr, found: Counter[Hashable], seen: set[int]) -> None:
    # A program that is called twice is counted once: IREE inlines it twice, which only makes the count too small.
    if id(jaxpr) in seen:
        return
    seen.add(id(jaxpr))
    for eqn in jaxpr.jaxpr.eqns:
        if eqn.primitive.structured:
            for program in programs_in(eqn.params):
                _count(program, found, seen)
        elif not eqn.effects:
            try:
                found[_signature(eqn)] += 1
            except TypeError:  # A parameter has no hash.
                continue


class Outlining:
    """Which equations of a program become calls.

    Args:
        jaxpr: the program.
    """

    def __init__(self, jaxpr: ClosedJaxpr) -> None:
        self._counts: Counter[Hashable] = Counter()
        _count(jaxpr, self._counts, set())
        self._counts = Counter({s: n for s, n in self._counts.items() if n > 2})
        self._primitives = {s[0] for s in self._counts}  # type: ignore[index]  # of a signature
        self._functions: dict[Hashable, str | None] = {}
        self._inside = False
        # By function and dtype, a zero that the compiler does not know.
        self._zeros: dict[Any, Value] = {}

    def concerns(self, primitive: Any) -> bool:
        """Whether equations of a primitive may become calls."""
        return primitive in self._primitives

    def rule(self, rule: Callable[..., Any]) -> Callable[..., Any]:
        """A lowering rule that writes a call where that is shorter."""

        def outlined(ctx: EqnContext, *operands: Value, **params: Any) -> Any:
            if self._inside:
                return rule(ctx, *operands, **params)
            try:
                signature = _signature(ctx.eqn)
                count = self._counts[signature]
            except TypeError:
                count = 0
            if not count:
                return rule(ctx, *operands, **params)
            if signature not in self._functions:
                self._functions[signature] = self._written(ctx, count)
            name = self._functions[signature]
            if name is None:
                return rule(ctx, *operands, **params)
            outs = ctx.avals_out
            packed = _packed_aval(ctx.avals_in)
            given = self._touched(_packed(operands, ctx.avals_in), packed)
            results = ctx.module.call(name, [given], [mlir.type_of(a) for a in outs])
            found = [self._touched(y, a) for y, a in zip(results, outs, strict=True)]
            return found if ctx.primitive.multiple_results else found[0]

        return outlined

    def _touched(self, x: Value, aval: ShapedArray) -> Value:
        """The value, as the result of an operation on it: it is added to a zero that the compiler does not know."""
        block = _entry(x)
        key = hash(block.owner), aval.dtype
        zero = self._zeros.get(key)
        if zero is None:
            # -0.0 leaves 0.0 and -0.0 as they are.
            number = np.zeros((), aval.dtype)
            number = -number if aval.dtype.kind in "fc" else number
            # IREE refuses a barrier of unsigned integers.
            signed = np.dtype(f"i{aval.dtype.itemsize}") if aval.dtype.kind == "u" else aval.dtype
            with mlir.at_start(block):
                # Not of rank 0: barriers of such integers are conditions (``workarounds/equal_copies.py``).
                constant = mlir.constant(number.astype(signed), (1,))
                barrier = mlir.op("stablehlo.optimization_barrier", [constant.type], [constant])
                zero = mlir.value(
                    "stablehlo.reshape", ShapedArray((), signed), [barrier.results[0]]
                )
                if signed != aval.dtype:
                    scalar = ShapedArray((), aval.dtype)
                    zero = mlir.value("stablehlo.bitcast_convert", scalar, [zero])
            self._zeros[key] = zero
        name = "stablehlo.or" if aval.dtype.kind == "b" else "stablehlo.add"
        stretched = mlir.broadcast(zero, ShapedArray((), aval.dtype), aval)
        return mlir.value(name, aval, [x, stretched])

    def _written(self, ctx: EqnContext, count: int) -> str | None:
        """The name of a function for an equation; ``None`` if it is better not to have one."""
        module, eqn = ctx.module, ctx.eqn
        outs = ctx.avals_out
        avals = (*ctx.avals_in, *outs)
        if not all(map(_plain, avals)) or sum(a.size for a in avals) > _LARGE:
            return None
        if len({a.dtype for a in ctx.avals_in}) != 1 or module.variables is not None:
            return None
        invars, outvars = [Var(a) for a in ctx.avals_in], [Var(a) for a in outs]
        own = eqn.replace(invars=invars, outvars=outvars)
        program = ClosedJaxpr(Jaxpr([], invars, outvars, [own], eqn.primitive.name))
        calls = len(module.host_calls)
        name = module.unique_name(eqn.primitive.name)
        types = [mlir.type_of(_packed_aval(ctx.avals_in))], [mlir.type_of(a) for a in outs]
        function, block = mlir.add_function(module.module, name, *types, public=False)
        self._inside = True
        try:
            with mlir.at_end(block):
                operands = _unpacked(block.arguments[0], ctx.avals_in)
                mlir.op("func.return", [], module.inline(program, operands))
        finally:
            self._inside = False
        length = _length(function)
        if len(module.host_calls) > calls or length < _LONG or (count - 1) * length < _LONGEST:
            if len(module.host_calls) == calls:
                function.erase()
            return None
        for word in KEPT:
            function.attributes[word] = mlir.attribute("unit")
        return name


def _plain(aval: Any) -> bool:
    """Whether a value has a type that can be passed through an operation."""
    return isinstance(aval, ShapedArray) and aval.dtype.kind in "biufc" and aval.size > 0


def _packed_aval(avals: Sequence[ShapedArray]) -> ShapedArray:
    """The type of an array of the elements of all operands; of the only one, its own."""
    if len(avals) == 1:
        return avals[0]
    return ShapedArray((sum(a.size for a in avals),), avals[0].dtype)


def _packed(operands: Sequence[Value], avals: Sequence[ShapedArray]) -> Value:
    if len(avals) == 1:
        return operands[0]
    flat = [
        mlir.value("stablehlo.reshape", ShapedArray((a.size,), a.dtype), [x])
        for x, a in zip(operands, avals, strict=True)
    ]
    return mlir.value(
        "stablehlo.concatenate", _packed_aval(avals), flat, {"dimension": mlir.i64(0)}
    )


def _unpacked(packed: Value, avals: Sequence[ShapedArray]) -> list[Value]:
    if len(avals) == 1:
        return [packed]
    found, start = [], 0
    for aval in avals:
        flat = ShapedArray((aval.size,), aval.dtype)
        part = mlir.static_slice(packed, flat, [start], [start + aval.size])
        found.append(mlir.value("stablehlo.reshape", aval, [part]))
        start += aval.size
    return found


def _length(function: Any) -> int:
    """The number of operations; a large number if one has a region."""
    operations = list(function.regions[0].blocks[0].operations)
    if any(len(op.operation.regions) for op in operations):
        return 0
    return len([op for op in operations if op.operation.name != "stablehlo.constant"])


def _entry(x: Value) -> Any:
    """The first block of the function that a value is in."""
    owner: Any = x.owner
    if hasattr(owner, "operations"):  # A block, for an argument.
        owner = owner.owner
    operation = owner.operation
    while operation.name != "func.func":
        operation = operation.parent.operation
    return operation.regions[0].blocks[0]
