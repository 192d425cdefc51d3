import numpy as np

from tests.ops.case import case, normal
from tests.ops.linalg.samples import BOTH, regular


def np_solve_triangle(a, b, lower=True, adjoint=False):
    a = np.tril(a) if lower else np.triu(a)
    return np.linalg.solve(np.swapaxes(a, -1, -2).conj() if adjoint else a, b)


def np_solve(a, b, adjoint=False):
    return np.linalg.solve(np.swapaxes(a, -1, -2).conj() if adjoint else a, b)


for options in ({}, {"lower": False}, {"adjoint": True}, {"lower": False, "adjoint": True}):
    case("triangular_solve", args=[regular((2, 4, 4)), normal(2, 4, 3)], kwargs=options,
         ref=np_solve_triangle, function="linalg.triangular_solve", grad=(0, 1),
         large=[regular((300, 300)), normal(300, 200)], **BOTH)
case("triangular_solve", args=[regular((70, 70)), normal(70, 9)], ref=np_solve_triangle,
     function="linalg.triangular_solve", grad=(), large=[regular((600, 600)), normal(600, 1)],
     **BOTH)
for options in ({}, {"adjoint": True}):
    case("solve", args=[regular((2, 4, 4)), normal(2, 4, 3)], kwargs=options, ref=np_solve,
         function="linalg.solve", grad=(0, 1), large=[regular((200, 200)), normal(200, 300)],
         **BOTH)
