//! Perf events: why the kernel refuses one.

use std::io;

use super::files;
use super::gap::{Gap, error_text};
use super::settings::Settings;

/// The gap for a perf event that was refused with this error.
pub fn refused(error: &io::Error) -> Gap {
    explain(&Settings::read(), error, Part::User)
}

/// The gap for clocks on CPUs, which sample all processes, that were refused with this error.
pub fn machine_refused(error: &io::Error) -> Gap {
    let mut gap = explain(&Settings::read(), error, Part::Machine);
    gap.why = format!(
        "all processes of the machine cannot be sampled: {}",
        gap.why
    );
    gap
}

/// A part of a program's time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Part {
    User,
    Kernel,
    /// All processes.
    Machine,
}

pub(super) fn explain(settings: &Settings, error: &io::Error, part: Part) -> Gap {
    let most = match part {
        Part::User => 2,
        Part::Kernel => 1,
        Part::Machine => 0,
    };
    let why = |rest: &str| format!("perf_event_open is refused ({}): {rest}", error_text(error));
    let by_filter = || Gap {
        why: why("a seccomp filter forbids it, as those of containers do"),
        mend: Some(settings.container_with("--cap-add PERFMON")),
    };
    match error.raw_os_error() {
        Some(libc::EACCES | libc::EPERM) => match settings.paranoid {
            Some(level) if level > most && !settings.may_perf() => Gap {
                why: why(&format!(
                    "kernel.perf_event_paranoid is {level}, and {most} or less is wanted"
                )),
                mend: Some(settings.sysctl(&format!("kernel.perf_event_paranoid={most}"))),
            },
            _ if settings.is_filtered => by_filter(),
            // Opening says EACCES, and its memory EPERM.
            Some(_) if error.raw_os_error() == Some(libc::EPERM) && !settings.may_perf() => Gap {
                why: why("its memory is above kernel.perf_event_mlock_kb"),
                mend: Some(settings.sysctl("kernel.perf_event_mlock_kb=4096")),
            },
            _ => Gap::of(why(
                "the kernel's settings permit it, so a security module's rule (SELinux, AppArmor) may not",
            )),
        },
        Some(libc::EMFILE | libc::ENFILE) => files::too_many(settings),
        Some(libc::ENOSYS) if settings.is_filtered => by_filter(),
        Some(libc::ENOSYS) => Gap::advice(
            why("this kernel was built without perf events"),
            "it wants a kernel with CONFIG_PERF_EVENTS",
        ),
        _ => Gap::of(format!("perf_event_open fails: {}", error_text(error))),
    }
}

#[cfg(test)]
mod tests {
    use super::super::settings::tests::ordinary;
    use super::super::settings::{Container, capability};
    use super::*;

    fn check(settings: &Settings, code: i32, part: Part, expected: &str) {
        let gap = explain(settings, &io::Error::from_raw_os_error(code), part);
        assert_eq!(gap.to_string(), expected);
    }

    #[test]
    fn a_setting_is_named_with_what_sets_it() {
        let closed = Settings {
            paranoid: Some(4),
            ..ordinary()
        };
        check(
            &closed,
            libc::EACCES,
            Part::User,
            "perf_event_open is refused (permission denied): kernel.perf_event_paranoid is 4, and 2 or \
             less is wanted; mend it with `sudo sysctl kernel.perf_event_paranoid=2`",
        );
        check(
            &ordinary(),
            libc::EACCES,
            Part::Kernel,
            "perf_event_open is refused (permission denied): kernel.perf_event_paranoid is 2, and 1 or \
             less is wanted; mend it with `sudo sysctl kernel.perf_event_paranoid=1`",
        );
        let inside = Settings {
            container: Some(Container::Docker),
            user: 0,
            ..closed
        };
        check(
            &inside,
            libc::EACCES,
            Part::User,
            "perf_event_open is refused (permission denied): kernel.perf_event_paranoid is 4, and 2 or \
             less is wanted; mend it with `sudo sysctl kernel.perf_event_paranoid=2  # on the host`",
        );
    }

    #[test]
    fn a_filter_is_named_where_the_setting_permits_it() {
        let filtered = Settings {
            is_filtered: true,
            container: Some(Container::Docker),
            ..ordinary()
        };
        let expected = "perf_event_open is refused (operation not permitted): a seccomp filter forbids it, \
                        as those of containers do; mend it with `docker run --cap-add PERFMON …`";
        check(&filtered, libc::EPERM, Part::User, expected);
        // A setting that does not apply to a user is not the reason.
        let privileged = Settings {
            paranoid: Some(4),
            capabilities: 1 << capability::PERFMON,
            ..filtered.clone()
        };
        check(&privileged, libc::EPERM, Part::User, expected);
        // Capabilities in a user namespace do not count here.
        let rootless = Settings {
            in_user_namespace: true,
            ..privileged
        };
        let gap = explain(
            &rootless,
            &io::Error::from_raw_os_error(libc::EACCES),
            Part::User,
        );
        assert!(gap.why.contains("paranoid is 4"), "{gap}");
    }

    #[test]
    fn other_reasons() {
        let gap = |code| explain(&ordinary(), &io::Error::from_raw_os_error(code), Part::User);
        assert!(gap(libc::EMFILE).to_string().contains("--nofile="));
        assert!(gap(libc::ENOSYS).to_string().contains("CONFIG_PERF_EVENTS"));
        assert!(
            gap(libc::EPERM)
                .to_string()
                .contains("perf_event_mlock_kb=4096")
        );
        assert!(gap(libc::EACCES).to_string().contains("security module"));
        assert_eq!(
            gap(libc::EBUSY).to_string(),
            "perf_event_open fails: device or resource busy"
        );
    }
}
