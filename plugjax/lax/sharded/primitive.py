"""The primitive ``shard_map``: every device of a mesh runs one program on its parts of the operands.

The program is written for one device. A partition spec says which axes of a mesh cut an operand or join a result; only the
manual axes may be named, and along the others the program stays one of whole arrays. Inside, the manual axes are named axes
for collectives.

Values of a type of a program's own have a type for the part of one device, and a spec of its own kind (``HiPspec``).

The derivative of a program of one device is one, too. If types say along which axes values differ (``check_vma``), cotangents
are summed where they reach a value that does not differ (``transforms/varying.py``). Otherwise a result that several devices
give counts once: each gets its share of the cotangent, and cotangents of an operand that several have are summed.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import zip_longest
from typing import Any, TypeAlias

from plugjax.extend.core import (
    ClosedJaxpr,
    JaxprEqn,
    Primitive,
    ShapedArray,
    Zero,
    aval_of,
    config,
    eval_closed,
)
from plugjax.extend.meshes import (
    AbstractMesh,
    AxisType,
    Mesh,
    NamedSharding,
    PartitionSpec,
    differing_axes,
    explicit_part,
    mesh_rule,
    names_of,
    spec_of,
    spread_rule,
    unreduced_axes,
    varying_axes,
    with_axis,
    without_names,
)
from plugjax.extend.rules import (
    RuleSet,
    abstract_eval,
    axis_names_rule,
    batching_rule,
    binds_rule,
    dce_rule,
    jvp_rule,
    linearize_rule,
    transpose_rule,
)
from plugjax.extend.transforms import (
    Axis,
    HighType,
    HiPspec,
    batch_jaxpr,
    bound_axes,
    converted,
    free_axes,
    is_undefined_primal,
    jvp_jaxpr,
    linearize_jaxpr,
    materialize,
    prune_closed,
    stage,
    transpose_jaxpr,
    with_zeros,
)
from plugjax.lax.arithmetic import div
from plugjax.lax.collectives import psum_p
from plugjax.lax.families import scalar
from plugjax.lax.shape import expand_dims, squeeze

rules = RuleSet(__name__)

shard_map_p = Primitive("shard_map", multiple_results=True, structured=True)

AnyMesh: TypeAlias = Mesh | AbstractMesh
Specs: TypeAlias = tuple[PartitionSpec, ...]
Spec: TypeAlias = PartitionSpec | HiPspec
Axes: TypeAlias = frozenset[Any]


def inner_mesh(mesh: AnyMesh, axes: Axes) -> AbstractMesh:
    """The mesh in force in programs of one device along some axes."""
    around = config.read("abstract_mesh")
    outer = around if around is not None and set(axes) <= set(around.axis_names) else None
    return (outer or mesh.abstract_mesh).update_axis_types(dict.fromkeys(axes, AxisType.Manual))


@contextmanager
def inside(mesh: AnyMesh, axes: Axes, check_vma: bool) -> Iterator[None]:
    """Within the block programs are those of one device along some axes of a mesh."""
    here = inner_mesh(mesh, axes)
    bound = [Axis(size, name, typed=check_vma) for name, size in mesh.shape_tuple if name in axes]
    with (
        config.override("abstract_mesh", here),
        config.override("check_vma", check_vma),
        bound_axes(bound),
    ):
        yield


def in_order(mesh: AnyMesh, names: Any) -> tuple[Any, ...]:
    """Names of axes in the order of the mesh."""
    return tuple(name for name in mesh.axis_names if name in names)


def spec_names(spec: Spec) -> Axes:
    """The axes of a mesh that a spec names."""
    if isinstance(spec, HiPspec):
        return frozenset().union(*map(spec_names, spec.to_lo()))
    return frozenset(name for entry in spec for name in names_of(entry))


def _scaled(aval: ShapedArray, mesh: AnyMesh, spec: PartitionSpec, whole: bool) -> ShapedArray:
    sizes = dict(mesh.shape_tuple)
    shape = list(aval.shape)
    for axis, entry in enumerate(spec):
        count = math.prod(sizes[name] for name in names_of(entry))
        shape[axis] = shape[axis] * count if whole else shape[axis] // count
    return aval.update(shape=tuple(shape))


def local_aval(aval: Any, mesh: AnyMesh, spec: Any, axes: Axes, check_vma: bool) -> Any:
    """The aval of the part of one device."""
    if isinstance(aval, HighType):
        return aval.shard(mesh, axes, check_vma, spec)
    part = _scaled(aval, mesh, spec, whole=False)
    if aval.spread is not None:
        inner = inner_mesh(mesh, axes)
        part = part.update(spread=explicit_part(inner, aval.spread.spec, aval.ndim))
    return part.update(vma=aval.vma | spec_names(spec)) if check_vma else part


def whole_aval(aval: ShapedArray, mesh: AnyMesh, spec: PartitionSpec, axes: Axes) -> ShapedArray:
    """The aval of the array of which each device has a part."""
    found = _scaled(aval, mesh, spec, whole=True).update(vma=without_names(aval.vma, axes))
    entries = [
        (*names_of(outer), *names_of(inner))
        for outer, inner in zip_longest(spec, spec_of(aval), fillvalue=None)
    ]
    around = config.read("abstract_mesh") or mesh.abstract_mesh
    return found.update(spread=explicit_part(around, PartitionSpec(*entries), aval.ndim))


@rules.define(abstract_eval, shard_map_p)
def _avals(
    *avals: Any,
    jaxpr: ClosedJaxpr,
    mesh: AnyMesh,
    out_specs: Specs,
    newly_manual_axes: Axes,
    check_vma: bool,
    **_: Any,
) -> list[Any]:
    return [
        aval.unshard(mesh, check_vma, spec)
        if isinstance(aval, HighType)
        else whole_aval(aval, mesh, spec, newly_manual_axes)
        for aval, spec in zip(jaxpr.out_avals, out_specs, strict=True)
    ]


@rules.define(mesh_rule, shard_map_p)
def _mesh(*, mesh: AnyMesh, **_: Any) -> AnyMesh:
    return mesh


@rules.define(spread_rule, shard_map_p)
def _spread(operands: Sequence[Any], eqn: JaxprEqn) -> list[NamedSharding]:
    return [NamedSharding(eqn.params["mesh"], spec) for spec in eqn.params["out_specs"]]


@rules.define(axis_names_rule, shard_map_p)
def _free_names(*, jaxpr: ClosedJaxpr, newly_manual_axes: Axes, **_: Any) -> Axes:
    return free_axes(jaxpr) - newly_manual_axes


@rules.define(binds_rule, shard_map_p)
def _bound(*, mesh: AnyMesh, newly_manual_axes: Axes, **_: Any) -> list[Axis]:
    return [Axis(size, name) for name, size in mesh.shape_tuple if name in newly_manual_axes]


@rules.define(jvp_rule, shard_map_p)
def _jvp(
    primals: Sequence[Any], tangents: Sequence[Any], *, jaxpr: ClosedJaxpr, **params: Any
) -> tuple[list[Any], list[Any]]:
    nonzeros = [type(t) is not Zero for t in tangents]
    with _inside(params):
        derivative, nonzero_out = jvp_jaxpr(jaxpr, nonzeros)
    in_specs, out_specs = params["in_specs"], params["out_specs"]
    results = shard_map_p.bind(
        *primals,
        *(t for t in tangents if type(t) is not Zero),
        jaxpr=derivative,
        **{
            **params,
            "in_specs": (*in_specs, *_tangent_specs(in_specs, nonzeros)),
            "out_specs": (*out_specs, *_tangent_specs(out_specs, nonzero_out)),
        },
    )
    count = len(out_specs)
    out_avals = [aval_of(y) for y in results[:count]]
    return results[:count], with_zeros(results[count:], nonzero_out, out_avals)


def _inside(params: dict[str, Any]) -> Any:
    return inside(params["mesh"], params["newly_manual_axes"], params["check_vma"])


def _chosen(specs: Sequence[Any], wanted: Sequence[bool]) -> Specs:
    return tuple(spec for spec, w in zip(specs, wanted, strict=True) if w)


def _tangent_specs(specs: Sequence[Any], wanted: Sequence[bool]) -> tuple[Spec, ...]:
    return tuple(spec.to_tangent_spec() for spec in _chosen(specs, wanted))


def _cotangent_specs(specs: Sequence[Any], wanted: Sequence[bool]) -> tuple[Spec, ...]:
    return tuple(spec.to_ct_spec() for spec in _chosen(specs, wanted))


@rules.define(linearize_rule, shard_map_p)
def _linearize(
    primals: Sequence[Any], tangents: Sequence[Any], *, jaxpr: ClosedJaxpr, **params: Any
) -> tuple[list[Any], list[Any]]:
    nonzeros = [type(t) is not Zero for t in tangents]
    mesh, in_specs, out_specs = params["mesh"], params["in_specs"], params["out_specs"]
    typed, manual = params["check_vma"], params["newly_manual_axes"]
    count = len(out_specs)
    with _inside(params):
        split = linearize_jaxpr(jaxpr, nonzeros)
        extra_avals = split.primal.out_avals[count:]
        # A residual gets an axis along which the parts of the devices are joined.
        joined = [
            ()
            if isinstance(a, HighType)
            else in_order(mesh, differing_axes(a.vma) if typed else manual)
            for a in extra_avals
        ]
        extra_specs = tuple(
            a.nospec(mesh, typed, in_order(mesh, manual))
            if isinstance(a, HighType)
            else PartitionSpec(*([names] if names else []))
            for a, names in zip(extra_avals, joined, strict=True)
        )

        def primal(*args: Any) -> list[Any]:
            outs = eval_closed(split.primal, *args)
            return [
                *outs[:count],
                *(
                    expand_dims(y, (0,)) if names else y
                    for y, names in zip(outs[count:], joined, strict=True)
                ),
            ]

        forward = stage(primal, split.primal.in_avals, jaxpr.jaxpr.debug_name)
        stored = iter(zip(joined, extra_specs, strict=True))
        places = [((), in_specs[s]) if s is not None else next(stored) for s in split.sources]

        def linear(*args: Any) -> list[Any]:
            residuals = [
                squeeze(x, (0,)) if names else x
                for x, (names, _) in zip(args, places, strict=False)
            ]
            return eval_closed(split.linear, *residuals, *args[len(places) :])

        avals = [
            with_axis(a, 0, 1) if names else a
            for a, (names, _) in zip(split.linear.in_avals, places, strict=False)
        ]
        avals += split.linear.in_avals[len(places) :]
        tangent_program = stage(linear, avals, f"linear({jaxpr.jaxpr.debug_name})")
    results = shard_map_p.bind(
        *primals, jaxpr=forward, **{**params, "out_specs": (*out_specs, *extra_specs)}
    )
    residuals = split.residuals(primals, results[count:])
    found = shard_map_p.bind(
        *residuals,
        *(t for t in tangents if type(t) is not Zero),
        jaxpr=tangent_program,
        **{
            **params,
            "in_specs": (*(spec for _, spec in places), *_tangent_specs(in_specs, nonzeros)),
            "out_specs": _tangent_specs(out_specs, split.nonzero_out),
        },
    )
    out_avals = [aval_of(y) for y in results[:count]]
    return results[:count], with_zeros(found, split.nonzero_out, out_avals)


@rules.define(transpose_rule, shard_map_p)
def _transpose(
    cotangents: Sequence[Any], *operands: Any, jaxpr: ClosedJaxpr, **params: Any
) -> list[Any]:
    mesh, in_specs, out_specs = params["mesh"], params["in_specs"], params["out_specs"]
    linear = [is_undefined_primal(x) for x in operands]
    nonzero = [type(bar) is not Zero for bar in cotangents]
    typed, manual = params["check_vma"], params["newly_manual_axes"]
    sizes = dict(mesh.shape_tuple)

    def copies(spec: Spec) -> tuple[Any, ...]:
        return () if typed else in_order(mesh, manual - spec_names(spec))

    with _inside(params):
        program, nonzero_in = transpose_jaxpr(jaxpr, linear, nonzero)
        fixed = len(linear) - sum(linear)
        bar_specs = _cotangent_specs(out_specs, nonzero)
        result_specs = _cotangent_specs(_chosen(in_specs, linear), nonzero_in)
        given = program.in_avals[fixed:]
        for aval, spec in zip(
            (*given, *program.out_avals), (*bar_specs, *result_specs), strict=True
        ):
            _check_shared(aval, copies(spec))

        def pull(*args: Any) -> list[Any]:
            shares = [
                div(bar, scalar(math.prod(sizes[name] for name in copies(spec)), bar))
                if copies(spec)
                else converted(bar, getattr(aval, "vma", frozenset()))
                for bar, spec, aval in zip(args[fixed:], bar_specs, given, strict=True)
            ]
            found = eval_closed(program, *args[:fixed], *shares)
            return [
                psum_p.bind(bar, axes=copies(spec), axis_index_groups=None)
                if copies(spec)
                else _whole_sum(bar, spec)
                for bar, spec in zip(found, result_specs, strict=True)
            ]

        # A cotangent of what all devices have comes and goes whole, and counts once.
        entering = [
            a if isinstance(a, HighType) else a.update(vma=varying_axes(a.vma)) for a in given
        ]
        avals = [*program.in_avals[:fixed], *entering]
        backward = stage(pull, avals, f"transpose({jaxpr.jaxpr.debug_name})")
    results = shard_map_p.bind(
        *(x for x in operands if not is_undefined_primal(x)),
        *(bar for bar in cotangents if type(bar) is not Zero),
        jaxpr=backward,
        **{
            **params,
            "in_specs": (*_chosen(in_specs, [not is_linear for is_linear in linear]), *bar_specs),
            "out_specs": result_specs,
        },
    )
    found, wanted = iter(results), iter(nonzero_in)
    return [
        (next(found) if next(wanted) else Zero(x.aval)) if is_linear else None
        for x, is_linear in zip(operands, linear, strict=True)
    ]


def _whole_sum(bar: Any, spec: Spec) -> Any:
    """A cotangent without summands of devices, of which each has the whole array by the spec."""
    aval = aval_of(bar)
    summands = unreduced_axes(getattr(aval, "vma", ())) - spec_names(spec)
    return converted(bar, without_names(aval.vma, summands)) if summands else bar


def _check_shared(aval: Any, names: Sequence[Any]) -> None:
    if names and isinstance(aval, HighType):
        raise TypeError(
            f"shard_map(check_vma=False): devices along {names} share a value with a cotangent of type {aval}, which cannot be "
            "divided between them. Pass check_vma=True, or name these axes in the spec."
        )


@rules.define(batching_rule, shard_map_p)
def _batching(
    axis: Axis,
    args: Sequence[Any],
    dims: Sequence[int | None],
    *,
    jaxpr: ClosedJaxpr,
    **params: Any,
) -> tuple[list[Any], list[int | None]]:
    spmd = tuple(name for name in axis.spmd if name in params["newly_manual_axes"])
    share = math.prod(dict(params["mesh"].shape_tuple)[name] for name in spmd)
    part = Axis(axis.size // share, axis.name)
    with _inside(params):
        program, batched = batch_jaxpr(jaxpr, part, [d is not None for d in dims])
    entry = spmd or None

    def with_axis(specs: Specs, marked: Sequence[bool]) -> Specs:
        return tuple(
            _with_entry(spec, entry) if m else spec for spec, m in zip(specs, marked, strict=True)
        )

    moved = [x if d is None else materialize(x, d, axis) for x, d in zip(args, dims, strict=True)]
    outs = shard_map_p.bind(
        *moved,
        jaxpr=program,
        **{
            **params,
            "in_specs": with_axis(params["in_specs"], [d is not None for d in dims]),
            "out_specs": with_axis(params["out_specs"], batched),
        },
    )
    return outs, [0 if b else None for b in batched]


def _with_entry(spec: Spec, entry: Any) -> PartitionSpec:
    if isinstance(spec, HiPspec):
        raise TypeError(
            f"vmap of shard_map batches arrays, got a value with the spec {spec!r}. Apply vmap inside of the mapped function."
        )
    return PartitionSpec(entry, *spec)


@rules.define(dce_rule, shard_map_p)
def _dce(used: Sequence[bool], eqn: JaxprEqn) -> tuple[Sequence[bool], JaxprEqn | None]:
    params = eqn.params
    with _inside(params):
        program, needed = prune_closed(params["jaxpr"], tuple(used))
    changed = {
        **params,
        "jaxpr": program,
        "in_specs": _chosen(params["in_specs"], needed),
        "out_specs": _chosen(params["out_specs"], used),
    }
    return needed, eqn.replace(
        invars=[v for v, n in zip(eqn.invars, needed, strict=True) if n],
        outvars=[v for v, u in zip(eqn.outvars, used, strict=True) if u],
        params=changed,
    )
