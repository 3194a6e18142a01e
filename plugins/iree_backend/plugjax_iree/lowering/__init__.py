"""What IREE needs said differently: lowering rules for platform ``iree``, in files named as in ``plugjax.lax``.

The reasons are measured ones: operations that IREE 3.13 refuses, computes wrongly, or computes slowly.
"""

from plugjax_iree.lowering import (
    complex,
    composite,
    control_flow,
    conversion,
    convolution,
    copies,
    dot,
    exponential,
    fft,
    gather_scatter,
    joining,
    linalg,
    random_bits,
    random_generators,
    reduction,
    shape,
    slicing,
    sorting,
    special,
    trigonometric,
    windowed,
)

RULE_SETS = [
    complex.rules,
    composite.rules,
    control_flow.rules,
    conversion.rules,
    convolution.rules,
    copies.rules,
    dot.rules,
    exponential.rules,
    fft.rules,
    gather_scatter.rules,
    joining.rules,
    linalg.rules,
    random_bits.rules,
    random_generators.rules,
    reduction.rules,
    shape.rules,
    slicing.rules,
    sorting.rules,
    special.rules,
    trigonometric.rules,
    windowed.rules,
]
