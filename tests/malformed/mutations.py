"""Malformed variants of a valid call: replacements of an argument, by the role of its parameter."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from tests.malformed.samples import Sample

AXES = {
    "axis",
    "axes",
    "axis1",
    "axis2",
    "dimension",
    "dimensions",
    "dim",
    "source",
    "destination",
    "permutation",
    "in_axes",
    "out_axes",
    "broadcast_dimensions",
    "axisa",
    "axisb",
    "axisc",
    "start",
    "concat_dimension",
    "argnums",
    "static_argnums",
    "donate_argnums",
    "offset",
    "operand_batch_axes",
    "fft_axis",
}
DTYPES = {"dtype", "new_dtype", "preferred_element_type", "index_dtype", "precision_dtype"}
SHAPES = {"shape", "newshape", "new_sizes", "sizes", "fft_lengths", "window_shape", "reps", "s"}

ANYTHING = {
    "None": "None",
    "string": "'a'",
    "list": "[1.0, 2.0]",
    "dict": "{}",
    "object": "object()",
}
REPLACEMENTS: dict[str, dict[str, str]] = {
    "array": {
        **ANYTHING,
        "nested list": "[[1, 2], [3]]",
        "objects": "np.array([None, 1], dtype=object)",
        "strings": "np.array(['a', 'b'])",
        "dates": "np.array(['2020-01-01'], dtype='datetime64[D]')",
        "float128": "np.ones(2, np.longdouble)",
        "swapped bytes": "np.ones(2, '>f4')",
        "bool": "True",
        "bools": "np.array([True, False, True])",
        "complex": "np.array([1j, 2j, 3j], np.complex64)",
        "complexes": "np.ones((2, 2), np.complex64)",
        "integers": "np.array([1, 2, 3], np.int32)",
        "unsigned": "np.array([[1, 2], [3, 4]], np.uint8)",
        "floats": "np.array([1.5, 2.5, 3.5], np.float32)",
        "half": "np.array([1.5, 2.5], np.float16)",
        "rank 0": "np.float32(1.5)",
        "number": "1.5",
        "integer": "3",
        "imaginary": "2j",
        "huge integer": "2 ** 70",
        "empty": "np.zeros((0,), np.float32)",
        "empty matrix": "np.zeros((0, 3), np.float32)",
        "other length": "np.ones(7, np.float32)",
        "not square": "np.ones((2, 5), np.float32)",
        "rank 4": "np.ones((5, 4, 3, 2), np.float32)",
        "key": "jax.random.key(0)",
        "keys": "jax.random.split(jax.random.key(0), 2)",
        "tuple": "(1.0, 2.0)",
        "type": "float",
        "function": "abs",
        "struct": "jax.ShapeDtypeStruct((2,), 'float32')",
        "slice": "slice(None)",
        "ellipsis": "...",
    },
    "axis": {
        **ANYTHING,
        "too high": "99",
        "too low": "-99",
        "float": "1.5",
        "bool": "True",
        "duplicate": "(0, 0)",
        "duplicate negative": "(0, -1, -1)",
        "tuple": "(0,)",
        "empty": "()",
        "list of 0": "[0]",
        "array": "np.array([0])",
        "scalar array": "np.array(0)",
        "framework array": "jnp.array(0)",
        "tuple of float": "(0.0,)",
        "tuple too high": "(0, 9)",
        "tuple of None": "(None,)",
    },
    "dtype": {
        "None": "None",
        "nonsense": "'nonsense'",
        "float128": "'float128'",
        "longdouble": "np.longdouble",
        "swapped": "'>f4'",
        "void": "'V8'",
        "object": "object",
        "array": "np.ones(2, np.float32)",
        "framework array": "jnp.ones(2)",
        "text": "'U3'",
        "str": "str",
        "number": "3",
        "date": "'datetime64[s]'",
        "list": "['f4']",
        "record": "[('a', 'f4')]",
        "dict": "{}",
        "int": "int",
        "bool": "bool",
        "complex": "complex",
        "wide": "'float64'",
        "instance": "object()",
        "function": "abs",
        "complex256": "'complex256'",
        "key": "jax.random.key(0).dtype",
        "scalar": "np.float32(1)",
        "float": "1.5",
    },
    "shape": {
        **ANYTHING,
        "negative": "-1",
        "tuple of negative": "(-1,)",
        "negatives": "(-1, -1)",
        "float": "1.5",
        "tuple of float": "(1.5,)",
        "tuple of bool": "(True,)",
        "nested": "((2,), 2)",
        "number": "3",
        "array": "np.array([2, 3])",
        "floats": "np.array([2.0, 3.0])",
        "other": "(7, 5)",
        "empty": "()",
        "zero": "(0,)",
        "framework array": "jnp.array([2, 3])",
        "strings": "('a',)",
    },
    "word": {**ANYTHING, "nonsense": "'nonsense'", "number": "3", "bytes": "b'a'", "true": "True"},
    "flag": {
        "None": "None",
        "string": "'a'",
        "array": "np.array([True, False])",
        "number": "3",
        "object": "object()",
    },
    "count": {
        **ANYTHING,
        "negative": "-1",
        "zero": "0",
        "large": "99",
        "float": "1.5",
        "bool": "True",
        "tuple": "(1, 2)",
        "array": "np.array([1, 2])",
        "floats": "np.array([1.5, 2.5])",
        "scalar array": "np.array(1)",
        "framework array": "jnp.array(1)",
        "complex": "2j",
    },
    "function": {
        **ANYTHING,
        "number": "3",
        "constant": "(lambda *a, **k: None)",
        "no arguments": "(lambda: 1.0)",
        "string result": "(lambda *a, **k: 'a')",
        "two results": "(lambda *a, **k: (1.0, 2))",
    },
    "option": {
        **ANYTHING,
        "number": "3",
        "float": "1.5",
        "negative": "-1",
        "array": "np.array([1.0, 2.0])",
        "other length": "np.ones(7, np.float32)",
        "bool": "True",
        "complex": "2j",
        "tuple": "(1, 2)",
    },
    "sequence": {
        **ANYTHING,
        "empty": "[]",
        "empty tuple": "()",
        "number": "3",
        "array": "np.ones((2, 3), np.float32)",
        "nested": "[[1, 2], [3]]",
        "of None": "[None]",
        "of strings": "['a']",
        "mixed": "[np.ones(2), np.ones((3, 3))]",
        "of lists": "[[1.0, 2.0]]",
    },
    "pytree": {
        **ANYTHING,
        "number": "3",
        "array": "np.ones(7, np.float32)",
        "strings": "['a']",
        "tuple": "(1, 2)",
    },
}


@dataclass(frozen=True)
class Mutation:
    """A malformed call: its text, and the kind of malformation."""

    role: str
    what: str
    text: str

    @property
    def kind(self) -> str:
        return f"{self.role}: {self.what}"


def _is_array(value: Any) -> bool:
    return hasattr(value, "dtype") and hasattr(value, "shape")


def _role(parameter: str, value: Any) -> str:
    if parameter in AXES and not _is_array(value):
        return "axis"
    if parameter in DTYPES:
        return "dtype"
    if parameter in SHAPES and not _is_array(value):
        return "shape"
    if _is_array(value):
        return "array"
    if isinstance(value, bool):
        return "flag"
    if isinstance(value, str):
        return "word"
    if isinstance(value, int):
        return "count"
    if isinstance(value, (float, complex)):
        return "array"
    if isinstance(value, (list, tuple)):
        return "sequence"
    if isinstance(value, (type, np.dtype)):
        return "dtype"
    if callable(value):
        return "function"
    return "option" if value is None else "pytree"


def _replacements(sample: Sample, parameter: str, value: Any) -> Iterator[tuple[str, str, str]]:
    role = _role(parameter, value)
    for what, text in REPLACEMENTS[role].items():
        yield role, what, text
    if sample.replacements is not None:
        for what, text in sample.replacements(parameter, value).items():
            yield parameter, what, text


def mutations(sample: Sample, scope: dict[str, Any]) -> Iterator[Mutation]:
    """All malformed variants of the sample's call."""
    if sample.arguments:
        yield Mutation("number of arguments", "one missing", sample.call(drop=1))
        yield Mutation("number of arguments", "none", sample.call(drop=len(sample.arguments)))
    if all(a.keyword is None for a in sample.arguments):
        yield Mutation(
            "number of arguments", "20 more", sample.call(extra=", ".join(["None"] * 20))
        )
    yield Mutation("number of arguments", "unknown keyword", sample.call(extra="nonsense=1"))
    for i, argument in enumerate(sample.arguments):
        for role, what, text in _replacements(
            sample, argument.parameter, eval(argument.text, dict(scope))
        ):
            yield Mutation(role, what, sample.call({i: text}))
    for parameter, default in sample.absent.items():
        for role, what, text in _replacements(sample, parameter, default):
            yield Mutation(role, what, sample.call(extra=f"{parameter}={text}"))
