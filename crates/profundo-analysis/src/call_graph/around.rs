//! The nodes around one: its callers, their callers, and so on; its callees, and theirs. A callee
//! of a caller is neither.

use std::collections::VecDeque;

use super::Around;
use super::choose::Degrees;
use super::unit::Unit;

/// The nodes around one.
pub(super) struct Near {
    /// The node itself: the first of its name.
    pub centre: Option<usize>,
    /// By node, whether it is near enough.
    pub is_near: Vec<bool>,
}

pub(super) fn near(units: &[Unit], degrees: &Degrees, around: &Around) -> Near {
    let is_it = |unit: &Unit| {
        unit.name == around.name && around.file.as_ref().is_none_or(|file| *file == unit.path)
    };
    let mut is_near = vec![false; units.len()];
    let Some(centre) = units.iter().position(is_it) else {
        return Near {
            centre: None,
            is_near,
        };
    };
    let mut callers = vec![Vec::new(); units.len()];
    let mut callees = vec![Vec::new(); units.len()];
    for (caller, callee) in degrees.pairs() {
        callers[callee as usize].push(caller as usize);
        callees[caller as usize].push(callee as usize);
    }
    for next in [&callers, &callees] {
        let mut met = vec![false; units.len()];
        met[centre] = true;
        let mut open = VecDeque::from([(centre, 0)]);
        while let Some((node, steps)) = open.pop_front() {
            is_near[node] = true;
            if around.steps.is_some_and(|most| steps >= most) {
                continue;
            }
            for &other in &next[node] {
                if !std::mem::replace(&mut met[other], true) {
                    open.push_back((other, steps + 1));
                }
            }
        }
    }
    Near {
        centre: Some(centre),
        is_near,
    }
}
