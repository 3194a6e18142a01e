"""Which equation a backend computes wrongly, and a folder that reproduces it."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from plugjax.extend.core import ClosedJaxpr, Device, Jaxpr, JaxprEqn, Literal, Var
from plugjax.extend.transforms import prune_outputs
from plugjax.guard.agreement import disagreements
from plugjax.guard.reference import computed

Arrays = Sequence[np.ndarray[Any, Any]]


def run_on(
    jaxpr: ClosedJaxpr, device: Device, options: Mapping[str, Any], values: Arrays
) -> list[np.ndarray[Any, Any]]:
    """Compile a program for a device and run it on host values."""
    executable = device.backend.compile(jaxpr, device, {**options, "donated": ()})
    return on_values(executable, jaxpr, device, values)


def on_values(
    executable: Any, jaxpr: ClosedJaxpr, device: Device, values: Arrays
) -> list[np.ndarray[Any, Any]]:
    """Run an executable on copies of host values."""
    backend = device.backend
    if executable.host:
        return [np.asarray(y) for y in executable.run([np.array(x) for x in values])]
    buffers = [backend.put(np.array(x), device) for x in values]
    return [
        np.array(backend.get(y, a, device))
        for y, a in zip(executable.run(buffers), jaxpr.out_avals, strict=True)
    ]


class Intermediates:
    """A program's intermediate values, one for each result of each equation, computed by NumPy."""

    def __init__(self, jaxpr: ClosedJaxpr, values: Arrays, seconds: float) -> None:
        self.jaxpr = jaxpr
        self.eqns = [eqn for eqn in jaxpr.eqns if eqn.outvars]
        self.open = with_outputs(jaxpr, [v for eqn in self.eqns for v in eqn.outvars])
        results = computed(self.open, values, seconds)
        inner = jaxpr.jaxpr
        self.known: dict[Var, np.ndarray[Any, Any]] = dict(zip(inner.invars, values, strict=True))
        self.known.update(
            (v, np.asarray(x, v.aval.dtype))
            for v, x in zip(inner.constvars, jaxpr.consts, strict=True)
        )
        self.known.update(zip(self.open.jaxpr.outvars, results, strict=True))  # type: ignore[arg-type]  # variables all

    def results(self) -> list[np.ndarray[Any, Any]]:
        """Results of all equations, in order."""
        return [self.known[v] for v in self.open.jaxpr.outvars]  # type: ignore[index]  # variables all


def with_outputs(jaxpr: ClosedJaxpr, outvars: Sequence[Var]) -> ClosedJaxpr:
    """The program with other outputs."""
    inner = jaxpr.jaxpr
    program = Jaxpr(inner.constvars, inner.invars, outvars, inner.eqns, inner.debug_name)
    return ClosedJaxpr(program, jaxpr.consts)


def wrong_by_themselves(
    found: Intermediates, device: Device, options: Mapping[str, Any], longest_sum: int
) -> list[int]:
    """Positions of the equations that a device computes wrongly from right operands."""
    operands = {v: None for eqn in found.eqns for v in eqn.invars if not isinstance(v, Literal)}
    fresh = {v: Var(v.aval) for v in operands}
    eqns, outvars = [], []
    for eqn in found.eqns:
        outs = [Var(v.aval) for v in eqn.outvars]
        ins = [v if isinstance(v, Literal) else fresh[v] for v in eqn.invars]
        eqns.append(eqn.replace(invars=ins, outvars=outs))
        outvars.extend(outs)
    program = ClosedJaxpr(Jaxpr([], list(fresh.values()), outvars, eqns, "equations"), [])
    got = run_on(program, device, options, [found.known[v] for v in operands])
    masks = disagreements(got, found.results(), longest_sum)
    return _positions(found, masks)


def first_wrong(
    found: Intermediates, device: Device, options: Mapping[str, Any], longest_sum: int
) -> int | None:
    """Position of the first wrong equation when the program returns the results of all equations.

    ``None`` if all are then right.
    """
    got = run_on(found.open, device, options, [found.known[v] for v in found.jaxpr.jaxpr.invars])
    masks = disagreements(got, found.results(), longest_sum)
    return min(_positions(found, masks), default=None)


def first_alone(
    found: Intermediates, device: Device, options: Mapping[str, Any], longest_sum: int
) -> int | None:
    """Position of an equation whose result is wrong when the program returns it alone, while its operands are right.

    Some faults vanish if the program returns other values as well. The search bisects the programs that end with one
    equation each.
    """
    numbers = {id(eqn): i for i, eqn in enumerate(found.jaxpr.eqns)}
    values = [found.known[v] for v in found.jaxpr.jaxpr.invars]

    def differs(eqn: JaxprEqn) -> bool:
        program = prune_outputs(with_outputs(found.jaxpr, eqn.outvars), (True,) * len(eqn.outvars))
        got = run_on(program, device, options, values)
        return bool(disagreements(got, [found.known[v] for v in eqn.outvars], longest_sum))

    low, high = 0, len(found.eqns) - 1
    if high < 0 or not differs(found.eqns[high]):
        return None
    while low < high:
        middle = (low + high) // 2
        if differs(found.eqns[middle]):
            high = middle
        else:
            low = middle + 1
    return numbers[id(found.eqns[high])]


def _positions(found: Intermediates, masks: Mapping[int, Any]) -> list[int]:
    positions, index = [], 0
    numbers = {id(eqn): i for i, eqn in enumerate(found.jaxpr.eqns)}
    for eqn in found.eqns:
        count = len(eqn.outvars)
        if any(i in masks for i in range(index, index + count)):
            positions.append(numbers[id(eqn)])
        index += count
    return positions


def described(eqn: JaxprEqn) -> str:
    """An equation for a message: its primitive, operands and results, and the user's line."""
    outs = ", ".join(v.aval.str_short() for v in eqn.outvars)
    ins = ", ".join(v.aval.str_short() for v in eqn.invars)
    place = f" at {eqn.source}" if eqn.source is not None else ""
    return f"{eqn.primitive.name} ({ins}) -> ({outs}){place}"


def write_reproduction(
    jaxpr: ClosedJaxpr,
    device: Device,
    options: Mapping[str, Any],
    values: Arrays,
    found: Arrays,
    expected: Arrays,
    blamed: str,
) -> Path:
    """Write a program, its inputs and its results into a new folder."""
    base = os.environ.get("PLUGJAX_REPORT_DIR")
    if base:
        Path(base).mkdir(parents=True, exist_ok=True)
    folder = Path(tempfile.mkdtemp(prefix="plugjax-wrong-", dir=base))
    backend = device.backend
    (folder / "program.jaxpr").write_text(str(jaxpr))
    if backend.dialects:
        (folder / "program.mlir").write_text(
            backend.lower(jaxpr, {**options, "donated": ()}, backend.dialects[0])
        )
    for stem, arrays in (("input", values), ("found", found), ("expected", expected)):
        for i, x in enumerate(arrays):
            np.save(folder / f"{stem}{i}.npy", x)
    told = {
        "name": str(options.get("name", "program")),
        "backend": backend.name,
        "device": str(device),
        "blamed": blamed,
        "inputs": len(values),
        "dtypes": [x.dtype.name for x in expected],
    }
    (folder / "program.json").write_text(json.dumps(told, indent=2))
    script = backend.reproduction_script()
    if script is not None:
        (folder / "reproduce.py").write_text(script)
    return folder
