"""Checkpoints and saved modules, available to users as `dualflow.train`, `dualflow.save` and
`dualflow.load`."""
