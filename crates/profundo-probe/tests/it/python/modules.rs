//! The modules of this process, listed as the command does for an agent.

use std::collections::HashMap;
use std::sync::atomic::Ordering;

use object::{Object, ObjectSection, ObjectSegment, ObjectSymbol};
use profundo_probe::shared::{ForeignModule, LISTED, Ring};
use profundo_unwind::{Table, compile_eh_frame};

/// The published lists, and their tables.
#[derive(Debug, Default)]
pub struct Modules {
    files: HashMap<String, Vec<u8>>,
    generation: u64,
}

/// An executable range of a file.
struct Mapped {
    start: u64,
    end: u64,
    /// The load bias.
    bias: u64,
    path: String,
}

impl Modules {
    fn mapped(&mut self) -> Vec<Mapped> {
        let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
        let mut found = Vec::new();
        for line in maps.lines() {
            let fields: Vec<&str> = line.split_ascii_whitespace().collect();
            let [range, rights, offset, _, _, path] = fields[..] else {
                continue;
            };
            if !rights.contains('x') || !path.starts_with('/') {
                continue;
            }
            let hex = |text| u64::from_str_radix(text, 16).unwrap();
            let (start, end) = range.split_once('-').unwrap();
            let (start, end, offset) = (hex(start), hex(end), hex(offset));
            let file = self
                .files
                .entry(path.to_owned())
                .or_insert_with(|| std::fs::read(path).unwrap());
            let object = object::File::parse(&**file).unwrap();
            // Neighbouring segments share a page of the file; the later one has the code.
            let segments: Vec<_> = object.segments().collect();
            let segment = segments
                .iter()
                .rfind(|segment| segment.file_range().0 & !0xFFF == offset);
            let Some(segment) = segment else { continue };
            let in_file = segment.address() & !0xFFF;
            found.push(Mapped {
                start,
                end,
                bias: start.wrapping_sub(in_file),
                path: path.to_owned(),
            });
        }
        found
    }

    /// Lists what is mapped now.
    pub fn publish(&mut self, ring: &'static Ring) {
        let mapped = self.mapped();
        let listings = &ring.listings;
        let next = 1 - listings.active.load(Ordering::SeqCst);
        assert!(mapped.len() < LISTED);
        for (place, mapped) in listings.modules[next as usize].iter().zip(&mapped) {
            let object = object::File::parse(&*self.files[&mapped.path]).unwrap();
            let section = object.section_by_name(".eh_frame");
            let table: &'static Table = Box::leak(Box::new(
                section
                    .and_then(|section| {
                        let address = section.address().wrapping_add(mapped.bias);
                        let bytes = section.uncompressed_data().ok()?;
                        let range = mapped.start..mapped.end;
                        compile_eh_frame(&bytes, address, None, mapped.start, range).ok()
                    })
                    .unwrap_or_default(),
            ));
            let table = table.as_ref();
            // SAFETY: the inactive list is not read.
            unsafe {
                *place.get() = ForeignModule {
                    start: mapped.start,
                    end: mapped.end,
                    base: table.base,
                    rows: (table.rows.as_ptr() as u64, table.rows.len() as u64),
                    index: (table.index.as_ptr() as u64, table.index.len() as u64),
                };
            }
        }
        self.generation += 1;
        listings.count[next as usize].store(mapped.len() as u32, Ordering::SeqCst);
        listings.generation[next as usize].store(self.generation, Ordering::SeqCst);
        listings.active.store(next, Ordering::SeqCst);
    }

    /// The ranges of the symbols with this prefix, in the file whose path contains `file`.
    pub fn symbols(&mut self, file: &str, prefix: &str) -> Vec<(u64, u64)> {
        let mapped = self.mapped();
        let mapped = mapped
            .iter()
            .find(|mapped| mapped.path.contains(file))
            .unwrap();
        let object = object::File::parse(&*self.files[&mapped.path]).unwrap();
        object
            .symbols()
            .filter(|symbol| symbol.name().is_ok_and(|name| name.starts_with(prefix)))
            .map(|symbol| {
                let start = symbol.address().wrapping_add(mapped.bias);
                (start, start + symbol.size())
            })
            .collect()
    }
}
