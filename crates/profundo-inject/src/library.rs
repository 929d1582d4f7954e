//! The library in the program: it is loaded from an anonymous file. Only root may open the mapped
//! file, so its symbols are looked up in our own bytes of it.

use std::time::Duration;

use profundo_linux::proc;
use profundo_linux::sys;
use profundo_process::modules::Elf;
use profundo_scan::map_lines;

use super::FILE_NAME;
use super::borrowed::Borrowed;
use super::refused::Refused;
use super::safe_point::LoaderFunctions;
use super::steps::{failed, write_memory};

/// Bytes that distinguish builds: the build id, the program headers, and a table of symbols.
const COMPARED: usize = 4096;

/// Loads the library into the program, unless these very bytes are loaded already. `texts` is the
/// address of room for a path in the program.
pub(super) fn load(
    pid: u32,
    thread: &mut Borrowed,
    loader: LoaderFunctions,
    library: &[u8],
    texts: u64,
) -> Result<(), Refused> {
    let put = |text: &str| write_memory(pid, texts, format!("{text}\0").as_bytes());
    put(FILE_NAME)?;
    let close_on_exec = u64::from(libc::MFD_CLOEXEC);
    let file = thread.system(libc::SYS_memfd_create, [texts, close_on_exec, 0, 0, 0, 0])?;
    if file < 0 {
        return Err(failed(file));
    }
    let written = std::fs::write(format!("/proc/{pid}/fd/{file}"), library);
    let opened = match &written {
        Ok(()) => {
            put(&path_of(file, library))?;
            let how = (libc::RTLD_NOW | libc::RTLD_LOCAL) as u64;
            thread.call(loader.open, [texts, how, 0])
        }
        Err(_) => Ok(()),
    };
    // Another command may have taken it for one that was left, and closed it.
    let is_there = files_left(pid).contains(&(file as u64));
    if is_there {
        thread.system(libc::SYS_close, [file as u64, 0, 0, 0, 0, 0])?;
    }
    written.map_err(|error| Refused::NotLoaded(error.to_string()))?;
    opened?;
    if begin(pid, library).is_some() {
        return Ok(());
    }
    if !is_there {
        return Err(Refused::NotEntered(libc::EALREADY));
    }
    let text = thread.ask(loader.error, [0; 3])?;
    Err(why_not_loaded(text_at(pid, text)))
}

/// Waits until the forks have ended that began before the library was loaded. It registers for
/// forks when it is loaded, and looks at the list of loaded files when it is called. A fork that
/// began before and ends during such a look would leave the child with the lock of that list.
pub(super) fn let_forks_end(pid: u32) {
    const LEAST: Duration = Duration::from_millis(50);
    /// The kernel copies the page tables of a gigabyte in some milliseconds.
    const GIGABYTE: u64 = 1 << 30;
    const EACH: Duration = Duration::from_millis(20);
    const MOST: Duration = Duration::from_secs(1);
    if proc::threads(pid).len() > 1 {
        let resident = proc::stat(pid).map_or(0, |stat| stat.resident);
        let gigabytes = u32::try_from(resident / GIGABYTE).unwrap_or(u32::MAX);
        std::thread::sleep(
            LEAST
                .saturating_add(EACH.saturating_mul(gigabytes))
                .min(MOST),
        );
    }
}

/// The loader's message. The path in it says nothing to a user.
fn why_not_loaded(text: String) -> Refused {
    match () {
        // musl gives no place among the thread's own variables to a library that comes late.
        () if text.contains("initial-exec TLS") => Refused::Static,
        () if text.starts_with("/proc/self/fd/") && text.contains("cannot open shared object") => {
            let why = "it has another root directory without /proc (chroot)";
            Refused::NotLoaded(why.to_owned())
        }
        () => Refused::NotLoaded(text),
    }
}

/// A path of the file. The loader takes a library of the same path for the same library, so other
/// builds have other paths: 16 bits of a sum are single dots between the last slashes.
fn path_of(file: i64, library: &[u8]) -> String {
    const MIX: u32 = 0x0100_0193;
    let mixed = |sum: u32, byte: &u8| (sum ^ u32::from(*byte)).wrapping_mul(MIX);
    let sum = library.iter().take(COMPARED).fold(0x811c_9dc5, mixed);
    let parts = (0..16).map(|bit| match sum >> bit & 1 {
        0 => "/",
        _ => "./",
    });
    format!("/proc/self/fd/{}{file}", parts.collect::<String>())
}

/// The refusal where a library that was loaded lacks one of our functions.
pub(super) fn no_function(name: &str) -> Refused {
    Refused::NotLoaded(format!("it has no function {name}"))
}

fn text_at(pid: u32, address: u64) -> String {
    let mut bytes = [0; 256];
    let read = sys::read_memory(pid, address, &mut bytes);
    let bytes = bytes.get(..read).unwrap_or_default();
    let text = bytes.split(|&byte| byte == 0).next().unwrap_or_default();
    String::from_utf8_lossy(text).into_owned()
}

/// The address of a function of the library, if the program has loaded the same bytes before.
pub(super) fn function_in(pid: u32, library: &[u8], wanted: &str) -> Option<u64> {
    let value = value_in(library, wanted)?;
    Some(begin(pid, library)? + value)
}

/// The place of a function in the library. To find it takes a while.
pub(super) fn value_in(library: &[u8], wanted: &str) -> Option<u64> {
    let elf = Elf::read(library.to_vec())?;
    let mut value = None;
    elf.functions_and_data(&elf.sections(), |symbol| {
        if symbol.name == wanted.as_bytes() {
            value = Some(symbol.address);
        }
    });
    value
}

/// Closes such files that a command has left in the program, because it was killed.
pub(super) fn close_left(pid: u32, thread: &mut Borrowed) -> Result<(), Refused> {
    for file in files_left(pid) {
        thread.system(libc::SYS_close, [file, 0, 0, 0, 0, 0])?;
    }
    Ok(())
}

fn files_left(pid: u32) -> Vec<u64> {
    let ours = format!("/memfd:{FILE_NAME} (deleted)");
    let files = std::fs::read_dir(format!("/proc/{pid}/fd"));
    let files = files.into_iter().flatten().flatten();
    files
        .filter(|entry| {
            std::fs::read_link(entry.path()).is_ok_and(|to| to.as_os_str() == ours.as_str())
        })
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .collect()
}

/// The address of the library, if the program has loaded the same bytes before.
pub(super) fn begin(pid: u32, library: &[u8]) -> Option<u64> {
    let first = library.get(..COMPARED)?;
    let name = format!("/memfd:{FILE_NAME}");
    let maps = proc::read(pid, "maps");
    let is_it = |start: u64| {
        let mut there = [0; COMPARED];
        sys::read_memory(pid, start, &mut there) == COMPARED && there == *first
    };
    map_lines(&maps)
        .map(|(_, line)| line)
        .filter(|line| line.offset == 0 && line.plain_path() == name.as_bytes())
        .find_map(|line| is_it(line.start).then_some(line.start))
}
