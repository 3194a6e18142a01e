"""Einstein summation: a path of pairwise contractions, each one ``dot_general``."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

from plugjax import lax
from plugjax.extend.core import Array
from plugjax.extend.dtypes import DTypeLike
from plugjax.extend.errors import OutArgumentError
from plugjax.extend.meshes import ShardingLike
from plugjax.lax.dot import PrecisionLike
from plugjax.lax.placement import freely, laid_out
from plugjax.numpy.indexing import diagonal
from plugjax.numpy.linear_algebra import product_operands
from plugjax.numpy.promotion import Operand, check_arraylike, converted

__all__ = ["einsum", "einsum_path"]


@cache
def _opt_einsum() -> Any:
    import opt_einsum  # noqa: PLC0415  # a named lazy-loading point: few programs use einsum

    return opt_einsum


def einsum(
    subscripts: Any,
    /,
    *operands: Any,
    out: None = None,
    optimize: Any = "auto",
    precision: PrecisionLike = None,
    preferred_element_type: DTypeLike | None = None,
    out_sharding: ShardingLike | None = None,
    _dot_general: Callable[..., Array] = lax.dot_general,
) -> Array:
    """Sum of products, named by subscripts.

    Args:
        subscripts: such as ``"ij,jk->ik"``, or operands and lists of axes in turn, as in NumPy's manual.
        *operands: arrays.
        out: not supported.
        optimize: strategy of opt_einsum for the order of contractions.
        precision: as of ``lax.dot_general``.
        preferred_element_type: dtype to accumulate in.
        out_sharding: how the result is spread: a sharding, or a partition spec of the mesh in force.
        _dot_general: what multiplies two operands, with the arguments of ``lax.dot_general``.

    Example:
        >>> import plugjax.numpy as jnp
        >>> jnp.einsum("ij,j->i", jnp.eye(2), jnp.arange(2.0))
        Array([0., 1.], dtype=float32)
    """
    if out_sharding is not None:
        return laid_out(
            "einsum",
            freely(
                einsum,
                subscripts,
                *operands,
                out=out,
                optimize=optimize,
                precision=precision,
                preferred_element_type=preferred_element_type,
                _dot_general=_dot_general,
            ),
            out_sharding,
        )
    if out is not None:
        raise OutArgumentError(
            "einsum: 'out' cannot be written, since arrays are immutable. Use the result instead."
        )
    if isinstance(subscripts, str):
        check_arraylike("einsum", *operands)
    (parsed_in, parsed_out, arrays) = _opt_einsum().parser.parse_einsum_input(
        (subscripts, *operands)
    )
    values, wanted, weak = product_operands("einsum", preferred_element_type, *arrays)
    names = parsed_in.split(",")
    for name, value in zip(names, values, strict=True):
        if len(name) != value.ndim:
            raise ValueError(
                f"einsum: operand {value.aval.str_short()} has {value.ndim} axes, subscript {name!r} names {len(name)}."
            )
    sizes: dict[str, int] = {}
    for name, value in zip(names, values, strict=True):
        for letter, size in zip(name, value.shape, strict=True):
            known = sizes.setdefault(letter, size)
            if known == 1:
                sizes[letter] = size
            elif size not in (1, known):
                raise ValueError(
                    f"einsum: Size of label {letter!r} differs between operands: {known} and {size}."
                )
    path = _path(parsed_in, parsed_out, values, optimize)
    terms = [_simplified(v, n, sizes) for v, n in zip(values, names, strict=True)]
    for chosen in path:
        picked = [terms[i] for i in chosen]
        terms = [t for i, t in enumerate(terms) if i not in chosen]
        needed = set(parsed_out).union(*[set(n) for _, n in terms])
        joined = picked[0]
        if len(picked) == 1:
            joined = _summed(*joined, needed)
        for other in picked[1:]:
            joined = _contracted(joined, other, needed, precision, wanted, _dot_general)
        terms.append(joined)
    result, name = _summed(*terms[0], set(parsed_out))
    result = _arranged(result, name, parsed_out, sizes)
    if result.dtype != wanted or result.weak_type != weak:
        result = lax.convert_element_type_p.bind(result, new_dtype=wanted, weak_type=weak)
    return result


def _path(inputs: str, output: str, values: list[Operand], optimize: Any) -> list[tuple[int, ...]]:
    if len(values) <= 2:
        return [tuple(range(len(values)))]
    if optimize is False:
        return [(0, 1)] * (len(values) - 1)
    strategy = "optimal" if optimize is True else optimize
    found, _ = _opt_einsum().contract_path(
        f"{inputs}->{output}", *[v.shape for v in values], shapes=True, optimize=strategy
    )
    return [tuple(sorted(step)) for step in found]


def _simplified(x: Operand, name: str, sizes: dict[str, int]) -> tuple[Operand, str]:
    """The operand with each letter once: diagonals are taken, and stretched axes of size 1 are dropped."""
    drop = tuple(i for i, letter in enumerate(name) if x.shape[i] == 1 and sizes[letter] != 1)
    if drop:
        x = lax.squeeze(x, drop)
        name = "".join(letter for i, letter in enumerate(name) if i not in drop)
    for letter in dict.fromkeys(name):
        while name.count(letter) > 1:
            first = name.index(letter)
            second = name.index(letter, first + 1)
            x = diagonal(x, 0, first, second)
            name = name[:first] + name[first + 1 : second] + name[second + 1 :] + letter
    return x, name


def _summed(x: Operand, name: str, needed: set[str]) -> tuple[Operand, str]:
    axes = tuple(i for i, letter in enumerate(name) if letter not in needed)
    if not axes:
        return x, name
    return lax.reduce_sum(x, axes), "".join(letter for letter in name if letter in needed)


def _contracted(
    left: tuple[Operand, str],
    right: tuple[Operand, str],
    needed: set[str],
    precision: Any,
    wanted: Any,
    dot_general: Callable[..., Any],
) -> tuple[Operand, str]:
    (x, x_name), (y, y_name) = left, right
    x, x_name = _summed(x, x_name, needed | set(y_name))
    y, y_name = _summed(y, y_name, needed | set(x_name))
    shared = [letter for letter in x_name if letter in y_name]
    batch = [letter for letter in shared if letter in needed]
    inner = [letter for letter in shared if letter not in needed]
    numbers = (
        (tuple(x_name.index(c) for c in inner), tuple(y_name.index(c) for c in inner)),
        (tuple(x_name.index(c) for c in batch), tuple(y_name.index(c) for c in batch)),
    )
    if x.dtype != y.dtype:
        x, y = converted(x, wanted), converted(y, wanted)
    product = dot_general(x, y, numbers, precision=precision, preferred_element_type=wanted)
    rest = "".join(c for c in x_name if c not in shared) + "".join(
        c for c in y_name if c not in shared
    )
    return product, "".join(batch) + rest


def _arranged(x: Operand, name: str, output: str, sizes: dict[str, int]) -> Operand:
    order = [name.index(c) for c in output if c in name]
    x = lax.transpose(x, tuple(order))
    if len(order) == len(output):
        return x
    shape = tuple(sizes[c] for c in output)
    return lax.broadcast_in_dim(x, shape, tuple(i for i, c in enumerate(output) if c in name))


def einsum_path(
    subscripts: Any, /, *operands: Any, optimize: Any = "auto"
) -> tuple[list[Any], Any]:
    """The order of contractions of :func:`einsum`, and a description of it.

    Example:
        >>> import plugjax.numpy as jnp
        >>> jnp.einsum_path("ij,jk->ik", jnp.ones((2, 3)), jnp.ones((3, 2)))[0]
        [(0, 1)]
    """
    strategy = "optimal" if optimize is True else optimize
    if optimize is False:
        inputs, _, _ = _opt_einsum().parser.parse_einsum_input((subscripts, *operands))
        strategy = [(0, 1)] * inputs.count(",") or [(0,)]
    path, info = _opt_einsum().contract_path(subscripts, *operands, optimize=strategy)
    return list(path), info
