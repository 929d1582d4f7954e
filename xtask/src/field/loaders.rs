//! Programs of other loaders and machines, and programs that emulate one. Our agent cannot be
//! loaded into these, so they are sampled from outside.

use super::entry::{Entry, without_numbers};
use super::shape::Shape;

pub fn entries() -> Vec<Entry> {
    let emulated = |name: &str, program: &str| {
        Entry::new(name, format!("$P {program} $HERE/hot 0.1"))
            .needs(&["gcc"])
            .prepare("gcc -g -O1 $ROOT/e2e/targets/hot.c -o hot")
            .modes(&["", "--memory", "--memory=exact", "--wall"])
            .even(without_numbers)
            .shape(Shape::Without("profundo_agent"))
            .shape(Shape::Note("emulates the program"))
    };
    vec![
        Entry::new("loader-musl", "$P $HERE/hot 0.5")
            .needs(&["musl-gcc"])
            .prepare("musl-gcc -g -O1 $ROOT/e2e/targets/hot.c -o hot")
            .shape(Shape::Hot("six_parts", 30.0))
            .shape(Shape::NoNote("cannot be sampled")),
        // Stacks of 32-bit programs are not walked.
        Entry::new("loader-32-bit", "$P $HERE/hot 0.5")
            .needs(&["gcc"])
            .prepare("gcc -m32 -g -O1 $ROOT/e2e/targets/hot.c -o hot")
            .shape(Shape::Seconds(0.3)),
        emulated("valgrind-memcheck", "valgrind --leak-check=full").needs(&["valgrind"]),
        emulated(
            "valgrind-massif",
            "valgrind --tool=massif --massif-out-file=out",
        )
        .needs(&["valgrind"]),
        emulated("valgrind-callgrind", "valgrind --tool=callgrind").needs(&["valgrind"]),
        emulated("qemu-user", "qemu-x86_64").needs(&["qemu-x86_64"]),
        // Most virtual machines lack the counters that it needs; then both sides fail alike.
        emulated("rr", "rr record").needs(&["rr"]),
    ]
}
