//! The weights of a thread's samples add up to its CPU time, whatever clock it has and
//! however often the period changes.

use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::sync::Barrier;
use std::thread;
use std::time::Duration;

use profundo::model::{Engine, Profile, Sample};
use profundo::profile;

use crate::alone::on_each_engine;
use crate::work::{busy, cpu_time};

/// A thread, and its nanoseconds of CPU time in the session.
struct Ran {
    tid: i32,
    nanoseconds: u64,
}

/// Runs for this many milliseconds, `before` being the calling thread's CPU time when the session
/// began. A stalled virtual machine counts as time of the thread and ends the first loop; the
/// second one has ticks after that.
fn run(milliseconds: u64, before: Duration) -> Ran {
    busy(milliseconds);
    busy(5);
    Ran {
        // SAFETY: no arguments.
        tid: unsafe { libc::gettid() },
        nanoseconds: (cpu_time() - before).as_nanos() as u64,
    }
}

/// The nanoseconds that the samples of a thread stand for.
fn sampled(profile: &Profile, tid: i32) -> u64 {
    let mut threads = profile.threads.iter();
    let (thread, _) = threads.find(|(_, it)| it.tid == tid as u32).unwrap();
    let samples = profile
        .samples
        .iter()
        .filter(|sample| sample.thread == thread);
    samples.map(|sample| sample.weight.0).sum()
}

#[test]
fn the_samples_of_each_thread_add_up_to_its_time() {
    /// Two of the longest periods, and system time, which the kernel counts by its ticks.
    const MOST: u64 = 5_000_000;
    on_each_engine(|_| {
        let (ready, go) = (Barrier::new(2), Barrier::new(2));
        let ran = thread::scope(|scope| {
            let older = scope.spawn(|| {
                ready.wait();
                go.wait();
                run(1500, cpu_time())
            });
            ready.wait();
            profile!({
                go.wait();
                let newer = scope.spawn(|| run(1900, Duration::ZERO));
                thread::sleep(Duration::from_millis(1200));
                let newest = scope.spawn(|| run(300, Duration::ZERO));
                [older, newer, newest].map(|thread| thread.join().unwrap())
            })
        })
        .unwrap();
        let data = profundo::fetch().unwrap();
        if data.profile().meta.engine == Engine::CpuTimer {
            // The kernel's ticks are too few.
            return;
        }
        for (name, ran) in ["older", "newer", "newest"].into_iter().zip(ran) {
            let (sampled, ran) = (sampled(data.profile(), ran.tid), ran.nanoseconds);
            let is_right = sampled.abs_diff(ran) <= MOST;
            assert!(is_right, "{name}: {sampled} ns sampled of {ran}");
        }
    });
}

/// Runs for a while, exchanges bytes with another thread on the same CPU, and runs again.
fn run_and_exchange(mut stream: UnixStream, is_first: bool) -> Ran {
    const ROUNDS: u32 = 10_000;
    busy(150);
    for _ in 0..ROUNDS {
        if is_first {
            stream.write_all(&[1]).unwrap();
        }
        stream.read_exact(&mut [0]).unwrap();
        if !is_first {
            stream.write_all(&[1]).unwrap();
        }
    }
    run(150, Duration::ZERO)
}

/// Pins the calling thread, and threads that it starts, to its present CPU.
fn stay_here() {
    // SAFETY: the set is ours, and zero is a set without CPUs.
    unsafe {
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        libc::CPU_SET(libc::sched_getcpu() as usize, &mut set);
        libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), &raw const set);
    }
}

#[test]
fn the_samples_of_threads_that_change_their_clocks_add_up() {
    /// As the bound above, plus a long kernel tick, at which a timer expires.
    const MOST: u64 = 15_000_000;
    on_each_engine(|_| {
        let ran = profile!({
            let both = thread::spawn(|| {
                stay_here();
                let (ours, theirs) = UnixStream::pair().unwrap();
                let other = thread::spawn(|| run_and_exchange(theirs, false));
                [run_and_exchange(ours, true), other.join().unwrap()]
            });
            both.join().unwrap()
        })
        .unwrap();
        let data = profundo::fetch().unwrap();
        if data.profile().meta.engine == Engine::CpuTimer {
            return;
        }
        for Ran { tid, nanoseconds } in ran {
            let sampled = sampled(data.profile(), tid);
            assert!(
                sampled <= nanoseconds + MOST,
                "{sampled} ns sampled of {nanoseconds}"
            );
            // Where a timer samples a thread, the time after its last tick is not seen. It is as
            // long as between two ticks, which may be several of the kernel's on a busy machine.
            let unseen = MOST.max(longest(data.profile(), tid));
            assert!(
                sampled + unseen >= nanoseconds,
                "{sampled} ns sampled of {nanoseconds}, {unseen} at once"
            );
        }
    });
}

/// The largest weight of a thread's samples.
fn longest(profile: &Profile, tid: i32) -> u64 {
    let of_thread = |sample: &&Sample| profile.threads.get(sample.thread).tid == tid as u32;
    let samples = profile.samples.iter().filter(of_thread);
    samples.map(|sample| sample.weight.0).max().unwrap_or(0)
}

/// The usual weights of a thread's samples, in the order of time: medians of groups of this size.
fn periods(profile: &Profile, tid: i32) -> Vec<u64> {
    const TOGETHER: usize = 20;
    let mut threads = profile.threads.iter();
    let (thread, _) = threads.find(|(_, it)| it.tid == tid as u32).unwrap();
    let samples = profile
        .samples
        .iter()
        .filter(|sample| sample.thread == thread);
    let weights: Vec<u64> = samples.map(|sample| sample.weight.0).collect();
    let median = |some: &[u64]| {
        let mut sorted = some.to_vec();
        sorted.sort_unstable();
        sorted[some.len() / 2]
    };
    weights.chunks_exact(TOGETHER).map(median).collect()
}

#[test]
fn the_period_changes_on_threads_that_begin_before_and_later() {
    on_each_engine(|_| {
        let ran = profile!({
            let here = run(600, cpu_time());
            let later = thread::spawn(|| run(600, Duration::ZERO));
            [here, later.join().unwrap()]
        })
        .unwrap();
        let data = profundo::fetch().unwrap();
        if data.profile().meta.engine == Engine::CpuTimer {
            return;
        }
        for (name, Ran { tid, .. }) in ["here", "later"].into_iter().zip(ran) {
            let periods = periods(data.profile(), tid);
            let (least, most) = (periods.iter().min(), periods.iter().max());
            // From 0.5 to 1.5, in a dozen steps; some are missing on a busy machine.
            let differ = least
                .zip(most)
                .is_some_and(|(least, most)| most * 2 > least * 3);
            assert!(differ, "{name}: {periods:?}");
        }
    });
}
