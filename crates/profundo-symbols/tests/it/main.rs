//! Names of real programs, built here, compared with an outside reader's for the same addresses.

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
