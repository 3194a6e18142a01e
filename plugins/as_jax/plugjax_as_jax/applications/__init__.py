"""Applications of libraries, each of which runs unchanged with the real jax and with plugjax.

``python -m plugjax_as_jax.applications`` runs them and compares their numbers with those of the real jax, which are recorded.
"""
