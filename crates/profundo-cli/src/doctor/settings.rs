//! The files of settings that are used here, with their settings.

use profundo_permits::{Finding, Gap, Mend, Verdict};

use crate::config::{File, PassedOver, Settings, Value};

const TOPIC: &str = "settings";

/// A finding on each file, the strongest file last.
pub fn findings(settings: &Settings, wrong: &[String]) -> Vec<Finding> {
    let used = settings
        .files
        .iter()
        .map(|file| Finding::works(TOPIC, summary(file)));
    let wrong = wrong.iter().map(|why| {
        let gap = Gap {
            why: why.clone(),
            mend: Some(Mend::Advice(
                "mend that line; until then, commands end with code 2 but for those with --no-config"
                    .to_owned(),
            )),
        };
        Finding::gap(TOPIC, Verdict::Fails, gap)
    });
    let passed_over = settings.passed_over.iter().map(|PassedOver { path, why }| {
        let why = format!("{} is not used: {why}", path.display());
        Finding::gap(TOPIC, Verdict::Partly, Gap { why, mend: None })
    });
    let mut found: Vec<Finding> = used.chain(wrong).chain(passed_over).collect();
    if found.is_empty() {
        let none = "none: all options have their defaults";
        found.push(Finding::fact(TOPIC, none));
    }
    found
}

/// A line on a file and its settings.
fn summary(file: &File) -> String {
    let mut parts: Vec<String> = Vec::new();
    for entry in &file.entries {
        let of = match &entry.verb {
            Some(verb) => format!("{verb} "),
            None => String::new(),
        };
        parts.push(match &entry.value {
            Value::Switch(true) => format!("{of}--{}", entry.key),
            value => format!("{of}--{} {value}", entry.key),
        });
    }
    match file.mine.len() {
        0 => {}
        1 => parts.push("1 pattern of own code".to_owned()),
        some => parts.push(format!("{some} patterns of own code")),
    }
    let tables = file.kind.tables();
    let table = match tables {
        [] => String::new(),
        tables => format!(" [{}]", tables.join(".")),
    };
    let path = file.path.display();
    match parts.is_empty() {
        true => format!("{path}{table}: it sets nothing"),
        false => format!("{path}{table}: {}", parts.join(", ")),
    }
}
