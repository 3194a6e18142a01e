"""Rotations of space: the names of ``jax.scipy.spatial.transform``."""

from plugjax.extend.transforms import show_only
from plugjax.scipy.spatial.transform.rotation import Rotation
from plugjax.scipy.spatial.transform.slerp import Slerp

__all__ = ["Rotation", "Slerp"]

show_only(globals(), __all__)
