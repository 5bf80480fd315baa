//! The binary `waggle`.

fn main() {}
