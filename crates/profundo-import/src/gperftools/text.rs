//! The texts: a head that says what is counted, and a line for each stack.
//!
//! ```text
//! heap profile:  3003:  5434187 [ 9215: 20001264] @ heap_v2/524288     sampled, each 524288 bytes
//!   3000:  5398500 [  3000:  5398500] @ 0x558101a2c2e4 0x558101a2c3a9
//!
//! --- mutex:                                          or `--- contention:`, `--- contentionz 1 ---`
//! cycles/second=2596135609
//! sampling period=1
//! 254500739 31 @ 0x4b78e5 0x4b78be                    cycles, then waits
//!
//! goroutine profile: total 2                          or any other name of Go's
//! 1 @ 0x437cd6 0x44704c
//! #  0x4b7d56  main.main.func3+0x16  demo/main.go:131
//!
//! --- threadz 1 ---
//! --- Thread 7eff063d9940 (name: main/25376) stack: ---
//!   PC:  0x00bc8f1c: helper(arg *)                    or addresses alone
//!   0x0040be31: main
//! ```

use profundo_model::{Amount, ProcessId, SampleKind, Sampling, StackId, State};

use crate::code::native_stacks::{Leaf, NativeStacks, address, addresses};
use crate::jemalloc::{amounts, split};
use crate::quantities::sampled_memory::estimate;
use crate::{Builder, Named, Row};

/// The quantity of a text.
#[derive(Debug, Clone, PartialEq)]
enum Counts {
    /// Memory in use and all allocated.
    Heap(Sampling),
    /// Memory by which the heap has grown.
    Growth,
    /// Waits for locks.
    Waits,
    /// Things with this name.
    Things(String),
    /// Threads.
    Threads,
}

pub(super) fn is_start(start: &[u8]) -> bool {
    let line = start.split(|&byte| byte == b'\n').next();
    // Java's tables of names, which no program writes any more.
    let is_java =
        memchr::memmem::find(&start[..start.len().min(200)], b"\nformat = java").is_some();
    // The whole first line is there.
    !is_java && line.is_some_and(|line| line.len() < start.len() && Counts::of(line).is_some())
}

impl Counts {
    fn of(line: &[u8]) -> Option<Self> {
        let line = std::str::from_utf8(line).ok()?.trim();
        if let Some(rest) = line.strip_prefix("heap profile:") {
            amounts(rest.as_bytes())?;
            let (_, kind) = rest.rsplit_once('@')?;
            return Self::of_heap(kind.trim());
        }
        if let Some((name, total)) = line.split_once(" profile: total ") {
            let is_name = !name.is_empty() && name.len() < 200 && !name.contains(';');
            let things = Self::Things(name.to_owned());
            return (is_name && total.parse::<u64>().is_ok()).then_some(things);
        }
        match line.strip_prefix("--- ")? {
            rest if rest.starts_with("contention") || rest == "mutex:" => Some(Self::Waits),
            rest if rest.starts_with("threadz ") || rest.starts_with("Thread ") => {
                Some(Self::Threads)
            }
            _ => None,
        }
    }

    /// `heapprofile`, `heap_v2/524288`, `heap/1048576`, `growthz`.
    fn of_heap(kind: &str) -> Option<Self> {
        let (kind, distance) = kind.split_once('/').unwrap_or((kind, ""));
        let distance: u64 = distance.parse().unwrap_or(1);
        let sampling = |distance| match distance {
            0 | 1 => Sampling::All,
            distance => Sampling::Bytes(distance),
        };
        match kind {
            "heapprofile" => Some(Self::Heap(Sampling::All)),
            "heap_v2" | "heapz_v2" => Some(Self::Heap(sampling(distance))),
            // The first version wrote twice the distance, and Go does still.
            "heap" => Some(Self::Heap(sampling(distance / 2))),
            "growth" | "growthz" | "fragmentation" | "fragmentationz" => Some(Self::Growth),
            _ => None,
        }
    }
}

pub(super) fn read(text: &[u8], stacks: NativeStacks, builder: &mut Builder) {
    builder.only_thread();
    let (body, maps) = split(text);
    let head = body.split(|&byte| byte == b'\n').next().unwrap_or_default();
    let Some(counts) = Counts::of(head) else {
        return;
    };
    let mut reading = Reading {
        builder,
        stacks,
        counts,
        per_nanosecond: 1.0,
        period: 1,
        pending: None,
        named: Vec::new(),
        has_freed: false,
    };
    for line in maps.split(|&byte| byte == b'\n') {
        reading.stacks.mappings.add_line(reading.builder, line);
    }
    reading.begin();
    for (line, number) in body.split(|&byte| byte == b'\n').zip(1_u64..).skip(1) {
        let line = line.trim_ascii();
        if reading.line(line).is_none() {
            let builder = &mut *reading.builder;
            builder.leave_out("lines", || format!("line {number}"));
        }
    }
    reading.end_of_stack();
    if matches!(reading.counts, Counts::Heap(_)) && !reading.has_freed {
        reading
            .builder
            .note("the file has memory in use only, and none that was freed");
    }
}

struct Reading<'a> {
    builder: &'a mut Builder,
    stacks: NativeStacks,
    counts: Counts,
    /// The cycles of a nanosecond.
    per_nanosecond: f64,
    /// The number of waits that each written one stands for.
    period: u64,
    /// The stack that was read last; lines with its names may follow.
    pending: Option<Pending>,
    /// Its named frames, the leaf first.
    named: Vec<StackFrame>,
    /// Whether any memory was freed.
    has_freed: bool,
}

/// A stack with its numbers.
#[derive(Debug, Clone, Default)]
struct Pending {
    /// Memory: in use, and all; of others the number and the cycles.
    amounts: [Amount; 2],
    addresses: Vec<u64>,
    thread: Option<(u64, String)>,
}

/// A named frame of Go's.
#[derive(Debug, Clone)]
struct StackFrame {
    function: String,
    file: String,
    line: u32,
}

impl Reading<'_> {
    fn begin(&mut self) {
        let builder = &mut *self.builder;
        match &self.counts {
            Counts::Heap(sampling) => builder.profile.heap.sampling = *sampling,
            Counts::Growth => {
                builder.profile.heap.sampling = Sampling::All;
                builder.note("the file has the growth of the heap: memory that the allocator took");
            }
            Counts::Waits => builder.weighs(SampleKind::Wall, ""),
            Counts::Things(name) => builder.weighs(SampleKind::Events, name),
            Counts::Threads => builder.weighs(SampleKind::Events, "threads"),
        }
    }

    /// Takes in a line. `None` where it is odd.
    fn line(&mut self, line: &[u8]) -> Option<()> {
        if line.is_empty() {
            return Some(());
        }
        if let Some(named) = line.strip_prefix(b"#") {
            // Others are notes: `# Alloc = 7870256`.
            if let (Some(frame), true) = (frame(named), self.pending.is_some()) {
                self.named.push(frame);
            }
            return Some(());
        }
        if self.counts == Counts::Threads {
            return self.thread_line(line);
        }
        if let Some(at) = memchr::memchr(b'@', line) {
            self.end_of_stack();
            let (numbers, rest) = (&line[..at], &line[at + 1..]);
            self.pending = Some(Pending {
                amounts: self.amounts(numbers)?,
                addresses: addresses(rest).collect(),
                thread: None,
            });
            return Some(());
        }
        let (key, value) = std::str::from_utf8(line).ok()?.split_once('=')?;
        match (key.trim(), value.trim()) {
            ("cycles/second", hertz) => {
                let hertz: f64 = hertz.parse().ok().filter(|&hertz| hertz > 0.0)?;
                self.per_nanosecond = hertz / 1e9;
            }
            ("sampling period", period) => self.period = period.parse().ok()?,
            _ => {}
        }
        Some(())
    }

    fn amounts(&self, numbers: &[u8]) -> Option<[Amount; 2]> {
        if matches!(self.counts, Counts::Heap(_) | Counts::Growth) {
            return amounts(numbers);
        }
        let text = std::str::from_utf8(numbers).ok()?;
        let mut numbers = text.split_whitespace().map(|number| number.parse().ok());
        let first = numbers.next()??;
        let second = numbers.next().flatten().unwrap_or(1);
        let amount = match self.counts {
            Counts::Waits => Amount {
                bytes: first,
                count: second,
            },
            _ => Amount {
                bytes: first,
                count: first,
            },
        };
        Some([amount; 2])
    }

    /// `--- Thread 7eff063d9940 (name: main/25376) stack: ---`, or addresses.
    fn thread_line(&mut self, line: &[u8]) -> Option<()> {
        let text = String::from_utf8_lossy(line);
        if let Some(rest) = text.strip_prefix("--- Thread ") {
            self.end_of_stack();
            let name = rest
                .split_once("(name: ")
                .and_then(|(_, rest)| rest.split_once(')'));
            let (name, tid) = name.map_or(("", ""), |(name, _)| {
                name.rsplit_once('/').unwrap_or((name, ""))
            });
            self.pending = Some(Pending {
                amounts: [Amount { count: 1, bytes: 1 }; 2],
                addresses: Vec::new(),
                thread: Some((tid.parse().unwrap_or(0), name.to_owned())),
            });
            return Some(());
        }
        if text.starts_with("---") || text.contains("no stack trace") {
            return Some(());
        }
        let pending = self.pending.as_mut()?;
        if text.contains("same as previous thread") {
            let previous = self.builder.profile.samples.last().copied()?;
            let (tid, name) = self.pending.take()?.thread.unwrap_or_default();
            let thread = self.builder.thread(0, tid, &name);
            self.sample(previous.stack, thread, [1, 1], State::Running);
            return Some(());
        }
        let row = ["PC:", "creator:", "@"]
            .into_iter()
            .fold(&*text, |row, head| row.trim_start_matches(head));
        // Newer ones have a name behind each address.
        if let Some((at, name)) = row.split_once(": ")
            && let Some(at) = address(at.trim().as_bytes())
        {
            pending.addresses.push(at);
            let names = &mut self.stacks.names;
            names
                .entry(at)
                .or_insert_with(|| vec![name.trim().to_owned()]);
            return Some(());
        }
        pending.addresses.extend(addresses(row.as_bytes()));
        Some(())
    }

    /// Adds the stack that was read last.
    fn end_of_stack(&mut self) {
        let Some(pending) = self.pending.take() else {
            return;
        };
        let named = std::mem::take(&mut self.named);
        let is_memory = matches!(self.counts, Counts::Heap(_) | Counts::Growth);
        let stack = match named.is_empty() {
            false => self.named_stack(&named),
            true if is_memory => {
                let addresses = &pending.addresses[..];
                let addresses = self.stacks.without_allocator(self.builder, addresses);
                self.stacks.stack(self.builder, Leaf::Return, addresses)
            }
            true => {
                let leaf = match self.counts {
                    Counts::Threads => Leaf::Instruction,
                    _ => Leaf::Return,
                };
                self.stacks.stack(self.builder, leaf, &pending.addresses)
            }
        };
        let Some(stack) = stack else {
            return;
        };
        let amount = pending.amounts[0];
        let thread = match &pending.thread {
            Some((tid, name)) => self.builder.thread(0, *tid, name),
            None => self.builder.only_thread(),
        };
        match self.counts {
            Counts::Heap(sampling) => self.site(
                stack,
                pending.amounts.map(|amount| estimate(amount, sampling)),
            ),
            Counts::Growth => self.site(stack, [amount; 2]),
            Counts::Waits => {
                let cycles = amount.bytes as f64 * self.period as f64;
                let weight = (cycles / self.per_nanosecond) as u64;
                let count = amount.count.saturating_mul(self.period);
                self.sample(stack, thread, [weight, count], State::WallWaiting);
            }
            Counts::Things(_) | Counts::Threads => {
                self.sample(stack, thread, [amount.count; 2], State::Running);
            }
        }
    }

    fn sample(
        &mut self,
        stack: StackId,
        thread: profundo_model::ThreadId,
        [weight, samples]: [u64; 2],
        state: State,
    ) {
        self.builder.sample(Row {
            stack,
            thread,
            weight,
            samples,
            time: None,
            state,
        });
    }

    fn site(&mut self, stack: StackId, [live, allocated]: [Amount; 2]) {
        self.has_freed |= live != allocated;
        let process = ProcessId::default();
        self.builder.site_in_use(process, stack, live, allocated);
    }

    fn named_stack(&mut self, leaf_first: &[StackFrame]) -> Option<StackId> {
        let mut parent = None;
        for frame in leaf_first.iter().rev() {
            let location = self.builder.location(Named {
                function: &frame.function,
                file: &frame.file,
                line: frame.line,
                ..Named::default()
            });
            parent = Some(self.builder.stack(parent, location));
        }
        parent
    }
}

/// `0x4b74f0  main.grow+0x30  demo/main.go:50`.
fn frame(line: &[u8]) -> Option<StackFrame> {
    let text = std::str::from_utf8(line).ok()?;
    let mut words = text.split_whitespace();
    address(words.next()?.as_bytes()).filter(|_| text.trim_start().starts_with("0x"))?;
    let function = words.next()?;
    let function = function
        .rsplit_once("+0x")
        .map_or(function, |(name, _)| name);
    let place = words.next().unwrap_or_default();
    let (file, line) = place.rsplit_once(':').unwrap_or((place, ""));
    Some(StackFrame {
        function: function.to_owned(),
        file: file.to_owned(),
        line: line.parse().unwrap_or(0),
    })
}
