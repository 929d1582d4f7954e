//! The protocol, with a target without an agent: this test program, run once more.

use std::fs::OpenOptions;
use std::os::fd::AsRawFd;
use std::path::Path;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use profundo_probe::claims::Claims;
use profundo_probe::pace;
use profundo_probe::shared::{
    Control, Header, MAGIC, Ring, SESSION_VARIABLE, TABLE_BYTES, entry_state, ring_state,
    start_kind,
};
use profundo_probe::slot::Slot;
use profundo_probe::threads::{ThreadRecord, Threads};
use profundo_recorder::{Options, Recorder};
use profundo_testing::wait_until;
use profundo_unwind::{Module, Modules};
use profundo_wire::recording::HowEnded;
use profundo_wire::{End, Gil, PythonEnd, SAMPLE_HEAD_WORDS, SampleHead, State};

use crate::launch::{Recorded, Scratch, run_with};

fn map(path: &Path, bytes: usize) -> *mut u8 {
    let file = OpenOptions::new()
        .read(true)
        .write(true)
        .open(path)
        .unwrap();
    let protection = libc::PROT_READ | libc::PROT_WRITE;
    // SAFETY: a new mapping of a file that is as long.
    let start = unsafe {
        let null = std::ptr::null_mut();
        libc::mmap(
            null,
            bytes,
            protection,
            libc::MAP_SHARED,
            file.as_raw_fd(),
            0,
        )
    };
    assert_ne!(start, libc::MAP_FAILED);
    start.cast()
}

fn bell(control: &Control) {
    control.doorbell.fetch_add(1, Ordering::Release);
    // SAFETY: the word lies in a mapping of ours.
    unsafe {
        libc::syscall(
            libc::SYS_futex,
            control.doorbell.as_ptr(),
            libc::FUTEX_WAKE,
            9,
        )
    };
}

/// The task of the fake target, from its environment.
const WHAT: &str = "PROFUNDO_FAKE";

/// The file for the microseconds that it waited for its answer.
const WAITED: &str = "PROFUNDO_FAKE_WAITED";

/// Not a test, but the program that is started below.
#[test]
fn target() {
    let (Some(session), Some(what)) = (std::env::var_os(SESSION_VARIABLE), std::env::var_os(WHAT))
    else {
        return;
    };
    let directory = Path::new(&session);
    // SAFETY: the files are as long as these, and made of atomics.
    let (control, ring) = unsafe {
        let control: &'static Control =
            &*map(&directory.join("control"), size_of::<Control>()).cast();
        assert_eq!(control.magic.load(Ordering::Relaxed), MAGIC);
        let free = |entry: &profundo_probe::shared::RingEntry| {
            entry.state.compare_exchange(
                entry_state::FREE,
                entry_state::TAKEN,
                Ordering::AcqRel,
                Ordering::Relaxed,
            )
        };
        let index = control
            .rings
            .iter()
            .position(|entry| free(entry).is_ok())
            .unwrap();
        control.rings[index]
            .pid
            .store(std::process::id(), Ordering::Relaxed);
        if what == "silent" {
            return;
        }
        let ring = map(&directory.join(format!("ring.{index}")), Ring::BYTES);
        (control, &*ring.cast::<Ring>())
    };
    let header = &ring.header;
    assert_eq!(header.magic.load(Ordering::Relaxed), MAGIC);
    header.kind.store(start_kind::EXEC, Ordering::Relaxed);
    header.pid.store(std::process::id(), Ordering::Relaxed);
    header
        .parent
        .store(std::os::unix::process::parent_id(), Ordering::Relaxed);
    header
        .started
        .store(profundo_probe::clock::now(), Ordering::Relaxed);
    let tables = map(&directory.join("tables"), TABLE_BYTES);
    header.tables.store(tables as u64, Ordering::Relaxed);
    header
        .table_bytes
        .store(TABLE_BYTES as u64, Ordering::Relaxed);
    header
        .python
        .store(3 << 16 | 12 << 8 | 1, Ordering::Relaxed);
    let threads = enter_main_thread(ring);
    header.state.store(ring_state::HELLO, Ordering::Release);
    let asked = Instant::now();
    bell(control);
    while header.state.load(Ordering::Acquire) == ring_state::HELLO {
        assert!(asked.elapsed() < Duration::from_secs(5), "nobody answers");
        std::hint::spin_loop();
    }
    let waited = asked.elapsed();
    std::fs::write(
        std::env::var_os(WAITED).unwrap(),
        waited.as_micros().to_string(),
    )
    .unwrap();
    assert_eq!(header.state.load(Ordering::Acquire), ring_state::READY);
    assert_eq!(header.enabled.load(Ordering::Relaxed), 1);
    // A recorder that is to be killed does nothing more.
    if what != "killed" {
        ask_for_clock(control, header, threads.record(1).unwrap());
    }
    check_listing(ring);
    write_samples(ring, 1000);
    if what == "killed" {
        // SAFETY: our own end.
        unsafe { libc::kill(libc::getpid(), libc::SIGKILL) };
    }
    header.ends.user.store(123_456_789, Ordering::Relaxed);
    header.exit_code.store(0, Ordering::Relaxed);
    header.ends.known.store(1, Ordering::Release);
    // SAFETY: nothing of the test harness's is to come after this.
    unsafe { libc::_exit(0) };
}

/// Asks for a task clock, as a thread does that has run for a while, and waits for it. There is
/// none before.
fn ask_for_clock(control: &Control, header: &Header, record: &ThreadRecord) {
    let has_clock = || record.clock.load(Ordering::Acquire) != 0;
    assert!(!has_clock());
    record.pace.store(pace::CLOCK, Ordering::Relaxed);
    header.paced.store(1, Ordering::Release);
    header.news.store(1, Ordering::Release);
    bell(control);
    wait_until("a clock", has_clock);
}

fn enter_main_thread(ring: &'static Ring) -> Threads {
    let slots: &'static [Slot] = {
        let bytes = 128 * size_of::<Slot>();
        let layout = std::alloc::Layout::from_size_align(bytes, 128).unwrap();
        // SAFETY: all zero is a free slot.
        unsafe { std::slice::from_raw_parts(std::alloc::alloc_zeroed(layout).cast(), 128) }
    };
    let records: &'static [ThreadRecord] = &ring.records;
    let threads = Threads::new(slots, records);
    threads.enter(profundo_probe::sys::thread_id(), 1).unwrap();
    ring.header.met.store(1, Ordering::Release);
    threads
}

/// The published list leads from this function to its rows.
fn check_listing(ring: &Ring) {
    let listings = &ring.listings;
    let active = listings.active.load(Ordering::SeqCst) as usize;
    let count = listings.count[active].load(Ordering::Relaxed) as usize;
    assert_ne!(listings.generation[active].load(Ordering::Relaxed), 0);
    // SAFETY: the layouts are equal, and the tables are mapped here.
    let modules: Vec<Module<'_>> = listings.modules[active][..count]
        .iter()
        .map(|slot| unsafe { std::mem::transmute(*slot.get()) })
        .collect();
    let here = check_listing as fn(&Ring) as usize as u64;
    Modules::new(&modules).row(here).expect("our own code");
    let libc = libc::getpid as unsafe extern "C" fn() -> i32 as usize as u64;
    Modules::new(&modules).find(libc).expect("the C library");
}

fn write_samples(ring: &Ring, count: u64) {
    let claims = Claims::new(&ring.chunks, true);
    let words = std::ptr::from_ref(ring)
        .cast::<u8>()
        .wrapping_add(Ring::WORDS_AT);
    let mut claim = claims.acquire().unwrap();
    for number in 0..count {
        let used = match claims.resume(claim) {
            Some(used) if used < 8000 => used,
            Some(used) => {
                claims.release(claim, used, 0);
                claim = claims.acquire().unwrap();
                0
            }
            None => {
                claim = claims.acquire().unwrap();
                0
            }
        };
        let here = write_samples as fn(&Ring, u64) as usize as u64;
        let head = SampleHead {
            state: State::Running,
            end: End::Root,
            frames: 1,
            python: 0,
            python_end: PythonEnd::Whole,
            gil: Gil::None,
            clock: profundo_probe::clock::now(),
            weight: number + 1,
            task: 0,
            thread: 1,
            tid: std::process::id(),
            span: 0,
        };
        let at = claim.chunk as usize * profundo_probe::buffer::CHUNK_WORDS + used as usize;
        for (offset, word) in head.to_words().into_iter().chain([here]).enumerate() {
            // SAFETY: the chunk is ours, and has room for it.
            unsafe { words.cast::<u64>().cast_mut().add(at + offset).write(word) };
        }
        let written = SAMPLE_HEAD_WORDS as u32 + 1;
        claims.release(claim, used + written, 1);
        ring.header.counters.taken.fetch_add(1, Ordering::Relaxed);
        ring.header.counters.handled.fetch_add(1, Ordering::Relaxed);
        std::thread::sleep(Duration::from_micros(100));
    }
}

fn run(what: &str, scratch: &Scratch) -> Recorded {
    let exe = std::env::current_exe().unwrap();
    let options = Options {
        // Loaded into nothing: it is no library. The loader says so and goes on.
        agent: Some("libm.so.6".into()),
        ..scratch.options()
    };
    let command = [exe.to_str().unwrap(), "fake::target", "--exact", "-q"];
    let waited = scratch.path().join("waited");
    let environment = [(WHAT, what), (WAITED, waited.to_str().unwrap())];
    run_with(options, &command, &environment, |_: &mut Recorder, _| {})
}

#[test]
fn a_target_is_answered_drained_and_taken_leave_of() {
    let scratch = Scratch::new("fake");
    let waited = || -> u64 {
        let text = std::fs::read_to_string(scratch.path().join("waited")).unwrap();
        text.parse().unwrap()
    };
    // Once to fill the cache of tables, then with the cache.
    run("cold", &scratch);
    let recorded = run("warm", &scratch);
    assert_eq!(recorded.processes.len(), 1, "{:?}", recorded.processes);
    let weights: Vec<u64> = recorded
        .samples
        .iter()
        .map(|sample| sample.weight)
        .collect();
    assert_eq!(weights, (1..=1000).collect::<Vec<u64>>());
    assert!((recorded.share_in_modules() - 1.0).abs() < 1e-9);
    let end = recorded.end_of(recorded.processes[0].key);
    assert_eq!(end.how, HowEnded::Exited(0));
    // The time before its exec is the recorder's own, in ticks of 10 ms.
    let user = end.user.unwrap();
    assert!((63_456_789..=123_456_789).contains(&user), "{user} ns");
    assert!(
        !recorded.processes[0]
            .environment
            .contains(&SESSION_VARIABLE.to_owned())
    );
    assert!(recorded.processes[0].environment.contains(&WHAT.to_owned()));
    let thread = &recorded.threads[&(recorded.processes[0].key, 1)];
    assert!(thread.tid >= recorded.processes[0].pid);
    // The least of a few: the machine may be busy.
    let mut least = waited();
    for _ in 0..4 {
        if least < 20_000 {
            break;
        }
        run("warm", &scratch);
        least = least.min(waited());
    }
    assert!(least < 20_000, "it waited {least} us");
}

#[test]
fn what_a_killed_target_had_written_is_not_lost() {
    let scratch = Scratch::new("killed");
    let recorded = run("killed", &scratch);
    assert_eq!(recorded.samples.len(), 1000);
    let end = recorded.end_of(recorded.processes[0].key);
    assert_eq!(end.how, HowEnded::Killed(libc::SIGKILL as u8));
}

#[test]
fn a_ring_whose_process_never_said_hello_is_reused() {
    let scratch = Scratch::new("silent");
    let recorded = run("silent", &scratch);
    assert!(recorded.samples.is_empty());
}
