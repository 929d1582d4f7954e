//! `regressions`: the functions of a fleet's services that have grown since the version before.
//!
//! The versions are found without reading stacks. Then services are read one by one, so that the
//! memory does not grow with their number.

use std::cmp::Ordering;
use std::process::ExitCode;

use anyhow::{Context, Result, bail};
use profundo_analysis::growth::{FEW, Service, growth, judge};
use profundo_console::progress::Progress;
use profundo_console::stderr;
use profundo_report::{Ready, ServiceVersions};
use profundo_store::{By, Condition, Present, Query, present};

use crate::fleet::{Asked, cannot_read, in_words, threads, why};
use crate::options::{self, Regressions};
use crate::ready;

/// The exit code if something has grown.
const GROWN: u8 = 3;
/// The growth that is worth a line.
const AT_LEAST: f64 = 0.005;
const FALSE_ALARMS: f64 = 0.05;
/// The columns of text that is not cut.
const UNCUT: usize = 1000;
/// The usual length of a step of time, in milliseconds: the last one goes on for so long.
const STEP: i64 = 10_000;

pub fn regressions(options: &Regressions) -> Result<ExitCode> {
    if let Some(why) = options.misfit() {
        options::refuse(&why);
    }
    let asked = Asked::new(&options.query.to_string_lossy())?;
    let progress = Progress::start(format!("reading {}", asked.query.place));
    let found = present(&*asked.store, &asked.query, threads());
    let found = found.with_context(|| cannot_read(&asked.query.place))?;
    if found.rows.is_empty() {
        match found.told.first() {
            Some(first) => bail!("{first}"),
            None => bail!("{}", why(&asked, &Default::default())?),
        }
    }
    if let Some(first) = found.told.first() {
        stderr::note(&format!("not all could be read: {first}"));
    }
    drop(progress);
    let at_least = options.at_least.unwrap_or(AT_LEAST);
    let mut judged: Vec<Service> = Vec::new();
    let mut services: Vec<(ServiceVersions, Option<usize>)> = Vec::new();
    for rows in found
        .rows
        .chunk_by(|one, other| one.service == other.service)
    {
        let service = &rows[0].service;
        let _progress = Progress::start(format!("comparing the versions of {service}"));
        let [before, after] = match pair(rows, options) {
            Ok(pair) => pair,
            Err(why) => {
                services.push((ServiceVersions::left_out(service, why), None));
                continue;
            }
        };
        let versions = [&*before.version, &*after.version];
        let profile = asked.answer(&of_service(&asked.query, service, versions))?;
        let grown = growth(&profile, versions, at_least);
        if grown.has_few() {
            let [before, after] = grown.samples;
            let why = format!(
                "{} → {} has {before} and {after} samples, and {FEW} of each are needed",
                versions[0], versions[1]
            );
            services.push((ServiceVersions::left_out(service, why), None));
            continue;
        }
        let cpus = [before, after].map(cpus);
        let row = ServiceVersions::compared(service, versions, cpus, &profile, &grown);
        services.push((row, Some(judged.len())));
        judged.push(grown);
    }
    let false_alarms = options.false_alarms.unwrap_or(FALSE_ALARMS);
    judge(&mut judged, false_alarms, at_least);
    for (row, number) in &mut services {
        if let Some(number) = *number {
            row.judged(&judged[number]);
        }
    }
    let services = services.into_iter().map(|(row, _)| row).collect();
    let asked = in_words(&asked.query);
    let report = profundo_report::Regressions::new(&asked, services, at_least, false_alarms)
        .limit(options.limit.unwrap_or(20))
        .look(ready::look(&options.paper, Some(UNCUT)));
    ready::print(&report, &options.paper)?;
    Ok(match options.fail && report.is_any() {
        true => ExitCode::from(GROWN),
        false => ExitCode::SUCCESS,
    })
}

/// The query for two versions of a service by their processes.
fn of_service(query: &Query, service: &str, versions: [&str; 2]) -> Query {
    let mut query = Query {
        services: vec![service.to_owned()],
        by: By::Process,
        step: None,
        ..query.clone()
    };
    query
        .conditions
        .retain(|condition| condition.key != "version");
    query.conditions.push(Condition {
        key: "version".to_owned(),
        values: versions.map(str::to_owned).to_vec(),
    });
    query
}

/// How many CPUs a version took, over its own time.
fn cpus(of: &Present) -> f64 {
    let lasted = of.last - of.first + STEP;
    of.value as f64 / (lasted.max(1) as f64 * 1e6)
}

/// The versions to compare, or why there are none.
fn pair<'p>(rows: &'p [Present], options: &Regressions) -> Result<[&'p Present; 2], String> {
    let mut versions: Vec<&Present> = rows.iter().filter(|row| !row.version.is_empty()).collect();
    versions.sort_by(|a, b| order(a, b));
    let names: Vec<&str> = versions.iter().map(|row| &*row.version).collect();
    let find = |name: &str| {
        let at = names.iter().position(|known| *known == name);
        at.ok_or_else(|| match names[..] {
            [] => format!("it has no version {name}, because its version is not known"),
            _ => format!("it has no version {name}, but {}", names.join(", ")),
        })
    };
    let after = match (&options.of_version, versions.len()) {
        (Some(name), _) => find(name)?,
        (None, 0) => return Err("its version is not known".to_owned()),
        (None, 1) => return Err(format!("it has one version, {}", names[0])),
        (None, all) => all - 1,
    };
    let before = match &options.since {
        Some(name) => find(name)?,
        None => after
            .checked_sub(1)
            .ok_or_else(|| format!("no version appeared before {}", names[after]))?,
    };
    match before == after {
        true => Err(format!("{} is its newest version", names[after])),
        false => Ok([versions[before], versions[after]]),
    }
}

/// The order of versions: by their first appearance. Of two that are there from the begin of the
/// time, the one that is seen later is newer, or else the one with the higher number.
fn order(a: &Present, b: &Present) -> Ordering {
    let by_time = (a.first, a.last).cmp(&(b.first, b.last));
    by_time.then_with(|| numbers(&a.version).cmp(&numbers(&b.version)))
}

/// The parts of a version, so that 1.10 comes behind 1.9.
fn numbers(version: &str) -> Vec<(u64, &str)> {
    let parts = version.split(|letter: char| !letter.is_ascii_alphanumeric());
    let number = |part: &str| {
        part.trim_start_matches(char::is_alphabetic)
            .parse()
            .unwrap_or(0)
    };
    parts.map(|part| (number(part), part)).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    fn version(version: &str, first: i64, last: i64) -> Present {
        Present {
            service: "api".to_owned(),
            version: version.to_owned(),
            hosts: BTreeSet::new(),
            processes: 1,
            first,
            last,
            value: 0,
            count: 0,
        }
    }

    fn options(since: Option<&str>, of: Option<&str>) -> Regressions {
        Regressions {
            query: "f?from=-1h".into(),
            since: since.map(str::to_owned),
            of_version: of.map(str::to_owned),
            at_least: None,
            false_alarms: None,
            fail: false,
            limit: None,
            paper: Default::default(),
        }
    }

    #[test]
    fn the_newest_version_is_compared_with_the_one_before() {
        let rows = [
            version("1.10", 50, 90),
            version("1.9", 0, 60),
            version("2", 50, 60),
        ];
        let of = |since, of| {
            let pair = pair(&rows, &options(since, of));
            pair.map(|pair| pair.map(|row| row.version.clone()).join(" → "))
        };
        assert_eq!(of(None, None).unwrap(), "2 → 1.10");
        assert_eq!(of(None, Some("2")).unwrap(), "1.9 → 2");
        assert_eq!(of(Some("1.9"), None).unwrap(), "1.9 → 1.10");
        assert_eq!(
            of(None, Some("1.9")).unwrap_err(),
            "no version appeared before 1.9"
        );
        assert_eq!(
            of(Some("3"), None).unwrap_err(),
            "it has no version 3, but 1.9, 2, 1.10"
        );
        assert_eq!(
            of(Some("1.10"), None).unwrap_err(),
            "1.10 is its newest version"
        );
        let one = [version("", 0, 9), version("7", 0, 9)];
        let alone = pair(&one, &options(None, None)).unwrap_err();
        assert_eq!(alone, "it has one version, 7");
    }

    #[test]
    fn versions_that_came_together_are_in_the_order_of_their_numbers() {
        let rows = [version("v1.10", 0, 9), version("v1.9", 0, 9)];
        let pair = pair(&rows, &options(None, None)).unwrap();
        assert_eq!(pair.map(|row| &*row.version), ["v1.9", "v1.10"]);
    }
}
