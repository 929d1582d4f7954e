//! A miniature of the command: it makes a session, launches a program with the agent, and does what
//! the agent expects of a recorder.

use std::collections::HashMap;
use std::fs::{self, File};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, OnceLock};
use std::thread;
use std::time::{Duration, Instant};

use profundo_probe::shared::{
    Control, MAGIC, MAX_RINGS, Ring, SESSION_VARIABLE, SessionState, TABLE_BYTES, entry_state,
    file, record_state, ring_state,
};
use profundo_probe::sys;
use profundo_probe::{Buffer, pace};
use profundo_wire::{Reader, Record, State};

use crate::clock;

/// The settings of a session.
#[derive(Debug, Clone, Copy)]
pub struct Options {
    /// Nanoseconds between samples; 0 to take none.
    pub period: u64,
    /// Timers of the agent's instead of clocks of the recorder's.
    pub timers: bool,
    pub follow: bool,
    pub rings: usize,
    /// True if records of ended threads may be used again.
    pub reuse: bool,
}

/// An agent that samples nothing.
pub const NO_SAMPLES: Options = Options {
    period: 0,
    timers: false,
    follow: true,
    rings: 48,
    reuse: true,
};

/// Not in step with the kernel's own tick, which would find the kernel at work each time.
const PERIOD: u64 = 983_000;

/// An agent that samples a thousand times a second.
pub const SAMPLING: Options = Options {
    period: PERIOD,
    ..NO_SAMPLES
};

/// A program that was seen.
#[derive(Debug, Clone, Default)]
pub struct Seen {
    /// The start, by the cycle counter.
    pub started: u64,
    pub kind: u32,
    pub ring: usize,
    pub parent_ring: u32,
    /// The name that the kernel has for it, when it said hello.
    pub command: String,
    /// Threads: number, id, name at the end, and what they used; `None`: they have not said so.
    pub threads: HashMap<u32, (u32, String, Option<u64>)>,
    pub lock_wait: u64,
    pub ends: Option<(u64, u64)>,
    pub exit_code: i32,
    pub python: u32,
    pub python_refused: u32,
    pub samples: u64,
    pub python_samples: u64,
    pub system_samples: u64,
    /// The weight of all samples by thread, in nanoseconds.
    pub weight: HashMap<u32, u64>,
    pub codes: u64,
    pub unreadable: u64,
    /// The number of times that silence was requested and granted.
    pub silences: u32,
    pub full: u64,
    /// The cost of a handler in cycles.
    pub cost: u64,
}

struct Session {
    directory: PathBuf,
    control: &'static Control,
    rings: Vec<&'static Ring>,
    files: Vec<File>,
    options: Options,
    stop: AtomicBool,
}

/// The result of a program, and what the recorder saw of it.
pub struct Run {
    pub output: Output,
    pub seen: Vec<Seen>,
    pub starved: u32,
}

/// The agent, which is built beside the tests.
pub fn agent() -> PathBuf {
    let tests = std::env::current_exe().unwrap();
    let agent = tests.with_file_name("libprofundo_agent.so");
    assert!(agent.exists(), "{} is not built", agent.display());
    agent
}

fn map(file: &File, bytes: usize) -> *mut u8 {
    // SAFETY: a new mapping of a file that is as long.
    let memory = unsafe {
        libc::mmap(
            std::ptr::null_mut(),
            bytes,
            libc::PROT_READ | libc::PROT_WRITE,
            libc::MAP_SHARED,
            file.as_raw_fd(),
            0,
        )
    };
    assert_ne!(memory, libc::MAP_FAILED);
    memory.cast()
}

fn create(path: &Path, bytes: usize) -> File {
    let file = File::options()
        .read(true)
        .write(true)
        .create_new(true)
        .open(path)
        .unwrap();
    file.set_len(bytes as u64).unwrap();
    file
}

impl Session {
    fn new(options: Options) -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!("profundo-agent-{}-{number}", std::process::id());
        let directory = Path::new("/dev/shm").join(name);
        let _ = fs::remove_dir_all(&directory);
        fs::create_dir(&directory).unwrap();
        let control_file = create(&directory.join(file::CONTROL), size_of::<Control>());
        create(&directory.join(file::TABLES), TABLE_BYTES);
        // SAFETY: the mapping is as long as a control, which is valid when zero, and stays.
        let control = unsafe { &*map(&control_file, size_of::<Control>()).cast::<Control>() };
        let mut files = Vec::new();
        let mut rings: Vec<&'static Ring> = Vec::new();
        for number in 0..options.rings.min(MAX_RINGS) {
            let ring = create(
                &directory.join(format!("{}{number}", file::RING)),
                Ring::BYTES,
            );
            // SAFETY: as above.
            rings.push(unsafe { &*map(&ring, Ring::BYTES).cast::<Ring>() });
            files.push(ring);
            control.rings[number]
                .state
                .store(entry_state::FREE, Ordering::Release);
        }
        control.command.store(std::process::id(), Ordering::Relaxed);
        control
            .follow
            .store(options.follow.into(), Ordering::Relaxed);
        control
            .engine
            .store(options.timers.into(), Ordering::Relaxed);
        control
            .period
            .store(options.period.max(PERIOD), Ordering::Relaxed);
        if options.period != 0 {
            control.system_period.store(10_000_000, Ordering::Relaxed);
        }
        control
            .state
            .store(SessionState::Running as u32, Ordering::Relaxed);
        control.magic.store(MAGIC, Ordering::Release);
        Self {
            directory,
            control,
            rings,
            files,
            options,
            stop: AtomicBool::new(false),
        }
    }

    /// Serves the agents until it is stopped; returns what it saw.
    fn serve(&self) -> Vec<Seen> {
        let mut programs: Vec<Option<Attended>> = (0..self.rings.len()).map(|_| None).collect();
        let mut done = Vec::new();
        loop {
            let last = self.stop.load(Ordering::Relaxed);
            self.control.waiting_since.store(0, Ordering::Relaxed);
            let bell = self.control.doorbell.load(Ordering::Acquire);
            for (number, ring) in self.rings.iter().enumerate() {
                let entry = &self.control.rings[number];
                if entry.state.load(Ordering::Acquire) != entry_state::TAKEN {
                    continue;
                }
                let pid = ring.header.pid.load(Ordering::Relaxed);
                // Asked before the ring is read: what a dead process wrote is all there.
                let has_ended = pid != 0 && !is_alive(pid);
                let state = ring.header.state.load(Ordering::Acquire);
                if state == ring_state::HELLO && programs[number].is_none() {
                    programs[number] = Some(Attended::new(number, ring));
                    ring.header.enabled.store(1, Ordering::Relaxed);
                    // The clock of the main thread first, so that nothing of it is missed.
                    if let Some(program) = &mut programs[number] {
                        program.read_ring(ring, self.options);
                    }
                    ring.header
                        .state
                        .store(ring_state::READY, Ordering::Release);
                    sys::futex_wake(&ring.header.state);
                }
                if let Some(program) = &mut programs[number] {
                    program.read_ring(ring, self.options);
                    if has_ended {
                        program.read_ring(ring, self.options);
                        done.push(programs[number].take().unwrap().finish(ring));
                        self.free(number);
                    }
                } else if has_ended {
                    self.free(number);
                }
            }
            if last {
                break;
            }
            sys::futex_wait(&self.control.doorbell, bell, 10_000_000);
        }
        for (number, program) in programs.into_iter().enumerate() {
            if let Some(program) = program {
                done.push(program.finish(self.rings[number]));
            }
        }
        done.sort_by_key(|seen: &Seen| seen.started);
        done
    }

    /// Zeroes a ring and frees it.
    fn free(&self, number: usize) {
        let how = libc::FALLOC_FL_PUNCH_HOLE | libc::FALLOC_FL_KEEP_SIZE;
        // SAFETY: the file is ours, and so is the mapping.
        let result =
            unsafe { libc::fallocate(self.files[number].as_raw_fd(), how, 0, Ring::BYTES as i64) };
        assert_eq!(result, 0);
        let entry = &self.control.rings[number];
        entry.pid.store(0, Ordering::Relaxed);
        entry.state.store(entry_state::FREE, Ordering::Release);
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        self.control
            .state
            .store(SessionState::Over as u32, Ordering::Relaxed);
        let _ = fs::remove_dir_all(&self.directory);
    }
}

fn is_alive(pid: u32) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    match stat.rsplit_once(") ") {
        Some((_, rest)) => !rest.starts_with('Z') && !rest.starts_with('X'),
        None => false,
    }
}

struct Attended {
    seen: Seen,
    clocks: HashMap<u32, OwnedFd>,
    /// True if the clocks stand still because a thread is about to execute another program.
    is_silent: bool,
    buffer: Buffer,
}

impl Attended {
    fn new(number: usize, ring: &'static Ring) -> Self {
        let header = &ring.header;
        let pid = header.pid.load(Ordering::Relaxed);
        let command = fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
        let words = std::ptr::from_ref(ring)
            .cast::<u8>()
            .wrapping_add(Ring::WORDS_AT)
            .cast::<u64>()
            .cast_mut();
        Self {
            seen: Seen {
                started: header.started.load(Ordering::Relaxed),
                kind: header.kind.load(Ordering::Relaxed),
                ring: number,
                parent_ring: header.parent_ring.load(Ordering::Relaxed),
                command: command.trim().to_owned(),
                ..Seen::default()
            },
            clocks: HashMap::new(),
            is_silent: false,
            // SAFETY: the words follow the ring in its mapping.
            buffer: unsafe { Buffer::new(words, &ring.chunks, u64::MAX, false, 1) },
        }
    }

    /// Reads threads that came and went, and the chunks.
    fn read_ring(&mut self, ring: &'static Ring, options: Options) {
        let met = ring.header.met.load(Ordering::Relaxed) as usize;
        for record in &ring.records[..met] {
            let state = record.state.load(Ordering::Acquire);
            if state != record_state::ALIVE && state != record_state::ENDED {
                continue;
            }
            let number = record.number.load(Ordering::Relaxed);
            let name = record.name();
            let end = name.iter().position(|&byte| byte == 0).unwrap_or(16);
            let name = String::from_utf8_lossy(&name[..end]).into_owned();
            let has_ended = state == record_state::ENDED;
            let cpu = has_ended.then(|| record.cpu.load(Ordering::Relaxed));
            self.seen.threads.insert(number, (record.tid(), name, cpu));
            if has_ended {
                self.seen.lock_wait += record.gil_wait(nanoseconds);
                record.gil_cycles.store(0, Ordering::Relaxed);
                self.clocks.remove(&number);
                if options.reuse {
                    record.state.store(record_state::READ, Ordering::Release);
                }
                continue;
            }
            let wants_clock = options.period != 0 && !options.timers;
            if wants_clock
                && !self.clocks.contains_key(&number)
                && let Ok(clock) = clock::open(record.tid(), options.period)
            {
                let file = clock.as_raw_fd() as u32;
                record.pace.store(pace::CLOCK, Ordering::Relaxed);
                record.clock.store(file + 1, Ordering::Release);
                if !self.is_silent {
                    clock::enable(&clock);
                }
                self.clocks.insert(number, clock);
            }
        }
        self.follow_silence(ring);
        for index in 0..ring.chunks.len() {
            let words = self.buffer.drain_chunk(index, <[u64]>::to_vec);
            self.read(&words.unwrap_or_default());
        }
    }

    /// Stops the clocks where a thread asks for it, acknowledges, and lets them go on when none
    /// does.
    fn follow_silence(&mut self, ring: &Ring) {
        let silence = &ring.header.silence;
        let asked = silence.asked.load(Ordering::Acquire);
        let is_wanted = silence.wanted.load(Ordering::Acquire) != 0;
        if is_wanted != self.is_silent {
            self.is_silent = is_wanted;
            let set = if is_wanted {
                clock::disable
            } else {
                clock::enable
            };
            self.clocks.values().for_each(set);
        }
        if is_wanted && silence.heard.load(Ordering::Relaxed) != asked {
            silence.heard.store(asked, Ordering::Release);
            sys::futex_wake(&silence.heard);
        }
    }

    fn read(&mut self, words: &[u64]) {
        for record in Reader::new(words) {
            match record {
                Ok(Record::Sample { head, python, .. }) => {
                    self.seen.samples += 1;
                    self.seen.python_samples += u64::from(!python.is_empty());
                    self.seen.system_samples += u64::from(head.state == State::System);
                    *self.seen.weight.entry(head.thread).or_default() += head.weight;
                }
                Ok(Record::Code(_)) => self.seen.codes += 1,
                // The rest is for ingest, which has tests of its own.
                Ok(_) => {}
                Err(_) => self.seen.unreadable += 1,
            }
        }
    }

    fn finish(self, ring: &'static Ring) -> Seen {
        let mut seen = self.seen;
        let header = &ring.header;
        let met = header.met.load(Ordering::Relaxed) as usize;
        for record in &ring.records[..met] {
            seen.lock_wait += record.gil_wait(nanoseconds);
        }
        if header.ends.known.load(Ordering::Acquire) == 1 {
            let user = header.ends.user.load(Ordering::Relaxed);
            seen.ends = Some((user, header.ends.system.load(Ordering::Relaxed)));
        }
        seen.silences = header.silence.heard.load(Ordering::Relaxed);
        seen.exit_code = header.exit_code.load(Ordering::Relaxed);
        seen.python = header.python.load(Ordering::Relaxed);
        seen.python_refused = header.python_refused.load(Ordering::Relaxed);
        let handled = header.counters.handled.load(Ordering::Relaxed);
        seen.cost = header.counters.cycles.load(Ordering::Relaxed) / handled.max(1);
        seen.full = header.counters.buffer_full.load(Ordering::Relaxed);
        seen
    }
}

/// Runs a program with the agent.
pub fn run(options: Options, command: &mut Command) -> Run {
    let session = Arc::new(Session::new(options));
    let server = {
        let session = session.clone();
        thread::spawn(move || session.serve())
    };
    command.env("LD_PRELOAD", agent());
    command.env(SESSION_VARIABLE, &session.directory);
    let output = command.output().unwrap();
    // Processes that the program has left behind go on for a moment: their end is not reported.
    thread::sleep(std::time::Duration::from_millis(30));
    session.stop.store(true, Ordering::Relaxed);
    let seen = server.join().unwrap();
    let starved = session.control.starved.load(Ordering::Relaxed);
    Run {
        output,
        seen,
        starved,
    }
}

/// A copy of the command, to be run once more.
pub fn copy_of(command: &Command) -> Command {
    let mut copy = Command::new(command.get_program());
    copy.args(command.get_args());
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => copy.env(name, value),
            None => copy.env_remove(name),
        };
    }
    if let Some(directory) = command.get_current_dir() {
        copy.current_dir(directory);
    }
    copy
}

/// Runs a program without and with the agent, and asserts that nothing differs.
pub fn compare(options: Options, command: &mut Command) -> Run {
    let expected = copy_of(command).output().unwrap();
    let run = run(options, command);
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let name = format!("{command:?}");
    assert_eq!(
        text(&run.output.stdout),
        text(&expected.stdout),
        "stdout of {name}; stderr: {}",
        text(&run.output.stderr)
    );
    assert_eq!(
        text(&run.output.stderr),
        text(&expected.stderr),
        "stderr of {name}"
    );
    assert_eq!(
        (run.output.status.code(), run.output.status.signal()),
        (expected.status.code(), expected.status.signal()),
        "status of {name}"
    );
    run
}

impl Run {
    /// The number of programs that were seen to begin by an `exec`, and by a fork.
    pub fn kinds(&self) -> (usize, usize) {
        let count = |kind| self.seen.iter().filter(|seen| seen.kind == kind).count();
        (count(1), count(2))
    }

    /// The first program.
    pub fn first(&self) -> &Seen {
        self.seen.first().expect("no program said hello")
    }

    /// The text that was written to stdout.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.output.stdout).into_owned()
    }
}

/// Converts cycles to nanoseconds.
fn nanoseconds(cycles: u64) -> u64 {
    static RATE: OnceLock<f64> = OnceLock::new();
    let rate = RATE.get_or_init(|| {
        let (began, first) = (Instant::now(), profundo_probe::clock::now());
        thread::sleep(Duration::from_millis(5));
        let cycles = profundo_probe::clock::now().wrapping_sub(first);
        began.elapsed().as_nanos() as f64 / cycles as f64
    });
    (cycles as f64 * rate) as u64
}
