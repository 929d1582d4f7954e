//! `perf_event_attr`: what an event counts, and which fields its samples have.

use super::bytes::Bytes;
use crate::perf::event::Interval;

/// Bits of `sample_type`.
mod has {
    pub(super) const IP: u64 = 1 << 0;
    pub(super) const TID: u64 = 1 << 1;
    pub(super) const TIME: u64 = 1 << 2;
    pub(super) const ADDR: u64 = 1 << 3;
    pub(super) const READ: u64 = 1 << 4;
    pub(super) const CALLCHAIN: u64 = 1 << 5;
    pub(super) const ID: u64 = 1 << 6;
    pub(super) const CPU: u64 = 1 << 7;
    pub(super) const PERIOD: u64 = 1 << 8;
    pub(super) const STREAM_ID: u64 = 1 << 9;
    pub(super) const RAW: u64 = 1 << 10;
    pub(super) const BRANCH_STACK: u64 = 1 << 11;
    pub(super) const REGS_USER: u64 = 1 << 12;
    pub(super) const STACK_USER: u64 = 1 << 13;
    pub(super) const IDENTIFIER: u64 = 1 << 16;
}

/// Bits of `read_format`.
mod read {
    pub(super) const TIMES: [u64; 2] = [1 << 0, 1 << 1];
    pub(super) const ID: u64 = 1 << 2;
    pub(super) const GROUP: u64 = 1 << 3;
    pub(super) const LOST: u64 = 1 << 4;
}

/// Bits of `branch_sample_type`.
mod branches {
    pub(super) const INDEX: u64 = 1 << 17;
    pub(super) const COUNTERS: u64 = 1 << 19;
}

/// An event.
#[derive(Debug, Clone, Default)]
pub(super) struct Attr {
    /// The name; empty until it is known.
    pub name: String,
    kind: u32,
    config: u64,
    sample_type: u64,
    read_format: u64,
    pub interval: Option<Interval>,
    has_sample_id: bool,
    max_stack: u16,
    branch_sample_type: u64,
    /// The registers in samples, a bit for each.
    user_registers: u64,
}

/// The fields of a sample that a profile takes.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Fields<'a> {
    pub ip: Option<u64>,
    pub pid: u32,
    pub tid: u32,
    pub time: Option<u64>,
    pub period: Option<u64>,
    /// The addresses, 8 bytes each.
    pub chain: Option<Bytes<'a>>,
    /// The program's registers and the top of its stack.
    pub copied: Option<CopiedStack<'a>>,
}

/// The top of a stack as it was in memory, and the registers that it is walked from.
#[derive(Debug, Clone, Copy)]
pub(super) struct CopiedStack<'a> {
    /// The kind of program: 1 with 32 bits, 2 with 64.
    pub abi: u64,
    /// The kinds of registers, a bit for each.
    pub mask: u64,
    /// Their values, 8 bytes each.
    pub registers: Bytes<'a>,
    /// The bytes from the stack pointer on.
    pub stack: &'a [u8],
    /// Whether the stack goes on behind them.
    pub is_cut: bool,
}

impl Attr {
    /// Reads a `perf_event_attr`, of any age.
    pub(super) fn read(bytes: &[u8], is_big: bool) -> Option<Self> {
        let mut from = Bytes::new(bytes, is_big);
        let kind = from.u32()?;
        let size = usize::try_from(from.u32()?).ok()?;
        let size = if size == 0 { 64 } else { size };
        let mut from = Bytes::new(bytes.get(8..size.min(bytes.len()))?, is_big);
        let config = from.u64()?;
        let period = from.u64()?;
        let sample_type = from.u64()?;
        let read_format = from.u64()?;
        let flags = flags(from.take(8)?, is_big)?;
        let late = |at: usize| {
            Bytes::new(
                bytes.get(at..size.min(bytes.len())).unwrap_or_default(),
                is_big,
            )
        };
        let is_frequency = flags & (1 << 10) != 0;
        Some(Self {
            name: String::new(),
            kind,
            config,
            sample_type,
            read_format,
            interval: match (period, is_frequency) {
                (0, _) => None,
                (_, true) => Some(Interval::Frequency(period)),
                (_, false) => Some(Interval::Period(period)),
            },
            has_sample_id: flags & (1 << 18) != 0,
            max_stack: late(108).u16().unwrap_or(0),
            branch_sample_type: late(72).u64().unwrap_or(0),
            user_registers: late(80).u64().unwrap_or(0),
        })
    }

    /// The name, or one made from the kernel's number.
    pub(super) fn name(&self) -> String {
        const HARDWARE: [&str; 10] = [
            "cycles",
            "instructions",
            "cache-references",
            "cache-misses",
            "branches",
            "branch-misses",
            "bus-cycles",
            "stalled-cycles-frontend",
            "stalled-cycles-backend",
            "ref-cycles",
        ];
        const SOFTWARE: [&str; 12] = [
            "cpu-clock",
            "task-clock",
            "page-faults",
            "context-switches",
            "cpu-migrations",
            "minor-faults",
            "major-faults",
            "alignment-faults",
            "emulation-faults",
            "dummy",
            "bpf-output",
            "cgroup-switches",
        ];
        if !self.name.is_empty() {
            return self.name.clone();
        }
        let of = |names: &[&str]| {
            let index = usize::try_from(self.config).ok()?;
            names.get(index).map(|&name| name.to_owned())
        };
        let known = match self.kind {
            0 => of(&HARDWARE),
            1 => of(&SOFTWARE),
            _ => None,
        };
        known.unwrap_or_else(|| format!("event {}:{:#x}", self.kind, self.config))
    }

    /// Whether samples have pieces of the stack itself, instead of its addresses.
    pub(super) fn has_stack_memory(&self) -> bool {
        self.sample_type & has::STACK_USER != 0
    }

    pub(super) fn has_chains(&self) -> bool {
        self.sample_type & has::CALLCHAIN != 0
    }

    /// The most addresses of a stack.
    pub(super) fn deepest(&self) -> usize {
        match self.max_stack {
            0 => 127,
            most => usize::from(most),
        }
    }

    fn has(&self, field: u64) -> bool {
        self.sample_type & field != 0
    }

    /// The id of a sample's event.
    pub(super) fn id(&self, sample: Bytes<'_>) -> Option<u64> {
        let mut from = sample;
        if self.has(has::IDENTIFIER) {
            return from.u64();
        }
        if !self.has(has::ID) {
            return None;
        }
        let before = has::IP | has::TID | has::TIME | has::ADDR;
        from.skip(8 * (self.sample_type & before).count_ones() as usize)?;
        from.u64()
    }

    /// The time of a sample.
    pub(super) fn time(&self, sample: Bytes<'_>) -> Option<u64> {
        if !self.has(has::TIME) {
            return None;
        }
        let mut from = sample;
        let before = has::IDENTIFIER | has::IP | has::TID;
        from.skip(8 * (self.sample_type & before).count_ones() as usize)?;
        from.u64()
    }

    /// The time of another record, which stands at its end.
    pub(super) fn time_of_other(&self, record: &[u8], is_big: bool) -> Option<u64> {
        if !(self.has_sample_id && self.has(has::TIME)) {
            return None;
        }
        let behind = has::TIME | has::ID | has::STREAM_ID | has::CPU | has::IDENTIFIER;
        let size = 8 * (self.sample_type & behind).count_ones() as usize;
        let start = record.len().checked_sub(size)?;
        Bytes::new(&record[start..], is_big).u64()
    }

    /// The fields of a sample.
    pub(super) fn fields<'a>(&self, sample: Bytes<'a>) -> Option<Fields<'a>> {
        let mut from = sample;
        let mut fields = Fields::default();
        if self.has(has::IDENTIFIER) {
            from.skip(8)?;
        }
        if self.has(has::IP) {
            fields.ip = Some(from.u64()?);
        }
        if self.has(has::TID) {
            (fields.pid, fields.tid) = (from.u32()?, from.u32()?);
        }
        if self.has(has::TIME) {
            fields.time = Some(from.u64()?);
        }
        for field in [has::ADDR, has::ID, has::STREAM_ID, has::CPU] {
            if self.has(field) {
                from.skip(8)?;
            }
        }
        if self.has(has::PERIOD) {
            fields.period = Some(from.u64()?);
        } else if let Some(Interval::Period(period)) = self.interval {
            fields.period = Some(period);
        }
        if self.has(has::READ) {
            self.skip_read(&mut from)?;
        }
        if self.has(has::CALLCHAIN) {
            let many = usize::try_from(from.u64()?).ok()?;
            let chain = from.take(many.checked_mul(8)?)?;
            fields.chain = Some(sample.of(chain));
        }
        if self.has_stack_memory() {
            fields.copied = self.copied_stack(from);
        }
        Some(fields)
    }

    /// The copied stack, from the bytes behind the addresses.
    fn copied_stack<'a>(&self, mut from: Bytes<'a>) -> Option<CopiedStack<'a>> {
        if self.has(has::RAW) {
            let size = usize::try_from(from.u32()?).ok()?;
            from.skip(size)?;
        }
        if self.has(has::BRANCH_STACK) {
            let many = usize::try_from(from.u64()?).ok()?;
            let has = |bit: u64| usize::from(self.branch_sample_type & bit != 0);
            from.skip(has(branches::INDEX) * 8)?;
            from.skip(many.checked_mul(24 + has(branches::COUNTERS) * 8)?)?;
        }
        let mut abi = 0;
        let mut registers = &[][..];
        if self.has(has::REGS_USER) {
            abi = from.u64()?;
            if abi != 0 {
                registers = from.take(8 * self.user_registers.count_ones() as usize)?;
            }
        }
        let size = usize::try_from(from.u64()?).ok()?;
        let stack = from.take(size)?;
        let copied = match size {
            0 => 0,
            _ => usize::try_from(from.u64()?).ok()?,
        };
        Some(CopiedStack {
            abi,
            mask: self.user_registers,
            registers: from.of(registers),
            stack: stack.get(..copied)?,
            is_cut: copied == size,
        })
    }

    fn skip_read(&self, from: &mut Bytes<'_>) -> Option<()> {
        let has = |bit: u64| usize::from(self.read_format & bit != 0);
        let times: usize = read::TIMES.into_iter().map(has).sum();
        let each = 1 + has(read::ID) + has(read::LOST);
        let words = match self.read_format & read::GROUP {
            0 => times + each,
            _ => {
                let many = usize::try_from(from.u64()?).ok()?;
                times.checked_add(many.checked_mul(each)?)?
            }
        };
        from.skip(words.checked_mul(8)?)
    }
}

/// The bits behind `read_format`. A machine whose largest byte comes first counts the bits of each
/// byte from the other end.
fn flags(bytes: &[u8], is_big: bool) -> Option<u64> {
    let bytes: [u8; 8] = bytes.try_into().ok()?;
    Some(u64::from_le_bytes(match is_big {
        true => bytes.map(u8::reverse_bits),
        false => bytes,
    }))
}
