//! Counted calls after a transform.
//!
//! A function that was taken away has no calls of its own any more: its own time is its caller's,
//! whose total has it already. Calls that have become one function at one place are added up. What
//! was left out is no longer in the totals of its callers.

use profundo_model::{Call, Callers, Profile, StackId, StackTable, ThreadId};
use rustc_hash::FxHashMap;

use super::rows::{End, Fate};

/// Rewrites the calls. `recorded` is the stack table before, and `ends` and `stacks` say what has
/// become of its rows.
pub(super) fn rewrite(
    profile: &mut Profile,
    recorded: &StackTable,
    ends: &[End],
    stacks: &[StackId],
) {
    let before = std::mem::take(&mut profile.traced.calls);
    let mut calls = Calls::default();
    for fate in [Fate::Kept, Fate::Folded, Fate::Merged] {
        for call in &before {
            let end = ends[call.stack.index()];
            if !end.is_dropped && end.fate == fate {
                calls.add(call, stacks[call.stack.index()], fate);
            }
        }
    }
    let starts: FxHashMap<(ThreadId, StackId), ()> = (before.iter())
        .map(|call| ((call.thread, call.stack), ()))
        .collect();
    for call in &before {
        if !ends[call.stack.index()].is_dropped {
            continue;
        }
        let above = |stack: StackId| recorded.get(stack).parent;
        // Only the outermost call that was left out: its total has those that it made.
        let mut caller = above(call.stack);
        while let Some(id) = caller
            && !starts.contains_key(&(call.thread, id))
        {
            caller = above(id);
        }
        if caller.is_some_and(|id| !ends[id.index()].is_dropped) {
            let callers = std::iter::successors(caller, |&id| above(id));
            let mut left: Vec<StackId> = callers.map(|id| stacks[id.index()]).collect();
            left.sort_unstable();
            left.dedup();
            for stack in left {
                calls.take_from_total(call, stack);
            }
        }
        // It stays in the profile, where the filter does not pass it.
        calls.all.push(Call {
            stack: stacks[call.stack.index()],
            ..*call
        });
    }
    profile.traced.calls = calls.all;
}

#[derive(Default)]
struct Calls {
    all: Vec<Call>,
    rows: FxHashMap<(ThreadId, StackId, Callers), usize>,
    /// By row, whether its function has calls of its own.
    has_total: Vec<bool>,
}

impl Calls {
    fn add(&mut self, call: &Call, stack: StackId, fate: Fate) {
        let key = (call.thread, stack, call.callers);
        let is_new = !self.rows.contains_key(&key);
        let row = *self.rows.entry(key).or_insert(self.all.len());
        if is_new {
            self.all.push(Call {
                thread: call.thread,
                stack,
                callers: call.callers,
                ..Call::default()
            });
            self.has_total.push(fate != Fate::Merged);
        }
        let sum = &mut self.all[row];
        sum.own.0 = sum.own.0.saturating_add(call.own.0);
        sum.cost[1].0 = sum.cost[1].0.saturating_add(call.cost[1].0);
        if fate != Fate::Merged {
            sum.calls = sum.calls.saturating_add(call.calls);
            sum.resumes = sum.resumes.saturating_add(call.resumes);
        }
        match fate {
            Fate::Kept => {
                sum.total.0 = sum.total.0.saturating_add(call.total.0);
                sum.cost[0].0 = sum.cost[0].0.saturating_add(call.cost[0].0);
            }
            Fate::Folded if is_new => {
                sum.total = call.total;
                sum.cost[0] = call.cost[0];
            }
            // Without a caller of its own, the time stands alone.
            Fate::Merged if !self.has_total[row] => {
                sum.total = sum.own;
                sum.cost[0] = sum.cost[1];
            }
            // The total of the earlier call, or of the caller, has it already.
            Fate::Folded | Fate::Merged => {}
        }
    }

    fn take_from_total(&mut self, call: &Call, stack: StackId) {
        if let Some(&row) = self.rows.get(&(call.thread, stack, Callers::All)) {
            let sum = &mut self.all[row];
            sum.total.0 = sum.total.0.saturating_sub(call.total.0);
            sum.cost[0].0 = sum.cost[0].0.saturating_sub(call.cost[0].0);
        }
    }
}
