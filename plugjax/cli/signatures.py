"""Functions with the types of their arguments on the command line: ``predict:f32[*,64],i32[8]``.

A size is a number, ``*`` (any size), or an expression of names such as ``n`` or ``2*n``; one name is one size throughout
the signature. ``NAME=`` before the function is what an exported module calls it.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from plugjax.cli.targets import lookup
from plugjax.export import SymbolicScope, is_symbolic_dim, symbolic_shape
from plugjax.extend.core import Device, ShapeDtypeStruct
from plugjax.extend.dtypes import bfloat16
from plugjax.extend.execution import Traced, jit

_DTYPES = {
    "bool": np.bool_, "i8": np.int8, "i16": np.int16, "i32": np.int32, "i64": np.int64, "u8": np.uint8, "u16": np.uint16,
    "u32": np.uint32, "u64": np.uint64, "f16": np.float16, "bf16": bfloat16, "f32": np.float32, "f64": np.float64,
    "c64": np.complex64, "c128": np.complex128,
}  # fmt: skip
_SPEC = re.compile(r"\s*([a-z]+\d*)\[([^\[\]]*)\]\s*")
_FORM = re.compile(r"(?:(?P<name>\w+)=)?(?P<function>\w+):(?P<types>.*)", re.DOTALL)
HELP = "[NAME=]FUNCTION:f32[4,4],i32[*], repeatable; * is any size."


@dataclass(frozen=True)
class Signature:
    """A function that is to be exported or checked.

    Attributes:
        name: what it is called in a module.
        function: the function.
        args: the types of its arguments, without parameters.
    """

    name: str
    function: Callable[..., Any]
    args: tuple[ShapeDtypeStruct, ...]

    @property
    def symbolic(self) -> bool:
        """Whether a size is not a number."""
        return any(is_symbolic_dim(d) for arg in self.args for d in arg.shape)

    def trace(self, parameters: Any = None, device: Device | None = None) -> Traced:
        """The function as a program, for a device or the default one; of the parameters too, if there are any."""
        given = () if parameters is None else (parameters,)
        return jit(self.function, device=device).trace(*given, *self.args)

    def closed(self, parameters: Any = None) -> Callable[..., Any]:
        """The function of its arguments alone, jitted; parameters are constants of it."""
        if parameters is None:
            return jit(self.function)
        bound = functools.partial(self.function, parameters)
        return jit(functools.update_wrapper(bound, self.function))


def parse(module: Any, texts: list[str]) -> list[Signature]:
    """Signatures of functions of a module.

    Raises:
        ValueError: a text has another form, there is no such function, or two have one name.
    """
    found: dict[str, Signature] = {}
    for text in texts:
        match = _FORM.fullmatch(text)
        if match is None:
            raise ValueError(
                f"cannot read the entry {text!r}; write FUNCTION:f32[4,4] or NAME=FUNCTION:f32[4,4]"
            )
        function = lookup(module, match["function"])
        if not callable(function):
            raise ValueError(f"{match['function']!r} of {module.__name__} is no function")
        name = match["name"] or match["function"]
        if name in found:
            raise ValueError(
                f"two entry points are called {name!r}; write NAME= before one of them"
            )
        found[name] = Signature(name, function, tuple(parse_shapes(match["types"])))
    return list(found.values())


def parse_shapes(text: str) -> list[ShapeDtypeStruct]:
    """``"f32[1,64],i32[*]"`` as structs.

    Raises:
        ValueError: the text has another form; the message names the place.
    """
    found: list[ShapeDtypeStruct] = []
    scope = SymbolicScope()
    position = unknown = 0
    while position < len(text):
        match = _SPEC.match(text, position)
        if match is None or match[1] not in _DTYPES:
            raise ValueError(
                f"cannot read a shape at {text[position:]!r}; write dtype[sizes] such as f32[1,64], dtypes are "
                + ", ".join(_DTYPES)
            )
        sizes: list[str] = []
        for size in filter(None, (s.strip() for s in match[2].split(","))):
            unknown += size == "*"
            sizes.append(f"any_{unknown}" if size == "*" else size)
        shape = (
            [int(s) for s in sizes] if all(s.isdecimal() for s in sizes) else _shape(sizes, scope)
        )
        found.append(ShapeDtypeStruct(shape, np.dtype(_DTYPES[match[1]])))
        position = match.end()
        if position < len(text):
            if text[position] != ",":
                raise ValueError(f"expected a comma at {text[position:]!r}")
            position += 1
    return found


def _shape(sizes: list[str], scope: SymbolicScope) -> tuple[Any, ...]:
    if any(size in ("_", "...") or size.startswith("-") for size in sizes):
        raise ValueError(
            f"cannot read the sizes [{','.join(sizes)}]; * is a size that is not known"
        )
    return symbolic_shape(",".join(sizes), scope=scope)
