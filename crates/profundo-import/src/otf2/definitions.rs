//! The definitions of an archive: strings, regions, locations and their groups. A location has a
//! table of its own where its numbers are not those of the archive.

use rustc_hash::FxHashMap;

use super::records::{Damage, Record, number, records};
use crate::encoding::cursor::Cursor;

/// The definitions of an archive.
#[derive(Debug, Default)]
pub(super) struct Definitions {
    pub(super) ticks_per_second: u64,
    /// Nanoseconds since 1970 at the start; 0 where unknown.
    pub(super) start_unix: u64,
    strings: FxHashMap<u64, String>,
    pub(super) regions: FxHashMap<u64, Region>,
    pub(super) locations: Vec<Location>,
    /// The names of groups.
    groups: FxHashMap<u64, u64>,
}

/// A region: a function, or a part of one.
#[derive(Debug)]
pub(super) struct Region {
    pub(super) name: u64,
    pub(super) file: u64,
    pub(super) line: u32,
}

/// A location: a thread.
#[derive(Debug)]
pub(super) struct Location {
    pub(super) id: u64,
    pub(super) name: u64,
    pub(super) group: u64,
}

impl Definitions {
    /// Reads the file of definitions.
    pub(super) fn read(bytes: &[u8], chunk: usize) -> (Self, Option<Damage>) {
        const CLOCK: u8 = 5;
        const STRING: u8 = 10;
        const GROUP: u8 = 13;
        const LOCATION: u8 = 14;
        const REGION: u8 = 15;
        let mut found = Self::default();
        let damage = records(bytes, chunk, false, |record| {
            let Record::Plain(kind, bytes) = record else {
                return;
            };
            let mut cursor = Cursor::new(bytes);
            let cursor = &mut cursor;
            match kind {
                CLOCK => drop(found.clock(cursor)),
                STRING => drop(found.add_string(cursor)),
                GROUP => drop(found.add_group(cursor)),
                LOCATION => drop(found.add_location(cursor)),
                REGION => drop(found.add_region(cursor)),
                _ => {}
            }
        });
        (found, damage)
    }

    fn clock(&mut self, cursor: &mut Cursor<'_>) -> Option<()> {
        self.ticks_per_second = number(cursor)??;
        // The first time, the length.
        number(cursor)?;
        number(cursor)?;
        // Archives before version 3 do not have it.
        self.start_unix = cursor.u64().filter(|&time| time != u64::MAX).unwrap_or(0);
        Some(())
    }

    fn add_string(&mut self, cursor: &mut Cursor<'_>) -> Option<()> {
        let id = number(cursor)??;
        let text = cursor.take(cursor.left())?;
        let text = text.split(|&byte| byte == 0).next()?;
        let text = String::from_utf8_lossy(text).into_owned();
        self.strings.insert(id, text);
        Some(())
    }

    fn add_group(&mut self, cursor: &mut Cursor<'_>) -> Option<()> {
        let (id, name) = (number(cursor)??, number(cursor)??);
        self.groups.insert(id, name);
        Some(())
    }

    fn add_location(&mut self, cursor: &mut Cursor<'_>) -> Option<()> {
        let (id, name) = (number(cursor)??, number(cursor)??);
        // The type, the number of events.
        cursor.byte()?;
        number(cursor)?;
        let group = number(cursor)?.unwrap_or(0);
        self.locations.push(Location { id, name, group });
        Some(())
    }

    fn add_region(&mut self, cursor: &mut Cursor<'_>) -> Option<()> {
        let (id, name) = (number(cursor)??, number(cursor)??);
        // The description, the type.
        number(cursor)?;
        cursor.byte()?;
        let file = number(cursor)?.unwrap_or(u64::MAX);
        let line = number(cursor)?.unwrap_or(0);
        let line = u32::try_from(line).unwrap_or(0);
        self.regions.insert(id, Region { name, file, line });
        Some(())
    }

    pub(super) fn string(&self, id: u64) -> &str {
        self.strings.get(&id).map_or("", |text| text)
    }

    /// The name of a group.
    pub(super) fn group(&self, id: u64) -> &str {
        self.groups.get(&id).map_or("", |&name| self.string(name))
    }
}

/// The archive's numbers of the regions of a location, where they are other ones.
pub(super) fn regions_of(bytes: &[u8], chunk: usize) -> FxHashMap<u64, u64> {
    const MAP: u8 = 5;
    let mut map = FxHashMap::default();
    // A table that is cut holds as far as it goes.
    let _ = records(bytes, chunk, false, |record| {
        if let Record::Plain(MAP, bytes) = record {
            add_map(&mut map, bytes);
        }
    });
    map
}

fn add_map(map: &mut FxHashMap<u64, u64>, bytes: &[u8]) -> Option<()> {
    /// The kind of a table of regions.
    const REGIONS: u8 = 3;
    let mut cursor = Cursor::new(bytes);
    if cursor.byte()? != REGIONS {
        return None;
    }
    let count = number(&mut cursor)??;
    let is_sparse = cursor.byte()? != 0;
    for index in 0..count {
        let local = match is_sparse {
            true => number(&mut cursor)??,
            false => index,
        };
        map.insert(local, number(&mut cursor)??);
    }
    Some(())
}
