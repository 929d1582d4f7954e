//! A program that records itself where no process may be started: there is no recorder beside it.
//!
//! Its threads sample themselves by timers, into a buffer in its own memory that no other process
//! empties. What does not fit is counted as lost. Samples are taken only while a region of the
//! program is open, so the time between regions takes no room. The program has all of it written to
//! a file, which the command can read: see [`profundo_keep_1`].

use core::ffi::c_int;
use core::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use profundo_probe::shared::{
    Control, MAGIC, SessionState, engine, entry_state, record_state, ring_state, trap_state,
};
use profundo_probe::{clock, sys};

use super::own_tables;
use super::within::{no_answer, note_joined};
use super::{alone, come_in, make_ready};
use crate::home::{self, Home, home};
use crate::{hello, process, session};

/// The chunks of the buffer: 64 MiB.
const CHUNKS: usize = 1024;

/// The kinds of parts that a file has. Each has a word with its kind and one with its length in
/// bytes before it, and is filled up to whole words. Part 1 is the caller's.
mod part {
    pub const FACTS: u64 = 2;
    pub const THREAD: u64 = 3;
    pub const FILE: u64 = 4;
    pub const SAMPLES: u64 = 5;
    pub const END: u64 = 6;
}

/// True while there is such a recording, also after the agent has left the process because that
/// restricts its system calls.
static IS_THERE: AtomicBool = AtomicBool::new(false);

/// The cycle counter, the monotonic clock and the time since 1970 when it began.
static BEGAN: [AtomicU64; 3] = [const { AtomicU64::new(0) }; 3];
/// When the first of the open regions was opened: monotonic time, user time and system time.
static OPENED: [AtomicU64; 3] = [const { AtomicU64::new(0) }; 3];
/// The same of all regions until then: how long any was open, and what the process used meanwhile.
static RAN: [AtomicU64; 3] = [const { AtomicU64::new(0) }; 3];

/// Begins to record this process by itself, with so many nanoseconds between two samples. Returns
/// 0, or a negative error number. [`super::within::profundo_part_1`] ends it.
#[unsafe(no_mangle)]
pub extern "C" fn profundo_alone_1(period: u64) -> c_int {
    alone(|own| match begin(period, *own) {
        Ok(()) => 0,
        Err(error) => -error,
    })
}

/// So many regions are open. The caller has the number right at any moment: one thread at a time
/// says it.
#[unsafe(no_mangle)]
pub extern "C" fn profundo_open_1(count: u32) {
    let Some(home) = recorded() else { return };
    let open = &home.ring().header.regions.open;
    let was_open = open.load(Ordering::Relaxed) > 1;
    if count > 0 && !was_open {
        look_for_files();
        note(&OPENED, used());
    }
    open.store(count.saturating_add(1), Ordering::Relaxed);
    if count == 0 && was_open {
        note(&RAN, ran());
        note(&OPENED, [0; 3]);
    }
}

/// When the recording began, in nanoseconds since 1970.
#[unsafe(no_mangle)]
pub extern "C" fn profundo_began_1() -> u64 {
    let [_, _, unix] = &BEGAN;
    unix.load(Ordering::Relaxed)
}

/// Writes all that was recorded until now to a file. The caller has written the beginning of it.
/// Returns 0, or a negative error number.
#[unsafe(no_mangle)]
pub extern "C" fn profundo_keep_1(file: c_int) -> c_int {
    let Some(home) = home().filter(|_| IS_THERE.load(Ordering::Relaxed)) else {
        return -libc::ENOENT;
    };
    // The child of a fork has none of it.
    if home.ring().header.pid.load(Ordering::Relaxed) != process::process_id() {
        return -libc::ENOENT;
    }
    let mut out = Out { file, error: 0 };
    write_facts(home, &mut out);
    write_threads(home, &mut out);
    write_files(&mut out);
    write_samples(home, &mut out);
    out.part(part::END, &[]);
    -out.error
}

/// Lists files that were loaded meanwhile, if this process records itself.
pub fn look_for_files() {
    if IS_THERE.load(Ordering::Relaxed)
        && let Some(home) = recorded()
    {
        own_tables::publish_new(home.ring());
    }
}

/// The recording is over, and its memory is about to go.
pub fn forget() {
    IS_THERE.store(false, Ordering::Relaxed);
}

/// The home, while this process records itself.
fn recorded() -> Option<Home> {
    home().filter(|home| home.records() && IS_THERE.load(Ordering::Relaxed))
}

fn begin(period: u64, own: u64) -> Result<(), c_int> {
    let began = make_ready(own)?;
    // SAFETY: this thread alone comes in, and a session that was left has no users.
    let control = unsafe { session::begin_alone(|control| configure(control, period)) };
    let control = control.ok_or(libc::ENOMEM)?;
    let former = home().map(Home::ring_address);
    // SAFETY: what was recorded there has been left.
    let ring = unsafe { session::own_ring(former) }.ok_or(libc::ENOMEM)?;
    home::enlarge(CHUNKS);
    note(&BEGAN, instant());
    note(&OPENED, [0; 3]);
    note(&RAN, [0; 3]);
    if let Err(error) = come_in(control, ring, own, &no_answer()) {
        let over = SessionState::Over as u32;
        control.state.store(over, Ordering::Relaxed);
        return Err(error);
    }
    let home = home().ok_or(libc::ENOMEM)?;
    own_tables::publish(home.ring());
    answer(home);
    IS_THERE.store(true, Ordering::Relaxed);
    note_joined();
    hello::note_cost(began);
    Ok(())
}

/// Sets what a command would set.
fn configure(control: &Control, period: u64) {
    control.magic.store(MAGIC, Ordering::Relaxed);
    control.is_alone.store(1, Ordering::Relaxed);
    let process = process::process_id();
    control.command.store(process, Ordering::Relaxed);
    let namespace = process::pid_namespace().unwrap_or(0);
    control.namespace.store(namespace, Ordering::Relaxed);
    control.engine.store(engine::CPU_TIMER, Ordering::Relaxed);
    control.period.store(period, Ordering::Relaxed);
    control.tick.store(tick(), Ordering::Relaxed);
    // Children and other programs have no ring, and are not followed.
    control.exhausted.store(1, Ordering::Relaxed);
    if let Some(ring) = control.rings.first() {
        ring.pid.store(process, Ordering::Relaxed);
        ring.state.store(entry_state::TAKEN, Ordering::Relaxed);
    }
    let running = SessionState::Running as u32;
    control.state.store(running, Ordering::Release);
}

/// Answers the hello of this process, as a command does.
fn answer(home: Home) {
    let header = &home.ring().header;
    let signal = header.signal.load(Ordering::Relaxed);
    header.signal_heard.store(signal, Ordering::Relaxed);
    // There are no clocks but the timers, and these do not send it.
    header.trap.store(trap_state::NEVER, Ordering::Relaxed);
    header.enabled.store(1, Ordering::Relaxed);
    // Pairs with the acquire of the thread that waits for it at its first tick.
    header.state.store(ring_state::READY, Ordering::Release);
}

/// The interval of the kernel's ticks in nanoseconds; 0 if it is not known.
fn tick() -> u32 {
    let mut tick = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    let (clock, place) = (libc::CLOCK_MONOTONIC_COARSE as usize, &raw mut tick);
    // SAFETY: the kernel writes one timespec of ours.
    let done = unsafe { sys::call(libc::SYS_clock_getres, [clock, place as usize, 0, 0, 0, 0]) };
    match (done, tick.tv_sec) {
        (0, 0) => u32::try_from(tick.tv_nsec).unwrap_or(0),
        _ => 0,
    }
}

fn note(places: &[AtomicU64; 3], figures: [u64; 3]) {
    for (place, figure) in places.iter().zip(figures) {
        place.store(figure, Ordering::Relaxed);
    }
}

fn noted(places: &[AtomicU64; 3]) -> [u64; 3] {
    places.each_ref().map(|place| place.load(Ordering::Relaxed))
}

/// The same instant on three clocks.
fn instant() -> [u64; 3] {
    let before = clock::now();
    let monotonic = process::time(libc::CLOCK_MONOTONIC);
    let between = clock::now().wrapping_sub(before) / 2;
    let unix = process::time(libc::CLOCK_REALTIME);
    [before.wrapping_add(between), monotonic, unix]
}

/// The time, and what the process has used.
fn used() -> [u64; 3] {
    let usage = process::usage();
    let now = process::time(libc::CLOCK_MONOTONIC);
    [now, usage.user, usage.system]
}

/// How long any region was open until now, and what the process used meanwhile.
fn ran() -> [u64; 3] {
    let (mut ran, opened) = (noted(&RAN), noted(&OPENED));
    if opened == [0; 3] {
        return ran;
    }
    for ((sum, before), now) in ran.iter_mut().zip(opened).zip(used()) {
        *sum += now.saturating_sub(before);
    }
    ran
}

fn write_facts(home: Home, out: &mut Out) {
    let header = &home.ring().header;
    let counters = &header.counters;
    let number = |number: &AtomicU64| number.load(Ordering::Relaxed);
    let control = session::control();
    let period = control.map_or(0, |control| control.period.load(Ordering::Relaxed));
    let tick = control.map_or(0, |control| control.tick.load(Ordering::Relaxed));
    // SAFETY: the probe was made when the recording began.
    let chunks = unsafe { home.buffer() }.claims().len() as u64;
    let [began_cycles, began, began_unix] = noted(&BEGAN);
    let [now_cycles, now, now_unix] = instant();
    let [ran, user, system] = ran();
    out.part(
        part::FACTS,
        &[
            header.pid.load(Ordering::Relaxed).into(),
            header.parent.load(Ordering::Relaxed).into(),
            number(&header.started),
            period,
            tick.into(),
            header.python.load(Ordering::Relaxed).into(),
            header.python_refused.load(Ordering::Relaxed).into(),
            chunks,
            number(&counters.buffer_full),
            number(&counters.reentrant),
            number(&counters.thread_table_full),
            began_cycles,
            began,
            began_unix,
            now_cycles,
            now,
            now_unix,
            ran,
            user,
            system,
        ],
    );
}

fn write_threads(home: Home, out: &mut Out) {
    let ring = home.ring();
    let met = ring.header.met.load(Ordering::Acquire) as usize;
    for record in ring.records.iter().take(met) {
        let state = record.state.load(Ordering::Acquire);
        if state == record_state::UNUSED || state == record_state::FILLING {
            continue;
        }
        let (first_seen, last_seen) = record.seen();
        let is_alive = state == record_state::ALIVE;
        let cpu = match is_alive.then(|| process::cpu_time_of(record.tid())) {
            Some(cpu) if cpu > 0 => cpu,
            _ => record.cpu.load(Ordering::Relaxed),
        };
        let last_seen = if is_alive { clock::now() } else { last_seen };
        let name = record.name();
        let (name, _) = name.as_chunks();
        let &[first, second] = name else { continue };
        out.part(
            part::THREAD,
            &[
                record.number.load(Ordering::Relaxed).into(),
                record.tid().into(),
                u64::from_ne_bytes(first),
                u64::from_ne_bytes(second),
                first_seen,
                last_seen,
                cpu.saturating_sub(record.cpu_before.load(Ordering::Relaxed)),
                record.gil_cycles.load(Ordering::Relaxed),
                record.gil_awake.load(Ordering::Relaxed),
            ],
        );
    }
}

fn write_files(out: &mut Out) {
    /// Less than a chunk of words; a longer path is cut.
    const LONGEST: usize = 4096;
    // SAFETY: takes a number.
    let vdso = unsafe { libc::getauxval(libc::AT_SYSINFO_EHDR) };
    own_tables::each(|file| {
        let Some((start, end)) = file.extent() else {
            return;
        };
        let name = match start == vdso {
            true => &b"[vdso]"[..],
            false => file.name(),
        };
        let name = name.get(..name.len().min(LONGEST)).unwrap_or_default();
        let id = file.build_id();
        let head = [start, end, file.bias(), name.len() as u64, id.len() as u64];
        let bytes = size_of_val(&head) + name.len() + id.len();
        out.words(&[part::FILE, bytes as u64]);
        out.words(&head);
        out.bytes(name);
        out.bytes(id);
        let rest = bytes.next_multiple_of(8) - bytes;
        out.bytes([0; 8].get(..rest).unwrap_or_default());
    });
}

fn write_samples(home: Home, out: &mut Out) {
    /// A thread of the program writes one sample, unless it waits for a CPU meanwhile.
    const TURNS: usize = 1000;
    // SAFETY: the probe was made when the recording began.
    let buffer = unsafe { home.buffer() };
    for chunk in 0..buffer.claims().touched() {
        for _ in 0..TURNS {
            let read = buffer.read_chunk(chunk, |words| {
                if !words.is_empty() {
                    out.part(part::SAMPLES, words);
                }
            });
            if read.is_some() {
                break;
            }
            sys::let_others_run();
        }
    }
}

/// A file that is written.
struct Out {
    file: c_int,
    /// The first error of the system; 0: none.
    error: c_int,
}

impl Out {
    fn part(&mut self, kind: u64, words: &[u64]) {
        self.words(&[kind, size_of_val(words) as u64]);
        self.words(words);
    }

    fn words(&mut self, words: &[u64]) {
        // SAFETY: any words are bytes.
        let bytes =
            unsafe { core::slice::from_raw_parts(words.as_ptr().cast::<u8>(), size_of_val(words)) };
        self.bytes(bytes);
    }

    fn bytes(&mut self, mut bytes: &[u8]) {
        while self.error == 0 && !bytes.is_empty() {
            let (file, place) = (self.file as usize, bytes.as_ptr() as usize);
            // SAFETY: the kernel reads these bytes.
            let written =
                unsafe { sys::call(libc::SYS_write, [file, place, bytes.len(), 0, 0, 0]) };
            match usize::try_from(written) {
                Ok(written) if written > 0 => bytes = bytes.get(written..).unwrap_or_default(),
                _ if written == -(libc::EINTR as isize) => {}
                _ => {
                    self.error = if written == 0 {
                        libc::EIO
                    } else {
                        -written as c_int
                    }
                }
            }
        }
    }
}
