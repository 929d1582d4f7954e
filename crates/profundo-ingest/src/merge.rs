//! Two walks of one stack, the machine's and the interpreter's, into one.
//!
//! The interpreter's words come in runs: the frames that one run of the evaluation loop carries,
//! and an entry that names the native frame of that run. The frames of the run take that frame's
//! place. Both walks go from the leaf to the root, so the entries do too.
//!
//! Where an entry names no frame, the run's place is known only if nothing native lies between its
//! neighbours, or if the native walk ended before the root: then what it did not reach is below all
//! that it did. Otherwise the run is put innermost, where its lines keep their time, and a reason
//! says that the order of the following levels is a guess. A reason why one of the walks ended
//! early stands where the missing frames would: at the root, or where the other walk goes on. Where
//! no frame of the interpreter's could be read, the reason stands innermost: the remaining native
//! function is not blamed.
//!
//! Of a stack that is deeper than is kept, the innermost frames are kept, and how many of them
//! depends on where it was sampled. So the reason stands at the root, above all that is kept: each
//! function is found below it once, and not below whatever happens to be the outermost frame.

use profundo_model::Reason;
use profundo_wire::{End, PythonEnd, PythonWord};

/// One level of the merged stack.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Level {
    /// The native frame at this index.
    Native(usize),
    /// A frame of the interpreter's.
    Python {
        code: u32,
        offset: i32,
        is_call: bool,
    },
    /// A missing part of the stack.
    Reason(Reason),
}

/// The levels of a stack of `native` frames and the interpreter's `words`, leaf first.
pub(crate) fn merge(
    native: usize,
    end: End,
    words: &[u64],
    python_end: PythonEnd,
    levels: &mut Vec<Level>,
) {
    levels.clear();
    // The next native frame, and the first word of the runs that have no place yet.
    let (mut next, mut homeless, mut start) = (0, 0, 0);
    for (at, &word) in words.iter().enumerate() {
        let PythonWord::Entry { native: entry } = PythonWord::from_word(word) else {
            continue;
        };
        let entry = entry
            .map(usize::from)
            .filter(|&index| index >= next && index < native);
        let run = start..at + 1;
        start = run.end;
        let Some(entry) = entry else { continue };
        let between = next..entry;
        let lost = &words[homeless..run.start];
        python(lost, levels);
        if !lost.is_empty() && !between.is_empty() {
            levels.push(Level::Reason(Reason::Unmerged));
        }
        levels.extend(between.map(Level::Native));
        python(&words[run], levels);
        (next, homeless) = (entry + 1, start);
    }
    let lost = &words[homeless..];
    let rest = next..native;
    if end != End::Root && !lost.is_empty() {
        levels.extend(rest.map(Level::Native));
        levels.extend(reason(end));
        python(lost, levels);
        levels.extend(python_reason(python_end));
    } else if words.is_empty() && python_end == PythonEnd::Broken {
        // The remaining native function may have been called by Python, or have called it.
        levels.push(Level::Reason(Reason::PythonUnreadable));
        levels.extend(rest.map(Level::Native));
        levels.extend(reason(end));
    } else {
        python(lost, levels);
        if !lost.is_empty() && !rest.is_empty() {
            // For a cut stack no more of the order is known.
            let order = python_reason(python_end);
            levels.push(order.unwrap_or(Level::Reason(Reason::Unmerged)));
            levels.extend(rest.map(Level::Native));
        } else {
            levels.extend(rest.map(Level::Native));
            levels.extend(python_reason(python_end));
        }
        levels.extend(reason(end));
    }
    let cut = match (python_end, end) {
        (PythonEnd::Truncated, _) => Some(Reason::PythonTruncated),
        (_, End::Truncated) => Some(Reason::Truncated),
        _ => None,
    };
    levels.extend(cut.map(Level::Reason));
}

/// Marks the start of a garbage collection: above the innermost frame of the interpreter. Python
/// code of a finalizer counts as that function's.
pub(crate) fn mark_collection(levels: &mut Vec<Level>) {
    let innermost = levels
        .iter()
        .position(|level| matches!(level, Level::Python { .. }));
    if let Some(at) = innermost.filter(|&at| at > 0) {
        levels.insert(at, Level::Reason(Reason::Collecting));
    }
}

/// The frames among the words.
fn python(words: &[u64], levels: &mut Vec<Level>) {
    levels.extend(
        words
            .iter()
            .filter_map(|&word| match PythonWord::from_word(word) {
                PythonWord::Frame {
                    code,
                    offset,
                    is_call,
                } => Some(Level::Python {
                    code,
                    offset,
                    is_call,
                }),
                PythonWord::Entry { .. } => None,
            }),
    );
}

/// The reason why the interpreter's walk ended early. For a cut stack, the root has it.
fn python_reason(end: PythonEnd) -> Option<Level> {
    match end {
        PythonEnd::Whole | PythonEnd::Truncated => None,
        PythonEnd::Broken => Some(Level::Reason(Reason::PythonBroken)),
    }
}

/// The reason why the native walk ended early.
fn reason(end: End) -> Option<Level> {
    let reason = match end {
        End::Root | End::Truncated => return None,
        End::Broken => Reason::Broken,
        End::FramePointerUnknown => Reason::FramePointerUnknown,
        End::ParkedBeforeSession => Reason::ParkedBeforeSession,
        End::Gone => Reason::Gone,
        End::NoTask => Reason::NoTask,
        End::SignalsBlocked => Reason::SignalsBlocked,
        End::Unread => Reason::Unread,
    };
    Some(Level::Reason(reason))
}

#[cfg(test)]
mod tests {
    use super::*;
    use PythonEnd::{Truncated, Whole};

    #[test]
    fn a_collection_is_above_the_innermost_frame() {
        let marked = |levels: &[Level]| {
            let mut levels = levels.to_vec();
            mark_collection(&mut levels);
            levels
        };
        let python = Level::Python {
            code: 1,
            offset: 0,
            is_call: false,
        };
        let (native, mark) = (Level::Native(0), Level::Reason(Reason::Collecting));
        assert_eq!(
            marked(&[native, python, python]),
            [native, mark, python, python]
        );
        // A finalizer, or no Python frame at all.
        assert_eq!(marked(&[python, native]), [python, native]);
        assert_eq!(marked(&[native]), [native]);
    }

    fn frame(code: u32) -> u64 {
        let word = PythonWord::Frame {
            code,
            offset: 0,
            is_call: false,
        };
        word.to_word()
    }

    fn entry(native: impl Into<Option<u16>>) -> u64 {
        let native = native.into();
        PythonWord::Entry { native }.to_word()
    }

    /// Root first: `n2` a native frame, `p7` a frame of code 7, or a reason.
    #[track_caller]
    fn check(native: usize, end: End, words: &[u64], python_end: PythonEnd, expected: &str) {
        let mut levels = Vec::new();
        merge(native, end, words, python_end, &mut levels);
        let shown = levels.iter().rev().map(|level| match level {
            Level::Native(index) => format!("n{index}"),
            Level::Python { code, .. } => format!("p{code}"),
            Level::Reason(reason) => reason.name().replace(' ', "-"),
        });
        assert_eq!(shown.collect::<Vec<_>>().join(" "), expected);
    }

    #[test]
    fn each_frame_of_an_old_interpreter_has_a_native_one() {
        // A builtin, called by 2, called by 1; each with a native frame of plumbing between.
        let words = [frame(2), entry(1), frame(1), entry(3)];
        check(6, End::Root, &words, Whole, "n5 n4 p1 n2 p2 n0");
    }

    #[test]
    fn one_native_frame_carries_many_of_a_new_interpreter() {
        let words = [frame(3), frame(2), frame(1), entry(0)];
        check(3, End::Root, &words, Whole, "n2 n1 p1 p2 p3");
    }

    #[test]
    fn callbacks_nest() {
        // 1 calls sorted, which calls 2 and 3, which calls a native function.
        let words = [frame(3), frame(2), entry(1), frame(1), entry(4)];
        check(6, End::Root, &words, Whole, "n5 p1 n3 n2 p2 p3 n0");
    }

    #[test]
    fn without_an_interpreter_nothing_changes() {
        check(2, End::Root, &[], Whole, "n1 n0");
        check(2, End::Broken, &[], Whole, "[broken-stack] n1 n0");
        check(0, End::Gone, &[], Whole, "[failed-to-stop-the-thread]");
    }

    #[test]
    fn without_a_native_walk_the_interpreter_is_whole() {
        let words = [frame(2), entry(None), frame(1), entry(None)];
        check(0, End::Root, &words, Whole, "p1 p2");
    }

    #[test]
    fn what_a_cut_native_walk_did_not_reach_is_below_it() {
        let words = [frame(2), entry(1), frame(1), entry(None)];
        check(3, End::Truncated, &words, Whole, "[truncated] p1 n2 p2 n0");
        check(
            1,
            End::Broken,
            &[frame(1), entry(None)],
            Whole,
            "p1 [broken-stack] n0",
        );
    }

    #[test]
    fn a_guess_is_marked() {
        let unknown = [frame(1), entry(None)];
        let guess = "n1 n0 [native-and-Python-do-not-fit] p1";
        check(2, End::Root, &unknown, Whole, guess);
        // Between two known places.
        let words = [
            frame(3),
            entry(0),
            frame(2),
            entry(None),
            frame(1),
            entry(2),
        ];
        let guess = "p1 n1 [native-and-Python-do-not-fit] p2 p3";
        check(3, End::Root, &words, Whole, guess);
        // Nothing native between them: no guess.
        let words = [
            frame(3),
            entry(0),
            frame(2),
            entry(None),
            frame(1),
            entry(1),
        ];
        check(2, End::Root, &words, Whole, "p1 p2 p3");
    }

    #[test]
    fn entries_out_of_order_or_out_of_range_are_no_entries() {
        let words = [frame(2), entry(1), frame(1), entry(0)];
        check(2, End::Root, &words, Whole, "p1 p2 n0");
        let words = [frame(1), entry(9)];
        check(
            1,
            End::Root,
            &words,
            Whole,
            "n0 [native-and-Python-do-not-fit] p1",
        );
    }

    #[test]
    fn all_that_is_kept_of_a_stack_that_was_cut_is_below_the_reason() {
        // The frames of one run, a native function called by the innermost, and the caller of the
        // interpreter.
        let words = [frame(2), frame(1), entry(1)];
        let expected = "[truncated-Python-stack] n2 p1 p2 n0";
        check(3, End::Root, &words, Truncated, expected);
        // The native walk was cut too, inside of that run or outside.
        check(3, End::Truncated, &words, Truncated, expected);
        let words = [frame(2), entry(1), frame(1), entry(None)];
        let expected = "[truncated-Python-stack] p1 n2 p2 n0";
        check(3, End::Truncated, &words, Truncated, expected);
        check(
            1,
            End::Root,
            &[frame(2), entry(0), frame(1)],
            Truncated,
            "[truncated-Python-stack] p1 p2",
        );
        // Without a known place.
        let words = [frame(2), entry(0), frame(1)];
        let expected = "[truncated-Python-stack] n2 n1 [native-and-Python-do-not-fit] p1 p2";
        check(3, End::Root, &words, Truncated, expected);
        check(2, End::Truncated, &[], Whole, "[truncated] n1 n0");
    }

    #[test]
    fn a_broken_walk_of_the_interpreter_says_so_where_it_broke() {
        let words = [frame(2), entry(0), frame(1)];
        let expected = "n2 n1 [broken-Python-stack] p1 p2";
        check(3, End::Root, &words, PythonEnd::Broken, expected);
        // The caller of the first frame is missing.
        let expected = "n1 n0 [broken-Python-stack] p1";
        check(2, End::Root, &[frame(1)], PythonEnd::Broken, expected);
    }

    #[test]
    fn the_native_function_that_is_left_is_not_blamed() {
        let unreadable =
            |native, end, expected| check(native, end, &[], PythonEnd::Broken, expected);
        unreadable(2, End::Root, "n1 n0 [Python,-not-readable]");
        unreadable(
            2,
            End::Truncated,
            "[truncated] n1 n0 [Python,-not-readable]",
        );
        unreadable(0, End::Root, "[Python,-not-readable]");
    }
}
