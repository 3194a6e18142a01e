"""Rows about kernels: how a program is divided into them, and how IREE schedules and translates them."""

from plugjax_iree.workarounds.row import Effect, Stage, Workaround

KERNELS = (
    Workaround(
        "shared_kernels",
        Stage.FLOW,
        'A kernel that reads nothing, whose result is read before and after a loop, is refused ("streamable op expected to be in an execution region").',
        Effect.REFUSED,
        """
        def program(x):
            def sums(start, rows):
                def step(total, _):
                    chosen = rows.at[jnp.array([1, 0, 1], jnp.int8)].get(mode="promise_in_bounds")
                    return total * 0.5 + jnp.tanh(chosen.sum()), None

                return lax.scan(step, start, None, 5, unroll=2)[0]

            return sums(x[0], x), sums(x[0] + 1, x[::-1])
        """,
        "test_workarounds.py::test_values_are_those_of_numpy",
    ),
    Workaround(
        "gathered_slices",
        Stage.FLOW,
        'Some gathers from slices with gaps between their elements are refused ("LLVM Translation failed").',
        Effect.REFUSED,
        """
        def program(x):
            def total(x):
                places = x[:3, 0].astype(int)
                return jnp.sin(lax.slice(x, (0, 3), (3, 4), (2, 2))[places]).sum()

            return plugjax.grad(total)(x)
        """,
        "test_workarounds.py::test_values_are_those_of_numpy",
    ),
    Workaround(
        "gathered_scalars",
        Stage.FLOW,
        "A number that is computed of a reduction and of elements at computed places ends the process, or is refused.",
        Effect.CRASH,
        """
        def program(x):
            place = jnp.searchsorted(x[0], jnp.float32(0), method="scan_unrolled")
            return lax.cond(x[1, 1] == 0, lambda: place, lambda: place + jnp.any(x[2] != 0))
        """,
        "test_gathered_rows.py::test_numbers_of_elements_and_reductions",
    ),
    Workaround(
        "halves_read_back",
        Stage.FLOW,
        'A number of 16 bits that reductions begin with and arrays in several loops are padded with is refused ("failed to legalize unresolved materialization").',
        Effect.REFUSED,
        """
        def program(x):
            x = x.astype(jnp.float16)
            first = x[0, 0]

            def loop(edge):
                edges = ((edge, edge, 0),) * 2
                return lax.fori_loop(0, 4, lambda i, c: lax.pad(c, first, edges)[:4, :4], x)

            return lax.reduce(x, first, lax.max, (0, 1)), loop(1), loop(2)
        """,
        "test_workarounds.py::test_values_are_those_of_numpy",
    ),
    Workaround(
        "ordered_loops",
        Stage.FLOW,
        'A kernel whose results are read by a loop and behind it is refused ("circular dependency").',
        Effect.REFUSED,
        """
        def program(x):
            z = jnp.exp(x)
            return lax.fori_loop(0, 5, lambda i, c: jnp.sin(c), z) * z
        """,
        "test_loops.py::test_what_is_computed_before_a_loop_is_fused",
        beside=("scalar_loops",),
    ),
    Workaround(
        "adjacent_fills",
        Stage.FLOW,
        'A part that is set to one number, just before one that was set to it, is refused ("start > end", "start + length != end").',
        Effect.REFUSED,
        """
        def program(x):
            return x.at[np.array([2])].set(0.0).at[np.array([1])].set(0.0)
        """,
        "test_overwriting.py::test_parts_that_are_set_to_one_number",
    ),
    Workaround(
        "hidden_sizes",
        Stage.FLOW,
        'A value behind a barrier that several loops or branches read is refused ("operand #1 does not dominate this use").',
        Effect.REFUSED,
        """
        def program(x):
            start = lax.broadcasted_iota("float32", (4, 4), 0)

            def branch(x, p):
                def loop():
                    return lax.fori_loop(0, p.astype(int), lambda i, c: c[::-1] * x + c, start)

                return lax.cond(p > 0, loop, lambda: start)

            y = branch(x, x[0, 0])
            return y, branch(x + 1, x[0, 1])
        """,
        "test_workarounds.py::test_values_are_those_of_numpy",
    ),
    Workaround(
        "permuted_sums",
        Stage.FLOW,
        "On Vulkan devices, a sum whose loops are not in the order of the axes of its result is filled with zeros after some numbers were added.",
        Effect.UNSEEN,
        """
        def program(x):
            images, kernel = jnp.stack([x[:, :2], x[:, 2:]]), x.reshape(4, 2, 2)[:, :, :1]
            return lax.conv_general_dilated(images, kernel, (2,), "SAME", feature_group_count=2)
        """,
        "test_vulkan.py::test_convolutions_in_groups_that_skip_columns",
        because="because it is seen on Vulkan devices only",
    ),
    Workaround(
        "one_queue",
        Stage.FLOW,
        "On Vulkan devices what only copies has a queue of its own, and two threads that wake it at once may lose the device.",
        Effect.UNSEEN,
        """
        def program(x):
            return lax.cond(x[0, 0] > 0, jnp.sin, jnp.cos, x)
        """,
        "test_one_queue.py::test_programs_for_vulkan_use_one_queue",
        because="because it is seen on Vulkan devices only",
    ),
    Workaround(
        "streamed_products",
        Stage.KERNELS,
        "Products of a vector and a matrix go through memory in steps of a row.",
        Effect.UNSEEN,
        """
        def program(x):
            return x[0] @ jnp.tile(x, (1, 8192))
        """,
        "test_products.py::test_matrices_and_vectors",
        because="the largest take up to ten times as long, and are the same up to rounding",
    ),
    Workaround(
        "row_updates",
        Stage.KERNELS,
        "Scatters of rows read the place of a row for each of its elements, and write number by number.",
        Effect.UNSEEN,
        """
        def program(x):
            return x.at[jnp.array([2, 0, 2])].add(x[1:])
        """,
        "test_row_updates.py::test_values_are_those_of_numpy",
        because="a call takes 1.4 to 2.4 times as long, and the results are the same",
    ),
    Workaround(
        "gathered_rows",
        Stage.KERNELS,
        "Gathers read the elements of a row one by one.",
        Effect.UNSEEN,
        """
        def program(x):
            return x[jnp.array([2, 0, 2]) + x[0, 0].astype(int)]
        """,
        "test_gathered_rows.py::test_values_are_those_of_numpy",
        because="rows of 128 numbers take several times as long, and are the same",
    ),
    Workaround(
        "single_roundings",
        Stage.KERNELS,
        "A product and a sum in one rounding is computed in float64, as StableHLO has no operation for it.",
        Effect.UNSEEN,
        """
        def program(x):
            return lax.erf_inv(x)
        """,
        "test_long_functions.py::test_values_are_those_of_numpy",
        because="the inverse error function takes several times as long, and is the same",
    ),
    Workaround(
        "long_functions",
        Stage.KERNELS,
        "Long functions are computed for one vector of elements after the other.",
        Effect.UNSEEN,
        """
        def program(x):
            return plugjax.random.normal(plugjax.random.key(0), (4096,)) + x[0, 0]
        """,
        "test_long_functions.py::test_values_are_those_of_numpy",
        because="random numbers take a third more time, and are the same",
    ),
    Workaround(
        "softmax",
        Stage.KERNELS,
        "Softmax is one operation until its kernel is translated, and its reductions are not those of `row_reductions`.",
        Effect.UNSEEN,
        """
        def program(x):
            return plugjax.nn.softmax(jnp.tile(x, (2, 8)))
        """,
        "test_row_reductions.py::test_values_are_those_of_numpy",
        because="it takes up to 1.8 times as long, and is the same up to rounding",
    ),
    Workaround(
        "row_reductions",
        Stage.KERNELS,
        "Elements of rows that lie side by side are reduced to one number in each step.",
        Effect.UNSEEN,
        """
        def program(x):
            x = jnp.tile(x, (2, 8))
            return x.sum(-1), x.max(-1), (x * x).sum(-1)
        """,
        "test_row_reductions.py::test_values_are_those_of_numpy",
        because="sums and maxima of rows take three times as long, and are the same up to rounding",
    ),
    Workaround(
        "uneven_products",
        Stage.KERNELS,
        'A sum of products of which one factor lacks an axis that is added over is refused ("invalid accumulator/result vector shape").',
        Effect.REFUSED,
        """
        def program(x):
            return jnp.sum(x * x[0])
        """,
        "test_products.py::test_factors_that_lack_an_axis",
    ),
    Workaround(
        "grouped_kernels",
        Stage.KERNELS,
        "IREE sets up its passes for each kernel anew, and LLVM compiles all kernels on one core.",
        Effect.UNSEEN,
        """
        def program(x):
            return jnp.sin(x @ x)
        """,
        "test_grouped_kernels.py::test_values_are_those_of_numpy",
        because="a program of many kernels compiles in 1.1 to 1.3 times the time on two cores, and its results are the same",
    ),
    Workaround(
        "counted_memory",
        Stage.UNCOUNTED,
        "Where IREE counts users of memory, some programs with loops crash the compiler, and on Vulkan devices release memory that they must not, which is refused when they run. Without the counts, it is released where nothing refers to it any longer.",
        Effect.UNSEEN,
        """
        def program(x):
            return lax.fori_loop(0, 5, lambda i, c: jnp.sin(c @ x), x)
        """,
        "test_schedules.py::test_a_module_that_crashed_is_scheduled_otherwise",
        because="because it is seen on Vulkan devices only, and in large programs",
        passes="iree-stream-tensor-transformation-pipeline,iree-stream-async-transformation-pipeline,iree-stream-schedule-allocation,"
        "util.initializer(iree-stream-pack-constants,iree-stream-layout-slices,canonicalize),"
        "util.func(iree-stream-pack-constants,iree-stream-layout-slices,canonicalize),"
        "iree-util-propagate-subranges,iree-stream-cleanup-pipeline,iree-stream-verify-lowering-to-cmd,"
        "iree-stream-optimization-pipeline,iree-stream-cleanup-pipeline,symbol-dce",
        place="compile/pipeline.py",
    ),
    Workaround(
        "unsettled_timepoints",
        Stage.UNSETTLED,
        'Timepoints of some loops are written and taken away again, without an end ("maximum iteration count exceeded in fixed point pipeline").',
        Effect.UNSEEN,
        """
        def program(x):
            return lax.fori_loop(0, 5, lambda i, c: jnp.cos(c @ x), x)
        """,
        "test_schedules.py::test_a_schedule_that_does_not_settle_is_taken_as_it_is",
        because="because the programs that show it are large",
        passes="iree-stream-verify-lowering-to-cmd,iree-stream-fuse-dispatch-bindings,iree-stream-annotate-dispatch-arguments,iree-stream-annotate-dispatch-assumptions,"
        "iree-stream-pack-dispatch-operands,iree-stream-cleanup-pipeline,iree-stream-fold-uniform-operands,iree-stream-cleanup-pipeline,symbol-dce",
    ),
    Workaround(
        "kept_copies",
        Stage.SCHEDULED,
        "On Vulkan devices, steps that only copy use the memory of the first call again.",
        Effect.UNSEEN,
        """
        def program(x):
            return x[0], x[2:]
        """,
        "test_kept_copies.py::test_commands_that_only_copy_are_for_one_use",
        because="because it is seen on Vulkan devices only",
    ),
    Workaround(
        "vector_tiles",
        Stage.CONFIGURED,
        "With AVX-512 tiles must divide an array: matrices and images of odd sizes are computed number by number.",
        Effect.UNSEEN,
        """
        def program(x):
            x = jnp.tile(x, (1, 30))[:, :119]
            return x.T @ x
        """,
        "test_vector_tiles.py::test_values_are_those_of_numpy",
        because="products of matrices of a prime size take up to thirty times as long, and are the same up to rounding",
    ),
    Workaround(
        "product_tiles",
        Stage.CONFIGURED,
        "Products of matrices unroll as many terms of a sum as a vector has elements.",
        Effect.UNSEEN,
        """
        def program(x):
            x = jnp.tile(x, (4, 4))
            return x @ x
        """,
        "test_vector_tiles.py::test_values_are_those_of_numpy",
        because="a training step of a transformer takes 1.2 times as long to compile, and its results are the same",
    ),
    Workaround(
        "vulkan_slices",
        Stage.CONFIGURED,
        "On Vulkan devices, kernels read vectors of a slice from the multiple of their length before the first element of the slice.",
        Effect.UNSEEN,
        """
        def program(x):
            return jnp.tile(x, (1, 9))[:, 6:30] * 2
        """,
        "test_vulkan.py::test_slices_within_vectors",
        because="because it is seen on Vulkan devices only",
    ),
    Workaround(
        "idle_threads",
        Stage.TRANSLATED,
        "On Vulkan devices, several threads of Fourier transforms, convolutions and products may compute the same numbers in the same memory.",
        Effect.UNSEEN,
        """
        def program(x):
            return jnp.abs(jnp.fft.fft(jnp.tile(x, (1, 2))))
        """,
        "test_vulkan.py::test_no_thread_computes_what_another_does",
        because="because it is seen on Vulkan devices only",
    ),
    Workaround(
        "awaited_threads",
        Stage.TRANSLATED,
        "On Vulkan devices, threads read from memory that they share what other threads may not have written yet: sums that are transposed, and factors that are filled.",
        Effect.UNSEEN,
        """
        def program(x):
            sums = x[:, :, None] + x[:, None, :]
            return jnp.sum(sums, 0).T * x[0]
        """,
        "test_vulkan.py::test_sums_that_other_threads_read",
        because="because it is seen on Vulkan devices only",
    ),
    Workaround(
        "exact_arithmetic",
        Stage.TRANSLATED,
        "On Vulkan devices, the driver may compute (x + y) - x as y, and x - x as 0 where x is infinite.",
        Effect.UNSEEN,
        """
        def program(x):
            return (x + 1e9) - 1e9
        """,
        "test_vulkan_arithmetic.py::test_arithmetic_is_exact",
        because="because it is seen on Vulkan devices only",
    ),
    Workaround(
        "hidden_zeros",
        Stage.TRANSLATED,
        "On Vulkan devices, the driver may compute x * 0 and x / 0 as 0, also of nan, where it knows that a number is zero.",
        Effect.UNSEEN,
        """
        def program(x):
            return x * 0, x / 0
        """,
        "test_vulkan_arithmetic.py::test_products_by_zero",
        because="because it is seen on Vulkan devices only",
    ),
)
