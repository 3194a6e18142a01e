"""The test suites of libraries themselves, run with the real jax and with plugjax.

``python -m plugjax_as_jax.conformance optax chex --backend numpy`` prints how many of the tests that pass with the real jax pass here.
"""
