"""`from dualflow import *` imports the public names."""

from dualflow import *  # noqa: F403
from dualflow.linalg import *  # noqa: F403

x: Tensor = tanh(ones([2, 2]))  # noqa: F405
y: Tensor = cholesky(matmul(x, transpose(x)) + eye(2))  # noqa: F405
z: Variable = Variable(y)  # noqa: F405
