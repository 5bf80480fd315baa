//! Packet code that runs in the kernel and, for tests, on the host.
#![no_std]
