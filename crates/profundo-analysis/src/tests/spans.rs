//! Spans: rows by name and by attribute, what is in them and what is not.

use profundo_model::{Mark, Nanos, Profile, Span, SpanId, SpanPath, SpanSum, StringId};

use crate::diff::{By, Options, compare};
use crate::*;

/// The samples of `outer` and of `query` in it, of `query` alone, and of no span: 3, 2, 4 and 1.
fn named() -> Profile {
    let mut profile = Profile::from_folded("main;a 3\nmain;b 2\nmain;c 4\nmain;d 1").unwrap();
    let words = ["outer", "query", "route", "/a", "/b"];
    let [outer, query, route, a, b] = words.map(|word| profile.strings.intern(word));
    let paths = &mut profile.spans.paths;
    let mut path = |parent, name: StringId, value| {
        paths.intern(SpanPath {
            parent,
            name,
            attributes: [(route, value)].into(),
        })
    };
    let outside = path(None, outer, a);
    let inside = path(Some(outside), query, a);
    let alone = path(None, query, b);
    let of = [(outside, 3), (inside, 2), (alone, 4), (SpanId(0), 1)];
    let of = of.into_iter().flat_map(|(id, count)| vec![id; count]);
    for (sample, id) in profile.samples.iter_mut().zip(of) {
        sample.span = id;
    }
    let thread = profile.samples[0].thread;
    let span = |path, from: u64, to: Option<u64>| Span {
        path,
        thread,
        from: Nanos(from),
        to: to.map(Nanos),
        ..Span::default()
    };
    profile.spans.each = vec![
        span(outside, 0, Some(100)),
        span(inside, 10, Some(40)),
        span(inside, 50, Some(60)),
        span(alone, 200, None),
    ];
    profile.spans.marks = [30, 10]
        .map(|time| Mark {
            name: route,
            time: Nanos(time),
            thread,
            ..Mark::default()
        })
        .into();
    profile
}

fn rows(profile: &Profile, filter: &str, by: &str) -> (Vec<(String, u64, u64, u64)>, u64) {
    let filter: Filter = filter.parse().unwrap();
    let selection = Selection::new(profile, &filter);
    let found = spans(profile, &selection, &filter, &by.parse().unwrap());
    let period = profile.meta.period.0.max(1);
    let whole = selection.weight(profile);
    let own: u64 = found.rows.iter().map(|row| row.own.weight).sum();
    assert_eq!(own + found.outside.weight, whole, "nothing is lost");
    let rows = found.rows.iter().map(|row| {
        let name = profile.strings.get(row.name).to_owned();
        let (total, own) = (row.total.weight / period, row.own.weight / period);
        (name, total, own, row.lengths.count + row.open)
    });
    (rows.collect(), found.outside.weight / period)
}

#[test]
fn a_row_has_all_samples_below_it_and_owns_the_innermost() {
    let profile = named();
    let named = |name: &str, total, own, count| (name.to_owned(), total, own, count);
    let by_name = [named("query", 6, 6, 3), named("outer", 5, 3, 1)];
    assert_eq!(rows(&profile, "", "span"), (by_name.to_vec(), 1));
    let by_route = [named("/a", 5, 5, 3), named("/b", 4, 4, 1)];
    assert_eq!(rows(&profile, "", "span:route"), (by_route.to_vec(), 1));
    assert_eq!(rows(&profile, "", "span:colour"), (vec![], 10));
    // A filter by span takes all that is below it.
    let below = [named("outer", 5, 3, 1), named("query", 2, 2, 2)];
    assert_eq!(rows(&profile, "span=outer", "span"), (below.to_vec(), 0));
    let of_route = [named("query", 4, 4, 1)];
    let filter = "span=route=/b";
    assert_eq!(rows(&profile, filter, "span"), (of_route.to_vec(), 0));
    assert_eq!(rows(&profile, "span=quer*", "span").0.len(), 2);
    assert_eq!(rows(&profile, "span=quer", "span"), (vec![], 0));
}

#[test]
fn lengths_are_exact_where_each_is_known() {
    let mut profile = named();
    let all = |profile: &Profile, filter: Filter| {
        let selection = Selection::new(profile, &filter);
        spans(profile, &selection, &filter, &GroupBy::Span)
    };
    let found = all(&profile, Filter::default());
    let query = &found.rows[0];
    assert_eq!(query.percentiles, Some([10, 30, 30]));
    assert_eq!(
        (query.lengths.total, query.open, query.is_exact),
        (40, 1, true)
    );
    let times: Vec<u64> = found.marks.iter().map(|mark| mark.time.0).collect();
    assert_eq!(times, [10, 30]);
    // A span of time: what overlaps it.
    let later = Filter::default().from_seconds(45e-9);
    let found = all(&profile, later.clone());
    assert_eq!((found.count, found.marks.len()), (3, 0));
    let mut sum = SpanSum {
        path: profile.spans.each[1].path,
        ..SpanSum::default()
    };
    (0..8).for_each(|_| sum.lengths.add(1000));
    profile.spans.sums.push(sum);
    let found = all(&profile, Filter::default());
    assert_eq!((found.count, found.summed), (12, 8));
    let query = &found.rows[0];
    assert!(!query.is_exact);
    assert_eq!((query.lengths.count, query.lengths.most), (10, 1000));
    assert_eq!(all(&profile, later).unplaced, 8);
}

#[test]
fn groups_by_span_are_the_innermost_names() {
    let profile = named();
    let of = |by: &str| -> Vec<(String, usize)> {
        let groups = groups(&profile, &Filter::default(), &by.parse().unwrap());
        let name = |group: &Group| profile.strings.get(group.span.unwrap()).to_owned();
        (groups.iter())
            .map(|group| (name(group), group.selection.len()))
            .collect()
    };
    let pair = |name: &str, count| (name.to_owned(), count);
    assert_eq!(
        of("span"),
        [pair("query", 6), pair("outer", 3), pair("", 1)]
    );
    let by_route = [pair("/a", 5), pair("/b", 4), pair("", 1)];
    assert_eq!(of("span:route"), by_route);
}

#[test]
fn merged_and_compared_spans_add_up() {
    let one = named();
    let label = |name: &str| InputLabels {
        name: name.into(),
        labels: Vec::new(),
    };
    let inputs = [(one.clone(), label("one")), (named(), label("two"))];
    let both = merge(&inputs, profundo_model::Alignment::Sequence).unwrap();
    assert_eq!(both.spans.paths.len(), one.spans.paths.len());
    assert_eq!(both.spans.each.len(), 8);
    let (rows_of_both, outside) = rows(&both, "", "span");
    let doubled = |(name, total, own, count)| (name, 2 * total, 2 * own, 2 * count);
    let expected: Vec<_> = rows(&one, "", "span").0.into_iter().map(doubled).collect();
    assert_eq!((rows_of_both, outside), (expected, 2));
    let options = Options {
        by: vec![By::Span],
        ..Options::default()
    };
    let same = compare(&[&one], &[&one], &options).unwrap();
    let table = same.table(By::Span).unwrap();
    assert!(table.rows.is_empty() || !same.is_any());
    let plain = Profile::from_folded("main 1").unwrap();
    let refused = compare(&[&one], &[&plain], &options).unwrap_err();
    assert!(refused.to_string().contains("named no spans"), "{refused}");
}
