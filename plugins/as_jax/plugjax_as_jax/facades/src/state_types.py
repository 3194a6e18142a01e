"""``jax._src.state.types``: the type of a reference to a mutable array."""

from plugjax.extend.core import AbstractReference

AbstractRef = AbstractReference
