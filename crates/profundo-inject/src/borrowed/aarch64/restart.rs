//! The result with which the kernel restarts an interrupted call: it says what becomes of the call
//! if a handler of a signal runs before.

use profundo_process::reading::Held;

use super::{NUMBER, Registers, SYSCALL};

/// The call begins again, unless a handler without `SA_RESTART` has run.
const UNLESS_ASKED: i64 = -512;
/// The call begins again, unless a handler has run.
const UNLESS_HANDLED: i64 = -514;
/// As that one; and it waits for the rest of its time, which the kernel has kept.
const FOR_THE_REST: i64 = -516;

/// The way in which the kernel restarts a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Restart {
    pub(super) number: i32,
    pub(super) result: i64,
}

impl Restart {
    /// Whether the rest of the time is known to the kernel alone.
    pub(super) fn needs_its_block(self) -> bool {
        self.result == FOR_THE_REST
    }
}

/// The way of a thread that is held at the instruction of a call. `None`: it is not known, also
/// because it was not seen to wait in that call before.
pub(super) fn of(held: &Held, registers: &Registers) -> Option<Restart> {
    let before = held.call_before()?;
    let number = registers.regs[NUMBER] as i64;
    // A call whose rest of time is waited for has another number since.
    let is_same = before.call == number || number == libc::SYS_restart_syscall;
    if !is_same || before.ip != registers.pc + SYSCALL || before.sp != registers.sp {
        return None;
    }
    let result = match held.is_restarted() {
        true => UNLESS_HANDLED,
        false => result_of(number, &registers.regs)?,
    };
    let number = i32::try_from(number).ok()?;
    Some(Restart { number, result })
}

fn result_of(number: i64, registers: &[u64]) -> Option<i64> {
    let argument = |at: usize| registers.get(at).copied().unwrap_or(0);
    Some(match number {
        libc::SYS_futex => return result_of_futex(argument(1) as i32, argument(3)),
        libc::SYS_read
        | libc::SYS_readv
        | libc::SYS_write
        | libc::SYS_writev
        | libc::SYS_wait4
        | libc::SYS_waitid
        | libc::SYS_accept
        | libc::SYS_accept4
        | libc::SYS_connect
        | libc::SYS_recvfrom
        | libc::SYS_recvmsg
        | libc::SYS_sendto
        | libc::SYS_sendmsg
        | libc::SYS_flock
        | libc::SYS_fcntl => UNLESS_ASKED,
        libc::SYS_ppoll | libc::SYS_pselect6 | libc::SYS_rt_sigsuspend => UNLESS_HANDLED,
        libc::SYS_clock_nanosleep if argument(1) as i32 & libc::TIMER_ABSTIME != 0 => {
            UNLESS_HANDLED
        }
        libc::SYS_clock_nanosleep | libc::SYS_nanosleep | libc::SYS_restart_syscall => FOR_THE_REST,
        _ => return None,
    })
}

/// A wait for a change of a word, without a limit or with one.
fn result_of_futex(operation: i32, limit: u64) -> Option<i64> {
    let operation = operation & !(libc::FUTEX_PRIVATE_FLAG | libc::FUTEX_CLOCK_REALTIME);
    match operation {
        libc::FUTEX_WAIT | libc::FUTEX_WAIT_BITSET if limit == 0 => Some(UNLESS_ASKED),
        libc::FUTEX_WAIT | libc::FUTEX_WAIT_BITSET => Some(FOR_THE_REST),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_are_restarted_as_the_kernel_does_it() {
        let of = |number: i64, arguments: [u64; 4]| result_of(number, &arguments);
        let futex = |operation: i32, limit| of(libc::SYS_futex, [8, operation as u64, 0, limit]);
        let private = libc::FUTEX_PRIVATE_FLAG;
        assert_eq!(futex(libc::FUTEX_WAIT | private, 0), Some(UNLESS_ASKED));
        assert_eq!(futex(libc::FUTEX_WAIT | private, 64), Some(FOR_THE_REST));
        assert_eq!(futex(libc::FUTEX_LOCK_PI, 0), None);
        let sleep = |how| of(libc::SYS_clock_nanosleep, [0, how, 64, 64]);
        assert_eq!(
            (sleep(0), sleep(1)),
            (Some(FOR_THE_REST), Some(UNLESS_HANDLED))
        );
        assert_eq!(of(libc::SYS_epoll_pwait, [3, 64, 1, 0]), None);
    }
}
