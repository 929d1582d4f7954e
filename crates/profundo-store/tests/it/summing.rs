//! Samples that others add up: in whatever order, the answer is the same.

use profundo_store::names::Partition;
use profundo_store::table::{SampleRow, Table, whole_squares};
use profundo_store::{
    Alike, Amount, Error, Folder, Joining, Opened, Query, Store, Summing, Sums, Texts, Work,
    answer, answer_by, join, open,
};
use profundo_testing::Folder as Temporary;

use crate::given::{HOUR, NINE, label, profile, put, writer};

/// Adds up as a cluster does: row by row from the last one, and, where the series do not matter,
/// all to the first part that has the like.
#[derive(Debug)]
struct Backwards;

impl Summing for Backwards {
    fn sums(&self, work: &Work<'_>) -> Result<Vec<Sums>, Error> {
        let query = work.query();
        let store = open(&query.place)?;
        let mut gatherings = work.gatherings()?;
        let mut rows: Vec<(usize, SampleRow)> = Vec::new();
        let mut texts = Texts::default();
        for (part, (files, told)) in work.readable()?.into_iter().enumerate() {
            told.into_iter()
                .for_each(|told| gatherings[part].tell(told));
            for file in files {
                let opened = Opened::new::<SampleRow>(&*store, file)?;
                for group in 0..opened.groups() {
                    let group = opened.group(group)?;
                    let read = SampleRow::read(&group, 0..group.rows(), &mut texts)?;
                    rows.extend(read.into_iter().map(|row| (part, row)));
                }
            }
        }
        rows.retain(|(_, row)| {
            let service = texts.get(row.service);
            (query.from..query.to).contains(&row.ts)
                && query.kind.words().contains(&texts.get(row.kind))
                && (query.services.is_empty() || query.services.iter().any(|one| one == service))
        });
        for (part, row) in rows.iter().rev() {
            let first = rows.iter().find(|(_, other)| {
                let key = |row: &SampleRow| (row.service, row.stack, row.state, row.gil, row.span);
                let step = |row: &SampleRow| query.step.map(|step| row.ts.div_euclid(step));
                (key(other), step(other)) == (key(row), step(row))
            });
            let to = match (work.needs_series(), first) {
                (false, Some((first, _))) => *first,
                _ => *part,
            };
            if !work.needs_series() {
                gatherings[*part].has_samples();
            }
            let gathering = &mut gatherings[to];
            let alike = Alike {
                service: gathering.text(texts.get(row.service)),
                series: row.series,
                stack: row.stack,
                state: gathering.text(texts.get(row.state)),
                gil: gathering.text(texts.get(row.gil)),
                span: gathering.text(texts.get(row.span)),
                step: query.step.map_or(0, |step| row.ts.div_euclid(step)),
            };
            let amount = Amount {
                value: row.value as u64,
                count: row.count as u64,
                squares: whole_squares(row.value, row.count, row.spread),
                first: row.ts,
                last: row.ts,
            };
            gathering.add(&alike, &amount);
        }
        work.finish(gatherings)
    }
}

#[test]
fn the_answer_does_not_depend_on_what_adds_up() {
    let folder = Temporary::new("store-summing");
    let store = Folder::new(folder.path());
    let services = ["api", "db", "cron"];
    for (number, service) in services.into_iter().enumerate() {
        for host in ["h1", "h2"] {
            let mut writer = writer(service, host);
            for hour in 0..3 {
                let mut stacks = vec!["main;a", "main;b;c", "main;a;d", "main;e", "main;b;c"];
                stacks.rotate_left((number + hour) % 5);
                let mut given = profile(NINE + hour as i64 * HOUR, &stacks);
                for (at, sample) in given.samples.iter_mut().enumerate() {
                    // Weights that differ, so that squares are no whole numbers.
                    sample.weight.0 += 1_000_003 * (at as u64 * 7 % 5) + number as u64;
                }
                label(
                    &mut given,
                    &[("zone", if host == "h1" { "a" } else { "b" })],
                );
                put(&store, &mut writer, &given);
            }
        }
    }
    // One hour is joined, and its segments are there still.
    join(&store, &Joining::at(NINE + HOUR + HOUR / 2)).unwrap();
    let fresh = Partition::of("api", NINE).folder(SampleRow::NAME, true);
    assert!(!store.list(&fresh).unwrap().is_empty());
    let mut found = 0;
    for rest in [
        "",
        "by=service",
        "by=host&step=1s",
        "by=service&step=10m",
        "by=process&service=api&service=db",
        "by=service&host=h2",
        "label.zone=a&by=host",
        "host=nowhere",
        "type=wall",
    ] {
        let place = folder.path().display();
        let text = format!("{place}?from=2026-11-28T06:00&to=2026-11-28T13:00&{rest}");
        let query = Query::parse(&text, NINE).unwrap();
        let here = answer(&store, &query, 2).unwrap();
        let there = answer_by(&Backwards, &store, &query, 2).unwrap();
        assert_eq!(format!("{here:?}"), format!("{there:?}"), "{rest}");
        found += here.samples.len();
    }
    assert!(found > 50, "{found}");
}
