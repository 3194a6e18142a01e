"""Complex numbers: parts, conjugate, and construction from parts."""

from __future__ import annotations

from typing import Any

from plugjax.extend import dtypes
from plugjax.extend.core import Array, ArrayLike, Primitive, Zero, aval_of, instantiate
from plugjax.extend.rules import RuleSet, jvp_rule, transpose_rule
from plugjax.extend.transforms import is_undefined_primal
from plugjax.lax.families import COMPLEX, DtypeSet, elementwise, linear, scalar, unbroadcast

rules = RuleSet(__name__)

real_p = Primitive("real")
imag_p = Primitive("imag")
conj_p = Primitive("conj")
complex_p = Primitive("complex")

_REAL = {dtypes.COMPLEX64: dtypes.FLOAT32, dtypes.COMPLEX128: dtypes.FLOAT64}
_COMPLEX = {real: whole for whole, real in _REAL.items()}
PART = DtypeSet("float32 and float64", lambda d: d in _COMPLEX)

elementwise(rules, real_p, accepts=COMPLEX, result=lambda d: _REAL[d])
elementwise(rules, imag_p, accepts=COMPLEX, result=lambda d: _REAL[d])
elementwise(rules, conj_p, accepts=COMPLEX)
elementwise(rules, complex_p, accepts=PART, result=lambda d: _COMPLEX[d])


def real(x: ArrayLike) -> Array:
    """Elementwise real part of a complex array.

    Example:
        >>> from plugjax import lax
        >>> import plugjax.numpy as jnp
        >>> lax.real(jnp.array([1 + 2j]))
        Array([1.], dtype=float32)
    """
    return real_p.bind(x)


def imag(x: ArrayLike) -> Array:
    """Elementwise imaginary part of a complex array.

    Example:
        >>> from plugjax import lax
        >>> import plugjax.numpy as jnp
        >>> lax.imag(jnp.array([1 + 2j]))
        Array([2.], dtype=float32)
    """
    return imag_p.bind(x)


def conj(x: ArrayLike) -> Array:
    """Elementwise conjugate; a real operand becomes complex, as in JAX.

    Example:
        >>> from plugjax import lax
        >>> import plugjax.numpy as jnp
        >>> lax.conj(jnp.array([1 + 2j]))
        Array([1.-2.j], dtype=complex64)
    """
    if aval_of(x).dtype.kind != "c":
        x = complex(x, scalar(0, x))
    return conj_p.bind(x)


def complex(x: ArrayLike, y: ArrayLike) -> Array:
    """Elementwise ``x + iy`` of real operands of one dtype, float32 or float64.

    Example:
        >>> from plugjax import lax
        >>> import plugjax.numpy as jnp
        >>> lax.complex(jnp.array([1.0]), jnp.array([2.0]))
        Array([1.+2.j], dtype=complex64)
    """
    return complex_p.bind(x, y)


@linear(rules, real_p)
def _real_transpose(y_bar: Any, x: Any) -> tuple[Any]:
    return (complex(y_bar, scalar(0, y_bar)),)


@linear(rules, imag_p)
def _imag_transpose(y_bar: Any, x: Any) -> tuple[Any]:
    # Cotangents pair without conjugation: <y_bar, Im x> = Re(-i y_bar x).
    return (complex(scalar(0, y_bar), -y_bar),)


@linear(rules, conj_p)
def _conj_transpose(y_bar: Any, x: Any) -> tuple[Any]:
    return (conj(y_bar),)


@rules.define(jvp_rule, complex_p)
def _complex_jvp(primals: Any, tangents: Any) -> tuple[Any, Any]:
    z = complex(*primals)
    if all(type(t) is Zero for t in tangents):
        return z, Zero(aval_of(z).to_tangent_aval())
    return z, complex(*[instantiate(t) for t in tangents])


@rules.define(transpose_rule, complex_p)
def _complex_transpose(z_bar: Any, x: Any, y: Any) -> tuple[Any, Any]:
    return (
        unbroadcast(real(z_bar), x.aval) if is_undefined_primal(x) else None,
        unbroadcast(-imag(z_bar), y.aval) if is_undefined_primal(y) else None,
    )
