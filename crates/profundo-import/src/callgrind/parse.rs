//! The lines of a file, as own costs and calls of functions.

use rustc_hash::FxHashMap;

use super::head::key_value;
use super::names::Names;
use crate::Builder;

/// The costs of one thread.
#[derive(Debug, Default)]
pub(super) struct Thread {
    /// Its number; 0 where the file has none.
    pub number: u64,
    pub own: Vec<Own>,
    pub arcs: Vec<Calls>,
}

/// The own cost of a function at a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Own {
    pub function: u32,
    pub file: u32,
    pub line: u32,
    pub cost: i64,
}

/// Calls from a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Calls {
    pub caller: u32,
    pub file: u32,
    pub line: u32,
    pub callee: u32,
    pub calls: u64,
    pub cost: i64,
}

/// A function.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Function {
    pub object: u32,
    pub file: u32,
    pub name: u32,
    /// Its first line by its callers; 0 where unknown.
    pub first: u32,
}

/// Rows of an object, a file and a name; `None` where they are the current ones.
#[derive(Debug, Clone, Copy, Default)]
struct Place {
    object: Option<u32>,
    file: Option<u32>,
    name: Option<u32>,
}

/// A call whose cost is on the next line.
#[derive(Debug, Clone, Copy)]
struct Pending {
    callee: u32,
    calls: u64,
}

/// A reader of lines.
#[derive(Debug)]
pub(super) struct Parser<'a> {
    bytes: &'a [u8],
    /// The event that is read.
    event: &'a str,
    pub objects: Names<'a>,
    pub files: Names<'a>,
    pub names: Names<'a>,
    pub functions: Vec<Function>,
    rows: FxHashMap<(u32, u32, u32), u32>,
    pub threads: Vec<Thread>,
    /// The row of the current thread.
    thread: usize,
    /// The columns of the event, and how often each counts.
    columns: Vec<(usize, f64)>,
    formula: Option<String>,
    has_addresses: bool,
    has_lines: bool,
    position: [u64; 2],
    here: Place,
    /// The file of the current line, which may be another one's code in the function.
    file: Option<u32>,
    function: Option<u32>,
    callee: Place,
    pending: Option<Pending>,
    pub has_totals: bool,
    pub has_negative: bool,
}

impl<'a> Parser<'a> {
    pub(super) fn new(bytes: &'a [u8], event: &'a str) -> Self {
        Self {
            bytes,
            event,
            objects: Names::default(),
            files: Names::default(),
            names: Names::default(),
            functions: Vec::new(),
            rows: FxHashMap::default(),
            threads: vec![Thread::default()],
            thread: 0,
            columns: vec![(0, 1.0)],
            formula: None,
            has_addresses: false,
            has_lines: true,
            position: [0; 2],
            here: Place::default(),
            file: None,
            function: None,
            callee: Place::default(),
            pending: None,
            has_totals: false,
            has_negative: false,
        }
    }

    pub(super) fn read(&mut self, builder: &mut Builder) {
        let mut rest = self.bytes;
        let mut number = 0_u64;
        while !rest.is_empty() {
            let end = memchr::memchr(b'\n', rest).unwrap_or(rest.len());
            let (line, after) = rest.split_at(end);
            rest = after.get(1..).unwrap_or_default();
            number += 1;
            if self.line(line.trim_ascii()).is_none() {
                builder.leave_out("lines", || format!("line {number}"));
            }
        }
    }

    /// Reads a line. `None`: it does not fit the format.
    fn line(&mut self, line: &'a [u8]) -> Option<()> {
        match line.first() {
            None | Some(b'#') => return Some(()),
            Some(b'0'..=b'9' | b'+' | b'-' | b'*') => return self.cost(line),
            Some(_) => {}
        }
        let at = memchr::memchr2(b'=', b':', line)?;
        match line[at] {
            b'=' => self.assign(&line[..at], &line[at + 1..]),
            _ => self.head(line),
        }
    }

    fn head(&mut self, line: &'a [u8]) -> Option<()> {
        let (key, value) = match key_value(line) {
            Some(found) => found,
            // Commands are in any encoding.
            None => return line.starts_with(b"cmd:").then_some(()),
        };
        match key {
            "events" => self.set_columns(value),
            "event" => {
                let formula = value.rsplit_once(':').map_or(value, |(formula, _)| formula);
                if let Some((name, formula)) = formula.split_once('=')
                    && name.trim() == self.event
                {
                    self.formula = Some(formula.to_owned());
                }
            }
            "positions" => {
                self.has_addresses = value.split_ascii_whitespace().any(|word| word == "instr");
                self.has_lines = value.split_ascii_whitespace().any(|word| word == "line");
            }
            "thread" => self.set_thread(value.parse().ok()?),
            "totals" => self.has_totals = true,
            // Each part of a file begins with it, and so does each dump of a program.
            "version" | "part" => {
                self.position = [0; 2];
                (self.here, self.callee) = Default::default();
                (self.file, self.function, self.pending) = (None, None, None);
            }
            _ => {}
        }
        Some(())
    }

    fn set_columns(&mut self, events: &str) {
        let column = |name: &str| {
            events
                .split_ascii_whitespace()
                .position(|event| event == name)
        };
        if let Some(column) = column(self.event) {
            self.columns = vec![(column, 1.0)];
            return;
        }
        // `Ir + 10 Bm + 100 L2m`.
        let terms = self.formula.as_deref().unwrap_or_default().split('+');
        self.columns = terms
            .filter_map(|term| {
                let term = term.replace('*', " ");
                let (factor, name) = match term.trim().split_once(' ') {
                    Some((factor, name)) => (factor.parse().ok()?, name),
                    None => (1.0, &term[..]),
                };
                Some((column(name.trim())?, factor))
            })
            .collect();
    }

    fn set_thread(&mut self, number: u64) {
        let is_unused = |thread: &Thread| thread.own.is_empty() && thread.arcs.is_empty();
        let known = (self.threads.iter()).position(|thread| thread.number == number);
        self.thread = known.unwrap_or_else(|| {
            if !self.threads.last().is_some_and(is_unused) {
                self.threads.push(Thread::default());
            }
            let last = self.threads.len() - 1;
            self.threads[last].number = number;
            last
        });
    }

    fn assign(&mut self, key: &[u8], value: &'a [u8]) -> Option<()> {
        match key {
            b"fn" => {
                self.here.name = Some(self.names.row(value));
                // Code of a header may come before a function that is in the header itself.
                self.here.file = self.file;
                self.function = None;
            }
            b"fl" => {
                self.here.file = Some(self.files.row(value));
                self.file = self.here.file;
                self.function = None;
            }
            b"fi" | b"fe" => self.file = Some(self.files.row(value)),
            b"ob" => {
                self.here.object = Some(self.objects.row(value));
                self.function = None;
            }
            b"cfn" => self.callee.name = Some(self.names.row(value)),
            b"cfi" | b"cfl" => self.callee.file = Some(self.files.row(value)),
            b"cob" => self.callee.object = Some(self.objects.row(value)),
            b"calls" => return self.calls(value),
            // A jump's target: names may be given numbers here.
            b"jfn" => {
                self.names.row(value);
            }
            b"jfi" => {
                self.files.row(value);
            }
            b"jump" | b"jcnd" | b"rcalls" | b"frfn" => {}
            _ => return None,
        }
        Some(())
    }

    fn calls(&mut self, value: &[u8]) -> Option<()> {
        let mut words = words(value);
        let calls = number(words.next()?)?;
        let mut first = 0;
        let last = usize::from(self.has_addresses && self.has_lines);
        for (column, word) in words.enumerate() {
            if self.has_lines && column == last {
                first = position(word, self.position[1]).unwrap_or(0);
            }
        }
        let place = std::mem::take(&mut self.callee);
        let callee = self.row(Place {
            object: place.object.or(self.here.object),
            file: place.file.or(self.file),
            name: place.name,
        });
        let row = &mut self.functions[callee as usize];
        if row.first == 0 {
            row.first = u32::try_from(first).unwrap_or(0);
        }
        self.pending = Some(Pending { callee, calls });
        Some(())
    }

    /// The row of a function.
    fn row(&mut self, place: Place) -> u32 {
        let unknown =
            |names: &mut Names<'a>, row: Option<u32>| row.unwrap_or_else(|| names.row(b"???"));
        let object = unknown(&mut self.objects, place.object);
        let file = unknown(&mut self.files, place.file);
        let name = unknown(&mut self.names, place.name);
        let next = self.functions.len() as u32;
        let row = *self.rows.entry((object, file, name)).or_insert(next);
        if row == next {
            self.functions.push(Function {
                object,
                file,
                name,
                first: 0,
            });
        }
        row
    }

    /// Reads a position and its costs.
    fn cost(&mut self, line: &[u8]) -> Option<()> {
        let mut words = words(line);
        if self.has_addresses {
            self.position[0] = position(words.next()?, self.position[0])?;
        }
        if self.has_lines {
            self.position[1] = position(words.next()?, self.position[1])?;
        }
        let cost = match self.columns[..] {
            [(column, 1.0)] => match words.nth(column) {
                Some(word) => signed(word)?,
                None => 0,
            },
            _ => {
                let mut sum = 0.0;
                for (at, word) in words.enumerate() {
                    let factors = self.columns.iter().filter(|(column, _)| *column == at);
                    for (_, factor) in factors {
                        sum += signed(word)? as f64 * factor;
                    }
                }
                sum as i64
            }
        };
        let pending = self.pending.take();
        self.has_negative |= cost < 0;
        if cost == 0 && pending.is_none() {
            return Some(());
        }
        let function = match self.function {
            Some(function) => function,
            None => {
                let function = self.row(self.here);
                self.function = Some(function);
                function
            }
        };
        let file = self.file.unwrap_or(self.functions[function as usize].file);
        let line = u32::try_from(self.position[1]).unwrap_or(0);
        let thread = &mut self.threads[self.thread];
        match pending {
            None => {
                // Instructions of one line follow each other.
                if let Some(last) = thread.own.last_mut()
                    && (last.function, last.file, last.line) == (function, file, line)
                {
                    last.cost = last.cost.saturating_add(cost);
                    return Some(());
                }
                thread.own.push(Own {
                    function,
                    file,
                    line,
                    cost,
                });
            }
            Some(Pending { callee, calls }) => thread.arcs.push(Calls {
                caller: function,
                file,
                line,
                callee,
                calls,
                cost,
            }),
        }
        Some(())
    }
}

/// The words of a line.
fn words(line: &[u8]) -> impl Iterator<Item = &[u8]> {
    line.split(|byte| byte.is_ascii_whitespace())
        .filter(|word| !word.is_empty())
}

/// A position, which may be relative to the one before.
fn position(word: &[u8], before: u64) -> Option<u64> {
    match word {
        b"*" => Some(before),
        [b'+', rest @ ..] => Some(before.wrapping_add(number(rest)?)),
        [b'-', rest @ ..] => Some(before.wrapping_sub(number(rest)?)),
        _ => number(word),
    }
}

fn signed(word: &[u8]) -> Option<i64> {
    let (is_negative, digits) = match word {
        [b'-', digits @ ..] => (true, digits),
        digits => (false, digits),
    };
    let number = i64::try_from(number(digits)?).unwrap_or(i64::MAX);
    Some(if is_negative { -number } else { number })
}

/// A decimal number, or one with `0x`.
fn number(digits: &[u8]) -> Option<u64> {
    if let Some(digits) = digits.strip_prefix(b"0x") {
        return u64::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok();
    }
    if digits.is_empty() {
        return None;
    }
    let mut number = 0_u64;
    for &digit in digits {
        let digit = digit.wrapping_sub(b'0');
        if digit > 9 {
            return None;
        }
        number = number.checked_mul(10)?.checked_add(u64::from(digit))?;
    }
    Some(number)
}
