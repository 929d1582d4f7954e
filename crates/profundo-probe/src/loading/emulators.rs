//! Programs that emulate the one that they run. They give it their own environment, and it would
//! load the libraries named there; sampling by signals does not work inside.

/// A program that runs another one's instructions itself, or replays them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Emulator {
    /// Valgrind, with any of its tools.
    Valgrind,
    /// rr.
    Rr,
    /// QEMU's emulation of a single program.
    Qemu,
}

impl Emulator {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Valgrind => "valgrind",
            Self::Rr => "rr",
            Self::Qemu => "qemu",
        }
    }

    /// The emulator with this path.
    pub fn of_path(path: &[u8]) -> Option<Self> {
        let mut parts = path.rsplit(|&byte| byte == b'/');
        let name = parts.next()?;
        let folder = parts.next().unwrap_or(b"");
        // `/usr/bin/valgrind` may be a script that runs `valgrind.bin`, and that runs a tool.
        let is_valgrind = name == b"valgrind"
            || name.starts_with(b"valgrind.")
            || folder == b"valgrind" && name.ends_with(b"-linux");
        if is_valgrind {
            return Some(Self::Valgrind);
        }
        if name == b"rr" {
            return Some(Self::Rr);
        }
        let machine = name.strip_prefix(b"qemu-")?;
        let machine = machine.strip_suffix(b"-static").unwrap_or(machine);
        MACHINES.contains(&machine).then_some(Self::Qemu)
    }
}

/// The machines that QEMU emulates programs of. Its other programs (`qemu-system-…`, `qemu-img`)
/// are ordinary ones.
const MACHINES: &[&[u8]] = &[
    b"aarch64",
    b"aarch64_be",
    b"alpha",
    b"arm",
    b"armeb",
    b"cris",
    b"hexagon",
    b"hppa",
    b"i386",
    b"loongarch64",
    b"m68k",
    b"microblaze",
    b"microblazeel",
    b"mips",
    b"mips64",
    b"mips64el",
    b"mipsel",
    b"mipsn32",
    b"mipsn32el",
    b"nios2",
    b"or1k",
    b"ppc",
    b"ppc64",
    b"ppc64le",
    b"riscv32",
    b"riscv64",
    b"s390x",
    b"sh4",
    b"sh4eb",
    b"sparc",
    b"sparc32plus",
    b"sparc64",
    b"x86_64",
    b"xtensa",
    b"xtensaeb",
];
