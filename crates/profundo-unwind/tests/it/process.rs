//! The code of a process, as tables: of this one or of a child, from its maps and files.

use std::collections::HashMap;
use std::fs;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::Arc;

use object::{Object, ObjectSection, ObjectSegment};
use profundo_unwind::{Memory, Module, Modules, Table, compile_eh_frame};

/// An executable range of memory.
pub struct Image {
    pub path: String,
    pub start: u64,
    pub end: u64,
    /// The load bias.
    pub bias: u64,
    /// Address in the file, and bytes.
    pub eh_frame: (u64, Arc<[u8]>),
    pub table: Table,
}

/// All executable ranges of a process.
pub struct Process {
    pub pid: i32,
    pub images: Vec<Image>,
}

impl Process {
    pub fn this() -> Self {
        // SAFETY: the call has no arguments and cannot fail.
        Self::of(unsafe { libc::getpid() })
    }

    pub fn of(pid: i32) -> Self {
        let maps = fs::read_to_string(format!("/proc/{pid}/maps")).unwrap();
        let mut files: HashMap<String, Arc<[u8]>> = HashMap::new();
        let images = maps
            .lines()
            .filter_map(|line| {
                let mut fields = line.split_ascii_whitespace();
                let (start, end) = fields.next()?.split_once('-')?;
                let hex = |text| u64::from_str_radix(text, 16).ok();
                let (start, end) = (hex(start)?, hex(end)?);
                let executable = fields.next()?.contains('x');
                let offset = hex(fields.next()?)?;
                let path = fields.nth(2)?.to_string();
                if !executable {
                    return None;
                }
                let bytes = if path == "[vdso]" {
                    let mut bytes = Vec::new();
                    let mut memory = Remote(pid);
                    for address in (start..end).step_by(8) {
                        bytes.extend(memory.read(address)?.to_le_bytes());
                    }
                    bytes.into()
                } else if path.starts_with('/') {
                    let bytes = files
                        .entry(path.clone())
                        .or_insert_with(|| fs::read(&path).unwrap_or_default().into());
                    bytes.clone()
                } else {
                    return None;
                };
                Image::new(path, start, end, offset, &bytes)
            })
            .collect();
        Self { pid, images }
    }

    /// The program's entry point.
    pub fn entry(&self, program: &Path) -> u64 {
        let bytes = fs::read(program).unwrap();
        let object = object::File::parse(&*bytes).unwrap();
        let path = program.to_str().unwrap();
        let image = self.images.iter().find(|image| image.path == path);
        image.unwrap().bias + object.entry()
    }

    pub fn modules(&self) -> Vec<Module<'_>> {
        let module = |image| {
            let &Image {
                start,
                end,
                ref table,
                ..
            } = image;
            let table = table.as_ref();
            Module { start, end, table }
        };
        self.images.iter().map(module).collect()
    }

    pub fn walk(&self, regs: profundo_unwind::Regs) -> (Vec<u64>, profundo_unwind::End) {
        let modules = self.modules();
        let mut out = vec![0; 4096];
        let (depth, end) = profundo_unwind::walk(
            regs,
            &Modules::new(&modules),
            &mut Remote(self.pid),
            &mut out,
        );
        out.truncate(depth);
        (out, end)
    }

    /// The chain with interrupted instructions as they are, as other unwinders report them.
    pub fn unmarked(&self, chain: &[u64]) -> Vec<u64> {
        let modules = self.modules();
        let modules = Modules::new(&modules);
        let mut interrupted = false;
        chain
            .iter()
            .map(|&address| {
                let unmarked = address - u64::from(interrupted);
                let row = modules.row(address - 1);
                interrupted = row.is_some_and(|row| row.rule().caller_interrupted)
                    || self.is_end_of_handler(address);
                unmarked
            })
            .collect()
    }

    /// Whether handlers of signals return there, by the instructions, where there are no rows for
    /// them.
    fn is_end_of_handler(&self, address: u64) -> bool {
        /// `mov x8, #139` and `svc #0`.
        const RETURN: u64 = 0xd400_0001_d280_1168;
        cfg!(target_arch = "aarch64") && Remote(self.pid).read(address) == Some(RETURN)
    }

    /// An address as its file and the address there, for messages.
    pub fn name(&self, address: u64) -> String {
        let image = self
            .images
            .iter()
            .find(|image| (image.start..image.end).contains(&address));
        match image {
            Some(image) => format!("{}+{:#x}", image.path, address - image.bias),
            None => format!("{address:#x}"),
        }
    }

    pub fn names(&self, chain: &[u64]) -> Vec<String> {
        chain.iter().map(|address| self.name(*address)).collect()
    }
}

impl Image {
    fn new(path: String, start: u64, end: u64, offset: u64, bytes: &[u8]) -> Option<Self> {
        let object = object::File::parse(bytes).ok()?;
        let segment = object.segments().find(|segment| {
            let (at, size) = segment.file_range();
            let executable = match segment.flags() {
                object::SegmentFlags::Elf { p_flags, .. } => p_flags.0 & 1 != 0,
                _ => false,
            };
            executable && at < offset + (end - start) && offset < at + size
        })?;
        let bias = start.wrapping_sub(segment.address() - segment.file_range().0 + offset);
        let section = object.section_by_name(".eh_frame")?;
        let eh_frame = section.uncompressed_data().ok()?;
        let address = bias.wrapping_add(section.address());
        let table = compile_eh_frame(&eh_frame, address, None, start, start..end).unwrap();
        Some(Self {
            path,
            start,
            end,
            bias,
            eh_frame: (section.address(), (*eh_frame).into()),
            table,
        })
    }
}

/// Reads the memory of a process, this one included, without faulting.
pub struct Remote(pub i32);

impl Memory for Remote {
    fn read(&mut self, address: u64) -> Option<u64> {
        let mut word = [0; 8];
        let local = libc::iovec {
            iov_base: word.as_mut_ptr().cast(),
            iov_len: 8,
        };
        let remote = libc::iovec {
            iov_base: address as *mut _,
            iov_len: 8,
        };
        // SAFETY: the kernel checks the remote range, and the local one is ours.
        let read = unsafe { libc::process_vm_readv(self.0, &local, 1, &remote, 1, 0) };
        // An emulator of a single program may not have the call.
        if read < 0 && std::io::Error::last_os_error().raw_os_error() == Some(libc::ENOSYS) {
            let file = fs::File::open(format!("/proc/{}/mem", self.0)).ok()?;
            file.read_exact_at(&mut word, address).ok()?;
            return Some(u64::from_le_bytes(word));
        }
        (read == 8).then_some(u64::from_le_bytes(word))
    }
}
