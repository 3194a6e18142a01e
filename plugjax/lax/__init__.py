"""Operations with strict types: the names of ``jax.lax``."""

import importlib
from typing import TYPE_CHECKING, Any

from plugjax.extend.core import (
    add_any_p,
    broadcast_in_dim_p,
    convert_element_type_p,
    device_put_p,
    mul_p,
    optimization_barrier_p,
    reduce_sum_p,
    reshape_p,
    select_n_p,
    stop_gradient_p,
    transpose_p,
)
from plugjax.extend.transforms import publish
from plugjax.lax.accuracy import AccuracyMode, Tolerance
from plugjax.lax.approximate_top_k import approx_max_k, approx_min_k, approx_top_k_p
from plugjax.lax.arithmetic import (
    RoundingMethod,
    abs,
    abs_p,
    add,
    add_p,
    ceil,
    ceil_p,
    div,
    div_p,
    floor,
    floor_p,
    integer_pow,
    integer_pow_p,
    max,
    max_p,
    min,
    min_p,
    mul,
    mulhi,
    mulhi_p,
    neg,
    neg_p,
    nextafter,
    nextafter_p,
    reciprocal,
    rem,
    rem_p,
    round,
    round_p,
    sign,
    sign_p,
    square,
    square_p,
    sub,
    sub_p,
)
from plugjax.lax.barrier import optimization_barrier
from plugjax.lax.bessel import bessel_i0e, bessel_i0e_p, bessel_i1e, bessel_i1e_p
from plugjax.lax.broadcasting import broadcast_like, broadcast_shapes, tile, tile_p
from plugjax.lax.collectives import (
    all_gather_p,
    all_to_all_p,
    axis_index_p,
    pmax_p,
    pmin_p,
    ppermute_p,
    psum_p,
    reduce_scatter_p,
)
from plugjax.lax.comparison import (
    and_p,
    bitwise_and,
    bitwise_not,
    bitwise_or,
    bitwise_xor,
    clz,
    clz_p,
    eq,
    eq_p,
    eq_to_p,
    ge,
    ge_p,
    gt,
    gt_p,
    is_finite,
    is_finite_p,
    le,
    le_p,
    le_to_p,
    lt,
    lt_p,
    lt_to_p,
    ne,
    ne_p,
    not_p,
    or_p,
    population_count,
    population_count_p,
    shift_left,
    shift_left_p,
    shift_right_arithmetic,
    shift_right_arithmetic_p,
    shift_right_logical,
    shift_right_logical_p,
    xor_p,
)
from plugjax.lax.complex import (
    complex,
    complex_p,
    conj,
    conj_p,
    imag,
    imag_p,
    real,
    real_p,
)
from plugjax.lax.composite import composite
from plugjax.lax.control_flow import (
    associative_scan,
    cond,
    cond_p,
    custom_linear_solve,
    custom_root,
    fori_loop,
    linear_solve_p,
    map,
    platform_dependent,
    scan,
    scan_p,
    switch,
    while_loop,
    while_p,
)
from plugjax.lax.conv_forms import (
    conv,
    conv_general_dilated_local,
    conv_general_dilated_patches,
    conv_transpose,
    conv_with_general_padding,
)
from plugjax.lax.conv_shape import (
    ConvDimensionNumbers,
    ConvGeneralDilatedDimensionNumbers,
    conv_dimension_numbers,
    conv_general_permutations,
    conv_general_shape_tuple,
    conv_shape_tuple,
    conv_transpose_shape_tuple,
    padtype_to_pads,
)
from plugjax.lax.conversion import (
    bitcast_convert_type,
    bitcast_convert_type_p,
    convert_element_type,
    copy_p,
    dtype,
    reduce_precision,
    reduce_precision_p,
    stage,
    stage_p,
    stop_gradient,
)
from plugjax.lax.convolution import conv_general_dilated, conv_general_dilated_p
from plugjax.lax.dce_sink import dce_sink, dce_sink_p
from plugjax.lax.dimension_numbers import (
    GatherDimensionNumbers,
    GatherScatterMode,
    ScatterDimensionNumbers,
)
from plugjax.lax.dot import (
    DotDimensionNumbers,
    Precision,
    PrecisionLike,
    batch_matmul,
    dot,
    dot_general,
    dot_general_p,
)
from plugjax.lax.dot_algorithm import DotAlgorithm, DotAlgorithmPreset
from plugjax.lax.exponential import (
    cbrt,
    cbrt_p,
    exp,
    exp2,
    exp2_p,
    exp_p,
    expm1,
    expm1_p,
    log,
    log1p,
    log1p_p,
    log_p,
    logistic,
    logistic_p,
    pow,
    pow_p,
    rsqrt,
    rsqrt_p,
    sqrt,
    sqrt_p,
)
from plugjax.lax.fft import FftType, fft, fft_p
from plugjax.lax.folds import reduce, reduce_p
from plugjax.lax.gather_scatter import (
    gather,
    gather_p,
    index_take,
    scatter,
    scatter_add,
    scatter_add_p,
    scatter_max,
    scatter_max_p,
    scatter_min,
    scatter_min_p,
    scatter_mul,
    scatter_mul_p,
    scatter_p,
    scatter_sub,
    scatter_sub_p,
)
from plugjax.lax.incomplete_beta import betainc, regularized_incomplete_beta_p
from plugjax.lax.incomplete_gamma import (
    igamma,
    igamma_grad_a,
    igamma_grad_a_p,
    igamma_p,
    igammac,
    igammac_p,
    random_gamma_grad,
)
from plugjax.lax.joining import (
    concatenate,
    concatenate_p,
    pad,
    pad_p,
    slice_p,
    split,
    split_p,
    stack,
    stack_p,
    unstack,
    unstack_p,
)
from plugjax.lax.parallel import (
    all_gather,
    all_to_all,
    axis_index,
    axis_size,
    pbroadcast,
    pcast,
    pmax,
    pmean,
    pmin,
    ppermute,
    pshuffle,
    psum,
    psum_scatter,
    pswapaxes,
)
from plugjax.lax.placement import sharding_constraint_p, with_sharding_constraint
from plugjax.lax.ragged import RaggedDotDimensionNumbers, ragged_dot, ragged_dot_general
from plugjax.lax.ragged_exchange import ragged_all_to_all, ragged_all_to_all_p
from plugjax.lax.random_generators import (
    RandomAlgorithm,
    rng_bit_generator,
    rng_bit_generator_p,
    rng_uniform,
    rng_uniform_p,
)
from plugjax.lax.reduction import (
    argmax,
    argmax_p,
    argmin,
    argmin_p,
    cumlogsumexp,
    cumlogsumexp_p,
    cummax,
    cummax_p,
    cummin,
    cummin_p,
    cumprod,
    cumprod_p,
    cumsum,
    cumsum_p,
    reduce_and,
    reduce_and_p,
    reduce_max,
    reduce_max_p,
    reduce_min,
    reduce_min_p,
    reduce_or,
    reduce_or_p,
    reduce_prod,
    reduce_prod_p,
    reduce_sum,
    reduce_xor,
    reduce_xor_p,
)
from plugjax.lax.scaled_dot import scaled_dot
from plugjax.lax.scatter_apply import scatter_apply
from plugjax.lax.selection import clamp, clamp_p, select, select_n
from plugjax.lax.shape import (
    broadcast,
    broadcast_in_dim,
    broadcast_to_rank,
    broadcasted_iota,
    collapse,
    empty,
    expand_dims,
    full,
    full_like,
    iota,
    iota_p,
    reshape,
    rev,
    rev_p,
    shape_as_value,
    squeeze,
    squeeze_p,
    transpose,
)
from plugjax.lax.slicing import (
    dynamic_index_in_dim,
    dynamic_slice,
    dynamic_slice_in_dim,
    dynamic_slice_p,
    dynamic_update_index_in_dim,
    dynamic_update_slice,
    dynamic_update_slice_in_dim,
    dynamic_update_slice_p,
    index_in_dim,
    slice,
    slice_in_dim,
)
from plugjax.lax.sorting import (
    sort,
    sort_key_val,
    sort_p,
    top_k,
    top_k_p,
)
from plugjax.lax.special import (
    digamma,
    digamma_p,
    erf,
    erf_inv,
    erf_inv_p,
    erf_p,
    erfc,
    erfc_p,
    lgamma,
    lgamma_p,
    polygamma,
    polygamma_p,
    zeta,
    zeta_p,
)
from plugjax.lax.tokens import after_all, after_all_p, create_token, create_token_p, precv, psend
from plugjax.lax.trigonometric import (
    acos,
    acos_p,
    acosh,
    acosh_p,
    asin,
    asin_p,
    asinh,
    asinh_p,
    atan,
    atan2,
    atan2_p,
    atan_p,
    atanh,
    atanh_p,
    cos,
    cos_p,
    cosh,
    cosh_p,
    sin,
    sin_p,
    sinh,
    sinh_p,
    tan,
    tan_p,
    tanh,
    tanh_p,
)
from plugjax.lax.window_selection import (
    select_and_gather_add_p,
    select_and_scatter_add_p,
    select_and_scatter_p,
)
from plugjax.lax.windowed import (
    reduce_window,
    reduce_window_max_p,
    reduce_window_min_p,
    reduce_window_p,
    reduce_window_shape_tuple,
    reduce_window_sum_p,
)

# Loaded on first use: programs without linear algebra do not pay for it.
_SUBMODULES = ("linalg",)
if TYPE_CHECKING:
    from plugjax.lax import linalg as linalg


if not TYPE_CHECKING:
    # Type checkers report names that do not exist.

    def __getattr__(name: str) -> Any:
        if name in _SUBMODULES:
            return importlib.import_module(f"plugjax.lax.{name}")
        raise AttributeError(f"module 'plugjax.lax' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*__all__, *_SUBMODULES})


__all__ = [
    "AccuracyMode", "ConvDimensionNumbers", "ConvGeneralDilatedDimensionNumbers", "DotAlgorithm",
    "DotAlgorithmPreset", "DotDimensionNumbers", "FftType", "GatherDimensionNumbers",
    "GatherScatterMode", "Precision", "PrecisionLike", "RaggedDotDimensionNumbers",
    "RandomAlgorithm", "RoundingMethod", "ScatterDimensionNumbers", "Tolerance", "abs", "abs_p",
    "acos", "acos_p", "acosh", "acosh_p", "add", "add_any_p", "add_p", "after_all", "after_all_p",
    "all_gather", "all_gather_p", "all_to_all", "all_to_all_p", "and_p", "approx_max_k",
    "approx_min_k", "approx_top_k_p", "argmax", "argmax_p", "argmin", "argmin_p", "asin", "asin_p",
    "asinh", "asinh_p", "associative_scan", "atan", "atan2", "atan2_p", "atan_p", "atanh",
    "atanh_p", "axis_index", "axis_index_p", "axis_size", "batch_matmul", "bessel_i0e",
    "bessel_i0e_p", "bessel_i1e", "bessel_i1e_p", "betainc", "bitcast_convert_type",
    "bitcast_convert_type_p", "bitwise_and", "bitwise_not", "bitwise_or", "bitwise_xor",
    "broadcast", "broadcast_in_dim", "broadcast_in_dim_p", "broadcast_like", "broadcast_shapes",
    "broadcast_to_rank", "broadcasted_iota", "cbrt", "cbrt_p", "ceil", "ceil_p", "clamp", "clamp_p",
    "clz", "clz_p", "collapse", "complex", "complex_p", "composite", "concatenate", "concatenate_p",
    "cond", "cond_p", "conj", "conj_p", "conv", "conv_dimension_numbers", "conv_general_dilated",
    "conv_general_dilated_local", "conv_general_dilated_p", "conv_general_dilated_patches",
    "conv_general_permutations", "conv_general_shape_tuple", "conv_shape_tuple", "conv_transpose",
    "conv_transpose_shape_tuple", "conv_with_general_padding", "convert_element_type",
    "convert_element_type_p", "copy_p", "cos", "cos_p", "cosh", "cosh_p", "create_token",
    "create_token_p", "cumlogsumexp", "cumlogsumexp_p", "cummax", "cummax_p", "cummin", "cummin_p",
    "cumprod", "cumprod_p", "cumsum", "cumsum_p", "custom_linear_solve", "custom_root", "dce_sink",
    "dce_sink_p", "device_put_p", "digamma", "digamma_p", "div", "div_p", "dot", "dot_general",
    "dot_general_p", "dtype", "dynamic_index_in_dim", "dynamic_slice", "dynamic_slice_in_dim",
    "dynamic_slice_p", "dynamic_update_index_in_dim", "dynamic_update_slice",
    "dynamic_update_slice_in_dim", "dynamic_update_slice_p", "empty", "eq", "eq_p", "eq_to_p",
    "erf", "erf_inv", "erf_inv_p", "erf_p", "erfc", "erfc_p", "exp", "exp2", "exp2_p", "exp_p",
    "expand_dims", "expm1", "expm1_p", "fft", "fft_p", "floor", "floor_p", "fori_loop", "full",
    "full_like", "gather", "gather_p", "ge", "ge_p", "gt", "gt_p", "igamma", "igamma_grad_a",
    "igamma_grad_a_p", "igamma_p", "igammac", "igammac_p", "imag", "imag_p", "index_in_dim",
    "index_take", "integer_pow", "integer_pow_p", "iota", "iota_p", "is_finite", "is_finite_p",
    "le", "le_p", "le_to_p", "lgamma", "lgamma_p", "linear_solve_p", "log", "log1p", "log1p_p",
    "log_p", "logistic", "logistic_p", "lt", "lt_p", "lt_to_p", "map", "max", "max_p", "min",
    "min_p", "mul", "mul_p", "mulhi", "mulhi_p", "ne", "ne_p", "neg", "neg_p", "nextafter",
    "nextafter_p", "not_p", "optimization_barrier", "optimization_barrier_p", "or_p", "pad",
    "pad_p", "padtype_to_pads", "pbroadcast", "pcast", "platform_dependent", "pmax", "pmax_p",
    "pmean", "pmin", "pmin_p", "polygamma", "polygamma_p", "population_count", "population_count_p",
    "pow", "pow_p", "ppermute", "ppermute_p", "precv", "psend", "pshuffle", "psum", "psum_p",
    "psum_scatter", "pswapaxes", "ragged_all_to_all", "ragged_all_to_all_p", "ragged_dot",
    "ragged_dot_general", "random_gamma_grad", "real", "real_p", "reciprocal", "reduce",
    "reduce_and", "reduce_and_p", "reduce_max", "reduce_max_p", "reduce_min", "reduce_min_p",
    "reduce_or", "reduce_or_p", "reduce_p", "reduce_precision", "reduce_precision_p", "reduce_prod",
    "reduce_prod_p", "reduce_scatter_p", "reduce_sum", "reduce_sum_p", "reduce_window",
    "reduce_window_max_p", "reduce_window_min_p", "reduce_window_p", "reduce_window_shape_tuple",
    "reduce_window_sum_p", "reduce_xor", "reduce_xor_p", "regularized_incomplete_beta_p", "rem",
    "rem_p", "reshape", "reshape_p", "rev", "rev_p", "rng_bit_generator", "rng_bit_generator_p",
    "rng_uniform", "rng_uniform_p", "round", "round_p", "rsqrt", "rsqrt_p", "scaled_dot", "scan",
    "scan_p", "scatter", "scatter_add", "scatter_add_p", "scatter_apply", "scatter_max",
    "scatter_max_p", "scatter_min", "scatter_min_p", "scatter_mul", "scatter_mul_p", "scatter_p",
    "scatter_sub", "scatter_sub_p", "select", "select_and_gather_add_p", "select_and_scatter_add_p",
    "select_and_scatter_p", "select_n", "select_n_p", "shape_as_value", "sharding_constraint_p",
    "shift_left", "shift_left_p", "shift_right_arithmetic", "shift_right_arithmetic_p",
    "shift_right_logical", "shift_right_logical_p", "sign", "sign_p", "sin", "sin_p", "sinh",
    "sinh_p", "slice", "slice_in_dim", "slice_p", "sort", "sort_key_val", "sort_p", "split",
    "split_p", "sqrt", "sqrt_p", "square", "square_p", "squeeze", "squeeze_p", "stack", "stack_p",
    "stage", "stage_p", "stop_gradient", "stop_gradient_p", "sub", "sub_p", "switch", "tan",
    "tan_p", "tanh", "tanh_p", "tile", "tile_p", "top_k", "top_k_p", "transpose", "transpose_p",
    "unstack", "unstack_p", "while_loop", "while_p", "with_sharding_constraint", "xor_p",
    "zeta", "zeta_p",
]  # fmt: skip

publish(globals(), __all__)
