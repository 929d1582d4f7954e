//! State of a thread that sampling must not change: its `errno`, its floating-point registers, and
//! the system calls that wait.
//!
//! `calm errno|floats|calls|calls-wall [engine]`

use std::hint::black_box;
use std::thread;
use std::time::Instant;

use profundo_e2e::{argument, seconds, storm_on, sys, work};

fn main() {
    let what = argument(1).expect("what to do");
    let engine = argument(2).unwrap_or_else(|| "auto".into());
    storm_on(&engine).apply().unwrap();
    let end = Instant::now() + seconds(0.5);
    let body = || match what.as_str() {
        "errno" => errno(end),
        "floats" => floats(end),
        "calls" | "calls-wall" => calls(end),
        other => panic!("cannot do {other:?}"),
    };
    let both = || {
        thread::scope(|scope| {
            scope.spawn(body);
            scope.spawn(body);
        });
    };
    if what.ends_with("wall") {
        profundo::profile_walltime!(both()).unwrap();
    } else {
        profundo::profile!(both()).unwrap();
    }
    assert!(profundo::fetch().unwrap().len() > 5);
    sys::print_line("nothing was noticed");
}

fn errno(end: Instant) {
    // SAFETY: the thread's own errno.
    let errno = unsafe { &mut *libc::__errno_location() };
    let mut value = 1;
    while Instant::now() < end {
        for _ in 0..100 {
            value = value % 4000 + 1;
            *errno = value;
            work::spin(200);
            assert_eq!(black_box(*errno), value);
        }
    }
}

fn floats(end: Instant) {
    while Instant::now() < end {
        let mut sums = [0.0_f64; 16];
        let mut all = 0_u64;
        for turn in 0..20_000_u32 {
            for (lane, sum) in sums.iter_mut().enumerate() {
                *sum += f64::from(turn % 16) * (lane as f64 + 1.0);
            }
            all += u64::from(turn % 16);
        }
        for (lane, sum) in sums.iter().enumerate() {
            // Whole numbers, so the sums are exact.
            assert_eq!(*sum, all as f64 * (lane as f64 + 1.0));
        }
        black_box(&sums);
    }
}

/// Calls that wait, with CPU time between them, so that the clock runs out near each.
fn calls(end: Instant) {
    let mut pipe = [0; 2];
    // SAFETY: plain calls on descriptors and memory of ours; each result is looked at.
    unsafe {
        assert_eq!(libc::pipe(pipe.as_mut_ptr()), 0);
        let epoll = libc::epoll_create1(0);
        let mut ready = libc::epoll_event { events: 0, u64: 0 };
        let word = 1_u32;
        let mut byte = [0_u8; 1];
        let wait = libc::timespec {
            tv_sec: 0,
            tv_nsec: 20_000,
        };
        let mut turns = 0_u64;
        let check = |what: &str, result: i64| {
            let error = std::io::Error::last_os_error();
            let interrupted = result < 0 && error.raw_os_error() == Some(libc::EINTR);
            assert!(!interrupted, "{what} was interrupted");
        };
        while Instant::now() < end {
            turns += 1;
            work::spin(turns % 997 * 3);
            match turns % 5 {
                0 => check("poll", libc::poll(std::ptr::null_mut(), 0, 0).into()),
                1 => {
                    let result = libc::nanosleep(&wait, std::ptr::null_mut());
                    check("nanosleep", result.into());
                }
                2 => {
                    let timeout = i32::from(turns.is_multiple_of(50));
                    let result = libc::epoll_wait(epoll, &mut ready, 1, timeout);
                    check("epoll_wait", result.into());
                }
                3 => {
                    // Another thread writes what this one reads, a moment later.
                    let (from, to) = (pipe[0], pipe[1]);
                    if turns.is_multiple_of(40) {
                        thread::spawn(move || {
                            work::spin(1000);
                            assert_eq!(libc::write(to, b"x".as_ptr().cast(), 1), 1);
                        });
                    } else {
                        check("write", libc::write(to, b"x".as_ptr().cast(), 1) as i64);
                    }
                    check("read", libc::read(from, byte.as_mut_ptr().cast(), 1) as i64);
                }
                _ => {
                    let operation = libc::FUTEX_WAIT | libc::FUTEX_PRIVATE_FLAG;
                    let result =
                        libc::syscall(libc::SYS_futex, &raw const word, operation, 1, &wait);
                    check("futex", result);
                }
            }
        }
        libc::close(epoll);
        libc::close(pipe[0]);
        libc::close(pipe[1]);
    }
}
