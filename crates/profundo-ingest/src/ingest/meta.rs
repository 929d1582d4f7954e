//! The data about a recording, its energy, and the states of its samples, as the profile has them.

use profundo_model::{Energy, EnergyZone, Engine, Gil, Meta, Nanos, SampleKind, State};
use profundo_wire::recording::{self, Start};

pub(super) fn meta(start: &Start) -> Meta {
    let engine = match start.engine {
        recording::Engine::PerfSignal => Engine::PerfSignal,
        recording::Engine::CpuTimer => Engine::CpuTimer,
        recording::Engine::PerfRing => Engine::PerfRing,
        recording::Engine::ProcPoll => Engine::ProcPoll,
        recording::Engine::Wall => Engine::Wall,
        recording::Engine::None => Engine::Unknown,
    };
    Meta {
        engine,
        kind: match engine == Engine::Wall || start.is_wall {
            true => SampleKind::Wall,
            false => SampleKind::Cpu,
        },
        period: Nanos(start.period),
        started_at_unix: start.started.unix,
        ..Meta::default()
    }
}

pub(super) fn energy(used: recording::EnergyUsed) -> Energy {
    let zone = |zone: recording::ZoneUsed| EnergyZone {
        name: zone.name,
        microjoules: zone.microjoules,
        is_counted: zone.is_counted,
    };
    Energy {
        zones: used.zones.into_iter().map(zone).collect(),
        duration: Nanos(used.duration),
        machine_cpu: Nanos(used.machine_cpu),
        program_cpu: Nanos(used.program_cpu),
    }
}

pub(super) fn state(state: profundo_wire::State) -> State {
    match state {
        profundo_wire::State::Running => State::Running,
        profundo_wire::State::System => State::System,
        profundo_wire::State::WallRunning => State::WallRunning,
        profundo_wire::State::WallWaiting => State::WallWaiting,
        profundo_wire::State::Allocating | profundo_wire::State::Returning => State::Running,
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
