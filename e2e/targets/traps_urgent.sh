# A shell that uses SIGURG itself, so that another signal is asked of our clocks: one that would kill the programs
# which its children execute.
trap 'echo "trapped URG"' URG
kill -URG $$
for i in $(seq 60); do
    yes | head -n 20000 | wc -l
    echo "${PIPESTATUS[@]}"
done
