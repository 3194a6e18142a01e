"""``jax.interpreters.pxla``: programs over several devices as JAX makes them from XLA's executables."""

from typing import Any

from plugjax.extend.core import ShapedArray


def global_avals_to_results_handler(*args: Any, **options: Any) -> Any:
    """Refused: results of foreign executables have no way into arrays of plugjax.

    Raises:
        NotImplementedError: always.
    """
    raise NotImplementedError(
        "pxla.global_avals_to_results_handler makes arrays from buffers of XLA's executables, which plugjax's arrays are not. "
        "Use jax.make_array_from_single_device_arrays."
    )


# By aval, what makes arrays from buffers of XLA.
global_result_handlers: dict[type, Any] = {ShapedArray: global_avals_to_results_handler}
