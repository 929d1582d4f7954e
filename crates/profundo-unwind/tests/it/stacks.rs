//! Stacks of this process: deep ones, through callbacks of libc, threads and signal handlers.

use std::arch::asm;
use std::cell::RefCell;
use std::ffi::{c_int, c_void};
use std::hint::black_box;

use profundo_unwind::{End, Regs};

use crate::oracle::Oracle;
use crate::process::Process;

unsafe extern "C" {
    fn backtrace(buffer: *mut *mut c_void, size: c_int) -> c_int;
}

/// The registers of the caller, from where a walk begins.
#[inline(always)]
fn here() -> Regs {
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
    Regs::new(ip, sp, fp)
}

/// Walks from here by tables, framehop and libgcc, compares them, and returns the depth.
#[inline(never)]
fn check_here() -> usize {
    let regs = here();
    let mut buffer = vec![std::ptr::null_mut(); 4096];
    // SAFETY: the buffer holds as many pointers as said.
    let depth = unsafe { backtrace(buffer.as_mut_ptr(), 4096) };
    buffer.truncate(depth as usize);
    let process = Process::this();
    let (chain, end) = process.walk(regs);
    assert_eq!(end, End::Root, "{:#?}", process.names(&chain));
    let libgcc: Vec<u64> = buffer.iter().map(|address| *address as u64).collect();
    let marked = chain;
    let chain = process.unmarked(&marked);
    assert_eq!(
        process.names(&chain[1..]),
        process.names(&libgcc[1..]),
        "libgcc"
    );
    // framehop does not evaluate the expressions of a signal frame and guesses there.
    if chain == marked {
        let (framehop, reached) = Oracle::of(&process).walk(regs);
        // On aarch64 it does not read the instructions that sign a return address, as glibc has
        // them from 2.41 on, and it leaves out the function that has no caller.
        let outermost = usize::from(cfg!(target_arch = "aarch64"));
        assert!(reached || outermost > 0);
        if reached {
            assert_eq!(
                process.names(&chain[..chain.len() - outermost]),
                process.names(&framehop),
                "framehop"
            );
        }
    }
    chain.len()
}

#[inline(never)]
fn recurse(depth: usize) -> usize {
    if depth == 0 {
        return check_here();
    }
    let room = black_box([depth; 7]);
    let found = recurse(room[3] - 1);
    black_box(&room);
    found
}

#[test]
fn recursion_of_any_depth() {
    let shallow = recurse(0);
    for depth in [1, 2, 10, 100, 1000] {
        assert_eq!(recurse(depth), shallow + depth);
    }
}

#[test]
fn a_callback_of_libc() {
    extern "C" fn compare(left: *const c_void, right: *const c_void) -> c_int {
        CHECKED.with_borrow_mut(|checked| {
            if *checked == 0 {
                *checked = check_here();
            }
        });
        // SAFETY: qsort passes two elements of the array below.
        unsafe { (*left.cast::<u32>()).cmp(&*right.cast::<u32>()) as c_int }
    }
    let mut numbers = [5_u32, 3, 8, 1];
    // SAFETY: the array has four elements of four bytes.
    unsafe { libc::qsort(numbers.as_mut_ptr().cast(), 4, 4, Some(compare)) };
    assert_eq!(numbers, [1, 3, 5, 8]);
    assert!(CHECKED.take() > recurse(0));
}

thread_local! {
    static CHECKED: RefCell<usize> = const { RefCell::new(0) };
}

#[test]
fn a_thread_ends_where_it_was_cloned() {
    let depth = std::thread::spawn(|| recurse(20)).join().unwrap();
    assert!(depth > 20);
}

#[test]
fn a_signal_handler_on_this_stack_and_on_its_own() {
    extern "C" fn handler(_: c_int) {
        CHECKED.set(check_here());
    }
    let mut stack = vec![0_u8; 1 << 20];
    for flags in [0, libc::SA_ONSTACK] {
        // SAFETY: the handler is a function of the right type; what it does is not safe in a
        // handler in general, but this signal is only raised below, where nothing is held.
        unsafe {
            let alternate = libc::stack_t {
                ss_sp: stack.as_mut_ptr().cast(),
                ss_flags: 0,
                ss_size: stack.len(),
            };
            assert_eq!(libc::sigaltstack(&alternate, std::ptr::null_mut()), 0);
            let mut action: libc::sigaction = std::mem::zeroed();
            action.sa_sigaction = handler as *const () as usize;
            action.sa_flags = flags;
            assert_eq!(
                libc::sigaction(libc::SIGUSR1, &action, std::ptr::null_mut()),
                0
            );
            libc::raise(libc::SIGUSR1);
            let disable = libc::stack_t {
                ss_flags: libc::SS_DISABLE,
                ..alternate
            };
            libc::sigaltstack(&disable, std::ptr::null_mut());
        }
        assert!(CHECKED.take() > recurse(0));
    }
}
