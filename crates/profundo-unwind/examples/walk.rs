//! Walks one deep stack again and again, by tables and by framehop, and prints the time a frame:
//! `cargo run --release -p profundo-unwind --example walk`

use std::arch::asm;
use std::ffi::{c_int, c_void};
use std::hint::black_box;
use std::io::{Write, stdout};
use std::time::Instant;

use framehop::Unwinder;
use framehop::x86_64::UnwindRegsX86_64;
use profundo_unwind::{Memory, Modules, Regs, WalkCache, walk, walk_cached};

#[expect(dead_code, reason = "the tests use more of it")]
#[path = "../tests/it/oracle.rs"]
mod oracle;
#[expect(dead_code, reason = "the tests use more of it")]
#[path = "../tests/it/process.rs"]
mod process;

use oracle::Oracle;
use process::{Process, Remote};

/// The words of a stack from an address on.
struct Copy {
    start: u64,
    words: Vec<u64>,
}

impl Memory for &Copy {
    #[inline]
    fn read(&mut self, address: u64) -> Option<u64> {
        let index = address.checked_sub(self.start)? / 8;
        self.words.get(index as usize).copied()
    }
}

fn nanos(rounds: u32, mut body: impl FnMut()) -> f64 {
    let mut best = f64::INFINITY;
    for _ in 0..20 {
        let start = Instant::now();
        for _ in 0..rounds {
            body();
        }
        best = best.min(start.elapsed().as_nanos() as f64 / f64::from(rounds));
    }
    best
}

/// The time of one call after others have used the caches: a median of many.
fn cold_nanos(others: &mut [u64], mut body: impl FnMut()) -> f64 {
    let mut times: Vec<u128> = (0..1000)
        .map(|_| {
            for word in others.iter_mut().step_by(8) {
                *word += 1;
            }
            let start = Instant::now();
            body();
            start.elapsed().as_nanos()
        })
        .collect();
    times.sort_unstable();
    times[times.len() / 2] as f64
}

#[inline(never)]
fn measure() {
    let (ip, sp, fp): (u64, u64, u64);
    // SAFETY: reads three registers and changes none.
    unsafe {
        #[cfg(target_arch = "x86_64")]
        asm!("lea {ip}, [rip]", "mov {sp}, rsp", "mov {fp}, rbp",
            ip = out(reg) ip, sp = out(reg) sp, fp = out(reg) fp, options(nomem, nostack));
        #[cfg(target_arch = "aarch64")]
        asm!("adr {ip}, .", "mov {sp}, sp", "mov {fp}, x29",
            ip = out(reg) ip, sp = out(reg) sp, fp = out(reg) fp, options(nomem, nostack));
    }
    let regs = Regs::new(ip, sp, fp);
    let process = Process::this();
    let mut remote = Remote(process.pid);
    let words = (sp..).step_by(8).map_while(|address| remote.read(address));
    let copy = Copy {
        start: sp,
        words: words.take(1 << 16).collect(),
    };
    let modules = process.modules();
    let modules = Modules::new(&modules);
    let mut out = [0; 512];
    let (depth, end) = walk(regs, &modules, &mut &copy, &mut out);
    let mut by_tables = || {
        black_box(walk(black_box(regs), &modules, &mut &copy, &mut out));
    };
    let mut cached = [0; 512];
    let mut cache = WalkCache::new();
    let mut by_cache = || {
        let memory = &mut &copy;
        black_box(walk_cached(
            black_box(regs),
            None,
            &modules,
            &mut cache,
            memory,
            &mut cached,
        ));
    };
    let mut oracle = Oracle::of(&process);
    let mut read = |address| (&copy).read(address).ok_or(());
    let first = UnwindRegsX86_64::new(ip, sp, fp);
    let mut by_framehop = || {
        let mut frames =
            oracle
                .unwinder
                .iter_frames(ip, black_box(first), &mut oracle.cache, &mut read);
        let mut count = 0;
        while let Ok(Some(address)) = frames.next() {
            black_box(address);
            count += 1;
        }
        assert_eq!(count, depth);
    };
    let mut others = vec![0; 4 << 20];
    let _ = writeln!(
        stdout(),
        "{depth} frames, {end:?}: by tables {:.0} ns warm, {:.0} cold; with cache {:.0} warm, {:.0} cold; by framehop {:.0} warm, {:.0} cold",
        nanos(10_000, &mut by_tables),
        cold_nanos(&mut others, &mut by_tables),
        nanos(10_000, &mut by_cache),
        cold_nanos(&mut others, &mut by_cache),
        nanos(10_000, &mut by_framehop),
        cold_nanos(&mut others, &mut by_framehop),
    );
}

/// Functions of different sizes that call each other, now and then through libc.
fn descend(depth: usize) {
    extern "C" fn compare(left: *const c_void, _: *const c_void) -> c_int {
        // SAFETY: the array that is searched holds one number, and so does the key.
        descend(unsafe { *left.cast::<usize>() });
        0
    }
    let room = black_box([depth; 9]);
    match depth {
        0 => measure(),
        _ if depth.is_multiple_of(4) => {
            let next = depth - 1;
            let (key, array) = ((&raw const next).cast(), (&raw const room[0]).cast());
            // SAFETY: the array has one element of eight bytes.
            unsafe { libc::bsearch(key, array, 1, 8, Some(compare)) };
        }
        _ => aside(depth),
    }
    black_box(&room);
}

#[inline(never)]
fn aside(depth: usize) {
    let mut room = black_box(vec![depth; 3]);
    descend(room[1] - 1);
    black_box(&mut room);
}

fn main() {
    for depth in [0, 8, 15, 100] {
        descend(depth);
    }
}
