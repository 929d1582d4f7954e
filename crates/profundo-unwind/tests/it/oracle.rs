//! framehop walks the same registers by the same sections, and knows nothing of our tables.

use std::sync::Arc;

use framehop::{
    CacheNative, ExplicitModuleSectionInfo, FrameAddress, MayAllocateDuringUnwind,
    UnwindRegsNative, Unwinder, UnwinderNative,
};
use profundo_unwind::{Memory, Regs};

use crate::process::{Process, Remote};

pub struct Oracle {
    pub unwinder: UnwinderNative<Arc<[u8]>, MayAllocateDuringUnwind>,
    pub cache: CacheNative<MayAllocateDuringUnwind>,
    pid: i32,
}

impl Oracle {
    pub fn of(process: &Process) -> Self {
        let mut unwinder = UnwinderNative::new();
        for image in &process.images {
            let (address, bytes) = &image.eh_frame;
            unwinder.add_module(framehop::Module::new(
                image.path.clone(),
                image.start..image.end,
                image.bias,
                ExplicitModuleSectionInfo {
                    base_svma: 0,
                    eh_frame_svma: Some(*address..*address + bytes.len() as u64),
                    eh_frame: Some(bytes.clone()),
                    ..Default::default()
                },
            ));
        }
        Self {
            unwinder,
            cache: CacheNative::new(),
            pid: process.pid,
        }
    }

    /// The chain, and whether it reached the root.
    pub fn walk(&mut self, regs: Regs) -> (Vec<u64>, bool) {
        let mut memory = Remote(self.pid);
        let mut read = |address| memory.read(address).ok_or(());
        #[cfg(target_arch = "x86_64")]
        let first = UnwindRegsNative::new(regs.ip, regs.sp, regs.fp);
        #[cfg(target_arch = "aarch64")]
        let first = UnwindRegsNative::new(regs.lr, regs.sp, regs.fp);
        let mut frames = self
            .unwinder
            .iter_frames(regs.ip, first, &mut self.cache, &mut read);
        let mut chain = Vec::new();
        loop {
            match frames.next() {
                Ok(Some(FrameAddress::InstructionPointer(address))) => chain.push(address),
                Ok(Some(FrameAddress::ReturnAddress(address))) => chain.push(address.get()),
                Ok(None) => return (chain, true),
                Err(_) => return (chain, false),
            }
        }
    }
}
