"""What ``sparsify`` does with primitives."""
