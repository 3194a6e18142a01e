"""Programs as bytes, without code: what an artifact carries behind the tables that JAX reads.

A program is written as JSON with tagged values, and its arrays as raw bytes after it. Primitives are written by name, and
so are the classes of parameters, which are the enumerations, named tuples and data classes of ``plugjax.lax`` and no others. What a
reader does not know is refused by name.
"""

from __future__ import annotations

import dataclasses
import enum
import functools
import hashlib
import json
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from plugjax import lax
from plugjax.export.sharding_tables import (
    mesh_fields,
    read_mesh,
    read_sharding,
    read_spec,
    sharding_fields,
    spec_fields,
)
from plugjax.export.symbolic.dimension import SymbolicScope, is_symbolic_dim, symbolic_shape
from plugjax.extend import dtypes, registry
from plugjax.extend.core import (
    Array,
    ClosedJaxpr,
    DropVar,
    Jaxpr,
    Literal,
    Primitive,
    ShapedArray,
    Var,
    from_host,
    new_eqn,
)
from plugjax.extend.meshes import (
    AbstractMesh,
    ManualAxisType,
    NamedSharding,
    PartitionSpec,
    reduced_axes,
    unreduced_axes,
    varying_axes,
)
from plugjax.extend.rules import abstract_eval
from plugjax.extend.transforms import axes_inside, check_jaxpr
from plugjax.random.primitives import PRNGImpl, resolve_impl

FORMAT = 1
_MAGIC = b"plugjax program\n"
_FOOTER = 8 + 32 + len(_MAGIC)


def trailer(program: ClosedJaxpr) -> bytes:
    """A program as bytes, which end in their length, checksum and mark.

    Raises:
        ValueError: an equation has a parameter that is code, such as a custom derivative, or is of an unknown class.
    """
    writer = _Writer()
    main = writer.program(program)
    written = {"format": FORMAT, "main": main, "programs": writer.programs}
    scopes = [d.scope for aval in program.in_avals for d in aval.shape if is_symbolic_dim(d)]
    if scopes:
        written["constraints"] = [text for text, *_ in scopes[0].constraints()]
    head = json.dumps(written, separators=(",", ":")).encode()
    body = len(head).to_bytes(8, "little") + head + b"".join(writer.arrays)
    return body + len(body).to_bytes(8, "little") + hashlib.sha256(body).digest() + _MAGIC


def from_trailer(data: bytes) -> tuple[ClosedJaxpr | None, SymbolicScope]:
    """The program at the end of an artifact, or ``None`` if it carries none, and the scope of the artifact's sizes.

    Raises:
        ValueError: it is damaged, of another version, or has a primitive or class that is not known.
    """
    if not data.endswith(_MAGIC) or len(data) < _FOOTER:
        return None, SymbolicScope()
    footer = len(data) - _FOOTER
    size = int.from_bytes(data[footer : footer + 8], "little")
    if size > footer or size < 8:
        raise _fail(f"it has {size} bytes of {footer}")
    body = data[footer - size : footer]
    if hashlib.sha256(body).digest() != data[footer + 8 : footer + 40]:
        raise _fail("its checksum differs")
    head_size = int.from_bytes(body[:8], "little")
    try:
        head = json.loads(body[8 : 8 + head_size])
        if head["format"] != FORMAT:
            raise _fail(f"its format is {head['format']}, and {FORMAT} is known")
        scope = SymbolicScope(head.get("constraints", ()))
        reader = _Reader(head["programs"], body[8 + head_size :], scope)
        program = reader.program(head["main"])
        with axes_inside(program):
            check_jaxpr(program)
    except (
        json.JSONDecodeError,
        KeyError,
        IndexError,
        TypeError,
        AttributeError,
        OverflowError,
        RecursionError,
        UnicodeDecodeError,
    ) as error:
        raise _fail(f"{type(error).__name__}: {error}") from error
    return program, scope


def _fail(what: str) -> ValueError:
    return ValueError(
        f"export.deserialize: the program in the artifact is damaged or unknown: {what}."
    )


@functools.lru_cache(maxsize=4)
def _primitives(generation: int) -> Mapping[str, Primitive | None]:
    """Primitives by name; ``None`` for a name that several have."""
    found: dict[str, Primitive | None] = {}
    for rule in registry.active().rules():
        if rule.kind is abstract_eval:
            name = rule.primitive.name
            found[name] = (
                None if found.get(name, rule.primitive) is not rule.primitive else rule.primitive
            )
    return found


def _primitive(name: str) -> Primitive:
    registry.table(abstract_eval)
    found = _primitives(registry.active().generation).get(name)
    if found is None:
        raise ValueError(
            f"export: no plugin in force has the one primitive '{name}' of the program."
        )
    return found


@functools.cache
def _classes() -> Mapping[str, type]:
    """Enumerations, named tuples and data classes that parameters may be of, by name."""
    public = [getattr(lax, name) for name in lax.__all__]
    return {
        each.__name__: each
        for each in public
        if isinstance(each, type)
        and (
            issubclass(each, enum.Enum)
            or hasattr(each, "_fields")
            or dataclasses.is_dataclass(each)
        )
    }


class _Writer:
    def __init__(self) -> None:
        self.programs: list[Any] = []
        self.arrays: list[bytes] = []
        self.offset = 0
        self.indices: dict[ClosedJaxpr, int] = {}

    def program(self, program: ClosedJaxpr) -> int:
        found = self.indices.get(program)
        if found is not None:
            return found
        inner = program.jaxpr
        numbers: dict[Var, int] = {}
        avals: list[Any] = []

        def variable(var: Var) -> int:
            if var not in numbers:
                numbers[var] = len(avals)
                avals.append([*_aval(var.aval), type(var) is DropVar])
            return numbers[var]

        def atom(v: Any) -> Any:
            return (
                [self.value(np.asarray(v.val, v.aval.dtype)), *_aval(v.aval)]
                if type(v) is Literal
                else variable(v)
            )

        written = {
            "name": inner.debug_name,
            "consts": [
                [variable(v), self.value(c)]
                for v, c in zip(inner.constvars, program.consts, strict=True)
            ],
            "invars": [variable(v) for v in inner.invars],
            "eqns": [
                [
                    self.name(eqn.primitive),
                    [atom(v) for v in eqn.invars],
                    [variable(v) for v in eqn.outvars],
                    {name: self.param(eqn.primitive, name, p) for name, p in eqn.params.items()},
                ]
                for eqn in inner.eqns
            ],
        }
        written["outvars"] = [atom(v) for v in inner.outvars]
        written["avals"] = avals
        self.indices[program] = len(self.programs)
        self.programs.append(written)
        return self.indices[program]

    def name(self, primitive: Primitive) -> str:
        if _primitive(primitive.name) is not primitive:
            raise ValueError(f"Exported.serialize: '{primitive.name}' names another primitive.")
        return primitive.name

    def param(self, primitive: Primitive, name: str, value: Any) -> Any:
        try:
            return self.value(value)
        except TypeError as error:
            raise ValueError(
                f"Exported.serialize: the program cannot be written with jaxpr=True: the parameter {name} of primitive "
                f"'{primitive.name}' is {error}. Leave jaxpr out, and give vjp_order."
            ) from error

    def value(self, value: Any) -> Any:
        if value is None or isinstance(value, (bool, str)) or type(value) is int:
            return value
        if is_symbolic_dim(value):
            return {"size": str(value)}
        if isinstance(value, float) and type(value) is float:
            return {"float": value.hex()}
        if isinstance(value, complex) and type(value) is complex:
            return {"complex": [value.real.hex(), value.imag.hex()]}
        if isinstance(value, ClosedJaxpr):
            return {"program": self.program(value)}
        if isinstance(value, enum.Enum) and _classes().get(type(value).__name__) is type(value):
            return {"enum": [type(value).__name__, value.name]}
        if isinstance(value, tuple):
            items = [self.value(item) for item in value]
            if type(value) is tuple:
                return {"tuple": items}
            if _classes().get(type(value).__name__) is type(value):
                return {"record": [type(value).__name__, items]}
        if dataclasses.is_dataclass(value) and _classes().get(type(value).__name__) is type(value):
            fields = [getattr(value, field.name) for field in dataclasses.fields(value)]
            return {"record": [type(value).__name__, [self.value(item) for item in fields]]}
        if isinstance(value, (np.dtype, dtypes.ExtendedDType)):
            return {"dtype": dtype_name(value)}
        if isinstance(value, PRNGImpl):
            return {"generator": value.name}
        if isinstance(value, ShapedArray):
            return {"aval": _aval(value)}
        if isinstance(value, frozenset):
            return {"names": sorted(map(self.value, value))}
        if isinstance(value, AbstractMesh):
            return {"mesh": mesh_fields(value)}
        if isinstance(value, PartitionSpec):
            return {"spec": spec_fields(value)}
        if isinstance(value, NamedSharding):
            return {"sharding": sharding_fields(value)}
        if isinstance(value, (np.ndarray, np.generic, Array)):
            return self.array(value)
        raise TypeError(f"of {type(value)}, {value!r}")

    def array(self, value: Any) -> Any:
        host = np.asarray(value._fetch() if isinstance(value, Array) else value)
        raw = b"" if host.dtype == dtypes.float0 else np.ascontiguousarray(host).tobytes()
        place = [self.offset, len(raw)]
        self.arrays.append(raw)
        self.offset += len(raw)
        kind = "array" if isinstance(value, Array) else "host"
        aval = value.aval if isinstance(value, Array) else None
        extended = (
            [dtype_name(aval.dtype)] if aval is not None and dtypes.is_extended(aval.dtype) else []
        )
        weak = bool(aval is not None and aval.weak_type)
        return {kind: [list(host.shape), dtype_name(host.dtype), place, weak, *extended]}


def dtype_name(dtype: Any) -> str:
    """The name of a dtype, by which :func:`dtype_named` finds it."""
    if dtypes.is_extended(dtype):
        return f"key {dtype.impl.name}"
    return "float0" if dtype == dtypes.float0 else str(dtype.name)


# Dtypes of arrays, by name. NumPy knows others, such as that of Python objects.
_PLAIN = {
    dtype.name: dtype
    for dtype in map(
        np.dtype,
        (
            *("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
            *("float16", "float32", "float64", "complex64", "complex128"),
            *dtypes.CUSTOM_FLOATS,
            *dtypes.SIGNED_SMALL,
            *dtypes.UNSIGNED_SMALL,
        ),
    )
}


def dtype_named(name: str) -> Any:
    """The dtype of a name: of an array, ``float0``, or ``key`` and the name of a generator.

    Raises:
        ValueError: arrays have no such dtype.
    """
    if name.startswith("key "):
        return resolve_impl(name[4:]).dtype
    if name == "float0":
        return dtypes.float0
    found = _PLAIN.get(name)
    if found is None:
        raise _fail(f"arrays have no dtype {name!r}")
    return dtypes.interned(found)


def _aval(aval: ShapedArray) -> list[Any]:
    shape = [{"size": str(d)} if is_symbolic_dim(d) else d for d in aval.shape]
    weak: Any = aval.weak_type
    if aval.vma or aval.spread is not None:
        # What types say of a mesh.
        spread = None if aval.spread is None else sharding_fields(aval.spread)
        weak = {"weak": weak, "vma": sorted(varying_axes(aval.vma)), "spread": spread}
        for word, names in (("unreduced", unreduced_axes), ("reduced", reduced_axes)):
            if found := names(aval.vma):
                weak[word] = sorted(found)
    return [shape, dtype_name(aval.dtype), weak]


class _Reader:
    def __init__(self, programs: list[Any], arrays: bytes, scope: SymbolicScope) -> None:
        self.written = programs
        self.arrays = arrays
        self.scope = scope
        self.made: list[ClosedJaxpr] = []

    def program(self, index: int) -> ClosedJaxpr:
        # A program refers to those before it alone.
        while len(self.made) <= index:
            self.made.append(self.make(self.written[len(self.made)]))
        return self.made[index]

    def make(self, written: Any) -> ClosedJaxpr:
        variables = [
            (DropVar if dropped else Var)(self.aval((shape, dtype, weak)))
            for shape, dtype, weak, dropped in written["avals"]
        ]

        def atom(found: Any) -> Any:
            if isinstance(found, int):
                return variables[found]
            value, shape, dtype, weak = found
            aval = self.aval((shape, dtype, weak))
            host = self.value(value)[()]
            return Literal(from_host(np.asarray(host), weak_type=True) if weak else host, aval)

        eqns = [
            new_eqn(
                [atom(v) for v in invars],
                [variables[v] for v in outvars],
                _primitive(name),
                {key: self.value(p) for key, p in params.items()},
            )
            for name, invars, outvars, params in written["eqns"]
        ]
        jaxpr = Jaxpr(
            [variables[v] for v, _ in written["consts"]],
            [variables[v] for v in written["invars"]],
            [atom(v) for v in written["outvars"]],
            eqns,
            written["name"],
        )
        return ClosedJaxpr(jaxpr, [self.value(c) for _, c in written["consts"]])

    def value(self, written: Any) -> Any:
        if not isinstance(written, dict):
            return written
        ((tag, found),) = written.items()
        return _READ[tag](self, found)

    def aval(self, written: Any) -> ShapedArray:
        shape, dtype, weak = written
        if not isinstance(weak, dict):
            return ShapedArray(tuple(map(self.value, shape)), dtype_named(dtype), weak)
        marks = {word: weak.get(word, ()) for word in ("unreduced", "reduced")}
        vma = ManualAxisType(varying=weak["vma"], **marks).vma
        plain = self.aval((shape, dtype, weak["weak"])).update(vma=vma)
        return plain if weak["spread"] is None else read_sharding(weak["spread"]).typed(plain)

    def size(self, written: str) -> Any:
        (found,) = symbolic_shape(written, scope=self.scope)
        return found

    def earlier(self, index: int) -> ClosedJaxpr:
        return self.made[index]

    def record(self, found: Any) -> Any:
        name, items = found
        return _classes()[name](*[self.value(item) for item in items])

    def host(self, found: Any) -> Any:
        shape, dtype, (start, size), *_ = found
        kind = dtype_named(dtype)
        if kind == dtypes.float0:
            return np.zeros(shape, kind)
        count = int(np.prod(shape, dtype=np.int64))
        if start < 0 or size != count * kind.itemsize or start + size > len(self.arrays):
            raise _fail("an array lies outside of it")
        return np.frombuffer(self.arrays, kind, count, start).reshape(shape)

    def array(self, found: Any) -> Any:
        host, weak, extended = self.host(found), found[3], found[4:]
        if not extended:
            return from_host(host, weak_type=weak)
        dtype = dtype_named(extended[0])
        shape = host.shape[: host.ndim - len(dtype.storage_shape)]
        return Array(ShapedArray(shape, dtype), from_host(host)._placement, host)


_READ: Mapping[str, Callable[[_Reader, Any], Any]] = {
    "float": lambda _, found: float.fromhex(found),
    "complex": lambda _, found: complex(*map(float.fromhex, found)),
    "program": _Reader.earlier,
    "enum": lambda _, found: _classes()[found[0]].__members__[found[1]],  # type: ignore[attr-defined]  # of an Enum
    "tuple": lambda reader, found: tuple(reader.value(item) for item in found),
    "record": _Reader.record,
    "dtype": lambda _, found: dtype_named(found),
    "generator": lambda _, found: resolve_impl(found),
    "aval": _Reader.aval,
    "size": _Reader.size,
    "names": lambda _, found: frozenset(found),
    "mesh": lambda _, found: read_mesh(found),
    "spec": lambda _, found: read_spec(found),
    "sharding": lambda _, found: read_sharding(found),
    "host": _Reader.host,
    "array": _Reader.array,
}


__all__ = ["dtype_name", "dtype_named", "from_trailer", "trailer"]
