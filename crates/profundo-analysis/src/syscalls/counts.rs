//! The kernel's counts of a selection, by call.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use profundo_model::Profile;

use super::SyscallAmount;
use super::names::calls_of;
use crate::io::Admits;
use crate::{Filter, Selection};

/// The counts of each call, by its error; 0 is none.
pub(super) struct Counts<'a> {
    by_call: BTreeMap<&'a str, BTreeMap<u32, u64>>,
    admits: Admits,
}

impl<'a> Counts<'a> {
    pub(super) fn new(profile: &'a Profile, selection: &Selection, filter: &Filter) -> Self {
        let admits = Admits::new(selection, filter);
        let mut by_call: BTreeMap<&str, BTreeMap<u32, u64>> = BTreeMap::new();
        for row in profile.syscalls.iter().filter(|row| row.is_exact()) {
            if admits.count(row.thread, row.to) {
                let call = by_call.entry(profile.strings.get(row.call)).or_default();
                let count = call.entry(row.error).or_default();
                *count = count.saturating_add(row.count);
            }
        }
        Self { by_call, admits }
    }

    /// The counts that belong to the selection.
    pub(super) fn admits(&self) -> &Admits {
        &self.admits
    }

    pub(super) fn is_any(&self) -> bool {
        !self.by_call.is_empty()
    }

    /// The name under which a call was counted: a function of the C library may have another one.
    pub(super) fn name_of<'b>(&self, call: &'b str) -> &'b str {
        let is_counted = |name: &str| self.by_call.contains_key(name);
        if is_counted(call) {
            return call;
        }
        let made = calls_of(call).iter().copied();
        made.into_iter()
            .find(|name| is_counted(name))
            .unwrap_or(call)
    }

    /// The number of calls, and of failed ones.
    pub(super) fn amounts(&self) -> impl Iterator<Item = (&'a str, SyscallAmount)> {
        self.by_call.iter().map(|(call, errors)| {
            let sum = |least: u32| {
                let counts = errors.range(least..).map(|(_, count)| *count);
                counts.fold(0, u64::saturating_add)
            };
            let amount = SyscallAmount {
                calls: sum(0),
                failed: sum(1),
                ..SyscallAmount::default()
            };
            (*call, amount)
        })
    }

    /// The errors of a call and their numbers, most first.
    pub(super) fn errors_of(&self, call: &str) -> Vec<(u32, u64)> {
        let errors = self.by_call.get(call).into_iter();
        let errors = errors.flat_map(|errors| errors.range(1..));
        let mut errors: Vec<(u32, u64)> = errors.map(|(error, count)| (*error, *count)).collect();
        errors.sort_by_key(|&(error, count)| (Reverse(count), error));
        errors
    }
}
