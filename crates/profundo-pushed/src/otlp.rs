//! A request of OpenTelemetry's profiles, `v1development` since protocol 1.9, read into rows.
//!
//! ```text
//! 1 resource_profiles: 1 resource, 2 scope_profiles: 2 profiles
//! 2 dictionary: 1 mappings 2 locations 3 functions 5 strings 6 attributes 7 stacks
//! ```

use profundo_import::protobuf::{Fields, Malformed, Value};
use profundo_store::{Frame, Identity, Thread};
use rustc_hash::FxHashMap;

use crate::Decoded;
use crate::Error;
use crate::identity::{label, named};
use crate::rows::{
    DEEPEST, Group, MOST_ROWS, Numbers, Row, build_id_of, escaped, gil_of, kind_of, span_of,
    state_of, text_of,
};
use crate::values::{Named, choose};

pub(crate) const WHAT: &str = "request of OTLP profiles";
const KERNEL: &str = "[kernel]";

#[derive(Default)]
struct Dictionary<'a> {
    mappings: Vec<&'a [u8]>,
    locations: Vec<&'a [u8]>,
    functions: Vec<&'a [u8]>,
    strings: Vec<&'a str>,
    attributes: Vec<&'a [u8]>,
    stacks: Vec<&'a [u8]>,
}

impl<'a> Dictionary<'a> {
    fn text(&self, number: u64) -> &'a str {
        let at = usize::try_from(number).ok();
        at.and_then(|at| self.strings.get(at))
            .map_or("", |text| text)
    }

    /// A row of a table.
    fn row(table: &[&'a [u8]], number: u64) -> &'a [u8] {
        let at = usize::try_from(number).ok();
        at.and_then(|at| table.get(at)).map_or(&[], |row| row)
    }

    /// The key and the value of an attribute.
    fn attribute(&self, number: u64) -> (&'a str, Any<'a>) {
        let (mut key, mut value) = ("", Any::default());
        for field in Fields::new(Self::row(&self.attributes, number)).flatten() {
            match field.number {
                1 => key = self.text(field.value.number()),
                2 => value = self.any(field.value.bytes()),
                _ => {}
            }
        }
        (key, value)
    }

    /// `AnyValue`: a text or a number; others are not used.
    fn any(&self, message: &'a [u8]) -> Any<'a> {
        let mut any = Any::default();
        for field in Fields::new(message).flatten() {
            match field.number {
                1 => any.text = text_of(field.value.bytes()),
                3 => any.number = Some(field.value.number().cast_signed()),
                8 => any.text = self.text(field.value.number()),
                _ => {}
            }
        }
        any
    }

    fn named(&self, message: &[u8]) -> Named<'a> {
        let mut named = Named::default();
        for field in Fields::new(message).flatten() {
            match field.number {
                1 => named.name = self.text(field.value.number()),
                2 => named.unit = self.text(field.value.number()),
                _ => {}
            }
        }
        named
    }
}

#[derive(Clone, Copy, Default)]
struct Any<'a> {
    text: &'a str,
    number: Option<i64>,
}

impl Any<'_> {
    fn to_text(self) -> String {
        match self.number {
            Some(number) => number.to_string(),
            None => self.text.to_owned(),
        }
    }
}

/// Whose samples they are.
#[derive(Debug, Clone, Default)]
struct About {
    identity: Identity,
    thread: Thread,
    /// How much the command says: a command line says more than a name.
    rank: usize,
    state: Option<&'static str>,
    gil: &'static str,
    span: String,
    is_sample: bool,
}

/// Names of a process, the best last.
const COMMANDS: [&str; 4] = [
    "process.executable.name",
    "process.executable.path",
    "process.command",
    "process.command_line",
];

impl About {
    /// Takes an attribute. Returns it where it is one of the program's own.
    fn take<'k>(&mut self, key: &'k str, value: Any<'k>) -> Option<(&'k str, &'k str)> {
        let number = || value.number.and_then(|number| u32::try_from(number).ok());
        match key {
            "process.pid" => self.thread.pid = number().unwrap_or(0),
            "thread.id" => self.thread.tid = number().unwrap_or(0),
            "thread.name" => value.text.clone_into(&mut self.thread.name),
            "process.runtime.name" => value.text.clone_into(&mut self.thread.runtime),
            "process.runtime.version" if !self.thread.runtime.is_empty() => {
                self.thread.runtime += " ";
                self.thread.runtime += value.text;
            }
            "profundo.state" => {
                self.state = state_of(value.text);
            }
            "profundo.gil" => self.gil = gil_of(value.text),
            "profundo.span" => self.span = escaped(value.text),
            "cpu.logical_number" => {}
            _ if key.starts_with("profundo.task.") => {}
            key => {
                if let Some(rank) = COMMANDS.iter().position(|name| *name == key) {
                    if rank + 1 > self.rank {
                        self.rank = rank + 1;
                        value.text.clone_into(&mut self.thread.command);
                    }
                    return None;
                }
                // What stands at samples and is no place is of the program's work.
                let is_place = !self.is_sample
                    || ["service.", "host.", "container.", "k8s.", "deployment."]
                        .iter()
                        .any(|place| key.starts_with(place));
                if !is_place {
                    return value.number.is_none().then_some((key, value.text));
                }
                label(&mut self.identity, key, &value.to_text());
            }
        }
        None
    }
}

pub(crate) fn decode<'a>(message: &'a [u8], decoded: &mut Decoded<'a>) -> Result<(), Error> {
    let read = read(message, decoded);
    read.map_err(|at| Error::malformed(WHAT, format!("byte {} is damaged", at.offset)))
}

fn read<'a>(message: &'a [u8], decoded: &mut Decoded<'a>) -> Result<(), Malformed> {
    let mut dictionary = Dictionary::default();
    let mut resources = Vec::new();
    for field in Fields::new(message) {
        let field = field?;
        match field.number {
            1 => resources.push(field.value.bytes()),
            2 => {
                for (count, field) in Fields::new(field.value.bytes()).enumerate() {
                    let field = field?;
                    if count > MOST_ROWS {
                        return Err(Malformed {
                            offset: 0,
                            is_cut: false,
                        });
                    }
                    let bytes = field.value.bytes();
                    match field.number {
                        1 => dictionary.mappings.push(bytes),
                        2 => dictionary.locations.push(bytes),
                        3 => dictionary.functions.push(bytes),
                        5 => dictionary.strings.push(text_of(bytes)),
                        6 => dictionary.attributes.push(bytes),
                        7 => dictionary.stacks.push(bytes),
                        _ => {}
                    }
                }
            }
            _ => {}
        }
    }
    let mut reading = Reading {
        locations: vec![None; dictionary.locations.len()],
        stacks: vec![None; dictionary.stacks.len()],
        dictionary: &dictionary,
        frames: Vec::new(),
        groups: Numbers::default(),
        threads: FxHashMap::default(),
        spans: Numbers::default(),
        owners: FxHashMap::default(),
    };
    for resource in resources {
        reading.resource(resource, decoded)?;
    }
    Ok(())
}

/// A stack, and whether its leaf is the kernel's.
type Known = Option<(u32, bool)>;

struct Reading<'d, 'a> {
    dictionary: &'d Dictionary<'a>,
    /// By location, its frames, the outermost first.
    locations: Vec<Option<(u32, u32, bool)>>,
    stacks: Vec<Known>,
    frames: Vec<u32>,
    groups: Numbers<String>,
    /// Places in the threads of a group.
    threads: FxHashMap<(u32, Thread), u32>,
    spans: Numbers<String>,
    /// The owners of samples by their attributes, of one resource.
    owners: FxHashMap<Vec<u64>, Owner>,
}

#[derive(Clone, Copy)]
struct Owner {
    group: u32,
    thread: u32,
    span: u32,
    state: Option<&'static str>,
    gil: &'static str,
}

impl<'a> Reading<'_, 'a> {
    fn resource(&mut self, message: &'a [u8], decoded: &mut Decoded<'a>) -> Result<(), Malformed> {
        let mut about = About::default();
        self.owners.clear();
        let mut profiles = Vec::new();
        for field in Fields::new(message) {
            let field = field?;
            match field.number {
                1 => self.attributes(field.value.bytes(), &mut about)?,
                2 => {
                    for field in Fields::new(field.value.bytes()) {
                        let field = field?;
                        if field.number == 2 {
                            profiles.push(field.value.bytes());
                        }
                    }
                }
                _ => {}
            }
        }
        about.is_sample = true;
        for profile in profiles {
            self.profile(profile, &about, decoded)?;
        }
        Ok(())
    }

    /// The attributes of a resource.
    fn attributes(&self, message: &'a [u8], about: &mut About) -> Result<(), Malformed> {
        for field in Fields::new(message) {
            let field = field?;
            if field.number != 1 {
                continue;
            }
            let (mut key, mut value) = ("", Any::default());
            for field in Fields::new(field.value.bytes()) {
                let field = field?;
                match field.number {
                    1 => key = text_of(field.value.bytes()),
                    2 => value = self.dictionary.any(field.value.bytes()),
                    // Since protocol 1.10, in place of the key.
                    3 => key = self.dictionary.text(field.value.number()),
                    _ => {}
                }
            }
            about.take(key, value);
        }
        Ok(())
    }

    fn profile(
        &mut self,
        message: &'a [u8],
        about: &About,
        decoded: &mut Decoded<'a>,
    ) -> Result<(), Malformed> {
        let mut samples = Vec::new();
        let (mut of, mut period_type) = (Named::default(), Named::default());
        let (mut time, mut period) = (0, 0);
        for field in Fields::new(message) {
            let field = field?;
            match field.number {
                1 => of = self.dictionary.named(field.value.bytes()),
                2 => samples.push(field.value.bytes()),
                3 => time = field.value.number(),
                5 => period_type = self.dictionary.named(field.value.bytes()),
                6 => period = field.value.number(),
                _ => {}
            }
        }
        let (values, left_out) = choose(&[of], (period > 0).then_some((period_type, period)));
        for name in left_out {
            let name = if name.is_empty() {
                "values without a type"
            } else {
                name
            };
            decoded.leave_out(name, samples.len() as u64);
        }
        let Some(value) = values.first().copied() else {
            return Ok(());
        };
        let millis = |nanos: u64| (nanos > 0).then(|| (nanos / 1_000_000).cast_signed());
        let begin = decoded.time(millis(time));
        for sample in samples {
            let mut record = Record::default();
            record.read(sample)?;
            let (stack, is_kernel) = self.stack(record.stack, decoded)?;
            let owner = self.owner(&record.attributes, about, decoded);
            let mut row = Row {
                group: owner.group,
                thread: owner.thread,
                stack,
                span: owner.span,
                kind: value.kind,
                state: match (owner.state, value.state) {
                    (Some(state), _) => state,
                    (None, "running") if is_kernel => "system",
                    (None, state) => state,
                },
                gil: owner.gil,
                ts: begin,
                value: 0,
                count: 0,
                period: value.period,
            };
            let mut add = |ts: i64, number: u64| {
                // A number below zero is none.
                if number == 0 || number > i64::MAX.unsigned_abs() {
                    return;
                }
                row.ts = ts;
                row.value = match value.factor {
                    1.0 => number,
                    factor => (number as f64 * factor).min(i64::MAX as f64) as u64,
                };
                row.count = match value.count {
                    Some(_) => number,
                    None if value.period > 1 => (row.value + value.period / 2) / value.period,
                    None => 1,
                };
                row.count = row.count.max(1);
                decoded.row(row);
            };
            let (at, right) = (begin, (begin - 600_000)..(begin + 3_600_000));
            let ts = |nanos: u64| millis(nanos).filter(|ts| right.contains(ts)).unwrap_or(at);
            let times = times(record.times);
            match (&record.values[..], times.len()) {
                (values, 0) => values.iter().for_each(|&number| add(at, number)),
                // Without values, each time is one event.
                ([], _) => times.for_each(|time| add(ts(time), 1)),
                ([number], 1..) => {
                    let mut times = times;
                    add(times.next().map_or(at, ts), *number);
                }
                (values, _) => {
                    let all = values
                        .iter()
                        .zip(times.map(Some).chain(std::iter::repeat(None)));
                    all.for_each(|(&number, time)| add(time.map_or(at, ts), number));
                }
            }
        }
        Ok(())
    }

    fn stack(&mut self, number: u64, decoded: &mut Decoded<'a>) -> Result<(u32, bool), Malformed> {
        let place = usize::try_from(number)
            .ok()
            .filter(|&at| at < self.stacks.len());
        if let Some(known) = place.and_then(|place| self.stacks[place]) {
            return Ok(known);
        }
        let mut locations: Vec<u64> = Vec::new();
        for field in Fields::new(Dictionary::row(&self.dictionary.stacks, number)) {
            let field = field?;
            if field.number == 1 {
                locations.extend(field.value.numbers());
            }
        }
        let mut frames: Vec<u32> = Vec::new();
        let mut is_kernel = false;
        for &location in locations.iter().rev() {
            let (start, end, kernel) = self.location(location, decoded)?;
            let end = end.min(start + DEEPEST as u32);
            frames.extend_from_slice(&self.frames[start as usize..end as usize]);
            is_kernel = kernel;
            if frames.len() > DEEPEST {
                break;
            }
        }
        let known = (decoded.stack(&frames), is_kernel);
        if let Some(place) = place {
            self.stacks[place] = Some(known);
        }
        Ok(known)
    }

    fn location(
        &mut self,
        number: u64,
        decoded: &mut Decoded<'a>,
    ) -> Result<(u32, u32, bool), Malformed> {
        let place = usize::try_from(number)
            .ok()
            .filter(|&at| at < self.locations.len());
        if let Some(known) = place.and_then(|place| self.locations[place]) {
            return Ok(known);
        }
        let dictionary = self.dictionary;
        let (mut mapping, mut address, mut kind) = (0, 0, "");
        let mut lines = Vec::new();
        for field in Fields::new(Dictionary::row(&dictionary.locations, number)) {
            let field = field?;
            match field.number {
                1 => mapping = field.value.number(),
                2 => address = field.value.number(),
                3 => lines.push(field.value.bytes()),
                4 => {
                    for attribute in field.value.numbers() {
                        if let ("profile.frame.type", value) = dictionary.attribute(attribute) {
                            kind = value.text;
                        }
                    }
                }
                _ => {}
            }
        }
        let mapping = self.mapping(mapping)?;
        let is_kernel =
            kind == "kernel" || mapping.path.starts_with("[kernel") || address >= 1 << 63;
        let common = Frame {
            module: if is_kernel { KERNEL } else { mapping.path },
            build_id: mapping.build_id,
            ..Frame::default()
        };
        let start = self.frames.len() as u32;
        let count = lines.len();
        // The function itself stands last, and is the outermost.
        for (place, line) in lines.into_iter().enumerate().rev() {
            let (mut function, mut row, mut column) = (0, 0, 0);
            for field in Fields::new(line) {
                let field = field?;
                match field.number {
                    1 => function = field.value.number(),
                    2 => row = field.value.number(),
                    3 => column = field.value.number(),
                    _ => {}
                }
            }
            let (mut name, mut system, mut file) = ("", "", "");
            for field in Fields::new(Dictionary::row(&dictionary.functions, function)) {
                let field = field?;
                match field.number {
                    1 => name = dictionary.text(field.value.number()),
                    2 => system = dictionary.text(field.value.number()),
                    3 => file = dictionary.text(field.value.number()),
                    _ => {}
                }
            }
            let function = if name.is_empty() { system } else { name };
            let is_longer = system != function && system.contains(['(', '<']);
            self.frames.push(decoded.frame(Frame {
                kind: match kind {
                    _ if is_kernel => "kernel",
                    "cpython" => "python",
                    "v8js" => "javascript",
                    "rust" => "rust",
                    _ => kind_of(function, file),
                },
                inlined: place + 1 < count,
                function,
                signature: if is_longer { system } else { "" },
                file,
                line: i32::try_from(row).unwrap_or(0),
                column: i32::try_from(column).unwrap_or(0),
                ..common
            }));
        }
        if count == 0 {
            self.frames.push(decoded.frame(Frame {
                kind: if is_kernel { "kernel" } else { "native" },
                address: address.wrapping_sub(mapping.moved).cast_signed(),
                ..common
            }));
        }
        let known = (start, self.frames.len() as u32, is_kernel);
        if let Some(place) = place {
            self.locations[place] = Some(known);
        }
        Ok(known)
    }

    fn mapping(&self, number: u64) -> Result<Mapped<'a>, Malformed> {
        let dictionary = self.dictionary;
        let mut mapped = Mapped::default();
        let (mut start, mut offset) = (0_u64, 0);
        for field in Fields::new(Dictionary::row(&dictionary.mappings, number)) {
            let field = field?;
            match field.number {
                1 => start = field.value.number(),
                3 => offset = field.value.number(),
                4 => mapped.path = dictionary.text(field.value.number()),
                5 => {
                    for attribute in field.value.numbers() {
                        let (key, value) = dictionary.attribute(attribute);
                        if key == "process.executable.build_id.gnu" {
                            mapped.build_id = build_id_of(value.text);
                        }
                    }
                }
                _ => {}
            }
        }
        if start > 0 {
            mapped.moved = start.wrapping_sub(offset);
        }
        Ok(mapped)
    }

    fn owner(&mut self, attributes: &[u64], about: &About, decoded: &mut Decoded<'a>) -> Owner {
        if let Some(&known) = self.owners.get(attributes) {
            return known;
        }
        let mut about = about.clone();
        let mut own = Vec::new();
        for &attribute in attributes {
            let (key, value) = self.dictionary.attribute(attribute);
            own.extend(about.take(key, value));
        }
        if about.span.is_empty() && !own.is_empty() {
            about.span = span_of(&mut own);
        }
        let identity = named(about.identity);
        let (group, is_new) = self.groups.of(format!("{identity:?}"));
        if is_new {
            decoded.groups.push(Group {
                identity,
                threads: Vec::new(),
            });
        }
        let threads = &mut decoded.groups[group as usize].threads;
        let key = (group, about.thread);
        let thread = match self.threads.get(&key) {
            Some(&known) => known,
            None => {
                threads.push(key.1.clone());
                let place = (threads.len() - 1) as u32;
                self.threads.insert(key, place);
                place
            }
        };
        let span = match about.span.is_empty() {
            true => 0,
            false => {
                let (number, is_new) = self.spans.of(about.span.clone());
                if is_new {
                    decoded.spans.push(about.span);
                }
                number + 1
            }
        };
        let owner = Owner {
            group,
            thread,
            span,
            state: about.state,
            gil: about.gil,
        };
        self.owners.insert(attributes.to_vec(), owner);
        owner
    }
}

#[derive(Clone, Copy, Default)]
struct Mapped<'a> {
    path: &'a str,
    build_id: &'a str,
    /// The number to subtract from addresses.
    moved: u64,
}

/// A sample of the message.
#[derive(Default)]
struct Record<'a> {
    stack: u64,
    attributes: Vec<u64>,
    values: Vec<u64>,
    /// The bytes of its times.
    times: &'a [u8],
}

impl<'a> Record<'a> {
    fn read(&mut self, message: &'a [u8]) -> Result<(), Malformed> {
        for field in Fields::new(message) {
            let field = field?;
            match (field.number, field.value) {
                (1, value) => self.stack = value.number(),
                (2, value) => self.attributes.extend(value.numbers()),
                (4, value) => self.values.extend(value.numbers()),
                (5, Value::Bytes(bytes)) => self.times = bytes,
                _ => {}
            }
        }
        Ok(())
    }
}

/// The numbers of eight bytes each.
fn times(bytes: &[u8]) -> impl ExactSizeIterator<Item = u64> + '_ {
    bytes.chunks_exact(8).map(|chunk| {
        let bytes = chunk.try_into().unwrap_or_default();
        u64::from_le_bytes(bytes)
    })
}
