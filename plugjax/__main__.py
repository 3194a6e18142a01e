"""``python -m plugjax``: the command line."""

from plugjax.cli.main import main

main()
