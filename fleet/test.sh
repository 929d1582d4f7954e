#!/bin/bash
# Tests of the cluster with real processes: whatever adds up the samples, the answer is the same file,
# also where processes are killed meanwhile.
#
#   fleet/test.sh [ROWS]      builds, makes a store of that many rows (1 million), asks
#
# PROFUNDO_FLEET_FOLDER is where the store lies (a temporary folder). CARGO is how cargo is called.
set -u
cd "$(dirname "$0")" || exit 1
rows=${1:-1000000}
cargo=${CARGO:-cargo}
folder=${PROFUNDO_FLEET_FOLDER:-$(mktemp -d /tmp/profundo-fleet.XXXXXX)}
store=$folder/store-$rows
fleet=$PWD/target/debug/profundo-fleet
failures=0
declare -A pids=()

# The time that the programs and their ports need.
scheduler=http://127.0.0.1:50950
gateway=http://127.0.0.1:50980
export RUST_LOG=${RUST_LOG:-info}

say() { printf '%s\n' "$*"; }
fail() { say "FAILED: $*"; failures=$((failures + 1)); }
now() { date +%s.%N; }
since() { awk -v a="$1" -v b="$(now)" 'BEGIN { printf "%.1f", b - a }'; }

start() { # NAME ARGUMENTS...
    local name=$1
    shift
    "$fleet" "$@" >>"$folder/$name.log" 2>&1 &
    pids[$name]=$!
}
end() { # SIGNAL NAME...
    local signal=$1 name
    shift
    for name; do
        kill "-$signal" "${pids[$name]}" 2>/dev/null
        wait "${pids[$name]}" 2>/dev/null
        unset "pids[$name]"
    done
}
trap 'end TERM "${!pids[@]}"' EXIT

executor() { start "executor-$1" executor --scheduler $scheduler --cores 1 --work-dir "$folder/work-$1"; }
up() {
    start scheduler scheduler --listen "${scheduler#http://}"
    executor 1
    executor 2
    start gateway gateway --scheduler $scheduler --listen "${gateway#http://}" --store "$folder"
    local tries=0
    until [ "$(curl -s -o /dev/null -w '%{http_code}' $scheduler/readyz)" = 200 ]; do
        tries=$((tries + 1))
        [ $tries -gt 600 ] && { fail "the cluster does not start"; exit 1; }
        sleep 0.1
    done
}

# Compares the answer of a way with the one that is read without a cluster.
same() { # NAME QUERY OPTIONS...
    local name=$1 query=$2 begin
    shift 2
    begin=$(now)
    if ! "$fleet" query "$query" -o "$folder/there" "$@" >"$folder/said" 2>"$folder/errors"; then
        fail "$name: $(tail -1 "$folder/errors")"
    elif cmp -s "$folder/here" "$folder/there"; then
        say "same bytes after $(since "$begin") s: $name"
    else
        fail "$name: the answer is another one"
    fi
}
here() { "$fleet" query "$1" -o "$folder/here"; }

# Asks while something happens a second after the work has begun.
meanwhile() { # NAME QUERY WAY ACTION...
    local name=$1 query=$2 way=$3 begin asked
    shift 3
    begin=$(now)
    "$fleet" query "$query" -o "$folder/there" $way >"$folder/said" 2>"$folder/errors" &
    asked=$!
    sleep "$into"
    kill -0 $asked 2>/dev/null || fail "$name: the answer came before anything happened"
    "$@"
    if ! wait $asked; then
        fail "$name: $(tail -1 "$folder/errors")"
    elif cmp -s "$folder/here" "$folder/there"; then
        say "same bytes after $(since "$begin") s: $name"
    elif [ -e "$folder/before" ] && cmp -s "$folder/before" "$folder/there"; then
        say "same bytes as before it after $(since "$begin") s: $name"
    else
        fail "$name: the answer is another one"
    fi
}

# A question that must fail, within seconds.
refused() { # NAME SECONDS PATTERN QUERY OPTIONS...
    local name=$1 most=$2 pattern=$3 begin
    shift 3
    begin=$(now)
    if timeout "$most" "$fleet" query "$@" >"$folder/said" 2>"$folder/errors"; then
        fail "$name: there was an answer"
    elif grep -q "$pattern" "$folder/errors"; then
        say "refused after $(since "$begin") s: $name: $(tail -1 "$folder/errors")"
    else
        fail "$name after $(since "$begin") s: $(tail -1 "$folder/errors")"
    fi
}

$cargo build || exit 1
$cargo test || fail "the tests of the crate"
if [ ! -d "$store" ]; then
    (cd .. && $cargo run -q -p profundo-store --example fleet -- make "$store.part" "$rows" fresh) || exit 1
    mv "$store.part" "$store"
fi

# A bucket: moto's server, where Python has it.
python=${PROFUNDO_STORE_PYTHON:-python3}
s3=http://127.0.0.1:50990
if "$python" -c 'import moto.server, flask' 2>/dev/null; then
    "$python" -m moto.server -H 127.0.0.1 -p "${s3##*:}" >"$folder/s3.log" 2>&1 &
    pids[s3]=$!
    export AWS_ENDPOINT=$s3 AWS_ALLOW_HTTP=true AWS_REGION=us-east-1
    export AWS_ACCESS_KEY_ID=one AWS_SECRET_ACCESS_KEY=two
fi

all="$store?from=2026-11-26&to=2026-11-28"
# The last hours: joined with the segments still there, and segments only.
late="$store?from=2026-11-27T20:15:10&to=2026-11-28"
busy=$(for number in $(seq 0 19); do printf '&service=s%s' "$number"; done)
up
say "one question in each way"
questions=(
    "$all&service=s7"
    "$all&service=s3&by=service"
    "$all&service=s3&service=s4&host=host3&host=host4"
    "$all&service=s1&version=1.5&by=process&step=1h"
    "$late&by=service"
    "$late&host=host7"
    "$all&service=nothing"
    "$all&service=s7&type=wall"
)
for query in "${questions[@]}"; do
    here "$query"
    same "local ${query#"$store"}" "$query" --local
    same "cluster ${query#"$store"}" "$query" --cluster $scheduler
done
here "${questions[0]}"
same "gateway" "${questions[0]}" --gateway $gateway
refused "another store" 10 "answers for other stores" "/srv?from=-1h" --gateway $gateway

say "an hour in a bucket, and with damaged files"
damaged=$folder/damaged
rm -rf "$damaged" && mkdir -p "$damaged"
for table in samples stacks frames labels segments; do
    hour=$table/date=2026-11-27/hour=09
    mkdir -p "$damaged/$table/date=2026-11-27" && cp -r "$store/$hour" "$damaged/$hour"
done
if [ -n "${pids[s3]:-}" ]; then
    curl -s -o /dev/null --retry 30 --retry-connrefused --retry-delay 1 -X PUT $s3/bucket
    (cd "$damaged" && find . -name '*.parquet' | while read -r file; do
        curl -s -f -o /dev/null -m 60 -H 'Content-Type: application/octet-stream' -X PUT --data-binary "@$file" "$s3/bucket/prod/${file#./}" || exit 1
    done) || fail "the bucket takes no files"
    query="s3://bucket/prod?from=2026-11-27&to=2026-11-28"
    for rest in "&service=s1" "&by=service"; do
        here "$damaged${query#s3://bucket/prod}$rest"
        same "cluster, in a bucket $rest" "$query$rest" --cluster $scheduler
    done
else
    say "skipped: $python has no server of moto"
fi
victims=("$damaged"/samples/date=2026-11-27/hour=09/*/*.parquet)
size=$(stat -c %s "${victims[0]}")
printf 'damage, damage, damage' | dd of="${victims[0]}" bs=1 seek=$((size / 3)) conv=notrunc status=none
truncate -s 1000 "${victims[1]}"
query="$damaged?from=2026-11-27&to=2026-11-28&by=service"
here "$query"
same "cluster, with a damaged file and one that is cut" "$query" --cluster $scheduler

say "losses"
query="$all$busy&by=thread"
here "$query"
begin=$(now)
same "cluster, nothing lost" "$query" --cluster $scheduler
into=$(awk -v spent="$(since "$begin")" 'BEGIN { printf "%.1f", spent / 3 }')
same "gateway, nothing lost" "$query" --gateway $gateway
meanwhile "an executor is killed after $into s" "$query" "--cluster $scheduler" end KILL executor-1
here "${questions[0]}"
same "with one executor" "${questions[0]}" --cluster $scheduler
executor 1
sleep 5
here "$query"
same "the executor is back" "$query" --cluster $scheduler
restart() {
    end KILL scheduler
    sleep 2
    start scheduler scheduler --listen "${scheduler#http://}"
}
meanwhile "the scheduler is killed after $into s, and is back 2 s later" "$query" "--gateway $gateway" restart
regate() {
    end KILL gateway
    start gateway gateway --scheduler $scheduler --listen "${gateway#http://}" --store "$folder"
}
meanwhile "the gateway is killed after $into s, and is back" "$query" "--gateway $gateway" regate
moving=$folder/moving
fill() { rm -rf "$moving" && cp -al "$store" "$moving"; }
sweep() { find "$moving/samples" -name 'joined-*' | sort | awk 'NR % 3 == 0' | xargs rm; }
# Where all files were read before they are deleted, the answer is that of before.
fill
here "$moving${query#"$store"}"
mv "$folder/here" "$folder/before"
sweep
here "$moving${query#"$store"}"
fill
meanwhile "files are deleted after $into s" "$moving${query#"$store"}" "--cluster $scheduler" sweep
begin=$(now)
"$fleet" query "$query" --gateway $gateway >"$folder/said" 2>"$folder/errors" &
asked=$!
sleep "$into"
end KILL executor-1 executor-2
killed=$(now)
if wait $asked; then
    fail "there was an answer without executors"
else
    say "refused $(since "$killed") s after both executors were killed: $(tail -1 "$folder/errors")"
fi
refused "without executors" 60 "has no executors" "$query" --cluster $scheduler
end KILL scheduler
refused "without a scheduler" 60 "does not answer" "$query" --gateway $gateway
end TERM gateway
refused "without a gateway" 30 "refused" "$query" --gateway $gateway

say "$failures failures; logs are in $folder"
[ "$failures" = 0 ]
