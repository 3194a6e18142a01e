"""Rows of the collectives, each inside the ``vmap`` that names its axis: axis 0 of the operands."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from plugjax import lax
from plugjax.extend.core import Primitive, default_placement
from plugjax.extend.meshes import Mesh, PartitionSpec
from plugjax.extend.transforms import vmap
from plugjax.lax.collectives import all_gather_invariant_p, pvary_p
from plugjax.lax.sharded.primitive import shard_map_p
from plugjax.lax.sharded.shard_map import shard_map
from plugjax.lax.summands import (
    all_gather_reduced_p,
    preduced_p,
    reduced_vary_cast_p,
    unreduced_psum_p,
    unreduced_reduce_scatter_p,
    vary_unreduced_cast_p,
)
from plugjax.testing.row import Op, in_float64, real


def _row(
    primitive: Primitive,
    call: Callable[[Any, Any], Any],
    oracle: Callable[[Any], Any],
) -> Op:
    return Op(
        primitive.name,
        primitive,
        lambda lax, x: vmap(lambda y: call(lax, y), axis_name="i")(x),
        oracle,
        real(-2, 2, (3, 6)),
        2,
        without_jax="vmap is no function of jax.lax",
    )


def _everywhere(reduce: Callable[..., Any]) -> Callable[[Any], Any]:
    return lambda x: np.broadcast_to(reduce(x, axis=0), x.shape)


def _to(state: str, y: Any) -> Any:
    return lax.pcast(y, "i", to=state)


def _gathered(y: Any) -> Any:
    return lax.psum(_to("varying", lax.all_gather(y, "i", tiled=True, to="reduced")), "i")


def _scattered(y: Any) -> Any:
    return lax.psum(lax.psum_scatter(_to("unreduced", y), "i", tiled=True), "i")


def _on_a_mesh(f: Callable[..., Any], x: Any, spec: Any = None) -> Any:
    """A function of one device on a mesh of one, of the backend under test."""
    mesh = Mesh([default_placement().device], ("i",))
    specs = P("i") if spec is None else spec
    return shard_map(f, mesh=mesh, in_specs=specs, out_specs=P())(x)


_ELSEWHERE = "JAX has it outside of jax.lax; tests/meshes compares"
P = PartitionSpec
_SLOTS = (np.array([[0, 2], [1, 0]]), np.array([[2, 1], [2, 1]]), np.array([[0, 3], [2, 1]]))


def _exchange(lax: Any, x: Any, y: Any) -> Any:
    starts, sizes, places = _SLOTS
    exchange = vmap(partial(lax.ragged_all_to_all, axis_name="i"), axis_name="i")
    return exchange(x, y, starts, sizes, places, sizes.T)


def _exchanged(x: Any, y: Any) -> Any:
    """Slices of rows, joined."""
    y = y.copy()
    for source, target in np.ndindex(2, 2):
        start, size, place = (v[source, target] for v in _SLOTS)
        y[target, place : place + size] = x[source, start : start + size]
    return y


COLLECTIVES: Sequence[Op] = (
    _row(lax.psum_p, lambda lax, y: lax.psum(y, "i"), _everywhere(np.sum)),
    _row(lax.pmax_p, lambda lax, y: lax.pmax(y, "i"), _everywhere(np.max)),
    _row(lax.pmin_p, lambda lax, y: lax.pmin(y, "i"), _everywhere(np.min)),
    _row(lax.ppermute_p, lambda lax, y: lax.ppermute(y, "i", [(0, 2), (2, 0)]),
         lambda x: np.stack([x[2], 0 * x[1], x[0]])),
    _row(lax.all_gather_p, lambda lax, y: lax.all_gather(y, "i", axis=1),
         lambda x: np.stack([x.T] * 3)),
    _row(all_gather_invariant_p, lambda lax, y: lax.all_gather(y, "i", axis=1, to="invarying"),
         lambda x: np.stack([x.T] * 3)),
    _row(lax.reduce_scatter_p, lambda lax, y: lax.psum_scatter(y, "i", tiled=True),
         lambda x: x.sum(0).reshape(3, 2)),
    _row(lax.all_to_all_p, lambda lax, y: lax.all_to_all(y, "i", 0, 0, tiled=True),
         lambda x: x.reshape(3, 3, 2).swapaxes(0, 1).reshape(3, 6)),
    Op("ragged_all_to_all", lax.ragged_all_to_all_p, _exchange, _exchanged,
       real(-2, 2, (2, 3, 2), (2, 4, 2)), 2, without_jax="JAX on processors has none"),
    Op("shard_map", shard_map_p, lambda _, x: _on_a_mesh(lambda y: lax.sin(lax.psum(y, "i")), x),
       in_float64(np.sin), real(-2, 2, (3,)), 2, rtol=1e-5, without_jax=_ELSEWHERE),
    Op("pvary", pvary_p,
       lambda _, x: _on_a_mesh(lambda y: lax.psum(lax.pcast(y, "i", to="varying"), "i"), x, P()),
       lambda x: x, real(-2, 2, (3,)), 2, without_jax=_ELSEWHERE),
    *(
        Op(primitive.name, primitive, lambda _, x, f=f, cut=cut: _on_a_mesh(f, x, None if cut else P()),
           lambda x: x, real(-2, 2, (3,)), 2, without_jax=_ELSEWHERE)
        for primitive, f, cut in (
            (preduced_p, lambda y: lax.psum(_to("varying", _to("reduced", y)), "i"), False),
            (reduced_vary_cast_p, lambda y: lax.psum(_to("varying", _to("reduced", y)), "i"), False),
            (vary_unreduced_cast_p, lambda y: lax.psum(_to("unreduced", y), "i"), True),
            (unreduced_psum_p, lambda y: lax.psum(_to("unreduced", y), "i"), True),
            (all_gather_reduced_p, _gathered, True),
            (unreduced_reduce_scatter_p, _scattered, True),
        )
    ),
    _row(lax.axis_index_p, lambda lax, y: y * lax.axis_index("i"),
         lambda x: x * np.arange(3)[:, None]),
)  # fmt: skip
