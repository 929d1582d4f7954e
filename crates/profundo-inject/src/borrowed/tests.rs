//! A thread that is called freely, and the command that looks in time or too late.

use std::io::Read;
use std::process::{Child, Command, Stdio};

use profundo_linux::sys;
use profundo_testing::{Folder, compile_text, wait_for};

use super::*;
use crate::program::Program;
use crate::safe_point::Places;
use crate::steps::{borrow, map, write_memory};
use crate::{ROOM, Refused};

/// Counts to a number, and has a function like those of the agent: it writes its result, and waits
/// for a moment until that was seen. With an argument each round has a fault that is handled.
const COUNTS: &str = r#"
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>
static char *page;
static int faults;
static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec + t.tv_nsec * 1e-9;
}
__attribute__((noinline)) void answer(volatile int *result, volatile int *is_seen) {
    double until = now() + 0.1;
    *result = 1;
    while (!*is_seen && now() < until) {}
}
static void mend(int signal, siginfo_t *info, void *context) {
    if (info->si_addr != page) _exit(1);
    mprotect(page, 4096, PROT_READ | PROT_WRITE);
    faults++;
}
int main(int count, char **arguments) {
    struct sigaction action = {.sa_sigaction = mend, .sa_flags = SA_SIGINFO};
    int is_done = 1, is_seen = 1;
    answer(&is_done, &is_seen);
    sigaction(SIGSEGV, &action, 0);
    page = mmap(0, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    setvbuf(stdout, 0, _IOLBF, 0);
    for (int i = 0; i < 300; i++) {
        double until = now() + 0.005;
        while (now() < until) getppid();
        if (count > 1) {
            mprotect(page, 4096, PROT_READ);
            *page = 1;
        }
        printf("%d %d\n", i, faults);
    }
    return 7;
}
"#;

/// The result and whether it was seen, in memory of ours.
const IS_SEEN: u64 = 4;

fn number_at(pid: u32, place: u64) -> i32 {
    let mut bytes = [0; 4];
    sys::read_memory(pid, place, &mut bytes);
    i32::from_le_bytes(bytes)
}

/// Starts the program, calls its function after `begun`, and looks `late` afterwards. The program
/// must go on as if nothing had been called.
fn check(arguments: &[&str], late: Duration) {
    let folder = Folder::new("borrowed");
    let Some(program) = compile_text("gcc", &folder, "counts.c", COUNTS, &["-O1"]) else {
        return;
    };
    let mut command = Command::new(&program);
    command.args(arguments).stdout(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut output = child.stdout.take().unwrap();
    let mut begun = [0; 4];
    output.read_exact(&mut begun).unwrap();
    let called = call_late(&child, late);
    let mut rest = String::new();
    output.read_to_string(&mut rest).unwrap();
    let status = child.wait().unwrap();
    let printed = String::from_utf8_lossy(&begun).into_owned() + &rest;
    let expected: String = (0..300)
        .map(|i| format!("{i} {}\n", if arguments.is_empty() { 0 } else { i + 1 }))
        .collect();
    assert_eq!((printed, status.code()), (expected, Some(7)), "{called:?}");
    match called {
        // The machine does not permit it.
        Err(Refused::Machine(_)) => profundo_testing::skip("no process may be entered here"),
        called => {
            let took = called.expect("a call that returns");
            assert!(took < late + Duration::from_secs(5), "{took:?}");
        }
    }
}

/// Calls the function of a running program. Returns how long that took.
fn call_late(child: &Child, late: Duration) -> Result<Duration, Refused> {
    let pid = child.id();
    let mut places = Places::of(pid)?;
    let instructions = places.instructions().ok_or(Refused::Static)?;
    let function = wait_for("the function", || places.symbol("counts", "answer"));
    let program = Program::of(pid).ok_or(Refused::Gone)?;
    let (mut thread, _) = borrow(pid, &program, instructions, &mut places)?;
    let room = map(&mut thread, ROOM)?;
    thread.put_frame(room + ROOM)?;
    let began = Instant::now();
    let is_done = || began.elapsed() >= late && number_at(pid, room) == 1;
    let see = || write_memory(pid, room + IS_SEEN, &1_u32.to_le_bytes());
    let arguments = [room, room + IS_SEEN, 0];
    thread.call_freely(function, arguments, is_done, see, room..room + ROOM)?;
    let took = began.elapsed();
    assert_eq!(number_at(pid, room), 1);
    thread.put_frame_on_own_stack()?;
    assert_eq!(
        thread.system(libc::SYS_munmap, [room, ROOM, 0, 0, 0, 0])?,
        0
    );
    Ok(took)
}

#[test]
fn a_thread_is_followed_back() {
    check(&[], Duration::ZERO);
}

#[test]
fn a_thread_that_has_gone_back_alone_is_not_set_back() {
    check(&[], Duration::from_millis(400));
}

#[test]
fn a_fault_of_a_thread_that_has_gone_back_alone_is_the_programs() {
    check(&["faults"], Duration::from_millis(400));
}
