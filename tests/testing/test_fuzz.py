"""The program generator: drawing, comparison, crashes, and a run of each backend with a fixed seed."""

import math
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import plugjax
import plugjax.numpy as jnp
from plugjax import lax
from plugjax.testing.fuzz.campaign import Campaign
from plugjax.testing.fuzz.draw import draw_program
from plugjax.testing.fuzz.judge import compare
from plugjax.testing.fuzz.noise import Noise, noisy
from plugjax.testing.fuzz.outcome import examine
from plugjax.testing.fuzz.program import Aval, Body, Input, Program, Step, script
from plugjax.testing.fuzz.run import Result, on_numpy, with_noise
from plugjax.testing.fuzz.scope import RULES
from plugjax.testing.fuzz.shrink import shrink
from plugjax.testing.fuzz.worker import DiedError, Worker

ROOT = Path(__file__).resolve().parents[2]
PLANTED = ["tests.testing.planted"]
# Programs of one seed, always and with --wide.
COUNTS = {"numpy": 20, "xla": 5, "iree": 3}
WIDE = {"numpy": 800, "xla": 150, "iree": 60}


@pytest.fixture
def planted(monkeypatch):
    monkeypatch.setenv("PYTHONPATH", str(ROOT))


def reversal():
    """A program that reverses, among unrelated steps."""
    f = Aval("float32", (3,))
    steps = [
        Step("function", "jnp.sin({0})", [0], [1]),
        Step("layout", "jnp.flip({0}, 0)", [1], [2]),
        Step("operator", "{0} + {1}", [2, 0], [3]),
        Step("operator", "{0} * {1}", [0, 0], [4]),
    ]
    return Program([Input(0, f, ["1.0", "2.0", "3.0"])], steps, [3, 4], dict.fromkeys(range(5), f))


@pytest.fixture(scope="module")
def drawn():
    return [draw_program(7, k) for k in range(150)]


def test_a_program_is_the_same_whatever_was_drawn_before(drawn):
    assert draw_program(7, 149) == drawn[149]
    code = "from plugjax.testing.fuzz.draw import draw_program as d; print(d(7, 31).to_json())"
    fresh = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert Program.from_json(fresh.stdout) == drawn[31]


def test_programs_differ_and_use_every_rule(drawn):
    assert len({p.source() for p in drawn}) == len(drawn)
    used = {step.rule for p in drawn for step in p.all_steps()}
    assert used >= set(RULES) - {"linear_systems", "polynomial", "shuffled"}


def test_programs_hold_small_shapes_all_dtypes_and_nested_bodies(drawn):
    avals = [a for p in drawn for a in p.avals.values()]
    assert {0, 1, 2, 3, 4, 5} <= {n for a in avals for n in a.shape}
    assert {"bool", "int8", "int16", "int32", "uint8", "uint16", "uint32", "float16", "bfloat16", "float32", "complex64"} == {a.dtype for a in avals}  # fmt: skip
    bodies = [body for p in drawn for step in p.all_steps() for body in step.bodies]
    assert any(step.bodies for body in bodies for step in body.steps)
    values = {v for p in drawn for x in p.inputs for v in x.values}
    assert {"nan", "inf", "-inf", "-0.0", "3.4028234663852886e+38"} <= values


def test_wide_dtypes_are_drawn_on_demand():
    programs = [draw_program(7, k, x64=True) for k in range(30)]
    dtypes = {a.dtype for p in programs for a in p.avals.values()}
    assert {"int64", "float64"} <= dtypes
    assert {examine(p, "numpy").kind for p in programs} <= {"agrees", "refused by both"}


def test_a_program_survives_text_and_its_script_runs(drawn, tmp_path):
    for program in drawn:
        assert Program.from_json(program.to_json()) == program
    path = tmp_path / "script.py"
    path.write_text(script(reversal(), "numpy"))
    run = subprocess.run([sys.executable, path], capture_output=True, text=True, check=True)
    assert run.stdout.count("expected") == 2


def test_long_programs_have_a_gradient_and_a_batch():
    programs = [draw_program(3, k, steps=(10, 40), transformed=True) for k in range(6)]
    assert {p.transforms for p in programs} == {("forward", "batch"), ("forward", "gradient", "batch")}  # fmt: skip
    assert max(len(p.steps) for p in programs) > 20
    for program in programs:
        assert Program.from_json(program.to_json()) == program
        assert len(on_numpy(program).arrays) > len(program.results)
    assert {examine(p, "numpy").kind for p in programs[:2]} == {"agrees"}


def test_a_gradient_and_a_batch_are_those_of_the_program():
    program = replace(reversal(), transforms=("forward", "gradient", "batch"))
    x = np.array([1, 2, 3], np.float32)
    flipped, square, gradient, batch, _ = on_numpy(program).arrays
    np.testing.assert_allclose(flipped, np.sin(x)[::-1] + x, rtol=1e-6)
    np.testing.assert_allclose(gradient, np.cos(x) + 1 + 2 * x, rtol=1e-6)
    np.testing.assert_array_equal(batch[0], flipped)
    np.testing.assert_allclose(batch[1], np.sin(np.roll(x, 1))[::-1] + np.roll(x, 1), rtol=1e-6)
    assert square.tolist() == [1, 4, 9]


def test_a_wrong_gradient_is_shrunk_to_the_gradient():
    def fails(program):
        return "gradient" in program.transforms

    program = draw_program(3, 1, steps=(10, 40), transformed=True)
    assert fails(program)
    small = shrink(program, fails, lambda p: {}, trials=200)
    assert small.transforms == ("gradient",)
    assert len(small.steps) == 1


def test_a_cotangent_of_zeros_times_infinity_may_be_nan():
    """A compiled loop has an array of zeros where plain Python knows that there is no cotangent."""
    f = Aval("float32", (2,))
    steps = [
        Step("custom", "type('F', (), {{'f': (h := jax.custom_vjp({f0})), 'r': h.defvjp(lambda x: ({f0}(x), x), lambda r, t: (r * t,))}}).f({0})", [0], [2], [Body([1], [], [1])]),
        Step("loop", "lax.scan(lambda c, x: (x, None), {0}, jnp.stack([{1}]))[0]", [2, 3], [4]),
    ]  # fmt: skip
    inputs = [Input(0, f, ["1.0", "inf"]), Input(3, f, ["1.0", "2.0"])]
    program = Program(inputs, steps, [4], dict.fromkeys(range(5), f), transforms=("gradient",))
    assert np.isfinite(on_numpy(program).arrays[0]).all()
    assert np.isnan(on_numpy(program, traced=True).arrays[0][1])
    assert examine(program, "numpy").kind == "agrees"


def test_what_rounding_explains_is_no_difference():
    program = reversal()
    expected = on_numpy(program)
    near = Result([np.nextafter(a, np.float32(9)) for a in expected.arrays])
    far = Result([a + np.float32(1e-3) for a in expected.arrays])
    assert compare(near, expected, lambda: with_noise(program)) is None
    assert compare(far, expected, lambda: with_noise(program)).kind == "wrong"


@pytest.mark.parametrize(
    ("primitive", "operand", "moved"),
    [
        (lax.exp_p, np.float32(0.7), True),
        (lax.neg_p, np.float32(0.7), False),
        (lax.abs_p, np.float32(0.7), False),
        (lax.abs_p, np.complex64(0.3 + 0.7j), True),
    ],
)
def test_noise_moves_what_rounds(primitive, operand, moved):
    """A primitive says itself what rounding does to it."""
    x = np.full(50, operand)
    with noisy() as give:
        exact = np.asarray(primitive.bind(plugjax.device_put(x, "numpy")))
        give(Noise(0))
        found = np.asarray(primitive.bind(plugjax.device_put(x, "numpy")))
    assert (not np.array_equal(found, exact)) is moved


def test_a_result_on_a_discontinuity_is_not_held_against_a_backend():
    f, i = Aval("float32", (1,)), Aval("int32", (1,))
    steps = [
        Step("function", "jnp.cbrt({0})", [0], [1]),
        Step("conversion", "jnp.floor({0}).astype('int32')", [1], [2]),
        Step("conversion", "jnp.floor({0}).astype('int32')", [0], [3]),
    ]
    program = Program([Input(0, f, ["27.0"])], steps, [2, 3], {0: f, 1: f, 2: i, 3: i})
    expected = on_numpy(program)
    noisy = list(with_noise(program))
    below = Result([expected.arrays[0] - 1, expected.arrays[1]])
    assert compare(below, expected, lambda: noisy) is None
    # The input itself was not rounded.
    wrong = Result([expected.arrays[0], expected.arrays[1] - 1])
    assert compare(wrong, expected, lambda: noisy).position == 1


@pytest.mark.parametrize("value", [math.nan, math.inf, 0.0])
def test_a_wrong_special_value_is_a_difference(value):
    program = reversal()
    expected = on_numpy(program)
    found = Result([np.full(3, value, np.float32), expected.arrays[1]])
    assert compare(found, expected, lambda: with_noise(program)).position == 0


@pytest.mark.parametrize("dtype", [np.float32, np.int32, np.complex64, np.bool_])
def test_a_wrong_scalar_is_a_difference(dtype):
    expected = Result([np.ones((), dtype)])
    difference = compare(Result([np.zeros((), dtype)]), expected, list)
    assert difference.kind == "wrong"
    assert " at []: " in difference.text


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_terms_that_a_backend_takes_for_zero_are_explained_by_noise(dtype):
    """Products of the smallest normal numbers and of numbers below 1 are subnormal; those that stay normal count."""
    f, tiny = Aval(dtype, (4,)), float(np.finfo(np.float32).tiny)
    step = Step("product", "jnp.dot({0}, {1})", [0, 1], [2])
    inputs = [Input(0, f, [str(tiny)] * 4), Input(1, f, ["0.9", "0.8", "0.7", "2.5"])]
    program = Program(inputs, [step], [2], {0: f, 1: f, 2: Aval(dtype, ())})
    expected = on_numpy(program)
    lost = Result([np.asarray(2.5 * tiny, jnp.dtype(dtype))])
    assert compare(lost, expected, lambda: [expected.arrays]).kind == "wrong"
    assert compare(lost, expected, lambda: with_noise(program)) is None
    wrong = Result([np.asarray(99 * tiny, jnp.dtype(dtype))])
    assert compare(wrong, expected, lambda: with_noise(program)).kind == "wrong"


def test_a_sum_that_takes_a_product_unrounded_is_explained_by_noise():
    """The sum is subnormal, and zero for a backend, which has not taken the product for zero. Where it is normal it counts."""
    tiny = float(np.finfo(np.float32).tiny)
    f, b = Aval("float32", (2,)), Aval("bool", (2,))
    steps = [
        Step("sum", "{0} * {1} + {2}", [0, 1, 2], [3]),
        Step("conversion", "{0}.astype('bool')", [3], [4]),
    ]
    inputs = [
        Input(0, f, [str(tiny), str(8 * tiny)]),
        Input(1, f, ["-0.5", "-0.5"]),
        Input(2, f, [str(tiny), str(tiny)]),
    ]
    program = Program(inputs, steps, [4], {**dict.fromkeys(range(4), f), 4: b})
    expected = on_numpy(program)
    assert expected.arrays[0].all()
    found = Result([np.array([False, True])])
    assert compare(found, expected, lambda: [expected.arrays]).kind == "wrong"
    assert compare(found, expected, lambda: with_noise(program)) is None
    wrong = Result([np.array([True, False])])
    assert compare(wrong, expected, lambda: with_noise(program)).kind == "wrong"


@pytest.mark.parametrize(
    "product",
    [
        "jnp.prod({0})",
        "lax.cumprod({0})",
        "lax.reduce({0}, jnp.float32(1), lax.mul, (0,))",
        "lax.reduce_window({0}, jnp.float32(1), lax.mul, (4,), (1,), 'VALID')",
    ],
)
def test_orders_of_a_product_are_explained_by_noise(product):
    """Two of the factors overflow, and one is subnormal: backends may give any of infinity, nan and zero."""
    f = Aval("float32", (4,))
    inputs = [Input(0, f, ["1e-10", "3e38", "-3.0", "1e-45"])]
    program = Program(inputs, [Step("product", product, [0], [1])], [1], {0: f, 1: f})
    expected = on_numpy(program)
    assert np.isfinite(expected.arrays[0]).all()
    (whole,) = expected.arrays
    lost = Result([np.where(whole == whole.flat[-1], np.float32(np.nan), whole)])
    assert compare(lost, expected, lambda: [expected.arrays]).kind == "wrong"
    assert compare(lost, expected, lambda: with_noise(program)) is None


@pytest.mark.parametrize(
    "difference",
    [
        "jnp.sum({0} * {0}) - {0} * {0}",
        "jax.grad(lambda x: jnp.sum(2 * (x * {0}) - 2 * (x * {0})))({0})",
    ],
)
def test_products_that_overflow_before_they_are_subtracted_are_explained_by_noise(difference):
    """The difference of two infinities is nan, and that of an infinity and of a product that is not rounded infinite. An infinity itself stays."""
    f = Aval("float32", (2,))
    steps = [
        Step("variance", difference, [0], [1]),
        Step("square", "{0} * {0}", [0], [2]),
    ]
    inputs = [Input(0, f, ["3e38", "2e38"])]
    program = Program(inputs, steps, [1, 2], dict.fromkeys(range(3), f))
    expected = on_numpy(program)
    difference, infinite = expected.arrays
    assert np.isnan(difference).all()
    assert np.isinf(infinite).all()
    found = np.full(2, np.inf, np.float32)
    assert compare(Result([found, infinite]), expected, lambda: [expected.arrays]).kind == "wrong"
    assert compare(Result([found, infinite]), expected, lambda: with_noise(program)) is None
    wrong = Result([found, np.ones(2, np.float32)])
    assert compare(wrong, expected, lambda: with_noise(program)).kind == "wrong"


def test_what_infinities_of_complex_products_do_is_explained_by_noise():
    """Formulas of a product give nan or an infinity for a component; its inverse hyperbolic tangent is nan or finite."""
    z = Aval("complex64", (1,))
    steps = [
        Step("product", "{0} * 0", [0], [1]),
        Step("function", "jnp.arctanh({0})", [1], [2]),
        Step("function", "jnp.arctanh({0})", [0], [3]),
    ]
    inputs = [Input(0, z, ["complex(inf, inf)"])]
    program = Program(inputs, steps, [2, 3], dict.fromkeys(range(4), z))
    expected = on_numpy(program)
    finite = np.array([math.pi / 2 * 1j], np.complex64)
    other, exact = expected.arrays
    assert not np.isfinite(other).any()
    assert np.isfinite(exact).all()
    assert compare(Result([finite, exact]), expected, lambda: [expected.arrays]).kind == "wrong"
    assert compare(Result([finite, exact]), expected, lambda: with_noise(program)) is None
    wrong = Result([finite, exact * 2])
    assert compare(wrong, expected, lambda: with_noise(program)).kind == "wrong"


def test_steps_that_rounding_decides_are_explained_for_all_elements():
    """The logarithm is a whole number; a unit in its last place decides which one its floor is."""
    f = Aval("bfloat16", (4096,))
    step = Step("floor", "jnp.floor(jnp.log2({0}))", [0], [1])
    program = Program([Input(0, f, ["0.5"] * 4096)], [step], [1], {0: f, 1: f})
    expected = on_numpy(program)
    for moved, kind in ((-2, None), (-1, None), (99, "wrong")):
        found = Result([np.full_like(expected.arrays[0], moved)])
        difference = compare(found, expected, lambda: with_noise(program))
        assert (difference and difference.kind) == kind


def test_conversions_that_rounding_decides_are_explained_for_all_elements():
    """The logarithm is a whole number but for the last; a unit in its last place decides what is left when it is cut off."""
    f, i = Aval("bfloat16", (4096,)), Aval("int8", (4096,))
    step = Step("conversion", "jnp.log2({0}).astype('int8')", [0], [1])
    program = Program([Input(0, f, ["0.5"] * 4095 + ["0.4"])], [step], [1], {0: f, 1: i})
    expected = on_numpy(program)
    for moved in (0, -1):
        found = expected.arrays[0].copy()
        found[:-1] = moved
        assert compare(Result([found]), expected, lambda: with_noise(program)) is None
        found[-1] = 0
        assert compare(Result([found]), expected, lambda: with_noise(program)).kind == "wrong"


def test_equal_results_of_rounding_are_explained_by_noise():
    """Variances of equal numbers are rounding, and at times equal: their order is any, with any number of equals."""
    f, i = Aval("float32", (3,)), Aval("int32", ())
    steps = [
        Step("variance", "jnp.var(jnp.stack([jnp.tanh({0})] * 3), 0)", [0], [1]),
        Step("search", "jnp.searchsorted(jnp.sort({0}), {0}).max()", [1], [2]),
    ]
    numbers = ["0.20980022847652435", "-1.0713387727737427", "0.7231901288032532"]
    program = Program([Input(0, f, numbers)], steps, [2], {0: f, 1: f, 2: i})
    expected = on_numpy(program)
    assert expected.arrays[0] == 2
    found = Result([np.int32(0)])
    assert compare(found, expected, lambda: [expected.arrays]).kind == "wrong"
    assert compare(found, expected, lambda: with_noise(program)) is None
    apart = Program([Input(1, f, ["0.5", "1.5", "-1.0"])], steps[1:], [2], {1: f, 2: i})
    expected = on_numpy(apart)
    assert compare(found, expected, lambda: with_noise(apart)).kind == "wrong"


def test_shapes_dtypes_and_weak_types_are_compared():
    expected = Result([np.zeros((2, 1), np.int32)])
    assert compare(Result([np.zeros((1, 2), np.int32)]), expected, list).kind == "shape"
    assert compare(Result([np.zeros((2, 1), np.int16)]), expected, list).kind == "dtype"
    weak = replace_weak(expected)
    assert compare(weak, expected, list).kind == "weak type"


def replace_weak(result):
    weak = Result(result.arrays)
    weak.weak = [True] * len(weak.weak)
    return weak


def test_shrinking_keeps_the_step_that_matters(drawn):
    def fails(program):
        return any("sort" in step.rule for step in program.all_steps())

    program = max((p for p in drawn if fails(p)), key=lambda p: len(p.source()))
    small = shrink(program, fails, lambda p: {}, trials=400)
    assert fails(small)
    assert len(small.steps) == 1
    assert len(small.source()) < len(program.source()) / 2


def test_a_wrong_kernel_is_found_and_its_step_alone_is_left(planted):
    worker = Worker(PLANTED)
    try:
        assert worker.examine(reversal(), "numpy", "numpy").kind == "agrees"
        outcome = worker.examine(reversal(), "wrong", "numpy")
        assert (outcome.kind, outcome.result) == ("wrong", 0)
        assert "rev" in outcome.primitives
    finally:
        worker.close()
    campaign = Campaign("wrong", seed=7, workers=2, plugins=PLANTED)
    findings = campaign.run(range(20))
    assert findings
    assert sum(campaign.counts.values()) == 20
    smallest = min(findings, key=lambda f: len(f.program.source()))
    assert len(smallest.program.steps) == 1
    assert "rev" in smallest.outcome.primitives
    assert all(f.repeats for f in findings)


@pytest.mark.parametrize(
    ("fault", "says"), [("crash", "SIGABRT"), ("hang", "within 3 s"), ("memory", "allocate")]
)
def test_a_worker_that_dies_is_a_finding_and_is_replaced(planted, fault, says):
    worker = Worker(PLANTED, seconds=3)
    try:
        worker.seconds = 60
        assert worker.examine(reversal(), "numpy", "numpy").kind == "agrees"
        worker.seconds = 3
        outcome = worker.examine(reversal(), fault, "numpy")
        assert outcome.kind == fault
        assert says in outcome.text
        assert "rev" in outcome.primitives or fault == "memory"
        worker.seconds = 60
        assert worker.examine(reversal(), "numpy", "numpy").kind == "agrees"
    finally:
        worker.close()


def test_a_crash_is_shrunk(planted):
    worker = Worker(PLANTED)
    try:
        small = shrink(
            reversal(),
            lambda p: worker.examine(p, "crash", "numpy").kind == "crash",
            worker.values,
            trials=12,
        )
    finally:
        worker.close()
    assert [s.expression for s in small.steps] == ["jnp.flip({0}, 0)"]


def test_a_program_that_writes_into_its_argument_is_refused(planted):
    program = replace(reversal(), steps=[Step("layout", "jnp.flip({0}, 0)", [0], [3])], results=[3])
    worker = Worker(PLANTED)
    try:
        outcome = worker.examine(program, "overwriting", "numpy")
    finally:
        worker.close()
    assert outcome.kind == "refused"
    assert "wrote into its argument v0" in outcome.text


def test_a_worker_that_cannot_start_says_why(planted):
    with pytest.raises(DiedError, match="No module named 'nosuch'"):
        Worker(["nosuch"]).draw(0, 0)


def test_the_oracle_may_be_another_library(drawn):
    pytest.importorskip("jax")
    kinds = [examine(p, "numpy", "jax").kind for p in drawn[:6]]
    assert set(kinds) <= {"agrees", "refused by both", "the oracle failed"}


def test_the_command_line_writes_scripts_of_findings(planted, tmp_path):
    command = [sys.executable, "-m", "plugjax", "fuzz", "--backend", "wrong", "--count", "4", "--seed", "7", "--shrink", "5", "--plugin", *PLANTED, "-o", str(tmp_path)]  # fmt: skip
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    assert run.returncode == 1, run.stderr
    assert not run.stderr
    assert "4 programs on wrong" in run.stdout
    assert "a second, 10,000 in" in run.stdout
    scripts = list(tmp_path.glob("wrong-7-*.py"))
    assert len(scripts) == len(list(tmp_path.glob("*.json"))) > 0
    assert all("def program(" in path.read_text() for path in scripts)
    unknown = [*command[:4], "--backend", "nosuch"]
    refused = subprocess.run(unknown, capture_output=True, text=True, check=False)
    assert refused.returncode == 2
    assert refused.stderr.count("\n") == 1
    assert "nosuch" in refused.stderr
    backwards = subprocess.run([*command[:4], "--steps", "9", "3"], capture_output=True, text=True, check=False)  # fmt: skip
    assert backwards.returncode == 2
    assert "--steps 9 3" in backwards.stderr


@pytest.mark.timeout(600)
def test_programs_with_a_fixed_seed_agree(backend, wide):
    campaign = Campaign(backend, seed=2024, workers=1, shrink_seconds=40, until=time.monotonic() + 240)  # fmt: skip
    findings = campaign.run(range((WIDE if wide else COUNTS)[backend]))
    assert not findings, "\n\n".join(
        f"program {f.number}: {f.outcome.kind}: {f.outcome.text}\n{script(f.program, backend) if f.program else ''}"
        for f in findings
    )
    assert sum(campaign.counts.values()) >= {"numpy": 10, "xla": 2, "iree": 1}[backend]
