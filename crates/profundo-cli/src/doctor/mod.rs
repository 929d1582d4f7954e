//! `doctor`: tries what works here, and advises on the rest.

mod names;
mod own_code;
mod settings;
mod trial;

use std::io::{self, BufWriter, IsTerminal};
use std::process::ExitCode;

use anyhow::{Context, Result};
use profundo_permits::{self as permits, Finding, Verdict};
use profundo_report::{Check, Checklist, Look, Mark, When};

use crate::config::{self, Settings};
use crate::options::Doctor;

/// Something essential does not work.
const LACKING: u8 = 1;

pub fn doctor(options: &Doctor, no_config: bool) -> Result<ExitCode> {
    let mut parts = vec![(permits::surroundings(), of_machine())];
    let (used, mut wrong) = match no_config || config::is_off() {
        true => Default::default(),
        false => Settings::here(),
    };
    wrong.extend(config::wrong_values(&used));
    let mut of_project = own_code::findings(&used);
    of_project.extend(settings::findings(&used, &wrong));
    parts.push(("This folder".to_owned(), of_project));
    if let Some(pid) = options.pid {
        let mut found = permits::of_process(pid);
        found.extend(names::of_process(pid));
        parts.push((format!("Process {pid}"), found));
    }
    let lacking = parts
        .iter()
        .flat_map(|(_, found)| found)
        .filter(|finding| finding.is_grave())
        .count();
    let ending = match lacking {
        0 => "All that is essential works.".to_owned(),
        1 => "One essential thing does not work.".to_owned(),
        count => format!("{count} essential things do not work."),
    };
    let stdout = io::stdout();
    let look = Look::new()
        .terminal(stdout.is_terminal())
        .width(options.paper.width)
        .colors(options.paper.color.unwrap_or(When::Auto));
    let list = Checklist::new().look(look).ending(ending);
    let list = parts.into_iter().fold(list, |list, (heading, found)| {
        list.part(heading, found.into_iter().map(check).collect())
    });
    let out = BufWriter::new(stdout.lock());
    match options.paper.json {
        true => list.write_json(out),
        false => list.write(out),
    }
    .context("cannot write the list")?;
    Ok(match lacking {
        0 => ExitCode::SUCCESS,
        _ => ExitCode::from(LACKING),
    })
}

fn of_machine() -> Vec<Finding> {
    let mut found = vec![trial::record_something()];
    found.extend(permits::of_machine());
    found.extend(names::of_machine());
    found
}

fn check(finding: Finding) -> Check {
    Check {
        topic: finding.topic.to_owned(),
        mark: match finding.verdict {
            Verdict::Works => Mark::Works,
            Verdict::Partly => Mark::Partly,
            Verdict::Fails => Mark::Fails,
            Verdict::Fact => Mark::Fact,
        },
        message: finding.text,
        mend: finding.mend.map(|mend| match mend {
            permits::Mend::Command(command) => profundo_report::Mend::Command(command),
            permits::Mend::Advice(advice) => profundo_report::Mend::Advice(advice),
        }),
        essential: finding.essential,
    }
}
