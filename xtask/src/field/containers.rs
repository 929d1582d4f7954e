//! Containers under Docker's rules: its seccomp profile, no capability, a read-only root. Profundo
//! runs within them, or beside them, where it attaches to a program in one.

use super::entry::Entry;
use super::shape::Shape;

/// Options of `container.py`, and the name of each set.
const KINDS: [(&str, &str); 6] = [
    ("plain", ""),
    ("noexec-without-shm", "--noexec --no-shm"),
    ("user", "--user"),
    ("user-namespace", "--user-namespace"),
    ("64-megabytes", "--memory 64"),
    ("hardest", "--noexec --no-shm --user --memory 64"),
];

/// Works for a second in one function.
const BURN: &str = "import time
def burn():
    until = time.process_time() + 1
    while time.process_time() < until:
        for _ in range(1000): pass
burn()
print('done')
";

/// Calls one function for some seconds.
const COUNT: &str = "import time
def leaf():
    return sum(range(100))
until = time.monotonic() + 4
while time.monotonic() < until:
    leaf()
print('done')
";

pub fn entries() -> Vec<Entry> {
    let entry = |name: String, script: String| {
        Entry::new(name, script)
            .needs(&[
                "gcc",
                "crun",
                "python3",
                "unshare",
                "/usr/share/containers/seccomp.json",
            ])
            // What is executed lies where that is permitted.
            .prepare("gcc -g -O1 $ROOT/e2e/targets/hot.c -o $ROOT/target/field-hot")
            .shape(Shape::Hot("six_parts", 30.0))
    };
    let within = KINDS.map(|(name, options)| {
        let script = format!(
            "python3 $ROOT/xtask/src/field/container.py {options} -- $P $ROOT/target/field-hot 1"
        );
        entry(format!("container-{name}"), script)
            .modes(&["", "--memory", "--memory=exact"])
            .shape(Shape::NoNote("cannot be sampled"))
    });
    let beside = KINDS.map(|(name, options)| {
        let script = format!(
            "python3 $ROOT/xtask/src/field/container.py {options} -- $ROOT/target/field-hot 3 & \
             until_true pgrep -f ^$ROOT/target/field-hot; \
             $P $(pgrep -f ^$ROOT/target/field-hot) -d 1 > /dev/null; wait $!"
        );
        entry(format!("attached-container-{name}"), script)
            .needs(&["pgrep"])
            .attaches()
            .modes(&["", "--memory=outside", "--inside", "--memory=exact"])
    });
    // The interpreter is entered, too.
    let counted = KINDS.map(|(name, options)| {
        let script = format!(
            "python3 $ROOT/xtask/src/field/container.py {options} -- /usr/bin/python3 -IS \
             $HERE/count.py & until_true pgrep -f ^/usr/bin/python3.*$HERE/count.py; \
             $P $(pgrep -f ^/usr/bin/python3.*$HERE/count.py) -d 1 > /dev/null; wait $!"
        );
        Entry::new(format!("counted-container-{name}"), script)
            .needs(&[
                "crun",
                "pgrep",
                "/usr/bin/python3",
                "unshare",
                "/usr/share/containers/seccomp.json",
            ])
            .prepare(format!("cat > count.py <<'END'\n{COUNT}END"))
            .attaches()
            .modes(&["--trace", "--memory"])
    });
    // The agent does not get into these.
    let started = KINDS.map(|(name, options)| {
        let script = format!(
            "$P /usr/bin/python3 -IS $ROOT/xtask/src/field/container.py {options} -- \
             /usr/bin/python3 -IS $HERE/burn.py"
        );
        Entry::new(format!("started-container-{name}"), script)
            .needs(&[
                "crun",
                "/usr/bin/python3",
                "unshare",
                "/usr/share/containers/seccomp.json",
            ])
            .prepare(format!("cat > burn.py <<'END'\n{BURN}END"))
            .shape(Shape::Hot("burn", 50.0))
    });
    let all = within.into_iter().chain(beside);
    all.chain(counted).chain(started).collect()
}
