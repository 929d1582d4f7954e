//! The memory of processes.

use profundo_model::{Gauge, Nanos, ProcessId};
use profundo_wire::recording::{self, Event, Finish, Instant, ProcessInfo, Start};

use crate::Ingest;

/// Two cycles are one nanosecond, and the recording begins at cycle 1000.
fn at(cycles: u64) -> Instant {
    Instant {
        cycles,
        monotonic: cycles / 2,
        unix: 0,
    }
}

fn look(process: u32, clock: u64, resident: u64) -> recording::Gauge {
    recording::Gauge {
        process,
        clock,
        resident,
        peak_resident: resident + 1,
        proportional: Some(resident - 1),
        anonymous: resident / 2,
        swapped: 5,
        minor_faults: 6,
        major_faults: 7,
        in_use: Some(8),
        mapped: Some(10),
        elsewhere: None,
        arenas: 9,
    }
}

#[test]
fn looks_have_their_process_and_their_time() {
    let mut ingest = Ingest::new(Start {
        started: at(1000),
        ..Start::default()
    });
    for key in [1, 2] {
        ingest.event(Event::Process(ProcessInfo {
            key,
            pid: 70 + key,
            ..ProcessInfo::default()
        }));
    }
    ingest.event(Event::Gauge(look(2, 3000, 100)));
    assert!(
        ingest.profile().heap.gauges.is_empty(),
        "nobody knows yet what a cycle is"
    );
    ingest.event(Event::Clock(at(5000)));
    assert_eq!(ingest.profile().heap.gauges.len(), 1);
    // They can be taken out as they come.
    let taken = std::mem::take(&mut ingest.profile_mut().heap.gauges);
    ingest.event(Event::Gauge(look(1, 4000, 50)));
    let profile = ingest.finish(Finish {
        ended: at(9000),
        ..Finish::default()
    });
    let expected = |process, time, resident| Gauge {
        process: ProcessId(process),
        time: Nanos(time),
        resident,
        peak_resident: resident + 1,
        proportional: Some(resident - 1),
        anonymous: resident / 2,
        swapped: 5,
        minor_faults: 6,
        major_faults: 7,
        in_use: Some(8),
        mapped: Some(10),
        elsewhere: None,
        arenas: 9,
    };
    assert_eq!(taken, [expected(1, 1000, 100)]);
    assert_eq!(profile.heap.gauges, [expected(0, 1500, 50)]);
}
