//! The ends of blocks and pages, in both ways of recording.

use profundo_probe::heap::{Shade, followed};

use crate::home;
use crate::memory::local::{Local, local};
use crate::memory::state::{FEW, heap};
use crate::memory::{exact, sampled};

/// A block that was removed.
pub enum Gone {
    /// The block was followed, and whether nothing was allocated since.
    Followed(followed::Block, bool),
    /// The block was counted, and whether nothing was allocated since.
    Counted(Shade, bool),
}

/// True if the end of a block may matter to the recording.
#[inline(always)]
pub fn may_matter(address: u64) -> bool {
    FEW.may_have(address)
}

/// Notes that a block is about to be freed.
#[inline(always)]
pub fn freed(address: u64) {
    match (heap(), exact::exact()) {
        (None, Some(exact)) if address != 0 => exact::freed_at(exact, address),
        (None, _) => {}
        (Some(_), _) => freed_seldom(address),
    }
}

#[cold]
#[inline(never)]
fn freed_seldom(address: u64) {
    if let Some(gone) = remove_block(address) {
        report_freed(gone);
    }
}

/// Removes a block that may be about to be freed. Returns what it was, if it was known. From then
/// on its place may be another's.
#[inline(always)]
pub fn remove_block(address: u64) -> Option<Gone> {
    match heap() {
        Some(heap) if heap.followed.may_have(&FEW, address) => {
            sampled::remove_block(local(), address)
        }
        Some(_) => None,
        None => counted(address),
    }
}

#[inline(always)]
fn counted(address: u64) -> Option<Gone> {
    let exact = exact::exact()?;
    if address == 0 {
        return None;
    }
    exact::remove_block(exact, address)
}

/// Reports that a block was freed.
#[inline]
pub fn report_freed(gone: Gone) {
    match (gone, exact::exact()) {
        (Gone::Followed(block, at_once), _) => {
            if let Some(home) = home::current() {
                sampled::freed(home, block.number, at_once);
            }
        }
        (Gone::Counted(shade, at_once), Some(exact)) => exact::freed(exact, shade, at_once),
        (Gone::Counted(..), None) => {}
    }
}

/// Restores a block that was not freed after all.
#[cold]
pub fn put_back(address: u64, gone: Gone) {
    match (gone, exact::exact()) {
        (Gone::Followed(block, _), _) => sampled::follow_again(block),
        (Gone::Counted(shade, _), Some(exact)) => exact::put_back(exact, address, shade),
        (Gone::Counted(..), None) => {}
    }
}

/// Notes that pages are about to be unmapped.
#[inline]
pub fn unmapped(local: &Local, start: u64, bytes: u64) {
    if let Some(heap) = heap().filter(|heap| !heap.mapped.is_empty()) {
        local.alone(|| {
            heap.mapped.remove(start, bytes, |number, _, is_all| {
                if let (true, Some(home)) = (is_all, home::current()) {
                    sampled::freed(home, number, local.is_right_after(number));
                }
            });
        });
    } else if let Some(exact) = exact::exact().filter(|exact| !exact.mapped().is_empty()) {
        local.alone(|| {
            exact.mapped().remove(start, bytes, |site, gone, is_all| {
                exact::unmapped(exact, site, gone, is_all);
            });
        });
    }
}
