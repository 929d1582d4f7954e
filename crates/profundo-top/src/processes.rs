//! The kernel's counts for each process: CPU time, memory, threads. Each page reads two short files
//! per process, which does not stop it; earlier readings are kept for the longest window.

use std::collections::{BTreeMap, VecDeque};

use profundo_model::{ProcessEnd, Profile};

use super::window::Span;
use crate::options::LONGEST_WINDOW;

const SECOND: u64 = 1_000_000_000;
/// A page of more processes would not be read, and reading their files would take too long.
const MOST: usize = 64;
/// Readings that are closer together count as one.
const APART: u64 = SECOND / 2;

/// One reading of a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Reading {
    /// The time since the start of the recording.
    time: u64,
    /// CPU time until then.
    cpu: u64,
    /// Resident bytes.
    resident: u64,
}

/// The readings of a process, and its times.
#[derive(Debug, Clone, Default)]
struct Known {
    /// Its start time by the kernel: another process with the same id has another one.
    began: u64,
    series: Series,
    peak: u64,
    threads: usize,
    /// Its own CPU time and that of reaped children, at the last reading.
    own_cpu: u64,
    children_cpu: u64,
    /// True if the process existed at the last reading; it may be a zombie by then.
    is_there: bool,
}

/// Successive readings.
#[derive(Debug, Clone, Default)]
struct Series {
    /// The first reading.
    first: Option<Reading>,
    /// Those of the longest window, the oldest first.
    readings: VecDeque<Reading>,
}

impl Series {
    fn push(&mut self, reading: Reading) {
        self.first.get_or_insert(reading);
        let readings = &mut self.readings;
        // The last one is the present, and becomes the past when there is enough time between.
        let before = readings.len().checked_sub(2).map(|at| readings[at].time);
        if before.is_some_and(|before| reading.time < before + APART) {
            readings.pop_back();
        }
        readings.push_back(reading);
        // The reading before the beginning of the longest window stands for it.
        let oldest = reading.time.saturating_sub(LONGEST_WINDOW * SECOND);
        while readings.get(1).is_some_and(|second| second.time <= oldest) {
            readings.pop_front();
        }
    }

    /// The readings at the beginning and at the end of a part of the past.
    fn ends(&self, span: Span) -> Option<(Reading, Reading)> {
        let last = *self.readings.back()?;
        let then = match span {
            Span::SinceStart => self.first?,
            Span::Last(seconds) => {
                let from = last.time.saturating_sub(seconds * SECOND);
                let before = self
                    .readings
                    .iter()
                    .rev()
                    .find(|reading| reading.time <= from);
                *before.or(self.readings.front())?
            }
        };
        Some((then, last))
    }
}

/// The processes of a recording.
#[derive(Debug, Clone, Default)]
pub struct Processes {
    known: BTreeMap<u32, Known>,
    /// Processes that have not ended, the first one first.
    alive: Vec<Alive>,
    /// The number of the recording's rows that were searched for new processes: there may be many
    /// short ones.
    rows: usize,
    /// The sum of all processes, including ended ones.
    all: Series,
    /// CPU time of all since they were first seen.
    used: u64,
    /// The kernel's count for all at the last reading, including reaped children.
    counted: u64,
    /// True if children belong to the recording.
    with_children: bool,
}

/// The figures of a process on a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Sizes {
    /// CPU time in the window, in nanoseconds.
    pub cpu: u64,
    /// The length of the interval of that count.
    pub length: u64,
    /// Resident bytes, including shared memory.
    pub resident: u64,
    /// The growth since the beginning of the window; `None` without a reading then.
    pub grown: Option<i64>,
    /// The peak.
    pub peak: u64,
    /// The number of its threads.
    pub threads: usize,
}

/// A process that has not ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Alive {
    /// The process id.
    pub pid: u32,
    /// The row of its present program.
    pub row: usize,
}

impl Processes {
    /// No processes yet. `with_children`: the work of children belongs to the recording.
    pub fn new(with_children: bool) -> Self {
        Self {
            with_children,
            ..Self::default()
        }
    }

    /// Processes that have not ended, the first one first.
    pub fn alive(&self) -> &[Alive] {
        &self.alive
    }

    /// Notes which processes have begun or ended. Reads the counts of new ones: their earlier use
    /// does not belong to the recording.
    pub fn take(&mut self, profile: &Profile, now: u64) {
        let rows = &profile.processes;
        let new = self.rows.min(rows.len())..rows.len();
        self.rows = rows.len();
        for row in new {
            let pid = rows[row].pid;
            // A process that executes another program stays the same process.
            match self.alive.iter_mut().find(|alive| alive.pid == pid) {
                Some(same) => same.row = row,
                None => self.alive.push(Alive { pid, row }),
            }
        }
        self.alive.retain(|alive| {
            let row = rows.get(alive.row);
            // A replaced program continues as another row, which is about to come.
            row.is_some_and(|row| match row.end {
                ProcessEnd::Replaced => true,
                ProcessEnd::Unknown => row.ended.is_none(),
                _ => false,
            })
        });
        let first = rows.first().map(|process| process.pid);
        self.alive
            .sort_by_key(|alive| (Some(alive.pid) != first, alive.row));
        let new: Vec<u32> = (self.alive.iter().take(MOST))
            .map(|alive| alive.pid)
            .filter(|pid| !self.known.contains_key(pid))
            .collect();
        for pid in new {
            self.read_process(pid, now);
        }
        // At the first reading of the first process, or its birth, nothing was used.
        let firsts = self.known.values().filter_map(|known| known.series.first);
        if let (true, Some(first)) = (
            self.all.readings.is_empty(),
            firsts.map(|reading| reading.time).min(),
        ) {
            self.add_up(first);
        }
    }

    /// Reads the counts of all living processes and of unreaped ones; forgets the others.
    pub fn read(&mut self, profile: &Profile, now: u64) {
        self.take(profile, now);
        let mut those: Vec<u32> = self
            .alive
            .iter()
            .take(MOST)
            .map(|alive| alive.pid)
            .collect();
        those.extend(
            self.known
                .keys()
                .filter(|pid| !those.contains(pid))
                .copied()
                .collect::<Vec<_>>(),
        );
        let before: u64 = self.known.values().map(|known| known.own_cpu).sum();
        for pid in those {
            self.read_process(pid, now);
        }
        let after = self.known.values().filter(|known| known.is_there);
        // What gone processes used is known only from their parents.
        let gone = self.known.values().filter(|known| !known.is_there);
        let gone: u64 = gone.map(|known| known.own_cpu).sum();
        let worked = after.clone().map(|known| known.own_cpu).sum::<u64>();
        let worked = worked.saturating_sub(before.saturating_sub(gone));
        let counted = after
            .map(|known| known.own_cpu + known.children_cpu)
            .sum::<u64>();
        // Children that are never reaped are missing from the sum; the work of the others is
        // certain.
        self.used += worked.max(counted.saturating_sub(self.counted));
        self.counted = counted;
        self.known.retain(|_, known| known.is_there);
        self.add_up(now);
    }

    fn add_up(&mut self, time: u64) {
        let last = |known: &Known| {
            known
                .series
                .readings
                .back()
                .map_or(0, |reading| reading.resident)
        };
        let resident = self.known_alive().map(last).sum();
        self.all.push(Reading {
            time,
            cpu: self.used,
            resident,
        });
    }

    fn known_alive(&self) -> impl Iterator<Item = &Known> {
        let alive = self.alive.iter();
        alive.filter_map(|alive| self.known.get(&alive.pid))
    }

    fn read_process(&mut self, pid: u32, time: u64) {
        let read = |name: &str| std::fs::read(format!("/proc/{pid}/{name}")).unwrap_or_default();
        let stat = Stat::parse(&read("stat"));
        let known = self.known.get(&pid).map(|known| known.began);
        // Another process may have the same id.
        let Some(stat) = stat.filter(|stat| known.is_none_or(|began| began == stat.began)) else {
            if let Some(known) = self.known.get_mut(&pid) {
                known.is_there = false;
            }
            return;
        };
        let (resident, peak) = sizes(&read("status"));
        let reading = Reading {
            time,
            cpu: stat.own_cpu,
            resident,
        };
        if known.is_none() {
            let age = since_boot().saturating_sub(stat.began.saturating_mul(SECOND / ticks()));
            if age <= time {
                // It began during the recording, with no use before.
                let birth = Reading {
                    time: time - age,
                    cpu: 0,
                    resident,
                };
                let unborn = Stat {
                    own_cpu: 0,
                    children_cpu: 0,
                    ..stat
                };
                self.add(pid, birth, &unborn, peak);
            } else {
                // Its earlier use does not belong to the recording.
                self.counted += stat.own_cpu + self.of_children(&stat);
            }
        }
        self.add(pid, reading, &stat, peak);
    }

    fn of_children(&self, stat: &Stat) -> u64 {
        match self.with_children {
            true => stat.children_cpu,
            false => 0,
        }
    }

    fn add(&mut self, pid: u32, reading: Reading, stat: &Stat, peak: u64) {
        let children_cpu = self.of_children(stat);
        let known = self.known.entry(pid).or_default();
        (known.began, known.own_cpu, known.children_cpu) = (stat.began, stat.own_cpu, children_cpu);
        known.is_there = true;
        // An ended process has no memory any more: its last figure counts.
        if reading.resident > 0 {
            known.series.push(reading);
            known.peak = known.peak.max(peak).max(reading.resident);
            known.threads = stat.threads;
        }
    }

    /// The figures of a process for a part of the past.
    pub fn sizes(&self, pid: u32, span: Span) -> Option<Sizes> {
        let known = self.known.get(&pid)?;
        let sizes = Sizes::between(known.series.ends(span)?);
        Some(Sizes {
            peak: known.peak,
            threads: known.threads,
            ..sizes
        })
    }

    /// The figures of all processes together, including ended ones; `None` if there are too many.
    pub fn sum(&self, span: Span) -> Option<Sizes> {
        if self.known_alive().count() < self.alive.len() {
            return None;
        }
        let mut sizes = Sizes::between(self.all.ends(span)?);
        sizes.peak = self
            .known_alive()
            .map(|known| known.peak)
            .max()
            .unwrap_or(0);
        sizes.threads = self.known_alive().map(|known| known.threads).sum();
        Some(sizes)
    }
}

impl Sizes {
    fn between((then, last): (Reading, Reading)) -> Self {
        let length = last.time.saturating_sub(then.time);
        Self {
            cpu: last.cpu.saturating_sub(then.cpu),
            length,
            resident: last.resident,
            grown: (length > 0).then(|| last.resident as i64 - then.resident as i64),
            ..Self::default()
        }
    }
}

/// The fields of a `stat` that are used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Stat {
    /// CPU time in nanoseconds.
    own_cpu: u64,
    /// The CPU time of reaped children, and of theirs.
    children_cpu: u64,
    threads: usize,
    /// In the kernel's ticks since the machine's start.
    began: u64,
}

impl Stat {
    /// `None` if the text is not a `stat`. The name may contain anything.
    fn parse(stat: &[u8]) -> Option<Self> {
        let end = stat.iter().rposition(|&byte| byte == b')')?;
        let rest = std::str::from_utf8(stat.get(end + 1..)?).ok()?;
        let mut fields = rest.split_ascii_whitespace();
        let mut skip_to = |skipped: usize| fields.nth(skipped)?.parse::<u64>().ok();
        let user = skip_to(11)?;
        let system = skip_to(0)?;
        let of_children = [skip_to(0)?, skip_to(0)?];
        let threads = skip_to(2)?;
        let began = skip_to(1)?;
        let nanos = |parts: [u64; 2]| {
            let sum = parts[0].saturating_add(parts[1]);
            sum.saturating_mul(SECOND / ticks())
        };
        Some(Self {
            own_cpu: nanos([user, system]),
            children_cpu: nanos(of_children),
            threads: usize::try_from(threads).ok()?,
            began,
        })
    }
}

/// The kernel's ticks per second.
fn ticks() -> u64 {
    // SAFETY: a call without pointers.
    let ticks = unsafe { libc::sysconf(libc::_SC_CLK_TCK) };
    u64::try_from(ticks).map_or(100, |ticks| ticks.clamp(1, SECOND))
}

/// Nanoseconds since the machine's start.
fn since_boot() -> u64 {
    super::clock(libc::CLOCK_BOOTTIME)
}

/// Resident bytes and their peak, from a `status`; 0 if the kernel does not report them.
fn sizes(status: &[u8]) -> (u64, u64) {
    let text = String::from_utf8_lossy(status);
    let of = |name: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(name));
        let number = line.and_then(|line| line.trim().strip_suffix(" kB")?.trim().parse().ok());
        number.map_or(0, |kilobytes: u64| kilobytes.saturating_mul(1 << 10))
    };
    (of("VmRSS:"), of("VmHWM:"))
}

#[cfg(test)]
mod tests {
    use profundo_model::{Nanos, Process};

    use super::*;

    const STAT: &str =
        "7 (a) b (c) S 5 7 7 0 -1 0 100 2 3 4 150 25 6 7 20 0 9 0 99 4096 1 18446744073709551615";

    fn reading(time: u64, cpu: u64, resident: u64) -> Reading {
        Reading {
            time: time * SECOND,
            cpu: cpu * SECOND,
            resident,
        }
    }

    fn of(readings: &[Reading]) -> Processes {
        let mut processes = Processes::default();
        let stat = Stat::parse(STAT.as_bytes()).unwrap();
        for &reading in readings {
            processes.add(7, reading, &stat, 900);
        }
        processes
    }

    #[test]
    fn a_stat_is_read_behind_any_name() {
        let stat = Stat::parse(STAT.as_bytes()).unwrap();
        assert_eq!((stat.threads, stat.began), (9, 99));
        assert_eq!(stat.own_cpu, 175 * (SECOND / ticks()));
        assert_eq!(stat.children_cpu, 13 * (SECOND / ticks()));
        assert_eq!(Stat::parse(b"7 (a) S 5"), None);
        assert_eq!(
            sizes(b"VmHWM:\t  30 kB\nVmRSS:\t  20 kB\n"),
            (20 << 10, 30 << 10)
        );
        assert_eq!(sizes(b"Name:\tx\n"), (0, 0));
    }

    #[test]
    fn a_window_has_what_was_used_in_it() {
        let readings: Vec<Reading> = (0..=20).map(|at| reading(at, at / 2, 100 + at)).collect();
        let processes = of(&readings);
        let last = processes.sizes(7, Span::Last(10)).unwrap();
        assert_eq!((last.cpu, last.length), (5 * SECOND, 10 * SECOND));
        assert_eq!((last.resident, last.grown), (120, Some(10)));
        assert_eq!((last.peak, last.threads), (900, 9));
        let all = processes.sizes(7, Span::SinceStart).unwrap();
        assert_eq!((all.cpu, all.length), (10 * SECOND, 20 * SECOND));
        // A window longer than the past: the whole past.
        let long = processes.sizes(7, Span::Last(60)).unwrap();
        assert_eq!((long.length, long.grown), (20 * SECOND, Some(20)));
        assert_eq!(
            of(&readings[..1]).sizes(7, Span::Last(10)).unwrap().grown,
            None
        );
        assert_eq!(processes.sizes(8, Span::SinceStart), None);
    }

    #[test]
    fn many_readings_take_little_memory() {
        let mut processes = Processes::default();
        let stat = Stat::parse(STAT.as_bytes()).unwrap();
        for tenth in 0..3000 {
            let time = tenth * SECOND / 10;
            let reading = Reading {
                time,
                cpu: time,
                resident: tenth + 1,
            };
            processes.add(7, reading, &stat, 0);
        }
        let known = &processes.known[&7];
        assert!(
            known.series.readings.len() <= 3 * LONGEST_WINDOW as usize,
            "{}",
            known.series.readings.len()
        );
        let last = processes.sizes(7, Span::Last(60)).unwrap();
        assert!(last.length >= 60 * SECOND && last.length <= 61 * SECOND);
        let all = processes.sizes(7, Span::SinceStart).unwrap();
        assert_eq!(all.length, 2999 * SECOND / 10);
    }

    #[test]
    fn ended_processes_are_in_the_sum() {
        // A shell that works through children only, each of which ends before it is read.
        let work = "while :; do sh -c 'i=0; while [ $i -lt 2000 ]; do i=$((i+1)); done'; done";
        let mut shell = std::process::Command::new("sh")
            .args(["-c", work])
            .spawn()
            .unwrap();
        let process = Process {
            pid: shell.id(),
            ..Process::default()
        };
        let mut profile = Profile {
            processes: vec![process],
            ..Profile::default()
        };
        let mut processes = Processes::new(true);
        let began = std::time::Instant::now();
        let mut at = SECOND;
        processes.read(&profile, at);
        let used = loop {
            std::thread::sleep(std::time::Duration::from_millis(50));
            at += SECOND;
            processes.read(&profile, at);
            let sum = processes.sum(Span::SinceStart).unwrap();
            if sum.cpu > SECOND / 5 || began.elapsed().as_secs() > 30 {
                break sum.cpu;
            }
        };
        let elapsed = began.elapsed().as_nanos() as u64;
        shell.kill().unwrap();
        shell.wait().unwrap();
        assert!(
            used > SECOND / 5 && used < elapsed * 2,
            "{used} of {elapsed}"
        );
        let own_cpu = processes.sizes(shell.id(), Span::SinceStart).unwrap().cpu;
        assert!(own_cpu < used / 2, "{own_cpu} of {used}");
        // When a process is gone, so are its figures.
        profile.processes[0].end = ProcessEnd::Killed(9);
        processes.read(&profile, at + SECOND);
        assert!(processes.known.is_empty());
        let sum = processes.sum(Span::SinceStart).unwrap();
        assert!(sum.cpu >= used, "{}", sum.cpu);
    }

    #[test]
    fn this_process_is_read_and_an_ended_one_is_not() {
        let mut profile = Profile::default();
        let process = |pid, ended| Process {
            pid,
            ended,
            ..Process::default()
        };
        let own_pid = std::process::id();
        profile.processes = vec![
            Process {
                end: ProcessEnd::Replaced,
                ..process(own_pid, Some(Nanos(1)))
            },
            process(u32::MAX, Some(Nanos(1))),
            process(own_pid, None),
        ];
        let mut processes = Processes::default();
        processes.take(&profile, 1);
        assert_eq!(
            processes.alive(),
            [Alive {
                pid: own_pid,
                row: 2
            }]
        );
        processes.read(&profile, SECOND);
        let sizes = processes.sizes(own_pid, Span::SinceStart).unwrap();
        assert!(sizes.resident > 100_000 && sizes.peak >= sizes.resident);
        assert!(sizes.threads >= 1);
        profile.processes[2].ended = Some(Nanos(2));
        profile.processes.push(process(own_pid, None));
        processes.take(&profile, 2 * SECOND);
        assert_eq!(
            processes.alive(),
            [Alive {
                pid: own_pid,
                row: 3
            }]
        );
        profile.processes[3].end = ProcessEnd::Exited(0);
        processes.take(&profile, 3 * SECOND);
        assert_eq!(processes.alive(), []);
    }
}
