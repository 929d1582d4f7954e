"""What stands in for modules of other profilers (:mod:`profundo.compat`)."""
