"""``plugjax check``: which primitives of a program a backend runs on the host, before anything is compiled.

For hardware that is not there the program is also compiled, if what compiles for it is installed.
"""

from __future__ import annotations

import importlib
from collections import Counter
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from plugjax.cli.compile import compile_for
from plugjax.cli.completion import backends
from plugjax.cli.hardware import Hardware, parse_hardware
from plugjax.cli.signatures import HELP, Signature, parse
from plugjax.cli.targets import load, lookup
from plugjax.cli.terminal import console, working
from plugjax.export import export
from plugjax.export.symbolic.dimension import as_polynomial
from plugjax.export.symbolic.programs import with_sizes
from plugjax.extend import registry
from plugjax.extend.backend import get_backend
from plugjax.extend.core import ClosedJaxpr, Device, Jaxpr, JaxprEqn, Var, programs_in
from plugjax.extend.errors import LoweringError, UnknownBackendError
from plugjax.extend.execution import run_passes
from plugjax.extend.rules import impl, lowering

# A number for each size that is not known; a lowering does not depend on it.
_SIZE = 8


def command(
    target: Annotated[str, typer.Argument(help="FILE.py or package.module")],
    entry: Annotated[list[str], typer.Option(help=HELP)],
    backend: Annotated[
        str,
        typer.Option(
            help="Backend to check for, or hardware as of `plugjax compile --for`.",
            autocompletion=backends,
        ),
    ] = "iree",
    parameters: Annotated[
        str | None, typer.Option(help="Name of a pytree in TARGET that every function takes first.")
    ] = None,
) -> None:
    """Report, before anything is compiled, which primitives of a program a backend would run on the host."""
    if not run(console, target, entry, backend, parameters):
        raise typer.Exit(1)


def host_equations(jaxpr: Jaxpr, backend: str, hardware: str = "") -> Counter[str]:
    """Primitives that ``backend`` computes by calling Python or cannot compute, with the number of their equations.

    An export refuses the same primitives.

    Args:
        jaxpr: the program.
        backend: name of the backend.
        hardware: what it lowers for, if not for its own devices.
    """
    by_lowering = "stablehlo" in get_backend(backend).dialects
    table = registry.table(lowering if by_lowering else impl, backend)
    found: Counter[str] = Counter()
    for eqn in jaxpr.eqns:
        inner = list(programs_in(eqn.params))
        for sub in inner:
            found += host_equations(sub.jaxpr, backend, hardware)
        if table.find(eqn.primitive) is None or (
            by_lowering and not inner and _needs_python(eqn, backend, hardware)
        ):
            found[eqn.primitive.name] += 1
    return found


def _needs_python(eqn: JaxprEqn, backend: str, hardware: str) -> bool:
    """Whether the lowering of an equation calls Python. A lowering rule alone does not tell."""
    lower = importlib.import_module("plugjax.stablehlo.lower")
    operands = list(dict.fromkeys(v for v in eqn.invars if isinstance(v, Var)))
    try:
        lower.lower_module(
            ClosedJaxpr(Jaxpr([], operands, eqn.outvars, [eqn]), []),
            backend,
            name="f",
            device_kind=hardware,
        )
    except LoweringError:
        return True
    return False


def run(
    console: Console, target: str, entries: list[str], backend: str, parameters: str | None = None
) -> bool:
    """Print the report; returns whether everything has a lowering, and compiles for hardware that is not there.

    Raises:
        UnknownBackendError: there is no such backend.
        ValueError: an entry cannot be read, has sizes that are not known where the backend needs numbers, or nothing lowers for the hardware.
    """
    wanted = None if backend in registry.active().backends() else parse_hardware(backend)
    owner = get_backend(backend) if wanted is None else wanted.lowered_by()
    module = load(target)
    values = lookup(module, parameters) if parameters is not None else None
    signatures = parse(module, entries)
    device = None if wanted is None else _device(console, wanted)
    name = owner.name if device is None else device.backend.name
    complete = True
    table = Table("function", "primitive", "equations on the host")
    for signature in signatures:
        with working(f"checking {signature.name}"):
            found = _host_equations_of(signature, values, name, wanted.name if wanted else "")
        for primitive, count in sorted(found.items()):
            table.add_row(signature.name, primitive, str(count))
            complete = False
    if not complete:
        console.print(table)
        return False
    console.print(f"[green]every primitive has a lowering for {wanted or name}[/green]")
    return device is None or _compiles(console, device, signatures, values)


def _device(console: Console, wanted: Hardware) -> Device | None:
    """A device to compile for; ``None``, and the reason is printed, where nothing here compiles for the hardware."""
    try:
        return wanted.devices()[0]
    except (UnknownBackendError, NotImplementedError) as error:
        words = f"nothing is compiled, only lowered: {error}"
        console.print(escape(words), highlight=False, soft_wrap=True)
    return None


def _compiles(
    console: Console, device: Device, signatures: list[Signature], parameters: Any
) -> bool:
    """Compile functions for a device that is not there; returns whether none is refused."""
    refused = False
    for signature in signatures:
        if signature.symbolic:
            console.print(f"{signature.name} is not compiled: it has sizes that are not known")
            continue
        try:
            with working(f"compiling {signature.name}"):
                compile_for(device, signature, parameters)
        except RuntimeError as error:
            refused = True
            words = " ".join(str(error).split())
            console.print(f"[red]{signature.name} does not compile[/red]: " + escape(words))
        else:
            console.print(f"{signature.name} compiles: {device.description}", highlight=False)
    return not refused


def _host_equations_of(
    signature: Signature, parameters: Any, backend: str, hardware: str
) -> Counter[str]:
    program = signature.trace(parameters).jaxpr
    if signature.symbolic:
        refuse_symbolic(signature, backend)
        names = {v for a in program.in_avals for d in a.shape for v in as_polynomial(d).variables}
        program = with_sizes(program, dict.fromkeys(names, _SIZE))
    found = host_equations(run_passes(program, backend, hardware).jaxpr, backend, hardware)
    if signature.symbolic and not found:
        # Each operation needs a form for sizes that are not known; what has none is named.
        platforms = [hardware] if hardware else None
        export(signature.closed(parameters), platforms=platforms)(*signature.args)
    return found


def refuse_symbolic(signature: Signature, backend: str) -> None:
    """Refuse sizes that are not known where modules have numbers.

    Raises:
        ValueError: the backend is IREE.
    """
    if backend == "iree":
        shapes = ", ".join(str(list(arg.shape)) for arg in signature.args)
        raise ValueError(
            f"{signature.name}: IREE modules need sizes that are numbers, got {shapes}. Write numbers, or "
            "`plugjax export --format jax`, whose artifacts take any size."
        )
