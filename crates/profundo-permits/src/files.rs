//! The limit of open files: each clock is one. A recording needs a clock for each thread, or, when
//! attaching, one for each thread on each CPU.

use std::fs::File;
use std::os::fd::AsFd;

use super::gap::{Finding, Gap, Mend, Verdict};
use super::settings::{Settings, capability};

/// A limit that is enough for nearly every program.
const PLENTY: u64 = 65536;
/// A number of threads that is not unusual.
const THREADS: u64 = 256;

/// The descriptors that a recorder opens before it opens a clock, and those that it keeps free.
const FEWEST: u64 = 18 + profundo_linux::sys::DESCRIPTORS_KEPT_FREE;

/// Checks that there are enough descriptors for a recorder, before it begins.
pub fn enough_descriptors() -> Result<(), Gap> {
    match profundo_linux::sys::limit(libc::RLIMIT_NOFILE) {
        // A recorder raises the limit as far as it may.
        Some((_, most)) if most < THREADS => match free_below(most) {
            free if free < FEWEST => Err(too_few(&Settings::read(), most, free)),
            _ => Ok(()),
        },
        _ => Ok(()),
    }
}

/// The number of free descriptors below a limit.
fn free_below(most: u64) -> u64 {
    // SAFETY: a call without pointers, which changes nothing.
    let is_free = |number: &u64| unsafe { libc::fcntl(*number as i32, libc::F_GETFD) } < 0;
    (0..most).filter(is_free).count() as u64
}

fn too_few(settings: &Settings, most: u64, free: u64) -> Gap {
    Gap {
        why: format!(
            "there are too few file descriptors: profundo needs {FEWEST}, and of the {most} that are permitted \
             (RLIMIT_NOFILE) {free} are free"
        ),
        mend: Some(more(settings, PLENTY)),
    }
}

/// The gap for files that cannot be opened because there are too many.
pub(super) fn too_many(settings: &Settings) -> Gap {
    let most = settings.files;
    let wanted = PLENTY.max(most.saturating_mul(4)).min(1 << 20);
    let why =
        format!("too many open files: each thread wants one on each CPU, and the limit is {most}");
    Gap {
        why,
        mend: Some(more(settings, wanted)),
    }
}

/// The way to raise the limit.
fn more(settings: &Settings, wanted: u64) -> Mend {
    match settings.container {
        // The hard limit of an ordinary user is reached.
        _ if settings.has(capability::RESOURCE) => Mend::Command(format!("ulimit -n {wanted}")),
        None => Mend::Command(format!("sudo prlimit --nofile={wanted} --pid $$")),
        Some(_) => settings.container_with(&format!("--ulimit nofile={wanted}")),
    }
}

/// Opens as many files as are permitted, up to `PLENTY`, and closes them.
pub(super) fn check(settings: &Settings) -> Finding {
    const TOPIC: &str = "open files";
    // A recorder does this first, and its program gets it too.
    profundo_linux::sys::raise_limit(libc::RLIMIT_NOFILE);
    let Ok(first) = File::open("/dev/null") else {
        return Finding::gap(TOPIC, Verdict::Fails, too_many(settings)).essential();
    };
    let mut opened = Vec::new();
    while (opened.len() as u64) < PLENTY {
        match first.as_fd().try_clone_to_owned() {
            Ok(another) => opened.push(another),
            Err(_) => break,
        }
    }
    let count = opened.len() as u64;
    drop(opened);
    let processors = std::thread::available_parallelism().map_or(1, usize::from) as u64;
    let threads = count / processors;
    let enough = format!("room for {count}: attach reaches {threads} threads, run {count}");
    match threads {
        0 => Finding::gap(TOPIC, Verdict::Fails, too_many(settings)).essential(),
        few if few < THREADS => Finding::gap(
            TOPIC,
            Verdict::Partly,
            Gap {
                why: enough,
                ..too_many(settings)
            },
        ),
        _ if count >= PLENTY => Finding::works(TOPIC, format!("room for {PLENTY} and more")),
        _ => Finding::works(TOPIC, enough),
    }
}

#[cfg(test)]
mod tests {
    use super::super::settings::Container;
    use super::super::settings::tests::ordinary;
    use super::*;

    #[test]
    fn more_is_asked_for_than_there_was() {
        let few = Settings {
            files: 1024,
            ..ordinary()
        };
        let gap = too_many(&few).to_string();
        assert!(
            gap.ends_with("mend it with `sudo prlimit --nofile=65536 --pid $$`"),
            "{gap}"
        );
        assert!(gap.contains("the limit is 1024"), "{gap}");
        let root = Settings {
            user: 0,
            capabilities: 1 << capability::RESOURCE,
            ..few.clone()
        };
        let gap = too_many(&root).to_string();
        assert!(gap.ends_with("mend it with `ulimit -n 65536`"), "{gap}");
        let inside = Settings {
            user: 0,
            container: Some(Container::Docker),
            ..few
        };
        let gap = too_many(&inside).to_string();
        assert!(
            gap.ends_with("`docker run --ulimit nofile=65536 …`"),
            "{gap}"
        );
        let many = Settings {
            files: 100_000,
            ..ordinary()
        };
        assert!(too_many(&many).to_string().contains("--nofile=400000"));
    }
}
