//! The kernel's tables: what they hold, how they are changed, and the program that reads them.

pub mod object;
