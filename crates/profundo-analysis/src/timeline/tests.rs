//! Timelines of hand-made samples.

use profundo_model::{
    LocationKind, Mark, Nanos, Process, SampleKind, Span, SpanPath, State, TaskId,
};
use profundo_model::{Reason, Thread, Wait};

use super::*;
use crate::Filter;

const MS: u64 = 1_000_000;

/// Samples of the functions `f0`, `f1` … at these milliseconds, each of so many milliseconds.
fn profile(samples: &[(u64, u64)]) -> Profile {
    let text: String = (0..samples.len())
        .map(|index| format!("main;f{index} 1\n"))
        .collect();
    let mut profile = Profile::from_folded(&text).unwrap();
    profile.meta.kind = SampleKind::Wall;
    profile.processes.push(Process {
        pid: 100,
        ..Process::default()
    });
    for (sample, &(time, weight)) in profile.samples.iter_mut().zip(samples) {
        (sample.time, sample.weight) = (Nanos(time * MS), Nanos(weight * MS));
    }
    profile
}

fn timeline(profile: &Profile, filter: &Filter) -> Timeline {
    let selection = Selection::new(profile, filter);
    Timeline::new(profile, &selection, TracksBy::Thread)
}

/// By column, the milliseconds of an activity.
fn columns(times: &Times, activity: Activity) -> Vec<u64> {
    let columns = &times.columns[activity as usize];
    columns.iter().map(|time| time / MS).collect()
}

/// Makes a sample a wait for something.
fn wait(profile: &mut Profile, row: usize, wait: Wait) {
    let name = profile.strings.intern(&wait.frame_name(""));
    let frame = profile.frames.intern(profundo_model::Frame {
        function: name,
        ..profundo_model::Frame::default()
    });
    let location = (profile.locations).intern(LocationKind::Wait { frame, wait }, None);
    profile.locations.set_frames(location, &[frame]);
    let stack = profile.samples[row].stack;
    let stack = profile.stacks.intern(Some(stack), location);
    let sample = &mut profile.samples[row];
    (sample.stack, sample.state) = (stack, State::WallWaiting);
}

#[test]
fn a_sample_stands_for_the_time_before_it() {
    let profile = profile(&[(10, 10), (35, 20)]);
    let timeline = timeline(&profile, &Filter::default());
    assert_eq!(timeline.span(), Some((0, 35 * MS)));
    let window = Window::new(0, 40 * MS, 4);
    assert_eq!((window.step, window.columns), (10 * MS, 4));
    let found = timeline.window(window, 9);
    // 0 to 10, then 15 to 35.
    assert_eq!(columns(&found.times, Activity::Native), [10, 5, 10, 5]);
    assert_eq!(found.times.total(), 30 * MS);
    assert_eq!(found.times.busy(), 30 * MS);
    let (rest, sum) = found.times.unsampled(window);
    assert_eq!(rest, [0, 5 * MS, 0, 5 * MS]);
    assert_eq!(sum, 10 * MS);
    assert_eq!(timeline.unplaced(), 0);
}

#[test]
fn a_column_has_at_most_the_time_of_its_thread() {
    // Samples that reach back beyond the one before, and several at the same time.
    for samples in [
        &[(10, 4), (12, 4), (14, 4), (30, 1)][..],
        &[(20, 5), (90, 20), (90, 20), (90, 20), (91, 2)],
        &[(7, 7), (14, 7), (20, 7), (30, 10)],
    ] {
        let profile = profile(samples);
        let timeline = timeline(&profile, &Filter::default());
        let (from, to) = timeline.span().unwrap();
        let window = Window::new(from, to, 1000);
        let times = timeline.window(window, 9).times;
        let columns = &times.columns[Activity::Native as usize];
        let most = columns.iter().max().copied();
        // In the last list there is more time than there was: 31 ms in 30.
        let is_more = samples[0] == (7, 7);
        assert_eq!(
            most.unwrap() > window.step,
            is_more,
            "{samples:?}: {most:?}"
        );
        let sum = samples.iter().map(|(_, weight)| weight * MS).sum::<u64>();
        assert_eq!((times.total(), columns.iter().sum()), (sum, sum));
    }
    // Those that stand apart stay where they are.
    let profile = profile(&[(10, 4), (12, 4), (30, 2)]);
    let timeline = timeline(&profile, &Filter::default());
    let found = timeline.window(Window::new(0, 30 * MS, 15), 9);
    let native = columns(&found.times, Activity::Native);
    assert_eq!(native, [0, 0, 2, 2, 2, 2, 0, 0, 0, 0, 0, 0, 0, 0, 2]);
}

#[test]
fn more_time_than_there_was_is_pressed_together() {
    // A hundred samples of 10 ms weigh 10.2 each; then a pause, and ten more.
    let mut samples: Vec<(u64, u64)> = (1..=100).map(|n| (10 * n, 10)).collect();
    samples.extend((1..=10).map(|n| (2000 + 10 * n, 10)));
    let mut profile = profile(&samples);
    for sample in profile.samples.iter_mut().take(100) {
        sample.weight = Nanos(10_200_000);
    }
    for (started, first) in [(0, 0), (50, 50)] {
        profile.processes[0].started = Some(Nanos(started * MS));
        let timeline = timeline(&profile, &Filter::default());
        let times = timeline.window(Window::new(0, 2100 * MS, 420), 9).times;
        let columns = &times.columns[Activity::Native as usize];
        // 1020 ms in the time up to the last sample.
        let dense = 5.0 * 1020.0 / (1000.0 - first as f64);
        for (at, &time) in columns.iter().enumerate() {
            let time = time as f64 / MS as f64;
            let wanted = match at {
                0..10 if first == 50 => 0.0,
                0..200 => dense,
                400.. => 5.0,
                _ => 0.0,
            };
            assert!(
                (time - wanted).abs() < 0.05,
                "{started}, {at}: {time}, not {wanted}"
            );
        }
        assert_eq!(times.total(), 1120 * MS);
    }
}

#[test]
fn waits_that_overlap_fill_the_time_between_samples() {
    // Three waits are read at the end; the times on a CPU between them stay where they are.
    let mut profile = profile(&[(10, 4), (20, 4), (40, 9), (40, 9), (40, 8)]);
    for row in 2..5 {
        wait(&mut profile, row, Wait::Sleep);
    }
    let found = timeline(&profile, &Filter::default()).window(Window::new(0, 40 * MS, 20), 9);
    let (native, sleep) = (Activity::Native, Activity::Sleep);
    let native = columns(&found.times, native);
    assert_eq!(native[..10], [0, 0, 0, 2, 2, 0, 0, 0, 2, 2]);
    let sleep = columns(&found.times, sleep);
    assert_eq!(sleep[..10], [0, 0, 0, 0, 0, 2, 2, 2, 0, 0]);
    assert_eq!(sleep[10..], [2; 10]);
    assert_eq!(found.times.total(), 34 * MS);
}

#[test]
fn a_window_has_its_part_of_the_samples() {
    let profile = profile(&[(10, 10), (35, 20), (90, 5)]);
    let timeline = timeline(&profile, &Filter::default());
    let found = timeline.window(Window::new(20 * MS, 30 * MS, 2), 9);
    assert_eq!(columns(&found.times, Activity::Native), [5, 5]);
    // The parts of neighbouring windows add up.
    let sums = [0, 20, 30, 60].windows(2).map(|pair| {
        let window = Window::new(pair[0] * MS, pair[1] * MS, 5);
        timeline.window(window, 9).times.total()
    });
    assert_eq!(sums.sum::<u64>(), 30 * MS);
}

#[test]
fn a_weight_before_the_start_is_not_lost() {
    let profile = profile(&[(10, 30)]);
    let timeline = timeline(&profile, &Filter::default());
    let found = timeline.window(Window::new(0, 10 * MS, 3), 9);
    assert_eq!(found.times.total(), 30 * MS);
    let sum: u64 = found.times.columns[Activity::Native as usize].iter().sum();
    assert_eq!(sum, 30 * MS);
}

#[test]
fn the_windows_sum_is_the_selections_weight() {
    let samples: Vec<(u64, u64)> = (1..200).map(|n| (7 * n, 3 + n % 5)).collect();
    let profile = profile(&samples);
    let filter = Filter::default().from_seconds(0.3).to_seconds(0.9);
    let selection = Selection::new(&profile, &filter);
    let timeline = timeline(&profile, &filter);
    let (from, to) = timeline.span().unwrap();
    for most in [1, 7, 100, 5000] {
        let found = timeline.window(Window::new(from, to, most), 9);
        assert_eq!(found.times.total(), selection.weight(&profile));
        assert_eq!(found.processes[0].tracks[0].times, found.times);
    }
}

#[test]
fn waits_have_their_activities() {
    let mut profile = profile(&[(10, 10), (20, 10), (30, 10), (40, 10), (50, 10)]);
    let waits = [Wait::Gil, Wait::Lock, Wait::Read, Wait::Sleep];
    for (row, kind) in (1..).zip(waits) {
        wait(&mut profile, row, kind);
    }
    let found = timeline(&profile, &Filter::default()).window(Window::new(0, 50 * MS, 5), 9);
    assert_eq!(columns(&found.times, Activity::Native), [10, 0, 0, 0, 0]);
    assert_eq!(columns(&found.times, Activity::Gil), [0, 10, 0, 0, 0]);
    assert_eq!(columns(&found.times, Activity::Lock), [0, 0, 10, 0, 0]);
    assert_eq!(columns(&found.times, Activity::Io), [0, 0, 0, 10, 0]);
    assert_eq!(columns(&found.times, Activity::Sleep), [0, 0, 0, 0, 10]);
    assert_eq!(found.times.busy(), 10 * MS);
    assert_eq!(columns(&found.times, Activity::Idle), [0; 0]);
}

#[test]
fn threads_of_a_pool_are_idle() {
    let mut profile = profile(&[(100, 100), (500, 400), (500, 400)]);
    for row in [1, 2] {
        let tid = 100 + row as u32;
        let thread = profile.threads.push(Thread {
            number: u64::from(tid),
            tid,
            ..Thread::default()
        });
        profile.samples[row].stack = profile.samples[1].stack;
        (profile.samples[row].thread, profile.samples[row].state) = (thread, State::WallWaiting);
    }
    let found = timeline(&profile, &Filter::default()).window(Window::new(0, 500 * MS, 5), 2);
    let [process] = &found.processes[..] else {
        panic!("{found:?}")
    };
    // The one that works comes first; one of the others has no track, but is in the sum.
    assert_eq!(
        (process.tracks.len(), process.count, found.count),
        (2, 3, 3)
    );
    assert_eq!(
        process.tracks[0].times.totals[Activity::Native as usize],
        100 * MS
    );
    assert_eq!(
        columns(&process.tracks[1].times, Activity::Idle),
        [0, 100, 100, 100, 100]
    );
    assert_eq!(
        columns(&process.times, Activity::Idle),
        [0, 200, 200, 200, 200]
    );
}

#[test]
fn garbage_collection_is_part_of_the_time() {
    let mut profile = profile(&[(10, 10), (20, 10)]);
    let mark = (profile.locations).intern(LocationKind::Reason(Reason::Collecting), None);
    let stack = profile.samples[1].stack;
    profile.samples[1].stack = profile.stacks.intern(Some(stack), mark);
    let found = timeline(&profile, &Filter::default()).window(Window::new(0, 20 * MS, 2), 9);
    assert_eq!(found.times.collecting, [0, 10 * MS]);
    assert_eq!(
        (found.times.collected, found.times.total()),
        (10 * MS, 20 * MS)
    );
}

#[test]
fn tasks_have_tracks_of_their_own() {
    let mut profile = profile(&[(10, 10), (20, 10), (30, 10)]);
    let task = profile.tasks.push(profundo_model::Task {
        number: 7,
        ..profundo_model::Task::default()
    });
    profile.samples[1].task = task;
    let selection = Selection::new(&profile, &Filter::default());
    let timeline = Timeline::new(&profile, &selection, TracksBy::Task);
    let found = timeline.window(Window::new(0, 30 * MS, 3), 9);
    let of: Vec<(TrackOf, Vec<u64>)> = (found.processes[0].tracks.iter())
        .map(|track| (track.of, columns(&track.times, Activity::Native)))
        .collect();
    let expected = [
        (TrackOf::Task(TaskId(0)), vec![10, 0, 10]),
        (TrackOf::Task(task), vec![0, 10, 0]),
    ];
    assert_eq!(of, expected);
}

#[test]
fn nothing_has_no_span() {
    let profile = Profile::default();
    let timeline = timeline(&profile, &Filter::default());
    assert_eq!(timeline.span(), None);
    assert_eq!(
        timeline.window(Window::new(0, 0, 10), 5),
        InWindow::default()
    );
}

#[test]
fn a_level_goes_on_until_the_next_reading() {
    let window = Window::new(10, 20, 10);
    let readings = [
        (5, Some(3)),
        (12, Some(9)),
        (12, Some(4)),
        (13, None),
        (15, Some(2)),
    ];
    let expected = [
        Some(3),
        Some(3),
        Some(9),
        Some(4),
        Some(4),
        Some(2),
        None,
        None,
        None,
        None,
    ];
    assert_eq!(levels(window, readings), expected);
    // A later reading outside of the window says that it goes on.
    let later = readings.into_iter().chain([(40, Some(1))]);
    assert_eq!(levels(window, later)[6..], [Some(2); 4]);
    // None before the first.
    assert_eq!(levels(window, [(18, Some(1))])[..8], [None; 8]);
    assert_eq!(levels(window, []), [None; 10]);
}

#[test]
fn spans_that_overlap_have_lanes() {
    let mut profile = profile(&[(100, 100)]);
    let name = profile.strings.intern("load");
    let path = profile.spans.paths.intern(SpanPath {
        name,
        ..SpanPath::default()
    });
    let mut add = |from: u64, to: Option<u64>| {
        profile.spans.each.push(Span {
            path,
            from: Nanos(from),
            to: to.map(Nanos),
            ..Span::default()
        });
    };
    add(0, Some(40));
    add(10, Some(20));
    add(40, None);
    // Short ones, side by side.
    add(61, Some(62));
    add(63, Some(64));
    add(200, Some(300));
    let window = Window::new(0, 100, 10);
    let found = span_boxes(&profile, &Filter::default(), window, 9);
    let boxes: Vec<_> = (found.boxes.iter())
        .map(|span| (span.lane, span.from, span.to, span.count, span.is_open))
        .collect();
    let expected = [
        (0, 0, 40, 1, false),
        (0, 40, 100, 1, true),
        (1, 10, 20, 1, false),
        (1, 61, 64, 2, false),
    ];
    assert_eq!(boxes, expected);
    assert_eq!((found.lanes, found.left_out), (2, 0));
    let one = span_boxes(&profile, &Filter::default(), window, 1);
    assert_eq!((one.lanes, one.left_out), (1, 3));
    let none = span_boxes(&profile, &Filter::default().thread("nobody"), window, 9);
    assert_eq!(none, SpanLanes::default());
}

#[test]
fn marks_of_one_column_are_one() {
    let mut profile = profile(&[(100, 100)]);
    for time in [55, 12, 15, 300] {
        profile.spans.marks.push(Mark {
            time: Nanos(time),
            ..Mark::default()
        });
    }
    let found = marks(&profile, &Filter::default(), Window::new(0, 100, 10));
    let found: Vec<_> = found.iter().map(|mark| (mark.time, mark.count)).collect();
    assert_eq!(found, [(12, 2), (55, 1)]);
}
