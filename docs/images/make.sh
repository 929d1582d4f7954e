#!/bin/sh
# Makes the pictures of README.md and docs/view.md, from recordings of the examples and of the programs in bench.
# `profundo` and `python3` have to be in PATH, node and chromium installed, and `npm ci` done in ui.
set -eu
cd "$(dirname "$0")/../.."
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
export PROFUNDO_NO_CONFIG=1 PROFUNDO_COMMAND="${PROFUNDO_COMMAND:-$(command -v profundo)}"

# The interpreter itself: a shim that is a script would be recorded, too.
python=$(python3 -c 'import sys; print(sys.executable)')

# Records `python3 PROGRAM …` as NAME: made NAME VERB… -- PROGRAM …
made() {
  name=$1
  shift
  words=
  while [ "$1" != -- ]; do
    words="$words $1"
    shift
  done
  shift
  # shellcheck disable=SC2086
  "$PROFUNDO_COMMAND" $words -o "$folder/$name.profundo" -- "$python" "$@"
}

# Pictures of views: shown VIEW,… RECORDING
shown() {
  node ui/shots.mjs docs/images --small --view "$1" "view=$2"
}

made plain record -- examples/confidence/1_plain.py
"$PROFUNDO_COMMAND" flame "$folder/plain.profundo" --force -o docs/images/flame.svg --title "python3 1_plain.py"

made documents record -- bench/programs/documents.py 600
made shop record --memory -- examples/start/app.py 60
made queue record --wall -- bench/programs/queue_of_ten.py 3000
made calls trace -- bench/programs/calls.py 2
made before record -- bench/programs/steps.py 1500
made after record -- bench/programs/steps.py 1500 300

shown overview,flame,source,functions,heatmap,tree,assembly,graph,square "$folder/documents.profundo"
shown memory "$folder/shop.profundo"
shown timeline "$folder/queue.profundo"
shown exact "$folder/calls.profundo"
shown compare "$folder/before.profundo,$folder/after.profundo"

"$python" e2e/docs/sessions.py &
program=$!
# Some thousand sessions are opened.
sleep 3
"$PROFUNDO_COMMAND" snapshot "$program" -o "$folder/now.heapsnapshot"
kill "$program"
shown heap "$folder/now.heapsnapshot"
