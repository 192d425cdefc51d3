"""Files: `gfile`, and checkpoints and saved modules, available to users as `dualflow.train`,
`dualflow.save` and `dualflow.load`."""

from types import ModuleType

from dualflow._util.late_binding import submodule

__all__ = ["gfile"]


def __getattr__(name: str) -> ModuleType:
    return submodule("dualflow.io", name)


def __dir__() -> list[str]:
    return __all__
