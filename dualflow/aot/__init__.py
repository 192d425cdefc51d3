"""Programs that leave Python: `dualflow.export`. See docs/export.md."""
