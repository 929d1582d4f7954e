//! Grouping by thread and by task: two busy threads, and futures as tasks.
#![expect(clippy::print_stdout, reason = "an example talks to its reader")]

use std::hint::black_box;
use std::thread;

use profundo::{GroupBy, TaskExt};

#[inline(never)]
fn spin(rounds: u64) -> u64 {
    (0..rounds * 1_000_000).fold(1, |x, i| black_box(x ^ i).rotate_left(3))
}

#[inline(never)]
async fn answer_request(rounds: u64) -> u64 {
    spin(rounds)
}

fn main() -> profundo::Result<()> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .thread_name("runtime")
        .build()?;
    profundo::profile!({
        let crunching = thread::Builder::new()
            .name("cruncher".into())
            .spawn(|| black_box(spin(150)))?;
        runtime.block_on(async {
            let small = tokio::spawn(answer_request(60).profiled("small request"));
            let large = tokio::spawn(answer_request(120).profiled("large request"));
            // A task that panics reports it itself.
            let _ = (small.await, large.await);
        });
        let _ = crunching.join();
    })?;

    println!("By thread:\n");
    profundo::report()
        .group_by(GroupBy::Thread)
        .mincount(5)
        .print()?;
    println!("\nBy task:\n");
    profundo::report()
        .group_by(GroupBy::Task)
        .mincount(5)
        .print()
}
