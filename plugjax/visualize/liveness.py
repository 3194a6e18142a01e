"""The memory of a program over its equations, and the arrays that hold it where it is highest.

Computed from the program alone: each equation makes its results, and a value is dropped after its last reader. A compiler that fuses
needs less.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from plugjax.extend.calls import jit_p
from plugjax.extend.core import ClosedJaxpr, Jaxpr, Literal, Var, physical_aval, programs_in
from plugjax.extend.transforms import VariableNames
from plugjax.profiler.measured_memory import HeldArray
from plugjax.visualize.columns import Step, chart
from plugjax.visualize.elements import bytes_words, note
from plugjax.visualize.holders import table_of_holders
from plugjax.visualize.picture import Picture
from plugjax.visualize.programs import program_of


@dataclass(frozen=True)
class Liveness:
    """Memory over a program.

    Attributes:
        sizes: bytes while each equation runs.
        labels: of the equations.
        arguments: bytes of arguments and constants, which are held all the time.
        holders: the arrays at the peak, largest first.
    """

    sizes: list[int]
    labels: list[str]
    arguments: int
    holders: list[HeldArray]

    @property
    def peak(self) -> int:
        """Bytes where they are most."""
        return max(self.sizes, default=self.arguments)


def memory(f: Callable[..., Any] | ClosedJaxpr | Jaxpr, /, *args: Any, **kwargs: Any) -> Picture:
    """The memory that a program holds over time, with the arrays that hold it at the peak.

    It is computed from the program, nothing runs: arguments are held all the time, results until the end, other values until
    their last reader. A compiler that fuses needs less. :func:`record_memory` measures a run.

    Args:
        f: a function, or a program of ``plugjax.make_jaxpr``.
        *args: arguments of the function: arrays or structs with shape and dtype.
        **kwargs: its keyword arguments.

    Raises:
        TypeError: ``f`` is neither; or it is a program, and there are arguments.

    Example:
        >>> import plugjax, plugjax.numpy as jnp
        >>> x = plugjax.ShapeDtypeStruct((1024, 1024), jnp.float32)
        >>> plugjax.visualize.memory(lambda x: jnp.sum(x @ x), x)
        Picture('memory of <lambda>: at most 8.0 MiB')
    """
    program, name = program_of("memory", f, args, kwargs)
    found = liveness(program)
    title = f"memory of {name}: at most {bytes_words(found.peak)}"
    svg = _chart(found, title)
    held = table_of_holders("at the peak", found.holders)
    about = note("Computed from the program; a compiler that fuses needs less.")
    return Picture(title, svg, svg + about + held)


def liveness(program: ClosedJaxpr | Jaxpr) -> Liveness:
    """The memory of a program over its equations; a single call of a compiled function stands for its program."""
    inner = program.jaxpr if isinstance(program, ClosedJaxpr) else program
    while len(inner.eqns) == 1 and inner.eqns[0].primitive is jit_p:
        (called,) = programs_in(inner.eqns[0].params)
        inner = called.jaxpr
    held = [*inner.constvars, *inner.invars]
    arguments = sum(map(_bytes, held))
    sizes = [arguments + n for n in _temporaries(inner)]
    peak = max(range(len(sizes)), key=sizes.__getitem__, default=None)
    labels = [eqn.primitive.name for eqn in inner.eqns]
    return Liveness(sizes, labels, arguments, _holders(inner, peak))


def _last_reads(jaxpr: Jaxpr) -> dict[Any, int]:
    """The last equation that reads each variable; results are read after all."""
    last = {v: i for i, eqn in enumerate(jaxpr.eqns) for v in eqn.outvars}
    last.update((v, i) for i, e in enumerate(jaxpr.eqns) for v in e.invars if isinstance(v, Var))
    last.update((v, len(jaxpr.eqns)) for v in jaxpr.outvars if isinstance(v, Var))
    return last


def _temporaries(jaxpr: Jaxpr) -> Iterator[int]:
    """Bytes of what the equations have made and is still held while each runs, within it included."""
    last = _last_reads(jaxpr)
    dropped: dict[int, int] = {}
    live = 0
    for i, eqn in enumerate(jaxpr.eqns):
        for v in eqn.outvars:
            live += _bytes(v)
            dropped[last[v]] = dropped.get(last[v], 0) + _bytes(v)
        yield live + _within(eqn)
        live -= dropped.pop(i, 0)


def _within(eqn: Any) -> int:
    """Bytes of the largest nested program, beyond its operands and results."""
    found = 0
    for inner in programs_in(eqn.params):
        results = sum(_bytes(v) for v in inner.jaxpr.outvars if isinstance(v, Var))
        found = max(found, max(_temporaries(inner.jaxpr), default=0) - results)
    return max(found, 0)


def _holders(jaxpr: Jaxpr, peak: int | None) -> list[HeldArray]:
    names = VariableNames()
    names.enter(jaxpr)
    found = []
    for v in (*jaxpr.constvars, *jaxpr.invars):
        word = "constant" if v in jaxpr.constvars else "argument"
        found.append(HeldArray(v.aval.str_short(), _bytes(v), word, "", names(v)))
    last = _last_reads(jaxpr)
    for i, eqn in enumerate(jaxpr.eqns):
        source = str(eqn.source or "")
        for v in eqn.outvars:
            name = names(v)
            if peak is not None and i <= peak <= last[v]:
                kind = v.aval.str_short()
                found.append(HeldArray(kind, _bytes(v), eqn.primitive.name, source, name))
        if i == peak and (inside := _within(eqn)):
            found.append(HeldArray(f"within {eqn.primitive.name}", inside, "", source))
    return sorted((h for h in found if h.size), key=lambda h: h.size, reverse=True)


def _bytes(atom: Any) -> int:
    if isinstance(atom, Literal) or not hasattr(atom.aval, "shape"):
        return 0
    stored = physical_aval(atom.aval)
    return int(stored.size * stored.dtype.itemsize)


def _chart(found: Liveness, title: str) -> str:
    steps = [
        Step(size, 0, label, f"equation {i}: {label}, {bytes_words(size)}")
        for i, (size, label) in enumerate(zip(found.sizes, found.labels, strict=True), 1)
    ] or [Step(found.arguments, 0, "no equations", "no equations")]
    about = f"{len(found.sizes):,} equations in their order →"
    return chart(steps, (found.arguments, "arguments"), about, title)


__all__ = ["Liveness", "liveness", "memory"]
