//! From 3.13 on the interpreter says itself where things are, at the start of `_PyRuntime`.
//!
//! The list is no fixed format: 3.14 put fields in between. So each minor version has its own
//! places, what is read is compared with the table where the table was measured, and a version
//! that is not known is refused.

use crate::layout::{Chain, Collecting, Gil, Layout};

/// How many words from the start of `_PyRuntime` are looked at.
pub const DEBUG_WORDS: usize = 49;

/// Why the stacks of an interpreter are not read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
pub enum Refusal {
    /// A minor version that is not known.
    Version = 1,
    /// A build without the global lock: another layout.
    FreeThreaded = 2,
    /// It does not tell its offsets as this version should, or tells others than it should.
    Offsets = 3,
    /// A symbol that is needed is not exported.
    Symbol = 4,
    /// It was loaded at run time, and asking it for its thread state could then allocate.
    Late = 5,
    /// The file that it lies in cannot be opened.
    File = 6,
}

impl Refusal {
    /// The one that has this number.
    pub fn of_code(code: u32) -> Option<Self> {
        let all = [
            Self::Version,
            Self::FreeThreaded,
            Self::Offsets,
            Self::Symbol,
            Self::Late,
            Self::File,
        ];
        all.into_iter().find(|&refusal| refusal as u32 == code)
    }
}

const COOKIE: u64 = u64::from_le_bytes(*b"xdebugpy");

/// The layout of an interpreter of this minor version, from the words that `_PyRuntime` begins
/// with, [`DEBUG_WORDS`] of them. Before 3.13 the words are not looked at.
pub fn layout_from_debug_offsets(minor: u8, words: &[u64]) -> Result<Layout, Refusal> {
    let layout = *Layout::of(minor).ok_or(Refusal::Version)?;
    if minor < 13 {
        return Ok(layout);
    }
    let at = |index: usize| words.get(index).copied().ok_or(Refusal::Offsets);
    if at(0)? != COOKIE || at(1)? >> 16 & 0xFF != u64::from(minor) || at(1)? >> 24 != 3 {
        return Err(Refusal::Offsets);
    }
    if at(2)? != 0 {
        return Err(Refusal::FreeThreaded);
    }
    let small = |index: usize| {
        let offset = at(index)?;
        u16::try_from(offset).map_err(|_| Refusal::Offsets)
    };
    // 3.14 put `threads_main` and two generations into the interpreter state's fields, and two
    // more into the frame's, and what comes after moved on.
    let (lock, thread, frame, code) = if minor == 13 {
        (14, 19, 28, 34)
    } else {
        (15, 22, 31, 39)
    };
    // The collector's records are told of, and what is in them has stayed where it was.
    let collecting = match minor {
        13 => {
            const COLLECTING: u16 = 200;
            match small(10)? {
                0 => Collecting::Unknown,
                records => Collecting::Interpreter(records.saturating_add(COLLECTING)),
            }
        }
        _ => layout.collecting,
    };
    let told = Layout {
        collecting,
        chain: Chain::Direct {
            frame: small(thread + 4)?,
        },
        gil: Gil::Interpreter { lock: small(lock)? },
        interpreters: small(5)?,
        interpreter: small(thread + 3)?,
        previous: small(frame + 1)?,
        code: small(frame + 2)?,
        instruction: small(frame + 3)?,
        locals: small(frame + 4)?,
        owner: small(frame + 5)?,
        file: small(code + 1)?,
        name: small(code + 3)?,
        lines: small(code + 4)?,
        first_line: small(code + 5)?,
        instructions: small(code + 9)?,
        ..layout
    };
    let as_measured = Layout {
        chain: layout.chain,
        gil: layout.gil,
        interpreters: layout.interpreters,
        owner: layout.owner,
        instructions: layout.instructions,
        ..told
    };
    let is_told_right = if minor == 13 {
        told == Layout {
            collecting,
            ..layout
        }
    } else {
        as_measured == layout && told.owner < 128 && told.instructions.is_multiple_of(8)
    };
    if is_told_right {
        Ok(told)
    } else {
        Err(Refusal::Offsets)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::vec;

    /// The words that an interpreter of 3.13.0 begins with.
    fn words_of_3_13() -> std::vec::Vec<u64> {
        let mut words = vec![0; DEBUG_WORDS];
        words[..3].copy_from_slice(&[COOKIE, 0x030d_00f0, 0]);
        words[5] = 632;
        words[10] = 7400;
        words[14] = 16;
        words[22] = 16;
        words[23] = 72;
        words[28..34].copy_from_slice(&[80, 8, 0, 56, 72, 70]);
        words[34..44].copy_from_slice(&[208, 112, 120, 128, 136, 68, 52, 96, 104, 200]);
        words
    }

    /// The words that an interpreter of 3.14.10 begins with, those that are looked at.
    fn words_of_3_14() -> std::vec::Vec<u64> {
        let mut words = vec![0; DEBUG_WORDS];
        words[..3].copy_from_slice(&[COOKIE, 0x030e_0af0, 0]);
        words[5] = 808;
        words[15] = 16;
        words[22..31].copy_from_slice(&[832, 0, 8, 16, 72, 152, 160, 232, 32]);
        words[31..39].copy_from_slice(&[88, 8, 0, 56, 80, 74, 64, 0]);
        words[39..49].copy_from_slice(&[216, 112, 120, 128, 136, 68, 52, 96, 104, 208]);
        words
    }

    #[test]
    fn what_is_told_is_what_was_measured() {
        let words = words_of_3_13();
        assert_eq!(
            layout_from_debug_offsets(13, &words).as_ref(),
            Ok(Layout::of(13).unwrap())
        );
        let told = layout_from_debug_offsets(14, &words_of_3_14()).unwrap();
        assert_eq!(told.owner, 74);
        assert_eq!(told.interpreters, 808);
        assert_eq!(told.instructions, 208);
        assert_eq!(told.chain, Chain::Direct { frame: 72 });
    }

    #[test]
    fn what_is_not_known_is_refused() {
        let mut words = words_of_3_13();
        assert_eq!(layout_from_debug_offsets(15, &words), Err(Refusal::Version));
        assert_eq!(layout_from_debug_offsets(7, &words), Err(Refusal::Version));
        assert_eq!(
            layout_from_debug_offsets(14, &words),
            Err(Refusal::Offsets),
            "the version that the interpreter tells is another one"
        );
        words[2] = 1;
        assert_eq!(
            layout_from_debug_offsets(13, &words),
            Err(Refusal::FreeThreaded)
        );
        words[2] = 0;
        words[35] = 104;
        assert_eq!(layout_from_debug_offsets(13, &words), Err(Refusal::Offsets));
        assert_eq!(layout_from_debug_offsets(13, &[]), Err(Refusal::Offsets));
    }

    #[test]
    fn versions_before_tell_nothing() {
        for minor in 8..13 {
            assert_eq!(
                layout_from_debug_offsets(minor, &[]).as_ref(),
                Ok(Layout::of(minor).unwrap())
            );
        }
    }
}
