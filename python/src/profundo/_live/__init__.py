"""The part that records: this process has one sampler, and regions are labels on what it takes.

=============== ============================================================================
``profile``      the region, as a ``with`` and as a decorator
``switch``       ``start``, ``stop``, ``pause``, ``resume``
``lines``        the decorator for the lines of a function
``memory``       ``memit``, ``mprun`` and ``heap_snapshot``
``spans``        names of stretches of work, which samples know
``sampler``      what all regions share: it counts those that are open, and asks for recordings
``counting``     exact counts of regions: of calls, lines or exceptions
``session``      the only part that knows how a recording comes about
``alone``        in the recorder's place, where no process may be started
``options``      what is recorded, with the defaults of ``config``
=============== ============================================================================
"""
