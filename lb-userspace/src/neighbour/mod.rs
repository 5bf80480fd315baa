//! Next hop and MAC address of every backend, kept fresh.
