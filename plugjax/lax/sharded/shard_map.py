"""``shard_map``: a function of one device, run by all devices of a mesh on their parts of the arguments."""

from __future__ import annotations

import functools
import inspect
import math
from collections.abc import Callable, Sequence, Set as AbstractSet
from typing import Any

from plugjax.extend import pytree
from plugjax.extend.core import Array, Tracer, as_array, aval_of, config, state
from plugjax.extend.execution import EvalTrace
from plugjax.extend.meshes import (
    AbstractMesh,
    AxisType,
    Mesh,
    NamedSharding,
    PartitionSpec,
    get_abstract_mesh,
    mesh_in_force,
    names_of,
    spec_of,
    unreduced_axes,
)
from plugjax.extend.transforms import (
    HighType,
    HiPspec,
    StagingTrace,
    Structure,
    api_boundary,
    named_after,
    open_constants,
    stage,
)
from plugjax.lax.collectives import pvary_p
from plugjax.lax.sharded.boundary import (
    check_marks,
    entered,
    left,
    left_without_types,
    typed_as_asked,
    whole_summands,
    without_marks,
)
from plugjax.lax.sharded.looking import Devices, LookingTrace
from plugjax.lax.sharded.primitive import (
    AnyMesh,
    Axes,
    Spec,
    in_order,
    inside,
    local_aval,
    shard_map_p,
    spec_names,
)
from plugjax.lax.sharded.stepping import step_through


class _Infer:
    """Stands for specs that are those of the arguments' shardings."""

    def __repr__(self) -> str:
        return "Infer"


Infer = _Infer()


def shard_map(
    f: Callable[..., Any] | None = None,
    /,
    *,
    out_specs: Any,
    in_specs: Any = Infer,
    mesh: AnyMesh | None = None,
    axis_names: AbstractSet[Any] = frozenset(),
    check_vma: bool = True,
) -> Any:
    """Map a function over the parts of its arguments, one part for each device of a mesh.

    On a backend whose compiler spreads programs each device runs the function. On others, whose devices share one memory, it is
    batched over the parts. Outside of compiled functions ``print`` and ``debug.print`` show the values of all devices, and a value that all have can
    be asked whether it is true. Under ``disable_jit`` it runs for one device after the other, as plain Python on real arrays.

    Args:
        f: the function of parts. Left out, a decorator is returned.
        out_specs: pytree prefix of the result, of partition specs: how parts of the result are joined. Along an axis that a
            spec does not name all devices must give the same.
        in_specs: pytree prefix of the arguments, of partition specs: how they are cut; ``None`` for an argument that reaches
            ``f`` as it is. Left out: as the arguments are spread.
        mesh: the mesh; that in force, if left out.
        axis_names: the axes along which ``f`` is the program of one device; all, if left out.
        check_vma: whether types say along which axes values may differ. Then results are checked, and derivatives inside ``f``
            by values that do not differ are summed over the devices.

    Returns:
        A function of whole arrays.

    Raises:
        ValueError: there is no mesh, a spec does not fit its array, or a result may differ along an axis that its spec does
            not name.
        TypeError: a spec is no partition spec.

    Example:
        >>> import plugjax, plugjax.numpy as jnp
        >>> from plugjax import lax
        >>> P = plugjax.P
        >>> mesh = plugjax.make_mesh((1,), ("i",))
        >>> plugjax.shard_map(lambda x: lax.psum(x, "i"), mesh=mesh, in_specs=P("i"), out_specs=P())(jnp.arange(3))
        Array([0, 1, 2], dtype=int32)
    """
    if f is None:
        return functools.partial(
            shard_map,
            out_specs=out_specs,
            in_specs=in_specs,
            mesh=mesh,
            axis_names=axis_names,
            check_vma=check_vma,
        )
    if not callable(f):
        raise TypeError(f"shard_map requires a callable for its first argument, got {f!r}.")
    given, function = mesh, f

    @api_boundary
    def mapped(*args: Any) -> Any:
        chosen = _mesh(given)
        return _Call(function, chosen, _axes(chosen, axis_names), check_vma).run(
            args, in_specs, out_specs
        )

    return named_after(f, mapped, f.__doc__)


def _mesh(given: AnyMesh | None) -> AnyMesh:
    found: Any = given
    if found is None:
        around = get_abstract_mesh()
        found = around if around.manual_axes else mesh_in_force() or around
        if found.empty:
            raise ValueError(
                "shard_map: The context mesh cannot be empty. Use `plugjax.set_mesh(mesh)` to enter into a mesh context, or "
                "give mesh=."
            )
    if not isinstance(found, (Mesh, AbstractMesh)):
        raise TypeError(
            f"shard_map requires a Mesh or AbstractMesh for its second argument, got {found!r}."
        )
    return found


def _axes(mesh: AnyMesh, axis_names: AbstractSet[Any]) -> Axes:
    if isinstance(axis_names, (str, tuple, list)):
        axis_names = {axis_names} if isinstance(axis_names, str) else set(axis_names)
    around = get_abstract_mesh()
    manual = set(around.manual_axes)
    chosen = frozenset(axis_names or [name for name in mesh.axis_names if name not in manual])
    if not chosen <= set(mesh.axis_names):
        raise ValueError(
            f"shard_map requires axis_names={set(chosen)} to be a subset of mesh.axis_names={mesh.axis_names}."
        )
    return chosen


class _Call:
    """One call of a function by :func:`shard_map`."""

    def __init__(self, f: Callable[..., Any], mesh: AnyMesh, axes: Axes, check_vma: bool) -> None:
        self.f = f
        self.name = getattr(f, "__name__", type(f).__name__)
        self.mesh = mesh
        self.axes = axes
        self.check_vma = check_vma

    def run(self, args: tuple[Any, ...], in_specs: Any, out_specs: Any) -> Any:
        leaves, tree = pytree.flatten(args)
        specs = self._in_specs(args, leaves, in_specs)
        paths = pytree.paths_of(tree)
        values = [
            x if spec is None else as_array(x, "shard_map")
            for x, spec in zip(leaves, specs, strict=True)
        ]
        mapped = [i for i, spec in enumerate(specs) if spec is not None]
        for i in mapped:
            self._check_argument(values[i], specs[i], paths[i])
            if in_specs is not Infer:
                self._check_type(aval_of(values[i]), specs[i], paths[i])
        asked = [specs[i] for i in mapped]
        arrays = [whole_summands(values[i], specs[i]) for i in mapped]
        used: tuple[Any, ...] = tuple(map(without_marks, asked))
        out = Structure()
        marked_specs: list[Any] = []
        found_specs: list[Any] = []

        def local(*parts: Any) -> list[Any]:
            filled = list(values)
            for i, part in zip(mapped, parts, strict=True):
                filled[i] = entered(part, specs[i], self.check_vma)
            result = self.f(*pytree.unflatten(tree, filled))
            outs, out.tree = pytree.flatten(result)
            marked_specs[:] = self._out_specs(result, out_specs, out.tree)
            found_specs[:] = map(without_marks, marked_specs)
            checked = [as_array(y, "shard_map") for y in outs]
            return [
                self._as_result(y, spec, path)
                for y, spec, path in zip(
                    checked, marked_specs, pytree.paths_of(out.tree), strict=True
                )
            ]

        if config.disable_jit and _of_arrays(arrays, out_specs):
            results = step_through(
                local, arrays, self.mesh, self.axes, used, found_specs, self.check_vma
            )
            return out.tree.unflatten(self._typed(results, marked_specs))
        avals = [
            local_aval(aval_of(x), self.mesh, spec, self.axes, self.check_vma)
            for x, spec in zip(arrays, used, strict=True)
        ]
        writer: Callable[[str], StagingTrace] = StagingTrace
        if isinstance(self.mesh, Mesh) and self._at_once(arrays):
            devices = Devices(self.mesh, arrays, used, self.check_vma)
            writer = functools.partial(LookingTrace, devices)
        with inside(self.mesh, self.axes, self.check_vma):
            jaxpr = stage(local, avals, self.name, [paths[i] for i in mapped], writer)
        program, constants = open_constants(jaxpr)
        results = shard_map_p.bind(
            *constants,
            *arrays,
            jaxpr=program,
            mesh=self.mesh,
            in_specs=(*[PartitionSpec()] * len(constants), *used),
            out_specs=tuple(found_specs),
            newly_manual_axes=self.axes,
            check_vma=self.check_vma,
        )
        return out.tree.unflatten(self._typed(results, marked_specs))

    def _typed(self, results: Sequence[Any], specs: Sequence[Any]) -> list[Any]:
        return [typed_as_asked(y, s, self.mesh) for y, s in zip(results, specs, strict=True)]

    def _at_once(self, arrays: Sequence[Any]) -> bool:
        """Whether all devices' values can be computed while the function is traced."""
        traced = any(isinstance(x, Tracer) for x in arrays)
        return (
            type(state.trace) is EvalTrace and not traced and self.axes == set(self.mesh.axis_names)
        )

    # Arguments ------------------------------------------------------------------------------------

    def _in_specs(
        self, args: tuple[Any, ...], leaves: Sequence[Any], in_specs: Any
    ) -> list[Spec | None]:
        if in_specs is Infer:
            return [self._checked("in_specs", self._inferred(x)) for x in leaves]
        if in_specs is None:
            raise TypeError(
                "shard_map in_specs argument must be a pytree of `jax.sharding.PartitionSpec` instances, but it was `None`. "
                "Leave it out to take the specs of the arguments."
            )
        found = self._broadcast("in_specs", in_specs, args)
        return [None if spec is None else self._checked("in_specs", spec) for spec in found]

    def _inferred(self, x: Any) -> PartitionSpec:
        sharding = x.sharding if type(x) is Array else getattr(aval_of(x), "spread", None)
        explicit = all(
            kind is AxisType.Explicit
            for name, kind in zip(self.mesh.axis_names, self.mesh.axis_types, strict=True)
            if name in self.axes
        )
        if not explicit:
            raise TypeError(
                "shard_map in_specs argument must be a pytree of `jax.sharding.PartitionSpec` instances, but it was left out "
                f"where axis_names={set(self.axes)} are of type AxisType.Auto. Give in_specs."
            )
        if (
            not isinstance(sharding, NamedSharding)
            or sharding.mesh.shape_tuple != self.mesh.shape_tuple
        ):
            return PartitionSpec()
        spec = sharding.spec
        return PartitionSpec(
            *(tuple(n for n in names_of(entry) if n in self.axes) or None for entry in spec),
            unreduced=spec.unreduced & self.axes,
            reduced=spec.reduced & self.axes,
        )

    def _broadcast(self, argument: str, prefix: Any, tree: Any) -> list[Any]:
        try:
            return list(pytree.broadcast_prefix(prefix, tree, is_leaf=lambda x: x is None))
        except ValueError as error:
            raise ValueError(
                f"shard_map({self.name}): pytree structure error: {argument} is {prefix!r}, which is no prefix of "
                f"{pytree.structure(tree)}. Give one spec for each part, or one for all. {error}"
            ) from None

    def _checked(self, argument: str, spec: Any) -> Spec:
        if not isinstance(spec, (PartitionSpec, HiPspec)):
            raise TypeError(
                f"shard_map {argument} argument must be a pytree of `jax.sharding.PartitionSpec` instances, but there is "
                f"{spec!r} of type {type(spec).__name__} in it."
            )
        for name in spec_names(spec):
            if name not in self.axes:
                raise ValueError(
                    f"shard_map {argument} argument must refer to an axis marked as manual ({set(self.axes)}), but {argument} "
                    f"refers to {name!r}. Check the {argument} values passed to shard_map."
                )
        if isinstance(spec, PartitionSpec):
            check_marks(argument, spec, self.mesh, self.axes)
        return spec

    def _check_kind(self, aval: Any, spec: Any, argument: str, what: str) -> None:
        if isinstance(aval, HighType) != isinstance(spec, HiPspec):
            kind = "a HiPspec" if isinstance(aval, HighType) else "a PartitionSpec"
            raise TypeError(
                f"shard_map applied to the function '{self.name}' was given the {argument} entry {spec!r} for {what} of type "
                f"{aval.str_short()}, which takes {kind}."
            )

    def _check_argument(self, x: Any, spec: Any, path: str) -> None:
        aval = aval_of(x)
        self._check_kind(aval, spec, "in_specs", f"args{path}")
        if isinstance(aval, HighType):
            return
        words = f"args{path} of shape {aval.str_short()}"
        if len(spec) > aval.ndim:
            raise ValueError(
                f"shard_map applied to the function '{self.name}' was given an in_specs entry which is too long to be compatible "
                f"with the corresponding input value: {words} has rank {aval.ndim}, and in_specs is {spec}, which has length "
                f"{len(spec)}. Use P() for values without axes."
            )
        sizes = dict(self.mesh.shape_tuple)
        for axis, entry in enumerate(spec):
            count = math.prod(sizes[name] for name in names_of(entry))
            if aval.shape[axis] % count:
                raise ValueError(
                    f"shard_map applied to the function '{self.name}' was given argument arrays with axis sizes that are not "
                    f"evenly divisible by the corresponding mesh axis sizes: {words}, bound to parameter "
                    f"{self._parameter(path)}, corresponds to in_specs of value {spec}, which maps array axis {axis} (of size "
                    f"{aval.shape[axis]}) to mesh axis {entry!r} (of size {count}), but {count} does not evenly divide "
                    f"{aval.shape[axis]}. Pad the argument."
                )

    def _check_type(self, aval: Any, spec: Any, path: str) -> None:
        if isinstance(spec, HiPspec):
            return
        held = spec_of(aval)
        own = [tuple(n for n in names_of(entry) if n in self.axes) for entry in held]
        wanted = [*map(names_of, spec), *[()] * (aval.ndim - len(spec))]
        cut = aval.spread is not None and own != wanted
        if cut or (held.unreduced, held.reduced) != (spec.unreduced, spec.reduced):
            raise ValueError(
                f"in_specs passed to shard_map: {spec} does not match the specs of the input: {held} for arg: "
                f"{aval.str_short()} at args{path}. `in_specs` is an optional argument so you can omit specifying it and shard_map will "
                "infer the in_specs from the arguments. If you want to reshard your inputs, you can use `jax.reshard` on the arguments "
                "and then pass those args to shard_map."
            )

    def _parameter(self, path: str) -> str:
        try:
            names = list(inspect.signature(self.f).parameters)
            return repr(names[int(path[1 : path.index("]")])])
        except (TypeError, ValueError, IndexError):
            return path

    # Results --------------------------------------------------------------------------------------

    def _out_specs(self, result: Any, out_specs: Any, tree: Any) -> list[Spec]:
        found = self._broadcast("out_specs", out_specs, result)
        if len(found) != tree.num_leaves:
            raise ValueError(
                f"shard_map({self.name}): pytree structure error: out_specs is {out_specs!r}, which is no prefix of the result "
                f"{tree}."
            )
        return [self._checked("out_specs", spec) for spec in found]

    def _as_result(self, y: Any, spec: Any, path: str) -> Any:
        aval = aval_of(y)
        self._check_kind(aval, spec, "out_specs", f"{self.name}(*args){path}")
        if isinstance(aval, HighType):
            return y
        if len(spec) > aval.ndim:
            raise ValueError(
                f"shard_map applied to the function '{self.name}' was given an out_specs entry which is too long to be "
                f"compatible with the corresponding output value from the function: out_specs is {spec}, which has length "
                f"{len(spec)}, but {self.name}(*args){path} has shape {aval.str_short()}, which has rank {aval.ndim} (and "
                f"{aval.ndim} < {len(spec)}). Make the spec shorter, or give the result more axes."
            )
        if not self.check_vma:
            return left_without_types(y, spec)
        named = spec_names(spec)
        differs = (aval.vma & self.axes) - named - spec.unreduced
        if differs:
            raise ValueError(
                f"shard_map applied to the function '{self.name}' was given out_specs which require replication which can't be "
                f"statically inferred given the mesh: {self.mesh}. out_specs is {spec}, which implies that the output value "
                f"{self.name}(*args){path} is only varying across mesh axes {_words(named)} and not {_words(differs)}, but it "
                f"was inferred to be possibly varying over {_words(aval.vma)}. Sum or gather it along these axes, name them "
                "in out_specs, or pass check_vma=False if all devices have the same."
            )
        summands = spec.unreduced - unreduced_axes(aval.vma)
        repeated = in_order(self.mesh, (named | summands) - aval.vma)
        y = pvary_p.bind(y, axes=repeated) if repeated else y
        return left(y, spec, in_order(self.mesh, summands), f"{self.name}(*args){path}")


def _of_arrays(args: Sequence[Any], out_specs: Any) -> bool:
    """Whether a function of known arrays gives arrays."""
    return all(type(x) is Array for x in args) and not any(
        isinstance(spec, HiPspec) for spec in pytree.leaves(out_specs)
    )


def _words(names: AbstractSet[Any]) -> str:
    return "{" + ", ".join(sorted(map(str, names))) + "}"
