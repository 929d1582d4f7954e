//! Time in which garbage was collected.

use profundo_model::{LocationKind, Profile, Reason, State};

use super::{all, location, push, stack};
use crate::garbage;

#[test]
fn what_is_above_the_mark_counts() {
    let mut profile = Profile::from_folded("").unwrap();
    let program = location(&mut profile, 1, "main", 1);
    let native = location(&mut profile, 2, "collect", 1);
    let before = stack(&mut profile, &[program, native]);
    push(&mut profile, before, 100, State::Running);
    assert_eq!(garbage(&profile, &all(&profile)), 0);
    let mark = LocationKind::Reason(Reason::Collecting);
    let mark = profile.locations.intern(mark, None);
    let inside = stack(&mut profile, &[program, mark, native]);
    let itself = stack(&mut profile, &[program, mark]);
    push(&mut profile, inside, 10, State::Running);
    push(&mut profile, itself, 1, State::System);
    push(&mut profile, before, 1000, State::Running);
    let period = profile.meta.period.0;
    assert_eq!(garbage(&profile, &all(&profile)), 11 * period.max(1));
}
