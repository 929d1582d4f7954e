//! What the words of a sample say of its thread, in the words of the profile.

use profundo_model::{Gil, State};

pub(super) fn state(state: profundo_wire::State) -> State {
    match state {
        profundo_wire::State::Running => State::Running,
        profundo_wire::State::System => State::System,
        profundo_wire::State::WallRunning => State::WallRunning,
        profundo_wire::State::WallWaiting => State::WallWaiting,
        profundo_wire::State::Allocating => State::Running,
    }
}

pub(super) fn gil(gil: profundo_wire::Gil) -> Gil {
    use profundo_wire::Gil::{Collecting, Held, None, Released, Waiting};
    match gil {
        None => Gil::None,
        Held | Collecting => Gil::Held,
        Waiting => Gil::Waiting,
        Released => Gil::Released,
    }
}
