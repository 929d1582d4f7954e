//! Names for the addresses of a profile from a store.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use profundo_model::{FrameId, FrameKey, LocationId, LocationKind, ModuleId, Profile};
use profundo_store::Store;
use profundo_symbols::{NamedFrame, Shortener, Symbolizer};

use crate::Error;
use crate::cache::Cache;
use crate::files::{FOLDER, File, digits, file_of};

/// What came of naming.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Named {
    /// Addresses that have names now.
    pub named: usize,
    /// Addresses that have none, as their symbols are missing.
    pub unnamed: usize,
    /// The files without symbols in the store: their paths and build ids.
    pub missing: Vec<(String, String)>,
    /// What could not be read, in sentences.
    pub failures: Vec<String>,
}

/// Names the addresses of a query's answer: code that has no name, in files with build ids.
pub fn name(profile: &mut Profile, store: &dyn Store, cache: &Cache) -> Named {
    let mut named = Named::default();
    let wanted = wanted(profile);
    if wanted.is_empty() {
        return named;
    }
    let ids: BTreeSet<&[u8]> = (wanted.keys())
        .map(|&module| &profile.modules.get(module).build_id[..])
        .collect();
    let mut files: BTreeMap<Vec<u8>, PathBuf> = BTreeMap::new();
    for id in ids {
        match file(store, cache, &digits(id)) {
            Ok(Some(path)) => _ = files.insert(id.to_vec(), path),
            Ok(None) => {}
            Err(error) => named.failures.push(sentence(&error)),
        }
    }
    let roots = [cache.folder().to_owned(), PathBuf::from("/usr/lib/debug")];
    let symbolizer = Symbolizer::new()
        .with_debug_roots(roots)
        .with_kept_files(files.clone());
    let mut shortener = Shortener::default();
    for (module, locations) in wanted {
        let row = profile.modules.get(module);
        let path = profile.strings.get(row.path).to_owned();
        let (bias, build_id) = (row.bias, row.build_id.clone());
        // A file may have no path, and is known by its build id alone.
        let shown = match &path[..] {
            "" => digits(&build_id),
            path => path.to_owned(),
        };
        let addresses: Vec<u64> = (locations.iter())
            .map(|&(_, address)| address.wrapping_sub(bias))
            .collect();
        let found = symbolizer.resolve(&shown, &build_id, &addresses);
        let mut is_any = false;
        for (&(location, _), frames) in locations.iter().zip(found) {
            if frames.iter().all(|frame| frame.function.is_empty()) {
                named.unnamed += 1;
                continue;
            }
            is_any = true;
            named.named += 1;
            let frames = frames.iter();
            let frames: Vec<FrameId> = frames
                .map(|frame| intern(profile, frame, &shown, &mut shortener))
                .collect();
            profile.locations.set_frames(location, &frames);
        }
        if !is_any && !files.contains_key(&build_id) {
            named.missing.push((shown, digits(&build_id)));
        }
    }
    named.missing.sort();
    named.failures.sort();
    named
}

/// Code without a name in files with build ids: by module, the locations and their addresses.
fn wanted(profile: &Profile) -> BTreeMap<ModuleId, Vec<(LocationId, u64)>> {
    let mut wanted: BTreeMap<ModuleId, Vec<(LocationId, u64)>> = BTreeMap::new();
    for (id, location) in profile.locations.iter() {
        let (LocationKind::Code(address), Some(module)) = (location.kind, location.module) else {
            continue;
        };
        let mut frames = location.frames.iter();
        let has_name = frames.any(|&frame| !profile.function_name(frame).is_empty());
        if !has_name && !profile.modules.get(module).build_id.is_empty() {
            let rows = wanted.entry(module).or_default();
            rows.push((id, address.for_lookup().0));
        }
    }
    wanted
}

/// The file of a build id: here, or fetched from the store.
fn file(store: &dyn Store, cache: &Cache, build_id: &str) -> Result<Option<PathBuf>, Error> {
    if !crate::files::is_build_id(build_id) {
        return Ok(None);
    }
    if let Some(path) = cache.get(build_id) {
        return Ok(Some(path));
    }
    let entries = store.list(&format!("{FOLDER}{build_id}/"))?;
    let files = entries.into_iter();
    let files = files.filter_map(|entry| file_of(&entry.path, entry.size));
    // The largest one has the debug information.
    let Some(largest) = files.max_by_key(|file: &File| file.size) else {
        return Ok(None);
    };
    cache.fetch(store, &largest).map(Some)
}

fn intern(
    profile: &mut Profile,
    frame: &NamedFrame,
    module: &str,
    shortener: &mut Shortener,
) -> FrameId {
    // A library's own path stands in for the unknown source file.
    let short = match *frame.file == *module {
        true => None,
        false => Some(shortener.shorten(&frame.file)),
    };
    let (prefix, rest) = match &short {
        Some(short) => (&short.prefix[..], &short.rest[..]),
        None => ("", ""),
    };
    profile.frame(FrameKey {
        function: &frame.function,
        signature: &frame.signature,
        file: &frame.file,
        prefix,
        rest,
        line: frame.line,
        language: frame.language,
        inlined: frame.inlined,
    })
}

/// An error and its reasons, in one line.
fn sentence(error: &Error) -> String {
    let mut text = error.to_string();
    let mut next = std::error::Error::source(error);
    while let Some(error) = next {
        text += &format!(": {error}");
        next = error.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use profundo_model::{Avma, CodeAddress, Module};

    use super::*;

    #[test]
    fn an_address_of_this_program_gets_its_name() {
        let folder = profundo_testing::Folder::new("symbol-naming");
        let store = profundo_store::Folder::new(folder.join("store"));
        let program = std::env::current_exe().unwrap();
        let added = match crate::add(&store, &program) {
            Ok(added) => added,
            Err(Error::NoBuildId { .. }) => {
                return profundo_testing::skip("the tests are linked without a build id");
            }
            Err(error) => panic!("{error}"),
        };
        assert!(!added.was_there && added.has_lines);
        assert!(crate::add(&store, &program).unwrap().was_there);
        assert_eq!(
            crate::list(&store).unwrap(),
            std::slice::from_ref(&added.file)
        );
        let bytes = std::fs::read(&program).unwrap();
        let address = address_of(&bytes, "an_address_of_this_program_gets_its_name");
        let mut profile = Profile::default();
        let id = &added.file.build_id;
        let byte = |at: usize| u8::from_str_radix(&id[at..at + 2], 16).unwrap();
        let module = Module {
            path: profile.strings.intern("/gone/api"),
            build_id: (0..id.len()).step_by(2).map(byte).collect(),
            ..Module::default()
        };
        let module = profile.modules.push(module);
        let kind = LocationKind::Code(CodeAddress::Instruction(Avma(address)));
        let location = profile.locations.intern(kind, Some(module));
        let unnamed = profile.frame(FrameKey::default());
        profile.locations.set_frames(location, &[unnamed]);
        let cache = Cache::new(folder.join("cache"));
        let named = name(&mut profile, &store, &cache);
        assert_eq!((named.named, named.unnamed), (1, 0), "{named:?}");
        let frames = &profile.locations.get(location).frames;
        let function = profile.function_name(*frames.last().unwrap());
        assert!(
            function.contains("an_address_of_this_program"),
            "{function}"
        );
        assert!(profile.file_path(frames[0]).contains(".rs"));
        // What has a name is not asked for again.
        assert_eq!(name(&mut profile, &store, &cache), Named::default());
    }

    fn address_of(bytes: &[u8], name: &str) -> u64 {
        use object::{Object, ObjectSymbol};
        let file = object::File::parse(bytes).unwrap();
        let mut symbols = file.symbols();
        let found = symbols.find(|symbol| {
            let of = symbol.name().unwrap_or_default();
            symbol.size() > 100 && of.contains(name) && !of.contains("closure")
        });
        found.unwrap().address()
    }
}
