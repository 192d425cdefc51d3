"""Checks of the whole may fail, shown as xfail, while families of ops are being put together.

Remove this file and its uses once every family is in: from then on they must pass.
"""

import pytest

assembling = pytest.mark.xfail(strict=False, reason="families of ops are being put together")
