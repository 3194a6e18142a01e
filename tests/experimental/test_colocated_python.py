"""Python on the hosts of devices, against JAX on processors. JAX pickles functions; here its pickles are keys to a table."""

import gc
import importlib
import json
import os
import subprocess
import sys
import textwrap
import threading
import weakref

import jax
import numpy as np
import pytest

import plugjax
import plugjax.experimental.colocated_python
from plugjax.cli import parity
from plugjax.extend.core import Device

PACKAGE = "experimental.colocated_python"
X = np.arange(4, dtype=np.float32)


def without_pickles(setattr_):
    """Have JAX keep functions in this process, as `cloudpickle` need not be installed."""
    kept = {}

    def keep(value):
        key = str(len(kept)).encode()
        kept[key] = value
        return key

    for name in ("func", "serialization"):
        module = importlib.import_module(f"jax.{PACKAGE}.{name}")
        setattr_(module, "_serialize", keep)
        setattr_(module, "_deserialize", kept.__getitem__)


@pytest.fixture(params=["jax", "numpy", "xla", "iree"])
def framework(request, monkeypatch):
    if request.param == "jax":
        without_pickles(monkeypatch.setattr)
        yield jax
    else:
        with plugjax.default_device(request.param):
            yield plugjax


@pytest.fixture
def cp(framework):
    return framework.experimental.colocated_python


@pytest.fixture
def x(framework):
    return framework.numpy.asarray(X)


def struct(framework, x, shape=None):
    return framework.ShapeDtypeStruct(shape or x.shape, x.dtype, sharding=x.sharding)


def test_names():
    names = parity.listed("others")
    documented = {n: names[n] for n in names if n in (PACKAGE, f"{PACKAGE}.api")}
    assert parity.missing(documented) == {PACKAGE: [], f"{PACKAGE}.api": []}
    assert all(parity.is_counted(n, name) for n, found in documented.items() for name in found)
    assert not parity.is_counted(f"{PACKAGE}.func", "Specialization")


def test_a_function_gets_the_arrays_and_runs_as_python(framework, cp, x):
    seen = []

    @cp.colocated_python
    def ranks(tree, *, scale):
        """Ranks."""
        seen.append((type(tree["x"]) is type(x), tree["x"].sharding == x.sharding))
        order = np.argsort(-np.asarray(tree["x"]))
        return {"ranks": framework.numpy.asarray(order), "scaled": tree["x"] * scale}, None

    for _ in range(2):
        found, nothing = ranks({"x": x}, scale=x)
        np.testing.assert_array_equal(found["ranks"], [3, 2, 1, 0])
        np.testing.assert_array_equal(found["scaled"], X * X)
        assert nothing is None
    assert seen == [(True, True)] * 2
    assert (ranks.__name__, ranks.__doc__) == ("ranks", "Ranks.")


def test_a_function_without_arguments_is_told_its_devices(framework, cp, x):
    made = cp.colocated_python(lambda: framework.numpy.ones(3))
    with pytest.raises(ValueError, match="No devices found"):
        made()
    np.testing.assert_array_equal(made.specialize(devices=list(x.devices()))(), np.ones(3))


def test_each_thing_is_said_once(framework, cp, x):
    double = cp.colocated_python(lambda x: 2 * x)
    one = double.specialize(in_specs=((struct(framework, x),), {}))
    two = one.specialize(out_specs_fn=lambda spec: spec)
    three = two.specialize(devices=list(x.devices()))
    for f in (one, two, three):
        np.testing.assert_array_equal(f(x), 2 * X)
    with pytest.raises(ValueError, match="in_specs already specified"):
        three.specialize(in_specs=((struct(framework, x),), {}))
    with pytest.raises(ValueError, match="out_specs_fn already specified"):
        three.specialize(out_specs_fn=lambda spec: spec)
    with pytest.raises(ValueError, match="devices already specified"):
        three.specialize(devices=list(x.devices()))


def test_specs_of_results_are_asked_for_once_for_arguments_of_one_kind(framework, cp, x):
    asked = []

    def results(spec, *, by):
        asked.append((spec.shape, spec.dtype == np.float32, spec.sharding == x.sharding, by.shape))
        return spec

    scaled = cp.colocated_python(lambda x, *, by: x * by).specialize(out_specs_fn=results)
    for value in (x, x + 1, x[:2]):
        np.testing.assert_array_equal(scaled(value, by=x[:1]), np.asarray(value) * 0)
    assert asked == [((4,), True, True, (1,)), ((2,), True, True, (1,))]


def test_errors_are_raised_when_the_function_is_called(framework, cp, x):
    def fail(*_):
        calls.append(1)
        raise ZeroDivisionError("of the user's")

    calls = []
    failing = cp.colocated_python(fail)
    for _ in range(2):
        with pytest.raises(ZeroDivisionError, match="of the user's"):
            failing(x)
    with pytest.raises(ZeroDivisionError, match="of the user's"):
        cp.colocated_python(lambda x: x).specialize(out_specs_fn=fail)(x)
    assert len(calls) == 3


def test_arguments_and_results_are_arrays(framework, cp, x):
    same = cp.colocated_python(lambda x: x)
    for wrong in (X, 1.0):
        # JAX looks for attributes first.
        with pytest.raises((ValueError, AttributeError)):
            same(wrong)
        with pytest.raises(
            ValueError, match=r"only supports jax\.Array as input and output, but got"
        ):
            cp.colocated_python(lambda x, wrong=wrong: wrong)(x)
    for traced in (framework.jit(same), framework.vmap(same), framework.grad(same)):
        with pytest.raises((ValueError, AttributeError)):
            traced(x)


def test_keys(framework, cp):
    key = framework.random.key(0)
    split = cp.colocated_python(lambda key: framework.random.split(key, 2))
    for _ in range(2):
        found = split(key)
        assert found.dtype == key.dtype
        wanted = jax.random.key_data(jax.random.split(jax.random.key(0)))
        np.testing.assert_array_equal(framework.random.key_data(found), wanted)


def counter(cp, made):
    @cp.colocated_python_class
    class Counter:
        """Counts."""

        def __init__(self, start, *, step=1):
            made.append((start, step))
            self.value, self.step = start, step

        def add(self, x):
            self.value = self.value + self.step * x
            return self.value

        def get(self):
            return self.value

        @staticmethod
        def twice(x):
            return 2 * x

    return Counter


def test_an_object_is_made_on_the_first_call_of_a_method(framework, cp, x):
    made = []
    Counter = counter(cp, made)  # noqa: N806  # a class
    assert (Counter.__name__, Counter.__doc__) == ("Counter", "Counts.")
    first, second = Counter(10.0), Counter(start=0.0, step=2)
    assert made == []
    np.testing.assert_array_equal(first.add(x), 10 + X)
    np.testing.assert_array_equal(first.add(x), 10 + 2 * X)
    assert made == [(10.0, 1)]
    np.testing.assert_array_equal(second.add(x), 2 * X)
    assert made == [(10.0, 1), (0.0, 2)]
    with pytest.raises(ValueError, match="No devices found"):
        first.get()
    at = first.get.specialize(devices=list(x.devices()))
    np.testing.assert_array_equal(at(), 10 + 2 * X)
    np.testing.assert_array_equal(first.twice(x), 2 * X)
    assert first.add.__name__ == "add"
    assert isinstance(first, Counter)
    assert not hasattr(first, "value")


def test_an_object_that_cannot_be_made_is_not_tried_again(framework, cp, x):
    made = []

    @cp.colocated_python_class
    class Bad:
        def __init__(self, *args):
            made.append(args)
            raise RuntimeError("no disk")

        def read(self, x):
            return x

    bad = Bad(1)
    for _ in range(2):
        with pytest.raises(RuntimeError, match="no disk"):
            bad.read(x)
    assert made == [(1,)]


def test_threads_share_an_object(framework, cp, x):
    made, found = [], []
    total, barrier = counter(cp, made)(0.0), threading.Barrier(4)

    def call():
        barrier.wait()
        found.append(total.twice(x))
        total.add(x)

    threads = [threading.Thread(target=call) for _ in range(4)]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
    assert made == [(0.0, 1)]
    assert len(found) == 4


# What JAX does not check on processors ------------------------------------------------------------


unlike_jax = pytest.mark.parametrize("framework", ["numpy", "xla", "iree"], indirect=True)


@unlike_jax
def test_arguments_and_results_are_as_they_were_said_to_be(framework, cp, x):
    double, spec = cp.colocated_python(lambda x: 2 * x), struct(framework, x)
    with pytest.raises(
        ValueError, match=r"arguments\[0\] should be .*shape=\(4,\).* but is .*\(2,\)"
    ):
        double.specialize(in_specs=((spec,), {}))(x[:2])
    with pytest.raises(ValueError, match="the specs of the arguments have the structure"):
        double.specialize(in_specs=((spec, spec), {}))(x)
    with pytest.raises(ValueError, match="in_specs must be a pytree of ShapeDtypeStruct, got 4"):
        double.specialize(in_specs=((4,), {}))
    for wrong, message in (
        (spec.update(shape=(2,)), r"results\[0\] should be .*shape=\(2,\)"),
        (spec.update(dtype=np.dtype(np.int32)), r"results\[0\] should be .*dtype=int32"),
        ((spec, spec), "the specs of the results have the structure"),
    ):
        with pytest.raises(ValueError, match=message):
            double.specialize(out_specs_fn=lambda _, wrong=wrong: wrong)(x)
    open_ = spec.update(sharding=None)
    np.testing.assert_array_equal(double.specialize(out_specs_fn=lambda _: open_)(x), 2 * X)


@unlike_jax
def test_traced_values_are_refused_by_type(framework, cp, x):
    with pytest.raises(ValueError, match=r"arguments\[0\] is a traced value, float32\[4\]"):
        framework.jit(cp.colocated_python(lambda x: x))(x)
    called = cp.colocated_python(lambda x: x + 1)
    found = framework.jit(lambda x: framework.experimental.io_callback(called, x, x))
    np.testing.assert_array_equal(found(x), X + 1)


@unlike_jax
def test_objects_live_as_long_as_their_wrappers(framework, cp, x):
    class Held:
        def touch(self, x):
            held.append(weakref.ref(self))
            return x

    held = []
    wrapper = cp.colocated_python_class(Held)()
    wrapper.touch(x)
    framework.clear_caches()
    wrapper.touch(x)
    assert held[0]() is held[1]() is not None
    del wrapper
    gc.collect()
    assert held[0]() is None


# Devices ------------------------------------------------------------------------------------------


class Machine(plugjax.extend.Backend):
    """Two processes with two accelerators and two processors each."""

    name = "machine"

    def __init__(self, processors=2):
        kinds = ["cuda"] * 2 + ["cpu"] * processors
        self.found = [
            Device(self, kind, i, process_index=process)
            for process in range(2)
            for i, kind in enumerate(kinds)
        ]

    def devices(self):
        return self.found


def test_the_processors_beside_accelerators():
    beside = plugjax.experimental.colocated_python.colocated_cpu_devices
    machine = Machine()
    gpus = [d for d in machine.devices() if d.platform == "gpu"]
    cpus = [d for d in machine.devices() if d.platform == "cpu"]
    assert beside(gpus) == tuple(cpus)
    assert beside(gpus[::-1]) == tuple(cpus[::-1])
    assert beside([cpus[1], gpus[0]]) == (cpus[1], cpus[0])
    mesh = plugjax.sharding.Mesh(np.array(gpus, object).reshape(2, 2), ("x", "y"))
    assert beside(mesh).devices.tolist() == [cpus[:2], cpus[2:]]
    assert (beside(mesh).axis_names, beside(mesh).axis_types) == (("x", "y"), mesh.axis_types)
    few = Machine(processors=1).devices()
    with pytest.raises(ValueError, match="Process 0 does not have enough local CPU devices"):
        beside(few[:2])
    # Without processors of its own, those of the host.
    alone = Machine(processors=0).devices()
    assert beside(alone[:1]) == tuple(plugjax.devices("cpu")[:1])
    same = plugjax.experimental.colocated_python.colocated_python(lambda: None)
    with pytest.raises(ValueError, match="must contain only CPU devices"):
        same.specialize(devices=gpus)()


SCRIPT = """
import importlib, json, sys
import numpy as np
name = sys.argv[1]
j = importlib.import_module("jax" if name == "jax" else "plugjax")
j.config.update("jax_num_cpu_devices", 4)
cp = importlib.import_module(f"{j.__name__}.experimental.colocated_python")
if name == "jax":
    from tests.experimental.test_colocated_python import without_pickles
    without_pickles(setattr)
devices = j.devices("cpu" if name == "jax" else name)[:4]
mesh = j.sharding.Mesh(np.array(devices).reshape(2, 2), ("x", "y"))
beside = cp.colocated_cpu_devices(mesh)
found = [beside == mesh, [d.id for d in cp.colocated_cpu_devices(devices)]]
S, P = j.sharding.NamedSharding, j.sharding.PartitionSpec
x = j.device_put(np.arange(8, dtype=np.float32).reshape(4, 2), S(beside, P("x", "y")))

@cp.colocated_python
def load(x):
    def part(index):
        return np.asarray(x)[index] * 10
    return j.make_array_from_callback(x.shape, x.sharding, part), x.T

for f in (load, load.specialize(out_specs_fn=lambda s: (s, j.ShapeDtypeStruct(
        (2, 4), s.dtype, sharding=S(beside, P("y", "x")))))):
    a, b = f(x)
    found += [str(a.sharding.spec), np.asarray(a).tolist(), np.asarray(b).tolist()]
    found.append([np.asarray(shard.data).tolist() for shard in a.addressable_shards])
for args in ((x, j.device_put(np.ones(2), devices[0])), [j.device_put(np.ones(2), d) for d in devices[:2]]):
    try:
        cp.colocated_python(lambda a, b: a)(*args)
    except ValueError as error:
        found.append("multiple device lists" in str(error))

@cp.colocated_python_class
class Sums:
    def __init__(self):
        self.sums = []
    def add(self, x):
        self.sums.append(float(np.asarray(x).sum()))
        return j.device_put(np.float32(len(self.sums)), x.sharding.update(spec=P()))

sums = Sums()
found += [float(sums.add(x)), float(sums.add(x))]
print(json.dumps(found))
"""


def with_four_devices(name):
    environment = {**os.environ, "JAX_PLATFORMS": "cpu", "PYTHONPATH": os.pathsep.join(sys.path)}
    environment.pop("XLA_FLAGS", None)
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(SCRIPT), name],
        capture_output=True, text=True, env=environment, timeout=200, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


@pytest.fixture(scope="module")
def jax_with_four_devices():
    return with_four_devices("jax")


@pytest.mark.parametrize("name", ["numpy", "xla", "iree"])
def test_shardings_are_kept(name, jax_with_four_devices):
    assert with_four_devices(name) == jax_with_four_devices
    assert jax_with_four_devices[0] is True


def test_a_function_makes_arrays_where_it_was_told_to():
    script = """
        import plugjax as j
        from plugjax.experimental.colocated_python import colocated_python
        j.config.update("jax_num_cpu_devices", 2)
        last = j.devices("numpy")[1]
        made = colocated_python(lambda: j.numpy.ones(2)).specialize(devices=[last])()
        print(made.device == last)
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(script)], capture_output=True, text=True, check=True
    )
    assert done.stdout == "True\n"
