//! The files behind one module: the file that was mapped, and those that hold its debug
//! information. Opened once for a round of lookups and shared by its threads.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use profundo_model::build_id_copies;
use rustc_hash::{FxHashMap, FxHashSet};

use crate::image::Image;
use crate::mmap::Bytes;
use crate::python::PythonNames;
use crate::{DebugServer, Problem, debug_files, mini_debug, vdso};

/// The settings about files.
#[derive(Debug, Default)]
pub(crate) struct FileOptions {
    /// Directories with debug files, `/usr/lib/debug` by default.
    pub(crate) debug_roots: Vec<PathBuf>,
    /// The target's root directory, where it has another one than we.
    pub(crate) root: Option<PathBuf>,
    /// Roots below which a missing or different file is looked for.
    pub(crate) other_roots: Vec<PathBuf>,
    /// A server that is asked for debug information that is in none of these directories.
    pub(crate) server: Option<Arc<dyn DebugServer>>,
    /// Folders with copies of files by build id, such as perf's.
    pub(crate) copies: Vec<PathBuf>,
    /// Files by build id, wherever they were mapped from.
    pub(crate) kept: BTreeMap<Vec<u8>, PathBuf>,
    /// Images of modules without a file.
    pub(crate) images: FxHashMap<String, Arc<[u8]>>,
    /// Modules whose debug information is not worth reading.
    pub(crate) symbols_only: FxHashSet<String>,
    /// The folder for names that take long to find.
    pub(crate) cache: Option<PathBuf>,
}

/// The files of a module; `None` for each missing one.
#[derive(Debug, Default)]
pub(crate) struct ModuleFile {
    /// The file that was mapped.
    pub(crate) main: Option<Image>,
    /// The separate file with its debug information.
    pub(crate) debug: Option<Image>,
    /// The symbol table within the mapped file.
    pub(crate) mini: Option<Image>,
    /// The common part of many debug files.
    pub(crate) supplement: Option<Image>,
    /// The package of its split debug files.
    pub(crate) package: Option<Image>,
    /// The problems of these files.
    pub(crate) problems: Vec<Problem>,
    /// Whether debug information is skipped.
    pub(crate) symbols_only: bool,
    /// The folder for names that take long to find.
    cache: Option<PathBuf>,
    /// The Python names of its functions.
    python: OnceLock<PythonNames>,
}

impl ModuleFile {
    /// Opens the files that can be found for the module.
    pub(crate) fn open(options: &FileOptions, module_path: &str, build_id: &[u8]) -> Self {
        let mut this = Self {
            cache: options.cache.clone(),
            ..Self::default()
        };
        let main = open_main(options, module_path, build_id)
            .or_else(|problem| open_copy(options, module_path, build_id).ok_or(problem));
        match main {
            Ok(image) => this.main = Some(image),
            Err(problem) => this.problems.push(problem),
        }
        this.symbols_only = options.symbols_only.contains(module_path);
        if this.symbols_only && this.main.as_ref().is_some_and(Image::has_symbols) {
            return this;
        }
        let (roots, server) = (&options.debug_roots, options.server.as_deref());
        if !this.main.as_ref().is_some_and(Image::has_debug_info) {
            let id = this.main.as_ref().map_or(build_id, |image| &image.build_id);
            this.debug = debug_files::by_build_id(roots, id);
            let mut missing = None;
            if let (None, Some(main)) = (&this.debug, &this.main) {
                match debug_files::by_debug_link(roots, main) {
                    Ok(found) => this.debug = found,
                    Err(problem) => missing = Some(problem),
                }
            }
            if this.debug.is_none() {
                this.debug = debug_files::by_server(server, id);
            }
            if this.debug.is_none() {
                this.problems.extend(missing);
                let main = this.main.as_ref().filter(|main| !main.has_symbols());
                this.mini = main.and_then(mini_debug::within);
            }
        }
        if this.symbols_only {
            return this;
        }
        if let Some(image) = this.debug_image() {
            let package = debug_files::package(&image.path)
                .or_else(|| debug_files::package(&this.main.as_ref()?.path));
            let supplement = debug_files::supplement(roots, server, image);
            this.package = package;
            match supplement {
                Ok(found) => this.supplement = found,
                Err(problem) => this.problems.push(problem),
            }
        } else if this.main.is_some() {
            this.problems.push(Problem::NoDebugInfo);
        }
        this
    }

    /// The Python names of the mapped file's functions.
    pub(crate) fn python(&self) -> &PythonNames {
        let names = || Some(PythonNames::of(self.main.as_ref()?, self.cache.as_deref()));
        self.python.get_or_init(|| names().unwrap_or_default())
    }

    /// The file with debug information, if there is one.
    pub(crate) fn debug_image(&self) -> Option<&Image> {
        if self.symbols_only {
            return None;
        }
        [&self.main, &self.debug]
            .into_iter()
            .flatten()
            .find(|image| image.has_debug_info())
    }
}

const DELETED: &str = " (deleted)";

/// The former path of this very program, if its file is deleted. The kernel keeps its contents as
/// long as it runs.
fn own_deleted_program() -> Option<String> {
    let link = std::fs::read_link("/proc/self/exe").ok()?;
    Some(link.to_str()?.strip_suffix(DELETED)?.to_owned())
}

/// Finds the file with this build id elsewhere: kept open, or in a folder of copies.
fn open_copy(options: &FileOptions, module_path: &str, build_id: &[u8]) -> Option<Image> {
    let open = |path: &Path| Image::open(path).ok().filter(|it| it.build_id == build_id);
    if let Some(mut image) = options.kept.get(build_id).and_then(|kept| open(kept)) {
        image.path = module_path.into();
        return Some(image);
    }
    let folders = options.copies.iter();
    let mut copies = folders.flat_map(|folder| build_id_copies(folder, build_id));
    copies.find_map(|copy| open(&copy))
}

/// Finds the file that was mapped from `module_path`. With a build id only that very file will do;
/// without one, the file at that path is taken.
fn open_main(options: &FileOptions, module_path: &str, build_id: &[u8]) -> Result<Image, Problem> {
    let path = Path::new(module_path);
    let check = |image: Image| match build_id.is_empty() || image.build_id == build_id {
        true => Ok(image),
        false => Err(Problem::BuildIdDiffers {
            path: image.path,
            found: image.build_id,
        }),
    };
    if let Some(bytes) = options.images.get(module_path) {
        return check(Image::parse(path, Bytes::Owned(Arc::clone(bytes)))?);
    }
    if module_path == vdso::PATH {
        let gone = Problem::FileGone {
            path: path.into(),
            kind: std::io::ErrorKind::NotFound,
        };
        let bytes = vdso::own_image().ok_or(gone)?;
        return check(Image::parse(path, Bytes::Owned(bytes.into()))?);
    }
    // The kernel appends this to the path of a file that was removed or replaced, as a build does
    // with the program it builds.
    let kept = module_path.strip_suffix(DELETED).unwrap_or(module_path);
    if own_deleted_program().is_some_and(|own| own == kept)
        && let Ok(mut image) = Image::open(Path::new("/proc/self/exe")).and_then(check)
    {
        // Debug files are looked for beside its former place.
        image.path = kept.into();
        return Ok(image);
    }
    // A file that was put back in its place is recognised by its build id only.
    if kept != module_path && !build_id.is_empty() && !path.exists() {
        return check(Image::open(Path::new(kept))?);
    }
    if let Some(root) = &options.root {
        let below_root = root.join(path.strip_prefix("/").unwrap_or(path));
        if below_root.exists() {
            return check(Image::open(&below_root)?);
        }
    }
    let found = Image::open(path).and_then(check);
    // Only its build id proves that it is the mapped file.
    if found.is_ok() || build_id.is_empty() {
        return found;
    }
    let below = path.strip_prefix("/").unwrap_or(path);
    let mut others = options.other_roots.iter();
    let other = others.find_map(|root| Image::open(&root.join(below)).and_then(check).ok());
    other.map_or(found, Ok)
}
