//! Names from debug information: functions with the functions inlined into them, and lines.
//!
//! Parsing is lazy by compilation unit, so a few addresses of a large file cost little. Split
//! debug files (`.dwo`, `.dwp`) are opened when the lookup first needs them.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use addr2line::{Context, LookupContinuation, LookupResult, SplitDwarfLoad};
use gimli::{DwarfPackage, SectionId};

use crate::Problem;
use crate::arena::Arena;
use crate::image::{Image, Reader};
use crate::lambdas::{Lambdas, OPERATOR};
use crate::module_file::ModuleFile;
use crate::plain_names::PlainNames;

/// Whether a section is needed of a file that is no package: locations of variables, macros and
/// types, a third of all debug information, are of no use here and would have to be decompressed.
fn is_needed(id: SectionId) -> bool {
    use SectionId::*;
    matches!(
        id,
        DebugAbbrev
            | DebugAddr
            | DebugAranges
            | DebugInfo
            | DebugLine
            | DebugLineStr
            | DebugRanges
            | DebugRngLists
            | DebugStr
            | DebugStrOffsets
    )
}

/// Languages, as far as they differ in their names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Family {
    /// Rust.
    Rust,
    /// C++ of any year.
    Cpp,
    /// C and all others, whose names are short.
    Other,
}

impl Family {
    fn of(language: gimli::DwLang) -> Self {
        match language {
            gimli::DW_LANG_Rust => Self::Rust,
            gimli::DW_LANG_C_plus_plus
            | gimli::DW_LANG_C_plus_plus_03
            | gimli::DW_LANG_C_plus_plus_11
            | gimli::DW_LANG_C_plus_plus_14
            | gimli::DW_LANG_C_plus_plus_17
            | gimli::DW_LANG_C_plus_plus_20 => Self::Cpp,
            _ => Self::Other,
        }
    }
}

/// A frame as the debug information gives it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RawFrame<'a> {
    /// The linkage name, else the plain name; empty where there is none.
    pub(crate) name: &'a [u8],
    /// The plain name, where `name` is a Rust linkage name and the plain one was asked for.
    pub(crate) plain: Option<&'a [u8]>,
    /// The whole name of a lambda that has no linkage name.
    pub(crate) lambda: Option<String>,
    /// The source file; empty where unknown.
    pub(crate) file: String,
    /// The line; 0 where unknown.
    pub(crate) line: u32,
    /// The language family of its unit.
    pub(crate) family: Family,
}

/// The debug information of one module, ready for lookups on one thread.
pub(crate) struct DebugInfo<'a> {
    context: Context<Reader<'a>>,
    package: Option<DwarfPackage<Reader<'a>>>,
    split_files: &'a Arena<Image>,
    image: &'a Image,
    missing: RefCell<Vec<PathBuf>>,
    plain_names: PlainNames<'a>,
    lambdas: Lambdas,
}

impl<'a> DebugInfo<'a> {
    /// Reads the units' headers. `split_files` keeps files that lookups open. `None` where the
    /// module has no debug information.
    pub(crate) fn open(
        module: &'a ModuleFile,
        split_files: &'a Arena<Image>,
    ) -> Result<Option<Self>, Problem> {
        let Some(image) = module.debug_image() else {
            return Ok(None);
        };
        let mut dwarf = load(|id| is_needed(id).then(|| image.section(id.name())), image);
        if let Some(supplement) = &module.supplement {
            dwarf.set_sup(load(
                |id| is_needed(id).then(|| supplement.section(id.name())),
                image,
            ));
        }
        dwarf.populate_abbreviations_cache(gimli::AbbreviationsCacheStrategy::Duplicates);
        let context = Context::from_dwarf(dwarf).map_err(damaged)?;
        let package = module.package.as_ref().and_then(|package| {
            let section = |id: SectionId| {
                Ok::<_, gimli::Error>(package.section(id.dwo_name().unwrap_or(id.name())))
            };
            DwarfPackage::load(section, package.empty()).ok()
        });
        let missing = RefCell::default();
        let plain_names = PlainNames::default();
        Ok(Some(Self {
            context,
            package,
            split_files,
            image,
            missing,
            plain_names,
            lambdas: Lambdas::default(),
        }))
    }

    /// The frames at `address`, innermost first; empty where the debug information has none.
    pub(crate) fn frames(&self, address: u64) -> Result<Vec<RawFrame<'a>>, Problem> {
        // The readers ask for the byte after the address.
        if address == u64::MAX {
            return Ok(Vec::new());
        }
        let mut frames = Vec::new();
        let mut lookup = self
            .finish(self.context.find_frames(address))
            .map_err(damaged)?;
        let mut unit = None;
        while let Some(frame) = lookup.next().map_err(damaged)? {
            let location = frame.location.as_ref();
            let function = frame.function.as_ref();
            let name: &'a [u8] = function.map(|name| name.name.slice()).unwrap_or_default();
            let legacy_rust = name.starts_with(b"_ZN");
            // A unit's skeleton, which remains where the debug file is split, does not have the
            // language.
            let language = function.and_then(|name| name.language);
            let may_be_lambda = name == OPERATOR;
            if unit.is_none() && (legacy_rust || may_be_lambda || language.is_none()) {
                unit = Some(self.finish(self.context.find_dwarf_and_unit(address)));
            }
            let unit = unit.as_ref().and_then(Option::as_ref);
            let family = match language {
                Some(language) => Family::of(language),
                None => unit.and_then(language_of).map_or(Family::Other, Family::of),
            };
            let plain = match (unit, frame.dw_die_offset) {
                (Some(unit), Some(offset)) if legacy_rust && family == Family::Rust => {
                    self.plain_names.get(unit, offset)
                }
                _ => None,
            };
            let lambda = match (unit, frame.dw_die_offset) {
                (Some(unit), Some(offset)) if may_be_lambda => self.lambdas.get(unit, offset),
                _ => None,
            };
            frames.push(RawFrame {
                name,
                plain,
                lambda,
                file: location
                    .and_then(|at| at.file)
                    .unwrap_or_default()
                    .to_owned(),
                line: location.and_then(|at| at.line).unwrap_or_default(),
                family,
            });
        }
        Ok(frames)
    }

    /// By source file, the lines that the line tables have rows for.
    pub(crate) fn code_lines(&self) -> Result<BTreeMap<String, BTreeSet<u32>>, Problem> {
        let mut found: BTreeMap<String, BTreeSet<u32>> = BTreeMap::new();
        let rows = self.context.find_location_range(0, u64::MAX);
        for (_, _, location) in rows.map_err(damaged)? {
            if let (Some(file), Some(line)) = (location.file, location.line)
                && line > 0
            {
                match found.get_mut(file) {
                    Some(lines) => {
                        lines.insert(line);
                    }
                    None => {
                        found.insert(file.to_owned(), BTreeSet::from([line]));
                    }
                }
            }
        }
        Ok(found)
    }

    /// Split debug files that were not found.
    pub(crate) fn missing(&self) -> Vec<PathBuf> {
        self.missing.borrow().clone()
    }

    /// Feeds the lookup the split debug files that it asks for.
    fn finish<L>(&self, mut lookup: LookupResult<L>) -> L::Output
    where
        L: LookupContinuation<Buf = Reader<'a>>,
    {
        loop {
            match lookup {
                LookupResult::Output(output) => return output,
                LookupResult::Load { load, continuation } => {
                    lookup = continuation.resume(self.split(&load));
                }
            }
        }
    }

    fn split(&self, wanted: &SplitDwarfLoad<Reader<'a>>) -> Option<Arc<gimli::Dwarf<Reader<'a>>>> {
        if let Some(package) = &self.package
            && let Ok(Some(dwarf)) = package.find_cu(wanted.dwo_id, &wanted.parent)
        {
            return Some(Arc::new(dwarf));
        }
        let text = |reader: &Option<Reader<'a>>| {
            reader.map(|text| PathBuf::from(OsStr::from_bytes(text.slice())))
        };
        let name = text(&wanted.path)?;
        let path = text(&wanted.comp_dir).unwrap_or_default().join(&name);
        // A build may have been moved as a whole: the file may lie beside the program.
        let beside = self
            .image
            .path
            .parent()
            .unwrap_or(Path::new(""))
            .join(name.file_name()?);
        let found = [&path, &beside]
            .into_iter()
            .find_map(|path| self.split_file(path, wanted));
        if found.is_none() {
            self.missing.borrow_mut().push(path);
        }
        found
    }

    fn split_file(
        &self,
        path: &Path,
        wanted: &SplitDwarfLoad<Reader<'a>>,
    ) -> Option<Arc<gimli::Dwarf<Reader<'a>>>> {
        let image = self.split_files.keep(Image::open(path).ok()?);
        let section = |id: SectionId| {
            is_needed(id)
                .then(|| id.dwo_name().map(|name| image.section(name)))
                .flatten()
        };
        let mut dwarf = load(section, image);
        // The parent decides how the file is read, so it is set before the units are.
        dwarf.make_dwo(&wanted.parent);
        let header = dwarf.units().next().ok()??;
        let unit = dwarf.unit(header).ok()?;
        (unit.dwo_id == Some(wanted.dwo_id)).then(|| Arc::new(dwarf))
    }
}

fn load<'a>(
    mut section: impl FnMut(SectionId) -> Option<Reader<'a>>,
    image: &'a Image,
) -> gimli::Dwarf<Reader<'a>> {
    let load = |id| Ok::<_, std::convert::Infallible>(section(id).unwrap_or(image.empty()));
    match gimli::Dwarf::load(load) {
        Ok(dwarf) => dwarf,
        Err(never) => match never {},
    }
}

fn language_of(unit: &gimli::UnitRef<'_, Reader<'_>>) -> Option<gimli::DwLang> {
    let root = unit.entry(unit.header.root_offset()).ok()?;
    match root.attr_value(gimli::DW_AT_language)? {
        gimli::AttributeValue::Language(language) => Some(language),
        _ => None,
    }
}

fn damaged(error: gimli::Error) -> Problem {
    Problem::Damaged {
        reason: error.to_string().to_lowercase(),
    }
}
