//! Children that allocate: each of many runs must find every block at its line, whatever the load
//! on the machine.

use super::entry::Entry;

/// The number of runs of each program.
const RUNS: usize = 200;

/// Compares the allocations of lines with the program's own figures. Arguments: profiler,
/// recording, then `LINE=BYTES`, where the line is a part of its text.
const CHECK: &str = r#"
import json, subprocess, sys
profundo, recording, *wanted = sys.argv[1:]
report = [profundo, 'report', '--json', '--limit', '100000', recording, 'allocs']
report = subprocess.run(report, capture_output=True, check=True)
found = {}
for row in json.loads(report.stdout)['allocations']['lines']:
    place = row['at'] or {}
    text = place.get('function') or '?'
    if place.get('file') and place.get('line'):
        try:
            text = open(place['file']).read().splitlines()[place['line'] - 1]
        except (OSError, IndexError):
            pass
    found[text] = found.get(text, 0) + row['allocated_bytes']
for want in wanted:
    text, size = want.rsplit('=', 1)
    has = sum(it for line, it in found.items() if line.endswith(text))
    if not int(size) <= has < int(size) + 20000:
        print(text, 'has', has, 'and not', size, found)
"#;

pub fn entries() -> Vec<Entry> {
    let native = [
        ("// child", 24_000_000),
        ("// grandchild", 3_000_000),
        ("// program", 6_000_000),
    ];
    let compile = "gcc -O1 -g -fno-builtin -pthread $ROOT/e2e/targets/known_forks.c -o forks";
    vec![
        python(
            "fork",
            FORK,
            &[("# child", 4_000_000), ("# main", 1_000_000)],
        ),
        python("pool", POOL, &[("# worker", 32_000_000)]),
        python("subprocess", SUBPROCESS, &[("# inner", 8_000_000)]),
        python("fork-threads", THREADS, &[("# forked", 16_000_000)]),
        entry("forks-native", compile, "$HERE/forks", &native).needs(&["gcc"]),
    ]
}

fn python(name: &str, program: &str, lines: &[(&str, u64)]) -> Entry {
    let prepare = format!("cat >program.py <<'E'\n{program}E");
    entry(name, &prepare, "python3 $HERE/program.py", lines)
}

/// A program, with the allocations of its lines that end in a comment. The check prints output that
/// the run without the profiler does not have.
fn entry(name: &str, prepare: &str, program: &str, lines: &[(&str, u64)]) -> Entry {
    let wanted: String = lines
        .iter()
        .map(|(text, bytes)| format!(" '{text}={bytes}'"))
        .collect();
    let script = format!(
        r#"profundo=${{P%% *}}
for run in $(seq {RUNS}); do
    $P {program} >>out || echo "run $run ended with $?"
    [ -z "$profundo" ] || python3 $HERE/check.py "$profundo" $HERE/recording.profundo{wanted}
done
sort -u out"#
    );
    Entry::new(name, script)
        .needs(&["python3"])
        .prepare(format!("{prepare}\ncat >check.py <<'E'{CHECK}E"))
        .modes(&["--memory=exact"])
}

const FORK: &str = "import os
kept = bytearray(1000000)  # main
if os.fork() == 0:
    block = bytearray(4000000)  # child
    os._exit(0)
os.wait()
";

const POOL: &str = "import multiprocessing

def work(number):
    block = bytearray(4000000)  # worker
    return len(block)

if __name__ == '__main__':
    with multiprocessing.get_context('fork').Pool(4) as pool:
        print(sum(pool.map(work, range(8), 1)))
";

const SUBPROCESS: &str = "import subprocess, sys
program = 'block = bytearray(4000000)  # inner\\n'
open('inner.py', 'w').write(program)
for close in (True, False):
    subprocess.run([sys.executable, 'inner.py'], close_fds=close, check=True)
";

const THREADS: &str = "import os, threading
is_over = False

def allocate():
    while not is_over:
        block = bytearray(1000)  # beside

def forks():
    for _ in range(4):
        child = os.fork()
        if child == 0:
            block = bytearray(4000000)  # forked
            os._exit(0)
        os.waitpid(child, 0)

threads = [threading.Thread(target=allocate) for _ in range(2)]
for thread in threads:
    thread.start()
forking = threading.Thread(target=forks)
forking.start()
forking.join()
is_over = True
for thread in threads:
    thread.join()
";
