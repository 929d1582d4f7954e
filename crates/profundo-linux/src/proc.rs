//! Other processes, as `/proc` shows them. A process that is gone reads as empty.

use std::fs;
use std::io::Read;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use crate::sys;

/// A file of a process's directory; empty if it cannot be read.
pub fn read(pid: u32, name: &str) -> Vec<u8> {
    // These files have no length, and the kernel makes their text anew at each call.
    let mut bytes = Vec::with_capacity(16 << 10);
    let read = fs::File::open(format!("/proc/{pid}/{name}"))
        .and_then(|mut file| file.read_to_end(&mut bytes));
    read.map(|_| bytes).unwrap_or_default()
}

/// The number of this process's pid namespace. `None` if it is not known: gVisor gives the file of
/// each process a number of its own.
pub fn pid_namespace() -> Option<u64> {
    namespace_at(Path::new("/proc/self/ns/pid"))
}

/// The number of a process's pid namespace. `None` if it is not known.
pub fn pid_namespace_of(pid: u32) -> Option<u64> {
    namespace_at(Path::new(&format!("/proc/{pid}/ns/pid")))
}

fn namespace_at(path: &Path) -> Option<u64> {
    const NSFS: i64 = 0x6e73_6673;
    let kind = sys::file_system(path).ok()?.kind;
    let file = fs::metadata(path).ok()?;
    (kind == NSFS).then(|| file.ino())
}

/// The command line, quoted as a shell would need it.
pub fn command_line(pid: u32) -> String {
    profundo_wire::command::line(&read(pid, "cmdline"))
}

/// The working directory; empty if it is not known.
pub fn directory(pid: u32) -> String {
    let path = fs::read_link(format!("/proc/{pid}/cwd")).ok();
    let path = path.and_then(|path| path.into_os_string().into_string().ok());
    path.unwrap_or_default()
}

/// The working directory that a running process began with. If it has changed since, it is the
/// shell's, from the environment: file names of the command line are relative to it.
pub fn first_directory(pid: u32) -> String {
    let present = directory(pid);
    let environment = read(pid, "environ");
    let mut entries = environment.split(|&byte| byte == 0);
    let first = entries.find_map(|entry| std::str::from_utf8(entry.strip_prefix(b"PWD=")?).ok());
    let Some(first) = first.filter(|path| path.starts_with('/') && *path != present) else {
        return present;
    };
    let command = read(pid, "cmdline");
    let words = command.split(|&byte| byte == 0).skip(1);
    let words: Vec<&str> = words
        .filter_map(|word| std::str::from_utf8(word).ok())
        .collect();
    let has_files = |folder: &str| {
        let root = format!("/proc/{pid}/root{folder}");
        let mut files = words
            .iter()
            .filter(|word| !word.is_empty() && !word.starts_with('/'));
        files.any(|word| Path::new(&root).join(word).is_file())
    };
    match !has_files(&present) && has_files(first) {
        true => first.to_owned(),
        false => present,
    }
}

/// The names of the environment variables, without those that we have put there.
pub fn environment_names(pid: u32, agent: Option<&Path>) -> Vec<String> {
    let bytes = read(pid, "environ");
    let is_ours = |name: &[u8], value: &[u8]| {
        let is_alone = |path: &Path| {
            let path = path.as_os_str().as_encoded_bytes();
            profundo_probe::loading::take_out(value, path)
                .theirs
                .is_none()
        };
        name == profundo_probe::shared::SESSION_VARIABLE.as_bytes()
            || name == b"LD_PRELOAD" && agent.is_some_and(is_alone)
    };
    bytes
        .split(|&byte| byte == 0)
        .filter_map(|entry| {
            let at = entry.iter().position(|&byte| byte == b'=')?;
            let (name, value) = entry.split_at_checked(at)?;
            let value = value.get(1..)?;
            (!is_ours(name, value)).then(|| String::from_utf8_lossy(name).into_owned())
        })
        .collect()
}

/// A process's state and times.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stat {
    /// Its state: `R`, `S`, …; `Z` once it has ended and is not reaped.
    pub state: u8,
    /// The process that made it, or has adopted it.
    pub parent: u32,
    /// Page faults of children that it has reaped.
    pub faults_of_children: u64,
    /// Minor and major page faults of its own.
    pub faults: (u64, u64),
    /// CPU time in user code, in nanoseconds.
    pub user: u64,
    /// CPU time in the kernel, in nanoseconds.
    pub system: u64,
    /// CPU time in user code of children that it has reaped, in nanoseconds.
    pub user_of_children: u64,
    /// Their CPU time in the kernel, in nanoseconds.
    pub system_of_children: u64,
    /// Resident bytes, approximately.
    pub resident: u64,
    /// Its wait status, once it has ended.
    pub status: i32,
    /// The time of the process's beginning, in nanoseconds since the machine was started.
    pub started: u64,
}

impl Stat {
    /// Whether it has ended and is not reaped yet.
    pub fn has_ended(&self) -> bool {
        matches!(self.state, b'Z' | b'X')
    }
}

/// The state and times of a process.
pub fn stat(pid: u32) -> Option<Stat> {
    parse_stat(&read(pid, "stat"))
}

/// The user and the group whose rights a process has.
pub fn owner(pid: u32) -> Option<(u32, u32)> {
    let of_folder = fs::metadata(format!("/proc/{pid}")).ok()?;
    Some((of_folder.uid(), of_folder.gid()))
}

/// The state of a thread: `R` if it runs, `S` if it sleeps.
pub fn thread_state(pid: u32, tid: u32) -> Option<u8> {
    parse_stat(&read(pid, &format!("task/{tid}/stat"))).map(|stat| stat.state)
}

/// The unit of the resident size.
const PAGE: u64 = 4096;

fn parse_stat(bytes: &[u8]) -> Option<Stat> {
    // The second field is a name in brackets, which may contain anything.
    let end = bytes.iter().rposition(|&byte| byte == b')')?;
    let rest = std::str::from_utf8(bytes.get(end + 1..)?).ok()?;
    let fields: Vec<&str> = rest.split_ascii_whitespace().collect();
    let ticks = |index: usize| fields.get(index)?.parse::<u64>().ok();
    let per_tick = 1_000_000_000 / ticks_per_second();
    Some(Stat {
        state: *fields.first()?.as_bytes().first()?,
        parent: fields.get(1)?.parse().ok()?,
        faults_of_children: ticks(8)?,
        faults: (ticks(7)?, ticks(9)?),
        user: ticks(11)? * per_tick,
        system: ticks(12)? * per_tick,
        user_of_children: ticks(13)? * per_tick,
        system_of_children: ticks(14)? * per_tick,
        resident: ticks(21).unwrap_or(0) * PAGE,
        status: fields
            .get(49)
            .and_then(|field| field.parse().ok())
            .unwrap_or(0),
        started: ticks(19)? * per_tick,
    })
}

/// The time of a process's beginning, in nanoseconds since 1970, to a hundredth of a second.
pub fn process_started(pid: u32) -> Option<u64> {
    let since_boot = stat(pid)?.started;
    let ago = sys::nanoseconds(libc::CLOCK_BOOTTIME).checked_sub(since_boot)?;
    sys::nanoseconds(libc::CLOCK_REALTIME).checked_sub(ago)
}

/// The kernel's ticks of CPU time in a second.
pub fn ticks_per_second() -> u64 {
    // SAFETY: a call without pointers.
    let ticks = unsafe { libc::sysconf(libc::_SC_CLK_TCK) };
    u64::try_from(ticks).unwrap_or(100).max(1)
}

/// The CPU time of all threads of a process, those that have ended included, in nanoseconds.
pub fn process_clock(pid: u32) -> Option<u64> {
    /// The clock of the CPU time of all threads, not of one.
    const SCHEDULED: u32 = 2;
    let clock = !pid << 3 | SCHEDULED;
    let time = crate::sys::nanoseconds(clock as libc::clockid_t);
    (time > 0).then_some(time)
}

impl Stat {
    /// User and system time. `stat` has whole ticks of each. What the process's clock has beyond
    /// them is split between both, so that their sum is the clock's.
    pub fn parts_of(&self, clock: u64) -> (u64, u64) {
        let ticks = self.user + self.system;
        const MILLISECOND: u64 = 1_000_000;
        // A part of a tick may be missing from each. If more is missing, the kernel counts in
        // another way.
        let most = 2 * 1_000_000_000 / ticks_per_second();
        let rest = clock.saturating_sub(ticks).min(most);
        let share = |part: u64| u128::from(rest) * u128::from(part) / u128::from(ticks.max(1));
        // The split is an estimate, so it has no microseconds.
        let system = share(self.system) as u64 / MILLISECOND * MILLISECOND;
        (self.user + rest - system, self.system + system)
    }
}

/// The CPU time of a thread in nanoseconds.
pub fn thread_cpu(pid: u32, tid: u32) -> Option<u64> {
    let text = read(pid, &format!("task/{tid}/schedstat"));
    let text = std::str::from_utf8(&text).ok()?;
    text.split_ascii_whitespace().next()?.parse().ok()
}

/// The user and system time of a process, more exactly than `stat` has them: a short program has
/// not one tick.
pub fn times(pid: u32, stat: &Stat) -> (u64, u64) {
    let clock = process_clock(pid).or_else(|| thread_cpu(pid, pid));
    stat.parts_of(clock.unwrap_or(0))
}

/// A thread's name.
pub fn thread_name(pid: u32, tid: u32) -> String {
    let name = read(pid, &format!("task/{tid}/comm"));
    String::from_utf8_lossy(name.strip_suffix(b"\n").unwrap_or(&name)).into_owned()
}

/// The threads of a process.
pub fn threads(pid: u32) -> Vec<u32> {
    let Ok(entries) = fs::read_dir(format!("/proc/{pid}/task")) else {
        return Vec::new();
    };
    entries
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
        .collect()
}

/// Whether a process runs another file than its parent. A file that may not be read is another
/// user's.
pub fn runs_another_program(pid: u32, parent: u32) -> bool {
    let file = |pid: u32| fs::read_link(format!("/proc/{pid}/exe"));
    match (file(pid), file(parent)) {
        (Ok(own), Ok(parents)) => own != parents,
        (Err(error), Ok(_)) => error.raw_os_error() == Some(libc::EACCES),
        _ => false,
    }
}

/// The effective user of a process, which any user may read.
pub fn effective_user(pid: u32) -> Option<u32> {
    let status = String::from_utf8_lossy(&read(pid, "status")).into_owned();
    let users = status.lines().find_map(|line| line.strip_prefix("Uid:"))?;
    users.split_whitespace().nth(1)?.parse().ok()
}

/// Whether a thread belongs to a process.
pub fn has_thread(pid: u32, tid: u32) -> bool {
    pid == tid || fs::symlink_metadata(format!("/proc/{pid}/task/{tid}")).is_ok()
}

/// The number of a thread in its own namespace, which is another one in a container.
pub fn number_inside(pid: u32, tid: u32) -> Option<u32> {
    let status = read(pid, &format!("task/{tid}/status"));
    let status = String::from_utf8_lossy(&status);
    let numbers = status
        .lines()
        .find_map(|line| line.strip_prefix("NSpid:"))?;
    numbers.split_whitespace().next_back()?.parse().ok()
}

/// Whether a tracer, such as a debugger, is attached. It would stop at each of our traps.
pub fn is_traced(pid: u32) -> bool {
    tracer(pid, pid).is_some()
}

/// The process that traces a thread, such as a debugger.
pub fn tracer(pid: u32, tid: u32) -> Option<u32> {
    let status = read(pid, &format!("task/{tid}/status"));
    let status = String::from_utf8_lossy(&status);
    let tracer = status
        .lines()
        .find_map(|line| line.strip_prefix("TracerPid:"));
    tracer?.trim().parse().ok().filter(|&tracer| tracer != 0)
}

/// Whether a thread blocks the sampling signal. With signal 0 it counts as blocking.
pub fn blocks_signal(pid: u32, tid: u32, signal: i32) -> bool {
    if signal == 0 {
        return true;
    }
    let status = read(pid, &format!("task/{tid}/status"));
    let status = String::from_utf8_lossy(&status);
    let blocked = status
        .lines()
        .find_map(|line| line.strip_prefix("SigBlk:"))
        .and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok())
        .unwrap_or(0);
    blocked & 1 << (signal - 1) != 0
}

/// All processes of the system with their parents.
pub fn children() -> Vec<(u32, u32)> {
    let Ok(entries) = fs::read_dir("/proc") else {
        return Vec::new();
    };
    entries
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
        .filter_map(|pid| Some((pid, stat(pid)?.parent)))
        .collect()
}

/// All descendants of a process, each with its parent, and after it.
pub fn descendants(pid: u32) -> Vec<(u32, u32)> {
    descendants_in(&children(), pid)
}

fn descendants_in(children: &[(u32, u32)], pid: u32) -> Vec<(u32, u32)> {
    let mut found = Vec::new();
    let mut parent = pid;
    // A list read while processes came and went may contain a cycle.
    for next in 0..=children.len() {
        let of_parent = children.iter().filter(|(_, of)| *of == parent);
        let new: Vec<(u32, u32)> = of_parent
            .filter(|(child, _)| *child != pid && !found.iter().any(|(known, _)| known == child))
            .copied()
            .collect();
        found.extend(new);
        match found.get(next) {
            Some(&(child, _)) => parent = child,
            None => break,
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parents_come_before_their_children() {
        let children = [(9, 7), (3, 1), (7, 5), (6, 5), (5, 1), (8, 6)];
        let found = descendants_in(&children, 5);
        assert_eq!(found, [(7, 5), (6, 5), (9, 7), (8, 6)]);
        assert_eq!(descendants_in(&children, 9), []);
        // Read while numbers were reused.
        assert_eq!(descendants_in(&[(2, 1), (1, 2)], 1), [(2, 1)]);
    }

    #[test]
    fn damage_to_the_kernels_line_does_no_harm() {
        let text = "7 (a) b (c) S 5 7 7 0 -1 0 1 2 3 4 150 25 6 7 20 0 1 0 99 9000000 512";
        profundo_testing::damage(text.as_bytes(), 2_000, |bytes| {
            if let Some(stat) = parse_stat(bytes) {
                let _ = stat.parts_of(u64::MAX);
            }
        });
    }

    #[test]
    fn a_name_may_hold_anything() {
        let text = "7 (a) b (c) S 5 7 7 0 -1 0 1 2 3 4 150 25 6 7 20 0 1 0 99 9000000 512";
        let found = parse_stat(text.as_bytes()).unwrap();
        assert_eq!((found.state, found.parent), (b'S', 5));
        let tick = 1_000_000_000 / ticks_per_second();
        assert_eq!((found.user, found.system), (150 * tick, 25 * tick));
        let of_children = (found.user_of_children, found.system_of_children);
        assert_eq!(of_children, (6 * tick, 7 * tick));
        assert_eq!((found.faults, found.faults_of_children), ((1, 3), 2));
        assert_eq!(found.resident, 512 * 4096);
        assert_eq!(parse_stat(b"7 (a"), None);
        // The clock's time beyond the ticks is split, up to a tick for each.
        let ticks = 175 * tick;
        let (user, system) = found.parts_of(ticks + tick);
        assert_eq!(user + system, ticks + tick);
        assert!(user > found.user && system > found.system);
        assert_eq!(found.parts_of(0), (found.user, found.system));
        let (user, system) = found.parts_of(ticks * 2);
        assert_eq!(user + system, ticks + 2 * tick);
    }

    #[test]
    fn this_process_is_found() {
        let pid = std::process::id();
        assert!(stat(pid).is_some_and(|stat| !stat.has_ended()));
        assert!(threads(pid).contains(&pid));
        assert!(has_thread(pid, pid) && !has_thread(pid, 1));
        thread_cpu(pid, pid).expect("the main thread's CPU time");
        assert!(environment_names(pid, None).contains(&"PATH".to_owned()));
        assert!(!command_line(pid).is_empty());
        assert!(children().iter().any(|&(child, _)| child == pid));
        assert!(stat(u32::MAX).is_none());
    }
}
