"""Jaxprs: programs as data.

``{ lambda consts ; inputs . let equations in outputs }``. Every variable is bound once, equations stand in order, and
parameters are hashable data; functions appear as jaxprs only.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeAlias

from plugjax.core import effects as effects_module, registry
from plugjax.core.above import Extensible
from plugjax.core.aval import ShapedArray
from plugjax.core.config import config
from plugjax.core.effects import Effects, no_effects
from plugjax.core.primitive import Primitive, state
from plugjax.core.source_info import Source


class Var:
    """A variable of a jaxpr; its identity is its name."""

    __slots__ = ("aval",)

    def __init__(self, aval: ShapedArray) -> None:
        self.aval = aval

    def __repr__(self) -> str:
        return f"Var({self.aval.str_short(True)})"


class DropVar(Var):
    """A result without users; printed as ``_``."""

    __slots__ = ()


class Literal:
    """A scalar constant that stands in an equation itself."""

    __slots__ = ("aval", "val")

    def __init__(self, val: Any, aval: ShapedArray) -> None:
        self.val = val
        self.aval = aval

    def __repr__(self) -> str:
        return f"{self.val}:{self.aval.str_short(True)}"


Atom: TypeAlias = Var | Literal


class JaxprEqn(Extensible):
    """One equation: ``outvars = primitive[params] invars``."""

    __slots__ = ("effects", "invars", "outvars", "params", "primitive", "source")

    def __init__(
        self,
        invars: list[Any],
        outvars: list[Var],
        primitive: Primitive,
        params: dict[str, Any],
        effects: Effects = no_effects,
        source: Source | None = None,
    ) -> None:
        self.invars = invars
        self.outvars = outvars
        self.primitive = primitive
        self.params = params
        self.effects = effects
        self.source = source

    def replace(self, **changes: Any) -> JaxprEqn:
        """The equation with some fields replaced."""
        fields = {name: changes.get(name, getattr(self, name)) for name in _EQN_FIELDS}
        return JaxprEqn(**fields)

    def __repr__(self) -> str:
        return f"JaxprEqn({self.primitive.name})"


_EQN_FIELDS = ("invars", "outvars", "primitive", "params", "effects", "source")


class Jaxpr(Extensible):
    """An open program: ``constvars`` are given values from outside."""

    __slots__ = ("__weakref__", "constvars", "debug_name", "effects", "eqns", "invars", "outvars")

    def __init__(
        self,
        constvars: Sequence[Var],
        invars: Sequence[Var],
        outvars: Sequence[Atom],
        eqns: Sequence[JaxprEqn],
        debug_name: str = "",
    ) -> None:
        self.constvars = list(constvars)
        self.invars = list(invars)
        self.outvars = list(outvars)
        self.eqns = list(eqns)
        self.effects: Effects = no_effects
        for eqn in self.eqns:
            if eqn.effects:
                self.effects |= eqn.effects
        self.debug_name = debug_name

    def __str__(self) -> str:
        return str(self.pretty_print())

    __repr__ = __str__


class ClosedJaxpr(Extensible):
    """A program with the values of its constants. Compared by identity; ``memo`` holds what was derived from it.

    Example:
        >>> import plugjax
        >>> plugjax.make_jaxpr(lambda x: x * 2.0)(3.0).in_avals
        [ShapedArray(float32[], weak_type=True)]
    """

    __slots__ = ("__weakref__", "consts", "jaxpr", "memo")

    def __init__(self, jaxpr: Jaxpr, consts: Sequence[Any] = ()) -> None:
        self.jaxpr = jaxpr
        self.consts = list(consts)
        self.memo: dict[Any, Any] = {}

    @property
    def in_avals(self) -> list[ShapedArray]:
        """Avals of the inputs."""
        return [v.aval for v in self.jaxpr.invars]

    @property
    def out_avals(self) -> list[ShapedArray]:
        """Avals of the outputs."""
        return [v.aval for v in self.jaxpr.outvars]

    @property
    def eqns(self) -> list[JaxprEqn]:
        """The equations."""
        return self.jaxpr.eqns

    @property
    def effects(self) -> Effects:
        """Effects of all equations."""
        return self.jaxpr.effects

    def __str__(self) -> str:
        return str(self.jaxpr)

    __repr__ = __str__


def memoise(jaxpr: ClosedJaxpr, key: Any, make: Callable[[], Any]) -> Any:
    """``make()``, kept with the program: derived programs live as long as their source.

    The key is completed by the configuration and the rules in force, on which what is derived depends.
    """
    key = (config.fingerprint, key)
    found = jaxpr.memo.get(key)
    if found is None:
        found = jaxpr.memo.setdefault(key, make())
    return found


def programs_in(params: dict[str, Any]) -> Iterator[ClosedJaxpr]:
    """The programs among the parameters of an equation."""
    for value in params.values():
        for item in value if isinstance(value, tuple) else (value,):
            if isinstance(item, ClosedJaxpr):
                yield item


def eval_jaxpr(jaxpr: Jaxpr, consts: Sequence[Any], *args: Any) -> list[Any]:
    """Interpret a jaxpr: bind every equation under the current trace.

    Args:
        jaxpr: the program.
        consts: one value per ``jaxpr.constvars``.
        *args: one value per ``jaxpr.invars``.

    Returns:
        One value per output.
    """
    env: dict[Any, Any] = dict(zip(jaxpr.constvars, consts, strict=True))
    env.update(zip(jaxpr.invars, args, strict=True))
    process = state.trace.process
    outer = state.source
    try:
        for eqn in jaxpr.eqns:
            operands = [v.val if type(v) is Literal else env[v] for v in eqn.invars]
            state.source = eqn.source or outer
            result = process(eqn.primitive, operands, eqn.params)
            if eqn.primitive.multiple_results:
                env.update(zip(eqn.outvars, result, strict=True))
            else:
                env[eqn.outvars[0]] = result
    finally:
        state.source = outer
    return [v.val if type(v) is Literal else env[v] for v in jaxpr.outvars]


def eval_closed(jaxpr: ClosedJaxpr, *args: Any) -> list[Any]:
    """Interpret a closed jaxpr under the current trace."""
    return eval_jaxpr(jaxpr.jaxpr, jaxpr.consts, *args)


def new_eqn(
    invars: list[Any],
    outvars: list[Var],
    primitive: Primitive,
    params: dict[str, Any],
    source: Source | None = None,
) -> JaxprEqn:
    """An equation with its effects worked out from its parameters."""
    found = effects_module.jaxpr_effects(params) if primitive.structured else no_effects
    effect = registry.table(effects_module.effects_rule).get(primitive)
    if effect is not None:
        found |= effect(**params)
    return JaxprEqn(invars, outvars, primitive, params, found, source)
