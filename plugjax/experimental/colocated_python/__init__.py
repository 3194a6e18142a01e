"""Python on the hosts of devices: the names of ``jax.experimental.colocated_python``."""

from plugjax.experimental.colocated_python.api import (
    colocated_cpu_devices,
    colocated_python,
    colocated_python_class,
)
from plugjax.extend.transforms import show_only

__all__ = ["colocated_cpu_devices", "colocated_python", "colocated_python_class"]

show_only(globals(), __all__)
