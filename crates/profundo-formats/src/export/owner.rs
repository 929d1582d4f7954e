//! Whose a sample is: its process, its thread and its task, in words.

use profundo_model::{Profile, TaskId, ThreadId};

/// The command of a thread's process with its number, as in `python3 app.py (1234)`.
pub(crate) fn process(profile: &Profile, thread: ThreadId) -> String {
    let Some(process) = (profile.processes).get(profile.threads.get(thread).process.index()) else {
        return "unknown process".into();
    };
    match (profile.strings.get(process.command), process.pid) {
        ("", 0) => "unknown process".into(),
        ("", pid) => format!("process {pid}"),
        (command, 0) => command.into(),
        (command, pid) => format!("{command} ({pid})"),
    }
}

/// A thread's name, or its number where it has none.
pub(crate) fn thread_name(profile: &Profile, thread: ThreadId) -> String {
    let thread = profile.threads.get(thread);
    match profile.strings.get(thread.name) {
        "" => format!("thread {}", thread.number),
        name => name.into(),
    }
}

/// A thread's name with its numbers, which tell it from others of that name.
pub(crate) fn thread(profile: &Profile, id: ThreadId) -> String {
    let thread = profile.threads.get(id);
    let name = profile.strings.get(thread.name);
    match (name, thread.tid) {
        ("", 0) => format!("thread {}", thread.number),
        ("", tid) => format!("thread {} (tid {tid})", thread.number),
        (name, 0) => format!("thread {} {name}", thread.number),
        (name, tid) => format!("thread {} {name} (tid {tid})", thread.number),
    }
}

/// Whether this is a task, and not what a thread does outside of all tasks.
pub(crate) fn is_task(profile: &Profile, task: TaskId) -> bool {
    profile.tasks.len() > task.index() && {
        let task = profile.tasks.get(task);
        !task.is_root && task.number != 0
    }
}

/// A task's name, or its number as reports show it.
pub(crate) fn task(profile: &Profile, task: TaskId) -> String {
    let task = profile.tasks.get(task);
    match profile.strings.get(task.name) {
        "" => format!("{:#x}", task.number),
        name => name.into(),
    }
}

/// What the whole is called: the first command, or nothing better than our name.
pub(crate) fn title(profile: &Profile) -> String {
    let command = (profile.processes.iter())
        .map(|process| profile.strings.get(process.command))
        .find(|command| !command.is_empty());
    command.unwrap_or("profundo").into()
}
