"""An operation on all instances of a batch, made of its rules for one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from plugjax.experimental.hijax.primitives import AxisData, VJPHiPrimitive, pulled_back
from plugjax.experimental.hijax.types import unmapped
from plugjax.extend import pytree
from plugjax.extend.core import Zero, instantiate, reduce_sum_p, zeros
from plugjax.extend.transforms import Axis, batch_flat, materialize, vmap


class VmapOf(VJPHiPrimitive):
    """A batched operation: every rule is that of one instance under ``vmap``."""

    prim: VJPHiPrimitive
    axis_data: AxisData
    in_places: tuple[int | None, ...]
    out_places: tuple[int | None, ...]

    def __init__(
        self, prim: VJPHiPrimitive, axis_data: AxisData, in_dims: Any, out_dim: Any
    ) -> None:
        def whole(avals: Any, tree: Any, dims: Any) -> Any:
            places = tree.flatten_up_to(dims)
            found = [unmapped(axis_data.size, d, a) for a, d in zip(avals, places, strict=True)]
            return pytree.unflatten(tree, found)

        self.in_avals = whole(prim.in_avals_flat, prim.in_tree, in_dims)
        self.out_aval = whole(prim.out_avals_flat, prim.out_tree, out_dim)
        self.in_dims, self.out_dim = in_dims, out_dim
        # Trees of containers have no hash.
        self.params = {
            "prim": prim,
            "axis_data": axis_data,
            "in_places": tuple(prim.in_tree.flatten_up_to(in_dims)),
            "out_places": tuple(prim.out_tree.flatten_up_to(out_dim)),
        }
        super().__init__()

    def _mapped(self, function: Any, in_axes: Any, out_axes: Any) -> Any:
        data = self.axis_data
        return vmap(function, in_axes, out_axes, axis_name=data.name, axis_size=data.size)

    def expand(self, *args: Any) -> Any:
        """All results."""
        return self._mapped(self.prim.expand, self.in_dims, self.out_dim)(*args)

    def jvp(self, primals: Any, tangents: Any) -> Any:
        """All results and tangents."""
        dots = pytree.tree_map(instantiate, tangents, is_leaf=_is_zero)
        axes = (self.in_dims, self.in_dims), (self.out_dim, self.out_dim)
        return self._mapped(self.prim.jvp, *axes)(primals, dots)

    def vjp_fwd(self, nzs_in: Any, /, *args: Any) -> Any:
        """All results, and residuals with the places of their batch axes."""
        leaves = pytree.leaves(args)
        dims = self.in_places
        seen: list[Any] = []

        def forward(*xs: Any) -> list[Any]:
            found = self.prim.vjp_fwd(nzs_in, *pytree.unflatten(self.in_tree, xs))
            out, residuals, *known = found
            flat, tree = pytree.flatten(residuals)
            seen[:] = [tree, known]
            return [*pytree.leaves(out), *flat]

        axis = Axis(self.axis_data.size, self.axis_data.name)
        values, places = batch_flat(forward, axis, leaves, dims)
        tree, known = seen
        wanted = self.out_places
        count = len(wanted)
        outs = [
            y if w is None else materialize(y, d, axis, w)
            for y, d, w in zip(values, places, wanted, strict=False)
        ]
        residuals = _Residuals(values[count:], (tree, tuple(places[count:])))
        return pytree.unflatten(self.out_tree, outs), residuals, *known

    def vjp_bwd_retval(self, res: Any, outgrad: Any, /) -> Any:
        """Cotangents of all arguments; those of an argument that instances share are summed."""
        tree, places = res.description
        out_dims = self.out_places
        bars = self.out_tree.flatten_up_to(outgrad)
        given = [instantiate(b) for b in bars]
        dims = self.in_places
        axis = Axis(self.axis_data.size, self.axis_data.name)
        count = len(places)

        def backward(*xs: Any) -> list[Any]:
            residuals = pytree.unflatten(tree, xs[:count])
            prim = self.prim
            outgrad = pytree.unflatten(prim.out_tree, xs[count:])
            found = pulled_back(prim, residuals, outgrad, [True] * len(dims))
            return [
                zeros(aval.to_tangent_aval()) if b is None else instantiate(b)
                for b, aval in zip(found, prim.in_avals_flat, strict=True)
            ]

        values, found = batch_flat(backward, axis, [*res.leaves, *given], [*places, *out_dims])
        results = [
            reduce_sum_p.bind(materialize(b, d, axis), axes=(0,))
            if want is None
            else materialize(b, d, axis, want)
            for b, d, want in zip(values, found, dims, strict=True)
        ]
        return pytree.unflatten(self.in_tree, results)

    def batch_dim_rule(self, axis_data: AxisData, dims: Any, /) -> Any:
        """The places of a further batch axis."""
        own = self.in_places
        new: Sequence[Any] = self.in_tree.flatten_up_to(dims)
        inner = [
            d if d is None or o is None else d - (o < d) for d, o in zip(new, own, strict=True)
        ]
        found = self.prim.batch_dim_rule(axis_data, pytree.unflatten(self.in_tree, inner))
        outs: Sequence[Any] = self.out_tree.flatten_up_to(found)
        placed = [
            d if d is None or o is None else d + (o < d)
            for d, o in zip(outs, self.out_places, strict=True)
        ]
        return pytree.unflatten(self.out_tree, placed)


class _Residuals:
    """Residuals of all instances; a container, whose description says where their batch axes are."""

    __slots__ = ("description", "leaves")

    def __init__(self, leaves: Any, description: Any) -> None:
        self.leaves = list(leaves)
        self.description = description


pytree.register(
    _Residuals,
    lambda res: (res.leaves, res.description),
    lambda description, leaves: _Residuals(leaves, description),
)


def _is_zero(x: Any) -> bool:
    return type(x) is Zero
