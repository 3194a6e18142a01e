"""The command line, ``plugjax``."""
