//! Spans and marks: the table by name and by attribute, the list of marks, and what was not kept.

use expect_test::expect;
use profundo_model::{Mark, Nanos, Profile, Span, SpanLoss, SpanPath, SpanSum};
use profundo_report::{Choices, Filter, Format, GroupBy, Look, Report, Spans, View};

/// A hundred samples in two kinds of requests with queries in them, and outside of spans.
pub fn named() -> Profile {
    let text = "main;serve;render 40\nmain;serve;query 35\nmain;idle 25";
    let mut profile = Profile::from_folded(text).unwrap();
    profile.meta.duration = Nanos(2_000_000_000);
    let words = [
        "request",
        "query",
        "route",
        "/",
        "/search",
        "ready",
        "all answered",
    ];
    let [request, query, route, root, search, ready, answered] =
        words.map(|word| profile.strings.intern(word));
    let paths = &mut profile.spans.paths;
    let mut path = |parent, name, attributes: &[_]| {
        paths.intern(SpanPath {
            parent,
            name,
            attributes: attributes.into(),
        })
    };
    let front = path(None, request, &[(route, root)]);
    let found = path(None, request, &[(route, search)]);
    let within = path(Some(found), query, &[]);
    let of_sample = |at| match at {
        0..30 => Some(front),
        30..40 => Some(found),
        40..75 => Some(within),
        _ => None,
    };
    for (at, sample) in profile.samples.iter_mut().enumerate() {
        sample.span = of_sample(at).unwrap_or_default();
    }
    let thread = profile.samples[0].thread;
    let span = |path, from: u64, to: Option<u64>| Span {
        path,
        thread,
        from: Nanos(from * 1_000_000),
        to: to.map(|to| Nanos(to * 1_000_000)),
        ..Span::default()
    };
    for number in 0..10 {
        let each = [
            span(front, number * 100, Some(number * 100 + 3 + number)),
            span(found, number * 100 + 20, Some(number * 100 + 60)),
            span(within, number * 100 + 25, Some(number * 100 + 50)),
        ];
        profile.spans.each.extend(each);
    }
    profile.spans.each.push(span(found, 1_500, None));
    profile.spans.marks = [(answered, 1_234), (ready, 5)]
        .map(|(name, time)| Mark {
            name,
            time: Nanos(time * 1_000_000),
            thread,
            span: if name == ready {
                front
            } else {
                Default::default()
            },
            ..Mark::default()
        })
        .into();
    profile
}

fn look(width: usize) -> Look {
    Look::new().width(width)
}

#[test]
fn spans_by_name() {
    let text = Spans::new().look(look(80)).render(&named()).unwrap();
    expect![[r#"
        31 spans (1 open at the end); outside of them: 25.0 % of the time.

        Time %       Own %     Time   Count    Total   Median     95 %  Longest  Span
          75.0 ±9.3   40.0  75.0 ms      21   475 ms  12.0 ms  40.0 ms  40.0 ms  request
          35.0 ±9.7   35.0  35.0 ms      10   250 ms  25.0 ms  25.0 ms  25.0 ms  query

                Time  Mark
             0.005 s  ready  in request
             1.234 s  all answered

    "#]]
    .assert_eq(&text);
    let text = Spans::new().look(look(150)).render(&named()).unwrap();
    expect![[r#"
        31 spans (1 open at the end); outside of them: 25.0 % of the time.

        Time %             Own %     Time   Count    Total     Mean   Median     95 %     99 %  Longest  Span
          75.0 65.7–82.5    40.0  75.0 ms      21   475 ms  23.8 ms  12.0 ms  40.0 ms  40.0 ms  40.0 ms  request
          35.0 26.4–44.7    35.0  35.0 ms      10   250 ms  25.0 ms  25.0 ms  25.0 ms  25.0 ms  25.0 ms  query

                Time  Mark
             0.005 s  ready  in request
             1.234 s  all answered

    "#]].assert_eq(&text);
}

#[test]
fn spans_by_attribute_within_a_filter() {
    let choices = Choices::command().filter(Filter::default().span("request"));
    let by = GroupBy::SpanOf("route".into());
    let spans = Spans::new().by(by).choices(choices).look(look(80));
    expect![[r#"
        21 spans (1 open at the end); outside of them: 0 % of the time.

        Time %       Own %     Time   Count    Total   Median     95 %  Longest  route
          60.0 ±11.3  60.0  45.0 ms      11   400 ms  40.0 ms  40.0 ms  40.0 ms  /search
          40.0 ±11.3  40.0  30.0 ms      10  75.0 ms  7.00 ms  12.0 ms  12.0 ms  /

                Time  Mark
             0.005 s  ready  in request

        Only: span=request: 75 of 100 samples (75.0 %).
    "#]]
    .assert_eq(&spans.render(&named()).unwrap());
}

#[test]
fn what_was_not_kept_is_said() {
    let mut profile = named();
    let path = profile.spans.each[0].path;
    let mut sum = SpanSum {
        path,
        ..SpanSum::default()
    };
    (1..=1000).for_each(|number| sum.lengths.add(number * 1_000));
    profile.spans.sums.push(sum);
    profile.spans.loss = SpanLoss {
        marks: 1,
        attributes: 20,
        names: 300,
    };
    let spans = Spans::new().limit(1).look(look(80)).quality(false);
    expect![[r#"
        1031 spans (1 open at the end); outside of them: 25.0 % of the time.

        Time %       Own %     Time   Count    Total   Median     95 %  Longest  Span
          75.0 ±9.3   40.0  75.0 ms    1021   976 ms   512 µs   975 µs  40.0 ms  request
        … and 1 more

                Time  Mark
             0.005 s  ready  in request
        … and 1 more

        1000 of 1031 spans are known as sums: their number and the sum, least and most of their lengths are exact, and percentiles are within 4 %.
        Warning: 20 spans had attributes with more different values than are kept: these stand under `…`.
        Warning: 300 spans had more different names than are kept, or were too deep: these stand under `[other spans]`, or with the span around them.
        Warning: 1 mark was not kept: there were more than the first ones.
    "#]].assert_eq(&spans.render(&profile).unwrap());
    let later = Choices::command().filter(Filter::default().from_seconds(1.0));
    let text = spans.choices(later).render(&profile).unwrap();
    assert!(text.contains("1000 spans are left out"), "{text}");
}

#[test]
fn a_recording_without_spans_says_how_to_get_them() {
    let profile = Profile::from_folded("main 40").unwrap();
    let text = Spans::new().look(look(80)).render(&profile).unwrap();
    assert!(text.contains("`profundo::span!`"), "{text}");
    let nothing = Choices::command().filter(Filter::default().span("nothing"));
    let spans = Spans::new().choices(nothing).look(look(80));
    let text = spans.render(&named()).unwrap();
    assert!(text.contains("no spans and no marks pass"), "{text}");
}

#[test]
fn a_table_by_span_has_a_heading_for_each() {
    let report = Report::new()
        .format(Format::Flat)
        .group_by(GroupBy::Span)
        .width(80);
    let text = report.render(&named()).unwrap();
    let headings = ["Span request", "Span query", "Outside of spans"];
    let places: Vec<usize> = headings.iter().map(|it| text.find(it).unwrap()).collect();
    assert!(places.is_sorted(), "{text}");
    let by_route = report.group_by(GroupBy::SpanOf("route".into()));
    let text = by_route.render(&named()).unwrap();
    assert!(text.contains("Spans with route=/search"), "{text}");
    assert!(text.contains("Outside of spans with route"), "{text}");
}
