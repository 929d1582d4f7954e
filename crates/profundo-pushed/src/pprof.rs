//! pprof's `profile.proto`, read into rows.
//!
//! ```text
//! 1 sample_type  2 sample  3 mapping  4 location  5 function  6 string_table
//! 9 time_nanos  10 duration_nanos  11 period_type  12 period
//! ```

use profundo_import::protobuf::{Fields, Malformed};
use profundo_store::{Frame, Thread};
use rustc_hash::FxHashMap;

use crate::Error;
use crate::rows::{
    DEEPEST, Group, MOST_ROWS, Numbers, Row, build_id_of, escaped, gil_of, kind_of, span_of,
    state_of, text_of,
};
use crate::values::{Named, Value, choose};
use crate::{About, Decoded};

const WHAT: &str = "pprof";
const KERNEL: &str = "[kernel]";

/// The tables of a message.
#[derive(Default)]
struct Tables<'a> {
    strings: Vec<&'a str>,
    types: Vec<(u64, u64)>,
    samples: Vec<&'a [u8]>,
    locations: Vec<Location<'a>>,
    functions: Vec<Function>,
    mappings: Vec<Mapping>,
    time: i64,
    period_type: (u64, u64),
    period: u64,
}

#[derive(Clone, Copy, Default)]
struct Location<'a> {
    id: u64,
    mapping: u64,
    address: u64,
    message: &'a [u8],
    has_lines: bool,
}

#[derive(Clone, Copy, Default)]
struct Function {
    id: u64,
    name: u64,
    system_name: u64,
    file: u64,
}

#[derive(Clone, Copy, Default)]
struct Mapping {
    id: u64,
    start: u64,
    offset: u64,
    path: u64,
    build_id: u64,
}

impl<'a> Tables<'a> {
    fn of(message: &'a [u8]) -> Result<Self, Malformed> {
        // A location or a function has a name and takes about so many bytes.
        const EACH: usize = 128;
        let some = (message.len() / EACH).min(1 << 12);
        let mut tables = Self {
            strings: Vec::with_capacity(2 * some),
            locations: Vec::with_capacity(some),
            functions: Vec::with_capacity(some),
            ..Self::default()
        };
        for (count, field) in Fields::new(message).enumerate() {
            let field = field?;
            if count > MOST_ROWS {
                return Err(Malformed {
                    offset: 0,
                    is_cut: false,
                });
            }
            let bytes = field.value.bytes();
            match field.number {
                1 => tables.types.push(pair(bytes)?),
                2 => tables.samples.push(bytes),
                3 => {
                    let mut row = Mapping::default();
                    for field in Fields::new(bytes) {
                        let field = field?;
                        let number = field.value.number();
                        match field.number {
                            1 => row.id = number,
                            2 => row.start = number,
                            4 => row.offset = number,
                            5 => row.path = number,
                            6 => row.build_id = number,
                            _ => {}
                        }
                    }
                    tables.mappings.push(row);
                }
                4 => {
                    let mut row = Location {
                        message: bytes,
                        ..Location::default()
                    };
                    for field in Fields::new(bytes) {
                        let field = field?;
                        match field.number {
                            1 => row.id = field.value.number(),
                            2 => row.mapping = field.value.number(),
                            3 => row.address = field.value.number(),
                            4 => row.has_lines = true,
                            _ => {}
                        }
                    }
                    tables.locations.push(row);
                }
                5 => {
                    let mut row = Function::default();
                    for field in Fields::new(bytes) {
                        let field = field?;
                        let number = field.value.number();
                        match field.number {
                            1 => row.id = number,
                            2 => row.name = number,
                            3 => row.system_name = number,
                            4 => row.file = number,
                            _ => {}
                        }
                    }
                    tables.functions.push(row);
                }
                6 => tables.strings.push(text_of(bytes)),
                9 => tables.time = field.value.number().cast_signed(),
                11 => tables.period_type = pair(bytes)?,
                12 => tables.period = field.value.number(),
                _ => {}
            }
        }
        Ok(tables)
    }

    fn text(&self, number: u64) -> &'a str {
        let at = usize::try_from(number).ok();
        at.and_then(|at| self.strings.get(at))
            .map_or("", |text| text)
    }

    fn named(&self, (name, unit): (u64, u64)) -> Named<'a> {
        Named {
            name: self.text(name),
            unit: self.text(unit),
        }
    }
}

/// The first two numbers of a message: a type of value.
fn pair(message: &[u8]) -> Result<(u64, u64), Malformed> {
    let mut found = (0, 0);
    for field in Fields::new(message) {
        let field = field?;
        match field.number {
            1 => found.0 = field.value.number(),
            2 => found.1 = field.value.number(),
            _ => {}
        }
    }
    Ok(found)
}

/// Places of rows by their ids, which are mostly 1, 2, 3 and so on.
struct Places {
    /// Whether each id is its place and 1.
    is_dense: bool,
    length: usize,
    others: FxHashMap<u64, u32>,
}

impl Places {
    fn of(ids: impl ExactSizeIterator<Item = u64> + Clone) -> Self {
        let length = ids.len();
        let is_dense = ids.clone().zip(1..).all(|(id, place)| id == place);
        let others = match is_dense {
            true => FxHashMap::default(),
            false => ids.zip(0..).collect(),
        };
        Self {
            is_dense,
            length,
            others,
        }
    }

    fn get(&self, id: u64) -> Option<usize> {
        match self.is_dense {
            true => usize::try_from(id.checked_sub(1)?)
                .ok()
                .filter(|&place| place < self.length),
            false => self.others.get(&id).map(|&place| place as usize),
        }
    }
}

/// The frames of locations, each made when it is needed first.
struct Spots<'t, 'a> {
    tables: &'t Tables<'a>,
    functions: Places,
    mappings: Places,
    locations: Places,
    /// By location, its frames, the outermost first. The first of all is that of no location.
    known: Vec<Option<(u32, u32)>>,
    frames: Vec<u32>,
    /// Whether the location is the kernel's.
    is_kernel: Vec<bool>,
    missing: Option<u32>,
}

impl<'t, 'a> Spots<'t, 'a> {
    fn new(tables: &'t Tables<'a>) -> Self {
        Self {
            functions: Places::of(tables.functions.iter().map(|row| row.id)),
            mappings: Places::of(tables.mappings.iter().map(|row| row.id)),
            locations: Places::of(tables.locations.iter().map(|row| row.id)),
            known: vec![None; tables.locations.len()],
            is_kernel: vec![false; tables.locations.len()],
            frames: Vec::new(),
            missing: None,
            tables,
        }
    }

    /// Appends the frames of a location, the outermost first. True for the kernel's.
    fn add(&mut self, id: u64, decoded: &mut Decoded<'a>, to: &mut Vec<u32>) -> bool {
        let Some(place) = self.locations.get(id) else {
            let missing = *self.missing.get_or_insert_with(|| {
                decoded.frame(Frame {
                    kind: "marker",
                    function: "[broken]",
                    ..Frame::default()
                })
            });
            to.push(missing);
            return false;
        };
        let (start, end) = match self.known[place] {
            Some(known) => known,
            None => {
                let known = self.make(place, decoded);
                self.known[place] = Some(known);
                known
            }
        };
        match end - start {
            1 => to.push(self.frames[start as usize]),
            _ => {
                let end = end.min(start + DEEPEST as u32);
                to.extend_from_slice(&self.frames[start as usize..end as usize]);
            }
        }
        self.is_kernel[place]
    }

    fn make(&mut self, place: usize, decoded: &mut Decoded<'a>) -> (u32, u32) {
        let tables = self.tables;
        let row = tables.locations[place];
        let mapping = self.mappings.get(row.mapping).map(|at| tables.mappings[at]);
        let path = mapping.map_or("", |mapping| tables.text(mapping.path));
        let is_kernel = path.starts_with("[kernel") || row.address >= 1 << 63;
        self.is_kernel[place] = is_kernel;
        let common = Frame {
            module: if is_kernel { KERNEL } else { path },
            build_id: mapping.map_or("", |mapping| build_id_of(tables.text(mapping.build_id))),
            ..Frame::default()
        };
        let start = self.frames.len() as u32;
        if row.has_lines {
            let fields = Fields::new(row.message).flatten();
            let mut lines = fields.filter(|field| field.number == 4).peekable();
            while let Some(line) = lines.next() {
                let (mut function, mut number, mut column) = (0, 0, 0);
                for field in Fields::new(line.value.bytes()).flatten() {
                    match field.number {
                        1 => function = field.value.number(),
                        2 => number = field.value.number(),
                        3 => column = field.value.number(),
                        _ => {}
                    }
                }
                let function = self.functions.get(function).map(|at| tables.functions[at]);
                let function = function.unwrap_or_default();
                let (name, system) = (
                    tables.text(function.name),
                    tables.text(function.system_name),
                );
                let file = tables.text(function.file);
                let named = if name.is_empty() { system } else { name };
                let is_longer = system != named && system.contains(['(', '<']);
                self.frames.push(decoded.frame(Frame {
                    kind: match is_kernel {
                        true => "kernel",
                        false => kind_of(named, file),
                    },
                    // The last one is the function itself.
                    inlined: lines.peek().is_some(),
                    function: named,
                    signature: if is_longer { system } else { "" },
                    file,
                    line: i32::try_from(number).unwrap_or(0),
                    column: i32::try_from(column).unwrap_or(0),
                    ..common
                }));
            }
            self.frames[start as usize..].reverse();
        } else {
            let start = mapping.filter(|mapping| mapping.start > 0 && !is_kernel);
            let moved = start.map_or(0, |mapping| mapping.start.wrapping_sub(mapping.offset));
            self.frames.push(decoded.frame(Frame {
                kind: if is_kernel { "kernel" } else { "native" },
                address: row.address.wrapping_sub(moved).cast_signed(),
                ..common
            }));
        }
        (start, self.frames.len() as u32)
    }
}

pub(crate) fn decode<'a>(
    message: &'a [u8],
    about: &About,
    decoded: &mut Decoded<'a>,
) -> Result<(), Error> {
    let damaged = |at: Malformed| Error::malformed(WHAT, format!("byte {} is damaged", at.offset));
    let tables = Tables::of(message).map_err(damaged)?;
    if tables.types.is_empty() {
        return Err(Error::malformed(WHAT, "it has no types of values"));
    }
    let types: Vec<Named<'a>> = tables.types.iter().map(|&of| tables.named(of)).collect();
    let period = (tables.period > 0).then(|| (tables.named(tables.period_type), tables.period));
    let (mut values, left_out) = choose(&types, period);
    values.retain(|value| {
        let name = types[value.column].name;
        let is_sum = about.cumulative.iter().any(|known| known == name);
        if is_sum {
            decoded.leave_out(
                &format!("{name} since the start"),
                tables.samples.len() as u64,
            );
        }
        !is_sum
    });
    for name in left_out {
        decoded.leave_out(name, tables.samples.len() as u64);
    }
    decoded.groups.push(Group {
        identity: about.identity.clone(),
        threads: vec![Thread::default()],
    });
    if values.is_empty() {
        return Ok(());
    }
    let time = (tables.time > 0).then_some(tables.time / 1_000_000);
    let ts = decoded.time(time.or(about.from));
    let mut spots = Spots::new(&tables);
    decoded.reserve(tables.locations.len(), tables.samples.len());
    let mut labels = Labels::default();
    let mut sample = Record::default();
    let mut frames: Vec<u32> = Vec::new();
    for message in &tables.samples {
        sample.read(message).map_err(damaged)?;
        if sample.values.len() < types.len() {
            decoded.leave_out("samples without all their values", 1);
            continue;
        }
        let column = |column: usize| sample.values.get(column).copied().unwrap_or(0).max(0);
        if values.iter().all(|value| column(value.column) == 0) {
            continue;
        }
        frames.clear();
        let mut is_kernel = false;
        // The leaf stands first in the file, and last here.
        for &location in sample.locations.iter().rev() {
            is_kernel = spots.add(location, decoded, &mut frames);
            if frames.len() > DEEPEST {
                break;
            }
        }
        let stack = decoded.stack(&frames);
        let owner = labels.of(&tables, &sample.labels, decoded);
        for value in &values {
            let Value { kind, factor, .. } = *value;
            let number = column(value.column);
            if number == 0 {
                continue;
            }
            let amount = (number as f64 * factor).min(i64::MAX as f64);
            let amount = if factor == 1.0 {
                number.unsigned_abs()
            } else {
                amount as u64
            };
            let count = match value.count {
                Some(of) => column(of).unsigned_abs(),
                None if value.period > 1 => (amount + value.period / 2) / value.period,
                None => 1,
            };
            decoded.row(Row {
                group: 0,
                thread: owner.thread,
                stack,
                span: owner.span,
                kind,
                // Elapsed time has states of its own.
                state: match (owner.state, value.state) {
                    (Some(state @ ("waiting" | "on")), "on" | "waiting") => state,
                    (Some(state @ ("sleeping" | "system")), "running") => state,
                    (_, "running") if is_kernel => "system",
                    (_, state) => state,
                },
                gil: owner.gil,
                ts,
                value: amount,
                count: count.max(1),
                period: value.period,
            });
        }
    }
    Ok(())
}

/// A sample of the message.
#[derive(Default)]
struct Record<'a> {
    locations: Vec<u64>,
    values: Vec<i64>,
    labels: Vec<&'a [u8]>,
}

impl<'a> Record<'a> {
    fn read(&mut self, message: &'a [u8]) -> Result<(), Malformed> {
        self.locations.clear();
        self.values.clear();
        self.labels.clear();
        for field in Fields::new(message) {
            let field = field?;
            match field.number {
                1 => self.locations.extend(field.value.numbers()),
                2 => (self.values).extend(field.value.numbers().map(u64::cast_signed)),
                3 => self.labels.push(field.value.bytes()),
                _ => {}
            }
        }
        Ok(())
    }
}

/// Whose sample it is.
#[derive(Clone, Copy, Default)]
struct Owner {
    thread: u32,
    span: u32,
    state: Option<&'static str>,
    gil: &'static str,
}

/// The owners of sets of labels.
#[derive(Default)]
struct Labels<'a> {
    known: FxHashMap<Vec<&'a [u8]>, Owner>,
    threads: Numbers<Thread>,
    spans: Numbers<String>,
    previous: Vec<&'a [u8]>,
    of_previous: Owner,
}

impl<'a> Labels<'a> {
    fn of(&mut self, tables: &Tables<'a>, labels: &[&'a [u8]], decoded: &mut Decoded<'a>) -> Owner {
        if labels.is_empty() {
            return Owner::default();
        }
        if labels == &self.previous[..] {
            return self.of_previous;
        }
        let found = match self.known.get(labels) {
            Some(&found) => found,
            None => {
                let found = self.make(tables, labels, decoded);
                self.known.insert(labels.to_vec(), found);
                found
            }
        };
        self.previous = labels.to_vec();
        self.of_previous = found;
        found
    }

    fn make(
        &mut self,
        tables: &Tables<'a>,
        labels: &[&'a [u8]],
        decoded: &mut Decoded<'a>,
    ) -> Owner {
        let mut owner = Owner::default();
        let mut thread = Thread::default();
        let mut names: Vec<String> = Vec::new();
        let mut attributes: Vec<(&str, &str)> = Vec::new();
        let mut own: Vec<(&str, &str)> = Vec::new();
        for message in labels {
            let (mut key, mut text, mut number) = (0, 0, 0);
            for field in Fields::new(message).flatten() {
                match field.number {
                    1 => key = field.value.number(),
                    2 => text = field.value.number(),
                    3 => number = field.value.number(),
                    _ => {}
                }
            }
            let (key, text) = (tables.text(key), tables.text(text));
            let number = || match text {
                "" => u32::try_from(number).unwrap_or(0),
                text => text.trim().parse().unwrap_or(0),
            };
            let plain = key.to_ascii_lowercase().replace(['-', ' ', '.'], "_");
            match &plain[..] {
                "pid" | "process_id" => thread.pid = number(),
                "tid" | "thread_id" | "threadid" | "thread_native_id" | "native_thread_id"
                | "os_thread_id" => thread.tid = number(),
                "process" | "process_name" | "process_executable_name" => {
                    text.clone_into(&mut thread.command);
                }
                "thread" | "thread_name" | "threadname" => text.clone_into(&mut thread.name),
                "comm" | "thread_comm" | "task_comm" if thread.name.is_empty() => {
                    text.clone_into(&mut thread.name);
                }
                "span" => names.push(escaped(text)),
                _ if key.starts_with("span.") => own.push((&key[5..], text)),
                // Each is another one: the sizes of blocks, the numbers of requests.
                "kind" if matches!(text, "python" | "native" | "system" | "wait") => {
                    owner.state = owner.state.or((text == "system").then_some("system"));
                }
                "state" if state_of(text).is_some() => owner.state = state_of(text),
                "gil" => owner.gil = gil_of(text),
                "thread_number" | "task_number" | "task" | "bytes" | "request" | "alignment"
                | "comm" | "thread_comm" | "task_comm" => {}
                plain if plain == "id" || plain.ends_with("_id") || text.is_empty() => {
                    decoded.leave_out("labels of samples with numbers", 1);
                }
                _ => attributes.push((key, text)),
            }
        }
        let span = match names.is_empty() {
            true if attributes.is_empty() => String::new(),
            true => span_of(&mut attributes),
            false => {
                // Ours stand with the innermost first.
                names.reverse();
                let mut path = names.join("/");
                own.sort_unstable();
                for (at, (key, value)) in own.iter().enumerate() {
                    path.push(if at == 0 { '?' } else { '&' });
                    path += &format!("{}={}", escaped(key), escaped(value));
                }
                path
            }
        };
        let span = match span.is_empty() {
            true => 0,
            false => {
                let (number, is_new) = self.spans.of(span.clone());
                if is_new {
                    decoded.spans.push(span);
                }
                number + 1
            }
        };
        if thread == Thread::default() {
            return Owner { span, ..owner };
        }
        let (number, is_new) = self.threads.of(thread.clone());
        if is_new {
            decoded.groups[0].threads.push(thread);
        }
        Owner {
            thread: number + 1,
            span,
            ..owner
        }
    }
}
