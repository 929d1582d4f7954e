//! The samples that were taken in a call that reads or writes, judged by their stacks.

use profundo_model::{LocationKind, Profile, Role, Sample, StackId, State, Wait, is_nameless};
use rustc_hash::FxHashMap;

use crate::call_names::{bare, passes_on};

/// The directions of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Directions {
    pub(super) reads: bool,
    pub(super) writes: bool,
}

const READS: Directions = Directions {
    reads: true,
    writes: false,
};
const WRITES: Directions = Directions {
    reads: false,
    writes: true,
};
const BOTH: Directions = Directions {
    reads: true,
    writes: true,
};

/// Looks at each stack once.
pub(super) struct Calls<'a> {
    profile: &'a Profile,
    known: FxHashMap<(StackId, bool), Option<Directions>>,
}

impl<'a> Calls<'a> {
    pub(super) fn new(profile: &'a Profile) -> Self {
        Self {
            profile,
            known: FxHashMap::default(),
        }
    }

    /// The directions of the call that the sample was taken in; `None` if it was taken in no such
    /// call.
    pub(super) fn of(&mut self, sample: &Sample) -> Option<Directions> {
        let waits = match sample.state {
            State::WallWaiting | State::Sleeping => true,
            State::System => false,
            _ => return None,
        };
        let (profile, stack) = (self.profile, sample.stack);
        *self
            .known
            .entry((stack, waits))
            .or_insert_with(|| match waits {
                true => waiting(profile, stack),
                false => running(profile, stack),
            })
    }
}

fn waiting(profile: &Profile, stack: StackId) -> Option<Directions> {
    let innermost = profile.stacks.locations(stack).next()?;
    match profile.locations.get(innermost).kind {
        LocationKind::Wait {
            wait: Wait::Read, ..
        } => Some(READS),
        LocationKind::Wait {
            wait: Wait::Write, ..
        } => Some(WRITES),
        _ => None,
    }
}

/// By the innermost function. If that is the kernel's, or only passes the call on, by the next one
/// out. So it is with the C library's functions without names: since glibc 2.41, its calls pass
/// through some that it does not export.
fn running(profile: &Profile, stack: StackId) -> Option<Directions> {
    /// The deepest stack of the kernel's.
    const MOST: usize = 64;
    let frames = profile.stacks.locations(stack).flat_map(|location| {
        let location = profile.locations.get(location);
        let module = location.module.map(|module| profile.modules.get(module));
        let is_kernels =
            module.is_some_and(|module| profile.strings.get(module.path) == "[kernel]");
        let is_systems = module.is_some_and(|module| module.role == Role::System);
        (location.frames.iter()).map(move |&frame| (frame, is_kernels, is_systems))
    });
    for (frame, is_kernels, is_systems) in frames.take(MOST) {
        let whole = profile.function_name(frame);
        let name = bare(whole);
        if let Some(directions) = by_name(name) {
            return Some(directions);
        }
        let is_between = is_kernels || passes_on(name) || is_systems && is_nameless(whole);
        if !is_between {
            return None;
        }
    }
    None
}

fn by_name(name: &str) -> Option<Directions> {
    Some(match name {
        "read" | "pread" | "pread64" | "readv" | "preadv" | "preadv2" | "preadv64"
        | "preadv64v2" | "recv" | "recvfrom" | "recvmsg" | "recvmmsg" | "read_chk"
        | "pread_chk" | "pread64_chk" | "recv_chk" | "recvfrom_chk" => READS,
        "write" | "pwrite" | "pwrite64" | "writev" | "pwritev" | "pwritev2" | "pwritev64"
        | "pwritev64v2" | "send" | "sendto" | "sendmsg" | "sendmmsg" => WRITES,
        "sendfile" | "sendfile64" | "copy_file_range" => BOTH,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use profundo_model::{Avma, CodeAddress, FrameKey};

    use super::*;

    #[test]
    fn a_call_is_found_through_functions_that_the_c_library_does_not_export() {
        let mut profile = Profile::from_folded("main 1").unwrap();
        let mut next = 0;
        let mut native = |profile: &mut Profile, function: &str, path: &str| {
            next += 16;
            let module = profile.hand_made_module(path);
            let kind = LocationKind::Code(CodeAddress::Instruction(Avma(next)));
            let key = FrameKey {
                function,
                ..FrameKey::default()
            };
            profile.hand_made_location(kind, Some(module), &[key])
        };
        let libc = "/usr/lib/libc.so.6";
        let main = native(&mut profile, "main", "/home/me/app");
        let write = native(&mut profile, "pwrite", libc);
        let fwrite = native(&mut profile, "fwrite", libc);
        let [outer, inner] = [0x91a10, 0x9ced0].map(|start| {
            let name = profundo_model::place_name(libc, start);
            native(&mut profile, &name, libc)
        });
        let writes = profile.hand_made_stack(&[main, write, outer, inner]);
        assert_eq!(running(&profile, writes), Some(WRITES));
        let copies = profile.hand_made_stack(&[main, write, fwrite, inner]);
        assert_eq!(running(&profile, copies), None);
    }

    #[test]
    fn calls_are_known_by_all_their_names() {
        for name in [
            "read",
            "__read",
            "__libc_read",
            "__GI___libc_read",
            "__GI___read_nocancel",
            "__libc_recv",
            "__pread64_nocancel",
            "syscall.read",
            "__x64_sys_pread64",
            "ksys_read",
            "read@@GLIBC_2.2.5",
        ] {
            assert_eq!(by_name(bare(name)), Some(READS), "{name}");
        }
        for name in [
            "write",
            "__GI___libc_write",
            "__libc_pwrite64",
            "__send",
            "writev",
        ] {
            assert_eq!(by_name(bare(name)), Some(WRITES), "{name}");
        }
        assert_eq!(by_name(bare("sendfile64")), Some(BOTH));
        for name in [
            "readlink", "fread", "main", "", "_", "reader", "poll", "thread",
        ] {
            assert_eq!(by_name(bare(name)), None, "{name}");
        }
    }
}
