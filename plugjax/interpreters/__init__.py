"""Rules of primitives that a program defines, under JAX's names: ``ad``, ``batching``, ``mlir`` and ``xla``.

A program writes ``ad.primitive_jvps[f_p] = rule`` where a plugin writes ``@rules.define(jvp_rule, f_p)``.
"""
