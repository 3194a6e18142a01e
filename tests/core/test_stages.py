"""Programs as text: dialects of installed backends, and the user's lines of operations."""

import jax
import pytest

import plugjax
import plugjax.numpy as jnp


@plugjax.jit
def block(x):
    with plugjax.named_scope("attention"):
        with plugjax.named_scope("weights"):
            y = jnp.exp(x)
        return plugjax.named_call(jnp.tanh, name="gate")(y)


def lowered(machine):
    with plugjax.default_device(plugjax.devices(machine)[0]):
        return block.lower(1.0)


@pytest.mark.parametrize("machine", ["numpy", "xla", "iree"])
@pytest.mark.parametrize(
    ("dialect", "words"), [("stablehlo", "stablehlo."), ("hlo", "HloModule"), ("python", "def run")]
)
def test_any_backend_s_program_in_any_dialect(machine, dialect, words):
    assert words in lowered(machine).as_text(dialect)


@pytest.mark.parametrize(
    ("machine", "words"), [("numpy", "def run"), ("xla", "stablehlo."), ("iree", "stablehlo.")]
)
def test_a_backend_s_own_dialect(machine, words):
    assert words in lowered(machine).as_text()


def test_an_unknown_dialect_names_the_known_ones():
    with pytest.raises(ValueError, match=r"unknown dialect: llvm.*stablehlo.*hlo.*python"):
        lowered("xla").as_text("llvm")


@pytest.mark.parametrize("machine", ["xla", "iree"])
def test_locations_have_scopes_and_lines(machine):
    text = lowered(machine).as_text(debug_info=True)
    assert "block/attention/weights/exp" in text
    assert "block/attention/gate/tanh" in text
    assert f'"{__file__}":' in text
    assert "attention" not in lowered(machine).as_text()


def test_a_scope_ends_with_its_block_when_an_error_leaves_it():
    with pytest.raises(KeyError), plugjax.named_scope("broken"):
        raise KeyError
    assert "broken" not in plugjax.jit(jnp.sin).lower(1.0).as_text("stablehlo", debug_info=True)


@pytest.mark.parametrize("wrap", [lambda f: f, plugjax.jit, plugjax.vmap])
def test_a_nan_is_found_within_its_scope(wrap):
    def logarithm(x):
        with plugjax.named_scope("likelihood"):
            return jnp.log(x)

    argument = jnp.array([-1.0]) if wrap is plugjax.vmap else -1.0
    with plugjax.debug_nans(True), pytest.raises(FloatingPointError, match="likelihood"):
        wrap(logarithm)(argument)


def test_gradients_keep_the_scopes_of_what_they_differentiate():
    text = plugjax.jit(plugjax.grad(block)).lower(1.0).as_text("stablehlo", debug_info=True)
    assert "attention/weights/mul" in text


@pytest.mark.parametrize("framework", [jax, plugjax])
def test_what_stages_say_of_donation_and_results(framework):
    traced = framework.jit(lambda x, y, z: {"a": x + y}, donate_argnums=(1,)).trace(1.0, 2.0, z=3.0)
    lowered = traced.lower()
    assert traced.donate_argnums == lowered.donate_argnums == lowered.compile().donate_argnums
    assert traced.donate_argnums == (1,)
    assert str(traced.out_avals["a"]) == "~float32[]"
