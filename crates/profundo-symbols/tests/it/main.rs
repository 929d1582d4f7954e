//! Names of real programs, built here, against what an outside reader says of the same addresses.

mod build;
mod cython;
mod damage;
mod native;
mod oracle;
mod own_process;
mod python;
mod rust;
mod separate;
mod split;
