import errno
import os
import subprocess
import sys
import threading
import time
import warnings
from pathlib import Path

import pytest

from plugjax.execution import compilation_cache
from plugjax.execution.compilation_cache import CompilationCache, default_cache

HEADER = 8 + 2 + 32


@pytest.fixture
def cache(tmp_path):
    return CompilationCache(tmp_path / "cache", 1 << 20)


def file_of(cache, key):
    (path,) = (path for path in cache.directory.iterdir() if key in path.name)
    return path


def age(cache, key, seconds):
    then = time.time() - seconds
    os.utime(file_of(cache, key), (then, then))


def test_round_trip(cache):
    key = cache.key("module", b"options")
    assert cache.get(key) is None
    cache.put(key, b"code")
    assert cache.get(key) == b"code"
    assert CompilationCache(cache.directory, 1 << 20).get(key) == b"code"
    stats = cache.stats()
    assert (stats.hits, stats.misses, stats.damaged, stats.writes) == (1, 1, 0, 1)


@pytest.mark.parametrize("payload", [b"", b"\n\r\n\0", bytes(range(256)) * 100])
def test_any_payload(cache, payload):
    cache.put(cache.key("k"), payload)
    assert cache.get(cache.key("k")) == payload


def test_a_later_write_replaces(cache):
    key = cache.key("k")
    cache.put(key, b"one")
    cache.put(key, b"two")
    assert cache.get(key) == b"two"
    assert len(cache.entries()) == 1


def test_keys_depend_on_parts_their_borders_and_kinds():
    key = CompilationCache.key
    parts = [("ab", "c"), ("a", "bc"), (b"ab", "c"), ("abc",), ("abc", ""), ("c", "ab"), ()]
    assert len({key(*each) for each in parts}) == len(parts)
    assert key("é", b"x") == key("é", b"x")
    assert len(key("a")) == 64


@pytest.mark.parametrize("key", ["", "../up", "a/b", "a.b", "é"])
def test_only_keys_name_files(cache, key):
    with pytest.raises(ValueError, match="is no key"):
        cache.put(key, b"")
    with pytest.raises(ValueError, match="is no key"):
        cache.get(key)


@pytest.mark.parametrize("position", [0, 7, 8, 9, 10, 41, HEADER, HEADER + 50, HEADER + 99])
def test_a_changed_byte_is_a_miss_and_the_file_goes(cache, position):
    key = cache.key("k")
    cache.put(key, b"x" * 100)
    path = file_of(cache, key)
    content = bytearray(path.read_bytes())
    assert len(content) == HEADER + 100
    content[position] ^= 1
    path.write_bytes(content)
    assert cache.get(key) is None
    assert not path.exists()
    assert cache.stats().damaged == 1
    cache.put(key, b"again")
    assert cache.get(key) == b"again"


@pytest.mark.parametrize("length", [0, 1, 8, 10, 30, HEADER, HEADER + 1, HEADER + 99])
def test_a_truncated_file_is_a_miss(cache, length):
    key = cache.key("k")
    cache.put(key, b"x" * 100)
    path = file_of(cache, key)
    path.write_bytes(path.read_bytes()[:length])
    assert cache.get(key) is None
    assert not path.exists()


@pytest.mark.parametrize("content", [b"x" * 500, b"\x80\x05N.", b"plugjaxC"])
def test_a_foreign_or_extended_file_is_a_miss(cache, content):
    key = cache.key("k")
    cache.put(key, b"x")
    path = file_of(cache, key)
    path.write_bytes(content)
    assert cache.get(key) is None
    cache.put(key, b"x")
    path.write_bytes(path.read_bytes() + b"more")
    assert cache.get(key) is None


def test_entries_size_and_clear(cache):
    assert cache.entries() == []
    assert cache.size() == 0
    cache.clear()
    keys = [cache.key(str(i)) for i in range(3)]
    for i, key in enumerate(keys):
        cache.put(key, b"x" * i)
        age(cache, key, 10 - i)
    assert [entry.key for entry in cache.entries()] == keys
    assert [entry.bytes for entry in cache.entries()] == [HEADER, HEADER + 1, HEADER + 2]
    assert cache.size() == 3 * HEADER + 3
    cache.clear()
    assert cache.entries() == []
    assert cache.get(keys[0]) is None


def test_least_recently_used_goes_first(tmp_path):
    entry = HEADER + 1000
    cache = CompilationCache(tmp_path, 5 * entry)
    keys = [cache.key(str(i)) for i in range(6)]
    for i, key in enumerate(keys[:5]):
        cache.put(key, b"x" * 1000)
        age(cache, key, 100 - i)
    assert cache.get(keys[0]) is not None
    cache.put(keys[5], b"x" * 1000)
    kept = [key for key in keys if cache.get(key) is not None]
    assert kept == [keys[0], keys[3], keys[4], keys[5]]
    assert cache.size() <= 5 * entry


def test_stays_bounded(tmp_path):
    cache = CompilationCache(tmp_path, 10_000)
    for i in range(100):
        cache.put(cache.key(str(i)), b"x" * 900)
        assert cache.size() <= 10_000
    assert cache.size() > 5_000
    assert cache.get(cache.key("99")) is not None


def test_a_limit_that_was_lowered_applies_to_the_next_write(tmp_path):
    large = CompilationCache(tmp_path, 1 << 20)
    for i in range(20):
        large.put(large.key(str(i)), b"x" * 1000)
    small = CompilationCache(tmp_path, 5_000)
    small.put(small.key("new"), b"new")
    assert small.size() <= 5_000
    assert small.get(small.key("new")) == b"new"


def test_larger_than_the_whole_cache(tmp_path):
    cache = CompilationCache(tmp_path, 1000)
    cache.put(cache.key("small"), b"small")
    cache.put(cache.key("large"), b"x" * 1000)
    assert cache.get(cache.key("large")) is None
    assert cache.get(cache.key("small")) == b"small"
    cache.put(cache.key("nearly"), b"x" * (1000 - HEADER))
    assert cache.get(cache.key("nearly")) is not None


def test_temporary_files_of_dead_writers_go(tmp_path):
    cache = CompilationCache(tmp_path, 2000)
    dead, alive = (tmp_path / f"{CompilationCache.key(n)}-{'a' * 16}.tmp" for n in "da")
    dead.write_bytes(b"")
    alive.write_bytes(b"")
    os.utime(dead, (1, 1))
    for i in range(4):
        cache.put(cache.key(str(i)), b"x" * 800)
    assert not dead.exists()
    assert alive.exists()
    cache.clear()
    assert not alive.exists()


def test_directory_that_cannot_be_made_warns_once(tmp_path):
    (tmp_path / "file").write_bytes(b"")
    cache = CompilationCache(tmp_path / "file" / "cache", 1000)
    with pytest.warns(RuntimeWarning, match="PLUGJAX_CACHE_DIR"):
        cache.put(cache.key("k"), b"code")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        cache.put(cache.key("k"), b"code")
        assert cache.get(cache.key("k")) is None
        assert cache.entries() == []
        cache.clear()


@pytest.mark.skipif(
    not hasattr(os, "getuid") or os.getuid() == 0, reason="permissions do not bind this user"
)
def test_read_only_directory_is_read(tmp_path):
    CompilationCache(tmp_path, 1000).put(CompilationCache.key("old"), b"old")
    tmp_path.chmod(0o500)
    try:
        cache = CompilationCache(tmp_path, 1000)
        with pytest.warns(RuntimeWarning, match="cannot write"):
            cache.put(cache.key("new"), b"new")
        assert cache.get(cache.key("old")) == b"old"
    finally:
        tmp_path.chmod(0o700)


def test_full_disk_disables_writing_and_leaves_nothing(cache, monkeypatch):
    def full(*_, **__):
        raise OSError(errno.ENOSPC, "No space left on device")

    cache.put(cache.key("old"), b"old")
    monkeypatch.setattr(compilation_cache.os, "replace", full)
    with pytest.warns(RuntimeWarning, match="No space left"):
        cache.put(cache.key("new"), b"new")
    monkeypatch.undo()
    cache.put(cache.key("new"), b"new")
    assert cache.get(cache.key("new")) is None
    assert cache.get(cache.key("old")) == b"old"
    assert list(cache.directory.glob("*.tmp")) == []


def test_other_peoples_entries_are_not_readable(cache):
    if os.name != "posix":
        pytest.skip("POSIX permissions")
    cache.put(cache.key("k"), b"code")
    assert cache.directory.stat().st_mode & 0o077 == 0
    assert file_of(cache, cache.key("k")).stat().st_mode & 0o077 == 0


WORKER = """
import sys
from pathlib import Path
from plugjax.execution.compilation_cache import CompilationCache

cache = CompilationCache(Path(sys.argv[1]), 60_000)
start = int(sys.argv[2])
for step in range(400):
    name = str((start + step * 7) % 100)
    key = cache.key(name)
    expected = (name * 1000)[:1000].encode()
    found = cache.get(key)
    assert found in (None, expected), name
    if found is None:
        cache.put(key, expected)
assert cache.stats().damaged == 0
"""


def test_many_processes(tmp_path):
    environment = dict(os.environ)
    root = str(Path(compilation_cache.__file__).parents[2])
    environment["PYTHONPATH"] = os.pathsep.join([root, environment.get("PYTHONPATH", "")])
    workers = [
        subprocess.Popen(
            [sys.executable, "-W", "error", "-c", WORKER, str(tmp_path), str(start)],
            stderr=subprocess.PIPE,
            text=True,
            env=environment,
        )
        for start in (0, 25, 50, 75)
    ]
    errors = [worker.communicate()[1] for worker in workers]
    assert [worker.returncode for worker in workers] == [0] * 4, errors
    # Each process learns of the others' writes late, so the bound holds approximately.
    cache = CompilationCache(tmp_path, 60_000)
    assert 0 < cache.size() <= 2 * 60_000
    cache.put(cache.key("last"), b"")
    assert cache.size() <= 60_000
    assert list(tmp_path.glob("*.tmp")) == []


def test_many_threads(tmp_path):
    cache = CompilationCache(tmp_path, 20_000)
    failures = []

    def work(start):
        for step in range(200):
            name = str((start + step) % 50)
            found = cache.get(cache.key(name))
            if found not in (None, name.encode() * 500):
                failures.append(name)
            if found is None:
                cache.put(cache.key(name), name.encode() * 500)

    threads = [threading.Thread(target=work, args=(start,)) for start in range(0, 40, 10)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    stats = cache.stats()
    assert not failures
    assert stats.hits + stats.misses == 800
    assert stats.damaged == 0


@pytest.mark.parametrize("value", ["off", "OFF", "0", "", " "])
def test_disabled_by_environment(monkeypatch, value):
    monkeypatch.setenv("PLUGJAX_CACHE_DIR", value)
    assert default_cache() is None


def test_environment(monkeypatch, tmp_path):
    monkeypatch.setenv("PLUGJAX_CACHE_DIR", str(tmp_path / "here"))
    monkeypatch.delenv("PLUGJAX_CACHE_MAX_BYTES", raising=False)
    cache = default_cache()
    assert cache.directory == tmp_path / "here"
    assert cache.max_bytes == 1 << 30
    assert not cache.directory.exists()
    monkeypatch.setenv("PLUGJAX_CACHE_MAX_BYTES", "5000")
    assert default_cache().max_bytes == 5000
    monkeypatch.setenv("PLUGJAX_CACHE_MAX_BYTES", "lots")
    with pytest.raises(ValueError, match="'lots', needs a whole number"):
        default_cache()


def test_user_cache_folder_is_the_default(monkeypatch):
    monkeypatch.delenv("PLUGJAX_CACHE_DIR", raising=False)
    assert "plugjax" in default_cache().directory.parts


def test_importing_is_light():
    program = (
        "import sys, plugjax.core; before = set(sys.modules);"
        "import plugjax.execution.compilation_cache; new = set(sys.modules) - before;"
        "assert not {'platformdirs', 'tempfile', 'pickle', 'fcntl', 'pwd'} & new, new"
    )
    subprocess.run([sys.executable, "-c", program], check=True)
