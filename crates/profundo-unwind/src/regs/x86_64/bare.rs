//! Code without a row: a restorer, a jump to no code, a stub, start-up code, assembly, or code that
//! was generated. Each is recognised by its instructions, and a return address counts only if it
//! looks like one.

use super::calls::{call_before, is_stub, leads_to};
use super::entry::{self, by_entry};
use super::{Regs, arrive, plus, read, signal_context};
use crate::regs::{Call, Code, Frame, Stop};
use crate::{End, Memory, Rbx};

/// Code without a row is taken for a function of at most this many bytes.
const MAX_BARE: u64 = 4096;

/// `mov rax, 15; syscall`: the instructions that a handler returns to, where they have no unwind
/// information (musl).
const RESTORER: u64 = 0x0f00_0000_0fc0_c748;

/// Moves a frame without a row to its caller. `code` classifies an address.
#[cold]
pub(crate) fn step_without_row(
    frame: &mut Frame<'_>,
    depth: usize,
    code: impl Fn(u64) -> Code,
    memory: &mut impl Memory,
) -> Result<(), Stop> {
    let Regs { ip, sp, .. } = frame.regs;
    let next = memory.read_code(ip);
    if depth > 1 && next == Some(RESTORER) {
        return signal_context(frame, sp, memory);
    }
    if let Some(next) = next
        && by_return(frame, next, &code, memory)?
    {
        return Ok(());
    }
    // An entry is near enough for a call, too, and is no function.
    if depth == 1 && (by_entry(frame, entry::NEXT, &code, memory) || by_call(frame, &code, memory)?)
    {
        return Ok(());
    }
    let here = code(frame.lookup());
    if depth > 1
        && here == Code::Module
        && let Some(next) = next
        && ends_with_result(ip, next, &code)
        && is_near_arguments(sp, memory)
    {
        return Err(Stop::End(End::Root));
    }
    // Code of a module without information seldom keeps frame pointers, generated code does.
    if depth == 1 && here != Code::Unknown && by_any_call(frame, &code, memory)? {
        return Ok(());
    }
    if here != Code::Row && by_entry(frame, entry::MOST, &code, memory) {
        return Ok(());
    }
    if here == Code::Module && by_search(frame, &code, memory) {
        return Ok(());
    }
    by_frame_pointer(frame, depth, here, &code, memory)
}

/// The result goes straight to another function of the same file, as in `exit(main(…))`: so musl
/// calls what a program begins with. It keeps other values in `rbp` meanwhile, which
/// may look like a frame pointer.
fn ends_with_result(ip: u64, next: u64, code: &impl Fn(u64) -> Code) -> bool {
    /// `mov edi, eax` and `mov rdi, rax`, each before a call.
    const NUMBER: [u8; 3] = [0x89, 0xc7, 0xe8];
    const WORD: [u8; 4] = [0x48, 0x89, 0xc7, 0xe8];
    let bytes = next.to_le_bytes();
    let after = |prefix: &[u8]| {
        let distance = bytes.strip_prefix(prefix)?.first_chunk()?;
        let end = ip.wrapping_add(prefix.len() as u64 + 4);
        Some(plus(end, i32::from_le_bytes(*distance)))
    };
    let target = after(&NUMBER).or_else(|| after(&WORD));
    target.is_some_and(|target| code(target) == Code::Module)
}

/// The program's arguments lie not far above: the kernel has put their number and their pointers
/// where the stack begins.
fn is_near_arguments(sp: u64, memory: &mut impl Memory) -> bool {
    /// The frames of the first code take less.
    const MOST: u64 = 160;
    const ARGUMENTS: u64 = 1 << 12;
    (sp..sp.saturating_add(MOST)).step_by(8).any(|slot| {
        let mut word = |index: u64| memory.read_searched(slot.wrapping_add(index.wrapping_mul(8)));
        let count = word(0).filter(|&count| (1..ARGUMENTS).contains(&count));
        // The first string lies above all pointers, of which a zero follows the last.
        count.is_some_and(|count| {
            word(1).is_some_and(|text| text > slot) && word(count + 1) == Some(0)
        })
    })
}

/// The next instructions release the frame's stack and return, as in the trampolines through which
/// CPython calls functions for `perf`, without frame pointers. The instructions say exactly where
/// the return address lies.
fn by_return(
    frame: &mut Frame<'_>,
    next: u64,
    code: &impl Fn(u64) -> Code,
    memory: &mut impl Memory,
) -> Result<bool, Stop> {
    const RET: u8 = 0xc3;
    const POP_RBP: u8 = 0x5d;
    /// `add rsp, …`; its last byte is the amount.
    const ADD_RSP: [u8; 3] = [0x48, 0x83, 0xc4];
    let bytes = next.to_le_bytes();
    let mut rest = bytes.as_slice();
    let mut sp = frame.regs.sp;
    let mut fp = frame.regs.fp;
    let mut fp_known = frame.fp_known;
    // `ret` alone is left to `by_call`, which checks for a call.
    if rest.first() == Some(&RET) {
        return Ok(false);
    }
    if let Some((&more, after)) = rest.strip_prefix(&ADD_RSP).and_then(<[u8]>::split_first)
        && more < 0x80
    {
        sp = sp.wrapping_add(more.into());
        rest = after;
    }
    if let Some(after) = rest.strip_prefix(&[POP_RBP]) {
        fp = read(memory, sp)?;
        fp_known = true;
        sp = sp.wrapping_add(8);
        rest = after;
    }
    if rest.first() != Some(&RET) || sp < frame.regs.sp {
        return Ok(false);
    }
    let caller = read(memory, sp)?;
    if code(caller.wrapping_sub(1)) == Code::Unknown && call_before(caller, memory) == Call::None {
        return Ok(false);
    }
    frame.regs.fp = fp;
    frame.fp_known = fp_known;
    return_to(frame, caller, sp.wrapping_add(8));
    Ok(true)
}

/// The frame was entered by a call that is known to lead to it.
fn by_call(
    frame: &mut Frame<'_>,
    code: &impl Fn(u64) -> Code,
    memory: &mut impl Memory,
) -> Result<bool, Stop> {
    let Regs { ip, sp, .. } = frame.regs;
    let here = memory.read_code(ip);
    let nowhere = here.is_none() && code(ip) == Code::Unknown;
    let stub = is_stub(ip, memory);
    // Start-up code and assembly without information mostly have not pushed much yet.
    for slot in [sp, sp.wrapping_add(8)] {
        let caller = read(memory, slot)?;
        if code(caller.wrapping_sub(1)) == Code::Unknown {
            continue;
        }
        let untouched = (stub || nowhere) && slot == sp;
        let called = match call_before(caller, memory) {
            Call::Direct(target) => untouched || ip.wrapping_sub(target) < MAX_BARE,
            Call::Indirect => untouched,
            Call::None => false,
        };
        if called {
            return_to(frame, caller, slot.wrapping_add(8));
            return Ok(true);
        }
    }
    Ok(false)
}

/// The frame may have been entered by a call through a pointer, or by a jump from a called
/// function.
fn by_any_call(
    frame: &mut Frame<'_>,
    code: &impl Fn(u64) -> Code,
    memory: &mut impl Memory,
) -> Result<bool, Stop> {
    let Regs { sp, .. } = frame.regs;
    for slot in [sp, sp.wrapping_add(8)] {
        let caller = read(memory, slot)?;
        let known = code(caller.wrapping_sub(1)) == Code::Row;
        let called = match call_before(caller, memory) {
            Call::Direct(_) => slot == sp,
            Call::Indirect => true,
            Call::None => false,
        };
        if known && called {
            return_to(frame, caller, slot.wrapping_add(8));
            return Ok(true);
        }
    }
    Ok(false)
}

/// A function of a file without information, such as musl, was entered by a call that leads to it:
/// its return address is the nearest one on the stack that follows such a call. Where the function
/// keeps a frame pointer, there is none below that; where it does not, that may be its caller's,
/// which lies above.
///
/// A file of which the tables are not there yet, or found no room, is walked like this too. Each
/// word that is read may be a system call in a handler, so all searches of a walk together read a
/// limited number of words.
fn by_search(frame: &mut Frame<'_>, code: &impl Fn(u64) -> Code, memory: &mut impl Memory) -> bool {
    /// As much stack as most functions of a C library take.
    const MOST: u64 = 2048;
    let Regs { sp, fp, .. } = frame.regs;
    let here = frame.lookup();
    let enters = |entry: u64| (here.wrapping_sub(entry) < MAX_BARE).then_some(());
    let end = sp.saturating_add(MOST);
    let end = match frame.fp_known && fp >= sp {
        true => end.min(fp),
        false => end,
    };
    let mut memory = Limited {
        memory,
        left: frame.search_left,
    };
    let mut found = None;
    for slot in (sp..end).step_by(8) {
        let Some(caller) = memory.read_searched(slot) else {
            break;
        };
        if code(caller.wrapping_sub(1)) == Code::Unknown {
            continue;
        }
        if let Call::Direct(target) = call_before(caller, &mut memory)
            && leads_to(target, enters, &mut memory).is_some()
        {
            found = Some((slot, caller));
            break;
        }
    }
    frame.search_left = memory.left;
    let Some((slot, caller)) = found else {
        return false;
    };
    arrive(frame, caller, slot.wrapping_add(8), Rbx::UNKNOWN);
    // It may have been saved somewhere in between.
    frame.fp_known = false;
    frame.interrupted = false;
    true
}

/// Memory of which a limited number of words can be read: of code, and of what a search comes by.
pub(super) struct Limited<'a, M> {
    pub memory: &'a mut M,
    pub left: u16,
}

impl<M: Memory> Memory for Limited<'_, M> {
    fn read(&mut self, address: u64) -> Option<u64> {
        self.memory.read(address)
    }

    fn read_searched(&mut self, address: u64) -> Option<u64> {
        self.left = self.left.checked_sub(1)?;
        self.memory.read_searched(address)
    }

    fn read_code(&mut self, address: u64) -> Option<u64> {
        self.left = self.left.checked_sub(1)?;
        self.memory.read_code(address)
    }
}

fn by_frame_pointer(
    frame: &mut Frame<'_>,
    depth: usize,
    here: Code,
    code: &impl Fn(u64) -> Code,
    memory: &mut impl Memory,
) -> Result<(), Stop> {
    let Regs { sp, fp, .. } = frame.regs;
    if !frame.fp_known {
        return Err(Stop::Unsupported);
    }
    if fp == 0 && depth > 1 && here == Code::Module {
        // The ABI's mark of the outermost frame. Generated code never is: something called it.
        return Err(Stop::End(End::Root));
    }
    if fp < sp || fp % 8 != 0 || fp > u64::MAX - 16 {
        return Err(Stop::Unsupported);
    }
    // The register may hold anything, so the two words may lie beyond the stack.
    let saved = [fp, fp + 8].map(|place| memory.read_searched(place));
    let [Some(callers_fp), Some(caller)] = saved else {
        return Err(Stop::Unsupported);
    };
    let plausible = match code(caller.wrapping_sub(1)) {
        Code::Row => true,
        // Generated code calls its like and the builtins that it was linked with; they call back.
        Code::Module => here != Code::Row,
        Code::Unknown => {
            let grows = callers_fp == 0 || callers_fp > fp;
            caller == 0 || here != Code::Row && grows && memory.read_code(caller & !7).is_some()
        }
    };
    if !plausible {
        return Err(Stop::Unsupported);
    }
    frame.regs.fp = callers_fp;
    arrive(frame, caller, fp + 16, Rbx::UNKNOWN);
    frame.interrupted = false;
    Ok(())
}

/// Moves a frame that has changed no register to its caller.
fn return_to(frame: &mut Frame<'_>, ip: u64, sp: u64) {
    arrive(frame, ip, sp, Rbx::SAME);
    frame.interrupted = false;
}
