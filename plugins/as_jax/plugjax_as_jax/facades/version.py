"""``jax.version``: the version of JAX whose names and meaning plugjax follows."""

__version__ = "0.10.2"
__version_info__ = (0, 10, 2)
