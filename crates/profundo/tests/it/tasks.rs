//! Tasks: wrapped futures are distinguished on the thread that runs them.

use std::thread;

use profundo::{GroupBy, TaskExt, profile, report, retrieve};

use crate::alone::on_each_engine;
use crate::blocks::{assert_mostly, blocks, my_number};
use crate::work::{busy, early, late};

async fn small() -> u64 {
    early(100)
}

async fn large() -> u64 {
    let mut sum = 0_u64;
    for _ in 0..6 {
        sum = sum.wrapping_add(late(50));
        tokio::task::yield_now().await;
    }
    sum
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread()
        .build()
        .unwrap()
}

#[test]
fn a_report_by_task_parts_wrapped_futures() {
    on_each_engine(|_| {
        let (small, large) = (small().profiled("small"), large().profiled("large"));
        let (small_id, large_id) = (small.id(), large.id());
        assert_ne!(small_id, large_id);
        profile!({
            busy(100);
            runtime().block_on(async {
                let tasks = (tokio::spawn(large), tokio::spawn(small));
                let _ = (tasks.0.await, tasks.1.await);
            });
        })
        .unwrap();
        let (data, names) = retrieve().unwrap();
        let me = my_number(&data);
        let ids = data.get_task_ids(Some(me)).unwrap();
        assert!(ids.contains(&small_id) && ids.contains(&large_id));
        let of = |task: u64| -> Vec<_> {
            let mut all = blocks(&data.words());
            all.retain(|block| block.thread == me && block.task == task);
            all
        };
        assert_mostly("work::early", 3, &of(small_id), &names);
        assert_mostly("work::late", 3, &of(large_id), &names);
        assert!(of(large_id).len() > of(small_id).len());
        // Outside of both, the task is the thread's own.
        let own: Vec<u64> = ids
            .into_iter()
            .filter(|id| ![small_id, large_id].contains(id))
            .collect();
        assert_eq!(own.len(), 1);
        assert_mostly("work::busy", 3, &of(own[0]), &names);

        let text = report().group_by(GroupBy::Task).to_text().unwrap();
        for (name, id) in [("small", small_id), ("large", large_id)] {
            let heading = format!("Task {id:#018x} ({name})");
            assert!(text.contains(&heading), "{heading} is not in {text}");
        }
        let only = report().tasks(small_id).width(200).to_text().unwrap();
        assert!(only.contains("early") && !only.contains("late"), "{only}");
    });
}

#[test]
fn a_future_may_be_polled_by_hand_and_elsewhere() {
    let wrapped = async { thread::current().id() }.profiled("moves");
    let here = thread::current().id();
    let ran_on = thread::spawn(move || runtime().block_on(wrapped)).join();
    assert_ne!(ran_on.unwrap(), here);
}
