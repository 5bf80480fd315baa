//! The real daemon, real servers and real clients, each a host in the lab.

mod network {
    mod admin;

    mod control;
    mod failover;
    mod refusals;
    mod restart;
    mod rig;
    mod steering;
}
