//! A blocked thread is read from outside, and the kernel reports its stack pointer but not its
//! frame pointer. Where a rule needs it, the stack is searched for the frame it must point to: one
//! whose return address follows a call of this very function, or at least of some pointer, and from
//! which the walk goes on. What earlier calls left behind looks alike, so being near is not enough.

use crate::regs::{self, Call, Frame, Stop};
use crate::{End, Memory, Modules, Regs, Row};

/// Frame pointers tried: those of 32 KiB of stack.
const MAX_TRIED: u64 = 2048;
/// The alignment of a frame pointer after a prologue.
const STEP: u64 = 16;
/// Frames above the candidate that must be walkable.
const PROOF: usize = 4;
/// The limit of calls that are followed to their targets.
const MAX_FOLLOWED: usize = 128;
/// The number of rows back within which a function may begin.
const MAX_ROWS: usize = 1024;

/// Moves a frame to its caller, when the row needs an unknown frame pointer.
#[cold]
pub(crate) fn step(
    frame: &mut Frame<'_>,
    row: Row,
    modules: &Modules<'_>,
    memory: &mut impl Memory,
) -> Result<(), End> {
    let from = frame.regs.sp.saturating_add(STEP - 1) & !(STEP - 1);
    let module = modules.find(frame.lookup());
    let entries = module
        .map(|module| module.table.entries_before(frame.lookup(), MAX_ROWS))
        .unwrap_or_default();
    let mut followed = 0;
    let mut by_pointer = None;
    let mut by_name: Option<(u64, Frame<'_>)> = None;
    for tried in 0..MAX_TRIED {
        let mut caller = *frame;
        let tried_fp = from.saturating_add(tried * STEP);
        caller.regs.fp = tried_fp;
        caller.fp_known = true;
        match regs::step(&mut caller, row, memory) {
            Ok(()) => {}
            // Past the end of the stack there is nothing more to find.
            Err(Stop::End(End::Unreadable { address })) if address >= tried_fp => break,
            Err(_) => continue,
        }
        if caller.regs.sp <= tried_fp || modules.find(caller.lookup()).is_none() {
            continue;
        }
        let call = regs::call_before(caller.regs.ip, memory);
        if call == Call::None || !goes_on(caller, modules, memory) {
            continue;
        }
        match call {
            Call::Direct(target) => {
                followed += 1;
                if followed > MAX_FOLLOWED {
                    break;
                }
                let Some(entry) = regs::leads_to(target, |to| entries.find(to), memory) else {
                    continue;
                };
                // Of two functions, the one that begins nearer is the one that holds the address.
                if by_name.is_none_or(|(best, _)| entry > best) {
                    by_name = Some((entry, caller));
                }
            }
            _ => by_pointer = by_pointer.or(Some(caller)),
        }
    }
    *frame = by_name
        .map(|(_, caller)| caller)
        .or(by_pointer)
        .ok_or(End::FramePointerUnknown)?;
    Ok(())
}

/// True if the frames above a candidate are walkable, by rows alone.
fn goes_on(mut frame: Frame<'_>, modules: &Modules<'_>, memory: &mut impl Memory) -> bool {
    for _ in 0..PROOF {
        let Some(row) = modules.row(frame.lookup()) else {
            // The first code of a process has no row, and clears the frame pointer; generated
            // code has none either, and keeps one.
            let Regs { sp, fp, .. } = frame.regs;
            return frame.fp_known && (fp == 0 || fp >= sp && memory.read(fp).is_some());
        };
        match regs::step(&mut frame, row, memory) {
            Ok(()) if frame.regs.ip == 0 => return true,
            Ok(()) => {}
            Err(stop) => return stop == Stop::End(End::Root),
        }
    }
    true
}
