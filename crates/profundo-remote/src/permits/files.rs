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

/// No more files can be opened.
pub(super) fn too_many(settings: &Settings) -> Gap {
    let most = settings.files;
    let wanted = PLENTY.max(most.saturating_mul(4)).min(1 << 20);
    let why =
        format!("too many open files: each thread wants one on each CPU, and the limit is {most}");
    let mend = match settings.container {
        // What ordinary users may have at most was taken already.
        _ if settings.has(capability::RESOURCE) => Mend::Command(format!("ulimit -n {wanted}")),
        None => Mend::Command(format!("sudo prlimit --nofile={wanted} --pid $$")),
        Some(_) => settings.container_with(&format!("--ulimit nofile={wanted}")),
    };
    Gap {
        why,
        mend: Some(mend),
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
