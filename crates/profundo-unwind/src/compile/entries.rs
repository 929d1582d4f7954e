//! The entries of `.eh_frame` follow each other by their lengths, so that a damaged one is
//! stepped over and the rest is still found.

use gimli::{EhFrameOffset, UnwindSection};

use super::{Cies, Reader, instructions::Initial};

pub(crate) type Section<'a> = gimli::EhFrame<Reader<'a>>;
pub(crate) type Fde<'a> = gimli::FrameDescriptionEntry<Reader<'a>>;

/// Offsets of the fdes of a section.
pub(crate) struct Entries<'a> {
    section: &'a [u8],
    offset: usize,
}

impl<'a> Entries<'a> {
    pub fn fdes(section: &'a [u8]) -> Self {
        Self { section, offset: 0 }
    }

    fn word(&self, offset: usize) -> Option<u32> {
        let bytes = self.section.get(offset..)?.first_chunk::<4>()?;
        Some(u32::from_le_bytes(*bytes))
    }
}

impl Iterator for Entries<'_> {
    type Item = usize;

    fn next(&mut self) -> Option<usize> {
        loop {
            let offset = self.offset;
            let (length, body) = match self.word(offset)? {
                0 => return None,
                u32::MAX => {
                    let bytes = self.section.get(offset + 4..)?.first_chunk::<8>()?;
                    (
                        usize::try_from(u64::from_le_bytes(*bytes)).ok()?,
                        offset + 12,
                    )
                }
                length => (length as usize, offset + 4),
            };
            // An entry holds at least its id, so each turn moves on.
            self.offset = body.checked_add(length.max(4))?;
            if self.word(body)? != 0 {
                return Some(offset);
            }
        }
    }
}

/// Reads the fde at an offset, and its cie if it was not read yet.
pub(crate) fn fde<'a, 'c>(
    section: &Section<'a>,
    bases: &gimli::BaseAddresses,
    offset: usize,
    cies: &'c mut Cies<'a>,
) -> Option<(Fde<'a>, &'c Initial)> {
    let mut at = 0;
    let fde = section
        .fde_from_offset(bases, EhFrameOffset(offset), |section, bases, cie| {
            at = cie.0;
            let known = cies.entry(cie.0).or_insert_with(|| {
                let entry = section.cie_from_offset(bases, cie).ok()?;
                let initial = Initial::of(section, bases, &entry)?;
                Some((entry, initial))
            });
            match known {
                Some((entry, _)) => Ok(entry.clone()),
                None => Err(gimli::Error::NotCieId(cie.0 as u64)),
            }
        })
        .ok()?;
    let (_, initial) = cies.get(&at)?.as_ref()?;
    Some((fde, initial))
}
