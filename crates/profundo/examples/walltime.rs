//! Wall time: where threads and tasks wait. One thread sleeps, one waits for a lock that is never
//! free for long, one reads from a pipe; a task sleeps in its runtime.

use std::io::Read;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use profundo::TaskExt;

const WHILE: Duration = Duration::from_secs(1);

#[inline(never)]
fn sleeps() {
    thread::sleep(WHILE);
}

#[inline(never)]
fn waits_for_a_lock(lock: &Mutex<u64>) {
    if let Ok(mut value) = lock.lock() {
        *value += 1;
    }
}

#[inline(never)]
fn reads_a_pipe(mut pipe: std::io::PipeReader) {
    // The writer closes its end without writing; then the read ends.
    let _ = pipe.read(&mut [0; 1]);
}

#[inline(never)]
async fn sleeping_task() {
    tokio::time::sleep(WHILE).await;
}

fn main() -> profundo::Result<()> {
    let lock = Arc::new(Mutex::new(0));
    let (reader, writer) = std::io::pipe()?;
    profundo::profile_walltime!({
        let held = lock.lock();
        let waiter = Arc::clone(&lock);
        let threads = [
            thread::Builder::new()
                .name("sleeper".into())
                .spawn(sleeps)?,
            thread::Builder::new()
                .name("waiter".into())
                .spawn(move || waits_for_a_lock(&waiter))?,
            thread::Builder::new()
                .name("reader".into())
                .spawn(move || reads_a_pipe(reader))?,
        ];
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .build()?;
        runtime.block_on(sleeping_task().profiled("sleeping task"));
        drop((held, writer));
        for thread in threads {
            let _ = thread.join();
        }
    })?;
    profundo::report()
        .group_by(profundo::GroupBy::ThreadTask)
        .c(true)
        .mincount(20)
        .print()
}
