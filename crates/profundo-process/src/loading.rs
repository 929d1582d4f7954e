//! The question whether a program can load the agent ([`profundo_probe::loading`]): for the first
//! program before it starts, and for others by the file that a process runs.

use std::ffi::{CString, OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::Path;

use profundo_linux::proc;
use profundo_probe::loading::{
    Emulator, Surroundings, Target, Verdict, Why, compose, judge, room_for,
};

/// The list of preloaded libraries for a program that gets our environment. `None`: the agent
/// cannot be loaded into it.
pub fn preload(program: &Path, agent: &Path) -> Option<OsString> {
    let path = CString::new(program.as_os_str().as_bytes()).ok()?;
    let library_path = std::env::var_os("LD_LIBRARY_PATH");
    let surroundings = Surroundings {
        path: None,
        library_path: library_path.as_deref().map(OsStr::as_bytes),
    };
    let verdict = judge(Target::Path(&path), &surroundings);
    let preloaded = std::env::var_os("LD_PRELOAD").filter(|list| !list.is_empty());
    let preloaded = preloaded.as_deref().map(OsStr::as_bytes);
    let agent = agent.as_os_str().as_bytes();
    let mut list = vec![0; room_for(preloaded.map_or(0, <[u8]>::len), agent.len())];
    let length = compose(verdict, preloaded, agent, &mut list)?;
    list.truncate(length);
    Some(OsString::from_vec(list))
}

/// The reason why the agent was not loaded into the program of a process; `None` if it may have
/// been.
pub fn why_nothing(pid: u32) -> Option<Why> {
    let link = format!("/proc/{pid}/exe");
    let file = std::fs::read_link(&link).ok()?;
    if let Some(emulator) = Emulator::of_path(file.as_os_str().as_bytes()) {
        return Some(Why::Emulator(emulator));
    }
    let link = CString::new(link).ok()?;
    let why = |surroundings: &Surroundings<'_>| match judge(Target::Path(&link), surroundings) {
        Verdict::Nothing(why) => Some(why),
        _ => None,
    };
    let why_so_far = why(&Surroundings::default())?;
    if !matches!(why_so_far, Why::Sanitizer(_)) {
        return Some(why_so_far);
    }
    // The loader may be found through one of the process's variables.
    let variables = proc::read(pid, "environ");
    let library_path = variables
        .split(|&byte| byte == 0)
        .find_map(|line| line.strip_prefix(b"LD_LIBRARY_PATH="));
    why(&Surroundings {
        path: None,
        library_path,
    })
}
