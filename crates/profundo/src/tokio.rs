//! Tasks of tokio without wrapping them, by the hooks that tokio offers when the program is built
//! with `--cfg tokio_unstable`.
//!
//! ```ignore
//! let mut builder = tokio::runtime::Builder::new_multi_thread();
//! profundo::tokio::watch(&mut builder);
//! let runtime = builder.enable_all().build()?;
//! ```
//!
//! Name the module by its path: `use profundo::*` would hide the crate of the same name.
//!
//! The hooks are called when a task is polled, so every sample has its task. They do not show where
//! a task parks: for that, wrap it with [`TaskExt::profiled`](crate::TaskExt::profiled).

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use profundo_capture::TaskHandle;
use tokio::runtime::{Builder, TaskMeta};
use tokio::task::Id;

static TASKS: Mutex<Option<HashMap<Id, TaskHandle>>> = Mutex::new(None);

fn with<T>(f: impl FnOnce(&mut HashMap<Id, TaskHandle>) -> T) -> T {
    let mut tasks = TASKS.lock().unwrap_or_else(PoisonError::into_inner);
    f(tasks.get_or_insert_with(HashMap::new))
}

/// Tracks the tasks of the runtime from now on. It sets the builder's hooks for the spawn, the poll
/// and the end of tasks.
pub fn watch(builder: &mut Builder) -> &mut Builder {
    builder
        .on_task_spawn(spawned)
        .on_before_task_poll(|task| {
            with(|tasks| tasks.get(&task.id()).map(TaskHandle::mark_running));
        })
        .on_after_task_poll(|task| {
            with(|tasks| tasks.get(&task.id()).map(TaskHandle::mark_parked));
        })
        .on_task_terminate(|task| {
            with(|tasks| tasks.remove(&task.id()));
        })
}

fn spawned(task: &TaskMeta<'_>) {
    let handle = TaskHandle::new(&format!("tokio task {}", task.id()), task.spawned_at());
    with(|tasks| tasks.insert(task.id(), handle));
}
