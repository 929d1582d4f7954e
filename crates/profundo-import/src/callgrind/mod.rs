//! Callgrind's and Cachegrind's profiles, and those of the many tools that write the same text:
//! Xdebug, yappi, pyprof2calltree, KCachegrind's converters, `profundo export --to callgrind`.
//!
//! The text has a head of `key: value` lines and then, by function, lines `position cost …`. A line
//! with costs after `calls=` has those of a call, callees included. Names and positions may be
//! compressed: `(id)` stands for a name that was given before, `+3` and `*` for a position near the
//! one before. Cachegrind has the same without calls.

mod graph;
mod head;
mod names;
mod parse;

use profundo_model::{Clock, SampleKind};

use crate::quantities::value::{Unit, choose};
use crate::reader::{Reader, Table};
use crate::stacks::call_graph::Costs;
use crate::{Builder, Error, Source, Warning};
use head::Head;
use parse::Parser;

pub(crate) const READER: Reader = Reader(&Table {
    name: "callgrind",
    writers: "Valgrind's Callgrind, Xdebug, yappi, pyprof2calltree, KCachegrind's converters",
    is_start: |start| head::is_start(start) == Some(head::Flavor::Callgrind),
    fill,
});

pub(crate) const CACHEGRIND: Reader = Reader(&Table {
    name: "cachegrind",
    writers: "Valgrind's Cachegrind",
    is_start: |start| head::is_start(start) == Some(head::Flavor::Cachegrind),
    fill,
});

fn fill(source: &Source<'_>, builder: &mut Builder) -> Result<(), Error> {
    let head = Head::of(source.bytes);
    if head.values.is_empty() {
        return Err(Error::Malformed {
            format: "callgrind",
            what: "no line `events:`".to_owned(),
        });
    }
    let chosen = choose(&head.values, source.options.value.as_deref(), 0)?;
    let value = &head.values[chosen];
    let mut parser = Parser::new(source.bytes, &value.name);
    parser.read(builder);
    let has_calls = parser.threads.iter().any(|thread| !thread.arcs.is_empty());
    let is_counted = head.is_ours() && value.name == "Calls";
    let costs = match value.unit {
        _ if is_counted => Costs::Traced,
        Unit::Time(_) if has_calls => Costs::Traced,
        Unit::Time(_) => Costs::Sampled(0),
        Unit::Bytes | Unit::Count => Costs::Events(1),
    };
    match costs {
        Costs::Traced => {
            builder.weighs(SampleKind::Traced, "");
            builder.profile.traced.clock = match is_counted {
                true => Clock::None,
                false => Clock::Wall,
            };
        }
        Costs::Sampled(_) => builder.weighs(SampleKind::Cpu, ""),
        Costs::Events(_) if head.is_valgrinds() => builder.counts(&value.name),
        Costs::Events(_) => builder.weighs(SampleKind::Events, &value.name),
    }
    let unit = match is_counted {
        true => Unit::Time(0.0),
        false => value.unit,
    };
    graph::fill(&parser, builder, &head, costs, unit);
    add_notes(builder, &head, &parser, costs);
    if head.has_totals() && !parser.has_totals {
        builder.warn(Warning::Damaged {
            offset: source.bytes.len() as u64,
            what: "its totals are missing".to_owned(),
        });
    }
    Ok(())
}

fn add_notes(builder: &mut Builder, head: &Head, parser: &Parser<'_>, costs: Costs) {
    if head.values.len() > 1 {
        let names =
            crate::quantities::value::listed(head.values.iter().map(|value| &value.name[..]));
        builder.note(format!("the file has the events {names}: --value chooses"));
    }
    if costs == Costs::Traced && head.creator.starts_with("yappi") {
        builder.note("yappi's file does not say whether its times are CPU time or elapsed time");
    }
    if parser.has_negative {
        builder.note("negative costs count as 0");
    }
    let has_threads = parser.threads.iter().any(|thread| thread.number > 0);
    builder.note(match has_threads {
        true => "the file has no times",
        false => "the file has no threads or times",
    });
}
