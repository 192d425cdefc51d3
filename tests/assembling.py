"""While families of ops are being put together, checks of the whole may fail and are shown as xfail.

Remove this file and its uses once every family is in: from then on they must pass.
"""

import pytest

assembling = pytest.mark.xfail(strict=False, reason="families of ops are being put together")
