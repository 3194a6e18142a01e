"""``jax._src``: what libraries use of JAX's own modules, by the names of these.

JAX promises nothing of them, and neither does plugjax: a name is here because a library needs it.
"""

__all__: list[str] = []
