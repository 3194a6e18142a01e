"""``jax._src.config``: the configuration, which JAX also shows option by option."""

from plugjax import config as config

update = config.update
read = config.read
