//! Whether a process may be read, and if not, why.

use std::fs::{self, File};
use std::io::{self, Read};
use std::os::unix::fs::MetadataExt;

use profundo_linux::proc;
use profundo_linux::sys;

use super::files;
use super::gap::{Gap, Mend, error_text};
use super::settings::{Settings, capability, field};

/// The public facts about a process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Process {
    pub(super) pid: u32,
    /// The process of the thread with this number.
    pub(super) leader: u32,
    has_ended: bool,
    is_of_the_kernel: bool,
    /// The users whose rights it runs with: real, effective, and saved.
    users: Vec<u32>,
    capabilities: u64,
    /// The owner of its files in `/proc`: root, if its memory is closed to its own user.
    owner: u32,
    /// The process that traces it; 0 for none.
    pub(super) tracer: u32,
    /// Whether a seccomp filter is in force in it.
    pub(super) is_filtered: bool,
    pub(super) threads: u32,
}

impl Process {
    pub(super) fn of(pid: u32) -> Option<Self> {
        let status = String::from_utf8_lossy(&proc::read(pid, "status")).into_owned();
        let number = |name: &str| field(&status, name).and_then(|text| text.parse().ok());
        let users = field(&status, "Uid:").unwrap_or_default();
        let set = field(&status, "CapPrm:").and_then(|set| u64::from_str_radix(set, 16).ok());
        Some(Self {
            pid,
            leader: number("Tgid:")?,
            has_ended: proc::stat(pid).is_some_and(|stat| stat.has_ended()),
            is_of_the_kernel: is_of_the_kernel(&proc::read(pid, "stat")),
            users: users
                .split_whitespace()
                .filter_map(|user| user.parse().ok())
                .collect(),
            capabilities: set.unwrap_or(0),
            owner: fs::metadata(format!("/proc/{pid}")).map_or(0, |data| data.uid()),
            tracer: number("TracerPid:").unwrap_or(0),
            is_filtered: field(&status, "Seccomp:").is_some_and(|mode| mode != "0"),
            threads: number("Threads:").unwrap_or(1),
        })
    }

    /// The user of the process.
    pub(super) fn user(&self) -> u32 {
        self.users.get(1).copied().unwrap_or(self.owner)
    }
}

/// `PF_KTHREAD` among the flags, the seventh field after the name in brackets.
fn is_of_the_kernel(stat: &[u8]) -> bool {
    const THREAD_OF_THE_KERNEL: u64 = 0x0020_0000;
    let text = String::from_utf8_lossy(stat);
    let flags = text
        .rsplit_once(')')
        .and_then(|(_, rest)| rest.split_ascii_whitespace().nth(6)?.parse::<u64>().ok());
    flags.is_some_and(|flags| flags & THREAD_OF_THE_KERNEL != 0)
}

/// A user's name, or the number.
pub(super) fn user_name(user: u32) -> String {
    let users = fs::read_to_string("/etc/passwd").unwrap_or_default();
    let number = user.to_string();
    let name = users.lines().find_map(|line| {
        let mut fields = line.split(':');
        let name = fields.next()?;
        (fields.nth(1)? == number).then(|| name.to_owned())
    });
    name.unwrap_or(number)
}

/// Tries to read a process.
pub fn may_be_read(pid: u32) -> Result<(), Gap> {
    let process = Process::of(pid);
    if let Some(gap) = impossible(pid, process.as_ref()) {
        return Err(gap);
    }
    let Some(process) = process else {
        return Err(no_such_process(pid));
    };
    match read_something(pid) {
        Ok(()) => Ok(()),
        Err(_) if !sys::is_alive(pid) => Err(no_such_process(pid)),
        Err(error) => Err(explain(&Settings::read(), &process, &error)),
    }
}

fn no_such_process(pid: u32) -> Gap {
    Gap::of(format!("there is no process {pid}"))
}

/// A process that no user may read.
fn impossible(pid: u32, process: Option<&Process>) -> Option<Gap> {
    let Some(process) = process else {
        return Some(match sys::is_alive(pid) {
            false => no_such_process(pid),
            // Mounted with `hidepid`.
            true => Gap::command(
                format!("process {pid} is hidden from other users in /proc"),
                format!("sudo profundo attach {pid}"),
            ),
        });
    };
    if process.leader == std::process::id() {
        return Some(Gap::of(format!("process {pid} is this very profundo")));
    }
    if process.is_of_the_kernel {
        return Some(Gap::of(format!(
            "process {pid} is a thread of the kernel's, which has no program"
        )));
    }
    if process.leader != pid {
        let leader = process.leader;
        return Some(Gap::command(
            format!("{pid} is a thread of process {leader}"),
            format!("profundo attach {leader}"),
        ));
    }
    process.has_ended.then(|| {
        Gap::of(format!(
            "process {pid} has ended already, and only waits for its parent to take notice (a zombie)"
        ))
    })
}

/// Finds an address of the first thread, and reads a word of memory there.
fn read_something(pid: u32) -> io::Result<()> {
    let mut text = String::new();
    match File::open(format!("/proc/{pid}/syscall")) {
        Ok(mut file) => drop(file.read_to_string(&mut text)?),
        // The kernel does not report it.
        Err(error) if error.kind() == io::ErrorKind::NotFound && sys::is_alive(pid) => {}
        Err(error) => return Err(error),
    }
    let maps = fs::read_to_string(format!("/proc/{pid}/maps"))?;
    let readable = maps.lines().find_map(|line| {
        let (range, rest) = line.split_once('-')?;
        let is_readable = rest.split_once(' ')?.1.starts_with('r');
        let start = u64::from_str_radix(range, 16).ok()?;
        is_readable.then_some(start)
    });
    let Some(start) = readable else {
        return Ok(());
    };
    let mut word = [0; 8];
    if sys::read_memory(pid, start, &mut word) == word.len() {
        return Ok(());
    }
    match io::Error::last_os_error() {
        // It was unmapped meanwhile.
        error if error.raw_os_error() == Some(libc::EFAULT) => Ok(()),
        error => Err(error),
    }
}

fn explain(settings: &Settings, process: &Process, error: &io::Error) -> Gap {
    let pid = process.pid;
    let sudo = || Some(settings.as_root(&format!("profundo attach {pid}")));
    match error.raw_os_error() {
        Some(libc::EACCES | libc::EPERM) => {}
        Some(libc::EMFILE | libc::ENFILE) => return files::too_many(settings),
        Some(libc::ENOSYS) if !settings.is_filtered => {
            return Gap::advice(
                format!("process {pid} cannot be read: this kernel has no process_vm_readv"),
                "it wants a kernel with CONFIG_CROSS_MEMORY_ATTACH",
            );
        }
        Some(libc::ENOSYS) => {}
        _ => {
            return Gap::of(format!(
                "process {pid} cannot be read: {}",
                error_text(error)
            ));
        }
    }
    let may_trace = settings.has(capability::PTRACE);
    let is_other = process.users.iter().any(|&user| user != settings.user);
    if is_other && !may_trace {
        let why = match process.users.iter().find(|&&user| user != settings.user) {
            Some(&user) if !process.users.contains(&settings.user) => {
                format!("process {pid} is another user's ({})", user_name(user))
            }
            _ => format!("process {pid} has the rights of another user (setuid)"),
        };
        return Gap { why, mend: sudo() };
    }
    match settings.scope {
        Some(3..) => {
            return Gap::advice(
                format!(
                    "process {pid} may not be looked into by anybody: kernel.yama.ptrace_scope is 3"
                ),
                "that stays until the machine is started anew",
            );
        }
        Some(scope @ 1..) if !may_trace => {
            let who = match scope {
                1 => "the processes that started it",
                _ => "root",
            };
            return Gap {
                why: format!(
                    "process {pid} may be looked into by {who} only: kernel.yama.ptrace_scope is {scope}"
                ),
                mend: Some(settings.sysctl("kernel.yama.ptrace_scope=0")),
            };
        }
        _ => {}
    }
    let has_more = process.capabilities & !settings.capabilities != 0;
    if (process.owner != process.user() || has_more) && !may_trace {
        return Gap {
            why: format!(
                "process {pid} keeps its memory to itself (setuid, capabilities, or PR_SET_DUMPABLE)"
            ),
            mend: sudo(),
        };
    }
    if settings.is_filtered {
        let Gap { why, .. } = Gap::of(format!(
            "process {pid} cannot be read ({}): a seccomp filter forbids it, as those of containers do",
            error_text(error)
        ));
        return Gap {
            why,
            mend: Some(settings.container_with("--cap-add SYS_PTRACE")),
        };
    }
    let why = format!(
        "process {pid} cannot be read ({}): the kernel's settings permit it, so a security module's rule \
         (SELinux, AppArmor), or another user namespace, may not",
        error_text(error)
    );
    let mend = sudo().filter(|_| settings.user != 0);
    Gap { why, mend }
}

/// The rule for every process that is not a child of ours.
pub(super) fn scope_gap(settings: &Settings, error: &io::Error) -> Gap {
    let nobody_special = Process {
        pid: 0,
        leader: 0,
        has_ended: false,
        is_of_the_kernel: false,
        users: vec![settings.user],
        capabilities: settings.capabilities,
        owner: settings.user,
        tracer: 0,
        is_filtered: false,
        threads: 1,
    };
    let Gap { why, mend } = explain(settings, &nobody_special, error);
    let why = why.replace("process 0", "a process");
    // There is no process to attach to yet.
    let mend = mend.filter(|mend| match mend {
        Mend::Command(command) => !command.contains("profundo attach"),
        Mend::Advice(_) => true,
    });
    Gap { why, mend }
}

#[cfg(test)]
mod tests {
    use super::super::settings::tests::ordinary;
    use super::*;

    fn process() -> Process {
        Process {
            pid: 77,
            leader: 77,
            has_ended: false,
            is_of_the_kernel: false,
            users: vec![1000; 4],
            capabilities: 0,
            owner: 1000,
            tracer: 0,
            is_filtered: false,
            threads: 1,
        }
    }

    fn check(settings: &Settings, process: &Process, expected: &str) {
        let error = io::Error::from_raw_os_error(libc::EPERM);
        assert_eq!(explain(settings, process, &error).to_string(), expected);
    }

    #[test]
    fn refusals_are_explained() {
        let scoped = |scope| Settings {
            scope: Some(scope),
            ..ordinary()
        };
        check(
            &scoped(1),
            &process(),
            "process 77 may be looked into by the processes that started it only: \
             kernel.yama.ptrace_scope is 1; mend it with `sudo sysctl kernel.yama.ptrace_scope=0`",
        );
        check(
            &scoped(2),
            &process(),
            "process 77 may be looked into by root only: kernel.yama.ptrace_scope is 2; mend it with \
             `sudo sysctl kernel.yama.ptrace_scope=0`",
        );
        check(
            &scoped(3),
            &process(),
            "process 77 may not be looked into by anybody: kernel.yama.ptrace_scope is 3; that stays until \
             the machine is started anew",
        );
        let foreign = Process {
            users: vec![0; 4],
            owner: 0,
            ..process()
        };
        check(
            &scoped(1),
            &foreign,
            "process 77 is another user's (root); mend it with `sudo profundo attach 77`",
        );
        let setuid = Process {
            users: vec![1000, 0, 0, 0],
            owner: 0,
            ..process()
        };
        check(
            &ordinary(),
            &setuid,
            "process 77 has the rights of another user (setuid); mend it with `sudo profundo attach 77`",
        );
        let closed = Process {
            owner: 0,
            ..process()
        };
        check(
            &ordinary(),
            &closed,
            "process 77 keeps its memory to itself (setuid, capabilities, or PR_SET_DUMPABLE); mend it with \
             `sudo profundo attach 77`",
        );
        let filtered = Settings {
            is_filtered: true,
            container: Some(super::super::settings::Container::Docker),
            ..ordinary()
        };
        check(
            &filtered,
            &process(),
            "process 77 cannot be read (operation not permitted): a seccomp filter forbids it, as those of \
             containers do; mend it with `docker run --cap-add SYS_PTRACE …`",
        );
    }

    #[test]
    fn processes_that_no_user_may_read_are_explained() {
        let refusal = |process: &Process| impossible(77, Some(process)).map(|gap| gap.to_string());
        assert_eq!(refusal(&process()), None);
        let thread = Process {
            leader: 70,
            ..process()
        };
        assert_eq!(
            refusal(&thread).unwrap(),
            "77 is a thread of process 70; mend it with `profundo attach 70`"
        );
        let this_process = Process {
            leader: std::process::id(),
            ..process()
        };
        assert_eq!(
            refusal(&this_process).unwrap(),
            "process 77 is this very profundo"
        );
        assert_eq!(
            impossible(u32::MAX >> 1, None).unwrap().to_string(),
            format!("there is no process {}", u32::MAX >> 1)
        );
    }

    #[test]
    fn the_kernels_own_are_known_by_a_flag() {
        assert!(is_of_the_kernel(b"2 (kthreadd) S 0 0 0 0 -1 2129984 0"));
        assert!(!is_of_the_kernel(b"7 (a) 2129984) S 0 0 0 0 -1 4194304 0"));
        assert!(!is_of_the_kernel(b""));
        assert_eq!(user_name(0), "root");
        assert_eq!(user_name(4_000_000_000), "4000000000");
    }
}
