//! Events in, effects out. Pure.
