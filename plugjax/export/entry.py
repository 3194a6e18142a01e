"""Entry points of an exported module, traced and flattened."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, NoReturn

from plugjax.export.artifact import Artifact
from plugjax.export.calling import call_exported
from plugjax.extend import pytree
from plugjax.extend.core import ClosedJaxpr, ShapedArray, ShapeDtypeStruct, aval_of, programs_in
from plugjax.extend.errors import LoweringError
from plugjax.extend.execution import Wrapped, jit, run_passes

# Symbols of the module, which C programs look up.
_NAME = re.compile(r"(?!__)[A-Za-z_][A-Za-z0-9_]*")
LONGEST_NAME = 200


def _shortened(name: str) -> str:
    return name if len(name) <= 50 else name[:47] + "..."


class Entry(NamedTuple):
    """One entry point.

    Attributes:
        function: takes pytrees of arrays; if the module has parameters, these come first.
        args: arrays or ``ShapeDtypeStruct``: its arguments, without the parameters.
        updates: whether it returns ``(new parameters, result)``, or new parameters alone, which the module stores as
            its state.
    """

    function: Callable[..., Any]
    args: Sequence[Any] = ()
    updates: bool = False


class TracedEntry(NamedTuple):
    """An entry point as a program.

    Attributes:
        name: name in the module.
        program: from the parameters' leaves and the arguments' leaves to the results.
        in_avals: the arguments.
        out_avals: the results that the caller sees.
        state_outputs: number of leading results that are new parameters.
        in_paths: path of each argument in the Python arguments.
        out_tree: structure of the visible result.
    """

    name: str
    program: ClosedJaxpr
    in_avals: list[ShapedArray]
    out_avals: list[ShapedArray]
    state_outputs: int
    in_paths: list[str]
    out_tree: Any


def trace_entries(
    entries: Mapping[str, Entry | Artifact | tuple[Any, ...]], parameters: Any, platform: str
) -> list[TracedEntry]:
    """Trace every entry point.

    Raises:
        ValueError: a name is not an identifier, or there are no entries.
        TypeError: an entry with ``updates`` returns parameters of another structure or other avals.
    """
    if not entries:
        raise ValueError(
            "export: at least one entry point is needed, such as {'predict': (predict, (x,))}"
        )
    return [
        _trace(name, _as_entry(name, entry), parameters, platform)
        for name, entry in entries.items()
    ]


def _as_entry(name: str, entry: Entry | Artifact | tuple[Any, ...]) -> Entry:
    if not isinstance(entry, Artifact):
        return entry if isinstance(entry, Entry) else Entry(*entry)
    if entry.nr_devices > 1:
        _refuse(name, f"{entry.nr_devices} devices")
    specs = [ShapeDtypeStruct(aval.shape, aval.dtype) for aval in entry.in_avals]
    args, kwargs = pytree.unflatten(entry.in_tree, specs)
    if kwargs:
        raise TypeError(
            f"export: entry point {name!r} is an exported function with keyword arguments {sorted(kwargs)}, and entry points have "
            "none. Export a function of positional arguments."
        )
    return Entry(lambda *values: call_exported(entry, values, {}), args)


def _refuse(name: str, where: str) -> NoReturn:
    raise NotImplementedError(
        f"export: entry point {name!r} runs over {where}: IREE exports of sharded programs are refused by name, as IREE's modules run "
        "on one device. Export a function without meshes and shardings, or use plugjax.export.export, whose artifacts XLA runs."
    )


def _trace(name: str, entry: Entry, parameters: Any, platform: str) -> TracedEntry:
    if not _NAME.fullmatch(name):
        raise ValueError(
            f"export: entry point {_shortened(name)!r} is not an identifier of C that does not start with two underscores"
        )
    if len(name) > LONGEST_NAME:
        raise ValueError(
            f"export: entry point {_shortened(name)!r} has a name of {len(name)} characters, and {LONGEST_NAME} are allowed"
        )
    if not callable(entry.function):
        raise TypeError(f"export: entry point {name!r} needs a function, got {entry.function!r}")
    given = () if parameters is None else (parameters,)
    function = entry.function if isinstance(entry.function, Wrapped) else jit(entry.function)
    traced = function.trace(*given, *entry.args)
    if traced.partition is not None:
        _refuse(name, str(traced.partition.mesh))
    leaves, tree = pytree.flatten(parameters) if given else ([], None)
    out_tree, state_outputs = traced.out_tree, 0
    if entry.updates:
        state_outputs, out_tree = _updated(name, traced, leaves, tree)
    program = run_passes(traced.jaxpr, platform)
    if program.effects:
        calls = ", ".join(sorted(_effectful(program)))
        raise LoweringError(
            f"export: entry point {name!r} has effects {set(program.effects)}, and there is no Python where it runs: {calls}. "
            "Leave these calls out of what is exported."
        )
    return TracedEntry(
        name,
        program,
        program.in_avals[len(leaves) :],
        program.out_avals[state_outputs:],
        state_outputs,
        pytree.paths(tuple(entry.args)),
        out_tree,
    )


def _effectful(program: ClosedJaxpr) -> set[str]:
    """Names of the primitives with effects, with the functions that they call."""
    found: set[str] = set()
    for eqn in program.eqns:
        if eqn.effects and not eqn.primitive.structured:
            called = getattr(eqn.params.get("callback"), "name", None)
            found.add(eqn.primitive.name + (f" of {called!r}" if called else ""))
        for inner in programs_in(eqn.params):
            found |= _effectful(inner)
    return found


def _updated(name: str, traced: Any, leaves: list[Any], tree: Any) -> tuple[int, Any]:
    if not leaves:
        raise TypeError(f"export: entry point {name!r} updates parameters, but none were given")
    out_tree = traced.out_tree
    if out_tree == tree:
        new, rest = tree, None
    else:
        children = out_tree.children()
        if out_tree.type is not tuple or len(children) != 2 or children[0] != tree:
            raise TypeError(
                f"export: entry point {name!r} updates parameters, so it must give new parameters or (new parameters, "
                f"result); expected parameters {tree}, got {out_tree}"
            )
        new, rest = children
    for i, leaf in enumerate(leaves):
        a, b = aval_of(leaf), traced.jaxpr.out_avals[i]
        if (a.shape, a.dtype) != (b.shape, b.dtype):
            raise TypeError(
                f"export: entry point {name!r} changes parameter {i} from {a.str_short()} to {b.str_short()}"
            )
    return new.num_leaves, rest
