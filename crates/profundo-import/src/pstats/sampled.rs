//! Tachyon's pstats files: what is calls elsewhere is samples here. A function's primitive calls
//! are the samples in which it was running, its calls are those in which it was anywhere in the
//! stack.
//!
//! The samples by caller are those of any place in the stack, so the running ones are divided in
//! their proportion.

use profundo_model::{Nanos, SampleKind, State};

use super::divide::in_proportion;
use super::{Entry, Tables};
use crate::{Builder, Row};

pub(super) fn fill(builder: &mut Builder, mut tables: Tables<'_>, entries: &[Entry]) {
    builder.weighs(SampleKind::Wall, "");
    let thread = builder.only_thread();
    for entry in entries {
        let (samples, weight) = (entry.sums.outermost, entry.sums.own);
        if samples == 0 {
            continue;
        }
        let (pairs, _) = tables.callers(builder, entry);
        let by_callers: u64 = (pairs.iter().map(|pair| pair.sums.all)).fold(0, u64::saturating_add);
        // The samples without a caller come first.
        let mut counts = vec![entry.sums.all.saturating_sub(by_callers)];
        counts.extend(pairs.iter().map(|pair| pair.sums.all));
        let samples = in_proportion(samples, &counts);
        let weights = in_proportion(weight, &samples);
        let callers = std::iter::once(None).chain(pairs.iter().map(|pair| Some(pair.caller)));
        for (caller, (samples, weight)) in callers.zip(samples.into_iter().zip(weights)) {
            let location = |row: u32| tables.functions.locations.get(row as usize).copied();
            let Some(callee) = location(entry.function) else {
                continue;
            };
            let caller = caller.and_then(location);
            let caller = caller.map(|caller| builder.stack(None, caller));
            let stack = builder.stack(caller, callee);
            builder.sample(Row {
                stack,
                thread,
                weight,
                samples,
                time: None,
                state: State::WallRunning,
            });
        }
    }
    let running = entries.iter().find(|entry| entry.sums.outermost > 0);
    if let Some(Entry { sums, .. }) = running {
        builder.profile.meta.period = Nanos(sums.own / sums.outermost);
    }
    builder.note(
        "a pstats file of samples has one level of callers, and no threads or times: \
         a function's time by caller is in proportion, and its callees' time is missing in its total",
    );
}
