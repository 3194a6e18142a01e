"""``jit`` on NumPy: a jaxpr becomes one straight-line Python function.

Each equation is one statement, a call of its kernel. A liveness plan drops values after their last use, and lets a
ufunc write into the memory of an operand that dies there, so that a program needs no more memory than one written by
hand. A value may be overwritten only if a kernel that never returns views made it, and no kernel that may return views
has read it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from plugjax.extend import registry
from plugjax.extend.core import ClosedJaxpr, JaxprEqn, Literal, Var, memoise
from plugjax.extend.errors import MissingRuleError
from plugjax.extend.execution import run_passes, scalar_kernel
from plugjax.extend.rules import impl
from plugjax_numpy.kernels import fresh, ufunc


class Generated:
    """A generated function and its source."""

    __slots__ = ("function", "source")

    def __init__(self, function: Callable[..., Any], source: str) -> None:
        self.function = function
        self.source = source


def host_function(jaxpr: ClosedJaxpr) -> Callable[..., tuple[Any, ...]]:
    """A function of NumPy values that runs an inner program; memoised."""
    made: Generated = memoise(
        jaxpr,
        ("host function", registry.active().generation),
        lambda: generate(run_passes(jaxpr, "numpy", "cpu")),
    )
    return made.function


class Writer:
    """The statements that run a program, and the namespace of the function that they stand in.

    Args:
        jaxpr: a program without extended dtypes.

    Raises:
        MissingRuleError: a primitive has no host kernel.
    """

    def __init__(self, jaxpr: ClosedJaxpr) -> None:
        self.names: dict[Var, str] = {}
        self.namespace: dict[str, Any] = {}
        self.kernels: dict[Any, str] = {}
        self.lines: list[str] = []
        inner = jaxpr.jaxpr
        for var, value in zip(inner.constvars, jaxpr.consts, strict=True):
            self.names[var] = self.bind("c", _host(value))
        self.arguments = [self.name(v) for v in inner.invars]
        self._constants = set(inner.constvars)
        # Values whose memory no other value shares.
        self._owned: set[Var] = set()
        last_use = _last_uses(inner.eqns, inner.outvars)
        for number, eqn in enumerate(inner.eqns):
            operands = dict.fromkeys(v for v in eqn.invars if isinstance(v, Var))
            dying = [v for v in operands if last_use.get(v) == number]
            self._equation(eqn, dying)
            unread = [v for v in eqn.outvars if v not in last_use]
            if number + 1 < len(inner.eqns):
                self._drop([*dying, *unread])

    def name(self, var: Var) -> str:
        """The name of a value."""
        found = self.names.get(var)
        if found is None:
            found = self.names[var] = f"v{len(self.names)}"
        return found

    def bind(self, prefix: str, value: Any) -> str:
        """A new name in the namespace."""
        name = f"{prefix}{len(self.namespace)}"
        self.namespace[name] = value
        return name

    def atom(self, atom: Any) -> str:
        """What stands for an operand."""
        if isinstance(atom, Literal):
            return self.bind("c", np.asarray(atom.val, atom.aval.dtype)[()])
        return self.name(atom)

    def kernels_used(self) -> list[Any]:
        """The kernels that the statements call."""
        return [self.namespace[name] for name in self.kernels.values()]

    def _equation(self, eqn: JaxprEqn, dying: Sequence[Var]) -> None:
        operands = ", ".join(self.atom(v) for v in eqn.invars)
        targets = ", ".join(self.name(v) for v in eqn.outvars)
        in_place = registry.table(ufunc).get(eqn.primitive) if not eqn.params else None
        if in_place is not registry.table(impl).get(eqn.primitive):
            in_place = None  # Another plugin has replaced the kernel.
        scalar = None
        if not (eqn.params or any(v.aval.shape for v in eqn.invars)):
            scalar = scalar_kernel(eqn.primitive)
        if scalar is not None:
            function = self._kernel(("scalar", eqn.primitive), scalar, eqn.primitive.name)
        elif in_place is not None:
            function = self._kernel(eqn.primitive, in_place, eqn.primitive.name)
            (out,) = eqn.outvars
            reused = next((v for v in dying if v in self._owned and _fits(v, out)), None)
            if reused is not None:
                operands += f", out={self.name(reused)}"
            if out.aval.shape:
                self._owned.add(out)
        else:
            if eqn.primitive not in registry.table(fresh):
                self._owned.difference_update(v for v in eqn.invars if isinstance(v, Var))
            elif eqn.outvars[0].aval.shape:
                self._owned.add(eqn.outvars[0])
            function = self._general_kernel(eqn)
            if eqn.primitive.multiple_results and len(eqn.outvars) == 1:
                targets += ","
        call = f"{function}({operands})"
        self.lines.append(f"{targets} = {call}" if targets else call)

    def _drop(self, values: Sequence[Var]) -> None:
        names = [self.name(v) for v in values if v in self.names and v not in self._constants]
        if names:
            self.lines.append(f"del {', '.join(names)}")

    def _kernel(self, key: Any, value: Any, stem: str) -> str:
        found = self.kernels.get(key)
        if found is None:
            found = self.kernels[key] = self.bind(f"{identifier(stem)}_", value)
        return found

    def _general_kernel(self, eqn: JaxprEqn) -> str:
        rule = registry.table(impl).find(eqn.primitive)
        if rule is None:
            raise MissingRuleError(
                registry.active().missing_message(impl, eqn.primitive, None)
                + "\nThe NumPy backend runs primitives by their host kernels."
            )
        params = eqn.params
        if not params:
            return self._kernel(eqn.primitive, rule, eqn.primitive.name)
        key = (eqn.primitive, tuple(params.items()))
        return self._kernel(key, partial(rule, **params), eqn.primitive.name)


def identifier(stem: str) -> str:
    """A name as a part of Python's names."""
    return "".join(c if c.isalnum() else "_" for c in stem)


def generate(jaxpr: ClosedJaxpr) -> Generated:
    """Write and compile the function of NumPy values for a program without extended dtypes.

    Raises:
        MissingRuleError: a primitive has no host kernel.
    """
    inner = jaxpr.jaxpr
    writer = Writer(jaxpr)
    results = "".join(f"{writer.atom(v)}, " for v in inner.outvars)
    lines = [*writer.lines, f"return ({results})"]
    name = f"run_{identifier(inner.debug_name)}"
    source = written(name, writer.arguments, lines)
    exec(compile(source, f"<plugjax numpy {name}>", "exec"), writer.namespace)
    return Generated(writer.namespace[name], source)


def written(name: str, arguments: Sequence[str], lines: Sequence[str]) -> str:
    """The source of a function."""
    body = "\n".join(f"    {line}" for line in lines)
    return f"def {name}({', '.join(arguments)}):\n{body}\n"


def _host(value: Any) -> Any:
    fetch = getattr(value, "_fetch", None)
    return fetch() if fetch is not None else np.asarray(value)


def _fits(var: Var, out: Var) -> bool:
    return var.aval.shape == out.aval.shape and var.aval.dtype == out.aval.dtype


def _last_uses(eqns: Sequence[JaxprEqn], outvars: Sequence[Any]) -> dict[Var, int]:
    found: dict[Var, int] = {}
    for number, eqn in enumerate(eqns):
        for v in eqn.invars:
            if isinstance(v, Var):
                found[v] = number
    for v in outvars:
        if isinstance(v, Var):
            found[v] = len(eqns)
    return found
