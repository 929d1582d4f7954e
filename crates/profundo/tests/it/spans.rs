//! Spans and marks: known CPU time in known spans, nested, on several threads, across `await`,
//! through panics, left open, and after a fork.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::thread;
use std::time::{Duration, Instant};

use profundo::{Data, SpanExt, label, mark, profile, span};
use profundo_analysis::{Filter, GroupBy, Selection, SpanRow, Spans, spans};

use crate::alone::{alone, on_each_engine};
use crate::work::{busy, cpu_time};

/// The spans of the recording that pass a filter.
fn found(data: &Data, filter: &str, by: &GroupBy) -> Spans {
    let filter: Filter = filter.parse().unwrap();
    let selection = Selection::new(data.profile(), &filter);
    spans(data.profile(), &selection, &filter, by)
}

fn by_name(data: &Data) -> Spans {
    found(data, "", &GroupBy::Span)
}

fn row<'a>(data: &Data, spans: &'a Spans, name: &str) -> &'a SpanRow {
    let strings = &data.profile().strings;
    let mut rows = spans.rows.iter();
    rows.find(|row| strings.get(row.name) == name)
        .unwrap_or_else(|| panic!("no span {name}"))
}

/// Asserts that a time is near what it is known to be: sampling is off by some periods, and a busy
/// machine takes samples late.
#[track_caller]
fn assert_near(found: u64, milliseconds: u64) {
    let found = found as f64 / 1e6;
    let expected = milliseconds as f64;
    assert!(
        (found - expected).abs() < 8.0 + expected * 0.15,
        "{found:.1} ms are not {expected} ms"
    );
}

#[test]
fn nested_spans_have_their_time_and_the_rest_is_outside() {
    on_each_engine(|_| {
        profile!({
            busy(40);
            let outer = span!("outer", kind = "test");
            busy(100);
            for number in 0..3 {
                let _inner = span!("inner", number = number);
                busy(20);
            }
            busy(20);
            drop(outer);
            busy(40);
        })
        .unwrap();
        let data = profundo::fetch().unwrap();
        let me = format!("threads={}", crate::blocks::my_number(&data));
        let all = found(&data, &me, &GroupBy::Span);
        let (outer, inner) = (row(&data, &all, "outer"), row(&data, &all, "inner"));
        assert_near(outer.total.weight, 180);
        assert_near(outer.own.weight, 120);
        assert_near(inner.total.weight, 60);
        assert_near(all.outside.weight, 80);
        assert_eq!((outer.lengths.count, inner.lengths.count), (1, 3));
        assert_eq!((outer.open, inner.open, all.count), (0, 0, 4));
        assert!(outer.lengths.total >= inner.lengths.total);
        assert!(inner.lengths.least >= 20_000_000);
        // Own times and the rest are the whole, to the nanosecond.
        let filter: Filter = me.parse().unwrap();
        let whole = Selection::new(data.profile(), &filter).weight(data.profile());
        let own: u64 = all.rows.iter().map(|row| row.own.weight).sum();
        assert_eq!(own + all.outside.weight, whole);
        // Groups and filters say the same.
        let only = found(&data, &format!("{me} span=inner"), &GroupBy::Span);
        assert_eq!(row(&data, &only, "inner").own, inner.own);
        assert_eq!(only.outside.weight, 0);
        let numbers = found(&data, &me, &GroupBy::SpanOf("number".into()));
        assert_eq!(numbers.rows.len(), 3);
        for number in ["0", "1", "2"] {
            let one = row(&data, &numbers, number);
            assert_eq!(one.lengths.count, 1);
            assert_near(one.own.weight, 20);
        }
        assert_near(numbers.outside.weight, 200);
        let one = found(&data, &format!("{me} span=number=1"), &GroupBy::Span);
        assert_eq!(row(&data, &one, "inner").lengths.count, 1);
    });
}

#[test]
fn each_thread_has_its_own_spans() {
    let _alone = alone();
    profile!({
        let threads = (1..=3_u64).map(|number| {
            thread::spawn(move || {
                let _span = span!("worker", number = number);
                busy(40 * number);
            })
        });
        let threads: Vec<_> = threads.collect();
        for thread in threads {
            thread.join().unwrap();
        }
        // The threads have ended: their spans stay.
        thread::spawn(|| drop(span!("short"))).join().unwrap();
    })
    .unwrap();
    let data = profundo::fetch().unwrap();
    let workers = found(&data, "", &GroupBy::SpanOf("number".into()));
    for number in 1..=3 {
        let row = row(&data, &workers, &number.to_string());
        assert_near(row.own.weight, 40 * number);
    }
    let all = by_name(&data);
    assert_eq!(row(&data, &all, "short").lengths.count, 1);
    let each = &data.profile().spans.each;
    let mut threads: Vec<_> = each.iter().map(|span| span.thread).collect();
    threads.sort_unstable();
    threads.dedup();
    assert_eq!(threads.len(), 4, "{each:?}");
}

async fn work(milliseconds: u64, turns: u64) {
    for _ in 0..turns {
        let _here = span!("turn");
        busy(milliseconds);
        drop(_here);
        tokio::task::yield_now().await;
    }
}

#[test]
fn the_span_of_a_future_goes_with_it_from_thread_to_thread() {
    let _alone = alone();
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(3)
        .enable_time()
        .build()
        .unwrap();
    profile!({
        runtime.block_on(async {
            let tasks = (1..=4_u64).map(|number| {
                let future = async move {
                    work(5, 4 * number).await;
                    tokio::time::sleep(Duration::from_millis(30)).await;
                    work(5, 1).await;
                };
                tokio::spawn(future.in_span(label!("request", number = number)))
            });
            let plain = tokio::spawn(work(5, 6));
            for task in tasks.collect::<Vec<_>>() {
                task.await.unwrap();
            }
            plain.await.unwrap();
        });
    })
    .unwrap();
    let data = profundo::fetch().unwrap();
    let requests = found(&data, "", &GroupBy::SpanOf("number".into()));
    for number in 1..=4 {
        let row = row(&data, &requests, &number.to_string());
        assert_near(row.own.weight, 5 * (4 * number + 1));
        assert_eq!((row.lengths.count, row.open), (1, 0));
        assert!(row.lengths.least >= 30_000_000, "it waits in its span");
    }
    let all = by_name(&data);
    let request = row(&data, &all, "request");
    let turn = row(&data, &all, "turn");
    assert_eq!(turn.lengths.count, 4 * (1 + 2 + 3 + 4) + 4 + 6);
    assert_near(request.total.weight, 5 * 44);
    assert_near(turn.total.weight, 5 * 50);
    // Spans that were entered in a future are below its span.
    let paths = &data.profile().spans.paths;
    let below = paths.iter().filter(|(_, path)| {
        let parent = path.parent.map(|parent| paths.get(parent).name);
        data.profile().strings.get(path.name) == "turn" && parent == Some(request.name)
    });
    assert_eq!(below.count(), 4);
}

#[test]
fn a_future_that_is_dropped_ends_its_span() {
    let _alone = alone();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()
        .unwrap();
    profile!({
        runtime.block_on(async {
            let never = std::future::pending::<()>().in_span(label!("never"));
            let limit = Duration::from_millis(20);
            tokio::time::timeout(limit, never).await.unwrap_err();
        });
    })
    .unwrap();
    let data = profundo::fetch().unwrap();
    let all = by_name(&data);
    let never = row(&data, &all, "never");
    assert_eq!((never.lengths.count, never.open), (1, 0));
    assert!(never.lengths.least >= 20_000_000);
}

#[test]
fn a_panic_leaves_its_spans() {
    let _alone = alone();
    profile!({
        let result = catch_unwind(AssertUnwindSafe(|| {
            let _outer = span!("outer");
            let _inner = span!("inner");
            std::panic::resume_unwind(Box::new(()));
        }));
        result.unwrap_err();
        let _after = span!("after");
        busy(30);
    })
    .unwrap();
    let data = profundo::fetch().unwrap();
    let all = by_name(&data);
    for name in ["outer", "inner"] {
        assert_eq!(row(&data, &all, name).lengths.count, 1);
    }
    let paths = &data.profile().spans.paths;
    let (_, after) = (paths.iter())
        .find(|(_, path)| data.profile().strings.get(path.name) == "after")
        .unwrap();
    assert_eq!(after.parent, None);
    assert_near(row(&data, &all, "after").own.weight, 30);
}

#[test]
fn guards_may_be_dropped_in_any_order() {
    let _alone = alone();
    profile!({
        let (outer, inner) = (span!("outer"), span!("inner"));
        drop(outer);
        busy(30);
        drop(inner);
        busy(30);
    })
    .unwrap();
    let data = profundo::fetch().unwrap();
    let me = format!("threads={}", crate::blocks::my_number(&data));
    let all = found(&data, &me, &GroupBy::Span);
    assert_near(row(&data, &all, "inner").own.weight, 30);
    assert_near(all.outside.weight, 30);
}

#[test]
fn a_span_that_is_open_at_the_end_says_so() {
    let _alone = alone();
    profundo::start().unwrap();
    let open = span!("open");
    let closed = span!("closed");
    busy(20);
    drop(closed);
    let data = profundo::fetch().unwrap();
    let all = by_name(&data);
    assert_eq!((row(&data, &all, "open").open, all.count), (1, 2));
    assert_eq!(row(&data, &all, "closed").open, 0);
    profundo::stop();
    drop(open);
    // It ended behind the recording's end.
    let data = profundo::fetch().unwrap();
    let all = by_name(&data);
    assert_eq!(row(&data, &all, "open").open, 1);
    assert_eq!(row(&data, &all, "open").percentiles, None);
    // Without a session there are no spans.
    drop(span!("unseen"));
    assert_eq!(by_name(&profundo::fetch().unwrap()).count, 2);
    profundo::clear();
    assert_eq!(by_name(&profundo::fetch().unwrap()).count, 0);
}

#[test]
fn very_many_spans_are_counted_and_not_all_kept() {
    const MANY: u64 = 300_000;
    let _alone = alone();
    let began = Instant::now();
    profile!({
        for number in 0..MANY {
            let _span = span!("many", id = number % 3000);
        }
    })
    .unwrap();
    let elapsed = began.elapsed().as_nanos() as u64;
    let data = profundo::fetch().unwrap();
    let all = by_name(&data);
    let many = row(&data, &all, "many");
    assert_eq!((many.lengths.count, many.open), (MANY, 0));
    assert!(many.lengths.total <= elapsed);
    let [median, p95, p99] = many.percentiles.unwrap();
    assert!(many.lengths.least <= median && median <= p95 && p95 <= p99);
    assert!(p99 <= many.lengths.most);
    let kept = data.profile().spans.each.len();
    assert!(kept <= 1 << 17, "{kept} are kept");
    assert_eq!(all.summed, MANY - kept as u64);
    let ids = found(&data, "", &GroupBy::SpanOf("id".into()));
    let rest = row(&data, &ids, "…");
    assert_eq!(ids.rows.len(), 1025);
    assert_eq!(rest.lengths.count, MANY / 3000 * (3000 - 1024));
    let loss = data.profile().spans.loss;
    assert_eq!(loss.attributes, rest.lengths.count);
    assert_eq!((loss.names, loss.marks), (0, 0));
}

#[test]
fn marks_have_their_time_and_their_span() {
    let _alone = alone();
    profile!({
        mark!("start");
        let _span = span!("epoch");
        busy(20);
        let number = 3;
        mark!("epoch {number}");
    })
    .unwrap();
    let data = profundo::fetch().unwrap();
    let profile = data.profile();
    let marks: Vec<(&str, u64, &str)> = (profile.spans.marks.iter())
        .map(|mark| {
            let path = profile.spans.paths.get(mark.span);
            let texts = [mark.name, path.name].map(|text| profile.strings.get(text));
            (texts[0], mark.time.0, texts[1])
        })
        .collect();
    let [("start", first, ""), ("epoch 3", second, "epoch")] = marks[..] else {
        panic!("{marks:?}")
    };
    assert!(second - first >= 20_000_000 && second <= profile.meta.duration.0);
}

#[test]
fn spans_are_saved_with_the_samples() {
    let _alone = alone();
    profile!({
        let _span = span!("saved", kind = "a b", other = 1.5);
        mark!("here");
        busy(20);
    })
    .unwrap();
    let (data, names) = profundo::retrieve().unwrap();
    let folder = profundo_testing::Folder::new("spans");
    let path = folder.path().join("spans.profundo");
    profundo::save(&path, &data, &names).unwrap();
    let (again, _) = profundo::load(&path).unwrap();
    let (one, other) = (&data.profile().spans, &again.profile().spans);
    assert_eq!((&one.each, &one.marks), (&other.each, &other.marks));
    assert_eq!(by_name(&data).rows.len(), by_name(&again).rows.len());
    let text = profundo::report()
        .group_by("span:kind".parse().unwrap())
        .of(&data, &names)
        .to_text()
        .unwrap();
    assert!(text.contains("Spans with kind=a b"), "{text}");
}

#[test]
fn the_child_of_a_fork_begins_anew() {
    let _alone = alone();
    profundo::start().unwrap();
    let outer = span!("parent");
    // SAFETY: the child runs the library and ends without unwinding.
    let pid = unsafe { libc::fork() };
    if pid == 0 {
        let code = catch_unwind(AssertUnwindSafe(move || {
            drop(span!("unseen"));
            drop(outer);
            profundo::start().unwrap();
            let until = cpu_time() + Duration::from_millis(30);
            let span = span!("child");
            while cpu_time() < until {}
            drop(span);
            let data = profundo::fetch().unwrap();
            let all = by_name(&data);
            assert_eq!((all.count, all.rows.len()), (1, 1));
            assert_eq!(row(&data, &all, "child").lengths.count, 1);
            assert!(row(&data, &all, "child").own.weight > 0);
        }));
        // SAFETY: as above.
        unsafe { libc::_exit(i32::from(code.is_err())) };
    }
    let mut status = 0;
    // SAFETY: the child is ours, and the status is written to.
    assert_eq!(unsafe { libc::waitpid(pid, &raw mut status, 0) }, pid);
    assert_eq!(status, 0, "the child failed");
    drop(outer);
    profundo::stop();
    let data = profundo::fetch().unwrap();
    assert_eq!(row(&data, &by_name(&data), "parent").lengths.count, 1);
}
