//! The owners of a sample: its process, its thread and its task, in words.

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

/// The number of a thread's process. Processes of merged recordings may share a kernel's id, so
/// their rows are their numbers there.
pub(crate) fn pid(profile: &Profile, thread: ThreadId) -> u64 {
    let process = profile.threads.get(thread).process;
    match profile.processes.get(process.index()) {
        Some(process) if !profile.is_merged() => u64::from(process.pid),
        _ => process.index() as u64 + 1,
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

/// A thread's name with its numbers, which distinguish it from others of that name.
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

/// True for a task that is not its thread's root task.
pub(crate) fn is_task(profile: &Profile, task: TaskId) -> bool {
    profile.tasks.len() > task.index() && {
        let task = profile.tasks.get(task);
        !task.is_root && task.number != 0
    }
}

/// A task's name, or its number in reports.
pub(crate) fn task(profile: &Profile, task: TaskId) -> String {
    let task = profile.tasks.get(task);
    match profile.strings.get(task.name) {
        "" => format!("{:#x}", task.number),
        name => name.into(),
    }
}

/// The name of the whole: the first command, or else our own name.
pub(crate) fn title(profile: &Profile) -> String {
    let command = (profile.processes.iter())
        .map(|process| profile.strings.get(process.command))
        .find(|command| !command.is_empty());
    command.unwrap_or("profundo").into()
}
