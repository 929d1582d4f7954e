#!/bin/sh
# Makes the picture of README.md: a flame graph of the first example. `profundo` and `python3` have to be in PATH.
set -eu
cd "$(dirname "$0")/../.."
recording=$(mktemp -d)/1_plain.profundo
profundo record -o "$recording" -- python3 examples/confidence/1_plain.py
profundo flame "$recording" -o docs/images/flame.svg --title "python3 1_plain.py"
