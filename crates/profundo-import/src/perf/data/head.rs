//! The head of the file: its events, where its records are, and facts about the machine. A file has
//! tables for all that; a pipe has records instead.

use profundo_model::Machine;
use rustc_hash::FxHashMap;

use super::attr::Attr;
use super::bytes::Bytes;

/// Numbers of the facts.
mod feature {
    pub(super) const BUILD_ID: u64 = 2;
    pub(super) const OS_RELEASE: u64 = 4;
    pub(super) const ARCHITECTURE: u64 = 6;
    pub(super) const CPUS: u64 = 7;
    pub(super) const CPU: u64 = 8;
    pub(super) const COMMAND: u64 = 11;
    pub(super) const EVENTS: u64 = 12;
    pub(super) const CLOCK: u64 = 29;
}

/// The head of a file.
#[derive(Debug, Default)]
pub(super) struct Head {
    pub is_big: bool,
    pub attrs: Vec<Attr>,
    /// The event of an id.
    pub ids: FxHashMap<u64, usize>,
    pub build_ids: FxHashMap<Box<[u8]>, Vec<u8>>,
    pub machine: Machine,
    /// The kind of processor, as `uname -m` prints it; empty where it is unknown.
    pub architecture: String,
    /// The words of the command line.
    pub command: Vec<String>,
    /// A time in nanoseconds since 1970, and the same on the samples' clock.
    pub clock: Option<(u64, u64)>,
    /// The bytes of the records.
    pub records: (usize, usize),
    pub is_pipe: bool,
    /// The problem, where a part of the head lies outside of the file.
    pub damage: Option<&'static str>,
}

const MAGIC: &[u8] = b"PERFILE2";
const MAGIC_BIG: &[u8] = b"2ELIFREP";

/// Whether a file begins like one.
pub(super) fn is_start(start: &[u8]) -> bool {
    start.starts_with(MAGIC) || start.starts_with(MAGIC_BIG)
}

impl Head {
    /// Reads the head. `None` if it has no size.
    pub(super) fn read(file: &[u8]) -> Option<Self> {
        /// The size of a pipe's head.
        const PIPE: u64 = 16;
        let mut head = Self {
            is_big: file.starts_with(MAGIC_BIG),
            ..Self::default()
        };
        let mut from = Bytes::new(file.get(8..)?, head.is_big);
        let size = from.u64()?;
        if size == PIPE {
            head.is_pipe = true;
            head.records = (16, file.len());
            return Some(head);
        }
        let attr_size = from.u64()?;
        let attrs = (from.u64()?, from.u64()?);
        let data = (from.u64()?, from.u64()?);
        from.skip(16)?;
        let mut features = [0_u64; 4];
        for word in &mut features {
            *word = from.u64()?;
        }
        head.read_attrs(file, attrs, attr_size);
        let start = usize::try_from(data.0).ok()?.min(file.len());
        // A recording that was killed has no size.
        let end = match data.1 {
            0 => file.len(),
            size => data.0.saturating_add(size).min(file.len() as u64) as usize,
        };
        if data.1 == 0 || data.0.saturating_add(data.1) > file.len() as u64 {
            head.damage = Some("the recording has no end");
        }
        head.records = (start, end.max(start));
        head.read_features(file, data.0.saturating_add(data.1), features);
        Some(head)
    }

    fn read_attrs(&mut self, file: &[u8], at: (u64, u64), size: u64) {
        let Some(size) = usize::try_from(size).ok().filter(|&size| size >= 64 + 16) else {
            self.damage = Some("the events have no size");
            return;
        };
        let Some(table) = part(file, at) else {
            self.damage = Some("the events lie outside of the file");
            return;
        };
        for entry in table.chunks_exact(size) {
            let (attr, ids) = entry.split_at(size - 16);
            let mut ids = Bytes::new(ids, self.is_big);
            let place = (ids.u64().unwrap_or(0), ids.u64().unwrap_or(0));
            let ids = part(file, place).unwrap_or_default();
            self.add_attr(attr, ids);
        }
    }

    /// Adds an event with its ids.
    pub(super) fn add_attr(&mut self, attr: &[u8], ids: &[u8]) -> Option<()> {
        let attr = Attr::read(attr, self.is_big)?;
        self.attrs.push(attr);
        let mut from = Bytes::new(ids, self.is_big);
        while let Some(id) = from.u64() {
            self.ids.insert(id, self.attrs.len() - 1);
        }
        Some(())
    }

    /// Names the event that has this id.
    pub(super) fn name_event(&mut self, id: u64, name: &[u8]) {
        if let Some(attr) = self.ids.get(&id).and_then(|&at| self.attrs.get_mut(at)) {
            attr.name = String::from_utf8_lossy(name).into_owned();
        }
    }

    /// The event of a sample, and its number.
    pub(super) fn attr_of(&self, sample: Bytes<'_>) -> Option<(usize, &Attr)> {
        let first = self.attrs.first()?;
        if self.attrs.len() == 1 {
            return Some((0, first));
        }
        let id = first.id(sample);
        let index = id.and_then(|id| self.ids.get(&id).copied()).unwrap_or(0);
        self.attrs.get(index).map(|attr| (index, attr))
    }

    fn read_features(&mut self, file: &[u8], at: u64, features: [u64; 4]) {
        let Some(table) = usize::try_from(at).ok().and_then(|at| file.get(at..)) else {
            return;
        };
        let mut from = Bytes::new(table, self.is_big);
        for number in 0..256 {
            if features[number as usize / 64] & (1 << (number % 64)) == 0 {
                continue;
            }
            let (Some(offset), Some(size)) = (from.u64(), from.u64()) else {
                return;
            };
            if let Some(bytes) = part(file, (offset, size)) {
                self.add_feature(number, bytes);
            }
        }
    }

    /// Takes in a fact.
    pub(super) fn add_feature(&mut self, number: u64, bytes: &[u8]) -> Option<()> {
        let mut from = Bytes::new(bytes, self.is_big);
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        match number {
            feature::BUILD_ID => self.add_build_ids(bytes),
            feature::OS_RELEASE => self.machine.kernel = text(from.counted_text()?),
            feature::ARCHITECTURE => self.architecture = text(from.counted_text()?),
            feature::CPU => self.machine.cpu = text(from.counted_text()?),
            // Those that there are, and those that are online.
            feature::CPUS => {
                from.skip(4)?;
                self.machine.cpus = from.u32()?;
            }
            feature::COMMAND => {
                let many = from.u32()?;
                for _ in 0..many {
                    self.command.push(text(from.counted_text()?));
                }
            }
            feature::EVENTS => self.add_descriptions(from)?,
            feature::CLOCK => {
                from.skip(8)?;
                self.clock = Some((from.u64()?, from.u64()?));
            }
            _ => {}
        }
        Some(())
    }

    /// The events once more, with their names.
    fn add_descriptions(&mut self, mut from: Bytes<'_>) -> Option<()> {
        let many = from.u32()?;
        let size = usize::try_from(from.u32()?).ok()?;
        for index in 0..many as usize {
            from.skip(size)?;
            let ids = usize::try_from(from.u32()?).ok()?;
            let name = from.counted_text()?;
            let mut ids = Bytes::new(from.take(ids.checked_mul(8)?)?, self.is_big);
            match ids.u64() {
                Some(id) if self.ids.contains_key(&id) => self.name_event(id, name),
                _ => {
                    if let Some(attr) = self.attrs.get_mut(index) {
                        attr.name = String::from_utf8_lossy(name).into_owned();
                    }
                }
            }
        }
        Some(())
    }

    fn add_build_ids(&mut self, bytes: &[u8]) {
        let mut rest = bytes;
        loop {
            let mut from = Bytes::new(rest, self.is_big);
            let (Some(_), Some(misc), Some(size)) = (from.u32(), from.u16(), from.u16()) else {
                return;
            };
            let size = usize::from(size);
            let Some(record) = rest.get(8..size) else {
                return;
            };
            self.add_build_id(record, misc);
            rest = &rest[size..];
        }
    }

    /// A record of a build id: its process, the id, and the path.
    pub(super) fn add_build_id(&mut self, record: &[u8], misc: u16) -> Option<()> {
        const HAS_SIZE: u16 = 1 << 15;
        let id = record.get(4..24)?;
        let size = match misc & HAS_SIZE {
            0 => 20,
            _ => usize::from(*record.get(24)?).min(20),
        };
        let path = Bytes::new(record.get(28..)?, self.is_big).text();
        self.build_ids.insert(path.into(), id[..size].to_vec());
        Some(())
    }
}

/// A part of the file.
fn part(file: &[u8], (offset, size): (u64, u64)) -> Option<&[u8]> {
    let start = usize::try_from(offset).ok()?;
    let size = usize::try_from(size).ok()?;
    file.get(start..start.checked_add(size)?)
}
