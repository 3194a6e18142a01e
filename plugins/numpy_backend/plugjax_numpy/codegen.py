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
        lambda: generate(run_passes(jaxpr, "numpy")),
    )
    return made.function


class _Writer:
    """Names of values, and the namespace of the generated function."""

    def __init__(self) -> None:
        self.names: dict[Var, str] = {}
        self.namespace: dict[str, Any] = {}
        self.kernels: dict[Any, str] = {}

    def name(self, var: Var) -> str:
        found = self.names.get(var)
        if found is None:
            found = self.names[var] = f"v{len(self.names)}"
        return found

    def bind(self, prefix: str, value: Any) -> str:
        name = f"{prefix}{len(self.namespace)}"
        self.namespace[name] = value
        return name

    def kernel(self, key: Any, value: Any, stem: str) -> str:
        found = self.kernels.get(key)
        if found is None:
            found = self.kernels[key] = self.bind(f"{_identifier(stem)}_", value)
        return found

    def atom(self, atom: Any) -> str:
        if isinstance(atom, Literal):
            return self.bind("c", np.asarray(atom.val, atom.aval.dtype)[()])
        return self.name(atom)


def _identifier(stem: str) -> str:
    return "".join(c if c.isalnum() else "_" for c in stem)


def generate(jaxpr: ClosedJaxpr) -> Generated:
    """Write and compile the function for a program without extended dtypes.

    Raises:
        MissingRuleError: a primitive has no host kernel.
    """
    inner = jaxpr.jaxpr
    writer = _Writer()
    kernels, ufuncs = registry.table(impl), registry.table(ufunc)
    marks = registry.table(fresh)
    for var, value in zip(inner.constvars, jaxpr.consts, strict=True):
        writer.names[var] = writer.bind("c", _host(value))
    arguments = ", ".join(writer.name(v) for v in inner.invars)
    last_use = _last_uses(inner.eqns, inner.outvars)
    owned: set[Var] = set()
    lines: list[str] = []
    for number, eqn in enumerate(inner.eqns):
        dying = [
            v
            for v in dict.fromkeys(v for v in eqn.invars if isinstance(v, Var))
            if last_use.get(v) == number
        ]
        in_place = ufuncs.get(eqn.primitive) if not eqn.params else None
        if in_place is not kernels.get(eqn.primitive):
            in_place = None  # Another plugin has replaced the kernel.
        operands = ", ".join(writer.atom(v) for v in eqn.invars)
        scalar = None
        if in_place is not None and not eqn.outvars[0].aval.shape:
            scalar = scalar_kernel(eqn.primitive)
        if scalar is not None:
            function = writer.kernel(("scalar", eqn.primitive), scalar, eqn.primitive.name)
            lines.append(f"{writer.name(eqn.outvars[0])} = {function}({operands})")
        elif in_place is not None:
            function = writer.kernel(eqn.primitive, in_place, eqn.primitive.name)
            (out,) = eqn.outvars
            reused = next((v for v in dying if v in owned and _fits(v, out)), None)
            if reused is not None:
                lines.append(
                    f"{writer.name(out)} = {function}({operands}, out={writer.name(reused)})"
                )
            else:
                lines.append(f"{writer.name(out)} = {function}({operands})")
            if out.aval.shape:
                owned.add(out)
        else:
            if eqn.primitive not in marks:
                owned.difference_update(v for v in eqn.invars if isinstance(v, Var))
            elif eqn.outvars[0].aval.shape:
                owned.add(eqn.outvars[0])
            function = _kernel(writer, eqn, kernels.find(eqn.primitive))
            targets = ", ".join(writer.name(v) for v in eqn.outvars)
            if eqn.primitive.multiple_results and len(eqn.outvars) == 1:
                targets += ","
            call = f"{function}({operands})"
            lines.append(f"{targets} = {call}" if targets else call)
        unread = [v for v in eqn.outvars if v not in last_use]
        dropped = [v for v in (*dying, *unread) if v in writer.names and v not in inner.constvars]
        if dropped:
            lines.append(f"del {', '.join(writer.name(v) for v in dropped)}")
    results = "".join(f"{writer.atom(v)}, " for v in inner.outvars)
    lines.append(f"return ({results})")
    stem = f"run_{_identifier(inner.debug_name)}"
    body = "\n".join(f"    {line}" for line in lines)
    source = f"def {stem}({arguments}):\n{body}\n"
    exec(compile(source, f"<plugjax numpy {stem}>", "exec"), writer.namespace)
    return Generated(writer.namespace[stem], source)


def _host(value: Any) -> Any:
    fetch = getattr(value, "_fetch", None)
    return fetch() if fetch is not None else np.asarray(value)


def _fits(var: Var, out: Var) -> bool:
    return var.aval.shape == out.aval.shape and var.aval.dtype == out.aval.dtype


def _kernel(writer: _Writer, eqn: JaxprEqn, rule: Callable[..., Any] | None) -> str:
    if rule is None:
        raise MissingRuleError(
            registry.active().missing_message(impl, eqn.primitive, None)
            + "\nThe NumPy backend runs primitives by their host kernels."
        )
    params = eqn.params
    if not params:
        return writer.kernel(eqn.primitive, rule, eqn.primitive.name)
    key = (eqn.primitive, tuple(params.items()))
    return writer.kernel(key, partial(rule, **params), eqn.primitive.name)


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
