"""``python -m tests.meshes.drawn jax|numpy|xla``: runs the programs that come by lines, and answers by lines."""

import json
import sys

from tests.meshes.drawn.steps import run
from tests.meshes.programs.__main__ import environment

if __name__ == "__main__":
    e = environment(sys.argv[1])
    answers, sys.stdout = sys.stdout, sys.stderr
    for line in sys.stdin:
        try:
            answer = run(e, json.loads(line))
        except Exception as error:
            answer = {"error": f"{type(error).__name__}: {error}"}
        print(json.dumps(answer), file=answers, flush=True)
