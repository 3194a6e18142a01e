"""``jax._src.earray``: arrays of extended dtypes. Those of plugjax are arrays like all others."""

from plugjax import Array

EArray = Array
