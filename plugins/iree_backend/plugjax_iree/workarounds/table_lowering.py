"""Rows about lowering rules of updates, loops, reductions and products: defects of single operations."""

from plugjax_iree.workarounds.row import Effect, Stage, Workaround

LOWERING = (
    # Memory: buffers of updates in place.
    Workaround(
        "updated_values",
        Stage.LOWERING,
        "Constants, results of barriers and results of branches are updated in place although they have other users.",
        Effect.WRONG,
        """
        def program(x):
            places = np.array([1, 2, 1, 3])
            return (
                jnp.arange(4.0).at[places].add(x[0]),
                jnp.arange(4.0).at[places].mul(x[1]),
                jnp.arange(4.0),
            )
        """,
        "test_overwriting.py::test_many_at_once",
    ),
    Workaround(
        "overlapping_updates",
        Stage.LOWERING,
        "An update by a slice of its own target, or of what a branch gives, reads the slice while it writes.",
        Effect.WRONG,
        """
        def program(x):
            n = (x[0, 0] < 99).astype(int)

            def step(_, x):
                rows = lax.cond(n > 0, lambda: x, lambda: x * 2)[:3]
                return lax.dynamic_update_slice(x, rows, (n, 0))

            return lax.fori_loop(0, 2, step, x)
        """,
        "test_overwriting.py::test_a_slice_of_what_a_branch_gives",
        beside=("updated_values",),
    ),
    Workaround(
        "whole_updates",
        Stage.LOWERING,
        "An update of a whole array is replaced by the new value itself, and the next update writes into that.",
        Effect.WRONG,
        """
        def program(x, y):
            whole = lax.dynamic_update_slice(x, y, (0, 0))
            return lax.dynamic_update_slice(whole, x[:2], (x[0, 0].astype(int) + 1, 0))
        """,
        "test_overwriting.py::test_an_update_of_everything_is_no_argument",
        arguments=2,
        place="lowering/slicing.py",
        beside=("updated_arguments",),
    ),
    Workaround(
        "written_barriers",
        Stage.LOWERING,
        "The result of an optimization barrier is the buffer of its operand: an update of either changes both.",
        Effect.WRONG,
        """
        def program(x):
            y = x * 2
            return lax.optimization_barrier(y).at[1].add(1.0), y
        """,
        "test_overwriting.py::test_many_at_once",
    ),
    Workaround(
        "unsigned_barriers",
        Stage.LOWERING,
        "A barrier behind an unsigned constant of rank 0 is refused.",
        Effect.REFUSED,
        """
        def program(x):
            return lax.optimization_barrier(jnp.asarray(7, np.uint32)), x * 2
        """,
        "test_loops.py::test_loops_start_with_unsigned_constants",
        place="workarounds/copies.py",
    ),
    # Loops.
    Workaround(
        "shared_carries",
        Stage.LOWERING,
        "A loop that gives an empty argument ends the process; carries that share a buffer lose references, and the buffer is released once for each of them (iree-org/iree pull request 24841).",
        Effect.UNSEEN,
        """
        def program(x):
            def body(s):
                a, b, c, d = s
                keep = b.sum() + lax.max(b, -a).sum() * 1e-6 < 10
                return (
                    a * 2 + 1,
                    b * 2 + 1,
                    jnp.where(keep, c, jnp.minimum(c, a)),
                    jnp.where(keep, d, jnp.maximum(d, b)),
                )

            return lax.while_loop(lambda s: s[0].sum() < 10, body, (x, x + 1, x, x + 1))
        """,
        "test_loops.py::test_loops_that_give_empty_arguments",
        because="its argument is not empty, and its carries share no buffer unless IREE copies what they begin with",
    ),
    Workaround(
        "ended_loops",
        Stage.LOWERING,
        "The compiler crashes on a loop whose last step waits for an inner loop alone, if another such loop uses its results.",
        Effect.CRASH,
        """
        def program(x):
            def grown(c):
                return lax.while_loop(lambda v: v < 3, lambda v: v * v + 1, c)

            def loop(x):
                return lax.scan(lambda c, a: (grown(c * a), c), x[0], x)

            x = x[0, :3]
            _, tangents = plugjax.linearize(loop, x * 1.0)
            return tangents(x)
        """,
        "test_loops.py::test_loops_that_end_in_loops",
        beside=("scalar_loops", "counted_memory"),
    ),
    Workaround(
        "copied_carries",
        Stage.LOWERING,
        "A loop copies a carry before each update of a part of it: a scan that stacks its outputs takes quadratic time.",
        Effect.SLOW,
        """
        def program(x):
            start = jnp.zeros(4096) + x[0, 0]
            return lax.scan(lambda c, _: (c + 1, c), start, None, length=800)
        """,
        "test_overwriting.py::test_a_loop_writes_its_outputs_in_place",
    ),
    # Reductions.
    Workaround(
        "narrow_sums",
        Stage.LOWERING,
        "Sums and products of 16-bit floats are rounded at each step, and converted again for every product (140 times slower).",
        Effect.WRONG,
        """
        def program(x):
            return jnp.cumsum(jnp.tile(jnp.abs(x).reshape(16), 64).astype(jnp.bfloat16))
        """,
        "tests/lax/test_long_sums.py::test_long_sums",
        place="lowering/sums.py",
    ),
    Workaround(
        "long_sums",
        Stage.LOWERING,
        "Sums are added in the order of memory, a few side by side: that of 2**24 numbers 1.1 errs by 0.5 %.",
        Effect.WRONG,
        """
        def program(x):
            return jnp.sum(jnp.zeros(1 << 24) + x[0, 0] * 0 + 1.1)
        """,
        "tests/lax/test_long_sums.py::test_long_sums",
        place="lowering/sums.py",
    ),
    Workaround(
        "unsigned_cumulations",
        Stage.LOWERING,
        "Cumulative operations on unsigned integers are refused.",
        Effect.REFUSED,
        """
        def program(x):
            return lax.cummax(jnp.abs(x * 10).astype(jnp.uint8), 1)
        """,
        "test_lowering.py::test_structural",
        place="lowering/reduction.py",
    ),
    Workaround(
        "complex_cumulations",
        Stage.LOWERING,
        "On Vulkan devices cumulative sums and products of complex numbers end the process.",
        Effect.UNSEEN,
        """
        def program(x):
            return jnp.cumsum(x + 1j, 0)
        """,
        "test_vulkan.py::test_cumulative_sums_of_complex_numbers",
        place="lowering/sums.py",
        because="because it is seen on Vulkan devices only",
    ),
    Workaround(
        "window_starts",
        Stage.LOWERING,
        "All reductions over windows of one type accumulate into one buffer: the second starts with the result of the first.",
        Effect.WRONG,
        """
        def program(x):
            def pooled(x):
                return lax.reduce_window(x, -jnp.inf, lax.max, (2, 2), (2, 2), "VALID")

            return pooled(x + 5), pooled(x)
        """,
        "test_windows.py::test_two_of_one_type",
    ),
    Workaround(
        "several_windows",
        Stage.LOWERING,
        "Reductions over windows with several operands are taken for one another if their shapes agree.",
        Effect.WRONG,
        """
        def program(x):
            def pooled(v):
                return lax.reduce_window(v, -jnp.inf, lax.max, (2,), (1,), "SAME")

            def loss(a, b):
                return jnp.sum(pooled(a) * 2) + jnp.sum(pooled(b) * 3)

            return plugjax.grad(loss, (0, 1))(x[0], x[1])
        """,
        "test_windows.py::test_two_of_one_shape",
        place="lowering/windowed.py",
    ),
    Workaround(
        "unread_ends",
        Stage.LOWERING,
        "Windows and convolutions with one position along an axis are refused if they do not reach its end.",
        Effect.REFUSED,
        """
        def program(x):
            return lax.reduce_window(x[:3, :3], 0.0, lax.add, (2, 2), (2, 2), "VALID")
        """,
        "test_windows.py::test_windows_that_do_not_reach_the_end",
        place="lowering/windowed.py",
    ),
    Workaround(
        "cumulative_windows",
        Stage.LOWERING,
        "A window as long as its axis with `size - 1` places of padding is taken for a cumulative sum, even with padding on the other side, and refused.",
        Effect.REFUSED,
        """
        def program(x):
            return lax.reduce_window(x[0, :3], 0.0, lax.add, (3,), (1,), [(2, 1)])
        """,
        "test_windows.py::test_windows_that_do_not_reach_the_end",
        place="lowering/windowed.py",
    ),
    # Products.
    Workaround(
        "empty_contractions",
        Stage.LOWERING,
        "The compiler crashes with a division by zero if the contracted axis of a product is empty.",
        Effect.CRASH,
        """
        def program(x):
            return x[:, :0] @ x[:0]
        """,
        "test_lowering.py::test_dot_over_nothing_is_zero",
        place="lowering/dot.py",
    ),
    Workaround(
        "unsigned_factors",
        Stage.LOWERING,
        "Unsigned factors of a product with a wider result type are sign-extended.",
        Effect.WRONG,
        """
        def program(x):
            images = (x * 10 + 200).astype(jnp.uint8)
            numbers = (((1,), (0,)), ((), ()))
            return lax.dot_general(images, images, numbers, preferred_element_type=jnp.int32)
        """,
        "test_products.py::test_unsigned",
        place="lowering/dot.py",
    ),
    Workaround(
        "feature_order",
        Stage.LOWERING,
        "Convolutions with features first, and above all their gradients, are up to 24 times slower; transpositions to features last are undone unless a barrier separates them.",
        Effect.SLOW,
        """
        def program(x):
            def numbers(*shape):
                return jnp.sin(jnp.arange(float(np.prod(shape))) * x[0, 0]).reshape(shape)

            def loss(images, kernel):
                return (lax.conv_general_dilated(images, kernel, (1, 1), "SAME") ** 2).sum()

            return plugjax.grad(loss, (0, 1))(numbers(8, 16, 28, 28), numbers(16, 16, 3, 3))
        """,
        "test_products.py::test_convolutions_of_dilated_arrays",
        beside=("convolution_products",),
        place="lowering/convolution.py",
    ),
    Workaround(
        "dilated_groups",
        Stage.LOWERING,
        "The holes of a dilated kernel with feature groups are filled with zeros: elements that no tap reads give nan if they are not finite.",
        Effect.WRONG,
        """
        def program(x):
            images = jnp.concatenate([x, x], 1).reshape(1, 4, 8).at[0, 1, 1].set(jnp.nan)
            kernel = jnp.ones((4, 2, 2)) + x[0, 0]
            return lax.conv_general_dilated(
                images, kernel, (4,), "VALID", rhs_dilation=(3,), feature_group_count=2
            )
        """,
        "test_products.py::test_kernels_with_holes_leave_out_what_no_tap_reads",
        place="lowering/convolution.py",
    ),
    Workaround(
        "convolution_products",
        Stage.LOWERING,
        "Convolutions are slow on processors without AVX-512: a third of the speed of matrix products, and less than a tenth if an image is 7 or 14 elements wide.",
        Effect.SLOW,
        """
        def program(x):
            images, kernel = jnp.tile(x, (8, 14, 14, 32))[:, :, :14], jnp.tile(x, (3, 3, 32, 32))
            return lax.conv_general_dilated(
                images, kernel, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC")
            )
        """,
        "test_products.py::test_large_convolutions",
        place="lowering/convolution_products.py",
        options=(("iree-llvmcpu-target-cpu", "haswell"),),
    ),
    Workaround(
        "sums_of_rows",
        Stage.LOWERING,
        "The sum of the rows of a large table is five times as slow as adding slices of it.",
        Effect.UNSEEN,
        """
        def program(x):
            return jnp.tile(x, (256, 128)).sum(0)
        """,
        "test_products.py::test_sums_of_rows",
        because="to make a large matrix of its small argument takes longer than what follows",
        place="lowering/sums.py",
    ),
    Workaround(
        "vector_products",
        Stage.LOWERING,
        "With data tiling a product of a matrix and a vector packs the matrix before, and takes six times as long as without.",
        Effect.SLOW,
        """
        def program(x):
            matrix = lax.optimization_barrier(jnp.tile(x, (250, 250)))
            large = matrix[:300] @ matrix[:, :300]
            return large, lax.fori_loop(0, 2000, lambda i, v: matrix @ v * 1e-3, matrix[0])
        """,
        "test_products.py::test_matrices_and_vectors",
        place="lowering/vectors.py",
    ),
    Workaround(
        "vulkan_groups",
        Stage.LOWERING,
        "On Vulkan devices convolutions in groups of several features are wrong, unless the kernel has one tap.",
        Effect.UNSEEN,
        """
        def program(x):
            images = jnp.concatenate([x, x], 1).reshape(1, 4, 8)
            return lax.conv_general_dilated(
                images, jnp.ones((4, 2, 2)) + x[0, 0], (1,), "VALID", feature_group_count=2
            )
        """,
        "test_vulkan.py::test_convolutions_in_groups",
        place="lowering/convolution.py",
        because="because it is seen on Vulkan devices only",
    ),
    Workaround(
        "vulkan_logarithms",
        Stage.LOWERING,
        "On Vulkan devices 1 is added before the logarithm is taken, and little is left of small numbers.",
        Effect.UNSEEN,
        """
        def program(x):
            return jnp.log1p(x * 1e-8), jnp.arcsinh(x * 1e-8), jnp.arctanh(x * 1e-8)
        """,
        "test_vulkan_arithmetic.py::test_functions_of_large_and_small_numbers",
        place="lowering/small_numbers.py",
        because="because it is seen on Vulkan devices only",
    ),
    Workaround(
        "vulkan_sorts",
        Stage.LOWERING,
        "On Vulkan devices a sort of arrays one of which nothing reads afterwards is refused in some shapes, and crashes the compiler in others.",
        Effect.UNSEEN,
        """
        def program(x):
            return jnp.sort(jnp.tile(x, (1, 8)), 1)
        """,
        "test_vulkan.py::test_sorts",
        place="lowering/sorting.py",
        because="because it is seen on Vulkan devices only",
    ),
    Workaround(
        "vulkan_integers",
        Stage.LOWERING,
        "On Vulkan devices quotients, remainders and leading zeros of arrays of unsigned integers are refused, and the remainder of the smallest signed integer has the wrong sign.",
        Effect.UNSEEN,
        """
        def program(x):
            return x.astype(jnp.uint32) // jnp.uint32(3)
        """,
        "test_vulkan_arithmetic.py::test_quotients_of_integers",
        place="lowering/division.py",
        because="because it is seen on Vulkan devices only",
    ),
    Workaround(
        "vulkan_remainders",
        Stage.LOWERING,
        "On Vulkan devices the remainder of floats errs by the rounding of the quotient: by as much as the divisor if that is large.",
        Effect.UNSEEN,
        """
        def program(x):
            return lax.rem(x * 1e10, jnp.float32(3))
        """,
        "test_vulkan_arithmetic.py::test_functions_of_large_and_small_numbers",
        place="lowering/arithmetic.py",
        because="because it is seen on Vulkan devices only",
    ),
)
