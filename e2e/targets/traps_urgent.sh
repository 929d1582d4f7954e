# A shell that uses SIGURG itself, so that the profiler's clocks send another signal: one that would kill the programs
# that its children execute.
trap 'echo "trapped URG"' URG
kill -URG $$
for i in $(seq 60); do
    yes | head -n 20000 | wc -l
    echo "${PIPESTATUS[@]}"
done
