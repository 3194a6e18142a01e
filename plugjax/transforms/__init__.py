"""Transformations: traces that interpret a function of arrays as another one, and passes that rewrite programs."""
