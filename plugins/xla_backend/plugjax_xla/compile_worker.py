"""The process that `elsewhere` starts: it reads one module from standard input and writes one answer to a file."""

import json
import sys
from collections.abc import Mapping
from pathlib import Path

from plugjax_xla import pjrt
from plugjax_xla.jaxlib_shim import register_shipped_targets


def main(answer: Path, options: Mapping[str, str | bool | int]) -> None:
    """Compile, and write the machine code or XLA's error."""
    device = pjrt.cpu_client().devices[0]
    module = sys.stdin.buffer.read()
    register_shipped_targets(module)
    try:
        compiled = device.compile(module, [], options=options)
        result = b"code\n" + compiled.serialize()
    except RuntimeError as error:
        result = b"refused\n" + str(error).encode()
    answer.write_bytes(result)


if __name__ == "__main__":
    main(Path(sys.argv[1]), json.loads(sys.argv[2]))
