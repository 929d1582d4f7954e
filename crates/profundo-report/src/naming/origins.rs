//! Merged recordings in words.

use std::io;

use profundo_analysis::GroupBy;
use profundo_model::{Alignment, ProcessId, Profile, StringId};

use crate::page::Page;
use crate::page::line::{Line, Style};
use crate::page::palette::Color;
use crate::page::width::{keep_head, width};

/// The name of a group by labels, or by one: those of its first process and of its recording.
pub(crate) fn group_label(profile: &Profile, by: &GroupBy, first: ProcessId) -> String {
    let strings = &profile.strings;
    if let GroupBy::LabelOf(key) = by {
        let value = strings
            .find(key)
            .and_then(|key| profile.label_of(first, key));
        return match value {
            Some(value) => format!("{key}={}", strings.get(value)),
            None => format!("without {key}"),
        };
    }
    let own = &profile.processes[first.index()].labels;
    let own = own.iter().map(|&(key, value)| {
        let (key, value) = (strings.get(key), strings.get(value));
        format!("{key}={value}")
    });
    let of_recording = profile
        .origin_of(first)
        .map(|origin| profile.labels_of(origin));
    let all: Vec<String> = own
        .chain(of_recording)
        .filter(|labels| !labels.is_empty())
        .collect();
    match all.is_empty() {
        true => "without labels".to_owned(),
        false => all.join(", "),
    }
}

/// Writes which recordings were merged, and where they stand in time. For a recording with labels
/// alone, writes those; for any other, nothing.
pub(crate) fn write_merged(page: &mut Page<'_>) -> io::Result<()> {
    let profile = page.profile;
    let question = profile.meta.question.as_ref();
    let text = match profile.origins.len() {
        _ if question.is_some() => question.map_or(String::new(), |question| {
            format!("{} · {}", question.title, question.rest)
        }),
        0 => return Ok(()),
        1 => match &profile.origin_names()[0] {
            names if names.is_empty() => return Ok(()),
            names => names.clone(),
        },
        several => {
            let start = format!("merged from {several} recordings (");
            let end = format!("), {}", alignment(profile.alignment()));
            let columns = page.columns.saturating_sub(width(&start) + width(&end));
            format!(
                "{start}{}{end}",
                keep_head(&listed(profile), columns.max(12))
            )
        }
    };
    let mut line = Line::default();
    line.push(&text, Style::color(Color::Gray));
    line.truncate(page.columns);
    page.line(&mut line)
}

/// The position of merged recordings in time.
pub(crate) fn alignment(alignment: Alignment) -> &'static str {
    match alignment {
        Alignment::Start => "side by side",
        Alignment::Sequence => "one after another",
        Alignment::Clock => "by their clocks",
    }
}

/// The merged recordings: by the values of their label, if all have one of the same key.
fn listed(profile: &Profile) -> String {
    let only_label = |origin: &profundo_model::Origin| match origin.labels[..] {
        [label] => Some(label),
        _ => None,
    };
    let labels: Option<Vec<(StringId, StringId)>> =
        profile.origins.iter().map(only_label).collect();
    let labels = labels.filter(|labels| labels.iter().all(|(key, _)| *key == labels[0].0));
    let Some(labels) = labels else {
        return profile.origin_names().join("; ");
    };
    let values: Vec<&str> = (labels.iter())
        .map(|&(_, value)| profile.strings.get(value))
        .collect();
    let key = profile.strings.get(labels[0].0);
    let numbers: Option<Vec<u64>> = values.iter().map(|value| value.parse().ok()).collect();
    let in_a_row = |numbers: &Vec<u64>| {
        let mut pairs = numbers.windows(2);
        numbers.len() > 2 && pairs.all(|pair| pair[0].checked_add(1) == Some(pair[1]))
    };
    match numbers.filter(in_a_row).as_deref() {
        Some([first, .., last]) => format!("{key} = {first}…{last}"),
        _ => format!("{key} = {}", values.join(", ")),
    }
}
