//! A frame as perf prints it: a symbol in a module. Kernel code has one module, and generated code
//! has none, but a name that says its language.

use profundo_model::{
    Avma, CodeAddress, FrameId, Language, LocationId, LocationKind, ModuleId, generated_name,
};

use crate::{Builder, Named, language_of};

/// The kernel's half of the addresses.
pub(super) const KERNEL: u64 = 0xffff_8000_0000_0000;

/// A frame in plain text. Unknown parts are empty, or 0.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Symbol<'a> {
    /// The function.
    pub name: &'a str,
    /// The path of its module.
    pub module: &'a str,
    /// The source file and the line.
    pub file: &'a str,
    pub line: u32,
    pub address: u64,
    pub is_inlined: bool,
}

impl Symbol<'_> {
    /// Whether it is the kernel's code.
    pub(super) fn is_kernel(&self) -> bool {
        /// What else stands in brackets.
        const USER: [&str; 8] = [
            "[unknown]",
            "[vdso]",
            "[vsyscall]",
            "[heap]",
            "[stack]",
            "[anon",
            "[JIT]",
            "[uprobes]",
        ];
        let module = self.module;
        let is_in_kernel = self.address >= KERNEL;
        let file = module.rsplit('/').next().unwrap_or(module);
        if module.starts_with("[kernel") || module.starts_with("[guest.kernel") {
            return true;
        }
        if file.starts_with("vmlinux") || file.contains(".ko") && is_in_kernel {
            return true;
        }
        match module.starts_with('[') && !module.starts_with("[unknown]") {
            true => is_in_kernel && !USER.iter().any(|user| module.starts_with(user)),
            false => is_in_kernel,
        }
    }

    /// Whether the module is a list of the code that a program has generated.
    fn is_generated(&self) -> bool {
        if self.module.starts_with("[JIT]") {
            return true;
        }
        let file = self.module.rsplit('/').next().unwrap_or(self.module);
        (file.starts_with("perf-") && file.ends_with(".map")) || file.starts_with("jitted-")
    }

    fn is_module_known(&self) -> bool {
        !matches!(
            self.module,
            "" | "[unknown]" | "//anon" | "anon" | "inlined"
        )
    }

    /// The module.
    pub(super) fn module(&self, builder: &mut Builder) -> Option<ModuleId> {
        match () {
            () if self.is_kernel() => Some(builder.module("[kernel]")),
            () if self.is_generated() || !self.is_module_known() => None,
            () => Some(builder.module(self.module)),
        }
    }

    /// The frame. That of an unknown function has its module in place of the file.
    pub(super) fn frame(&self, builder: &mut Builder) -> FrameId {
        let mut named = Named {
            function: self.name,
            file: self.file,
            line: self.line,
            is_inlined: self.is_inlined,
            ..Named::default()
        };
        if self.name.is_empty() {
            if self.is_module_known() && self.file.is_empty() && !self.is_kernel() {
                named.file = self.module;
            }
            named.language = Some(Language::Native);
            return builder.frame(named);
        }
        let generated = generated_name(self.name);
        // In a tree of names the modules are unknown.
        let says_so = self.module.is_empty()
            && matches!(generated.language, Language::Python | Language::JavaScript);
        if !(self.is_generated() || says_so) {
            return builder.frame(named);
        }
        let file = match self.file {
            "" => generated.file,
            file => file,
        };
        let language = match generated.language {
            Language::Generated if !file.is_empty() => language_of(self.name, file),
            language => language,
        };
        builder.frame(Named {
            function: &generated.function,
            signature: &generated.signature,
            file,
            language: Some(language),
            ..named
        })
    }
}

/// The location of frames, the innermost first, the function itself last.
pub(super) fn location(
    builder: &mut Builder,
    frames: &[FrameId],
    module: Option<ModuleId>,
    address: u64,
) -> LocationId {
    let language = |frame: FrameId| builder.profile.frames.get(frame).language;
    let kind = match *frames {
        [frame] if language(frame) == Language::Python => LocationKind::Python {
            frame,
            column: 0,
            is_call: true,
        },
        _ => LocationKind::Code(CodeAddress::Instruction(Avma(address))),
    };
    let module = module.filter(|_| matches!(kind, LocationKind::Code(_)));
    let locations = &mut builder.profile.locations;
    let id = locations.intern(kind, module);
    let known = &locations.get(id).frames;
    if known.is_empty() {
        locations.set_frames(id, frames);
    } else if **known != *frames {
        // Two programs have generated code at the same address.
        return builder.inlined(frames, module);
    }
    id
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kernel_code_is_known_by_its_module_or_its_address() {
        let is_kernel = |module, address| {
            let symbol = Symbol {
                module,
                address,
                ..Symbol::default()
            };
            symbol.is_kernel()
        };
        assert!(is_kernel("[kernel.kallsyms]", 0xc000_1000));
        assert!(is_kernel("[kernel.kallsyms]_stext", 0xc000_1000));
        assert!(is_kernel("[guest.kernel.kallsyms]", 0x1000));
        assert!(is_kernel("/usr/lib/debug/boot/vmlinux-6.1", 0));
        assert!(is_kernel("[nf_tables]", 0xffff_ffff_c000_0000));
        assert!(is_kernel("/lib/modules/6/kernel/fs/ext4.ko.zst", u64::MAX));
        assert!(is_kernel("[unknown]", 0xffff_ffff_8100_0000));
        assert!(is_kernel(
            "bpf_prog_6deef7357e7b4530",
            0xffff_ffff_c000_0000
        ));
        for module in ["[vdso]", "[unknown]", "/usr/bin/node", "[heap]", "x.ko"] {
            assert!(!is_kernel(module, 0x7fff_0000_1000), "{module}");
        }
        assert!(!is_kernel("[vsyscall]", 0xffff_ffff_ff60_0000));
    }
}
