//! Programs of other loaders and machines, and programs that emulate one. Our agent cannot be
//! loaded into these, so they are sampled from outside.

use super::entry::{Entry, without_numbers};
use super::shape::Shape;

/// A program of Rust, and one of Zig, that share one function between two threads.
const RUST: &str = "
use std::hint::black_box;
#[inline(never)] fn hot(n: u64) -> u64 { (0..n).fold(1, |x, i| black_box(x * 31 % 1013 + i)) }
#[inline(never)] fn work() -> u64 { (0..50).map(|_| hot(3_000_000)).max().unwrap() }
fn main() {
    let other = std::thread::spawn(work);
    println!(\"{} {}\", work(), other.join().unwrap());
    std::process::exit(7)
}
";
const ZIG: &str = "
const std = @import(\"std\");
noinline fn hot(n: u64) u64 {
    var x: u64 = 1;
    var i: u64 = 0;
    while (i < n) : (i += 1) {
        x = x *% 31 +% i;
        std.mem.doNotOptimizeAway(x);
    }
    return x;
}
fn work() void {
    var k: u32 = 0;
    while (k < 100) : (k += 1) std.mem.doNotOptimizeAway(hot(3_000_000));
}
pub fn main() void {
    const other = std.Thread.spawn(.{}, work, .{}) catch unreachable;
    work();
    other.join();
    std.debug.print(\"done\\n\", .{});
    std.process.exit(7);
}
";

/// An entry of a compiler that writes `hot` from a file.
fn compiled(name: &str, source: &str, file: &str, compiler: &str, options: &str) -> Entry {
    Entry::new(name, "$P $HERE/hot")
        .needs(&[compiler])
        .prepare(format!(
            "cat >{file} <<'E'\n{source}\nE\n{compiler} {options}"
        ))
        .shape(Shape::Hot("hot", 80.0))
}

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
        compiled(
            "rust-static-pie",
            RUST,
            "hot.rs",
            "rustc",
            "-O -g -C target-feature=+crt-static -o hot hot.rs",
        ),
        compiled(
            "zig-without-libc",
            ZIG,
            "hot.zig",
            "zig",
            "build-exe -O ReleaseFast hot.zig",
        ),
        compiled(
            "zig-with-libc",
            ZIG,
            "hot.zig",
            "zig",
            "build-exe -O ReleaseFast -lc hot.zig",
        ),
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
