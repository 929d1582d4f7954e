//! The server and its answers, as a client sees them that is no browser.

mod client;
mod compare;
mod files;
mod refusals;
