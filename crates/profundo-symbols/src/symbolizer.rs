//! The entrance: a profile goes in with addresses and comes out with names.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};
use std::thread::available_parallelism;

use profundo_model::{Frame, FrameId, LocationId, LocationKind, ModuleId, Profile};
use rustc_hash::FxHashMap;

use crate::cache::{ModuleKey, ModuleNames, unknown};
use crate::module_file::{FileOptions, ModuleFile};
use crate::named::corrected;
use crate::{
    DebugInformation, DebugServer, LineCorrection, MachineCode, ModuleSummary, NamedFrame, Problem,
    Shortener, Summary, lookup, pool,
};

/// Each piece of a module's addresses is parsed for on its own, so a piece must be worth it.
const PIECE: usize = 512;
/// The number of copies of one module's parsed debug information in memory at a time.
const MAX_PIECES: usize = 4;

/// Finds names and remembers them.
///
/// It can be shared between threads and used for many profiles; the second time, an address
/// costs a look into a hash table.
pub struct Symbolizer {
    files: FileOptions,
    /// The number of threads; by default that of the CPUs.
    threads: Option<usize>,
    /// The function that each worker thread calls first.
    begin: fn(),
    correction: RwLock<Option<Arc<LineCorrection>>>,
    cache: Mutex<FxHashMap<ModuleKey, ModuleNames>>,
    shortener: Mutex<Shortener>,
}

impl std::fmt::Debug for Symbolizer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Symbolizer")
            .field("files", &self.files)
            .field("threads", &self.threads)
            .finish_non_exhaustive()
    }
}

impl Default for Symbolizer {
    fn default() -> Self {
        Self::new()
    }
}

impl Symbolizer {
    /// A symbolizer that looks for debug files where distributions put them and uses all CPUs.
    pub fn new() -> Self {
        let debug_roots = vec![PathBuf::from("/usr/lib/debug")];
        let home = std::env::var_os("HOME").map(PathBuf::from);
        Self {
            files: FileOptions {
                debug_roots,
                // Where perf keeps them.
                copies: home.map(|home| home.join(".debug")).into_iter().collect(),
                ..FileOptions::default()
            },
            threads: None,
            begin: || {},
            correction: RwLock::default(),
            cache: Mutex::default(),
            shortener: Mutex::default(),
        }
    }

    /// Looks for separate debug files below these directories, in this order, instead of below
    /// `/usr/lib/debug`.
    pub fn with_debug_roots(mut self, roots: impl IntoIterator<Item = PathBuf>) -> Self {
        self.files.debug_roots = roots.into_iter().collect();
        self
    }

    /// Asks a server for debug information that is in none of these directories.
    pub fn with_server(mut self, server: Option<Arc<dyn DebugServer>>) -> Self {
        self.files.server = server;
        self
    }

    /// The available names and lines of a file's code.
    pub fn debug_information(&self, path: &Path) -> DebugInformation {
        DebugInformation::of(&self.files, path)
    }

    /// The lines with code in a file, by their source files; none where it has no debug
    /// information.
    pub fn code_lines(&self, path: &Path) -> Result<BTreeMap<String, BTreeSet<u32>>, Problem> {
        crate::code_lines::of(&self.files, path)
    }

    /// The machine code of a module: the file that was mapped, which must have this build id.
    /// Without a build id, the file at the module's path is taken.
    pub fn machine_code(&self, module_path: &str, build_id: &[u8]) -> Result<MachineCode, Problem> {
        MachineCode::open(&self.files, module_path, build_id)
    }

    /// Looks for module files below `root` first: for a target in a container,
    /// `/proc/<pid>/root`.
    pub fn with_root(mut self, root: impl Into<PathBuf>) -> Self {
        self.files.root = Some(root.into());
        self
    }

    /// Looks below these roots for module files that are not where they were mapped from: for
    /// several targets, some of which are in containers. A file is taken only if it has the
    /// module's build id.
    pub fn with_other_roots(mut self, roots: impl IntoIterator<Item = PathBuf>) -> Self {
        self.files.other_roots = roots.into_iter().collect();
        self
    }

    /// Looks into these folders first for copies of files that are not where they were mapped from,
    /// or are other ones there. Copies are named after their build ids, as in perf's `~/.debug`.
    pub fn with_copies(mut self, folders: impl IntoIterator<Item = PathBuf>) -> Self {
        self.files.copies.splice(0..0, folders);
        self
    }

    /// Takes these files, by their build ids, for those that are not where they were mapped from.
    pub fn with_kept_files(mut self, files: BTreeMap<Vec<u8>, PathBuf>) -> Self {
        self.files.kept = files;
        self
    }

    /// Takes `bytes` as the contents of the module at `path`: for modules without a file, such
    /// as a vDSO that is not this system's own.
    pub fn with_image(mut self, path: impl Into<String>, bytes: impl Into<Arc<[u8]>>) -> Self {
        self.files.images.insert(path.into(), bytes.into());
        self
    }

    /// Names the addresses of these modules by their symbol tables alone: by functions without
    /// files, lines and inlined functions. Reading the debug information of an interpreter takes
    /// longer than a short program runs.
    pub fn with_symbols_only(mut self, modules: impl IntoIterator<Item = String>) -> Self {
        self.files.symbols_only.extend(modules);
        self
    }

    /// Has each started thread call this first: a program that watches itself may distinguish its
    /// own threads from ours.
    pub fn with_beginning(mut self, begin: fn()) -> Self {
        self.begin = begin;
        self
    }

    /// Keeps names that take long to find below this folder, for the next symbolizer.
    pub fn with_cache(mut self, folder: Option<PathBuf>) -> Self {
        self.files.cache = folder;
        self
    }

    /// Uses at most this many threads.
    pub fn with_threads(mut self, threads: usize) -> Self {
        self.threads = Some(threads.max(1));
        self
    }

    /// Sets or removes the callback that may rewrite frames after each lookup. It sees the
    /// frames of locations that are named from now on.
    pub fn set_correction(&self, correction: Option<Arc<LineCorrection>>) {
        *self
            .correction
            .write()
            .unwrap_or_else(PoisonError::into_inner) = correction;
    }

    /// Names every code location that has no frames yet, and every reason.
    pub fn name_profile(&self, profile: &mut Profile) -> Summary {
        let requests = requests(profile);
        let addresses = addresses(&requests);
        self.find(&addresses);

        let correction = self
            .correction
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .clone();
        for (key, locations) in &requests {
            for (address, location) in locations {
                let found = self.known(key, *address);
                let frames = match &correction {
                    Some(correction) => corrected(&found, &**correction).into(),
                    None => found,
                };
                let ids: Vec<FrameId> = frames
                    .iter()
                    .map(|frame| self.intern(profile, key, frame))
                    .collect();
                profile.locations.set_frames(*location, &ids);
            }
        }
        profile.name_reasons();
        self.summary(&addresses)
    }

    /// Looks the addresses up, and names nothing yet: it may take long, and the profile may be in
    /// use elsewhere meanwhile. [`Self::name_known`] gives the names.
    pub fn look_up(&self, unnamed: &Unnamed) {
        self.find(&unnamed.addresses);
    }

    /// Names those code locations without frames whose addresses have been looked up, at once.
    pub fn name_known(&self, profile: &mut Profile) {
        for (key, locations) in requests(profile) {
            for (address, location) in locations {
                let known = {
                    let cache = self.cache();
                    let found = cache.get(&key).and_then(|module| module.get(address));
                    found.map(|resolved| Arc::clone(&resolved.frames))
                };
                // Code in no module has no file.
                let nowhere = || key.path.is_empty().then(|| unknown(&key).frames);
                let Some(frames) = known.or_else(nowhere) else {
                    continue;
                };
                let ids: Vec<FrameId> = frames
                    .iter()
                    .map(|frame| self.intern(profile, &key, frame))
                    .collect();
                profile.locations.set_frames(location, &ids);
            }
        }
    }

    /// The frames of addresses in one module's file, in the order of the addresses: innermost
    /// inlined function first, never empty. `build_id` may be empty; otherwise only a file with
    /// this build id is believed. Line corrections are not applied.
    pub fn resolve(
        &self,
        module_path: &str,
        build_id: &[u8],
        addresses: &[u64],
    ) -> Vec<Arc<[NamedFrame]>> {
        let key = ModuleKey {
            path: module_path.into(),
            build_id: build_id.to_vec(),
        };
        self.find(&[(key.clone(), sorted(addresses.to_vec()))]);
        addresses
            .iter()
            .map(|address| self.known(&key, *address))
            .collect()
    }

    /// The number of addresses whose names are remembered.
    pub fn remembered(&self) -> usize {
        self.cache().values().map(ModuleNames::len).sum()
    }

    /// Forgets all names, so that files are looked at again.
    pub fn clear_cache(&self) {
        self.cache().clear();
    }

    fn cache(&self) -> MutexGuard<'_, FxHashMap<ModuleKey, ModuleNames>> {
        self.cache.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn known(&self, key: &ModuleKey, address: u64) -> Arc<[NamedFrame]> {
        let cache = self.cache();
        let found = cache.get(key).and_then(|module| module.get(address));
        found.map_or_else(
            || unknown(key).frames,
            |resolved| Arc::clone(&resolved.frames),
        )
    }

    /// Makes sure that the cache knows these addresses, which are sorted.
    fn find(&self, wanted: &[(ModuleKey, Vec<u64>)]) {
        let missing: Vec<(&ModuleKey, Vec<u64>)> = {
            let cache = self.cache();
            let unknown = |key, address| cache.get(key).is_none_or(|m| m.get(address).is_none());
            wanted
                .iter()
                .map(|(key, addresses)| {
                    let missing = addresses.iter().copied().filter(|at| unknown(key, *at));
                    (key, missing.collect::<Vec<u64>>())
                })
                .filter(|(key, missing)| !missing.is_empty() && !key.path.is_empty())
                .collect()
        };
        if missing.is_empty() {
            return;
        }
        // Called only here: it reads files.
        let cpus = || available_parallelism().map_or(1, usize::from);
        let threads = self.threads.unwrap_or_else(cpus);
        // One thread needs one file at a time, and memory for the debug information of one.
        let at_once = match threads {
            1 => 1,
            _ => missing.len(),
        };
        for missing in missing.chunks(at_once) {
            self.find_in(missing, threads);
        }
    }

    /// Looks addresses up in these modules.
    fn find_in(&self, missing: &[(&ModuleKey, Vec<u64>)], threads: usize) {
        // The lock is not held while files are read: two callers may do the same work, but none
        // waits for the other's files.
        let open =
            |(key, _): &(&ModuleKey, _)| ModuleFile::open(&self.files, &key.path, &key.build_id);
        let files = match threads {
            1 => pool::map_here(missing, open),
            several => pool::map(several, self.begin, missing, open),
        };
        let files: Vec<ModuleFile> = files.into_iter().map(Option::unwrap_or_default).collect();
        let mut pieces: Vec<(usize, &[u64])> = Vec::new();
        for (index, (_, addresses)) in missing.iter().enumerate() {
            let count = addresses
                .len()
                .div_ceil(PIECE)
                .min(threads)
                .clamp(1, MAX_PIECES);
            let size = addresses.len().div_ceil(count);
            pieces.extend(addresses.chunks(size).map(|piece| (index, piece)));
        }
        // The longest work first, so that no thread is left with it at the end.
        pieces.sort_by_key(|(index, piece)| (std::cmp::Reverse(piece.len()), *index));
        let look_up = |(index, piece): &(usize, &[u64])| {
            lookup::names(&files[*index], &missing[*index].0.path, piece)
        };
        let is_shallow = files.iter().all(|files| files.debug_image().is_none());
        let found = match threads {
            1 if is_shallow => pool::map_here(&pieces, look_up),
            threads => pool::map(threads, self.begin, &pieces, look_up),
        };

        let mut cache = self.cache();
        for ((key, _), files) in missing.iter().zip(&files) {
            cache.entry((*key).clone()).or_default().add_files(files);
        }
        for ((index, piece), found) in pieces.iter().zip(found) {
            let key = missing[*index].0;
            let module = cache.entry(key.clone()).or_default();
            module.add(key, piece, found.unwrap_or_default());
        }
    }

    fn intern(&self, profile: &mut Profile, key: &ModuleKey, frame: &NamedFrame) -> FrameId {
        // A library's own path stands in for the unknown source file; it is not shortened as a
        // source of the package that it happens to lie in.
        let file = if frame.file == key.path {
            profile.file(&frame.file, "", "")
        } else {
            let mut shortener = self
                .shortener
                .lock()
                .unwrap_or_else(PoisonError::into_inner);
            let short = shortener.shorten(&frame.file);
            profile.file(&frame.file, &short.prefix, &short.rest)
        };
        let function = profile.strings.intern(&frame.function);
        let signature = profile.strings.intern(&frame.signature);
        profile.frames.intern(Frame {
            function,
            signature,
            file,
            line: frame.line,
            language: frame.language,
            inlined: frame.inlined,
        })
    }

    fn summary(&self, wanted: &[(ModuleKey, Vec<u64>)]) -> Summary {
        let cache = self.cache();
        let nothing = ModuleNames::default();
        let mut modules: Vec<ModuleSummary> = wanted
            .iter()
            .map(|(key, addresses)| cache.get(key).unwrap_or(&nothing).summary(key, addresses))
            .collect();
        modules.sort_by_key(|module| std::cmp::Reverse(module.addresses()));
        Summary { modules }
    }
}

/// The addresses of a profile that have no names yet.
#[derive(Debug, Clone, Default)]
pub struct Unnamed {
    addresses: Vec<(ModuleKey, Vec<u64>)>,
}

impl Unnamed {
    /// The unnamed addresses of this profile.
    pub fn of(profile: &Profile) -> Self {
        Self {
            addresses: addresses(&requests(profile)),
        }
    }

    /// True if all addresses have names.
    pub fn is_empty(&self) -> bool {
        self.addresses.is_empty()
    }
}

/// The distinct addresses, by module.
fn addresses(requests: &BTreeMap<ModuleKey, Vec<(u64, LocationId)>>) -> Vec<(ModuleKey, Vec<u64>)> {
    requests
        .iter()
        .map(|(key, locations)| (key.clone(), locations.iter().map(|at| at.0).collect()))
        .map(|(key, addresses)| (key, sorted(addresses)))
        .collect()
}

/// The unnamed locations by module, each with its address in the file.
fn requests(profile: &Profile) -> BTreeMap<ModuleKey, Vec<(u64, LocationId)>> {
    let mut requests: BTreeMap<ModuleKey, Vec<(u64, LocationId)>> = BTreeMap::new();
    let mut keys: FxHashMap<Option<ModuleId>, ModuleKey> = FxHashMap::default();
    for (id, location) in profile.locations.iter() {
        let LocationKind::Code(address) = location.kind else {
            continue;
        };
        if !location.frames.is_empty() {
            continue;
        }
        let module = location.module.map(|module| profile.modules.get(module));
        let key = keys.entry(location.module).or_insert_with(|| match module {
            Some(module) => ModuleKey {
                path: profile.strings.get(module.path).into(),
                build_id: module.build_id.clone(),
            },
            None => ModuleKey {
                path: "".into(),
                build_id: Vec::new(),
            },
        });
        let in_file = address
            .for_lookup()
            .0
            .wrapping_sub(module.map_or(0, |module| module.bias));
        requests.entry(key.clone()).or_default().push((in_file, id));
    }
    requests
}

fn sorted(mut addresses: Vec<u64>) -> Vec<u64> {
    addresses.sort_unstable();
    addresses.dedup();
    addresses
}
