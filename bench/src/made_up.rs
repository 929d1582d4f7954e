//! Stacks of programs that do not exist: functions that call one another, with files, lines and
//! addresses.

use profundo::model::{Avma, CodeAddress, FrameKey, Language, LocationKind, Profile, StackId};

const FUNCTIONS: u64 = 3000;

/// Pseudo-random numbers, the same in each run.
#[derive(Debug)]
pub struct Dice(pub u64);

impl Dice {
    /// A number from 0 up to, but not including, `bound`.
    pub fn below(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        let bits = self.0.wrapping_mul(0x2545_F491_4F6C_DD1D);
        ((u128::from(bits) * u128::from(bound)) >> 64) as u64
    }
}

/// Makes distinct stacks of a depth. Each new stack leaves an earlier one at some level, not before
/// `common`, and is different from there on.
pub fn stacks(
    profile: &mut Profile,
    dice: &mut Dice,
    depth: usize,
    distinct: usize,
    common: usize,
) -> Vec<StackId> {
    let mut paths: Vec<Vec<(u64, u64)>> = Vec::new();
    let mut stacks = Vec::new();
    for _ in 0..distinct {
        let mut path = match paths.len() as u64 {
            0 => Vec::new(),
            some => {
                let other = &paths[dice.below(some) as usize];
                let shared = common + dice.below((depth - common) as u64) as usize;
                other[..shared.min(other.len())].to_vec()
            }
        };
        while path.len() < depth {
            path.push((dice.below(FUNCTIONS), dice.below(8)));
        }
        let mut stack = None;
        for (level, (function, call)) in path.iter().enumerate() {
            let address = Avma(0x5555_0000_0000 + function * 4096 + call * 64);
            let code = if level + 1 == depth {
                CodeAddress::Instruction(address)
            } else {
                CodeAddress::Return(address)
            };
            let location = profile.locations.intern(LocationKind::Code(code), None);
            if profile.locations.get(location).frames.is_empty() {
                let file = format!("/home/user/program/src/part_{}.rs", function % 97);
                let frame = profile.frame(FrameKey {
                    function: &format!("program::part_{}::function_{function}", function % 97),
                    file: &file,
                    prefix: "@program",
                    rest: &format!("/src/part_{}.rs", function % 97),
                    line: (function * 7 % 900 + call * 3) as u32 + 1,
                    language: Language::Rust,
                    ..FrameKey::default()
                });
                profile.locations.set_frames(location, &[frame]);
            }
            stack = Some(profile.stacks.intern(stack, location));
        }
        stacks.extend(stack);
        paths.push(path);
    }
    stacks
}
