"""Rows about memory that a program shares with its caller."""

from plugjax_iree.workarounds.row import Effect, Stage, Workaround

DONATION_AND_PROGRAM = (
    Workaround(
        "donated_arguments",
        Stage.DONATION,
        "A result is written over a donated argument that is read later.",
        Effect.WRONG,
        """
        def program(x, y):
            return y, x
        """,
        "test_backend.py::test_donated_arguments_are_read_before_they_are_written",
        arguments=2,
        donated=(0, 1),
    ),
    Workaround(
        "overwritten_arguments",
        Stage.PROGRAM,
        "An argument without a later user is updated in place, although it belongs to the caller (iree-org/iree issue 16168).",
        Effect.WRONG,
        """
        def program(x):
            return x.at[np.array([0, 2, 2])].add(1.0)
        """,
        "test_overwriting.py::test_an_argument_that_nobody_reads_afterwards",
        beside=("updated_arguments",),
    ),
)

RESULTS = (
    Workaround(
        "shared_results",
        Stage.RESULTS,
        "A result may be an argument's buffer, or that of another result: both change if one is donated later.",
        Effect.WRONG,
        """
        def program(x):
            return x, x
        """,
        "test_backend.py::test_results_have_memory_of_their_own",
    ),
)
