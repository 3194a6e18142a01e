"""What notebooks show of objects."""

import subprocess
import sys
from xml.etree import ElementTree

import numpy as np
import pytest

import plugjax
import plugjax.numpy as jnp
from plugjax.visualize import samples
from plugjax.visualize.arrays import picture_of_array
from plugjax.visualize.samples import sample, statistics
from tests.visualize.trees import elements, parsed, words

ARRAYS = {
    "line": lambda: jnp.sin(jnp.arange(300) / 20),
    "image": lambda: jnp.arange(12.0).reshape(3, 4),
    "four axes": lambda: jnp.ones((2, 3, 4, 5)),
    "scalar": lambda: jnp.float32(3),
    "weak scalar": lambda: jnp.asarray(3.0),
    "empty": lambda: jnp.zeros((0, 3)),
    "empty row": lambda: jnp.zeros((0,)),
    "one": lambda: jnp.ones(1),
    "bool": lambda: jnp.arange(12).reshape(3, 4) > 5,
    "complex": lambda: jnp.ones(5, jnp.complex64) * 1j,
    "bfloat16": lambda: jnp.arange(6, dtype=jnp.bfloat16).reshape(2, 3),
    "float8": lambda: jnp.ones(3, jnp.float8_e4m3fn),
    "int4": lambda: jnp.arange(5, dtype=jnp.int4),
    "uint8": lambda: jnp.arange(5, dtype=jnp.uint8),
    "nan": lambda: jnp.full((2, 2), jnp.nan),
    "nan row": lambda: jnp.array([1.0, jnp.nan, jnp.inf, 2.0]),
    "nothing finite": lambda: jnp.array([jnp.nan, jnp.inf]),
    "extremes": lambda: jnp.array([[3.4e38, -3.4e38]]),
    "key": lambda: plugjax.random.key(0),
    "keys": lambda: plugjax.random.split(plugjax.random.key(0), 3),
}


@pytest.mark.parametrize("name", ARRAYS)
def test_arrays(on_backend, name):
    x = ARRAYS[name]()
    text = words(ElementTree.fromstring(x._repr_html_()))
    assert x.aval.str_short() in text
    assert str(x.device) in text
    parsed(picture_of_array(x))


def test_extremes_of_float64():
    with plugjax.enable_x64():
        parsed(picture_of_array(jnp.array([[1.7e308, -1.7e308]])))
        parsed(picture_of_array(jnp.array([1.7e308, -1.7e308])))


def test_deleted_arrays(on_backend):
    x = jnp.ones(3)
    x.delete()
    assert "deleted" in words(ElementTree.fromstring(x._repr_html_()))


def test_tracers():
    seen = []

    def f(x):
        seen.append(x._repr_html_())
        return x * 2

    plugjax.jit(f)(jnp.ones((3, 2)))
    plugjax.grad(lambda x: f(x).sum())(jnp.ones(3))
    plugjax.vmap(f)(jnp.ones((3, 2)))
    for text in seen:
        assert "traced: it has no values yet" in words(ElementTree.fromstring(text))
    assert "float32[3,2]" in seen[0]


def test_statistics():
    found = sample(jnp.array([0.0, 1.0, 3.0, jnp.nan, jnp.inf]))
    assert found.whole
    assert dict(statistics(found)) == {
        "min": "0", "max": "3", "mean": "1.33333", "std": "1.24722", "zeros": "1", "nan": "1", "inf": "1",
    }  # fmt: skip
    assert dict(statistics(sample(jnp.array([True, False, True])))) == {"true": "2", "false": "1"}


def test_large_arrays_are_sampled_in_place(on_backend):
    x = jnp.arange(1 << 22, dtype=jnp.float32).reshape(1 << 11, -1)
    found = sample(x)
    assert found.values.size <= 1 << 16
    assert np.shares_memory(found.values, np.asarray(x))
    assert "of 4,194,304 elements" in x._repr_html_()
    assert len(x._repr_html_()) < 60_000


def test_large_arrays_elsewhere_are_sampled_on_their_device(on_backend, monkeypatch):
    x = jnp.arange(1 << 20, dtype=jnp.int32).reshape(4, -1)
    wanted = sample(x).values
    monkeypatch.setattr(samples, "_on_host", lambda part: False)
    fetched = []
    asarray = np.asarray
    monkeypatch.setattr(samples.np, "asarray", lambda a: (fetched.append(a.size), asarray(a))[1])
    assert np.array_equal(sample(x).values, wanted)
    assert max(fetched) == wanted.size


def test_programs_and_stages(on_backend):
    def double(x):
        return jnp.sin(x) * 2.0

    jitted = plugjax.jit(double)
    traced = jitted.trace(1.0)
    lowered = traced.lower()
    program = plugjax.make_jaxpr(double)(1.0)
    for shown in (program, program.jaxpr, traced, lowered, lowered.compile()):
        text = words(ElementTree.fromstring(shown._repr_html_()))
        assert "double" in text
        # IREE's program has arithmetic in its place.
        assert "sin" in text or isinstance(shown, plugjax.stages.Compiled)


def test_devices_configuration_and_registry(on_backend):
    device = plugjax.devices(on_backend)[0]
    registry = plugjax.extend.registry.active()
    with plugjax.debug_nans(True):
        shown = {
            str(device): device,
            f"backend {on_backend}": device.backend,
            "jax_debug_nans": plugjax.config,
            f"{len(registry.plugins)} plugins": registry,
            "SingleDeviceSharding": jnp.ones(3).sharding,
        }
        for text, each in shown.items():
            assert text in words(ElementTree.fromstring(each._repr_html_()))


def test_hostile_values_of_options():
    with plugjax.extend.config.override("dump_ir_modes", "</td><script>"):
        page = ElementTree.fromstring(plugjax.config._repr_html_())
    assert not elements(page, "script")


def test_other_objects_keep_their_text():
    from plugjax.visualize.notebook import html_of

    assert html_of(3) is None


def test_nothing_is_loaded_until_a_notebook_asks():
    script = """if True:
        import sys, plugjax, plugjax.numpy as jnp
        x = plugjax.jit(jnp.sin)(jnp.ones(3))
        repr(x), str(plugjax.config)
        hasattr(x, "_repr_html_"), plugjax.visualize
        assert [m for m in sys.modules if m.startswith("plugjax.visualize")] == ["plugjax.visualize"]
        assert not any(m.startswith("plugjax.visualize.") for m in sys.modules)
        x._repr_html_()
        assert "plugjax.visualize.arrays" in sys.modules
    """
    subprocess.run([sys.executable, "-c", script], check=True, timeout=120)
    script = "import sys, plugjax; assert 'plugjax.visualize' not in sys.modules"
    subprocess.run([sys.executable, "-c", script], check=True, timeout=120)
