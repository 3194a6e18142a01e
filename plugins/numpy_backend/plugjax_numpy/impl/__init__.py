"""Host kernels: one NumPy function per primitive, file names as in ``plugjax.lax``.

A kernel takes NumPy arrays or NumPy scalars and returns values of exactly the output avals' shapes and dtypes. It may
return a view of an operand; it never writes to one. The rule kind ``ufunc`` names kernels that take ``out=``.
"""
