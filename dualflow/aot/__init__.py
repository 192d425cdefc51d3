"""Export of programs that run without Python: `dualflow.export`. See docs/export.md."""
