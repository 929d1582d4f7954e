# A shell at work: traps, background jobs, wait, limits, here-documents, pipes, substitutions,
# wrappers that become what they start.
set -u
hot=$1
trap 'echo "trapped USR1"' USR1
trap 'echo "trapped URG"' URG
trap 'echo "at exit"' EXIT
kill -USR1 $$
kill -URG $$
"$hot" 0.2; echo "hot: $?"
"$hot" 0.2 & first=$!
(exit 9) & second=$!
wait $first; echo "first: $?"
wait $second; echo "second: $?"
cat <<END
in a document: $(echo substituted)
END
(ulimit -n 20; ulimit -n; "$hot" 0.05 >/dev/null; echo "limited: $?")
(ulimit -v 500000; "$hot" 0.05; echo "less memory: $?")
env -i "$hot" 0.05; echo "without environment: $?"
env -i A=1 env
nohup "$hot" 0.05 </dev/null 2>/dev/null; echo "nohup: $?"
setsid -w "$hot" 0.05; echo "setsid: $?"
timeout 10 "$hot" 0.05; echo "timeout: $?"
timeout 0.3 sleep 100; echo "timeout: $?"
nice -n 5 "$hot" 0.05; echo "nice: $?"
printf '%s\n' 1 2 3 4 5 6 7 8 | xargs -P4 -I{} sh -c "\"$hot\" 0.05 >/dev/null; exit 0"; echo "xargs: $?"
yes | head -n 100000 | wc -l
yes | head -n 1; echo "${PIPESTATUS[@]}"
"$hot" 0.05 | cat; echo "${PIPESTATUS[@]}"
{ sh -c 'kill -9 $$'; echo "killed: $?"; } 2>/dev/null
{ sh -c 'kill -TERM $$'; echo "terminated: $?"; } 2>/dev/null
coproc cat; echo "to the coprocess" >&"${COPROC[1]}"; read -r line <&"${COPROC[0]}"; echo "$line"
exec {COPROC[1]}>&-
wait
exec sh -c "\"$hot\" 0.1; exit 12"
