"""Measurements against JAX and NumPy. Tests never assert a time; these rows print it."""
