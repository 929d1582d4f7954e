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
/work/profundo report memory memory.profundo > memory 2>&1
cat memory
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
/work/share & running=$!
/work/profundo attach -o attach.profundo --duration 2 "$running" > recorded 2> said
same "attach from outside" "$?" 0
/work/profundo report functions attach.profundo > functions 2>&1
expect "attach: functions have names" "hot" functions
echo "all is done"
