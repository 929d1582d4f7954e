//! Stacks of all kinds: signal stacks, coroutines, too deep ones, and small ones used to the end.
//!
//! `stacks signal|coroutine|deep|small [engine]`

use std::hint::black_box;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Instant;

use profundo::fetch;
use profundo::model::{LocationKind, Reason};
use profundo_e2e::{argument, seconds, shape, shape::Named, storm_on, sys, work};

fn main() {
    let what = argument(1).expect("what to do");
    let engine = argument(2).unwrap_or_else(|| "auto".into());
    storm_on(&engine).apply().unwrap();
    match what.as_str() {
        "signal" => signal(),
        "coroutine" => coroutine(),
        "deep" => deep(),
        "small" => small(),
        other => panic!("cannot do {other:?}"),
    }
    sys::print_line("all stacks are well");
}

/// Works for long in a handler of the program's own, on a signal stack.
fn signal() {
    extern "C" fn handler(_: i32, _: *mut libc::siginfo_t, _: *mut libc::c_void) {
        work::busy(100);
    }
    let mut memory = vec![0_u8; 256 << 10];
    let stack = libc::stack_t {
        ss_sp: memory.as_mut_ptr().cast(),
        ss_flags: 0,
        ss_size: memory.len(),
    };
    sys::handle(libc::SIGUSR2, handler, libc::SA_ONSTACK);
    // SAFETY: the stack outlives its use; it is taken back below.
    unsafe {
        let mut before: libc::stack_t = std::mem::zeroed();
        assert_eq!(libc::sigaltstack(&raw const stack, &raw mut before), 0);
        profundo::profile!(raise_deep_down(20)).unwrap();
        assert_eq!(
            libc::sigaltstack(&raw const before, std::ptr::null_mut()),
            0
        );
    }
    let data = fetch().unwrap();
    shape::check(&data, 0.99);
    let named = Named::new(&data);
    let in_handler = named.weight_in("handler");
    let through = named.weight_in("raise_deep_down");
    assert!(in_handler > 0.08, "{in_handler}");
    assert!(through > 0.99 * in_handler, "{in_handler} {through}");
    named.check_roots(0.001);
}

#[inline(never)]
fn raise_deep_down(depth: u32) -> u64 {
    if depth == 0 {
        // SAFETY: our own handler takes it.
        unsafe { libc::raise(libc::SIGUSR2) };
        return 0;
    }
    black_box(raise_deep_down(black_box(depth) - 1)) + 1
}

/// Coroutines on stacks that are mapped and unmapped, next to other mappings.
fn coroutine() {
    let end = Instant::now() + seconds(1.0);
    let all = || {
        thread::scope(|scope| {
            // Memory that is mapped and unmapped all the time, where the stacks lie.
            scope.spawn(|| {
                while Instant::now() < end {
                    drop(Mapped::new(64 << 10));
                }
            });
            scope.spawn(|| {
                while Instant::now() < end {
                    run_coroutine(64 << 10);
                }
            });
            while Instant::now() < end {
                run_coroutine(16 << 10);
                work::spin(100_000);
            }
        });
    };
    profundo::profile!(all()).unwrap();
    let data = fetch().unwrap();
    // A stack made by hand may end in any way, but no time is lost.
    let shape = shape::check(&data, 0.0);
    let weight = Named::new(&data).weight_in("in_coroutine");
    let line = format!("{weight} s in coroutines, {shape:?}\n");
    sys::note(&line);
    assert!(weight > 0.1 * shape.weight, "{line}");
}

struct Mapped {
    start: *mut libc::c_void,
    bytes: usize,
}

impl Mapped {
    fn new(bytes: usize) -> Self {
        // SAFETY: a new anonymous mapping overlaps nothing.
        let start = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                bytes,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_PRIVATE | libc::MAP_ANONYMOUS,
                -1,
                0,
            )
        };
        assert_ne!(start, libc::MAP_FAILED);
        Self { start, bytes }
    }
}

impl Drop for Mapped {
    fn drop(&mut self) {
        // SAFETY: it is not used any more.
        unsafe { libc::munmap(self.start, self.bytes) };
    }
}

extern "C" fn in_coroutine() {
    black_box(work::spin(200_000));
}

/// Runs `in_coroutine` on a stack without a guard page, which is unmapped at once.
fn run_coroutine(bytes: usize) {
    let stack = Mapped::new(bytes);
    // SAFETY: both contexts live until the coroutine has returned through `uc_link`.
    unsafe {
        let mut here: libc::ucontext_t = std::mem::zeroed();
        let mut there: libc::ucontext_t = std::mem::zeroed();
        assert_eq!(libc::getcontext(&raw mut there), 0);
        there.uc_stack.ss_sp = stack.start;
        there.uc_stack.ss_size = stack.bytes;
        there.uc_link = &raw mut here;
        libc::makecontext(&raw mut there, in_coroutine, 0);
        assert_eq!(libc::swapcontext(&raw mut here, &raw const there), 0);
    }
}

/// 5000 frames are cut to 4096, visibly; 200 are whole.
fn deep() {
    let run = |depth: u32| {
        profundo::clear();
        let body = move || profundo::profile!(work::deep(depth, 60)).unwrap();
        let thread = thread::Builder::new().stack_size(32 << 20);
        black_box(thread.spawn(body).unwrap().join().unwrap());
        fetch().unwrap()
    };
    let data = run(200);
    shape::check(&data, 1.0);
    let data = run(5000);
    let profile = data.profile();
    let mut cut = 0;
    for sample in &profile.samples {
        let stack: Vec<_> = profile.stacks.locations(sample.stack).collect();
        let root = profile.locations.get(*stack.last().unwrap()).kind;
        if root == LocationKind::Reason(Reason::Truncated) {
            assert_eq!(stack.len(), 4096 + 1);
            cut += 1;
        }
    }
    assert!(cut * 2 > data.len(), "{cut} of {}", data.len());
    assert_eq!(profile.meta.loss.truncated, cut as u64);
}

static LOWEST: AtomicUsize = AtomicUsize::new(usize::MAX);

/// Small stacks, used down to the last kilobytes, over and over.
fn small() {
    let end = Instant::now() + seconds(0.7);
    let all = || {
        while Instant::now() < end {
            let small = thread::Builder::new().stack_size(64 << 10);
            let body = || {
                let here = 0_u8;
                LOWEST.store(&raw const here as usize, Ordering::Relaxed);
                let top = &raw const here as usize;
                black_box(to_the_end(top))
            };
            small.spawn(body).unwrap().join().unwrap();
        }
    };
    profundo::profile!(all()).unwrap();
    shape::check(&fetch().unwrap(), 0.99);
}

#[inline(never)]
fn to_the_end(top: usize) -> u64 {
    let frame = [1_u8; 200];
    let here = black_box(&frame).as_ptr() as usize;
    // A few kilobytes of the 64 are the thread's own: its control block and where it began.
    if top - here > (64 << 10) - (8 << 10) {
        return work::spin(100_000);
    }
    black_box(to_the_end(top)) + u64::from(frame[7])
}
