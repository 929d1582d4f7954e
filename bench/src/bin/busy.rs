//! The native program of the comparisons, to be run under a profiler: a given number of rounds, and
//! nothing else.

use profundo_bench::options::Options;
use profundo_bench::workload;

fn main() {
    let about = "Runs the native workload, which is some 45 frames deep.";
    let options = Options::from_command_line(about, &[("seconds", 3.0)]);
    // The same work in each run, whatever the load on the machine: a round takes about 14 µs.
    let rounds = options.get("seconds") / 14e-6;
    workload::climb(rounds as u64);
}
