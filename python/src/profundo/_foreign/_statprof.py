"""The interface of statprof."""

from ..statprof import DisplayFormat, display, is_active, profile, reset, start, stop

__all__ = ["DisplayFormat", "display", "is_active", "profile", "reset", "start", "stop"]
