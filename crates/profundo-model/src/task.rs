//! Tasks: futures that were wrapped, and one root task for each thread.

use crate::{StringId, TaskId};

/// A task.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Task {
    /// The number that reports show (as 0x…) and `tasks` filters by. Never 0.
    pub number: u64,
    /// The name it was given, or empty.
    pub name: StringId,
    /// `file:line` where it was spawned, or empty.
    pub spawned_at: StringId,
    /// True for a thread's root task.
    pub is_root: bool,
}

/// Tasks by id.
#[derive(Debug, Clone, Default)]
pub struct TaskTable {
    tasks: Vec<Task>,
}

impl TaskTable {
    /// Adds a task.
    pub fn push(&mut self, task: Task) -> TaskId {
        self.tasks.push(task);
        TaskId::from_index(self.tasks.len() - 1)
    }

    /// The row of `id`.
    pub fn get(&self, id: TaskId) -> &Task {
        &self.tasks[id.index()]
    }

    /// The row of `id`, to complete it.
    pub fn get_mut(&mut self, id: TaskId) -> &mut Task {
        &mut self.tasks[id.index()]
    }

    /// The task with this number.
    pub fn find_number(&self, number: u64) -> Option<TaskId> {
        self.tasks
            .iter()
            .position(|task| task.number == number)
            .map(TaskId::from_index)
    }

    /// The number of tasks.
    pub fn len(&self) -> usize {
        self.tasks.len()
    }

    /// True if there are no tasks.
    pub fn is_empty(&self) -> bool {
        self.tasks.is_empty()
    }

    /// All rows in the order of their ids.
    pub fn iter(&self) -> impl Iterator<Item = (TaskId, &Task)> {
        self.tasks
            .iter()
            .enumerate()
            .map(|(i, row)| (TaskId::from_index(i), row))
    }
}
