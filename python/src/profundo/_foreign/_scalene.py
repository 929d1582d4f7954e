"""What programs use of scalene: ``from scalene import scalene_profiler``."""

from . import _scalene_profiler as scalene_profiler
from ._scalene_profiler import enable_profiling

__all__ = ["enable_profiling", "scalene_profiler"]
