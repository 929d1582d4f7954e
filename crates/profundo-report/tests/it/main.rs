//! Reports on small profiles, letter by letter.

mod allocs;
mod callers;
mod examples;
mod fixture;
mod groups;
mod heap;
mod io;
mod json;
mod looks;
mod memory;
mod mixed;
mod nameless;
mod odd;
mod options;
mod orders;
mod properties;
mod quality;
mod refusals;
mod schema;
mod screens;
mod time;
mod trace;
mod trace_told;
mod traced;
mod views;
mod warnings;
