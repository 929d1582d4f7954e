//! The use of time: the interpreter's bytecode, native code, or the kernel.

use profundo_model::Kind;

/// Time by kind, in nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Split {
    /// In Python code.
    pub python: u64,
    /// In native code.
    pub native: u64,
    /// In system calls.
    pub system: u64,
    /// Off the CPU.
    pub waiting: u64,
    /// In Python code or native code; the interpreter's frames could not be read.
    pub unreadable: u64,
}

/// Time by kind, as shares.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct KindShares {
    /// In Python code.
    pub python: f64,
    /// In native code.
    pub native: f64,
    /// In system calls.
    pub system: f64,
    /// Off the CPU.
    pub waiting: f64,
    /// In Python code or native code; the interpreter's frames could not be read.
    pub unreadable: f64,
}

impl KindShares {
    /// The share of one kind.
    pub fn of(self, kind: Kind) -> f64 {
        match kind {
            Kind::Python => self.python,
            Kind::Native => self.native,
            Kind::System => self.system,
            Kind::Waiting => self.waiting,
            Kind::Unreadable => self.unreadable,
        }
    }
}

impl Split {
    /// Time of one kind.
    pub(crate) fn one(kind: Kind, time: u64) -> Self {
        let mut split = Self::default();
        let part = match kind {
            Kind::Python => &mut split.python,
            Kind::Native => &mut split.native,
            Kind::System => &mut split.system,
            Kind::Waiting => &mut split.waiting,
            Kind::Unreadable => &mut split.unreadable,
        };
        *part = time;
        split
    }

    /// The sum.
    pub fn sum(self) -> u64 {
        let busy = (self.python.saturating_add(self.native)).saturating_add(self.system);
        let known = busy.saturating_add(self.waiting);
        known.saturating_add(self.unreadable)
    }

    /// The parts as shares of `all`.
    pub fn shares(self, all: u64) -> KindShares {
        let share = |part: u64| part as f64 / all.max(1) as f64;
        KindShares {
            python: share(self.python),
            native: share(self.native),
            system: share(self.system),
            waiting: share(self.waiting),
            unreadable: share(self.unreadable),
        }
    }

    /// True if any of the weight is in Python.
    pub fn has_python(self) -> bool {
        self.python > 0
    }
}

impl std::ops::AddAssign for Split {
    fn add_assign(&mut self, other: Self) {
        self.python = self.python.saturating_add(other.python);
        self.native = self.native.saturating_add(other.native);
        self.system = self.system.saturating_add(other.system);
        self.waiting = self.waiting.saturating_add(other.waiting);
        self.unreadable = self.unreadable.saturating_add(other.unreadable);
    }
}
