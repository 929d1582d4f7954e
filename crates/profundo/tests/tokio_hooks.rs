//! Tokio's tasks by tokio's own hooks, which exist only under `--cfg tokio_unstable`: this test has
//! a build of its own.
#![cfg(all(feature = "tokio", tokio_unstable))]

use std::hint::black_box;
use std::time::{Duration, Instant};

/// Spins for this elapsed time.
#[inline(never)]
fn spin(length: Duration) -> u64 {
    let began = Instant::now();
    let mut x = 1_u64;
    while began.elapsed() < length {
        x = (0..10_000).fold(x, |x, i| black_box(x ^ i).rotate_left(5));
    }
    x
}

#[test]
fn samples_carry_the_task_that_tokio_polls() {
    let mut builder = tokio::runtime::Builder::new_current_thread();
    profundo::tokio::watch(&mut builder);
    let runtime = builder.build().unwrap();
    profundo::profile!(runtime.block_on(async {
        let short = tokio::spawn(async { spin(Duration::from_millis(100)) });
        let long = tokio::spawn(async { spin(Duration::from_millis(300)) });
        short.await.unwrap();
        long.await.unwrap();
    }))
    .unwrap();
    let data = profundo::fetch().unwrap();
    let profile = data.profile();
    let all = profile.samples.len();
    let of_tasks = profile
        .samples
        .iter()
        .filter(|sample| {
            let task = profile.tasks.get(sample.task);
            profile.strings.get(task.name).starts_with("tokio task") && !task.is_root
        })
        .count();
    assert!(all > 50 && of_tasks * 10 >= all * 8, "{of_tasks} of {all}");
    let named = profile.tasks.iter().filter(|(_, task)| !task.is_root);
    let places: Vec<_> = named
        .map(|(_, task)| profile.strings.get(task.spawned_at).to_owned())
        .collect();
    assert_eq!(places.len(), 2, "{places:?}");
    assert!(
        places.iter().all(|place| place.contains("tokio_hooks.rs:")),
        "{places:?}"
    );
}
