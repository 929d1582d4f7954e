//! The counters that were read of processes and threads, from the cycle counter's time to the
//! recording's.

use profundo_model::{
    Bytes, Gauge, ProcessId, Profile, StackId, StringId, SyscallCount, ThreadId, Traffic,
};
use profundo_wire::{SampleHead, SyscallsHead, recording};

use crate::clock::Clock;

/// The memory of processes, and the traffic and the system calls of threads, held back until the
/// clock is known.
#[derive(Debug, Default)]
pub(crate) struct Readings {
    gauges: Vec<(ProcessId, recording::Gauge)>,
    traffic: Vec<(ThreadId, profundo_wire::Traffic)>,
    syscalls: Vec<(ThreadId, StringId, SyscallsHead)>,
    /// Some of the calls, with their stacks.
    sampled_calls: Vec<(ThreadId, StackId, SampleHead)>,
}

impl Readings {
    /// Adds the memory of a process.
    pub(crate) fn add_gauge(&mut self, process: ProcessId, gauge: recording::Gauge) {
        self.gauges.push((process, gauge));
    }

    /// Adds the traffic of a thread.
    pub(crate) fn add_traffic(&mut self, thread: ThreadId, traffic: profundo_wire::Traffic) {
        self.traffic.push((thread, traffic));
    }

    /// Adds the number of calls of one kind by a thread.
    pub(crate) fn add_syscalls(&mut self, thread: ThreadId, call: StringId, head: SyscallsHead) {
        self.syscalls.push((thread, call, head));
    }

    /// Adds a call of a thread that was sampled.
    pub(crate) fn add_sampled_call(&mut self, thread: ThreadId, stack: StackId, head: &SampleHead) {
        self.sampled_calls.push((thread, stack, *head));
    }

    /// Drops the traffic and the calls so far; gauges from before the start of times are dropped
    /// later.
    pub(crate) fn clear(&mut self) {
        self.traffic.clear();
        self.syscalls.clear();
        self.sampled_calls.clear();
    }

    /// Appends the readings to the profile.
    pub(crate) fn flush(&mut self, clock: Clock, profile: &mut Profile) {
        let traffic = self.traffic.drain(..);
        let traffic = traffic.map(|(thread, traffic)| traffic_of(thread, &traffic, clock));
        profile.traffic.extend(traffic);
        let syscalls = self.syscalls.drain(..);
        let syscalls = syscalls.map(|(thread, call, head)| SyscallCount {
            thread,
            from: clock.since_start(head.from),
            to: clock.since_start(head.to),
            call,
            error: head.error,
            count: head.count,
            ..SyscallCount::default()
        });
        profile.syscalls.extend(syscalls);
        let sampled = self.sampled_calls.drain(..).map(|(thread, stack, head)| {
            let time = clock.since_start(head.clock);
            let (count, error) = head.returned();
            SyscallCount {
                thread,
                from: time,
                to: time,
                error,
                count,
                stack: Some(stack),
                samples: 1,
                ..SyscallCount::default()
            }
        });
        profile.syscalls.extend(sampled);
        let gauges = self.gauges.drain(..);
        let gauges = gauges.filter(|(_, gauge)| !clock.is_before(gauge.clock));
        let gauges = gauges.map(|(process, gauge)| gauge_of(process, &gauge, clock));
        profile.heap.gauges.extend(gauges);
    }
}

fn gauge_of(process: ProcessId, gauge: &recording::Gauge, clock: Clock) -> Gauge {
    Gauge {
        process,
        time: clock.since_start(gauge.clock),
        resident: gauge.resident,
        peak_resident: gauge.peak_resident,
        proportional: gauge.proportional,
        anonymous: gauge.anonymous,
        swapped: gauge.swapped,
        minor_faults: gauge.minor_faults,
        major_faults: gauge.major_faults,
        in_use: gauge.in_use,
        mapped: gauge.mapped,
        elsewhere: gauge.elsewhere,
        arenas: gauge.arenas,
    }
}

fn traffic_of(thread: ThreadId, traffic: &profundo_wire::Traffic, clock: Clock) -> Traffic {
    Traffic {
        thread,
        from: clock.since_start(traffic.from),
        to: clock.since_start(traffic.to),
        waits: traffic.waits,
        bytes: Bytes {
            read: traffic.read,
            written: traffic.written,
            fetched: traffic.fetched,
            stored: traffic.stored,
        },
    }
}
