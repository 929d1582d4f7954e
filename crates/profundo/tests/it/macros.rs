//! `profile!` and `profile_walltime!`: the expression is the caller's own code, runs only if
//! sampling does, and leaving it ends sampling.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::thread;

use profundo::{
    Error, Result, Session, elapsed, is_running, profile, profile_walltime, retrieve, start, stop,
    timed,
};

use crate::alone::{alone, on_each_engine};
use crate::blocks::{assert_mostly, mine};
use crate::work::busy;

#[test]
fn a_busy_loop_is_what_is_seen() {
    on_each_engine(|_| {
        let value = profile!({
            busy(200);
            "value"
        });
        assert_eq!(value.unwrap(), "value");
        assert!(!is_running());
        let (data, names) = retrieve().unwrap();
        let mine = mine(&data);
        assert_mostly("work::busy", 3, &mine, &names);
        assert!(mine.iter().all(|block| block.state == 1));
        assert!(mine.is_sorted_by(|a, b| a.clock < b.clock) && mine[0].clock != 0);
        // A sample may stand for several ticks; together they are the elapsed time.
        let profile = data.profile();
        let nanos: u64 = profile.samples.iter().map(|sample| sample.weight.0).sum();
        assert!((150_000_000..400_000_000).contains(&nanos), "{nanos} ns");
    });
}

#[test]
fn variables_of_the_caller_are_assigned() {
    let _alone = alone();
    let mut sum = 0;
    let mut names = Vec::new();
    profile!({
        for i in 0..100 {
            sum += i;
        }
        names.push("a");
    })
    .unwrap();
    profile_walltime!(sum += 1).unwrap();
    let name = profile!(names.pop()).unwrap();
    assert_eq!((sum, name), (4951, Some("a")));
}

#[test]
fn items_can_be_defined_inside() {
    static COUNT: std::sync::atomic::AtomicU32 = std::sync::atomic::AtomicU32::new(0);
    let _alone = alone();
    let timed = timed!(profile!({
        fn twice(i: u32) -> u32 {
            i * 2
        }
        for i in 0..3 {
            COUNT.fetch_add(twice(i), std::sync::atomic::Ordering::Relaxed);
        }
    }));
    timed.value.unwrap();
    assert_eq!(COUNT.load(std::sync::atomic::Ordering::Relaxed), 6);
    assert!(timed.time > 0.0 && timed.bytes.is_none());
    assert!(elapsed!(()) < 1.0);
}

#[test]
fn sampling_ends_by_return_by_error_and_by_panic() {
    fn returns(early: bool) -> Result<u32> {
        profile!({
            if early {
                return Ok(1);
            }
        })?;
        Ok(2)
    }
    fn fails() -> std::result::Result<(), Box<dyn std::error::Error>> {
        profile!({
            assert!(is_running());
            "x".parse::<u32>()?;
        })?;
        Ok(())
    }
    fn panics() -> u32 {
        panic!("on purpose")
    }
    let _alone = alone();
    assert_eq!(returns(true).unwrap(), 1);
    assert!(!is_running());
    assert_eq!(returns(false).unwrap(), 2);
    assert_eq!(
        fails().unwrap_err().to_string(),
        "invalid digit found in string"
    );
    assert!(!is_running());
    let panicked = catch_unwind(|| profile!(panics()).unwrap());
    let thrown = panicked.unwrap_err();
    assert_eq!(thrown.downcast_ref(), Some(&"on purpose"));
    assert!(!is_running());
    let broken = 'outside: {
        profile_walltime!({
            if is_running() {
                break 'outside 5;
            }
        })
        .unwrap();
        6
    };
    assert!(broken == 5 && !is_running());
}

#[test]
fn a_nested_session_is_refused_and_its_expression_does_not_run() {
    let _alone = alone();
    let ran = Cell::new(false);
    let refused = profile!({
        let inner = profile!(ran.set(true));
        let wall = profile_walltime!(ran.set(true));
        // The refused sessions have not stopped this one.
        assert!(is_running());
        [inner, wall]
    });
    for inner in refused.unwrap() {
        let error = inner.unwrap_err();
        assert!(matches!(error, Error::Capture(_)));
        assert!(error.to_string().contains("already running"), "{error}");
    }
    assert!(!ran.get() && !is_running());
    let inner = profile_walltime!(profile!(())).unwrap();
    assert_eq!(
        inner.unwrap_err().to_string(),
        "a profile is already running in this process; sessions cannot be nested or concurrent"
    );
}

#[test]
fn a_concurrent_session_is_refused() {
    let _alone = alone();
    start().unwrap();
    let elsewhere = thread::spawn(|| (profile!(()).is_err(), Session::walltime().is_err()));
    assert_eq!(elsewhere.join().unwrap(), (true, true));
    assert!(is_running());
    stop();
    stop();
    assert!(!is_running());
    let once_more = catch_unwind(AssertUnwindSafe(|| profile!(7).unwrap()));
    assert_eq!(once_more.unwrap(), 7);
}

#[test]
fn samples_add_up_over_sessions() {
    on_each_engine(|_| {
        profile!(busy(60)).unwrap();
        let first = retrieve().unwrap().0;
        profile!(busy(60)).unwrap();
        let both = retrieve().unwrap().0;
        assert!(!first.is_empty() && both.len() > first.len());
        assert_eq!(first.words()[..], both.words()[..first.words().len()]);
    });
}

/// This program's allocator is the system's own.
#[test]
fn without_our_allocator_nothing_is_said_of_allocations() {
    use profundo::allocs;
    assert!(!allocs::is_installed());
    let mut has_run = false;
    let refused = allocs::profile!(has_run = true).unwrap_err();
    assert!(
        !has_run && refused.to_string().contains("#[global_allocator]"),
        "{refused}"
    );
    let refusals = [
        allocs::start(1.0).err(),
        allocs::here(|| has_run = true).err(),
        allocs::count().err(),
        allocs::peak().err(),
    ];
    for refusal in refusals {
        let said = refusal.unwrap().to_string();
        assert!(said.contains("#[global_allocator]"), "{said}");
    }
    assert!(!allocs::is_running() && !has_run);
    let timed = profundo::timed!(vec![1]);
    assert_eq!(
        (timed.value, timed.allocations, timed.bytes),
        (vec![1], None, None)
    );
    assert_eq!(profundo::allocated!(vec![1]), None);
    assert!(allocs::fetch().unwrap().is_empty());
    allocs::stop();
    allocs::clear();
}
