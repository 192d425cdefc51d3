import numpy as np

from tests.ops.case import case
from tests.ops.linalg.samples import BOTH, regular

case("inv", args=[regular((2, 4, 4))], ref=np.linalg.inv, function="linalg.inv",
     large=[regular((200, 200))], **BOTH)
case("inv", args=[regular((20, 20))], ref=np.linalg.inv, function="linalg.inv", grad=(),
     large=[regular((40, 50, 50))], **BOTH)
case("det", args=[regular((2, 4, 4))], ref=np.linalg.det, function="linalg.det", **BOTH)
case("slogdet", args=[regular((2, 4, 4), -3.0, 3.0)], ref=lambda x: tuple(np.linalg.slogdet(x)),
     function="linalg.slogdet", **BOTH)
