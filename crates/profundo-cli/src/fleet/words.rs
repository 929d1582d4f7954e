//! The answer to a query in words: what was asked, what it is from, and what is missing in it.

use std::collections::BTreeSet;

use profundo_model::{Profile, Question};
use profundo_store::{By, Query};
use profundo_symbol_store::Named;

use super::Asked;
use super::absent::{at, listed, time, until};

/// A stretch without samples at the begin or the end of what was asked that is worth a note.
const MUCH: i64 = 120_000;

/// Writes the question into its answer, and notes what is missing.
pub(super) fn describe(asked: &Asked, profile: &mut Profile) {
    let query = &asked.query;
    let services = labels(profile, "service");
    let question = Question {
        text: asked.text.clone(),
        title: title(profile, query, &services),
        rest: rest(query, services.len() == 1),
        from: from(profile, query, services.len()),
    };
    let notes = [
        absent_services(query, &services),
        uncovered(profile, query),
        losses(profile),
    ];
    profile.meta.question = Some(question);
    profile.meta.notes.extend(notes.into_iter().flatten());
}

/// The values of a label.
fn labels<'p>(profile: &'p Profile, key: &str) -> BTreeSet<&'p str> {
    let Some(key) = profile.strings.find(key) else {
        return BTreeSet::new();
    };
    let values = profile
        .origins
        .iter()
        .filter_map(|origin| origin.label(key));
    values.map(|value| profile.strings.get(value)).collect()
}

/// The services, and of one its versions: `api 1.4, 1.5`.
fn title(profile: &Profile, query: &Query, services: &BTreeSet<&str>) -> String {
    let names: Vec<&str> = services.iter().copied().collect();
    let services = match names[..] {
        [] => "Samples without a service".to_owned(),
        [one] => one.to_owned(),
        _ => format!("{} services: {}", names.len(), listed(&names)),
    };
    let mut versions = labels(profile, "version");
    if query.by == By::Service {
        let asked = query.conditions.iter().filter(|one| one.key == "version");
        versions = asked
            .flat_map(|one| one.values.iter().map(String::as_str))
            .collect();
    }
    match (names.len(), versions.len()) {
        (_, 0) | (2.., _) => services,
        _ => {
            let versions: Vec<&str> = versions.into_iter().collect();
            format!("{services} {}", listed(&versions))
        }
    }
}

/// A query in words, without its services and versions where a title has them.
pub fn in_words(query: &Query) -> String {
    let mut text = String::new();
    if !query.services.is_empty() {
        text = format!("{} · ", query.services.join(" and "));
    }
    text + &rest(query, false)
}

/// The time, and the other conditions. The title has the versions of a single service.
fn rest(query: &Query, is_one: bool) -> String {
    let mut parts = vec![time(query)];
    let is_said = |key: &str| is_one && key == "version";
    for condition in query.conditions.iter().filter(|one| !is_said(&one.key)) {
        let key = condition
            .key
            .strip_prefix("label.")
            .unwrap_or(&condition.key);
        parts.push(format!("{key} {}", condition.values.join(" or ")));
    }
    parts.push(query.place.clone());
    parts.join(" · ")
}

/// The numbers of what the answer tells apart.
fn from(profile: &Profile, query: &Query, services: usize) -> Vec<String> {
    let hosts = labels(profile, "host").len();
    let mut parts = Vec::new();
    let mut add = |number: usize, one: &str, many: &str| {
        if number > 0 {
            parts.push(format!("{number} {}", if number == 1 { one } else { many }));
        }
    };
    if query.by == By::Service {
        add(services, "service", "services");
        return parts;
    }
    add(hosts, "host", "hosts");
    if matches!(query.by, By::Process | By::Thread) {
        add(profile.processes.len(), "process", "processes");
    }
    if query.by == By::Thread {
        add(profile.threads.len(), "thread", "threads");
    }
    parts
}

/// The services that were asked for and have nothing.
fn absent_services(query: &Query, there: &BTreeSet<&str>) -> Option<String> {
    let absent = query.services.iter().map(String::as_str);
    let absent: Vec<&str> = absent.filter(|name| !there.contains(name)).collect();
    (!absent.is_empty()).then(|| format!("there are no samples of {}", listed(&absent)))
}

/// The time that was asked for and has nothing. The running minute may be on its way.
fn uncovered(profile: &Profile, query: &Query) -> Option<String> {
    let meta = &profile.meta;
    let starts = (meta.started_at_unix / 1_000_000).cast_signed();
    let ends = starts.saturating_add((meta.duration.0 / 1_000_000).cast_signed());
    let is_short = starts - query.from > MUCH || query.to - ends > MUCH;
    is_short.then(|| {
        format!(
            "there are samples from {} to {} only",
            at(starts),
            until(starts, ends)
        )
    })
}

/// The samples that are missing or have no whole stack.
fn losses(profile: &Profile) -> Option<String> {
    let loss = &profile.meta.loss;
    let counts = [
        (loss.lost(), "were lost"),
        (
            loss.truncated,
            "have stacks that are cut, because they are too deep",
        ),
        (
            loss.broken,
            "have stacks that could not be read to their end",
        ),
    ];
    let words: Vec<String> = (counts.iter())
        .filter(|(count, _)| *count > 0)
        .map(|(count, what)| format!("{count} {what}"))
        .collect();
    (!words.is_empty()).then(|| {
        format!(
            "of the samples, {}; this counts all services of the same writers together",
            words.join(", ")
        )
    })
}

/// The sentences on addresses that agents have sent without names.
pub fn without_symbols(named: &Named) -> Vec<String> {
    let mut notes = named.failures.clone();
    if let Some((path, build_id)) = named.missing.first() {
        let others = match named.missing.len() {
            1 => String::new(),
            all => format!(" and of {} more files", all - 1),
        };
        notes.push(format!(
            "{} addresses of {path} (build id {build_id}){others} have no names: `profundo symbols add FILE --to \
             STORE` keeps the symbols of a file in the store",
            named.unnamed
        ));
    }
    notes
}
