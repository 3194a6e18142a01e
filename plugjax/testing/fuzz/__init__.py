"""Programs drawn at random, run on a backend and compared with an oracle.

``plugjax fuzz --backend xla --count 500 --seed 1``
"""
