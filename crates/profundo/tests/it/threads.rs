//! Threads without registration: those that start while a session runs are sampled from their
//! start, and shown with their names.

use std::sync::Barrier;
use std::thread;

use profundo::{GroupBy, profile, report, retrieve};

use crate::alone::on_each_engine;
use crate::blocks::{assert_mostly, blocks};
use crate::program::Program;
use crate::work::{busy, early};

#[test]
fn threads_that_start_later_are_found_with_their_names() {
    on_each_engine(|_| {
        profile!({
            let late_comer = thread::Builder::new().name("late comer".into());
            late_comer.spawn(|| early(150)).unwrap().join().unwrap();
        })
        .unwrap();
        let (data, names) = retrieve().unwrap();
        let profile = data.profile();
        // Earlier engines had one of the same name.
        let (_, thread) = profile
            .threads
            .iter()
            .filter(|(_, thread)| profile.strings.get(thread.name) == "late comer")
            .last()
            .unwrap();
        let mut its = blocks(&data.words());
        its.retain(|block| block.thread == thread.number);
        assert_mostly("work::early", 3, &its, &names);
        let text = report().group_by(GroupBy::Thread).to_text().unwrap();
        let heading = format!("Thread {} (late comer)", thread.number);
        assert!(text.contains(&heading), "{text}");
    });
}

#[test]
fn two_threads_at_work_have_equal_shares() {
    on_each_engine(|_| {
        let together = Barrier::new(2);
        profile!(thread::scope(|scope| {
            for name in ["left", "right"] {
                let thread = thread::Builder::new().name(name.into());
                let together = &together;
                let body = move || {
                    together.wait();
                    busy(150)
                };
                thread.spawn_scoped(scope, body).unwrap();
            }
        }))
        .unwrap();
        let data = profundo::fetch().unwrap();
        let profile = data.profile();
        let time_of = |name: &str| -> u64 {
            let samples = profile.samples.iter();
            samples
                .filter(|sample| {
                    let thread = profile.threads.get(sample.thread);
                    profile.strings.get(thread.name) == name
                })
                .map(|sample| sample.weight.0)
                .sum()
        };
        let (left, right) = (time_of("left"), time_of("right"));
        assert!(left + right > 40_000_000, "{left} {right}");
        if profile.meta.engine != profundo::model::Engine::CpuTimer {
            // CPU timers are checked at the kernel's ticks: on a busy machine a thread may not be
            // running at any tick of its short life.
            assert!(left > 40_000_000 && right > 40_000_000, "{left} {right}");
            assert!(left < right * 4 && right < left * 4, "{left} {right}");
        }
    });
}

/// Two threads that start threads, allocate and look names up, sampled as fast as is sensible.
pub fn does_all_at_once() {
    profundo::init(10_000_000, 0.000_2).unwrap();
    profile!(thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                for round in 0..40 {
                    let text: Vec<String> = (0..200).map(|i| format!("{i} {round}")).collect();
                    let short = thread::spawn(move || text.concat().len());
                    assert!(short.join().unwrap() > 200);
                    if round % 20 == 0 {
                        let (data, names) = retrieve().unwrap();
                        assert!(names.len() <= data.words().len());
                    }
                }
                busy(20);
            });
        }
    }))
    .unwrap();
    assert!(profundo::len() > 100);
}

#[test]
fn nothing_hangs_where_everything_happens_at_once() {
    Program::start("does all at once").end();
}
