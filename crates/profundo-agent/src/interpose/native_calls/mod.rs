//! Functions that report calls: those that the compiler has put into the program, and those that
//! leave several functions at once. The counting is in [`native`](crate::calls::native_calls).

mod catches;
mod entries;
mod hooks;
mod jumps;
