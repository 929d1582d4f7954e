//! Stacks of bare addresses, as native profilers write them beside a list of mapped files.

use profundo_model::{Avma, CodeAddress, LocationId, StackId};
use rustc_hash::FxHashMap;

use crate::code::mappings::Mappings;
use crate::code::parameters::without_parameters;
use crate::{Builder, Named};

/// The stacks of a file.
#[derive(Debug, Default)]
pub(crate) struct NativeStacks {
    /// The mapped files.
    pub mappings: Mappings,
    /// Names that the file itself has for addresses, the innermost inlined function first.
    pub names: FxHashMap<u64, Vec<String>>,
    locations: FxHashMap<CodeAddress, LocationId>,
}

/// The most levels of a stack. Deeper ones are cut at their leaf's end.
const DEEPEST: usize = 4096;

impl NativeStacks {
    /// The stack of these addresses, the leaf first. The callers' are return addresses.
    pub(crate) fn stack(
        &mut self,
        builder: &mut Builder,
        leaf: Leaf,
        leaf_first: &[u64],
    ) -> Option<StackId> {
        let mut parent = None;
        let levels = leaf_first.iter().enumerate().rev().take(DEEPEST);
        for (number, &address) in levels {
            let address = match (number, leaf) {
                (0, Leaf::Instruction) => CodeAddress::Instruction(Avma(address)),
                _ => CodeAddress::Return(Avma(address)),
            };
            let location = self.location(builder, address);
            parent = Some(builder.stack(parent, location));
        }
        parent
    }

    /// The addresses without the allocator's own at the leaf, where the allocator is a library.
    pub(crate) fn without_allocator<'a>(
        &mut self,
        builder: &mut Builder,
        leaf_first: &'a [u64],
    ) -> &'a [u64] {
        const ALLOCATORS: [&str; 4] = ["libjemalloc", "libtcmalloc", "libmimalloc", "libtbbmalloc"];
        let is_allocator = |&&address: &&u64| {
            let Some(module) = self.mappings.find(builder, address) else {
                return false;
            };
            let path = builder.profile.modules.get(module).path;
            let path = builder.profile.strings.get(path);
            let name = path.rsplit('/').next().unwrap_or(path);
            ALLOCATORS
                .iter()
                .any(|allocator| name.starts_with(allocator))
        };
        let own = leaf_first.iter().take_while(is_allocator).count();
        match leaf_first.get(own..) {
            Some(rest) if !rest.is_empty() => rest,
            _ => leaf_first,
        }
    }

    fn location(&mut self, builder: &mut Builder, address: CodeAddress) -> LocationId {
        if let Some(&known) = self.locations.get(&address) {
            return known;
        }
        let module = self.mappings.find(builder, address.for_lookup().0);
        let location = builder.address(address, module);
        let names = [address.for_lookup(), address.address()];
        if let Some(names) = names.iter().find_map(|at| self.names.get(&at.0)) {
            let count = names.len();
            let frames: Vec<_> = (names.iter().enumerate())
                .map(|(number, name)| {
                    let function = without_parameters(name);
                    builder.frame(Named {
                        function,
                        signature: if function == name { "" } else { name },
                        is_inlined: number + 1 < count,
                        ..Named::default()
                    })
                })
                .collect();
            builder.profile.locations.set_frames(location, &frames);
        }
        self.locations.insert(address, location);
        location
    }
}

/// The kind of the innermost address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Leaf {
    /// The instruction that ran.
    Instruction,
    /// The one behind a call: of an allocator, of a lock.
    Return,
}

/// The addresses of a line: `0x4b74f1 0x4b754e`, with or without the `0x`. They end at a word that
/// is none.
pub(crate) fn addresses<'a>(line: &'a [u8]) -> impl Iterator<Item = u64> + 'a {
    let words = line.split(|byte| byte.is_ascii_whitespace());
    words.filter(|word| !word.is_empty()).map_while(address)
}

/// An address in hexadecimal digits.
pub(crate) fn address(word: &[u8]) -> Option<u64> {
    let digits = (word.strip_prefix(b"0x"))
        .or_else(|| word.strip_prefix(b"0X"))
        .unwrap_or(word);
    if !(1..=16).contains(&digits.len()) {
        return None;
    }
    digits.iter().try_fold(0, |sum, &digit| {
        Some(sum << 4 | u64::from(char::from(digit).to_digit(16)?))
    })
}
