//! The rows of a report as stacks.

use std::borrow::Cow;

use profundo_model::{Language, LocationId, ModuleId, StackId, State, ThreadId, generated_name};
use rustc_hash::FxHashMap;

use super::columns::{Columns, Label, Measured, number};
use crate::quantities::sums::Sums;
use crate::{Builder, Named, Unit, language_of};

/// Names in place of what is not known.
const UNKNOWN: &str = "[Unknown]";
/// The module of code that was made while the program ran.
const DYNAMIC: &str = "[Dynamic code]";

/// The rows so far.
pub(super) struct Rows {
    columns: Columns,
    value: Measured,
    unit: Unit,
    /// The row's callers in a call tree.
    open: Vec<Open>,
    threads: FxHashMap<String, ThreadId>,
    locations: FxHashMap<Box<[u8]>, (LocationId, State)>,
    key: Vec<u8>,
}

/// A row of a call tree whose callees come.
struct Open {
    indent: usize,
    /// `None`: the total of all.
    stack: Option<StackId>,
    thread: ThreadId,
    state: State,
    /// The weight with callees, where no own weight is known.
    total: Option<f64>,
    callees: f64,
}

impl Rows {
    pub(super) fn new(columns: Columns, value: Measured) -> Self {
        Self {
            columns,
            unit: value.unit(),
            value,
            open: Vec::new(),
            threads: FxHashMap::default(),
            locations: FxHashMap::default(),
            key: Vec::new(),
        }
    }

    /// Takes a row in. `None`: it is not as it should be.
    pub(super) fn row(
        &mut self,
        builder: &mut Builder,
        cells: &[Cow<'_, [u8]>],
        sums: &mut Sums,
    ) -> Option<()> {
        let cell = |at: Option<usize>| at.and_then(|at| cells.get(at)).map(|cell| &cell[..]);
        let weight = |at| number(cell(at)?, self.unit);
        let own = weight(self.value.own);
        let total = weight(self.value.total);
        if own.is_none() && total.is_none() && self.columns.label != Label::Stack {
            return None;
        }
        let label = cells.first()?;
        let indent = label.iter().take_while(|&&byte| byte == b' ').count();
        if label.trim_ascii().is_empty() {
            return None;
        }
        let thread = self.thread(builder, cells);
        if self.columns.label != Label::Stack {
            let (location, state) = self.location(builder, cells)?;
            let stack = builder.stack(None, location);
            // A flat report without own weights has the total as such.
            let weight = own.or(total).unwrap_or(0.0);
            sums.add(stack, thread, weight.round() as u64, state);
            return Some(());
        }
        self.close(indent, sums);
        let parent = self.open.last().and_then(|open| open.stack);
        let (stack, state) = match self.open.is_empty() && label.trim_ascii() == b"Total" {
            true => (None, State::Running),
            false => {
                let (location, state) = self.location(builder, cells)?;
                (Some(builder.stack(parent, location)), state)
            }
        };
        if let (Some(own), Some(stack)) = (own, stack) {
            sums.add(stack, thread, own.round() as u64, state);
        }
        let known = own.or(total);
        let total = total.filter(|_| own.is_none());
        if let (Some(total), Some(above)) = (total, self.open.last_mut()) {
            above.callees += total;
        }
        self.open.push(Open {
            indent,
            stack,
            thread,
            state,
            total,
            callees: 0.0,
        });
        // One without a number keeps its place in the tree.
        known.map(|_| ())
    }

    /// Ends the rows that are not above one of this indentation.
    fn close(&mut self, indent: usize, sums: &mut Sums) {
        while let Some(open) = self.open.pop_if(|open| open.indent >= indent) {
            if let (Some(total), Some(stack)) = (open.total, open.stack) {
                let own = (total - open.callees).round().max(0.0);
                sums.add(stack, open.thread, own as u64, open.state);
            }
        }
    }

    pub(super) fn finish(&mut self, sums: &mut Sums) {
        self.close(0, sums);
    }

    fn thread(&mut self, builder: &mut Builder, cells: &[Cow<'_, [u8]>]) -> ThreadId {
        let text = |at: Option<usize>| {
            let cell = at.and_then(|at| cells.get(at));
            cell.map_or(Cow::Borrowed(""), |cell| {
                String::from_utf8_lossy(cell.trim_ascii())
            })
        };
        let (thread, process) = (text(self.columns.thread), text(self.columns.process));
        if thread.is_empty() && process.is_empty() {
            return builder.only_thread();
        }
        let key = format!("{process}\0{thread}");
        if let Some(&id) = self.threads.get(&key) {
            return id;
        }
        let (command, pid) = named_number(&process);
        let pid = pid.and_then(|pid| u32::try_from(pid).ok()).unwrap_or(0);
        builder.process(pid, command);
        let (name, tid) = named_number(&thread);
        // Those without a number are beyond the numbers of all others.
        let tid = tid.unwrap_or((1 << 40) + self.threads.len() as u64);
        let id = builder.thread(pid, tid, name);
        self.threads.insert(key, id);
        id
    }

    fn location(
        &mut self,
        builder: &mut Builder,
        cells: &[Cow<'_, [u8]>],
    ) -> Option<(LocationId, State)> {
        let columns = &self.columns;
        let places = [
            columns.function,
            columns.full,
            columns.module,
            columns.file,
            columns.line,
        ];
        self.key.clear();
        let label = cells.first().filter(|_| columns.function.is_none());
        let parts = places.iter().map(|at| at.and_then(|at| cells.get(at)));
        for part in parts.chain([label]) {
            self.key
                .extend(part.map_or(&[][..], |cell| cell.trim_ascii()));
            self.key.push(0);
        }
        if let Some(&known) = self.locations.get(&self.key[..]) {
            return Some(known);
        }
        let text = |at: Option<usize>| match at.and_then(|at| cells.get(at)) {
            Some(cell) => match String::from_utf8_lossy(cell.trim_ascii()) {
                unknown if unknown == UNKNOWN => Cow::Borrowed(""),
                text => text,
            },
            None => Cow::Borrowed(""),
        };
        let (module, file) = (text(columns.module), text(columns.file));
        let function = match columns.function {
            Some(at) => text(Some(at)),
            None => text(Some(0)),
        };
        let line = place_of(&text(columns.line));
        let function = match (columns.label, columns.function) {
            // The file stands for its functions.
            (Label::Line, None) if !file.is_empty() => Cow::Owned(
                file.rsplit(['/', '\\'])
                    .next()
                    .unwrap_or_default()
                    .to_owned(),
            ),
            _ => function,
        };
        let signature = text(columns.full);
        let (module, state) = module_of(builder, &module);
        let is_dynamic = text(columns.module) == DYNAMIC;
        let generated = generated_name(&function);
        let is_generated = is_dynamic || generated.language == Language::Julia;
        let (function, signature, language) = match language_of(&function, &file) {
            // Compilers name their code in their own ways.
            Language::Native if is_generated => {
                (generated.function, generated.signature, generated.language)
            }
            Language::Julia => (generated.function, generated.signature, Language::Julia),
            language => (Cow::Borrowed(&function[..]), signature, language),
        };
        let frame = builder.frame(Named {
            function: &function,
            signature: if signature == function {
                ""
            } else {
                &signature
            },
            file: &file,
            line,
            language: Some(language),
            ..Named::default()
        });
        let location = builder.location_of(frame, module);
        let state = match self.value.state() {
            State::Running => state,
            waiting => waiting,
        };
        self.locations
            .insert(self.key[..].into(), (location, state));
        Some((location, state))
    }
}

/// The module of this name, and the state of a thread in it.
fn module_of(builder: &mut Builder, module: &str) -> (Option<ModuleId>, State) {
    match module {
        "" | DYNAMIC => (None, State::Running),
        "vmlinux" | "[vmlinux]" | "ntoskrnl.exe" | "[kernel]" => {
            (Some(builder.module("[kernel]")), State::System)
        }
        module => {
            let state = match module.ends_with(".ko") || module.ends_with(".sys") {
                true => State::System,
                false => State::Running,
            };
            (Some(builder.module(module)), state)
        }
    }
}

/// The number in `12` or `file.c:12`.
fn place_of(text: &str) -> u32 {
    let digits = text.rsplit(':').next().unwrap_or_default();
    digits.parse().unwrap_or(0)
}

/// The name and the number of `worker (TID: 1234)` and `worker (0x4d2)`.
fn named_number(text: &str) -> (&str, Option<u64>) {
    let Some((name, number)) = text
        .strip_suffix(')')
        .and_then(|text| text.rsplit_once('('))
    else {
        return (text, text.parse().ok());
    };
    let number = number
        .trim_start_matches("TID:")
        .trim_start_matches("PID:")
        .trim();
    let number = match number.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16).ok(),
        None => number.parse().ok(),
    };
    match number {
        Some(_) => (name.trim_end(), number),
        None => (text, None),
    }
}
