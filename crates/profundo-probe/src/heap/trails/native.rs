//! Native frames.

use profundo_unwind::{Arrival, Observer, Way};

use super::{Number, Part, Read, ReadLog, Trails, place_of};

/// A frame, in the state in which a walk has reached it.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub(super) struct NativeNode {
    ip: u64,
    sp: u64,
    /// The frame pointer, which counts where it is used.
    fp: u64,
    /// The place of the caller's frame pointer; 0: it is the same.
    slot: u64,
    /// The place of the return address, and its value.
    return_at: u64,
    returns_to: u64,
    /// The caller; 0: this is the root.
    parent: Number,
    /// The number of frames from here to the root.
    depth: u32,
    uses_fp: bool,
    /// Whether the frame pointer is used here or further out, before another one is read.
    needs_fp: bool,
}

/// A frame of the present walk.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub(super) struct NativeStep {
    arrival: Arrival,
    way: Way,
    /// The read of the frame pointer, and the number of reads noted before.
    frame_pointer: Read,
    reads_from: u32,
}

/// Lets a walk take over known frames, and keeps new ones.
#[derive(Debug)]
pub(crate) struct Sharing<'a, O> {
    pub(crate) inner: &'a mut O,
    pub(crate) trails: Option<(&'a Trails, &'a ReadLog)>,
}

impl<O: Observer> Observer for Sharing<'_, O> {
    #[inline]
    fn frame(&mut self, index: usize, address: u64, sp: u64, cfa: u64) {
        self.inner.frame(index, address, sp, cfa);
    }

    fn unlisted(&mut self) {
        self.inner.unlisted();
    }

    #[inline]
    fn arrive(&mut self, index: usize, arrival: &Arrival, out: &mut [u64]) -> Option<usize> {
        let (trails, log) = self.trails?;
        // SAFETY: it is the calling thread that is walked, from its own registers.
        let number = unsafe { trails.arrive_native(arrival, log) }?;
        let mut node = trails.native.at(number)?;
        let count = node.depth as usize;
        let Some(out) = out.get_mut(..count) else {
            // It ends in the middle, where the room ends.
            trails.native.rest.set(0);
            trails.begin_native_step(arrival, log);
            return None;
        };
        trails.native.is_whole.set(true);
        if node.needs_fp {
            log.uses_frame_pointer();
        }
        for (at, place) in out.iter_mut().enumerate() {
            *place = node.ip;
            let Some(caller) = trails.native.at(node.parent) else {
                break;
            };
            self.inner.frame(index + at, node.ip, node.sp, caller.sp);
            node = caller;
        }
        Some(count)
    }

    #[inline]
    fn went(&mut self, way: Way) {
        if let Some((trails, _)) = self.trails {
            trails.native.change_step(|step| step.way = way);
            if way.is_last() {
                trails.native.is_whole.set(true);
            }
        }
    }
}

impl Trails {
    /// Native nodes hold for one list of modules.
    pub(crate) fn begin_native(&self, generation: u64) {
        self.native.clear();
        if self.generation.replace(generation) != generation {
            self.native.forget_places();
        }
    }

    fn begin_native_step(&self, arrival: &Arrival, log: &ReadLog) {
        self.native.begin_step(NativeStep {
            arrival: *arrival,
            way: Way::Other,
            frame_pointer: log.frame_pointer(),
            reads_from: log.count() as u32,
        });
    }

    /// The walk reaches a frame. Returns the node that it continues like, if there is one.
    ///
    /// # Safety
    /// The calling thread's own stack is walked.
    #[inline]
    unsafe fn arrive_native(&self, arrival: &Arrival, log: &ReadLog) -> Option<Number> {
        let Arrival { ip, sp, fp, .. } = *arrival;
        if arrival.is_plain && sp > self.native.passed.get() {
            let number = self.native.places.get(place_of(sp, ip))?.get();
            let node = self.native.at(number);
            if node.is_some_and(|node| (node.ip, node.sp) == (ip, sp)) {
                // SAFETY: the caller vouches.
                match unsafe { self.native_holds(number, fp) } {
                    Ok(()) => {
                        self.native.rest.set(number);
                        return Some(number);
                    }
                    Err(sp) => self.native.passed.set(sp),
                }
            }
        }
        self.begin_native_step(arrival, log);
        None
    }

    /// Whether all frames from this one on are unchanged, if it has this frame pointer; if not, the
    /// place of the first changed one.
    ///
    /// # Safety
    /// The node is a frame on the calling thread's own stack, which is mapped as long as the thread
    /// is there.
    #[inline]
    unsafe fn native_holds(&self, number: Number, mut fp: u64) -> Result<(), u64> {
        // SAFETY: nodes are made of walks that have read these words on the thread's own stack.
        let load = |address: u64| unsafe { (address as *const u64).read_unaligned() };
        let mut slot = 0;
        let mut next = number;
        while let Some(node) = self.native.at(next)
            && node.parent != 0
        {
            if node.uses_fp {
                if slot != 0 {
                    fp = load(slot);
                    slot = 0;
                }
                if fp != node.fp {
                    return Err(node.sp);
                }
            }
            // The state of the next step: its place is the same, as everything before it is
            // unchanged.
            if load(node.return_at) != node.returns_to {
                return Err(node.sp);
            }
            if node.slot != 0 {
                slot = node.slot;
            }
            next = node.parent;
        }
        Ok(())
    }

    /// Whether the way from a node on depends on the frame pointer there.
    fn needs_frame_pointer(&self, number: Number) -> bool {
        self.native.at(number).is_some_and(|node| node.needs_fp)
    }

    /// As `native_holds`, for a stack whose other words are unchanged, so that the first frame
    /// pointer is, too.
    ///
    /// # Safety
    /// The node is one of the calling thread's.
    #[inline]
    pub(in super::super) unsafe fn native_holds_still(&self, number: Number) -> bool {
        let fp = self.native.at(number).map_or(0, |node| node.fp);
        // SAFETY: passed on.
        number == 0 || unsafe { self.native_holds(number, fp) }.is_ok()
    }

    /// All words read of the frames from this one on. If they use a frame pointer that was read
    /// before, that is left to the caller.
    pub(super) fn native_words(&self, number: Number) -> impl Iterator<Item = Read> {
        let (mut next, mut slot) = (number, 0);
        let words = core::iter::from_fn(move || {
            let node = self.native.at(next).filter(|node| node.parent != 0)?;
            next = node.parent;
            let frame_pointer = (node.uses_fp && slot != 0).then(|| Read {
                address: core::mem::take(&mut slot),
                word: node.fp,
            });
            if node.slot != 0 {
                slot = node.slot;
            }
            let returns = Read {
                address: node.return_at,
                word: node.returns_to,
            };
            Some(frame_pointer.into_iter().chain([returns]))
        });
        words.flatten()
    }

    /// The addresses of the frames that the walk has taken over.
    #[cfg(test)]
    pub(super) fn native_rest(&self) -> impl Iterator<Item = u64> {
        let mut next = self.native.rest.get();
        core::iter::from_fn(move || {
            let node = self.native.at(next)?;
            next = node.parent;
            Some(node.ip)
        })
    }

    /// The part of the native frames to be kept, whose reads these are, and the read of the frame
    /// pointer that the innermost node is found by, if there is one.
    pub(super) fn native_part(&self, from: usize, to: usize) -> (Part, Option<Read>) {
        let steps = &self.native;
        let none = Part {
            from,
            to,
            ..Part::default()
        };
        if !steps.is_whole.get() {
            return (none, None);
        }
        let all = steps.count.get();
        let is_node = |at: &usize| {
            let step = steps.step(*at);
            step.is_some_and(|step| step.arrival.is_plain && !matches!(step.way, Way::Other))
        };
        let nodes = (0..all).rev().take_while(is_node).count();
        let Some(first) = steps.step(all - nodes).filter(|_| nodes > 0) else {
            let has_nodes = steps.rest.get() != 0;
            return (Part { has_nodes, ..none }, None);
        };
        let part = Part {
            from,
            to: (first.reads_from as usize).clamp(from, to),
            nodes,
            has_nodes: true,
        };
        let mut needs_fp = self.needs_frame_pointer(steps.rest.get());
        for step in (all - nodes..all).rev().filter_map(|at| steps.step(at)) {
            needs_fp = step.way.needs_frame_pointer(needs_fp);
        }
        // If it is that of the first frame, the log has it.
        let frame_pointer = first.frame_pointer;
        let is_read = needs_fp && frame_pointer.address != 0;
        (part, is_read.then_some(frame_pointer))
    }

    /// Keeps the last frames of the walk. Returns the innermost.
    pub(super) fn keep_native(&self, count: usize) -> Option<Number> {
        let root = |ip, sp| NativeNode {
            ip,
            sp,
            fp: 0,
            slot: 0,
            return_at: 0,
            returns_to: 0,
            parent: 0,
            // A return address of 0 is no frame.
            depth: u32::from(ip != 0),
            uses_fp: false,
            needs_fp: false,
        };
        let mut number = self.native.rest.get();
        let all = self.native.count.get();
        for index in (all.checked_sub(count)?..all).rev() {
            let NativeStep { arrival, way, .. } = self.native.step(index)?;
            let Arrival { ip, sp, fp, .. } = arrival;
            let node = match way {
                Way::Other => return None,
                Way::Root => root(ip, sp),
                Way::Caller {
                    uses_fp,
                    slot,
                    cfa,
                    ip: returns_to,
                } => {
                    if number == 0 {
                        number = self.native.keep(root(0, cfa), place_of(cfa, 0))?;
                    }
                    let caller = self.native.at(number)?;
                    let (further, depth) = (caller.needs_fp, caller.depth + 1);
                    NativeNode {
                        slot,
                        return_at: cfa.wrapping_sub(8),
                        returns_to,
                        parent: number,
                        depth,
                        uses_fp,
                        needs_fp: way.needs_frame_pointer(further),
                        fp,
                        ..root(ip, sp)
                    }
                }
            };
            number = self.native.keep(node, place_of(sp, ip))?;
        }
        Some(number)
    }
}
