//! The code of the functions that `report annotate NAME` shows: it is read from the files on this
//! machine, as long as they are the ones that ran.

use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use anyhow::{Result, anyhow, bail};
use profundo_analysis::{
    Filter, FunctionCode, Pattern, SampledCode, Selection, is_interpreted, sampled_code,
};
use profundo_console::progress::Progress;
use profundo_console::stderr;
use profundo_disassembly::{Code, Instruction, Machine, Syntax};
use profundo_model::{Avma, CodeAddress, FrameId, LocationId, LocationKind, ModuleId, Profile};
use profundo_report::{ListedInstruction, Listing};
use profundo_save::{process_roots, served_names};
use profundo_symbols::{MachineCode, Problem, Processor, Symbolizer};

/// How many functions are disassembled, and how.
#[derive(Debug, Clone, Copy)]
pub struct Style {
    pub syntax: Syntax,
    /// The number of functions whose instructions are wanted.
    pub limit: usize,
}

/// The functions that `name` means and that were sampled; the hottest with their instructions.
/// Their instructions become locations of the profile, and get names as such. An error is a
/// sentence on why there are no instructions.
pub fn listings(
    profile: &mut Profile,
    filter: &Filter,
    name: &str,
    style: Style,
) -> Result<Vec<Listing>> {
    let selection = Selection::new(profile, filter);
    let sampled = sampled_code(profile, &selection, &Pattern::new(name));
    if sampled.addresses.is_empty() {
        return match why_none(profile, &sampled, name) {
            Some(why) => bail!("{why}"),
            None => Ok(Vec::new()),
        };
    }
    let _progress = Progress::start("reading machine code");
    let symbolizer = Symbolizer::new()
        .with_other_roots(process_roots::of(profile))
        .with_kept_files(kept_files(profile))
        .with_server(served_names::server());
    let mut files = Files::default();
    let functions = files.functions(profile, &symbolizer, &sampled)?;
    let mut found = Vec::new();
    for (at, function) in functions.iter().enumerate() {
        let mut listing = function.listing();
        let code = files.codes.get(&function.module);
        if let Some(code) = code
            && at < style.limit
        {
            listing.file = code.path().display().to_string();
            listing.build_id = code.build_id().to_vec();
            let instructions = disassemble(code, &function.extent, style.syntax)?;
            listing.code.starts = instructions.iter().map(|row| row.address).collect();
            let bytes = code.bytes(&function.extent).unwrap_or_default();
            listing.instructions = listed(profile, function.module, &bytes, &instructions);
        }
        found.push(listing);
    }
    // Code of an interpreter or of the C library was named without lines, if at all.
    for instruction in found.iter().flat_map(|listing| &listing.instructions) {
        let frames = &profile.locations.get(instruction.location).frames;
        if frames
            .iter()
            .all(|&frame| profile.frames.get(frame).line == 0)
        {
            profile.locations.set_frames(instruction.location, &[]);
        }
    }
    symbolizer.name_profile(profile);
    for listing in &mut found {
        let first = listing.instructions.first();
        let frames = first.map(|first| &profile.locations.get(first.location).frames);
        // The first instruction is on the line that the function begins on.
        if let Some(&frame) = frames.and_then(|frames| frames.last())
            && profile.frames.get(frame).line > 0
        {
            listing.frame = frame;
        }
    }
    Ok(found)
}

/// The files that are kept for programs which may be gone. For a query, those of the store's
/// symbols that have been fetched.
fn kept_files(profile: &Profile) -> BTreeMap<Vec<u8>, PathBuf> {
    match profile.meta.question {
        Some(_) => profundo_symbol_store::Cache::of_user().files_of(profile),
        None => profundo_process::modules::kept_files::paths(),
    }
}

/// Why functions that were sampled have no instructions, where the name means such.
fn why_none(profile: &Profile, sampled: &SampledCode, name: &str) -> Option<String> {
    let function = |frame: FrameId| profile.function_name(frame);
    if let Some(frame) = sampled.without_file {
        let called = function(frame);
        return Some(match is_interpreted(profile, frame) {
            true => format!(
                "{called} is a Python function, which has no instructions of its own: `profundo report lines` shows the time of its lines"
            ),
            false if profile.meta.question.is_some() => format!(
                "a store keeps no addresses of functions with names, so {called} has no instructions here: a recording has them"
            ),
            false => format!(
                "{called} is no code of a file: the instructions of code that is made while a program runs are not recorded"
            ),
        });
    }
    let (first, others) = sampled.inlined_into.split_first()?;
    let more = match others.len() {
        0 => String::new(),
        some => format!(" (and in {some} more)"),
    };
    Some(format!(
        "{name} was sampled only where it is inlined into {0}{more}: `profundo report annotate {0}` shows it there",
        function(*first)
    ))
}

/// A function that was sampled.
struct Function {
    module: ModuleId,
    extent: Range<u64>,
    frame: FrameId,
    weight: u64,
}

impl Function {
    /// The function without its instructions.
    fn listing(&self) -> Listing {
        Listing {
            frame: self.frame,
            code: FunctionCode {
                module: self.module,
                starts: vec![self.extent.start],
                end: self.extent.end,
            },
            file: String::new(),
            build_id: Vec::new(),
            instructions: Vec::new(),
        }
    }
}

/// The modules whose code was read.
#[derive(Default)]
struct Files {
    codes: BTreeMap<ModuleId, MachineCode>,
}

impl Files {
    /// The functions around the sampled addresses, the hottest first. Fails if there is none.
    fn functions(
        &mut self,
        profile: &Profile,
        symbolizer: &Symbolizer,
        sampled: &SampledCode,
    ) -> Result<Vec<Function>> {
        let mut by_module: BTreeMap<ModuleId, Vec<usize>> = BTreeMap::new();
        for (at, address) in sampled.addresses.iter().enumerate() {
            by_module.entry(address.module).or_default().push(at);
        }
        let mut functions: BTreeMap<(ModuleId, u64), Function> = BTreeMap::new();
        let mut problems = Vec::new();
        for (module, rows) in by_module {
            let code = match open(profile, symbolizer, module) {
                Ok(code) => code,
                Err(problem) => {
                    problems.push(problem);
                    continue;
                }
            };
            let addresses: Vec<u64> = (rows.iter())
                .map(|&at| sampled.addresses[at].address)
                .collect();
            for (&at, extent) in rows.iter().zip(code.functions(&addresses)) {
                let row = &sampled.addresses[at];
                let Some(extent) = extent else {
                    problems.push(anyhow!(
                        "neither a symbol nor an unwind table of {} has the extent of {}",
                        code.path().display(),
                        profile.function_name(row.frame)
                    ));
                    continue;
                };
                let key = (module, extent.start);
                let function = functions.entry(key).or_insert(Function {
                    module,
                    extent,
                    frame: row.frame,
                    weight: 0,
                });
                function.weight = function.weight.saturating_add(row.weight);
            }
            self.codes.insert(module, code);
        }
        let mut functions: Vec<Function> = functions.into_values().collect();
        functions.sort_by_key(|function| std::cmp::Reverse(function.weight));
        match (functions.is_empty(), problems.is_empty()) {
            (true, false) => Err(problems.swap_remove(0)),
            _ => {
                for problem in problems.iter().take(1) {
                    stderr::note(&format!("not all that has this name is shown: {problem}"));
                }
                Ok(functions)
            }
        }
    }
}

/// The code of a module, if its file is the one that ran.
fn open(profile: &Profile, symbolizer: &Symbolizer, module: ModuleId) -> Result<MachineCode> {
    let row = profile.modules.get(module);
    let path = profile.strings.get(row.path);
    let build_id = &row.build_id;
    let code = match symbolizer.machine_code(path, build_id) {
        Ok(code) => code,
        Err(Problem::BuildIdDiffers { path, .. }) => bail!(
            "{} was built anew since the recording: its instructions are not those that ran",
            path.display()
        ),
        Err(_) if path == "[kernel]" => {
            bail!("the function is one of the kernel, whose instructions are not shown")
        }
        Err(Problem::FileGone {
            path,
            kind: ErrorKind::NotFound,
        }) => bail!(
            "{} is not on this machine, and the recording itself has no instructions",
            path.display()
        ),
        Err(problem) => bail!("there are no instructions: {problem}"),
    };
    if build_id.is_empty() && is_newer(code.path(), profile.meta.started_at_unix) {
        bail!(
            "{path} was written since the recording began, and has no build id: its instructions may not be those that ran"
        );
    }
    match code.processor() {
        Processor::X86_64 | Processor::X86 => Ok(code),
        Processor::Other(name) => bail!(
            "only x86 and x86-64 code can be disassembled, and {path} is for another processor ({name})"
        ),
        _ => bail!("only x86 and x86-64 code can be disassembled"),
    }
}

/// True if a file was written after this time, in nanoseconds since 1970.
fn is_newer(path: &Path, started: u64) -> bool {
    let modified = std::fs::metadata(path)
        .and_then(|file| file.modified())
        .ok();
    let since = modified.and_then(|time| time.duration_since(UNIX_EPOCH).ok());
    started > 0 && since.is_some_and(|time| time.as_nanos() > u128::from(started))
}

/// The instructions of a function.
fn disassemble(
    code: &MachineCode,
    extent: &Range<u64>,
    syntax: Syntax,
) -> Result<Vec<Instruction>> {
    let Some(bytes) = code.bytes(extent) else {
        bail!(
            "{} has no code at {:#x}: it is cut or damaged",
            code.path().display(),
            extent.start
        );
    };
    let machine = match code.processor() {
        Processor::X86 => Machine::X86,
        _ => Machine::X86_64,
    };
    let code_of_function = Code::new(machine, &bytes, extent.start);
    let references: Vec<u64> = code_of_function.references().into_iter().collect();
    let names = code.names(&references);
    let instructions = code_of_function.instructions(syntax, |address| {
        let at = references.binary_search(&address).ok()?;
        names[at].clone()
    });
    Ok(instructions)
}

/// The instructions as a report has them, each at a location of the profile.
fn listed(
    profile: &mut Profile,
    module: ModuleId,
    bytes: &[u8],
    instructions: &[Instruction],
) -> Vec<ListedInstruction> {
    let mut rest = bytes;
    let bias = profile.modules.get(module).bias;
    let mut found = Vec::with_capacity(instructions.len());
    for instruction in instructions {
        let address = Avma(instruction.address.wrapping_add(bias));
        let kind = LocationKind::Code(CodeAddress::Instruction(address));
        let location: LocationId = profile.locations.intern(kind, Some(module));
        let (own, behind) = rest.split_at(instruction.length.min(rest.len()));
        rest = behind;
        found.push(ListedInstruction {
            location,
            bytes: own.to_vec(),
            text: instruction.text.clone(),
            jump: instruction.flow.jump(),
        });
    }
    found
}
