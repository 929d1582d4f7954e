//! Where pieces with names go: a store, or another program.

mod remote;
mod store;

use std::fmt::Debug;

use anyhow::Result;
use profundo_model::Profile;

pub use remote::RemoteOutlet;
pub use store::StoreOutlet;

/// The outcome of sending.
#[derive(Debug, Default)]
pub struct Sent {
    /// Segments that have arrived.
    pub segments: u64,
    /// Why others have not.
    pub because: Option<anyhow::Error>,
}

/// A destination of pieces.
pub trait Outlet: Debug + Send {
    /// Takes a piece. Returns the number of samples that it has.
    fn take(&mut self, profile: Profile) -> Result<u64>;

    /// Sends what waits, the oldest first, until it fails.
    fn send(&mut self) -> Sent;

    /// The number of segments that wait.
    fn waiting(&self) -> u64;

    /// The samples that were dropped, because there was no room for them.
    fn dropped(&self) -> u64;

    /// Whether segments that wait are still there after this process.
    fn is_durable(&self) -> bool;
}
