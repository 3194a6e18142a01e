"""The table of workarounds, in the order in which they run."""

from plugjax_iree.workarounds.row import Effect, Stage, Workaround
from plugjax_iree.workarounds.table_functions import FUNCTIONS
from plugjax_iree.workarounds.table_kernels import KERNELS
from plugjax_iree.workarounds.table_lowering import LOWERING
from plugjax_iree.workarounds.table_memory import DONATION_AND_PROGRAM, RESULTS
from plugjax_iree.workarounds.table_stablehlo import INLINED_AND_STABLEHLO

_WHOLE = (
    Workaround(
        "moved_reshapes",
        Stage.STRUCTURED,
        'A function of a reshaped array that is computed twice, before a loop and in it or of what the array is broadcast to, ends the process or is refused ("failed to legalize operation").',
        Effect.REFUSED,
        """
        def program(x):
            n = jnp.round(x).astype("int8")[0]
            y = x / n.astype("float32")
            return lax.fori_loop(0, 2, lambda i, c: c + jnp.sin(n.astype("float32")).sum(), y)
        """,
        "test_loops.py::test_what_is_computed_before_a_loop_is_fused",
        passes="func.func(iree-stablehlo-legalize-control-flow,canonicalize,cse,iree-stablehlo-canonicalize),"
        "iree-stablehlo-to-stablehlo-preprocessing{order-conv-features=true},func.func(cse,iree-stablehlo-canonicalize)",
        place="compile/pipeline.py",
    ),
    Workaround(
        "fused_users",
        Stage.FLAGS,
        "Operations with several users are fused; of two results that become equal thereby, one is lost, and users of the results behind it keep their old positions.",
        Effect.WRONG,
        """
        def program(x):
            half = x * 0.5
            one, other = half * x, x * half
            return one + x @ x, half, one, other
        """,
        "test_fused_users.py::test_values_are_those_of_numpy",
        beside=("early_fusion",),
    ),
    Workaround(
        "hoisted_constants",
        Stage.FLAGS,
        "Constant expressions of scalar literals are compiled and run one by one while the module is compiled.",
        Effect.SLOW,
        """
        def program(x):
            return plugjax.scipy.stats.t.logpdf(x, 3.0, 0.5, 2.0)
        """,
        "test_workaround_table.py::test_right_with_it",
    ),
    Workaround(
        "scalar_loops",
        Stage.LINALG,
        "A step of a loop over scalars takes 7 to 15 us, because kernels are started and the condition is read back.",
        Effect.SLOW,
        """
        def program(x):
            return lax.while_loop(
                lambda s: s[0] < 2000,
                lambda s: (s[0] + 1, s[1] * 0.5 + s[2], s[2] - s[1]),
                (0, x[0, 0], x[0, 1]),
            )
        """,
        "test_scalar_loops.py::test_loops",
    ),
    Workaround(
        "transposed_results",
        Stage.LINALG,
        'A loop of two carries whose results are transposed is refused ("expected number of yield values (2) to match the number of inits").',
        Effect.REFUSED,
        """
        def program(x):
            def step(i, c):
                return c[0] * 1.5 + 1, c[1] + c[0]

            return [y.T for y in lax.fori_loop(0, 9, step, (x, x * 2))]
        """,
        "test_scalar_loops.py::test_results_that_are_transposed",
    ),
    Workaround(
        "partial_users",
        Stage.FUSION,
        "A producer with several users is fused into one that reads a part of it, and the other users get that part only.",
        Effect.WRONG,
        """
        def program(x):
            y = jnp.tanh(x)
            return jnp.sum(y[:, np.array([0, 0])], 1), y.at[:, 1].set(0.0)
        """,
        "test_fused_users.py::test_values_are_those_of_numpy",
    ),
    Workaround(
        "leading_broadcasts",
        Stage.FUSION,
        "On Vulkan devices a part of the result is not written if a reduction, or what is read twice, is repeated along an axis before its own, for some lengths.",
        Effect.UNSEEN,
        """
        def program(x):
            x = jnp.tile(x, (10, 13))[:, :50]
            return x - jnp.max(x, 0)
        """,
        "test_vulkan.py::test_values_that_are_repeated",
        because="because it is seen on Vulkan devices only",
    ),
    Workaround(
        "widened_operands",
        Stage.FUSION,
        "On Vulkan devices sums along the first axis of what is widened, and read twice, lack elements.",
        Effect.UNSEEN,
        """
        def program(x):
            x = x.astype(jnp.bfloat16).astype(jnp.float32)
            return x - x.sum(0)
        """,
        "test_vulkan.py::test_narrow_numbers_that_are_read_twice",
        because="because it is seen on Vulkan devices only",
    ),
    Workaround(
        "stored_constants",
        Stage.FUSION,
        "On Vulkan devices arrays of constants of bfloat16, and of complex numbers, are refused within kernels.",
        Effect.UNSEEN,
        """
        def program(x):
            return x.astype(jnp.bfloat16) + jnp.array([1, 2, 3, 4], jnp.bfloat16)
        """,
        "test_vulkan.py::test_constants",
        because="because it is seen on Vulkan devices only",
    ),
    Workaround(
        "paired_readings",
        Stage.FUSION,
        "Of a result that reads one reduction along two of its axes, only blocks on the diagonal are written.",
        Effect.WRONG,
        """
        def program(x):
            s = x.sum(1)
            return jnp.einsum("i,j->ij", s, s)
        """,
        "test_fused_users.py::test_values_are_those_of_numpy",
    ),
    Workaround(
        "sliced_fills",
        Stage.FUSION,
        'Some slices of an array that turns out to be of one number are refused ("restricted to workgroup distributed contexts").',
        Effect.REFUSED,
        """
        def program(x):
            zeros = lax.cond(x[0, 0] > 0, lambda: jnp.zeros((4, 4)), lambda: jnp.zeros((4, 4)))
            part = lax.slice(lax.rev(zeros, (1,)), (0, 0), (4, 1), (1, 2))
            return lax.pad(part, 0.0, ((0, 0, 0), (0, 3, 0))) + x
        """,
        "test_workarounds.py::test_values_are_those_of_numpy",
    ),
    Workaround(
        "sliced_updates",
        Stage.FUSION,
        "An update by what turns out to be the updated array, or a slice of it, reads the array while it writes, or fails when it runs.",
        Effect.WRONG,
        """
        def program(x):
            x = jnp.round(x * 8).astype(int)
            return x.at[np.array([2, 0, 1])].set(x[:3] + 0)
        """,
        "test_overwriting.py::test_what_turns_out_to_be_a_slice",
    ),
    Workaround(
        "shared_beginnings",
        Stage.FUSION,
        "Two concatenations that begin with the same pieces may be written into one buffer.",
        Effect.WRONG,
        """
        def program(x):
            def forth(c, a):
                return (c[0] * v + a, c[1] * v + c[0] * z + a), c

            def back(c, x):
                (a, b, e, f), (d, q) = c, x
                return (a * v, a * z + b * v, e + a * d, f + b * d + a * q), (jnp.sum(a), jnp.sum(b))

            u = x[0]
            v = jnp.tanh(u)
            z = u * (1 - v * v)
            zeros = jnp.zeros_like(u)
            _, rows = lax.scan(forth, (zeros, zeros), u, unroll=16)
            return lax.scan(back, (zeros + 1, zeros, zeros, zeros), rows, reverse=True, unroll=16)
        """,
        "test_overwriting.py::test_stacks_that_begin_with_the_same_rows",
    ),
    Workaround(
        "updated_arguments",
        Stage.FUSION,
        "An update of what turns out to be an argument is made in the memory of the argument.",
        Effect.WRONG,
        """
        def program(x):
            return (x * 1).at[np.array([1])].set(5.0)
        """,
        "test_overwriting.py::test_what_turns_out_to_be_an_argument",
        beside=("overwritten_arguments",),
    ),
    Workaround(
        "updated_fills",
        Stage.FUSION,
        "Two arrays that turn out to be filled with the same number are one, which is updated in place while it is read as the other.",
        Effect.WRONG,
        """
        def program(x):
            y = jnp.abs(jnp.sum(jnp.broadcast_to(x[:, :2], (0, 4, 2)), 0)) + 0.5
            return y.at[:, (x[0] * 0).astype(int)].add(1.0, mode="clip"), lax.cumsum(y, 1)
        """,
        "test_overwriting.py::test_what_turns_out_to_be_filled",
    ),
    Workaround(
        "sliced_numbers",
        Stage.FUSION,
        'An element of an array that is computed with, and is an array of more axes besides, is refused ("expected rank to be smaller or equal to the other rank").',
        Effect.REFUSED,
        """
        def program(x):
            first = x.sum(1)[:1].reshape(1, 1)
            return first, first * 2
        """,
        "test_workarounds.py::test_values_are_those_of_numpy",
    ),
    Workaround(
        "early_fusion",
        Stage.FUSION,
        "IREE fuses operations with several users too late to find results that become equal (`fused_users`); if it does not, an optimiser's step reads and writes its averages twice.",
        Effect.UNSEEN,
        """
        def program(x):
            x = jnp.tile(x, (256, 256))
            mean, square = 0.9 * x + 0.1, 0.99 * x + 0.01 * x * x
            return x - mean / (jnp.sqrt(jnp.abs(square)) + 1e-8), mean, square
        """,
        "test_fused_users.py::test_values_are_those_of_numpy",
        because="it takes 1.3 to 2 times as long, and its results are the same",
        passes="util.func(iree-dispatch-creation-fuse-multi-use-elementwise-producer,cse,"
        "iree-dispatch-creation-elementwise-op-fusion,canonicalize,cse)",
        place="compile/pipeline.py",
    ),
)

_LAST = (
    Workaround(
        "registers",
        Stage.BYTECODE,
        "A branch that passes a reference on may lose it, if it passes it twice or if something behind the branch reads it.",
        Effect.REFUSED,
        """
        def program(x):
            def loop(x):
                def step(c, a):
                    c = lax.cond(a > 0, lambda v: jnp.sin(v) * a, lambda v: v + a, c)
                    return c, c > 0.5

                return lax.scan(step, x[0], x)[0]

            return plugjax.hessian(loop)(x[0, :3])
        """,
        "test_registers.py::test_values_are_those_of_numpy",
    ),
    Workaround(
        "one_by_one",
        Stage.REFUSED,
        'Some operations are refused once they are fused with others ("LLVM Translation failed"). The one that IREE names is compiled alone, and if that does not help, each is.',
        Effect.REFUSED,
        """
        def program(x):
            def total(x, y):
                columns = plugjax.vmap(lambda a: a * a.sum(), 1, 1)(y)
                chosen = lax.cond(
                    columns.sum() > 0, lambda a, b: a * 2 + b, lambda a, b: jnp.sin(b) - a, x, x
                )
                return jnp.sin(chosen).sum()

            return plugjax.grad(total, (0, 1))(x, x[:3])
        """,
        "test_workarounds.py::test_what_is_refused_is_compiled_one_by_one",
        beside=("uneven_products",),
    ),
)

WORKAROUNDS = (
    *DONATION_AND_PROGRAM,
    *LOWERING,
    *FUNCTIONS,
    *INLINED_AND_STABLEHLO,
    *_WHOLE,
    *KERNELS,
    *_LAST,
    *RESULTS,
)
