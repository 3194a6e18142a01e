"""Export to IREE: one module with several entry points, for runtimes without Python.

Parameters are globals of the module. Their values are in the module, or in an ``.irpa`` file that is loaded beside it.
Entry points that update parameters store the new values in the globals: so a module can be trained on the device. A
primitive without a lowering is refused by name, because no host can run it.
"""

from __future__ import annotations

import importlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from plugjax.debug import progress
from plugjax.export.artifact import Artifact
from plugjax.export.entry import Entry, TracedEntry, trace_entries
from plugjax.export.files import check_outputs, checksum_path, checksums, written_together
from plugjax.extend import pytree
from plugjax.extend.core import ShapedArray, as_array
from plugjax.extend.errors import LoweringError
from plugjax.extend.execution import exporter

SCOPE = "model"


@dataclass(frozen=True)
class IreeModule:
    """What an export wrote.

    Attributes:
        path: the ``.vmfb`` file.
        parameters_path: the ``.irpa`` file, or ``None`` if parameters are inside.
        signatures: per entry point, its arguments and results as IREE writes them, such as ``64x10xf32``.
    """

    path: Path
    parameters_path: Path | None
    signatures: Mapping[str, tuple[Sequence[str], Sequence[str]]]


def to_iree(
    entries: Mapping[str, Entry | Artifact | tuple[Any, ...]],
    path: str | Path,
    *,
    parameters: Any = None,
    parameters_path: str | Path | None = None,
    target: Any = None,
) -> IreeModule:
    """Compile functions to one IREE module.

    All files are written after the compilation has succeeded; until then existing files stay. A file with checksums,
    named as the module with ``.sha256`` appended, lies beside it; :func:`read_iree` checks it.

    Args:
        entries: name to ``(function, args)``, :class:`Entry`, or what :func:`plugjax.export.export` made; ``args`` are arrays or ``ShapeDtypeStruct``.
        path: the ``.vmfb`` file to write.
        parameters: pytree of arrays that every function takes as its first argument.
        parameters_path: where to write the parameters, as ``.irpa``; by default they are inside the module.
        target: what to compile for: a CPU name such as ``"host"`` (the default) or ``"generic"``, or a
            ``plugjax_iree.compile.CompileTarget``.

    Returns:
        Paths and signatures.

    Raises:
        LoweringError: a primitive has no lowering; there is no host to fall back to.
        UnknownBackendError: the IREE backend is not installed.
        ValueError: a name is not an identifier, or an output is not a regular file.
        OSError: a file cannot be written.

    Example:
        >>> import plugjax, tempfile, pathlib
        >>> from plugjax.export import to_iree
        >>> x = plugjax.ShapeDtypeStruct((4,), "float32")
        >>> folder = pathlib.Path(tempfile.mkdtemp())
        >>> done = to_iree({"double": (lambda x: x * 2.0, (x,))}, folder / "m.vmfb")
        >>> done.signatures["double"]
        (['4xf32'], ['4xf32'])
    """
    if parameters_path is not None and parameters is None:
        raise ValueError("to_iree: parameters_path needs parameters")
    path = Path(path)
    outputs = [path, checksum_path(path)]
    if parameters_path is not None:
        parameters_path = Path(parameters_path)
        outputs.append(parameters_path)
    check_outputs(outputs)
    with progress.if_long(f"exporting {path.name}"):
        text, traced, values = _module_text(
            entries, parameters, external=parameters_path is not None
        )
        writer = exporter("iree")
        vmfb = writer.compile(text, target)
    with written_together(outputs) as (module, sums, *archive):
        module.write_bytes(vmfb)
        written = [(module, path)]
        if parameters_path is not None:
            writer.write_parameters(archive[0], values)
            written.append((archive[0], parameters_path))
        sums.write_text(checksums(written, path.parent), encoding="utf-8")
    return IreeModule(path, parameters_path, {t.name: _signature(t) for t in traced})


def to_stablehlo(
    entries: Mapping[str, Entry | Artifact | tuple[Any, ...]],
    *,
    parameters: Any = None,
    external: bool = False,
) -> str:
    """The text of the module that :func:`to_iree` compiles.

    Args:
        entries: as of :func:`to_iree`.
        parameters: as of :func:`to_iree`.
        external: whether parameter values come from a file.

    Raises:
        LoweringError: a primitive has no lowering.

    Example:
        >>> import plugjax
        >>> from plugjax.export import to_stablehlo
        >>> x = plugjax.ShapeDtypeStruct((4,), "float32")
        >>> "func.func public @double(%a0: tensor<4xf32>)" in to_stablehlo({"double": (lambda x: x * 2, (x,))})
        True
    """
    return _module_text(entries, parameters, external=external)[0]


def _signature(entry: TracedEntry) -> tuple[list[str], list[str]]:
    return [_iree_type(a) for a in entry.in_avals], [_iree_type(a) for a in entry.out_avals]


def _iree_type(aval: ShapedArray) -> str:
    kind = {"b": "i", "i": "i", "u": "i", "f": "f", "c": "c"}.get(aval.dtype.kind)
    bits = 1 if aval.dtype.kind == "b" else aval.dtype.itemsize * 8
    element = f"{kind}{bits}" if kind else aval.dtype.name.replace("bfloat16", "bf16")
    return "x".join([*(str(d) for d in aval.shape), element])


def _module_text(
    entries: Mapping[str, Entry | Artifact | tuple[Any, ...]], parameters: Any, *, external: bool
) -> tuple[str, list[TracedEntry], dict[str, np.ndarray[Any, Any]]]:
    traced = trace_entries(entries, parameters, "iree")
    values = _named_values(parameters)
    lower = importlib.import_module("plugjax.stablehlo.lower")
    # jaxlib cannot build operations of IREE's `util` dialect. jaxlib builds the bodies; the entry
    # points are written as text.
    module, bodies = lower.lower_functions(
        {entry.name: entry.program for entry in traced}, "iree", name="exported"
    )
    mutable = any(entry.state_outputs for entry in traced)
    globals_text = [
        _global(_symbol(i), name, value, external, mutable)
        for i, (name, value) in enumerate(values.items())
    ]
    types = [_tensor(value.shape, value.dtype) for value in values.values()]
    functions = [_entry_text(entry, bodies[entry.name], types) for entry in traced]
    body = module.as_text().rstrip()
    if not body.endswith("}"):
        raise LoweringError("export: the lowered module does not end as a module does")
    return body[:-1] + "\n".join([*globals_text, *functions]) + "\n}\n", traced, values


def _named_values(parameters: Any) -> dict[str, np.ndarray[Any, Any]]:
    if parameters is None:
        return {}
    names = [re.sub(r"\W+", ".", path).strip(".") or "value" for path in pytree.paths(parameters)]
    leaves = [np.asarray(as_array(leaf, "to_iree")) for leaf in pytree.leaves(parameters)]
    if len(set(names)) != len(names):
        names = [f"{name}.{i}" for i, name in enumerate(names)]
    return dict(zip(names, leaves, strict=True))


def _tensor(shape: Sequence[int], dtype: np.dtype[Any]) -> str:
    mlir = importlib.import_module("plugjax.stablehlo.mlir")
    return str(mlir.type_of(ShapedArray(shape, dtype)))


def _global(
    symbol: str, name: str, value: np.ndarray[Any, Any], external: bool, mutable: bool
) -> str:
    kind = _tensor(value.shape, value.dtype)
    keyword = "mutable " if mutable else ""
    if external:
        return f'  util.global private {keyword}@{symbol} = #flow.parameter.named<"{SCOPE}"::"{name}"> : {kind}'
    if value.dtype == np.bool_:
        elements = ", ".join("true" if v else "false" for v in value.reshape(-1))
        return f"  util.global private {keyword}@{symbol} = dense<[{elements}]> : {kind}"
    raw = np.ascontiguousarray(value).tobytes()
    return f'  util.global private {keyword}@{symbol} = dense<"0x{raw.hex().upper()}"> : {kind}'


def _symbol(i: int) -> str:
    """Symbol of the global of a parameter. It is not an identifier, so no entry point has it."""
    return f"parameter.{i}"


def _entry_text(entry: TracedEntry, body: str, types: Sequence[str]) -> str:
    ins = [_tensor(a.shape, a.dtype) for a in entry.in_avals]
    outs = [_tensor(a.shape, a.dtype) for a in entry.out_avals]
    arguments = ", ".join(f"%a{i}: {t}" for i, t in enumerate(ins))
    lines = [f"  func.func public @{entry.name}({arguments}) -> ({', '.join(outs)}) {{"]
    lines += [f"    %p{i} = util.global.load @{_symbol(i)} : {t}" for i, t in enumerate(types)]
    operands = [f"%p{i}" for i in range(len(types))] + [f"%a{i}" for i in range(len(ins))]
    results = [*types[: entry.state_outputs], *outs]
    signature = f"({', '.join([*types, *ins])}) -> ({', '.join(results)})"
    target = f"%r:{len(results)} = " if results else ""
    lines.append(f"    {target}func.call @{body}({', '.join(operands)}) : {signature}")
    lines += [
        f"    util.global.store %r#{i}, @{_symbol(i)} : {types[i]}"
        for i in range(entry.state_outputs)
    ]
    visible = [f"%r#{i}" for i in range(entry.state_outputs, len(results))]
    lines.append(f"    return {', '.join(visible)}{' : ' + ', '.join(outs) if outs else ''}")
    lines.append("  }")
    return "\n".join(lines)
