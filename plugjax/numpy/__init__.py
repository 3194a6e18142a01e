"""NumPy's functions on arrays that can be differentiated, batched and compiled: the names of ``jax.numpy``."""

import importlib
from typing import TYPE_CHECKING, Any

from plugjax.extend.transforms import public, publish
from plugjax.numpy.arithmetic import (
    abs,
    absolute,
    angle,
    conj,
    conjugate,
    divide,
    divmod,
    fabs,
    float_power,
    floor_divide,
    fmax,
    fmin,
    fmod,
    heaviside,
    hypot,
    imag,
    mod,
    positive,
    pow,
    power,
    real,
    reciprocal,
    remainder,
    sign,
    sqrt,
    square,
    true_divide,
)
from plugjax.numpy.bitwise import (
    bitwise_count,
    bitwise_invert,
    bitwise_left_shift,
    bitwise_not,
    bitwise_right_shift,
    invert,
    left_shift,
    packbits,
    right_shift,
    unpackbits,
)
from plugjax.numpy.constants import e, euler_gamma, inf, nan, newaxis, pi
from plugjax.numpy.creation import (
    arange,
    array,
    asarray,
    copy,
    empty,
    empty_like,
    eye,
    full,
    full_like,
    identity,
    ones,
    ones_like,
    tri,
    tril,
    triu,
    zeros,
    zeros_like,
)
from plugjax.numpy.cumulative import cumprod, cumsum, cumulative_prod, cumulative_sum
from plugjax.numpy.dtypes_info import (
    ComplexWarning,
    bfloat16,
    bool_,
    can_cast,
    cdouble,
    character,
    complex64,
    complex128,
    complex_,
    complexfloating,
    csingle,
    double,
    dtype,
    finfo,
    flexible,
    float4_e2m1fn,
    float6_e2m3fn,
    float6_e3m2fn,
    float8_e3m4,
    float8_e4m3,
    float8_e4m3b11fnuz,
    float8_e4m3fn,
    float8_e4m3fnuz,
    float8_e5m2,
    float8_e5m2fnuz,
    float8_e8m0fnu,
    float16,
    float32,
    float64,
    float_,
    floating,
    generic,
    iinfo,
    inexact,
    int1,
    int2,
    int4,
    int8,
    int16,
    int32,
    int64,
    int_,
    integer,
    iscomplexobj,
    isdtype,
    isrealobj,
    isscalar,
    issubdtype,
    ndarray,
    number,
    object_,
    promote_types,
    result_type,
    signedinteger,
    single,
    uint,
    uint1,
    uint2,
    uint4,
    uint8,
    uint16,
    uint32,
    uint64,
    unsignedinteger,
)
from plugjax.numpy.einsum import einsum, einsum_path
from plugjax.numpy.exponential import (
    cbrt,
    exp,
    exp2,
    expm1,
    log,
    log1p,
    log2,
    log10,
)
from plugjax.numpy.flat_indices import ravel_multi_index, unravel_index
from plugjax.numpy.grids import (
    diag,
    diag_indices,
    diag_indices_from,
    diagflat,
    from_dlpack,
    frombuffer,
    fromfunction,
    indices,
    mask_indices,
    meshgrid,
    tril_indices,
    tril_indices_from,
    triu_indices,
    triu_indices_from,
    vander,
)
from plugjax.numpy.indexing import (
    choose,
    compress,
    diagonal,
    extract,
    ix_,
    take,
    take_along_axis,
)
from plugjax.numpy.joining import (
    append,
    array_split,
    block,
    column_stack,
    concat,
    concatenate,
    dsplit,
    dstack,
    hsplit,
    hstack,
    split,
    stack,
    unstack,
    vsplit,
    vstack,
)
from plugjax.numpy.linear_algebra import (
    cross,
    dot,
    inner,
    kron,
    matmul,
    matvec,
    outer,
    tensordot,
    trace,
    vdot,
    vecdot,
    vecmat,
)
from plugjax.numpy.logic import (
    allclose,
    array_equal,
    array_equiv,
    equal,
    greater,
    greater_equal,
    isclose,
    iscomplex,
    isfinite,
    isinf,
    isnan,
    isneginf,
    isposinf,
    isreal,
    less,
    less_equal,
    logical_not,
    not_equal,
)
from plugjax.numpy.manipulation import (
    astype,
    atleast_1d,
    atleast_2d,
    atleast_3d,
    broadcast_arrays,
    broadcast_shapes,
    broadcast_to,
    expand_dims,
    flip,
    fliplr,
    flipud,
    matrix_transpose,
    moveaxis,
    permute_dims,
    ravel,
    reshape,
    rollaxis,
    rot90,
    squeeze,
    swapaxes,
    transpose,
)
from plugjax.numpy.padding import pad
from plugjax.numpy.quantiles import (
    median,
    nanmedian,
    nanpercentile,
    nanquantile,
    percentile,
    quantile,
)
from plugjax.numpy.ranges import geomspace, linspace, logspace
from plugjax.numpy.reductions import (
    all,
    amax,
    amin,
    any,
    argmax,
    argmin,
    count_nonzero,
    max,
    mean,
    min,
    prod,
    ptp,
    std,
    sum,
    var,
)
from plugjax.numpy.rounding import (
    around,
    ceil,
    copysign,
    floor,
    frexp,
    ldexp,
    modf,
    nextafter,
    rint,
    round,
    signbit,
    spacing,
    trunc,
)
from plugjax.numpy.selection import clip, nan_to_num, select, where
from plugjax.numpy.shape_info import ndim, shape, size
from plugjax.numpy.sorting_searching import (
    argpartition,
    argsort,
    argwhere,
    bincount,
    digitize,
    flatnonzero,
    lexsort,
    nonzero,
    partition,
    searchsorted,
    sort,
    sort_complex,
)
from plugjax.numpy.statistics import (
    average,
    corrcoef,
    cov,
    nanargmax,
    nanargmin,
    nancumprod,
    nancumsum,
    nanmax,
    nanmean,
    nanmin,
    nanprod,
    nanstd,
    nansum,
    nanvar,
)
from plugjax.numpy.tiling import diff, ediff1d, repeat, resize, roll, tile
from plugjax.numpy.trigonometric import (
    acos,
    acosh,
    arccos,
    arccosh,
    arcsin,
    arcsinh,
    arctan,
    arctan2,
    arctanh,
    asin,
    asinh,
    atan,
    atan2,
    atanh,
    cos,
    cosh,
    deg2rad,
    degrees,
    rad2deg,
    radians,
    sin,
    sinc,
    sinh,
    tan,
    tanh,
)
from plugjax.numpy.updates import fill_diagonal, place, put, put_along_axis

bool = bool_

# Loaded on first use: programs without linear algebra, say, do not pay for it.
_SUBMODULES = ("fft", "linalg")
_CHAPTERS = {
    "calculus": ("gradient", "interp", "trapezoid", "unwrap"),
    "convolution": ("convolve", "correlate"),
    "editing": ("delete", "insert", "trim_zeros"),
    "functional": ("apply_along_axis", "apply_over_axes", "piecewise", "vectorize"),
    "histograms": ("histogram", "histogram2d", "histogram_bin_edges", "histogramdd"),
    "index_tricks": ("c_", "index_exp", "mgrid", "ogrid", "r_", "s_"),
    "input_output": ("array_repr", "array_str", "fromfile", "fromiter", "fromstring",
        "get_printoptions", "iterable", "load", "printoptions", "save", "savez",
        "set_printoptions"),
    "namespace_info": ("__array_namespace_info__",),
    "polynomial": ("poly", "polyadd", "polyder", "polydiv", "polyfit", "polyint", "polymul",
        "polysub", "polyval", "roots"),
    "rational": ("gcd", "lcm"),
    "sets": ("intersect1d", "isin", "setdiff1d", "setxor1d", "union1d", "unique", "unique_all",
        "unique_counts", "unique_inverse", "unique_values"),
    "ufuncs": ("frompyfunc", "ufunc"),
    "universal": ("add", "bitwise_and", "bitwise_or", "bitwise_xor", "logaddexp", "logaddexp2",
        "logical_and", "logical_or", "logical_xor", "maximum", "minimum", "multiply", "negative",
        "subtract"),
    "window_functions": ("bartlett", "blackman", "hamming", "hanning", "i0", "kaiser"),
}  # fmt: skip
if TYPE_CHECKING:
    from plugjax.numpy import fft as fft, linalg as linalg
    from plugjax.numpy.calculus import *
    from plugjax.numpy.convolution import *
    from plugjax.numpy.editing import *
    from plugjax.numpy.functional import *
    from plugjax.numpy.histograms import *
    from plugjax.numpy.index_tricks import *
    from plugjax.numpy.input_output import *
    from plugjax.numpy.polynomial import *
    from plugjax.numpy.rational import *
    from plugjax.numpy.sets import *
    from plugjax.numpy.ufuncs import *
    from plugjax.numpy.universal import *
    from plugjax.numpy.window_functions import *

_LATE = {name: chapter for chapter, names in _CHAPTERS.items() for name in names}


if not TYPE_CHECKING:
    # Type checkers report names that do not exist.

    def __getattr__(name: str) -> Any:
        if name in _SUBMODULES:
            return importlib.import_module(f"plugjax.numpy.{name}")
        if name in _LATE:
            found = getattr(importlib.import_module(f"plugjax.numpy.{_LATE[name]}"), name)
            globals()[name] = found = public(found, __name__, name)
            return found
        raise AttributeError(f"module 'plugjax.numpy' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*__all__, *_SUBMODULES, *_LATE})


__all__ = [
    "ComplexWarning", "abs", "absolute", "acos", "acosh", "add", "all", "allclose", "amax",
    "amin", "angle", "any", "append", "apply_along_axis", "apply_over_axes", "arange", "arccos",
    "arccosh", "arcsin", "arcsinh", "arctan", "arctan2", "arctanh", "argmax", "argmin",
    "argpartition", "argsort", "argwhere", "around", "array", "array_equal", "array_equiv",
    "array_repr", "array_split", "array_str", "asarray", "asin", "asinh", "astype", "atan",
    "atan2", "atanh", "atleast_1d", "atleast_2d", "atleast_3d", "average", "bartlett", "bfloat16",
    "bincount", "bitwise_and", "bitwise_count", "bitwise_invert", "bitwise_left_shift",
    "bitwise_not", "bitwise_or", "bitwise_right_shift", "bitwise_xor", "blackman", "block",
    "bool", "bool_", "broadcast_arrays", "broadcast_shapes", "broadcast_to", "c_", "can_cast",
    "cbrt", "cdouble", "ceil", "character", "choose", "clip", "column_stack", "complex64",
    "complex128", "complex_", "complexfloating", "compress", "concat", "concatenate", "conj",
    "conjugate", "convolve", "copy", "copysign", "corrcoef", "correlate", "cos", "cosh",
    "count_nonzero", "cov", "cross", "csingle", "cumprod", "cumsum", "cumulative_prod",
    "cumulative_sum", "deg2rad", "degrees", "delete", "diag", "diag_indices", "diag_indices_from",
    "diagflat", "diagonal", "diff", "digitize", "divide", "divmod", "dot", "double", "dsplit",
    "dstack", "dtype", "e", "ediff1d", "einsum", "einsum_path", "empty", "empty_like", "equal",
    "euler_gamma", "exp", "exp2", "expand_dims", "expm1", "extract", "eye", "fabs",
    "fill_diagonal", "finfo", "flatnonzero", "flexible", "flip", "fliplr", "flipud",
    "float4_e2m1fn", "float6_e2m3fn", "float6_e3m2fn", "float8_e3m4", "float8_e4m3",
    "float8_e4m3b11fnuz", "float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz",
    "float8_e8m0fnu", "float16", "float32", "float64", "float_", "float_power", "floating",
    "floor", "floor_divide", "fmax", "fmin", "fmod", "frexp", "from_dlpack", "frombuffer",
    "fromfile", "fromfunction", "fromiter", "frompyfunc", "fromstring", "full", "full_like",
    "gcd", "generic", "geomspace", "get_printoptions", "gradient", "greater", "greater_equal",
    "hamming", "hanning", "heaviside", "histogram", "histogram2d", "histogram_bin_edges",
    "histogramdd", "hsplit", "hstack", "hypot", "i0", "identity", "iinfo", "imag", "index_exp",
    "indices", "inexact", "inf", "inner", "insert", "int1", "int2", "int4", "int8", "int16",
    "int32", "int64", "int_", "integer", "interp", "intersect1d", "invert", "isclose",
    "iscomplex", "iscomplexobj", "isdtype", "isfinite", "isin", "isinf", "isnan", "isneginf",
    "isposinf", "isreal", "isrealobj", "isscalar", "issubdtype", "iterable", "ix_", "kaiser",
    "kron", "lcm", "ldexp", "left_shift", "less", "less_equal", "lexsort", "linspace", "load",
    "log", "log1p", "log2", "log10", "logaddexp", "logaddexp2", "logical_and", "logical_not",
    "logical_or", "logical_xor", "logspace", "mask_indices", "matmul", "matrix_transpose",
    "matvec", "max", "maximum", "mean", "median", "meshgrid", "mgrid", "min", "minimum", "mod",
    "modf", "moveaxis", "multiply", "nan", "nan_to_num", "nanargmax", "nanargmin", "nancumprod",
    "nancumsum", "nanmax", "nanmean", "nanmedian", "nanmin", "nanpercentile", "nanprod",
    "nanquantile", "nanstd", "nansum", "nanvar", "ndarray", "ndim", "negative", "newaxis",
    "nextafter", "nonzero", "not_equal", "number", "object_", "ogrid", "ones", "ones_like",
    "outer", "packbits", "pad", "partition", "percentile", "permute_dims", "pi", "piecewise",
    "place", "poly", "polyadd", "polyder", "polydiv", "polyfit", "polyint", "polymul", "polysub",
    "polyval", "positive", "pow", "power", "printoptions", "prod", "promote_types", "ptp", "put",
    "put_along_axis", "quantile", "r_", "rad2deg", "radians", "ravel", "ravel_multi_index",
    "real", "reciprocal", "remainder", "repeat", "reshape", "resize", "result_type",
    "right_shift", "rint", "roll", "rollaxis", "roots", "rot90", "round", "s_", "save", "savez",
    "searchsorted", "select", "set_printoptions", "setdiff1d", "setxor1d", "shape", "sign",
    "signbit", "signedinteger", "sin", "sinc", "single", "sinh", "size", "sort", "sort_complex",
    "spacing", "split", "sqrt", "square", "squeeze", "stack", "std", "subtract", "sum",
    "swapaxes", "take", "take_along_axis", "tan", "tanh", "tensordot", "tile", "trace",
    "transpose", "trapezoid", "tri", "tril", "tril_indices", "tril_indices_from", "trim_zeros",
    "triu", "triu_indices", "triu_indices_from", "true_divide", "trunc", "ufunc", "uint", "uint1",
    "uint2", "uint4", "uint8", "uint16", "uint32", "uint64", "union1d", "unique", "unique_all",
    "unique_counts", "unique_inverse", "unique_values", "unpackbits", "unravel_index",
    "unsignedinteger", "unstack", "unwrap", "vander", "var", "vdot", "vecdot", "vecmat",
    "vectorize", "vsplit", "vstack", "where", "zeros", "zeros_like",
]  # fmt: skip

publish(globals(), __all__)
