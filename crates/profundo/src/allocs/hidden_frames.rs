//! Frames that are hidden at the inner end of a stack: our own, and the library's way to a block.

use std::collections::HashMap;

use profundo_model::{Frame, FrameId, Language, LocationId, Profile, StackId};

/// Removes our own functions from the inner ends of stacks, and caches the result for each.
#[derive(Debug, Default)]
pub(crate) struct Trimmer {
    trimmed: HashMap<StackId, Option<StackId>>,
    plumbing: HashMap<FrameId, FrameId>,
}

/// The most frames that may be ours where nothing is inlined.
const OURS: usize = 16;

impl Trimmer {
    /// The stack without our functions at its inner end; `None` if a thread of ours allocated.
    pub(crate) fn trim(&mut self, profile: &mut Profile, stack: StackId) -> Option<StackId> {
        if let Some(&known) = self.trimmed.get(&stack) {
            return known;
        }
        let kept = match is_our_thread(profile, stack) {
            true => None,
            false => Some(without_ours(profile, stack)),
        };
        if let Some(kept) = kept {
            self.mark_plumbing(profile, kept);
        }
        self.trimmed.insert(stack, kept);
        kept
    }

    /// The innermost functions, which only obtain memory, are hidden together with C frames.
    fn mark_plumbing(&mut self, profile: &mut Profile, stack: StackId) {
        let locations: Vec<LocationId> = profile.stacks.locations(stack).take(OURS).collect();
        for id in locations {
            let mut frames = profile.locations.get(id).frames.to_vec();
            let mut all = true;
            for frame in &mut frames {
                all = is_plumbing(profile, *frame);
                if !all {
                    break;
                }
                let row = *profile.frames.get(*frame);
                let hidden = || {
                    let language = Language::Runtime;
                    profile.frames.intern(Frame { language, ..row })
                };
                *frame = *self.plumbing.entry(*frame).or_insert_with(hidden);
            }
            profile.locations.set_frames(id, &frames);
            if !all {
                return;
            }
        }
    }
}

fn without_ours(profile: &mut Profile, stack: StackId) -> StackId {
    let locations: Vec<LocationId> = profile.stacks.locations(stack).take(OURS).collect();
    let frames = |id: &LocationId| profile.locations.get(*id).frames.to_vec();
    let inner: Vec<(usize, usize, FrameId)> = (locations.iter().map(frames).enumerate())
        .flat_map(|(at, frames)| {
            let frames = frames.into_iter().enumerate();
            frames.map(move |(index, frame)| (at, index, frame))
        })
        .take(OURS)
        .collect();
    let Some(last) = inner.iter().rposition(|frame| is_ours(profile, frame.2)) else {
        return stack;
    };
    let shims = inner[last + 1..].iter();
    let shims = shims.take_while(|frame| is_shim(profile, frame.2)).count();
    let (location, index, _) = inner[last + shims];
    let mut kept = stack;
    for _ in 0..location {
        kept = profile.stacks.get(kept).parent.unwrap_or(kept);
    }
    let frames = profile.locations.get(locations[location]).frames.to_vec();
    if index + 1 == frames.len() {
        return profile.stacks.get(kept).parent.unwrap_or(kept);
    }
    // Functions of ours were inlined into one of the program's.
    profile
        .locations
        .set_frames(locations[location], &frames[index + 1..]);
    kept
}

fn names(profile: &Profile, frame: FrameId) -> (&str, &str) {
    (profile.function_name(frame), profile.file_path(frame))
}

/// Whether a source file of a crate is this one.
fn is_file(path: &str, crate_name: &str, file: &str) -> bool {
    path.strip_suffix(file).is_some_and(|rest| {
        let folder = rest.trim_end_matches('/').rsplit('/').next().unwrap_or("");
        // In a registry, the version follows the name.
        folder.strip_prefix(crate_name).is_some_and(|rest| {
            rest.is_empty()
                || rest.starts_with('-') && rest[1..].starts_with(|c: char| c.is_ascii_digit())
        })
    })
}

fn is_ours(profile: &Profile, frame: FrameId) -> bool {
    let (function, file) = names(profile, frame);
    function.starts_with("profundo_capture::heap::")
        || function.starts_with("profundo_probe::heap::")
        || function.starts_with("<profundo::alloc::Alloc<")
        || is_file(file, "profundo-capture", "src/heap/local.rs")
        || is_file(file, "profundo", "src/alloc.rs")
}

/// The compiler's own functions between `alloc` and the global allocator.
fn is_shim(profile: &Profile, frame: FrameId) -> bool {
    let (function, _) = names(profile, frame);
    const SHIMS: [&str; 3] = ["__rust_", "__rg_", "__rdl_"];
    let bare = function.rsplit("::").next().unwrap_or(function);
    SHIMS.iter().any(|shim| bare.starts_with(shim))
}

/// Threads that name symbols may start during a recording; from then on they are not recorded.
fn is_our_thread(profile: &Profile, stack: StackId) -> bool {
    let mut frames = (profile.stacks.locations(stack))
        .flat_map(|id| profile.locations.get(id).frames.iter().copied());
    frames.any(|frame| {
        let (function, file) = names(profile, frame);
        let signature = profile.strings.get(profile.frames.get(frame).signature);
        [function, signature]
            .iter()
            .any(|name| name.contains("profundo_symbols::pool::"))
            || is_file(file, "profundo-symbols", "src/pool.rs")
    })
}

/// True for a function of the standard library that only obtains memory for its caller.
fn is_plumbing(profile: &Profile, frame: FrameId) -> bool {
    const FILES: [&str; 6] = [
        "alloc/src/alloc.rs",
        "alloc/src/raw_vec.rs",
        "alloc/src/raw_vec/mod.rs",
        "core/src/alloc/mod.rs",
        "core/src/ptr/mod.rs",
        "core/src/ptr/non_null.rs",
    ];
    const PATHS: [&str; 2] = ["alloc::alloc::", "alloc::raw_vec::"];
    let (function, file) = names(profile, frame);
    let place = file.rsplit_once("/library/").map_or("", |(_, place)| place);
    let bare = function.trim_start_matches('<');
    FILES.contains(&place)
        || PATHS.iter().any(|path| bare.starts_with(path))
        || function.ends_with("box_new_uninit")
        || is_shim(profile, frame)
}
