"""Which flags a module gets, by what it computes."""

import numpy as np
import pytest

import plugjax
import plugjax.numpy as jnp
from plugjax import lax
from plugjax_iree.compile import CompileTarget, tuning

TILING = "--iree-global-opt-data-tiling"
NO_LIBRARY = "--iree-llvmcpu-enable-ukernels=none"


def first_flags(function, *shapes, dtype="float32"):
    arguments = [plugjax.ShapeDtypeStruct(shape, dtype) for shape in shapes]
    with plugjax.default_device("iree"):
        text = plugjax.jit(function).lower(*arguments).as_text()
    return next(tuning.steps(text, CompileTarget())).tuning


@pytest.mark.parametrize(
    ("shapes", "tuned"),
    [
        ([(256, 256), (256, 256)], (NO_LIBRARY,)),
        ([(257, 256), (256, 256)], (TILING, NO_LIBRARY)),
        # Each product of a batch is small.
        ([(64, 128, 64), (64, 64, 128)], (NO_LIBRARY,)),
        ([(2, 512, 512), (2, 512, 512)], (TILING, NO_LIBRARY)),
    ],
)
def test_large_products_are_tiled(shapes, tuned):
    assert first_flags(jnp.matmul, *shapes) == tuned


def test_products_of_signed_bytes_use_the_library():
    assert first_flags(jnp.matmul, (8, 8), (8, 8), dtype="int8") == (TILING,)


@pytest.mark.parametrize("dtype", ["uint8", "int32", "complex64"])
def test_other_products_are_tiled(dtype):
    assert first_flags(jnp.matmul, (8, 8), (8, 8), dtype=dtype) == (TILING, NO_LIBRARY)


def test_products_of_unknown_sizes_are_tiled():
    (rows,) = plugjax.export.symbolic_shape("n")
    text = plugjax.export.export(plugjax.jit(jnp.matmul), platforms=("cpu",))(
        plugjax.ShapeDtypeStruct((rows, 8), "float32"), plugjax.ShapeDtypeStruct((8, 8), "float32")
    ).mlir_module()
    assert "dot_general" in text
    assert next(tuning.steps(text, CompileTarget())).tuning == (TILING, NO_LIBRARY)


def test_one_large_product_is_enough():
    def program(x, w):
        return x @ x + lax.dot(x[:8], w[:, :8]).sum()

    assert TILING in first_flags(program, (512, 512), (512, 512))
    assert TILING not in first_flags(lambda x, w: program(x[:8, :8], w), (512, 512), (8, 8))


def test_convolutions_and_other_programs():
    def convolution(x, w):
        return lax.conv_general_dilated(x, w, (2, 2), "SAME", rhs_dilation=(2, 2))

    assert first_flags(convolution, (1, 3, 8, 8), (4, 3, 3, 3)) == (TILING, NO_LIBRARY)
    assert first_flags(lambda x: np.float32(2) * x, (8,)) == ("--iree-opt-level=O2", NO_LIBRARY)
