import threading
import time

import numpy as np
import pytest

from plugjax_xla import pjrt
from plugjax_xla.host_callbacks import HostCallback

F32 = np.dtype("float32")
ARGUMENT = np.arange(4, dtype=F32)


def call(operand, result, index=0):
    return (
        f"stablehlo.custom_call @xla_ffi_python_cpu_callback({operand}) {{api_version = 4 : i32, "
        f"backend_config = {{index = {index} : ui64}}, has_side_effect = true}} : "
        f"(tensor<4xf32>) -> {result}"
    )


VALUE = f"""
func.func public @main(%a: tensor<4xf32>) -> tensor<4xf32> {{
  %0 = {call("%a", "tensor<4xf32>")}
  return %0 : tensor<4xf32>
}}
"""

EFFECT = f"""
func.func public @main(%a: tensor<4xf32>) {{
  {call("%a", "()")}
  return
}}
"""

LOOP = f"""
func.func public @main(%a: tensor<4xf32>) -> tensor<4xf32> {{
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %end = stablehlo.constant dense<10> : tensor<i32>
  %r:2 = stablehlo.while(%i = %zero, %x = %a) : tensor<i32>, tensor<4xf32>
    cond {{
      %c = stablehlo.compare LT, %i, %end : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %c : tensor<i1>
    }} do {{
      %n = stablehlo.add %i, %one : tensor<i32>
      %y = {call("%x", "tensor<4xf32>")}
      stablehlo.return %n, %y : tensor<i32>, tensor<4xf32>
    }}
  return %r#1 : tensor<4xf32>
}}
"""


def run(device, text, function, specs=(((4,), F32),)):
    out_specs = [] if text is EFFECT else [((4,), F32)]
    executable = device.compile(text, out_specs, host_callbacks=[HostCallback(function, specs)])
    results = executable([device.put(ARGUMENT)])
    return [device.get(result, (4,), F32) for result in results]


def test_value(device):
    (result,) = run(device, VALUE, lambda x: (x * 2,))
    assert result.tolist() == [0, 2, 4, 6]


def test_inside_a_loop(device):
    (result,) = run(device, LOOP, lambda x: (x + np.float32(1),))
    assert result.tolist() == [10, 11, 12, 13]


def test_strided_result(device):
    (result,) = run(device, VALUE, lambda x: (np.repeat(x, 2)[::2],))
    assert result.tolist() == ARGUMENT.tolist()


def test_effect_without_results(device):
    seen = []
    callback = HostCallback(seen.append, [])
    executable = device.compile(EFFECT, [], host_callbacks=[callback])
    results, token = executable.call_with_token([device.put(ARGUMENT)])
    pjrt.block_until_ready([token])
    assert results == []
    assert [value.tolist() for value in seen] == [ARGUMENT.tolist()]


def test_arguments_may_be_kept_and_not_written(device):
    seen = []
    run(device, LOOP, lambda x: (seen.append(x), (x + np.float32(1),))[1])
    assert [x[0] for x in seen] == list(range(10))
    with pytest.raises(ValueError, match="read-only"):
        seen[0][0] = 1


def test_two_callbacks(device):
    text = f"""
    func.func public @main(%a: tensor<4xf32>) -> tensor<4xf32> {{
      %0 = {call("%a", "tensor<4xf32>", 0)}
      %1 = {call("%0", "tensor<4xf32>", 1)}
      return %1 : tensor<4xf32>
    }}
    """
    spec = [((4,), F32)]
    callbacks = [HostCallback(lambda x: (x + 1,), spec), HostCallback(lambda x: (x * 10,), spec)]
    executable = device.compile(text, spec, host_callbacks=callbacks)
    (result,) = executable([device.put(ARGUMENT)])
    assert device.get(result, (4,), F32).tolist() == [10, 20, 30, 40]


def test_a_callback_may_run_compiled_code_itself(device):
    inner = device.compile(VALUE, [((4,), F32)], host_callbacks=[doubled()])

    def outer(x):
        (result,) = inner([device.put(x)])
        return (device.get(result, (4,), F32),)

    (result,) = run(device, LOOP, outer)
    assert result.tolist() == [0, 1024, 2048, 3072]


def doubled():
    return HostCallback(lambda x: (x * 2,), [((4,), F32)])


class UserError(Exception):
    pass


@pytest.mark.parametrize("error", [UserError("mine"), KeyboardInterrupt(), KeyError("k")])
@pytest.mark.parametrize("text", [VALUE, LOOP])
def test_the_original_exception_comes_back(device, text, error):
    def raises(_):
        raise error

    with pytest.raises(type(error)) as caught:
        run(device, text, raises)
    assert caught.value is error
    assert isinstance(error.__cause__, RuntimeError)
    assert any(entry.name == "raises" for entry in caught.traceback)


def test_the_cause_that_the_author_gave_stays(device):
    cause = KeyError("cause")

    def raises(_):
        raise UserError from cause

    with pytest.raises(UserError) as caught:
        run(device, VALUE, raises)
    assert caught.value.__cause__ is cause


def test_exception_of_an_effect_comes_through_the_token(device):
    error = UserError("effect")

    def raises(_):
        raise error

    executable = device.compile(EFFECT, [], host_callbacks=[HostCallback(raises, [])])

    def effect():
        _, token = executable.call_with_token([device.put(ARGUMENT)])
        pjrt.block_until_ready([token])

    for _ in range(3):
        with pytest.raises(UserError) as caught:
            effect()
        assert caught.value is error


@pytest.mark.parametrize(
    "wait",
    [
        lambda device, result: device.get(result, (4,), F32),
        lambda device, result: pjrt.block_until_ready([result]),
    ],
    ids=["get", "block"],
)
def test_exception_that_comes_after_the_call_returned(device, wait):
    """XLA runs a program that waits for its arguments in the background."""
    error = UserError("late")
    released = threading.Event()

    def raises(_):
        if threading.current_thread() is threading.main_thread():
            raise RanAtOnceError
        released.wait(5)
        raise error

    callback = HostCallback(raises, [((4,), F32)])
    executable = device.compile(VALUE, [((4,), F32)], host_callbacks=[callback])
    result = result_of_a_waiting_call(device, executable)
    assert not pjrt.is_ready(result)
    released.set()
    for _ in range(2):
        with pytest.raises(UserError) as caught:
            wait(device, result)
        assert caught.value is error


class RanAtOnceError(Exception):
    """The argument was ready before the call: XLA ran the program on the caller's thread."""


def result_of_a_waiting_call(device, executable):
    """Call with the result of ever longer programs until one still runs when the call is made."""
    for size in (700, 1000, 1400, 2000, 2800):
        argument = device.put(np.ones((size, size), F32))
        pending = slow_program(device, size)([argument])
        try:
            (result,) = executable(pending)
        except RanAtOnceError:
            continue
        return result
    pytest.fail("every program had ended before the call")


def slow_program(device, size):
    square = f"tensor<{size}x{size}xf32>"
    return device.compile(
        f"""
    func.func public @main(%a: {square}) -> tensor<4xf32> {{
      %0 = stablehlo.dot_general %a, %a, contracting_dims = [1] x [0]
        : ({square}, {square}) -> {square}
      %1 = stablehlo.dot_general %0, %a, contracting_dims = [1] x [0]
        : ({square}, {square}) -> {square}
      %2 = stablehlo.slice %1 [0:1, 0:4] : ({square}) -> tensor<1x4xf32>
      %3 = stablehlo.reshape %2 : (tensor<1x4xf32>) -> tensor<4xf32>
      return %3 : tensor<4xf32>
    }}""",
        [((4,), F32)],
    )


def test_concurrent_executions_keep_their_exceptions_apart(device):
    def raises(x):
        time.sleep(0.001)
        raise errors[int(x[0])]

    errors = [UserError(i) for i in range(8)]
    callback = HostCallback(raises, [((4,), F32)])
    executable = device.compile(VALUE, [((4,), F32)], host_callbacks=[callback])
    caught = [None] * 8

    def work(i):
        try:
            (result,) = executable([device.put(np.full(4, i, F32))])
            device.get(result, (4,), F32)
        except UserError as error:
            caught[i] = error

    threads = [threading.Thread(target=work, args=(i,)) for i in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(a is b for a, b in zip(caught, errors, strict=True))


@pytest.mark.parametrize(
    ("returned", "message"),
    [
        ((np.zeros(3, F32),), r"result 0 is float32\[3\], needs float32\[4\]"),
        ((np.zeros((4, 1), F32),), r"needs float32\[4\]"),
        ((np.zeros(4),), r"result 0 is float64\[4\], needs float32\[4\]"),
        ((np.zeros(4, ">f4"),), r"needs float32\[4\]"),
        ((1.0,), r"result 0 is float64\[\], needs float32\[4\]"),
        ((), "got 0 results, needs 1"),
        ((np.zeros(4, F32),) * 2, "got 2 results, needs 1"),
        (np.zeros(4, F32), "got ndarray, needs a sequence of 1 arrays"),
        (5, "got int, needs a sequence"),
        (None, "got 0 results, needs 1"),
    ],
)
def test_wrong_results_are_refused_before_xla_copies_them(device, returned, message):
    with pytest.raises(TypeError, match=message):
        run(device, VALUE, lambda _: returned)


def test_executables_with_callbacks_are_not_serialized(device):
    callback = HostCallback(lambda x: (x,), [((4,), F32)])
    executable = device.compile(VALUE, [((4,), F32)], host_callbacks=[callback])
    with pytest.raises(ValueError, match="host callbacks"):
        executable.serialize()
