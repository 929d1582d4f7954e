"""A program that makes many objects, and says how many bytes CPython has taken for its arenas. It does not know
that while its allocators are replaced."""
import os
import re
import sys
import tempfile
import time

kept = [[object() for _ in range(1000)] for _ in range(400)]
with tempfile.TemporaryFile() as report:
    before = os.dup(2)
    os.dup2(report.fileno(), 2)
    sys._debugmallocstats()
    os.dup2(before, 2)
    report.seek(0)
    text = report.read().decode()
found = re.search(r"arenas \* \d+ bytes/arena\s*=\s*([\d,]+)", text)
print(found.group(1).replace(",", "") if found else "unknown", flush=True)
time.sleep(0.6)
