"""What ``VJP.with_refs`` takes and gives in the places of inputs: names of ``jax.ad``."""

from plugjax.transforms.linear_maps import DidntWant, DontWant, GradRef, GradValue

__all__ = ["DidntWant", "DontWant", "GradRef", "GradValue"]
