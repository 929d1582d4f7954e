//! The list of preloaded libraries, with ours in it and without.
//!
//! Usually the agent stands first. Where a sanitizer is in the program or in the list, ours stands
//! last: `theirs:agent`, or, where the runtime was put there by us, `theirs:runtime:agent:agent`.
//! The agent's name twice marks that, and the loader ignores a repeated name.

use super::{Sanitizer, Verdict};

/// A list without ours.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Taken<'a> {
    /// The list before ours came; `None`: there was none.
    pub theirs: Option<&'a [u8]>,
    /// Whether ours stood behind the runtime of a sanitizer.
    pub is_behind: bool,
}

/// The room that [`compose`] needs for lists of these lengths.
pub fn room_for(theirs: usize, agent: usize) -> usize {
    const SEPARATORS: usize = 4;
    const RUNTIME: usize = 64;
    theirs + 2 * agent + RUNTIME + SEPARATORS
}

/// Writes the list for a program: theirs and the agent. `None`: the program gets nothing of ours,
/// or there is no room. Returns the length.
pub fn compose(
    verdict: Verdict,
    theirs: Option<&[u8]>,
    agent: &[u8],
    room: &mut [u8],
) -> Option<usize> {
    let theirs = theirs.and_then(|theirs| take_out(theirs, agent).theirs);
    let mut at = 0_usize;
    let mut write = |text: &[u8]| {
        let end = at.checked_add(text.len())?;
        room.get_mut(at..end)?.copy_from_slice(text);
        at = end;
        Some(())
    };
    match verdict {
        Verdict::Nothing(_) => return None,
        _ if theirs.is_some_and(has_runtime) => {
            write(theirs.unwrap_or(&[]))?;
            write(b":")?;
            write(agent)?;
        }
        Verdict::Behind(runtime) => {
            if let Some(theirs) = theirs {
                write(theirs)?;
                write(b":")?;
            }
            for text in [runtime.name(), b":", agent, b":", agent] {
                write(text)?;
            }
        }
        Verdict::First => {
            write(agent)?;
            if let Some(theirs) = theirs {
                write(b":")?;
                write(theirs)?;
            }
        }
    }
    Some(at)
}

/// Whether a list names the runtime of a sanitizer.
fn has_runtime(list: &[u8]) -> bool {
    let mut names = list.split(|byte| matches!(byte, b':' | b' '));
    names.any(|name| Sanitizer::of_library(name).is_some())
}

/// The list without ours.
pub fn take_out<'a>(list: &'a [u8], agent: &[u8]) -> Taken<'a> {
    let first = |theirs| Taken {
        theirs,
        is_behind: false,
    };
    let behind = |theirs| Taken {
        theirs,
        is_behind: true,
    };
    if let Some(rest) = list.strip_prefix(agent) {
        match rest.split_first() {
            None => return first(None),
            Some((b':', theirs)) => return first(Some(theirs)),
            Some(_) => {}
        }
    }
    let without_last = |list: &'a [u8]| list.strip_suffix(agent)?.strip_suffix(b":");
    let Some(rest) = without_last(list) else {
        return first(Some(list));
    };
    let Some(ours) = without_last(rest) else {
        return behind(Some(rest));
    };
    // The runtime before it is ours, too.
    let end = ours.iter().rposition(|&byte| byte == b':');
    behind(end.and_then(|end| ours.get(..end)))
}
