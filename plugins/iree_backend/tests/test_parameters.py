import ml_dtypes
import numpy as np
import pytest

from plugjax_iree.runtime import open_device
from plugjax_iree.runtime.parameters import load_parameters, read_archive, write_archive

PROGRAM = """module @m {
  util.global private @w = #flow.parameter.named<"model"::"layer/w"> : tensor<2x3xf32>
  util.global private mutable @step = #flow.parameter.named<"state"::"step"> : tensor<i32>
  func.func public @predict(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
    %w = util.global.load @w : tensor<2x3xf32>
    %0 = stablehlo.multiply %x, %w : tensor<2x3xf32>
    return %0 : tensor<2x3xf32>
  }
  func.func public @count() -> tensor<i32> {
    %step = util.global.load @step : tensor<i32>
    %one = stablehlo.constant dense<1> : tensor<i32>
    %0 = stablehlo.add %step, %one : tensor<i32>
    util.global.store %0, @step : tensor<i32>
    return %0 : tensor<i32>
  }
}"""


@pytest.mark.parametrize("uri", ["local-sync", "local-task"])
def test_modules_read_their_parameters(compiled, tmp_path, uri):
    w = np.arange(6, dtype=np.float32).reshape(2, 3)
    write_archive(tmp_path / "model.irpa", {"layer/w": np.asfortranarray(w)})
    write_archive(tmp_path / "state.irpa", {"step": np.array(41, np.int32)})
    parameters = load_parameters(
        {"model": tmp_path / "model.irpa", "state": tmp_path / "state.irpa"}
    )
    device = open_device(uri)
    loaded = device.load(compiled(PROGRAM), parameters=parameters)
    (y,) = loaded.function("predict")([device.put(w)])
    np.testing.assert_array_equal(device.get(y, w.dtype, w.shape), w * w)
    for expected in (42, 43):
        (step,) = loaded.function("count")([])
        assert device.get(step, np.dtype(np.int32), ()) == expected
    # State belongs to the loaded module, not to the archive.
    (step,) = device.load(compiled(PROGRAM), parameters=parameters).function("count")([])
    assert device.get(step, np.dtype(np.int32), ()) == 42


def test_missing_parameters_are_named(compiled, tmp_path):
    device = open_device("local-sync")
    write_archive(tmp_path / "other.irpa", {"other": np.zeros(3)})
    scopes = {"model": tmp_path / "other.irpa", "state": tmp_path / "other.irpa"}
    with pytest.raises(ValueError, match="layer/w"):
        device.load(compiled(PROGRAM), parameters=load_parameters(scopes))
    with pytest.raises(ValueError, match="io_parameters"):
        device.load(compiled(PROGRAM))


def test_archives_keep_shape_and_dtype(tmp_path):
    arrays = {
        "a": np.arange(6, dtype=ml_dtypes.bfloat16).reshape(2, 3),
        "empty": np.zeros((0, 4), np.complex128),
        "scalar": np.array(True),
        "strided": np.arange(10)[::-3],
    }
    write_archive(tmp_path / "x.irpa", arrays)
    back = read_archive(tmp_path / "x.irpa")
    assert list(back) == list(arrays)
    for key, array in arrays.items():
        assert back[key].dtype == array.dtype
        np.testing.assert_array_equal(back[key], array)


def test_a_failed_write_leaves_the_old_archive(tmp_path):
    path = tmp_path / "x.irpa"
    write_archive(path, {"a": np.arange(3)})
    with pytest.raises(TypeError, match="parameter 'b' has dtype"):
        write_archive(path, {"b": np.array(["text"])})
    assert list(read_archive(path)) == ["a"]
    assert [p.name for p in tmp_path.iterdir()] == ["x.irpa"]
