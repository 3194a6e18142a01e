import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from plugjax_iree.runtime import open_device
from plugjax_iree.runtime.host_module import HostFunction, HostResultError

F32, I32, BOOL = np.dtype(np.float32), np.dtype(np.int32), np.dtype(np.bool_)

PROGRAM = """module @m {
  func.func private @host.qr(tensor<4x3xf32>) -> (tensor<4x3xf32>, tensor<3x3xf32>)
  func.func private @host.note(tensor<i32>)
  func.func private @host.tick()
  func.func private @host.flag() -> tensor<i1>
  func.func private @host.double(tensor<i32>) -> tensor<i32>

  func.func public @factor(%a: tensor<4x3xf32>) -> (tensor<4x3xf32>, tensor<3x3xf32>) {
    %q, %r = func.call @host.qr(%a)
      : (tensor<4x3xf32>) -> (tensor<4x3xf32>, tensor<3x3xf32>)
    return %q, %r : tensor<4x3xf32>, tensor<3x3xf32>
  }
  func.func public @effects(%a: tensor<i32>) -> (tensor<i32>, tensor<i1>) {
    %one = stablehlo.constant dense<1> : tensor<i32>
    func.call @host.tick() : () -> ()
    func.call @host.note(%a) : (tensor<i32>) -> ()
    %b = stablehlo.add %a, %one : tensor<i32>
    func.call @host.note(%b) : (tensor<i32>) -> ()
    func.call @host.note(%b) : (tensor<i32>) -> ()
    %f = func.call @host.flag() : () -> tensor<i1>
    func.call @host.tick() : () -> ()
    return %b, %f : tensor<i32>, tensor<i1>
  }
  func.func public @only_effects(%a: tensor<i32>) {
    func.call @host.note(%a) : (tensor<i32>) -> ()
    return
  }
  func.func public @loop(%x: tensor<i32>) -> tensor<i32> {
    %zero = stablehlo.constant dense<0> : tensor<i32>
    %one = stablehlo.constant dense<1> : tensor<i32>
    %five = stablehlo.constant dense<5> : tensor<i32>
    %0:2 = stablehlo.while(%i = %zero, %y = %x) : tensor<i32>, tensor<i32>
      cond {
        %1 = stablehlo.compare LT, %i, %five : (tensor<i32>, tensor<i32>) -> tensor<i1>
        stablehlo.return %1 : tensor<i1>
      } do {
        %2 = func.call @host.double(%y) : (tensor<i32>) -> tensor<i32>
        %3 = stablehlo.add %i, %one : tensor<i32>
        stablehlo.return %3, %2 : tensor<i32>, tensor<i32>
      }
    return %0#1 : tensor<i32>
  }
}"""


class Host:
    """The functions of PROGRAM, each replaceable, on one device."""

    def __init__(self, device, vmfb, **replaced):
        self.device, self.log = device, []
        scalar = ((), I32)
        signatures = {
            "qr": ([((4, 3), F32)], [((4, 3), F32), ((3, 3), F32)], np.linalg.qr),
            "note": ([scalar], [], lambda x: self.log.append(int(x))),
            "tick": ([], [], lambda: self.log.append("tick")),
            "flag": ([], [((), BOOL)], lambda: (np.True_,)),
            "double": ([scalar], [scalar], lambda x: (x * np.int32(2),)),
        }
        functions = [
            HostFunction(name, tuple(takes), tuple(gives), replaced.get(name, function))
            for name, (takes, gives, function) in signatures.items()
        ]
        self.loaded = device.load(vmfb, functions)

    def __call__(self, name, *arrays):
        return self.loaded.function(name)([self.device.put(a) for a in arrays])


@pytest.fixture(params=["local-sync", "local-task"])
def host(request, compiled):
    return lambda **replaced: Host(open_device(request.param), compiled(PROGRAM), **replaced)


def scalar(value):
    return np.array(value, I32)


def test_several_results(host):
    program = host()
    a = np.random.default_rng(0).normal(size=(4, 3)).astype(F32)
    q, r = program("factor", a)
    get = program.device.get
    np.testing.assert_allclose(get(q, F32, (4, 3)) @ get(r, F32, (3, 3)), a, atol=1e-5)


def test_effects_happen_once_each_in_program_order(host):
    program = host()
    b, f = program("effects", scalar(5))
    assert program.device.get(b, I32, ()) == 6
    assert program.device.get(f, BOOL, ()) == np.True_
    assert program.log == ["tick", 5, 6, 6, "tick"]
    assert program("only_effects", scalar(9)) == []
    assert program.log[-1] == 9


def test_called_in_a_loop(host):
    program = host()
    (y,) = program("loop", scalar(3))
    assert program.device.get(y, I32, ()) == 3 * 2**5


class Rude(BaseException):
    pass


@pytest.mark.parametrize("exception", [ValueError("user error 42"), Rude(), KeyboardInterrupt()])
def test_the_exception_itself_reaches_the_caller(host, exception):
    def fail(x):
        if x > 10:
            raise exception
        return (x * np.int32(2),)

    program = host(double=fail)
    with pytest.raises(type(exception)) as caught:
        program("loop", scalar(3))
    assert caught.value is exception
    assert "host function 'double' raised" in str(caught.value.__cause__)
    assert any(entry.name == "fail" for entry in caught.traceback)
    (y,) = program("loop", scalar(0))
    assert program.device.get(y, I32, ()) == 0


@pytest.mark.parametrize(
    ("result", "message"),
    [
        ((np.zeros(1, I32),), r"'double' returned int32\[1\] as result 0; declared int32\[\]"),
        ((np.zeros((), np.int64),), r"returned int64\[\] as result 0; declared int32\[\]"),
        ((scalar(1), scalar(2)), "returned 2 results; declared 1"),
        ((), "returned 0 results; declared 1"),
        (None, "returned NoneType; needed a tuple of 1 arrays"),
        (scalar(1), "returned ndarray; needed a tuple of 1 arrays"),
    ],
)
def test_results_that_were_not_declared_are_refused(host, result, message):
    program = host(double=lambda x: result)
    with pytest.raises(HostResultError, match=message):
        program("loop", scalar(3))


def test_a_function_may_return_its_argument_or_any_layout(host):
    kept = np.asfortranarray(np.arange(12, dtype=F32).reshape(4, 3))
    program = host(qr=lambda a: (a, kept[:3]), double=lambda x: (x,))
    q, r = program("factor", kept)
    np.testing.assert_array_equal(program.device.get(q, F32, (4, 3)), kept)
    np.testing.assert_array_equal(program.device.get(r, F32, (3, 3)), kept[:3])
    assert program.device.get(program("loop", scalar(3))[0], I32, ()) == 3


def test_arguments_are_read_only(host):
    def write(x):
        x[...] = 1
        return (x,)

    with pytest.raises(ValueError, match="read-only"):
        host(double=write)("loop", scalar(3))


def test_a_host_function_may_run_compiled_code(host):
    inner = host()

    def double(x):
        (y,) = inner("loop", x)
        return [inner.device.get(y, I32, ())]

    program = host(double=double)
    (y,) = program("loop", scalar(1))
    assert program.device.get(y, I32, ()) == (2**5) ** 5


def test_threads_keep_their_exceptions_apart(host):
    threads = {}

    def fail(x):
        raise threads[int(x)]

    program = host(double=fail)

    def work(number):
        threads[number] = ValueError(number)
        for _ in range(20):
            with pytest.raises(ValueError, match=str(number)) as caught:
                program("loop", scalar(number))
            assert caught.value is threads[number]
        return threading.get_ident()

    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(work, range(4)))


def test_missing_host_function_is_named(compiled):
    device = open_device("local-sync")
    with pytest.raises(ValueError, match="required module 'host'"):
        device.load(compiled(PROGRAM))
    tick = HostFunction("tick", (), (), lambda: None)
    with pytest.raises(ValueError, match="function qr not exported"):
        device.load(compiled(PROGRAM), [tick])
    with pytest.raises(ValueError, match="not distinct: tick, tick"):
        device.load(compiled(PROGRAM), [tick, tick])


def test_naming_and_calling_convention():
    f = HostFunction("f", (((2,), "float32"), ((), "int32")), (((), "bool"),), print)
    assert f.symbol == "host.f"
    assert f.calling_convention == "0rr_r"
    assert HostFunction("g", (), (), print).calling_convention == "0v_v"
    assert str(f.in_specs[0]) == "float32[2]"
    with pytest.raises(ValueError, match="not an identifier"):
        HostFunction("a.b", (), (), print)
