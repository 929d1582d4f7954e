//! The map that LLVM leaves in a program's file: the counters of each function, and their meaning.
//!
//! ```text
//! __llvm_prf_data    for each function: MD5 of its name, hash of its shape, its counters (relative to here), their number
//! __llvm_prf_names   the names, compressed
//! __llvm_covfun      for each function: MD5 of its name, hash of its shape, MD5 of its list of files, its places
//! __llvm_covmap      the lists of files
//! __llvm_prf_cnts    the counters: only their place in memory is of interest
//! ```

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use object::{Object, ObjectSection, ObjectSymbol};
use rustc_hash::FxHashMap;

use super::cursor::{Cursor, unpacked};
use super::mapping::{Counted, Mapping, Place};
use super::{CountedFunction, Uncounted, general, lines, md5};
use crate::demangle::{Demangled, demangle};
use crate::image::Image;
use profundo_model::Language;

/// A file's description of its counters.
#[derive(Debug)]
pub struct LlvmMap {
    path: PathBuf,
    functions: Vec<Function>,
    /// The number of counters.
    counters: u64,
}

/// A function with counters, or without any because it is never called.
#[derive(Debug)]
struct Function {
    name: Demangled,
    /// Its number, from its name.
    number: u64,
    /// Its file and its places; `None` where only calls are counted.
    map: Option<(String, Mapping)>,
    /// Its counters among all.
    first: usize,
    count: usize,
}

/// A function's record in `__llvm_prf_data`.
#[derive(Debug, Clone, Copy)]
struct Data {
    name: u64,
    hash: u64,
    first: usize,
    count: usize,
}

/// The sections.
#[derive(Debug, Default)]
pub(super) struct Sections {
    pub(super) data: Vec<u8>,
    pub(super) data_at: u64,
    pub(super) counters_at: u64,
    pub(super) counters_size: u64,
    pub(super) names: Vec<u8>,
    pub(super) functions: Vec<u8>,
    pub(super) files: Vec<u8>,
    /// The compiler's version of the format, if it can be found.
    pub(super) version: Option<u64>,
}

impl LlvmMap {
    /// Reads it from an executable or a library.
    pub fn open(path: &Path) -> Result<Self, Uncounted> {
        let gone = |_| Uncounted::Gone(path.to_owned());
        let image = Image::open(path).map_err(gone)?;
        let sections = image.object().and_then(|file| sections(&file));
        Self::of(
            &sections.ok_or_else(|| Uncounted::Damaged(path.to_owned()))?,
            path,
        )
    }

    pub(super) fn of(sections: &Sections, path: &Path) -> Result<Self, Uncounted> {
        let damaged = || Uncounted::Damaged(path.to_owned());
        let data = data(sections, path)?;
        let names = names(&sections.names).ok_or_else(damaged)?;
        let maps = maps(sections)?.ok_or_else(damaged)?;
        let mut functions = Vec::with_capacity(data.len());
        for it in data {
            let Some(name) = names.get(&it.name) else {
                continue;
            };
            functions.push(Function {
                name: readable(name),
                // Each part of a program may have a copy of a function.
                map: maps.get(&(it.name, it.hash)).cloned(),
                number: it.name,
                first: it.first,
                count: it.count,
            });
        }
        Ok(Self {
            path: path.to_owned(),
            functions,
            counters: sections.counters_size / 8,
        })
    }

    /// The counted functions, from one process's counters in the order of memory. The instances of
    /// a generic function are one.
    pub fn functions(&self, counters: &[u64]) -> Result<Vec<CountedFunction>, Uncounted> {
        if counters.len() as u64 != self.counters {
            return Err(Uncounted::OtherBuild(self.path.clone()));
        }
        #[derive(Default)]
        struct Sum {
            function: CountedFunction,
            places: Vec<Counted>,
            numbers: BTreeSet<u64>,
        }
        let mut sums: BTreeMap<(&str, Option<Place>, &str), Sum> = BTreeMap::new();
        for function in &self.functions {
            let end = function.first.saturating_add(function.count);
            let counters = counters.get(function.first..end).unwrap_or_default();
            let (file, start, calls, places) = match &function.map {
                Some((file, mapping)) => {
                    let (calls, places) = mapping.counted(counters);
                    (file.as_str(), mapping.start(), calls, places)
                }
                // The frontend's first counter is that of the function's entry.
                None => ("", None, counters.first().copied().unwrap_or(0), Vec::new()),
            };
            let name = general(&function.name.function);
            let sum = sums.entry((file, start, name)).or_default();
            sum.places.extend(places);
            let it = &mut sum.function;
            it.calls = it.calls.saturating_add(calls);
            sum.numbers.insert(function.number);
            it.instances = u32::try_from(sum.numbers.len()).unwrap_or(u32::MAX);
            it.file = file.to_owned();
            it.line = start.map_or(0, |(line, _)| line);
            it.is_rust = function.name.language == Language::Rust;
            it.name = match it.instances {
                1 => function.name.function.clone(),
                _ => name.to_owned(),
            };
        }
        let counted = sums.into_values().map(|sum| CountedFunction {
            lines: lines::lines(sum.places),
            ..sum.function
        });
        Ok(counted.collect())
    }
}

/// A static function's name has its file before it.
fn readable(name: &str) -> Demangled {
    let bare = match name.starts_with("_Z") || name.starts_with("_R") {
        true => name,
        false => name.rsplit_once([';', ':']).map_or(name, |(_, name)| name),
    };
    demangle(bare)
}

fn sections(file: &object::File<'_>) -> Option<Sections> {
    let bytes = |name: &str| {
        let section = file.section_by_name(name)?;
        Some((
            section.data().ok()?.to_vec(),
            section.address(),
            section.size(),
        ))
    };
    let (data, data_at, _) = bytes("__llvm_prf_data")?;
    let counters = file.section_by_name("__llvm_prf_cnts")?;
    let rest = |name: &str| bytes(name).map(|contents| contents.0).unwrap_or_default();
    let version = || {
        let mut symbols = file.symbols();
        let symbol = symbols.find(|symbol| symbol.name() == Ok("__llvm_profile_raw_version"))?;
        let section = file.section_by_index(symbol.section_index()?).ok()?;
        let word = section.data_range(symbol.address(), 8).ok()??;
        Some(u64::from_le_bytes(*word.first_chunk()?))
    };
    Some(Sections {
        data,
        data_at,
        counters_at: counters.address(),
        counters_size: counters.size(),
        names: rest("__llvm_prf_names"),
        functions: rest("__llvm_covfun"),
        files: rest("__llvm_covmap"),
        version: version(),
    })
}

/// The layout of a record in `__llvm_prf_data`.
#[derive(Debug, Clone, Copy)]
struct Layout {
    versions: [u64; 2],
    size: usize,
    count_at: usize,
}

const LAYOUTS: [Layout; 2] = [
    // From LLVM 18 on, with bitmaps.
    Layout {
        versions: [9, 10],
        size: 64,
        count_at: 48,
    },
    // LLVM 14 to 17.
    Layout {
        versions: [8, 8],
        size: 48,
        count_at: 40,
    },
];

/// Versions carry flags in their highest bits.
const VERSION: u64 = (1 << 56) - 1;
/// A byte for each counter, which only shows whether it ran.
const BYTES: u64 = 1 << 60;

fn data(sections: &Sections, path: &Path) -> Result<Vec<Data>, Uncounted> {
    if sections.version.is_some_and(|version| version & BYTES != 0) {
        return Err(Uncounted::UnknownKind("a byte for each"));
    }
    let version = sections.version.map(|version| version & VERSION);
    let unknown = || Uncounted::UnknownVersion {
        format: "LLVM's counters",
        version: version.map_or_else(|| "?".to_owned(), |version| version.to_string()),
    };
    let fits = |layout: &&Layout| {
        let [first, last] = layout.versions;
        version.is_none_or(|version| (first..=last).contains(&version))
    };
    let mut layouts = LAYOUTS.iter().filter(fits).peekable();
    if layouts.peek().is_none() {
        return Err(unknown());
    }
    let mut read = layouts.filter_map(|layout| records(sections, *layout));
    // A program without symbols hides its version, but with the wrong one nothing would fit.
    read.next().ok_or_else(|| match version {
        Some(_) => Uncounted::Damaged(path.to_owned()),
        None => unknown(),
    })
}

/// The records; `None` where they do not have that layout.
fn records(sections: &Sections, layout: Layout) -> Option<Vec<Data>> {
    let Sections {
        data,
        data_at,
        counters_at,
        counters_size,
        ..
    } = sections;
    if data.len() % layout.size != 0 {
        return None;
    }
    let records = data
        .chunks_exact(layout.size)
        .zip((*data_at..).step_by(layout.size));
    let record = |(bytes, at): (&[u8], u64)| {
        let mut cursor = Cursor::new(bytes);
        let (name, hash, from) = (cursor.u64()?, cursor.u64()?, cursor.u64()?);
        let mut cursor = Cursor::new(bytes.get(layout.count_at..)?);
        let count = u64::from(cursor.u32()?);
        // The address is relative to the record.
        let first = at.wrapping_add(from).wrapping_sub(*counters_at);
        let is_within = first.checked_add(count.checked_mul(8)?)? <= *counters_size;
        (is_within && first % 8 == 0).then_some(Data {
            name,
            hash,
            first: usize::try_from(first / 8).ok()?,
            count: usize::try_from(count).ok()?,
        })
    };
    records.map(record).collect()
}

/// The names, by their hashes.
fn names(bytes: &[u8]) -> Option<FxHashMap<u64, String>> {
    let mut names = FxHashMap::default();
    let mut cursor = Cursor::new(bytes);
    while !cursor.is_at_end() {
        let length = usize::try_from(cursor.leb()?).ok()?;
        let packed = cursor.count()?;
        if (length, packed) == (0, 0) {
            // Between the parts that the linker has joined there may be zeros.
            continue;
        }
        let taken = cursor.take(if packed > 0 { packed } else { length })?;
        let text = unpacked(taken, length, packed > 0)?;
        for name in text.split(|&byte| byte == 1) {
            names.insert(md5::short(name), String::from_utf8_lossy(name).into_owned());
        }
    }
    Some(names)
}

/// The meaning of functions' counters, by the hash of the name and of the shape.
type Maps = FxHashMap<(u64, u64), (String, Mapping)>;

/// `None`: it is damaged.
fn maps(sections: &Sections) -> Result<Option<Maps>, Uncounted> {
    let lists = match lists(&sections.files)? {
        Some(lists) => lists,
        None => return Ok(None),
    };
    let read = || {
        let mut maps = Maps::default();
        let mut cursor = Cursor::new(&sections.functions);
        while !cursor.is_at_end() {
            let name = cursor.u64()?;
            let length = cursor.u32()? as usize;
            let (hash, list) = (cursor.u64()?, cursor.u64()?);
            let mapping = Mapping::read(cursor.take(length)?)?;
            cursor.align(8);
            let file = lists.get(&list).zip(mapping.file());
            if let Some(file) = file.and_then(|(list, at)| list.get(at)) {
                maps.insert((name, hash), (file.clone(), mapping));
            }
        }
        Some(maps)
    };
    Ok(read())
}

/// The lists of files, by their hashes.
type Lists = FxHashMap<u64, Vec<String>>;

fn lists(bytes: &[u8]) -> Result<Option<Lists>, Uncounted> {
    /// The numbers in the files: the sixth and the seventh version, of LLVM 13 and later.
    const KNOWN: std::ops::RangeInclusive<u32> = 5..=6;
    let mut lists = Lists::default();
    let mut cursor = Cursor::new(bytes);
    let mut next = |cursor: &mut Cursor<'_>| {
        let [_, length, _, version] = [cursor.u32()?, cursor.u32()?, cursor.u32()?, cursor.u32()?];
        if !KNOWN.contains(&version) {
            return Some(Err(Uncounted::UnknownVersion {
                format: "LLVM's coverage mapping",
                version: (u64::from(version) + 1).to_string(),
            }));
        }
        let list = cursor.take(length as usize)?;
        lists.insert(md5::short(list), files(list)?);
        cursor.align(8);
        Some(Ok(()))
    };
    while !cursor.is_at_end() {
        match next(&mut cursor) {
            Some(read) => read?,
            None => return Ok(None),
        }
    }
    Ok(Some(lists))
}

/// The paths of a list. The first is the folder of relative ones.
fn files(list: &[u8]) -> Option<Vec<String>> {
    let mut cursor = Cursor::new(list);
    let count = usize::try_from(cursor.leb()?).ok()?;
    let length = usize::try_from(cursor.leb()?).ok()?;
    let packed = usize::try_from(cursor.leb()?).ok()?;
    let taken = cursor.take(if packed > 0 { packed } else { length })?;
    let text = unpacked(taken, length, packed > 0)?;
    let mut cursor = Cursor::new(&text);
    let mut files: Vec<String> = Vec::new();
    for _ in 0..count {
        let length = cursor.count()?;
        let path = String::from_utf8_lossy(cursor.take(length)?).into_owned();
        files.push(match files.first() {
            Some(folder) if !path.starts_with('/') && !folder.is_empty() => {
                let path = path.strip_prefix("./").unwrap_or(&path);
                format!("{}/{path}", folder.trim_end_matches('/'))
            }
            _ => path,
        });
    }
    Some(files)
}
