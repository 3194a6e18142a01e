"""Clients of XLA's runtime: backends that programs add, and starting anew, against JAX. Each script has a process of its own."""

import importlib
import json
import os
import subprocess
import sys
import textwrap

import pytest

HEAD = """
import doctest, importlib, inspect, json, os, sys
import numpy as np
name = sys.argv[1]
j = importlib.import_module("jax" if name == "jax" else "plugjax")
np_ = importlib.import_module(f"{j.__name__}.numpy")
backend = importlib.import_module(f"{j.__name__}.extend.backend")
from jaxlib import xla_client

def says(f, *words):
    "Whether f raises a RuntimeError with these words."
    try:
        f()
    except RuntimeError as error:
        return all(word in str(error) for word in words)
    return False
"""

ADDED = """
made = []
def pair():
    made.append(1)
    return xla_client.make_cpu_client(num_devices=2)

register = backend.register_backend_factory
register("pair", lambda: 1 / 0, priority=-5)
register("pair", pair, priority=-5)
register("broken", lambda: 1 / 0, priority=-5)
register("none", lambda: None, priority=-5)
found = [len(made), j.default_backend(), [d.id for d in j.devices("pair")], len(made)]
last = j.devices("pair")[1]
x = j.device_put(np.arange(8, dtype=np.float32), last)
f = j.jit(lambda x: np_.sort(np_.sin(x) @ np_.outer(x, x)) + j.random.uniform(j.random.key(0), (8,)))
found += [np.asarray(f(x)).round(3).tolist(), f(x).devices() == {last}, (x + 1).devices() == {last}]
found += [np.asarray(j.grad(lambda x: (x ** 2).sum())(x)).tolist()]
mesh = j.sharding.Mesh(np.array(j.devices("pair")), ("x",))
y = j.device_put(np.arange(8, dtype=np.float32), j.sharding.NamedSharding(mesh, j.sharding.PartitionSpec("x")))
found += [float(j.jit(lambda y: (y * y).sum())(y)), len(y.addressable_shards)]
found += [np.asarray(j.jit(lambda y: y + 1)(y)).tolist()]
found += [float(j.pure_callback(lambda v: np.float32(v.sum()), j.ShapeDtypeStruct((), np.float32), x))]
found += ["pair" in backend.backends(), "broken" in backend.backends(), len(made)]
found += [says(lambda: register("pair", pair), "Backend pair already initialized")]
found += [says(lambda: j.devices("broken"), "'broken'", "division by zero")]
found += [says(lambda: j.devices("none"), "Could not initialize backend 'none'")]
backend.clear_backends()
register("pair", pair)
found += [[d.id for d in j.devices("pair")], len(made)]
found += [last in j.devices("pair"), float((x + 1)[0])]
print(json.dumps(found))
"""

ANEW = """
j.config.update("jax_num_cpu_devices", 2)
traced = []
f = j.jit(lambda x: (traced.append(1), x + 1)[1])
x = np_.arange(3.0)
kept = j.device_put(x, j.devices()[1])
f(x), f(kept)
compiled = j.jit(lambda x: 2 * x).lower(x).compile()
before, count = j.devices()[0], len(traced)
found = [backend.clear_backends()]
j.config.update("jax_num_cpu_devices", 3)
found += [before == j.devices()[0], before.client is j.devices()[0].client, len(j.devices("cpu"))]
y = np_.ones(3)
found += [np.asarray(v).tolist() for v in (x, kept, x + 1, kept + y, x + y, compiled(x), compiled(y))]
found += [np.asarray(f(v)).tolist() for v in (x, kept, y)] + [len(traced) > count]
found += [np.asarray(j.grad(f)(1.0)).tolist(), np.asarray(j.random.key_data(j.random.key(1))).tolist()]
try:
    j.jit(lambda a, b: a + b)(kept, j.device_put(y, j.devices()[1]))
except ValueError as error:
    found.append("incompatible devices" in str(error))
print(json.dumps(found))
"""


def run(script, name, **settings):
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), **settings}
    for chosen in ("XLA_FLAGS", "JAX_PLATFORMS"):
        environment.pop(chosen, None)
    done = subprocess.run(
        [sys.executable, "-c", HEAD + textwrap.dedent(script), name],
        capture_output=True,
        text=True,
        env=environment,
        timeout=200,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done


def answers(script, name, **settings):
    return json.loads(run(script, name, **settings).stdout.splitlines()[-1])


@pytest.fixture(scope="module")
def by_jax():
    return {script: answers(script, "jax") for script in (ADDED, ANEW)}


@pytest.mark.parametrize("default", ["numpy", "xla"])
def test_a_client_becomes_a_backend(default, by_jax):
    assert answers(ADDED, "plugjax", PLUGJAX_BACKEND=default) == by_jax[ADDED]


@pytest.mark.parametrize("default", ["numpy", "xla", "iree"])
def test_backends_start_anew(default, by_jax):
    assert answers(ANEW, "plugjax", PLUGJAX_BACKEND=default) == by_jax[ANEW]


def test_the_default_backend_is_the_best():
    script = """
    register = backend.register_backend_factory
    first = j.devices()[0]
    register("even", xla_client.make_cpu_client)
    same = j.devices()[0] is first
    register("best", xla_client.make_cpu_client, priority=1, experimental=True)
    print(json.dumps([same, str(np_.ones(2).device), [*backend.backends()][:3]]))
    """
    done = run(script, "plugjax", PLUGJAX_BACKEND="")
    assert json.loads(done.stdout) == [True, "best:cpu:0", ["best", "xla", "even"]]
    assert "Platform 'best' is experimental" in done.stderr


def test_names_of_plugins_are_theirs():
    backend = importlib.import_module("plugjax.extend.backend")
    with pytest.raises(RuntimeError, match="a plugin provides the backend 'numpy'"):
        backend.register_backend_factory("numpy", lambda: None)


def test_dropped_clients_are_known_after_a_fork():
    script = """
    x = np_.ones(3, device="xla") + 1
    x.block_until_ready()
    backend.clear_backends()
    y = j.jit(lambda x: x + 2, device="xla")(np.float32(1)).block_until_ready()
    if (child := os.fork()) == 0:
        print(json.dumps([np.asarray(x).tolist(), float(y), float(y + 1)]), flush=True)
        os._exit(0)
    sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
    """
    assert answers(script, "plugjax") == [[2, 2, 2], 3, 4]


def test_the_examples():
    script = """
    for function in (backend.clear_backends, backend.register_backend_factory):
        text = inspect.getdoc(function).replace("# doctest: +SKIP", "")
        test = doctest.DocTestParser().get_doctest(text, {}, function.__name__, None, 0)
        assert doctest.DocTestRunner().run(test).failed == 0
    """
    run(script, "plugjax")


def test_the_proxy_of_clients_in_other_processes():
    ours, theirs = (
        importlib.import_module(f"{j}.extend.backend").ifrt_proxy for j in ("plugjax", "jax")
    )
    assert ours is theirs
    assert callable(ours.get_client)
