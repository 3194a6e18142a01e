"""Which equation a backend computes wrongly, and a folder in which that can be seen again."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from plugjax.core.device import Device
from plugjax.core.jaxpr import ClosedJaxpr, Jaxpr, JaxprEqn, Literal, Var
from plugjax.core.transforms.dce import prune_outputs
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
        np.array(backend.get(y, a))
        for y, a in zip(executable.run(buffers), jaxpr.out_avals, strict=True)
    ]


class Intermediates:
    """A program's values, one for each result of each equation, as NumPy computes them."""

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
        """Of all equations, one after the other."""
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
    """The position of the first equation whose result differs if the program gives all of them; ``None`` if it then does not."""
    got = run_on(found.open, device, options, [found.known[v] for v in found.jaxpr.jaxpr.invars])
    masks = disagreements(got, found.results(), longest_sum)
    return min(_positions(found, masks), default=None)


def first_alone(
    found: Intermediates, device: Device, options: Mapping[str, Any], longest_sum: int
) -> int | None:
    """The position of an equation whose result differs if the program gives that alone, while what it reads does not.

    Some faults are there only if nothing else reads a value. The programs that end with one equation each are searched in halves.
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


_SCRIPT = '''"""Runs the module and shows where its results differ from those expected."""

import json
from pathlib import Path

import numpy as np
from plugjax_iree.compiler import CompileTarget, compile_stablehlo
from plugjax_iree.runtime import open_device

folder = Path(__file__).parent
told = json.loads((folder / "program.json").read_text())
text = (folder / "program.mlir").read_text()
inputs = [np.load(folder / f"input{i}.npy") for i in range(told["inputs"])]
contraction = "dot_general" in text or "stablehlo.convolution" in text
vmfb = compile_stablehlo(text, CompileTarget(), has_contraction=contraction, f64="f64" in text)
device = open_device("local-sync")
results = device.load(vmfb).function("main")([device.put(x) for x in inputs])
for i, result in enumerate(results):
    expected = np.load(folder / f"expected{i}.npy")
    found = device.get(result, np.dtype(told["dtypes"][i]), expected.shape)
    print(i, "equal" if np.allclose(found, expected, equal_nan=True) else f"{found} expected {expected}")
'''


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
    if backend.name == "iree":
        (folder / "reproduce.py").write_text(_SCRIPT)
    return folder
