"""A package brings a primitive, another a transformation, a third the rule of both; none knows more than it extends."""

import importlib.util
import os
import re
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
PACKAGES = {
    "primitive": "plugjax_lambertw",
    "transformation": "plugjax_interval",
    "join": "plugjax_lambertw_interval",
}


@pytest.fixture(scope="module")
def sites(tmp_path_factory):
    """One folder per package, installed by pip."""
    found = {}
    for name in PACKAGES:
        source = tmp_path_factory.mktemp("source") / name
        shutil.copytree(EXAMPLES / f"third_party_{name}", source)
        found[name] = tmp_path_factory.mktemp(name)
        command = [
            sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-build-isolation",
            "--disable-pip-version-check", "--target", str(found[name]), str(source),
        ]  # fmt: skip
        subprocess.run(command, check=True)
    return found


def run(sites, names, *arguments, **variables):
    path = os.pathsep.join([*(str(sites[n]) for n in names), os.environ.get("PYTHONPATH", "")])
    environment = {**os.environ, "PYTHONPATH": path, **variables}
    done = subprocess.run(
        [sys.executable, "-W", "error", *arguments],
        env=environment, capture_output=True, text=True, timeout=280,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def code(text):
    return "-c", textwrap.dedent(text)


@pytest.mark.parametrize("package", PACKAGES.values())
def test_plugjax_does_not_know_them(package):
    assert importlib.util.find_spec(package) is None


@pytest.mark.parametrize("name", PACKAGES)
def test_they_import_only_what_they_extend_and_public_names(name):
    allowed = {"join": set(PACKAGES.values())}.get(name, {PACKAGES[name]})
    text = "\n".join(
        path.read_text()
        for path in (EXAMPLES / f"third_party_{name}" / PACKAGES[name]).glob("*.py")
    )
    imported = set(re.findall(r"^\s*(?:from|import) (plugjax\w*(?:\.\w+)*)", text, re.MULTILINE))
    assert {m.split(".")[0] for m in imported} <= {"plugjax", *allowed}
    if name != "primitive":
        own = {m for m in imported if m.split(".")[0] == "plugjax"}
        assert own <= {"plugjax", "plugjax.extend", "plugjax.numpy", "plugjax.lax.families"}


@pytest.mark.spread(4)
def test_own_tests_of_the_transformation(sites, backend, wide):
    tests = EXAMPLES / "third_party_transformation" / "tests"
    options = ("-q", "-p", "no:cacheprovider", "-c", os.devnull, "--import-mode=importlib")
    if backend != "numpy" and not wide:
        # Each composition is a compilation of seconds.
        options = (*options, "-k", "cond or softmax or matmul or where or structure")
    run(sites, ["transformation"], "-m", "pytest", *options, str(tests), PLUGJAX_BACKEND=backend)


def test_the_three_together_on_every_backend(sites, backend):
    run(
        sites,
        PACKAGES,
        *code(
            f"""
            import numpy as np, scipy.special
            import plugjax, plugjax.numpy as jnp
            from plugjax_interval import Interval, interval
            from plugjax_lambertw import lambertw
            lower = np.array([-0.5, -0.3678, -0.3, 0.0, 0.5, 10.0, 1e4], np.float32)
            upper = np.array([-0.2, -0.3677, 0.1, 0.01, 4.0, 11.0, 1e6], np.float32)
            W = lambda x: np.real(scipy.special.lambertw(x.astype(np.float64)))
            least, greatest = W(np.maximum(lower, -1 / np.e)), W(upper)
            with plugjax.default_device("{backend}"):
                box = Interval(jnp.asarray(lower), jnp.asarray(upper))
                together = plugjax.jit(plugjax.vmap(interval(lambertw)))
                for enclose in (together, interval(plugjax.jit(lambertw)), interval(plugjax.vmap(lambertw))):
                    found = enclose(box)
                    assert found.lower.device.backend.name == "{backend}"
                    assert (np.asarray(found.lower) <= least).all() and (greatest <= np.asarray(found.upper)).all()
                    np.testing.assert_allclose(found.lower, least, rtol=2e-4, atol=1e-2)
                    np.testing.assert_allclose(found.upper, greatest, rtol=2e-4, atol=1e-4)
                slope = plugjax.jit(interval(plugjax.vmap(plugjax.grad(lambertw))))(Interval(box.lower[3:], box.upper[3:]))
                for w in (least[3:], greatest[3:]):
                    exact = 1 / (np.exp(w) * (1 + w))
                    assert (np.asarray(slope.lower) <= exact).all() and (exact <= np.asarray(slope.upper)).all()
            """
        ),
    )


def test_without_the_join_the_two_work_and_the_cell_is_empty(sites):
    run(
        sites,
        ["primitive", "transformation"],
        *code(
            """
            import plugjax, plugjax.numpy as jnp
            from plugjax.core.errors import MissingRuleError
            from plugjax_interval import Interval, interval
            from plugjax_lambertw import lambertw
            box = Interval(jnp.zeros(2), jnp.ones(2))
            assert interval(jnp.exp)(box).upper.shape == (2,)
            assert plugjax.jit(plugjax.vmap(plugjax.grad(lambertw)))(jnp.zeros(2)).tolist() == [1, 1]
            for enclose in (interval(lambertw), plugjax.jit(plugjax.vmap(interval(lambertw))), interval(plugjax.jit(lambertw))):
                try:
                    enclose(box)
                except MissingRuleError as error:
                    assert "no interval rule for primitive 'lambertw'" in str(error), error
                    assert "@rules.define(interval, lambertw_p)" in str(error), error
                else:
                    raise AssertionError("the rule should be missing")
            """
        ),
    )


def test_who_fills_the_cell_can_be_asked(sites):
    printed = run(
        sites,
        PACKAGES,
        *code(
            """
            from plugjax.core import registry
            from plugjax_interval import interval_rule
            from plugjax_lambertw import lambertw_p
            print(registry.active().where(interval_rule, lambertw_p))
            """
        ),
    )
    assert printed.startswith("lambertw_interval: plugjax_lambertw_interval.rule:")
