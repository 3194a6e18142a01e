"""``python -m plugjax.docs``: the same as ``plugjax docs``."""

from __future__ import annotations

import sys

from plugjax.cli.main import main

if __name__ == "__main__":
    sys.argv.insert(1, "docs")
    main()
