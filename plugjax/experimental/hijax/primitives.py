"""Operations that a class describes: what they compute, their derivatives, and how they are batched.

An operation is an object; each call of it is one equation ``call_hi_primitive`` that holds it. The methods of its class are the
rules of that equation.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any

from plugjax.extend import pytree
from plugjax.extend.core import Effects, Primitive, add_any, as_array, no_effects

call_hi_primitive_p = Primitive("call_hi_primitive", multiple_results=True, structured=True)


@dataclass(frozen=True, slots=True)
class AxisData:
    """The batch axis, as rules get it.

    Attributes:
        name: that ``vmap`` gives it; ``None`` without one.
        size: number of instances.
        spmd_name: ``None``: it is not spread over devices.
        explicit_mesh_axis: ``None``, likewise.
    """

    name: Any
    size: int
    spmd_name: Any = None
    explicit_mesh_axis: Any = None


class GradAccum:
    """Where a pullback leaves the cotangent of an operand.

    Attributes:
        aval: of the cotangent.
    """

    __slots__ = ("_total", "aval")

    def __init__(self, aval: Any) -> None:
        self.aval = aval
        self._total: Any = None

    def accum(self, x: Any) -> None:
        """Add a cotangent; ``None`` adds nothing."""
        if x is not None:
            self._total = x if self._total is None else add_any(self._total, x)

    def freeze(self) -> Any:
        """The sum of what was added, ``None`` if nothing was."""
        return self._total


class NullAccum(GradAccum):
    """Takes the cotangent of an operand that is not differentiated, and drops it."""

    __slots__ = ()

    def accum(self, x: Any) -> None:
        """Drop a cotangent."""


def leaves_of(tree: Any, expected: Any, who: str) -> list[Any]:
    """Leaves of a tree of a known structure.

    Raises:
        TypeError: its structure is another one.
    """
    found, treedef = pytree.flatten(tree)
    if treedef != expected:
        raise TypeError(f"{who}: a tree of structure {expected} is needed, got {treedef}.")
    return found


class VJPHiPrimitive:
    """An operation on pytrees of arrays, with rules of its own.

    A subclass sets ``in_avals``, a tuple with the avals of each argument, ``out_aval`` and ``params`` in its ``__init__``, calls that of
    this class last, and overrides ``expand``. Further methods are for the transformations that are wanted: ``vjp_fwd`` with ``vjp_bwd`` or
    ``vjp_bwd_retval`` for reverse mode, ``jvp`` for forward mode, ``lin`` with ``linearized``, ``transpose``, ``batch`` or
    ``batch_dim_rule`` for ``vmap``, ``dce``.

    Attributes:
        in_avals: avals of the arguments.
        out_aval: avals of the result.
        params: what tells operations of the class apart; each is an attribute too.
        effects: of a call.

    Raises:
        AttributeError: ``__init__`` left an attribute out, or both forms of the backward pass are overridden.

    Differs from JAX:
        An operation with ``jvp`` alone has reverse mode as well. ``remat`` has no effect: a checkpoint computes calls again.

    Example:
        >>> import plugjax, plugjax.numpy as jnp
        >>> from plugjax.experimental.hijax import VJPHiPrimitive
        >>> class Square(VJPHiPrimitive):
        ...     def __init__(self, aval):
        ...         self.in_avals, self.out_aval, self.params = (aval,), aval, {}
        ...         super().__init__()
        ...     def expand(self, x):
        ...         return x * x
        ...     def vjp_fwd(self, nzs_in, x):
        ...         return self(x), x
        ...     def vjp_bwd_retval(self, x, g):
        ...         return (100 * x * g,)
        >>> plugjax.grad(lambda x: Square(plugjax.typeof(x))(x))(jnp.float32(3.0))
        Array(300., dtype=float32)
    """

    in_avals: tuple[Any, ...]
    out_aval: Any
    params: dict[str, Hashable]
    effects: Effects = no_effects

    def __init__(self) -> None:
        for name in ("in_avals", "out_aval", "params"):
            if not hasattr(self, name):
                raise AttributeError(f"subclass __init__ should set `self.{name}`")
        if overrides(self, "vjp_bwd") and overrides(self, "vjp_bwd_retval"):
            raise AttributeError(
                f"subclass {type(self)} should not override both `vjp_bwd` and `vjp_bwd_retval`"
            )
        self.in_avals_flat, self.in_tree = pytree.flatten(self.in_avals)
        self.out_avals_flat, self.out_tree = pytree.flatten(self.out_aval)
        self.__dict__.update(self.params)
        self.check(*self.in_avals)

    def expand(self, *args: Any) -> Any:
        """What the operation computes."""
        raise self._lacking("`expand`", "its evaluation")

    def vjp_fwd(self, nzs_in: Any, /, *args: Any) -> Any:
        """The result and residuals, given which operands are differentiated; as third perhaps which results have a derivative."""
        raise self._lacking("`vjp_fwd`", "grad support")

    def vjp_bwd(self, res: Any, outgrad: Any, /, *arg_accums: Any) -> None:
        """Leave the cotangents of the arguments in accumulators."""
        found = self.vjp_bwd_retval(res, outgrad)
        for accums, bars in zip(arg_accums, found, strict=True):
            flat, tree = pytree.flatten(accums)
            for accum, bar in zip(flat, tree.flatten_up_to(bars), strict=True):
                accum.accum(bar)

    def vjp_bwd_retval(self, res: Any, outgrad: Any, /) -> Any:
        """The cotangents of the arguments, from residuals and the cotangent of the result."""
        raise self._lacking("`vjp_bwd` or `vjp_bwd_retval`", "grad support")

    def jvp(self, primals: Any, tangents: Any) -> Any:
        """The result and its tangent."""
        raise self._lacking("`jvp`", "jvp support")

    def lin(self, nzs_in: Any, *primals: Any) -> Any:
        """The result, and residuals for ``linearized``."""
        raise self._lacking("`lin` and `linearized`", "linearize support")

    def linearized(self, residuals: Any, *tangents: Any) -> Any:
        """The tangent of the result."""
        raise self._lacking("`lin` and `linearized`", "linearize support")

    def transpose(self, out_ct: Any, *maybe_accums: Any) -> None:
        """Leave cotangents of the arguments that are accumulators there; others are values."""
        raise self._lacking("`transpose`", "transpose support")

    def batch(self, axis_data: AxisData, args: Any, dims: Any) -> Any:
        """The result for all instances, and the places of its batch axes."""
        raise self._lacking("`batch` or `batch_dim_rule`", "vmap support")

    def batch_dim_rule(self, axis_data: AxisData, dims: Any, /) -> Any:
        """The places of the batch axes of the result."""
        raise self._lacking("`batch` or `batch_dim_rule`", "vmap support")

    def dce(self, used_outs: Any) -> tuple[Any, Any, VJPHiPrimitive | None]:
        """Which arguments are needed, which results there are, and the operation that computes them; ``None`` for none."""
        if any(pytree.leaves(used_outs)):
            return True, True, self
        return False, False, None

    def remat(self, policy: Any, *args: Any) -> tuple[Any, Any]:
        """The result, and a function that computes it again."""
        return self(*args), self

    def check(self, *arg_tys: Any) -> None:
        """Raise if the operation is wrong for arguments of these types."""

    def __call__(self, *args: Any) -> Any:
        """Run the operation.

        Raises:
            TypeError: the arguments have another structure than ``in_avals``.
        """
        name = type(self).__name__
        leaves = [as_array(x, name) for x in leaves_of(args, self.in_tree, name)]
        return pytree.unflatten(self.out_tree, call_hi_primitive_p.bind(*leaves, _prim=self))

    def _lacking(self, methods: str, what: str) -> NotImplementedError:
        return NotImplementedError(f"for {what}, subclass {type(self)} must implement {methods}")

    def __repr__(self) -> str:
        return f"{type(self).__name__}[{self.params}]"

    def __hash__(self) -> int:
        return hash((type(self).__name__, tuple(self.params.items()), self.effects))

    def __eq__(self, other: object) -> bool:
        return (
            type(self) is type(other)
            and isinstance(other, VJPHiPrimitive)
            and (self.params, self.effects) == (other.params, other.effects)
            and self.in_avals_flat == other.in_avals_flat
        )


def overrides(prim: VJPHiPrimitive, method: str) -> bool:
    """Whether the class of an operation has a method of its own."""
    return getattr(type(prim), method) is not getattr(VJPHiPrimitive, method)


def flat_results(prim: VJPHiPrimitive, result: Any, who: str) -> list[Any]:
    """The leaves of a result of an operation.

    Raises:
        TypeError: it has another structure than ``out_aval``.
    """
    who = f"{type(prim).__name__}.{who}"
    return [as_array(y, who) for y in leaves_of(result, prim.out_tree, who)]


def flags(prefix: Any, tree: Any) -> Sequence[bool]:
    """One flag for each leaf, from a prefix of a tree of flags."""
    return [bool(f) for f in pytree.broadcast_prefix(prefix, tree)]


def pulled_back(
    prim: VJPHiPrimitive, residuals: Any, outgrad: Any, differentiated: Sequence[bool]
) -> list[Any]:
    """The cotangents of the leaves of the arguments; ``None`` for those that get none, or are not differentiated."""
    accums = [
        (GradAccum if d else NullAccum)(aval.to_tangent_aval())
        for d, aval in zip(differentiated, prim.in_avals_flat, strict=True)
    ]
    prim.vjp_bwd(residuals, outgrad, *pytree.unflatten(prim.in_tree, accums))
    return [accum.freeze() for accum in accums]
