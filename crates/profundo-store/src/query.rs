//! The text of a query: a place, and behind `?` what is wanted of it.
//!
//! `s3://bucket/prod?service=api&version=1.4&from=-1h`. Times are lengths before now, or dates.

use profundo_analysis::nearest_word;
use std::fmt::{self, Display, Formatter};

use crate::Error;
use crate::names::days_of;
use crate::table::Kind;
use crate::writer::unescaped;

/// The rows of the answer: one for each thread, process, host or service.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub enum By {
    /// Threads.
    #[default]
    Thread,
    /// Processes.
    Process,
    /// Hosts, versions, containers, pods and other labels.
    Host,
    /// Services.
    Service,
}

impl By {
    const ALL: [(Self, &'static str); 4] = [
        (Self::Thread, "thread"),
        (Self::Process, "process"),
        (Self::Host, "host"),
        (Self::Service, "service"),
    ];
}

/// A condition on the labels of samples.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Condition {
    /// The column, or the label behind `label.`.
    pub key: String,
    /// The values, any of which will do.
    pub values: Vec<String>,
}

/// A question to a store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Query {
    /// The store: a folder's path, or an address such as `s3://bucket/prefix`.
    pub place: String,
    /// The services; all where there is none.
    pub services: Vec<String>,
    /// Conditions, all of which must hold.
    pub conditions: Vec<Condition>,
    /// The begin, in milliseconds since 1970.
    pub from: i64,
    /// The end.
    pub to: i64,
    /// The measured quantity.
    pub kind: Kind,
    /// The rows of the answer.
    pub by: By,
    /// The length of a step of time in the answer, in milliseconds.
    pub step: Option<i64>,
}

/// Keys that are columns of the table of labels.
const COLUMNS: [&str; 8] = [
    "host",
    "version",
    "container",
    "pod",
    "pid",
    "command",
    "runtime",
    "thread",
];
const KEYS: &str = "service, host, version, container, pod, pid, command, runtime, thread, label.KEY, \
                    from, to, type, by, step";
/// The longest time of a query.
const MOST_DAYS: i64 = 400;
const DAY: i64 = 86_400_000;

impl Query {
    /// Whether a text is a query, and no file's name.
    pub fn is_one(text: &str) -> bool {
        let keys = |rest: &str| {
            let mut pairs = rest.split('&');
            pairs.any(|pair| pair.split_once('=').is_some_and(|(key, _)| is_key(key)))
        };
        text.starts_with("s3://") || text.split_once('?').is_some_and(|(_, rest)| keys(rest))
    }

    /// The query of a text. `now` is in milliseconds since 1970.
    pub fn parse(text: &str, now: i64) -> Result<Self, Error> {
        read(text, now).map_err(|why| Error::Query {
            query: text.to_owned(),
            why,
        })
    }
}

/// The text that gives the same query at any time: its times are not lengths before now.
impl Display for Query {
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        write!(out, "{}?", self.place)?;
        for service in &self.services {
            write!(out, "service={}&", escaped(service))?;
        }
        for Condition { key, values } in &self.conditions {
            for value in values {
                write!(out, "{key}={}&", escaped(value))?;
            }
        }
        write!(out, "from={}ms&to={}ms", self.from, self.to)?;
        write!(out, "&type={}", self.kind.name())?;
        let by = By::ALL.into_iter().find(|(by, _)| *by == self.by);
        write!(out, "&by={}", by.map_or("", |(_, name)| name))?;
        match self.step {
            Some(step) => write!(out, "&step={step}ms"),
            None => Ok(()),
        }
    }
}

/// A value in a query's text.
fn escaped(value: &str) -> String {
    value.replace('%', "%25").replace('&', "%26")
}

fn is_key(key: &str) -> bool {
    matches!(key, "service" | "from" | "to" | "type" | "by" | "step")
        || COLUMNS.contains(&key)
        || key
            .strip_prefix("label.")
            .is_some_and(|label| !label.is_empty())
}

fn read(text: &str, now: i64) -> Result<Query, String> {
    let (place, rest) = text.split_once('?').unwrap_or((text, ""));
    if place.is_empty() || place == "s3://" {
        return Err("it begins with a folder or with s3://BUCKET/PREFIX".to_owned());
    }
    let mut query = Query {
        place: place.to_owned(),
        services: Vec::new(),
        conditions: Vec::new(),
        from: now - 3_600_000,
        to: now,
        kind: Kind::Cpu,
        by: By::Thread,
        step: None,
    };
    let mut given: Vec<&str> = Vec::new();
    for pair in rest.split('&').filter(|pair| !pair.is_empty()) {
        let Some((key, value)) = pair.split_once('=') else {
            return Err(format!("{pair} has no value; write {pair}=VALUE"));
        };
        if !is_key(key) {
            let keys = KEYS.split(", ");
            return Err(match nearest_word(key, keys) {
                Some(near) => format!("it knows no {key}; write {near}={value}"),
                None => format!("it knows no {key}; there are {KEYS}"),
            });
        }
        let value = unescaped(value);
        let is_single = matches!(key, "from" | "to" | "type" | "by" | "step");
        if is_single && given.contains(&key) {
            return Err(format!("{key} stands there twice"));
        }
        given.push(key);
        set(&mut query, key, value, now)?;
    }
    if query.from >= query.to {
        return Err("from is not before to".to_owned());
    }
    if query.to - query.from > MOST_DAYS * DAY {
        return Err(format!("it asks for more than {MOST_DAYS} days"));
    }
    Ok(query)
}

fn set(query: &mut Query, key: &str, value: String, now: i64) -> Result<(), String> {
    match key {
        "service" => query.services.push(value),
        "from" => query.from = time(&value, now)?,
        "to" => query.to = time(&value, now)?,
        "type" => {
            let names = Kind::ALL.map(Kind::name).join(", ");
            let unknown = || format!("there is no type {value}; there are {names}");
            query.kind = Kind::of_name(&value).ok_or_else(unknown)?;
        }
        "by" => {
            let known = By::ALL.into_iter().find(|(_, name)| *name == value);
            let names = By::ALL.map(|(_, name)| name).join(", ");
            let unknown = || format!("by={value} is unknown; there are {names}");
            query.by = known.ok_or_else(unknown)?.0;
        }
        "step" => {
            let step = length(&value).filter(|step| *step > 0);
            let wrong = || format!("step={value} is no length such as 10s or 5m");
            query.step = Some(step.ok_or_else(wrong)?);
        }
        _ => {
            if key == "pid" && value.parse::<u32>().is_err() {
                return Err(format!("pid={value} is no number"));
            }
            let known = query.conditions.iter_mut().find(|known| known.key == key);
            match known {
                Some(known) => known.values.push(value),
                None => query.conditions.push(Condition {
                    key: key.to_owned(),
                    values: vec![value],
                }),
            }
        }
    }
    Ok(())
}

/// A time in milliseconds since 1970: `now`, `-1h`, `2026-11-28`, `2026-11-28T09:30:00Z`.
fn time(text: &str, now: i64) -> Result<i64, String> {
    if text == "now" {
        return Ok(now);
    }
    if let Some(since_1970) = text.strip_suffix("ms").and_then(|text| text.parse().ok()) {
        return Ok(since_1970);
    }
    if let Some(back) = text.strip_prefix('-').and_then(length) {
        return Ok(now.saturating_sub(back));
    }
    date_time(text).ok_or_else(|| {
        format!("{text} is no time; write -1h, -30m, -2d, 2026-11-28 or 2026-11-28T09:30Z")
    })
}

fn date_time(text: &str) -> Option<i64> {
    let (date, clock) = match text.split_once('T') {
        Some((date, clock)) => (date, clock.strip_suffix('Z').unwrap_or(clock)),
        None => (text, "00:00"),
    };
    let mut seconds = 0;
    let parts: Vec<&str> = clock.split(':').collect();
    if !(2..=3).contains(&parts.len()) {
        return None;
    }
    for (part, (unit, most)) in parts.iter().zip([(3600, 24), (60, 60), (1, 60)]) {
        let is_plain = part.len() == 2 && part.bytes().all(|byte| byte.is_ascii_digit());
        let value: i64 = part
            .parse()
            .ok()
            .filter(|value| is_plain && *value < most)?;
        seconds += value * unit;
    }
    Some(days_of(date)? * DAY + seconds * 1000)
}

/// A length in milliseconds: a whole number and `s`, `m`, `h` or `d`.
fn length(text: &str) -> Option<i64> {
    const UNITS: [(&str, i64); 5] = [
        ("ms", 1),
        ("s", 1000),
        ("m", 60_000),
        ("h", 3_600_000),
        ("d", DAY),
    ];
    let (unit, number) = UNITS.iter().find_map(|&(unit, factor)| {
        let number = text.strip_suffix(unit)?;
        Some((factor, number))
    })?;
    let is_plain = number.bytes().all(|byte| byte.is_ascii_digit());
    number
        .parse::<i64>()
        .ok()
        .filter(|_| is_plain)?
        .checked_mul(unit)
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: i64 = 1_795_858_200_000;

    #[test]
    fn a_query_is_read() {
        let text = "s3://bucket/prod?service=api&version=1.4&version=1.5&from=-1h&to=-30m\
                    &type=wall&label.zone=a%26b&by=host&step=10s";
        assert!(Query::is_one(text));
        let query = Query::parse(text, NOW).unwrap();
        let condition = |key: &str, values: &[&str]| Condition {
            key: key.to_owned(),
            values: values.iter().map(|&value| value.to_owned()).collect(),
        };
        let wanted = Query {
            place: "s3://bucket/prod".to_owned(),
            services: vec!["api".to_owned()],
            conditions: vec![
                condition("version", &["1.4", "1.5"]),
                condition("label.zone", &["a&b"]),
            ],
            from: NOW - 3_600_000,
            to: NOW - 1_800_000,
            kind: Kind::Wall,
            by: By::Host,
            step: Some(10_000),
        };
        assert_eq!(query, wanted);
    }

    #[test]
    fn times_are_lengths_before_now_or_dates() {
        let from = |text: &str| Query::parse(&format!("f?from={text}"), NOW).unwrap().from;
        assert_eq!(from("-90s"), NOW - 90_000);
        assert_eq!(from("-2d"), NOW - 2 * DAY);
        assert_eq!(from("2026-11-28"), 1_795_824_000_000);
        assert_eq!(from("2026-11-28T09:00"), 1_795_856_400_000);
        assert_eq!(from("2026-11-28T09:00:07Z"), 1_795_856_407_000);
        assert_eq!(Query::parse("f", NOW).unwrap().from, NOW - 3_600_000);
    }

    #[test]
    fn the_text_of_a_query_gives_it_back_at_any_time() {
        for text in [
            "s3://bucket/prod",
            "f?from=-1h&to=-90s",
            "/srv/f?service=a%26b%25&service=%3F=&label.a=x&label.a=y&pid=7&from=1970-01-01&to=1970-01-02",
            "f?type=alloc&by=host&step=1m&thread=%26",
        ] {
            let query = Query::parse(text, NOW + 123).unwrap();
            let again = query.to_string();
            assert_eq!(Query::parse(&again, 0).unwrap(), query, "{again}");
        }
        let text = Query::parse("f?step=10s&from=-1s", NOW)
            .unwrap()
            .to_string();
        assert_eq!(
            text,
            "f?from=1795858199000ms&to=1795858200000ms&type=cpu&by=thread&step=10000ms"
        );
    }

    #[test]
    fn each_mistake_has_its_sentence() {
        for (text, why) in [
            (
                "?service=a",
                "it begins with a folder or with s3://BUCKET/PREFIX",
            ),
            ("f?service", "service has no value; write service=VALUE"),
            ("f?from=-1h&from=-2h", "from stands there twice"),
            (
                "f?from=-1x",
                "-1x is no time; write -1h, -30m, -2d, 2026-11-28 or 2026-11-28T09:30Z",
            ),
            (
                "f?from=2026-13-01",
                "2026-13-01 is no time; write -1h, -30m, -2d, 2026-11-28 or 2026-11-28T09:30Z",
            ),
            (
                "f?from=2026-11-28T9",
                "2026-11-28T9 is no time; write -1h, -30m, -2d, 2026-11-28 or 2026-11-28T09:30Z",
            ),
            ("f?from=-1h&to=-2h", "from is not before to"),
            ("f?from=-900d", "it asks for more than 400 days"),
            (
                "f?type=heat",
                "there is no type heat; there are cpu, wall, alloc",
            ),
            (
                "f?by=zone",
                "by=zone is unknown; there are thread, process, host, service",
            ),
            ("f?step=0s", "step=0s is no length such as 10s or 5m"),
            ("f?pid=x", "pid=x is no number"),
        ] {
            let Err(Error::Query { why: found, .. }) = Query::parse(text, NOW) else {
                panic!("{text} was understood");
            };
            assert_eq!(found, why, "{text}");
        }
        let error = Query::parse("f?servce=api", NOW).unwrap_err().to_string();
        assert_eq!(
            error,
            "the query f?servce=api is not clear: it knows no servce; write service=api"
        );
        let error = Query::parse("f?colour=red", NOW).unwrap_err().to_string();
        assert!(error.starts_with(
            "the query f?colour=red is not clear: it knows no colour; there are service, "
        ));
    }

    #[test]
    fn a_file_is_no_query() {
        assert!(!Query::is_one("run.profundo"));
        assert!(!Query::is_one("why?.profundo"));
        assert!(!Query::is_one("a?b=c"));
        assert!(Query::is_one("s3://bucket/prod"));
        assert!(Query::is_one("folder?from=-1h"));
    }
}
