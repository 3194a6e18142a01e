"""Equations that stand for Python functions: calls with a rule of the user's own for some transformation.

Such a primitive (``custom_jvp_call``, ``custom_vjp_call``, ``custom_vmap_call``, ``checkpoint``) holds a program, or a
Python function that has not been traced yet. The transformation that the user's rule is for calls that rule. Staging traces
the function to a program by the rule kind ``stage``. Every other interpreter computes what the
equation stands for, by the rule kind ``expand``.
"""

from __future__ import annotations

import functools
import inspect
import operator
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Generic, ParamSpec, TypeAlias, TypeVar

from plugjax.core import pytree
from plugjax.core.array import as_array, aval_of
from plugjax.core.aval import ShapedArray
from plugjax.core.jaxpr import ClosedJaxpr, eval_closed
from plugjax.core.primitive import Primitive
from plugjax.core.rules import RuleSet, abstract_eval
from plugjax.transforms.callables import resemble
from plugjax.transforms.expansion import expand_rule
from plugjax.transforms.flat_calls import with_fixed
from plugjax.transforms.named_axes import ANY_AXIS, axis_names_rule, free_axes
from plugjax.transforms.staging import open_constants, stage, stage_rule

P = ParamSpec("P")
R = TypeVar("R")


class FlatFunction:
    """A user's function made one of flat sequences, as a parameter of an equation; compared by identity.

    Attributes:
        run: the function.
        name: of the user's function.
    """

    __slots__ = ("name", "run")

    def __init__(self, run: Callable[..., Any], name: str) -> None:
        self.run = run
        self.name = name

    def __repr__(self) -> str:
        return self.name


class PythonCall(FlatFunction):
    """What an equation computes: ``run`` takes one value per operand and gives a sequence of values."""

    __slots__ = ()


class UserRule(FlatFunction):
    """The user's rule of an equation for some transformation; the primitive says what ``run`` takes and gives."""

    __slots__ = ()


Callee: TypeAlias = PythonCall | ClosedJaxpr


def run(callee: Callee, args: Sequence[Any]) -> list[Any]:
    """Compute what a call stands for, under the current trace."""
    if isinstance(callee, ClosedJaxpr):
        return eval_closed(callee, *args)
    return list(callee.run(*args))


def define_python_call(rules: RuleSet, primitive: Primitive) -> None:
    """Rules of a primitive that stands for the function in its parameter ``call_jaxpr``.

    Those of the transformation that the user's rule is about are left to be written. The first ``num_consts`` operands are
    what the function closes over.
    """

    @rules.define(abstract_eval, primitive)
    def _avals(*avals: ShapedArray, call_jaxpr: ClosedJaxpr, **_: Any) -> list[ShapedArray]:
        return call_jaxpr.out_avals

    @rules.define(expand_rule, primitive)
    def _expand(*, call_jaxpr: Callee, **_: Any) -> ClosedJaxpr | Callable[..., Sequence[Any]]:
        return call_jaxpr if isinstance(call_jaxpr, ClosedJaxpr) else call_jaxpr.run

    @rules.define(stage_rule, primitive)
    def _stage(args: Sequence[Any], params: dict[str, Any]) -> tuple[Sequence[Any], dict[str, Any]]:
        callee: Callee = params["call_jaxpr"]
        if isinstance(callee, ClosedJaxpr):
            return args, params
        traced = stage(callee.run, [aval_of(x) for x in args], callee.name)
        program, consts = open_constants(traced)
        count = params["num_consts"] + len(consts)
        return [*consts, *args], {**params, "call_jaxpr": program, "num_consts": count}

    @rules.define(axis_names_rule, primitive)
    def _axis_names(*, call_jaxpr: Callee, **_: Any) -> Iterable[Any]:
        if isinstance(call_jaxpr, ClosedJaxpr):
            return free_axes(call_jaxpr)
        return [ANY_AXIS]


def name_of(fun: Callable[..., Any]) -> str:
    """A function's name, for messages and jaxprs."""
    return str(getattr(fun, "__name__", None) or type(fun).__name__)


class CustomFunction(Generic[P, R]):
    """A user's function that stands for itself in programs, with rules of its own.

    Attributes:
        fun: the function.
        nondiff_argnums: positions of the arguments that rules are given as they are.
    """

    def __init__(
        self,
        fun: Callable[P, R],
        nondiff_argnums: Sequence[int] = (),
        nondiff_argnames: str | Sequence[str] = (),
    ) -> None:
        resemble(self, fun)
        self.fun: Callable[..., Any] = fun
        self.nondiff_argnums = positions(fun, nondiff_argnums, nondiff_argnames)

    def __getattr__(self, name: str) -> Any:
        if name in ("fun", "__wrapped__"):
            raise AttributeError(name)
        return getattr(self.fun, name)

    @functools.cached_property
    def _signature(self) -> tuple[inspect.Signature | None, int]:
        """The function's, if it has one, and how many arguments by position are all that it takes (-1: any number)."""
        try:
            signature = inspect.signature(self.fun)
        except (TypeError, ValueError):  # a builtin
            return None, -1
        parameters = signature.parameters.values()
        plain = all(p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD) for p in parameters)
        return signature, len(parameters) if plain else -1

    def by_position(self, args: Sequence[Any], kwargs: dict[str, Any], who: str) -> tuple[Any, ...]:
        """All arguments by position, defaults filled in.

        Raises:
            TypeError: the arguments do not fit the signature, or some can be given by name only.
        """
        signature, count = self._signature
        if not kwargs and (signature is None or len(args) == count):
            return tuple(args)
        if signature is None:
            raise TypeError(f"{who}: {self.fun!r} has no signature, pass arguments by position")
        try:
            bound = signature.bind(*args, **kwargs)
            bound.apply_defaults()
            if bound.kwargs:
                raise TypeError(f"these can be given by name only: {bound.kwargs}")
        except TypeError as error:
            raise TypeError(
                f"{who}: the arguments of {name_of(self.fun)} cannot all be given by position:\n{error}"
            ) from error
        return bound.args


class SplitArguments:
    """The arguments of one call: those that stay as they are, and leaves of the others.

    Attributes:
        fixed: arguments that stay as they are, by position.
        leaves: of all others, flat.
        in_tree: structure of the tuple of all others.
    """

    __slots__ = ("_count", "fixed", "in_tree", "leaves")

    def __init__(self, values: Sequence[Any], fixed: dict[int, Any], who: str) -> None:
        self.fixed = fixed
        self._count = len(values)
        dynamic = tuple(x for i, x in enumerate(values) if i not in fixed)
        leaves, self.in_tree = pytree.flatten(dynamic)
        self.leaves = [as_array(x, who) for x in leaves]

    def joined(self, dynamic: Sequence[Any]) -> list[Any]:
        """All arguments in their order."""
        return with_fixed(self.fixed, dynamic, self._count)


def positions(
    fun: Callable[..., Any], nums: Sequence[int], names: str | Sequence[str]
) -> tuple[int, ...]:
    """Sorted positions of the arguments that are given by position or by name."""
    chosen = {operator.index(n) for n in nums}
    wanted = (names,) if isinstance(names, str) else tuple(names)
    if wanted:
        parameters = list(inspect.signature(fun).parameters)
        missing = [n for n in wanted if n not in parameters]
        if missing:
            raise ValueError(
                f"{name_of(fun)} has no arguments named {', '.join(missing)}; it has {', '.join(parameters)}."
            )
        chosen.update(parameters.index(n) for n in wanted)
    return tuple(sorted(chosen))
