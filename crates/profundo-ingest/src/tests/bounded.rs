//! Recordings that never repeat anything: memory stays bounded.

use profundo_wire::{End, SampleHead};

use super::head;
use super::incremental::{begun, feed, finish, sample, shown};

#[test]
fn ever_new_stacks_do_not_fill_the_memory() {
    let mut ingest = begun().max_stacks(80);
    for number in 0..500 {
        let frames = [
            0x3100 + number % 7,
            0x3200 + number,
            0x3300 + number,
            0x3020,
        ];
        feed(&mut ingest, 1, &[sample(1500 + number, &frames, &[])]);
    }
    let profile = finish(ingest);
    assert_eq!(profile.samples.len(), 500);
    assert!(profile.stacks.len() <= 100, "{}", profile.stacks.len());
    let text = |number: usize| shown(&profile, &profile.samples[number]);
    assert_eq!(text(0), "3020 3300 3200 3100");
    // 3020 is known, and the callers of 3100 + 26 % 7 are not.
    assert_eq!(text(40), "3020 [callers not kept] 3105");
    for number in 0..500 {
        let innermost = format!("{:x}", 0x3100 + number % 7);
        assert!(text(number).ends_with(&innermost), "{}", text(number));
    }
}

#[test]
fn even_ever_new_innermost_frames_do_not() {
    let mut ingest = begun().max_stacks(80);
    for number in 0..500 {
        let frames = [0x3100 + number, 0x3020];
        feed(&mut ingest, 1, &[sample(1500 + number, &frames, &[])]);
    }
    let profile = finish(ingest);
    assert_eq!(profile.samples.len(), 500);
    assert!(profile.stacks.len() <= 102, "{}", profile.stacks.len());
    assert_eq!(shown(&profile, &profile.samples[85]), "3020 3155");
    let last = shown(&profile, &profile.samples[499]);
    assert_eq!(last, "[callers not kept]");
}

#[test]
fn ever_new_tasks_do_not_fill_the_memory_either() {
    const MANY: u64 = 70_000;
    let mut ingest = begun();
    for number in 0..MANY {
        let head = SampleHead {
            frames: 1,
            ..head(
                1500 + number,
                1,
                profundo_wire::python_task(1, 8 * number, 0),
                End::Root,
                0,
            )
        };
        feed(
            &mut ingest,
            1,
            &[[&head.to_words()[..], &[0x3010]].concat()],
        );
    }
    let profile = finish(ingest);
    assert_eq!(profile.samples.len() as u64, MANY);
    let tasks = profile.tasks.len();
    assert!((1 << 16..(1 << 16) + 10).contains(&tasks), "{tasks}");
    let last_two = &profile.samples[MANY as usize - 2..];
    assert_eq!(last_two[0].task, last_two[1].task);
    assert_ne!(profile.samples[1].task, profile.samples[2].task);
}
