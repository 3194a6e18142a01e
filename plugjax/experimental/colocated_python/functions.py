"""Functions of arrays that run on the host of the arrays' devices, and what may be said of their arguments and results.

Invariant: the function runs only if its arguments are arrays on one set of processors, and as they were said to be.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import wraps
from typing import Any, NamedTuple

from plugjax import default_device
from plugjax.extend import pytree
from plugjax.extend.core import Array, Device, ShapeDtypeStruct, Sharding, Tracer, new_cache
from plugjax.extend.transforms import api_boundary

_NO_ARRAY = "colocated_python only supports jax.Array as input and output, but got {kind}: {what}[{index}]. Convert it by jax.numpy.asarray."
_TRACER = (
    "colocated_python: {what}[{index}] is a traced value, {aval}. Call the function outside of jit, grad and vmap, or through "
    "io_callback."
)
_NO_DEVICES = (
    "No devices found. colocated_python function without input arguments must be first specialized with devices: "
    "f.specialize(devices=...)()."
)


class Specs(NamedTuple):
    """What is known of a pytree of arrays; hashable.

    Attributes:
        structure: of the pytree.
        leaves: shape, dtype and sharding of each array.
    """

    structure: pytree.PyTreeDef
    leaves: tuple[ShapeDtypeStruct, ...]

    def tree(self) -> Any:
        """The pytree with the structs in place of the arrays."""
        return pytree.unflatten(self.structure, self.leaves)


@dataclass(frozen=True)
class Specialization:
    """What is said of the calls of a function; ``None`` where nothing is.

    Attributes:
        in_specs: of ``(args, kwargs)``.
        out_specs_fn: from the specs of the arguments to those of the results.
        devices: where it runs.
    """

    in_specs: Specs | None = None
    out_specs_fn: Callable[..., Any] | None = None
    devices: tuple[Device, ...] | None = None

    def narrowed(self, **said: Any) -> Specialization:
        """The specialisation with more said.

        Raises:
            ValueError: something is said for the second time.
        """
        news = {name: value for name, value in said.items() if value is not None}
        for name in news:
            if getattr(self, name) is not None:
                raise ValueError(
                    f"colocated_python: {name} already specified. Specialize the function that is not specialized yet."
                )
        return replace(self, **news)


def colocated(fun: Callable[..., Any], specialization: Specialization) -> Callable[..., Any]:
    """A function that runs on the host of its arguments' devices; its attribute ``specialize`` says more of it."""
    # By the specs of the arguments, those of the results that the user promised.
    promised = new_cache()

    @api_boundary
    @wraps(fun)
    def call(*args: Any, **kwargs: Any) -> Any:
        given = _specs_of_arrays("arguments", (args, kwargs))
        devices = _devices(given.leaves, specialization.devices)
        if specialization.in_specs is not None:
            _check("arguments", given, specialization.in_specs)
        wanted: Specs | None = promised.get(given)
        if wanted is None and specialization.out_specs_fn is not None:
            arg_specs, kwarg_specs = given.tree()
            wanted = _said("out_specs_fn", specialization.out_specs_fn(*arg_specs, **kwarg_specs))
            promised[given] = wanted
        with default_device(_first_here(devices)):
            results = fun(*args, **kwargs)
        found = _specs_of_arrays("results", results)
        if wanted is not None:
            _check("results", found, wanted)
        return results

    def specialize(
        in_specs: Any = None,
        out_specs_fn: Callable[..., Any] | None = None,
        devices: Sequence[Device] | None = None,
    ) -> Callable[..., Any]:
        """The function with more said of its calls; see ``colocated_python``."""
        return colocated(
            fun,
            specialization.narrowed(
                in_specs=None if in_specs is None else _said("in_specs", in_specs),
                out_specs_fn=out_specs_fn,
                devices=None if devices is None else tuple(devices),
            ),
        )

    call.specialize = specialize  # type: ignore[attr-defined]  # functions have attributes
    return call


def _specs_of_arrays(what: str, tree: Any) -> Specs:
    leaves, structure = pytree.flatten(tree)
    return Specs(structure, tuple(_spec_of(what, i, x) for i, x in enumerate(leaves)))


def _spec_of(what: str, index: int, x: Any) -> ShapeDtypeStruct:
    if isinstance(x, Tracer):
        raise ValueError(_TRACER.format(what=what, index=index, aval=x.aval.str_short()))
    if not isinstance(x, Array):
        raise ValueError(_NO_ARRAY.format(what=what, index=index, kind=type(x)))
    return ShapeDtypeStruct(x.shape, x.dtype, sharding=x.sharding)


def _said(who: str, tree: Any) -> Specs:
    """What a pytree of the user's says: structs, or what else has a shape and a dtype."""
    leaves, structure = pytree.flatten(tree)
    for leaf in leaves:
        if not (hasattr(leaf, "shape") and hasattr(leaf, "dtype")):
            raise ValueError(
                f"colocated_python: {who} must be a pytree of ShapeDtypeStruct, got {leaf!r} in it. Give jax.ShapeDtypeStruct(shape, "
                "dtype, sharding=sharding) for each array."
            )
    return Specs(structure, tuple(map(ShapeDtypeStruct.like, leaves)))


def _devices(
    specs: Sequence[ShapeDtypeStruct], said: tuple[Device, ...] | None
) -> tuple[Device, ...]:
    """The one set of processors that the arguments are on, or that the user named."""
    found = dict.fromkeys(spec.sharding.devices for spec in specs)
    if said is not None:
        found[said] = None
    if not found:
        raise ValueError(_NO_DEVICES)
    if len(found) > 1:
        raise ValueError(
            "colocated_python: All arguments must use the same device list, and that of specialize(devices=...), but got multiple device "
            f"lists: {', '.join(map(str, found))}. Move the arguments by device_put."
        )
    (devices,) = found
    if any(device.platform != "cpu" for device in devices):
        raise ValueError(
            f"colocated_python: Device list must contain only CPU devices, got {devices}. Move the arguments to "
            "colocated_cpu_devices(devices), or to the mesh colocated_cpu_devices(mesh), by device_put."
        )
    return devices


def _first_here(devices: tuple[Device, ...]) -> Device | None:
    """The first of the devices that belongs to this process."""
    return next((d for d in devices if d.process_index == d.backend.processes[0]), None)


def _check(what: str, found: Specs, wanted: Specs) -> None:
    """Raise ``ValueError`` unless arrays are as specs say; one without a sharding leaves it open."""
    if found.structure != wanted.structure:
        raise ValueError(
            f"colocated_python: the specs of the {what} have the structure {wanted.structure}, the {what} {found.structure}. Specialize "
            "with specs of the same structure."
        )
    for index, (own, other) in enumerate(zip(found.leaves, wanted.leaves, strict=True)):
        if not _fits(own, other):
            raise ValueError(
                f"colocated_python: {what}[{index}] should be {other} by the specs, but is {own}. Change the specs, or convert the array."
            )


def _fits(found: ShapeDtypeStruct, wanted: ShapeDtypeStruct) -> bool:
    sharding: Sharding | None = wanted.sharding
    return (
        found.shape == wanted.shape
        and found.dtype == wanted.dtype
        and (sharding is None or sharding.is_equivalent_to(found.sharding, len(found.shape)))
    )
