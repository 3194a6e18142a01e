"""Costs of operations from profiles: the name of ``jax.experimental.profiler``."""

from plugjax.profiler.native import of_xla


def get_profiled_instructions_proto(tensorboard_dir: str) -> bytes:
    """Costs of XLA's operations from a profile, as a serialized ``ProfiledInstructionsProto``; empty but on NVIDIA GPUs.

    Args:
        tensorboard_dir: a folder of a profile, ``<log_dir>/plugins/profile/<run>/``.

    Raises:
        RuntimeError: XLA is not installed, or the folder holds no profile.

    Example:
        >>> import pathlib, tempfile, plugjax, plugjax.numpy as jnp
        >>> from plugjax.experimental.profiler import get_profiled_instructions_proto
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     with plugjax.profiler.trace(folder):
        ...         x = plugjax.jit(jnp.sin, backend="xla")(1.0)
        ...     (run,) = pathlib.Path(folder, "plugins", "profile").iterdir()
        ...     get_profiled_instructions_proto(str(run))
        b''
    """
    found: bytes = of_xla("get_profiled_instructions_proto")(tensorboard_dir)
    return found


__all__ = ["get_profiled_instructions_proto"]
