//! The kernel's numbers of a process's threads as the process itself knows them. In a container
//! they are others than ours.

use std::collections::HashMap;

use profundo_linux::proc;

/// The numbers of one process's threads in its own namespace.
#[derive(Debug, Default)]
pub struct Numbers {
    /// Whether the process is in our namespace; unknown before the first question.
    are_ours: Option<bool>,
    /// By our number.
    inside: HashMap<u32, u32>,
}

impl Numbers {
    /// The process's own number for a thread.
    pub fn inside(&mut self, pid: u32, tid: u32) -> u32 {
        let are_ours = (self.are_ours)
            .get_or_insert_with(|| proc::number_inside(pid, pid).is_none_or(|own| own == pid));
        if *are_ours {
            return tid;
        }
        if let Some(&inside) = self.inside.get(&tid) {
            return inside;
        }
        let Some(inside) = proc::number_inside(pid, tid) else {
            return tid;
        };
        self.inside.insert(tid, inside);
        inside
    }

    /// The process's own number for a thread that it was asked for before.
    pub fn known(&self, tid: u32) -> u32 {
        self.inside.get(&tid).copied().unwrap_or(tid)
    }

    /// Forgets a thread that has ended: our number may be used again.
    pub fn forget(&mut self, tid: u32) {
        self.inside.remove(&tid);
    }
}
