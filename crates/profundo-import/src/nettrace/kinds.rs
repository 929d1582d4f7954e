//! The kinds of event, as the metadata of a file names them.

use rustc_hash::FxHashMap;

use super::events::events;
use crate::encoding::cursor::Cursor;

/// A kind of event that is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// The runtime's sample of a managed thread.
    ThreadSample,
    /// The machine's sample of a CPU.
    Cpu,
    /// The end of a time off the CPU.
    Switch,
    /// A method of the runtime with its name.
    Method,
    /// A module of the runtime with its path.
    Module,
    /// The allocation of so many bytes.
    Allocation,
    /// The command line.
    Process,
    /// A mapped file of a process.
    Mapping,
    /// A function in a mapping.
    Symbol,
}

impl Kind {
    fn of(provider: &str, id: u32, name: &str) -> Option<Self> {
        Some(match (provider, id, name) {
            ("Microsoft-DotNETCore-SampleProfiler", 0, _) => Self::ThreadSample,
            ("Microsoft-DotNETCore-EventPipe", 1, _) => Self::Process,
            // A method was loaded, or was there at the start or at the end.
            (
                "Microsoft-Windows-DotNETRuntime" | "Microsoft-Windows-DotNETRuntimeRundown",
                143 | 144,
                _,
            ) => Self::Method,
            ("Microsoft-Windows-DotNETRuntime", 152, _)
            | ("Microsoft-Windows-DotNETRuntimeRundown", 153 | 154, _) => Self::Module,
            ("Microsoft-Windows-DotNETRuntime", 10, _) => Self::Allocation,
            ("Universal.Events", _, "cpu") => Self::Cpu,
            ("Universal.Events", _, "cswitch") => Self::Switch,
            ("Universal.System", _, "ProcessMapping") => Self::Mapping,
            ("Universal.System", _, "ProcessSymbol") => Self::Symbol,
            _ => return None,
        })
    }
}

/// The kinds by their numbers.
pub(super) type Kinds = FxHashMap<u32, Kind>;

/// Takes in a block of metadata. `None`: the block is damaged.
pub(super) fn add(kinds: &mut Kinds, block: &[u8], is_plain: bool) -> Option<()> {
    if !is_plain {
        return events(block, false, |event| {
            add_utf16(kinds, event.payload);
        });
    }
    let mut cursor = Cursor::new(block);
    let head = cursor.u16()?;
    cursor.take(usize::from(head))?;
    while cursor.left() > 0 {
        let size = cursor.u16()?;
        let mut row = Cursor::new(cursor.take(usize::from(size))?);
        let number = row.leb128_u32()?;
        let provider = text(&mut row)?;
        let id = row.leb128_u32()?;
        let name = text(&mut row)?;
        if let Some(kind) = Kind::of(&provider, id, &name) {
            kinds.insert(number, kind);
        }
    }
    Some(())
}

fn add_utf16(kinds: &mut Kinds, payload: &[u8]) -> Option<()> {
    let mut cursor = Cursor::new(payload);
    let number = cursor.u32()?;
    let provider = cursor.utf16_until_zero()?;
    let id = cursor.u32()?;
    let name = cursor.utf16_until_zero()?;
    if let Some(kind) = Kind::of(&provider, id, &name) {
        kinds.insert(number, kind);
    }
    Some(())
}

/// A text with its length before it.
pub(super) fn text(cursor: &mut Cursor<'_>) -> Option<String> {
    let length = cursor.leb128_u32()? as usize;
    let bytes = cursor.take(length)?;
    Some(String::from_utf8_lossy(bytes).into_owned())
}
