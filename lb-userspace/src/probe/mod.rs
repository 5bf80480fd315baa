//! Probes: one file per kind, the rules that make health of results, and the scheduler.
