//! Stacks: the frames of each, root first.

use std::ops::Range;

use super::Table;
use crate::Error;
use crate::file::{Group, Put};
use crate::ids::{FrameId, Id};
use crate::texts::{Text, Texts};

/// The definition of a stack.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct StackRow {
    /// The service.
    pub service: Text,
    /// The id.
    pub stack: Id,
    /// The frames, root first.
    pub frames: Vec<FrameId>,
}

impl Table for StackRow {
    const NAME: &'static str = "stacks";
    const SCHEMA: &'static str = "message stacks {
        REQUIRED BYTE_ARRAY service (STRING);
        REQUIRED FIXED_LEN_BYTE_ARRAY (16) stack;
        REQUIRED GROUP frames (LIST) {
            REPEATED GROUP list {
                REQUIRED INT64 element;
            }
        }
    }";
    const GROUP: usize = 8192;
    const SORTED_BY: &'static [i32] = &[0];

    fn write(rows: &[Self], texts: &Texts, put: &mut Put<'_, '_>) -> Result<(), Error> {
        put.texts(texts, rows.iter().map(|row| row.service))?;
        put.ids(rows.iter().map(|row| row.stack))?;
        put.long_lists(rows.iter().map(|row| &row.frames[..]))
    }

    fn read(group: &Group<'_>, rows: Range<usize>, texts: &mut Texts) -> Result<Vec<Self>, Error> {
        let service = group.texts("service", rows.clone(), texts)?;
        let stack = group.ids("stack", rows.clone())?;
        let frames = group.long_lists("frames.list.element", rows)?;
        let rows = stack.into_iter().zip(frames).enumerate();
        let row = |(at, (stack, frames))| Self {
            service: service.get(at),
            stack,
            frames,
        };
        Ok(rows.map(row).collect())
    }
}
