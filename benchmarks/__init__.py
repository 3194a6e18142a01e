"""Measurements against JAX and NumPy; tests never assert a time, these print it."""
