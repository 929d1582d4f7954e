//! Counting system calls: the kernel's tracepoint, and the event that counts it.

use std::io;
use std::path::Path;

use profundo_linux::perf::{Begins, SyscallExits, Uncounted};
use profundo_linux::{sys, tracefs};

use super::gap::{Finding, Gap, Mend, Verdict, error_text};
use super::perf::{Part, explain};
use super::settings::Settings;

/// The gap for calls that cannot be counted.
pub fn refused(why: &Uncounted) -> Gap {
    explained(&Settings::read(), why)
}

fn explained(settings: &Settings, why: &Uncounted) -> Gap {
    match why {
        Uncounted::Tracepoint(error) => tracepoint(settings, error),
        Uncounted::Event(error) => explain(settings, error, Part::Kernel),
    }
}

/// The list of tracepoints cannot be read.
fn tracepoint(settings: &Settings, error: &io::Error) -> Gap {
    let why = |rest: &str| {
        format!(
            "the kernel's list of tracepoints cannot be read ({}): {rest}",
            error_text(error)
        )
    };
    match error.raw_os_error() {
        Some(libc::EACCES | libc::EPERM) if settings.container.is_some() => Gap {
            why: why("a container may not read it"),
            mend: Some(settings.container_with("--cap-add SYS_ADMIN --cap-add PERFMON")),
        },
        Some(libc::EACCES | libc::EPERM) => Gap {
            why: why("only root may read it"),
            mend: Some(Mend::Command(open_to(settings))),
        },
        Some(libc::ENOENT | libc::ENODEV | libc::ENOSYS) => Gap::advice(
            why("this kernel was built without tracepoints of system calls"),
            "it wants a kernel with CONFIG_FTRACE_SYSCALLS",
        ),
        _ => Gap::of(why("nobody knows why")),
    }
}

/// The command that lets this user read the list, and count, until the machine is started anew.
fn open_to(settings: &Settings) -> String {
    const MOST: i64 = 1;
    let place = tracefs::PLACES[0];
    let options = format!("mode=755,gid={}", sys::group());
    let mount = match Path::new(place).join("events").exists() || is_mounted(place) {
        true => format!("sudo mount -o remount,{options} {place}"),
        false => format!("sudo mount -t tracefs -o {options} nodev {place}"),
    };
    let is_closed = settings.paranoid.is_some_and(|level| level > MOST) && !settings.may_perf();
    match is_closed {
        true => format!("sudo sysctl kernel.perf_event_paranoid={MOST} && {mount}"),
        false => mount,
    }
}

fn is_mounted(place: &str) -> bool {
    let mounts = std::fs::read_to_string("/proc/self/mounts").unwrap_or_default();
    let mut places = mounts.lines().filter_map(|line| line.split(' ').nth(1));
    places.any(|mounted| mounted == place)
}

/// Tries it on this thread.
pub(super) fn check(settings: &Settings) -> Finding {
    const TOPIC: &str = "--syscalls";
    match SyscallExits::open(sys::thread_id(), Begins::Later) {
        Ok(_) => Finding::works(TOPIC, "the kernel counts each system call, with its error"),
        Err(why) => Finding::gap(TOPIC, Verdict::Fails, explained(settings, &why)),
    }
}

#[cfg(test)]
mod tests {
    use super::super::settings::tests::ordinary;
    use super::super::settings::{Container, capability};
    use super::*;

    fn of(settings: &Settings, code: i32) -> String {
        let why = Uncounted::Tracepoint(io::Error::from_raw_os_error(code));
        explained(settings, &why).to_string()
    }

    #[test]
    fn one_command_permits_it() {
        let closed = of(&ordinary(), libc::EACCES);
        let command = "only root may read it; mend it with `sudo sysctl kernel.perf_event_paranoid=1 && sudo mount ";
        assert!(closed.contains(command), "{closed}");
        assert!(closed.contains("mode=755,gid="), "{closed}");
        let permitted = Settings {
            capabilities: 1 << capability::PERFMON,
            ..ordinary()
        };
        let closed = of(&permitted, libc::EPERM);
        assert!(closed.contains("mend it with `sudo mount "), "{closed}");
        let inside = Settings {
            container: Some(Container::Docker),
            ..ordinary()
        };
        let closed = of(&inside, libc::EPERM);
        assert!(
            closed.contains("docker run --cap-add SYS_ADMIN"),
            "{closed}"
        );
    }

    #[test]
    fn other_reasons() {
        assert!(of(&ordinary(), libc::ENODEV).contains("CONFIG_FTRACE_SYSCALLS"));
        let event = Uncounted::Event(io::Error::from_raw_os_error(libc::EACCES));
        let refused = explained(&ordinary(), &event).to_string();
        assert!(
            refused.contains("perf_event_paranoid is 2, and 1 or less"),
            "{refused}"
        );
    }
}
