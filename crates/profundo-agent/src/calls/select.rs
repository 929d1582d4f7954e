//! The choice of the functions whose lines are counted.
//!
//! The command leaves a list in the session's directory: a pattern on each line, `F` and what a
//! file is to match, or `N` and what a function's name is to match, or both with a tab between.
//! Where there is none, it is the program's own files: what is neither of the interpreter's library
//! nor installed. A program without a file (`python -c`, standard input) is its own as well; what a
//! program with a file compiles is not, since libraries do that all the time. Rules may say
//! otherwise: a pattern for paths behind an `M`, of files that are its own, or an `L`, of a
//! library's; and behind a tab one for paths that begin in the project's folder. The last rule that
//! fits decides.

use core::ptr::NonNull;
use core::sync::atomic::{AtomicBool, AtomicPtr, AtomicUsize, Ordering};

use profundo_probe::shared::{LINES_LIST, file};

use crate::{files, proc, session};

use super::path::reaches;

static LIST: AtomicPtr<u8> = AtomicPtr::new(core::ptr::null_mut());
static LENGTH: AtomicUsize = AtomicUsize::new(0);

/// True if the program is given on the command line.
static IS_TYPED: AtomicBool = AtomicBool::new(false);

/// Reads the list of patterns.
pub fn begin() {
    let mut room = [0; 4096];
    let words = proc::read(c"/proc/self/cmdline", &mut room);
    IS_TYPED.store(is_typed(words), Ordering::Relaxed);
    let mut room = [0; session::PATH];
    let Some(path) = session::file_called(&mut room, file::LINES) else {
        return;
    };
    // The list of an earlier session makes room.
    let place = NonNull::new(LIST.load(Ordering::Relaxed)).map(|place| (place, LINES_LIST));
    let room = files::Room {
        more: 0,
        least: LINES_LIST,
        most: LINES_LIST,
    };
    if let Some((list, _)) = files::map_growing(path, room, place) {
        LIST.store(list.as_ptr(), Ordering::Relaxed);
        LENGTH.store(LINES_LIST, Ordering::Release);
    } else if let Some((place, bytes)) = place {
        // SAFETY: the lock is held, so the list has no readers.
        unsafe { files::map_zeroed_over(place, bytes) };
    }
}

fn list() -> &'static [u8] {
    let list = LIST.load(Ordering::Relaxed);
    if list.is_null() {
        return &[];
    }
    // SAFETY: the file is as long, and stays as it is. It ends with zeros.
    let bytes = unsafe { core::slice::from_raw_parts(list, LENGTH.load(Ordering::Acquire)) };
    bytes.split(|&byte| byte == 0).next().unwrap_or_default()
}

/// True if the user has chosen functions.
pub fn is_explicit() -> bool {
    patterns().any(|pattern| !is_rule(pattern))
}

fn patterns() -> impl Iterator<Item = &'static [u8]> {
    (list().split(|&byte| byte == b'\n')).filter(|pattern| !pattern.is_empty())
}

/// True if a pattern is a rule that marks files as the program's own, or as a library's.
fn is_rule(pattern: &[u8]) -> bool {
    matches!(pattern, [b'M' | b'L', ..])
}

/// True if a function's lines are counted.
pub fn is_selected(file: &[u8], name: &[u8], qualified: &[u8]) -> bool {
    let mut rules = patterns().filter(|pattern| is_rule(pattern));
    let mut patterns = patterns().filter(|pattern| !is_rule(pattern));
    let has_name = |pattern: &[u8]| fits(pattern, name) || fits(pattern, qualified);
    let mut is_any = false;
    let is_match = patterns.any(|pattern| {
        is_any = true;
        match pattern {
            [b'F', pattern @ ..] => match pattern.iter().position(|&byte| byte == b'\t') {
                Some(at) => {
                    let (of_file, of_name) = pattern.split_at(at);
                    is_file(of_file, file) && has_name(of_name.get(1..).unwrap_or_default())
                }
                None => is_file(pattern, file),
            },
            [b'N', pattern @ ..] => has_name(pattern),
            _ => false,
        }
    });
    match is_any {
        true => is_match,
        false => is_mine(&mut rules, file)
            .unwrap_or_else(|| is_own(file, IS_TYPED.load(Ordering::Relaxed))),
    }
}

/// True if a command line, each word with a NUL behind it, has the program in it: the interpreter's
/// options end with a `c`.
fn is_typed(words: &[u8]) -> bool {
    let mut words = words.split(|&byte| byte == 0).skip(1);
    while let Some(word) = words.next() {
        match word {
            [b'-', b'-', ..] => {}
            // The next word is the argument of these.
            [b'-', .., b'X' | b'W'] => _ = words.next(),
            [b'-', b'X' | b'W', ..] => {}
            [b'-', .., b'm'] => return false,
            [b'-', .., b'c'] => return true,
            [b'-', _, ..] => {}
            _ => return false,
        }
    }
    false
}

/// The answer of the rules for a file, if one fits.
fn is_mine(rules: &mut dyn Iterator<Item = &'static [u8]>, file: &[u8]) -> Option<bool> {
    if file.starts_with(b"<") {
        return None;
    }
    let fits = |rule: &[u8]| {
        let mut patterns = rule
            .get(1..)
            .unwrap_or_default()
            .split(|&byte| byte == b'\t');
        let whole = patterns.next().unwrap_or_default();
        let relative = patterns.next().filter(|pattern| !pattern.is_empty());
        let pattern = match relative {
            Some(relative) if !file.starts_with(b"/") => relative,
            _ => whole,
        };
        let is_mine = rule.starts_with(b"M");
        let named = reaches(pattern, file)?;
        // Libraries within a folder of the program's own stay libraries.
        let below = file.get(named..).unwrap_or_default();
        (!is_mine || !is_in_library(below)).then_some(is_mine)
    };
    rules.filter_map(fits).last()
}

/// True if a path leads through a folder of libraries.
fn is_in_library(path: &[u8]) -> bool {
    const OTHERS: [&[u8]; 4] = [
        b"/site-packages/",
        b"/dist-packages/",
        b"/lib/python3",
        b"/lib64/python3",
    ];
    let has = |part: &&[u8]| path.windows(part.len()).any(|window| window == *part);
    OTHERS.iter().any(has)
}

/// True if a file is the program's own.
fn is_own(file: &[u8], is_typed: bool) -> bool {
    match file {
        b"<stdin>" => true,
        b"<string>" => is_typed,
        // A cell of IPython's, and a line that was typed at Python's own prompt.
        [b'<', b'i' | b'p', ..] if is_cell(file) => true,
        _ => !file.starts_with(b"<") && !is_in_library(file),
    }
}

/// True if a file's name is that of text which was typed at a prompt.
fn is_cell(file: &[u8]) -> bool {
    file.starts_with(b"<ipython-input-") || file.starts_with(b"<python-input-")
}

/// A pattern without a folder may match the last parts of a path.
fn is_file(pattern: &[u8], file: &[u8]) -> bool {
    let parts = file.iter().enumerate().filter(|(_, byte)| **byte == b'/');
    let mut ends = parts.filter_map(|(at, _)| file.get(at + 1..));
    fits(pattern, file) || !pattern.starts_with(b"/") && ends.any(|end| fits(pattern, end))
}

/// True if a text fits a pattern, in which `*` is anything and `?` any one byte.
pub(super) fn fits(pattern: &[u8], text: &[u8]) -> bool {
    // Where to backtrack to, with one byte more for the last `*`.
    let mut backtrack: Option<(usize, usize)> = None;
    let (mut at, mut here) = (0, 0);
    loop {
        match (pattern.get(at), text.get(here)) {
            (None, None) => return true,
            (Some(b'*'), _) => {
                backtrack = Some((at + 1, here));
                at += 1;
                continue;
            }
            (Some(b'?'), Some(_)) => {
                (at, here) = (at + 1, here + 1);
                continue;
            }
            (Some(one), Some(other)) if one == other => {
                (at, here) = (at + 1, here + 1);
                continue;
            }
            _ => {}
        }
        match backtrack {
            Some((next, from)) if from < text.len() => {
                backtrack = Some((next, from + 1));
                (at, here) = (next, from + 1);
            }
            _ => return false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_fits_what_it_says() {
        let yes = [
            ("", ""),
            ("*", ""),
            ("*", "abc"),
            ("a*c", "abbc"),
            ("a*b*c", "axxbyybzc"),
            ("?b?", "abc"),
            ("*.py", "x.py"),
        ];
        let no = [
            ("", "a"),
            ("a", ""),
            ("a*c", "ab"),
            ("?", ""),
            ("*.py", "x.pyc"),
            ("ab", "abc"),
        ];
        for (pattern, text) in yes {
            assert!(
                fits(pattern.as_bytes(), text.as_bytes()),
                "{pattern} {text}"
            );
        }
        for (pattern, text) in no {
            assert!(
                !fits(pattern.as_bytes(), text.as_bytes()),
                "{pattern} {text}"
            );
        }
        assert!(is_file(b"app.py", b"/home/me/app.py"));
        assert!(is_file(b"me/*.py", b"/home/me/app.py"));
        assert!(!is_file(b"/app.py", b"/home/me/app.py"));
        assert!(!is_file(b"pp.py", b"/home/me/app.py"));
        let is_own = |file: &[u8]| super::is_own(file, false);
        assert!(is_own(b"/home/me/app.py") && is_own(b"app.py") && is_own(b"<stdin>"));
        assert!(is_own(b"<ipython-input-3-0a1b>") && is_own(b"<python-input-0>"));
        assert!(!is_own(b"<ipython>") && !is_own(b"<string>"));
        assert!(!is_own(b"/usr/lib/python3.12/os.py"));
        assert!(!is_own(b"/v/site-packages/x.py"));
        assert!(super::is_own(b"<string>", true));
    }

    #[test]
    fn rules_decide_whose_a_file_is() {
        let is_mine = |rules: &[&'static str], file: &str| {
            let mut rules = rules.iter().map(|rule| rule.as_bytes());
            super::is_mine(&mut rules, file.as_bytes())
        };
        let rules = [
            "M/p/./**\t**",
            "L/p/./vendor\tvendor",
            "M**/site-packages/ours\t",
        ];
        for (file, expected) in [
            ("/p/app.py", Some(true)),
            ("app.py", Some(true)),
            ("/p/vendor/x.py", Some(false)),
            ("vendor/x.py", Some(false)),
            ("/p/.venv/lib/python3.12/site-packages/x.py", None),
            (
                "/p/.venv/lib/python3.12/site-packages/ours/x.py",
                Some(true),
            ),
            ("/q/app.py", None),
            ("<string>", None),
        ] {
            assert_eq!(is_mine(&rules, file), expected, "{file}");
        }
        assert_eq!(is_mine(&[], "/p/app.py"), None);
    }

    #[test]
    fn a_program_may_be_typed() {
        let yes = [
            "python\0-c\0print(1)\0",
            "python3\0-X\0dev\0-Wignore\0-Ic\0print(1)\0x.py\0",
        ];
        let no = [
            "python\0",
            "python\0-\0-c\0",
            "python\0app.py\0-c\0x\0",
            "python\0-m\0app\0-c\0x\0",
            "python\0-X\0c\0app.py\0",
        ];
        assert!(yes.iter().all(|line| is_typed(line.as_bytes())));
        assert!(!no.iter().any(|line| is_typed(line.as_bytes())));
    }
}
