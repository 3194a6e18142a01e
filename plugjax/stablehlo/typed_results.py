"""Results whose types say how they are spread, for lowering rules: a name of ``plugjax.extend.mlir``."""

from __future__ import annotations

from plugjax.extend.core import ShapedArray, physical_aval
from plugjax.extend.meshes import AxisType, NamedSharding
from plugjax.stablehlo import mlir
from plugjax.stablehlo.context import EqnContext
from plugjax.stablehlo.meshes import quoted, sharding_text
from plugjax.stablehlo.mlir import Value


def lower_with_sharding_in_types(ctx: EqnContext, op: Value, aval: ShapedArray) -> Value:
    """A value, with a request to the compiler that it be spread as its type says.

    Args:
        ctx: the context of the lowering rule.
        op: the value, ``[...]`` as ``aval``, or as an array of its dtype is stored.
        aval: its type.

    Returns:
        The result of ``sdy.sharding_constraint``, of the same MLIR type; ``op`` itself if no explicit axis of a mesh cuts values of this
        type, or if the program is not spread over devices.

    Differs from JAX:
        Types whose values each device has whole say nothing of a mesh, so nothing is requested for them. In programs, requests have taken
        the place of spreads in types before a rule is asked: ``ctx.avals_out`` have none, and the request for a result follows the rule.

    Example:
        >>> import plugjax, plugjax.numpy as jnp
        >>> from plugjax.extend import core, mlir
        >>> from plugjax.interpreters import mlir as rules
        >>> explicit = (plugjax.sharding.AxisType.Explicit,)
        >>> mesh = plugjax.make_mesh((1,), ("x",), explicit, devices=plugjax.devices("xla")[:1])
        >>> cut = plugjax.NamedSharding(mesh.abstract_mesh, plugjax.P("x"))
        >>> aval = core.ShapedArray((4,), "float32", sharding=cut)
        >>> cut_p = core.Primitive("cut")
        >>> _ = cut_p.def_abstract_eval(lambda x: x)
        >>> def lower(ctx, x):
        ...     return [mlir.lower_with_sharding_in_types(ctx, x, aval)]
        >>> _ = rules.register_lowering(cut_p, lower)
        >>> x = plugjax.device_put(jnp.ones(4), plugjax.NamedSharding(mesh, plugjax.P()))
        >>> text = plugjax.jit(cut_p.bind).lower(x).as_text("stablehlo")
        >>> 'sdy.sharding_constraint %arg0 <@mesh, [{"x"}]>' in text
        True
    """
    held: NamedSharding | None = aval.spread
    if held is None or ctx.module.partition is None:
        return op
    stored = physical_aval(aval)
    attribute = mlir.attribute(f"#sdy.sharding<{_text(ctx, held, stored.ndim)}>")
    return mlir.value("sdy.sharding_constraint", stored, [op], {"sharding": attribute})


def _text(ctx: EqnContext, held: NamedSharding, ndim: int) -> str:
    """The sharding in Shardy's words: the compiler may cut axes further, but not along explicit axes of the mesh."""
    mesh, spec = held.mesh, held.spec
    free = AxisType.Auto in mesh.axis_types
    text = sharding_text(ctx.module, held, ndim, range(ndim) if free else ())
    explicit = [name for name in mesh.axis_names if name in mesh.explicit_axes]
    whole = [name for name in explicit if name in held.replicated_axes - spec.reduced]
    summed = [name for name in mesh.axis_names if name in spec.unreduced]
    for word, names in (("replicated", whole if free else []), ("unreduced", summed)):
        if names:
            text += f", {word}={{{', '.join(map(quoted, names))}}}"
    return text


__all__ = ["lower_with_sharding_in_types"]
