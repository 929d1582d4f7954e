//! Spans and marks: rows from records in any order, in whatever chunk they come.

use profundo_model::{Nanos, Profile, SpanId};
use profundo_wire::recording::{Event, Finish, Instant, ProcessInfo, Start};
use profundo_wire::{End, Mark, Span, SpanLoss, SpanOwner, SpanPath, SpanSum, span_path_words};

use super::{head, recording};
use crate::{Ingest, ingest};

fn path(number: u32, parent: u32, text: &str) -> Vec<u64> {
    let mut words = vec![0; span_path_words(text)];
    SpanPath::write(&mut words, number, parent, text).unwrap();
    words
}

fn sample(clock: u64, span: u32) -> Vec<u64> {
    let head = profundo_wire::SampleHead {
        span,
        ..head(clock, 1, 0, End::Root, 0)
    };
    head.to_words().to_vec()
}

fn span(path: u32, number: u64, began: u64, ended: u64) -> Vec<u64> {
    let owner = owner(path);
    let span = Span {
        owner,
        number,
        parent: number - 1,
        began,
        ended,
        ..Span::default()
    };
    span.to_words().to_vec()
}

fn owner(path: u32) -> SpanOwner {
    SpanOwner {
        path,
        thread: 1,
        tid: 71,
    }
}

fn names(profile: &Profile, id: SpanId) -> String {
    let paths = &profile.spans.paths;
    let text = |id| profile.strings.get(id);
    let each = paths.outwards(id).map(|id| {
        let path = paths.get(id);
        let attributes = path.attributes.iter();
        let attributes = attributes.map(|&(key, value)| format!(" {}={}", text(key), text(value)));
        format!("{}{}", text(path.name), attributes.collect::<String>())
    });
    each.collect::<Vec<_>>().join(" < ")
}

/// Cycles are halves of nanoseconds from 1000 on.
#[test]
fn paths_may_come_after_what_names_them() {
    let chunks = vec![
        [sample(1500, 2), sample(1600, 0), sample(1700, 9)].concat(),
        [
            span(2, 1, 1200, 1800),
            span(1, 2, 1400, 0),
            span(1, 3, 2000, 9000),
            SpanSum::words(
                owner(2),
                [3, 600, 100, 300],
                [(100, 2), (300, 1)].into_iter(),
            ),
            Mark::words(owner(1), 0, 1400, "epoch 3"),
            path(2, 1, "query\u{1f}table\u{1f}items"),
        ]
        .concat(),
        path(1, 0, "request\u{1f}route\u{1f}/p\u{1f}odd"),
    ];
    let profile = ingest(&recording(chunks, Vec::new()));
    let of_samples: Vec<String> = (profile.samples.iter())
        .map(|sample| names(&profile, sample.span))
        .collect();
    // The record of path 9 was lost.
    let inner = "query table=items < request route=/p";
    assert_eq!(of_samples, [inner, "", ""]);
    let spans = &profile.spans;
    assert_eq!(spans.paths.len(), 3);
    let times: Vec<_> = spans.each.iter().map(|span| (span.from, span.to)).collect();
    // What ended after the recording was open at its end.
    assert_eq!(
        times,
        [
            (Nanos(100), Some(Nanos(400))),
            (Nanos(200), None),
            (Nanos(500), None)
        ]
    );
    assert_eq!(names(&profile, spans.each[0].path), inner);
    let [sum] = &spans.sums[..] else {
        panic!("one sum")
    };
    let lengths = &sum.lengths;
    let figures = [lengths.count, lengths.total, lengths.least, lengths.most];
    assert_eq!(figures, [3, 300, 50, 150]);
    assert_eq!(lengths.percentile(0.5), Some(50));
    let [mark] = spans.marks[..] else {
        panic!("one mark")
    };
    assert_eq!(
        (mark.time, profile.strings.get(mark.name)),
        (Nanos(200), "epoch 3")
    );
    assert_eq!(names(&profile, mark.span), "request route=/p");
}

fn at(cycles: u64) -> Instant {
    Instant {
        cycles,
        monotonic: cycles / 2,
        unix: cycles,
    }
}

#[test]
fn processes_have_their_own_numbers_and_clearing_forgets_ended_spans() {
    let mut ingest = Ingest::new(Start::default());
    for (key, name) in [(1, "one"), (2, "two")] {
        ingest.event(Event::Process(ProcessInfo {
            key,
            pid: key,
            ..ProcessInfo::default()
        }));
        let words = [
            path(1, 0, name),
            sample(100 + u64::from(key), 1),
            span(1, 1, 50, 200),
            Mark::words(owner(1), 0, 150, "before"),
            SpanLoss {
                marks: 5,
                ..SpanLoss::default()
            }
            .to_words()
            .to_vec(),
        ];
        let words = &words.concat();
        ingest.event(Event::Words {
            process: key,
            words,
        });
    }
    for cycles in [1000, 2000, 3000] {
        ingest.event(Event::Clock(at(cycles)));
    }
    let profile = ingest.profile();
    let found: Vec<_> = profile
        .samples
        .iter()
        .map(|sample| names(profile, sample.span))
        .collect();
    assert_eq!(found, ["one", "two"]);
    ingest.event(Event::Cleared(at(4000)));
    let words = &[
        span(1, 2, 3000, 5000),
        span(1, 3, 100, 3900),
        span(1, 4, 4500, 5000),
    ]
    .concat();
    let process = 1;
    ingest.event(Event::Words { process, words });
    let profile = ingest.finish(Finish {
        ended: at(6000),
        ..Finish::default()
    });
    let spans = &profile.spans;
    let numbers: Vec<u64> = spans.each.iter().map(|span| span.number).collect();
    assert_eq!(numbers, [2, 4]);
    assert_eq!((spans.marks.len(), spans.loss.marks), (0, 0));
}

#[test]
fn more_spans_than_are_kept_are_added_up() {
    const MANY: u64 = 140_000;
    let mut words = path(1, 0, "many");
    for number in 1..=MANY {
        words.extend(span(1, number, 1000 + number % 7, 1100 + number % 7));
    }
    let profile = ingest(&recording(vec![words], Vec::new()));
    let spans = &profile.spans;
    let summed: u64 = spans.sums.iter().map(|sum| sum.lengths.count).sum();
    assert_eq!(spans.each.len() as u64 + summed, MANY);
    assert!(summed > 0);
    let lengths = &spans.sums[0].lengths;
    assert_eq!((lengths.least, lengths.most), (50, 50));
}
