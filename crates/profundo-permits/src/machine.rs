//! The features that work on this machine, tried one by one.

use std::fs;
use std::io;
use std::time::Duration;

use profundo_linux::perf::{
    MachineSampler, Sampled, Sampler, Signal, Switches, TaskClock, kernel_is_permitted, may_trap,
};
use profundo_linux::sys;
use profundo_process::reading::{Activity, NotHeld, Stopper, activity};

use super::gap::{Finding, Gap, Verdict, error_text};
use super::perf::{Part, explain};
use super::settings::{Settings, capability};
use super::unrelated_process::UnrelatedProcess;
use super::{energy, files, forked_memory, gauge, process, python, room, syscalls, traffic};

/// A period at which no clock fires during a test.
const NEVER: u64 = 1_000_000_000;

pub(super) fn findings(settings: &Settings) -> Vec<Finding> {
    let mut found = vec![
        clocks(settings),
        system_time(),
        kernel_time(settings),
        waits(settings),
        syscalls::check(settings),
        energy::check(settings),
        traffic::check(),
        gauge::check(),
        attach(settings),
        whole_machine(settings),
        room::check(),
        files::check(settings),
        library(),
    ];
    found.extend(forked_memory::check());
    found.extend(python::check());
    found.extend([clock(), rights(settings)]);
    found
}

/// The clocks that signal a running thread.
fn clocks(settings: &Settings) -> Finding {
    const TOPIC: &str = "clocks";
    let open = |signal| TaskClock::open(sys::thread_id(), NEVER, signal);
    match open(Signal::Asked(libc::SIGURG)) {
        Ok(_) if may_trap() && open(Signal::Trap).is_ok() => Finding::works(
            TOPIC,
            "perf events signal the thread that runs, by SIGTRAP (engine perf-signal)",
        ),
        Ok(_) => Finding::gap(
            TOPIC,
            Verdict::Works,
            Gap::advice(
                "perf events signal the thread that runs, by SIGURG (engine perf-signal)",
                "SIGTRAP, which costs a third less, wants Linux 5.18",
            ),
        ),
        Err(error) => {
            let gap = explain(settings, &error, Part::User);
            match timer() {
                Ok(()) => Finding::gap(
                    TOPIC,
                    Verdict::Partly,
                    Gap {
                        why: format!(
                            "{}. The engine cpu-timer stands in, with at most one stack each tick of the kernel",
                            gap.why
                        ),
                        ..gap
                    },
                ),
                Err(_) => Finding::gap(TOPIC, Verdict::Fails, gap).essential(),
            }
        }
    }
}

/// Clocks on all CPUs, which sample all processes.
fn whole_machine(settings: &Settings) -> Finding {
    const TOPIC: &str = "all processes";
    let what = |kernel| Sampled {
        kernel,
        sideband: true,
        wakes: true,
    };
    match MachineSampler::is_permitted(what(true)) {
        Ok(()) => Finding::works(
            TOPIC,
            "those of the machine can be sampled at once (record -a)",
        ),
        Err(_) if MachineSampler::is_permitted(what(false)).is_ok() => Finding::gap(
            TOPIC,
            Verdict::Partly,
            Gap::of("those of the machine can be sampled (record -a), without time in the kernel"),
        ),
        Err(error) => {
            let gap = explain(settings, &error, Part::Machine);
            Finding::gap(TOPIC, Verdict::Partly, gap)
        }
    }
}

/// A timer on the thread's own CPU time.
fn timer() -> io::Result<()> {
    let mut timer: libc::timer_t = std::ptr::null_mut();
    // SAFETY: zeroed is a valid event, which is set to do nothing; the timer is written to our
    // place and removed again.
    unsafe {
        let mut event: libc::sigevent = std::mem::zeroed();
        event.sigev_notify = libc::SIGEV_NONE;
        if libc::timer_create(libc::CLOCK_THREAD_CPUTIME_ID, &mut event, &mut timer) != 0 {
            return Err(io::Error::last_os_error());
        }
        libc::timer_delete(timer);
    }
    Ok(())
}

fn system_time() -> Finding {
    const TOPIC: &str = "system time";
    match timer() {
        Ok(()) => Finding::works(TOPIC, "a timer on each thread's CPU time asks for it"),
        Err(error) => Finding::gap(
            TOPIC,
            Verdict::Partly,
            match error.raw_os_error() {
                Some(libc::EAGAIN) => Gap::command(
                    "not recorded: timers count as signals that wait, and the limit of those is reached",
                    "ulimit -i unlimited",
                ),
                _ => Gap::of(format!(
                    "not recorded: timer_create fails ({})",
                    error_text(&error)
                )),
            },
        ),
    }
}

fn kernel_time(settings: &Settings) -> Finding {
    const TOPIC: &str = "kernel time";
    if let Err(error) = kernel_is_permitted() {
        let gap = explain(settings, &error, Part::Kernel);
        return Finding::gap(TOPIC, Verdict::Partly, gap);
    }
    match profundo_process::kernel::has_names() {
        true => Finding::works(
            TOPIC,
            "sampled with the kernel's functions when attached (engine perf-ring)",
        ),
        false => Finding::gap(
            TOPIC,
            Verdict::Partly,
            Gap {
                why: "sampled when attached, but /proc/kallsyms does not tell the names of the kernel's \
                      functions"
                    .to_owned(),
                mend: Some(settings.sysctl("kernel.kptr_restrict=0")),
            },
        ),
    }
}

fn waits(settings: &Settings) -> Finding {
    const TOPIC: &str = "--wall";
    match Switches::open(sys::thread_id()) {
        Ok(_) => Finding::works(
            TOPIC,
            "the kernel tells when threads leave a CPU and come back",
        ),
        Err(error) => Finding::gap(TOPIC, Verdict::Fails, explain(settings, &error, Part::User)),
    }
}

/// Tries to read a process that is not a child of ours.
fn attach(settings: &Settings) -> Finding {
    const TOPIC: &str = "attach";
    let process = match UnrelatedProcess::start() {
        Ok(process) => process,
        Err(error) => {
            let why = format!(
                "no process could be started to try it on: {}",
                error_text(&error)
            );
            return Finding::gap(TOPIC, Verdict::Fails, Gap::of(why)).essential();
        }
    };
    let pid = process.pid;
    let word = 0_u64;
    let mut out = [0; 8];
    // It was forked from this process, so the address is valid in it.
    let read = sys::read_memory(pid, &raw const word as u64, &mut out);
    let refused = io::Error::last_os_error();
    if read != out.len() {
        let gap = process::scope_gap(settings, &refused);
        return Finding::gap(TOPIC, Verdict::Fails, gap).essential();
    }
    if activity(pid, pid) == Activity::Hidden {
        let hidden = io::Error::from_raw_os_error(libc::EPERM);
        let gap = process::scope_gap(settings, &hidden);
        return Finding::gap(TOPIC, Verdict::Fails, gap).essential();
    }
    let mut stopper = Stopper::default();
    if let Err(NotHeld::Refused) = stopper.hold(pid, pid).map(drop) {
        let why = "memory can be read, but threads that run cannot be held (ptrace is refused)";
        let gap = Gap {
            why: why.to_owned(),
            mend: settings
                .is_filtered
                .then(|| settings.container_with("--cap-add SYS_PTRACE")),
        };
        return Finding::gap(TOPIC, Verdict::Partly, gap);
    }
    let what = Sampled {
        kernel: false,
        sideband: true,
        wakes: true,
    };
    let sampled = Sampler::open(what).and_then(|mut sampler| sampler.add(pid, &[pid], NEVER));
    match sampled {
        Ok(()) => Finding::works(
            TOPIC,
            "processes can be read, their threads held and sampled",
        ),
        Err(error) => {
            let gap = explain(settings, &error, Part::User);
            Finding::gap(
                TOPIC,
                Verdict::Partly,
                Gap {
                    why: format!(
                        "{}. Threads are looked at in /proc instead (engine proc-poll)",
                        gap.why
                    ),
                    ..gap
                },
            )
        }
    }
}

/// The C library: the agent is for programs of glibc and of musl.
fn library() -> Finding {
    const TOPIC: &str = "C library";
    let loaders = ["/lib64", "/lib"].into_iter().flat_map(fs::read_dir);
    let has_musl = loaders.flatten().flatten().any(|entry| {
        let name = entry.file_name();
        name.to_string_lossy().starts_with("ld-musl-")
    });
    let text = match (glibc(), has_musl) {
        (Some(version), false) => {
            format!("glibc {version}: its programs can be recorded from inside")
        }
        (Some(version), true) => {
            format!("glibc {version}, and musl: programs of both can be recorded from inside")
        }
        (None, _) => "this profundo brings its own (musl); programs of glibc and of musl can be recorded from \
                      inside"
            .to_owned(),
    };
    Finding::works(TOPIC, text)
}

#[cfg(target_env = "gnu")]
fn glibc() -> Option<String> {
    // SAFETY: the text is a constant of the library's.
    let version = unsafe { std::ffi::CStr::from_ptr(libc::gnu_get_libc_version()) };
    Some(version.to_string_lossy().into_owned())
}

#[cfg(not(target_env = "gnu"))]
fn glibc() -> Option<String> {
    None
}

/// The finding about the cycle counter, which dates samples: it should run evenly.
fn clock() -> Finding {
    const TOPIC: &str = "cycle counter";
    const SPAN: Duration = Duration::from_millis(15);
    let source = "/sys/devices/system/clocksource/clocksource0/current_clocksource";
    let source = fs::read_to_string(source).unwrap_or_default();
    let instants = [(); 3].map(|()| {
        let instant = sys::instant();
        std::thread::sleep(SPAN);
        instant
    });
    let rates: Vec<f64> = instants
        .windows(2)
        .filter_map(|pair| {
            let [one, other] = pair else { return None };
            let cycles = other.cycles.checked_sub(one.cycles)?;
            let nanoseconds = other.monotonic.checked_sub(one.monotonic)?;
            Some(cycles as f64 / nanoseconds.max(1) as f64)
        })
        .collect();
    let text = match rates.first() {
        Some(rate) => format!("{rate:.3} GHz; the kernel's clock is {}", source.trim()),
        None => "does not run forwards".to_owned(),
    };
    let is_even = match rates.as_slice() {
        [one, other] => (one / other - 1.0).abs() < 0.01,
        _ => false,
    };
    match is_even {
        true => Finding::works(TOPIC, text),
        false => Finding::gap(
            TOPIC,
            Verdict::Partly,
            Gap::of(format!(
                "{text}; it runs unevenly, so the times of samples are not exact"
            )),
        ),
    }
}

/// The rights that explain the other findings.
fn rights(settings: &Settings) -> Finding {
    let named = [
        ("CAP_PERFMON", capability::PERFMON),
        ("CAP_SYS_PTRACE", capability::PTRACE),
        ("CAP_SYS_ADMIN", capability::ADMIN),
    ];
    let held: Vec<&str> = named
        .into_iter()
        .filter(|&(_, capability)| settings.has(capability))
        .map(|(name, _)| name)
        .collect();
    let held = match held.is_empty() {
        true => "no special capabilities".to_owned(),
        false => held.join(", "),
    };
    let set = |value: Option<i64>| value.map_or("not set".to_owned(), |value| value.to_string());
    let filter = match settings.is_filtered {
        true => "a seccomp filter is in force",
        false => "no seccomp filter",
    };
    Finding::fact(
        "rights",
        format!(
            "{held}; {filter}; kernel.perf_event_paranoid {}, kernel.yama.ptrace_scope {}",
            set(settings.paranoid),
            set(settings.scope)
        ),
    )
}
