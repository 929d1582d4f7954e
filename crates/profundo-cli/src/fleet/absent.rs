//! Why a query finds nothing, and what there is instead.

use anyhow::{Context, Result};
use profundo_analysis::nearest_word;
use profundo_launch::LocalTime;
use profundo_model::Profile;
use profundo_store::{Query, hours, services, values};

use super::{Asked, cannot_read, threads};

/// The number of services or values that a sentence names.
const MOST: usize = 12;
const DAY: i64 = 86_400_000;

/// The sentence for a store without a query.
pub(super) fn no_query(asked: &Asked) -> Result<String> {
    let place = &asked.query.place;
    let last_day = Query {
        from: asked.query.to - DAY,
        ..asked.query.clone()
    };
    let known = services(&*asked.store, &last_day, threads());
    let known = known.with_context(|| cannot_read(place))?;
    let names: Vec<&str> = known.keys().map(String::as_str).collect();
    let there = match names[..] {
        [] => nothing_in_time(asked)?,
        [one] => format!("in the last day it has {one}"),
        _ => format!("in the last day it has {}", listed(&names)),
    };
    let example = names.first().copied().unwrap_or("NAME");
    Ok(format!(
        "{place} is a store of a fleet's profiles, and a query says which: \
         '{place}?service={example}&from=-1h'; {there} (`profundo list {place}` shows more)"
    ))
}

/// The sentence for a query without an answer.
pub fn why(asked: &Asked, profile: &Profile) -> Result<String> {
    // What could not be read may have been the answer.
    if let Some(note) = profile.meta.notes.first() {
        return Ok(note.clone());
    }
    let query = &asked.query;
    let failed = || cannot_read(&query.place);
    let known = services(&*asked.store, query, threads()).with_context(failed)?;
    if known.is_empty() {
        return nothing_in_time(asked);
    }
    let time = time(query);
    let names: Vec<&str> = known.keys().map(String::as_str).collect();
    let unknown = |service: &&String| !known.contains_key(*service);
    if let Some(service) = query.services.iter().find(unknown) {
        return Ok(no_value(("service", service), &names, &time));
    }
    for condition in &query.conditions {
        let key = condition.key.as_str();
        let there = values(&*asked.store, query, key, threads()).with_context(failed)?;
        let there: Vec<&str> = there.iter().map(String::as_str).collect();
        let has = |value: &&String| there.contains(&value.as_str());
        if let Some(value) = condition.values.iter().find(|value| !has(value)) {
            return Ok(no_value((key, value), &there, &time));
        }
    }
    let kinds = known
        .iter()
        .filter(|(service, _)| query.services.is_empty() || query.services.contains(service));
    let mut kinds: Vec<&str> = kinds
        .flat_map(|(_, kinds)| kinds.iter().map(|kind| kind.name()))
        .collect();
    kinds.sort_unstable();
    kinds.dedup();
    let kind = query.kind.name();
    if !kinds.contains(&kind) {
        return Ok(format!(
            "there is nothing of type={kind} {time}; there is {}",
            listed(&kinds)
        ));
    }
    Ok(format!(
        "nothing {time} fulfils all conditions of {} together",
        asked.text
    ))
}

/// The sentence for a time in which there is nothing at all.
fn nothing_in_time(asked: &Asked) -> Result<String> {
    let query = &asked.query;
    let there = hours(&*asked.store).with_context(|| cannot_read(&query.place))?;
    Ok(match there {
        None => format!("there are no samples in {}", query.place),
        Some(there) => format!(
            "there are no samples {}; the store has some from {} to {}",
            time(query),
            at(there.start),
            at(there.end)
        ),
    })
}

/// The sentence for a value that nothing has.
fn no_value((key, value): (&str, &str), there: &[&str], time: &str) -> String {
    let there: Vec<&str> = there
        .iter()
        .copied()
        .filter(|known| !known.is_empty())
        .collect();
    // Of a few, the reader sees the nearest.
    let near = nearest_word(value, there.iter().copied()).filter(|_| there.len() > MOST);
    let near = near.map_or(String::new(), |near| format!("; did you mean {near}?"));
    match there.is_empty() {
        true => format!("nothing {time} has a {key}, so {key}={value} finds nothing"),
        false => format!(
            "there is no {key} {value} {time}; there {} {}{near}",
            if there.len() == 1 { "is" } else { "are" },
            listed(&there)
        ),
    }
}

/// The time of a query in words.
pub(super) fn time(query: &Query) -> String {
    format!("from {} to {}", at(query.from), until(query.from, query.to))
}

/// A time of the store in local time.
pub(super) fn at(millis: i64) -> String {
    LocalTime::at(millis.div_euclid(1000)).shown()
}

/// The end of a stretch of time: without the day, where it is that of its begin.
pub(super) fn until(from: i64, to: i64) -> String {
    let (from, to) = (at(from), at(to));
    match (from.split_once(' '), to.split_once(' ')) {
        (Some((day, _)), Some((other, clock))) if day == other => clock.to_owned(),
        _ => to,
    }
}

/// Some of several names.
pub(super) fn listed(names: &[&str]) -> String {
    match names.len() {
        0..=MOST => names.join(", "),
        all => format!("{} and {} more", names[..MOST].join(", "), all - MOST),
    }
}
