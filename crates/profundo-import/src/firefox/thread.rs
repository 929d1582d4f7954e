//! A thread: its name, its samples, its allocations.

use std::borrow::Cow;

use profundo_model::{Amount, Domain, SampleKind, Sampling, Site, StackId, State};
use rustc_hash::FxHashMap;

use super::table::{Table, index};
use super::tables::{Tables, View};
use crate::encoding::json::{Json, Read};
use crate::{Builder, Row, Unit};

/// The zero of times: a thread may begin before its process.
const ZERO: u64 = 1 << 62;

/// A thread as far as it was read.
#[derive(Debug, Default)]
pub(super) struct Thread<'a> {
    name: Cow<'a, str>,
    process: Cow<'a, str>,
    pid: Cow<'a, str>,
    tid: Cow<'a, str>,
    pub tables: Tables<'a>,
    samples: Table,
    /// Allocations of JavaScript and of native code.
    allocations: [Table; 2],
    /// The files that were mapped, in old files.
    pub libs: Vec<&'a [u8]>,
    pub has_markers: bool,
}

/// The meaning of the numbers of samples.
pub(super) struct Times {
    pub interval: f64,
    pub cpu_unit: Option<f64>,
    pub is_cpu: bool,
    pub later: f64,
    pub idle: Option<usize>,
}

impl<'a> Thread<'a> {
    pub(super) fn read(&mut self, json: &mut Json<'a>) -> Read<()> {
        const ALLOCATED: &[&str] = &["time", "weight", "stack", "memoryAddress"];
        if !json.enter(b'{')? {
            return Ok(());
        }
        while let Some(key) = json.key()? {
            match &key[..] {
                "name" => self.name = json.text()?.unwrap_or_default(),
                "processName" => self.process = json.text()?.unwrap_or_default(),
                "pid" => self.pid = json.text_or_raw()?,
                "tid" => self.tid = json.text_or_raw()?,
                "samples" => self.samples.read(
                    json,
                    &["stack", "time", "timeDeltas", "weight", "threadCPUDelta"],
                )?,
                "jsAllocations" => self.allocations[0].read(json, ALLOCATED)?,
                "nativeAllocations" => self.allocations[1].read(json, ALLOCATED)?,
                "markers" => {
                    self.has_markers = true;
                    json.skip()?;
                }
                "libs" if json.enter(b'[')? => {
                    while json.element()? {
                        self.libs.push(json.raw()?);
                    }
                }
                "libs" => {}
                key => {
                    if !self.tables.read(key, json)? {
                        json.skip()?;
                    }
                }
            }
        }
        Ok(())
    }

    /// Gives the samples to the profile.
    pub(super) fn give(
        &self,
        times: &Times,
        view: View<'_, '_>,
        stacks: &[Option<StackId>],
        memory: &mut Memory,
        builder: &mut Builder,
    ) {
        for table in &self.allocations {
            memory.table(table, stacks);
        }
        let samples = &self.samples;
        if samples.weight_type == "bytes" {
            return memory.table(samples, stacks);
        }
        let taken = samples.column("stack");
        if taken.is_empty() {
            return;
        }
        let pid = number(&self.pid).unwrap_or(0);
        builder.process(pid as u32, &self.process);
        let tid = number(&self.tid).unwrap_or(1 << 40 | builder.profile.threads.len() as u64);
        let thread = builder.thread(pid as u32, tid, &self.name);
        let is_tracing = samples.weight_type == "tracing-ms";
        let weights = samples.column("weight");
        let cpu = samples.column("threadCPUDelta");
        let clock = Clock::of(samples);
        let idle = Idle::of(view, times.idle);
        let (mut time, mut cpu_before) = (0.0, 0.0);
        for (row, &stack) in taken.iter().enumerate() {
            time = clock.time(row, time);
            let delta = cpu.get(row).copied().filter(|delta| *delta >= 0.0);
            cpu_before += delta.unwrap_or(0.0);
            let index = index(&[stack], 0);
            let Some(stack) = index.and_then(|row| stacks.get(row).copied().flatten()) else {
                continue;
            };
            let count = weights.get(row).copied().filter(|weight| !weight.is_nan());
            let count = count.unwrap_or(1.0).max(0.0);
            let weight = match times.cpu_unit {
                Some(unit) if times.is_cpu => {
                    // CPU time of samples without a stack is the next one's.
                    Unit::Time(unit).weight(std::mem::take(&mut cpu_before))
                }
                _ if is_tracing => Unit::Time(1e6).weight(count),
                _ if times.interval > 0.0 => Unit::Time(1e6).weight(count * times.interval),
                _ => Unit::Count.weight(count),
            };
            if weight == 0 {
                continue;
            }
            let is_waiting = delta == Some(0.0) || index.is_some_and(|row| idle.is(row));
            let nanoseconds = ((time + times.later) * 1e6).round() as i64;
            builder.sample(Row {
                stack,
                thread,
                weight,
                samples: match is_tracing || times.is_cpu {
                    true => 1,
                    false => Unit::Count.weight(count),
                },
                time: Some(ZERO.saturating_add_signed(nanoseconds)),
                state: match builder.profile.meta.kind {
                    SampleKind::Wall if is_waiting => State::WallWaiting,
                    SampleKind::Wall => State::WallRunning,
                    _ => State::Running,
                },
            });
        }
    }
}

/// The leading digits of `123` or `123.4`, the second process of that number.
fn number(text: &str) -> Option<u64> {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let number: u64 = text.get(..digits)?.parse().ok()?;
    Some(number)
}

/// The times of samples.
struct Clock<'t> {
    times: &'t [f64],
    deltas: &'t [f64],
}

impl<'t> Clock<'t> {
    fn of(samples: &'t Table) -> Self {
        Self {
            times: samples.column("time"),
            deltas: samples.column("timeDeltas"),
        }
    }

    /// The time of a row behind one at `before`.
    fn time(&self, row: usize, before: f64) -> f64 {
        let time = self.times.get(row).copied();
        let time = time.or_else(|| Some(before + self.deltas.get(row)?));
        time.filter(|time| time.is_finite()).unwrap_or(before)
    }
}

/// The stacks of threads that wait.
struct Idle<'t> {
    stacks: &'t [f64],
    frames: &'t [f64],
    categories: &'t [f64],
    idle: Option<usize>,
}

impl<'t> Idle<'t> {
    fn of(view: View<'t, '_>, idle: Option<usize>) -> Self {
        let stacks = if view.own.has_stacks() {
            &view.own.stacks
        } else {
            &view.shared.stacks
        };
        let own_frames = view.own.frames.is_any();
        let frames = if own_frames {
            &view.own.frames
        } else {
            &view.shared.frames
        };
        Self {
            stacks: stacks.column("category"),
            frames: stacks.column("frame"),
            categories: frames.column("category"),
            idle,
        }
    }

    fn is(&self, row: usize) -> bool {
        let of_frame = || index(self.categories, index(self.frames, row)?);
        self.idle.is_some() && index(self.stacks, row).or_else(of_frame) == self.idle
    }
}

/// The allocations of all threads.
#[derive(Default)]
pub(super) struct Memory {
    sites: FxHashMap<StackId, (Amount, Amount)>,
    /// The blocks that are in use, by address.
    blocks: FxHashMap<u64, (StackId, u64)>,
}

impl Memory {
    /// Adds the rows of a table: bytes, or less than 0 where they were freed.
    fn table(&mut self, table: &Table, stacks: &[Option<StackId>]) {
        let addresses = table.column("memoryAddress");
        let weights = table.column("weight");
        for (row, &stack) in table.column("stack").iter().enumerate() {
            let bytes = weights.get(row).copied().unwrap_or(0.0);
            let address = index(addresses, row).map(|address| address as u64);
            if bytes < 0.0 {
                let block = address.and_then(|address| self.blocks.remove(&address));
                if let Some((stack, bytes)) = block {
                    let site = self.sites.entry(stack).or_default();
                    site.1 += Amount { count: 1, bytes };
                }
                continue;
            }
            let stack = index(&[stack], 0).and_then(|row| stacks.get(row).copied().flatten());
            let bytes = Unit::Bytes.weight(bytes);
            let Some(stack) = stack.filter(|_| bytes > 0) else {
                continue;
            };
            self.sites.entry(stack).or_default().0 += Amount { count: 1, bytes };
            if let Some(address) = address {
                self.blocks.insert(address, (stack, bytes));
            }
        }
    }

    pub(super) fn give(self, builder: &mut Builder) {
        if self.sites.is_empty() {
            return;
        }
        let pid = builder.profile.processes.first().map_or(0, |row| row.pid);
        let process = builder.process(pid, "");
        let mut sites: Vec<(StackId, (Amount, Amount))> = self.sites.into_iter().collect();
        sites.sort_unstable_by_key(|&(stack, _)| stack);
        let sites = (0..)
            .zip(sites)
            .map(|(number, (stack, (allocated, freed)))| Site {
                process,
                stack,
                domain: Domain::Native,
                allocated,
                freed,
                number,
                ..Site::default()
            });
        builder.profile.heap.sites.extend(sites);
        builder.profile.heap.sampling = Sampling::All;
        builder.note("Firefox samples allocations: the file has those bytes, and not all");
    }
}
