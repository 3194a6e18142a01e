"""Values, arrays and the life of several processes (``jax.experimental.multihost_utils``)."""

from plugjax.experimental.multihost_utils.agreement import (
    assert_equal,
    broadcast_one_to_all,
    process_allgather,
    sync_global_devices,
)
from plugjax.experimental.multihost_utils.conversion import (
    global_array_to_host_local_array,
    global_array_to_host_local_array_impl,
    global_array_to_host_local_array_p,
    gtl_abstract_eval,
    host_local_array_to_global_array,
    host_local_array_to_global_array_impl,
    host_local_array_to_global_array_p,
    ltg_abstract_eval,
    ltg_batcher,
)
from plugjax.experimental.multihost_utils.survival import (
    ProcessFailureError,
    live_devices,
    reached_preemption_sync_point,
)

__all__ = [
    "ProcessFailureError",
    "assert_equal",
    "broadcast_one_to_all",
    "global_array_to_host_local_array",
    "global_array_to_host_local_array_impl",
    "global_array_to_host_local_array_p",
    "gtl_abstract_eval",
    "host_local_array_to_global_array",
    "host_local_array_to_global_array_impl",
    "host_local_array_to_global_array_p",
    "live_devices",
    "ltg_abstract_eval",
    "ltg_batcher",
    "process_allgather",
    "reached_preemption_sync_point",
    "sync_global_devices",
]
