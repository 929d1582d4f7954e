//! Files of other tools, made by these tools, against what the tools themselves print of them.

mod collapsed;
mod damage;
mod jfr;
mod nettrace;
mod nsight;
mod otf2;
mod support;
mod tau;
