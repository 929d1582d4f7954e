//! Parts of the agent begin and end with the interpreter's lock held: its allocators are replaced,
//! its calls are counted. The agent has entered the process before.

use std::time::Duration;

use profundo_probe::shared::wish;

use super::{Asked, Injection, Refused, why_refused};

impl Injection<'_> {
    /// Has parts of the agent begin, by their bits in [`profundo_probe::shared::part`].
    pub fn begin_parts(&mut self, parts: u32, patience: Duration) -> Result<(), Refused> {
        self.send_parts(wish::BEGIN, parts, patience).map(drop)
    }

    /// Has them end. Returns the number of things that stay, and only pass calls on, because
    /// another tool has put itself in front of them.
    pub fn end_parts(&mut self, parts: u32, patience: Duration) -> Result<u32, Refused> {
        self.send_parts(wish::END, parts, patience)
    }

    fn send_parts(&mut self, wish: u32, parts: u32, patience: Duration) -> Result<u32, Refused> {
        let asked = Asked {
            wish,
            flags: parts,
            ..Asked::default()
        };
        self.ask(asked, patience)?;
        let answer = self.request()?.answer;
        self.leave(None);
        u32::try_from(answer).map_err(|_| why_refused(answer))
    }
}
