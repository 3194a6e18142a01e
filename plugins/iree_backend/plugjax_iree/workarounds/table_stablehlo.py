"""Rows about StableHLO programs: defects that arise between operations."""

from plugjax_iree.workarounds.row import Effect, Stage, Workaround

INLINED_AND_STABLEHLO = (
    Workaround(
        "called_functions",
        Stage.INLINED,
        "A transposition with one elementwise user is not converted; the passes that remove it run before functions are inlined.",
        Effect.UNSEEN,
        """
        def program(x):
            inner = plugjax.jit(lambda x, y: jnp.sin(x) * y)

            def twice(x):
                return inner(x, x * 2.0) + inner(x, 1.0)

            columns = jnp.stack([x[0, :3], x[1, :3]], -1)
            return plugjax.vmap(plugjax.hessian(twice), -1, -1)(columns)
        """,
        "test_fused_users.py::test_values_are_those_of_numpy",
        because="this transposition is converted now; the workarounds that follow read a program without calls",
        passes="inline",
        place="compile/pipeline.py",
    ),
    Workaround(
        "equal_copies",
        Stage.INLINED,
        "Copies in a function become equal operations if it is inlined twice; one of them is eliminated, and two loops write into one buffer.",
        Effect.WRONG,
        """
        def program(x):
            def step(i, c):
                return c + jnp.sum(lax.map(lambda q: q * 2, x[i]))

            return lax.fori_loop(0, 4, step, 0.0, unroll=2)
        """,
        "test_loops.py::test_unrolled_loops",
    ),
    Workaround(
        "transposed_products",
        Stage.STABLEHLO,
        "The result of a product that is transposed is transposed tile by tile, in code that takes half as long again to compile.",
        Effect.UNSEEN,
        """
        def program(x):
            return plugjax.grad(lambda w: jnp.sum(jnp.sin(x @ w)))(x) - x
        """,
        "test_products.py::test_transposed_products",
        because="a training step of a transformer takes 1.07 times as long to compile, and its results are the same",
    ),
    Workaround(
        "special_constants",
        Stage.STABLEHLO,
        "LLVM folds constants differently from the processor: the sigmoid of a constant nan is 0.95, and subnormal constants are not flushed to zero.",
        Effect.WRONG,
        """
        def program(x):
            return plugjax.nn.sigmoid(jnp.array([0.0, np.nan, 1.0, np.inf])) * x
        """,
        "test_special_constants.py::test_functions_of_special_constants",
    ),
    Workaround(
        "constant_chains",
        Stage.STABLEHLO,
        "Constant expressions are rematerialised in every user; a chain in which each value has two users grows exponentially.",
        Effect.SLOW,
        """
        def program(x):
            a = jnp.arange(4, dtype=np.uint32)
            b = a + 1
            for _ in range(20):
                a = a + b
                b = ((b << 13) | (b >> 19)) ^ a
            return x + (b % 7).astype(np.float32)
        """,
        "test_workarounds.py::test_values_are_those_of_numpy",
    ),
    Workaround(
        "constant_reductions",
        Stage.STABLEHLO,
        "The reduction of a splat is folded to its element: the sum of `ones(4) / 4` is 0.25.",
        Effect.WRONG,
        """
        def program(x):
            return jnp.sum(jnp.ones(4) / 4) + x
        """,
        "test_constant_reductions.py::test_they_are_what_numpy_computes",
    ),
    Workaround(
        "paired_results",
        Stage.STABLEHLO,
        "A transposition of one result of a reduction with several results is fused into the reduction, which then lacks the others.",
        Effect.CRASH,
        """
        def program(x):
            def three(x):
                return x * jnp.floor(x * 3).astype(np.int32), jnp.argmax(x), x.astype(np.int8)

            def along_a_last_axis(f):
                return lambda x: plugjax.vmap(f, -1, -1)(jnp.stack([x, x * 0.5], -1))

            return along_a_last_axis(along_a_last_axis(three))(x[0, :3])
        """,
        "test_fused_users.py::test_values_are_those_of_numpy",
    ),
    Workaround(
        "paired_reductions",
        Stage.STABLEHLO,
        "An operation that reads the result of a reduction along two different axes reads it along one: `r[:, None] - r[None, :]` is 0.",
        Effect.WRONG,
        """
        def program(x):
            r = jnp.sum(x, axis=1)
            return r[:, None] - r[None, :]
        """,
        "test_workarounds.py::test_values_are_those_of_numpy",
        beside=("paired_readings",),
    ),
    Workaround(
        "unsigned_products",
        Stage.STABLEHLO,
        "A conversion from unsigned numbers or bools is fused into its product as a conversion from signed numbers: 254 becomes -2, True -1.",
        Effect.WRONG,
        """
        def program(x):
            images = (x * 10 + 200).astype(jnp.uint8)
            return images.astype(jnp.float32) @ x
        """,
        "test_products.py::test_unsigned",
    ),
    Workaround(
        "sliced_vectors",
        Stage.STABLEHLO,
        "IREE's library of kernels, which integers of 8 bits use, reads the elements of a vector that is a strided slice as if they lay side by side.",
        Effect.WRONG,
        """
        def program(x):
            q = (x * 10).astype(np.int8)
            return lax.dot(q, q[:, 0], preferred_element_type=np.int32)
        """,
        "test_products.py::test_products_of_small_integers_with_a_slice",
    ),
    Workaround(
        "reversed_slices",
        Stage.STABLEHLO,
        "The reversal of a slice with steps is refused for some sizes.",
        Effect.REFUSED,
        """
        def program(x):
            return x[2::-2] * 2, lax.rev(lax.slice(x[0], (0,), (3,), (2,)), (0,))
        """,
        "test_workaround_table.py::test_right_with_it",
        beside=("gathered_slices",),
    ),
    Workaround(
        "single_steps",
        Stage.STABLEHLO,
        'Some slices with steps along an axis of which they take one element are refused ("or a rank-reduced version").',
        Effect.REFUSED,
        """
        def program(x):
            part = x[:2, :3].reshape(1, 2, 1, 3)[:, :, ::2, 2:].reshape(1, 2)
            return lax.pad(part, 0.0, ((0, 1, 0), (0, 0, 0)))
        """,
        "test_workarounds.py::test_values_are_those_of_numpy",
    ),
    Workaround(
        "nested_pads",
        Stage.STABLEHLO,
        "Padding of a padded array is joined with it, and loses the places between the elements.",
        Effect.WRONG,
        """
        def program(x):
            apart = lax.pad(x, jnp.float32(0), ((0, 0, 0), (0, 0, 1)))
            return lax.pad(apart, jnp.float32(0), ((0, 0, 0), (0, 2, 0)))
        """,
        "test_workaround_table.py::test_right_with_it",
    ),
    Workaround(
        "invariant_carries",
        Stage.STABLEHLO,
        "A loop with a carry whose new value is loop-invariant crashes the compiler; a loop that gives two carries one value is refused.",
        Effect.CRASH,
        """
        def program(x):
            def body(s):
                a, _, n = s
                v = jnp.sin(x[0])
                return v + 0 * a, jnp.tanh(v), n + 1

            return lax.while_loop(lambda s: (s[2] < 3) & (s[0].sum() < 99), body, (x[0], x[1], 0))
        """,
        "test_loops.py::test_unrolled_loops",
        beside=("unread_carries",),
    ),
    Workaround(
        "many_operands",
        Stage.STABLEHLO,
        'Operations on more than 32 arrays are fused into one kernel, which the runtime does not call ("binding count 41 > 32").',
        Effect.UNSEEN,
        """
        def program(x):
            return sum(jnp.sin(x * k) for k in range(40))
        """,
        "test_many_operands.py::test_values_are_those_of_numpy",
        because="it has one argument, and all that it computes is in one buffer; of forty arguments the sum is compiled without fusion",
    ),
    Workaround(
        "unread_carries",
        Stage.STABLEHLO,
        "A loop whose body does not read one of its carries is refused, or crashes the compiler.",
        Effect.CRASH,
        """
        def program(x):
            return lax.while_loop(
                lambda s: ~(s[1] | s[2]),
                lambda s: (s[0] / 2, s[0].sum() < 0.5, s[0].max() > 99),
                (jnp.abs(x[0]), False, False),
            )
        """,
        "test_loops.py::test_loops_with_carries_that_the_body_does_not_read",
    ),
    Workaround(
        "late_users",
        Stage.STABLEHLO,
        "The copy before an update is left out although the value has other users; so lowerings insert copies, and needless ones are removed here.",
        Effect.SLOW,
        """
        def program(x):
            table = jnp.zeros((2000, 2048)) + x[0, 0]
            return lax.fori_loop(0, 2000, lambda i, c: c.at[i].add(1.0), table)
        """,
        "test_workarounds.py::test_values_are_those_of_numpy",
    ),
    Workaround(
        "unsigned_carries",
        Stage.STABLEHLO,
        'A carry of unsigned integers that a loop scatters or sorts as it is is refused ("failed to legalize unresolved materialization").',
        Effect.REFUSED,
        """
        def program(x):
            def loop(x, start):
                def step(_, c):
                    return lax.dynamic_update_slice(x, c, (start,))

                return lax.fori_loop(0, 3, step, x * 2)

            return plugjax.vmap(loop)(jnp.abs(x * 10).astype(jnp.uint16), x[0].astype(int))
        """,
        "test_loops.py::test_unsigned_carries_that_are_scattered",
    ),
    Workaround(
        "moved_loops",
        Stage.STABLEHLO,
        'A part of an array that is computed before a loop, which gives another part, is refused ("circular dependency", "operand #4 does not dominate this use").',
        Effect.REFUSED,
        """
        def program(x):
            part, row = jnp.sin(x) @ x, (x @ x)[0]
            end = lax.fori_loop(0, 3, lambda i, c: c.at[i].set(row), x)
            return jnp.concatenate([end, part])
        """,
        "test_workarounds.py::test_values_are_those_of_numpy",
    ),
)
