"""Options of XLA's compiler as JAX assembles them, for programs that call jaxlib's compiler themselves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from plugjax_xla.jaxlib_shim import jaxlib


def get_compile_options(
    num_replicas: int,
    num_partitions: int,
    device_assignment: Any = None,
    env_options_overrides: Mapping[str, Any] | None = None,
    fdo_profile: bytes | None = None,
    detailed_logging: bool = True,
    backend: Any = None,
) -> Any:
    """Options for a number of devices.

    Args:
        num_replicas: how many devices run a program with data of their own.
        num_partitions: over how many devices each of these programs is spread.
        device_assignment: the devices or their numbers, ``[num_replicas, num_partitions]``; of one axis where a program is for one.
        env_options_overrides: XLA's debug options by name.
        fdo_profile: a profile for XLA on GPUs.
        detailed_logging: accepted as in JAX.
        backend: accepted as in JAX.

    Returns:
        A ``jaxlib.xla_client.CompileOptions``.

    Raises:
        ValueError: the devices are not so many.

    Example:
        >>> from plugjax.extend import backend
        >>> options = backend.get_compile_options(1, 2, [[0, 1]])
        >>> options.num_partitions
        2
    """
    client = jaxlib().xla_client
    found = client.CompileOptions()
    found.num_replicas, found.num_partitions = num_replicas, num_partitions
    build = found.executable_build_options
    build.use_spmd_partitioning = build.use_shardy_partitioner = True
    if fdo_profile is not None:
        build.fdo_profile = fdo_profile
    if device_assignment is not None:
        found.device_assignment = client.DeviceAssignment.create(
            _numbers(device_assignment, num_replicas, num_partitions)
        )
    if env_options_overrides:
        found.env_option_overrides = sorted(env_options_overrides.items())
    return found


def _numbers(devices: Any, num_replicas: int, num_partitions: int) -> np.ndarray[Any, Any]:
    array = np.array(devices)
    if array.ndim == 1 and num_partitions == 1:
        array = array[:, None]
    for axis, (name, count) in enumerate(
        {"num_replicas": num_replicas, "num_partitions": num_partitions}.items()
    ):
        if array.ndim != 2 or array.shape[axis] != count:
            raise ValueError(f"device_assignment does not match {name}: {array} vs {count}.")
    if array.dtype == object:
        array = np.array([[device.id for device in row] for row in array])
    return array


def create_compile_options(
    computation: Any,
    tuple_args: bool,
    allow_prop_to_inputs: Sequence[bool],
    allow_prop_to_outputs: Sequence[bool],
    backend: Any,
    np_dev: np.ndarray[Any, Any],
    compiler_options: dict[str, Any],
) -> Any:
    """Options for a program that is spread over devices.

    Args:
        computation: accepted as in JAX.
        tuple_args: whether the program takes its arguments as one tuple.
        allow_prop_to_inputs: for each argument whether the compiler chooses how it is spread.
        allow_prop_to_outputs: likewise for each result.
        backend: accepted as in JAX.
        np_dev: the devices.
        compiler_options: XLA's debug options by name; ``fdo_profile`` is taken out.

    Returns:
        A ``jaxlib.xla_client.CompileOptions``.

    Example:
        >>> import numpy as np, plugjax
        >>> from plugjax.interpreters import pxla
        >>> devices = np.array(plugjax.devices("xla")[:1], object)
        >>> options = pxla.create_compile_options(None, False, [True], [True], None, devices, {})
        >>> options.num_partitions
        1
    """
    profile = compiler_options.pop("fdo_profile", None)
    found = get_compile_options(1, np_dev.size, np_dev.reshape(1, -1), compiler_options, profile)
    found.parameter_is_tupled_arguments = tuple_args
    build = found.executable_build_options
    build.allow_spmd_sharding_propagation_to_parameters = list(allow_prop_to_inputs)
    build.allow_spmd_sharding_propagation_to_output = list(allow_prop_to_outputs)
    return found


__all__ = ["create_compile_options", "get_compile_options"]
