//! Filters, groups, and their utilization.

use profundo_model::{Nanos, Profile, Sample, State};

use crate::*;

/// Two threads and two tasks, the second task newest.
fn grouped() -> Profile {
    let mut profile = Profile::from_folded("main 1").unwrap();
    let (one, first) = (profile.samples[0].thread, profile.samples[0].task);
    let two = profile.hand_made_thread(2, "worker");
    let second = profile.hand_made_task(7);
    let sample = profile.samples[0];
    for (thread, task) in [(two, second), (one, first), (two, first), (one, second)] {
        profile.samples.push(Sample {
            thread,
            task,
            ..sample
        });
    }
    profile
}

fn check_groups(filter: Filter, by: GroupBy, expected: &[(u64, u64, usize)]) {
    let profile = grouped();
    let groups: Vec<(u64, u64, usize)> = (groups(&profile, &filter, &by).iter())
        .map(|group| {
            let thread = group
                .thread
                .map_or(0, |thread| profile.threads.get(thread).number);
            let task = group.task.map_or(0, |task| profile.tasks.get(task).number);
            (thread, task, group.selection.len())
        })
        .collect();
    assert_eq!(groups, expected, "{by:?}");
}

#[test]
fn threads_come_by_number_and_tasks_by_recency() {
    let filter = Filter::default;
    check_groups(filter(), GroupBy::None, &[(0, 0, 5)]);
    check_groups(filter(), GroupBy::Thread, &[(1, 0, 3), (2, 0, 2)]);
    check_groups(filter(), GroupBy::Task, &[(0, 7, 2), (0, 1, 3)]);
    check_groups(
        filter(),
        GroupBy::ThreadTask,
        &[(1, 7, 1), (1, 1, 2), (2, 1, 1), (2, 7, 1)],
    );
    check_groups(
        filter(),
        GroupBy::TaskThread,
        &[(1, 7, 1), (2, 7, 1), (1, 1, 2), (2, 1, 1)],
    );
}

#[test]
fn a_filter_does_not_cut_what_it_groups_across() {
    let filter = || Filter {
        threads: 2.into(),
        tasks: 7.into(),
        ..Filter::default()
    };
    check_groups(filter(), GroupBy::None, &[(0, 0, 1)]);
    check_groups(filter(), GroupBy::Thread, &[(2, 0, 2)]);
    check_groups(filter(), GroupBy::Task, &[(0, 7, 2)]);
    check_groups(filter(), GroupBy::ThreadTask, &[(2, 7, 1)]);
    check_groups(
        Filter {
            threads: 9.into(),
            tasks: (..).into(),
            ..Filter::default()
        },
        GroupBy::Thread,
        &[],
    );
}

#[test]
fn numbers_are_numbers_ranges_or_lists() {
    let within = |numbers: Numbers| (1..6).filter(|&n| numbers.contains(n)).collect::<Vec<_>>();
    assert_eq!(within(3.into()), [3]);
    assert_eq!(within((2..4).into()), [2, 3]);
    assert_eq!(within((4..4).into()), []);
    assert_eq!(within((4..).into()), [4, 5]);
    assert_eq!(within((..=2).into()), [1, 2]);
    assert_eq!(within([5, 1].into()), [1, 5]);
    assert_eq!(within(vec![2].into()), [2]);
    assert!(Numbers::default().is_all());
}

#[test]
fn time_alive_is_what_cpu_samples_are_held_against() {
    let mut profile = grouped();
    let milliseconds = |count: u64| Some(Nanos(count * 1_000_000));
    let busy = |profile: &Profile, by: GroupBy| -> Vec<Option<f64>> {
        groups(profile, &Filter::default(), &by)
            .iter()
            .map(|group| utilization(profile, &group.selection))
            .collect()
    };
    assert_eq!(busy(&profile, GroupBy::None), [Some(1.0)]);
    let threads: Vec<_> = profile.threads.iter().map(|(id, _)| id).collect();
    profile.threads.get_mut(threads[0]).alive = milliseconds(12);
    assert_eq!(
        busy(&profile, GroupBy::Thread),
        [Some(0.25), Some(1.0)],
        "only one is known"
    );
    profile.threads.get_mut(threads[1]).alive = milliseconds(8);
    profile.meta.duration = Nanos(10_000_000);
    assert_eq!(busy(&profile, GroupBy::None), [Some(0.25)]);
    assert_eq!(busy(&profile, GroupBy::Thread), [Some(0.25), Some(0.25)]);
    assert_eq!(busy(&profile, GroupBy::Task), [Some(0.2), Some(0.3)]);
    profile.samples[0].state = State::WallWaiting;
    assert_eq!(busy(&profile, GroupBy::None), [None]);
}

#[test]
fn a_wrong_choice_names_the_right_ones() {
    assert_eq!("thread,task".parse(), Ok(GroupBy::ThreadTask));
    assert_eq!("label:run".parse(), Ok(GroupBy::LabelOf("run".into())));
    assert!("label:".parse::<GroupBy>().is_err());
    assert_eq!("flatc".parse(), Ok(Recur::FlatC));
    let error = "flt".parse::<Recur>().unwrap_err().to_string();
    assert_eq!(
        error,
        "recur \"flt\" is not known; it is one of off, flat, flatc"
    );
}
