"""``jax._src.xla_bridge``: backends by the hardware's name."""

from plugjax import (
    default_backend as default_backend,
    device_count as device_count,
    devices as devices,
    local_device_count as local_device_count,
    local_devices as local_devices,
    process_count as process_count,
    process_index as process_index,
)
from plugjax.extend.backend import get_backend as get_backend

# JAX's backends that are loaded. Those of plugjax make their devices when they are asked for.
_backends: dict[str, object] = {}
