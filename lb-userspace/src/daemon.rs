//! The one loop that feeds the engine and does what it says.
