//! Profiles of OpenTelemetry, read by its own messages for Python, with the rules of the protocol:
//! first rows stand for nothing, no row is there twice or without use, numbers of rows are in their
//! tables, and samples have as many times as values.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use profundo_formats::export::{Format, Options, Weights};
use profundo_model::Profile;
use profundo_testing::skip;

use crate::{made, tables, tools, write};

/// The output of `otlp.py` for a profile.
fn check(python: &Path, name: &str, profile: &Profile, options: &Options, kind: &str) -> String {
    let bytes = write(profile, Format::OTLP, options);
    assert!(Format::OTLP.is_start_of(&bytes[..bytes.len().min(4096)]));
    let file = tools::put(format!("{name}.otlp"), &bytes);
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/outside/otlp.py");
    let mut command = Command::new(python);
    tools::text(command.arg(script).arg(file).arg(kind), 120).unwrap()
}

fn functions(output: &str) -> BTreeMap<(String, String), (u64, u64)> {
    let rows = output
        .lines()
        .filter_map(|line| line.strip_prefix("function\t"));
    rows.map(|row| {
        let columns: Vec<&str> = row.split('\t').collect();
        let number = |at: usize| columns[at].parse().unwrap();
        let name = (columns[0].to_owned(), columns[1].to_owned());
        (name, (number(2), number(3)))
    })
    .collect()
}

#[test]
fn functions_have_the_numbers_of_our_tables() {
    let python = match tools::opentelemetry() {
        Ok(python) => python,
        Err(why) => return skip(&why),
    };
    let mut summed = made::odd();
    summed.meta.started_at_unix = 0;
    let profiles = [
        ("odd", made::odd(), "cpu"),
        ("wall", made::odd_wall(), "wall"),
        ("large", made::large(20_000), "cpu"),
        ("summed", summed, "cpu"),
    ];
    for (name, profile, clock) in profiles {
        let time = check(python, name, &profile, &Options::default(), clock);
        assert!(time.starts_with(&format!("types {clock}\n")), "{time}");
        let counts = Options {
            weights: Some(Weights::Samples),
            ..Options::default()
        };
        let counts = check(python, name, &profile, &counts, "samples");
        let ours = tables::functions(&profile, false);
        let by = |numbers: fn(&tables::Numbers) -> (u64, u64)| -> BTreeMap<_, _> {
            let rows = ours.iter().map(|(name, row)| (name.clone(), numbers(row)));
            rows.collect()
        };
        assert_eq!(
            functions(&time),
            by(|row| (row.own_time, row.time)),
            "{name}"
        );
        assert_eq!(
            functions(&counts),
            by(|row| (row.own_count, row.count)),
            "{name}"
        );
    }
}

#[test]
fn samples_have_owners_and_memory_has_its_types() {
    let python = match tools::opentelemetry() {
        Ok(python) => python,
        Err(why) => return skip(&why),
    };
    let output = check(
        python,
        "memory",
        &made::odd_memory(),
        &Options::default(),
        "inuse_space",
    );
    let types = "types cpu alloc_objects alloc_space inuse_objects inuse_space\n";
    assert!(output.starts_with(types), "{output}");
    for row in [
        "thread.id\t4001\t4002\t4003",
        "thread.name\tMainThread\ttokio; worker 12",
        "profundo.state\tsystem",
        "profundo.gil\theld\treleased\twaiting",
        "profundo.task.name\tfetch \"pages\"",
    ] {
        assert!(
            output.contains(&format!("attribute\t{row}\n")),
            "{row} in\n{output}"
        );
    }
}
