"""The NumPy backend of plugjax: host kernels for every primitive, and ``jit`` as generated straight-line Python."""
