//! Recovers the rings of a session whose command was killed.

use std::path::Path;
use std::sync::atomic::Ordering;

use profundo_linux::clock::Scale;
use profundo_linux::map::SharedMap;
use profundo_linux::proc;
use profundo_probe::shared::{CHUNKS, SessionState, entry_state, file, ring_state};
use profundo_wire::recording::{Event, HowEnded, ProcessEnd, ProcessInfo, ThreadInfo};

use super::directory::{Keys, open_control};
use super::files::{KEYS, remove};
use super::rings::RingMap;
use super::sums::SumsMap;
use crate::error::Error;

/// Emits what the killed command had not emitted, then removes the session. Keys are those of the
/// recording that the command was writing; programs without one get a new key. Each program's
/// `Process` event comes first.
pub fn salvage(directory: &Path, sink: &mut dyn FnMut(Event<'_>)) -> Result<(), Error> {
    let nothing = |_| Error::NoSession(directory.to_owned());
    let (control_file, control_map) = open_control(directory).map_err(nothing)?;
    // Held to the end, so that a command that begins meanwhile does not remove the session.
    if control_file.try_lock().is_err() {
        return Err(Error::StillRecording(directory.to_owned()));
    }
    // SAFETY: it is made of atomics.
    let control: &profundo_probe::shared::Control = unsafe { control_map.as_ref() };
    // Agents that still run stop.
    control
        .state
        .store(SessionState::Over as u32, Ordering::Relaxed);
    let keys = std::fs::OpenOptions::new()
        .read(true)
        .write(true)
        .open(directory.join(KEYS))
        .and_then(|keys| SharedMap::new(&keys, size_of::<Keys>()))
        .map_err(nothing)?;
    // SAFETY: it is made of atomics.
    let keys: &Keys = unsafe { keys.as_ref() };
    let mut next = keys.0.iter().map(|key| key.load(Ordering::Relaxed)).max();
    for (index, (entry, key)) in control.rings.iter().zip(&keys.0).enumerate() {
        if entry.state.load(Ordering::Acquire) != entry_state::TAKEN {
            continue;
        }
        let path = directory.join(format!("{}{index}", file::RING));
        let Ok(map) = RingMap::open(&path) else {
            continue;
        };
        let known = key.load(Ordering::Relaxed);
        let header = &map.ring().header;
        if known == 0 && header.state.load(Ordering::Acquire) == ring_state::BLANK {
            continue;
        }
        let key = if known != 0 {
            known
        } else {
            let key = next.unwrap_or(0) + 1;
            next = Some(key);
            key
        };
        // Emitted again, for readers that know the program only by its process id.
        let pid = header.pid.load(Ordering::Relaxed);
        sink(Event::Process(ProcessInfo {
            key,
            pid,
            command: proc::command_line(pid),
            started: header.started.load(Ordering::Relaxed),
            ..ProcessInfo::default()
        }));
        salvage_ring(&map, key, sink);
        salvage_sums(directory, index, key, sink);
        let counted = super::take_calls(directory, index);
        for calls in counted.interpreter.into_iter().chain(counted.native) {
            sink(Event::Calls {
                process: key,
                calls,
            });
        }
    }
    remove(directory);
    Ok(())
}

/// Emits the counts of a process until now, or until its end. The words that define their numbers
/// were emitted before.
fn salvage_sums(directory: &Path, ring: usize, process: u32, sink: &mut dyn FnMut(Event<'_>)) {
    let clock = profundo_probe::clock::now();
    let mut sums = SumsMap::open(directory, ring);
    let mut words = Vec::new();
    if let Some(sums) = &mut sums {
        let mut are_more = true;
        while are_more {
            words.clear();
            are_more = sums.new_stacks(&mut words);
            let words = &words;
            sink(Event::Words { process, words });
        }
    }
    if let Some((sites, peak)) = sums.as_mut().and_then(|sums| sums.news(true, clock)) {
        sink(Event::Sites {
            process,
            clock,
            sites,
            peak,
        });
    }
}

fn salvage_ring(map: &RingMap, process: u32, sink: &mut dyn FnMut(Event<'_>)) {
    let mut words = Vec::new();
    for chunk in 0..CHUNKS {
        words.clear();
        if map.take_last(chunk, &mut words) {
            let words = &words;
            sink(Event::Words { process, words });
        }
    }
    let header = &map.ring().header;
    let ends = &header.ends;
    let known = ends.known.load(Ordering::Acquire) != 0;
    let time = |time: &std::sync::atomic::AtomicU64| known.then(|| time.load(Ordering::Relaxed));
    let code = header.exit_code.load(Ordering::Relaxed);
    let how = if known && code >= 0 {
        HowEnded::Exited((code & 0xFF) as u8)
    } else {
        HowEnded::Unknown
    };
    let scale = Scale::begin();
    let mut last = 0;
    for (index, record) in (0..map.met()).filter_map(|index| Some((index, map.record(index)?))) {
        let (first_seen, last_seen) = record.seen();
        last = last.max(last_seen);
        let name = record.name();
        let length = name
            .iter()
            .position(|&byte| byte == 0)
            .unwrap_or(name.len());
        let name = String::from_utf8_lossy(name.get(..length).unwrap_or_default());
        let cpu = record.cpu.load(Ordering::Relaxed);
        let thread = ThreadInfo {
            number: index as u32 + 1,
            tid: record.tid(),
            name: name.into_owned(),
            alive: scale.nanoseconds(last_seen.saturating_sub(first_seen)),
            cpu: cpu.saturating_sub(record.cpu_before.load(Ordering::Relaxed)),
        };
        let gil_wait = record.gil_wait(|cycles| scale.nanoseconds(cycles));
        sink(Event::Thread {
            process,
            thread,
            gil_wait,
        });
    }
    sink(Event::Ended(ProcessEnd {
        process,
        ended: last,
        user: time(&ends.user),
        system: time(&ends.system),
        how,
    }));
}
