"""Meshes and spread arrays."""

import numpy as np
import pytest

import plugjax
import plugjax.numpy as jnp
from plugjax import visualize
from tests.meshes.scripts import run
from tests.visualize.trees import elements, parsed, words


def test_eight_devices(backend):
    script = """
    from xml.etree import ElementTree
    from plugjax import visualize
    for picture in (visualize.mesh(mesh), visualize.mesh(mesh.abstract_mesh)):
        ElementTree.fromstring(picture.html)
        print(picture.title, picture.svg.count("<rect"))
    cases = [((), P()), ((8,), P("x")), ((8, 4), P("x", "y")), ((8, 4), P(("x", "y"))), ((3, 8, 4), P(None, "x", "y")), ((8, 4, 6), P("x", "y")),
             ((4, 4, 2, 2), P("x", "y"))]
    for shape, spec in cases:
        x = jax.device_put(np.ones(shape, np.float32), jax.NamedSharding(mesh, spec))
        picture = visualize.array(x)
        ElementTree.fromstring(picture.html)
        text = "".join(ElementTree.fromstring(picture.html).itertext())
        assert all(str(device) in text for device in mesh.devices.flat)
        print(shape, picture.svg.count("<rect"), "[0:2, 0:2]" in picture.svg)
        ElementTree.fromstring(x._repr_html_())
    for shown in (mesh, mesh.abstract_mesh, x.sharding):
        ElementTree.fromstring(shown._repr_html_())
    """
    assert run(backend, script).splitlines() == [
        "mesh x=4, y=2 8",
        "mesh x=4, y=2 8",
        "() 1 False",
        "(8,) 4 False",
        "(8, 4) 8 True",
        "(8, 4) 8 False",
        "(3, 8, 4) 8 False",
        "(8, 4, 6) 8 False",
        "(4, 4, 2, 2) 8 False",
    ]


def test_large_arrays_over_devices_show_one_part():
    script = """
    from xml.etree import ElementTree
    from plugjax.extend.core import Array
    from plugjax.visualize.samples import sample
    x = jax.device_put(np.arange(2 << 20, dtype=np.float32).reshape(1024, 2048), jax.NamedSharding(mesh, P("x", "y")))
    found = sample(x)
    print(found.values.size <= 65536, "the part on" in found.about)
    assert "the part on" in x._repr_html_()
    # Parts that other processes have.
    y = jax.device_put(np.arange(8.0, dtype=np.float32), jax.NamedSharding(mesh, P("x")))
    Array.is_fully_addressable = property(lambda self: False)
    print(sample(y).values, sample(y).about)
    ElementTree.fromstring(y._repr_html_())
    """
    assert run("xla", script).splitlines() == [
        "True True",
        "[0. 1.] 2 of 8 elements, the part on xla:cpu:0",
    ]


def test_hostile_names_of_axes():
    mesh = plugjax.make_mesh((1, 1), ("<b>&", '"'), devices=plugjax.devices("numpy")[:1])
    drawing, page = parsed(visualize.mesh(mesh))
    assert "<b>&=1" in words(drawing)
    assert '"=1' in words(page)
    assert not elements(page, "b")


def test_arrays_that_are_on_one_device(on_backend):
    drawing, _ = parsed(visualize.array(jnp.ones((4, 2))))
    assert "[0:4, 0:2]" in words(drawing)


def test_what_cannot_be_drawn():
    mesh = plugjax.make_mesh((1,), ("x",), devices=plugjax.devices("numpy")[:1])
    spread = plugjax.NamedSharding(mesh, plugjax.P("x", None))
    with pytest.raises(ValueError, match="rank"):
        visualize.sharding((4,), spread)
    with pytest.raises(TypeError, match="inspect_array_sharding"):
        plugjax.jit(visualize.array)(1.0)
    with pytest.raises(TypeError, match=r"visualize\.array needs an array"):
        visualize.array("text")


def test_axes_without_elements():
    mesh = plugjax.make_mesh((1,), ("x",), devices=plugjax.devices("numpy")[:1])
    parsed(visualize.sharding((0, 4), plugjax.NamedSharding(mesh, plugjax.P("x"))))
    parsed(visualize.array(np.zeros((3, 0), np.float32)))
