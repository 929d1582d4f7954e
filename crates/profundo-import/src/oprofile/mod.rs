//! The reports of OProfile's `opreport`: functions (`-l`), with lines (`-g`) and addresses (`-d`),
//! who calls whom (`-c`), and programs with their libraries (no option).
//!
//! ```text
//! samples  %        image name               symbol name
//! 35855    36.0707  vmlinux                  get_tgid_list
//! 7077      7.1196  libc-2.3.3.so            _IO_vfscanf_internal
//! ```
//!
//! With `-d` the addresses of a function stand indented below it. With `-c` the indented rows above
//! a function are its callers, and those below it what it calls, between lines of dashes.

mod graph;
mod head;
mod images;
mod names;

use profundo_model::SampleKind;

use crate::quantities::value::choose;
use crate::reader::{Reader, Table};
use crate::{Builder, Error, Row, Source, Unit, Value};
use head::{Class, Content, Head, cells};
use names::Names;

pub(crate) const READER: Reader = Reader(&Table {
    name: "opreport",
    writers: "OProfile's `opreport`",
    is_start: |start| Head::read(&text_of(start)).is_some(),
    fill,
});

/// The text; a head that is cut within a letter ends before it.
fn text_of(bytes: &[u8]) -> std::borrow::Cow<'_, str> {
    String::from_utf8_lossy(bytes)
}

fn fill(source: &Source<'_>, builder: &mut Builder) -> Result<(), Error> {
    let text = text_of(source.bytes);
    let Some(head) = Head::read(&text) else {
        return Err(Error::Malformed {
            format: "opreport",
            what: "no titles of columns".to_owned(),
        });
    };
    let report = Report::new(&head, source)?;
    let (event, each) = head.events.get(report.event).cloned().unwrap_or_default();
    builder.weighs(SampleKind::Events, &event);
    builder.profile.meta.period = profundo_model::Nanos(each);
    let rows = text.lines().skip(head.lines as usize);
    if head.is_of_images {
        images::fill(rows, each.max(1), builder);
        builder.note("the report has no functions: `opreport -l` has them");
        return Ok(());
    }
    let is_graph = text.lines().skip(head.lines as usize).any(is_rule);
    match is_graph {
        true => graph::fill(&head, &report, each.max(1), rows, builder),
        false => {
            functions(&head, &report, each.max(1), rows, builder);
            builder.note("the report has no callers and no times: `opreport -c` has callers");
        }
    }
    Ok(())
}

/// The line between the functions of a call graph.
fn is_rule(line: &str) -> bool {
    line.len() >= 8 && line.bytes().all(|byte| byte == b'-')
}

/// The columns of a report that are read.
struct Report {
    /// The event.
    event: usize,
    /// The columns of samples, and whose they are.
    values: Vec<(usize, Option<Class>)>,
}

impl Report {
    fn new(head: &Head, source: &Source<'_>) -> Result<Self, Error> {
        let columns = head.columns.iter().enumerate();
        let samples = columns.filter(|(_, column)| column.content == Content::Samples);
        let samples: Vec<usize> = samples.map(|(at, _)| at).collect();
        if head.classes.len() > 1 && head.classes.len() == samples.len() {
            let classes = head.classes.iter().copied().map(Some);
            return Ok(Self {
                event: 0,
                values: samples.into_iter().zip(classes).collect(),
            });
        }
        let values: Vec<Value> = (head.events.iter())
            .map(|(name, _)| Value {
                name: name.clone(),
                unit: Unit::Count,
            })
            .collect();
        // One of cycles is the measure of time.
        let usual = values
            .iter()
            .position(|value| value.name.contains("CLK"))
            .unwrap_or(0);
        let event = match head.values() > 1 {
            true => choose(&values, source.options.value.as_deref(), usual)?,
            false => choose(&values, source.options.value.as_deref(), 0)?,
        };
        let column = samples.get(event).or(samples.first()).copied();
        Ok(Self {
            event,
            values: column.map(|at| (at, None)).into_iter().collect(),
        })
    }

    /// The samples of a row: column by column.
    fn samples(&self, row: &[&str]) -> impl Iterator<Item = (Option<Class>, Option<u64>)> {
        self.values.iter().map(|&(at, class)| {
            let digits = row.get(at).copied().unwrap_or_default();
            (class, digits.parse().ok())
        })
    }
}

/// A function whose addresses may come below it.
struct Current {
    image: String,
    program: String,
    symbol: String,
    line: String,
    samples: Vec<(Option<Class>, u64)>,
    has_addresses: bool,
}

fn functions<'a>(
    head: &Head,
    report: &Report,
    each: u64,
    rows: impl Iterator<Item = &'a str>,
    builder: &mut Builder,
) {
    let mut names = Names::default();
    let mut row: Vec<&str> = Vec::new();
    let mut current: Option<Current> = None;
    for (number, line) in (head.lines + 1..).zip(rows) {
        if line.trim().is_empty() {
            continue;
        }
        let has_addresses = head.position(Content::Address) == Some(0);
        let indented = (has_addresses && line.starts_with(' ')).then(|| line.trim_start());
        cells(&head.columns, indented.unwrap_or(line), &mut row);
        let samples: Option<Vec<_>> = (report.samples(&row))
            .map(|(class, samples)| Some((class, samples?)))
            .collect();
        let Some(samples) = samples.filter(|samples| !samples.is_empty()) else {
            builder.leave_out("lines", || format!("line {number}"));
            continue;
        };
        let cell = |content| {
            let at = head.position(content);
            at.and_then(|at| row.get(at)).copied().unwrap_or_default()
        };
        match (indented, &mut current) {
            // An address of the function above. It has no names of its own, but a line.
            (Some(_), Some(function)) => {
                function.has_addresses = true;
                let line = cell(Content::Line);
                let location = names.location(
                    builder,
                    (&function.image, &function.symbol),
                    if line.is_empty() {
                        &function.line
                    } else {
                        line
                    },
                );
                add(
                    builder,
                    &mut names,
                    &function.program,
                    location,
                    &samples,
                    each,
                );
            }
            _ => {
                finish(builder, &mut names, current.take(), each);
                current = Some(Current {
                    image: cell(Content::Image).to_owned(),
                    program: cell(Content::Program).to_owned(),
                    symbol: cell(Content::Symbol).to_owned(),
                    line: cell(Content::Line).to_owned(),
                    samples,
                    has_addresses: false,
                });
            }
        }
    }
    finish(builder, &mut names, current, each);
}

/// Adds the samples of a function without addresses.
fn finish(builder: &mut Builder, names: &mut Names, current: Option<Current>, each: u64) {
    if let Some(row) = current.filter(|row| !row.has_addresses) {
        let location = names.location(builder, (&row.image, &row.symbol), &row.line);
        add(builder, names, &row.program, location, &row.samples, each);
    }
}

fn add(
    builder: &mut Builder,
    names: &mut Names,
    program: &str,
    location: names::Place,
    samples: &[(Option<Class>, u64)],
    each: u64,
) {
    let stack = builder.stack(None, location.location);
    for &(class, samples) in samples {
        let thread = names.thread(builder, program, class);
        builder.sample(Row {
            stack,
            thread,
            weight: samples.saturating_mul(each),
            samples,
            time: None,
            state: location.state,
        });
    }
}
