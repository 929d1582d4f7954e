//! A process and its cost, by the kernel's own account.

use std::process::Child;
use std::{fs, io, mem};

/// User and system time in seconds.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Cpu {
    /// Time in the program's own code.
    pub user: f64,
    /// Time in the kernel on its behalf.
    pub system: f64,
}

impl Cpu {
    /// User and system time together.
    pub fn total(self) -> f64 {
        self.user + self.system
    }

    /// Converts the kernel's structure.
    pub fn of(usage: &libc::rusage) -> Self {
        let seconds = |time: libc::timeval| time.tv_sec as f64 + time.tv_usec as f64 * 1e-6;
        Self {
            user: seconds(usage.ru_utime),
            system: seconds(usage.ru_stime),
        }
    }

    /// The time of this process, with all its threads, until now.
    pub fn now() -> Self {
        // SAFETY: zeroed is a valid rusage, and it is ours to write.
        let usage = unsafe {
            let mut usage: libc::rusage = std::mem::zeroed();
            libc::getrusage(libc::RUSAGE_SELF, &mut usage);
            usage
        };
        Self::of(&usage)
    }

    /// The time used since `earlier`.
    pub fn since(self, earlier: Self) -> Self {
        Self {
            user: self.user - earlier.user,
            system: self.system - earlier.system,
        }
    }
}

/// Waits for a child: its status as the kernel gives it, and the CPU time of its whole tree of
/// processes, as far as reaped.
pub fn wait(child: Child) -> io::Result<(i32, Cpu)> {
    wait_with_peak(child).map(|(status, cpu, _)| (status, cpu))
}

/// As [`wait`], with the peak memory in bytes of the child or of a process that it has reaped.
pub fn wait_with_peak(child: Child) -> io::Result<(i32, Cpu, u64)> {
    let mut status = 0;
    let pid = child.id() as libc::pid_t;
    // SAFETY: zeroed is a valid rusage, both pointers are ours, and the child is waited for here
    // alone.
    let usage = unsafe {
        let mut usage: libc::rusage = mem::zeroed();
        while libc::wait4(pid, &raw mut status, 0, &raw mut usage) < 0 {
            let error = io::Error::last_os_error();
            if error.kind() != io::ErrorKind::Interrupted {
                return Err(error);
            }
        }
        usage
    };
    let peak = u64::try_from(usage.ru_maxrss).unwrap_or(0) * 1024;
    Ok((status, Cpu::of(&usage), peak))
}

/// A line of `/proc/self/status` or `/proc/self/smaps_rollup` in kB, converted to bytes; 0 where
/// there is none.
fn kilobytes(text: &str, key: &str) -> u64 {
    let line = text.lines().find_map(|line| line.strip_prefix(key));
    let number = line.and_then(|line| line.trim_start_matches(':').split_whitespace().next());
    number.and_then(|number| number.parse().ok()).unwrap_or(0) * 1024
}

/// The peak resident memory of this process.
pub fn peak_memory() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    kilobytes(&status, "VmHWM")
}

/// The memory of this process now.
#[derive(Debug, Clone, Copy)]
pub struct Memory {
    /// All resident pages, those of files included.
    pub resident: u64,
    /// Anonymous resident memory: private, and not of a file.
    pub anonymous: u64,
}

impl Memory {
    /// The present memory, counted page by page: the sums in `statm` may be off by some pages per
    /// thread.
    pub fn now() -> Self {
        let rollup = fs::read_to_string("/proc/self/smaps_rollup").unwrap_or_default();
        Self {
            resident: kilobytes(&rollup, "Rss"),
            anonymous: kilobytes(&rollup, "Anonymous"),
        }
    }
}

/// Pins the calling thread to one CPU: the last allowed one, because the first ones serve most
/// interrupts. Returns whether the kernel permitted it.
pub fn pin_to_one_cpu() -> bool {
    // SAFETY: zeroed is an empty set, both calls take its size, and 0 is the calling thread.
    unsafe {
        let mut allowed: libc::cpu_set_t = std::mem::zeroed();
        let size = size_of::<libc::cpu_set_t>();
        if libc::sched_getaffinity(0, size, &mut allowed) != 0 {
            return false;
        }
        let Some(cpu) = (0..libc::CPU_SETSIZE as usize)
            .rev()
            .find(|&cpu| libc::CPU_ISSET(cpu, &allowed))
        else {
            return false;
        };
        let mut one: libc::cpu_set_t = std::mem::zeroed();
        libc::CPU_SET(cpu, &mut one);
        libc::sched_setaffinity(0, size, &one) == 0
    }
}

/// A line on the machine and its load, which limit the worth of every figure.
pub fn machine() -> String {
    let read = |path| fs::read_to_string(path).unwrap_or_default();
    let info = read("/proc/cpuinfo");
    let field = |key: &str| {
        let line = info.lines().find(|line| line.starts_with(key));
        line.and_then(|line| line.split_once(": "))
            .map_or("unknown", |(_, value)| value)
            .to_owned()
    };
    let kernel = read("/proc/sys/kernel/osrelease");
    let load = read("/proc/loadavg");
    let cpus = info
        .lines()
        .filter(|line| line.starts_with("processor"))
        .count();
    format!(
        "machine: {cpus} × {} (family {}), Linux {}, load {}",
        field("model name"),
        field("cpu family"),
        kernel.trim(),
        load.split_whitespace().next().unwrap_or("unknown")
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_kilobytes_are_read() {
        let text = "Name:\ta\nVmHWM:\t    1024 kB\nVmRSS:\t 12 kB\n";
        assert_eq!(kilobytes(text, "VmHWM"), 1 << 20);
        assert_eq!(kilobytes(text, "VmSwap"), 0);
    }

    #[test]
    fn this_process_costs_something() {
        assert!(peak_memory() > 0);
        let memory = Memory::now();
        assert!(memory.resident >= memory.anonymous && memory.anonymous > 0);
        let before = Cpu::now();
        assert!(Cpu::now().since(before).total() >= 0.0);
        assert!(machine().contains("Linux"));
    }
}
