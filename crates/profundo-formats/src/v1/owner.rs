//! The tables of owners: processes, threads and tasks.

use std::ops::Range;

use profundo_model::{
    Nanos, OriginId, Process, ProcessEnd, ProcessId, Profile, Task, TaskId, Thread, ThreadId,
};

use super::code::end;
use super::column::{Columns, Payload};
use super::read::Decoder;
use crate::{Damage, Error};

/// A bit for each known time.
fn flags_of(times: &[Option<Nanos>]) -> u64 {
    times
        .iter()
        .enumerate()
        .map(|(bit, time)| u64::from(time.is_some()) << bit)
        .sum()
}

/// `PROC`: a parent may stand anywhere in the table, for a child can come first. Flags mark known
/// times.
pub(super) mod processes {
    use super::*;

    const PID: u8 = 1;
    const COMMAND: u8 = 2;
    const PARENT: u8 = 3;
    const FLAGS: u8 = 4;
    /// Started, ended, user and system time.
    const TIMES: [u8; 4] = [5, 6, 7, 8];
    const END: u8 = 9;
    const END_CODE: u8 = 10;
    const RUNTIME: u8 = 11;
    const ENVIRONMENT_COUNT: u8 = 12;
    const ENVIRONMENT: u8 = 13;
    const ORIGIN: u8 = 14;
    const LABEL_COUNT: u8 = 15;
    const LABEL_KEY: u8 = 16;
    const LABEL_VALUE: u8 = 17;

    pub(in crate::v1) fn encode(profile: &Profile, rows: Range<usize>) -> Result<Payload, Error> {
        let processes = || profile.processes[rows.clone()].iter();
        let ends: Vec<(u64, u64)> = processes()
            .map(|process| end_to_code(process.end))
            .collect::<Result<_, _>>()?;
        let mut payload = Payload::new(rows.start, rows.len());
        payload.plain(PID, processes().map(|process| u64::from(process.pid)));
        payload.plain(
            COMMAND,
            processes().map(|process| u64::from(process.command.0)),
        );
        payload.plain(
            PARENT,
            processes().map(|process| process.parent.map_or(0, |id| u64::from(id.0) + 1)),
        );
        payload.sparse(FLAGS, processes().map(|process| flags_of(&times(process))));
        for (index, column) in TIMES.into_iter().enumerate() {
            let time = |process| times(process)[index].unwrap_or_default().0;
            payload.sparse(column, processes().map(time));
        }
        payload.sparse(END, ends.iter().map(|&(kind, _)| kind));
        payload.sparse(END_CODE, ends.iter().map(|&(_, code)| code));
        payload.sparse(
            RUNTIME,
            processes().map(|process| u64::from(process.runtime.0)),
        );
        let names = |process: &Process| process.environment.len() as u64;
        payload.sparse(ENVIRONMENT_COUNT, processes().map(names));
        if processes().any(|process| !process.environment.is_empty()) {
            let names = processes().flat_map(|process| &process.environment);
            payload.delta(ENVIRONMENT, names.map(|name| u64::from(name.0)));
        }
        let origin = |process: &Process| process.origin.map_or(0, |id| u64::from(id.0) + 1);
        payload.sparse(ORIGIN, processes().map(origin));
        if processes().any(|process| !process.labels.is_empty()) {
            let labels = || processes().flat_map(|process| &process.labels);
            let count = |process: &Process| process.labels.len() as u64;
            payload.plain(LABEL_COUNT, processes().map(count));
            payload.plain(LABEL_KEY, labels().map(|(key, _)| u64::from(key.0)));
            payload.delta(LABEL_VALUE, labels().map(|(_, value)| u64::from(value.0)));
        }
        Ok(payload)
    }

    fn times(process: &Process) -> [Option<Nanos>; 4] {
        [process.started, process.ended, process.user, process.system]
    }

    fn end_to_code(value: ProcessEnd) -> Result<(u64, u64), Error> {
        Ok(match value {
            ProcessEnd::Unknown => (end::UNKNOWN, 0),
            ProcessEnd::Exited(code) => (end::EXITED, u64::from(code)),
            ProcessEnd::Killed(signal) => (end::KILLED, u64::from(signal)),
            ProcessEnd::Replaced => (end::REPLACED, 0),
            _ => {
                return Err(Error::NoCode {
                    what: "end of a process",
                });
            }
        })
    }

    fn code_to_end(decoder: &mut Decoder, kind: u64, code: u64) -> ProcessEnd {
        match kind {
            end::UNKNOWN => ProcessEnd::Unknown,
            end::EXITED => ProcessEnd::Exited(code as u8),
            end::KILLED => ProcessEnd::Killed(code as u8),
            end::REPLACED => ProcessEnd::Replaced,
            _ => {
                decoder.unknown("end of a process", kind);
                ProcessEnd::Unknown
            }
        }
    }

    pub(in crate::v1) fn decode(decoder: &mut Decoder, columns: &Columns) -> Result<(), Damage> {
        let (mut pid, mut command) = (columns.need(PID)?, columns.get(COMMAND));
        let (mut parent, mut flags) = (columns.get(PARENT), columns.get(FLAGS));
        let mut times = TIMES.map(|column| columns.get(column));
        let (mut end, mut end_code) = (columns.get(END), columns.get(END_CODE));
        let (mut runtime, mut count) = (columns.get(RUNTIME), columns.get(ENVIRONMENT_COUNT));
        let (mut name, mut origin) = (columns.get(ENVIRONMENT), columns.get(ORIGIN));
        let mut labels = columns.get(LABEL_COUNT);
        let (mut key, mut value) = (columns.get(LABEL_KEY), columns.get(LABEL_VALUE));
        for index in columns.indices() {
            let flags = flags.plain()?;
            let mut known = [None; 4];
            for (bit, (column, time)) in times.iter_mut().zip(&mut known).enumerate() {
                let nanos = column.plain()?;
                *time = (flags & 1 << bit != 0).then_some(Nanos(nanos));
            }
            let [started, ended, user, system] = known;
            let (kind, code) = (end.plain()?, end_code.plain()?);
            let mut process = Process {
                pid: u32::try_from(pid.plain()?).map_err(|_| Damage::Number)?,
                command: decoder.string(command.plain()?)?,
                parent: match parent.plain()? {
                    0 => None,
                    next => Some(ProcessId(
                        u32::try_from(next - 1).map_err(|_| Damage::Number)?,
                    )),
                },
                started,
                ended,
                end: code_to_end(decoder, kind, code),
                user,
                system,
                runtime: decoder.string(runtime.plain()?)?,
                environment: Vec::new(),
                labels: Vec::new(),
                origin: match origin.plain()? {
                    0 => None,
                    next => Some(OriginId::from_index(decoder.origin(next - 1)?)),
                },
            };
            let count = count.plain()?;
            if count > name.left() as u64 {
                return Err(Damage::Column(ENVIRONMENT));
            }
            for _ in 0..count {
                process.environment.push(decoder.string(name.delta()?)?);
            }
            let count = labels.plain()?;
            if count > key.left() as u64 {
                return Err(Damage::Column(LABEL_COUNT));
            }
            for _ in 0..count {
                let key = decoder.string(key.plain()?)?;
                let value = decoder.string(value.delta()?)?;
                // A key that occurs twice has its first value.
                if process.labels.iter().all(|(known, _)| *known != key) {
                    process.labels.push((key, value));
                }
            }
            match decoder.profile.processes.get_mut(index) {
                Some(row) => *row = process,
                None => decoder.profile.processes.push(process),
            }
        }
        times.into_iter().try_for_each(|column| column.finish())?;
        let known = pid.finish().and(command.finish()).and(parent.finish());
        let ended = flags.finish().and(end.finish()).and(end_code.finish());
        known
            .and(ended)
            .and(runtime.finish())
            .and(count.finish())
            .and(name.finish())
            .and(origin.finish())
            .and(labels.finish())
            .and(key.finish())
            .and(value.finish())
    }
}

/// `THRD`: flags mark known times.
pub(super) mod threads {
    use super::*;

    const NUMBER: u8 = 1;
    const TID: u8 = 2;
    const NAME: u8 = 3;
    const PROCESS: u8 = 4;
    const FLAGS: u8 = 5;
    const ALIVE: u8 = 6;
    const CPU: u8 = 7;
    const GIL_WAIT: u8 = 8;

    const ALIVE_KNOWN: u64 = 1;
    const CPU_KNOWN: u64 = 2;
    const GIL_WAIT_KNOWN: u64 = 4;

    pub(in crate::v1) fn encode(profile: &Profile, rows: Range<usize>) -> Result<Payload, Error> {
        let threads = || {
            profile
                .threads
                .iter()
                .skip(rows.start)
                .take(rows.len())
                .map(|(_, thread)| thread)
        };
        let mut payload = Payload::new(rows.start, rows.len());
        payload.delta(NUMBER, threads().map(|thread| thread.number));
        payload.delta(TID, threads().map(|thread| u64::from(thread.tid)));
        payload.plain(NAME, threads().map(|thread| u64::from(thread.name.0)));
        payload.plain(PROCESS, threads().map(|thread| u64::from(thread.process.0)));
        payload.plain(
            FLAGS,
            threads().map(|thread| flags_of(&[thread.alive, thread.cpu, thread.gil_wait])),
        );
        payload.plain(
            ALIVE,
            threads().map(|thread| thread.alive.unwrap_or_default().0),
        );
        payload.plain(
            CPU,
            threads().map(|thread| thread.cpu.unwrap_or_default().0),
        );
        payload.sparse(
            GIL_WAIT,
            threads().map(|thread| thread.gil_wait.unwrap_or_default().0),
        );
        Ok(payload)
    }

    pub(in crate::v1) fn decode(decoder: &mut Decoder, columns: &Columns) -> Result<(), Damage> {
        let (mut number, mut tid) = (columns.need(NUMBER)?, columns.get(TID));
        let (mut name, mut process) = (columns.get(NAME), columns.get(PROCESS));
        let (mut flags, mut alive) = (columns.get(FLAGS), columns.get(ALIVE));
        let (mut cpu, mut gil_wait) = (columns.get(CPU), columns.get(GIL_WAIT));
        for index in columns.indices() {
            let flags = flags.plain()?;
            let (alive, cpu, gil_wait) = (alive.plain()?, cpu.plain()?, gil_wait.plain()?);
            let thread = Thread {
                number: number.delta()?,
                tid: u32::try_from(tid.delta()?).map_err(|_| Damage::Number)?,
                name: decoder.string(name.plain()?)?,
                process: ProcessId::from_index(decoder.process(process.plain()?)?),
                alive: (flags & ALIVE_KNOWN != 0).then_some(Nanos(alive)),
                cpu: (flags & CPU_KNOWN != 0).then_some(Nanos(cpu)),
                gil_wait: (flags & GIL_WAIT_KNOWN != 0).then_some(Nanos(gil_wait)),
            };
            let threads = &mut decoder.profile.threads;
            if index < threads.len() {
                *threads.get_mut(ThreadId::from_index(index)) = thread;
            } else {
                threads.push(thread);
            }
        }
        let named = number
            .finish()
            .and(tid.finish())
            .and(name.finish())
            .and(process.finish());
        named
            .and(flags.finish())
            .and(alive.finish())
            .and(cpu.finish())
            .and(gil_wait.finish())
    }
}

/// `TASK`: a number, a name, and where it was spawned.
pub(super) mod tasks {
    use super::*;

    const NUMBER: u8 = 1;
    const NAME: u8 = 2;
    const SPAWNED_AT: u8 = 3;
    const FLAGS: u8 = 4;

    const ROOT: u64 = 1;

    pub(in crate::v1) fn encode(profile: &Profile, rows: Range<usize>) -> Result<Payload, Error> {
        let tasks = || {
            profile
                .tasks
                .iter()
                .skip(rows.start)
                .take(rows.len())
                .map(|(_, task)| task)
        };
        let mut payload = Payload::new(rows.start, rows.len());
        payload.delta(NUMBER, tasks().map(|task| task.number));
        payload.plain(NAME, tasks().map(|task| u64::from(task.name.0)));
        payload.plain(SPAWNED_AT, tasks().map(|task| u64::from(task.spawned_at.0)));
        payload.plain(FLAGS, tasks().map(|task| u64::from(task.is_root) * ROOT));
        Ok(payload)
    }

    pub(in crate::v1) fn decode(decoder: &mut Decoder, columns: &Columns) -> Result<(), Damage> {
        let (mut number, mut name) = (columns.need(NUMBER)?, columns.get(NAME));
        let (mut spawned_at, mut flags) = (columns.get(SPAWNED_AT), columns.get(FLAGS));
        for index in columns.indices() {
            let task = Task {
                number: number.delta()?,
                name: decoder.string(name.plain()?)?,
                spawned_at: decoder.string(spawned_at.plain()?)?,
                is_root: flags.plain()? & ROOT != 0,
            };
            let tasks = &mut decoder.profile.tasks;
            if index < tasks.len() {
                *tasks.get_mut(TaskId::from_index(index)) = task;
            } else {
                tasks.push(task);
            }
        }
        number
            .finish()
            .and(name.finish())
            .and(spawned_at.finish())
            .and(flags.finish())
    }
}
