"""What a program tells XLA's compiler: metadata of operations, groups for its scheduler, where to compute, layouts.

They change nothing of what a program means. Backends other than XLA ignore them.
"""
