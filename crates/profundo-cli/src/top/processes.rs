//! What the kernel counts of each process: CPU time, memory, threads. Each page looks once, at two short files of a
//! process that do not make it wait; what was seen before is kept for as long as the longest window.

use std::collections::{BTreeMap, VecDeque};

use profundo_model::{ProcessEnd, Profile};

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
    /// CPU time of its own, and of children that it has waited for, as the kernel said it last.
    own: u64,
    children: u64,
    /// Whether it was there at the last look: it may be a zombie by then.
    is_there: bool,
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
    /// What the kernel said of all at the last look, also of children that somebody has waited for.
    said: u64,
    /// Whether children belong to it.
    with_children: bool,
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
    /// Nobody is known yet. `with_children`: what children do belongs to it.
    pub fn new(with_children: bool) -> Self {
        Self {
            with_children,
            ..Self::default()
        }
    }

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
        self.alive.retain(|it| {
            let row = rows.get(it.row);
            // One that was replaced goes on as another row, which is on its way.
            row.is_some_and(|row| match row.end {
                ProcessEnd::Replaced => true,
                ProcessEnd::Unknown => row.ended.is_none(),
                _ => false,
            })
        });
        let first = rows.first().map(|process| process.pid);
        self.alive.sort_by_key(|it| (Some(it.pid) != first, it.row));
        let new: Vec<u32> = (self.alive.iter().take(MOST))
            .map(|it| it.pid)
            .filter(|pid| !self.known.contains_key(pid))
            .collect();
        for pid in new {
            self.look_at(pid, now);
        }
        // Nothing was used when the first one was first seen, or began.
        let firsts = self.known.values().filter_map(|known| known.series.first);
        if let (true, Some(first)) = (self.all.looks.is_empty(), firsts.map(|it| it.time).min()) {
            self.add_up(first);
        }
    }

    /// Looks at all that are alive, and at those that nobody has waited for yet; forgets the others.
    pub fn look(&mut self, profile: &Profile, now: u64) {
        self.take(profile, now);
        let mut those: Vec<u32> = self.alive.iter().take(MOST).map(|it| it.pid).collect();
        those.extend(
            self.known
                .keys()
                .filter(|pid| !those.contains(pid))
                .copied()
                .collect::<Vec<_>>(),
        );
        let before: u64 = self.known.values().map(|known| known.own).sum();
        for pid in those {
            self.look_at(pid, now);
        }
        let after = self.known.values().filter(|known| known.is_there);
        // Of those that are gone nothing is left but what their parents have.
        let gone = self.known.values().filter(|known| !known.is_there);
        let gone: u64 = gone.map(|known| known.own).sum();
        let worked = after.clone().map(|known| known.own).sum::<u64>();
        let worked = worked.saturating_sub(before.saturating_sub(gone));
        let said = after.map(|known| known.own + known.children).sum::<u64>();
        // Children that nobody waits for are lost to all; what the others did is sure.
        self.used += worked.max(said.saturating_sub(self.said));
        self.said = said;
        self.known.retain(|_, known| known.is_there);
        self.add_up(now);
    }

    fn add_up(&mut self, time: u64) {
        let last = |known: &Known| known.series.looks.back().map_or(0, |look| look.resident);
        let resident = self.known_alive().map(last).sum();
        self.all.push(Look {
            time,
            cpu: self.used,
            resident,
        });
    }

    fn known_alive(&self) -> impl Iterator<Item = &Known> {
        let alive = self.alive.iter();
        alive.filter_map(|it| self.known.get(&it.pid))
    }

    fn look_at(&mut self, pid: u32, time: u64) {
        let read = |name: &str| std::fs::read(format!("/proc/{pid}/{name}")).unwrap_or_default();
        let stat = Stat::parse(&read("stat"));
        let known = self.known.get(&pid).map(|known| known.began);
        // Another one of the same number is somebody else.
        let Some(stat) = stat.filter(|stat| known.is_none_or(|began| began == stat.began)) else {
            if let Some(known) = self.known.get_mut(&pid) {
                known.is_there = false;
            }
            return;
        };
        let (resident, peak) = sizes(&read("status"));
        let look = Look {
            time,
            cpu: stat.own,
            resident,
        };
        if known.is_none() {
            let age = since_boot().saturating_sub(stat.began.saturating_mul(SECOND / ticks()));
            if age <= time {
                // It began while it was recorded, and had used nothing then.
                let birth = Look {
                    time: time - age,
                    cpu: 0,
                    resident,
                };
                let unborn = Stat {
                    own: 0,
                    children: 0,
                    ..stat
                };
                self.add(pid, birth, &unborn, peak);
            } else {
                // What it used before is not of the recording.
                self.said += stat.own + self.of_children(&stat);
            }
        }
        self.add(pid, look, &stat, peak);
    }

    fn of_children(&self, stat: &Stat) -> u64 {
        match self.with_children {
            true => stat.children,
            false => 0,
        }
    }

    fn add(&mut self, pid: u32, look: Look, stat: &Stat, peak: u64) {
        let children = self.of_children(stat);
        let known = self.known.entry(pid).or_default();
        (known.began, known.own, known.children) = (stat.began, stat.own, children);
        known.is_there = true;
        // Who has ended has no memory any more: what it had is what it had last.
        if look.resident > 0 {
            known.series.push(look);
            known.peak = known.peak.max(peak).max(look.resident);
            known.threads = stat.threads;
        }
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

    /// The same of all together, also of those that have ended; `None` if there are too many.
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
    /// CPU time in nanoseconds.
    own: u64,
    /// The same of children that it has waited for, and of theirs.
    children: u64,
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
        let of_children = [skip_to(0)?, skip_to(0)?];
        let threads = skip_to(2)?;
        let began = skip_to(1)?;
        let nanos = |parts: [u64; 2]| {
            let sum = parts[0].saturating_add(parts[1]);
            sum.saturating_mul(SECOND / ticks())
        };
        Some(Self {
            own: nanos([user, system]),
            children: nanos(of_children),
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
    use profundo_model::{Nanos, Process};

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
        assert_eq!(stat.own, 175 * (SECOND / ticks()));
        assert_eq!(stat.children, 13 * (SECOND / ticks()));
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
                resident: tenth + 1,
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
    }

    #[test]
    fn who_has_ended_is_in_the_sum() {
        // A shell that works by children only, each of which is gone before anybody has looked.
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
        processes.look(&profile, at);
        let used = loop {
            std::thread::sleep(std::time::Duration::from_millis(50));
            at += SECOND;
            processes.look(&profile, at);
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
        let own = processes.sizes(shell.id(), Span::SinceStart).unwrap().cpu;
        assert!(own < used / 2, "{own} of {used}");
        // When it is gone, so is what is known of it.
        profile.processes[0].end = ProcessEnd::Killed(9);
        processes.look(&profile, at + SECOND);
        assert!(processes.known.is_empty());
        let sum = processes.sum(Span::SinceStart).unwrap();
        assert!(sum.cpu >= used, "{}", sum.cpu);
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
