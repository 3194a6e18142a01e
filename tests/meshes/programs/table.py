"""The programs by name, and what they share."""

import numpy as np

PROGRAMS = {}
# Names of those that show what XLA's partitioner asks.
OF_PARTITIONER = set()


def program(function):
    PROGRAMS[function.__name__] = function
    return function


def asked(function):
    OF_PARTITIONER.add(function.__name__)
    return program(function)


def drawn(shape=(8, 4), dtype="float32", seed=0):
    rng = np.random.default_rng(seed)
    return rng.integers(-8, 8, shape).astype(dtype)


def mapped(e, f, *args, i=None, o=None, **options):
    return e.jax.shard_map(f, mesh=e.mesh, in_specs=i, out_specs=o, **options)(*args)


def as_bytes(text):
    return np.frombuffer(text.encode(), np.uint8)
