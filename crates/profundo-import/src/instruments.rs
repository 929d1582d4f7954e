//! What *Edit › Deep Copy* takes from a call tree of Instruments: rows with tabs between the cells,
//! and names that are indented below their callers.
//!
//! ```text
//! Weight           Self Weight      Symbol Name
//! 4.93 s  100.0%   0 s              start
//! 2.45 s   49.7%   846.00 ms         delta()
//! ```
//!
//! Versions name the columns differently: `Running Time` and `Self (ms)`, or `Bytes Used` and
//! `Count` of allocations, which have no own column.

use profundo_model::{Amount, SampleKind, Sampling, Site, StackId, State, ThreadId};
use rustc_hash::FxHashMap;

use crate::quantities::sums::Sums;
use crate::reader::{Reader, Table};
use crate::stacks::indented::Tree;
use crate::{Builder, Error, Named, Source};

pub(crate) const READER: Reader = Reader(&Table {
    name: "instruments",
    writers: "Instruments' *Deep Copy* of a call tree",
    is_start: |start| Columns::of(start).is_some(),
    fill,
});

/// The columns of the copied rows.
#[derive(Debug, Clone, Copy)]
struct Columns {
    /// Whether the weights are of memory, with a number of blocks beside it.
    is_memory: bool,
    /// The unit of own weights that have none.
    own_unit: &'static str,
}

impl Columns {
    fn of(start: &[u8]) -> Option<Self> {
        let line = start.split(|&byte| byte == b'\n').next()?;
        let line = std::str::from_utf8(line).ok()?.trim_end();
        let mut titles = line
            .split('\t')
            .map(str::trim)
            .filter(|title| !title.is_empty());
        let found = match (titles.next()?, titles.next()?) {
            ("Weight", "Self Weight") | ("Running Time", "Self") => Self {
                is_memory: false,
                own_unit: "",
            },
            ("Running Time", "Self (ms)") => Self {
                is_memory: false,
                own_unit: "ms",
            },
            ("Bytes Used", "Count") => Self {
                is_memory: true,
                own_unit: "",
            },
            _ => return None,
        };
        titles
            .any(|title| title.starts_with("Symbol Name"))
            .then_some(found)
    }
}

fn fill(source: &Source<'_>, builder: &mut Builder) -> Result<(), Error> {
    let Some(columns) = Columns::of(source.bytes) else {
        return Err(Error::Malformed {
            format: "instruments",
            what: "no titles of columns".to_owned(),
        });
    };
    let text = String::from_utf8_lossy(source.bytes);
    let mut rows = Rows::new(columns);
    for (number, line) in (2_u64..).zip(text.lines().skip(1)) {
        if !line.trim().is_empty() && rows.line(builder, line).is_none() {
            builder.leave_out("lines", || format!("line {number}"));
        }
    }
    rows.finish(builder);
    builder.note("the text has no times, files or lines, and rounded weights");
    Ok(())
}

/// The rows so far.
struct Rows {
    columns: Columns,
    /// The indentations and stacks of the rows above.
    open: Vec<(usize, Option<StackId>)>,
    thread: Option<ThreadId>,
    pid: u32,
    sums: Sums,
    unit: Option<SampleKind>,
    /// The bytes and the numbers of blocks of memory.
    bytes: Tree,
    blocks: Tree,
    sites: FxHashMap<StackId, Amount>,
}

impl Rows {
    fn new(columns: Columns) -> Self {
        Self {
            columns,
            open: Vec::new(),
            thread: None,
            pid: 0,
            sums: Sums::default(),
            unit: None,
            bytes: Tree::default(),
            blocks: Tree::default(),
            sites: FxHashMap::default(),
        }
    }

    fn line(&mut self, builder: &mut Builder, line: &str) -> Option<()> {
        let mut cells = line.split('\t');
        let (weight, own) = (cells.next()?, cells.next()?);
        // Between them and the name is a column without a title in some versions.
        let name = cells.next_back()?;
        let indent = name.len() - name.trim_start_matches(' ').len();
        let name = name.trim();
        if name.is_empty() {
            return None;
        }
        self.open
            .truncate(self.open.partition_point(|&(above, _)| above < indent));
        let caller = self.open.last().and_then(|&(_, stack)| stack);
        let stack = match self.owner(builder, name, caller) {
            true => None,
            false => {
                let location = builder.location(Named {
                    function: if name == "<Unknown Address>" {
                        ""
                    } else {
                        name
                    },
                    ..Named::default()
                });
                Some(builder.stack(caller, location))
            }
        };
        self.open.push((indent, stack));
        if self.columns.is_memory {
            let (bytes, blocks) = (quantity(weight, "")?.0, own.trim().parse().ok()?);
            self.close(indent);
            self.bytes.open(indent, stack, bytes);
            self.blocks.open(indent, stack, blocks);
            return Some(());
        }
        let (_, kind) = quantity(weight, "")?;
        self.unit = self.unit.or(Some(kind));
        let own = match own.trim() {
            "-" => 0,
            own => quantity(own, self.columns.own_unit)?.0,
        };
        if let Some(stack) = stack {
            let thread = *self.thread.get_or_insert_with(|| builder.only_thread());
            self.sums.add(stack, thread, own, State::Running);
        }
        Some(())
    }

    /// Whether a row is a process, `app (123)`, or a thread, `Main Thread  0x1a2b`.
    fn owner(&mut self, builder: &mut Builder, name: &str, caller: Option<StackId>) -> bool {
        if caller.is_some() {
            return false;
        }
        if let Some((command, pid)) = name
            .strip_suffix(')')
            .and_then(|name| name.rsplit_once(" ("))
            && let Ok(pid) = pid.parse()
        {
            self.pid = pid;
            builder.process(pid, command);
            self.thread = Some(builder.thread(pid, 0, ""));
            return true;
        }
        if let Some((thread, number)) = name.rsplit_once("  0x")
            && let Ok(number) = u64::from_str_radix(number.trim(), 16)
        {
            self.thread = Some(builder.thread(self.pid, number, thread.trim()));
            return true;
        }
        false
    }

    fn close(&mut self, indent: usize) {
        let sites = &mut self.sites;
        self.bytes.close(indent, |stack, bytes| {
            *sites.entry(stack).or_default() += Amount { count: 0, bytes };
        });
        self.blocks.close(indent, |stack, count| {
            *sites.entry(stack).or_default() += Amount { count, bytes: 0 };
        });
    }

    fn finish(mut self, builder: &mut Builder) {
        if !self.columns.is_memory {
            let kind = self.unit.unwrap_or(SampleKind::Cpu);
            let event = match kind {
                SampleKind::Events => "cycles",
                _ => "",
            };
            builder.weighs(kind, event);
            self.sums.finish(builder);
            return;
        }
        self.close(0);
        let thread = self.thread.unwrap_or_else(|| builder.only_thread());
        let process = builder.profile.threads.get(thread).process;
        let mut sites: Vec<(StackId, Amount)> = self.sites.into_iter().collect();
        sites.retain(|(_, amount)| *amount != Amount::default());
        sites.sort_by_key(|&(stack, _)| stack);
        builder.profile.heap.sampling = Sampling::All;
        builder.profile.heap.sites = (0..)
            .zip(sites)
            .map(|(number, (stack, allocated))| Site {
                process,
                stack,
                allocated,
                number,
                ..Site::default()
            })
            .collect();
    }
}

/// A weight and its kind: `4.93 s  100.0%`, `4273.0ms`, `96.08 Gc`, `429.93 MB`.
fn quantity(text: &str, usual: &str) -> Option<(u64, SampleKind)> {
    let text = text.trim();
    let end = text.find(|letter: char| !letter.is_ascii_digit() && letter != '.');
    let (digits, rest) = text.split_at(end.unwrap_or(text.len()));
    let number: f64 = digits.parse().ok()?;
    let unit = rest.trim_start();
    let unit = unit
        .split(|letter: char| letter.is_whitespace() || letter == '\u{2007}')
        .next()?;
    let unit = if unit.is_empty() { usual } else { unit };
    let (scale, kind) = match unit {
        "s" => (1e9, SampleKind::Cpu),
        "ms" => (1e6, SampleKind::Cpu),
        "µs" | "us" => (1e3, SampleKind::Cpu),
        "ns" => (1.0, SampleKind::Cpu),
        "min" => (60e9, SampleKind::Cpu),
        "h" => (3600e9, SampleKind::Cpu),
        "c" | "cycles" => (1.0, SampleKind::Events),
        "Kc" | "kc" => (1e3, SampleKind::Events),
        "Mc" => (1e6, SampleKind::Events),
        "Gc" => (1e9, SampleKind::Events),
        "Tc" => (1e12, SampleKind::Events),
        "Bytes" | "Byte" | "B" | "" => (1.0, SampleKind::Events),
        "KB" => (1024.0, SampleKind::Events),
        "MB" => (1024.0 * 1024.0, SampleKind::Events),
        "GB" => (1024.0 * 1024.0 * 1024.0, SampleKind::Events),
        _ => return None,
    };
    Some(((number * scale).round() as u64, kind))
}
