//! Samples of both forms on their way into the profile.

use profundo_model::{
    Gauge, Nanos, ProcessId, Reason, SampleKind, Sampling, Site, StackId, State, ThreadId,
};
use rustc_hash::FxHashMap;

use super::frame;
use crate::{Builder, Row};

/// A sample as it was taken.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Taken {
    pub process: ProcessId,
    pub thread: ThreadId,
    /// `None` for a thread without a frame.
    pub stack: Option<StackId>,
    pub is_idle: bool,
    pub is_in_kernel: bool,
    /// Microseconds since the thread's previous sample.
    pub time: Option<u64>,
    /// Growth of the resident memory in bytes since the previous sample.
    pub memory: Option<i64>,
}

/// The quantity of the samples.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Mode {
    #[default]
    Wall,
    Cpu,
    Memory,
    Full,
}

/// The samples so far.
#[derive(Debug, Default)]
pub(super) struct Samples {
    mode: Mode,
    /// The time of the latest sample in nanoseconds, and the end of the latest one of each thread.
    now: u64,
    ends: FxHashMap<ThreadId, u64>,
    /// Growth of the resident memory since the first sample.
    grown: FxHashMap<ProcessId, i64>,
    sites: FxHashMap<(ProcessId, StackId), usize>,
    /// Threads that are named by no number.
    names: FxHashMap<(u32, Box<str>), u64>,
}

impl Samples {
    /// Takes in a fact about the recording.
    pub(super) fn fact(&mut self, builder: &mut Builder, name: &str, value: &str) {
        let meta = &mut builder.profile.meta;
        let micros = || Nanos(value.parse::<u64>().unwrap_or(0).saturating_mul(1000));
        match name {
            "interval" => meta.period = micros(),
            "duration" => meta.duration = micros(),
            "mode" => {
                self.mode = match value {
                    "cpu" => Mode::Cpu,
                    "memory" => Mode::Memory,
                    "full" => Mode::Full,
                    _ => Mode::Wall,
                };
            }
            _ => {}
        }
    }

    /// Whether the only number of a sample is one of bytes.
    pub(super) fn is_of_memory(&self) -> bool {
        self.mode == Mode::Memory
    }

    /// The thread of a process, by its number in decimal or hexadecimal digits or by its name, and
    /// the number of its interpreter.
    pub(super) fn thread(
        &mut self,
        builder: &mut Builder,
        pid: u32,
        interpreter: u64,
        thread: &str,
    ) -> ThreadId {
        let digits = thread.strip_prefix("0x");
        let number = match digits {
            Some(digits) => u64::from_str_radix(digits, 16).ok(),
            None => thread.parse().ok(),
        };
        if let (Some(number), 0) = (number, interpreter) {
            return builder.thread(pid, number, "");
        }
        let name = match interpreter {
            0 => thread.to_owned(),
            _ => format!("{thread} (interpreter {interpreter})"),
        };
        // Beyond the numbers of the kernel.
        let next = (1 << 63) + self.names.len() as u64;
        let number = *self
            .names
            .entry((pid, name.as_str().into()))
            .or_insert(next);
        builder.thread(pid, number, &name)
    }

    pub(super) fn add(&mut self, builder: &mut Builder, taken: Taken) {
        let stack = taken.stack.unwrap_or_else(|| {
            let location = frame::mark(builder, Reason::PythonUnreadable);
            builder.stack(None, location)
        });
        if let Some(bytes) = taken.memory {
            self.memory(builder, taken.process, stack, bytes);
        }
        let Some(time) = taken.time else {
            return;
        };
        let weight = time.saturating_mul(1000);
        let has_times = self.mode != Mode::Cpu;
        let now = self.now;
        let start = self
            .ends
            .entry(taken.thread)
            .or_insert_with(|| now.saturating_sub(weight));
        let time = *start;
        *start = start.saturating_add(weight);
        self.now = self.now.max(*start);
        builder.sample(Row {
            stack,
            thread: taken.thread,
            weight,
            samples: 1,
            // Without idle samples the times have gaps of an unknown length.
            time: has_times.then_some(time),
            state: match self.mode {
                Mode::Cpu if taken.is_in_kernel => State::System,
                Mode::Cpu => State::Running,
                _ if taken.is_idle => State::WallWaiting,
                _ => State::WallRunning,
            },
        });
    }

    fn memory(&mut self, builder: &mut Builder, process: ProcessId, stack: StackId, bytes: i64) {
        let heap = &mut builder.profile.heap;
        if bytes != 0 {
            let row = *self.sites.entry((process, stack)).or_insert_with(|| {
                heap.sites.push(Site {
                    process,
                    stack,
                    ..Site::default()
                });
                heap.sites.len() - 1
            });
            if let Some(site) = heap.sites.get_mut(row) {
                let amount = match bytes > 0 {
                    true => &mut site.allocated,
                    false => &mut site.freed,
                };
                amount.count = amount.count.saturating_add(1);
                amount.bytes = amount.bytes.saturating_add(bytes.unsigned_abs());
            }
        }
        let grown = self.grown.entry(process).or_default();
        *grown = grown.saturating_add(bytes);
        if self.mode == Mode::Full && bytes != 0 {
            heap.gauges.push(Gauge {
                process,
                time: Nanos(self.now),
                resident: u64::try_from(*grown).unwrap_or(0),
                ..Gauge::default()
            });
        }
    }

    pub(super) fn finish(self, builder: &mut Builder) {
        let has_memory = !self.grown.is_empty();
        builder.profile.name_reasons();
        let kind = match self.mode {
            Mode::Cpu | Mode::Memory => SampleKind::Cpu,
            Mode::Wall | Mode::Full => SampleKind::Wall,
        };
        builder.weighs(kind, "");
        if has_memory {
            builder.profile.heap.sampling = Sampling::All;
            builder.note(
                "Austin's memory is the change of the resident memory since the previous sample, by the stack \
                 of that moment: not what the stack has allocated",
            );
        }
        if self.mode == Mode::Cpu {
            builder.note("Austin's samples of CPU time have no times");
        }
    }
}
