"""What the user calls: the processors beside some devices, and functions and classes that run there."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, overload

import numpy as np

from plugjax.experimental.colocated_python.functions import Specialization, colocated
from plugjax.experimental.colocated_python.objects import colocated_class
from plugjax.extend.backend import devices
from plugjax.extend.core import Device
from plugjax.extend.meshes import Mesh
from plugjax.extend.transforms import show_only


@overload
def colocated_cpu_devices(devices_or_mesh: Mesh) -> Mesh: ...


@overload
def colocated_cpu_devices(devices_or_mesh: Sequence[Device]) -> tuple[Device, ...]: ...


def colocated_cpu_devices(devices_or_mesh: Any) -> Any:
    """The device of a processor beside each of some devices, on the same host.

    Args:
        devices_or_mesh: a sequence of devices, or a mesh.

    Returns:
        As many devices in the same order, or a mesh of them with the same axes. A processor is its own. The n-th accelerator of a
        process has the n-th processor of its backend there, or the n-th of the backend that runs ``"cpu"`` if its own has none.

    Raises:
        ValueError: a process has more accelerators than processors.

    Differs from JAX:
        A processor is its own wherever it stands in the sequence, and devices come as a tuple.

    Example:
        >>> import plugjax
        >>> from plugjax.experimental import colocated_python
        >>> colocated_python.colocated_cpu_devices(plugjax.devices("numpy"))
        (Device(numpy:0),)
    """
    if not isinstance(devices_or_mesh, Mesh):
        return tuple(map(_processor_beside, devices_or_mesh))
    mesh = devices_or_mesh
    found = np.array(list(map(_processor_beside, mesh.devices.flat)), object)
    return Mesh(found.reshape(mesh.devices.shape), mesh.axis_names, mesh.axis_types)


def _processor_beside(device: Device) -> Device:
    if device.platform == "cpu":
        return device
    beside = [d for d in device.backend.devices() if d.process_index == device.process_index]
    accelerators = [d for d in beside if d.platform != "cpu"]
    processors = [d for d in beside if d.platform == "cpu"] or devices("cpu")
    index = accelerators.index(device)
    if index >= len(processors):
        raise ValueError(
            f"colocated_cpu_devices: Process {device.process_index} does not have enough local CPU devices: {device} is accelerator "
            f"{index} of it, and the processor is {len(processors)} devices. Set jax_num_cpu_devices to {len(accelerators)}."
        )
    return processors[index]


def colocated_python(fun: Callable[..., Any]) -> Callable[..., Any]:
    """A function that runs as plain Python on the host of its arguments' devices.

    Args:
        fun: of pytrees of arrays, to a pytree of arrays. It may do what it likes: read files, call NumPy, keep state.

    Returns:
        ``call(*args, **kwargs)``, of arrays that are on the same processors (:func:`colocated_cpu_devices`) and spread in any way. ``fun``
        gets these very arrays. New arrays are made on the first of the processors.

        ``call.specialize(in_specs=None, out_specs_fn=None, devices=None)`` is the function with more said of it, each once:

        * ``in_specs``: pytree of ``ShapeDtypeStruct`` of ``(args, kwargs)``; other arguments are refused.
        * ``out_specs_fn``: called with structs in place of the arguments, gives a pytree of structs of the results; other results are
          refused. It is called once for arguments of one kind.
        * ``devices``: where it runs. A function without arguments needs it.

    Raises:
        ValueError: an argument or result is no array or a tracer, or is not as it was said to be; the arguments are on several sets of
            devices, or on an accelerator; there are no devices; something is said twice.
        Exception: what ``fun`` raises, when it is called, as in JAX on processors.

    Differs from JAX:
        All devices of a process are on its own host, so the function is called at once, nothing is pickled, and ``cloudpickle`` is not
        needed. With several processes, each that calls it runs it. On processors JAX checks arguments and results by no specs.

    Example:
        >>> import numpy as np, plugjax.numpy as jnp
        >>> from plugjax.experimental.colocated_python import colocated_python
        >>> @colocated_python
        ... def ranks(x):
        ...     return jnp.asarray(np.argsort(np.argsort(np.asarray(x))))
        >>> ranks(jnp.array([0.3, 0.1, 0.2]))
        Array([2, 0, 1], dtype=int32)
    """
    return colocated(fun, Specialization())


def colocated_python_class(cls: type) -> type:
    """A class whose methods run on the host of their arguments' devices; its objects live there.

    Args:
        cls: the class. Its functions become methods as :func:`colocated_python` makes them, with ``specialize``.

    Returns:
        A class with the same ``__init__``. The object of ``cls`` is made on the first call of a method, once in a process, and lives as
        long as the wrapper. An exception of its ``__init__`` is raised by each call of a method.

    Differs from JAX:
        Objects outlive ``clear_caches``.

    Example:
        >>> import plugjax.numpy as jnp
        >>> from plugjax.experimental.colocated_python import colocated_python_class
        >>> @colocated_python_class
        ... class Total:
        ...     def __init__(self, start):
        ...         self.value = start
        ...     def add(self, x):
        ...         self.value = self.value + x
        ...         return self.value
        >>> total = Total(10.0)
        >>> total.add(jnp.ones(2)), total.add(jnp.ones(2))
        (Array([11., 11.], dtype=float32), Array([12., 12.], dtype=float32))
    """
    return colocated_class(cls)


__all__ = ["colocated_cpu_devices", "colocated_python", "colocated_python_class"]

show_only(globals(), __all__)
