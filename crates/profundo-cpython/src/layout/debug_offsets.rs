//! From 3.13 on, `_PyRuntime` begins with a list of the interpreter's own offsets.

use super::{
    Chain, CodeObject, Collecting, Collector, GeneratorObject, Gil, InstructionCopies,
    InterpreterFrame, Layout, Objects, Thread, ThreadList, ThreadState, VariableNames,
    collector::Records,
};
use crate::version::Version;

/// The number of words that are read from the start of `_PyRuntime`.
pub const DEBUG_WORDS: usize = 103;

/// The reason why the stacks of an interpreter are not read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
pub enum Refusal {
    /// A minor version that is not known.
    Version = 1,
    /// A build that can run without the global lock: what was asked for is not known for it.
    FreeThreaded = 2,
    /// Its list of offsets is not the one that this version should have.
    Offsets = 3,
    /// A symbol that is needed is not exported.
    Symbol = 4,
    /// The interpreter was loaded at run time, and a query of its thread state could then allocate.
    Late = 5,
    /// The file that it lies in cannot be opened.
    File = 6,
}

impl Refusal {
    /// The refusal with this number.
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

/// The places of the used fields in a version's list, counted in words.
struct Words {
    /// Whether every build of the version has the same offsets, so that all of the list is compared
    /// with the table. Later versions may have moved what is far inside of large structures.
    is_same_in_all_builds: bool,
    /// `runtime_state.interpreters_head`.
    interpreters: usize,
    /// `interpreter_state.next`, with `threads_head` behind it.
    next_interpreter: usize,
    /// `interpreter_state.gc`.
    collector: usize,
    /// `gc.collecting`.
    collecting: usize,
    /// `interpreter_state.imports_modules`.
    modules: usize,
    /// `interpreter_state.ceval_gil`.
    lock: usize,
    /// `thread_state.next`, with `interp` and `current_frame` behind it.
    next_state: usize,
    /// `thread_state.native_thread_id`.
    thread_number: usize,
    /// `interpreter_frame.previous`, with `executable`, `instr_ptr`, `localsplus` and `owner`
    /// behind it.
    frame: usize,
    /// `code_object.filename`, with `name`, `qualname`, `linetable`, `firstlineno`, `argcount`,
    /// `localsplusnames`, `localspluskinds` and `co_code_adaptive` behind it.
    code: usize,
    /// Whether a build that can run without the lock has copies of instructions.
    has_copies: bool,
    /// `tuple_object.ob_item`, where it is taken from there.
    tuple_items: Option<usize>,
    /// The fields at the end of later lists.
    more: Option<More>,
}

/// The places of the fields that later lists have too.
struct More {
    /// `heap_type_object.ht_cached_keys`.
    shared_keys: usize,
    /// `gen_object.gi_iframe`, with `gi_frame_state` behind it.
    generator: usize,
}

const WORDS_3_13: Words = Words {
    is_same_in_all_builds: true,
    interpreters: 5,
    next_interpreter: 8,
    collector: 10,
    collecting: 72,
    modules: 11,
    lock: 14,
    next_state: 21,
    thread_number: 25,
    frame: 29,
    code: 35,
    has_copies: false,
    tuple_items: None,
    more: None,
};

/// `threads_main`, two generations and two more fields of the frame came in between.
const WORDS_3_14: Words = Words {
    is_same_in_all_builds: false,
    collector: 11,
    collecting: 82,
    modules: 12,
    lock: 15,
    next_state: 24,
    thread_number: 28,
    frame: 32,
    code: 40,
    has_copies: true,
    tuple_items: Some(57),
    ..WORDS_3_13
};

/// Three fields of the thread came in before the thread's number, and five behind it.
const WORDS_3_15: Words = Words {
    thread_number: 31,
    frame: 40,
    code: 48,
    collecting: 95,
    tuple_items: Some(69),
    more: Some(More {
        shared_keys: 67,
        generator: 101,
    }),
    ..WORDS_3_14
};

/// The places in the list of a minor version that has one.
fn words_of(minor: u8) -> Option<&'static Words> {
    match minor {
        13 => Some(&WORDS_3_13),
        14 => Some(&WORDS_3_14),
        15 => Some(&WORDS_3_15),
        _ => None,
    }
}

/// The layout of an interpreter of this minor version, from the words that `_PyRuntime` begins
/// with, [`DEBUG_WORDS`] of them. Before 3.13 the words are not used.
pub fn layout_from_debug_offsets(minor: u8, words: &[u64]) -> Result<Layout, Refusal> {
    let measured = Layout::of(minor).ok_or(Refusal::Version)?;
    let Some(places) = words_of(minor) else {
        return Ok(*measured);
    };
    let mut list = DebugOffsets {
        words,
        places,
        measured: *measured,
    };
    list.check_head()?;
    if list.is_free_threaded()? {
        list.measured = measured.free_threaded();
    }
    let listed = list.layout()?;
    if is_plausible(&listed, &list.measured, places.is_same_in_all_builds) {
        Ok(listed)
    } else {
        Err(Refusal::Offsets)
    }
}

/// Whether the layout from a list agrees with the table's.
fn is_plausible(listed: &Layout, measured: &Layout, is_same_in_all_builds: bool) -> bool {
    // Offsets from the list that no other part of the table depends on.
    let compared = Layout {
        collecting: measured.collecting,
        collector: measured.collector,
        threads: ThreadList {
            interpreters: listed.threads.interpreters,
            ..measured.threads
        },
        ..*listed
    };
    if is_same_in_all_builds {
        return compared == *measured;
    }
    let without_what_moves = Layout {
        chain: measured.chain,
        gil: measured.gil,
        threads: measured.threads,
        frame: InterpreterFrame {
            owner: measured.frame.owner,
            ..compared.frame
        },
        code: CodeObject {
            instructions: measured.code.instructions,
            copies: measured.code.copies,
            first_traceable: measured.code.first_traceable,
            ..compared.code
        },
        objects: Objects {
            shared_keys: measured.objects.shared_keys,
            width_bit: measured.objects.width_bit,
            ..compared.objects
        },
        ..compared
    };
    without_what_moves == *measured
        && listed.frame.owner < 128
        && listed.code.instructions.is_multiple_of(8)
}

/// The list of an interpreter, `_Py_DebugOffsets`.
struct DebugOffsets<'a> {
    words: &'a [u64],
    places: &'static Words,
    /// The table's row of the version, for this kind of build.
    measured: Layout,
}

impl DebugOffsets<'_> {
    fn word(&self, place: usize) -> Result<u64, Refusal> {
        self.words.get(place).copied().ok_or(Refusal::Offsets)
    }

    fn offset(&self, place: usize) -> Result<u16, Refusal> {
        u16::try_from(self.word(place)?).map_err(|_| Refusal::Offsets)
    }

    /// Checks that the list is one, and of this version.
    fn check_head(&self) -> Result<(), Refusal> {
        let version = u32::try_from(self.word(1)?).map_err(|_| Refusal::Offsets)?;
        let minor = Version::of_hex(version).of_python_3();
        if self.word(0)? != COOKIE || minor != Some(self.measured.minor) {
            return Err(Refusal::Offsets);
        }
        Ok(())
    }

    fn is_free_threaded(&self) -> Result<bool, Refusal> {
        Ok(self.word(2)? != 0)
    }

    fn layout(&self) -> Result<Layout, Refusal> {
        let places = self.places;
        Ok(Layout {
            chain: Chain::Direct {
                frame: self.offset(places.next_state + 2)?,
            },
            gil: match (self.measured.gil, self.offset(places.lock)?) {
                (Gil::Optional { .. }, lock) => Gil::Optional { lock },
                (_, lock) => Gil::Interpreter { lock },
            },
            collecting: self.collecting()?,
            collector: self.collector(),
            threads: self.threads()?,
            state: ThreadState {
                interpreter: self.offset(places.next_state + 1)?,
                ..self.measured.state
            },
            frame: self.frame()?,
            code: self.code()?,
            objects: self.objects()?,
            ..self.measured
        })
    }

    /// The flag in the collector's records. The list has the places of both.
    fn collecting(&self) -> Result<Collecting, Refusal> {
        let within = self.offset(self.places.collecting)?;
        Ok(match self.offset(self.places.collector)? {
            0 => Collecting::Unknown,
            records => Collecting::Interpreter(records.saturating_add(within)),
        })
    }

    /// The collector's records. The list has only the flag's place in them: the others are known
    /// where that is the measured one.
    fn collector(&self) -> Option<Collector> {
        let measured = self.measured.collector?;
        let within = self.offset(self.places.collecting).ok()?;
        let at = self.offset(self.places.collector).ok()?;
        let records = match measured.records {
            Records::Interpreter(_) => Records::Interpreter(at),
            pointer => pointer,
        };
        (at != 0 && within == measured.collecting).then_some(Collector {
            records,
            ..measured
        })
    }

    fn threads(&self) -> Result<ThreadList, Refusal> {
        let places = self.places;
        Ok(ThreadList {
            interpreters: self.offset(places.interpreters)?,
            next_interpreter: self.offset(places.next_interpreter)?,
            states: self.offset(places.next_interpreter + 1)?,
            next_state: self.offset(places.next_state)?,
            thread: Thread::Number(self.offset(places.thread_number)?),
            modules: self.offset(places.modules)?,
        })
    }

    fn frame(&self) -> Result<InterpreterFrame, Refusal> {
        let first = self.places.frame;
        Ok(InterpreterFrame {
            previous: self.offset(first)?,
            code: self.offset(first + 1)?,
            instruction: self.offset(first + 2)?,
            locals: self.offset(first + 3)?,
            owner: self.offset(first + 4)?,
            ..self.measured.frame
        })
    }

    fn code(&self) -> Result<CodeObject, Refusal> {
        let first = self.places.code;
        let copies = self.copies()?;
        Ok(CodeObject {
            copies,
            // The copies are between the two.
            first_traceable: match copies {
                None => self.measured.code.first_traceable,
                Some(_) => self
                    .measured
                    .code
                    .first_traceable
                    .map(|distance| distance + 8),
            },
            file: self.offset(first)?,
            bare_name: Some(self.offset(first + 1)?),
            name: self.offset(first + 2)?,
            lines: self.offset(first + 3)?,
            first_line: self.offset(first + 4)?,
            arguments: self.offset(first + 5)?,
            variable_names: match self.measured.code.variable_names {
                VariableNames::One { count, .. } => VariableNames::One {
                    count,
                    names: self.offset(first + 6)?,
                    kinds: self.offset(first + 7)?,
                },
                several => several,
            },
            instructions: self.offset(first + 8)?,
            ..self.measured.code
        })
    }

    /// Listed last among the fields of frames and of code objects.
    fn copies(&self) -> Result<Option<InstructionCopies>, Refusal> {
        if !self.places.has_copies || !self.is_free_threaded()? {
            return Ok(None);
        }
        Ok(Some(InstructionCopies {
            array: self.offset(self.places.code + 9)?,
            index: self.offset(self.places.frame + 6)?,
        }))
    }

    fn objects(&self) -> Result<Objects, Refusal> {
        let mut objects = self.measured.objects;
        if self.places.has_copies && self.is_free_threaded()? {
            // The bits before it have a byte of their own.
            objects.width_bit = 8;
        }
        if let Some(place) = self.places.tuple_items {
            objects.tuple_items = self.offset(place)?;
        }
        if let Some(more) = &self.places.more {
            objects.shared_keys = self.offset(more.shared_keys)?;
            let (frame, state) = (
                self.offset(more.generator)?,
                self.offset(more.generator + 1)?,
            );
            objects.generator = objects.generator.map(|measured| GeneratorObject {
                frame,
                state,
                ..measured
            });
        }
        Ok(objects)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layout::objects;
    use crate::memory::Memory;
    use crate::walk::{Start, Step, walk};
    use core::ops::ControlFlow;
    use std::vec;

    /// The words that an interpreter of 3.13.0 begins with.
    fn words_of_3_13() -> std::vec::Vec<u64> {
        let mut words = vec![0; DEBUG_WORDS];
        words[..3].copy_from_slice(&[COOKIE, 0x030d_00f0, 0]);
        words[5] = 632;
        words[8..12].copy_from_slice(&[7264, 7344, 7400, 7656]);
        words[14] = 16;
        words[21..26].copy_from_slice(&[8, 16, 72, 152, 160]);
        words[28..34].copy_from_slice(&[80, 8, 0, 56, 72, 70]);
        words[34..44].copy_from_slice(&[208, 112, 120, 128, 136, 68, 52, 96, 104, 200]);
        words[71..73].copy_from_slice(&[248, 200]);
        words
    }

    /// The words that an interpreter of 3.14.10 begins with, as far as they are read.
    fn words_of_3_14() -> std::vec::Vec<u64> {
        let mut words = vec![0; DEBUG_WORDS];
        words[..3].copy_from_slice(&[COOKIE, 0x030e_0af0, 0]);
        words[5] = 808;
        words[8..13].copy_from_slice(&[7272, 7344, 8, 7408, 7688]);
        words[15] = 16;
        words[22..31].copy_from_slice(&[832, 0, 8, 16, 72, 152, 160, 232, 32]);
        words[31..39].copy_from_slice(&[88, 8, 0, 56, 80, 74, 64, 0]);
        words[57] = 32;
        words[39..49].copy_from_slice(&[216, 112, 120, 128, 136, 68, 52, 96, 104, 208]);
        words[81..83].copy_from_slice(&[264, 192]);
        words
    }

    /// The words that an interpreter of 3.15.2 begins with, as far as they are read.
    fn words_of_3_15() -> std::vec::Vec<u64> {
        let mut words = vec![0; DEBUG_WORDS];
        words[..3].copy_from_slice(&[COOKIE, 0x030f_02f0, 0]);
        words[5] = 936;
        words[8..13].copy_from_slice(&[7264, 7336, 8, 7400, 7592]);
        words[15] = 16;
        words[24..27].copy_from_slice(&[8, 16, 72]);
        words[30..32].copy_from_slice(&[176, 184]);
        words[39..46].copy_from_slice(&[88, 8, 0, 56, 80, 74, 64]);
        words[47..57].copy_from_slice(&[216, 112, 120, 128, 136, 68, 52, 96, 104, 208]);
        words[69] = 32;
        words[66..68].copy_from_slice(&[936, 888]);
        words[94..96].copy_from_slice(&[176, 112]);
        words[101..103].copy_from_slice(&[72, 67]);
        words
    }

    #[test]
    fn a_list_gives_the_measured_layout() {
        let words = words_of_3_13();
        assert_eq!(
            layout_from_debug_offsets(13, &words).as_ref(),
            Ok(Layout::of(13).unwrap())
        );
        let listed = layout_from_debug_offsets(14, &words_of_3_14()).unwrap();
        assert_eq!(listed.frame.owner, 74);
        assert_eq!(listed.threads.interpreters, 808);
        assert_eq!(listed.code.instructions, 208);
        assert_eq!(listed.chain, Chain::Direct { frame: 72 });
        assert_eq!(listed.collecting, Collecting::Interpreter(7600));
        assert_eq!(
            layout_from_debug_offsets(15, &words_of_3_15()).as_ref(),
            Ok(Layout::of(15).unwrap())
        );
        let mut words = words_of_3_15();
        words[43] = 72;
        assert_eq!(
            layout_from_debug_offsets(15, &words),
            Err(Refusal::Offsets),
            "another frame than was measured"
        );
    }

    /// The words of 3.13.15 and 3.14.10, built without the lock, are those of the other builds but
    /// for these.
    #[test]
    fn builds_without_the_lock_have_longer_heads() {
        let mut words = words_of_3_13();
        words[2] = 1;
        words[11] = 7664;
        words[34..44].copy_from_slice(&[224, 128, 136, 144, 152, 84, 68, 112, 120, 216]);
        let listed = layout_from_debug_offsets(13, &words).unwrap();
        assert!(listed.is_free_threaded());
        assert_eq!(listed.field(0x1000, objects::object::TYPE), 0x1018);
        assert_eq!((listed.code.flags, listed.code.frame_size), (64, 92));
        assert_eq!(listed.code.copies, None);
        assert_eq!(listed.collector, None);

        let mut words = words_of_3_14();
        words[2] = 1;
        words[36..39].copy_from_slice(&[78, 64, 72]);
        words[39..50].copy_from_slice(&[240, 128, 136, 144, 152, 84, 68, 112, 120, 232, 224]);
        words[57] = 48;
        let listed = layout_from_debug_offsets(14, &words).unwrap();
        let copies = InstructionCopies {
            array: 224,
            index: 72,
        };
        assert_eq!(listed.code.copies, Some(copies));
        assert_eq!(listed.code.first_traceable, Some(24));
        assert_eq!(listed.objects.width_bit, 8);
        // Fields of a build with the lock, in a list that says otherwise.
        words[43] = 68;
        assert_eq!(layout_from_debug_offsets(14, &words), Err(Refusal::Offsets));
    }

    #[test]
    fn an_unknown_list_is_refused() {
        let mut words = words_of_3_13();
        assert_eq!(layout_from_debug_offsets(16, &words), Err(Refusal::Version));
        assert_eq!(layout_from_debug_offsets(7, &words), Err(Refusal::Version));
        assert_eq!(
            layout_from_debug_offsets(14, &words),
            Err(Refusal::Offsets),
            "the version in the list is another one"
        );
        words[35] = 104;
        assert_eq!(layout_from_debug_offsets(13, &words), Err(Refusal::Offsets));
        assert_eq!(layout_from_debug_offsets(13, &[]), Err(Refusal::Offsets));
    }

    #[test]
    fn a_changed_head_is_refused() {
        let changes = [
            (0, COOKIE ^ 1),
            (0, 0),
            (1, 0x0310_00f0),
            (1, 0x030e_0af0),
            (1, u64::MAX),
        ];
        for (place, word) in changes {
            let mut words = words_of_3_15();
            words[place] = word;
            let refused = layout_from_debug_offsets(15, &words);
            assert_eq!(refused, Err(Refusal::Offsets), "{place}: {word:#x}");
        }
    }

    /// Memory whose every word leads on to another place.
    struct Leads;

    impl Memory for Leads {
        fn word(&mut self, address: u64) -> Option<u64> {
            Some(address.wrapping_mul(0x9E37_79B9_7F4A_7C15) & 0x7FFF_FFFF_FFF8)
        }

        fn bytes(&mut self, _: u64, out: &mut [u8]) -> bool {
            out.fill(0x41);
            true
        }
    }

    /// Offsets that differ between builds are believed. What is read by wrong ones is no frame, and
    /// each walk ends.
    #[test]
    fn offsets_that_point_nowhere_lead_to_no_frame() {
        let odd = [1, 8, 0xFFF8, 1 << 16, u64::MAX];
        let lists = [
            (13, words_of_3_13()),
            (14, words_of_3_14()),
            (15, words_of_3_15()),
        ];
        let (mut believed, mut refused) = (0, 0);
        for (minor, words) in lists {
            for (place, word) in (3..DEBUG_WORDS).flat_map(|place| odd.map(|word| (place, word))) {
                let mut words = words.clone();
                words[place] = word;
                let Ok(layout) = layout_from_debug_offsets(minor, &words) else {
                    refused += 1;
                    continue;
                };
                believed += 1;
                let start = Start {
                    state: 0x10_0000,
                    code_type: 0x20_0000,
                    is_settled: true,
                    ..Start::default()
                };
                let mut steps = 0;
                let _ = walk(&layout, &mut Leads, start, |_, step| {
                    assert!(!matches!(step, Step::Frame(_)), "{minor}: {place}");
                    steps += 1;
                    ControlFlow::Continue(())
                });
                assert!(steps < 1 << 20, "{minor}: {place}");
            }
        }
        assert!(believed > 100 && refused > 100, "{believed}, {refused}");
    }

    #[test]
    fn another_collector_is_not_known_but_the_rest_is() {
        let mut words = words_of_3_14();
        words[11] = 7416;
        let listed = layout_from_debug_offsets(14, &words).unwrap();
        let records = listed.collector.unwrap().records;
        assert_eq!(records, Records::Interpreter(7416));
        words[82] = 200;
        let listed = layout_from_debug_offsets(14, &words).unwrap();
        assert_eq!(listed.collector, None);
    }

    #[test]
    fn older_versions_have_no_list() {
        for minor in 8..13 {
            assert_eq!(
                layout_from_debug_offsets(minor, &[]).as_ref(),
                Ok(Layout::of(minor).unwrap())
            );
        }
    }
}
