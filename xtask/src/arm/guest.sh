# Runs in the machine of aarch64: the command, on a program whose shares are known.
expect() {
    if grep -q "$2" "$3"; then echo "ok $1"; else echo "FAILED $1"; cat "$3"; fi
}
same() {
    if [ "$2" = "$3" ]; then echo "ok $1"; else echo "FAILED $1: $2 is not $3"; fi
}
cd /tmp
/work/share > plain
same "the program ends as it does" "$?" 7
/work/profundo record -o run.profundo -- /work/share > recorded 2> said
same "a recorded program ends as it does" "$?" 7
cat said
cmp plain recorded && echo "ok a recorded program prints the same" || echo "FAILED a recorded program prints the same"
/work/profundo report tree run.profundo > tree 2>&1
cat tree
expect "callers are in the tree" "outer" tree
/work/profundo report functions run.profundo > functions 2>&1
cat functions
expect "functions have names" "hot" functions
/work/profundo record --memory=exact -o memory.profundo -- /work/share mem > recorded 2> said
same "exact memory: the program ends as it does" "$?" 0
# 1000 blocks of 1000 bytes, 100 of which stay, one of a megabyte, and the buffer of the output.
allocs() {
    /work/profundo report allocs memory.profundo --json > allocs 2>&1
    python3.13 -c 'import json
of_main = [row for row in json.load(open("allocs"))["allocations"]["functions"] if row["at"]["function"] == "main"]
print(*(of_main[0][name] for name in ("allocated_blocks", "allocated_bytes", "live_blocks", "live_bytes")))'
}
same "exact memory: blocks and bytes" "$(allocs)" "1002 2052672 102 1152672"
/work/profundo record -o python.profundo -- python3.13 -c '
def inner():
    return sum(i * i for i in range(1000000))
def middle():
    return inner()
print(middle())
' > recorded 2> said
same "Python ends as it does" "$?" 0
/work/profundo report tree python.profundo > tree 2>&1
expect "frames of Python" "middle" tree
cat > fib.py <<'END'
import time
def fib(n):
    return n if n < 2 else fib(n - 1) + fib(n - 2)
def naps():
    time.sleep(0.5)
print(fib(15))
naps()
END
/work/profundo trace -o trace.profundo -- python3.13 fib.py > recorded 2> said
same "counted calls: Python prints the same" "$(cat recorded)" 610
/work/profundo report trace trace.profundo --json > trace 2>&1
count='import json
rows = json.load(open("trace"))["groups"][0]["functions"]
print(*(row["calls"] for row in rows if row["function"] == "fib"))'
same "counted calls: their number" "$(python3.13 -c "$count")" 1973
/work/profundo record --wall -o wall.profundo -- python3.13 fib.py > recorded 2> said
same "waits: Python prints the same" "$(cat recorded)" 610
/work/profundo report tree wall.profundo > tree 2>&1
expect "waits: their callers" "naps" tree
/work/share long > /dev/null & running=$!
/work/profundo attach -o attach.profundo --duration 2 "$running" > recorded 2> said
same "attach from outside" "$?" 0
/work/profundo report functions attach.profundo > functions 2>&1
expect "attach: functions have names" "hot" functions

# A program that runs already is entered: it goes on, and ends as always.
entered() {
    name=$1; code=$2; shift 2
    /work/profundo attach -o entered.profundo --duration 2 "$@" "$running" > recorded 2> said
    same "$name: attach ends well" "$?" 0
    cat said
    : > stop
    wait "$running"
    same "$name: the program ends as it does" "$?" "$code"
    rm -f stop
}
for way in "" --inside --memory --memory=exact; do
    /work/enter all stop > output & running=$!
    sleep 1
    entered "threads ${way:-from outside}" 7 $way
    same "threads ${way:-from outside}: no call has failed" "$(cat output)" "0 odd"
    /work/profundo report functions entered.profundo > functions 2>&1
    expect "threads ${way:-from outside}: functions have names" "computes" functions
done
/work/profundo report allocs entered.profundo > allocs 2>&1
expect "threads: allocations have names" "allocates" allocs
# Its only thread waits in one call. A signal or its time ends that.
for call in sleep suspend poll epoll read; do
    /work/enter "$call" & running=$!
    sleep 1
    /work/profundo attach --inside -o entered.profundo --duration 1 "$running" > recorded 2> said
    same "$call: attach ends well" "$?" 0
    grep -v "CPU time" said
    [ "$call" = sleep ] || kill -USR1 "$running"
    wait "$running"
    same "$call: it ends as it does" "$?" 5
done
cat > steady.py <<'END'
import os
def fib(n):
    return n if n < 2 else fib(n - 1) + fib(n - 2)
def keep():
    return [bytes(1000 + i) for i in range(100)]
rounds = []
while not os.path.exists("stop"):
    assert fib(15) == 610
    rounds = rounds[-50:] + [keep()]
print("done")
END
for way in --inside --memory --memory=exact --trace; do
    python3.13 steady.py > output & running=$!
    sleep 2
    entered "Python $way" 0 $way
    same "Python $way: it prints the same" "$(cat output)" "done"
    case $way in --trace) report=trace ;; --inside) report=tree ;; *) report=allocs ;; esac
    /work/profundo report $report entered.profundo > report 2>&1
    case $way in --memory*) expect "Python $way: functions" keep report ;; *) expect "Python $way: functions" fib report ;; esac
done
# Objects of a Python program, and blocks of a native one whose allocations are counted.
python3.13 steady.py > output & running=$!
sleep 2
/work/profundo heap "$running" --types > heap 2>&1
expect "a heap snapshot of Python is refused" "not known" heap
: > stop
wait "$running"
same "the refused program ends as it does" "$? $(cat output)" "0 done"
rm -f stop
/work/profundo record --memory=exact -o memory.profundo -- /work/enter all stop > output 2> said & recording=$!
sleep 4
for folder in /proc/[0-9]*; do
    [ "$(cat "$folder/comm" 2> /dev/null)" = enter ] && running=${folder#/proc/}
done
/work/profundo heap "$running" > heap 2>&1
expect "a heap snapshot of native blocks" "Heap snapshot: [1-9]" heap
: > stop
wait "$recording"
# A wait with a limit may end early for it, as on x86-64.
same "native blocks: the program ends as it does" "$?" 7
rm -f stop
echo "all is done"
