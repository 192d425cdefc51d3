"""Checkpoints and saved modules. Users find them as `dualflow.train`, `dualflow.save` and
`dualflow.load`."""
