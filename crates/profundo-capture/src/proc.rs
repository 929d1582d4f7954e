//! The contents of `/proc/self` about threads.

use std::fs;

use crate::error::{Error, Refusal};
use crate::own_threads;

/// The kernel ids of all threads of this process but our own.
pub(crate) fn threads() -> Result<Vec<u32>, Error> {
    let refused = |source| Error::Refused {
        what: Refusal::Proc,
        source,
    };
    let mut tids = Vec::new();
    for entry in fs::read_dir("/proc/self/task").map_err(refused)? {
        // An entry can vanish while we read; that thread has ended.
        let Ok(entry) = entry else { continue };
        if let Some(tid) = entry
            .file_name()
            .to_str()
            .and_then(|name| name.parse().ok())
        {
            tids.push(tid);
        }
    }
    let own = own_threads::tids();
    tids.retain(|tid| !own.contains(tid));
    Ok(tids)
}

/// The number of threads of the program, without our own.
pub fn thread_count() -> usize {
    threads().map_or(0, |tids| tids.len())
}

/// A thread's name from the kernel, padded with NULs.
pub(crate) fn thread_name(tid: u32) -> [u8; 16] {
    let mut name = [0; 16];
    if let Ok(comm) = fs::read(format!("/proc/self/task/{tid}/comm")) {
        let text = comm.strip_suffix(b"\n").unwrap_or(&comm);
        let length = text.len().min(15);
        name[..length].copy_from_slice(&text[..length]);
    }
    name
}

/// The number of context switches away from a thread; `None` if it has ended.
pub(crate) fn switches(tid: u32) -> Option<u64> {
    let status = fs::read_to_string(format!("/proc/self/task/{tid}/status")).ok()?;
    let count = |name: &str| -> Option<u64> {
        let line = status.lines().find_map(|line| line.strip_prefix(name))?;
        line.trim().parse().ok()
    };
    Some(count("voluntary_ctxt_switches:")? + count("nonvoluntary_ctxt_switches:")?)
}

/// Whether a thread of this process is alive.
pub(crate) fn is_alive(tid: u32) -> bool {
    // SAFETY: signal 0 checks for the thread and sends nothing.
    unsafe { libc::syscall(libc::SYS_tgkill, libc::getpid(), tid, 0) == 0 }
}

/// Whether a debugger traces this process.
pub(crate) fn is_traced() -> bool {
    fs::read_to_string("/proc/self/status").is_ok_and(|status| {
        status
            .lines()
            .find_map(|line| line.strip_prefix("TracerPid:"))
            .is_some_and(|pid| pid.trim() != "0")
    })
}

/// The end of the main thread's stack: that of the `[stack]` mapping.
pub(crate) fn main_stack_end() -> u64 {
    let maps = fs::read_to_string("/proc/self/maps").unwrap_or_default();
    maps.lines()
        .find(|line| line.ends_with("[stack]"))
        .and_then(|line| line.split_once('-'))
        .and_then(|(_, rest)| rest.split(' ').next())
        .and_then(|end| u64::from_str_radix(end, 16).ok())
        .unwrap_or(0)
}

/// The command line, quoted as a shell would need it.
pub(crate) fn command_line() -> String {
    let bytes = fs::read("/proc/self/cmdline").unwrap_or_default();
    profundo_wire::command::line(&bytes)
}
