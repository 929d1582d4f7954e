//! What the kernel counts of each process: CPU time, memory, threads. Each page looks once, at two short files of a
//! process that do not make it wait; what was seen before is kept for as long as the longest window.

use std::collections::{BTreeMap, VecDeque};

use profundo_model::{Process, ProcessEnd, Profile};

use super::window::Span;
use crate::options::LONGEST_WINDOW;

const SECOND: u64 = 1_000_000_000;
/// Of more processes nobody reads a page, and looking would take too long.
const MOST: usize = 64;
/// Looks that are nearer to each other are one.
const APART: u64 = SECOND / 2;

/// One look at a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Look {
    /// When, since the start of the recording.
    time: u64,
    /// CPU time until then.
    cpu: u64,
    /// Bytes in memory.
    resident: u64,
}

/// What is known of a process.
#[derive(Debug, Clone, Default)]
struct Known {
    /// When it began, as the kernel says it: another one of the same number began at another time.
    began: u64,
    series: Series,
    peak: u64,
    threads: usize,
}

/// Looks, one after the other.
#[derive(Debug, Clone, Default)]
struct Series {
    /// The first one of all.
    first: Option<Look>,
    /// Those of the longest window, the oldest first.
    looks: VecDeque<Look>,
}

impl Series {
    fn push(&mut self, look: Look) {
        self.first.get_or_insert(look);
        let looks = &mut self.looks;
        // The last one stands for the present, and becomes the past when there is enough between.
        let before = looks.len().checked_sub(2).map(|at| looks[at].time);
        if before.is_some_and(|before| look.time < before + APART) {
            looks.pop_back();
        }
        looks.push_back(look);
        // The one behind the beginning of the longest window is its beginning.
        let oldest = look.time.saturating_sub(LONGEST_WINDOW * SECOND);
        while looks.get(1).is_some_and(|second| second.time <= oldest) {
            looks.pop_front();
        }
    }

    /// The looks at the beginning and at the end of a part of the past.
    fn ends(&self, span: Span) -> Option<(Look, Look)> {
        let last = *self.looks.back()?;
        let then = match span {
            Span::SinceStart => self.first?,
            Span::Last(seconds) => {
                let from = last.time.saturating_sub(seconds * SECOND);
                let before = self.looks.iter().rev().find(|look| look.time <= from);
                *before.or(self.looks.front())?
            }
        };
        Some((then, last))
    }
}

/// The processes.
#[derive(Debug, Clone, Default)]
pub struct Processes {
    known: BTreeMap<u32, Known>,
    /// Those that have not ended, the first one first.
    alive: Vec<Alive>,
    /// So many rows of the recording were looked through for new ones: there may be very many short ones.
    rows: usize,
    /// All of them together, also those that have ended.
    all: Series,
    /// CPU time of all since they were first seen.
    used: u64,
    /// When last something was not known of one of them.
    unknown: Option<u64>,
}

/// What a page says of a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Sizes {
    /// CPU time in the window, in nanoseconds.
    pub cpu: u64,
    /// For how long that was counted.
    pub length: u64,
    /// Bytes in memory, those included that it shares with others.
    pub resident: u64,
    /// How many more that is than at the beginning of the window; `None` where nobody has looked then.
    pub grown: Option<i64>,
    /// The most that it ever had.
    pub peak: u64,
    /// Its threads.
    pub threads: usize,
}

/// A process that has not ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Alive {
    /// Its number.
    pub pid: u32,
    /// The row of the program that it is at present.
    pub row: usize,
}

impl Processes {
    /// Those that have not ended, the first one first.
    pub fn alive(&self) -> &[Alive] {
        &self.alive
    }

    /// Takes note of those that have begun or ended. Looks at new ones: what they used before is not of the recording.
    pub fn take(&mut self, profile: &Profile, now: u64) {
        let rows = &profile.processes;
        let new = self.rows.min(rows.len())..rows.len();
        self.rows = rows.len();
        for row in new {
            let pid = rows[row].pid;
            // A program that takes another one's place is the same process.
            match self.alive.iter_mut().find(|it| it.pid == pid) {
                Some(same) => same.row = row,
                None => self.alive.push(Alive { pid, row }),
            }
        }
        let mut ended = Vec::new();
        self.alive.retain(|it| {
            let row = rows.get(it.row);
            // One that was replaced goes on as another row, which is on its way.
            let is_alive = row.is_some_and(|row| match row.end {
                ProcessEnd::Replaced => true,
                ProcessEnd::Unknown => row.ended.is_none(),
                _ => false,
            });
            if !is_alive {
                ended.push(*it);
            }
            is_alive
        });
        for it in ended {
            self.end(it.pid, rows.get(it.row), now);
        }
        let first = rows.first().map(|process| process.pid);
        self.alive.sort_by_key(|it| (Some(it.pid) != first, it.row));
        let new: Vec<u32> = (self.alive.iter().take(MOST))
            .map(|it| it.pid)
            .filter(|pid| !self.known.contains_key(pid))
            .collect();
        for pid in new {
            self.look_at(pid, now);
        }
        if self.all.looks.is_empty() && !self.known.is_empty() {
            self.add_up(now);
        }
    }

    /// One has ended. What it used since the last look the kernel has said, or nobody knows.
    fn end(&mut self, pid: u32, row: Option<&Process>, now: u64) {
        let known = self.known.remove(&pid);
        let last = known.and_then(|known| known.series.looks.back().copied());
        let seen = last.map_or(0, |look| look.cpu);
        match row.and_then(|row| Some(row.user?.0.saturating_add(row.system?.0))) {
            Some(used) => self.used = self.used.saturating_add(used.saturating_sub(seen)),
            None => self.unknown = Some(now),
        }
    }

    /// Looks at all that are alive; forgets the others.
    pub fn look(&mut self, profile: &Profile, now: u64) {
        self.take(profile, now);
        let those: Vec<u32> = self.alive.iter().take(MOST).map(|it| it.pid).collect();
        self.known.retain(|pid, _| those.contains(pid));
        for pid in those {
            self.look_at(pid, now);
        }
        if self.alive.len() > self.known.len() {
            self.unknown = Some(now);
        }
        self.add_up(now);
    }

    fn add_up(&mut self, time: u64) {
        let last = |known: &Known| known.series.looks.back().map_or(0, |look| look.resident);
        self.all.push(Look {
            time,
            cpu: self.used,
            resident: self.known.values().map(last).sum(),
        });
    }

    fn look_at(&mut self, pid: u32, time: u64) {
        let read = |name: &str| std::fs::read(format!("/proc/{pid}/{name}")).unwrap_or_default();
        let Some(stat) = Stat::parse(&read("stat")) else {
            return;
        };
        let (resident, peak) = sizes(&read("status"));
        // Who has ended has no memory any more: what it had is what it had last.
        if resident == 0 {
            return;
        }
        let look = Look {
            time,
            cpu: stat.cpu,
            resident,
        };
        let age = since_boot().saturating_sub(stat.began.saturating_mul(SECOND / ticks()));
        if !self.known.contains_key(&pid) && age <= time {
            // It began while it was recorded, and had used nothing then.
            let birth = Look {
                time: time - age,
                cpu: 0,
                resident,
            };
            self.add(pid, birth, &stat, peak);
        }
        self.add(pid, look, &stat, peak);
    }

    fn add(&mut self, pid: u32, look: Look, stat: &Stat, peak: u64) {
        let known = self.known.entry(pid).or_default();
        if known.began != stat.began {
            *known = Known {
                began: stat.began,
                ..Known::default()
            };
        }
        let before = known.series.looks.back();
        let before = before.map_or(look.cpu, |before| before.cpu);
        self.used = self.used.saturating_add(look.cpu.saturating_sub(before));
        known.series.push(look);
        known.peak = known.peak.max(peak).max(look.resident);
        known.threads = stat.threads;
    }

    /// What is known of a process for a part of the past.
    pub fn sizes(&self, pid: u32, span: Span) -> Option<Sizes> {
        let known = self.known.get(&pid)?;
        let sizes = Sizes::between(known.series.ends(span)?);
        Some(Sizes {
            peak: known.peak,
            threads: known.threads,
            ..sizes
        })
    }

    /// The same of all together, for no time where their CPU time is not known of all; `None` if there are too many.
    pub fn sum(&self, span: Span) -> Option<Sizes> {
        if self.alive.len() > self.known.len() {
            return None;
        }
        let (then, last) = self.all.ends(span)?;
        let mut sizes = Sizes::between((then, last));
        if self.unknown.is_some_and(|unknown| unknown > then.time) {
            sizes.length = 0;
        }
        sizes.peak = self
            .known
            .values()
            .map(|known| known.peak)
            .max()
            .unwrap_or(0);
        sizes.threads = self.known.values().map(|known| known.threads).sum();
        Some(sizes)
    }
}

impl Sizes {
    fn between((then, last): (Look, Look)) -> Self {
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

/// What of a `stat` is of interest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Stat {
    /// In nanoseconds.
    cpu: u64,
    threads: usize,
    /// In the kernel's ticks since the machine's start.
    began: u64,
}

impl Stat {
    /// `None` if it is none. The name may have anything in it.
    fn parse(stat: &[u8]) -> Option<Self> {
        let end = stat.iter().rposition(|&byte| byte == b')')?;
        let rest = std::str::from_utf8(stat.get(end + 1..)?).ok()?;
        let mut fields = rest.split_ascii_whitespace();
        let mut skip_to = |skipped: usize| fields.nth(skipped)?.parse::<u64>().ok();
        let user = skip_to(11)?;
        let system = skip_to(0)?;
        let threads = skip_to(4)?;
        let began = skip_to(1)?;
        Some(Self {
            cpu: user.saturating_add(system).saturating_mul(SECOND / ticks()),
            threads: usize::try_from(threads).ok()?,
            began,
        })
    }
}

/// How many of the kernel's ticks make a second.
fn ticks() -> u64 {
    // SAFETY: a call without pointers.
    let ticks = unsafe { libc::sysconf(libc::_SC_CLK_TCK) };
    u64::try_from(ticks).map_or(100, |ticks| ticks.clamp(1, SECOND))
}

/// Nanoseconds since the machine's start.
fn since_boot() -> u64 {
    super::clock(libc::CLOCK_BOOTTIME)
}

/// Bytes in memory and the most of them, in a `status`; 0 where the kernel does not tell.
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
    use profundo_model::Nanos;

    use super::*;

    const STAT: &str =
        "7 (a) b (c) S 5 7 7 0 -1 0 100 2 3 4 150 25 6 7 20 0 9 0 99 4096 1 18446744073709551615";

    fn look(time: u64, cpu: u64, resident: u64) -> Look {
        Look {
            time: time * SECOND,
            cpu: cpu * SECOND,
            resident,
        }
    }

    fn of(looks: &[Look]) -> Processes {
        let mut processes = Processes::default();
        let stat = Stat::parse(STAT.as_bytes()).unwrap();
        for &look in looks {
            processes.add(7, look, &stat, 900);
        }
        processes
    }

    #[test]
    fn a_stat_is_read_behind_any_name() {
        let stat = Stat::parse(STAT.as_bytes()).unwrap();
        assert_eq!((stat.threads, stat.began), (9, 99));
        assert_eq!(stat.cpu, 175 * (SECOND / ticks()));
        assert_eq!(Stat::parse(b"7 (a) S 5"), None);
        assert_eq!(
            sizes(b"VmHWM:\t  30 kB\nVmRSS:\t  20 kB\n"),
            (20 << 10, 30 << 10)
        );
        assert_eq!(sizes(b"Name:\tx\n"), (0, 0));
    }

    #[test]
    fn a_window_has_what_was_used_in_it() {
        let looks: Vec<Look> = (0..=20).map(|at| look(at, at / 2, 100 + at)).collect();
        let processes = of(&looks);
        let last = processes.sizes(7, Span::Last(10)).unwrap();
        assert_eq!((last.cpu, last.length), (5 * SECOND, 10 * SECOND));
        assert_eq!((last.resident, last.grown), (120, Some(10)));
        assert_eq!((last.peak, last.threads), (900, 9));
        let all = processes.sizes(7, Span::SinceStart).unwrap();
        assert_eq!((all.cpu, all.length), (10 * SECOND, 20 * SECOND));
        // Longer than it is known: what is known.
        let long = processes.sizes(7, Span::Last(60)).unwrap();
        assert_eq!((long.length, long.grown), (20 * SECOND, Some(20)));
        assert_eq!(
            of(&looks[..1]).sizes(7, Span::Last(10)).unwrap().grown,
            None
        );
        assert_eq!(processes.sizes(8, Span::SinceStart), None);
    }

    #[test]
    fn many_looks_take_little_memory() {
        let mut processes = Processes::default();
        let stat = Stat::parse(STAT.as_bytes()).unwrap();
        for tenth in 0..3000 {
            let time = tenth * SECOND / 10;
            let look = Look {
                time,
                cpu: time,
                resident: tenth,
            };
            processes.add(7, look, &stat, 0);
        }
        let known = &processes.known[&7];
        assert!(
            known.series.looks.len() <= 3 * LONGEST_WINDOW as usize,
            "{}",
            known.series.looks.len()
        );
        let last = processes.sizes(7, Span::Last(60)).unwrap();
        assert!(last.length >= 60 * SECOND && last.length <= 61 * SECOND);
        let all = processes.sizes(7, Span::SinceStart).unwrap();
        assert_eq!(all.length, 2999 * SECOND / 10);
        // Another process of the same number begins anew.
        let other = Stat { began: 100, ..stat };
        processes.add(7, look(301, 0, 5), &other, 5);
        let sizes = processes.sizes(7, Span::SinceStart).unwrap();
        assert_eq!((sizes.cpu, sizes.length, sizes.peak), (0, 0, 5));
    }

    #[test]
    fn who_has_ended_is_in_the_sum() {
        let mut processes = Processes::default();
        let stat = Stat::parse(STAT.as_bytes()).unwrap();
        processes.add(7, look(0, 3, 50), &stat, 50);
        processes.add_up(0);
        processes.add(7, look(1, 4, 50), &stat, 50);
        processes.add_up(SECOND);
        let row = |seconds| Process {
            user: Some(Nanos(seconds * SECOND)),
            system: Some(Nanos(0)),
            ..Process::default()
        };
        // One second more than was seen of it, and one that nobody has looked at.
        processes.end(7, Some(&row(5)), 2 * SECOND);
        processes.end(8, Some(&row(2)), 2 * SECOND);
        processes.add_up(2 * SECOND);
        let sum = processes.sum(Span::SinceStart).unwrap();
        assert_eq!((sum.cpu, sum.length), (4 * SECOND, 2 * SECOND));
        processes.end(9, None, 3 * SECOND);
        processes.add_up(3 * SECOND);
        assert_eq!(processes.sum(Span::SinceStart).unwrap().length, 0);
    }

    #[test]
    fn this_process_is_looked_at_and_who_has_ended_is_not() {
        let mut profile = Profile::default();
        let process = |pid, ended| Process {
            pid,
            ended,
            ..Process::default()
        };
        let own = std::process::id();
        profile.processes = vec![
            Process {
                end: ProcessEnd::Replaced,
                ..process(own, Some(Nanos(1)))
            },
            process(u32::MAX, Some(Nanos(1))),
            process(own, None),
        ];
        let mut processes = Processes::default();
        processes.take(&profile, 1);
        assert_eq!(processes.alive(), [Alive { pid: own, row: 2 }]);
        processes.look(&profile, SECOND);
        let sizes = processes.sizes(own, Span::SinceStart).unwrap();
        assert!(sizes.resident > 100_000 && sizes.peak >= sizes.resident);
        assert!(sizes.threads >= 1);
        profile.processes[2].ended = Some(Nanos(2));
        profile.processes.push(process(own, None));
        processes.take(&profile, 2 * SECOND);
        assert_eq!(processes.alive(), [Alive { pid: own, row: 3 }]);
        profile.processes[3].end = ProcessEnd::Exited(0);
        processes.take(&profile, 3 * SECOND);
        assert_eq!(processes.alive(), []);
    }
}
