//! Version 4: `meta.db` has the names and the tree, `profile.db` the values of each thread.
//!
//! ```text
//! HPCTOOLKIT meta 4 0   size, place: eight sections     sizes of rows stand before each table
//! HPCTOOLKIT prof 4 0   size, place: profiles, ids
//! context:  size and place of those inside (16)  number (4)  flags  relation  kind  words (1 each)
//!           propagation (2)  …  words: function, file and line, module and offset
//! profile:  count and place of values (16)  count and place of contexts (16)  ids (8)  flags (4)
//! ```
//!
//! Values of the scope `execution` have those of the contexts inside in them. Those of the scope
//! `point` are of instructions, which the tree may lack.

use std::cell::Cell;
use std::fmt::Write as _;
use std::rc::Rc;

use memchr::memchr;
use profundo_model::{ModuleId, StackId};
use rustc_hash::{FxHashMap, FxHashSet};

use super::metric::{self, Metric};
use super::place::{Function, Names, Place, known};
use crate::encoding::cursor::Cursor;
use crate::quantities::call_values::CallValues;
use crate::{Builder, Error, Source, Warning, source};

const NAME: &str = "hpctoolkit";

/// The length of a context without its words.
const CONTEXT: usize = 32;

pub(super) fn is_start(start: &[u8]) -> bool {
    start.starts_with(b"HPCTOOLKITmeta\x04")
}

pub(super) fn fill(source: &Source<'_>, builder: &mut Builder) -> Result<(), Error> {
    let malformed = |what: &str| Error::Malformed {
        format: NAME,
        what: what.to_owned(),
    };
    let path = source.path;
    let path = path.ok_or_else(|| malformed("its values lie in profile.db, beside it"))?;
    let meta = Meta {
        bytes: source.bytes,
        left: Cell::new(source.bytes.len().saturating_mul(4)),
    };
    let metrics = meta.metrics().unwrap_or_default();
    if metrics.is_empty() {
        return Err(malformed("it has no metrics"));
    }
    let titles: Vec<Metric> = metrics.iter().map(|(metric, _)| metric.clone()).collect();
    let values = source::load_beside(&path.with_file_name("profile.db"))?;
    let mut used = FxHashSet::default();
    profiles(&values, |profile| {
        let ids = (0..profile.values.0).map_while(|value| profile.value(value));
        used.extend(ids.map(|(id, _)| id));
    });
    let has_values = |row: usize| metrics.get(row).is_some_and(|(_, id)| used.contains(id));
    let wanted = source.options.value.as_deref();
    let row = metric::choice(&titles, wanted, has_values)?;
    let Some((metric, id)) = metrics.get(row) else {
        return Err(malformed("it has no metrics"));
    };
    let contexts = meta.contexts(builder);
    let title = meta.section(0).and_then(|at| meta.text_at(at));
    let owners = Owners {
        title: title.unwrap_or_default().chars().take(256).collect(),
        kinds: meta.kinds().unwrap_or_default(),
    };
    let mut sums = CallValues::default();
    let damage = profiles(&values, |profile| {
        let added = profile.add(builder, &owners, &contexts, (*id, metric), &mut sums);
        if added.is_none() {
            builder.leave_out("threads", || format!("profile {}", profile.number));
        }
    });
    if damage {
        builder.warn(Warning::Damaged {
            offset: values.len() as u64,
            what: "profile.db is damaged".to_owned(),
        });
    }
    metric.finish(builder, sums);
    Ok(())
}

/// Reads a file beside the first one.
pub(super) fn read_member(bytes: &[u8]) {
    let mut builder = Builder::default();
    let meta = Meta {
        bytes,
        left: Cell::new(bytes.len()),
    };
    meta.contexts(&mut builder);
    let _ = (meta.kinds(), meta.metrics());
    let contexts = (1..64)
        .map(|id| {
            let (stack, around) = (None, id / 2);
            (id, Context { stack, around })
        })
        .collect();
    let metric = Metric::of("cycles");
    let mut sums = CallValues::default();
    let owners = Owners::default();
    profiles(bytes, |profile| {
        profile.add(&mut builder, &owners, &contexts, (0, &metric), &mut sums);
    });
}

/// A cursor at a place in a file.
fn cursor(bytes: &[u8], at: u64) -> Option<Cursor<'_>> {
    Some(Cursor::new(bytes.get(usize::try_from(at).ok()?..)?))
}

/// A cursor at a row of a table.
fn row(bytes: &[u8], table: u64, number: u64, length: u64) -> Option<Cursor<'_>> {
    cursor(bytes, table.checked_add(number.checked_mul(length)?)?)
}

struct Meta<'a> {
    bytes: &'a [u8],
    /// The bytes that may still be read: rows and texts may lie in each other.
    left: Cell<usize>,
}

impl<'a> Meta<'a> {
    /// The place of a section.
    fn section(&self, number: u64) -> Option<u64> {
        let mut header = row(self.bytes, 16, number, 16)?;
        header.u64()?;
        header.u64()
    }

    fn cursor(&self, at: u64) -> Option<Cursor<'a>> {
        cursor(self.bytes, at)
    }

    /// Counts bytes that are read.
    fn spend(&self, length: usize) -> Option<()> {
        self.left.set(self.left.get().checked_sub(length)?);
        Some(())
    }

    /// The text at a place.
    fn text(&self, at: u64) -> Option<String> {
        if at == 0 {
            return None;
        }
        let bytes = self.bytes.get(usize::try_from(at).ok()?..)?;
        let text = bytes.get(..memchr(0, bytes)?)?;
        self.spend(text.len())?;
        Some(String::from_utf8_lossy(text).into_owned())
    }

    /// The text whose place is written at a place.
    fn text_at(&self, at: u64) -> Option<String> {
        self.text(self.cursor(at)?.u64()?)
    }

    /// The names of the numbers that threads have.
    fn kinds(&self) -> Option<Vec<String>> {
        let mut header = self.cursor(self.section(1)?)?;
        let (table, count) = (header.u64()?, header.byte()?);
        let names = (0..u64::from(count)).map_while(|number| {
            let at = row(self.bytes, table, number, 8)?.u64()?;
            self.text(at)
        });
        Some(names.collect())
    }

    /// The quantities, with the number of their values for a context and all inside.
    fn metrics(&self) -> Option<Vec<(Metric, u16)>> {
        /// The parts of a metric and of a scope that are read.
        const METRIC: usize = 26;
        const SCOPE: usize = 10;
        let mut header = self.cursor(self.section(2)?)?;
        let (table, count) = (header.u64()?, header.u32()?);
        let (length, scope_length) = (header.byte()?, header.byte()?);
        let metrics = (0..u64::from(count)).map_while(|number| {
            self.spend(METRIC)?;
            let mut metric = row(self.bytes, table, number, u64::from(length).max(1))?;
            let (title, scopes) = (metric.u64()?, metric.u64()?);
            metric.u64()?;
            let count = metric.u16()?;
            let rows = (0..u64::from(count)).take_while(|_| self.spend(SCOPE).is_some());
            let whole = rows.into_iter().find_map(|number| {
                let mut scope = row(self.bytes, scopes, number, u64::from(scope_length))?;
                let (place, id) = (scope.u64()?, scope.u16()?);
                let mut scope = self.cursor(place)?;
                let name = scope.u64()?;
                let is_whole = scope.byte()? == 2 || self.text(name)? == "execution";
                is_whole.then_some(id)
            });
            let metric = Metric::of(&self.text(title)?);
            Some(whole.map(|whole| (metric, whole)))
        });
        Some(metrics.flatten().collect())
    }

    /// The contexts by their numbers.
    fn contexts(&self, builder: &mut Builder) -> FxHashMap<u32, Context> {
        let mut tree = Tree {
            meta: self,
            names: Names::default(),
            functions: FxHashMap::default(),
            files: FxHashMap::default(),
            contexts: FxHashMap::default(),
            left: Vec::new(),
            seen: FxHashSet::default(),
            outside: None,
        };
        if tree.read(builder).is_none() {
            builder.warn(Warning::Damaged {
                offset: self.bytes.len() as u64,
                what: "the tree of contexts is cut".to_owned(),
            });
        }
        tree.contexts
    }
}

/// A context of the tree.
#[derive(Debug, Clone, Copy)]
struct Context {
    stack: Option<StackId>,
    /// The number of the one around it, or 0.
    around: u32,
}

struct Tree<'m, 'a> {
    meta: &'m Meta<'a>,
    names: Names,
    functions: FxHashMap<u64, (usize, Option<usize>)>,
    files: FxHashMap<u64, Option<usize>>,
    contexts: FxHashMap<u32, Context>,
    /// The sizes and places of contexts that are still to be read, inside a place with a
    /// number.
    left: Vec<(u64, u64, Place, u32)>,
    /// The places of those that were read.
    seen: FxHashSet<u64>,
    /// The start of the threads that are read.
    outside: Option<StackId>,
}

impl Tree<'_, '_> {
    fn read(&mut self, builder: &mut Builder) -> Option<()> {
        let mut header = self.meta.cursor(self.meta.section(3)?)?;
        let (table, count, length) = (header.u64()?, header.u16()?, header.byte()?);
        for number in 0..u64::from(count) {
            let mut entry = row(self.meta.bytes, table, number, u64::from(length))?;
            let (size, place) = (entry.u64()?, entry.u64()?);
            let id = entry.u32()?;
            let kind = entry.u16()?;
            let name = match kind {
                0 => "<unknown caller>",
                1 => "<main thread>",
                _ => "<thread>",
            };
            let function = self.add_function(name.into(), None);
            let outside = Place::default().call(builder, &mut self.names, function, None);
            self.outside = outside.stack(builder, &mut self.names);
            let stack = self.outside;
            self.contexts.insert(id, Context { stack, around: 0 });
            // The start of a thread is no function, but where nothing else is known.
            self.left.push((size, place, Place::default(), id));
            self.descend(builder)?;
        }
        Some(())
    }

    /// Reads the contexts that are left.
    fn descend(&mut self, builder: &mut Builder) -> Option<()> {
        while let Some((size, place, around, outer)) = self.left.pop() {
            let end = place.saturating_add(size);
            let mut at = place;
            while at < end && self.seen.insert(at) {
                at = self.context(builder, at, (around, outer))?;
            }
        }
        Some(())
    }

    fn add_function(&mut self, name: Rc<str>, module: Option<ModuleId>) -> usize {
        self.names.functions.push(Function { name, module });
        self.names.functions.len() - 1
    }

    /// Reads a context, and gives the place of the next one.
    fn context(
        &mut self,
        builder: &mut Builder,
        at: u64,
        (around, outer): (Place, u32),
    ) -> Option<u64> {
        self.meta.spend(CONTEXT)?;
        let mut context = self.meta.cursor(at)?;
        let (size, inside) = (context.u64()?, context.u64()?);
        let id = context.u32()?;
        let flags = context.byte()?;
        // How it is called, if at all.
        context.byte()?;
        let (kind, words) = (context.byte()?, context.byte()?);
        context.take(8)?;
        let mut function = None;
        if flags & 1 != 0 {
            function = Some(context.u64()?);
        }
        let (mut file, mut line) = (None, 0);
        if flags & 2 != 0 {
            file = self.file(context.u64()?);
            line = context.u32()?;
        }
        let place = match kind {
            0 => {
                let (function, file) = match function.and_then(|at| self.function(builder, at)) {
                    Some(known) => known,
                    None => (self.unknown(), None),
                };
                around.call(builder, &mut self.names, function, file)
            }
            2 => around.at(file, line),
            _ => around,
        };
        let stack = place.stack(builder, &mut self.names).or(self.outside);
        self.contexts.insert(
            id,
            Context {
                stack,
                around: outer,
            },
        );
        if size > 0 {
            self.left.push((size, inside, place, id));
        }
        at.checked_add(CONTEXT as u64 + 8 * u64::from(words))
    }

    fn unknown(&mut self) -> usize {
        if let Some(&(row, _)) = self.functions.get(&0) {
            return row;
        }
        let row = self.add_function("<unknown function>".into(), None);
        self.functions.insert(0, (row, None));
        row
    }

    /// The function at a place, and its file.
    fn function(&mut self, builder: &mut Builder, at: u64) -> Option<(usize, Option<usize>)> {
        if let Some(&known) = self.functions.get(&at) {
            return Some(known);
        }
        let mut cursor = self.meta.cursor(at)?;
        let (name, module) = (cursor.u64()?, cursor.u64()?);
        let (offset, file) = (cursor.u64()?, cursor.u64()?);
        let path = (module != 0)
            .then(|| self.meta.text_at(module.saturating_add(8)))
            .flatten();
        let name = self.meta.text(name).unwrap_or_else(|| {
            let mut name = path.clone().unwrap_or_else(|| "<unknown>".to_owned());
            let _ = write!(name, "+0x{offset:x}");
            name
        });
        let path = path.as_deref().map(known).filter(|path| !path.is_empty());
        let module = path.map(|path| builder.module(path));
        let file = self.file(file);
        let row = self.add_function(name.into(), module);
        self.functions.insert(at, (row, file));
        Some((row, file))
    }

    fn file(&mut self, at: u64) -> Option<usize> {
        if at == 0 {
            return None;
        }
        if let Some(&known) = self.files.get(&at) {
            return known;
        }
        let path = self.meta.text_at(at.checked_add(8)?);
        let path = path.as_deref().map(known).filter(|path| !path.is_empty());
        let row = path.map(|path| {
            self.names.files.push(path.to_owned());
            self.names.files.len() - 1
        });
        self.files.insert(at, row);
        row
    }
}

/// The names for processes and threads.
#[derive(Debug, Default)]
struct Owners {
    title: String,
    kinds: Vec<String>,
}

/// The values of a thread.
struct Profile<'a> {
    bytes: &'a [u8],
    /// The place among the others.
    number: u64,
    /// The place of its numbers of rank, thread and the like.
    ids: u64,
    values: (u64, u64),
    contexts: (u64, u64),
}

/// Reads the threads of `profile.db`, and says whether it is damaged.
fn profiles(bytes: &[u8], mut each: impl FnMut(&Profile<'_>)) -> bool {
    let mut read = || -> Option<()> {
        if !bytes.starts_with(b"HPCTOOLKITprof\x04") {
            return None;
        }
        let mut header = cursor(bytes, 16)?;
        header.u64()?;
        let mut header = cursor(bytes, header.u64()?)?;
        let (table, count) = (header.u64()?, header.u32()?);
        let length = u64::from(header.byte()?);
        /// The part of a row that is read. No two rows, and no values of two threads, are in one
        /// place.
        const ROW: u64 = 44;
        let mut left = bytes.len() as u64;
        for number in 0..u64::from(count) {
            let mut profile = row(bytes, table, number, length.max(ROW))?;
            let values = (profile.u64()?, profile.u64()?);
            let contexts = (u64::from(profile.u32()?), {
                profile.u32()?;
                profile.u64()?
            });
            let ids = profile.u64()?;
            let is_summary = profile.u32()? & 1 != 0;
            let size = (contexts.0.checked_mul(12)?).checked_add(values.0.checked_mul(10)?)?;
            left = left.checked_sub(size)?;
            if !is_summary && values.0 > 0 {
                each(&Profile {
                    bytes,
                    number,
                    ids,
                    values,
                    contexts,
                });
            }
        }
        Some(())
    };
    read().is_none()
}

impl Profile<'_> {
    /// The number of a metric, and a value of it.
    fn value(&self, number: u64) -> Option<(u16, f64)> {
        let mut value = row(self.bytes, self.values.1, number, 10)?;
        Some((value.u16()?, f64::from_bits(value.u64()?)))
    }

    fn add(
        &self,
        builder: &mut Builder,
        owners: &Owners,
        contexts: &FxHashMap<u32, Context>,
        (id, metric): (u16, &Metric),
        sums: &mut CallValues,
    ) -> Option<()> {
        let (mut pid, mut tid, mut name) = (None, None, String::new());
        let mut ids = cursor(self.bytes, self.ids)?;
        let count = ids.u16()?;
        ids.take(6)?;
        /// More numbers than a thread has: its node, rank, thread and the like.
        const MOST: u16 = 64;
        for _ in 0..count.min(MOST) {
            let kind = ids.byte()?;
            ids.take(3)?;
            let logical = ids.u32()?;
            ids.u64()?;
            let kind = owners.kinds.get(usize::from(kind)).map(String::as_str);
            match kind {
                Some("RANK") => pid = Some(logical),
                Some("THREAD") => tid = Some(u64::from(logical)),
                Some("NODE") | None => {}
                Some(kind) if name.len() < 256 => {
                    let _ = write!(
                        name,
                        "{}{kind} {logical}",
                        if name.is_empty() { "" } else { " " }
                    );
                }
                Some(_) => {}
            }
        }
        let command = match pid {
            Some(rank) => format!("{} rank {rank}", owners.title),
            None => owners.title.clone(),
        };
        builder.process(pid.unwrap_or(0), command.trim());
        let other = (1 << 32) + self.number;
        let tid = tid.filter(|_| name.is_empty()).unwrap_or(other);
        let thread = builder.thread(pid.unwrap_or(0), tid, &name);
        let mut own: FxHashMap<u32, f64> = FxHashMap::default();
        let mut values = Vec::new();
        let mut last = 0;
        for number in 0..self.contexts.0 {
            let mut index = row(self.bytes, self.contexts.1, number, 12)?;
            let (context, start) = (index.u32()?, index.u64()?);
            // Each value is of one context.
            if std::mem::replace(&mut last, start) > start {
                return None;
            }
            let end = match number + 1 < self.contexts.0 {
                true => {
                    index.u32()?;
                    index.u64()?
                }
                false => self.values.0,
            };
            for value in start..end.min(self.values.0) {
                let (metric_id, value) = self.value(value)?;
                // Context 0 is around all others, and has no values of its own.
                if metric_id != id || context == 0 {
                    continue;
                }
                if let Some(known) = contexts.get(&context) {
                    values.push((context, known.stack));
                    *own.entry(context).or_insert(0.0) += value;
                    *own.entry(known.around).or_insert(0.0) -= value;
                }
            }
        }
        for (context, stack) in values {
            let value = own.get(&context).copied().unwrap_or(0.0);
            if let (Some(stack), 1..) = (stack, metric.weight(value)) {
                sums.add(thread, stack, metric.weight(value), 0);
            }
        }
        Some(())
    }
}
