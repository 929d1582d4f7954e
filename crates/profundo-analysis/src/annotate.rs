//! The time of each instruction of a function.
//!
//! An instruction's own time is the time of the samples that were taken at it. Its total time is
//! that of all samples with it on their stack: a call has the time of the called function. A sample
//! counts once for an instruction, however often the instruction is on the stack.
//!
//! The code of a function is a part of a file. So its samples are found by the address in the file:
//! processes and runs that mapped the file elsewhere count together. Code that was inlined into the
//! function is a part of it.

use profundo_model::{
    CodeAddress, FrameId, Language, LocationId, LocationKind, Module, ModuleId, Profile, Reason,
    StackId,
};
use rustc_hash::FxHashMap;

use crate::amount::Amount;
use crate::interval::{Estimate, Mass};
use crate::scatter::Members;
use crate::{Pattern, Selection, StackWeight, pattern, scatter};

/// The samples of the functions that a pattern means.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct SampledCode {
    /// Their places in files.
    pub addresses: Vec<SampledAddress>,
    /// A function without instructions of its own in a file that has this name, if there is one:
    /// of Python, or generated.
    pub without_file: Option<FrameId>,
    /// The functions that have functions of this name inlined, and no sample is in another copy;
    /// the one with most time first.
    pub inlined_into: Vec<FrameId>,
}

/// An address of a function, and the samples with it on their stack.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SampledAddress {
    /// A module that is mapped from the file.
    pub module: ModuleId,
    /// The address in the file: of a call, one of its bytes.
    pub address: u64,
    /// The function that was not inlined.
    pub frame: FrameId,
    /// The time of the samples. A recursion counts several times.
    pub weight: u64,
}

/// The sampled addresses of the functions that `name` means.
pub fn sampled_code(profile: &Profile, selection: &Selection, name: &Pattern) -> SampledCode {
    let meant = pattern::functions(profile, name);
    let mut found = SampledCode::default();
    let mut inlined: Vec<(FrameId, u64)> = Vec::new();
    let files = Files::new(profile);
    let weights = weights(profile, selection);
    for ((id, location), weight) in profile.locations.iter().zip(weights) {
        let (Some(&outer), true) = (location.frames.last(), weight > 0) else {
            continue;
        };
        let place = files.place(profile, id);
        match (place, meant[outer.index()]) {
            (Some((module, address)), true) => found.addresses.push(SampledAddress {
                module,
                address,
                frame: outer,
                weight,
            }),
            (None, true) if found.without_file.is_none() => found.without_file = Some(outer),
            (Some(_), false) if location.frames.iter().any(|frame| meant[frame.index()]) => {
                let function = |frame: FrameId| {
                    let frame = profile.frames.get(frame);
                    (frame.function, frame.file)
                };
                let mut rows = inlined.iter_mut();
                match rows.find(|(known, _)| function(*known) == function(outer)) {
                    Some((_, sum)) => *sum += weight,
                    None => inlined.push((outer, weight)),
                }
            }
            _ => {}
        }
    }
    inlined.sort_by_key(|&(frame, weight)| (std::cmp::Reverse(weight), frame));
    found.inlined_into = inlined.into_iter().map(|(frame, _)| frame).collect();
    found
}

/// By location, the weight of the samples with it on their stack.
fn weights(profile: &Profile, selection: &Selection) -> Vec<u64> {
    let mut of_stacks = vec![0_u64; profile.stacks.len()];
    for stack in selection.stacks(profile) {
        // A sample without any weight is a sample.
        of_stacks[stack.stack.index()] += stack.weight.max(1);
    }
    let mut of_locations = vec![0_u64; profile.locations.len()];
    // Callers are stored before their callees, so backwards the sums from above are complete.
    for id in (0..profile.stacks.len()).rev().map(StackId::from_index) {
        let weight = of_stacks[id.index()];
        let stack = profile.stacks.get(id);
        if let Some(parent) = stack.parent {
            let sum = &mut of_stacks[parent.index()];
            *sum = sum.saturating_add(weight);
        }
        let sum = &mut of_locations[stack.location.index()];
        *sum = sum.saturating_add(weight);
    }
    of_locations
}

/// The first module of each file.
struct Files {
    firsts: Vec<ModuleId>,
}

impl Files {
    fn new(profile: &Profile) -> Self {
        let mut known: FxHashMap<(&str, &[u8]), ModuleId> = FxHashMap::default();
        let firsts = (profile.modules.iter())
            .map(|(id, module)| *known.entry(file(profile, module)).or_insert(id))
            .collect();
        Self { firsts }
    }

    fn of(&self, module: ModuleId) -> ModuleId {
        self.firsts[module.index()]
    }

    /// The file of a location, and its address there.
    fn place(&self, profile: &Profile, location: LocationId) -> Option<(ModuleId, u64)> {
        let location = profile.locations.get(location);
        let (LocationKind::Code(address), Some(module)) = (location.kind, location.module) else {
            return None;
        };
        let in_memory = address.for_lookup().0;
        let in_file = in_memory.wrapping_sub(profile.modules.get(module).bias);
        let path = profile.strings.get(profile.modules.get(module).path);
        let is_file = !profundo_model::is_generated_code(path);
        is_file.then(|| (self.of(module), in_file))
    }
}

fn file<'a>(profile: &'a Profile, module: &'a Module) -> (&'a str, &'a [u8]) {
    (profile.strings.get(module.path), &module.build_id)
}

/// The code of a function in a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FunctionCode {
    /// A module that is mapped from the file.
    pub module: ModuleId,
    /// The address in the file of each instruction, in order. One is enough, where only the whole
    /// function is of interest.
    pub starts: Vec<u64>,
    /// The end of the last one.
    pub end: u64,
}

impl FunctionCode {
    /// The instruction that an address lies in.
    fn instruction(&self, address: u64) -> Option<usize> {
        let above = self.starts.partition_point(|&start| start <= address);
        above.checked_sub(1).filter(|_| address < self.end)
    }
}

/// The time of a function's code.
#[derive(Debug, Clone, PartialEq)]
pub struct Annotation {
    /// Its own share of all time.
    pub own: Estimate,
    /// Its share of all time, with its callees.
    pub total: Estimate,
    /// The total of its own samples.
    pub own_amount: Amount,
    /// The total of the samples with it on their stack.
    pub total_amount: Amount,
    /// The instructions with a sample, in their order.
    pub instructions: Vec<InstructionShare>,
    /// The number of addresses that are not the start of an instruction, or not behind a call:
    /// where there are some, another code ran than the one in the file.
    pub misplaced: usize,
}

/// The time of an instruction.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct InstructionShare {
    /// Its number among the function's instructions.
    pub index: usize,
    /// The share of the function's time that was sampled at it.
    pub own: Estimate,
    /// The share of the function's time with it on the stack.
    pub total: Estimate,
    /// The total of the samples at it.
    pub own_amount: Amount,
    /// The total of the samples with it on their stack.
    pub total_amount: Amount,
}

/// The time of the instructions of these functions, which do not overlap.
pub fn annotate(
    profile: &Profile,
    selection: &Selection,
    functions: &[FunctionCode],
) -> Vec<Annotation> {
    let spots = Spots::new(profile, functions);
    let mut tally = Tally::new(functions);
    for (stamp, stack) in (1..).zip(selection.stacks(profile)) {
        if spots.on_stack[stack.stack.index()] {
            tally.add(profile, &spots, stack, stamp);
        }
        tally.end_stack();
    }
    tally.finish(profile, selection, functions, &spots)
}

/// The place of a location in the functions.
#[derive(Debug, Clone, Copy)]
struct Spot {
    function: usize,
    /// The number of the instruction's row.
    row: usize,
    /// True for a running instruction, false for a call.
    runs: bool,
}

/// The places of all locations.
struct Spots {
    of_location: Vec<Option<Spot>>,
    /// By stack, whether it has one of them.
    on_stack: Vec<bool>,
    misplaced: Vec<usize>,
    /// The first row of each function, and the number of all rows.
    firsts: Vec<usize>,
}

impl Spots {
    fn new(profile: &Profile, functions: &[FunctionCode]) -> Self {
        let files = Files::new(profile);
        let mut firsts = vec![0];
        for function in functions {
            firsts.push(firsts[firsts.len() - 1] + function.starts.len());
        }
        let mut misplaced = vec![0; functions.len()];
        let of_location: Vec<Option<Spot>> = (profile.locations.iter())
            .map(|(id, location)| {
                let (module, address) = files.place(profile, id)?;
                let (at, index) = functions.iter().enumerate().find_map(|(at, function)| {
                    let index = function.instruction(address)?;
                    (files.of(function.module) == module).then_some((at, index))
                })?;
                let runs = matches!(
                    location.kind,
                    LocationKind::Code(CodeAddress::Instruction(_))
                );
                let code = &functions[at];
                let next = code.starts.get(index + 1).copied().unwrap_or(code.end);
                let is_right = match runs {
                    true => code.starts[index] == address,
                    false => next == address.wrapping_add(1),
                };
                misplaced[at] += usize::from(!is_right);
                Some(Spot {
                    function: at,
                    row: firsts[at] + index,
                    runs,
                })
            })
            .collect();
        let mut on_stack: Vec<bool> = Vec::with_capacity(profile.stacks.len());
        for stack in profile.stacks.iter() {
            let above = stack
                .parent
                .is_some_and(|caller: StackId| on_stack[caller.index()]);
            on_stack.push(above || of_location[stack.location.index()].is_some());
        }
        Self {
            of_location,
            on_stack,
            misplaced,
            firsts,
        }
    }
}

/// The sums of functions and instructions.
struct Tally {
    own: Vec<Amount>,
    total: Vec<Amount>,
    own_members: Members,
    total_members: Members,
    /// The last stack that each row was on.
    stamps: Vec<u32>,
    /// The same of functions: two rows each, for the own time and for all.
    functions: Vec<Amount>,
    function_members: Members,
    function_stamps: Vec<u32>,
    /// By function, the numbers of the stacks with it.
    within: Vec<Vec<bool>>,
    stacks: usize,
}

impl Tally {
    fn new(functions: &[FunctionCode]) -> Self {
        let rows: usize = functions.iter().map(|function| function.starts.len()).sum();
        Self {
            own: vec![Amount::default(); rows],
            total: vec![Amount::default(); rows],
            own_members: Members::default(),
            total_members: Members::default(),
            stamps: vec![0; rows],
            functions: vec![Amount::default(); 2 * functions.len()],
            function_members: Members::default(),
            function_stamps: vec![0; functions.len()],
            within: vec![Vec::new(); functions.len()],
            stacks: 0,
        }
    }

    fn add(&mut self, profile: &Profile, spots: &Spots, stack: &StackWeight, stamp: u32) {
        let mut is_innermost = true;
        for location in profile.stacks.locations(stack.stack) {
            let spot = spots.of_location[location.index()];
            if let Some(spot) = spot {
                if self.stamps[spot.row] != stamp {
                    self.stamps[spot.row] = stamp;
                    self.total[spot.row].add(stack);
                    self.total_members.add(spot.row);
                }
                if self.function_stamps[spot.function] != stamp {
                    self.function_stamps[spot.function] = stamp;
                    self.functions[2 * spot.function + 1].add(stack);
                    self.function_members.add(2 * spot.function + 1);
                    let within = &mut self.within[spot.function];
                    within.resize(self.stacks, false);
                    within.push(true);
                }
                if is_innermost && spot.runs {
                    self.own[spot.row].add(stack);
                    self.own_members.add(spot.row);
                    self.functions[2 * spot.function].add(stack);
                    self.function_members.add(2 * spot.function);
                }
            }
            is_innermost &= may_have_run_below(profile, location);
        }
    }

    fn end_stack(&mut self) {
        self.own_members.end_stack();
        self.total_members.end_stack();
        self.function_members.end_stack();
        self.stacks += 1;
    }

    fn finish(
        self,
        profile: &Profile,
        selection: &Selection,
        functions: &[FunctionCode],
        spots: &Spots,
    ) -> Vec<Annotation> {
        let of_all =
            scatter::estimates(profile, selection, &self.function_members, &self.functions);
        let is_few = selection.is_few(profile);
        let mut found = Vec::with_capacity(functions.len());
        for at in 0..functions.len() {
            let total_amount = self.functions[2 * at + 1];
            let within = Mass {
                is_few,
                ..total_amount.mass()
            };
            let is_within = |stack: usize| self.within[at].get(stack).copied().unwrap_or(false);
            let rows = spots.firsts[at]..spots.firsts[at + 1];
            // Where only the whole function is of interest, its parts are not estimated.
            let part = |members: &Members, amounts: &[Amount]| match rows.len() {
                0 | 1 => vec![Estimate::exact(0.0); amounts.len()],
                _ => scatter::estimates_within(
                    profile, selection, members, amounts, within, is_within,
                ),
            };
            let own = part(&self.own_members, &self.own);
            let total = part(&self.total_members, &self.total);
            let instructions = rows
                .clone()
                .filter(|&row| self.total[row].count > 0)
                .map(|row| InstructionShare {
                    index: row - rows.start,
                    own: own[row],
                    total: total[row],
                    own_amount: self.own[row],
                    total_amount: self.total[row],
                })
                .collect();
            found.push(Annotation {
                own: of_all[2 * at],
                total: of_all[2 * at + 1],
                own_amount: self.functions[2 * at],
                total_amount,
                instructions,
                misplaced: spots.misplaced[at],
            });
        }
        found
    }
}

/// Whether the next outer level of a stack may be the one that ran or waited: this one is a wait or
/// a mark, and no code.
fn may_have_run_below(profile: &Profile, location: LocationId) -> bool {
    match profile.locations.get(location).kind {
        LocationKind::Wait { .. } => true,
        LocationKind::Reason(reason) => reason == Reason::Collecting,
        _ => false,
    }
}

/// Whether a frame is of a language whose functions have no instructions of their own.
pub fn is_interpreted(profile: &Profile, frame: FrameId) -> bool {
    profile.frames.get(frame).language == Language::Python
}
