//! What programs are given of ours: [`profundo_probe::loading`], asked for the first program before it
//! is started, and for others by what runs in a process.

use std::ffi::{CString, OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::Path;

use profundo_probe::loading::{
    Emulator, Surroundings, Target, Verdict, Why, compose, judge, room_for,
};

use crate::proc;

/// The list of preloaded libraries for a program that gets our environment. `None`: it is given nothing.
pub(crate) fn preload(program: &Path, agent: &Path) -> Option<OsString> {
    let path = CString::new(program.as_os_str().as_bytes()).ok()?;
    let library_path = std::env::var_os("LD_LIBRARY_PATH");
    let surroundings = Surroundings {
        path: None,
        library_path: library_path.as_deref().map(OsStr::as_bytes),
    };
    let verdict = judge(Target::Path(&path), &surroundings);
    let own = std::env::var_os("LD_PRELOAD").filter(|own| !own.is_empty());
    let own = own.as_deref().map(OsStr::as_bytes);
    let agent = agent.as_os_str().as_bytes();
    let mut list = vec![0; room_for(own.map_or(0, <[u8]>::len), agent.len())];
    let length = compose(verdict, own, agent, &mut list)?;
    list.truncate(length);
    Some(OsString::from_vec(list))
}

/// Why the program that a process runs was given nothing of ours; `None` if it may have been.
pub(crate) fn why_nothing(pid: u32) -> Option<Why> {
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
    // It may be found by a variable of the process's.
    let variables = proc::read(pid, "environ");
    let library_path = variables
        .split(|&byte| byte == 0)
        .find_map(|line| line.strip_prefix(b"LD_LIBRARY_PATH="));
    why(&Surroundings {
        path: None,
        library_path,
    })
}
