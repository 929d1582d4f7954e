//! Spans and marks of Python programs: their time is that of the program's own account, whatever
//! the order in which tasks and threads run.

use std::path::{Path, PathBuf};

use profundo_model::{Profile, Sample, SpanId, StringId};
use profundo_testing::pythons_for;

use crate::program::Program;
use crate::recording::Recording;
use crate::targets::source;

/// The folder of the Python package.
fn package() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../python/src")
}

/// The spans around a sample, the innermost first: names, and values of attributes.
fn around(profile: &Profile, span: SpanId) -> Vec<(&str, Vec<&str>)> {
    let text = |id: StringId| profile.strings.get(id);
    (profile.spans.paths.outwards(span))
        .map(|id| {
            let path = profile.spans.paths.get(id);
            let values = path.attributes.iter().map(|&(_, value)| text(value));
            (text(path.name), values.collect())
        })
        .collect()
}

/// The milliseconds of the samples whose spans are as wanted.
fn milliseconds(recording: &Recording, is_wanted: impl Fn(&[(&str, Vec<&str>)]) -> bool) -> f64 {
    let seconds = recording
        .seconds_where(|sample: &Sample| is_wanted(&around(&recording.profile, sample.span)));
    seconds * 1000.0
}

/// The milliseconds of a span with this name, and of what is in it.
fn total(recording: &Recording, name: &str) -> f64 {
    milliseconds(recording, |spans| spans.iter().any(|span| span.0 == name))
}

/// The number of spans with this name: those with records of their own, and those in sums.
fn count(profile: &Profile, name: &str) -> u64 {
    let is_it = |path| profile.strings.get(profile.spans.paths.get(path).name) == name;
    let each = profile.spans.each.iter().filter(|span| is_it(span.path));
    let sums = profile.spans.sums.iter().filter(|sum| is_it(sum.path));
    each.count() as u64 + sums.map(|sum| sum.lengths.count).sum::<u64>()
}

/// Asserts that a time is near what it is known to be. A burn ends late by some microseconds, the
/// event loop works in the span of a task that it switches to, and a tick stands for a millisecond
/// or more: beside other programs, spans of some milliseconds have a part of their neighbours.
#[track_caller]
fn assert_near(what: &str, found: f64, expected: f64) {
    assert!(
        (found - expected).abs() <= 25.0 + expected * 0.15,
        "{what}: {found:.1} ms are not {expected} ms"
    );
}

#[test]
fn each_span_has_its_own_time() {
    for version in pythons_for("spans") {
        let program = Program::new(&version.path)
            .with(&[source("spans.py").into_os_string(), package().into()])
            .slack(5.0);
        let recording = program.run_both_ways();
        // From 3.14 on, threads may begin in the spans of the thread that starts them.
        let inherits = version.answers("getattr(sys.flags, 'thread_inherit_context', 0)");
        check(&recording, if inherits { 240.0 } else { 0.0 });
    }
}

/// No span is lost, and none counts twice, where threads run at the same time.
#[test]
fn spans_of_threads_at_the_same_time_are_all_counted() {
    for version in pythons_for("spans_at_once.py") {
        let program = Program::new(&version.path).with(&[
            source("spans_at_once.py").into_os_string(),
            package().into(),
        ]);
        let recording = program.run_both_ways();
        let profile = &recording.profile;
        let turns = 4 * 3000;
        for (name, expected) in [
            ("outer", turns),
            ("inner", turns),
            ("decorated", turns),
            ("generator", turns),
            ("shared", 2 * turns),
            ("deep", 4 * 20),
        ] {
            assert_eq!(count(profile, name), expected, "{name}, {:?}", version.path);
        }
        assert_eq!(profile.spans.marks.len(), 4 * 30);
        assert_eq!(profile.spans.loss, profundo_model::SpanLoss::default());
        let each = &profile.spans.each;
        assert!(each.iter().all(|span| span.to.is_some()), "one is open");
    }
}

/// `spawning`: the milliseconds of the span in which threads are started.
fn check(recording: &Recording, spawning: f64) {
    let profile = &recording.profile;
    // 17, 17 and 16 requests with three rounds: their own, and 2 ms of a query and of each part.
    for (kind, requests, own) in [
        ("cart", 17.0, 8.0),
        ("home", 17.0, 4.0),
        ("search", 16.0, 16.0),
    ] {
        let of_kind = |spans: &[(&str, Vec<&str>)]| spans.iter().any(|span| span.1 == [kind]);
        let found = milliseconds(recording, of_kind);
        assert_near(kind, found, requests * 3.0 * (own + 6.0));
        let queries = milliseconds(recording, |spans| of_kind(spans) && spans[0].0 == "query");
        assert_near("query", queries, requests * 6.0);
    }
    for (name, expected) in [
        ("decorated", 60.0),
        ("coroutine", 60.0),
        ("generator", 50.0),
        ("numbers", 40.0),
        ("caller", 90.0),
        ("inside", 20.0),
        ("thread", 180.0),
        ("spawning", spawning),
        ("first", 120.0),
        ("second", 90.0),
        ("again", 60.0),
        ("failing", 20.0),
        ("forked", 160.0),
        ("in child", 60.0),
        ("left open", 20.0),
    ] {
        assert_near(name, total(recording, name), expected);
    }
    for (name, expected) in [
        ("request", 50),
        ("query", 150),
        ("decorated", 3),
        ("coroutine", 1),
        ("generator", 1),
        ("numbers", 1),
        ("caller", 1),
        ("inside", 5),
        ("thread", 3),
        ("spawning", 1),
        ("first", 1),
        ("again", 3),
        ("failing", 1),
        // The parent's: the child has only its own.
        ("forked", 1),
        ("in child", 1),
        ("loop", 1),
        ("step", 150_000),
        ("left open", 1),
    ] {
        assert_eq!(count(profile, name), expected, "{name}");
    }
    let each = &profile.spans.each;
    let open = each.iter().filter(|span| span.to.is_none());
    let open: Vec<&str> = open
        .map(|span| profile.strings.get(profile.spans.paths.get(span.path).name))
        .collect();
    assert_eq!(open, ["left open"]);
    let marks = profile.spans.marks.iter();
    let marks: Vec<&str> = marks.map(|mark| profile.strings.get(mark.name)).collect();
    assert_eq!(marks, ["ready", "served 50"]);
    assert_eq!(profile.spans.loss, profundo_model::SpanLoss::default());
    // A control character is none in a name.
    assert!(
        milliseconds(recording, |spans| spans
            .iter()
            .any(|span| span.1 == ["yes "]))
            > 0.0
    );
}
