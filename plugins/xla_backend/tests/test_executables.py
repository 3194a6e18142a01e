import io
import subprocess
import sys

import numpy as np
import pytest

from plugjax_xla import mlir, pjrt

F32 = np.dtype("float32")

ADD = """
func.func public @main(%a: tensor<4xf32>, %b: tensor<4xf32>) -> tensor<4xf32> {
  %0 = stablehlo.add %a, %b : tensor<4xf32>
  return %0 : tensor<4xf32>
}
"""

DOUBLE = """
func.func public @main(%a: tensor<1000xf32> ATTRIBUTES) -> tensor<1000xf32> {
  %0 = stablehlo.add %a, %a : tensor<1000xf32>
  return %0 : tensor<1000xf32>
}
"""


def bytecode(text):
    out = io.BytesIO()
    mlir.parse_module(text).operation.write_bytecode(out)
    return out.getvalue()


@pytest.mark.parametrize("form", [str, str.encode, mlir.parse_module, bytecode])
def test_compiles_every_form_of_module(device, form):
    executable = device.compile(form(ADD), [((4,), F32)])
    a, b = np.arange(4, dtype=F32), np.ones(4, F32)
    (result,) = executable([device.put(a), device.put(b)])
    assert device.get(result, (4,), F32).tolist() == [1, 2, 3, 4]


def test_several_results_and_none(device):
    two = device.compile(
        "func.func public @main(%a: tensor<f32>) -> (tensor<f32>, tensor<i32>) {"
        " %0 = stablehlo.convert %a : (tensor<f32>) -> tensor<i32>"
        " return %a, %0 : tensor<f32>, tensor<i32> }",
        [((), F32), ((), "int32")],
    )
    first, second = two([device.put(np.float32(3))])
    assert device.get(first, (), F32) == 3
    assert device.get(second, (), np.dtype("int32")) == 3
    none = device.compile("func.func public @main() { return }", [])
    assert none([]) == []


def test_runs_on_the_device_it_was_compiled_for():
    second = pjrt.cpu_client(num_devices=2).devices[1]
    executable = second.compile(ADD, [((4,), F32)])
    (result,) = executable([second.put(np.ones(4, F32))] * 2)
    assert second.get(result, (4,), F32).tolist() == [2, 2, 2, 2]


@pytest.mark.parametrize(
    ("attributes", "donated"),
    [
        ("{tf.aliasing_output = 0 : i32}", ()),
        ("{jax.buffer_donor = true}", ()),
        ("", (0,)),
        ('{test.other = "kept"}', (0,)),
        ("{tf.aliasing_output = 0 : i32}", (0,)),
    ],
)
def test_donation(device, attributes, donated):
    module = mlir.parse_module(DOUBLE.replace("ATTRIBUTES", attributes))
    before = str(module)
    executable = device.compile(module, [((1000,), F32)], donated=donated)
    assert str(module) == before
    buffer = device.put(np.ones(1000, F32))
    (result,) = executable([buffer])
    assert device.get(result, (1000,), F32)[0] == 2
    assert pjrt.is_deleted(buffer)


@pytest.mark.parametrize("name", ["f32", "bf16"])
def test_donation_does_not_change_a_host_view(device, name):
    executable = device.compile(
        DOUBLE.replace("f32", name).replace("ATTRIBUTES", ""),
        [((1000,), "float32" if name == "f32" else "bfloat16")],
        donated=[0],
    )
    dtype = executable.out_specs[0][1]
    # For a put buffer and for a result.
    (second,) = executable([device.put(np.ones(1000, dtype))])
    for buffer, value in ((device.put(np.ones(1000, dtype)), 1), (second, 2)):
        view = device.get(buffer, (1000,), dtype)
        (result,) = executable([buffer])
        assert device.get(result, (1000,), dtype)[0] == 2 * value
        assert view[0] == value


def test_donating_owned_memory_leaves_it_to_xla_only(device):
    executable = device.compile(DOUBLE.replace("ATTRIBUTES", ""), [((1000,), F32)], donated=[0])
    array = np.ones(1000, F32)
    (result,) = executable([device.put(array, owned=True)])
    assert device.get(result, (1000,), F32)[-1] == 2
    assert array[-1] == 1


def test_serialization_round_trip(device):
    blob = device.compile(ADD, [((4,), F32)]).serialize()
    for target in (device, pjrt.cpu_client(num_devices=2).devices[1]):
        executable = target.deserialize(blob, [((4,), F32)])
        (result,) = executable([target.put(np.ones(4, F32))] * 2)
        assert target.get(result, (4,), F32).tolist() == [2, 2, 2, 2]
        assert executable.serialize()


def test_serialized_code_runs_in_another_process(device, tmp_path):
    (tmp_path / "add").write_bytes(device.compile(ADD, [((4,), F32)]).serialize())
    program = (
        "import sys, numpy as np; from plugjax_xla import pjrt;"
        "device = pjrt.cpu_client().devices[0]; blob = open(sys.argv[1], 'rb').read();"
        "run = device.deserialize(blob, [((4,), 'float32')]);"
        "one = device.put(np.ones(4, np.float32));"
        "assert device.get(run([one, one])[0], (4,), np.dtype('float32')).tolist() == [2] * 4"
    )
    subprocess.run([sys.executable, "-c", program, str(tmp_path / "add")], check=True)


@pytest.mark.parametrize("keep", [0, 3, 50, -100])
def test_damaged_code_is_refused(device, keep):
    blob = device.compile(ADD, [((4,), F32)]).serialize()
    with pytest.raises(ValueError, match="not a loadable XLA executable"):
        device.deserialize(blob[:keep], [((4,), F32)])


def test_options_apply_and_unknown_ones_are_refused(device):
    executable = device.compile(
        ADD,
        [((4,), F32)],
        options={"xla_backend_optimization_level": 0, "xla_cpu_use_xnnpack": False},
    )
    (result,) = executable([device.put(np.ones(4, F32))] * 2)
    assert device.get(result, (4,), F32)[0] == 2
    with pytest.raises(RuntimeError, match="xla_no_such_flag"):
        device.compile(ADD, [((4,), F32)], options={"xla_no_such_flag": True})


def test_compile_errors_name_the_target(device):
    with pytest.raises(RuntimeError, match="nope"):
        device.compile(
            "func.func public @main(%a: tensor<f32>) -> tensor<f32> {"
            " %0 = stablehlo.custom_call @nope(%a) : (tensor<f32>) -> tensor<f32>"
            " return %0 : tensor<f32> }",
            [((), F32)],
        )


def test_analyses(device):
    executable = device.compile(ADD, [((4,), F32)])
    assert executable.cost_analysis()["flops"] == 4
    memory = executable.memory_analysis()
    assert memory["argument_size_in_bytes"] == 32
    assert memory["output_size_in_bytes"] == 16
    assert "HloModule" in executable.hlo_text()
    assert "add" in executable.hlo_text()


def test_fingerprints(device):
    options = {"xla_backend_optimization_level": 1, "xla_cpu_enable_fast_math": False}
    reordered = dict(reversed(options.items()))
    fingerprint = device.compile_options_fingerprint(options)
    assert fingerprint == device.compile_options_fingerprint(reordered)
    assert fingerprint != device.compile_options_fingerprint()
    other = pjrt.cpu_client(num_devices=2).devices[1]
    assert fingerprint == other.compile_options_fingerprint(options)
    assert device.runtime_fingerprint() == other.runtime_fingerprint()
    assert any(part.startswith("jaxlib ") for part in device.runtime_fingerprint())
