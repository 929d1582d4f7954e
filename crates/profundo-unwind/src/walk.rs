//! The walk: from the registers of one frame to those of its caller, until there is none. It runs
//! in signal handlers, so it stores addresses in the given slice and asks for nothing else.
//!
//! It goes by rows where there are any, else by frame pointers, else it ends with a reason.

use crate::cache::{Cached, Rows, Tables, WalkCache};
use crate::regs::{self, Code, Frame, Stop};
use crate::{General, Modules, Regs, scan};

/// Reads the memory of the thread that is walked.
pub trait Memory {
    /// The eight bytes at an address, which need not be aligned; `None` if they cannot be read.
    ///
    /// Mostly the stack is read. Code is read only where there is no row for an address, and to
    /// find a frame pointer that is not known.
    fn read(&mut self, address: u64) -> Option<u64>;

    /// As [`Memory::read`], for code. A walk that begins with the same registers and reads the same
    /// words reads the same code, unless that was replaced.
    #[inline]
    fn read_code(&mut self, address: u64) -> Option<u64> {
        self.read(address)
    }

    /// As [`Memory::read`], for a word that may lie beyond the stack, because a search comes by it.
    #[inline]
    fn read_searched(&mut self, address: u64) -> Option<u64> {
        self.read(address)
    }

    /// As [`Memory::read`], for the place of a saved frame pointer. Whether it matters is known
    /// when it is used.
    #[inline]
    fn read_frame_pointer(&mut self, address: u64) -> Option<u64> {
        self.read(address)
    }

    /// The walk uses the frame pointer: the last one read, or else the first one.
    #[inline]
    fn uses_frame_pointer(&mut self) {}

    /// The walk uses another general register of the first frame.
    #[inline]
    fn uses_general(&mut self) {}
}

/// The reason why a walk ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// It reached the outermost frame.
    Root,
    /// There is no room for the frames that remain.
    Full,
    /// The last address has no row, and frame pointers do not help.
    NoTable {
        /// The last address.
        ip: u64,
    },
    /// The last address has a rule that a row cannot express, and frame pointers do not help.
    Unsupported {
        /// The last address.
        ip: u64,
    },
    /// Memory that a rule points to cannot be read.
    Unreadable {
        /// The unreadable address.
        address: u64,
    },
    /// The caller's frame would not be above its callee's: the stack is damaged or changing.
    NoProgress,
    /// A rule needs the frame pointer, which is not known and could not be found.
    FramePointerUnknown,
}

/// Follows the frames of a walk, from the leaf to the root.
///
/// An interpreter keeps records on the stack that say which of its functions a native frame runs. A
/// reader of those records needs the places of the frames.
pub trait Observer {
    /// The frame whose address was stored at `index` takes the stack from `sp` up to its caller's
    /// stack pointer, `cfa`. Not called for a frame whose caller was not found.
    fn frame(&mut self, index: usize, address: u64, sp: u64, cfa: u64);

    /// The next frame's code lies in no module: from here on the walk guesses, or ends.
    fn unlisted(&mut self) {}

    /// The walk reaches a frame, whose address will be stored at `index`. An observer that knows
    /// all frames from this one to the root stores their addresses in `out`, and returns their
    /// number.
    #[inline]
    fn arrive(&mut self, _index: usize, _arrival: &Arrival, _out: &mut [u64]) -> Option<usize> {
        None
    }

    /// Reports the step from the last frame. Not called where the walk ends before the root.
    #[inline]
    fn went(&mut self, _way: Way) {}
}

/// The state of a walk that has come to a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arrival {
    /// The instruction.
    pub ip: u64,
    /// The stack pointer.
    pub sp: u64,
    /// The frame pointer.
    pub fp: u64,
    /// True if the way depends on nothing else, if only rows of the usual kinds follow up to the
    /// root. A first frame or an interrupted one is not plain.
    pub is_plain: bool,
}

/// The step of a walk from a frame. All bytes zero are a valid value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Way {
    /// To its caller, by a row of a usual kind. It depends on the stack pointer or the frame
    /// pointer, and on the words that the return address and the caller's frame pointer are read
    /// from.
    Caller {
        /// True if the caller is found by the frame pointer.
        uses_fp: bool,
        /// The place that the caller's frame pointer was read from; 0: it is unchanged.
        slot: u64,
        /// The caller's stack pointer. The word below is the return address.
        cfa: u64,
        /// The return address; 0: there is no caller.
        ip: u64,
    },
    /// The row says that there is no caller.
    Root,
    /// In some other way.
    Other,
}

impl Way {
    /// True if there is no frame behind this one.
    #[inline]
    pub fn is_last(&self) -> bool {
        matches!(self, Self::Root | Self::Caller { ip: 0, .. })
    }

    /// True if the way depends on the frame pointer, given whether it does so from the caller on.
    #[inline]
    pub fn needs_frame_pointer(&self, further: bool) -> bool {
        match *self {
            Self::Caller { uses_fp, slot, .. } => uses_fp || slot == 0 && further,
            Self::Root | Self::Other => false,
        }
    }
}

/// Does not observe.
impl Observer for () {
    #[inline]
    fn frame(&mut self, _: usize, _: u64, _: u64, _: u64) {}
}

/// Walks a stack and stores code addresses, the leaf's first; returns how many, and why there
/// are no more.
///
/// The first address is the instruction that runs next; the others are return addresses, so the
/// call is at the address minus one. For a frame that was interrupted by a signal, too, the
/// instruction is at the stored address minus one: one has been added.
///
/// ```no_run
/// # fn example(regs: profundo_unwind::Regs, modules: profundo_unwind::Modules, memory: &mut impl profundo_unwind::Memory) {
/// let mut out = [0; 512];
/// let (depth, end) = profundo_unwind::walk(regs, &modules, memory, &mut out);
/// # }
/// ```
pub fn walk(
    regs: Regs,
    modules: &Modules<'_>,
    memory: &mut impl Memory,
    out: &mut [u64],
) -> (usize, End) {
    let frame = Frame::first(regs, None);
    drive(frame, modules, Tables::new(modules), memory, out, &mut ())
}

/// As [`walk`], for a first frame whose general registers are known as well: the few
/// instructions that keep the frame in one of them are then walked too.
pub fn walk_with_registers(
    regs: Regs,
    general: &General,
    modules: &Modules<'_>,
    memory: &mut impl Memory,
    out: &mut [u64],
) -> (usize, End) {
    let frame = Frame::first(regs, Some(general));
    drive(frame, modules, Tables::new(modules), memory, out, &mut ())
}

/// As [`walk`], or [`walk_with_registers`] if there are any, with a cache for the rows of the
/// stacks before. It must have [entered](WalkCache::enter) the generation of `modules`.
pub fn walk_cached(
    regs: Regs,
    general: Option<&General>,
    modules: &Modules<'_>,
    cache: &mut WalkCache,
    memory: &mut impl Memory,
    out: &mut [u64],
) -> (usize, End) {
    let tables = Tables::new(modules);
    let frame = Frame::first(regs, general);
    let rows = Cached { cache, tables };
    drive(frame, modules, rows, memory, out, &mut ())
}

/// As [`walk_cached`], or [`walk_with_registers`] without a cache, with an `observer` of the
/// frames.
pub fn walk_observed(
    regs: Regs,
    general: &General,
    modules: &Modules<'_>,
    cache: Option<&mut WalkCache>,
    memory: &mut impl Memory,
    out: &mut [u64],
    observer: &mut impl Observer,
) -> (usize, End) {
    let tables = Tables::new(modules);
    let frame = Frame::first(regs, Some(general));
    match cache {
        Some(cache) => {
            let rows = Cached { cache, tables };
            drive(frame, modules, rows, memory, out, observer)
        }
        None => drive(frame, modules, tables, memory, out, observer),
    }
}

/// As [`walk`], for a blocked thread, whose frame pointer the kernel does not report; that of
/// `regs` is not used.
///
/// It is known again as soon as a frame has saved it. A rule that needs it before that searches the
/// stack for a return address that fits; if there is none the walk ends in
/// [`End::FramePointerUnknown`]. `observer` sees each frame.
pub fn walk_without_frame_pointer(
    regs: Regs,
    modules: &Modules<'_>,
    memory: &mut impl Memory,
    out: &mut [u64],
    observer: &mut impl Observer,
) -> (usize, End) {
    let mut frame = Frame::first(regs, None);
    frame.fp_known = false;
    drive(frame, modules, Tables::new(modules), memory, out, observer)
}

/// Each turn stores one address, so the length of `out` bounds the loop.
fn drive(
    mut frame: Frame<'_>,
    modules: &Modules<'_>,
    mut rows: impl Rows,
    memory: &mut impl Memory,
    out: &mut [u64],
    observer: &mut impl Observer,
) -> (usize, End) {
    let mut depth = 0;
    loop {
        if let Some(known) = observer.arrive(
            depth,
            &frame.arrival(depth),
            out.get_mut(depth..).unwrap_or_default(),
        ) {
            return (depth + known, End::Root);
        }
        let Some(slot) = out.get_mut(depth) else {
            return (depth, End::Full);
        };
        let mut way = Way::Other;
        let marked = frame.interrupted && depth > 0;
        let address = frame.regs.ip.wrapping_add(u64::from(marked));
        *slot = address;
        let sp = frame.regs.sp;
        depth += 1;
        let stepped = match rows.row(frame.lookup()) {
            Some(row) => match regs::step_reporting(&mut frame, row, memory, &mut way) {
                Err(Stop::NeedsFramePointer) => scan::step(&mut frame, row, modules, memory),
                Err(Stop::Unsupported) => {
                    let ip = frame.regs.ip;
                    without_row(&mut frame, depth, modules, memory)
                        .map_err(|end| end.unwrap_or(End::Unsupported { ip }))
                }
                Err(Stop::End(end)) => Err(end),
                Ok(()) => Ok(()),
            },
            None => {
                if modules.find(frame.lookup()).is_none() {
                    observer.unlisted();
                }
                let ip = frame.regs.ip;
                without_row(&mut frame, depth, modules, memory)
                    .map_err(|end| end.unwrap_or(End::NoTable { ip }))
            }
        };
        match stepped {
            Ok(()) => {
                observer.frame(depth - 1, address, sp, frame.regs.sp);
                observer.went(way);
            }
            Err(end) => {
                if way == Way::Root {
                    observer.went(way);
                }
                return (depth, end);
            }
        }
        if frame.regs.ip == 0 {
            return (depth, End::Root);
        }
    }
}

/// `Err(None)` if nothing helps.
#[cold]
fn without_row(
    frame: &mut Frame<'_>,
    depth: usize,
    modules: &Modules<'_>,
    memory: &mut impl Memory,
) -> Result<(), Option<End>> {
    let code = |address| match modules.find(address) {
        Some(module) if module.table.find(address).is_some() => Code::Row,
        Some(_) => Code::Module,
        None => Code::Unknown,
    };
    memory.uses_frame_pointer();
    regs::step_without_row(frame, depth, code, memory).map_err(|stop| match stop {
        Stop::End(End::Root) => Some(End::Root),
        Stop::End(End::NoProgress) => Some(End::NoProgress),
        _ => None,
    })
}
