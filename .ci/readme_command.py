"""Print a command of the README: ``demo`` or ``tests``. It stands in a fenced block below a line that names it."""

import re
import sys
from pathlib import Path

text = Path(__file__).resolve().parents[1].joinpath("README.md").read_text()
found = re.search(rf"<!-- command: {sys.argv[1]} -->\s*```sh\n(.*?)```", text, re.DOTALL)
if found is None:
    sys.exit(f"README.md has no command {sys.argv[1]}")
sys.stdout.write(found[1])
