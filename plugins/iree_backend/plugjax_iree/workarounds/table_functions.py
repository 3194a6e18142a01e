"""Rows about lowering rules of functions of numbers: defects of single operations, and operations that IREE lacks."""

from plugjax_iree.workarounds.row import Effect, Stage, Workaround

FUNCTIONS = (
    # Shapes and types.
    Workaround(
        "padded_complex",
        Stage.LOWERING,
        "There is no complex128 element to pad with; sums of padded complex64 arrays crash the compiler.",
        Effect.CRASH,
        """
        def program(x):
            def f(x):
                x = x + 1j
                return (lax.slice(x, (0,), (1,)) * lax.slice(x, (1,), (2,))).sum().real

            return plugjax.grad(f)(x[0])
        """,
        "test_lowering.py::test_derivatives_of_complex_slices",
    ),
    Workaround(
        "unsigned_reversals",
        Stage.LOWERING,
        "The reversal of unsigned integers is refused.",
        Effect.REFUSED,
        """
        def program(x):
            return jnp.abs(x * 10).astype(jnp.uint8)[::-1]
        """,
        "test_lowering.py::test_structural",
    ),
    Workaround(
        "unsaturated_conversions",
        Stage.LOWERING,
        "Floats outside the range of an integer dtype are converted as the processor does it: 3e9 as int32 is -2147483648.",
        Effect.WRONG,
        """
        def program(x):
            return (x * 0 + 3e9).astype(jnp.int32)
        """,
        "test_lowering.py::test_conversions_saturate",
        place="lowering/conversion.py",
    ),
    Workaround(
        "bool_products",
        Stage.LOWERING,
        "A product with a bool that was converted becomes a choice between the other factor and 0: infinity times False is 0.",
        Effect.WRONG,
        """
        def program(x):
            return (x / 0) * (x > 0).astype(jnp.float32)
        """,
        "test_lowering.py::test_products_with_bools_that_were_converted_follow_ieee",
        place="lowering/conversion.py",
    ),
    Workaround(
        "lost_roundings",
        Stage.LOWERING,
        "A conversion to bfloat16 and back within one kernel is left out: the rounding is lost.",
        Effect.WRONG,
        """
        def program(x):
            return x.sum().astype(jnp.bfloat16).astype(jnp.float32)
        """,
        "test_lowering.py::test_what_becomes_bfloat16_on_the_way_is_rounded",
        place="lowering/conversion.py",
    ),
    Workaround(
        "integers_to_bfloat16",
        Stage.LOWERING,
        "A conversion from integers to bfloat16, also of the numbers of an axis, becomes a call of a function that the linker does not find, unless the processor has an instruction for it; Vulkan devices refuse the latter.",
        Effect.REFUSED,
        """
        def program(x):
            return (x * 10).astype(jnp.int32).astype(jnp.bfloat16)
        """,
        "test_lowering.py::test_conversions_saturate",
        place="lowering/conversion.py",
        options=(("iree-llvmcpu-target-cpu", "generic"),),
    ),
    Workaround(
        "indices_out_of_bounds",
        Stage.LOWERING,
        "A gather out of bounds reads foreign memory and a scatter writes to it; windows longer than 1 along an indexed axis are refused.",
        Effect.WRONG,
        """
        def program(x):
            return x.at[jnp.array([0, 9]) + x[0, 0].astype(jnp.int32)].get(mode="clip")
        """,
        "test_lowering.py::test_structural",
        place="lowering/gather_scatter.py",
    ),
    # Functions of numbers.
    Workaround(
        "powers",
        Stage.LOWERING,
        "`x ** y` is computed as `exp(y log x)`: nan for each negative base, and otherwise wrong by a hundred units in the last place; the cube root of infinity is nan, and float64 has none.",
        Effect.WRONG,
        """
        def program(x):
            return (x - 3) ** jnp.round(x * 3)
        """,
        "test_lowering.py::test_elementwise",
        place="lowering/exponential.py",
    ),
    Workaround(
        "angles",
        Stage.LOWERING,
        "Arguments of sine and cosine are reduced in float32 (the sine of 3e8 is 1111), and arctangents err by 40 units in the last place.",
        Effect.WRONG,
        """
        def program(x):
            return lax.sin(x * 1e8)
        """,
        "test_lowering.py::test_sine_of_large_arguments",
        place="lowering/trigonometric.py",
    ),
    Workaround(
        "small_numbers",
        Stage.LOWERING,
        "Functions of float64 numbers that are small against 1 lose digits to a 1 that is added or subtracted: `expm1(1e-300)` is 0. So do log1p, sinh, asinh and atanh, and acosh of numbers near 1.",
        Effect.WRONG,
        """
        def program(x):
            with plugjax.enable_x64():
                y = jnp.abs(x).astype(float) * 1e-300
                return jnp.expm1(y) * 1e300, jnp.log1p(y) * 1e300, jnp.sinh(y) * 1e300
        """,
        "tests/lax/test_special_values.py::test_functions_of_small_numbers",
        place="lowering/small_numbers.py",
    ),
    Workaround(
        "special_functions",
        Stage.LOWERING,
        "The digamma function of 0 is -inf instead of nan, and that of -1e-8 is half of what it is; `zeta` and `polygamma` of negative numbers are nan; the error function of numbers below 7e-37 is 0, and its inverse differs from XLA's in the last places.",
        Effect.WRONG,
        """
        def program(x):
            return plugjax.scipy.special.digamma(x * 0)
        """,
        "test_lowering.py::test_random_numbers_are_those_of_jax",
        place="lowering/special.py",
    ),
    Workaround(
        "complex_functions",
        Stage.LOWERING,
        "Functions of complex numbers overflow early, reduce no arguments and have no special values.",
        Effect.WRONG,
        """
        def program(x):
            return jnp.abs((x + 1j) * 3e37), jnp.exp(x * 0 + jnp.inf + 0j).real
        """,
        "tests/lax/test_special_values.py::test_angles_of_complex_numbers",
        place="lowering/complex.py",
    ),
    # Operations that IREE lacks, or that another algorithm does better.
    Workaround(
        "sorts",
        Stage.LOWERING,
        "A sort is not stable, and takes quadratic time.",
        Effect.WRONG,
        """
        def program(x):
            return jnp.argsort(jnp.floor(jnp.tile(x.reshape(16), 4)))
        """,
        "test_lowering.py::test_sort_is_stable",
        place="lowering/sorting.py",
    ),
    Workaround(
        "fourier_transforms",
        Stage.LOWERING,
        "Fourier transforms over several axes, of other lengths than powers of 2, and in double precision are refused.",
        Effect.REFUSED,
        """
        def program(x):
            return jnp.fft.fft(x[0, :3])
        """,
        "test_workaround_table.py::test_right_with_it",
        place="lowering/fft.py",
    ),
    Workaround(
        "decompositions",
        Stage.LOWERING,
        "Cholesky factors and triangular systems are refused.",
        Effect.REFUSED,
        """
        def program(x):
            return jnp.linalg.cholesky(x @ x.T + jnp.eye(4))
        """,
        "test_workaround_table.py::test_right_with_it",
        place="lowering/linalg.py",
    ),
    Workaround(
        "hidden_random_state",
        Stage.LOWERING,
        "Random numbers from a hidden state are the same at every call.",
        Effect.UNSEEN,
        """
        def program(x):
            return lax.rng_uniform(x[0, 0], x[0, 0] + 1, (3,))
        """,
        "test_lowering.py::test_random_numbers_of_a_hidden_state_differ_from_call_to_call",
        because="the values of one call are as good as any other; two calls differ with it and do not without",
        place="lowering/random_generators.py",
    ),
)
