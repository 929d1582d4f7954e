//! Room for open files: each clock is one, and there is a clock for each thread, when attaching one for
//! each thread on each CPU.

use std::fs::File;
use std::os::fd::AsFd;

use super::gap::{Finding, Gap, Mend, Verdict};
use super::settings::{Settings, capability};

/// What is enough for nearly everybody.
const PLENTY: u64 = 65536;
/// Programs have threads in this number without anybody being astonished.
const THREADS: u64 = 256;

/// What a recorder opens before it opens a clock, with what it keeps free.
const FEWEST: u64 = 18 + crate::sys::DESCRIPTORS_KEPT_FREE;

/// Whether there are descriptors enough for a recorder. What it lacks is known before it begins.
pub fn enough_descriptors() -> Result<(), Gap> {
    match crate::sys::limit(libc::RLIMIT_NOFILE) {
        // A recorder raises the limit as far as it may.
        Some((_, most)) if most < THREADS => match free_below(most) {
            free if free < FEWEST => Err(too_few(&Settings::read(), most, free)),
            _ => Ok(()),
        },
        _ => Ok(()),
    }
}

/// How many numbers of descriptors are free.
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

/// No more files can be opened.
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

/// How the limit is raised.
fn more(settings: &Settings, wanted: u64) -> Mend {
    match settings.container {
        // What ordinary users may have at most was taken already.
        _ if settings.has(capability::RESOURCE) => Mend::Command(format!("ulimit -n {wanted}")),
        None => Mend::Command(format!("sudo prlimit --nofile={wanted} --pid $$")),
        Some(_) => settings.container_with(&format!("--ulimit nofile={wanted}")),
    }
}

/// Opens as many as are permitted, up to plenty, and closes them.
pub(super) fn look(settings: &Settings) -> Finding {
    const TOPIC: &str = "open files";
    // What a recorder does first, and its program gets back.
    crate::sys::raise_limit(libc::RLIMIT_NOFILE);
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
