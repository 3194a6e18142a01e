"""Derivatives at a point as values: the pullback that ``vjp`` gives, and the pushforward that ``linearize`` gives.

Each is a linear program and the residuals that it reads. As containers (pytrees) of their residuals both pass through
``jit``, ``scan`` and rules of custom derivatives; the program is their structure. A pullback that has not been taken apart
walks the tape itself, and needs no program.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from plugjax.core import dtypes, pytree
from plugjax.core.array import as_array, aval_of
from plugjax.core.aval import AbstractReference, ShapedArray
from plugjax.core.jaxpr import ClosedJaxpr, eval_closed
from plugjax.core.primitive import state
from plugjax.core.vocabulary import Zero, instantiate
from plugjax.transforms.derivative_values import as_cotangent, as_tangent
from plugjax.transforms.discharge import is_reference
from plugjax.transforms.high_values import HighType
from plugjax.transforms.linearize import Linearized, tape_jaxpr
from plugjax.transforms.tracebacks import api_boundary
from plugjax.transforms.transpose import UndefinedPrimal, backward, transpose_flat
from plugjax.transforms.tree_differences import first_difference
from plugjax.transforms.varying import converted


@dataclass(frozen=True, slots=True)
class Signature:
    """What a derivative maps: the function's inputs and outputs.

    Attributes:
        in_tree: structure of the tuple of inputs.
        in_avals: of the inputs.
        out_tree: structure of the output.
        out_avals: of the outputs.
    """

    in_tree: Any
    in_avals: tuple[ShapedArray, ...]
    out_tree: Any
    out_avals: tuple[ShapedArray, ...]


@dataclass(frozen=True, slots=True, eq=False)
class LinearProgram:
    """A derivative without its residuals; compared by identity.

    Attributes:
        jaxpr: ``(residuals, tangents of the inputs that have one) -> tangents of the outputs that have one``.
        differentiated: which inputs have a tangent.
        has_tangent: which outputs have one.
        signature: the function's.
        sources: for each residual the input that it is, ``None`` for one that was computed.
    """

    jaxpr: ClosedJaxpr
    differentiated: tuple[bool, ...]
    has_tangent: tuple[bool, ...]
    signature: Signature
    sources: tuple[int | None, ...]


def linear_program(
    found: Linearized, signature: Signature, inputs: Mapping[int, int] | None = None
) -> tuple[LinearProgram, list[Any]]:
    """The tape as a program, and the residuals.

    Args:
        found: the function's values and tape.
        signature: the function's.
        inputs: the numbers of the inputs by their identity.
    """
    # What is made now may have the identity of an input that is gone; what is on the tape has not.
    recorded = {id(x) for eqn in found.tape.eqns for x in eqn.operands} if inputs else ()
    jaxpr, residuals = tape_jaxpr(found)
    differentiated = tuple(t is not None for t in found.inputs)
    has_tangent = tuple(type(t) is not Zero for t in found.out_tangents)
    sources = tuple(inputs.get(id(r)) if inputs and id(r) in recorded else None for r in residuals)
    return LinearProgram(jaxpr, differentiated, has_tangent, signature, sources), residuals


@dataclass(frozen=True, slots=True)
class NotNeeded:
    """Stands in ``VJP.args_res`` for an input that the pullback does without."""


@dataclass(frozen=True, slots=True)
class GradValue:
    """Stands for an input of ``VJP.with_refs`` whose cotangent is returned."""


@dataclass(frozen=True, slots=True)
class DontWant:
    """Stands for an input of ``VJP.with_refs`` whose cotangent is left out; under ``jit`` it is not computed."""


@dataclass(frozen=True, slots=True)
class DidntWant:
    """Stands for a cotangent that was left out."""


@dataclass(frozen=True, slots=True)
class GradRef:
    """Stands for a cotangent that was added to a reference."""


# What stands in the place of an array that is not there has no leaves.
for _kind in (NotNeeded, DidntWant, GradRef):
    pytree.register(_kind, lambda _: ((), None), lambda _, __, kind=_kind: kind())  # type: ignore[misc]


class VJP:
    """The pullback at a point: cotangents of the output in, cotangents of the inputs out. Callable many times.

    A container of the residuals.

    Attributes:
        args_res: residuals that are inputs, arranged like the inputs; :class:`NotNeeded` in the place of other inputs. A list
            with an entry for each positional argument: entries may be replaced, to free their memory until the pullback is called.
        opaque_residuals: residuals that were computed, a list.
    """

    __slots__ = (
        "__weakref__",
        "_found",
        "_inputs",
        "_linear",
        "_residuals",
        "_shown",
        "_signature",
    )

    def __init__(
        self,
        signature: Signature,
        found: Linearized | None,
        linear: LinearProgram | None = None,
        residuals: Sequence[Any] = (),
        inputs: Mapping[int, int] | None = None,
    ) -> None:
        self._signature = signature
        self._found = found
        self._inputs = inputs
        self._shown: tuple[list[Any], list[Any]] | None = None
        self._linear = linear
        self._residuals = residuals

    @api_boundary
    def __call__(self, cotangent: Any) -> Any:
        """Pull ``cotangent``, of the output's structure, back.

        Raises:
            ValueError: the structure differs; an input is a reference, so that it has no cotangent that could be returned.
        """
        signature = self._signature
        for aval in signature.in_avals:
            if isinstance(aval, AbstractReference):
                raise ValueError(
                    f"vjp: Expected cotangent type {aval.inner_aval} but an input is a reference ({aval}), whose cotangents are "
                    "collected in another. Give one: vjp.with_refs(...)(cotangent)."
                )
        pulled = self._pull(self._bars(cotangent))
        bars = [as_cotangent(x, aval) for x, aval in zip(pulled, signature.in_avals, strict=True)]
        return pytree.unflatten(signature.in_tree, bars)

    def with_refs(self, *maybe_ct_refs: Any) -> Callable[[Any], Any]:
        """The pullback that adds cotangents to references.

        Args:
            *maybe_ct_refs: of the structure of the inputs: for each a reference, to which its cotangent is added, a
                :class:`GradValue`, for an input whose cotangent is returned, or a :class:`DontWant`, for one whose cotangent is
                left out. An input that is a reference needs a reference.

        Returns:
            A function of a cotangent of the output. It gives cotangents of the inputs, :class:`GradRef` in the place of those
            that were added to references and :class:`DidntWant` in the place of those that were left out.

        Raises:
            ValueError: the structure differs, or an input that is a reference is given none.

        Example:
            >>> import plugjax
            >>> total = plugjax.new_ref(1.0)
            >>> _, pull = plugjax.vjp(lambda x: 3.0 * x, 2.0)
            >>> pull.with_refs(total)(1.0), total
            ((GradRef(),), Ref(4., dtype=float32, weak_type=True))
        """
        signature = self._signature
        given, tree = pytree.flatten(maybe_ct_refs)
        if tree != signature.in_tree:
            raise ValueError(
                "vjp.with_refs: the references need the tree structure of the inputs: "
                + first_difference(signature.in_tree, tree)
            )
        for aval, x in zip(signature.in_avals, given, strict=True):
            if isinstance(aval, AbstractReference) and not is_reference(x):
                raise ValueError(
                    f"vjp.with_refs: an input is a reference ({aval}), and its cotangents need one too; got {x!r}."
                )

        @api_boundary
        def pull(cotangent: Any) -> Any:
            found: list[Any] = []
            pulled = self._pull(self._bars(cotangent), given)
            for aval, x, bar in zip(signature.in_avals, given, pulled, strict=True):
                if type(x) is DontWant:
                    found.append(DidntWant())
                    continue
                if not is_reference(x):
                    found.append(as_cotangent(bar, aval))
                    continue
                if not isinstance(aval, AbstractReference) and type(bar) is not Zero:
                    x.addupdate(bar)
                found.append(GradRef())
            return pytree.unflatten(signature.in_tree, found)

        return pull

    def _bars(self, cotangent: Any) -> list[Any]:
        signature = self._signature
        leaves, tree = pytree.flatten(cotangent)
        if tree != signature.out_tree:
            raise ValueError(
                "vjp: unexpected tree structure of the cotangent, which is arranged like the output: "
                + first_difference(signature.out_tree, tree)
            )
        return [
            _cotangent(aval, bar, path)
            for aval, bar, path in zip(
                signature.out_avals, leaves, pytree.paths(cotangent), strict=True
            )
        ]

    def _pull(self, bars: list[Any], references: Sequence[Any] = ()) -> list[Any]:
        found = self._found
        if found is not None:
            return backward(found.tape, found.inputs, found.out_tangents, bars, references)
        residuals, linear = self._split()
        operands = [UndefinedPrimal(a.to_tangent_aval()) for a in self._signature.in_avals]
        return transpose_flat(
            lambda *dots: eval_closed(linear.jaxpr, *residuals, *dots),
            operands,
            [bar for bar, t in zip(bars, linear.has_tangent, strict=True) if t],
            references,
        )

    def _split(self) -> tuple[Sequence[Any], LinearProgram]:
        if self._linear is None:
            assert self._found is not None
            self._linear, self._residuals = linear_program(
                self._found, self._signature, self._inputs
            )
        if self._shown is not None:
            return self._gathered(*self._shown), self._linear
        return self._residuals, self._linear

    def _show(self) -> tuple[list[Any], list[Any]]:
        """The residuals as the user sees them. From now on these lists hold them, and nothing else does."""
        if self._shown is None:
            residuals, linear = self._split()
            signature = self._signature
            leaves: list[Any] = [NotNeeded()] * len(signature.in_avals)
            for residual, source in zip(residuals, linear.sources, strict=True):
                if source is not None:
                    leaves[source] = residual
            opaque = [r for r, s in zip(residuals, linear.sources, strict=True) if s is None]
            self._shown = list(pytree.unflatten(signature.in_tree, leaves)), opaque
            self._found, self._residuals = None, ()
        return self._shown

    def _gathered(self, args_res: list[Any], opaque: list[Any]) -> list[Any]:
        assert self._linear is not None
        leaves: list[Any] = []
        for argument, tree in zip(args_res, self._signature.in_tree.children(), strict=True):
            own = pytree.leaves(argument, lambda x: type(x) is NotNeeded)
            # An argument that was taken out.
            leaves += own if len(own) == tree.num_leaves else [NotNeeded()] * tree.num_leaves
        for s in self._linear.sources:
            if s is not None and isinstance(leaves[s], NotNeeded):
                raise ValueError(
                    f"vjp: the pullback needs the argument with leaf {s}, which was taken out of args_res. Put it back."
                )
        rest = iter(opaque)
        return [next(rest) if s is None else leaves[s] for s in self._linear.sources]

    @property
    def args_res(self) -> list[Any]:
        """Residuals that are inputs."""
        return self._show()[0]

    @args_res.setter
    def args_res(self, value: list[Any]) -> None:
        self._shown = value, self._show()[1]

    @property
    def opaque_residuals(self) -> list[Any]:
        """Residuals that were computed."""
        return self._show()[1]

    @opaque_residuals.setter
    def opaque_residuals(self, value: list[Any]) -> None:
        self._shown = self._show()[0], value

    @property
    def in_tree(self) -> Any:
        """Structure of the tuple of inputs."""
        return self._signature.in_tree

    @property
    def out_tree(self) -> Any:
        """Structure of the output."""
        return self._signature.out_tree

    @property
    def jaxpr(self) -> Any:
        """The derivative as a program: from the residuals and the tangents of the inputs to those of the output."""
        return self._split()[1].jaxpr.jaxpr


class Pushforward:
    """The derivative at a point as a linear function of tangents. A container of the residuals."""

    __slots__ = ("_linear", "_residuals")

    def __init__(self, linear: LinearProgram, residuals: Sequence[Any]) -> None:
        self._linear = linear
        self._residuals = residuals

    @api_boundary
    def __call__(self, *tangents: Any) -> Any:
        """The tangent of the output for tangents of the inputs."""
        linear = self._linear
        signature = linear.signature
        leaves, tree = pytree.flatten(tangents)
        if tree != signature.in_tree:
            raise TypeError(
                "linearize: the tangents need the tree structure of the inputs: "
                + first_difference(signature.in_tree, tree)
            )
        paths = pytree.paths(tangents)
        for aval, t, path in zip(signature.in_avals, leaves, paths, strict=True):
            _check_consistent(aval, t, path)
        given = [
            tangent_of(aval, t, path)
            for aval, t, path in zip(signature.in_avals, leaves, paths, strict=True)
        ]
        flat_in = [instantiate(t) for t, d in zip(given, linear.differentiated, strict=True) if d]
        results = iter(eval_closed(linear.jaxpr, *self._residuals, *flat_in))
        outs = [
            next(results) if h else as_tangent(Zero(aval.to_tangent_aval()))
            for h, aval in zip(linear.has_tangent, signature.out_avals, strict=True)
        ]
        return pytree.unflatten(signature.out_tree, outs)


pytree.register(
    VJP,
    VJP._split,
    lambda linear, residuals: VJP(linear.signature, None, linear, list(residuals)),
)
pytree.register(
    Pushforward,
    lambda push: (push._residuals, push._linear),
    lambda linear, residuals: Pushforward(linear, list(residuals)),
)


def tangent_of(primal: ShapedArray, tangent: Any, path: str) -> Any:
    """A user's tangent, checked against the primal's aval."""
    expected = primal.to_tangent_aval()
    if isinstance(tangent, np.ndarray) and tangent.dtype == dtypes.float0:
        if expected.dtype == dtypes.float0:
            return Zero(expected)
    elif type(tangent) is Zero:
        return tangent
    found = aval_of(tangent)
    if isinstance(expected, HighType):
        if found == expected:
            return tangent
        raise TypeError(
            f"jvp: for a primal of type {primal} the tangent needs to be {expected}, got {found} at argument {path}."
        )
    if expected.dtype == dtypes.float0 or found.dtype != expected.dtype:
        raise TypeError(
            f"jvp: primal and tangent arguments do not match: for a primal of dtype {primal.dtype} the tangent needs dtype "
            f"{expected.dtype.name if expected.dtype != dtypes.float0 else 'float0'}, got {found.dtype} at argument {path}. "
            "A tangent has its primal's dtype, that of an integer or bool float0."
        )
    if found.shape != expected.shape:
        raise ValueError(
            f"jvp called with different primal and tangent shapes: {expected.shape} and {found.shape} at argument {path}."
        )
    array = as_array(tangent, "jvp")
    return converted(array, primal.vma) if state.axes else array


def _check_consistent(primal: ShapedArray, tangent: Any, path: str) -> None:
    """Refuse a tangent of another type than that at which a function was linearized."""
    expected, found = primal.to_tangent_aval(), aval_of(tangent)
    if isinstance(expected, HighType):
        return
    if (found.shape, found.dtype) != (expected.shape, expected.dtype):
        raise ValueError(
            f"linearize: a tangent needs to be {expected.str_short()} like its input, got {found.str_short()} at argument {path}."
        )


def _cotangent(out: ShapedArray, bar: Any, path: str) -> Any:
    expected = out.to_tangent_aval()
    if isinstance(expected, HighType):
        if aval_of(bar) == expected:
            return bar
        raise ValueError(
            f"vjp: the cotangent of an output {out} needs to be {expected}, got {aval_of(bar)}."
        )
    if expected.dtype == dtypes.float0:
        return Zero(expected)
    found = aval_of(as_array(bar, "vjp") if type(bar) is int else bar)
    if found.dtype != expected.dtype:
        raise ValueError(
            f"vjp: unexpected JAX type of a cotangent: that of an output {out.str_short()} is {expected.str_short()}, got "
            f"{found.str_short()}{f', at {path}' if path else ''}."
        )
    if found.shape != expected.shape:
        raise ValueError(
            f"vjp: unexpected JAX type of a cotangent: {expected.str_short()} is needed, got {found.str_short()}{f', at {path}' if path else ''}."
        )
    return as_array(bar, "vjp")
