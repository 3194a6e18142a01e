"""The Lambert W function as a plugjax primitive."""

from plugjax_lambertw.lambertw import lambertw, lambertw_p

__all__ = ["lambertw", "lambertw_p"]
