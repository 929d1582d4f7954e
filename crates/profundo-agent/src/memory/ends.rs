//! What becomes of blocks and pages: whichever way they are recorded.

use profundo_probe::heap::{Shade, followed};

use crate::fork;
use crate::memory::local::{Local, local};
use crate::memory::state::heap;
use crate::memory::{exact, sampled};

/// A block that was about to be freed.
pub enum Gone {
    /// It was followed.
    Followed(followed::Block),
    /// It was counted.
    Counted(Shade),
}

/// Whether it may matter to anybody that a block is freed.
#[inline(always)]
pub fn may_matter(address: u64) -> bool {
    match heap() {
        Some(heap) => heap.followed.may_have(address),
        None => exact::exact().is_some(),
    }
}

/// Notes that a block is about to be freed. Returns what it was, if anybody knew of it.
#[inline(always)]
pub fn given_back(address: u64) -> Option<Gone> {
    match heap() {
        Some(heap) if heap.followed.may_have(address) => {
            sampled::let_go(local(), address).map(Gone::Followed)
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
    exact::freed(exact, address).map(Gone::Counted)
}

/// It was not freed after all.
#[cold]
pub fn taken_back(address: u64, gone: Gone) {
    match (gone, exact::exact()) {
        (Gone::Followed(block), _) => sampled::follow_again(block),
        (Gone::Counted(shade), Some(exact)) => exact::not_freed(exact, address, shade),
        (Gone::Counted(_), None) => {}
    }
}

/// Notes that pages are about to be given back.
#[inline]
pub fn unmapped(local: &Local, start: u64, bytes: u64) {
    if let Some(heap) = heap().filter(|heap| !heap.mapped.is_empty()) {
        heap.mapped.remove(start, bytes, |number, _, is_all| {
            if let (true, Some(home)) = (is_all, fork::home_of_this_process()) {
                sampled::freed(home, number, local.is_right_after(number));
            }
        });
    } else if let Some(exact) = exact::exact().filter(|exact| !exact.mapped.is_empty()) {
        exact.mapped.remove(start, bytes, |site, gone, is_all| {
            exact::unmapped(exact, site, gone, is_all);
        });
    }
}
