//! A profile read word by word, as by a viewer that knows Julia's layout.

use profundo::{
    Data, META_OFFSET_CPUCYCLECLOCK, META_OFFSET_SLEEPSTATE, META_OFFSET_TASKID,
    META_OFFSET_THREADID, NMETA, Names, Words,
};

/// One sample.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Block {
    pub ips: Vec<u64>,
    pub thread: u64,
    pub task: u64,
    pub clock: u64,
    pub state: u64,
}

/// The samples of words with metadata.
pub fn blocks(words: &Words) -> Vec<Block> {
    let mut blocks = Vec::new();
    let mut start = 0;
    for end in (0..words.len()).filter(|&index| words.is_block_end(index)) {
        blocks.push(Block {
            ips: words[start..end - 1 - NMETA].to_vec(),
            thread: words[end - META_OFFSET_THREADID],
            task: words[end - META_OFFSET_TASKID],
            clock: words[end - META_OFFSET_CPUCYCLECLOCK],
            state: words[end - META_OFFSET_SLEEPSTATE],
        });
        start = end + 1;
    }
    assert_eq!(start, words.len(), "the last sample has an end");
    blocks
}

impl Block {
    /// Whether a function whose name has this part is on the stack.
    pub fn runs(&self, function: &str, names: &Names) -> bool {
        let mut frames = self.ips.iter().filter_map(|&ip| names.get(ip)).flatten();
        frames.any(|frame| frame.func.contains(function))
    }
}

/// The number by which the calling thread is known in the data.
pub fn my_number(data: &Data) -> u64 {
    // PID/task/TID
    let link = std::fs::read_link("/proc/thread-self").unwrap();
    let tid: u32 = link.file_name().unwrap().to_str().unwrap().parse().unwrap();
    let mut threads = data.profile().threads.iter().map(|(_, thread)| *thread);
    threads.find(|thread| thread.tid == tid).unwrap().number
}

/// The samples of the calling thread. The others are those of waiting tests.
pub fn mine(data: &Data) -> Vec<Block> {
    let number = my_number(data);
    let mut blocks = blocks(&data.words());
    blocks.retain(|block| block.thread == number);
    blocks
}

/// Asserts that a function is in at least four of five samples, and in at least this many. On a
/// loaded machine samples are few, and each counts for more time.
#[track_caller]
pub fn assert_mostly(function: &str, at_least: usize, blocks: &[Block], names: &Names) {
    let found = blocks
        .iter()
        .filter(|block| block.runs(function, names))
        .count();
    assert!(
        blocks.len() >= at_least && found * 5 >= blocks.len() * 4,
        "{function} is in {found} of {} samples, of at least {at_least}",
        blocks.len()
    );
}
