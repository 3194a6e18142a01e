"""Verification of the first calls of compiled programs against NumPy."""

import os
import re
import subprocess
import sys
import textwrap
import warnings
from pathlib import Path

import numpy as np
import pytest

import plugjax
import plugjax.numpy as jnp
from plugjax import guard, lax, random
from plugjax.core import registry
from plugjax.errors import FallbackWarning, JaxRuntimeError
from plugjax.extend.rules import RuleSet, hookimpl, lowering
from plugjax.guard import VerificationWarning
from plugjax.guard.cost import longest_sum
from plugjax.guard.noise import noise_p
from plugjax.guard.reference import computed
from plugjax.guard.rewriting import rewritten
from plugjax.lax.trigonometric import sin_p
from plugjax.stablehlo import mlir

X = np.linspace(-1, 2, 12, dtype=np.float32).reshape(3, 4)


@pytest.fixture(autouse=True)
def first(tmp_path, monkeypatch):
    monkeypatch.setenv("PLUGJAX_CACHE_DIR", str(tmp_path))
    monkeypatch.setenv("PLUGJAX_REPORT_DIR", str(tmp_path))
    previous = plugjax.config.read("verify")
    plugjax.config.update("verify", "first")
    yield
    plugjax.config.update("verify", previous)


def known(f, *args):
    """The verification of the last compiled program."""
    return guard.report()[-1]


def wrong_sine(function):
    """A plugin that lowers the sine as a function of lax's values."""
    rules = RuleSet("somebody.else")
    for platform in ("xla", "iree"):
        rules.define(lowering, sin_p, platform=platform, replace=True)(function)
    return type("Plugin", (), {"plugjax_rules": staticmethod(hookimpl(lambda: [rules]))})


def cosine(ctx, x):
    return mlir.value("stablehlo.cosine", ctx.avals_in[0], [x])


def clamped(ctx, x):
    """Right for values that are not negative."""
    (aval,) = ctx.avals_in
    x = mlir.value("stablehlo.maximum", aval, [x, ctx.constant(0, aval)])
    return mlir.value("stablehlo.sine", aval, [x])


@pytest.fixture(params=["xla", "iree"])
def platform(request):
    with plugjax.default_device(request.param):
        yield request.param


@pytest.fixture
def on_xla():
    with plugjax.default_device("xla"):
        yield


def of_sines(x):
    return jnp.exp(x), jnp.sin(x) * 2 + x


def test_agreement_is_silent(platform):
    f = plugjax.jit(of_sines)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for _ in range(2):
            np.testing.assert_allclose(f(X)[1], np.sin(X) * 2 + X, rtol=1e-5, atol=1e-6)
    found = guard.report()[-1]
    assert (found.name, found.backend, found.state) == ("of_sines", platform, "verified")


def test_branches_are_those_of_the_backend_that_is_verified(platform):
    def scaled(x):
        return lax.platform_dependent(x, default=lambda x: x * 2, **{platform: lambda x: x * 3})

    def in_loop(x):
        return lax.scan(lambda c, _: (scaled(c), scaled(c)), x, None, 2)

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        np.testing.assert_allclose(plugjax.jit(scaled)(X), X * 3, rtol=1e-6)
        assert guard.report()[-1].state == "verified"
        np.testing.assert_allclose(plugjax.jit(in_loop)(X)[0], X * 9, rtol=1e-6)
        assert guard.report()[-1].state == "verified"


def test_a_wrong_operation_runs_on_the_host(platform):
    with registry.use(registry.active().extended(wrong_sine(cosine))):
        f = plugjax.jit(of_sines)
        with pytest.warns(VerificationWarning) as caught:
            y = f(X)
        np.testing.assert_allclose(y[1], np.sin(X) * 2 + X, rtol=1e-5, atol=1e-6)
        np.testing.assert_allclose(f(X + 1)[1], np.sin(X + 1) * 2 + X + 1, rtol=1e-5, atol=1e-6)
        found = guard.report()[-1]
    assert found.state == "repaired"
    assert not found.all_on_host
    assert len(found.on_host) == 1
    (warning,) = caught
    said = str(warning.message)
    assert re.search(
        r"first equation that differs is sin \(float32\[3,4\]\) -> .*test_verify\.py:\d+", said
    )
    folder = Path(found.folder)
    assert str(folder) in said
    np.testing.assert_array_equal(np.load(folder / "input0.npy"), X)
    np.testing.assert_allclose(
        np.load(folder / "expected1.npy"), np.sin(X) * 2 + X, rtol=1e-5, atol=1e-6
    )
    assert "cosine" in (folder / "program.mlir").read_text()


def test_the_folder_of_reports_is_made(on_xla, tmp_path, monkeypatch):
    monkeypatch.setenv("PLUGJAX_REPORT_DIR", str(tmp_path / "not" / "there"))
    wrong = registry.active().extended(wrong_sine(cosine))
    with registry.use(wrong), pytest.warns(VerificationWarning):
        plugjax.jit(of_sines)(X)
    (program,) = (tmp_path / "not" / "there").rglob("program.jaxpr")
    assert program.parent == Path(guard.report()[-1].folder)


def test_a_report_that_cannot_be_written_does_not_end_the_program(on_xla, tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("PLUGJAX_REPORT_DIR", str(tmp_path / "file" / "below"))
    wrong = registry.active().extended(wrong_sine(cosine))
    with (
        registry.use(wrong),
        pytest.warns(VerificationWarning, match="could not be written: .*below"),
    ):
        y = plugjax.jit(of_sines)(X)
    np.testing.assert_allclose(y[1], np.sin(X) * 2 + X, rtol=1e-5, atol=1e-6)
    assert (guard.report()[-1].state, guard.report()[-1].folder) == ("repaired", "")


def test_the_reproduction_runs():
    with (
        plugjax.default_device("iree"),
        registry.use(registry.active().extended(wrong_sine(cosine))),
    ):
        with pytest.warns(VerificationWarning):
            plugjax.jit(of_sines)(X)
        folder = guard.report()[-1].folder
    done = subprocess.run(
        [sys.executable, f"{folder}/reproduce.py"], capture_output=True, text=True, check=True
    )
    assert done.stdout.startswith("0 equal\n1 [[")


def test_only_first_calls_are_verified_and_always_all(on_xla):
    with registry.use(registry.active().extended(wrong_sine(clamped))):
        positive, negative = abs(X), -abs(X)
        f = plugjax.jit(of_sines)
        f(positive)
        assert not np.allclose(f(negative)[1], np.sin(negative) * 2 + negative)
        plugjax.config.update("verify", "always")
        f = plugjax.jit(of_sines)
        f(positive)
        with pytest.warns(VerificationWarning):
            y = f(negative)
        np.testing.assert_allclose(y[1], np.sin(negative) * 2 + negative, rtol=1e-5, atol=1e-6)


def test_off_wraps_nothing(platform):
    plugjax.config.update("verify", "off")
    before = len(guard.report())
    compiled = plugjax.jit(of_sines).lower(X).compile()
    compiled(X)
    assert compiled.verification is None
    assert len(guard.report()) == before


def test_iree_is_verified_unless_somebody_says_otherwise():
    plugjax.config.update("verify", None)
    for name, expected in (("iree", "not yet"), ("xla", None)):
        with plugjax.default_device(name):
            found = plugjax.jit(lambda x: x * 3).lower(X).compile().verification
        assert (found and found.state) == expected


def test_a_compiled_function_says_what_is_known(platform):
    # A function of this test alone: programs that were compiled already are known.
    compiled = plugjax.jit(lambda x: of_sines(x)).lower(X).compile()
    assert compiled.verification.state == "not yet"
    compiled(X)
    assert compiled.verification.state == "verified"


def test_donated_arguments(platform):
    f = plugjax.jit(lambda a, b: (a + b, a * 2), donate_argnums=0)
    a = plugjax.jit(lambda x: x * 1.5)(X)
    y, z = f(a, X)
    assert a.is_deleted()
    np.testing.assert_allclose(y, X * 2.5, rtol=1e-6)
    np.testing.assert_allclose(z, X * 3, rtol=1e-6)
    assert guard.report()[-1].state == "verified"


def test_callbacks_are_called_once(platform, capfd):
    calls = []

    def host(x):
        calls.append(float(x))
        return np.float32(x * len(calls))

    def program(x):
        plugjax.debug.print("seen {}", x[0, 0])
        one = plugjax.pure_callback(host, plugjax.ShapeDtypeStruct((), "float32"), x[0, 0])
        total = lax.fori_loop(
            0,
            3,
            lambda i, c: (
                c
                + plugjax.experimental.io_callback(
                    host, plugjax.ShapeDtypeStruct((), "float32"), c, ordered=True
                )
            ),
            x[1, 1],
        )
        return one, total

    f = plugjax.jit(program)
    first = f(X)
    plugjax.effects_barrier()
    assert len(calls) == 4
    assert guard.report()[-1].state == "verified"
    f(X)
    plugjax.effects_barrier()
    assert len(calls) == 8
    assert capfd.readouterr().out.count("seen") == 2
    assert np.isfinite(first[1])


def test_random_keys(platform):
    f = plugjax.jit(lambda key: (random.normal(key, (5,)), random.permutation(key, 20)))
    f(random.key(3))
    assert guard.report()[-1].state == "verified"


CLOSE_CALLS = {
    "sorting what is nearly equal": lambda x: jnp.argsort(jnp.sin(x) ** 2 + jnp.cos(x) ** 2, None),
    "rounding halves": lambda x: jnp.round(jnp.exp(jnp.log(abs(x) + 1)) * 4.5),
    "cancelling": lambda x: (jnp.exp(x) + 1e7) - 1e7,
    "chaos": lambda x: lax.fori_loop(0, 60, lambda i, y: 3.99 * y * (1 - y), abs(x) / 3),
    "large angles": lambda x: jnp.sin(jnp.exp(x * 8) * 1e3),
    "comparing": lambda x: jnp.sum(jnp.exp(jnp.log(abs(x) + 1)) > abs(x) + 1),
}


@pytest.mark.spread(6)
@pytest.mark.parametrize("name", CLOSE_CALLS)
def test_what_rounding_explains_is_not_held_against_it(name, platform):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        plugjax.jit(CLOSE_CALLS[name])(X)
    assert guard.report()[-1].state == "verified"


def long_loop(x, zero):
    def step(s):
        return (s[0] + 1, s[1] * 0.999 + s[2] + jnp.sin(zero), s[2] * 0.5 + 0.1, s[3] + s[1])

    return lax.while_loop(lambda s: s[0] < 100_000, step, (0, x, x * 2, x * 3))


@pytest.fixture
def noise_takes_too_long(monkeypatch):
    def limited(program, values, seconds):
        noisy = any(eqn.primitive is noise_p for eqn in program.eqns)
        return computed(program, values, 0.3 if noisy else 60.0)

    monkeypatch.setattr("plugjax.guard.verify.computed", limited)


def test_rounding_errors_of_a_loop_grow_with_its_steps(on_xla, noise_takes_too_long):
    plugjax.jit(long_loop)(jnp.float32(1), jnp.float32(0))
    assert guard.report()[-1].state == "verified"


def test_a_long_loop_that_is_wrong(on_xla, noise_takes_too_long):
    wrong = registry.active().extended(wrong_sine(cosine))
    with registry.use(wrong), pytest.warns(VerificationWarning, match="while"):
        plugjax.jit(long_loop)(jnp.float32(1), jnp.float32(0))
    assert guard.report()[-1].state == "repaired"


def test_what_costs_too_much_is_not_verified(on_xla):
    def program(x):
        return x + 1, lax.fori_loop(0, 1_000_000, lambda i, c: jnp.sin(c) + x, x)

    f = plugjax.jit(program)
    f(X)
    found = guard.report()[-1]
    assert found.state == "partly verified"
    assert found.outputs == (1,)
    assert "NumPy would take longer" in found.because
    plugjax.jit(lambda x: program(x)[1])(X)
    assert guard.report()[-1].state == "not verified"


def test_a_reference_that_does_not_end_is_given_up(on_xla):
    f = plugjax.jit(
        lambda x: lax.while_loop(lambda c: c[0] < 3e6, lambda c: (c[0] + 1, c[1]), (x, x))
    )
    f(jnp.float32(0))
    assert guard.report()[-1].state == "not verified"


def test_arguments_that_were_overwritten_are_restored():
    # IREE's plugin treats the rule as built-in, and built-in rules do not write into operands.
    rules = RuleSet("plugjax.disguised")

    @rules.define(lowering, sin_p, platform="iree", replace=True)
    def first_set(ctx, x):
        (aval,) = ctx.avals_in
        seven = mlir.constant(np.full((1, 4), 7, aval.dtype))
        zero = mlir.constant(np.int32(0))
        return mlir.value("stablehlo.dynamic_update_slice", aval, [x, seven, zero, zero])

    plugin = type("Plugin", (), {"plugjax_rules": staticmethod(hookimpl(lambda: [rules]))})
    with registry.use(registry.active().extended(plugin)), plugjax.default_device("iree"):
        x = plugjax.jit(lambda x: x * 2)(X / 2)
        with pytest.warns(VerificationWarning, match="wrote into its argument 0"):
            y = plugjax.jit(jnp.sin)(x)
        np.testing.assert_array_equal(x, X)
        np.testing.assert_allclose(y, np.sin(X), rtol=1e-6)


PROCESS = """
    import sys, warnings
    import numpy as np, plugjax, plugjax.numpy as jnp
    from plugjax import guard
    from plugjax.extend import RuleSet, hookimpl, lowering, registry
    from plugjax.lax.trigonometric import sin_p
    from plugjax.stablehlo import mlir
    rules = RuleSet("somebody.else")
    @rules.define(lowering, sin_p, platform="iree", replace=True)
    def cosine(ctx, x):
        return mlir.value("stablehlo.cosine", ctx.avals_in[0], [x])
    plugin = type("Plugin", (), {"plugjax_rules": staticmethod(hookimpl(lambda: [rules]))})
    registry.active().load(plugin)
    with warnings.catch_warnings(record=True) as caught, plugjax.default_device("iree"):
        warnings.simplefilter("always")
        y = plugjax.jit(lambda x: jnp.sin(x) + 1)(np.float32(0))
        z = plugjax.jit(lambda x: jnp.exp(x) + 1)(np.float32(0))
    print(len(caught), float(y), float(z), *(v.state for v in guard.report()), sep=",")
"""


def test_a_later_process_knows(tmp_path):
    environment = {**os.environ, "PLUGJAX_CACHE_DIR": str(tmp_path), "PLUGJAX_VERIFY": "first"}
    lines = [
        subprocess.run(
            [sys.executable, "-c", textwrap.dedent(PROCESS)],
            env=environment,
            capture_output=True,
            text=True,
            check=True,
        ).stdout.strip()
        for _ in range(2)
    ]
    assert lines == ["1,1.0,2.0,repaired,verified", "0,1.0,2.0,repaired,verified"]
    doctor = subprocess.run(
        [sys.executable, "-m", "plugjax", "doctor"],
        env={**environment, "COLUMNS": "400"},
        capture_output=True,
        text=True,
        check=False,
    ).stdout
    assert "verification: iree first, xla first" in doctor
    assert re.search("programs in the cache: .*1 repaired", doctor)
    assert re.search(
        r"<lambda> on iree: repaired \(differs from NumPy; first: sin .*plugjax-wrong-", doctor
    )


def refused():
    return jnp.zeros((3, 3), np.complex128)


def test_what_is_not_compiled_runs_on_the_host():
    with plugjax.enable_x64(True), plugjax.default_device("iree"):
        with pytest.warns(
            FallbackWarning, match=r"iree cannot compile 'refused', so NumPy runs it"
        ):
            y = plugjax.jit(refused)()
        np.testing.assert_array_equal(y, np.zeros((3, 3)))
        assert str(y.device) == "iree:local:0"
        plugjax.config.update("fallback", "error")
        try:
            with pytest.raises(JaxRuntimeError, match="IREE could not compile 'refused'"):
                plugjax.jit(refused)()
        finally:
            plugjax.config.update("fallback", "warn")


@pytest.mark.parametrize(
    ("function", "terms"),
    [
        (lambda x: jnp.sin(x), 1),
        (lambda x: jnp.sum(x, axis=1), 5),
        (lambda x: lax.cumsum(x, axis=1), 5),
        (lambda x: lax.scan(lambda c, a: (c + lax.cumsum(a), a), jnp.zeros(5), x)[0], 15),
    ],
)
def test_the_longest_sum_of_a_program(function, terms):
    jaxpr = plugjax.make_jaxpr(function)(jnp.ones((3, 5)))
    assert longest_sum(jaxpr.jaxpr) == terms


def test_programs_of_loops_branches_and_calls_are_rewritten():
    def inner(x):
        return lax.cond(x[0] > 0, jnp.sin, jnp.cos, x)

    def program(x):
        looped = lax.scan(lambda c, _: (plugjax.jit(inner)(c), None), x, None, length=2)[0]
        return lax.reduce(looped, np.float32(1), lambda a, b: a * b + 1, (0,))

    seen = []
    jaxpr = plugjax.make_jaxpr(program)(jnp.ones(3))
    assert rewritten(jaxpr, lambda eqn: seen.append(eqn.primitive.name) or [eqn]) is jaxpr
    assert {"sin", "cos", "cond", "jit", "scan"} <= set(seen)
    assert "mul" not in seen
