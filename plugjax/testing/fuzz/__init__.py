"""Programs drawn at random, run on a backend and compared with an oracle.

``python -m plugjax.testing.fuzz --backend xla --count 500 --seed 1``
"""
