"""Arrays that one process fetches from another by ``experimental.transfer``."""

import datetime
import subprocess
import sys

import numpy as np
import pytest

import plugjax
import plugjax.numpy as jnp
from plugjax.experimental.transfer import start_transfer_server
from plugjax.sharding import SingleDeviceSharding
from tests.meshes.launching import launch, script
from tests.meshes.scripts import run

# Offers or pulls a tree, under one framework.
PROGRAM = """
import importlib, math, sys
import numpy as np
name, address = sys.argv[1:]
jax = importlib.import_module(name)
start = importlib.import_module(name + ".experimental.transfer").start_transfer_server
jax.config.update("jax_num_cpu_devices", 2)
mesh = jax.make_mesh((2,), ("x",), axis_types=(jax.sharding.AxisType.Auto,))
one, two = jax.sharding.SingleDeviceSharding(jax.devices()[0]), jax.NamedSharding(mesh, jax.P("x"))
server = start(jax.devices()[0].client, "127.0.0.1:0", ["127.0.0.1:0"])

def tree(f):
    return {"w": f((4, 3), "float32", two), "b": [f((), "int32", one), f((2,), "bfloat16", one)]}

def values(shape, dtype, sharding):
    return jax.device_put(jax.numpy.arange(math.prod(shape)).reshape(shape).astype(dtype), sharding)

def structs(shape, dtype, sharding):
    return jax.ShapeDtypeStruct(shape, dtype, sharding=sharding)

if address == "offer":
    server.await_pull(7, tree(values))
    print(server.address(), flush=True)
    sys.stdin.read()
else:
    connection = server.connect(address)
    pulled = connection.pull(7, tree(structs))
    same = jax.tree.map(lambda x, y: x.sharding == y.sharding and bool((x == y).all()), pulled, tree(values))
    print(jax.tree.leaves(same), pulled["w"].shape, pulled["b"][1].dtype, flush=True)
    missing = connection.pull(8, structs((2,), "float32", one))
    print("pulled", flush=True)
    sys.stdin.readline()
    try:
        missing.block_until_ready()
    except RuntimeError as error:
        print(str(error)[:100])
"""


def started(*arguments):
    return subprocess.Popen(
        [sys.executable, "-c", PROGRAM, *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


@pytest.mark.parametrize(
    ("offers", "pulls"), [("plugjax", "plugjax"), ("jax", "plugjax"), ("plugjax", "jax")]
)
def test_two_processes(monkeypatch, offers, pulls):
    monkeypatch.setenv("PLUGJAX_BACKEND", "xla")
    with started(offers, "offer") as offering:
        try:
            with started(pulls, offering.stdout.readline().strip()) as pulling:
                said = [pulling.stdout.readline().strip() for _ in range(2)]
                offering.kill()
                offering.wait()
                rest, _ = pulling.communicate("\n", timeout=60)
        finally:
            offering.kill()
    assert said == ["[True, True, True] (4, 3) bfloat16", "pulled"]
    if pulls == "plugjax":
        assert rest.startswith("TransferConnection.pull: the other server has not sent the arrays")
    assert pulling.returncode == 0


@pytest.fixture(scope="module")
def there():
    return plugjax.devices("xla")[0]


@pytest.fixture(scope="module")
def server(there):
    return start_transfer_server(there.client, "127.0.0.1:0")


@pytest.fixture(scope="module")
def connection(there, server):
    return start_transfer_server(there.client, "127.0.0.1:0").connect(server.address())


def struct(x, device):
    return plugjax.ShapeDtypeStruct(x.shape, x.dtype, sharding=SingleDeviceSharding(device))


def soon(seconds):
    return datetime.datetime.now() + datetime.timedelta(seconds=seconds)


DTYPES = (
    *("bool", "int8", "uint16", "int32", "float16", "float32", "complex64"),
    *("bfloat16", "float8_e5m2", "int4", "uint2", "float4_e2m1fn"),
)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(), (3, 5), (0, 2)])
def test_dtypes(there, server, connection, dtype, shape):
    x = plugjax.device_put(jnp.ones(shape, dtype), there)
    for offered in (x, plugjax.jit(lambda x: x.reshape(shape[::-1]))(x)):
        server.await_pull(1, [offered])
        (pulled,) = connection.pull(1, [struct(offered, there)])
        assert (pulled.shape, pulled.dtype, pulled.devices()) == (
            offered.shape,
            offered.dtype,
            {there},
        )
        assert np.asarray(pulled).tobytes() == np.asarray(offered).tobytes()


def test_trees_and_keys(there, server, connection):
    tree = {"keys": plugjax.random.split(plugjax.random.key(3), 4), "none": None, "empty": []}
    server.await_pull(2, tree)
    pulled = connection.pull(2, plugjax.tree.map(lambda x: struct(x, there), tree))
    assert plugjax.tree.structure(pulled) == plugjax.tree.structure(tree)
    assert (pulled["keys"] == plugjax.device_put(tree["keys"], there)).all()
    assert connection.pull(3, {}) == {}


def test_arrays_of_other_backends_are_moved(there, server, connection):
    server.await_pull(
        4, [np.arange(3, dtype="i4"), plugjax.device_put(jnp.ones(2), plugjax.devices("numpy")[0])]
    )
    pulled = connection.pull(4, [struct(np.ones(3, "i4"), there), struct(np.ones(2, "f4"), there)])
    assert plugjax.tree.map(np.ndarray.tolist, plugjax.device_get(pulled)) == [[0, 1, 2], [1, 1]]


def test_a_pull_waits_for_the_offer(there, server, connection):
    x = plugjax.device_put(jnp.arange(3), there)
    pulled = [connection.pull(5, struct(x, there), timeout) for timeout in (None, soon(60))]
    assert not any(y.is_ready() for y in pulled)
    doubled = plugjax.jit(lambda x: 2 * x)(pulled[1])
    for offered in (x, x + 3):
        server.await_pull(5, offered)
    assert sorted(y.tolist() for y in pulled) == [[0, 1, 2], [3, 4, 5]]
    assert doubled.tolist() == (2 * pulled[1]).tolist()


def test_timeouts(there, server, connection):
    x = plugjax.device_put(jnp.arange(3), there)
    patient = connection.pull(6, struct(x, there))
    for number, seconds in ((7, 0.2), (8, -1.0)):
        with pytest.raises(RuntimeError, match="has not sent the arrays before the timeout"):
            connection.pull(number, struct(x, there), soon(seconds)).block_until_ready()
    # The other pulls of a connection go on.
    server.await_pull(6, x)
    assert patient.tolist() == [0, 1, 2]
    server.await_pull(9, x, soon(60))
    assert connection.pull(9, struct(x, there)).tolist() == [0, 1, 2]


@pytest.mark.parametrize("shapes", [[(4,)], [(2,)], [(3,), (3,)]])
def test_what_does_not_fit(there, server, connection, shapes):
    server.await_pull(10, plugjax.device_put(jnp.ones(3), there))
    pulled = connection.pull(10, [struct(np.ones(shape, "f4"), there) for shape in shapes])
    with pytest.raises(RuntimeError, match="awaits the pull of arrays of other shapes"):
        plugjax.block_until_ready(pulled)


def test_refusals(there, server, connection):
    x = np.ones(3, "f4")
    with pytest.raises(ValueError, match=r"got float32\[3\] with sharding None\. Say where"):
        connection.pull(11, plugjax.ShapeDtypeStruct((3,), "float32"))
    with pytest.raises(ValueError, match=r"on numpy:0, and the server is of backend 'xla'"):
        connection.pull(11, struct(x, plugjax.devices("numpy")[0]))
    for call in (
        lambda: connection.pull(11, struct(x, there), 3.0),
        lambda: server.await_pull(11, x, datetime.timedelta(seconds=3)),
    ):
        with pytest.raises(TypeError, match="needs the time at which it ends"):
            call()
    with pytest.raises(ValueError, match="needs a host and a port"):
        server.connect("127.0.0.1")
    with pytest.raises(ConnectionError, match=r"nothing listens at 127\.0\.0\.1:1: "):
        server.connect("127.0.0.1:1")


@pytest.mark.parametrize("name", ["numpy", "iree"])
def test_backends_without_a_server(name):
    with pytest.raises(NotImplementedError, match=rf"Backend\({name}\) has no transfer server"):
        start_transfer_server(plugjax.devices(name)[0].client)


@pytest.mark.parametrize("without_jax", [False, True])
def test_arrays_over_several_devices(without_jax):
    said = run(
        "xla",
        ("import sys; sys.modules['jax'] = None\n" if without_jax else "")
        + """
from plugjax.experimental.transfer import start_transfer_server
client = jax.devices()[0].client
one, other = (start_transfer_server(client) for _ in range(2))
connection = other.connect(one.address())
for number, spec in enumerate((P("x"), P(), P("x", "y"), P(None, ("y", "x")))):
    x = jax.device_put(np.arange(64.0, dtype="f4").reshape(8, 8), jax.NamedSharding(mesh, spec))
    one.await_pull(number, [x, x + 1])
    structs = [jax.ShapeDtypeStruct(x.shape, x.dtype, sharding=x.sharding)] * 2
    y, z = connection.pull(number, structs)
    assert y.sharding == x.sharding
    print(np.array_equal(x, y), np.array_equal(x + 1, z), y.addressable_shards[-1].data.shape, float(jax.jit(jnp.sum)(z)))
""",
    )
    assert said.splitlines() == [
        f"True True {shape} 2080.0" for shape in ((2, 8), (8, 8), (2, 4), (8, 1))
    ]


def test_processes_that_have_joined(tmp_path):
    path = script(tmp_path, """
        from plugjax.experimental.transfer import start_transfer_server
        server = start_transfer_server(jax.devices()[0].client, "127.0.0.1:0")
        table = jax.distributed.group()
        if me == 0:
            server.await_pull(1, [np.arange(3, dtype="f4"), x])
            table.put("address", server.address().encode())
        else:
            own = jax.sharding.SingleDeviceSharding(jax.local_devices()[0])
            structs = [jax.ShapeDtypeStruct((n,), "float32", sharding=own) for n in (3, 4)]
            pulled = server.connect(table.get("address", 60.0).decode()).pull(1, structs)
            print([y.tolist() for y in pulled])
        hosts.sync_global_devices("end")
    """)  # fmt: skip
    lines, done = launch(path, "-n", "2")
    assert done.returncode == 0, done.stdout
    # Of an array over both processes the server has the part of its own.
    assert lines == {1: ["[[0.0, 1.0, 2.0], [0.0, 1.0, 2.0, 3.0]]"]}
