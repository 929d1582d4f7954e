//! The numbers that enum values have in a file: their places in these lists, which only ever grow
//! at the end. A reader of a higher number takes the nearest value and warns.

use profundo_model::{Clock, Domain, Engine, Gil, Language, Role, SampleKind, State, Tracing};

use crate::Error;

pub(super) const ENGINES: &[Engine] = &[
    Engine::Unknown,
    Engine::PerfSignal,
    Engine::CpuTimer,
    Engine::Wall,
    Engine::PerfRing,
    Engine::ProcPoll,
];

pub(super) const KINDS: &[SampleKind] = &[
    SampleKind::Cpu,
    SampleKind::Wall,
    SampleKind::Traced,
    SampleKind::Events,
];

pub(super) const CLOCKS: &[Clock] = &[Clock::Wall, Clock::Cpu, Clock::None];

pub(super) const TRACINGS: &[Tracing] = &[
    Tracing::Unknown,
    Tracing::Calls,
    Tracing::Lines,
    Tracing::SampledLines,
    Tracing::LinesOnce,
    Tracing::Exceptions,
];

pub(super) const LANGUAGES: &[Language] = &[
    Language::Rust,
    Language::Native,
    Language::Python,
    Language::Synthetic,
    Language::Runtime,
    Language::JavaScript,
    Language::Julia,
    Language::Generated,
];

pub(super) const ROLES: &[Role] = &[
    Role::Ordinary,
    Role::Interpreter,
    Role::System,
    Role::Profiler,
];

pub(super) const STATES: &[State] = &[
    State::Running,
    State::Sleeping,
    State::WallRunning,
    State::WallWaiting,
    State::System,
];

pub(super) const GILS: &[Gil] = &[Gil::None, Gil::Held, Gil::Waiting, Gil::Released];

pub(super) const DOMAINS: &[Domain] = &[Domain::Native, Domain::Python, Domain::Mapped];

/// The kinds of [`profundo_model::ProcessEnd`].
pub(super) mod end {
    pub(in crate::v1) const UNKNOWN: u64 = 0;
    pub(in crate::v1) const EXITED: u64 = 1;
    pub(in crate::v1) const KILLED: u64 = 2;
    pub(in crate::v1) const REPLACED: u64 = 3;
}

/// The kinds of [`profundo_model::LocationKind`].
pub(super) mod location {
    pub(in crate::v1) const INSTRUCTION: u64 = 0;
    pub(in crate::v1) const RETURN: u64 = 1;
    pub(in crate::v1) const REASON: u64 = 2;
    pub(in crate::v1) const INVENTED: u64 = 3;
    pub(in crate::v1) const PYTHON: u64 = 4;
    pub(in crate::v1) const WAIT: u64 = 5;
}

/// The number of `value` in `list`.
pub(super) fn code_of<T: PartialEq>(
    list: &[T],
    what: &'static str,
    value: &T,
) -> Result<u64, Error> {
    match list.iter().position(|candidate| candidate == value) {
        Some(code) => Ok(code as u64),
        None => Err(Error::NoCode { what }),
    }
}

/// The value with the number `code` in `list`.
pub(super) fn value_of<T: Copy>(list: &[T], code: u64) -> Option<T> {
    usize::try_from(code)
        .ok()
        .and_then(|code| list.get(code))
        .copied()
}
