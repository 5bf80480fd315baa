//! The control socket: what the command line and the daemon say to each other.
