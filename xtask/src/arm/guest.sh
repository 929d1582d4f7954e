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
echo "all is done"
