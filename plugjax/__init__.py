"""plugjax: a JAX-compatible array framework whose every part is a plugin.

``import plugjax as jax, plugjax.numpy as jnp`` is the whole port; ``PLUGJAX_BACKEND=numpy|xla|iree`` is the whole switch.
"""

from __future__ import annotations

import importlib
from typing import Any

from plugjax.core import errors
from plugjax.core.array import Array, block_until_ready, device_get, device_put
from plugjax.core.aval import ShapeDtypeStruct
from plugjax.core.backend import default_backend, devices
from plugjax.core.config import config
from plugjax.core.contexts import (
    default_device,
    default_matmul_precision,
    device_count,
    disable_jit,
    enable_x64,
    local_device_count,
    local_devices,
    numpy_dtype_promotion,
    numpy_rank_promotion,
    typeof,
)
from plugjax.core.device import Device
from plugjax.core.transforms.batching import vmap
from plugjax.core.transforms.grad import (
    grad,
    jvp,
    linear_transpose,
    linearize,
    value_and_grad,
    vjp,
)
from plugjax.core.transforms.jacobian import hessian, jacfwd, jacrev
from plugjax.core.transforms.jit import clear_caches, eval_shape, jit, make_jaxpr

__version__ = "0.1.0"
__version_info__ = (0, 1, 0)

jacobian = jacrev

# Loaded when first asked for, so that `import plugjax` costs what a program uses.
_SUBMODULES = (
    "cli", "core", "export", "lax", "nn", "numpy", "random", "stablehlo", "testing", "tree", "tree_util",
)  # fmt: skip


def __getattr__(name: str) -> Any:
    if name in _SUBMODULES:
        return importlib.import_module(f"plugjax.{name}")
    raise AttributeError(f"module 'plugjax' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *_SUBMODULES})


__all__ = [
    "Array", "Device", "ShapeDtypeStruct", "block_until_ready", "clear_caches", "config",
    "default_backend", "default_device", "default_matmul_precision", "device_count", "device_get",
    "device_put", "devices", "disable_jit", "enable_x64", "errors", "eval_shape", "grad", "hessian", "jacfwd", "jacobian",
    "jacrev", "jit", "jvp", "linear_transpose", "linearize", "local_device_count", "local_devices", "make_jaxpr",
    "numpy_dtype_promotion", "numpy_rank_promotion", "typeof", "value_and_grad", "vjp", "vmap",
]  # fmt: skip
