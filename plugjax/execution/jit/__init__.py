"""``jit``: arguments, signatures and compiled programs of a function."""
