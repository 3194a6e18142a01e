"""Embedded modules, run by IREE's own tool in another process."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import plugjax
import plugjax.numpy as jnp
from plugjax import export
from plugjax.core import registry
from plugjax.core.errors import LoweringError
from plugjax.export import Entry, to_iree, to_stablehlo
from plugjax.extend.core import Primitive
from plugjax.extend.rules import RuleSet, abstract_eval, hookimpl, impl

RNG = np.random.default_rng(5)
PARAMETERS = {
    "w": RNG.normal(size=(4, 3)).astype(np.float32),
    "layers": [np.float32(0.5), RNG.normal(size=3).astype(np.float32)],
    "flags": np.array([True, False, True]),
}
X = RNG.normal(size=(2, 4)).astype(np.float32)


def predict(p, x):
    return jnp.where(p["flags"], jnp.tanh(x @ p["w"]) * p["layers"][0] + p["layers"][1], 0.0)


def loss(p, x):
    return jnp.mean(predict(p, x) ** 2)


def describe(p):
    return {"total": jnp.sum(p["w"]), "bias": p["layers"][1]}


def tool():
    return str(Path(sys.executable).parent / "iree-run-module")


def run(module, function, inputs, outputs, folder, parameters=None):
    command = [tool(), f"--module={module}", "--device=local-sync", f"--function={function}"]
    if parameters is not None:
        command.append(f"--parameters=model={parameters}")
    for i, value in enumerate(inputs):
        np.save(folder / f"in{i}.npy", value)
        command.append(f"--input=@{folder / f'in{i}.npy'}")
    command += [f"--output=@{folder / f'out{i}.npy'}" for i in range(outputs)]
    subprocess.run(command, check=True, capture_output=True, text=True, timeout=60)
    return [np.load(folder / f"out{i}.npy") for i in range(outputs)]


@pytest.mark.parametrize("outside", [False, True], ids=["inside", "irpa"])
def test_several_entry_points_run_without_python(tmp_path, outside):
    irpa = tmp_path / "model.irpa" if outside else None
    struct = plugjax.ShapeDtypeStruct(X.shape, X.dtype)
    done = to_iree(
        {"predict": (predict, (struct,)), "loss": (loss, (X,)), "describe": (describe,)},
        tmp_path / "model.vmfb",
        parameters=PARAMETERS,
        parameters_path=irpa,
    )
    assert done.signatures["predict"] == (["2x4xf32"], ["2x3xf32"])
    assert done.signatures["describe"] == ([], ["3xf32", "f32"])
    (found,) = run(done.path, "predict", [X], 1, tmp_path, irpa)
    np.testing.assert_allclose(found, predict(PARAMETERS, X), rtol=1e-5, atol=1e-6)
    (found,) = run(done.path, "loss", [X], 1, tmp_path, irpa)
    np.testing.assert_allclose(found, loss(PARAMETERS, X), rtol=1e-5)
    bias, total = run(done.path, "describe", [], 2, tmp_path, irpa)
    np.testing.assert_allclose(total, PARAMETERS["w"].sum(), rtol=1e-5)
    np.testing.assert_array_equal(bias, PARAMETERS["layers"][1])


def test_functions_without_parameters(tmp_path):
    done = to_iree({"double": (lambda x: x * 2.0, (X,))}, tmp_path / "m.vmfb")
    (found,) = run(done.path, "double", [X], 1, tmp_path)
    np.testing.assert_array_equal(found, X * 2)


def test_a_module_trains_where_it_runs(tmp_path):
    """Entry points that update parameters keep state in the module: init, train_step and predict share it."""
    from plugjax_iree.runtime import open_device
    from plugjax_iree.runtime.parameters import load_parameters

    target = np.array([[1.0, -1.0, 0.5], [0.0, 2.0, -0.5]], np.float32)
    params = {"w": np.zeros((4, 3), np.float32), "b": np.zeros(3, np.float32)}

    def squared(p, x, y):
        return jnp.mean((x @ p["w"] + p["b"] - y) ** 2)

    def train_step(p, x, y):
        value, gradient = plugjax.value_and_grad(squared)(p, x, y)
        return plugjax.tree.map(lambda a, g: a - 0.1 * g, p, gradient), value

    def init(p):
        return plugjax.tree.map(jnp.zeros_like, p)

    done = to_iree(
        {
            "init": Entry(init, updates=True),
            "train_step": Entry(train_step, (X, target), updates=True),
            "predict": Entry(lambda p, x: x @ p["w"] + p["b"], (X,)),
        },
        tmp_path / "train.vmfb",
        parameters=params,
        parameters_path=tmp_path / "train.irpa",
    )
    device = open_device("local-sync")
    module = device.load(
        done.path.read_bytes(), parameters=load_parameters({"model": done.parameters_path})
    )
    x, y = device.put(X), device.put(target)
    losses = [
        float(device.get(module.function("train_step")([x, y])[0], np.dtype("f4"), ()))
        for _ in range(20)
    ]
    expected, p = [], params
    for _ in range(20):
        p, value = train_step(p, X, target)
        expected.append(float(value))
    np.testing.assert_allclose(losses, expected, rtol=1e-4)
    (found,) = module.function("predict")([x])
    np.testing.assert_allclose(
        device.get(found, np.dtype("f4"), (2, 3)),
        X @ np.asarray(p["w"]) + np.asarray(p["b"]),
        rtol=1e-4,
    )
    module.function("init")([])
    (found,) = module.function("predict")([x])
    np.testing.assert_array_equal(device.get(found, np.dtype("f4"), (2, 3)), np.zeros((2, 3)))


def test_a_primitive_without_lowering_is_refused_by_name(tmp_path):
    p, rules = Primitive("host_only"), RuleSet("tests")
    rules.define(abstract_eval, p)(lambda x: x)
    rules.define(impl, p)(lambda x: x)
    built = registry.active().extended()
    built.load(type("Plugin", (), {"plugjax_rules": staticmethod(hookimpl(lambda: [rules]))}))
    with registry.use(built), pytest.raises(LoweringError, match="host_only"):
        to_iree({"f": (p.bind, (X,))}, tmp_path / "m.vmfb")
    assert not (tmp_path / "m.vmfb").exists()


@pytest.mark.parametrize(
    ("entries", "words"),
    [
        ({}, "at least one"),
        ({"not a name": (jnp.sin, (X,))}, "identifier"),
        ({"f": Entry(lambda x: x, (X,), updates=True)}, "no|none"),
    ],
)
def test_bad_entries(tmp_path, entries, words):
    with pytest.raises((ValueError, TypeError), match=words):
        to_iree(entries, tmp_path / "m.vmfb")


def test_the_text_shows_globals_and_entry_points():
    text = to_stablehlo({"predict": (predict, (X,))}, parameters=PARAMETERS, external=True)
    assert '#flow.parameter.named<"model"::"w">' in text
    assert "func.func public @predict(" in text


def test_the_command_line_exports(tmp_path):
    program = tmp_path / "program.py"
    program.write_text(
        "import plugjax.numpy as jnp\nweights = {'w': jnp.ones((3, 2))}\ndef f(p, x): return x @ p['w']\n"
    )
    out = tmp_path / "m.vmfb"
    command = [
        sys.executable, "-m", "plugjax", "export", str(program), "--entry", "predict=f:f32[4,3]", "-o", str(out),
        "--parameters", "weights", "--irpa", str(tmp_path / "m.irpa"),
    ]  # fmt: skip
    done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert "4x3xf32" in done.stdout
    x = np.ones((4, 3), np.float32)
    (found,) = run(out, "predict", [x], 1, tmp_path, tmp_path / "m.irpa")
    np.testing.assert_array_equal(found, np.full((4, 2), 3.0))


def test_entry_points_may_be_exported_functions(tmp_path):
    exported = export.export(plugjax.jit(lambda d: d["a"] * 2 + 1))({"a": np.ones(3, np.float32)})
    loaded = export.deserialize(exported.serialize(jaxpr=True))
    for each in (exported, loaded):
        done = export.to_iree({"double": each}, tmp_path / "m.vmfb")
        assert done.signatures["double"] == (["3xf32"], ["3xf32"])
    named = export.export(plugjax.jit(lambda *, k: k))(k=np.float32(1))
    with pytest.raises(TypeError, match="keyword arguments"):
        export.to_stablehlo({"named": named})
